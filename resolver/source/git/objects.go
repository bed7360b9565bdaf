package git

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	githash "github.com/go-git/go-git/v5/plumbing/hash"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// maxObjects bounds the content one request may bring into memory, in bytes.
const maxObjects = 64 << 20

// errTooLarge says that a bound of this package was reached.
var errTooLarge = errors.New("more than is read of one repository")

// A gitObject is an object whose id has been computed from its content.
type gitObject struct {
	kind plumbing.ObjectType
	data []byte
}

// An objectSet holds objects by id. The only way in is add, which computes the
// id, so that no object is ever found under a name its content does not have.
type objectSet struct {
	limit  int64 // bytes of content
	size   int64
	byID   map[plumbing.Hash]gitObject
	hasher hash.Hash // SHA-1 with collision detection
}

func newObjectSet(limit int64) *objectSet {
	return &objectSet{limit: limit, byID: make(map[plumbing.Hash]gitObject), hasher: githash.New(githash.CryptoType)}
}

// room reports whether n more bytes may be held.
// A single file larger than a whole bundle may be is never worth reading.
func (s *objectSet) room(n int64) bool {
	return n >= 0 && n <= s.limit-s.size && n <= bundle.InstallLimits.Bytes
}

// add takes ownership of data.
func (s *objectSet) add(kind plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	if !s.room(int64(len(data))) {
		return plumbing.ZeroHash, errTooLarge
	}
	s.hasher.Reset()
	head := append(make([]byte, 0, 32), kind.Bytes()...)
	head = strconv.AppendInt(append(head, ' '), int64(len(data)), 10)
	s.hasher.Write(append(head, 0))
	s.hasher.Write(data)
	var id plumbing.Hash
	s.hasher.Sum(id[:0])
	if _, have := s.byID[id]; !have {
		s.byID[id] = gitObject{kind, data}
		s.size += int64(len(data))
	}
	return id, nil
}

func (s *objectSet) get(id plumbing.Hash, kind plumbing.ObjectType) ([]byte, bool) {
	o, ok := s.byID[id]
	return o.data, ok && o.kind == kind
}

// Modes of tree entries.
const (
	modeTree   = 0o040000
	modeFile   = 0o100000
	modeLink   = 0o120000
	modeModule = 0o160000
	modeType   = 0o170000
)

// An entry is one line of a tree.
type entry struct {
	name string
	mode uint32
	id   plumbing.Hash
}

// treeModes are the modes that git writes, 100664 long ago, and their spelling with a zero in
// front. Of others some programs make a file, others a link or submodule.
var treeModes = map[string]uint32{
	"40000": modeTree, "040000": modeTree, "100644": modeFile | 0o644, "100664": modeFile | 0o644,
	"100755": modeFile | 0o755, "120000": modeLink, "160000": modeModule,
}

// treeEntries yields the entries of a tree object. A malformed tree, a name that is no path element, a mode
// that git does not write, and names twice or out of git's order, of which programs see
// different ones, end it with an error.
func treeEntries(data []byte) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var last entry
		var open []string // files whose name starts the names that follow: a directory may have one of them again
		for len(data) > 0 {
			e, rest, err := nextEntry(data)
			if err == nil && last.name != "" && !last.before(e) {
				err = badTree(e.name, "stands twice, or behind a name that comes after it")
			}
			for len(open) > 0 && !strings.HasPrefix(e.name, open[len(open)-1]) {
				open = open[:len(open)-1]
			}
			if err == nil && len(open) > 0 && open[len(open)-1] == e.name {
				err = badTree(e.name, "is both a file and a directory")
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			if e.mode&modeType != modeTree {
				open = append(open, e.name)
			}
			if !yield(e, nil) {
				return
			}
			last, data = e, rest
		}
	}
}

