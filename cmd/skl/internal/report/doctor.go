package report

import (
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// Diagnosis is what "skl doctor --json" prints.
type Diagnosis struct {
	OK    bool              `json:"ok"`
	Items []inspect.Finding `json:"items"`

	Hosts []inspect.KnownHost `json:"hosts,omitempty"` // with --hosts, and then nothing else is looked at
}

// Doctor is the report of what was looked at. It ends with exit 3 if something is wrong.
func Doctor(items []inspect.Finding) Report {
	ok := !slices.ContainsFunc(items, func(f inspect.Finding) bool { return f.Level == "problem" })
	return Verdict(Diagnosis{OK: ok, Items: items}, ok, Unmet("doctor"), func(t *Text) {
		t.Page(func(k screen.Look) string { return draw.Doctor(k, items) }, func(t *Text) { diagnosis(t, items) })
	})
}

func diagnosis(t *Text, items []inspect.Finding) {
	said := map[string]bool{}
	for _, i := range items {
		mark := Mark(i.Level != "problem")
		if i.Level == "note" {
			mark = screen.Dot
		}
		t.Print("%s %-9s  %s", mark, i.Area, i.Detail)
		if i.Mend != "" && !said[i.Mend] {
			said[i.Mend] = true
			t.Hint("%s", i.Mend)
		}
	}
}

// KnownHosts is the report of the agents that skl knows.
func KnownHosts(list []inspect.KnownHost) Report {
	return Report{Result: Diagnosis{OK: true, Items: []inspect.Finding{}, Hosts: list}, Text: func(t *Text) {
		rows := [][]string{{"AGENT", "NAME", "SKILLS IN A PROJECT", "SKILLS OF THE USER", "FOUND"}}
		for _, h := range list {
			found := ""
			if h.Found {
				found = "yes"
			}
			rows = append(rows, []string{h.ID, h.Name, h.Project, OrDash(h.User), OrDash(found)})
		}
		t.Rows(rows)
	}}
}
