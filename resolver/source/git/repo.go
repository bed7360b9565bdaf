package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
)

// maxHeld bounds the content of blobs and trees that a repo keeps between requests, in bytes.
const maxHeld = 128 << 20

// A few small trees that hold each other many times over have more paths than
// there is time to list. So one listing looks at maxPaths paths of maxPath bytes.
const (
	maxPaths = 1 << 20
	maxPath  = 4096
)

// A repo is what a Source knows of one URL.
type repo struct {
	url     string
	rungs   []rung
	offline bool
	cache   *cache // nil for none
	limit   int64  // bytes of content of one request

	// turn holds one token. Who takes it may use the fields below and the rungs;
	// others wait, and find what they want when it comes back.
	turn    chan struct{}
	first   int // rungs before it have shown that they cannot
	adverts []advert
	listed  bool
	commits map[plumbing.Hash]*snapshot
	blobs   map[plumbing.Hash][]byte
	held    int64 // bytes in commits and blobs
}

func newRepo(rawURL string) *repo {
	r := &repo{url: rawURL, turn: make(chan struct{}, 1), limit: maxObjects}
	r.turn <- struct{}{}
	return r
}

// take waits for the turn; the caller gives it back by calling done.
func (r *repo) take(ctx context.Context) (done func(), err error) {
	select {
	case <-r.turn:
		return func() { r.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// climb calls do with one rung after the other until one can.
func (r *repo) climb(do func(rung) error) error {
	var first error // the first answer that is not just about a rung's abilities
	var reasons []string
	for i := r.first; i < len(r.rungs); i++ {
		err := do(r.rungs[i])
		if err == nil {
			return nil
		}
		un, isUnsupported := errors.AsType[*unsupported](err)
		gone, isUnreached := errors.AsType[*unreached](err)
		switch {
		case isUnsupported:
			reasons = append(reasons, un.why)
			if r.first == i {
				r.first++
			}
			continue
		case first == nil:
			first = err
		}
		if isUnreached && !gone.final || r.moreCredentials(i, err) {
			continue
		}
		return first
	}
	if first == nil {
		r.first = 0
		first = fmt.Errorf("no way is left: %s", strings.Join(reasons, "; "))
	}
	return first
}

// moreCredentials reports whether the rung after i may know credentials that rung i does not.
func (r *repo) moreCredentials(i int, err error) bool {
	if _, isWire := r.rungs[i].(*wire); !isWire || !isCode(err, "git_auth") || i+1 == len(r.rungs) {
		return false
	}
	_, isSystem := r.rungs[i+1].(*sysgit)
	return isSystem
}

// refs lists the refs, asking once.
func (r *repo) refs(ctx context.Context) ([]advert, error) {
	done, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if r.listed {
		return r.adverts, nil
	}
	if r.offline {
		return nil, offlineError(r.url)
	}
	err = r.climb(func(g rung) (err error) {
		r.adverts, err = g.refs(ctx)
		return err
	})
	if err != nil {
		return nil, explain(r.url, plumbing.ZeroHash, err)
	}
	r.listed = true
	return r.adverts, nil
}

// A snapshot is a commit with its trees. It does not change.
type snapshot struct {
	url    string
	commit plumbing.Hash
	root   plumbing.Hash
	when   time.Time  // of the committer, UTC
	set    *objectSet // trees, maybe blobs
}

// open returns the snapshot of a commit, fetching it once.
func (r *repo) open(ctx context.Context, commit plumbing.Hash) (*snapshot, error) {
	done, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if s, ok := r.commits[commit]; ok {
		return s, nil
	}
	if set, ok := r.cache.commit(commit); ok {
		if s, err := r.snapshot(commit, set); err == nil {
			return s, nil
		}
	}
	if r.offline {
		return nil, offlineError(r.url)
	}
	var set *objectSet
	err = r.climb(func(g rung) error {
		set = newObjectSet(r.limit)
		return g.objects(ctx, commit, set)
	})
	if err != nil {
		return nil, explain(r.url, commit, err)
	}
	s, err := r.snapshot(commit, set)
	if err == nil {
		r.cache.putCommit(commit, set)
	}
	return s, err
}

// snapshot makes a snapshot of set and remembers it.
func (r *repo) snapshot(commit plumbing.Hash, set *objectSet) (*snapshot, error) {
	data, ok := set.get(commit, plumbing.CommitObject)
	if !ok {
		return nil, digestError(r.url, commit)
	}
	root, when, err := parseCommit(data)
	if err != nil {
		return nil, explain(r.url, commit, err)
	}
	if _, ok := set.get(root, plumbing.TreeObject); !ok {
		return nil, digestError(r.url, root)
	}
	s := &snapshot{url: r.url, commit: commit, root: root, when: when, set: set}
	r.hold(set.size)
	r.commits[commit] = s
	return s, nil
}

// hold counts n more bytes, and forgets what is held when that is too much.
func (r *repo) hold(n int64) {
	if r.commits == nil || r.held+n > maxHeld {
		r.commits = make(map[plumbing.Hash]*snapshot)
		r.blobs = make(map[plumbing.Hash][]byte)
		r.held = 0
	}
	r.held += n
}

// load returns the content of blobs of snap, asking for all that are missing in one request.
func (r *repo) load(ctx context.Context, snap *snapshot, ids []plumbing.Hash) (map[plumbing.Hash][]byte, error) {
	done, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	found := make(map[plumbing.Hash][]byte, len(ids))
	missing := r.look(snap, ids, found)
	if len(missing) > 0 {
		r.keep(r.cache.blobs(snap.commit, missing), found)
		missing = r.look(snap, ids, found)
	}
	if len(missing) == 0 {
		return found, nil
	}
	if r.offline {
		return nil, offlineError(r.url)
	}
	var set *objectSet
	err = r.climb(func(g rung) error {
		set = newObjectSet(source.Limit(ctx, r.limit))
		return g.blobs(ctx, snap.commit, missing, set)
	})
	if err != nil {
		return nil, explain(r.url, snap.commit, err)
	}
	r.keep(set, found)
	for _, id := range missing {
		if _, ok := found[id]; !ok {
			return nil, digestError(r.url, id)
		}
	}
	r.cache.putBlobs(snap.commit, missing, set)
	return found, nil
}

// look adds what is in memory to found and returns the other ids, each once.
func (r *repo) look(snap *snapshot, ids []plumbing.Hash, found map[plumbing.Hash][]byte) []plumbing.Hash {
	var missing []plumbing.Hash
	asked := make(map[plumbing.Hash]bool)
	for _, id := range ids {
		if _, ok := found[id]; ok || asked[id] {
			continue
		}
		if data, ok := snap.set.get(id, plumbing.BlobObject); ok {
			found[id] = data
		} else if data, ok := r.blobs[id]; ok {
			found[id] = data
		} else {
			asked[id] = true
			missing = append(missing, id)
		}
	}
	return missing
}

// keep remembers the blobs of set, and adds them to found.
func (r *repo) keep(set *objectSet, found map[plumbing.Hash][]byte) {
	if set == nil {
		return
	}
	r.hold(set.size)
	for id, o := range set.byID {
		if o.kind == plumbing.BlobObject {
			r.blobs[id] = o.data
			found[id] = o.data
		}
	}
}

// A file is one path of a snapshot that is not a tree.
type file struct {
	path string // from the root of the repository
	mode uint32
	id   plumbing.Hash
}

// tree returns the tree at dir, a slash path; "" is the root.
func (s *snapshot) tree(dir string) (id plumbing.Hash, ok bool, err error) {
	id = s.root
	if dir == "" {
		return id, true, nil
	}
	for _, elem := range strings.Split(dir, "/") {
		data, err := s.treeData(id)
		if err != nil {
			return plumbing.ZeroHash, false, err
		}
		found := false
		for e, err := range treeEntries(data) {
			if err != nil {
				return plumbing.ZeroHash, false, explain(s.url, s.commit, err)
			}
			if e.name == elem && e.mode&modeType == modeTree {
				id, found = e.id, true
				break
			}
		}
		if !found {
			return plumbing.ZeroHash, false, nil
		}
	}
	return id, true, nil
}

func (s *snapshot) treeData(id plumbing.Hash) ([]byte, error) {
	data, ok := s.set.get(id, plumbing.TreeObject)
	if !ok {
		return nil, digestError(s.url, id)
	}
	return data, nil
}

// walk calls visit for everything below the directory dir whose tree is id, in the order of the
// trees, and goes into the directories for which enter is true; depth counts from 1 there.
func (s *snapshot) walk(dir string, id plumbing.Hash, enter func(path string, depth int) bool, visit func(file)) error {
	left := maxPaths
	var into func(dir string, id plumbing.Hash, depth int) error
	into = func(dir string, id plumbing.Hash, depth int) error {
		data, err := s.treeData(id)
		if err != nil {
			return err
		}
		for e, err := range treeEntries(data) {
			p := e.name
			if dir != "" {
				p = dir + "/" + e.name
			}
			if left--; left < 0 || len(p) > maxPath {
				err = errTooLarge
			}
			if err != nil {
				return explain(s.url, s.commit, err)
			}
			if e.mode&modeType != modeTree {
				visit(file{p, e.mode, e.id})
			} else if enter(p, depth+1) {
				if err := into(p, e.id, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return into(dir, id, 0)
}

func sumOf(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }
