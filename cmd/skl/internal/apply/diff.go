package apply

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/policy"
	"github.com/skl-project/skl/spec/ref"
)

// LockAt reads skl.lock as it is in a revision of the project's own repository.
func (a *Applier) LockAt(ctx context.Context, f *scope.Files, rev string) (*lock.Lock, error) {
	src, err := git.ReadRevision(ctx, a.Scope.Base, rev, "skl.lock")
	if err != nil {
		return nil, err
	}
	if src == nil {
		return &lock.Lock{}, nil
	}
	return lock.Parse(src, rev+":"+filepath.Base(f.LockPath))
}

// CompareLocks lists what differs from an older lock, and what of it is a lower trust. An entry that was added has to have a signer where
// config.toml requires one, as one that changed has.
func (a *Applier) CompareLocks(ctx context.Context, f *scope.Files, old *lock.Lock, all Acceptances) ([]LockDiff, error) {
	out, now := []LockDiff{}, f.Lock
	all.wanted = wanted(f.Manifest, now, func(name string) bool { _, ok := old.Skill(name); return ok })
	for _, s := range now.Skills {
		was, ok := old.Skill(s.Name)
		if ok && lock.Equal(was, s) {
			continue
		}
		d := LockDiff{Name: s.Name, Change: "changed", From: was.Version, To: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}}
		if !ok {
			if was, ok = predecessor(&s, old, func(o *lock.Skill) bool { _, stays := now.Skill(o.Name); return stays }); ok {
				d.Was, all.wanted[s.Name] = was.Name, false
			}
			d.Change, d.From = "added", was.Version
		}
		a.compareAsks(ctx, &d, was, s, all)
		_, required, err := a.Signatures.Known(s)
		if err != nil {
			return nil, err
		}
		if s.Moved != was.Moved {
			d.Moved = s.Moved
		}
		var lower []string
		worse := func(is bool, what string) {
			if is {
				lower = append(lower, what)
			}
		}
		worse(ok && was.Signer != nil && s.Signer == nil, "was signed, is not")
		if ok && was.Signer != nil && s.Signer != nil {
			same, changed := attest.Same(*was.Signer, *s.Signer)
			worse(!same, "another signer: "+changed)
		}
		worse(s.Unsigned && !was.Unsigned, "unsigned was accepted")
		worse(required && s.Signer == nil && !s.Unsigned && s.Source != "embedded", "config.toml requires a signature, and there is none")
		worse(ok && was.Log != nil && s.Log == nil && was.Source == s.Source, "was proven to be in the log of its registry, is not")
		worse(ok && !was.SamePlace(s), "another source: "+fetchedFrom(was)+" → "+fetchedFrom(s))
		worse(d.Moved != "", "its tag moved, which was accepted: it was "+d.Moved)
		worse(ok && d.Moved == "" && was.Version == s.Version && !sameContent(was, s) && !strings.HasPrefix(s.Version, "0.0.0-") && s.Source != "local", OtherContent)
		d.Downgrade = diag.Printable(strings.Join(lower, "; "))
		out = append(out, d)
	}
	for _, s := range old.Skills {
		if _, ok := now.Skill(s.Name); !ok {
			out = append(out, LockDiff{Name: s.Name, Change: "removed", From: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}})
		}
	}
	return out, nil
}

// compareAsks fills in what a release newly asks for, and no longer, and which findings were accepted.
func (a *Applier) compareAsks(ctx context.Context, d *LockDiff, was, s lock.Skill, all Acceptances) {
	changes, wants, known := a.lockChanges(ctx, was, s, all.wanted[s.Name])
	for _, c := range changes {
		d.Permissions = append(d.Permissions, c.String())
	}
	for _, c := range wants {
		d.Asks = append(d.Asks, all.newAsk(s, c.Permission, places(c.Places)))
	}
	if !known {
		d.Permissions = append(d.Permissions, FilesGone)
	}
	d.Findings = a.lockFindings(ctx, &was, &s)
	for _, line := range d.Findings {
		if at, newly := strings.CutPrefix(line, "+ "); newly {
			rule, at, _ := strings.Cut(at, "  ")
			place, _, _ := strings.Cut(at, "  ")
			d.Asks = append(d.Asks, all.newAsk(s, rule, []string{place}))
		}
	}
}

