package report

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// Info is the report of one skill; arg is what was typed for it.
func (d *Desk) Info(out inspect.Skill, arg string) Report {
	return Report{Result: out, Text: func(t *Text) {
		t.Either(func(t *Text) {
			if t.All {
				d.info(t, out)
			} else {
				short := out
				short.Source = draw.From(out.Source, out.URL)
				t.Draw(func(k screen.Look) string { return draw.Info(k, short, diag.Size(out.Bytes), d.Scope.Short) })
			}
			if len(out.Copies) == 0 {
				t.Hint("skl install %s      skl read %s", arg, arg)
			}
		}, func(t *Text) { d.info(t, out) })
	}}
}

func (d *Desk) info(t *Text, out inspect.Skill) {
	t.Print("%s %s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), diag.Size(out.Bytes))
	t.Print("%s", out.Description)
	line := func(label, value string) {
		if value != "" {
			t.Print("%s %s", fmt.Sprintf("%-12s", label), value)
		}
	}
	line("from", strings.TrimSpace(out.Source+" "+out.URL+" "+out.Commit))
	line("path", out.Path)
	line("signed by", out.Signed)
	line("licence", out.License)
	line("format", out.Format)
	line("digest", out.Digest)
	line("scripts", joinWords(out.Scripts))
	for _, asks := range out.Asks {
		line("asks", asks)
	}
	if out.Audit != nil {
		line("findings", out.FindingsLine())
	}
	line("tools", joinWords(out.AllowedTools))
	line("effects", joinWords(out.SideEffects))
	line("needs", joinWords(out.Needs))
	for _, t := range out.Terms.Lines() {
		line(t[0], t[1])
	}
	line("costs", fmt.Sprintf("about %d tokens always, %d when used", out.Costs.Always, out.Costs.Used))
	for _, told := range inspect.ToldLines(out.Copies) {
		line("told", told)
	}
	line("versions", joinWords(out.Versions))
	line("written for", joinWords(out.Dialects))
	for _, c := range out.LoadCommands {
		t.Warn("runs when an agent loads it: %s", c)
	}
	for _, r := range out.Copies {
		t.Print("%s %s [%s]", fmt.Sprintf("%-12s", "copy"), d.Scope.Short(r.Path), r.State)
	}
}
