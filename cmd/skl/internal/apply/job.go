// Package apply makes roots agree with manifests and locks: install, update, remove, lock, link, verify. Each use case takes
// a request and returns a result; what needs a decision is put to an [ask.Asker]. The steps of a job are resolve, check
// signatures, fetch, ask, apply.
package apply

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// An Applier makes roots agree with manifests and locks: install, update, remove, lock and verify.
type Applier struct {
	Scope *scope.Scope
	Ask   ask.Asker
	// Approve is asked before skills that a person named are added. No error and false change nothing. Nil agrees.
	Approve func(context.Context, Proposal) (bool, error)
	// Gained is asked whether an update may have what it asks for anew; false keeps the version that is here. Nil asks as
	// for an install.
	Gained     func(Gain) (bool, error)
	Signatures *signature.Judge
}

// A Proposal is what an install is about to add.
type Proposal struct {
	Add   []install.Change
	Lock  *lock.Lock
	Hosts []string                            // ids of the agents
	Files func(name string) ([]string, error) // paths of a skill
	Asked map[string]Asked
}

// New returns an Applier that puts its questions to asker.
func New(sc *scope.Scope, asker ask.Asker) *Applier {
	a := &Applier{Scope: sc, Ask: asker, Signatures: signature.New(sc)}
	sc.Signed, sc.Gate = a.Signatures.Stamp, a.gate
	return a
}

// A Result is what became of an install, an update, a removal or a lock.
type Result struct {
	Changes   install.Changes
	Report    install.Report
	Lock      *lock.Lock // as it is now, or would be
	LockState string     // "changed" or "unchanged"
	DryRun    bool       // nothing was written
	Compared  bool       // every skill was compared with what its source has now
	All       bool       // of an install of all skills
	Unlinked  []string   // names that were links only

	Stays   Stays
	Asks    Asks
	Remarks Remarks
}

// Stays are the skills that stay as they are, or are left out.
type Stays struct {
	Held []Held // of an install of all skills: what was left out; of an update: what stays as it is
	Gone []Gone // of an update: skills that their source no longer holds
	Kept []Kept // of an update: skills that were not to have what they ask for anew
}

// Asks is what skills ask for.
type Asks struct {
	Asked   map[string]Asked // by skill: what was chosen anew asks for
	Wishes  []Wish           // of a dry run: what would have to be accepted
	Refused []Held           // of a dry run: updates that would be refused, since nobody accepted what they ask for
}

// Remarks are what a person may want to know besides.
type Remarks struct {
	Passed  []source.Passed    // of an install of all skills: what looks like one and is none to skl
	Ungated []Ungated          // limits that skills set and agents do not keep
	Unmet   []Unmet            // what skills that are new here say they need, and is not there
	Merged  []scope.Merged     // of a lock: what was taken of two sides of a merge
	Budgets []roots.HostBudget // of the agents that tell their models a part only of the skills that are here now
	Derived []Derivation       // skills made from another package than before, or derived from one by hand

	Resolved []string // of a lock: the files that held the markers of a merge
	Next     []string // of such a lock: the commands that end the merge
}

// A Kept is a skill that a person kept at the version that is here.
type Kept struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A Gone is a skill that its source no longer holds.
type Gone struct {
	Name    string `json:"name"`
	Version string `json:"version"` // that stays
	Since   string `json:"since"`   // "since VERSION" or "at COMMIT (DATE)"
}

// A job carries out one request: it plans, finds out what the plan asks for, holds what the rest can go on without, and plans again, until
// nothing more is held. Then it writes.
type job struct {
	a     *Applier
	req   *request
	files *scope.Files // as they are
	base  *plan.Base   // the same, for plans
	facts *plan.Facts  // what was found out, which only grows

	picked   pickList
	holdings []holding // what is held, which only grows
	site     *workplace
	compared bool // every entry was chosen anew or compared with what its source has now
	seen     memory
}

// A memory is what is done or said once, however often it is planned.
type memory struct {
	wishes map[string][]Wish // by reading: what nobody accepted yet
	yes    map[string]bool   // by reading: a person agreed to what it wishes for
	why    map[string]string // by skill: the reason that they gave
	said   bool              // which skills nobody compared with their source
	unread map[string]error  // by skill: why what it needs cannot be read
}

