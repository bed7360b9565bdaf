package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// A CheckItem is one of the checks.
type CheckItem struct {
	Check  string   `json:"check"` // lock, verify, signatures, links, conflicts, trust
	OK     bool     `json:"ok"`
	Detail []string `json:"detail"`
}

// A Checked is what came of all checks.
type Checked struct {
	OK     bool        `json:"ok"`
	Checks []CheckItem `json:"checks"`

	Refused string `json:"-"` // the code of what is not only unmet but refused, "" if nothing is
}

func (c *Checked) add(name string, detail []string) {
	c.Checks = append(c.Checks, CheckItem{name, len(detail) == 0, append([]string{}, detail...)})
	c.OK = c.OK && len(detail) == 0
}

// Findings are the details of the checks that did not hold.
func (c *Checked) Findings() []diag.Finding {
	var out []diag.Finding
	for _, item := range c.Checks {
		for _, d := range item.Detail {
			out = append(out, diag.Finding{File: "skl.lock", Rule: "CHECK-" + item.Check, Severity: diag.SeverityError, Message: d})
		}
	}
	return out
}

// Check looks whether the lock is fresh, every file is as published, and no conflict is open; with base, a git revision,
// also whether trust is not lower than there.
func (in *Inspector) Check(ctx context.Context, base string) (Checked, error) {
	if err := in.Applier.Settled(); err != nil {
		return Checked{}, err
	}
	f, err := in.Applier.Load()
	if err != nil {
		return Checked{}, err
	}
	v, err := in.Applier.VerifyFiles(ctx, f, nil, true)
	if err != nil {
		return Checked{}, err
	}
	out := Checked{OK: true}
	if v.Refused != nil || len(v.Claims.Refused) > 0 {
		out.Refused = "check"
	}
	if keys := keyProblems(f, in.Applier.Config.Warnings); len(keys) > 0 {
		out.add("keys", keys)
	}
	out.add("lock", lockProblems(f, v.Claims))
	drift, signatures := in.verifyProblems(v)
	out.add("verify", drift)
	if len(signatures) > 0 || slices.ContainsFunc(f.Lock.Skills, apply.CanBeSigned) {
		out.add("signatures", signatures)
	}
	l, err := in.Applier.Discover(ctx, nil)
	if err != nil {
		return Checked{}, err
	}
	links, err := in.linkProblems(f, l)
	if err != nil {
		return Checked{}, err
	}
	if len(f.Manifest.Targets.Hosts) > 0 || len(links) > 0 {
		out.add("links", links)
	}
	out.add("conflicts", openConflicts(l))
	if base == "" {
		return out, nil
	}
	lower, err := in.lowerTrust(ctx, f, base)
	if err != nil {
		return Checked{}, err
	}
	if out.add("trust", lower); len(lower) > 0 {
		out.Refused = "trust_downgrade"
	}
	return out, nil
}

// keyProblems lists the keys of skl.toml and of the configuration that mean nothing: whoever wrote them meant something.
func keyProblems(f *scope.Files, config []diag.Finding) (wrong []string) {
	for _, w := range slices.Concat(f.Manifest.Warnings, config) {
		wrong = append(wrong, w.Sentence())
	}
	return wrong
}

// lockProblems says whether the lock follows from the manifest, and whether each entry is of the source that owns its ref.
func lockProblems(f *scope.Files, c apply.Claims) (wrong []string) {
	if len(f.Manifest.Skills) > 0 && !f.HasLock {
		return []string{"there is no skl.lock"}
	}
	for _, name := range c.Stale {
		wrong = append(wrong, name+": skl.lock does not follow from skl.toml")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Refused)) {
		wrong = append(wrong, name+": "+c.Refused[name].Error())
	}
	return wrong
}

func (in *Inspector) verifyProblems(v apply.Verification) (drift, signatures []string) {
	for _, s := range v.Skills {
		if s.State != "ok" {
			drift = append(drift, in.driftLine(s))
		}
		if s.Signature == string(attest.Failed) {
			signatures = append(signatures, s.Name+": "+s.Reason)
		}
	}
	return drift, signatures
}

