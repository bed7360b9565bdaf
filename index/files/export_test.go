package files

// Waiting counts what Changes would tell, without taking it.
func (x *Watcher) Waiting() (paths int, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.changed), x.all
}

// Watchable sets how many files and directories a watcher of w may open.
func (w *Walker) Watchable(n int) { w.watchable = n }
