package report

import (
	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// Outdated is what "skl outdated --json" prints.
type Outdated struct {
	OK     bool             `json:"ok"`
	Skills []apply.Outdated `json:"skills"`
}

// OutdatedOf is the report of what could move; of is the number of skills that were looked at. It ends with exit 4 where a release was
// blocked or a tag moved, else with exit 3 where a source could not be asked.
func OutdatedOf(list []apply.Outdated, of int) Report {
	out := Outdated{OK: true, Skills: append([]apply.Outdated{}, list...)}
	var end error
	for _, s := range list {
		word, why := s.Trouble()
		switch {
		case why == "":
			continue
		case s.Blocked != "" || s.Unreached == "":
			end = Refused(s.Code)
		case end == nil:
			end = Unmet(word)
		}
		out.OK = false
	}
	return Report{Result: out, End: end, Text: func(t *Text) {
		if of == 0 {
			t.none()
			return
		}
		if len(list) == 0 {
			t.Note("%s, none outdated", diag.Count(of, "skill"))
			return
		}
		t.Page(func(k screen.Look) string { return draw.Outdated(k, list, of) }, func(t *Text) { outdatedRows(t, list) })
	}}
}

func outdatedRows(t *Text, list []apply.Outdated) {
	rows := [][]string{{"NAME", "LOCKED", "WANTED", "LATEST", "FROM"}}
	for _, s := range list {
		latest := OrDash(s.Latest)
		if s.Changed {
			latest = OrDash(s.Latest) + ", other files"
		}
		if s.Gone != "" {
			latest = "gone upstream " + s.Gone
		}
		if word, why := s.Trouble(); why != "" {
			latest = word
			if s.Latest != "" && s.Latest != s.Locked {
				latest = s.Latest + ", " + word
			}
		}
		rows = append(rows, []string{s.Name, OrDash(s.Locked), OrDash(s.Wanted), latest, s.Ref})
	}
	t.Rows(rows)
	t.Hint("skl update takes WANTED, skl update --latest takes LATEST")
	for _, s := range list {
		if s.Yanked != "" {
			t.Warn("%s", s.Yanked)
		}
		if _, why := s.Trouble(); why != "" {
			t.Warn("%s [%s]", why, s.Code)
			for _, hint := range s.Hints {
				t.Hint("%s", hint)
			}
		}
	}
}