// driftLine says what is wrong with one skill, or with a copy of it.
func (in *Inspector) driftLine(s apply.Verified) string {
	line := s.Name + ": " + s.State
	if s.CopyOf != "" {
		line = s.Name + ": " + in.Applier.Short(s.Path) + ": " + s.State
	}
	if len(s.Drift) > 0 {
		line += " [" + strings.Join(s.Drift, ", ") + "]"
	}
	return line
}

// lowerTrust lists the skills that are trusted less than at a git revision.
func (in *Inspector) lowerTrust(ctx context.Context, f *scope.Files, base string) (lower []string, err error) {
	d, err := in.diffLocks(ctx, f, base)
	for _, s := range d.Skills {
		if s.Downgrade != "" {
			lower = append(lower, s.Name+": "+s.Downgrade)
		}
	}
	return lower, err
}

// openConflicts are the collisions that want a decision.
func openConflicts(l roots.Listing) []string {
	var out []string
	for _, r := range l.Skills {
		for _, warning := range r.Warnings {
			if slices.Contains([]string{"W_TRUST_DOWNGRADE", "W_CONFUSABLE", "W_SYMLINK_ESCAPE"}, warning.Code) {
				out = append(out, fmt.Sprintf("%s: %s [%s]", r.Qualified, warning.Message, warning.Code))
			}
		}
	}
	return out
}

// A Status is manifest, lock, disk and hosts at a glance.
type Status struct {
	OK          bool     `json:"ok"`
	Scope       string   `json:"scope"`
	Base        string   `json:"base"`
	Root        string   `json:"root"`
	Hosts       []string `json:"hosts"`
	Skills      int      `json:"skills"`
	Stale       []string `json:"stale"`
	Drift       []string `json:"drift"`
	Links       []string `json:"links"` // links and copies that are not as they should be, agents that see nothing
	Conflicts   []string `json:"conflicts"`
	Interrupted bool     `json:"interrupted"`
	Trusted     bool     `json:"trusted"`
}

// Status looks at the scope without the network, and without hashing files whose size and time are as recorded.
func (in *Inspector) Status(ctx context.Context) (Status, error) {
	if err := in.Applier.Settled(); err != nil {
		return Status{}, err
	}
	f, err := in.Applier.Load()
	if err != nil {
		return Status{}, err
	}
	all, err := scope.Wants(f.Manifest)
	if err != nil {
		return Status{}, err
	}
	s := Status{Scope: string(in.Applier.Kind), Base: in.Applier.Base, Root: in.Applier.Site.Home(""), Hosts: append([]string{}, in.Applier.EnabledHosts(f)...), Skills: len(f.Manifest.Skills),
		Stale: append([]string{}, resolver.Stale(all, f.Lock)...), Drift: []string{}, Links: []string{}, Conflicts: []string{}}
	receipts, bad := in.Applier.Site.Receipts()
	if len(bad) > 0 {
		return Status{}, bad[0]
	}
	drifts, err := in.Applier.Site.CheckAll(ctx, receipts, false)
	if err != nil {
		return Status{}, err
	}
	for i, d := range drifts {
		if d.Any() {
			s.Drift = append(s.Drift, receipts[i].Name)
		}
	}
	for _, locked := range f.Lock.Skills {
		if !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == locked.Name }) {
			s.Drift = append(s.Drift, locked.Name)
		}
	}
	l, err := in.Applier.Discover(ctx, nil)
	if err != nil {
		return Status{}, err
	}
	links, err := in.linkProblems(f, l)
	if err != nil {
		return Status{}, err
	}
	s.Links = append(s.Links, links...)
	s.Conflicts = append(s.Conflicts, openConflicts(l)...)
	if s.Trusted, err = in.Applier.Trusted(); err != nil {
		return Status{}, err
	}
	s.OK = len(s.Stale)+len(s.Drift)+len(s.Links)+len(s.Conflicts) == 0
	return s, nil
}
