package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/spec/diag"
)

// authorModelCommands are the operations that need a model.
func authorModelCommands() []command {
	return []command{
		{name: "create", args: "NAME", usage: "a new skill with a tree that does what a text says, designed by a model", output: planned{},
			example: "skl author create changelog --from 'write the changelog of a release from its commits'",
			flags:   append(modelFlags(), &cli.StringFlag{Name: "from", Usage: "what it shall do: a `TEXT`, or a file that has it"}),
			run: func(ctx context.Context, w *world, c *cli.Context) error {
				name, err := oneName(c)
				if err != nil {
					return err
				}
				wish, err := w.textOf(c.String("from"))
				if err == nil && strings.TrimSpace(wish) == "" {
					err = diag.New(diag.Misuse, "usage", "say what %s shall do", diag.Printable(name)).Hint("skl author create %s --from TEXT", diag.Quote(name))
				}
				if err != nil {
					return err
				}
				return w.planByModel(ctx, c, name, wish, w.author().Create)
			}},
		{name: "modify", args: "SKILL WISH…", usage: "a change of a skill that does what a text says, by a model's edits", output: planned{}, complete: "dir",
			example: "skl author modify skills/review 'ask before a file is changed'",
			flags:   modelFlags(),
			run: func(ctx context.Context, w *world, c *cli.Context) error {
				wish, err := wished(c, strings.Join(c.Args().Tail(), " "))
				if err != nil {
					return err
				}
				return w.planByModel(ctx, c, c.Args().First(), wish, w.author().Modify)
			}},
		{name: "advise", args: "SKILL QUESTION…", usage: "a model's answer to a question about a skill; nothing changes", output: author.Advised{}, complete: "dir",
			example: "skl author advise skills/review 'why does it ask twice?'",
			flags:   askFlags(),
			run: func(ctx context.Context, w *world, c *cli.Context) error {
				wish, err := wished(c, strings.Join(c.Args().Tail(), " "))
				if err != nil {
					return err
				}
				q, err := w.authorRun(c, c.Args().First(), wish)
				if err != nil {
					return err
				}
				out, err := w.author().Advise(ctx, q)
				return w.show(out, err, func(say *report.Text) { w.sayAdvice(say, &out) })
			}},
	}
}

func askFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "the `MODEL`, as for skl run"},
		&cli.StringFlag{Name: "budget", Usage: "`LIMITS`, as for skl run: tokens=20000,time=2m"},
	}
}

// helpFlags are those of an operation of code that a model helps with where one is named.
func helpFlags(what string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "the `MODEL` that " + what + ", as for skl run; without it code works alone"},
		&cli.StringFlag{Name: "budget", Usage: "`LIMITS` of the model, as for skl run: tokens=20000,time=2m"},
	}
}

// modelNamed reports whether a model helps with an operation of code.
func modelNamed(c *cli.Context) (bool, error) {
	named := c.String("model") != "" && c.String("model") != "none"
	if !named && c.IsSet("budget") {
		return false, diag.New(diag.Misuse, "usage", "--budget is for a model, and none is named").Hint("--model MODEL names one")
	}
	return named, nil
}

func modelFlags() []cli.Flag { return append(planFlags(), askFlags()...) }

// authorRun is how the tree of an operation is run.
func (w *world) authorRun(c *cli.Context, skill, wish string) (author.Run, error) {
	q, err := w.request(c)
	if err == nil {
		err = w.runs.Check(q)
	}
	if !w.ui.Verbose { // the steps of the tree are skl's own
		q.Follow, q.Hold = session.Asking(w.ui.Progress), nil
	}
	return author.Run{Request: q, Skill: skill, Wish: wish}, err
}

// wished is the wish of an operation that takes a skill and a wish.
func wished(c *cli.Context, wish string) (string, error) {
	if c.Args().First() == "" || strings.TrimSpace(wish) == "" {
		return "", diag.New(diag.Misuse, "usage", "skl %s takes %s", commandPath(c), c.Command.ArgsUsage).Hint("skl %s --help", commandPath(c))
	}
	return wish, nil
}

// planByModel makes a plan by a model.
func (w *world) planByModel(ctx context.Context, c *cli.Context, skill, wish string, plan func(context.Context, author.Run, author.Terms) (author.Outcome, error)) error {
	q, err := w.authorRun(c, skill, wish)
	if err != nil {
		return err
	}
	out, err := plan(ctx, q, terms(c))
	return w.showPlan(c, &out, err)
}

// textOf is a text, or that of the file that it names.
func (w *world) textOf(text string) (string, error) {
	if text == "" || strings.ContainsAny(text, "\n") || len(text) > 4096 {
		return text, nil
	}
	data, err := scope.ReadIn(filepath.Dir(scope.Absolute(w.scope.Cwd, text)), filepath.Base(text))
	switch {
	case err == nil:
		return string(data), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, os.ErrInvalid):
		return text, nil
	}
	return "", err
}

func (w *world) sayAdvice(say *report.Text, out *author.Advised) {
	rows := [][]string{{"WHERE", "WHAT", "ACTION", "WHY"}}
	for _, r := range out.Rows {
		rows = append(rows, []string{diag.Position{File: r.File, Line: r.Line}.String(), r.What, r.Action, r.Why})
	}
	if len(out.Rows) > 0 {
		say.Rows(rows)
	}
	say.Print("%s", out.Approach)
	if out.FollowUp != "" && out.FollowUp != "none" {
		say.Note("it leads to: %s", out.FollowUp)
	}
}