// Loosened lists what the project allows itself since a revision: rules of its policy that are gone or changed, which lowers trust, and
// conflicts and exceptions that were accepted since.
func Loosened(ctx context.Context, a *Applier, f *scope.Files, rev string) (lower, accepted []string, err error) {
	src, err := git.ReadRevision(ctx, a.Scope.Base, rev, filepath.Base(f.ManifestPath))
	if err != nil {
		return nil, nil, err
	}
	old, now := allowances{}, allowances{}
	if m, err := manifest.Parse(src, rev); err == nil { // one that cannot be read accepted nothing
		old.acks(m)
	}
	now.acks(f.Manifest)
	if src, err = git.ReadRevision(ctx, a.Scope.Base, rev, policy.FileName); err != nil {
		return nil, nil, err
	}
	old.policy(src)
	src, _ = a.Scope.Site.Dir.ReadFile(a.Scope.PolicyPath(), policy.MaxBytes) // without it no rule is left, which is said
	now.policy(src)
	for rule, text := range old.rules {
		if is := now.rules[rule]; is != text {
			lower = append(lower, policy.FileName+": rule "+rule+" "+map[bool]string{true: "is gone", false: "was changed"}[is == ""])
		}
	}
	for _, line := range now.accepted {
		if !slices.Contains(old.accepted, line) {
			accepted = append(accepted, "+ "+diag.Printable(line))
		}
	}
	slices.Sort(lower)
	return lower, accepted, nil
}

// allowances are what a project allows itself.
type allowances struct {
	rules    map[string]string // of its policy, by id
	accepted []string          // conflicts and exceptions
}

func (l *allowances) acks(m *manifest.Manifest) {
	for _, k := range m.Acks {
		line := k.Code + " " + k.Name + "  " + k.Reason
		if k.By != "" || k.On != "" || k.Reason == "" {
			line = k.Code + " " + k.Name + "  accepted " + Recorded(k)
		}
		l.accepted = append(l.accepted, line)
	}
}

// policy adds a policy.toml; one that cannot be read refuses everything, so it allows nothing.
func (l *allowances) policy(src []byte) {
	l.rules = map[string]string{}
	p, err := policy.Parse(src, policy.FileName, policy.Project)
	if err != nil {
		return
	}
	for _, r := range p.Rules {
		l.rules[r.ID] = fmt.Sprint("=", r.About, r.Conditions)
	}
	for _, e := range p.Exceptions {
		l.accepted = append(l.accepted, "exception from "+e.Rule+" for "+strings.Join(e.Skills, ", ")+"  until "+e.Until+", by "+e.By+": "+e.Reason)
	}
}

// fetchedFrom is where an entry is from, for people.
func fetchedFrom(s lock.Skill) string {
	if of := s.RegistryName(); of != "" {
		return s.URL + "/" + of
	}
	return s.URL
}

// sameContent reports whether two entries pin the same bytes.
func sameContent(a, b lock.Skill) bool {
	return a.Commit == b.Commit && a.Manifest == b.Manifest && a.Artifact == b.Artifact && a.Tree == b.Tree
}

// OtherContent is the downgrade of a release that has other bytes than it had: what was accepted of it is not what it asks for.
const OtherContent = "the same version, other content"

// A LockDiff is one skill of a comparison of two locks.
type LockDiff struct {
	Name        string   `json:"name"`
	Change      string   `json:"change"`        // added, removed, changed
	Was         string   `json:"was,omitempty"` // of one that was added: the name that it had before
	From        string   `json:"from,omitempty"`
	To          string   `json:"to,omitempty"`
	Source      string   `json:"source"`
	Digest      string   `json:"digest"`
	Permissions []string `json:"permissions"`        // "+ PERM  FILE:LINE" and "- PERM"
	Asks        []Ask    `json:"asks,omitempty"`     // what of that, and of the findings, needs a yes
	Findings    []string `json:"findings,omitempty"` // "+ RULE  FILE:LINE  what it is" of those newly accepted, and "- RULE"
	Moved       string   `json:"moved,omitempty"`    // what its tag named before: somebody accepted that it moved
	Downgrade   string   `json:"downgrade,omitempty"`
}

// AtVersion chooses another release of a skill.
func (a *Applier) AtVersion(ctx context.Context, f *scope.Files, name, version string) (lock.Skill, error) {
	all, err := scope.AllWants(f)
	if err != nil {
		return lock.Skill{}, err
	}
	i := slices.IndexFunc(all, func(n resolver.Named) bool { return n.Name == name })
	if i < 0 {
		return lock.Skill{}, a.Scope.NotInManifest(name, f)
	}
	want := all[i]
	r, err := ref.Parse(want.Ref.WithoutVersion().String() + "@" + version)
	if err != nil {
		return lock.Skill{}, err
	}
	want.Want = resolver.Want{Ref: r, Retry: func(r ref.Ref) string { return strings.TrimSpace("skl diff " + diag.Quote(name) + " " + r.Version) }}
	return a.Scope.Resolver(f.Manifest).Choose(ctx, want)
}
