package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

type ackResult struct {
	OK   bool           `json:"ok"`
	Acks []manifest.Ack `json:"acks"`
}

func ackCommand() command {
	return command{name: "ack", args: "CODE NAME", usage: "acknowledge a conflict between two copies, by both their digests", output: ackResult{},
		example: "skl ack W_TRUST_DOWNGRADE pdf --reason 'local patch until 1.5'",
		flags:   []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why it is wanted"}, dryRunFlag()},
		run:     runAck}
}

func runAck(ctx context.Context, w *world, c *cli.Context) error {
	code, name := c.Args().Get(0), c.Args().Get(1)
	switch {
	case c.Args().Len() != 2:
		return diag.New(diag.Misuse, "usage", "skl ack needs a code and the name of a skill").Hint("skl list --shadowed shows both")
	case c.String("reason") == "":
		return diag.New(diag.Misuse, "usage", "an acknowledgement needs a --reason for those who read skl.toml later").
			Hint("skl ack %s %s --reason WHY", code, name)
	}
	dry := c.Bool("dry-run")
	f, end, err := w.Edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return err
	}
	acks := acksFor(found, code, c.String("reason"))
	if len(acks) == 0 {
		return diag.New(diag.Misuse, "no_conflict", "%s has no open conflict %s", name, code).Hint("skl list --shadowed")
	}
	for _, a := range acks {
		if err := f.Manifest.AddAck(a); err != nil {
			return err
		}
	}
	if !dry {
		if err := w.WriteManifest(f); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(ackResult{true, acks})
	}
	for _, a := range acks {
		w.ui.Print("%s %s acknowledged: %s hides %s", a.Code, a.Name, shortDigest(a.Winner), shortDigest(a.Loser))
	}
	return nil
}

// acksFor makes the acknowledgements that silence a code of these copies.
func acksFor(found []roots.Record, code, reason string) []manifest.Ack {
	var acks []manifest.Ack
	for _, r := range found {
		for _, a := range r.Open() {
			if a.Code == code {
				acks = append(acks, manifest.Ack{Code: a.Code, Name: a.Name, Winner: string(a.Winner), Loser: string(a.Loser), Reason: reason})
			}
		}
	}
	return acks
}

func shortDigest(d string) string {
	const prefix = len("tree-sha256:")
	if len(d) > prefix+12 {
		return d[:prefix+12]
	}
	return orDash(d)
}

type whyResult struct {
	Name       string   `json:"name"`
	Ref        string   `json:"ref"`
	Version    string   `json:"version"`
	RequiredBy []string `json:"required_by"`
}

func whyCommand() command {
	return command{name: "why", args: "NAME", usage: "explain why a skill is installed, and why this release", output: whyResult{}, complete: "skill",
		example: "skl why pdf",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			f, err := w.Load()
			if err != nil {
				return err
			}
			s, ok := f.Lock.Skill(name)
			if !ok {
				return w.NotInManifest(name, f)
			}
			if w.ui.JSON {
				return w.ui.Result(whyResult{name, s.Ref, s.Version, append([]string{}, s.RequiredBy...)})
			}
			if m, ok := f.Manifest.Skill(name); ok {
				w.ui.Print("%s asks for %s", f.Manifest.Where(name), m.Ref)
			}
			for _, by := range s.RequiredBy {
				w.ui.Print("%s requires it", by)
			}
			if s.Commit == "" {
				w.ui.Print("%s is %s, as it is there now", s.Ref, orDash(s.Version))
				return nil
			}
			w.ui.Print("%s → %s (%s), commit %s of %s", s.Ref, s.Version, orDash(string(s.RefKind)), s.Commit, s.URL)
			return nil
		}}
}
