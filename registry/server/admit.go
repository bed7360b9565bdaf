package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
)

// admitBy judges releases by the rules in a file, which is read once, for a registry whose address is url, "" if it does not know that, at the time
// that now tells.
// A release that does not hold a rule is refused with code policy_refused, file, line and rule.
func admitBy(path, url string, now func() time.Time) (func(meta.Release, wire.Report) error, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, invalid("", 0, 0, "the policy cannot be read: %w", err)
	}
	f, err := policy.Parse(text, filepath.Base(path), policy.Machine)
	if err != nil {
		return nil, err
	}
	f.Policy = "registry"
	p := &policy.Policy{Files: []*policy.File{f}}
	if n := p.Needs(); n.Age || n.Masks {
		return nil, invalid(path, 0, 0, "min_age and shadowing are about installed skills, so a registry cannot judge them")
	}
	return func(r meta.Release, report wire.Report) error {
		if err := f.Current(now()); err != nil {
			return diag.New(diag.Refused, "policy_refused", "%w", err)
		}
		refusals := p.Check([]policy.Subject{subjectOf(r, report, url)}, now())
		if len(refusals) == 0 {
			return nil
		}
		var all []string
		for _, one := range refusals {
			all = append(all, one.Where.String()+": "+one.Sentence())
		}
		return diag.New(diag.Refused, "policy_refused", "%s", strings.Join(all, "; ")).
			Hint("whoever runs the registry can write an [[exception]] for rule %s in %s", refusals[0].Rule, refusals[0].Where.File)
	}, nil
}

// subjectOf is a release as rules look at it.
func subjectOf(r meta.Release, report wire.Report, url string) policy.Subject {
	s := policy.Subject{Skill: r.Repo(), Version: r.Version, Names: []string{r.Name, r.Repo()}, Sure: []string{r.Name, r.Repo()}, Registry: url,
		Addresses: []policy.Address{{Text: url + "/" + r.Repo(), Of: policy.Machine}}, Content: true, Licence: r.License, Audited: true}
	if r.MirroredURL != "" {
		s.Addresses = append(s.Addresses, policy.Address{Text: r.MirroredURL, Of: policy.Machine})
	}
	var signer lock.Signer
	if len(r.Signer) > 0 && json.Unmarshal(r.Signer, &signer) == nil {
		s.Signature = policy.Signature{Verified: true, Signer: signer.Identity + signer.Key, Names: []string{signer.Identity}}
		if signer.Key != "" {
			s.Signature.Names = []string{"key:" + signer.Key}
		}
	} else {
		s.Signature.Reason = "none of the signers of namespace " + r.Namespace + " signed it"
	}
	for _, f := range report.Findings {
		severity := string(f.Severity)
		if f.Severity == content.Refuse {
			severity = "critical"
		}
		s.Findings = append(s.Findings, policy.Finding{Rule: f.Rule, Severity: severity, Place: audit.Place{File: f.File, Line: f.Line}})
	}
	for _, p := range report.Permissions {
		if one, ok := audit.Parse(p.Permission); ok {
			s.Permissions = append(s.Permissions, audit.Found{Permission: one, Places: p.Places})
		}
	}
	return s
}
