package index

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/spell"
)

// named says whether a node is a definition that can be looked up by its name.
func named(n *chunk.Part) bool {
	return n.Name != "" && (n.Type.IsSymbol() || n.Type == chunk.Op)
}

// definition finds symbols of exactly this name, whatever its case: names of R and of shells have points and colons. If none has all of it
// and it is qualified, those to which the qualifier fits, or all if it fits none.
func (s *search) definition(text string) (found, error) {
	qualifiers, name := query.SplitName(text)
	if len(qualifiers) > 0 {
		if hits, err := s.exact(query.WholeName(text)); err != nil || len(hits) > 0 {
			return found{hits: hits}, err
		}
	}
	hits, err := s.exact(name)
	if err != nil {
		return found{}, err
	}
	hits, err = s.qualified(hits, qualifiers)
	return found{hits: hits}, err
}

// exact returns the symbols of a name.
func (s *search) exact(name string) ([]hit, error) {
	rows, err := s.v.Rows(exactTerm + string(wholeName(name)))
	if err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	return s.nodesOf(rows, func(_ *chunk.Outline, n *chunk.Part) (float64, bool) {
		if !named(n) || strings.ToLower(n.Name) != lower {
			return 0, false
		}
		return prominence(n) + caseBonus(n.Name == name), true
	})
}

func caseBonus(same bool) float64 {
	if same {
		return 1
	}
	return 0
}

// prominence is how likely a definition is the one that is meant: types and functions before methods before constants and the like.
func prominence(n *chunk.Part) float64 {
	p := 0.0
	switch n.Type {
	case chunk.Class, chunk.Struct, chunk.Op:
		p = 0.5
	case chunk.Function:
		p = 0.45
	case chunk.Method, chunk.Enum, chunk.Module, chunk.Macro:
		p = 0.3
	case chunk.Constant, chunk.Variable:
		p = 0.2
	}
	if n.Exported {
		p += 0.1
	}
	return p
}

// qualified keeps the hits to which qualifiers fit: owners, and then names of directories or files of their paths. If they fit
// none, all are kept.
func (s *search) qualified(hits []hit, qualifiers []string) ([]hit, error) {
	if len(qualifiers) == 0 {
		return hits, nil
	}
	var fit []hit
	for _, h := range hits {
		o, err := s.outline(h.file)
		if err != nil {
			return nil, err
		}
		score := 0
		names := strings.FieldsFunc(strings.ToLower(h.file.Path), func(r rune) bool { return r == '/' || r == '.' })
		for i := h.node; i >= 0; i = o.Nodes[i].Parent {
			names = append(names, strings.ToLower(o.Nodes[i].Owner))
			if i != h.node {
				names = append(names, strings.ToLower(o.Nodes[i].Name))
			}
		}
		for _, q := range qualifiers {
			if slices.Contains(names, strings.ToLower(q)) {
				score++
			}
			if o.Nodes[h.node].Owner == q { // also in case
				h.base += 0.25
			}
		}
		last := strings.ToLower(qualifiers[len(qualifiers)-1])
		if score > 0 && slices.Contains(names, last) {
			h.base += float64(score)
			fit = append(fit, h)
		}
	}
	if len(fit) == 0 {
		return hits, nil
	}
	return fit, nil
}

// nodes returns the nodes of files that keep wants, with what it gives as base.
func (s *search) nodes(list []*store.File, keep func(o *chunk.Outline, n *chunk.Part) (float64, bool)) ([]hit, error) {
	var hits []hit
	for _, file := range list {
		o, err := s.outline(file)
		if err != nil {
			return nil, err
		}
		for i := range o.Nodes {
			if base, ok := keep(o, &o.Nodes[i]); ok {
				hits = append(hits, hit{file: file, node: i, base: base})
			}
		}
	}
	return sortHits(hits), nil
}

// nodesOf returns what nodes does of the nodes that begin in pieces, which is where the terms of their names are.
func (s *search) nodesOf(rows []store.Row, keep func(o *chunk.Outline, n *chunk.Part) (float64, bool)) ([]hit, error) {
	var hits []hit
	for _, r := range rows {
		file := s.v.File(r.File())
		o, err := s.outline(file)
		if err != nil {
			return nil, err
		}
		piece := r.Piece()
		if piece >= len(o.Pieces) {
			continue
		}
		i := 0
		if piece > 0 {
			i, _ = slices.BinarySearchFunc(o.Nodes, o.Pieces[piece-1].End, func(n chunk.Part, at int) int { return cmp.Compare(n.Start, at) })
		}
		for ; i < len(o.Nodes) && (o.Nodes[i].Start < o.Pieces[piece].End || piece == len(o.Pieces)-1); i++ {
			if base, ok := keep(o, &o.Nodes[i]); ok {
				hits = append(hits, hit{file: file, node: i, base: base})
			}
		}
	}
	return sortHits(hits), nil
}

