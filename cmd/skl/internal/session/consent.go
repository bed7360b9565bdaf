package session

import (
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// AllowRun is what a person consents to besides effects, once per digest: that the skill runs at all.
const AllowRun = "run"

// consents is what this user allowed, by the digest of a skill.
type consents struct {
	Version int                 `json:"version"`
	Skills  map[string][]string `json:"skills"`
}

func (rs *Runs) consentPath() string { return filepath.Join(rs.Scope.Dirs.State, "consents.json") }

func (rs *Runs) readConsents() (consents, error) {
	c := consents{Version: 1, Skills: map[string][]string{}}
	if err := scope.ReadState(rs.consentPath(), &c); err != nil || c.Version != 1 || c.Skills == nil {
		return consents{}, diag.New(diag.Failed, "consents_corrupt", "%s cannot be read", rs.consentPath()).Hint("move it away; skills are then asked about again")
	}
	return c, nil
}

// remember records that the user allowed something to the skill with digest.
func (rs *Runs) remember(digest string, what ...string) error {
	return rs.Scope.ChangeState(rs.consentPath(), func() (any, error) {
		c, err := rs.readConsents()
		if err != nil {
			return nil, err
		}
		have := c.Skills[digest]
		for _, x := range what {
			if !slices.Contains(have, x) {
				have = append(have, x)
			}
		}
		slices.Sort(have)
		c.Skills[digest] = have
		return c, nil
	})
}

// MayRun asks once per digest before a skill from outside this program runs for the first time.
func (rs *Runs) MayRun(r *Runnable, allow []string) error {
	if r.trust == "managed" || r.trust == "package" || len(allow) > 0 {
		return nil
	}
	c, err := rs.readConsents()
	if err != nil {
		return err
	}
	if slices.Contains(c.Skills[r.Plan.Digest], AllowRun) {
		return nil
	}
	if !rs.Ask.CanAsk() {
		return diag.New(diag.Refused, "run_not_allowed", "%s was never run in this form here, and nobody can be asked", r.Name).
			Hint("skl run %s --allow run    skl run %s --dry-run shows what it could do", r.As, r.As)
	}
	rs.Scope.Tell.Note("%s (%s, %s) was never run in this form here: skl run %s --dry-run shows what it could do", r.Name, r.trust, rs.Scope.Short(r.Dir), r.As)
	yes, err := rs.Ask.Confirm("run " + r.Name + "?")
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.Refused, "run_not_allowed", "%s was not allowed to run", r.Name)
	}
	return rs.remember(r.Plan.Digest, AllowRun)
}

// A consentStore remembers what this user allowed to a skill, by its digest.
type consentStore struct{ rs *Runs }

func (s consentStore) Consented(digest string, e tool.Effect) (bool, error) {
	c, err := s.rs.readConsents()
	return slices.Contains(c.Skills[digest], string(e)), err
}

func (s consentStore) Remember(digest string, e tool.Effect) error {
	return s.rs.remember(digest, string(e))
}
