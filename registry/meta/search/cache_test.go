package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta"
)

// everything is a database whose 40 skills have all words.
type everything struct{ Database }

func (everything) Lists(_ context.Context, _ meta.Querier, lists []Terms, visit func(list int, id int64)) error {
	for i := range lists {
		for id := range int64(40) {
			visit(i, id+1)
		}
	}
	return nil
}

// The lists kept for searches are bounded in number and by the length of their words, and those that were asked for at once are all told.
func TestCacheBounded(t *testing.T) {
	s := &state{db: everything{}, last: 40, lists: map[Terms]bits{}}
	kept := map[Terms]bool{}
	for i := range 3 * maxLists {
		wanted := []Terms{terms(All, fmt.Sprint(i)), terms(Named, fmt.Sprint(i/2)), terms(Said, strings.Repeat("x", 2*maxTerms), fmt.Sprint(i))}
		lists, err := s.read(t.Context(), nil, wanted...)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lists {
			if l.count() != 40 {
				t.Fatalf("a list has %d skills", l.count())
			}
		}
		for l := range s.lists {
			kept[l] = true
		}
		if len(s.lists) > maxLists {
			t.Fatalf("it keeps %d lists", len(s.lists))
		}
	}
	if len(kept) <= maxLists {
		t.Errorf("only %d lists were ever kept", len(kept))
	}
	for l := range kept {
		if len(l.Words) > maxTerms {
			t.Errorf("it keeps %q", l.Words)
		}
	}
}
