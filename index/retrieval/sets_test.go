package retrieval

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/token"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/skl-project/skl/index/query"
)

// A place is where a right answer lies. last is 0 where any span of the file is right.
type place struct {
	path        string
	first, last int // lines
}

// A question is asked of every system that can take it.
type question struct {
	set   string
	group string // of the halves
	text  string // in words: for the baselines that search text, and for reports

	params query.Params // as an agent asks the index

	name, owner, dir string // as one asks a tags file; name "" if one would not

	subject string   // of a question about a definition by its name, and
	detail  []string // what is asked of it

	truth []place
	all   bool // all of truth is wanted, not any
	none  bool // there is no answer
}

// A drawer draws questions of one set, evenly among groups.
type drawer struct {
	rng  *rand.Rand
	most int            // of one group
	from map[string]int // group → questions drawn
	seen map[string]bool
}

func newDrawer(seed uint64, n int) *drawer {
	return &drawer{rng: rand.New(rand.NewPCG(seed, 20261120)), most: max(2, n/20), from: map[string]int{}, seen: map[string]bool{}}
}

// take says whether a question about key may be drawn from group.
func (d *drawer) take(group, key string) bool {
	if d.seen[key] || d.from[group] >= d.most {
		return false
	}
	d.seen[key] = true
	d.from[group]++
	return true
}

