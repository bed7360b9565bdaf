package report

import (
	"fmt"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// Verify is the report of what was hashed again. It ends with exit 4 where a signature or a policy refuses, else with exit 3 where a registry
// warns or files differ.
func (d *Desk) Verify(out apply.Verification) Report {
	r := Report{Result: out, Text: func(t *Text) { d.verified(t, out) }}
	switch {
	case out.Refused != nil:
		r.End = out.Refused
	case slices.ContainsFunc(out.Withdrawn, apply.Withdrawal.Serious):
		r.End = Unmet("advisory")
	case !out.OK:
		r.End = Unmet("drift")
	}
	return r
}

func (d *Desk) verified(t *Text, out apply.Verification) {
	bad, refused, skills, residue := 0, 0, 0, 0
	for _, s := range out.Skills {
		residue += s.Residue
		if s.CopyOf == "" {
			skills++
		}
		if s.Signature == string(attest.Failed) {
			refused++
			t.Print("%s  signature: %s", s.Name, s.Reason)
		}
		if s.State == "ok" {
			t.Detail("%s ok %s", s.Name, s.Digest)
			continue
		}
		bad++
		if s.CopyOf != "" {
			t.Print("%s  %s  %s", s.Name, s.State, d.Scope.Short(s.Path))
		} else {
			t.Print("%s  %s", s.Name, s.State)
		}
		for _, line := range s.Drift {
			t.Print("  %s", line)
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
		case len(out.Skills) == 0:
			t.none()
		case back > 0:
			t.Print("%s: every byte is what skl.lock says, and the registry warns of %d", diag.Count(skills, "skill"), back)
		default:
			t.Print("%s verified: every byte is what skl.lock says", diag.Count(skills, "skill"))
		}
		if residue > 0 {
			t.Print("%s beside them, written here and in no release: compiled Python or .DS_Store", diag.Count(residue, "file"))
		}
		return
	}
	t.Note("%d of %s differ from what was published", bad, counted(skills, len(out.Skills)-skills))
	for _, m := range append(apply.MendsOf(d.Apply, out.Skills), out.Lost...) {
		t.Hint("%s", m)
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
