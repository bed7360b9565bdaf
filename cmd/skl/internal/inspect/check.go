package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A CheckItem is one of the checks.
type CheckItem struct {
	Check  string   `json:"check"` // lock, verify, asks, blocked, signatures, policy, links, off, git, portable, made, needs, budget, conflicts, audit, permissions, accepted, trust
	OK     bool     `json:"ok"`
	Detail []string `json:"detail"`
	Mend   []string `json:"mend,omitempty"` // what to type or do, of a check that does not hold
}

// A Checked is what came of all checks.
type Checked struct {
	OK     bool        `json:"ok"`
	Checks []CheckItem `json:"checks"`

	Refused string `json:"-"` // the code of what is not only unmet but refused, "" if nothing is
}

// behind are the skills that were made of packages which moved on. That is no fault of what is installed, which skl skillify --check holds, unless
// one names what its package does not have any more.
func (in *Inspector) behind(ctx context.Context, l *lock.Lock) CheckItem {
	item := CheckItem{Check: "made", OK: true}
	for i := range l.Skills {
		s := &l.Skills[i]
		b := apply.SourceChanged(in.Applier, s, true)
		if b.Why != "" {
			item.Detail = append(item.Detail, s.Name+": "+b.Why)
			item.Mend = apply.AddMend(item.Mend, b.Mend)
		}
		dir, _ := in.Applier.Scope.Site.Place(s.Name)
		gone := in.namesGone(ctx, dir)
		for _, line := range gone {
			item.Detail = append(item.Detail, s.Name+": "+line)
		}
		if len(gone) > 0 {
			if item.OK = false; b.Mend == "" { // it is of this version, or of somebody else
				item.Mend = apply.AddMend(item.Mend, "change what names it where the skill comes from, then: skl update "+diag.Quote(s.Name))
			}
		}
	}
	return item
}

func (in *Inspector) namesGone(ctx context.Context, dir string) []string {
	if in.Gone == nil {
		return nil
	}
	return in.Gone(ctx, dir)
}

func (c *Checked) add(name string, detail []string, mends ...string) {
	item := CheckItem{Check: name, OK: len(detail) == 0, Detail: append([]string{}, detail...)}
	for _, m := range mends {
		if !item.OK {
			item.Mend = apply.AddMend(item.Mend, m)
		}
	}
	c.Checks, c.OK = append(c.Checks, item), c.OK && item.OK
}

// Findings are the details of the checks that did not hold.
func (c *Checked) Findings() []diag.Finding {
	var out []diag.Finding
	for _, item := range c.Checks {
		if item.OK {
			continue
		}
		for _, d := range item.Detail {
			out = append(out, diag.Finding{File: "skl.lock", Rule: "CHECK-" + item.Check, Severity: diag.SeverityError, Message: d})
		}
	}
	return out
}

