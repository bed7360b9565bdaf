package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settleQuiet = 10 * time.Millisecond  // changes that follow each other faster belong together
	settleMost  = 100 * time.Millisecond // but nobody waits longer for their end
	maxQueue    = 20_000                 // events that wait to be looked at
)

// A Watcher tells of changes below a root. It may be used concurrently.
//
// It knows the rules of the .gitignore files below the root and of .git/info/exclude. Rules above the root and
// those of the user are read when it starts, and again when it has to begin anew. It does not hear of a move of a
// directory above the root, nor of a write through a second hard link that is outside.
type Watcher struct {
	walker *Walker
	fs     *fsnotify.Watcher
	marks  string // directory of the files of Sync, "" for none
	prefix string // of the names of events, up to the path relative to the root
	stop   context.CancelFunc
	done   chan struct{} // closed when both goroutines have ended
	wake   chan struct{} // holds one token when queue or lost changed

	queueMu sync.Mutex // guards queue, lost
	queue   []fsnotify.Event
	lost    bool // events are missing

	// Of the goroutine that follows, after Watch has returned.
	rules *rules
	dirs  map[string]*watched // by path
	most  int                 // entries of all directories that may be watched, 0 for any number
	stale bool                // rules or directories must be read anew
	since time.Time           // when stale was set

	held atomic.Int64 // entries of the directories that are watched; several goroutines of a walk add to it

	mu      sync.Mutex // guards what follows
	changed map[string]struct{}
	all     bool
	blind   error                    // not nil: nothing more is heard of some directory
	noted   int                      // changes so far
	news    chan struct{}            // closed while there is something to take
	marked  int                      // files that Sync made
	awaited map[string]chan struct{} // by name; closed when its event was handled
}

// watched is a directory that is watched.
type watched struct {
	scope *scope
	skip  bool                // it is left out, until it has no CACHEDIR.TAG any more
	below map[string]*watched // by name
}

// Watch starts watching the directories that Walk enters; ctx bounds the start alone. What changes after it returned
// will be told. Its error is [ErrWatch] where the system has no more watches, else one of Walk. The Watcher must be closed.
func (w *Walker) Watch(ctx context.Context) (*Watcher, error) {
	r, err := w.rules()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(r.root); err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("watching files: %w", &fs.PathError{Op: "watch", Path: r.root, Err: syscall.ENOTDIR})
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWatch, err)
	}
	following, stop := context.WithCancel(context.Background())
	x := &Watcher{
		walker: w, fs: events, stop: stop,
		prefix: strings.TrimSuffix(r.root, string(filepath.Separator)) + string(filepath.Separator),
		done:   make(chan struct{}), wake: make(chan struct{}, 1),
		changed: map[string]struct{}{}, news: make(chan struct{}), most: w.watchable,
	}
	if x.most == 0 {
		x.most = watchable()
	}
	// Events are taken from the start: some systems cannot add a watch while one is waiting to be taken.
	var work sync.WaitGroup
	work.Go(x.receive)
	err = x.begin(ctx, r)
	if err == nil && w.Marks != "" {
		if addErr := events.Add(w.Marks); addErr != nil {
			err = fmt.Errorf("%w: %w", ErrWatch, addErr)
		}
		x.marks = filepath.Clean(w.Marks)
	}
	if err == nil {
		work.Go(func() { x.follow(following) })
	}
	go func() {
		work.Wait()
		close(x.done)
	}()
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Changes takes the paths that changed since the last call, sorted. They are of files that are not ignored, and that
// may be gone; where a directory went away its path stands for all below it. all says that events were lost, that too much changed
// or that other files are ignored now: everything may have changed, and there are no paths.
func (x *Watcher) Changes() (paths []string, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.blind != nil {
		return nil, true
	}
	if !x.all && len(x.changed) == 0 {
		return nil, false
	}
	all = x.all
	if !all {
		paths = make([]string, 0, len(x.changed))
		for path := range x.changed {
			paths = append(paths, path)
		}
		slices.Sort(paths)
	}
	x.changed, x.all, x.news = map[string]struct{}{}, false, make(chan struct{})
	return paths, all
}

