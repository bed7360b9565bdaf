package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// An UpdateRequest asks for newer releases.
type UpdateRequest struct {
	Names  []string // nil is all that are not held
	Latest bool     // beyond the ranges of skl.toml, which are rewritten
	Safe   bool     // leave skills with local edits as they are
	Agreed Agreed
	DryRun bool
}

// Update chooses newer releases and installs them. Skills that are held stay, and that is told.
func (a *Applier) Update(ctx context.Context, r UpdateRequest) (_ Result, err error) {
	defer unknownFirst(r.Agreed.Accept, &err)
	if err := acceptable(r.Agreed.Accept, r.Agreed.Reason); err != nil {
		return Result{}, err
	}
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	for _, name := range r.Names {
		if !f.Has(name) {
			return Result{}, a.Scope.NotInManifest(name, f)
		}
	}
	meant := func(name string) bool { return len(r.Names) == 0 || slices.Contains(r.Names, name) }
	upgrade := func(name string) bool {
		s, _ := f.Manifest.Skill(name)
		return !s.Hold && meant(name)
	}
	for _, s := range f.Manifest.Skills {
		if s.Hold && meant(s.Name) {
			a.Scope.Tell.Note("%s is held: %s", s.Name, cmp.Or(s.HoldReason, "-"))
		}
	}
	var edits []plan.Edit
	if r.Latest {
		if edits, err = a.widen(ctx, f, upgrade); err != nil {
			return Result{}, err
		}
	}
	a.Scope.AcceptMoved(slices.Contains(r.Agreed.Accept, resolver.AcceptMoved), r.Names)
	j := a.newJob(f, &request{
		mode: updates, safe: r.Safe, named: r.Names, dry: r.DryRun, agreed: r.Agreed,
		plan: plan.Request{Edits: edits, Renews: upgrade, Dropped: len(r.Names) != 1},
	})
	j.compared = len(r.Names) == 0 && !a.Scope.Offline()
	result, err := j.run(ctx)
	if e, ok := diag.Own(err); ok && !r.Safe && len(r.Names) != 1 && len(f.Lock.Skills) > 1 && slices.Contains(acceptableCodes, e.Code) {
		err = e.Hint("skl update --safe updates the rest")
	}
	return result, err
}

// lowered tells of releases that are older than what is here, which happens where a registry took the newer ones back.
func (j *job) lowered(ctx context.Context, in *plan.Intent) error {
	before := &lock.Lock{}
	for _, name := range in.Anew {
		old, had := j.files.Lock.Skill(name)
		now := in.Entry(name)
		if !had || now == nil || old.Source != "registry" || !old.SamePlace(*now) {
			continue
		}
		was, err := semver.StrictNewVersion(old.Version)
		is, ierr := semver.StrictNewVersion(now.Version)
		if err == nil && ierr == nil && is.LessThan(was) {
			before.Set(old)
		}
	}
	if len(before.Skills) == 0 {
		return nil
	}
	taken, err := j.a.TakenBack(ctx, Glance, j.a.Releases(before, nil, nil))
	if err != nil {
		return err
	}
	for _, old := range before.Skills {
		why := "its registry no longer offers " + old.Version
		for _, w := range taken {
			if w.Name == old.Name && w.State != Advised {
				why = w.Sentence()
			}
		}
		j.a.Scope.Tell.Warn("%s goes back from %s to %s: %s", old.Name, old.Version, in.Entry(old.Name).Version, why)
	}
	return nil
}

// blockedStay adds to what an update holds the releases that their registry blocked and that stay, since no other is there: they are to go. Those
// that the update is not about are told.
func (j *job) blockedStay(ctx context.Context, in *plan.Intent, r *Result) error {
	if j.req.mode != updates {
		return nil
	}
	taken, err := j.a.TakenBack(ctx, Glance, j.a.Releases(in.Lock, nil, nil))
	if err != nil {
		return err
	}
	for _, w := range taken {
		blocked := Blocked([]Withdrawal{w})
		switch s := in.Entry(w.Name); {
		case blocked == nil || s == nil || slices.ContainsFunc(r.Stays.Held, func(h Held) bool { return h.Name == w.Name }):
		case len(j.req.named) > 0 && !slices.Contains(j.req.named, w.Name):
			j.a.Scope.Tell.Warn("%s", w.Sentence())
		default:
			r.Stays.Held = append(r.Stays.Held, troubled(w.Name, s.Path, blocked))
			r.Stays.Gone = slices.DeleteFunc(r.Stays.Gone, func(g Gone) bool { return g.Name == w.Name })
		}
	}
	return nil
}