// Check looks whether the lock is fresh, every file is as published, and no conflict is open; with base, a git revision,
// also whether trust is not lower than there.
// With budget, a part only that an agent tells its model of the skills is a fault; else it is noted.
func (in *Inspector) Check(ctx context.Context, base string, budget bool) (Checked, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return Checked{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Checked{}, err
	}
	if err := in.Applier.Scope.CheckHosts(f.Manifest); err != nil {
		return Checked{}, err
	}
	v, err := in.Applier.VerifyFiles(ctx, f, nil, true)
	if err != nil {
		return Checked{}, err
	}
	out := Checked{OK: true}
	if v.Refused != nil && diag.ClassOf(v.Refused) != diag.Unmet || len(v.Claims.Refused) > 0 {
		out.Refused = "check"
	}
	if keys := keyProblems(f, in.Applier.Scope.Config.Warnings); len(keys) > 0 {
		out.add("keys", keys)
	}
	lock, mends := in.lockProblems(f, v.Claims)
	out.add("lock", lock, mends...)
	drift, signatures := in.verifyProblems(v)
	out.add("verify", drift, apply.MendsOf(in.Applier, v.Skills)...)
	if unsaid, bad := unsaid(v); bad {
		out.add("asks", unsaid, "skl install")
	} else if len(unsaid) > 0 { // as after skl learnt to read more
		out.Checks = append(out.Checks, CheckItem{Check: "asks", OK: true, Detail: unsaid, Mend: []string{"skl install"}})
	}
	if blocked, mends := linesOf(v.Withdrawn, wire.Blocked); len(blocked) > 0 {
		out.add("blocked", blocked, mends...)
		out.Refused = "blocked"
	}
	if advised, mends := linesOf(v.Withdrawn, apply.Advised); len(advised) > 0 {
		out.add("advisories", advised, mends...)
	}
	if len(signatures) > 0 || slices.ContainsFunc(f.Lock.Skills, signature.CanBeSigned) {
		out.add("signatures", signatures)
	}
	if v.Governed {
		if out.add("policy", apply.PolicyLines(v.Policy), "skl policy explain NAME"); len(v.Policy) > 0 {
			out.Refused = apply.CodePolicy
		}
	}
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return Checked{}, err
	}
	links, ways, err := in.linkProblems(f, l)
	if err != nil {
		return Checked{}, err
	}
	if len(f.Manifest.Targets.Hosts) > 0 || len(links) > 0 {
		out.add("links", links, ways...)
	}
	if off := in.off(l); len(off) > 0 { // what a person told an agent is no fault of what is installed
		out.Checks = append(out.Checks, CheckItem{Check: "off", OK: true, Detail: off})
	}
	if git := in.uncarried(f); len(git.Detail) > 0 {
		out.Checks = append(out.Checks, git)
	}
	if far := in.unportable(); len(far.Detail) > 0 {
		out.Checks = append(out.Checks, far)
	}
	if made := in.behind(ctx, f.Lock); len(made.Detail) > 0 {
		out.Checks, out.OK = append(out.Checks, made), out.OK && made.OK
	}
	in.needs(f, l, &out)
	if lines := BudgetLines(l); budget {
		out.add("budget", lines, in.budgetMends(l)...)
	} else if len(lines) > 0 {
		out.Checks = append(out.Checks, CheckItem{Check: "budget", OK: true, Detail: lines, Mend: in.budgetMends(l)})
	}
	out.add("conflicts", openConflicts(l), "skl list --shadowed, then skl ack CODE NAME --reason WHY")
	if audited, err := in.Audit(ctx, AuditRequest{}); err != nil {
		return Checked{}, err
	} else if len(f.Lock.Skills) > 0 || !audited.OK {
		out.add("audit", auditProblems(audited), "skl audit, then skl audit --explain RULE")
	}
	if base == "" {
		return out, nil
	}
	lower, asks, findings, open, err := in.since(ctx, f, base)
	if err != nil {
		return Checked{}, err
	}
	loosened, accepted, err := apply.Loosened(ctx, in.Applier, f, base)
	if err != nil {
		return Checked{}, err
	}
	lower, accepted = append(lower, loosened...), append(findings, accepted...)
	// Whatever was accepted when the lock was written is shown to whoever reviews it. Nobody accepted anything for other bytes
	// under the same version, nor for files that cannot be had.
	unsure := slices.ContainsFunc(asks, func(line string) bool { return strings.HasSuffix(line, apply.FilesGone) })
	for _, line := range lower {
		if strings.Contains(line, apply.OtherContent) {
			unsure = true
			asks = append(asks, line+", so its permissions were accepted for other files")
		}
	}
	out.Checks = append(out.Checks, CheckItem{Check: "permissions", OK: !unsure && len(open) == 0, Detail: asks, Mend: open})
	if out.OK = out.OK && !unsure && len(open) == 0; len(open) > 0 {
		out.Refused = apply.CodeEscalation
	}
	if len(accepted) > 0 {
		out.Checks = append(out.Checks, CheckItem{Check: "accepted", OK: true, Detail: accepted})
	}
	if out.add("trust", lower, "skl diff --base "+base); len(lower) > 0 {
		out.Refused = "trust_downgrade"
	}
	return out, nil
}

