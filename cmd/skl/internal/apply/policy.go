package apply

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
	"github.com/skl-project/skl/spec/skill"
)

// CodePolicy is the code of skills that a rule of a policy refuses.
const CodePolicy = "policy_refused"

// PolicyError is the refusal of all that rules refuse, nil if they refuse nothing.
func PolicyError(all []policy.Refusal) error {
	if len(all) == 0 {
		return nil
	}
	e := diag.New(diag.Refused, CodePolicy, "%s", all[0].Sentence()).At(all[0].Where)
	if len(all) > 1 {
		e.Message, e.Where = "refused by policy, for "+diag.Count(len(all), "reason")+":\n  "+strings.Join(PolicyLines(all), "\n  "), diag.Position{}
	}
	for i := range all {
		if out := all[i].WayOut(); !slices.Contains(e.Hints, out) {
			e.Hints = append(e.Hints, out)
		}
	}
	return e.Hint("skl policy explain %s", diag.Quote(all[0].Explain))
}

// PolicyLines are the sentences of refusals, with their places.
func PolicyLines(all []policy.Refusal) (lines []string) {
	for i := range all {
		lines = append(lines, all[i].Where.String()+": "+all[i].Sentence())
	}
	return lines
}

// A policyContent is what the files of a release say to a policy.
type policyContent struct {
	licence string
	claims  string // level of trust
	asks    audit.Report
	files   []audit.File
}

// of reads a tree.
func (c *policyContent) of(t trees.Tree) {
	c.read(Front{Text: t[skill.FileName].Data, Sidecar: t.Sidecar()})
	c.files = t.AuditFiles()
	c.asks = audit.Read(c.files)
}

// findings are what an audit of the files finds, with the severities of a policy. A remark of the publisher takes none away.
func (c *policyContent) findings() (out []policy.Finding) {
	for _, f := range content.Scan(c.files).Findings {
		severity := string(f.Severity)
		if f.Severity == content.Refuse {
			severity = "critical"
		}
		out = append(out, policy.Finding{Rule: f.Rule, Severity: severity, Place: audit.Place{File: f.File, Line: f.Line}})
	}
	return out
}

// read reads the front of a skill. One that cannot be read names no licence.
func (c *policyContent) read(front Front) {
	if doc, err := skill.ReadWith(front.Text, front.Sidecar); err == nil {
		if c.licence = doc.License; doc.V1 != nil {
			c.claims = doc.V1.Trust
		}
	}
}

// A governed Applier computes what the rules of a policy want to know.
type governed struct {
	a       *Applier
	needs   policy.Needs
	listing *roots.Listing         // of all copies, if some rule asks for them
	fetched func(name string) bool // the files of the skill were just read from its source
	quick   bool                   // no source is asked
}

// governed looks at what is needed for all skills.
func (a *Applier) governed(ctx context.Context, p *policy.Policy) (*governed, error) {
	g := &governed{a: a, needs: p.Needs(), fetched: func(string) bool { return false }}
	if !g.needs.Masks {
		return g, nil
	}
	l, err := a.Scope.Discover(ctx, nil)
	g.listing = &l
	return g, err
}

