package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/policy"
)

type policyResult struct {
	OK    bool           `json:"ok"`
	Files []*policy.File `json:"files"`
}

type policyInitResult struct {
	File string `json:"file"`
}

func policyCommand() command {
	return command{name: "policy", args: "init|show|explain|test|sign", group: "Trust", usage: "rules that every skill has to hold",
		example: "skl policy init\nskl policy show\nskl policy explain pdf\nskl policy test ./stricter.toml\nskl policy sign policy.toml --sign release.key",
		sub: []command{
			{name: "init", usage: "write policy.toml with all rules as comments, for the scope", output: policyInitResult{}, flags: []cli.Flag{dryRunFlag()}, run: runPolicyInit},
			{name: "show", usage: "list all rules in force, with file and line, and exceptions with the days left", output: policyResult{}, run: runPolicyShow},
			{name: "explain", args: "NAME|REF", usage: "say of each rule whether a skill holds it, and why", output: apply.Explained{}, complete: "skill", run: runPolicyExplain},
			{name: "test", args: "[PATH]", usage: "say what a policy would refuse of what is installed (exit 3), without putting it in force", output: apply.PolicyTest{}, complete: "dir",
				flags: []cli.Flag{&cli.StringFlag{Name: "as", Value: "project", Usage: "whose policy it would be: `WHO` is machine, organisation, user or project"}}, run: runPolicyTest},
			{name: "sign", args: "FILE", usage: "sign the policy of an organisation: FILE.sigstore.json", output: ship.SignedPolicy{},
				flags: []cli.Flag{&cli.StringFlag{Name: "sign", Usage: "with the private `KEY`"}, dryRunFlag()}, run: runPolicySign},
		}}
}

func runPolicyInit(_ context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl policy init takes no argument").Hint("skl policy init -g writes the rules of the user")
	}
	path, text, err := w.apply.InitPolicy(c.Bool("dry-run"))
	return w.show(policyInitResult{path}, err, func(say *report.Text) {
		if c.Bool("dry-run") {
			say.Print("%s", ui.Painted(string(text)))
			say.Note("%s would be written (--dry-run)", w.scope.Short(path))
			return
		}
		say.Print("wrote %s: its rules are comments, and refuse nothing yet", w.scope.Short(path))
		say.Hint("skl policy test, once you have edited it")
	})
}

func runPolicyShow(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl policy show takes no argument").Hint("skl policy explain %s", c.Args().First())
	}
	files, err := w.apply.ShowPolicy(ctx)
	return w.show(policyResult{true, files}, err, func(say *report.Text) {
		if len(files) == 0 {
			say.Note("no policy is in force here")
			say.Hint("skl policy init")
		}
		for _, f := range files {
			w.printPolicy(say, f)
		}
	})
}

func (w *world) printPolicy(say *report.Text, f *policy.File) {
	head := f.Policy + "  " + f.Name
	if f.LastDay != "" {
		head += ", until " + f.LastDay
	}
	if f.Serial > 0 {
		head += fmt.Sprintf(", serial %d", f.Serial)
	}
	say.Print("%s", head)
	if len(f.Rules)+len(f.Exceptions) == 0 {
		say.Print("  no rules")
	}
	for _, r := range f.Rules {
		say.Print("  %s  line %d", r.ID, r.Where.Line)
		if len(r.About) == 0 {
			say.Print("    about         all skills")
		}
		for _, l := range slices.Concat(r.About, r.Conditions) {
			say.Print("    %-13s %s", l.Key, strings.Join(l.Values, ", "))
		}
	}
	for _, e := range f.Exceptions {
		left := diag.Count(e.DaysLeft, "day") + " left"
		switch {
		case e.DaysLeft < 0:
			left = "expired with " + e.Until
		case e.DaysLeft > 365:
			left = "until " + e.Until
		}
		if e.Idle {
			left += ", for no rule of this file or a weaker one"
		}
		say.Print("  exception from %s for %s  line %d, %s", e.Rule, strings.Join(e.Skills, ", "), e.Where.Line, left)
		say.Print("    %s (%s)", e.Reason, e.By)
	}
}

func runPolicyExplain(ctx context.Context, w *world, c *cli.Context) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.apply.ExplainPolicy(ctx, arg)
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, r := range out.Rules {
			why := []string{r.Exception}
			for i := range r.Refusals {
				why = append(why, r.Refusals[i].Why())
			}
			rows = append(rows, []string{r.Rule, r.State, r.Where.String(), strings.TrimPrefix(strings.Join(why, "; "), "; ")})
		}
		table(say, []string{"RULE", strings.TrimSpace(out.Skill + " " + out.Version), "WHERE", "WHY"}, rows, "no rule is in force here")
	})
}

func runPolicyTest(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "write: skl policy test [PATH]")
	}
	tiers := []string{"machine", "organisation", "user", "project"}
	as := slices.Index(tiers, c.String("as"))
	if as < 0 {
		return diag.New(diag.Misuse, "usage", "--as %s: it is one of %s", c.String("as"), strings.Join(tiers, ", "))
	}
	out, err := w.apply.TestPolicy(ctx, c.Args().First(), policy.Tier(as))
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, apply.CodePolicy, func(say *report.Text) {
		refused := map[string]bool{}
		for i, line := range apply.PolicyLines(out.Refusals) {
			say.Print("%s", line)
			refused[out.Refusals[i].Skill] = true
		}
		say.Note("%s would refuse %d of %s by %s", out.File, len(refused), diag.Count(out.Skills, "skill"), diag.Count(out.Rules, "rule"))
	})
}

func runPolicySign(_ context.Context, w *world, c *cli.Context) error {
	given, err := words(c, 1, "policy sign FILE --sign KEY")
	if err != nil {
		return err
	}
	path := given[0]
	if c.String("sign") == "" {
		return diag.New(diag.Misuse, "usage", "skl policy sign needs a key").Hint("skl policy sign %s --sign KEYFILE", path)
	}
	out, err := w.shipper().SignPolicy(path, c.String("sign"), c.Bool("dry-run"))
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s   signed by %s", w.scope.Short(out.Signature), out.Signer)
		dryNote(say, c)
		say.Hint("serve it beside the policy; clients name both in [organisation] of config.toml")
	})
}
