package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/glob"
)

// considered is how many matches are scored by their text, at least; which, is decided by the index alone.
const considered = 200

// A hit is a node that matches.
type hit struct {
	file *store.File
	node int          // in the outline of file; wholeFile for that
	at   chunk.Region // of the match within the node, zero for the whole node
	line int          // of the match, 0 for none
	base float64      // added to the score that the text gives
}

const wholeFile = -1

// A found is what an expression matches, all of it: pieces of text search, or nodes.
type found struct {
	rows    []scoredRow // sorted by row; nil if hits are meant
	hits    []hit       // sorted by path and node, each node once
	byRow   bool
	refs    []reference // of References at the top
	relaxed bool        // has some words, not all
	atLeast bool        // there may be more
}

type scoredRow struct {
	row store.Row
	pre float64 // what the index says of it
}

// A search answers one query from one state of the index.
type search struct {
	x        *Index
	v        *store.View
	q        query.Query
	ask      rank.Question
	sentence bool                   // ask has at least questionWords words
	strict   bool                   // while arguments of an intersection are evaluated
	within   []glob.Glob            // what surrounds the expression that is evaluated: other files need not be read
	pending  []files.File           // that the store does not cover
	local    map[int64]*local       // files of pending that were read for this answer, by a number below 0
	locals   map[string]*store.File // all that have such a number, read or not, by path
	stale    map[string]*store.File // that are not what the store says
	notRead  []string               // languages in which words were searched instead of names
	blocks   map[int64]*blocks      // of files that are not divided when they are indexed, and were for this answer
	cut      cut
}

// A local is a file that is not stored, or not yet.
type local struct {
	record *store.Record
	text   []byte
}

func (s *search) outline(f *store.File) (*chunk.Outline, error) {
	var l *local
	if f.ID < 0 {
		l = s.load(f) // also if its blocks are known: it is kept after the answer
	}
	switch b := s.blocks[f.ID]; {
	case b != nil:
		return &b.outline, nil
	case l != nil:
		return &l.record.Outline, nil
	}
	return s.v.Outline(f)
}

// text returns the bytes of a file, as they were when it was indexed. A file that is not the same now is
// remembered as stale, and not ok.
func (s *search) text(f *store.File) (text []byte, ok bool) {
	if f.ID < 0 {
		l := s.load(f)
		return l.text, l.text != nil
	}
	if _, bad := s.stale[f.Path]; bad {
		return nil, false
	}
	if text, ok = s.x.texts.of(s.x.root, f, nil); !ok {
		s.stale[f.Path] = f
	}
	return text, ok
}

// region returns the bytes and lines of a hit.
func (s *search) region(h hit) (chunk.Part, error) {
	o, err := s.outline(h.file)
	if err != nil {
		return chunk.Part{}, err
	}
	if h.node == wholeFile {
		lines := 1
		if n := len(o.Pieces); n > 0 {
			lines = o.Pieces[n-1].LastLine
		}
		return chunk.Part{Type: chunk.File, Region: chunk.Region{End: int(h.file.Stamp.Size), FirstLine: 1, LastLine: lines}, Parent: -1, Tokens: h.file.Tokens}, nil
	}
	return o.Nodes[h.node], nil
}

// find evaluates an expression.
func (s *search) find(ctx context.Context, e *query.Expr) (found, error) {
	if err := ctx.Err(); err != nil {
		return found{}, err
	}
	switch e.Op {
	case query.Grep:
		return s.grep(ctx, e.Text)
	case query.Literal:
		return s.literal(ctx, e.Text)
	case query.Regex:
		return s.regex(ctx, e.Text)
	case query.Code:
		return s.code(e.Text)
	case query.Definition:
		return s.definition(e.Text)
	case query.Defining:
		return s.defining(ctx, e.Text)
	case query.References:
		return s.references(ctx, e.Text)
	case query.Section:
		return s.section(e.Text)
	case query.File:
		return s.whole(e.Glob), nil
	case query.Children:
		return s.children(e.Text, "")
	case query.Named:
		return s.children(e.Text, e.Name)
	case query.InFile:
		s.within = append(s.within, e.Glob)
		f, err := s.find(ctx, e.Args[0])
		s.within = s.within[:len(s.within)-1]
		if err != nil {
			return found{}, err
		}
		return f.in(s.v, e.Glob), nil
	case query.Union:
		return s.union(ctx, e.Args)
	case query.Intersect:
		return s.intersect(ctx, e.Args)
	case query.Limit:
		f, err := s.find(ctx, e.Args[0])
		if err != nil || f.refs != nil {
			f.refs = f.refs[:min(len(f.refs), e.N)]
			return f, err
		}
		ask := s.ask
		if s.ask, err = s.asked(e.Args[0].Texts()); err != nil { // the best for this, whatever is asked besides
			return found{}, err
		}
		best, _, err := s.best(f, e.N)
		s.ask = ask
		if err != nil {
			return found{}, err
		}
		hits := make([]hit, len(best))
		for i, b := range best {
			hits[i] = b.hit
		}
		return found{hits: sortHits(hits), relaxed: f.relaxed}, nil
	}
	panic("an operation without a meaning")
}

