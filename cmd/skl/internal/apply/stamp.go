package apply

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// stamp returns the verdict on the signature of a copy, by the lock of the scope and the signatures that were kept on this machine. No
// network is asked: what was never checked here is skipped, and skl verify checks it. What a receipt or the lock say of a
// signer proves nothing by itself.
func (a *Applier) stamp(l *lock.Lock) func(name string, r roots.Receipt) roots.Signature {
	return func(name string, r roots.Receipt) roots.Signature {
		var s lock.Skill
		ok := false
		if l != nil {
			s, ok = l.Skill(name)
		}
		claimed := r.Signer
		if ok && s.Tree == r.Tree {
			claimed = s.Signer
		}
		if claimed == nil {
			return roots.Signature{State: string(attest.Unsigned)}
		}
		out := roots.Signature{State: string(attest.Skipped), Signer: strings.TrimSpace(cmp.Or(claimed.Identity, claimed.Repository, claimed.Key))}
		if !ok || s.Tree != r.Tree || !CanBeSigned(s) {
			return out
		}
		bundles, err := a.keptSignatures(s)
		if err != nil || len(bundles) == 0 {
			return out
		}
		j, err := a.judge(s, func() ([][]byte, error) { return bundles, nil })
		switch {
		case err != nil:
		case j.verdict.State == attest.Verified && j.verdict.Signer.Lock() != *s.Signer:
			if same, _ := attest.Same(*s.Signer, j.verdict.Signer.Lock()); !same {
				out.State = string(attest.Failed)
				break
			}
			out.State = string(attest.Verified)
		default:
			out.State = string(j.verdict.State)
		}
		return out
	}
}

// gate says which packages a skill needs and are not here, with the commands that install them.
func (a *Applier) gate(wanted []skill.Dependency, dir string) string {
	missing := a.Packages(dir).Missing(wanted)
	if len(missing) == 0 {
		return ""
	}
	var commands []string
	for _, m := range missing {
		if c := needs.Install(m); c != "" {
			commands = append(commands, c)
		}
	}
	why := "it needs packages that are not here: " + needs.Names(missing)
	if len(commands) > 0 {
		why += "; to install them: " + strings.Join(commands, "    ")
	}
	return why
}