// Wait returns when there are changes and no more came for a moment (10 ms, at most 100 ms), or with the error of ctx.
// Its error is [ErrWatch] once something cannot be watched any more, such as a root that was moved away, and
// fs.ErrClosed after Close.
func (x *Watcher) Wait(ctx context.Context) error {
	x.mu.Lock()
	news := x.news
	x.mu.Unlock()
	select {
	case <-news:
	case <-x.done:
		return fs.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	for begin, last := time.Now(), -1; ; {
		x.mu.Lock()
		noted, blind := x.noted, x.blind
		x.mu.Unlock()
		if blind != nil {
			return blind
		}
		if noted == last || time.Since(begin) >= settleMost {
			return nil
		}
		last = noted
		select {
		case <-time.After(settleQuiet):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends it and waits until its goroutines have ended. A second call does nothing.
func (x *Watcher) Close() error {
	x.stop()
	err := x.fs.Close()
	<-x.done
	return err
}

// receive takes events from the system until Close, so that it never has to wait.
func (x *Watcher) receive() {
	events, errs := x.fs.Events, x.fs.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			x.put(e)
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			x.lose()
		}
	}
}

func (x *Watcher) put(e fsnotify.Event) {
	x.queueMu.Lock()
	defer x.queueMu.Unlock()
	if n := len(x.queue); n > 0 && x.queue[n-1] == e {
		return
	} else if n >= maxQueue {
		x.queue, x.lost = nil, true
	}
	if !x.lost {
		x.queue = append(x.queue, e)
	}
	x.awake()
}

func (x *Watcher) lose() {
	x.queueMu.Lock()
	defer x.queueMu.Unlock()
	x.queue, x.lost = nil, true
	x.awake()
}

func (x *Watcher) awake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (x *Watcher) take() (queue []fsnotify.Event, lost bool) {
	x.queueMu.Lock()
	defer x.queueMu.Unlock()
	queue, lost = x.queue, x.lost
	x.queue, x.lost = nil, false
	return queue, lost
}

// follow looks at the events until ctx ends.
func (x *Watcher) follow(ctx context.Context) {
	for {
		var again <-chan time.Time
		if x.stale {
			// A checkout changes many rules in a row; they are read once.
			wait := min(settleQuiet, max(0, settleMost-time.Since(x.since)))
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
			x.restart(ctx)
		case <-x.wake:
			queue, lost := x.take()
			if lost {
				x.spoil()
			}
			for _, e := range queue {
				if ctx.Err() != nil {
					return
				}
				x.handle(ctx, e)
			}
			if x.stale && time.Since(x.since) >= settleMost {
				x.restart(ctx)
			}
		}
	}
}

// spoil says that the rules or the watched directories may be wrong.
func (x *Watcher) spoil() {
	if !x.stale {
		x.stale, x.since = true, time.Now()
	}
	x.tellAll(nil)
}

// restart reads the rules anew and watches the directories that they leave. A change in one that was not watched before
// was not heard, so everything may have changed once more.
func (x *Watcher) restart(ctx context.Context) {
	x.stale = false
	old := x.dirs
	r, err := x.walker.rules()
	if err == nil {
		err = x.begin(ctx, r)
	}
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, ErrWatch):
		x.tellAll(err)
		return
	case err != nil: // the root cannot be read
		x.tellAll(fmt.Errorf("%w: %w", ErrWatch, err))
		return
	}
	for rel := range old {
		if x.dirs[rel] == nil {
			_ = x.fs.Remove(x.rules.abs(rel)) // it may be gone, and its watch with it
		}
	}
	x.tellAll(nil)
}

// begin watches all directories.
func (x *Watcher) begin(ctx context.Context, r *rules) error {
	x.rules, x.dirs = r, map[string]*watched{}
	x.held.Store(0)
	_, err := x.add(ctx, "", r.outer)
	if err == nil && r.exclude != "" {
		_ = x.fs.Add(filepath.Dir(r.exclude)) // few repositories lack it, and they have no rules there
	}
	return err
}

// add watches the directory rel and those below it, and returns what is in them.
func (x *Watcher) add(ctx context.Context, rel string, parent *scope) (List, error) {
	k := &walk{
		rules: x.rules,
		// First the watch, then the list: what appears between the two is told twice, and nothing never.
		watch: func(rel string) error {
			err := x.hold(rel)
			if err == nil {
				err = x.fs.Add(x.rules.abs(rel))
			}
			switch {
			case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENOTDIR):
				return nil // the walk finds out what it is
			}
			return fmt.Errorf("%w: %w", ErrWatch, err)
		},
		entered: func(rel string, in *scope, skip bool) {
			d := &watched{scope: in, skip: skip}
			x.dirs[rel] = d
			if rel == "" {
				return
			}
			up, name := split(rel)
			if parent := x.dirs[up]; parent != nil {
				if parent.below == nil {
					parent.below = map[string]*watched{}
				}
				parent.below[name] = d
			}
		},
	}
	return k.run(ctx, rel, parent)
}

