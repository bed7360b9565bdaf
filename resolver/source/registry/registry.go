// Package registry finds and fetches skills of registries of skl's own kind: names like
// acme/pdf, whose namespace belongs to a registry.
//
//   - A release is found by the registry's REST interface and fetched by the OCI protocol: one
//     record, one manifest, one layer. The record is asked for once in a run.
//   - A release that was yanked is not offered. A lock that has it still gets it, with a warning.
//     One that is blocked is refused, with the registry's reason.
//   - The record's pins (manifest, layer, tree) are locked, and the fetched bytes must match them.
//   - A registry with a transparency log must prove that a release is in it; the proof goes
//     into the lock. See [client.Log].
//
// A ref of a registry is of kind Name with the registry's address as its URL, as the resolver
// makes it: Owner is the namespace, Repo the skill.
package registry

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"github.com/opencontainers/go-digest"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A Source is the [source.Source] of names on registries. Its fields are set before first
// use; its methods may be called concurrently.
type Source struct {
	HTTP     *origin.Client
	Cache    string        // cache directory, for records and large layers; "" keeps none
	State    string        // state directory, for the heads of transparency logs; "" follows none
	Progress diag.Progress // may be nil
	Warn     func(string)  // what a registry says about a release that is fetched. May be nil
	// LogKey is the configured key of the log of the registry at an address, "" if none is. May be nil.
	LogKey func(url string) string

	mu         sync.Mutex          // guards what follows
	registries map[string]*place   // by address
	warned     map[string]struct{} // sentences that Warn got
}

var _ source.Source = (*Source)(nil)

// A place is one registry.
type place struct {
	client *client.Client
	oci    *client.OCI
	log    *client.Log // nil: not followed

	mu      sync.Mutex         // guards what follows
	records map[string]*record // by "ns/name@version"
	has     map[string]bool    // namespaces that were asked for
}

// A record is fetched by the first who wants it, and followed in the log by the first who wants to lock it.
type record struct {
	once sync.Once
	wire.Version
	err error

	logged sync.Once
	proof  *lock.Log
	logErr error
}

func (s *Source) place(base string) (*place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.registries[base]; p != nil {
		return p, nil
	}
	c, err := client.New(s.HTTP, base)
	if err != nil {
		return nil, err
	}
	p := &place{client: c, oci: client.NewOCI(s.HTTP), records: map[string]*record{}, has: map[string]bool{}}
	if s.Cache != "" {
		c.Cache = filepath.Join(s.Cache, "registry")
		p.oci.Cache = filepath.Join(s.Cache, "oci", "blobs")
	}
	if s.State != "" {
		p.log = client.NewLog(c, filepath.Join(s.State, "log"))
		if s.LogKey != nil {
			p.log.Key = s.LogKey(c.URL())
		}
	}
	p.oci.Progress, p.oci.Warn = s.Progress, s.warn
	if s.registries == nil {
		s.registries = map[string]*place{}
	}
	s.registries[base] = p
	return p, nil
}

// warn passes a sentence on once.
func (s *Source) warn(text string) {
	s.mu.Lock()
	_, known := s.warned[text]
	if s.warned == nil {
		s.warned = map[string]struct{}{}
	}
	s.warned[text] = struct{}{}
	s.mu.Unlock()
	if !known && s.Warn != nil {
		s.Warn(text)
	}
}

// HasNamespace reports whether the registry at base has the namespace, for this caller. A registry that
// does not answer, or wants to know first who is asking, is an error and not a no. It asks once
// in a run.
func (s *Source) HasNamespace(ctx context.Context, base, namespace string) (bool, error) {
	p, err := s.place(base)
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	has, known := p.has[namespace]
	p.mu.Unlock()
	if known {
		return has, nil
	}
	if has, err = p.client.HasNamespace(ctx, namespace); err != nil {
		return false, err
	}
	p.mu.Lock()
	p.has[namespace] = has
	p.mu.Unlock()
	return has, nil
}

