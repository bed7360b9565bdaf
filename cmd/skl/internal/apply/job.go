// Package apply makes roots agree with manifests and locks: install, update, remove, lock, link, verify. Each use case takes
// a request and returns a result; what needs a decision is put to an [ask.Asker]. The steps of a job are resolve, check
// signatures, fetch, ask, apply.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/rootpath"
)

// An Applier makes roots agree with manifests and locks: install, update, remove, lock and verify.
type Applier struct {
	*scope.Scope
	Ask ask.Asker
	// Approve is asked before skills that a person named are added. No error and false change nothing. Nil agrees.
	Approve func(context.Context, Proposal) (bool, error)
	// Gained is asked whether an update may have what it asks for anew; false keeps the version that is here. Nil asks as
	// for an install.
	Gained func(Gain) (bool, error)
	trusts trusts
	proven []lock.Skill          // what the sources of these hold was compared with their files
	signed map[string]lock.Skill // by name: what counts as signed, with its signer, or as accepted without one
	named  map[string]lock.Skill // by name: what names a signer that nobody here can check
}

// A Proposal is what an install is about to add.
type Proposal struct {
	Add   []install.Change
	Lock  *lock.Lock
	Hosts []string                            // ids of the agents
	Files func(name string) ([]string, error) // paths of a skill
	Asked map[string]Asked
}

