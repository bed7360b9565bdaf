package cli

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
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
		if err := apply.NoFileURL(arg); err != nil {
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

// printFound prints the skills of a place, and with the reason what an install of all of them would leave out there, as far as that is
// known without their files.
func printFound(say *report.Text, found []apply.Holding, passed []apply.Passed) {
	rows := [][]string{{"NAME", "PATH", "VERSION", "DESCRIPTION"}}
	left := [][]string{{"NOT TAKEN", "WHY"}}
	for _, p := range passed {
		left = append(left, []string{p.Path, p.Reason})
	}
	var hints []string
	for i := range found {
		f := &found[i]
		version := f.Lock.Version
		if f.Invalid != nil {
			version = "invalid"
		}
		rows = append(rows, []string{f.Lock.Name, report.OrDash(f.Lock.Path), version, report.Cut(f.Description, 60)})
		if f.Held != nil {
			at := cmp.Or(f.Lock.Path, f.Lock.Name)
			left = append(left, []string{at, strings.TrimPrefix(f.Held.Why, at+": ")})
			hints = append(hints, f.Held.Hints...)
		}
	}
	say.Rows(rows)
	if len(left) == 1 {
		return
	}
	say.Print("")
	say.Rows(left)
	for _, hint := range hints[:min(len(hints), report.MostNamed)] {
		say.Hint("%s", hint)
	}
	if n := len(hints) - report.MostNamed; n > 0 {
		say.Note("%d more have a way in: add --json", n)
	}
}
