package search

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
)

// Every usual word for no is one.
func TestMayGoOn(t *testing.T) {
	for value, want := range map[string]bool{"": false, "on": true, "1": true, "off": false, "0": false, "false": false, "no": false} {
		s := &Searcher{Scope: &scope.Scope{Getenv: func(string) string { return value }}}
		if got := s.mayGoOn(); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