// A HoldRequest asks that a skill is not updated any more, or is again.
type HoldRequest struct {
	Name   string
	Hold   bool
	Reason string // needed to hold
	DryRun bool
}

// Hold writes or removes the hold of one skill in the manifest.
func (a *Applier) Hold(ctx context.Context, r HoldRequest) error {
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return err
	}
	defer end()
	s, ok := f.Manifest.Skill(r.Name)
	if !ok {
		return a.Scope.NotInManifest(r.Name, f)
	}
	if r.Hold && r.Reason == "" {
		return diag.New(diag.Misuse, "usage", "--hold needs a --reason, so that others know when it ends")
	}
	s.Hold, s.HoldReason = r.Hold, ""
	if r.Hold {
		s.HoldReason = r.Reason
	}
	if err := f.Manifest.SetSkill(r.Name, s); err != nil || r.DryRun {
		return err
	}
	return a.Scope.WriteManifest(f)
}

// widen are the edits that let ranges allow the newest stable release.
func (a *Applier) widen(ctx context.Context, f *scope.Files, upgrade func(string) bool) (edits []plan.Edit, err error) {
	rs := a.Scope.Resolver(f.Manifest)
	all, err := resolver.Wants(f.Manifest)
	if err != nil {
		return nil, err
	}
	for _, want := range all {
		if want.Kind != lock.Range || !upgrade(want.Name) {
			continue
		}
		had, _ := f.Lock.Skill(want.Name)
		newest, err := latest(ctx, rs, want, had.Version)
		if resolver.Withdrawn(had, err) != "" || err != nil && diag.ClassOf(err) != diag.Refused && ctx.Err() == nil {
			continue // the range stays, and so does what is told of it
		}
		if err != nil {
			return nil, err
		}
		old, _ := f.Manifest.Skill(want.Name)
		if newest.Version == "" || newest.RefKind == lock.Default || resolver.Satisfies(newest, old.Version, lock.Range) {
			continue
		}
		version := "^" + newest.Version
		if old.Version[0] == '=' {
			version = "=" + newest.Version
		}
		edits = append(edits, plan.Edit{Skill: manifest.Skill{Name: want.Name, Ref: old.Ref, Version: version}})
	}
	return edits, nil
}

// latest is the newest stable release of a want, whatever its range says. Whoever has a prerelease, have, beyond it gets the
// newest of all: what is older is no news.
func latest(ctx context.Context, rs *resolver.Resolver, want resolver.Named, have string) (lock.Skill, error) {
	stable := want
	stable.Ref.Version, stable.Kind = "", ""
	s, err := rs.Choose(ctx, stable)
	had, herr := semver.StrictNewVersion(have)
	if err != nil || herr != nil || had.Prerelease() == "" {
		return s, err
	}
	if v, err := semver.StrictNewVersion(s.Version); err == nil && v.GreaterThan(had) {
		return s, nil
	}
	want.Ref.Version, want.Kind = ">="+have, lock.Range
	return rs.Choose(ctx, want)
}

// An Outdated is a skill and its newer releases.
type Outdated struct {
	Name   string `json:"name"`
	Locked string `json:"locked"`
	Wanted string `json:"wanted"` // newest within the constraint; "" if gone
	Latest string `json:"latest"` // newest stable, or of all for a prerelease beyond it; "" if gone
	Ref    string `json:"ref"`
	Held   string `json:"held,omitempty"` // reason
	Gone   string `json:"gone,omitempty"` // "since VERSION" or "at COMMIT (DATE)": its source no longer holds it there

	Yanked  string `json:"yanked,omitempty"`  // why the release that is here is not offered any more: its registry took it back
	Source  string `json:"source,omitempty"`  // the package that it was made from has another version here, or other files
	Changed bool   `json:"changed,omitempty"` // its folder or archive has other files under the locked version

	Troubles
}

// Troubles are why a skill cannot be updated, or should go; all "" where nothing is wrong.
type Troubles struct {
	Blocked   string   `json:"blocked,omitempty"`   // why the release that is here is to go: its registry blocked it
	Moved     string   `json:"moved,omitempty"`     // why no release of it is taken: its tags mean other bytes than they did
	Refused   string   `json:"refused,omitempty"`   // why Latest is not taken: its signature, or what its place said
	Unreached string   `json:"unreached,omitempty"` // why nothing is known of it: its place does not answer, or has not what is asked for
	Code      string   `json:"code,omitempty"`      // of that
	Hints     []string `json:"hints,omitempty"`

	broken bool // Unreached is that its release cannot be used as it was published
}

