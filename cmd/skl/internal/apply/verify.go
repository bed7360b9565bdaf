package apply

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
)

// A Verified is what became of one skill.
type Verified struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	CopyOf    string   `json:"copy_of,omitempty"` // of a copy that an agent loads: the path of the skill
	State     string   `json:"state"`             // ok, drift, missing, residue, incomplete, form, mode, link, eol, unlocked, stale, foreign, receipt (it cannot be used), unmerged (it holds the markers of a merge), entry (of skl.lock: damaged)
	Digest    string   `json:"digest"`
	Expected  string   `json:"expected"`
	Signature string   `json:"signature"`        // verified, unsigned, failed, skipped
	Signer    string   `json:"signer,omitempty"` // identity, or fingerprint of the key
	Reason    string   `json:"reason,omitempty"` // why the signature is not verified
	Logged    bool     `json:"logged"`           // skl.lock proves that the registry's log has the release
	Drift     []string `json:"drift"`
	Residue   int      `json:"residue,omitempty"` // files that no release has and this machine wrote: compiled Python, .DS_Store
}

// A Verification is what became of all skills.
type Verification struct {
	OK     bool       `json:"ok"`
	Skills []Verified `json:"skills"`

	// Withdrawn are the releases among them that their registry took back.
	Withdrawn []Withdrawal `json:"withdrawn,omitempty"`

	// Unsaid are the skills of which skl.lock does not say by the rules of this skl what they ask for.
	Unsaid []string `json:"unsaid,omitempty"`

	// Policy is what rules refuse of what is installed; Governed says that there are rules.
	Policy   []policy.Refusal `json:"policy,omitempty"`
	Governed bool             `json:"-"`

	Lost    []string `json:"-"` // where skl.toml is gone: what brings it back
	Claims  Claims   `json:"-"`
	Refused error    `json:"-"` // the first signature, log proof or entry of the lock that is bad
}

// Verify re-hashes every file of the named skills, or of all that the lock or a receipt names. With ask, repositories are asked
// for tags that this machine has not seen, and a registry that is caught hiding something is an error.
func (a *Applier) Verify(ctx context.Context, names []string, ask bool) (Verification, error) {
	if err := a.Scope.Settled(); err != nil {
		return Verification{}, err
	}
	f, err := a.Scope.Load()
	if err != nil {
		return Verification{}, err
	}
	out, err := a.VerifyFiles(ctx, f, names, ask)
	if lost, ok := diag.Own(a.Lost(f)); ok {
		out.Lost = lost.Hints
	}
	return out, err
}

// receiptsOf are the receipts of names, of all for none, and those of them that cannot be used. A name that neither a receipt nor the
// lock has is refused.
func (a *Applier) receiptsOf(f *scope.Files, names []string) (receipts []roots.Receipt, bad []Unreadable, err error) {
	receipts, bad, err = a.Receipts()
	if err != nil || len(names) == 0 {
		return receipts, bad, err
	}
	for _, name := range names {
		_, locked := f.Lock.Skill(name)
		here := slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == name }) || HasUnreadable(bad, name)
		if !locked && !here {
			return nil, nil, a.Scope.NotInManifest(name, f)
		}
	}
	receipts = slices.DeleteFunc(receipts, func(r roots.Receipt) bool { return !slices.Contains(names, r.Name) })
	return receipts, slices.DeleteFunc(bad, func(b Unreadable) bool { return !slices.Contains(names, b.Name) }), nil
}

// An Unreadable is a skill whose receipt cannot be used.
type Unreadable struct {
	Name string
	Err  error // says why, with where the receipt is
}

// State is that of a [Verified].
func (b Unreadable) State() string {
	if errors.Is(b.Err, diag.Code(roots.CodeConflict)) {
		return "unmerged"
	}
	return "receipt"
}

// HasUnreadable reports whether the receipt of the skill of a name cannot be used.
func HasUnreadable(bad []Unreadable, name string) bool {
	return slices.ContainsFunc(bad, func(b Unreadable) bool { return b.Name == name })
}

// Receipts are the receipts of the skills of the scope, and those that cannot be used. One that is of no skill is an error.
func (a *Applier) Receipts() (receipts []roots.Receipt, bad []Unreadable, err error) {
	receipts, errs := a.Scope.Site.Receipts()
	for _, err := range errs {
		name, ok := a.Scope.Site.Unusable(err)
		if !ok {
			return nil, nil, err
		}
		bad = append(bad, Unreadable{name, err})
	}
	return receipts, bad, nil
}

