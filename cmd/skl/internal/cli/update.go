package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

func updateCommand() command {
	return command{name: "update", aliases: []string{"upgrade"}, args: "[NAME…]", group: "Skills", complete: "skill",
		usage: "choose newer releases within the constraints", output: installResult{},
		example: "skl update\nskl update pdf --latest\nskl update --dry-run\nskl update --hold pdf --reason 'waiting for review'",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "latest", Usage: "go beyond the constraints in skl.toml, and rewrite them"},
			&cli.BoolFlag{Name: "safe", Usage: "leave skills with local edits as they are and update the rest"},
			&cli.StringFlag{Name: "hold", Usage: "do not update `NAME` from now on"},
			&cli.StringFlag{Name: "unhold", Usage: "update `NAME` again"},
			&cli.StringFlag{Name: "reason", Usage: "why it is held"},
			forceFlag(), acceptFlag(), unsignedFlag(), dryRunFlag(),
		},
		run: runUpdate}
}

func runUpdate(ctx context.Context, w *world, c *cli.Context) error {
	dry := c.Bool("dry-run")
	f, end, err := w.edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	for _, name := range append(c.Args().Slice(), given(c.String("hold"), c.String("unhold"))...) {
		if _, ok := f.manifest.Skill(name); !ok {
			return w.notInManifest(name, f)
		}
	}
	if c.String("hold") != "" || c.String("unhold") != "" {
		return w.hold(f, c, dry)
	}
	names := c.Args().Slice()
	upgrade := func(name string) bool {
		s, _ := f.manifest.Skill(name)
		if s.Hold {
			return false
		}
		return len(names) == 0 || slices.Contains(names, name)
	}
	for _, s := range f.manifest.Skills {
		if s.Hold && (len(names) == 0 || slices.Contains(names, s.Name)) {
			w.ui.Note("%s is held: %s", s.Name, orDash(s.HoldReason))
		}
	}
	if c.Bool("latest") {
		if err := w.widen(ctx, f, upgrade); err != nil {
			return err
		}
	}
	j := &job{w: w, files: f, dry: dry, force: c.Bool("force"), hold: c.Bool("safe"), accept: accepted(c), unsigned: c.Bool("allow-unsigned")}
	if err := j.relock(ctx, upgrade); err != nil {
		return err
	}
	return j.finish(ctx)
}

func given(words ...string) []string {
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}

// hold writes or removes the hold of one skill in the manifest.
func (w *world) hold(f *files, c *cli.Context, dry bool) error {
	name, on := c.String("hold"), true
	if name == "" {
		name, on = c.String("unhold"), false
	}
	if on && c.String("reason") == "" {
		return diag.New(diag.Misuse, "usage", "--hold needs a --reason, so that others know when it ends")
	}
	s, _ := f.manifest.Skill(name)
	s.Hold, s.HoldReason = on, ""
	if on {
		s.HoldReason = c.String("reason")
	}
	if err := f.manifest.SetSkill(name, s); err != nil {
		return err
	}
	if !dry {
		if err := w.writeManifest(f); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(installResult{OK: true, Changes: []install.Change{}, Lock: "unchanged"})
	}
	w.ui.Print("%s %s held", name, map[bool]string{true: "is", false: "is no longer"}[on])
	return nil
}

// widen rewrites the constraints of ranges to the newest stable release.
func (w *world) widen(ctx context.Context, f *files, upgrade func(string) bool) error {
	rs := w.resolver(f.manifest)
	all, err := wants(f.manifest)
	if err != nil {
		return err
	}
	for _, want := range all {
		if want.Kind != lock.Range || !upgrade(want.Name) {
			continue
		}
		newest, err := latest(ctx, rs, want)
		if err != nil {
			return err
		}
		old, _ := f.manifest.Skill(want.Name)
		if newest.Version == "" || resolver.Satisfies(newest, old.Version, lock.Range) {
			continue
		}
		version := "^" + newest.Version
		if old.Version[0] == '=' {
			version = "=" + newest.Version
		}
		if err := f.manifest.SetSkill(want.Name, manifest.Skill{Name: want.Name, Ref: old.Ref, Version: version}); err != nil {
			return err
		}
	}
	return nil
}

// latest is the newest stable release of a want, whatever its range says.
func latest(ctx context.Context, rs *resolver.Resolver, want resolver.Named) (lock.Skill, error) {
	want.Ref.Version, want.Kind = "", ""
	return rs.Choose(ctx, want)
}

// An outdatedSkill is one line of "skl outdated".
type outdatedSkill struct {
	Name   string `json:"name"`
	Locked string `json:"locked"`
	Wanted string `json:"wanted"` // newest within the constraint
	Latest string `json:"latest"` // newest stable
	Ref    string `json:"ref"`
	Held   string `json:"held,omitempty"` // reason
}

type outdatedResult struct {
	OK     bool            `json:"ok"`
	Skills []outdatedSkill `json:"skills"`
}

func outdatedCommand() command {
	return command{name: "outdated", args: "[NAME…]", group: "Team", usage: "show newer releases", output: outdatedResult{}, complete: "skill",
		example: "skl outdated\nskl outdated --json",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			if err := w.settled(); err != nil {
				return err
			}
			f, err := w.load()
			if err == nil {
				err = w.checkLocal(f)
			}
			if err != nil {
				return err
			}
			if err := w.agree(ctx, f); err != nil {
				return err
			}
			out := outdatedResult{OK: true, Skills: []outdatedSkill{}}
			all, err := wants(f.manifest)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if _, ok := f.manifest.Skill(name); !ok {
					return w.notInManifest(name, f)
				}
			}
			rs := w.resolver(f.manifest)
			for _, want := range all {
				if c.Args().Present() && !slices.Contains(c.Args().Slice(), want.Name) {
					continue
				}
				line, err := w.outdated(ctx, rs, f, want)
				if err != nil {
					return err
				}
				if line.Locked != line.Wanted || line.Locked != line.Latest {
					out.Skills = append(out.Skills, line)
				}
			}
			if w.ui.JSON {
				return w.ui.Result(out)
			}
			rows := [][]string{{"NAME", "LOCKED", "WANTED", "LATEST", "FROM"}}
			for _, s := range out.Skills {
				rows = append(rows, []string{s.Name, orDash(s.Locked), s.Wanted, s.Latest, s.Ref})
			}
			w.ui.Rows(rows)
			if len(out.Skills) == 0 {
				w.ui.Note("%s, none outdated", ui.Count(len(all), "skill"))
				return nil
			}
			w.ui.Hint("skl update takes WANTED, skl update --latest takes LATEST")
			return nil
		}}
}

func (w *world) outdated(ctx context.Context, rs *resolver.Resolver, f *files, want resolver.Named) (outdatedSkill, error) {
	s, _ := f.lock.Skill(want.Name)
	entry, _ := f.manifest.Skill(want.Name)
	out := outdatedSkill{Name: want.Name, Locked: s.Version, Ref: entry.Ref, Held: entry.HoldReason}
	wanted, err := rs.Choose(ctx, want)
	if err != nil {
		return out, err
	}
	out.Wanted, out.Latest = wanted.Version, wanted.Version
	if want.Kind == lock.Range {
		newest, err := latest(ctx, rs, want)
		if err != nil {
			return out, err
		}
		out.Latest = newest.Version
	}
	return out, nil
}