// Trouble says what is wrong with a skill, in a word and in a sentence; "" if nothing is.
func (o *Troubles) Trouble() (word, why string) {
	switch {
	case o.Blocked != "":
		return "blocked", o.Blocked
	case o.Moved != "":
		return "moved", o.Moved
	case o.Refused != "":
		return "refused", o.Refused
	case o.Unreached != "":
		if slices.Contains([]string{source.CodeNoVersion, source.CodeNoRelease, "git_not_found", "unknown_skill", "not_found", resolver.CodeDown}, o.Code) {
			return "gone", o.Unreached
		}
		if o.broken {
			return "broken", o.Unreached
		}
		return "not reached", o.Unreached
	}
	return "", ""
}

// trouble notes err, which is that of one skill alone, in one of the fields.
func (o *Troubles) trouble(in *string, err error) {
	h := troubled("", "", err)
	*in, o.Code, o.Hints, o.broken = h.Why, h.Code, h.Hints, resolver.Broken(err)
}

func (a *Applier) outdated(ctx context.Context, rs *resolver.Resolver, f *scope.Files, want resolver.Named) (Outdated, error) {
	s, _ := f.Lock.Skill(want.Name)
	entry, _ := f.Manifest.Skill(want.Name)
	out := Outdated{Name: want.Name, Locked: s.Version, Ref: cmp.Or(entry.Ref, s.Ref), Held: entry.HoldReason}
	within, err := a.required(ctx, rs, f, want, &s)
	if err != nil {
		return out, err
	}
	wanted, err := rs.Choose(ctx, within)
	if resolver.Dropped(err) && s.Name != "" {
		out.Gone, err = rs.GoneSince(ctx, want, s)
		return out, err
	}
	if why := resolver.Withdrawn(s, err); why != "" {
		out.Gone = "now: " + why
		return out, nil
	}
	if err == nil && s.Name != "" {
		err = diag.Located(resolver.Down(s, wanted), want.Where)
	}
	if err != nil {
		return out, resolver.Staying(err, s)
	}
	if _, err := rs.Unmoved(ctx, s, wanted, want.Ref.Version); errors.Is(err, diag.Code(resolver.CodeMoved)) && s.Name != "" {
		out.trouble(&out.Moved, diag.Located(err, want.Where))
	} else if err != nil {
		return out, diag.Located(err, want.Where)
	}
	out.Wanted, out.Latest = wanted.Version, wanted.Version
	if within.Kind == lock.Range {
		newest, err := latest(ctx, rs, want, wanted.Version)
		if resolver.Dropped(err) {
			beyond := want
			beyond.Ref.Version, beyond.Kind = "", ""
			out.Latest = ""
			out.Gone, err = rs.GoneSince(ctx, beyond, wanted)
			return out, err
		}
		if err != nil {
			return out, err
		}
		out.Latest = newest.Version
	}
	if out.Changed, err = a.changedHere(ctx, &s, &wanted); err != nil {
		return out, err
	}
	return out, a.outdatedSignature(ctx, &out, &s, &wanted)
}

// changedHere reports whether a folder or an archive of this machine, which names its version itself, has other files than were locked.
func (a *Applier) changedHere(ctx context.Context, s, now *lock.Skill) (bool, error) {
	if s.Source != "local" || s.Tree == "" || s.Version != now.Version {
		return false, nil
	}
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := a.Scope.Fetch(ctx, *now, guard); err != nil {
		return false, err
	}
	sum, err := guard.Close()
	return err == nil && sum.Tree != s.Tree, err
}

// outdatedSignature says of a release that an update would choose that it would be refused for its signature.
func (a *Applier) outdatedSignature(ctx context.Context, out *Outdated, s, wanted *lock.Skill) error {
	if s.Name == "" || out.Moved != "" || s.SameRelease(*wanted) {
		return nil
	}
	err := a.Signatures.WouldRefuse(ctx, wanted, s)
	if diag.ClassOf(err) != diag.Refused {
		return err
	}
	out.Wanted = s.Version
	out.trouble(&out.Refused, err)
	return nil
}

// required is want where others require the skill: of the newest version that they all allow.
func (a *Applier) required(ctx context.Context, rs *resolver.Resolver, f *scope.Files, want resolver.Named, s *lock.Skill) (resolver.Named, error) {
	if len(s.RequiredBy) == 0 || s.RefKind != lock.Range {
		return want, nil
	}
	ranges, err := a.rangesOf(f, s)
	if err != nil {
		return want, err
	}
	if c, err := semver.NewConstraint(want.Ref.Version); want.Kind == lock.Range && err == nil {
		ranges = append(ranges, c)
	}
	o, err := rs.Open(ctx, want.Want)
	if err != nil {
		return want, err
	}
	versions, err := o.Versions(ctx)
	if err != nil {
		return want, err
	}
	best := s.Version
	for _, v := range versions {
		if (!plan.IsPrerelease(v) || plan.IsPrerelease(best)) && !slices.ContainsFunc(ranges, func(c *semver.Constraints) bool { return !plan.InRange(c, v) }) {
			best = v
			break
		}
	}
	want.Ref.Version, want.Kind = "="+best, lock.Range
	return want, nil
}

