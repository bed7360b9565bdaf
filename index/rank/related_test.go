package rank

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The table is read by halving, so it must be in order; and each of its words must be a term, or nothing is ever found.
func TestRelatedTerms(t *testing.T) {
	before := ""
	for line := range strings.Lines(relatedTerms) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f)%2 != 1 || f[0] <= before {
			t.Errorf("after %q: %q", before, line)
			continue
		}
		before = f[0]
		for i, w := range f {
			n, err := strconv.Atoi(w)
			if i > 0 && i%2 == 0 && (err != nil || n < 1 || n > 100) || (i == 0 || i%2 == 1) && (w != strings.ToLower(w) || len(w) > MaxTerm || i > 0 && w == f[0]) {
				t.Errorf("%q in %q", w, line)
			}
		}
		got := ""
		for term, close := range related(f[0]) {
			got += fmt.Sprintf(" %s %d", term, int(close*100+0.5))
		}
		if want := " " + strings.Join(f[1:], " "); got != want {
			t.Errorf("%s is related to%s, want%s", f[0], got, want)
		}
	}
	for _, w := range []string{"", "0", "directories", "zzzz", "\x00", "~"} {
		for term := range related(w) {
			if w != "0" {
				t.Errorf("%q is related to %s", w, term)
			}
		}
	}
}

// A definition often has other words in its name than the question that describes it.
func TestRelatedNames(t *testing.T) {
	q := Ask("how does it create a directory")
	if !slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Text == "directori" }) {
		t.Fatalf("the terms are %v", q.Terms)
	}
	s := SentenceWeights(q.Kind).New(q, Corpus{})
	named, other := s.Score(Document{Name: "NewDir", Kind: "function", Lines: 9}), s.Score(Document{Name: "OldFoo", Kind: "function", Lines: 9})
	if named.Value <= other.Value {
		t.Errorf("%v is not above %v", named, other)
	}
	if named.Coverage != 0 || len(named.Matched) != 0 {
		t.Errorf("it is said to have words of the question: %+v", named)
	}
	own := s.Score(Document{Name: "CreateDirectory", Kind: "function", Lines: 9})
	if own.Value <= named.Value {
		t.Errorf("the words themselves are worth less: %v and %v", own, named)
	}
}