// shuffled returns defs in a random order.
func shuffled[T any](d *drawer, s []T) []T {
	s = slices.Clone(s)
	d.rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// A table finds definitions by name.
type table struct {
	exact map[string][]def
	lower map[string][]def
}

func newTable(defs []def) table {
	t := table{map[string][]def{}, map[string][]def{}}
	for _, d := range defs {
		t.exact[d.name] = append(t.exact[d.name], d)
		t.lower[strings.ToLower(d.name)] = append(t.lower[strings.ToLower(d.name)], d)
	}
	return t
}

func places(defs []def) []place {
	var out []place
	for _, d := range defs {
		out = append(out, place{d.path, d.line, d.end})
	}
	return out
}

// filter returns the elements that keep holds for.
func filter[T any](s []T, keep func(T) bool) []T {
	var out []T
	for _, x := range s {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// words cuts an identifier into its parts.
func words(name string) []string {
	var out []string
	r := []rune(name)
	start := 0
	for i := 1; i <= len(r); i++ {
		if i < len(r) && r[i] != '_' && r[i-1] != '_' && !(unicode.IsUpper(r[i]) && !unicode.IsUpper(r[i-1])) &&
			!(unicode.IsUpper(r[i]) && i+1 < len(r) && unicode.IsLower(r[i+1]) && unicode.IsUpper(r[i-1])) {
			continue
		}
		if part := strings.Trim(string(r[start:i]), "_"); part != "" {
			out = append(out, part)
		}
		start = i
	}
	return out
}

// symbols makes S1: names, and names as people remember them.
func symbols(c *corpus, n int) []question {
	defs := filter(c.defs, func(d def) bool {
		// Tables of constants, such as of machines, would crowd out what people ask for.
		return ast.IsExported(d.name) && len(d.name) >= 4 && strings.ToUpper(d.name) != d.name && !strings.Contains(d.name, "_") &&
			ordinary(d.path) && !c.generated(d.path)
	})
	t := newTable(c.defs)
	share := []struct {
		set  string
		part int // of 20
		make func(*drawer, def, *question) bool
	}{
		{"S1 name", 6, func(_ *drawer, d def, q *question) bool {
			q.text, q.truth = d.name, places(t.lower[strings.ToLower(d.name)])
			q.params = query.Params{Symbol: d.name}
			return true
		}},
		{"S1 lower", 3, func(_ *drawer, d def, q *question) bool {
			q.text, q.truth = strings.ToLower(d.name), places(t.lower[strings.ToLower(d.name)])
			q.params = query.Params{Symbol: q.text}
			q.name = q.text
			return q.text != d.name
		}},
		{"S1 half", 4, func(r *drawer, d def, q *question) bool {
			w := words(d.name)
			if len(w) < 3 || len(w) > 6 {
				return false
			}
			i := r.rng.IntN(len(w))
			w = slices.Delete(w, i, i+1)
			q.name = strings.Join(w, "")
			q.text, q.truth = strings.Join(w, " "), places(t.lower[strings.ToLower(d.name)])
			q.params = query.Params{Symbol: q.name}
			return len(q.name) >= 6 && t.lower[strings.ToLower(q.name)] == nil
		}},
		{"S1 method", 3, func(_ *drawer, d def, q *question) bool {
			if d.owner == "" {
				return false
			}
			q.text = d.owner + "." + d.name
			q.truth = places(filter(t.exact[d.name], func(e def) bool { return e.owner == d.owner }))
			q.params = query.Params{Symbol: d.name, Parent: d.owner, Kind: "definition"}
			q.owner = d.owner
			return true
		}},
		{"S1 package", 2, func(_ *drawer, d def, q *question) bool {
			if d.owner != "" || d.pkg == "." {
				return false
			}
			q.text = path.Base(d.pkg) + "." + d.name
			q.truth = places(filter(t.exact[d.name], func(e def) bool { return e.owner == "" && path.Base(e.pkg) == path.Base(d.pkg) }))
			q.params = query.Params{Symbol: d.name, Glob: "**/" + path.Base(d.pkg) + "/*.go"}
			q.dir = path.Base(d.pkg)
			return true
		}},
		{"S1 raw", 2, func(_ *drawer, d def, q *question) bool {
			scope := cmp.Or(d.owner, path.Base(d.pkg))
			q.text = scope + "." + d.name
			q.truth = places(filter(t.exact[d.name], func(e def) bool { return e.owner == d.owner && (e.owner != "" || path.Base(e.pkg) == scope) }))
			q.params = query.Params{Symbol: q.text}
			q.owner, q.dir = d.owner, ""
			if d.owner == "" {
				q.dir = scope
			}
			return scope != "."
		}},
	}
	var out []question
	for i, s := range share {
		want := n * s.part / 20
		r := newDrawer(100+uint64(i), want)
		for _, d := range shuffled(r, defs) {
			if want == 0 {
				break
			}
			q := question{set: s.set, group: d.group, name: d.name}
			if !s.make(r, d, &q) || !r.take(d.group, q.text) {
				continue
			}
			out = append(out, q)
			want--
		}
	}
	return out
}

// references makes S2: the lines that use a name. Names are those that are declared once in the whole corpus, as anything
// at all, so that every other identifier of this name is a use of it.
func references(c *corpus, n int) []question {
	uses, declared := map[string][]place{}, map[string]int{}
	for _, p := range c.paths {
		f := c.asts[p]
		if f == nil {
			continue
		}
		declaring := declarations(f)
		ast.Inspect(f, func(node ast.Node) bool {
			id, ok := node.(*ast.Ident)
			if !ok || id == f.Name {
				return true
			}
			if declaring[id] {
				declared[id.Name]++
			} else {
				line := c.fset.PositionFor(id.Pos(), false).Line
				uses[id.Name] = append(uses[id.Name], place{p, line, line})
			}
			return true
		})
	}
	r := newDrawer(200, n)
	var out []question
	for _, d := range shuffled(r, c.defs) {
		if len(out) == n {
			break
		}
		u := slices.Compact(uses[d.name])
		if declared[d.name] != 1 || len(u) < 2 || len(u) > 60 || len(d.name) < 5 || d.kind != "func" && d.kind != "type" || !ordinary(d.path) || !r.take(d.group, d.name) {
			continue
		}
		out = append(out, question{set: "S2 references", group: d.group, text: d.name, name: d.name, truth: u, all: true,
			params: query.Params{Symbol: d.name, Kind: "reference", Limit: query.MaxLimit}})
	}
	return out
}

// declarations returns the identifiers of f that declare something.
func declarations(f *ast.File) map[*ast.Ident]bool {
	out := map[*ast.Ident]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			out[id] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ImportSpec:
			if n.Name != nil {
				add(n.Name)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.KeyValueExpr:
			add(n.Key) // a field or a map's key: counted as a declaration, to be sure
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return out
}

// sentences makes S3: what a function does, in the words of its documentation without those of its name. strict also
// leaves out their inflections. bare is the corpus that lacks the documentation, with the definitions in the same order as c.
func sentences(c, bare *corpus, n int, strict bool) []question {
	var index []int
	for i, d := range c.defs {
		if d.kind == "func" && d.doc != "" && d.end-d.line >= 3 && ordinary(d.path) && !c.generated(d.path) {
			index = append(index, i)
		}
	}
	set := "S3 sentence"
	if strict {
		set = "S3 strict"
	}
	r := newDrawer(300, n)
	at := map[string]int{} // text → place in out
	var out []question
	for _, i := range shuffled(r, index) {
		d := c.defs[i]
		text := sentence(d.name, d.doc, strict)
		if text == "" {
			continue
		}
		truth := place{bare.defs[i].path, bare.defs[i].line, bare.defs[i].end}
		if k, ok := at[text]; ok { // twins, such as of bytes and strings: either is right
			out[k].truth = append(out[k].truth, truth)
			continue
		}
		if len(out) == n || !r.take(d.group, text) {
			continue
		}
		at[text] = len(out)
		out = append(out, question{set: set, group: d.group, text: text, truth: []place{truth}, params: query.Params{Pattern: text}})
	}
	return out
}

// sentence returns the words of the first sentence of a doc comment that the name does not have, "" if they say too little.
func sentence(name, text string, strict bool) string {
	s := new(doc.Package).Synopsis(text)
	if strings.HasPrefix(s, "Deprecated") || strings.Contains(s, "should be an internal detail") { // the latter explains a linkname
		return ""
	}
	parts := words(strings.ToLower(name))
	for _, w := range words(name) {
		parts = append(parts, strings.ToLower(w))
	}
	var out []string
	for _, w := range plainWords(s) {
		if !slices.ContainsFunc(parts, func(part string) bool {
			l := strings.ToLower(w)
			return l == part || strict && inflected(l, part)
		}) {
			out = append(out, w)
		}
	}
	if len(out) > 40 || telling(out) < 4 {
		return ""
	}
	return strings.Join(out, " ")
}

// telling counts the different words that say something about one function and not about most. Who has fewer in mind would not ask.
func telling(words []string) int {
	few := " returns return reports report whether with from that this which into given value values function method must used using called does like "
	seen := map[string]bool{}
	for _, w := range words {
		if w = strings.ToLower(w); len(w) >= 4 && !strings.Contains(few, " "+w+" ") {
			seen[w] = true
		}
	}
	return len(seen)
}

// inflected says whether two words seem to be forms of one.
func inflected(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	b = strings.TrimSuffix(b, "e")
	if len(b) < 2 || !strings.HasPrefix(a, b) {
		return false
	}
	switch rest := a[len(b):]; rest {
	case "s", "es", "e", "ed", "d", "ing", "er", "ers", "or", "ion", "ions", "able":
		return true
	default: // a doubled consonant: "splitting"
		return len(rest) > 1 && rest[0] == b[len(b)-1] && slices.Contains([]string{"ed", "ing", "er"}, rest[1:])
	}
}

// plainWords cuts text into words without punctuation. Identifiers stay whole.
func plainWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

// tests makes S6: the words of a test's name. The truth is what the test calls in its package and shares a word with its name.
func tests(c *corpus, n int) []question {
	byPackage := map[string][]def{}
	for _, d := range c.defs {
		if d.kind == "func" && !d.test() {
			byPackage[d.pkg] = append(byPackage[d.pkg], d)
		}
	}
	type candidate struct {
		text, group string
		truth       []place
	}
	var all []candidate
	for _, p := range c.paths {
		f := c.asts[p]
		if f == nil || !strings.HasSuffix(p, "_test.go") || strings.Contains(p, "testdata/") {
			continue
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			w := words(strings.TrimPrefix(fn.Name.Name, "Test"))
			if len(w) < 2 {
				continue
			}
			subjects := subject(fn, w, byPackage[path.Dir(p)])
			if len(subjects) > 0 && len(subjects) <= 3 {
				all = append(all, candidate{strings.ToLower(strings.Join(w, " ")), path.Dir(p), places(subjects)})
			}
		}
	}
	r := newDrawer(600, n)
	var out []question
	for _, x := range shuffled(r, all) {
		if len(out) < n && r.take(x.group, x.text) {
			out = append(out, question{set: "S6 test", group: x.group, text: x.text, name: strings.ReplaceAll(x.text, " ", ""), truth: x.truth,
				params: query.Params{Pattern: x.text}})
		}
	}
	return out
}

// subject returns the definitions among defs that fn calls and whose names have most words of w, if they have half.
func subject(fn *ast.FuncDecl, w []string, defs []def) []def {
	called := map[string]bool{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				called[f.Name] = true
			case *ast.SelectorExpr:
				called[f.Sel.Name] = true
			}
		}
		return true
	})
	best, out := 0, []def(nil)
	for _, d := range defs {
		if !called[d.name] {
			continue
		}
		common, parts := 0, words(d.name)
		for _, part := range parts {
			if slices.ContainsFunc(w, func(x string) bool { return strings.EqualFold(x, part) }) {
				common++
			}
		}
		if 2*common < len(parts) || common == 0 {
			continue
		}
		switch score := 10*common - len(parts); {
		case score > best:
			best, out = score, []def{d}
		case score == best:
			out = append(out, d)
		}
	}
	return out
}

// absent makes S0 of definitions of another corpus: names and sentences that c has no answer to.
func absent(c, other *corpus, n int) []question {
	t := newTable(c.defs)
	r := newDrawer(1, n)
	var out []question
	for _, d := range shuffled(r, other.defs) {
		if len(out) == n {
			break
		}
		if d.kind != "func" || t.lower[strings.ToLower(d.name)] != nil || !ordinary(d.path) || len(words(d.name)) < 2 {
			continue
		}
		q := question{set: "S0 name", group: d.group, text: d.name, name: d.name, none: true, params: query.Params{Symbol: d.name}}
		if len(out)%2 == 1 {
			text := sentence(d.name, d.doc, false)
			if text == "" {
				continue
			}
			q = question{set: "S0 sentence", group: d.group, text: text, none: true, params: query.Params{Pattern: text}}
		}
		if r.take(d.group, q.text) {
			out = append(out, q)
		}
	}
	return out
}

func TestWords(t *testing.T) {
	tests := map[string]string{"ReadFrom": "Read From", "HTTPServer": "HTTP Server", "parseURL": "parse URL", "snake_case_X": "snake case X",
		"Utf8Len": "Utf8 Len", "x": "x"}
	for name, want := range tests {
		if got := strings.Join(words(name), " "); got != want {
			t.Errorf("words(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	doc := "SplitHost splits a network address of the form host:port into host and port. It does more."
	tests := []struct {
		name   string
		strict bool
		want   string
	}{
		{"SplitHost", true, "a network address of the form port into and port"},
		{"SplitHost", false, "splits a network address of the form port into and port"},
		{"SplitNetworkAddressPort", false, ""}, // too little remains
	}
	for _, tt := range tests {
		if got := sentence(tt.name, strings.Replace(doc, "SplitHost", tt.name, 1), tt.strict); got != tt.want {
			t.Errorf("sentence(%q, strict %v) = %q, want %q", tt.name, tt.strict, got, tt.want)
		}
	}
}

// Both halves exist, and a question is of one of them, whatever was drawn before it.
func TestHalves(t *testing.T) {
	n := 0
	for _, group := range []string{"net/http", "os", "strings", "encoding/json", "go/ast", "io", "fmt", "bufio", "time", "sort"} {
		if judging(group) {
			n++
		}
	}
	if n < 2 || n > 8 {
		t.Errorf("%d of 10 packages judge", n)
	}
}
