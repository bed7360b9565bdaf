package index

import (
	"bytes"
	"context"
	"hash/maphash"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
)

// Terms of the store besides those of index/rank, which have no underscore.
const (
	nameTerm   = "n_" // a term of the name of a node that begins in the piece
	exactTerm  = "e_" // its whole name
	ownerTerm  = "o_" // the whole name of what it belongs to
	pathTerm   = "p_" // a term of the path
	handleTerm = "h_" // the first 4 digits of its id
)

// A maker makes records. It is for one goroutine.
type maker struct {
	root     string
	grams    store.GramSet
	seed     maphash.Seed
	seen     []seenTerm // maxSeen of them, open addressing; an entry counts if its piece is the current one
	distinct int        // entries of the current piece
	piece    uint32
	terms    []byte
}

// maxSeen is a power of two.
const maxSeen = 1 << 13

type seenTerm struct {
	hash  uint64
	piece uint32
}

func newMaker(root string) *maker {
	return &maker{root: root, seed: maphash.MakeSeed(), seen: make([]seenTerm, maxSeen)}
}

// record reads a file. Its text is returned besides.
func (m *maker) record(path string) (*store.Record, []byte, error) {
	begin := time.Now()
	data, stamp, err := readFile(m.root, path, nil)
	if err != nil {
		return nil, nil, err
	}
	r := &store.Record{File: store.File{Path: path, Stamp: stamp, Read: begin.UnixNano()}}
	if stamp.Size > files.MaxFileBytes {
		r.Flags = store.Large
		return r, nil, nil
	}
	r.Hash = hashOf(data)
	m.fill(r, data)
	return r, data, nil
}

// fill sets what follows from the path and the text.
func (m *maker) fill(r *store.Record, data []byte) {
	r.Outline = chunk.Split(r.Path, data)
	o := &r.Outline
	r.Language, r.Tokens, r.Pieces = o.Language, o.Tokens, len(o.Pieces)
	if o.Binary {
		r.Flags = store.Binary
		if chunk.IsUTF16(data) {
			r.Flags |= store.UTF16
		}
		return
	}
	r.Grams = store.Grams(data, &m.grams)
	r.Terms = make([][]byte, len(o.Pieces))
	var path [][]byte // the terms of it
	rank.Terms([]byte(r.Path), func(t []byte) { path = append(path, bytes.Clone(t)) })
	shown := make([]bool, len(o.Nodes)) // by a piece
	next := 0                           // node
	for i := range o.Pieces {
		p := &o.Pieces[i]
		if shown[p.Node] {
			r.Flags |= store.Shared
		}
		shown[p.Node] = true
		if o.Nodes[p.Node].Type == chunk.Chunk && o.Nodes[p.Node].Parent >= 0 {
			r.Flags |= store.Divided
		}
		m.begin()
		rank.Terms(data[p.Start:p.End], func(t []byte) { m.add("", t) })
		for _, t := range path {
			m.add(pathTerm, t)
		}
		if i == 0 {
			m.add(handleTerm, handleKey(query.ID(r.Path, chunk.File, 0, len(data))))
		}
		for ; next < len(o.Nodes) && (o.Nodes[next].Start < p.End || i == len(o.Pieces)-1); next++ {
			m.node(r.Path, o, next)
		}
		r.Terms[i] = bytes.Clone(m.terms)
	}
}

// node adds the terms that a node is found by.
func (m *maker) node(path string, o *chunk.Outline, i int) {
	n := &o.Nodes[i]
	m.add(handleTerm, handleKey(query.ID(path, n.Type, n.Start, n.End)))
	if n.Name != "" && n.Type != chunk.CodeBlock {
		rank.Terms([]byte(n.Name), func(t []byte) { m.add(nameTerm, t) })
		m.add(exactTerm, wholeName(n.Name))
	}
	if n.Owner != "" {
		m.add(ownerTerm, wholeName(n.Owner))
	}
	if n.Parent >= 0 {
		if p := &o.Nodes[n.Parent]; p.Name != "" && p.Name != n.Owner {
			m.add(ownerTerm, wholeName(p.Name))
		}
	}
}

// handleKey returns the digits of a handle id that are indexed: enough to leave a handful of files to be looked at.
func handleKey(id string) []byte { return []byte(id[1:5]) }

// wholeName returns the term of a name: in lower case, with "_" for all that cannot stand in a term.
func wholeName(name string) []byte {
	if len(name) > 200 {
		name = name[:200]
	}
	b := []byte(strings.ToLower(name))
	for i, c := range b {
		if c < 0x80 && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			b[i] = '_'
		}
	}
	return b
}

// begin starts a piece.
func (m *maker) begin() {
	m.terms, m.distinct = m.terms[:0], 0
	if m.piece++; m.piece == 0 {
		clear(m.seen)
		m.piece = 1
	}
}

// add adds a term if the piece does not have it. Two terms with one hash of 64 bits would be taken for one. Of an enormous piece, the
// terms behind the first few thousand may repeat.
func (m *maker) add(kind string, term []byte) {
	if len(term) == 0 {
		return
	}
	at := len(m.terms)
	m.terms = append(m.terms, kind...)
	m.terms = append(m.terms, term...)
	h := maphash.Bytes(m.seed, m.terms[at:])
	i := h % maxSeen
	for ; m.seen[i].piece == m.piece; i = (i + 1) % maxSeen {
		if m.seen[i].hash == h {
			m.terms = m.terms[:at]
			return
		}
	}
	m.terms = append(m.terms, ' ')
	if m.distinct < maxSeen*3/4 {
		m.distinct++
		m.seen[i] = seenTerm{h, m.piece}
	}
}

// making is what several makers do.
type making struct {
	root string
	list []files.File
}

// maxAhead is how many bytes of files are read before those in front of them were taken: enough to go on while a large file holds up
// the others, or a batch is committed.
const maxAhead = 3 << 20

// weight is what a file counts of maxAhead.
func weight(f files.File) int64 { return min(max(f.Stamp.Size, 1<<10), maxAhead) }

// run makes the records of all files with n goroutines and hands them, in the order of the list, to take, which is called by one goroutine.
// A file that cannot be read gives a nil record and its error.
func (k making) run(ctx context.Context, n int, take func(path string, r *store.Record, err error) error) error {
	type result struct {
		r   *store.Record
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]chan result, len(k.list))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	room := semaphore.NewWeighted(maxAhead)
	next := make(chan int)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(next)
		for i, f := range k.list {
			if room.Acquire(ctx, weight(f)) != nil {
				return
			}
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	finished := make(chan struct{}, n)
	for range n {
		go func() {
			defer func() { finished <- struct{}{} }()
			m := newMaker(k.root)
			for i := range next {
				r, _, err := m.record(k.list[i].Path)
				results[i] <- result{r, err}
			}
		}()
	}
	var err error
	for i, f := range k.list {
		select {
		case res := <-results[i]:
			err = take(f.Path, res.r, res.err)
			room.Release(weight(f))
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			break
		}
	}
	cancel()
	<-done
	for range n {
		<-finished
	}
	return err
}