// matters says whether what is found in a file is kept.
func (s *search) matters(path string) bool {
	return !slices.ContainsFunc(s.within, func(g glob.Glob) bool { return !g.Match(path) })
}

// in keeps what lies in files that glob matches.
func (f found) in(v *store.View, glob glob.Glob) found {
	matches := map[int64]bool{}
	inside := func(file *store.File) bool {
		ok, known := matches[file.ID]
		if !known {
			ok = glob.Match(file.Path)
			matches[file.ID] = ok
		}
		return ok
	}
	f.rows = keep(f.rows, func(r scoredRow) bool { return inside(v.File(r.row.File())) })
	f.hits = keep(f.hits, func(h hit) bool { return inside(h.file) })
	if f.refs != nil { // and stays so: none were found is not the same as none were asked for
		f.refs = append([]reference{}, keep(f.refs, func(r reference) bool { return inside(r.file) })...)
	}
	return f
}

// asHits turns pieces into the nodes that they are shown as. only, if it is not nil, says which files matter.
func (s *search) asHits(f found, only map[int64]bool) ([]hit, error) {
	if f.refs != nil {
		return s.users(f.refs)
	}
	if !f.byRow {
		return f.hits, nil
	}
	hits := make([]hit, 0, len(f.rows))
	for _, r := range f.rows {
		if only != nil && !only[r.row.File()] {
			continue
		}
		file := s.v.File(r.row.File())
		o, err := s.outline(file)
		if err != nil {
			return nil, err
		}
		if r.row.Piece() < len(o.Pieces) {
			p := o.Pieces[r.row.Piece()]
			hits = append(hits, hit{file: file, node: p.Node, at: p.Region})
		}
	}
	return sortHits(hits), nil
}

// sortHits sorts by path and node, and keeps one of each node.
func sortHits(hits []hit) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(strings.Compare(a.file.Path, b.file.Path), cmp.Compare(a.node, b.node), cmp.Compare(b.base, a.base))
	})
	return slices.CompactFunc(hits, func(a, b hit) bool { return a.file == b.file && a.node == b.node })
}

// strictly makes patterns mean all their words, until the returned func is called.
func (s *search) strictly() func() {
	before := s.strict
	s.strict = true
	return func() { s.strict = before }
}

// union joins; what matches several arguments is there once.
func (s *search) union(ctx context.Context, args []*query.Expr) (found, error) {
	if len(args) > 0 && !slices.ContainsFunc(args, func(a *query.Expr) bool { return !a.IsReferences() }) {
		return s.unionReferences(ctx, args)
	}
	defer s.strictly()()
	parts := make([]found, len(args))
	rows := true
	for i, a := range args {
		var err error
		if parts[i], err = s.find(ctx, a); err != nil {
			return found{}, err
		}
		rows = rows && parts[i].byRow
	}
	out := found{byRow: rows, relaxed: true}
	for _, p := range parts {
		out.relaxed = out.relaxed && p.relaxed
		out.atLeast = out.atLeast || p.atLeast
		if rows {
			out.rows = append(out.rows, p.rows...)
			continue
		}
		hits, err := s.asHits(p, nil)
		if err != nil {
			return found{}, err
		}
		out.hits = append(out.hits, hits...)
	}
	out.hits = sortHits(out.hits)
	slices.SortStableFunc(out.rows, func(a, b scoredRow) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(b.pre, a.pre)) })
	out.rows = slices.CompactFunc(out.rows, func(a, b scoredRow) bool { return a.row == b.row })
	return out, nil
}

func (s *search) unionReferences(ctx context.Context, args []*query.Expr) (found, error) {
	out := found{refs: []reference{}}
	for _, a := range args {
		f, err := s.find(ctx, a)
		if err != nil {
			return found{}, err
		}
		out.refs = append(out.refs, f.refs...)
	}
	sortReferences(out.refs)
	out.refs = slices.CompactFunc(out.refs, func(a, b reference) bool { return a.file == b.file && a.Start == b.Start && a.Kind == b.Kind })
	return out, nil
}