// uncarried says what a clone will not have of the skills that are committed, which is no fault of what is here: ci puts it back there.
func (in *Inspector) uncarried(f *scope.Files) CheckItem {
	out := CheckItem{Check: "git", OK: true}
	list, err := in.Applier.Uncarried(f.Manifest.Targets.Vendor, func(string) bool { return true })
	if err != nil {
		out.Detail = append(out.Detail, "which files of skills git carries to a clone is not known: "+diag.Clip(diag.Printable(err.Error()), 300))
	}
	for _, u := range list {
		out.Detail, out.Mend = append(out.Detail, u.String()), apply.AddMend(out.Mend, u.Mend)
	}
	return out
}

// unportable says which skills another system cannot hold, which is no fault of what is here.
func (in *Inspector) unportable() CheckItem {
	out := CheckItem{Check: "portable", OK: true}
	for _, u := range in.Applier.Unportable(func(string) bool { return true }) {
		out.Detail, out.Mend = append(out.Detail, u.String()), apply.AddMend(out.Mend, u.Mend)
	}
	return out
}

// keyProblems lists the keys of skl.toml and of the configuration that mean nothing: whoever wrote them meant something.
func keyProblems(f *scope.Files, config []diag.Finding) (wrong []string) {
	for _, w := range slices.Concat(f.Manifest.Warnings, config) {
		wrong = append(wrong, w.Sentence())
	}
	return wrong
}

// gone says that skl.toml or skl.lock is gone where the other names skills, and what brings it back; "" if not.
func (in *Inspector) gone(f *scope.Files) (what string, mends []string) {
	if lost, ok := diag.Own(in.Applier.Lost(f)); ok {
		return lost.Message, lost.Hints
	}
	if len(f.Manifest.Skills) > 0 && !f.HasLock {
		return "there is no skl.lock", []string{"skl lock"}
	}
	return "", nil
}

// lockProblems says whether the lock follows from the manifest, and whether each entry is of the source that owns its ref.
func (in *Inspector) lockProblems(f *scope.Files, c apply.Claims) (wrong, mends []string) {
	if gone, mends := in.gone(f); gone != "" {
		return []string{gone}, mends
	}
	for _, name := range c.Stale {
		wrong = append(wrong, name+": skl.lock does not follow from skl.toml")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Refused)) {
		wrong = append(wrong, name+": "+c.Refused[name].Error())
	}
	if len(wrong) > 0 {
		mends = append(mends, "skl lock")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Unsure)) {
		wrong = append(wrong, name+": nobody could say whether skl.lock has what its reference means: "+c.Unsure[name].Error())
	}
	if len(c.Unsure) > 0 {
		mends = append(mends, "skl check --offline, which does not ask")
	}
	return wrong, mends
}

