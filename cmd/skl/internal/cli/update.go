package cli

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
)

func updateCommand() command {
	return command{name: "update", aliases: []string{"upgrade"}, args: "[NAME…]", group: "Skills", complete: "skill",
		usage: "choose newer releases within the constraints", output: installResult{},
		example: "skl update\nskl update pdf --latest\nskl update --dry-run\nskl update --hold pdf --reason 'waiting for review'",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "latest", Usage: "go beyond the constraints in skl.toml, and rewrite them"},
			&cli.BoolFlag{Name: "safe", Usage: "leave skills with local edits, and those that ask for more, as they are and update the rest"},
			&cli.StringFlag{Name: "hold", Usage: "do not update `NAME` from now on"},
			&cli.StringFlag{Name: "unhold", Usage: "update `NAME` again"},
			&cli.StringFlag{Name: "reason", Usage: "reason for the hold"},
			forceFlag(), acceptFlag(), unsignedFlag(), dryRunFlag(),
		},
		run: runUpdate}
}

func runUpdate(ctx context.Context, w *world, c *cli.Context) error {
	if hold := cmp.Or(c.String("hold"), c.String("unhold")); hold != "" {
		if c.Args().Present() || c.String("hold") != "" && c.String("unhold") != "" {
			return diag.New(diag.Misuse, "usage", "--hold and --unhold take one skill at a time, and nothing is updated meanwhile").Hint("skl update --help")
		}
		return w.hold(ctx, apply.HoldRequest{Name: hold, Hold: c.String("hold") != "", Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
	}
	return w.printInstall(w.apply.Update(ctx, apply.UpdateRequest{
		Names: c.Args().Slice(), Latest: c.Bool("latest"), Safe: c.Bool("safe"),
		Agreed: agreed(c), DryRun: c.Bool("dry-run"),
	}))
}

func (w *world) hold(ctx context.Context, r apply.HoldRequest) error {
	if err := w.apply.Hold(ctx, r); err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(installResult{OK: true, Changes: []install.Change{}, Lock: "unchanged"})
	}
	w.ui.Print("%s %s held", r.Name, map[bool]string{true: "is", false: "is no longer"}[r.Hold])
	return nil
}

type outdatedResult struct {
	OK     bool             `json:"ok"`
	Skills []apply.Outdated `json:"skills"`
}

func outdatedCommand() command {
	return command{name: "outdated", args: "[NAME…]", group: "Team", usage: "show newer releases", output: outdatedResult{}, complete: "skill",
		example: "skl outdated\nskl outdated --json",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			list, of, err := w.apply.Outdated(ctx, c.Args().Slice())
			if err != nil {
				return err
			}
			out := outdatedResult{OK: true, Skills: append([]apply.Outdated{}, list...)}
			var moved error
			for _, s := range list {
				if word, why := s.Trouble(); why != "" {
					out.OK = false
					if s.Blocked != "" || s.Unreached == "" {
						moved = refused(s.Code)
					} else if moved == nil {
						moved = unmet(word)
					}
				}
			}
			if w.ui.JSON {
				return cmp.Or(w.ui.Result(out), moved)
			}
			if w.ui.Screen && len(list) > 0 {
				w.ui.Page(ui.Painted(draw.Outdated(w.ui.Look(), list, of)))
				return moved
			}
			rows := [][]string{{"NAME", "LOCKED", "WANTED", "LATEST", "FROM"}}
			for _, s := range out.Skills {
				latest := orDash(s.Latest)
				if s.Changed {
					latest = orDash(s.Latest) + ", other files"
				}
				if s.Gone != "" {
					latest = "gone upstream " + s.Gone
				}
				if word, why := s.Trouble(); why != "" {
					latest = word
					if s.Latest != "" && s.Latest != s.Locked {
						latest = s.Latest + ", " + word
					}
				}
				rows = append(rows, []string{s.Name, orDash(s.Locked), orDash(s.Wanted), latest, s.Ref})
			}
			w.ui.Rows(rows)
			if len(out.Skills) == 0 {
				w.ui.Note("%s, none outdated", diag.Count(of, "skill"))
				return nil
			}
			w.ui.Hint("skl update takes WANTED, skl update --latest takes LATEST")
			for _, s := range list {
				if _, why := s.Trouble(); why != "" {
					w.ui.Warn("%s [%s]", why, s.Code)
					for _, hint := range s.Hints {
						w.ui.Hint("%s", hint)
					}
				}
			}
			return moved
		}}
}