// A workplace is what is known of the directories that a job writes to.
type workplace struct {
	in    *installer
	have  map[string]install.Have // what lies there, by skill
	homes map[string]string       // as of have
}

// newJob begins a job.
func (a *Applier) newJob(f *scope.Files, r *request) *job {
	j := &job{a: a, req: r, files: f, facts: plan.NewFacts(), compared: true}
	j.seen = memory{wishes: map[string][]Wish{}, yes: map[string]bool{}, why: map[string]string{}, unread: map[string]error{}}
	j.base = &plan.Base{
		Manifest: f.ManifestText, Path: a.Scope.Short(f.ManifestPath), Lock: f.Lock,
		Bound:  func(ns string) bool { return a.Scope.Config.Namespaces[ns] != "" },
		Market: a.Scope.MarketRecord, Check: a.Scope.CheckNeed,
		Place: func(p diag.Position) string { return a.Scope.Short(p.String()) },
	}
	return j
}

// settle plans until nothing more has to be found out. The Intent is as far as it got where there are faults.
func (j *job) settle(ctx context.Context, held plan.Held) (*plan.Intent, []plan.Fault, error) {
	for {
		in, questions, faults := plan.Of(ctx, j.base, &j.req.plan, j.facts, held)
		if len(faults) > 0 || !questions.Any() {
			return in, faults, ctx.Err()
		}
		if err := j.answer(ctx, in, questions); err != nil {
			return in, nil, err
		}
	}
}

// decide plans until nothing more is held. The changes are those of the last plan.
func (j *job) decide(ctx context.Context) (*plan.Intent, install.Changes, error) {
	for {
		in, found, err := j.settle(ctx, j.held())
		if err != nil {
			return nil, install.Changes{}, err
		}
		var changes install.Changes
		faults := make([]fault, len(found))
		for i := range found {
			faults[i].Fault, faults[i].planned = found[i], true
		}
		if len(faults) == 0 {
			if err := j.onlyHeld(in); err != nil {
				return nil, install.Changes{}, err
			}
			if changes, faults, err = j.judge(ctx, in); err != nil {
				return nil, install.Changes{}, err
			}
		}
		if len(faults) == 0 {
			return in, changes, nil
		}
		if err := j.hold(ctx, in, faults); err != nil {
			return nil, install.Changes{}, err
		}
	}
}

// prepare finds out where skills go, and what lies there, of a plan as far as it got. It asks for agents the first time.
func (j *job) prepare(ctx context.Context, in *plan.Intent) error {
	if j.site == nil {
		if _, err := j.a.Scope.Policy(ctx); err != nil && j.req.mode != removes {
			return err // before anything is fetched
		}
		if j.req.mode != locks {
			var err error
			if j.facts.Hosts, err = j.a.Targets(in.Manifest, j.req.hosts); err != nil {
				return err
			}
		}
	}
	all := in.Lock.Clone() // and what goes, which lies where it lay
	for _, s := range j.files.Lock.Skills {
		if _, stays := all.Skill(s.Name); !stays {
			all.Set(s)
		}
	}
	if err := j.a.Scope.SetRoots(in.Manifest, all, j.files.Lock); err != nil {
		return err
	}
	if j.site == nil {
		made, err := j.a.installer(j.facts.Hosts, in.Manifest.Targets.Links)
		if err != nil {
			return err
		}
		made.Renew, made.Spares = j.req.agreed.Force, j.req.beside
		j.site = &workplace{in: made}
	}
	return j.survey(ctx, in)
}

// survey looks at the directories, where something is to be that was not looked at.
func (j *job) survey(ctx context.Context, in *plan.Intent) error {
	w := j.site
	unknown := slices.ContainsFunc(in.Lock.Skills, func(s lock.Skill) bool { _, known := w.have[s.Name]; return !known })
	if w.have != nil && !unknown && maps.Equal(w.homes, j.a.Scope.Site.Homes) {
		return nil
	}
	w.in.Site = j.a.Scope.Site
	have, err := w.in.Survey(ctx, in.Lock.Skills, j.files.Lock, false)
	if err != nil {
		return err
	}
	for name, h := range have {
		if was, ok := w.have[name]; ok {
			h.Permissions = was.Permissions // what was accepted
			have[name] = h
		}
	}
	w.have, w.homes = have, maps.Clone(j.a.Scope.Site.Homes)
	return nil
}

