package query

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/glob"
)

// The laws of simplify are checked by answering queries from a universe of a few handles. An answer is a list, since its
// order decides what a limit leaves.

// A thing is a handle of the universe, or a use of a name within one.
type thing struct {
	id, file string
	around   string // of a use: the handle that it lies in
}

func universe() []thing {
	var all []thing
	for i := range 24 {
		all = append(all, thing{id: fmt.Sprintf("h%d", i), file: []string{"a.go", "src/b.go", "src/c.ts", "src/d/e.ts"}[i%4]})
	}
	return all
}

// chance is a number from 0 to 99 that depends on what it is given.
func chance(parts ...string) int {
	h := fnv.New32a()
	h.Write([]byte(strings.Join(parts, "\x00")))
	return int(h.Sum32()>>8) % 100
}

// answer evaluates e as the language is documented: by uses if uses is true, else by handles.
func answer(e *Expr, uses bool) []thing {
	switch e.Op {
	case References:
		var rows []thing
		for _, h := range universe() {
			for use := range 3 {
				id := fmt.Sprintf("%s/%d", h.id, use)
				if chance(e.Text, id) < 30 {
					rows = append(rows, thing{id: id, file: h.file, around: h.id})
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b thing) int { return chance("order", e.Text, a.id) - chance("order", e.Text, b.id) })
		if uses {
			return rows
		}
		for i := range rows {
			rows[i] = thing{id: rows[i].around, file: rows[i].file}
		}
		return unique(rows)
	case InFile:
		return slices.DeleteFunc(answer(e.Args[0], uses), func(h thing) bool { return !e.Glob.Match(h.file) })
	case Limit:
		all := answer(e.Args[0], uses)
		return all[:min(len(all), e.N)]
	case Union:
		var all []thing
		for _, a := range e.Args {
			all = append(all, answer(a, uses)...)
		}
		return unique(all)
	case Intersect:
		all := answer(e.Args[0], uses)
		for _, a := range e.Args[1:] {
			other := answer(a, uses)
			all = slices.DeleteFunc(all, func(h thing) bool { return !slices.Contains(other, h) })
		}
		return all
	}
	all := slices.DeleteFunc(universe(), func(h thing) bool { return chance(e.Op.String(), e.Text, e.Name, e.Glob.String(), h.id) >= 50 })
	slices.SortStableFunc(all, func(a, b thing) int { return chance("order", e.Text, a.id) - chance("order", e.Text, b.id) })
	return all
}

func unique(all []thing) []thing {
	var out []thing
	for _, h := range all {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// random makes an expression of the language.
func random(t testing.TB, r *rand.Rand, depth int) *Expr {
	word := func() string { return []string{"a", "b", "c"}[r.IntN(3)] }
	pattern := func() glob.Glob {
		g, err := glob.Parse([]string{"**", "*.go", "src/**", "*.ts", "src/*"}[r.IntN(5)])
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	op := Op(r.IntN(len(forms)))
	if depth == 0 {
		op = Op(r.IntN(int(InFile)))
	} else if r.IntN(2) == 0 {
		op = InFile + Op(r.IntN(4))
	}
	if r.IntN(3) == 0 && op < InFile {
		op = References
	}
	e := &Expr{Op: op}
	for _, a := range forms[op].args {
		switch a {
		case text:
			e.Text = word()
		case name:
			e.Name = word()
		case files:
			e.Glob = pattern()
		case number:
			e.N = 1 + r.IntN(12)
		case one:
			e.Args = append(e.Args, random(t, r, depth-1))
		case many:
			for range 1 + r.IntN(3) {
				e.Args = append(e.Args, random(t, r, depth-1))
			}
		}
	}
	return e
}

func TestSimplify(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2026))
	smaller, references := 0, 0
	for range 5000 {
		e := random(t, r, 1+r.IntN(4))
		before := e.String()
		s := simplify(e)
		if e.String() != before {
			t.Fatalf("simplify changes %s to %s", before, e)
		}
		if len(s.String()) > len(before) {
			t.Errorf("%s becomes %s, which is larger", e, s)
		}
		if again := simplify(s); !again.Equal(s) {
			t.Errorf("%s becomes %s, and that %s", e, s, again)
		}
		if e.IsReferences() != s.IsReferences() {
			t.Errorf("%s asks for references: %v; simplified to %s: %v", e, e.IsReferences(), s, s.IsReferences())
		}
		if want, got := answer(e, e.IsReferences()), answer(s, s.IsReferences()); !slices.Equal(want, got) {
			t.Errorf("%s is answered by %v\n%s by %v", e, want, s, got)
		}
		parsed, err := parse(before)
		if err != nil || !parsed.Equal(e) {
			t.Errorf("%s parses to %v, %v", e, parsed, err)
		}
		if s.String() != before {
			smaller++
		}
		if e.IsReferences() {
			references++
		}
		if t.Failed() {
			return
		}
	}
	if smaller < 1200 || references < 1000 {
		t.Errorf("only %d of the expressions could be simplified, and %d asked for references", smaller, references)
	}
}

func TestExprString(t *testing.T) {
	for want, e := range map[string]*Expr{
		"()":                               nil,
		`(file "**")`:                      {Op: File},
		`(unknown)`:                        {Op: Op(99)},
		`(children-named "A\"\\" "b\n\t")`: {Op: Named, Text: `A"\`, Name: "b\n\t"},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestExprEqual(t *testing.T) {
	a, err := Parse(`(in-file "*.go" (limit 2 (children-named "A" "b")))`)
	if err != nil {
		t.Fatal(err)
	}
	var none *Expr
	if !a.Equal(a) || a.Equal(none) || none.Equal(a) || !none.Equal(none) {
		t.Error("Equal does not know what is equal")
	}
	for _, s := range []string{`(in-file "*.ts" (limit 2 (children-named "A" "b")))`, `(in-file "*.go" (limit 3 (children-named "A" "b")))`,
		`(in-file "*.go" (limit 2 (children-named "B" "b")))`, `(in-file "*.go" (limit 2 (children-named "A" "c")))`, `(in-file "*.go" (children-named "A" "b"))`} {
		b, err := Parse(s)
		if err != nil || a.Equal(b) {
			t.Errorf("%s equals %s, %v", a, b, err)
		}
	}
}
