package cli

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
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
			if err != nil {
				return w.several(err)
			}
			return w.desk.Info(out, arg).Write(w.ui)
		}}
}

// several shows the skills among which nobody could choose, if that is what err says.
func (w *world) several(err error) error {
	if found, ok := errors.AsType[*apply.Ambiguous](err); ok {
		return w.ambiguous(found)
	}
	return err
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
	return w.show(readResult{t.Skill, t.File, string(t.Data), t.Files}, w.several(err), func(say *report.Text) {
		if c.Bool("prompt") {
			say.Folded([]byte(t.Prompt()))
			return
		}
		say.Folded(t.Data)
	})
}
