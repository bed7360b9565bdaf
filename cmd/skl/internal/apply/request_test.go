package apply

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/spec/manifest"
)

// TestBeside: a command is about the skills that it names, or about all; the ranges that an update widens name none.
func TestBeside(t *testing.T) {
	edits := []plan.Edit{{Skill: manifest.Skill{Name: "a"}}}
	for _, c := range []struct {
		what string
		r    request
		a, b bool
	}{
		{"install REF", request{mode: installs, plan: plan.Request{Edits: edits}}, false, true},
		{"install", request{mode: installs}, false, false},
		{"remove a", request{mode: removes, plan: plan.Request{Edits: edits}}, false, true},
		{"update", request{mode: updates}, false, false},
		{"update a", request{mode: updates, named: []string{"a"}}, false, true},
		{"update --latest", request{mode: updates, plan: plan.Request{Edits: edits}}, false, false},
		{"update --latest b", request{mode: updates, named: []string{"b"}, plan: plan.Request{Edits: edits}}, true, false},
		{"lock", request{mode: locks}, false, false},
	} {
		if a, b := c.r.beside("a"), c.r.beside("b"); a != c.a || b != c.b {
			t.Errorf("skl %s is beside a: %v, beside b: %v", c.what, a, b)
		}
	}
}