// run does the whole.
func (j *job) run(ctx context.Context) (Result, error) {
	if j.emptied(nil) {
		return j.allHeld()
	}
	if j.nothing() {
		return j.undeclared()
	}
	if err := j.a.Lost(j.files); err != nil {
		return Result{}, err
	}
	in, changes, err := j.decide(ctx)
	if err != nil {
		return Result{}, err
	}
	if j.emptied(in) {
		return j.allHeld()
	}
	for _, text := range in.Notes {
		j.a.Scope.Tell.Note("%s", text)
	}
	for i := range j.holdings {
		if h := &j.holdings[i]; h.beside {
			j.a.Scope.Tell.Warn("%s stays as it is: %s", h.name, h.told.Why)
		}
	}
	if err := j.lowered(ctx, in); err != nil {
		return Result{}, err
	}
	result, err := j.write(ctx, in, changes)
	if err != nil {
		return Result{}, err
	}
	result.All, result.Remarks.Passed = j.req.all, j.picked.passed
	result.Stays.Held, result.Stays.Kept, result.Asks.Asked, result.Compared = j.heldList(), j.kept(), j.site.in.asked, j.compared
	for _, g := range in.Gone {
		result.Stays.Gone = append(result.Stays.Gone, Gone(g))
	}
	if err := j.blockedStay(ctx, in, &result); err != nil {
		return Result{}, err
	}
	sort.Slice(result.Stays.Gone, func(a, b int) bool { return result.Stays.Gone[a].Name < result.Stays.Gone[b].Name })
	if j.req.dry {
		j.wouldAsk(in, &result)
	}
	return result, nil
}

// nothing reports whether there are no skills here, neither skl.toml nor skl.lock, and nothing is to be added or recorded.
func (j *job) nothing() bool {
	return !j.files.HasManifest && !j.files.HasLock && len(j.req.plan.Edits)+len(j.req.hosts) == 0
}

// undeclared is the end of a job with nothing to do. What asks for nothing but skl.toml is refused, an update has nothing to update.
func (j *job) undeclared() (Result, error) {
	if j.req.mode != updates {
		e := diag.New(diag.Unmet, "no_manifest", "no skill is named, and there is no %s", j.a.Scope.Short(j.files.ManifestPath))
		return Result{}, begin(e)
	}
	return Result{Lock: j.files.Lock, LockState: "unchanged", DryRun: j.req.dry, Compared: true}, nil
}

// Lost refuses to go on where skl.lock names skills and there is no skl.toml: all of them would go.
func (a *Applier) Lost(f *scope.Files) error {
	if f.HasManifest || len(f.Lock.Skills) == 0 {
		return nil
	}
	at := a.Scope.Short(f.ManifestPath)
	e := diag.New(diag.Unmet, "no_manifest", "there is no %s, and %s names %s", at, a.Scope.Short(f.LockPath), diag.Count(len(f.Lock.Skills), "skill"))
	if tracked, err := a.Scope.Tracker.Tracked(a.Scope.Base, []string{"skl.toml"}); err == nil && len(tracked) > 0 {
		e = e.Hint("git restore %s, then: skl install", diag.Quote(at))
	}
	const most = 12 // references that people read
	again := []string{"skl", "install"}
	for i := range f.Lock.Skills {
		if s := &f.Lock.Skills[i]; len(s.RequiredBy) == 0 {
			again = append(again, s.Ref)
		}
	}
	if len(again) > 2+most {
		again = []string{"skl", "install", "REF"}
	}
	return e.Hint("rm %s && %s", diag.Quote(a.Scope.Short(f.LockPath)), diag.Words(again))
}

// begin adds to an error the commands with which a scope gets its first skills.
func begin(e *diag.Error) *diag.Error {
	return e.Hint("skl install OWNER/REPO").Hint("skl search WORDS")
}

// emptied reports whether all skills that were to be added are held. in is nil before there is a plan.
func (j *job) emptied(in *plan.Intent) bool {
	if !j.req.all || len(j.picked.held)+len(j.holdings) == 0 {
		return false
	}
	return in == nil && len(j.req.plan.Edits) == 0 || in != nil && len(in.Added) == 0
}

// kept are the skills that a person kept.
func (j *job) kept() (out []Kept) {
	for i := range j.holdings {
		if h := &j.holdings[i]; h.kept {
			s, _ := j.files.Lock.Skill(h.name)
			out = append(out, Kept{h.name, s.Version})
		}
	}
	return out
}

