package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

// planned is what operations print with --json. A plan that was refused also says why.
type planned struct {
	author.Outcome
	*ui.ErrorResult
}

func authorCommand() command {
	return command{name: "author", args: "OPERATION …", group: "Author", usage: "change skills by plans: every byte is shown before one is written",
		example: "skl author create changelog --from 'write the changelog of a release from its commits'\nskl author modify skills/review 'ask before a file is changed'\nskl author scaffold changelog -w\nskl author improve skills/review\nskl author improve skills/review --plan review.json\nskl author apply review.json\nskl author refactor skills --min 2\nskl author refactor --into shared-ops",
		sub: append(authorModelCommands(), []command{
			{name: "scaffold", args: "NAME", usage: "the frame of a skill with a tree and a file of ops", output: planned{},
				flags: append(planFlags(), &cli.StringFlag{Name: "syntax", Usage: "`HOW` the tree is written: list or box", Value: "list"}),
				run: func(ctx context.Context, w *world, c *cli.Context) error {
					name, err := oneName(c)
					if err != nil {
						return err
					}
					out, err := w.author().Scaffold(ctx, author.ScaffoldRequest{Name: name, Syntax: c.String("syntax")}, terms(c))
					return w.showPlan(c, &out, err)
				}},
			{name: "improve", args: "SKILL", usage: "mend what needs no judgement, and name what does", output: planned{}, complete: "dir",
				flags: append(planFlags(), append(helpFlags("mends what code leaves"), &cli.BoolFlag{Name: "layout", Usage: "move files of the old layout to scripts, references and assets"},
					&cli.BoolFlag{Name: "contracts", Usage: "write contracts for ops that have none"})...),
				run: runImprove},
			refactorCommand(),
			{name: "apply", args: "PLAN", usage: "carry out a plan that was kept, as it was shown or not at all", output: planned{}, complete: "dir",
				flags: append(agreeFlags(), dryRunFlag()),
				run: func(ctx context.Context, w *world, c *cli.Context) error {
					if c.Args().Len() != 1 {
						return diag.New(diag.Misuse, "usage", "name one plan: the file that --plan wrote").Hint("skl author improve SKILL --plan FILE")
					}
					t := terms(c)
					t.Write = !c.Bool("dry-run")
					out, err := w.author().Apply(ctx, c.Args().First(), t)
					return w.showPlan(c, &out, err)
				}},
		}...)}
}

func runImprove(ctx context.Context, w *world, c *cli.Context) error {
	name, err := oneSkill(c)
	if err != nil {
		return err
	}
	want := author.Wanted{Layout: c.Bool("layout"), Contracts: c.Bool("contracts")}
	byModel, err := modelNamed(c)
	if err != nil {
		return err
	}
	if !byModel {
		out, err := w.author().ImproveWith(ctx, name, want, terms(c))
		return w.showPlan(c, &out, err)
	}
	if want != (author.Wanted{}) {
		return diag.New(diag.Misuse, "usage", "--layout and --contracts are done by code: do them first, without --model")
	}
	return w.planByModel(ctx, c, name, "", w.author().ImproveByModel)
}

// oneSkill is the one argument of operations on a skill.
func oneSkill(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", diag.New(diag.Misuse, "usage", "name one skill: its folder").Hint("skl list")
	}
	return c.Args().First(), nil
}

func agreeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "accept", Usage: "accept `WHAT`[,…] the change lets the skill do besides, as the plan names it"},
		&cli.StringSliceFlag{Name: "allow-loss", Usage: "carry it out despite a loss of `CODE`, such as LOSS-RULE (repeatable)"},
	}
}

func planFlags() []cli.Flag {
	return append(agreeFlags(),
		&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "carry the plan out; without it the difference is shown"},
		&cli.StringFlag{Name: "plan", Usage: "write the plan to `FILE`, for skl author apply"}, dryRunFlag())
}

func terms(c *cli.Context) author.Terms {
	t := author.Terms{Write: c.Bool("write"), File: c.String("plan"), Accept: namesIn(c, "accept"), Allow: c.StringSlice("allow-loss")}
	if c.Bool("dry-run") {
		t.Write, t.File = false, ""
	}
	return t
}

