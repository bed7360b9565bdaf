package apply

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Times of asking registries about what is installed.
const (
	withdrawnWait = 3 * time.Second // for an answer; then the last one counts
	withdrawnOld  = 24 * time.Hour  // the last answer is said to be old
	withdrawnNew  = 5 * time.Minute // for a Glance the last answer is as good as a new one
)

// Care is how much is done to learn what registries took back.
type Care int

const (
	Glance Care = iota // an answer of the last minutes counts: for what people and agents do all day
	Look               // registries are asked
	Insist             // and one that is caught hiding something is an error: where a pipeline relies on the answer
	Recall             // nobody is asked: the last answer counts
)

// A Release is what is installed from a registry, as a lock or a receipt says.
type Release struct {
	Name, Version, URL string
	Of                 string // namespace/name; "" where nothing says it
	Manifest           ref.Digest

	needed bool // by another skill of the lock
}

// Advised is the state of a Withdrawal that is a warning: the release is served, and has an advisory.
const Advised = "advisory"

// A Withdrawal is an installed release that its registry took back, or warns of.
type Withdrawal struct {
	Name     string    `json:"name"` // of the skill
	Of       string    `json:"of"`   // namespace/name on the registry
	Version  string    `json:"version"`
	State    string    `json:"state"` // blocked, yanked, quarantined, advisory
	Reason   string    `json:"reason,omitempty"`
	Registry string    `json:"registry"`
	Since    time.Time `json:"since"`
	AsOf     time.Time `json:"as_of"` // when the registry said so

	Advisory string `json:"advisory,omitempty"` // its id
	Severity string `json:"severity,omitempty"` // of it: low, medium, high, critical
	Fixed    string `json:"fixed,omitempty"`    // the version that is not concerned

	needed bool // by another skill of the lock
}

// Serious reports whether a check does not hold for w: the release is blocked, or an advisory of high or critical severity is about it.
func (w Withdrawal) Serious() bool {
	return w.State == wire.Blocked || w.State == Advised && (w.Severity == "high" || w.Severity == "critical")
}

// Mend is what a person does about it: "skl update" stays with a version that skl.toml names.
func (w Withdrawal) Mend() string {
	if w.needed { // remove would refuse
		return fmt.Sprintf("skl why %s shows what needs it; for another version of that: skl outdated", w.Name)
	}
	return fmt.Sprintf("skl remove %s, or another version of it: skl outdated", w.Name)
}

// Sentence says it for people.
func (w Withdrawal) Sentence() string {
	what := map[string]string{wire.Blocked: "is blocked by", wire.Quarantined: "is held back by"}[w.State]
	if what == "" {
		what = "was " + w.State + " by"
	}
	text := fmt.Sprintf("%s@%s %s the registry", w.Of, w.Version, what)
	if w.State == Advised {
		text = fmt.Sprintf("%s@%s has the %s advisory %s", w.Of, w.Version, w.Severity, w.Advisory)
	}
	if w.Reason != "" {
		text += ": " + w.Reason
	}
	if w.Fixed != "" {
		text += ", fixed in " + w.Fixed
	}
	host := strings.TrimPrefix(strings.TrimPrefix(w.Registry, "https://"), "http://")
	return diag.Printable(fmt.Sprintf("%s (%s, as of %s)", text, host, w.AsOf.UTC().Format(time.RFC3339)))
}