// Versions lists the releases that can be chosen: those that are neither yanked nor blocked. They have
// Kind Tag, and a Name that is the version. If r asks for exactly one that cannot be chosen, that is an error of
// code yanked or blocked. A skill that does not exist is one of code unknown_skill, with near names.
func (s *Source) Versions(ctx context.Context, r ref.Ref) ([]source.Release, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	p, err := s.place(r.URL)
	if err != nil {
		return nil, err
	}
	all, err := p.client.Versions(ctx, r.Owner, r.Repo)
	if err != nil {
		return nil, p.near(ctx, r, err)
	}
	releases := make([]source.Release, 0, len(all))
	for _, v := range all {
		parsed, err := semver.StrictNewVersion(v.Version)
		if err != nil || v.State != wire.Approved && v.State != wire.Deprecated {
			continue
		}
		releases = append(releases, source.Release{Kind: source.Tag, Name: parsed.Original(), Version: parsed.Original()})
	}
	if len(releases) == 0 && r.Version == "" {
		return nil, noRelease(r, "", all)
	}
	if left := unoffered(r.Version, releases, all); withdrawn(left) != "" {
		return nil, noRelease(r, " and matches "+r.Version, left)
	}
	exact := strings.TrimPrefix(strings.TrimPrefix(r.Version, "="), "v")
	if _, err := semver.StrictNewVersion(exact); err != nil || slices.ContainsFunc(releases, func(v source.Release) bool { return v.Version == exact }) {
		return releases, nil
	}
	return releases, p.withheld(ctx, r, exact)
}

// noRelease is the error of a skill of which none of the releases that are meant is offered. To block them all refuses them, as it does one.
func noRelease(r ref.Ref, matches string, meant []wire.VersionSummary) error {
	class, why := diag.Refused, ""
	for _, v := range meant {
		if v.State != wire.Blocked {
			class = diag.Failed
		}
		if why == "" {
			why = because(v.Reason)
		}
	}
	if class == diag.Failed {
		why = ""
	}
	return diag.New(class, source.CodeNoRelease, "%s/%s has no release that is offered%s: %s%s", r.Owner, r.Repo, matches, withdrawn(meant), why).
		Hint("skl info %s/%s@VERSION shows why", r.Owner, r.Repo)
}

// unoffered are the releases that a range means, if none of those that are offered is in it.
func unoffered(version string, offered []source.Release, all []wire.VersionSummary) []wire.VersionSummary {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(strings.TrimPrefix(version, "="), "v")); err == nil {
		return nil // one version
	}
	c, err := semver.NewConstraint(version)
	if err != nil {
		return nil
	}
	in := func(version string) bool {
		v, err := semver.StrictNewVersion(version)
		return err == nil && c.Check(v)
	}
	if slices.ContainsFunc(offered, func(r source.Release) bool { return in(r.Version) }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(v wire.VersionSummary) bool { return !in(v.Version) })
}