// nextEntry splits the first entry off a tree.
func nextEntry(data []byte) (e entry, rest []byte, err error) {
	sp := bytes.IndexByte(data, ' ')
	nul := bytes.IndexByte(data, 0)
	if sp < 0 || nul < sp || len(data) < nul+21 {
		return entry{}, nil, errors.New("malformed tree")
	}
	e.name = string(data[sp+1 : nul])
	mode, known := treeModes[string(data[:sp])]
	switch {
	case e.name == "" || e.name == "." || e.name == ".." || strings.Contains(e.name, "/"):
		return entry{}, nil, diag.New(diag.Refused, bundle.CodePathTraversal, "the tree names an entry %q, which is not a name", diag.Printable(e.name))
	case !known:
		return entry{}, nil, badTree(e.name, fmt.Sprintf("has the mode %q, which git does not write", diag.Printable(string(data[:min(sp, 12)]))))
	}
	e.mode = mode
	copy(e.id[:], data[nul+1:])
	return e, data[nul+21:], nil
}

// before reports whether e stands before next in a tree: directories as if their name ended in a slash.
func (e entry) before(next entry) bool {
	key := func(e entry) string {
		if e.mode&modeType == modeTree {
			return e.name + "/"
		}
		return e.name
	}
	return key(e) < key(next)
}

func badTree(name, why string) error {
	return diag.New(diag.Refused, "git_tree", "the entry %q of a tree %s", diag.Printable(name), why).
		Hint("git fsck, in a clone of the repository, lists such trees")
}

// addReachable adds what commit holds from all: itself, its trees and their
// blobs, as far as they are there.
func (s *objectSet) addReachable(all *objectSet, commit plumbing.Hash) error {
	take := func(id plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
		data, ok := all.get(id, kind)
		if _, have := s.byID[id]; !ok || have {
			return data, nil
		}
		if !s.room(int64(len(data))) {
			return nil, errTooLarge
		}
		s.byID[id] = gitObject{kind, data}
		s.size += int64(len(data))
		return data, nil
	}
	data, err := take(commit, plumbing.CommitObject)
	if err != nil {
		return err
	}
	root, _, err := parseCommit(data)
	if err != nil {
		return err
	}
	return addTrees(root, s, func(id plumbing.Hash) ([]byte, error) {
		data, err := take(id, plumbing.TreeObject)
		for e, bad := range treeEntries(data) {
			if bad == nil && err == nil && e.mode&modeType != modeTree {
				_, err = take(e.id, plumbing.BlobObject)
			}
		}
		return data, err
	})
}

// addTrees reads root and all trees below it, each once; read adds them to set.
func addTrees(root plumbing.Hash, set *objectSet, read func(plumbing.Hash) ([]byte, error)) error {
	for queue := []plumbing.Hash{root}; len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, seen := set.byID[id]; seen {
			continue
		}
		data, err := read(id)
		if err != nil {
			return err
		}
		for e, err := range treeEntries(data) {
			if err != nil {
				return err
			}
			if e.mode&modeType == modeTree {
				queue = append(queue, e.id)
			}
		}
	}
	return nil
}

// parseCommit returns the tree and the committer time of a commit object.
func parseCommit(data []byte) (tree plumbing.Hash, when time.Time, err error) {
	head, _, _ := strings.Cut(string(data), "\n\n")
	for _, line := range strings.Split(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case key == "tree" && tree.IsZero():
			if !plumbing.IsHash(value) {
				return plumbing.ZeroHash, time.Time{}, errors.New("malformed commit")
			}
			tree = plumbing.NewHash(value)
		case key == "committer":
			// Name <mail> SECONDS ZONE
			fields := strings.Fields(value[strings.LastIndexByte(value, '>')+1:])
			if len(fields) > 0 {
				if sec, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
					when = time.Unix(sec, 0).UTC()
				}
			}
		}
	}
	if tree.IsZero() {
		return plumbing.ZeroHash, time.Time{}, errors.New("malformed commit")
	}
	return tree, when, nil
}