// verifyUnreadable adds the skills whose receipts cannot be used.
func (a *Applier) verifyUnreadable(out *Verification, bad []Unreadable, l *lock.Lock) {
	for _, b := range bad {
		path, _ := a.Scope.Site.Place(b.Name)
		one := Verified{Name: b.Name, Path: path, State: b.State(), Signature: "unsigned", Drift: []string{diag.Clip(b.Err.Error(), 400)}}
		if s, ok := l.Skill(b.Name); ok {
			one.Expected = string(s.Tree)
		}
		out.Skills = append(out.Skills, one)
	}
}

// verifyMissing adds a locked skill that is not installed.
func (a *Applier) verifyMissing(out *Verification, s *lock.Skill) {
	one := Verified{Name: s.Name, Path: filepath.Join(a.Scope.Site.Home(s.Name), s.Name), State: "missing", Expected: string(s.Tree), Drift: []string{}}
	if err := out.Claims.Refused[s.Name]; err != nil {
		one.Signature, one.Reason = string(attest.Failed), err.Error()
		out.Refused = cmp.Or(out.Refused, err)
	}
	out.Skills = append(out.Skills, one)
}

// VerifyFiles is Verify for a manifest and a lock that are loaded.
func (a *Applier) VerifyFiles(ctx context.Context, f *scope.Files, names []string, ask bool) (Verification, error) {
	claims, err := a.claims(ctx, f, ask)
	if err != nil {
		return Verification{}, err
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	receipts, bad, err := a.receiptsOf(f, names)
	if err != nil {
		return Verification{}, err
	}
	drifts, err := a.Scope.Site.CheckAll(ctx, receipts, true)
	if err != nil {
		return Verification{}, err
	}
	places, err := a.LinkPlaces(f, receipts)
	if err != nil {
		return Verification{}, err
	}
	out := Verification{OK: true, Skills: []Verified{}, Claims: claims}
	var whole []lock.Skill // entries whose files are what they say
	for i, r := range receipts {
		one := a.verifyOne(r, drifts[i], f.Lock)
		if err := a.verifyEntry(ctx, &one, f.Lock, claims); err != nil && out.Refused == nil {
			out.Refused = err
		}
		out.Skills = append(out.Skills, one)
		if s, ok := f.Lock.Skill(r.Name); ok && one.State == "ok" && one.Signature != string(attest.Failed) {
			whole = append(whole, s)
		}
		for _, p := range places {
			if p.Name == one.Name {
				out.Skills = append(out.Skills, one.copies(p, f.Manifest.Targets.Links == "copy")...)
			}
		}
	}
	out.Unsaid = slices.Sorted(maps.Keys(claims.unsaid))
	a.verifyUnreadable(&out, bad, f.Lock)
	for _, s := range f.Lock.Skills {
		if wanted(s.Name) && !HasUnreadable(bad, s.Name) && !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == s.Name }) {
			a.verifyMissing(&out, &s)
		}
	}
	if err := a.Signatures.SayUncompared(whole); err != nil {
		return Verification{}, err
	}
	if out.Withdrawn, err = a.Withdrawals(ctx, map[bool]Care{false: Look, true: Insist}[ask], a.Releases(f.Lock, receipts, wanted)); err != nil {
		return Verification{}, err
	}
	if out.Refused == nil {
		out.Refused = Blocked(out.Withdrawn)
	}
	if err := a.verifyPolicy(ctx, f, &out); err != nil {
		return Verification{}, err
	}
	out.OK = out.Refused == nil && !slices.ContainsFunc(out.Withdrawn, Withdrawal.Serious) && !slices.ContainsFunc(out.Skills, func(s Verified) bool { return s.State != "ok" })
	return out, nil
}

func (a *Applier) verifyOne(r roots.Receipt, d roots.Drift, l *lock.Lock) Verified {
	path, _ := a.Scope.Site.Place(r.Name)
	out := Verified{Name: r.Name, Path: path, State: "ok", Digest: string(d.Tree), Expected: string(r.Tree),
		Signature: "unsigned", Drift: append([]string{}, d.List()...), Residue: len(d.Passed)}
	s, locked := l.Skill(r.Name)
	if locked {
		out.Expected = string(s.Tree)
	}
	switch {
	case len(r.Files) > 0 && len(d.Missing) == len(r.Files):
		out.State = "missing"
	case locked && s.Tree != r.Tree:
		out.State = "drift"
	case d.Any():
		out.State = d.State()
	case !locked && l != nil:
		out.State = "unlocked"
	}
	if !locked || len(out.Drift) > 0 {
		return out
	}
	err := s.Whole()
	if err == nil && r.Tree == s.Tree {
		err = install.Matches(s, r.Summary())
	}
	if err != nil {
		out.State, out.Drift = "entry", []string{err.Error()}
	} else if other := otherRelease(r, s); other != "" {
		out.State, out.Drift = "drift", []string{"the receipt has another " + other + " than skl.lock"}
	}
	return out
}

