package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func infoCommand() command {
	return command{name: "info", aliases: []string{"show"}, args: "REF|NAME", group: "Skills", usage: "show a skill: description, files, permissions", output: inspect.Skill{}, complete: "skill",
		example: "skl info pdf\nskl info anthropics/skills/pdf",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			arg, err := oneName(c)
			if err != nil {
				return err
			}
			out, err := w.inspect.Info(ctx, arg)
			return w.show(out, w.several(err), func() {
				w.printInfo(out)
				if w.ui.Screen && len(out.Copies) == 0 {
					w.ui.Hint("skl install %s      skl read %s", arg, arg)
				}
			})
		}}
}

// several shows the skills among which nobody could choose, if that is what err says.
func (w *world) several(err error) error {
	if found, ok := errors.AsType[*apply.Ambiguous](err); ok {
		return w.ambiguous(found)
	}
	return err
}

func (w *world) printInfo(out inspect.Skill) {
	if w.ui.Screen && !w.ui.Verbose {
		out.Source = draw.From(out.Source, out.URL)
		w.ui.Page(ui.Painted(draw.Info(w.ui.Look(), out, diag.Size(out.Bytes), w.scope.Short)))
		return
	}
	w.ui.Print("%s %s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), diag.Size(out.Bytes))
	w.ui.Print("%s", out.Description)
	line := func(label, value string) {
		if value != "" {
			w.ui.Print("%s %s", fmt.Sprintf("%-12s", label), value)
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
	line("versions", joinWords(out.Versions))
	line("written for", joinWords(out.Dialects))
	for _, c := range out.LoadCommands {
		w.ui.Warn("runs when an agent loads it: %s", c)
	}
	for _, r := range out.Copies {
		w.ui.Print("%s %s [%s]", fmt.Sprintf("%-12s", "copy"), w.scope.Short(r.Path), r.State)
	}
}

type readResult struct {
	Name  string   `json:"name"`
	File  string   `json:"file"`
	Text  string   `json:"text"`
	Files []string `json:"files"`
}

func readCommand() command {
	return command{name: "read", args: "REF|NAME [FILE]", group: "Skills", usage: "print a file of a skill, SKILL.md by default: byte for byte, and printable on a terminal", output: readResult{}, complete: "skill",
		example: "skl read pdf\nskl read pdf scripts/fill.py\nskl read anthropics/skills/pdf --prompt",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "prompt", Usage: "as text for a model: the body, the directory and the list of files, up to the line </skill_content> with the boundary of the first line, which is drawn anew each time and not in the text"}},
		run:     runRead}
}

func runRead(ctx context.Context, w *world, c *cli.Context) error {
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name a skill, and perhaps a file").Hint("skl read --help")
	}
	t, err := w.inspect.Read(ctx, c.Args().First(), c.Args().Get(1))
	return w.show(readResult{t.Skill, t.File, string(t.Data), t.Files}, w.several(err), func() {
		if c.Bool("prompt") {
			w.ui.Raw([]byte(t.Prompt()))
			return
		}
		w.ui.Raw(t.Data)
	})
}