// filesOf returns the files of rows, which are sorted, each once.
func (s *search) filesOf(rows []store.Row) []*store.File {
	var list []*store.File
	last := int64(-1)
	for _, r := range rows {
		if id := r.File(); id != last {
			last = id
			list = append(list, s.v.File(id))
		}
	}
	return list
}

// code finds symbols: of exactly this name, else with all its words in their names, else beginning with it or holding it, else of a name that is
// a slip of the fingers away, else with most of its words.
func (s *search) code(text string) (found, error) {
	f, err := s.definition(text)
	if err != nil || len(f.hits) > 0 {
		return f, err
	}
	qualifiers, name := query.SplitName(text)
	for _, step := range []func(string) ([]hit, error){s.withWords, s.holding, s.misspelt, s.withMost} {
		hits, err := step(name)
		if err != nil {
			return found{}, err
		}
		if len(hits) > 0 {
			hits, err = s.qualified(hits, qualifiers)
			return found{hits: hits}, err
		}
	}
	return found{}, nil
}

// nameWords returns the distinct terms of the parts of a name.
func nameWords(name string) []string {
	var list []string
	for _, w := range wordsOf(rank.Ask(name)) {
		if len(w.parts) == 0 {
			list = append(list, w.whole)
		}
		list = append(list, w.parts...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// withWords finds symbols whose names have all the words of name.
func (s *search) withWords(name string) ([]hit, error) {
	return s.withAtLeast(name, func(words int) int { return words })
}

// withMost finds symbols whose names have all words of name but one, of three or more.
func (s *search) withMost(name string) ([]hit, error) {
	return s.withAtLeast(name, func(words int) int {
		if words < 3 {
			return words
		}
		return words - 1
	})
}

func (s *search) withAtLeast(name string, needed func(words int) int) ([]hit, error) {
	words := nameWords(name)
	if len(words) == 0 {
		return nil, nil
	}
	need := needed(len(words))
	lists := make([][]store.Row, len(words))
	for i, w := range words {
		rows, err := s.v.Rows(nameTerm + w)
		if err != nil {
			return nil, err
		}
		lists[i] = rows
	}
	return s.nodesOf(inAtLeast(need, lists), func(_ *chunk.Outline, n *chunk.Part) (float64, bool) {
		if !named(n) {
			return 0, false
		}
		has, all := 0, 0
		seen := make([]bool, len(words))
		rank.Terms([]byte(n.Name), func(t []byte) {
			all++
			if i, ok := slices.BinarySearch(words, string(t)); ok && !seen[i] {
				seen[i] = true
				has++
			}
		})
		if has < need {
			return 0, false
		}
		return prominence(n) + 2*float64(has)/float64(max(all, 1)), true
	})
}

// inAtLeast returns what n of the lists have, or more, which are sorted, and is sorted itself.
func inAtLeast(n int, lists [][]store.Row) []store.Row {
	lists = slices.Clone(lists)
	sort.Slice(lists, func(i, j int) bool { return len(lists[i]) < len(lists[j]) }) // one for each word: few, and slices.SortFunc is 10 kB of program
	// A row in n of the lists is in one of the shortest, of which there are as many as may lack it and one more.
	short := len(lists) - n + 1
	rows := slices.Concat(lists[:short]...)
	if short > 1 {
		slices.Sort(rows)
	}
	var out []store.Row
	for i := 0; i < len(rows); {
		row, has := rows[i], 0
		for ; i < len(rows) && rows[i] == row; i++ {
			has++
		}
		for k := short; k < len(lists) && has < n && has+len(lists)-k >= n; k++ {
			at, ok := slices.BinarySearch(lists[k], row)
			if lists[k] = lists[k][at:]; ok { // what is before is not asked for any more
				has++
			}
		}
		if has >= n {
			out = append(out, row)
		}
	}
	return out
}

// holding finds symbols whose names hold name, in any case.
func (s *search) holding(name string) ([]hit, error) {
	lower := strings.ToLower(name)
	if len(lower) < 3 {
		return nil, nil
	}
	gate := store.LiteralGate(lower)
	if strings.ContainsFunc(lower, func(r rune) bool { return r >= utf8.RuneSelf }) {
		gate = store.Gate{} // which knows the case of ASCII alone
	}
	list, err := s.v.Passing(gate)
	if err != nil {
		return nil, err
	}
	return s.nodes(list, func(_ *chunk.Outline, n *chunk.Part) (float64, bool) {
		if !named(n) {
			return 0, false
		}
		i := strings.Index(strings.ToLower(n.Name), lower)
		if i < 0 {
			return 0, false
		}
		base := prominence(n) + float64(len(lower))/float64(len(n.Name))
		if i == 0 {
			base++
		}
		return base, true
	})
}

// maxNames are compared with a name that no symbol has, at most.
const maxNames = 50_000

// misspelt finds symbols whose names differ from name by one letter, or by two of long names: one too many or too few, another, or two swapped.
// The first two letters may be swapped, but else the first is right.
func (s *search) misspelt(name string) ([]hit, error) {
	word := string(wholeName(name))
	if len(word) < 5 {
		return nil, nil
	}
	limit := 2 // Distance gives a limit for what is as far or farther
	if len(word) >= 9 {
		limit = 3
	}
	var best []string
	for _, first := range []string{word[:1], word[1:2]} {
		terms, err := s.v.Terms(exactTerm+first, maxNames)
		if err != nil {
			return nil, err
		}
		for _, t := range terms {
			other := strings.TrimPrefix(t, exactTerm)
			switch d := spell.Distance(word, other, limit); {
			case d >= limit || len(other) < 4:
			case d < limit-1:
				best, limit = []string{other}, d+1
			case len(best) < 8 && !slices.Contains(best, other):
				best = append(best, other)
			}
		}
		if word[0] == word[1] {
			break
		}
	}
	var hits []hit
	for _, other := range best {
		rows, err := s.v.Rows(exactTerm + other)
		if err != nil {
			return nil, err
		}
		same, err := s.nodesOf(rows, func(_ *chunk.Outline, n *chunk.Part) (float64, bool) {
			return prominence(n), named(n) && string(wholeName(n.Name)) == other
		})
		if err != nil {
			return nil, err
		}
		hits = append(hits, same...)
	}
	return sortHits(hits), nil
}

// section finds headings that hold text, in any case.
func (s *search) section(text string) (found, error) {
	lower := strings.ToLower(text)
	list, err := s.v.Passing(store.Gate{})
	if err != nil {
		return found{}, err
	}
	list = keep(list, func(f *store.File) bool {
		return f.Language == "markdown" || f.Language == "skill" || f.Language == "tree"
	})
	hits, err := s.nodes(list, func(_ *chunk.Outline, n *chunk.Part) (float64, bool) {
		if n.Type != chunk.Section && n.Type != chunk.Op || !strings.Contains(strings.ToLower(n.Name), lower) {
			return 0, false
		}
		return 2*float64(len(lower))/float64(max(1, len(n.Name))) + 0.1*float64(6-n.Level), true
	})
	return found{hits: hits}, err
}

// whole finds files by their path. Those that are binary or too large have no handle.
func (s *search) whole(g glob.Glob) found {
	var f found
	for _, p := range s.pending {
		if file := s.place(p); p.Stamp.Size <= files.MaxFileBytes {
			file.Flags &^= store.Large
		} else {
			file.Flags |= store.Large
		}
	}
	for _, file := range s.locals {
		if file.Flags&(store.Large|store.Binary) == 0 && g.Match(file.Path) {
			f.hits = append(f.hits, hit{file: file, node: wholeFile})
		}
	}
	for _, file := range s.v.Files() {
		if file.Flags&(store.Large|store.Binary) == 0 && s.locals[file.Path] == nil && g.Match(file.Path) {
			f.hits = append(f.hits, hit{file: file, node: wholeFile})
		}
	}
	f.hits = sortHits(f.hits)
	return f
}

// children finds what belongs to parent, with the given name if there is one.
func (s *search) children(parent, name string) (found, error) {
	qualifiers, last := query.SplitName(parent)
	rows, err := s.v.Rows(ownerTerm + string(wholeName(last)))
	if err != nil {
		return found{}, err
	}
	want, lower := strings.ToLower(last), strings.ToLower(name)
	hits, err := s.nodesOf(rows, func(o *chunk.Outline, n *chunk.Part) (float64, bool) {
		belongs := strings.ToLower(n.Owner) == want || n.Parent >= 0 && strings.ToLower(o.Nodes[n.Parent].Name) == want
		if !belongs || name != "" && strings.ToLower(n.Name) != lower {
			return 0, false
		}
		base := prominence(n)
		if n.Type == chunk.Chunk {
			base -= 1
		}
		return base, true
	})
	if err != nil {
		return found{}, err
	}
	hits, err = s.qualified(hits, qualifiers)
	return found{hits: hits}, err
}

// nodeAt returns the node that the piece around a byte is shown as, -1 for none.
func nodeAt(o *chunk.Outline, at int) int {
	if i := pieceAt(o, at); i >= 0 {
		return o.Pieces[i].Node
	}
	return -1
}

// pieceAt returns the piece that a byte lies in, else the one before it, -1 for none.
func pieceAt(o *chunk.Outline, at int) int {
	i, ok := slices.BinarySearchFunc(o.Pieces, at, func(p chunk.Piece, at int) int { return p.Start - at })
	if ok {
		return i
	}
	return i - 1
}