// hold counts what a watch of the directory rel opens, where the system opens every file for it.
func (x *Watcher) hold(rel string) error {
	if x.most == 0 {
		return nil
	}
	entries, err := os.ReadDir(x.rules.abs(rel))
	if err != nil {
		return err
	}
	if x.held.Add(int64(1+len(entries))) > int64(x.most) {
		return fmt.Errorf("more than %d files would have to be open", x.most)
	}
	return nil
}

// drop ends the watches of a directory and of those below it: they would go on under their old names where it is now.
func (x *Watcher) drop(rel string) {
	d := x.dirs[rel]
	if d == nil {
		return
	}
	for name := range d.below {
		x.drop(join(rel, name))
	}
	delete(x.dirs, rel)
	up, name := split(rel)
	if parent := x.dirs[up]; parent != nil {
		delete(parent.below, name)
	}
	_ = x.fs.Remove(x.rules.abs(rel)) // it may be gone, and its watch with it
}

func split(rel string) (dir, name string) {
	at := strings.LastIndexByte(rel, '/')
	return rel[:max(at, 0)], rel[at+1:]
}

// handle looks at one event.
func (x *Watcher) handle(ctx context.Context, e fsnotify.Event) {
	if x.isMark(e.Name) {
		return
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	rel, ok := strings.CutPrefix(e.Name, x.prefix)
	if !ok || rel == "" {
		switch {
		case e.Name == x.rules.exclude:
			x.spoil()
		case gone && e.Name+string(filepath.Separator) == x.prefix:
			x.tellAll(fmt.Errorf("%w: %s is gone", ErrWatch, e.Name))
		}
		return
	}
	rel = filepath.ToSlash(rel)
	up, name := split(rel)
	in := x.dirs[up]
	if in == nil {
		if e.Name == x.rules.exclude {
			x.spoil()
		}
		return
	}
	if governs(name) {
		// Work in a repository touches .git all the time; it governs by being there.
		if name != ".git" || gone || e.Has(fsnotify.Create) {
			x.spoil()
		}
		return
	}
	if in.skip || odd(name) {
		return
	}
	known := x.dirs[rel] != nil
	if gone {
		x.drop(rel)
		if known || !x.rules.ignored(in.scope, rel, name, false) {
			x.tell(rel)
		}
		// Where two directories swap names, the last that is heard of one of them is that it went.
		known = false
	}
	if known && !e.Has(fsnotify.Create) {
		return // something in it changed, which has events of its own
	}
	if gone || e.Has(fsnotify.Create) || e.Has(fsnotify.Chmod) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			x.appeared(ctx, rel, name, in.scope)
			return
		}
	}
	if gone && !e.Has(fsnotify.Create) {
		return
	}
	if !x.rules.ignored(in.scope, rel, name, false) {
		x.tell(rel)
	}
}

// appeared watches a directory that is new, or can be read now, and tells what is in it.
func (x *Watcher) appeared(ctx context.Context, rel, name string, in *scope) {
	x.drop(rel) // another directory may have had this name
	if x.rules.ignored(in, rel, name, true) {
		return
	}
	found, err := x.add(ctx, rel, in)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		x.tellAll(err)
	default:
		for _, f := range found.Files {
			x.tell(f.Path)
		}
		for _, f := range found.TooLarge {
			x.tell(f.Path)
		}
	}
}

// tell notes that a path changed.
func (x *Watcher) tell(rel string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.all {
		x.changed[rel] = struct{}{}
		if len(x.changed) > MaxChanges {
			x.changed, x.all = map[string]struct{}{}, true
		}
	}
	x.note()
}

// tellAll notes that everything may have changed. With blind it stays so.
func (x *Watcher) tellAll(blind error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changed, x.all = map[string]struct{}{}, true
	if x.blind == nil {
		x.blind = blind
	}
	x.note()
}

// note wakes those who wait. x.mu is held.
func (x *Watcher) note() {
	x.noted++
	select {
	case <-x.news:
	default:
		close(x.news)
	}
}