// showPlan prints a plan and what became of it. One after which lint still finds errors does not hold.
func (w *world) showPlan(c *cli.Context, out *author.Outcome, err error) error {
	if e, ok := diag.Own(err); ok && e.Class == diag.Refused && out.Plan != nil {
		why := w.ui.ErrorOf(err)
		out.OK = false
		return report.Report{Result: planned{*out, &why}, End: report.Refused(e.Code), Text: func(say *report.Text) {
			w.sayPlan(say, out, true)
			say.Warn("%s", e.Error())
			for _, h := range e.Hints {
				say.Hint("%s", h)
			}
		}}.Write(w.ui)
	}
	if err != nil {
		return err
	}
	return w.verdict(*out, out.OK, "lint_errors", func(say *report.Text) {
		w.sayPlan(say, out, false)
		if len(out.Plan.Left) == 0 {
			for _, f := range out.Plan.Lint.Errors[:min(len(out.Plan.Lint.Errors), 5)] {
				say.Note("error: %s [%s]", f.Sentence(), f.Rule)
			}
		}
		if len(out.Plan.Left) > 0 && out.Plan.Model == "" && c.Command.Name == "improve" {
			say.Hint("--model MODEL has a model mend what is left")
		}
		at := "DIR"
		if len(out.Plan.Skills) == 1 {
			at = out.Plan.Skills[0].Skill
		}
		switch {
		case len(out.Diff) == 0:
			say.Note("nothing to change in %s", at)
		case len(out.Wrote) > 0:
			for _, dir := range out.Wrote {
				say.Print("✓ %s", w.scope.Short(dir))
			}
		case out.File != "":
			say.Hint("%s", w.applies(out.File))
		case c.Bool("dry-run"):
			say.Note("nothing was changed (--dry-run)")
		default:
			say.Hint("-w carries it out, --plan FILE keeps it for skl author apply")
		}
	})
}

// applies is the command that carries out a plan: from where its folders are named.
func (w *world) applies(file string) string {
	if rel, err := filepath.Rel(w.scope.Cwd, file); err == nil && w.scope.Cwd != w.scope.WorkingDir && filepath.IsLocal(rel) {
		return "skl -C " + diag.Quote(w.scope.Short(w.scope.Cwd)) + " author apply " + diag.Quote(rel)
	}
	return "skl author apply " + diag.Quote(w.scope.Short(file))
}

func (w *world) sayPlan(say *report.Text, out *author.Outcome, refused bool) {
	moved := out.Moved()
	for i := range out.Diff {
		f := &out.Diff[i]
		if from, ok := moved[f.Path]; ok {
			if from != "" {
				say.Print("moved %s → %s", filepath.ToSlash(from), filepath.ToSlash(f.Path))
			}
			continue
		}
		say.Print("%s %s +%d -%d", f.Change, filepath.ToSlash(f.Path), f.Add, f.Remove)
		if f.Text != "" {
			say.Folded([]byte(report.PrintableLines(f.Text)))
		}
	}
	sayLosses(say, out.Plan.Losses)
	for _, p := range out.Plan.Permissions.Added {
		say.Note("adds %s", p)
	}
	for _, p := range out.Plan.Permissions.Removed {
		say.Note("no longer asks for %s", p)
	}
	for _, text := range out.Plan.Questions {
		say.Note("the model asks: %s", text)
	}
	for i := range out.Plan.Skills {
		for _, f := range out.Plan.Skills[i].Files {
			if f.Executable {
				say.Note("can be executed: %s/%s", out.Plan.Skills[i].Skill, f.Path)
			}
		}
	}
	sayLeft(say, out.Plan.Left)
	if len(out.Needs) > 0 && !refused && len(out.Wrote) == 0 {
		say.Hint("what it adds wants a yes: --accept %s", diag.Quote(strings.Join(out.Needs, ",")))
	}
	if l := out.Plan.Lint; len(out.Diff) > 0 && l.Before != l.After && !out.AllNew() {
		say.Note("lint: %s, %s before; %s, %s after", diag.Count(l.Before.Errors, "error"), diag.Count(l.Before.Warnings, "warning"), diag.Count(l.After.Errors, "error"), diag.Count(l.After.Warnings, "warning"))
	}
}

func sayLeft(say *report.Text, left []string) {
	for i, text := range left {
		if i == 20 {
			say.Note("and %d more: --json has them", len(left)-i)
			break
		}
		say.Note("left: %s", text)
	}
}
