package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/order"
)

const (
	lazyAbove     = 1000        // files that are not indexed: more are not read before a first answer
	sortAbove     = 64          // more are read in the order of what they promise for the question
	bytesPerBatch = 24 << 20    // of files that become visible together
	timePerBatch  = time.Second // at most, since others wait that have something to store
)

// A difference is what the files have that the store does not know.
type difference struct {
	new     []files.File // and changed ones, by path
	inOrder bool         // new is sorted otherwise: by what is to be read first
	removed []string
	unsure  []*store.File          // their stamps cannot tell
	stale   map[string]*store.File // those that a query found: they are read first
	list    files.List
}

// files returns what is to be read, in order.
func (d *difference) files() []files.File {
	list := slices.Clone(d.new)
	for _, f := range d.unsure {
		list = append(list, files.File{Path: f.Path, Stamp: f.Stamp})
	}
	if !d.inOrder {
		order.Sort(list, byPath)
	}
	if len(d.stale) > 0 {
		order.Stable(list, func(a, b files.File) int { return d.place(a) - d.place(b) })
	}
	return list
}

func (d *difference) place(f files.File) int {
	if d.stale[f.Path] != nil {
		return 0
	}
	return 1
}

func (d *difference) none() bool { return len(d.new)+len(d.removed)+len(d.unsure) == 0 }

// many says whether there is more to read than one waits for before a first answer.
func (d *difference) many() bool { return len(d.new) > lazyAbove }

// look compares the files with the store. Those that are stale are different, whatever their stamps say.
func (x *Index) look(ctx context.Context, stale map[string]*store.File) (difference, error) {
	d, err := x.stamps(ctx)
	if err != nil || len(stale) == 0 {
		return d, err
	}
	told := make(map[string]bool, len(d.new)+len(d.unsure))
	for _, f := range d.new {
		told[f.Path] = true
	}
	for _, f := range d.unsure {
		told[f.Path] = true
	}
	for _, p := range d.removed {
		told[p] = true
	}
	for p := range stale {
		if !told[p] {
			d.new = append(d.new, files.File{Path: p})
		}
	}
	d.stale = stale
	return d, nil
}

// stamps compares the files with the store by what their stamps say.
func (x *Index) stamps(ctx context.Context) (difference, error) {
	list, version, err := x.list(ctx)
	if err != nil {
		return difference{}, err
	}
	v, err := x.view(ctx)
	if err != nil {
		return difference{}, err
	}
	defer v.Close()
	if version != 0 && x.agreed.load() == (agreement{version, v.Generation()}) {
		return difference{list: list}, nil
	}
	d := compare(list.Files, list.TooLarge, v.Files())
	d.list = list
	if version != 0 && d.none() {
		x.agreed.store(agreement{version, v.Generation()})
	}
	return d, nil
}

// An agreement is a list of files that a generation was found to cover.
type agreement struct{ version, generation uint64 }

// agreed is the last agreement.
type agreed struct {
	mu sync.Mutex
	a  agreement
}

func (a *agreed) load() agreement {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.a
}

func (a *agreed) store(n agreement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.a = n
}

func byPath(a, b files.File) int { return strings.Compare(a.Path, b.Path) }

// compare walks along both lists, which are sorted by path.
func compare(found, large []files.File, known []*store.File) (d difference) {
	if len(large) > 0 {
		found = slices.Concat(found, large)
		order.Sort(found, byPath)
	}
	i := 0
	for _, f := range found {
		for i < len(known) && known[i].Path < f.Path {
			d.removed = append(d.removed, known[i].Path)
			i++
		}
		switch {
		case i == len(known) || known[i].Path != f.Path:
			d.new = append(d.new, f)
			continue
		case known[i].Stamp != f.Stamp:
			d.new = append(d.new, f)
		case !settled(known[i].Stamp, known[i].Read):
			d.unsure = append(d.unsure, known[i])
		}
		i++
	}
	for ; i < len(known); i++ {
		d.removed = append(d.removed, known[i].Path)
	}
	return d
}

// list returns the files there are: by walking, or from what the watcher told. The version is that of what it told, 0 for a walk.
// A walk for the watcher goes on when ctx ends: the next question gets what it finds.
func (x *Index) list(ctx context.Context) (files.List, uint64, error) {
	if err := ctx.Err(); err != nil {
		return files.List{}, 0, err
	}
	select {
	case x.watching <- struct{}{}:
	case <-ctx.Done():
		return files.List{}, 0, ctx.Err()
	}
	if x.watcher == nil {
		defer func() { <-x.watching }()
		return x.listed(x.walker.Walk(ctx))
	}
	if err := x.watcher.Sync(ctx); err != nil {
		<-x.watching
		return files.List{}, 0, err
	}
	type answer struct {
		list    files.List
		version uint64
		err     error
	}
	done := make(chan answer, 1)
	x.background.Go(func() {
		defer func() { <-x.watching }()
		work, stop := x.lasting(ctx)
		defer stop()
		list, version, err := x.told(work)
		done <- answer{list, version, err}
	})
	select {
	case a := <-done:
		return a.list, a.version, a.err
	case <-ctx.Done():
		return files.List{}, 0, ctx.Err()
	}
}

