package files

// Waiting counts what Changes would tell, without taking it.
func (x *Watcher) Waiting() (paths int, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.changed), x.all
}
