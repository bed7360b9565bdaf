package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

type ackResult struct {
	OK   bool           `json:"ok"`
	Acks []manifest.Ack `json:"acks"`
}

func ackCommand() command {
	return command{name: "ack", args: "CODE|PERM NAME", group: "Copies", usage: "acknowledge a conflict between two copies, or what a release asks for", output: ackResult{},
		example: "skl ack W_TRUST_DOWNGRADE pdf --reason 'local patch until 1.5'\nskl ack net:api.example ocr --reason 'the scans are read there'",
		flags:   []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why it is wanted"}, dryRunFlag()},
		run:     runAck}
}

func runAck(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 2 {
		return diag.New(diag.Misuse, "usage", "skl ack needs a code or a permission, and the name of a skill").Hint("skl list --shadowed shows codes and names").Hint("skl info NAME shows what a release asks for")
	}
	acks, err := w.apply.Acknowledge(ctx, apply.AckRequest{Code: c.Args().Get(0), Name: c.Args().Get(1), Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
	return w.show(ackResult{true, acks}, err, func(say *report.Text) {
		for _, a := range acks {
			if a.Winner == "" {
				say.Print("%s accepted of %s, %s", a.Code, report.Versioned(a.Name, a.Version), apply.Recorded(a))
				continue
			}
			say.Print("%s %s acknowledged: %s hides %s", a.Code, a.Name, shortDigest(a.Winner), shortDigest(a.Loser))
		}
		if c.Bool("dry-run") {
			say.Note("nothing was changed (--dry-run)")
		}
	})
}

func shortDigest(d string) string {
	const prefix = len("tree-sha256:")
	if len(d) > prefix+12 {
		return d[:prefix+12]
	}
	return report.OrDash(d)
}

type whyResult struct {
	Name       string   `json:"name"`
	Ref        string   `json:"ref"`
	Version    string   `json:"version"`
	RequiredBy []string `json:"required_by"`

	By []apply.Reason `json:"by,omitempty"` // the same, each before what requires that
}

func whyCommand() command {
	return command{name: "why", args: "NAME", group: "Team", usage: "explain why a skill is installed, and why this release", output: whyResult{}, complete: "skill",
		example: "skl why pdf",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			out, err := w.apply.Why(name)
			s := out.Locked
			return w.show(whyResult{name, s.Ref, s.Version, append([]string{}, s.RequiredBy...), out.By}, err, func(say *report.Text) {
				if out.Asked != "" {
					say.Print("%s asks for %s", out.Where, out.Asked)
				}
				w.printReasons(say, out.By)
				if s.Commit == "" {
					say.Print("%s is %s, as it is there now", s.Ref, report.OrDash(s.Version))
					return
				}
				say.Print("%s → %s (%s), commit %s of %s", s.Ref, s.Version, report.OrDash(string(s.RefKind)), s.Commit, s.URL)
			})
		}}
}

// printReasons says what requires a skill, and below each what requires that.
func (w *world) printReasons(say *report.Text, all []apply.Reason) {
	for _, r := range all {
		indent, needs := strings.Repeat("  ", r.Depth-1), "requires it"
		if r.Needs != "" {
			needs = "needs " + r.Needs + " (" + r.File + ")"
		}
		say.Print("%s%s %s", indent, report.Versioned(r.Name, r.Version), needs)
		if r.Asked != "" {
			say.Print("%s  %s asks for %s", indent, r.Where, r.Asked)
		}
	}
}
