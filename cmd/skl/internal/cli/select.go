package cli

import (
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// parseArgs splits arguments into refs and the names of skills in the one ref.
func parseArgs(args, flagged []string) (refs []ref.Ref, names []string, err error) {
	names = append(names, flagged...)
	var words []string
	for _, arg := range args {
		if ref.IsWord(arg) {
			words = append(words, arg)
			continue
		}
		if err := apply.NoCopy(arg); err != nil {
			return nil, nil, err
		}
		r, err := ref.Parse(arg)
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, r)
	}
	if len(words) > 0 && len(refs) == 0 {
		return nil, words, nil
	}
	names = append(names, words...)
	if len(names) > 0 && len(refs) > 1 {
		return nil, nil, diag.New(diag.Misuse, "names_of_several", "%s: names of skills need exactly one reference, not %d", strings.Join(names, ", "), len(refs)).
			Hint("write owner/repo/skill for each")
	}
	return refs, names, nil
}

// printFound prints the skills of a place, and what looks like one there and is none, with the reason.
func (w *world) printFound(found []source.Found, passed []source.Passed) {
	rows := [][]string{{"NAME", "PATH", "VERSION", "DESCRIPTION"}}
	for i := range found {
		f := &found[i]
		version := f.Lock.Version
		if f.Invalid != nil {
			version = "invalid"
			passed = append(passed, source.Passed{Path: orDash(f.Lock.Path), Reason: f.Invalid.Error()})
		}
		rows = append(rows, []string{f.Lock.Name, orDash(f.Lock.Path), version, cut(f.Description, 60)})
	}
	w.ui.Rows(rows)
	if len(passed) == 0 {
		return
	}
	rows = [][]string{{"PASSED OVER", "WHY"}}
	for _, p := range passed {
		rows = append(rows, []string{p.Path, p.Reason})
	}
	w.ui.Print("")
	w.ui.Rows(rows)
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
