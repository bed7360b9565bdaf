package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
)

// A world is what a command works with: the scope, and the person in front of it.
type world struct {
	scope   *scope.Scope
	apply   *apply.Applier
	inspect *inspect.Inspector
	search  *search.Searcher
	form    *form.Linter
	runs    *session.Runs
	desk    *report.Desk
	ui      *ui.UI
	env     env
}

func newWorld(e env, u *ui.UI, c *cli.Context) (*world, error) {
	version := build.Current().Version
	name := c.String("scope")
	if c.Bool("global") {
		name = "user"
	}
	config := c.String("config")
	if c.Command != nil && slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "config") }) {
		config = "" // the command's own flag of that name is about another file
	}
	extra := c.StringSlice("root")
	if c.Command != nil && c.Command.Name == "install" {
		extra = nil // where it installs
	}
	sc, err := scope.Open(scope.Options{
		Dir: e.cwd, Project: c.String("project"), Scope: name, Config: config, Offline: c.Bool("offline"), ExtraRoots: extra,
		UserAgent: "skl/" + version, Getenv: e.getenv, Environ: e.environ, Tell: u, Progress: u.Progress,
	})
	if err != nil {
		return nil, err
	}
	a := apply.New(sc, u)
	in := &inspect.Inspector{Applier: a, Version: version}
	w := &world{
		scope:   sc,
		apply:   a,
		inspect: in,
		search:  &search.Searcher{Scope: sc, Version: version},
		form:    &form.Linter{Scope: sc},
		runs:    &session.Runs{Scope: sc, Ask: u, Version: version, Line: u.Line, Show: u.Show},
		desk:    &report.Desk{Scope: sc, Apply: a, Inspect: in},
		ui:      u, env: e,
	}
	a.Approve, a.Gained = w.agree, w.gained
	in.Gone = func(ctx context.Context, dir string) []string { return w.author().NamesGone(ctx, dir, version) }
	w.runs.Own, w.runs.Alone = w.author().Tools, w.author().Alone
	return w, nil
}
