package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

func verifyCommand() command {
	return command{name: "verify", args: "[NAME…]", group: "Trust", usage: "re-hash installed skills and compare them with skl.lock", output: apply.Verification{}, complete: "skill",
		example: "skl verify\nskl verify pdf\nskl verify -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			out, err := w.apply.Verify(ctx, c.Args().Slice(), false)
			if err != nil {
				return err
			}
			if w.ui.JSON {
				if err := w.ui.Result(out); err != nil {
					return err
				}
			} else {
				w.printVerify(out)
			}
			switch {
			case out.Refused != nil && w.ui.JSON:
				return shown{out.Refused}
			case out.Refused != nil:
				return out.Refused
			}
			if slices.ContainsFunc(out.Withdrawn, apply.Withdrawal.Serious) {
				return unmet("advisory")
			}
			if !out.OK {
				return unmet("drift")
			}
			return nil
		}}
}

func (w *world) printVerify(out apply.Verification) {
	bad, refused, skills, residue := 0, 0, 0, 0
	for _, s := range out.Skills {
		residue += s.Residue
		if s.CopyOf == "" {
			skills++
		}
		if s.Signature == string(attest.Failed) {
			refused++
			w.ui.Print("%s  signature: %s", s.Name, s.Reason)
		}
		if s.State == "ok" {
			w.ui.Detail("%s ok %s", s.Name, s.Digest)
			continue
		}
		bad++
		if s.CopyOf != "" {
			w.ui.Print("%s  %s  %s", s.Name, s.State, w.scope.Short(s.Path))
		} else {
			w.ui.Print("%s  %s", s.Name, s.State)
		}
		for _, line := range s.Drift {
			w.ui.Print("  %s", line)
		}
	}
	refused += len(out.Policy)
	if bad == 0 {
		back := 0
		for _, t := range out.Withdrawn {
			if t.Serious() {
				back++
			}
		}
		switch {
		case refused > 0:
		case back > 0:
			w.ui.Print("%s: every byte is what skl.lock says, and the registry warns of %d", diag.Count(skills, "skill"), back)
		default:
			w.ui.Print("%s verified: every byte is what skl.lock says", diag.Count(skills, "skill"))
		}
		if residue > 0 {
			w.ui.Print("%s beside them, written here and in no release: compiled Python or .DS_Store", diag.Count(residue, "file"))
		}
		return
	}
	w.ui.Note("%d of %s differ from what was published", bad, counted(skills, len(out.Skills)-skills))
	for _, m := range apply.MendsOf(w.apply, out.Skills) {
		w.ui.Hint("%s", m)
	}
}

// counted is a number of skills, and of the copies of them that agents load.
func counted(skills, copies int) string {
	switch copies {
	case 0:
		return diag.Count(skills, "skill")
	case 1:
		return diag.Count(skills, "skill") + " and 1 copy"
	}
	return fmt.Sprintf("%s and %d copies", diag.Count(skills, "skill"), copies)
}