// readsAll says whether e is answered from all files, indexed or not.
func readsAll(e *query.Expr) bool {
	switch e.Op {
	case query.Literal, query.Regex, query.File:
		return true
	}
	return len(e.Args) > 0 && !slices.ContainsFunc(e.Args, func(a *query.Expr) bool { return !readsAll(a) })
}

// intersect keeps, of what the first argument matches, what all others match too: the same node, one around it, one within it, or
// another part of the same long symbol. Of a node and one within it, the inner is kept.
func (s *search) intersect(ctx context.Context, args []*query.Expr) (found, error) {
	defer s.strictly()()
	parts := make([]found, len(args))
	rows := true
	var only map[int64]bool // files of the part with the fewest hits
	for i, a := range args {
		var err error
		if parts[i], err = s.find(ctx, a); err != nil {
			return found{}, err
		}
		if parts[i].byRow {
			continue
		}
		rows = false
		hits, err := s.asHits(parts[i], nil)
		if err != nil {
			return found{}, err
		}
		in := make(map[int64]bool)
		for _, h := range hits {
			in[h.file.ID] = true
		}
		if only == nil || len(in) < len(only) {
			only = in
		}
	}
	if rows {
		only = s.common(parts)
	}
	out := found{}
	for i, p := range parts {
		out.relaxed = out.relaxed || p.relaxed
		hits, err := s.asHits(p, only)
		if err != nil {
			return found{}, err
		}
		if i == 0 {
			out.hits = slices.Clone(hits)
			continue
		}
		if out.hits, err = s.meet(out.hits, hits); err != nil {
			return found{}, err
		}
	}
	out.hits = sortHits(out.hits)
	return out, nil
}

// common returns the files in which all parts have pieces.
func (s *search) common(parts []found) map[int64]bool {
	count := make(map[int64]int)
	for i, p := range parts {
		for _, r := range p.rows {
			if f := r.row.File(); count[f] == i {
				count[f] = i + 1
			}
		}
	}
	all := make(map[int64]bool)
	for f, n := range count {
		if n == len(parts) {
			all[f] = true
		}
	}
	return all
}

// meet keeps what touches, both sorted by path.
func (s *search) meet(a, b []hit) ([]hit, error) {
	var out []hit
	j := 0
	for i := 0; i < len(a); {
		path := a[i].file.Path
		ai := i
		for i < len(a) && a[i].file.Path == path {
			i++
		}
		for j < len(b) && b[j].file.Path < path {
			j++
		}
		bj := j
		for j < len(b) && b[j].file.Path == path {
			j++
		}
		if bj == j {
			continue
		}
		o, err := s.outline(a[ai].file)
		if err != nil {
			return nil, err
		}
		out = append(out, touching(o, a[ai:i], b[bj:j])...)
	}
	return out, nil
}

// touching returns, of the hits of a file, those of a that lie in one of b or in the same unit, and those of b that lie in one of a.
func touching(o *chunk.Outline, a, b []hit) []hit {
	inA, inB := span(o, a), span(o, b)
	var out []hit
	for _, h := range a {
		if inB.unit[unit(o, h.node)] || inB.around(o, h.node) {
			out = append(out, h)
		}
	}
	for _, h := range b {
		if !inA.unit[unit(o, h.node)] && inA.around(o, h.node) {
			out = append(out, h)
		}
	}
	return out
}

// unit returns what a node is a part of: a long symbol, or the section whose own text it is; else the node.
func unit(o *chunk.Outline, node int) int {
	if node >= 0 && o.Nodes[node].Type == chunk.Chunk && o.Nodes[node].Parent >= 0 {
		return o.Nodes[node].Parent
	}
	return node
}

// A spanned says which nodes of a file are hit.
type spanned struct{ node, unit map[int]bool }

func span(o *chunk.Outline, hits []hit) spanned {
	s := spanned{make(map[int]bool, len(hits)), make(map[int]bool, len(hits))}
	for _, h := range hits {
		s.node[h.node] = true
		s.unit[unit(o, h.node)] = true
	}
	return s
}

// around says whether a node lies in one that is hit.
func (s spanned) around(o *chunk.Outline, node int) bool {
	if s.node[wholeFile] {
		return true
	}
	for ; node >= 0; node = o.Nodes[node].Parent {
		if s.node[node] {
			return true
		}
	}
	return false
}