// LinkPlaces looks at what agents find of the skills of receipts, in the directories of their own.
func (a *Applier) LinkPlaces(f *scope.Files, receipts []roots.Receipt) ([]install.Place, error) {
	in, err := a.Scope.Installer(knownHosts(f.Manifest.Targets.Hosts), f.Manifest.Targets.Links)
	if err != nil {
		return nil, err
	}
	return in.Places(receipts)
}

// knownHosts are those of ids that the table of agents has.
func knownHosts(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, ok := hosts.Find(id)
		return !ok
	})
}

// copies is what there is to say of the skill at one place of an agent: nothing of a link that leads to it, or
// of one that is missing, because no byte of it differs.
func (v Verified) copies(p install.Place, wanted bool) []Verified {
	c := Verified{Name: v.Name, Path: p.At(), CopyOf: v.Path, State: "ok", Digest: string(p.Tree), Expected: v.Expected,
		Signature: v.Signature, Signer: v.Signer, Logged: v.Logged, Drift: append([]string{}, p.Edits...), Residue: p.Residue}
	switch p.Fault {
	case install.FaultMissing:
		c.State = "missing"
	case install.FaultRelease:
		c.State = "drift"
	case install.FaultEdited, install.FaultDamaged, install.FaultResidue:
		c.State = p.Drift
	case install.FaultText:
		c.State = "link"
	case install.FaultForeign:
		c.State = "foreign"
	case install.FaultUnrecorded, install.FaultAstray:
		c.State = "stale"
	}
	if !p.Copy && (c.State == "ok" || c.State == "missing" && !wanted) {
		return nil
	}
	if p.Fault != "" && len(c.Drift) == 0 && c.State != "missing" {
		c.Drift = append(c.Drift, p.Why)
	}
	return []Verified{c}
}

// StateOf is the state, as of [Verified], of a skill with the receipt r that drifted by d.
func StateOf(a *Applier, r *roots.Receipt, d *roots.Drift, l *lock.Lock) string {
	return a.verifyOne(*r, *d, l).State
}

// MendsOf is what puts skills right that are not as they were published, each way once.
func MendsOf(a *Applier, all []Verified) (mends []string) {
	for i := range all {
		s := &all[i]
		mends = AddMend(mends, MendOf(a, s.State, s.Name, s.CopyOf != "", s.Path))
	}
	return mends
}

// AddMend adds one way to others, once.
func AddMend(mends []string, mend string) []string {
	if mend == "" || slices.Contains(mends, mend) {
		return mends
	}
	return append(mends, mend)
}

// unlessLost is again; "" where skl.toml is gone, of which [Applier.Lost] says what brings it back, and of a skill that skl.lock does not name.
func (a *Applier) unlessLost(state, again string) string {
	is := func(name string) bool { return scope.Exists(filepath.Join(a.Scope.Base, name)) }
	if is("skl.lock") && (state == "unlocked" || !is("skl.toml")) {
		return ""
	}
	return again
}

// MendOf is what puts right what is in a state at a path: a skill, or a copy of it that an agent loads; "" if nothing is wrong.
func MendOf(a *Applier, state, name string, isCopy bool, path string) string {
	again, of := "skl install", ""
	if a.Scope.Kind == hosts.User {
		of = " --scope user"
		again += of
	}
	switch state {
	case "missing", "stale", "unlocked":
		return a.unlessLost(state, again)
	case "incomplete", "form", "mode":
		return again + " mends it; git may not carry it: skl check says why where it was committed"
	case "eol", "link":
		return again + " mends it; skl init writes the .gitattributes lines that prevent it"
	case "residue":
		return again + " removes what Python or the Finder left there; what git ignores and does not track may stay"
	case "drift":
		if isCopy {
			return again + " --force replaces the copy, after a backup"
		}
		return "skl diff " + name + of + " shows the edits; " + again + " --force replaces them, after a backup"
	case "receipt":
		return again + " --force replaces the receipt, after a backup; or restore it from version control"
	case "unmerged":
		return again + " settles the receipt; where its files are of neither side: " + again + " --force replaces them, after a backup"
	case "entry":
		return "git checkout -- skl.lock, or remove the entry, then: skl lock"
	case "foreign":
		return "move " + diag.Quote(a.Scope.Short(path)) + " away, then " + again
	}
	return ""
}

// otherRelease is the field in which a receipt is of another release than the lock entry s, "" if there is none. A receipt that does not
// say whose the release is says nothing else.
func otherRelease(r roots.Receipt, s lock.Skill) string {
	r.Of = cmp.Or(r.Of, s.RegistryName())
	switch sum := r.Summary(); {
	case install.OtherRelease(r, s) != "":
		return install.OtherRelease(r, s)
	case sum.Files != s.Files:
		return "number of files"
	case sum.Bytes != s.Bytes:
		return "size"
	}
	return ""
}