// withdrawn counts releases by their state: "2 yanked, 1 blocked".
func withdrawn(all []wire.VersionSummary) string {
	count := map[string]int{}
	for _, v := range all {
		count[v.State]++
	}
	var words []string
	for _, state := range []string{wire.Yanked, wire.Quarantined, wire.Blocked, wire.Draft} {
		if n := count[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(words, ", ")
}

// check refuses refs that mean nothing on a registry.
func check(r ref.Ref) error {
	switch {
	case r.Kind != ref.Name || r.URL == "":
		return diag.New(diag.Misuse, "invalid_ref", "%s does not name a skill on a registry", r)
	case r.Path != "":
		return diag.New(diag.Misuse, "invalid_ref", "%s: on a registry, skills are called namespace/name", r).
			Hint("did you mean %s/%s?", r.Owner, r.Path[strings.LastIndexByte(r.Path, '/')+1:])
	case skill.CheckName(r.Repo, "") != nil:
		return diag.New(diag.Misuse, codeUnknownSkill, "%s: %q cannot be the name of a skill", r, r.Repo)
	}
	return nil
}

// withheld is the error of a version that exists but is not offered; nil if it does not exist.
func (p *place) withheld(ctx context.Context, r ref.Ref, version string) error {
	v, err := p.client.Version(ctx, r.Owner, r.Repo, version)
	if diag.ClassOf(err) == diag.Refused {
		return err
	}
	if err != nil {
		return nil // the list that was read says enough
	}
	name := fmt.Sprintf("%s/%s@%s", r.Owner, r.Repo, version)
	switch v.State {
	case wire.Yanked:
		return diag.New(diag.Refused, source.CodeYanked, "%s was yanked%s", name, because(v.Reason)).
			Hint("another version: skl info %s/%s", r.Owner, r.Repo)
	case wire.Blocked:
		return diag.New(diag.Refused, source.CodeBlocked, "%s is blocked%s", name, because(v.Reason))
	case wire.Quarantined:
		return diag.New(diag.Refused, "quarantined", "%s waits for approval%s", name, because(v.Reason))
	}
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + diag.Printable(reason)
}

// CodeUnproven is the code, of class Unmet, of a locked release that nothing on this machine proves to be one of its registry.
const CodeUnproven = "log_unproven"

// Codes that registries answer with.
const (
	codeUnknownSkill = "unknown_skill"
	codeUnauthorized = "unauthorized"
)

// near adds the names that could have been meant to the error of a skill that does not exist. A
// registry says "unauthorized" of it to those who gave no token; who can list the namespace knows better.
func (p *place) near(ctx context.Context, r ref.Ref, err error) error {
	e, ok := diag.Own(err)
	if !ok || e.Code != codeUnknownSkill && e.Code != "not_found" && e.Code != codeUnauthorized {
		return err
	}
	if has, nerr := p.client.HasNamespace(ctx, r.Owner); !has || nerr != nil {
		return err
	}
	skills, serr := p.client.Skills(ctx, r.Owner)
	if serr != nil {
		return err
	}
	names := make([]string, 0, len(skills))
	for _, s := range skills {
		if s.Name == r.Repo {
			return err
		}
		names = append(names, s.Name)
	}
	if e.Code == codeUnauthorized {
		e = diag.New(diag.Misuse, codeUnknownSkill, "%s: there is no skill %s/%s", p.client.Host(), r.Owner, r.Repo)
	}
	for _, name := range spell.Nearest(r.Repo, names, 5) {
		e.Candidates = append(e.Candidates, r.Owner+"/"+name)
	}
	if len(e.Candidates) > 0 {
		e.Hint("did you mean %s?", e.Candidates[0])
	}
	return e
}

// Skills returns the one skill of a release, whose lock entry is complete but for RefKind and Signer, and for what of Ref
// says more than whose it is.
func (s *Source) Skills(ctx context.Context, r ref.Ref, at source.Release, _ []string) ([]source.Found, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	p, err := s.place(r.URL)
	if err != nil {
		return nil, err
	}
	rec := p.record(ctx, r.Owner, r.Repo, at.Version)
	if rec.err != nil {
		return nil, rec.err
	}
	if err := p.follow(ctx, rec); err != nil {
		return nil, err
	}
	if rec.State == wire.Deprecated || rec.State == wire.Yanked {
		s.warn(fmt.Sprintf("%s/%s@%s: %s%s", r.Owner, r.Repo, rec.Version.Version, rec.State, because(rec.Reason)))
	}
	return []source.Found{{Description: rec.Description, Rank: source.RankRoot, Lock: lock.Skill{
		Name: rec.Name, Ref: r.Owner + "/" + r.Repo, Source: "registry", URL: p.client.URL(), Version: rec.Version.Version,
		Manifest: ref.Digest(rec.Manifest), Artifact: ref.Digest(rec.Artifact), Tree: bundle.Digest(rec.Tree), Files: len(rec.Files), Bytes: rec.Bytes,
		Log: rec.proof,
	}}}, nil
}

// record fetches and checks the record of a release. A failure is not kept.
func (p *place) record(ctx context.Context, namespace, name, version string) *record {
	key := namespace + "/" + name + "@" + version
	p.mu.Lock()
	rec := p.records[key]
	if rec == nil {
		rec = &record{}
		p.records[key] = rec
	}
	p.mu.Unlock()
	rec.once.Do(func() {
		rec.Version, rec.err = p.client.Version(ctx, namespace, name, version)
		if rec.err == nil {
			rec.err = sound(rec.Version)
		}
		if rec.err != nil {
			p.mu.Lock()
			delete(p.records, key)
			p.mu.Unlock()
		}
	})
	return rec
}

// follow checks that the log of the registry has the release, and keeps the proof. A lock that has
// its own proof needs no other.
func (p *place) follow(ctx context.Context, rec *record) error {
	if p.log == nil {
		return nil
	}
	rec.logged.Do(func() {
		if rec.proof, rec.logErr = p.log.Check(ctx, rec.Version); rec.logErr != nil {
			p.mu.Lock()
			delete(p.records, rec.Namespace+"/"+rec.Name+"@"+rec.Version.Version)
			p.mu.Unlock()
		}
	})
	return rec.logErr
}

// sound checks the form of what goes into a lock.
func sound(v wire.Version) error {
	bad := func(what, value string) error {
		return diag.New(diag.Refused, "wrong_record", "%s/%s@%s: the registry gives %q as its %s", v.Namespace, v.Name, v.Version, diag.Printable(value), what)
	}
	for what, d := range map[string]string{"manifest": v.Manifest, "artifact": v.Artifact} {
		if err := oci.CheckDigest(digest.Digest(d)); err != nil {
			return bad(what, d)
		}
	}
	if _, err := bundle.ParseDigest(v.Tree); err != nil {
		return bad("tree", v.Tree)
	}
	if v.Bytes < 0 || v.State == wire.Blocked {
		return diag.New(diag.Refused, source.CodeBlocked, "%s/%s@%s is blocked%s", v.Namespace, v.Name, v.Version, because(v.Reason))
	}
	return nil
}

// Fetch streams the bundle of a locked release to sink. It asks for the manifest by its digest, so
// that what is delivered is what was locked, whatever the registry says of the version now; if it
// was yanked since, the registry's warning is passed on.
func (s *Source) Fetch(ctx context.Context, l lock.Skill, sink bundle.Sink) error {
	p, target, err := s.target(l)
	if err != nil {
		return err
	}
	m, err := p.oci.Manifest(ctx, target, string(l.Manifest))
	if err != nil {
		return err
	}
	a, err := oci.Read(m.MediaType, m.Data)
	if err == nil && a.IsIndex() && len(a.Entries) > 0 {
		// The registry judged the first entry, and that is the one that was locked.
		entry := a.Entries[0]
		if m, err = p.oci.Manifest(ctx, target, entry.Digest.String()); err == nil {
			a, err = a.Entry(entry, m.Data)
		}
	}
	if err != nil {
		return named(l, err)
	}
	if l.Artifact != "" && (len(a.Layers) == 0 || ref.Digest(a.Layers[0].Digest) != l.Artifact) {
		return diag.New(diag.Refused, oci.CodeDigest, "%s: manifest %s does not hold the layer that was locked", l.Name, l.Manifest)
	}
	return named(l, p.oci.Unpack(ctx, target, a, sink))
}

// named adds the name of the skill to an error that says what is wrong with its content.
func named(l lock.Skill, err error) error {
	if e, ok := err.(*diag.Error); ok && e.Class == diag.Refused && !strings.Contains(e.Message, l.Name) {
		return diag.Prefixed(err, l.Name)
	}
	return err
}

// target is where the release of a lock entry is.
func (s *Source) target(l lock.Skill) (*place, client.Target, error) {
	r, err := nameOf(l)
	if err != nil {
		return nil, client.Target{}, err
	}
	if l.Manifest == "" {
		return nil, client.Target{}, diag.New(diag.Failed, "lock_corrupt", "%s: the lock has no manifest digest", l.Name).Hint("skl lock --upgrade %s", l.Name)
	}
	p, err := s.place(l.URL)
	if err != nil {
		return nil, client.Target{}, err
	}
	return p, client.Target{Host: p.client.Host(), Repo: r.Owner + "/" + r.Repo}, nil
}

// nameOf is the name on the registry, which the lock has in the ref that was asked for.
func nameOf(l lock.Skill) (ref.Ref, error) {
	r, err := ref.Parse(l.Ref)
	if err != nil || r.Kind != ref.Name || r.Path != "" {
		return ref.Ref{}, diag.New(diag.Failed, "lock_corrupt", "%s: %q does not name a skill on a registry", l.Name, diag.Printable(l.Ref)).
			Hint("skl lock --upgrade %s", l.Name)
	}
	return r, nil
}

// VerifyLog verifies the proof that the lock has for a release. If the key of the log is configured or was seen
// before, nothing is asked: the proof has to be there, and to be of that log. Otherwise with ask the registry is asked
// for its log, whose key is then kept; without, or if it does not answer, a proof is held against itself alone, and Warn
// is told; where there is no proof either, and the registry is not known to have no log, the error has the code [CodeUnproven]. Other errors
// are those of [client.Log].
func (s *Source) VerifyLog(ctx context.Context, l lock.Skill, ask bool) error {
	p, target, err := s.target(l)
	if err != nil || p.log == nil {
		return err
	}
	key, _, err := p.log.Known(ctx)
	if err == nil && key == "" {
		if ask {
			err = p.log.Meet(ctx)
		}
		if (!ask || err != nil && diag.ClassOf(err) != diag.Refused) && ctx.Err() == nil {
			err = nil
			if l.Log == nil && !p.log.None() {
				return diag.New(diag.Unmet, CodeUnproven, "nothing here proves that %s@%s is a release of %s: skl.lock has no proof of its log, and the key of that log is not known on this machine", l.Name, l.Version, p.client.Host()).
					Hint("skl ci, once with a network, asks it")
			}
			if l.Log != nil {
				s.warn("the key of the log of " + p.client.Host() + " is not known here, so the proof in skl.lock is held against itself alone")
			}
		}
	}
	if err != nil {
		return err
	}
	return p.log.Locked(ctx, target.Repo, l)
}

// Withdrawn is what the registry at base says of releases that it took back: see [client.Log.Withdrawn].
func (s *Source) Withdrawn(ctx context.Context, base string, ask bool) (client.States, error) {
	p, err := s.place(base)
	if err != nil || p.log == nil {
		return client.States{}, err
	}
	return p.log.Withdrawn(ctx, ask)
}

// Why is the reason for the state of the release version of name, a namespace/name with that manifest, as its record says it to whoever may read
// that: the feed of Withdrawn, which everybody reads, is silent about private namespaces. "" is one that nobody gave, or that is not known. The
// record that was kept counts if it is as new as the state; with ask the registry is asked for another.
func (s *Source) Why(ctx context.Context, base, name, version string, is wire.ReleaseState, ask bool) string {
	p, err := s.place(base)
	namespace, short, ok := strings.Cut(name, "/")
	if err != nil || !ok {
		return ""
	}
	says := func(v wire.Version) bool {
		return v.Manifest == is.Manifest && v.State == is.State && !v.Updated.Before(is.Since)
	}
	v, ok := p.client.KeptVersion(namespace, short, version)
	if (!ok || !says(v)) && ask {
		v, err = p.client.Version(ctx, namespace, short, version)
		ok = err == nil
	}
	if !ok || !says(v) {
		return ""
	}
	return v.Reason
}

// Attestations returns the sigstore bundles that the registry has for a locked release, as JSON. It asks
// nothing if the record was read before in this run. A registry that now has another manifest
// under the version is refused.
func (s *Source) Attestations(ctx context.Context, l lock.Skill) ([][]byte, error) {
	p, target, err := s.target(l)
	if err != nil {
		return nil, err
	}
	namespace, name, _ := strings.Cut(target.Repo, "/")
	rec := p.record(ctx, namespace, name, l.Version)
	if rec.err != nil {
		return nil, rec.err
	}
	if ref.Digest(rec.Manifest) != l.Manifest {
		return nil, diag.New(diag.Refused, oci.CodeDigest, "%s: the registry now has another manifest as version %s than was locked", l.Name, l.Version).
			Hint("if somebody edited skl.lock: git diff skl.lock").Hint("else ask who runs %s: versions never change", p.client.URL())
	}
	bundles := make([][]byte, 0, len(rec.Signatures))
	for _, sig := range rec.Signatures {
		bundles = append(bundles, sig.Bundle)
	}
	return bundles, nil
}
