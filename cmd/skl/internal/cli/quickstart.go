package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/demo"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

type quickstartResult struct {
	Dir      string   `json:"dir"`
	Commands []string `json:"commands"`
}

func quickstartCommand() command {
	return command{name: "quickstart", usage: "try skl out in a new folder, with a registry of your own, without a network and without a model", output: quickstartResult{},
		example: "skl quickstart\nskl quickstart --dir ./try-skl\nskl quickstart --dry-run",
		flags:   []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "make the folder `DIR` (default: a temporary one)"}, dryRunFlag()},
		run:     runQuickstart}
}

func runQuickstart(ctx context.Context, w *world, c *cli.Context) error {
	if c.Bool("dry-run") {
		d, lines, err := demo.Planned(w.scope, c.String("dir"))
		if err != nil {
			return err
		}
		out := quickstartResult{Dir: d.Dir}
		for _, line := range lines {
			out.Commands = append(out.Commands, line.String())
		}
		return w.show(out, nil, func(say *report.Text) {
			say.Print("would make %s, with a registry that is served on 127.0.0.1 meanwhile, and type there", d.Dir)
			for _, line := range out.Commands {
				say.Print("  %s", line)
			}
			say.Note("nothing was done (--dry-run)")
		})
	}
	d, err := demo.New(w.scope, c.String("dir"))
	if err != nil {
		return err
	}
	out := quickstartResult{Dir: d.Dir}
	err = d.Run(ctx, func(line demo.Line) error {
		if line.Chapter > 0 {
			if err := w.chapter(line); err != nil {
				return err
			}
		}
		out.Commands = append(out.Commands, line.String())
		return w.typed(ctx, d, line)
	})
	enough := errors.Is(err, errEnough)
	switch {
	case enough:
		err = nil
	case ctx.Err() != nil || errors.Is(err, context.Canceled): // nothing half-done is left behind
		err = errors.Join(err, d.Remove())
	}
	return w.show(out, err, func(say *report.Text) {
		say.Print("")
		if enough {
			say.Print("files made so far are in %s", d.Dir)
			say.Hint("skl quickstart --yes shows all of it")
			say.Hint("rm -r %s", d.Dir)
			return
		}
		say.Print("everything is in %s: look at project/skl.toml, project/skl.lock and project/.agents/skills", d.Dir)
		say.Note("to try next, there and in a project of your own; rm -r %s takes all of it away", diag.Quote(d.Dir))
		say.Hint("cd %s && HOME=%s skl list --shadowed", d.Project, d.Home)
		say.Hint("skl registry serve --data %s", d.Registry)
		say.Hint("skl install anthropics/skills/pdf")
	})
}

// errEnough ends a demo where a person has seen enough.
var errEnough = errors.New("enough")

// chapter says what comes, after the person in front of a terminal has read what was before.
func (w *world) chapter(line demo.Line) error {
	if line.Chapter > 1 && w.ui.CanAsk() && !w.ui.Yes {
		fmt.Fprintln(w.env.stderr)
		answer, err := w.ui.Letters("go on?", []ask.Letter{{Key: "y", Word: "yes"}, {Key: "n", Word: "no"}}, "y")
		switch {
		case err != nil:
			return err
		case answer == "n":
			return errEnough
		}
	}
	_, err := fmt.Fprintf(w.shown(), "\n%d of %d  %s\n", line.Chapter, demo.Chapters, line.About)
	return err
}

// shown is where a demo is shown: beside the result, if that is JSON.
func (w *world) shown() io.Writer {
	if w.ui.JSON {
		return w.env.stderr
	}
	return w.env.stdout
}

// typed carries out a command line of a demo as the person would whose home is the demo's, and shows it before its output.
func (w *world) typed(ctx context.Context, d *demo.Demo, line demo.Line) error {
	e := w.env
	e.cwd, e.terminal, e.getenv, e.environ, e.stdin = line.Dir, false, d.Getenv(w.scope.Getenv), d.Environ(w.scope.Environ), strings.NewReader(line.Stdin)
	e.stdout = w.shown()
	fmt.Fprintf(e.stdout, "\n$ %s\n", line)
	if status := invoke(ctx, line.Args, e); status != 0 {
		return fmt.Errorf("%s ended with exit %d", line, status)
	}
	return nil
}