// all fills n subjects, some at a time.
func (g *governed) all(ctx context.Context, n int, one func(ctx context.Context, i int, out *policy.Subject) error) ([]policy.Subject, error) {
	out := make([]policy.Subject, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range out {
		group.Go(func() error { return one(ctx, i, &out[i]) })
	}
	return out, group.Wait()
}

// fill computes what rules want to know of the release s, whose copy is at dir. content reads its files; it gives false if they are not
// here.
func (g *governed) fill(ctx context.Context, out *policy.Subject, s *lock.Skill, dir string, read func(*policyContent) (bool, error)) (err error) {
	out.Skill, out.Version, out.Explain = s.Name, s.Version, s.Name
	if !scope.Exists(filepath.Join(g.a.Scope.Site.Home(s.Name), s.Name, "SKILL.md")) {
		out.Explain = cmp.Or(s.Ref, folderRef(g.a.Scope.Short(dir)))
	}
	scope.Addresses(g.a.Scope, s, out)
	if g.needs.Source {
		if err := g.provenance(ctx, s, out); err != nil {
			return err
		}
	}
	if g.listing != nil {
		for _, r := range g.listing.Lookup(s.Name) {
			if r.Digest != string(s.Tree) && r.CopyOf == "" && r.State != roots.Disabled && scope.Resolved(r.Path) != scope.Resolved(dir) {
				out.Masks = append(out.Masks, r.Qualified)
			}
		}
	}
	if g.needs.Signature {
		if err := g.a.policySignature(ctx, *s, &out.Signature); err != nil {
			return err
		}
	}
	if g.needs.Age {
		if out.Released, out.Unreleased, err = scope.Released(ctx, g.a.Scope, s); err != nil {
			return err
		}
	}
	stands := ""
	if g.needs.Level {
		if stands, err = g.standsFor(ctx, s, out); err != nil {
			return err
		}
	}
	if g.needs.Content || g.needs.Findings || g.needs.Level {
		var c policyContent
		out.Content, err = read(&c)
		out.Licence, out.Permissions = c.licence, c.asks
		if out.Audited = out.Content && g.needs.Findings; out.Audited {
			out.Findings = c.findings()
		}
		g.level(out, s, dir, stands, c.claims)
	}
	return err
}

// standsFor says who stands for a release whose files were compared with its source; "" is nobody.
func (g *governed) standsFor(ctx context.Context, s *lock.Skill, out *policy.Subject) (string, error) {
	if s.Tree == "" || !signature.CanBeSigned(*s) {
		return "", nil
	}
	checked := policy.Subject{Unchecked: out.Unchecked}
	signature := out.Signature
	var err error
	if !g.needs.Source {
		err = g.provenance(ctx, s, &checked)
	}
	if err == nil && !g.needs.Signature {
		err = g.a.policySignature(ctx, *s, &signature)
	}
	switch {
	case err != nil || checked.Unchecked:
		return "", err
	case signature.Verified:
		return "signed by " + signature.Signer, nil
	case s.Source == "registry" && s.Log != nil && g.a.Scope.HasRegistry(s.URL) && g.a.Scope.Registry.VerifyLog(ctx, *s, false) == nil:
		return "in the log of " + s.URL, nil
	}
	return "", nil
}

// level computes the level of trust of the release s at dir, as a listing does.
func (g *governed) level(out *policy.Subject, s *lock.Skill, dir, stands, claims string) {
	switch {
	case s.Source == "embedded":
		out.Level, out.LevelReason = "managed", "it comes with skl"
	case s.Ref == "":
		out.Level, out.LevelReason = "local", "nothing says what was installed there"
	default:
		place := scope.LevelOf(g.a.Scope, dir)
		out.Level, out.LevelReason = roots.Raised(place, stands)
		out.LevelReason = cmp.Or(out.LevelReason, "by its place")
	}
	if lower := roots.Lower(out.Level, claims); lower != out.Level {
		out.Level, out.LevelReason = lower, "it claims no more"
	}
}

// provenance makes sure that the files of s are those that its source has: a lock, and files that came with it, could say that others
// are. What was checked once is not asked again. Where nobody can be asked, out is unchecked.
func (g *governed) provenance(ctx context.Context, s *lock.Skill, out *policy.Subject) error {
	if s.Source == "local" || s.Source == "embedded" || g.fetched(s.Name) && !g.a.Scope.Offline() {
		return nil
	}
	if g.a.Signatures.Proven(s) {
		return nil
	}
	known, err := scope.WasChecked(g.a.Scope, s)
	if err != nil || known {
		return err
	}
	if out.Unchecked = true; g.quick || g.a.Scope.Offline() {
		return nil
	}
	if err = g.a.Signatures.CompareFiles(ctx, s); err == nil {
		out.Unchecked = false
		return nil
	}
	if diag.ClassOf(err) != diag.Refused && ctx.Err() == nil {
		err = nil // it stays unchecked
	}
	return err
}

// policySignature verifies the signatures of s, whatever its entry says of them.
func (a *Applier) policySignature(ctx context.Context, s lock.Skill, out *policy.Signature) error {
	s.Signer, s.Unsigned = nil, false
	j, err := a.Signatures.Recheck(ctx, s, false)
	switch {
	case err != nil && diag.ClassOf(err) != diag.Refused && diag.ClassOf(err) != diag.Unmet:
		return err
	case err != nil:
		out.Reason = err.Error()
		return nil
	case j.Verdict.State != attest.Verified:
		out.Reason = j.Verdict.Reason
		return nil
	}
	out.Verified, out.Signer = true, j.Verdict.Signer.String()
	out.Names, err = a.Signatures.Names(s, &j)
	return err
}

// obey refuses what the rules in force refuse of the releases that are about to be installed, or locked; all of it at once.
func (a *Applier) obey(ctx context.Context, in *installer, skills []lock.Skill, have map[string]install.Have) ([]policy.Refusal, error) {
	p, err := a.Scope.Policy(ctx)
	if err != nil || !p.Any() {
		return nil, err
	}
	g, err := a.governed(ctx, p)
	if err != nil {
		return nil, err
	}
	g.fetched = func(name string) bool {
		i := slices.IndexFunc(skills, func(s lock.Skill) bool { return s.Name == name })
		return i >= 0 && in.fetched(&skills[i])
	}
	var mu sync.Mutex // guards in's reports
	subjects, err := g.all(ctx, len(skills), func(ctx context.Context, i int, out *policy.Subject) error {
		s := &skills[i]
		return g.fill(ctx, out, s, filepath.Join(a.Scope.Site.Home(s.Name), s.Name), func(c *policyContent) (ok bool, err error) {
			mu.Lock()
			defer mu.Unlock()
			if c.asks, ok, err = in.asks(*s, have[s.Name]); err != nil || !ok {
				return ok, err
			}
			if g.needs.Findings {
				if c.files, ok, err = in.files(*s, have[s.Name]); err != nil || !ok {
					return ok, err
				}
			}
			front, _, err := in.front(s, have[s.Name])
			c.read(front)
			return err == nil && front.Text != nil, err
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range skills {
		if g.needs.Source && !subjects[i].Unchecked {
			a.Signatures.Prove(skills[i])
		}
	}
	return p.Check(subjects, time.Now()), nil
}

// verifyPolicy adds to out what the rules in force refuse of what is installed. What is missing is said already, and is not looked at.
func (a *Applier) verifyPolicy(ctx context.Context, f *scope.Files, out *Verification) error {
	p, err := a.Scope.Policy(ctx)
	if err != nil || !p.Any() {
		return err
	}
	out.Governed = true
	var names []string
	for i := range out.Skills {
		if v := &out.Skills[i]; v.CopyOf == "" && v.State != "missing" {
			names = append(names, v.Name)
		}
	}
	subjects, err := a.policySubjects(ctx, p, names, f.Lock)
	if err != nil {
		return err
	}
	out.Policy = p.Check(subjects, time.Now())
	if out.Refused == nil {
		out.Refused = PolicyError(out.Policy)
	}
	return nil
}

// folderRef is the reference of a folder, of its path for people.
func folderRef(path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return path
	}
	return "./" + filepath.ToSlash(path)
}

// folder makes s the entry of a skill of which nothing is known but its directory.
func (a *Applier) folder(s *lock.Skill, name, dir string) {
	s.Name, s.Source, s.URL = name, "local", filepath.ToSlash(a.Scope.Short(dir))
}

// contentAt reads the files of a directory.
func contentAt(dir string) func(*policyContent) (bool, error) {
	return func(c *policyContent) (bool, error) {
		t, err := trees.Read(scope.FilesIn(dir))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		c.of(t)
		return err == nil, err
	}
}

// RefuseByPolicy refuses a copy that is about to be run, or linked, where rules refuse it. Its release is that of the entry that a lock
// of this user has for its name and its content; without one, it is a folder.
func (a *Applier) RefuseByPolicy(ctx context.Context, name, dir string, files fs.FS) error {
	p, err := a.Scope.Policy(ctx)
	if err != nil || !p.Any() {
		return err
	}
	g, err := a.governed(ctx, p)
	if err != nil {
		return err
	}
	t, sum, err := trees.ReadSum(files)
	if err != nil {
		return err
	}
	var s lock.Skill
	if strings.HasPrefix(dir, "skl:") {
		s.Name, s.Source, s.Ref = name, "embedded", dir
	} else if !scope.LockedAs(a.Scope, &s, filepath.Base(dir), dir, sum) && !scope.LockedAs(a.Scope, &s, name, dir, sum) { // --as gives it the name of its directory
		a.folder(&s, name, dir)
	}
	s.Tree = sum
	subjects := make([]policy.Subject, 1)
	g.quick = true
	if err := g.fill(ctx, &subjects[0], &s, dir, func(c *policyContent) (bool, error) { c.of(t); return true, nil }); err != nil {
		return err
	}
	return PolicyError(p.Check(subjects, time.Now()))
}
