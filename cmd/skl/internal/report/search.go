package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/spec/diag"
)

// Found is the report of a search for skills.
func Found(words string, out search.Skills) Report {
	return Report{Result: out, Text: func(t *Text) {
		if len(out.Skills) == 0 {
			t.Print("nothing matches %q", words)
			notFound(t, words, out)
			return
		}
		t.Page(func(k screen.Look) string { return draw.Search(k, words, out) }, func(t *Text) { foundRows(t, out) })
	}}
}

// notFound says where else a search could look.
func notFound(t *Text, words string, out search.Skills) {
	switch {
	case out.Repositories == 0:
		t.Hint("to search the bundled list of public repositories: skl search --public %s", diag.Words(strings.Fields(words)))
	case len(out.Asked) == 0:
		t.Hint("a registry of your own is searched once it is configured: skl login URL --default")
	}
}

func foundRows(t *Text, out search.Skills) {
	if out.NoGoodMatch {
		t.Print("no good match; the nearest are:")
	}
	rows := [][]string{{"NAME", "VERSION", "FROM", "DESCRIPTION", "WHY"}}
	for _, s := range out.Skills {
		rows = append(rows, []string{cmp.Or(s.Ref, s.Name), s.Version, s.From(false), Cut(s.Description, 70), strings.Join(s.Why, "; ")})
	}
	t.Rows(rows)
	if out.Total > len(out.Skills) {
		t.Note("%d more: --limit", out.Total-len(out.Skills))
	}
	if note := out.PublicNote(); note != "" {
		t.Note("%s", note)
	}
	if i := slices.IndexFunc(out.Skills, func(s search.Skill) bool { return !s.Installed }); i >= 0 {
		t.Hint("skl info %s    skl install %s", out.Skills[i].Ref, out.Skills[i].Ref)
	}
}
