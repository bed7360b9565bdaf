package skill_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/skill"
)

func TestNeighbours(t *testing.T) {
	d := &skill.Document{Name: "own", Compatibility: "Needs canopy-runtime, words (or own) beside it; see https://host.example/Words-Too, words, re_words." + strings.Repeat(" far", 300) + " beyond"}
	got := d.Neighbours()
	for _, name := range []string{"words", "canopy-runtime"} {
		if !slices.Contains(got, name) || !d.Neighbour(name) {
			t.Errorf("%s is no neighbour in %q", name, got)
		}
	}
	for _, name := range []string{"own", "Words-Too", "oo", "word", "Needs", "beyond", ".."} {
		if slices.Contains(got, name) || d.Neighbour(name) {
			t.Errorf("%s is a neighbour in %q", name, got)
		}
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); n != len(got) {
		t.Errorf("repeated: %q", got)
	}
	var none *skill.Document
	if none.Neighbours() != nil || !none.Neighbour(skill.RuntimeName) || none.Neighbour("words") {
		t.Error("a document that is not there")
	}
}