// told returns the files as the watcher told them.
func (x *Index) told(ctx context.Context) (list files.List, version uint64, err error) {
	changed, all := x.watcher.Changes()
	all = all || slices.ContainsFunc(changed, x.isDir) // one that took the place of another: nobody tells what that had
	all = all || slices.ContainsFunc(changed, x.several)
	if all || x.known.Files == nil {
		if list, err = x.walker.Walk(ctx); err != nil {
			x.known = files.List{} // what the watcher told is lost
			return files.List{}, 0, err
		}
		x.known = list
		x.version++
	} else if len(changed) > 0 {
		x.known = x.again(x.known, changed)
		x.version++
	}
	list, _, _ = x.listed(x.known, nil)
	return list, x.version, nil
}

// listed remembers what a list leaves out.
func (x *Index) listed(list files.List, err error) (files.List, uint64, error) {
	if err == nil {
		l := leftOut(list)
		x.left.Store(&l)
	}
	return list, 0, err
}

// several says that a file has more names than one: only a walk knows whether all are in the tree.
func (x *Index) several(path string) bool {
	info, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(path)))
	return err == nil && info.Mode().IsRegular() && files.Several(info)
}

// leftOut is what a walk left out.
func leftOut(list files.List) query.LeftOut {
	paths := slices.Concat(list.Secret, list.Linked)
	return query.LeftOut{Ignored: list.Ignored, Secret: len(list.Secret), Linked: len(list.Linked), Odd: list.Odd, Unreadable: len(list.Unreadable), TooLarge: len(list.TooLarge),
		Paths: append([]string{}, paths[:min(len(paths), query.MaxLeftOut)]...)}
}

// LeftOut is what the last answer did not cover on purpose.
func (x *Index) LeftOut() query.LeftOut {
	if l := x.left.Load(); l != nil {
		return *l
	}
	return query.LeftOut{}
}

// noted is the note of an answer, with what was left out where the answer is complete otherwise, or empty.
func noted(q query.Query, pending int, notRead []string, behind, found bool, left query.LeftOut) string {
	note := q.Note(pending, notRead, behind, found)
	if all := q.Expr != nil && readsAll(q.Expr); !found || all {
		note = query.Notes(note, left.Note(!all))
	}
	return note
}

func (x *Index) isDir(path string) bool {
	info, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(path)))
	return err == nil && info.IsDir()
}

// again returns list with the paths that changed as they are now.
func (x *Index) again(list files.List, changed []string) files.List {
	type now struct {
		f           files.File
		here, large bool
	}
	state := make(map[string]now, len(changed))
	var gone []string // where there may have been directories
	for _, p := range changed {
		info, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(p)))
		n := now{f: files.File{Path: p}}
		if i, _ := slices.BinarySearchFunc(list.Files, p+"/", func(f files.File, p string) int { return strings.Compare(f.Path, p) }); i < len(list.Files) && strings.HasPrefix(list.Files[i].Path, p+"/") {
			gone = append(gone, p+"/")
		}
		if err == nil && info.Mode().IsRegular() {
			n.f.Stamp, n.here, n.large = files.StampOf(info), true, info.Size() > files.MaxFileBytes
		}
		state[p] = n
	}
	keep := func(f files.File) bool {
		_, told := state[f.Path]
		return !told && !slices.ContainsFunc(gone, func(d string) bool { return strings.HasPrefix(f.Path, d) })
	}
	out := list
	out.Files, out.TooLarge = nil, nil
	for _, f := range list.Files {
		if keep(f) {
			out.Files = append(out.Files, f)
		}
	}
	for _, f := range list.TooLarge {
		if keep(f) {
			out.TooLarge = append(out.TooLarge, f)
		}
	}
	for _, n := range state {
		switch {
		case n.here && n.large:
			out.TooLarge = append(out.TooLarge, n.f)
		case n.here:
			out.Files = append(out.Files, n.f)
		}
	}
	order.Sort(out.Files, byPath)
	order.Sort(out.TooLarge, byPath)
	return out
}

// cover stores what is different, as far as there is time, and returns the files that it did not come to.
func (x *Index) cover(ctx context.Context, p patience, q query.Query, d difference) (pending []files.File, err error) {
	if d.none() {
		return nil, nil
	}
	ctx, cancel := p.reading(ctx, d.many())
	defer cancel()
	if len(d.new) > sortAbove {
		d.new, d.inOrder = x.promising(ctx, d.new, q), true
	}
	_, err = x.apply(ctx, d, false, nil)
	late, ok := errors.AsType[*cutShort](err)
	if !ok {
		return nil, err
	}
	return late.left, nil // what is not covered is said, and read next time
}
