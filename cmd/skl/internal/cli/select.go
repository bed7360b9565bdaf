package cli

import (
	"strings"

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

func (w *world) printFound(found []source.Found) {
	rows := [][]string{{"NAME", "PATH", "VERSION", "DESCRIPTION"}}
	for _, f := range found {
		version := f.Lock.Version
		if f.Invalid != nil {
			version = "invalid"
		}
		rows = append(rows, []string{f.Lock.Name, orDash(f.Lock.Path), version, cut(f.Description, 60)})
	}
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
