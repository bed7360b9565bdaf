package skillify

import (
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// TestTaskTitles leaves out whom a sentence is about, which its row says, and no verb.
func TestTaskTitles(t *testing.T) {
	m := &maker{p: &pkgdoc.Package{Name: "bag", Ecosystem: "npm"}}
	for text, want := range map[string]string{
		"clear removes all words.":  "Removes all words",
		"clear is the way to go.":   "The way to go",
		"clear it.":                 "Clear it",
		"clear the bag of words.":   "Clear the bag of words",
		"A clear is a bag of none.": "A bag of none",
	} {
		got := m.perSymbol(&pkgdoc.Page{ID: "bag"}, []pkgdoc.Symbol{{ID: "bag#Bag.clear", Name: "Bag.clear", Kind: pkgdoc.Method, Text: text}})
		if len(got) != 1 || got[0].title != want {
			t.Errorf("%q: %+v, not %q", text, got, want)
		}
	}
}