// agreed asks for a yes to what is added, unless a question about it was answered already.
func (j *job) agreed(ctx context.Context, changes install.Changes) error {
	if j.Approve == nil || len(j.added) == 0 || j.consented {
		return nil
	}
	p := Proposal{Lock: j.next, Hosts: j.hosts, Asked: j.asked, Files: func(name string) ([]string, error) {
		s, _ := j.next.Skill(name)
		t, err := j.ReleaseTree(ctx, s)
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
	yes, err := j.Approve(ctx, p)
	if err == nil && !yes {
		return ask.ErrLeft
	}
	return err
}

// New returns an Applier that puts its questions to asker.
func New(sc *scope.Scope, asker ask.Asker) *Applier {
	a := &Applier{Scope: sc, Ask: asker}
	sc.Signed, sc.Gate = a.stamp, a.gate
	return a
}

// A Result is what became of an install, an update, a removal or a lock.
type Result struct {
	Changes   install.Changes
	Report    install.Report
	Lock      *lock.Lock      // as it is now, or would be
	LockState string          // "changed" or "unchanged"
	DryRun    bool            // nothing was written
	Compared  bool            // every skill was compared with what its source has now
	Wishes    []Wish          // of a dry run: what would have to be accepted
	Refused   []Held          // of a dry run: updates that would be refused, since nobody accepted what they ask for
	Unlinked  []string        // names that were links only
	Held      []Held          // of an install of all skills: what was left out; of an update: what stays as it is
	All       bool            // of an install of all skills
	Passed    []source.Passed // of an install of all skills: what looks like one and is none to skl
	Gone      []Gone          // of an update: skills that their source no longer holds, which stay
	Ungated   []Ungated       // limits that skills set and agents do not keep
	Unmet     []Unmet         // what skills that are new here say they need, and is not there
	Kept      []Kept          // of an update: skills that were not to have what they ask for anew, which stay

	Derived []Derivation // skills made from another package than before, or derived from one by hand

	Asked map[string]Asked // by skill: what was chosen anew asks for
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

// A job is one install, update, remove or lock: the manifest and lock it
// starts from, what it makes of them, and how it is carried out.
type job struct {
	*Applier
	files      *scope.Files
	next       *lock.Lock
	hosts      []string
	hostFlags  []string
	root       string // where the skills that are added go, as skl.toml writes it; "" says nothing of it
	dry        bool
	force      bool
	frozen     bool     // exactly the lock
	hold       bool     // leave edited skills as they are
	lockOnly   bool     // write skl.lock and nothing else
	ungoverned bool     // no policy is asked: something is removed
	accept     []string // permissions
	compared   bool     // every entry was chosen anew or compared with what its source has now
	consented  bool     // a person said yes to what the skills wish for
	gate       bool     // offer what keeps skills from agents that ignore their limits
	unsigned   bool     // releases without a signature are accepted where one is wanted
	added      []string // names the command line asked for
	anew       []string // names whose entry was chosen anew, not kept from the lock
	picked     []selection
	holdBack   bool // of all skills of the references, hold those that cannot be installed
	kept       []Kept
	held       []Held
	passedOver []source.Passed
	asked      map[string]Asked
	before     map[string]manifest.Skill // entries of the manifest that were replaced
	update     bool                      // newer releases are chosen
	named      []string                  // the skills that an update is about; nil is all
	spareGone  bool                      // keep what its source no longer holds, and what is in trouble alone
	gone       []Gone
	upgrade    func(name string) bool // whose release is chosen anew; nil is nobody's
	graph      *graph
	ask        func(*lock.Skill) bool // whether the place of an entry that is kept is asked for its tags; nil is no
}

// add resolves refs and puts their skills into the manifest.
func (j *job) add(ctx context.Context, refs []ref.Ref, names []string, all, pin bool) error {
	rs := j.Resolver(j.files.Manifest)
	for _, r := range refs {
		picked, err := j.pick(ctx, rs, r, names, all, pin)
		if err != nil {
			return j.missing(j.files.Manifest, r, err)
		}
		for _, s := range picked {
			if i := slices.IndexFunc(j.picked, func(p selection) bool { return p.entry.Name == s.entry.Name }); i >= 0 {
				if j.picked[i].found.Lock.SameBytes(s.found.Lock) {
					continue // one release, found through several plugins
				}
				err := diag.New(diag.Misuse, "same_name", "%s and %s both hold a skill called %q; one name means one skill", j.picked[i].entry.Ref, s.entry.Ref, s.entry.Name)
				if err := j.spare(s.entry.Name, s.found.Lock.Path, err); err != nil {
					return err
				}
				continue
			}
			old, _ := j.files.Lock.Skill(s.entry.Name)
			now := s.found.Lock
			old.URL, now.URL = j.Config.Canonical(old.URL), j.Config.Canonical(now.URL) // one place, by whatever address
			s.found.Lock.Moved, err = rs.Unmoved(ctx, old, now, r.Version)
			if err == nil {
				err = j.put(s)
			}
			if err := j.spare(s.entry.Name, s.found.Lock.Path, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes one selection into the manifest. A name that means another skill already is refused.
func (j *job) put(s selection) error {
	m := j.files.Manifest
	if have, ok := m.Skill(s.entry.Name); ok && have.Ref != s.entry.Ref {
		old, ok := j.files.Lock.Skill(s.entry.Name)
		same := ok && j.Config.Canonical(old.URL) == j.Config.Canonical(s.found.Lock.URL) && old.Path == s.found.Lock.Path
		if !same && !j.force {
			return diag.New(diag.Misuse, "same_name", "skl.toml has a skill called %q already, from %s", s.entry.Name, have.Ref).At(m.Where(s.entry.Name)).
				Hint("skl remove %s", s.entry.Name).Hint("replace it: add --force")
		}
	}
	old, ok := m.Skill(s.entry.Name)
	if ok {
		if j.before == nil {
			j.before = map[string]manifest.Skill{}
		}
		j.before[s.entry.Name] = old
	}
	s.entry.Hosts = old.Hosts
	switch {
	case j.root == "":
		s.entry.Root = old.Root
	case j.root == cmp.Or(m.Targets.Root, rootpath.Write(j.Root, j.Project, j.Home)):
		s.entry.Root = "" // where skills go anyway
	default:
		s.entry.Root = j.root
	}
	if err := m.SetSkill(s.entry.Name, s.entry); err != nil {
		return err
	}
	if ns := s.named.Ref.Namespace(); ns != "" && s.binding != "" && m.Namespaces[ns] == "" && j.Config.Namespaces[ns] == "" {
		if err := m.SetNamespace(ns, s.binding); err != nil {
			return err
		}
	}
	market, bound := strings.CutPrefix(s.binding, "market:")
	if s.named.Ref.Kind == ref.Market {
		market, bound = s.named.Ref.Host, true
	}
	if bound {
		if err := j.RecordMarket(m, market); err != nil {
			return err
		}
	}
	j.picked = append(j.picked, s)
	j.added = append(j.added, s.entry.Name)
	return nil
}

// relock computes the next lock: what was picked, what still follows, the rest resolved.
func (j *job) relock(ctx context.Context, upgrade func(string) bool) error {
	all, err := resolver.Wants(j.files.Manifest)
	if err != nil {
		return err
	}
	base := j.files.Lock.Clone()
	for _, s := range j.picked {
		entry := s.found.Lock
		if old, ok := base.Skill(entry.Name); ok && old.SameBytes(entry) {
			entry.Tree, entry.Files, entry.Bytes, entry.Permissions = old.Tree, old.Files, old.Bytes, old.Permissions
			if entry.Moved == "" && entry.Version == old.Version {
				entry.Moved = old.Moved
			}
		}
		base.Set(entry)
	}
	j.anew = slices.Clone(j.added)
	var kept []resolver.Named
	for _, want := range all {
		old, ok := j.files.Lock.Skill(want.Name)
		switch {
		case !ok || upgrade(want.Name) || !resolver.Keeps(old, want):
			j.anew = append(j.anew, want.Name)
		case !j.chosen(want.Name):
			kept = append(kept, want)
		}
	}
	apart, err := j.AgreeApart(ctx, j.files, kept)
	if err != nil {
		return err
	}
	for _, want := range kept {
		if err := apart[want.Name]; err != nil && !j.update { // an update asks once more, and knows what to do
			return err
		}
	}
	j.upgrade = upgrade
	var mu sync.Mutex // guards j.gone and j.held
	j.next, err = j.rules(ctx, &mu).Relock(ctx, all, base, func(name string) bool {
		return upgrade(name) && !slices.Contains(j.added, name)
	})
	sort.Slice(j.gone, func(a, b int) bool { return j.gone[a].Name < j.gone[b].Name }) // slices.SortFunc is 15 kB of program for each large type
	sort.Slice(j.held, func(a, b int) bool { return j.held[a].Name < j.held[b].Name })
	for _, h := range j.held {
		j.anew = slices.DeleteFunc(j.anew, func(name string) bool { return name == h.Name })
	}
	if err == nil {
		err = j.onlyHeld()
	}
	for _, g := range j.gone {
		j.anew = slices.DeleteFunc(j.anew, func(name string) bool { return name == g.Name })
	}
	for _, name := range j.anew {
		if old, ok := j.files.Lock.Skill(name); ok && err == nil {
			err = j.forget(j.entry(name), old)
		}
	}
	return err
}

// rules is the resolver of the job, with what becomes of entries that cannot be chosen anew. mu guards j.gone and j.held meanwhile.
func (j *job) rules(ctx context.Context, mu *sync.Mutex) *resolver.Resolver {
	rs := j.Resolver(j.files.Manifest)
	if j.update {
		rs.Spare = j.spares(ctx, mu)
	}
	if j.spareGone {
		rs.Gone = func(s lock.Skill, since string) {
			mu.Lock()
			defer mu.Unlock()
			j.gone = append(j.gone, Gone{s.Name, s.Version, since})
		}
	}
	return rs
}

// spares says which skills an update leaves as they are, for what came of choosing their releases: one that moved if it is to be safe, and
// one whose place does not answer, or no longer has what is asked for, if its copy here is as skl.lock says, and it was not asked for alone.
func (j *job) spares(ctx context.Context, mu *sync.Mutex) func(lock.Skill, error) bool {
	receipts := sync.OnceValue(func() []roots.Receipt {
		if j.SetRoots(j.files.Manifest, j.files.Lock) != nil {
			return nil
		}
		all, _ := j.Site.Receipts()
		return all
	})
	return func(s lock.Skill, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		moved := j.hold && errors.Is(err, diag.Code(resolver.CodeMoved))
		alone := len(j.named) == 1 && j.named[0] == s.Name || diag.ClassOf(err) == diag.Refused || ctx.Err() != nil
		if !moved && (alone || !slices.ContainsFunc(receipts(), func(r roots.Receipt) bool { return r.Name == s.Name && r.Tree == s.Tree && otherRelease(r, s) == "" })) {
			return false
		}
		j.held, j.compared = append(j.held, troubled(s.Name, s.Path, err)), false
		return true
	}
}

// chosen reports whether the entry of name was chosen anew, and not kept from the lock.
func (j *job) chosen(name string) bool { return slices.Contains(j.anew, name) }

// finish fetches, decides and carries out.
func (j *job) finish(ctx context.Context) (Result, error) {
	if _, err := j.Policy(ctx); err != nil && !j.ungoverned {
		return Result{}, err // before anything is fetched
	}
	var err error
	if !j.lockOnly {
		if j.hosts, err = j.Targets(j.files.Manifest, j.hostFlags); err != nil {
			return Result{}, err
		}
	}
	if err := j.SetRoots(j.files.Manifest, j.files.Lock); err != nil {
		return Result{}, err
	}
	in, err := j.installer(j.hosts, j.files.Manifest.Targets.Links)
	if err != nil {
		return Result{}, err
	}
	j.asked, in.Renew = in.asked, j.force
	have, err := in.Survey(ctx, j.next.Skills, j.files.Lock, false)
	if err != nil {
		return Result{}, err
	}
	wishes, err := j.prepare(ctx, in, have, j.next)
	if serr := j.sift(ctx, in, have, err); serr != nil {
		return Result{}, serr
	} else if err != nil {
		if wishes, err = j.prepare(ctx, in, have, j.next); err != nil {
			return Result{}, err
		}
	}
	if wishes, err = j.require(ctx, in, have, wishes); err != nil {
		return Result{}, err
	}
	if err := j.bindAll(ctx, in, j.next.Skills); err != nil {
		return Result{}, err
	}
	if err := j.sayUncompared(j.next.Skills); err != nil {
		return Result{}, err
	}
	if !j.ungoverned {
		if err := j.obey(ctx, in, have); err != nil {
			return Result{}, err
		}
		wishes = slices.DeleteFunc(wishes, func(w Wish) bool {
			return slices.ContainsFunc(j.held, func(h Held) bool { return h.Name == w.Skill })
		})
	}
	if err := j.checkAccept(wishes); err != nil {
		return Result{}, err
	}
	wishes = slices.DeleteFunc(wishes, func(w Wish) bool { return slices.Contains(j.accept, w.Permission) })
	if wishes, err = j.holdEscalations(wishes); err != nil {
		return Result{}, err
	}
	if !j.dry {
		left, err := j.gains(ctx, wishes)
		if err != nil {
			return Result{}, err
		}
		if err := j.consentEach(left); err != nil {
			return Result{}, err
		}
		j.consented = len(wishes) > 0
		if left, err = j.require(ctx, in, have, nil); err == nil { // a skill that stays as it was needs what it needed
			err = j.consentEach(left)
		}
		if err != nil {
			return Result{}, err
		}
	}
	var result Result
	if j.lockOnly {
		result, err = j.writeLock()
	} else {
		options := install.Options{Force: j.force, Hold: j.hold, Prune: true}
		changes := in.Diff(j.next.Skills, have, options)
		if any, err := j.holdConflicts(changes); err != nil {
			return Result{}, err
		} else if any {
			changes = in.Diff(j.next.Skills, have, options)
		}
		if len(j.held) > 0 && len(j.added) == 0 && j.holdBack {
			return j.allHeld()
		}
		if j.hold && j.keepHeld(changes) {
			before := j.next.Clone()
			if _, err := j.require(ctx, in, have, nil); err != nil { // an entry from before needs what it needed
				return Result{}, err
			}
			if len(before.Skills) != len(j.next.Skills) {
				stays := changes
				changes = in.Diff(j.next.Skills, have, options)
				for i, c := range changes.List {
					for _, was := range stays.List {
						if was.Name == c.Name && was.Action == install.Held {
							changes.List[i] = was
						}
					}
				}
			}
		}
		derived, derr := j.derivations(ctx, in, changes, have)
		if derr != nil {
			return Result{}, derr
		}
		if result, err = j.carryOut(ctx, in.Installer, changes); err != nil {
			return Result{}, err
		}
		result.Derived = derived
		if result.Unmet, err = j.unmet(ctx, changes); err != nil {
			j.Tell.Warn("could not determine what the skills need: %s", err)
			err = nil
		}
	}
	result.All = j.holdBack
	result.Gone, result.Held, result.Kept, result.Asked, result.Compared = j.gone, j.held, j.kept, in.asked, j.compared
	if j.dry {
		result.Wishes = wishes
		for _, mine := range bySkill(wishes) {
			old, here := j.files.Lock.Skill(mine[0].Skill)
			if !here {
				continue
			}
			next, _ := j.next.Skill(old.Name)
			h, err := held(old.Name, old.Path, escalation(mine, old.Version, next.Version, j.accept))
			if err != nil {
				return Result{}, err
			}
			h.Hints = h.Hints[:1]
			result.Refused = append(result.Refused, h)
		}
	}
	return result, err
}

// carryOut applies changes, unless there is nothing to change.
func (j *job) carryOut(ctx context.Context, in *install.Installer, changes install.Changes) (Result, error) {
	if err := j.conflicts(changes); err != nil {
		return Result{}, err
	}
	files := j.applyFiles(j.next.Format())
	result := Result{Changes: changes, Lock: j.next, LockState: lockState(j.files, files.Lock), DryRun: j.dry}
	if j.dry {
		return result, nil
	}
	if err := j.agreed(ctx, changes); err != nil {
		return Result{}, err
	}
	if changes.Any() || files.Manifest != nil || result.LockState == "changed" {
		var err error
		if result.Report, err = in.Apply(ctx, changes, files); err != nil {
			return Result{}, install.Explain(err, j.Root)
		}
		if err := refreshCaches(j.Site, changes); err != nil {
			j.Tell.Detail("the stat cache was not written: %s", err)
		}
	}
	j.noteTrust()
	if err := j.TrustProject(); err != nil {
		j.Tell.Warn("the project is not marked as trusted: %s", err)
	}
	if err := j.noteUses(ctx, j.hosts, changes); err != nil {
		j.Tell.Warn("could not determine which copies agents load: %s", err)
	}
	var err error
	if result.Ungated, err = j.ungated(ctx, changes, j.gate); err != nil {
		j.Tell.Warn("could not determine which limits agents keep: %s", err)
	}
	j.KeepTags()
	return result, nil
}

// refreshCaches brings the caches of the roots that hold one up to date. After a large install that would read everything once
// more: the next listing does it.
func refreshCaches(s install.Site, c install.Changes) error {
	const large = 32
	written := map[string]int{}
	for _, change := range c.List {
		if change.Action == install.Add || change.Action == install.Update {
			written[change.Root]++
		}
	}
	var errs []error
	for _, root := range s.All() {
		if written[root] <= large && s.Dir.Exists(filepath.Join(root, ".skl")) {
			errs = append(errs, s.Caches.Update(root))
		}
	}
	return errors.Join(errs...)
}

// keepHeld puts the old lock entry of what is held back into the next lock, and reports whether there is any.
func (j *job) keepHeld(c install.Changes) (any bool) {
	for _, change := range c.List {
		if old, ok := j.files.Lock.Skill(change.Name); ok && change.Action == install.Held {
			j.next.Set(old)
			any = true
		}
	}
	return any
}

// applyFiles is what is written beside the skills. A frozen install leaves both files as they are.
func (j *job) applyFiles(lockText []byte) install.Files {
	if j.frozen {
		return install.Files{LockPath: j.files.LockPath, Lock: j.files.LockText}
	}
	f := install.Files{LockPath: j.files.LockPath, Lock: lockText, ManifestPath: j.files.ManifestPath}
	if old := j.files.ManifestText; !j.files.HasManifest || string(old) != string(j.files.Manifest.Bytes()) {
		f.Manifest = j.files.Manifest.Bytes()
	}
	return f
}

func lockState(f *scope.Files, next []byte) string {
	if f.HasLock && string(f.LockText) == string(next) {
		return "unchanged"
	}
	return "changed"
}

// conflicts turns what stands in the way into one refusal that names all of it.
func (a *Applier) conflicts(c install.Changes) error {
	if len(c.Conflicts) == 0 {
		return nil
	}
	for i := range c.Conflicts {
		c.Conflicts[i].Path = a.Short(c.Conflicts[i].Path)
	}
	err, _ := errors.AsType[*diag.Error](c.Conflicts[0].Err())
	for _, more := range c.Conflicts[1:] {
		err.Candidates = append(err.Candidates, more.Err().Error())
	}
	return err
}

// SignedWord says who signed what is added. l is the lock that it is added by, nil if there is none.
func (a *Applier) SignedWord(c install.Change, l *lock.Lock) string {
	switch {
	case c.Signer == "" && l == nil:
		return "unsigned"
	case l == nil:
		return "signed by " + c.Signer
	}
	s, _ := l.Skill(c.Name)
	if c.Signer != "" {
		if t, err := a.trustFor(namespaceOf(s)); err != nil || t.verifier == nil {
			return "signed by " + c.Signer + " as skl.lock says, not checked"
		}
		return "signed by " + c.Signer
	}
	if s.Source == "embedded" {
		return "comes with skl"
	}
	if s.Unsigned {
		return "unsigned, accepted"
	}
	if t, err := a.trustFor(namespaceOf(s)); err != nil || t.verifier != nil || !CanBeSigned(s) {
		return "unsigned"
	}
	if s.Log != nil {
		return "no known signer, logged"
	}
	return "no known signer"
}

// ContentChange counts what differs between the release that was installed and the
// new one, "" when one of them is not in the store.
func (a *Applier) ContentChange(c install.Change) string {
	st := a.Store()
	from, to := bundle.Digest(c.Before()), bundle.Digest(c.Digest)
	if from == "" || !st.Has(from) || !st.Has(to) {
		return ""
	}
	old, err := ReadTree(st.FS(from))
	if err != nil {
		return ""
	}
	now, err := ReadTree(st.FS(to))
	if err != nil {
		return ""
	}
	files, add, remove := 0, 0, 0
	for _, f := range DiffTrees(old, now) {
		files, add, remove = files+1, add+f.Add, remove+f.Remove
	}
	return fmt.Sprintf("%s +%d -%d  ", diag.Count(files, "file"), add, remove)
}

// writeLock is the end of a job that is about the lock alone.
func (j *job) writeLock() (Result, error) {
	text := j.next.Format()
	result := Result{Lock: j.next, LockState: lockState(j.files, text), DryRun: j.dry}
	if j.dry {
		return result, nil
	}
	if result.LockState == "changed" {
		if err := j.WriteLockFile(j.files, text); err != nil {
			return Result{}, err
		}
	}
	j.noteTrust()
	j.KeepTags()
	return result, nil
}

// noteTrust remembers on this machine whose files were compared with their source, and who signed what.
func (j *job) noteTrust() {
	if err := scope.NoteChecked(j.Scope, j.proven); err != nil {
		j.Tell.Warn("where the skills come from is not remembered, so that rules may refuse to run them: %s", err)
	}
	if err := j.recordPins(j.next); err != nil {
		j.Tell.Warn("who signed the skills is not remembered, so that a change may go unnoticed: %s", err)
	}
}

// Rebase makes a local ref, which a person writes from the working directory,
// relative to the manifest.
func (a *Applier) Rebase(r ref.Ref) ref.Ref {
	if r.Kind != ref.Local {
		return r
	}
	rel, err := filepath.Rel(a.Base, scope.Absolute(a.Cwd, filepath.FromSlash(r.Path)))
	if err != nil {
		return r
	}
	text := filepath.ToSlash(rel)
	if text != "." && !strings.HasPrefix(text, "../") && text != ".." {
		text = "./" + text
	}
	if moved, err := ref.Parse(text); err == nil {
		moved.Skill = r.Skill
		return moved
	}
	return r
}