// Claims are what is wrong with the entries of a lock before any byte is looked at.
type Claims struct {
	Stale   []string
	Refused map[string]error // by name
	Unsure  map[string]error // by name: why nobody could say whether the entry is what its ref means

	needs  *scope.Files        // that what skills need is held against
	unsaid map[string][]string // by name, of entries that do not say by the rules of this skl what a skill asks for: what of it wants a yes
}

// Unsaid are the permissions which want a yes that a skill asks for and its entry does not name, if it does not say by the rules of
// this skl what the skill asks for.
func (c Claims) Unsaid(name string) []string { return c.unsaid[name] }

// claims compares the lock with the manifest and with the sources that own its refs; ask is that of Verify.
func (a *Applier) claims(ctx context.Context, f *scope.Files, ask bool) (Claims, error) {
	if err := a.Scope.CheckLocal(f); err != nil {
		return Claims{}, err
	}
	all, err := scope.AllWants(f)
	if err != nil {
		return Claims{}, err
	}
	c := Claims{needs: f, unsaid: map[string][]string{}}
	if c.Stale, err = scope.StaleNames(f); err != nil {
		return Claims{}, err
	}
	c.Refused, c.Unsure, err = a.Scope.Disagreements(ctx, f, all, ask)
	for _, want := range all {
		if why := c.Unsure[want.Name]; why != nil && !ask {
			a.Scope.Tell.Warn("did not check that %s leads to the locked release of %s: %s", want.Ref.WithoutVersion(), want.Name, why)
		}
	}
	return c, err
}

// verifyEntry compares the entry of out's skill with what is computed: its source, who signed it, the proof of the
// registry's log, and what the files say. What is refused comes back as an error and is noted in out.
func (a *Applier) verifyEntry(ctx context.Context, out *Verified, l *lock.Lock, c Claims) error {
	s, ok := l.Skill(out.Name)
	if !ok {
		return nil
	}
	if err := c.Refused[s.Name]; err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
		return err
	}
	if slices.Contains(c.Stale, s.Name) {
		// Its ref is not the manifest's, so it says nothing about whose signature it would need.
		if out.State == "ok" {
			out.State, out.Drift = "stale", append(out.Drift, "skl.lock does not follow from skl.toml")
		}
		return nil
	}
	if err := a.verifySignature(ctx, out, l); err != nil {
		return err
	}
	if out.State != "ok" {
		return nil
	}
	front, err := frontOf(out.Path)
	if err == nil {
		err = checkContent(s, front)
	}
	if err == nil && c.needs != nil {
		err = a.checkNeeds(c.needs, s, front)
	}
	if diag.ClassOf(err) == diag.Unmet {
		out.State, out.Drift = "stale", append(out.Drift, err.Error())
		return nil
	}
	if err == nil {
		var t trees.Tree
		if t, err = trees.Read(scope.FilesIn(out.Path)); err == nil {
			asks := t.Asks()
			err = checkAsks(s, asks)
			if unsaid(s, asks) {
				c.unsaid[s.Name] = []string{}
				for _, change := range unnamed(s, asks) {
					c.unsaid[s.Name] = append(c.unsaid[s.Name], change.Permission)
				}
			}
		}
	}
	if err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
	}
	return err
}

// verifySignature checks who signed the locked release, and its proof of the registry's log.
// A refusal comes back as an error and is noted in out.
func (a *Applier) verifySignature(ctx context.Context, out *Verified, l *lock.Lock) error {
	s, ok := l.Skill(out.Name)
	if !ok {
		return nil
	}
	j, err := a.Signatures.Recheck(ctx, s, false)
	if err == nil {
		err = j.Bad(s)
	}
	if err == nil && out.State == "ok" && (j.Verdict.State == attest.Verified || s.Unsigned) {
		err = a.Signatures.Bind(ctx, &s)
	}
	if err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
		return err
	}
	if j.Verdict.State == attest.Verified && out.State != "ok" && out.State != "unlocked" {
		j.Verdict = attest.Verdict{State: attest.Skipped, Reason: "its files are not those that were signed"}
	}
	out.Signature, out.Logged = string(j.Verdict.State), s.Log != nil
	if j.Verdict.State == attest.Verified {
		if out.Signer = cmp.Or(j.Verdict.Signer.Identity, j.Verdict.Signer.Key); j.Verdict.Signer.Kind != "" {
			out.Signer = j.Verdict.Signer.String()
		}
	} else if can, err := a.Signatures.Signable(s); err == nil && can {
		out.Reason = j.Verdict.Reason
	}
	return nil
}