// unsaid says of which skills skl.lock does not have what they ask for; bad is that some of it wants a yes.
func unsaid(v apply.Verification) (lines []string, bad bool) {
	for _, name := range v.Unsaid {
		if asks := v.Claims.Unsaid(name); len(asks) > 0 {
			lines = append(lines, name+": skl.lock does not say that it asks for "+diag.Printable(strings.Join(asks, ", ")))
			bad = true
			continue
		}
		lines = append(lines, name+": skl.lock does not say by these rules what it asks for, which nobody compares then; skl install writes it")
	}
	return lines, bad
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

// linesOf are the sentences about those installed releases that a registry took back or warns of in this way and for which no check holds, and
// what to do about each. The Applier warns of all that are not blocked.
func linesOf(all []apply.Withdrawal, state string) (lines, mends []string) {
	for _, w := range all {
		if w.State == state && w.Serious() {
			lines, mends = append(lines, w.Sentence()), append(mends, w.Mend())
		}
	}
	return lines, mends
}

// driftLine says what is wrong with one skill, or with a copy of it.
func (in *Inspector) driftLine(s apply.Verified) string {
	line := s.Name + ": " + s.State
	if s.CopyOf != "" {
		line = s.Name + ": " + in.Applier.Scope.Short(s.Path) + ": " + s.State
	}
	if len(s.Drift) > 0 {
		line += " [" + strings.Join(s.Drift, ", ") + "]"
	}
	return line
}

// since lists the skills that are trusted less than at a git revision, what they newly ask for, or no longer, which findings were accepted, and the
// commands that record a yes to what nobody accepted.
func (in *Inspector) since(ctx context.Context, f *scope.Files, base string) (lower, asks, findings, open []string, err error) {
	d, err := in.diffLocks(ctx, f, base)
	asks = []string{}
	for _, s := range d.Skills {
		if s.Downgrade != "" {
			lower = append(lower, s.Name+": "+s.Downgrade)
		}
		for _, p := range s.Permissions {
			asks = append(asks, s.Name+": "+p+unaccepted(s.Asks, p))
		}
		for _, p := range s.Findings {
			if why := unaccepted(s.Asks, p); why != "" {
				asks = append(asks, s.Name+": "+p+why)
			} else {
				findings = append(findings, s.Name+": "+p)
			}
		}
		for _, k := range s.Asks {
			if k.Accepted == nil {
				open = apply.AddMend(open, k.Accept)
			}
		}
	}
	return lower, asks, findings, open, err
}

// unaccepted says that nobody accepted what a line of a comparison newly asks for, "" if somebody did or need not.
func unaccepted(asks []apply.Ask, line string) string {
	what, _, _ := strings.Cut(strings.TrimPrefix(line, "+ "), "  ")
	for _, k := range asks {
		if k.Permission == what && k.Accepted == nil && strings.HasPrefix(line, "+ ") {
			return "  nobody accepted it"
		}
	}
	return ""
}

// needs says what skills need that is not there. What they name in a way that nobody can find is no fault of what is here.
func (in *Inspector) needs(f *scope.Files, l roots.Listing, out *Checked) {
	var unmet, lost, names []string
	for _, u := range in.Applier.Unmets(f.Lock, l) {
		if u.Why != "" {
			lost = append(lost, u.String()+": "+u.Why)
			continue
		}
		unmet = append(unmet, u.String())
		names = append(names, u.Needs)
	}
	if len(unmet) > 0 {
		out.add("needs", append(unmet, lost...), "skl search "+names[0], "or skl remove what needs it")
	} else if len(lost) > 0 {
		out.Checks = append(out.Checks, CheckItem{Check: "needs", OK: true, Detail: lost})
	}
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

// off says which agents are told not to load a skill of the scope, and by which file, and of which agents that is not known.
func (in *Inspector) off(l roots.Listing) []string {
	var out []string
	for _, r := range l.Skills {
		for _, x := range r.Warnings {
			if x.Code == "W_OFF" && r.Scope == string(in.Applier.Scope.Kind) && r.CopyOf == "" {
				out = append(out, r.Name+": "+x.Message)
			}
		}
	}
	for _, x := range l.Warnings {
		if x.Code == "W_SETTINGS" {
			out = append(out, x.Message)
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
	Roots       []string `json:"roots"` // in which the skills of skl.lock are; Root if there are none
	Hosts       []string `json:"hosts"`
	Skills      int      `json:"skills"`
	Stale       []string `json:"stale"`
	Drift       []string `json:"drift"`
	Links       []string `json:"links"`          // links and copies that are not as they should be, agents that see nothing
	Mend        []string `json:"mend,omitempty"` // what puts files, links and copies right
	Conflicts   []string `json:"conflicts"`
	Off         []string `json:"off,omitempty"`  // agents that are told not to load a skill, and by which file
	Lost        string   `json:"lost,omitempty"` // that skl.toml is gone, which would take all skills of skl.lock with it
	None        bool     `json:"-"`              // there is neither skl.toml nor skl.lock, and skl has installed nothing
	Interrupted bool     `json:"interrupted"`
	Trusted     bool     `json:"trusted"`
	Sources     []string `json:"sources,omitempty"` // skills made from packages that have another version here

	// Withdrawn are the releases of the lock that their registries took back, as they said last.
	Withdrawn []apply.Withdrawal `json:"withdrawn,omitempty"`
}

// uninstalled are the skills of a lock that have no receipt.
func uninstalled(l *lock.Lock, receipts []roots.Receipt, bad []apply.Unreadable) (names []string) {
	here := map[string]bool{}
	for _, b := range bad {
		here[b.Name] = true
	}
	for i := range receipts {
		here[receipts[i].Name] = true
	}
	for i := range l.Skills {
		if name := l.Skills[i].Name; !here[name] {
			names = append(names, name)
		}
	}
	return names
}

// Status looks at the scope without the network, and without hashing files whose size and time are as recorded.
func (in *Inspector) Status(ctx context.Context) (Status, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return Status{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Status{}, err
	}
	if err := in.Applier.Scope.CheckHosts(f.Manifest); err != nil {
		return Status{}, err
	}
	all, err := resolver.Wants(f.Manifest)
	if err != nil {
		return Status{}, err
	}
	s := Status{Scope: string(in.Applier.Scope.Kind), Base: in.Applier.Scope.Base, Root: in.Applier.Scope.Site.Home(""), Hosts: append([]string{}, in.Applier.Scope.EnabledHosts(f)...), Skills: len(f.Manifest.Skills),
		Stale: append([]string{}, resolver.Stale(all, f.Lock)...), Drift: []string{}, Links: []string{}, Conflicts: []string{}}
	for _, locked := range f.Lock.Skills {
		if b := apply.SourceChanged(in.Applier, &locked, false); b.Why != "" {
			s.Sources = append(s.Sources, locked.Name+": "+b.Why)
			s.Mend = apply.AddMend(s.Mend, b.Mend)
		}
		s.Roots = append(s.Roots, in.Applier.Scope.Site.Home(locked.Name))
	}
	if len(s.Roots) == 0 {
		s.Roots = []string{s.Root}
	}
	slices.Sort(s.Roots)
	s.Roots = slices.Compact(s.Roots)
	receipts, bad, err := in.Applier.Receipts()
	if err != nil {
		return Status{}, err
	}
	if lost, ok := diag.Own(in.Applier.Lost(f)); ok {
		s.Lost, s.Mend = lost.Message, lost.Hints
	}
	s.None = !f.HasManifest && !f.HasLock && len(receipts)+len(bad) == 0
	drifts, err := in.Applier.Scope.Site.CheckAll(ctx, receipts, false)
	if err != nil {
		return Status{}, err
	}
	for i := range drifts {
		if d := &drifts[i]; d.Any() {
			s.Drift = append(s.Drift, receipts[i].Name)
			s.Mend = apply.AddMend(s.Mend, apply.MendOf(in.Applier, apply.StateOf(in.Applier, &receipts[i], d, f.Lock), receipts[i].Name, false, ""))
		}
	}
	for _, b := range bad {
		s.Drift = append(s.Drift, b.Name)
		s.Mend = apply.AddMend(s.Mend, apply.MendOf(in.Applier, b.State(), b.Name, false, ""))
	}
	for _, name := range uninstalled(f.Lock, receipts, bad) {
		s.Drift = append(s.Drift, name)
		s.Mend = apply.AddMend(s.Mend, apply.MendOf(in.Applier, "missing", "", false, ""))
	}
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return Status{}, err
	}
	links, mends, err := in.linkProblems(f, l)
	if err != nil {
		return Status{}, err
	}
	s.Links = append(s.Links, links...)
	for _, m := range mends {
		s.Mend = apply.AddMend(s.Mend, m)
	}
	s.Conflicts, s.Off = append(s.Conflicts, openConflicts(l)...), in.off(l)
	if s.Trusted, err = in.Applier.Scope.Trusted(); err != nil {
		return Status{}, err
	}
	if s.Withdrawn, err = in.Applier.Withdrawals(ctx, apply.Recall, in.Applier.Releases(f.Lock, receipts, nil)); err != nil {
		return Status{}, err
	}
	in.Applier.WarnBlocked(s.Withdrawn)
	s.OK = apply.Blocked(s.Withdrawn) == nil && s.Lost == "" && len(s.Stale)+len(s.Drift)+len(s.Links)+len(s.Conflicts) == 0
	return s, nil
}
