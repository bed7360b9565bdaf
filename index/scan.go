package index

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/diag"
)

// A finder calls yield with the start of each match in text; one per line is enough.
type finder func(text []byte, yield func(at, end int))

// literal finds exact text, in every file that has it.
func (s *search) literal(text string) (found, error) {
	if text == "" {
		return found{}, nil
	}
	return s.scan(store.LiteralGate(text), literalFinder([]byte(text)))
}

func literalFinder(want []byte) finder {
	return func(text []byte, yield func(at, end int)) {
		for at := 0; at <= len(text); {
			i := bytes.Index(text[at:], want)
			if i < 0 {
				return
			}
			yield(at+i, at+i+len(want))
			at += i
			nl := bytes.IndexByte(text[at:], '\n')
			if nl < 0 {
				return
			}
			at += max(nl+1, 1)
		}
	}
}

// regex finds the lines that match an expression, in every file.
func (s *search) regex(expr string) (found, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return found{}, diag.New(diag.Misuse, "query_parse", "%q is no regular expression: %v", expr, err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return found{}, diag.New(diag.Misuse, "query_parse", "%q is no regular expression: %v", expr, err)
	}
	return s.scan(store.RegexGate(parsed), regexFinder(re, needle(parsed.Simplify())))
}

// needle returns a text that every match of an expression has, the longest that is seen at once; nil for none.
func needle(re *syntax.Regexp) (longest []byte) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []byte(string(re.Rune))
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needle(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if n := needle(sub); len(n) > len(longest) {
				longest = n
			}
		}
	}
	return longest
}

// regexFinder tries the lines that have the needle.
func regexFinder(re *regexp.Regexp, needle []byte) finder {
	return func(text []byte, yield func(at, end int)) {
		for at := 0; at < len(text); {
			if len(needle) > 0 {
				i := bytes.Index(text[at:], needle)
				if i < 0 {
					return
				}
				at += bytes.LastIndexByte(text[at:at+i], '\n') + 1
			}
			end := len(text)
			next := end
			if nl := bytes.IndexByte(text[at:], '\n'); nl >= 0 {
				end = at + nl
				next = end + 1
			}
			line := bytes.TrimSuffix(text[at:end], []byte{'\r'})
			if m := re.FindIndex(line); m != nil {
				yield(at+m[0], at+m[1])
			}
			at = next
		}
	}
}

// scan searches the files that pass gate, and those that are not indexed.
func (s *search) scan(gate store.Gate, find finder) (found, error) {
	list, err := s.v.Passing(gate)
	if err != nil {
		return found{}, err
	}
	if err := s.scanPending(gate, find); err != nil {
		return found{}, err
	}
	for _, l := range s.local {
		if gate.Passes(l.record.Grams) {
			list = append(list, &l.record.File)
		}
	}
	slices.SortFunc(list, func(a, b *store.File) int { return strings.Compare(a.Path, b.Path) })
	results := make([][]hit, len(list))
	bad := make([]bool, len(list))
	outlines := make([]*chunk.Outline, len(list))
	errs := make([]error, len(list))
	err = parallel(s.ctx, len(list), func(i int) {
		f := list[i]
		text, ok := s.localText(f)
		if !ok {
			if text, ok = s.x.texts.of(s.x.root, f); !ok {
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
	return found{hits: sortHits(slices.Concat(results...))}, nil
}

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
			hits[i].base += 0.02
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
	}
	return hits
}

// scanPending reads the files that are not indexed and may match, and keeps those that do.
func (s *search) scanPending(gate store.Gate, find finder) error {
	if len(s.pending) == 0 {
		return nil
	}
	var mu sync.Mutex
	var list []files.File
	err := parallel(s.ctx, len(s.pending), func(i int) {
		data, _, err := readFile(s.x.root, s.pending[i].Path)
		if err != nil || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			return
		}
		has := false
		find(data, func(int, int) { has = true })
		if has {
			mu.Lock()
			list = append(list, s.pending[i])
			mu.Unlock()
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b files.File) int { return strings.Compare(a.Path, b.Path) })
	m := newMaker(s.x.root)
	for _, f := range list {
		s.read(m, f)
	}
	s.pending = slices.DeleteFunc(slices.Clone(s.pending), func(f files.File) bool {
		_, ok := slices.BinarySearchFunc(list, f.Path, func(f files.File, p string) int { return strings.Compare(f.Path, p) })
		return ok
	})
	return nil
}

// read makes a local file of one that is pending. One that cannot be read any more is passed over.
func (s *search) read(m *maker, f files.File) {
	r, text, err := m.record(f.Path)
	if err != nil || r.Flags&(store.Large|store.Binary) != 0 {
		return
	}
	r.ID = -1 - int64(len(s.local))
	s.local[r.ID] = &local{r, text}
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
