package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/skl-project/skl/spec/order"
)

// maxWorkers is the number of directories that are read at once.
const maxWorkers = 4

// A walk lists one tree. Configure its fields, then run it once.
type walk struct {
	rules   *rules
	watch   func(rel string) error                 // called before a directory is listed, concurrently; its error ends the walk
	entered func(rel string, in *scope, skip bool) // called after it was listed, one at a time; skip says that it is left out

	mu    sync.Mutex // guards what follows
	more  sync.Cond  // jobs were added, or nothing is left to do
	jobs  []job
	busy  int // workers that may yet add jobs
	err   error
	found List
	names map[inode]*names // of files with several names
}

// An entry is what the rules say of a directory that was listed.
type entry struct {
	scope *scope
	skip  bool
}

// A job is a directory to be listed.
type job struct {
	rel    string
	parent *scope
}

// An inode is a file, whatever its names are.
type inode struct{ device, number uint64 }

// A link is one name of a file that has several.
type link struct {
	links
	path   string
	listed bool // and nobody asked for it
}

// links says how many names a file has; zero where the system does not.
type links struct {
	inode
	count uint64
}

// names are those that a walk met of one file.
type names struct {
	all, met uint64
	paths    []string // that are listed
}

// meet counts names. It is called with mu held.
func (k *walk) meet(several []link) {
	for _, l := range several {
		if k.names == nil {
			k.names = map[inode]*names{}
		}
		n := k.names[l.inode]
		if n == nil {
			n = &names{}
			k.names[l.inode] = n
		}
		n.all = l.count
		n.met++
		if l.listed {
			n.paths = append(n.paths, l.path)
		}
	}
}

// leaveLinked takes out the files that have names which the walk did not meet.
func (k *walk) leaveLinked() {
	outside := map[string]bool{}
	for _, n := range k.names {
		if n.met < n.all {
			for _, path := range n.paths {
				outside[path] = true
			}
		}
	}
	if len(outside) == 0 {
		return
	}
	linked := func(f File) bool { return outside[f.Path] }
	k.found.Files = slices.DeleteFunc(k.found.Files, linked)
	k.found.TooLarge = slices.DeleteFunc(k.found.TooLarge, linked)
	k.found.Linked = slices.Sorted(maps.Keys(outside))
}

// run lists what is in the directory rel, whose parent has the rules parent.
func (k *walk) run(ctx context.Context, rel string, parent *scope) (List, error) {
	k.more.L = &k.mu
	k.jobs = []job{{rel, parent}}
	// Wakes the workers that wait, when ctx ends.
	stop := context.AfterFunc(ctx, func() { k.end(ctx.Err()) })
	defer stop()
	var workers sync.WaitGroup
	for range min(maxWorkers, runtime.GOMAXPROCS(0)) {
		workers.Go(k.work)
	}
	workers.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = ctx.Err() // nobody had to be woken
	}
	if k.err != nil {
		return List{}, k.err
	}
	if rel == "" { // what a walk of a part met says nothing of the names elsewhere
		k.leaveLinked()
	}
	byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
	order.Sort(k.found.Files, byPath)
	order.Sort(k.found.TooLarge, byPath)
	slices.Sort(k.found.Dirs)
	slices.Sort(k.found.Unreadable)
	slices.Sort(k.found.Secret)
	return k.found, nil
}

func (k *walk) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
	k.more.Broadcast()
}

// work lists directories until there are none.
func (k *walk) work() {
	for {
		k.mu.Lock()
		for len(k.jobs) == 0 && k.busy > 0 && k.err == nil {
			k.more.Wait()
		}
		if len(k.jobs) == 0 || k.err != nil {
			k.mu.Unlock()
			return
		}
		j := k.jobs[len(k.jobs)-1]
		k.jobs = k.jobs[:len(k.jobs)-1]
		k.busy++
		k.mu.Unlock()

		found, below, links, in, err := k.list(j)

		k.mu.Lock()
		k.busy--
		if err != nil && k.err == nil {
			k.err = err
		}
		k.jobs = append(k.jobs, below...)
		k.found.Files = append(k.found.Files, found.Files...)
		k.found.TooLarge = append(k.found.TooLarge, found.TooLarge...)
		k.found.Dirs = append(k.found.Dirs, found.Dirs...)
		k.found.Unreadable = append(k.found.Unreadable, found.Unreadable...)
		k.found.Odd += found.Odd
		k.found.Ignored += found.Ignored
		k.found.Secret = append(k.found.Secret, found.Secret...)
		k.meet(links)
		if k.entered != nil && in != nil {
			k.entered(j.rel, in.scope, in.skip)
		}
		k.more.Broadcast()
		k.mu.Unlock()
	}
}

// list reads one directory. in is nil where there was nothing to read. Its error is one that ends the walk.
func (k *walk) list(j job) (found List, below []job, several []link, in *entry, err error) {
	abs := k.rules.abs(j.rel)
	if k.watch != nil {
		if err := k.watch(j.rel); err != nil {
			return List{}, nil, nil, nil, err
		}
	}
	dir, entries, err := readDir(abs, j.rel == "")
	if dir != nil {
		defer dir.Close()
	}
	switch {
	case err == nil:
	case j.rel == "" && len(entries) == 0:
		return List{}, nil, nil, nil, fmt.Errorf("listing files: %w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return List{}, nil, nil, nil, nil // it is gone, or no directory any more
	default:
		found.Unreadable = append(found.Unreadable, j.rel)
		if len(entries) == 0 {
			return found, nil, nil, nil, nil
		}
	}
	var has [len(governing)]bool
	for _, e := range entries {
		if at := slices.Index(governing[:], e.Name()); at >= 0 {
			has[at] = true
		}
	}
	scope, skip := k.rules.enter(j.rel, j.parent, has[0], has[1], has[2])
	in = &entry{scope, skip}
	if skip {
		return List{}, nil, nil, in, nil
	}
	found.Dirs = []string{j.rel}
	for _, e := range entries {
		name, kind := e.Name(), e.Type()
		if !kind.IsDir() && !kind.IsRegular() {
			continue
		}
		if odd(name) {
			found.Odd++
			continue
		}
		rel := join(j.rel, name)
		if k.rules.ignored(scope, rel, name, kind.IsDir()) {
			switch {
			case kind.IsRegular() && k.rules.secret(rel):
				found.Secret = append(found.Secret, rel)
			case !(kind.IsDir() && Skipped(name)):
				found.Ignored++
			}
			if kind.IsRegular() { // a name that is left out is one in the tree all the same
				if _, links, regular := stampIn(dir, e); regular && links.count > 1 {
					several = append(several, link{links, rel, false})
				}
			}
			continue
		}
		if kind.IsDir() {
			below = append(below, job{rel, scope})
			continue
		}
		stamp, links, regular := stampIn(dir, e)
		if !regular {
			continue
		}
		if links.count > 1 {
			several = append(several, link{links, rel, !k.rules.wanted(rel, name, false)})
		}
		f := File{Path: rel, Stamp: stamp}
		if f.Stamp.Size > MaxFileBytes {
			found.TooLarge = append(found.TooLarge, f)
		} else {
			found.Files = append(found.Files, f)
		}
	}
	return found, below, several, in, nil
}

// readDir lists a directory, in no order, and leaves it open. Only the root may be a link. Together with an error it
// returns what was read before it.
func readDir(path string, root bool) (*os.File, []fs.DirEntry, error) {
	flags := dirFlags
	if root {
		flags &^= noFollow
	}
	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	entries, err := f.ReadDir(-1)
	return f, entries, err
}
