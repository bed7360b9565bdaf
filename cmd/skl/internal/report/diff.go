package report

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// DiffOf is the report of how the files of a skill differ from others; stat leaves their lines out.
func DiffOf(d inspect.Diff, stat bool) Report {
	return Report{Result: d, Text: func(t *Text) {
		t.Paged(func(k screen.Look) string { return draw.Diff(k, d, stat) }, func(t *Text) { diffLines(t, d, stat) })
	}}
}

func diffLines(t *Text, d inspect.Diff, stat bool) {
	if len(d.Files) == 0 {
		t.Print("%s: no differences between %s and %s", d.Name, d.From, d.To)
		return
	}
	t.Print("%s  %s → %s", d.Name, d.From, d.To)
	for _, c := range d.Permissions {
		t.Print("%s", c)
	}
	for _, f := range d.Files {
		t.Print("%s %s +%d -%d", f.Change, f.Path, f.Add, f.Remove)
		if stat {
			continue
		}
		for line := range strings.Lines(f.Text) {
			line = strings.TrimSuffix(line, "\n")
			switch line[0] {
			case '+':
				t.Print("%s", screen.Span{Style: screen.Green, Text: line})
			case '-':
				t.Print("%s", screen.Span{Style: screen.Red, Text: line})
			default:
				t.Print("%s", line)
			}
		}
	}
}

// LocksOf is the report of how a lock differs from another, as a comment for a pull request if md. It ends with exit 4 where trust is lower than it was.
func LocksOf(out inspect.LocksDiff, md bool) Report {
	return Verdict(out, out.OK, Refused("trust_downgrade"), func(t *Text) { locks(t, out, md) })
}

func locks(t *Text, out inspect.LocksDiff, md bool) {
	if md {
		for line := range strings.Lines(comment(out)) {
			t.Print("%s", strings.TrimSuffix(line, "\n"))
		}
		return
	}
	rows := [][]string{{"NAME", "CHANGE", "FROM", "TO", "PERMISSIONS", "TRUST"}}
	for _, d := range out.Skills {
		rows = append(rows, []string{d.Name, d.Change, OrDash(d.From), OrDash(d.To), OrDash(strings.Join(slices.Concat(d.Permissions, d.Findings), "; ")), OrDash(d.Downgrade)})
	}
	t.Paged(func(k screen.Look) string { return draw.Locks(k, out.Skills) }, func(t *Text) { t.Rows(rows) })
	if len(out.Skills) == 0 {
		t.Note("skl.lock is the same as at %s", out.Base)
	}
}