// rangesOf are the ranges that those who require a locked skill allow.
func (a *Applier) rangesOf(f *scope.Files, s *lock.Skill) (ranges []*semver.Constraints, err error) {
	for _, by := range s.RequiredBy {
		other, _ := f.Lock.Skill(by)
		front := a.frontHere(other)
		if front.Text == nil {
			return nil, diag.New(diag.Failed, codeTrouble, "%s requires %s, and its files are not here", by, s.Name).Hint("skl install")
		}
		all, _ := needsIn(front)
		for i := range all {
			n := &all[i]
			if c := n.Range(); n.Name == s.Name && c != nil {
				ranges = append(ranges, c)
			}
		}
	}
	return ranges, nil
}

// Outdated lists the skills that have newer releases, of names or of all. It also says how many it looked at.
func (a *Applier) Outdated(ctx context.Context, names []string) (list []Outdated, of int, err error) {
	if err := a.Scope.Settled(); err != nil {
		return nil, 0, err
	}
	f, err := a.Scope.Load()
	if err == nil {
		err = cmp.Or(a.Lost(f), a.Scope.CheckLocal(f))
	}
	if err != nil {
		return nil, 0, err
	}
	all, err := scope.AllWants(f)
	if err != nil {
		return nil, 0, err
	}
	apart, err := a.Scope.AgreeApart(ctx, f, all)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		if !f.Has(name) {
			return nil, 0, a.Scope.NotInManifest(name, f)
		}
	}
	taken, err := a.TakenBack(ctx, Look, a.Releases(f.Lock, nil, nil))
	if err != nil {
		return nil, 0, err
	}
	rs := a.Scope.Resolver(f.Manifest)
	var first error
	known := false // something of some skill
	for _, want := range all {
		if len(names) > 0 && !slices.Contains(names, want.Name) {
			continue
		}
		one, err := a.looked(ctx, rs, f, want, apart[want.Name], taken)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		first = cmp.Or(first, err)
		known = known || err == nil || one.Blocked != ""
		if _, why := one.Trouble(); why != "" || one.Gone != "" || one.Yanked != "" || one.Source != "" || one.Changed || one.Locked != one.Wanted || one.Locked != one.Latest {
			list = append(list, one)
		}
	}
	if !known && len(list) == 1 {
		return list, len(all), first // of one alone
	}
	return list, len(all), nil
}

// looked is what is known of one skill, and why that is nothing: apart is that it could not be compared with its source, and taken
// is what registries took back.
func (a *Applier) looked(ctx context.Context, rs *resolver.Resolver, f *scope.Files, want resolver.Named, apart error, taken []Withdrawal) (Outdated, error) {
	one, err := a.outdated(ctx, rs, f, want)
	if entry, _ := f.Manifest.Skill(want.Name); entry.Hold && one.Locked != "" && (resolver.Broken(err) || errors.Is(err, diag.Code(resolver.CodeDown))) {
		err = nil // a person knows, and stays with what is here
		one.Wanted, one.Latest = one.Locked, one.Locked
	}
	if err = cmp.Or(err, apart); err != nil {
		one.unknown(err)
	}
	mine := slices.DeleteFunc(slices.Clone(taken), func(w Withdrawal) bool { return w.Name != want.Name })
	if blocked := Blocked(mine); blocked != nil {
		one.trouble(&one.Blocked, blocked)
	}
	if i := slices.IndexFunc(mine, func(w Withdrawal) bool { return w.State == wire.Yanked }); i >= 0 {
		one.Yanked = mine[i].Sentence()
	}
	if locked, ok := f.Lock.Skill(want.Name); ok {
		if b := SourceChanged(a, &locked, true); b.Why != "" {
			one.Source = b.Why
			a.Scope.Tell.Note("%s: %s", want.Name, b.Why)
			if b.Mend != "" {
				a.Scope.Tell.Hint("%s", b.Mend)
			}
		}
	}
	return one, err
}

// unknown notes why nothing is known of a skill.
func (o *Outdated) unknown(err error) {
	o.Wanted, o.Latest, o.Gone = "", "", ""
	if !resolver.Broken(err) { // which names it
		err = fmt.Errorf("%s: %w", o.Name, err)
	}
	if diag.ClassOf(err) == diag.Refused {
		o.trouble(&o.Refused, err)
		return
	}
	o.trouble(&o.Unreached, err)
}