// Releases are those of a lock and of receipts, with the wanted names; a nil wanted takes all.
func (a *Applier) Releases(l *lock.Lock, receipts []roots.Receipt, wanted func(name string) bool) (all []Release) {
	for _, s := range l.Skills {
		if url, of := a.registryOf(s.Source, s.URL, s.RegistryName()); url != "" && (wanted == nil || wanted(s.Name)) {
			all = append(all, Release{s.Name, s.Version, url, of, s.Manifest, len(s.RequiredBy) > 0})
		}
	}
	for _, r := range receipts {
		if one, ok := a.releaseOfReceipt(r, func() (*lock.Lock, error) { return l, nil }); ok {
			one.needed = slices.ContainsFunc(l.Skills, func(s lock.Skill) bool { return s.Name == one.Name && len(s.RequiredBy) > 0 })
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// registryOf is the registry of what comes from a source at url, and its name there, if that is known. A registry that the configuration
// names is also met as a host of OCI images: its releases are the same ones there.
func (a *Applier) registryOf(source, url, of string) (registry, name string) {
	switch source {
	case "registry":
		return url, of
	case "oci":
		host, repo, _ := strings.Cut(strings.TrimPrefix(url, "oci://"), "/")
		return a.Scope.RegistryAt(host), repo
	}
	return "", ""
}

// releaseOfReceipt is what a receipt names. Of one that does not say whose it is, the lock does, if it has the same release.
func (a *Applier) releaseOfReceipt(r roots.Receipt, locked func() (*lock.Lock, error)) (Release, bool) {
	out := Release{Name: r.Name, Version: r.Version, Manifest: r.Manifest}
	out.URL, out.Of = a.registryOf(r.Source, r.URL, r.Of)
	if out.URL == "" || r.Manifest == "" {
		return out, false
	}
	if out.Of == "" {
		if l, err := locked(); err == nil { // without, it is said that nothing says it
			if s, ok := l.Skill(r.Name); ok && s.Source == r.Source && s.URL == r.URL && s.Manifest == r.Manifest {
				out.Of = s.RegistryName()
			}
		}
	}
	return out, true
}

// lock is that of the scope.
func (a *Applier) lock() (*lock.Lock, error) {
	f, err := a.Scope.Load()
	if err != nil {
		return nil, err
	}
	return f.Lock, nil
}

// ReleasesOf are those that the receipts beside installed copies name.
func (a *Applier) ReleasesOf(copies []roots.Record) (all []Release) {
	for _, c := range copies {
		for _, one := range a.releaseOf(c) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// releaseOf is that of a copy that was listed, if it has a receipt of a registry.
func (a *Applier) releaseOf(c roots.Record) []Release {
	if r, ok := c.Receipt(); ok {
		if one, ok := a.releaseOfReceipt(r, a.lock); ok {
			return []Release{one}
		}
	}
	return nil
}

// ReleaseIn is that of the skill in a directory, if it has a receipt of a registry.
func (a *Applier) ReleaseIn(dir string) []Release {
	if !filepath.IsAbs(dir) {
		return nil // it comes with skl
	}
	r, err := roots.ReadReceipt(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return nil // no receipt; one that is damaged is for verify to say
	}
	if one, ok := a.releaseOfReceipt(r, a.lock); ok {
		return []Release{one}
	}
	return nil
}

// Withdrawals are the releases among all that their registries took back, as those say now. Only registries of the configuration are asked,
// each for a short time; of one that does not answer, and without a network, the last answer counts. So it does, with a warning, of one
// that is caught hiding something, unless c insists.
func (a *Applier) Withdrawals(ctx context.Context, c Care, all []Release) ([]Withdrawal, error) {
	out, err := a.TakenBack(ctx, c, all)
	a.WarnTaken(out)
	return out, err
}

// WarnTaken says which are taken back and not blocked.
func (a *Applier) WarnTaken(found []Withdrawal) {
	for _, w := range found {
		if w.State != wire.Blocked {
			a.Scope.Tell.Warn("%s", w.Sentence())
		}
	}
}

// TakenBack is Withdrawals without the warnings of what was not blocked.
func (a *Applier) TakenBack(ctx context.Context, c Care, all []Release) (out []Withdrawal, err error) {
	said := map[string]client.States{}
	for _, r := range all {
		s, known := said[r.URL]
		if !known {
			if s, err = a.states(ctx, c, r.URL, all); err != nil {
				return nil, err
			}
			said[r.URL] = s
		}
		if w, ok := s.Known[wire.StateOf(r.Of, string(r.Manifest))]; ok && r.Of != "" {
			if w.Name == "" { // of a private namespace
				w.Reason = a.why(ctx, c, r, w)
			}
			out = append(out, Withdrawal{Name: r.Name, Of: r.Of, Version: r.Version, State: w.State, Reason: w.Reason, Registry: r.URL, Since: w.Since, AsOf: s.At, needed: r.needed})
		} else if w, ok := maybe(s, r); ok {
			a.Scope.Tell.Warn("a release with the manifest of %s %s is %s by %s, and nothing here says whether it is this one: skl ci installs it anew and notes it",
				r.Name, r.Version, w.State, r.URL)
		}
		for _, a := range s.Advisories {
			if a.Withdrawn.IsZero() && r.Of != "" && slices.Contains(a.Own.Of, wire.StateOf(r.Of, string(r.Manifest))) {
				out = append(out, Withdrawal{Name: r.Name, Of: r.Of, Version: r.Version, State: Advised, Reason: a.Summary, Registry: r.URL, Since: a.Published, AsOf: s.At,
					Advisory: a.ID, Severity: a.Own.Severity, Fixed: a.Own.Fixed, needed: r.needed})
			}
		}
	}
	return out, nil
}

// why is the reason of a state that the registry does not say to everybody, as it says it to this user now, or said it last.
func (a *Applier) why(ctx context.Context, c Care, r Release, is wire.ReleaseState) string {
	wait, cancel := context.WithTimeout(ctx, withdrawnWait)
	defer cancel()
	return a.Scope.Registry.Why(wait, r.URL, r.Of, r.Version, is, c != Recall && !a.Scope.Offline() && a.Scope.HasRegistry(r.URL))
}

// maybe is a state that may be meant for r: nothing says what r is called on the registry, or the registry does not say whose the state is.
func maybe(s client.States, r Release) (wire.ReleaseState, bool) {
	if r.Of != "" {
		w, ok := s.Known[string(r.Manifest)]
		return w, ok
	}
	for _, w := range s.Known {
		if w.Manifest == string(r.Manifest) {
			return w, true
		}
	}
	return wire.ReleaseState{}, false
}

// blocks reports whether s, of the registry at url, has a block of one of all. A refusal is not made of an old answer: the block may be undone.
func blocks(s client.States, url string, all []Release) bool {
	return slices.ContainsFunc(all, func(r Release) bool {
		return r.URL == url && s.Known[wire.StateOf(r.Of, string(r.Manifest))].State == wire.Blocked
	})
}

// states is what the registry at url says, or said last.
func (a *Applier) states(ctx context.Context, c Care, url string, all []Release) (client.States, error) {
	ask := c != Recall && !a.Scope.Offline() && a.Scope.HasRegistry(url)
	if ask && c == Glance {
		if s, err := a.Scope.Registry.Withdrawn(ctx, url, false); err == nil && time.Since(s.At) < withdrawnNew && !blocks(s, url, all) {
			return s, nil
		}
	}
	if ask {
		wait, cancel := context.WithTimeout(ctx, withdrawnWait)
		s, err := a.Scope.Registry.Withdrawn(wait, url, true)
		cancel()
		hides := diag.ClassOf(err) == diag.Refused
		if err == nil || hides && c == Insist || ctx.Err() != nil {
			return s, err
		}
		if hides {
			a.Scope.Tell.Warn("%s", err)
		}
		a.Scope.Tell.Detail("asking %s for releases that it took back: %s", url, err)
	}
	s, err := a.Scope.Registry.Withdrawn(ctx, url, false)
	switch {
	case err != nil:
		return s, err
	case ask && s.At.IsZero():
		a.Scope.Tell.Note("%s does not answer, so it is not known whether it took releases back", url)
	case ask || !s.At.IsZero() && time.Since(s.At) > withdrawnOld:
		a.Scope.Tell.Note("what %s took back is known as of %s", url, s.At.UTC().Format(time.RFC3339))
	}
	return s, nil
}

// Blocked is the refusal of releases that are blocked, nil if none is.
func Blocked(all []Withdrawal) error {
	for _, w := range all {
		if w.State == wire.Blocked {
			return diag.New(diag.Refused, CodeBlocked, "%s", w.Sentence()).Hint("%s", w.Mend())
		}
	}
	return nil
}

// WarnBlocked says which are blocked, where that refuses nothing.
func (a *Applier) WarnBlocked(found []Withdrawal) {
	for _, w := range found {
		if w.State == wire.Blocked {
			a.Scope.Tell.Warn("%s", w.Sentence())
		}
	}
}

// RefuseBlocked refuses releases that are blocked, and warns of those that were taken back otherwise.
func (a *Applier) RefuseBlocked(ctx context.Context, c Care, all []Release) error {
	found, err := a.Withdrawals(ctx, c, all)
	if err != nil {
		return err
	}
	return Blocked(found)
}