// wouldAsk adds to the result of a dry run what a person would be asked.
func (j *job) wouldAsk(in *plan.Intent, r *Result) {
	r.Asks.Wishes = j.wishes(in)
	for _, mine := range bySkill(r.Asks.Wishes) {
		name := mine[0].Skill
		old, here := j.files.Lock.Skill(name)
		if !here && j.a.Ask.CanAsk() {
			continue // a person is asked about what is new
		}
		h := troubled(name, old.Path, j.unasked(in, mine))
		h.Hints = h.Hints[:min(len(h.Hints), 1)]
		r.Asks.Refused = append(r.Asks.Refused, h)
	}
	if len(r.Asks.Refused) > 0 { // the command stops there
		r.Changes, r.LockState = install.Changes{}, "unchanged"
	}
}

// follows remembers what the references of releases that were chosen mean.
func (j *job) follows(in *plan.Intent) error {
	wants, err := resolver.Wants(in.Manifest)
	if err != nil {
		return err
	}
	rs := j.a.Scope.Resolver(in.Manifest)
	for _, w := range wants {
		if s := in.Entry(w.Name); s != nil && in.Chosen(w.Name) {
			rs.Follows(w, *s)
		}
	}
	return nil
}

// write writes what was decided.
func (j *job) write(ctx context.Context, in *plan.Intent, changes install.Changes) (Result, error) {
	if err := j.a.Scope.Legible(in.Manifest.Bytes(), in.Lock.Format()); err != nil {
		return Result{}, err
	}
	if err := j.follows(in); err != nil {
		return Result{}, err
	}
	if err := j.record(ctx, in); err != nil {
		return Result{}, err
	}
	if j.req.mode == locks {
		return j.writeLock(in)
	}
	derived, err := j.derivations(ctx, in, changes)
	if err != nil {
		return Result{}, err
	}
	d := delivery{files: j.files, manifest: in.Manifest, lock: in.Lock, hosts: j.facts.Hosts, gate: j.req.gate, dry: j.req.dry,
		approve: func() error { return j.approved(ctx, in, changes) }}
	result, err := j.a.deliver(ctx, j.site.in.Installer, changes, d)
	if err != nil {
		return Result{}, err
	}
	result.Remarks.Derived = derived
	if result.Remarks.Unmet, err = j.unmet(ctx, in, changes); err != nil {
		j.a.Scope.Tell.Warn("could not determine what the skills need: %s", err)
	}
	return result, nil
}

// approved asks for a yes to what is added, unless a question about it was answered already.
func (j *job) approved(ctx context.Context, in *plan.Intent, changes install.Changes) error {
	if j.a.Approve == nil || len(in.Added) == 0 || len(j.seen.yes) > 0 {
		return nil
	}
	p := Proposal{Lock: in.Lock, Hosts: j.facts.Hosts, Asked: j.site.in.asked, Files: func(name string) ([]string, error) {
		s, _ := in.Lock.Skill(name)
		t, err := trees.Release(ctx, j.a.Scope, s)
		return slices.Sorted(maps.Keys(t)), err
	}}
	for _, c := range changes.List {
		if c.Action == install.Add {
			p.Add = append(p.Add, c)
		}
	}
	if len(p.Add) == 0 {
		return nil
	}
	yes, err := j.a.Approve(ctx, p)
	if err == nil && !yes {
		return ask.ErrLeft
	}
	return err
}

// writeLock is the end of a job that is about the lock alone.
func (j *job) writeLock(in *plan.Intent) (Result, error) {
	text := in.Lock.Format()
	result := Result{Lock: in.Lock, LockState: lockState(j.files, text), DryRun: j.req.dry}
	if j.req.dry {
		return result, nil
	}
	// Of a merge, or with what was accepted. skl.lock comes last, so that whoever is stopped in between does it again.
	if text := in.Manifest.Bytes(); !bytes.Equal(text, j.files.ManifestText) {
		if err := j.a.Scope.WriteManifestText(j.files, text); err != nil {
			return Result{}, err
		}
	}
	if result.LockState == "changed" {
		if err := j.a.Scope.WriteLockFile(j.files, text); err != nil {
			return Result{}, err
		}
	}
	j.a.Signatures.Note(in.Lock)
	j.a.Scope.KeepTags()
	return result, nil
}
