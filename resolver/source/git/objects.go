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

// treeEntries yields the entries of a tree object. A malformed tree, or a name
// that is no path element, ends it with an error.
func treeEntries(data []byte) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for len(data) > 0 {
			sp := bytes.IndexByte(data, ' ')
			nul := bytes.IndexByte(data, 0)
			if sp < 0 || nul < sp || len(data) < nul+21 {
				yield(entry{}, errors.New("malformed tree"))
				return
			}
			mode, err := strconv.ParseUint(string(data[:sp]), 8, 32)
			e := entry{name: string(data[sp+1 : nul]), mode: uint32(mode)}
			if err != nil {
				yield(entry{}, fmt.Errorf("malformed tree entry %q", e.name))
				return
			}
			if e.name == "" || e.name == "." || e.name == ".." || strings.Contains(e.name, "/") {
				yield(entry{}, diag.New(diag.Refused, bundle.CodePathTraversal, "the tree names an entry %q, which is no name", diag.Printable(e.name)))
				return
			}
			copy(e.id[:], data[nul+1:])
			data = data[nul+21:]
			if !yield(e, nil) {
				return
			}
		}
	}
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
	for line := range strings.SplitSeq(head, "\n") {
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
