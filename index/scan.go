package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
)

// scan searches the files that pass gate, and those that are not indexed. carry is how many bytes more than a line a match may take.
func (s *search) scan(ctx context.Context, gate store.Gate, find finder, carry int) (found, error) {
	list, err := s.v.Passing(gate)
	if err != nil {
		return found{}, err
	}
	more, skipped, err := s.scanPending(ctx, find)
	if err != nil {
		return found{}, err
	}
	old := make(map[string]bool, len(s.pending)+len(s.local)) // what the store has of these
	for _, f := range s.pending {
		old[f.Path] = true
	}
	for _, l := range s.local {
		old[l.record.Path] = true
	}
	others, err := s.scanUndivided(ctx, old, skipped, find, carry)
	if err != nil {
		return found{}, err
	}
	more = append(more, others...)
	if len(old)+len(s.within) > 0 {
		list = keep(list, func(f *store.File) bool { return !old[f.Path] && s.matters(f.Path) })
	}
	for _, l := range s.local {
		if l.text != nil && !undivided(&l.record.File) && gate.Passes(l.record.Grams) {
			list = append(list, s.locals[l.record.Path])
		}
	}
	slices.SortFunc(list, func(a, b *store.File) int { return strings.Compare(a.Path, b.Path) })
	results := make([][]hit, len(list))
	bad := make([]bool, len(list))
	outlines := make([]*chunk.Outline, len(list))
	errs := make([]error, len(list))
	room := sync.Pool{New: func() any { return new([]byte) }}
	err = parallel(ctx, len(list), func(i int) {
		f := list[i]
		text, ok := s.localText(f)
		if !ok {
			buf := room.Get().(*[]byte)
			defer room.Put(buf)
			if text, ok = s.x.texts.of(s.x.root, f, buf); !ok {
				bad[i] = true
				return
			}
		}
		var matches []match
		find(text, func(at, end int) { matches = append(matches, match{at, end}) })
		if len(matches) == 0 {
			return
		}
		if outlines[i], errs[i] = s.outline(f); errs[i] == nil {
			results[i] = placed(f, outlines[i], text, matches)
		}
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return found{}, err
	}
	for i, f := range list {
		if bad[i] {
			s.stale[f.Path] = f
		}
	}
	return found{hits: sortHits(append(slices.Concat(results...), more...))}, nil
}

// A node with more matches than others is worth more.
const (
	perMatch    = 0.02
	moreMatches = 10 // that count; what a program wrote has thousands
)

// A match is a range of bytes.
type match struct{ at, end int }

func (s *search) localText(f *store.File) ([]byte, bool) {
	if l := s.local[f.ID]; l != nil {
		return l.text, true
	}
	return nil, false
}

// placed returns the nodes of a file that matches lie in, with the line of the first match in each.
func placed(f *store.File, o *chunk.Outline, text []byte, matches []match) []hit {
	var hits []hit
	index := make(map[int]int)
	var more []int // matches of each hit besides the first
	line, counted := 1, 0
	weight := weighPath(f.Path)
	for _, m := range matches {
		at, end := m.at, m.end
		line += bytes.Count(text[counted:at], []byte{'\n'})
		counted = at
		node, region := wholeFile, chunk.Region{}
		if p := pieceAt(o, at); p >= 0 {
			node, region = o.Pieces[p].Node, o.Pieces[p].Region
		} else if len(o.Pieces) > 0 {
			node, region = o.Pieces[0].Node, o.Pieces[0].Region
		}
		if i, ok := index[node]; ok {
			if more[i]++; more[i] <= moreMatches {
				hits[i].base += perMatch
			}
			continue
		}
		base := weight
		if node >= 0 {
			n := &o.Nodes[node]
			base += prominence(n)
			if region.Start <= at && at <= n.Start+len(n.Name)+60 && bytes.Contains([]byte(n.Name), text[at:end]) {
				base++ // it is (part of) the name that is defined here
			}
		}
		index[node] = len(hits)
		hits = append(hits, hit{file: f, node: node, at: region, line: line, base: base})
		more = append(more, 0)
	}
	return hits
}

// maxDivided is how many files that are not indexed are divided into nodes for one answer.
const maxDivided = 300

// scanPending reads the files that are not indexed. Of those that match, the likeliest become local; the others are hits as a whole,
// since to divide them all would take too long. Those that are too large or in UTF-16 are not searched, but returned.
func (s *search) scanPending(ctx context.Context, find finder) (whole []hit, skipped []files.File, err error) {
	lines := make([]int, len(s.pending)) // of the first match
	skip := make([]bool, len(s.pending))
	err = parallel(ctx, len(s.pending), func(i int) {
		if !s.matters(s.pending[i].Path) {
			return
		}
		data, stamp, err := readFile(s.x.root, s.pending[i].Path, nil)
		if err != nil {
			return
		}
		if skip[i] = stamp.Size > files.MaxFileBytes || chunk.IsUTF16(data); skip[i] || chunk.IsBinary(data) {
			return
		}
		find(data, func(at, _ int) {
			if lines[i] == 0 {
				lines[i] = 1 + bytes.Count(data[:at], []byte{'\n'})
			}
		})
	})
	if err != nil {
		return nil, nil, err
	}
	var matches []int
	for i, line := range lines {
		if skip[i] {
			skipped = append(skipped, s.pending[i])
		}
		if line > 0 {
			matches = append(matches, i)
		}
	}
	slices.SortStableFunc(matches, func(a, b int) int {
		return cmp.Or(cmp.Compare(weighPath(s.pending[b].Path), weighPath(s.pending[a].Path)), strings.Compare(s.pending[a].Path, s.pending[b].Path))
	})
	chosen := matches[:min(len(matches), maxDivided)]
	read := make([]*store.File, len(chosen))
	for i, k := range chosen {
		read[i] = s.place(s.pending[k])
	}
	made := make([]*local, len(chosen))
	makers := sync.Pool{New: func() any { return newMaker(s.x.root) }}
	err = parallel(ctx, len(read), func(i int) {
		m := makers.Get().(*maker)
		made[i] = m.local(read[i])
		makers.Put(m)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, l := range made {
		s.take(read[i], l)
	}
	for _, k := range matches[len(chosen):] {
		f := s.place(s.pending[k])
		whole = append(whole, hit{file: f, node: wholeFile, line: lines[k], base: weighPath(f.Path)})
	}
	s.pending = keep(s.pending, func(f files.File) bool {
		l := s.locals[f.Path]
		return l == nil || s.local[l.ID] == nil
	})
	return whole, skipped, nil
}

// place gives a file of pending a number, below 0. It is not read yet.
func (s *search) place(f files.File) *store.File {
	l := s.locals[f.Path]
	if l == nil {
		l = &store.File{ID: -1 - int64(len(s.locals)), Path: f.Path, Stamp: f.Stamp}
		s.locals[f.Path] = l
	}
	return l
}

// load reads a file that place gave a number. One that cannot be read any more has no text.
func (s *search) load(f *store.File) *local {
	l := s.local[f.ID]
	if l == nil {
		l = newMaker(s.x.root).local(f)
		s.take(f, l)
	}
	return l
}

func (s *search) take(f *store.File, l *local) {
	*f = l.record.File
	s.local[f.ID] = l
}

// local reads f, without changing it.
func (m *maker) local(f *store.File) *local {
	l := &local{record: &store.Record{File: *f}}
	if r, text, err := m.record(f.Path); err == nil {
		r.ID = f.ID
		l.record, l.text = r, text
	}
	return l
}

// parallel calls f with 0 to n-1 on all processors.
func parallel(ctx context.Context, n int, f func(int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				f(i)
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}
