package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// permSigner accepts that a skill is signed by somebody else than before.
const permSigner = "signer"

// CanBeSigned reports whether releases of this source can carry signatures.
func CanBeSigned(s lock.Skill) bool { return s.Source == "registry" || s.Source == "oci" }

// A trust is whom this user believes about the releases of one namespace.
type trust struct {
	verifier *attest.Verifier // nil when no signer is configured
	required bool
}

// trusts makes each trust once.
type trusts struct {
	mu   sync.Mutex
	made map[string]trust
}

// trustFor is the trust of a namespace, "acme" or "host/acme".
func (a *Applier) trustFor(namespace string) (trust, error) {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	if t, ok := a.trusts.made[namespace]; ok {
		return t, nil
	}
	t, err := a.makeTrust(namespace)
	if err == nil {
		if a.trusts.made == nil {
			a.trusts.made = map[string]trust{}
		}
		a.trusts.made[namespace] = t
	}
	return t, err
}

func (a *Applier) makeTrust(namespace string) (trust, error) {
	var t trust
	var believed attest.Trust
	roots := map[string]bool{}
	for _, s := range a.Config.Signers {
		if !s.Wants(namespace) {
			continue
		}
		t.required = t.required || s.Required
		if err := a.believe(&believed, s); err != nil {
			return trust{}, err
		}
		if s.TrustedRoot != "" {
			roots[s.TrustedRoot] = true
		}
	}
	if len(roots) > 1 {
		return trust{}, diag.New(diag.Failed, "config_invalid", "the signers of %s name different trusted roots; one namespace has one", namespace)
	}
	if len(believed.Keys)+len(believed.Identities) == 0 {
		return t, nil
	}
	var err error
	t.verifier, err = attest.NewVerifier(believed)
	return t, err
}

// believe adds a configured signer. Paths are relative to the configuration file.
func (a *Applier) believe(t *attest.Trust, s config.Signer) error {
	read := func(path string) ([]byte, error) {
		text, err := os.ReadFile(scope.Absolute(filepath.Dir(a.ConfigPath()), path))
		if err != nil {
			return nil, diag.New(diag.Failed, "config_invalid", "the signer of %s: %w", s.Namespace, err)
		}
		return text, nil
	}
	if s.Key != "" {
		text, err := read(s.Key)
		if err != nil {
			return err
		}
		key, err := attest.ParsePublic(text)
		if err != nil {
			return diag.New(diag.Failed, "config_invalid", "the signer of %s: %s: %w", s.Namespace, s.Key, err)
		}
		t.Keys = append(t.Keys, key)
		return nil
	}
	text, err := read(s.TrustedRoot)
	if err != nil {
		return err
	}
	if t.Root, err = attest.ParseRoot(text); err != nil {
		return diag.New(diag.Failed, "config_invalid", "the signer of %s: %s: %w", s.Namespace, s.TrustedRoot, err)
	}
	t.Identities = append(t.Identities, attest.Identity{Issuer: s.Issuer, Pattern: s.Identity})
	return nil
}

// SubjectOf is what a signature of s has to be about.
func SubjectOf(s lock.Skill) attest.Subject {
	subject := attest.Subject{Digest: string(s.Manifest)}
	if v, err := semver.StrictNewVersion(s.Version); err == nil && !strings.HasPrefix(v.Original(), "0.0.0-") {
		subject.Version = s.Version
	}
	// The path of an OCI artifact is not part of what was signed: they are mirrored below other paths, and
	// the digest says which bytes are meant.
	if r, err := ref.Parse(s.Ref); err == nil && r.Kind == ref.Name {
		subject.Name = r.Owner + "/" + r.Repo
	}
	return subject
}

// namespaceOf is the namespace whose signers count for s. It is that of the ref, whatever source the release comes from:
// "acme" of acme/pdf, "ghcr.io/acme" of oci://ghcr.io/acme/pdf, "git.example/acme" of a clone URL. A folder has none, so that
// only the signers of "*" count.
func namespaceOf(s lock.Skill) string {
	r, err := ref.Parse(s.Ref)
	if err != nil {
		return ""
	}
	switch r.Kind {
	case ref.Name:
		return r.Owner
	case ref.OCI:
		return strings.TrimSuffix(r.Host+"/"+r.Owner, "/")
	case ref.Git, ref.Forge:
		if u, err := url.Parse(s.URL); err == nil {
			return strings.Trim(u.Host+path.Dir(u.Path), "/")
		}
	}
	return ""
}

// attestations asks a source for the bundles attached to a release. Where nothing can be signed there are none.
func (a *Applier) attestations(ctx context.Context, s lock.Skill) ([][]byte, error) {
	if !CanBeSigned(s) {
		return nil, nil
	}
	if s.Source == "registry" {
		return a.Registry.Attestations(ctx, s)
	}
	list, err := a.OCI.Referrers(ctx, s)
	bundles := make([][]byte, len(list))
	for i, a := range list {
		bundles[i] = a.Bundle
	}
	return bundles, err
}

// A judged release: what its signatures say.
type judged struct {
	verdict  attest.Verdict
	required bool
	accepted bool // this user took it without a signature; looked up only if the lock says that somebody did
	bundles  [][]byte
}

// judge verifies the signatures of one release with what fetch gives. It fetches nothing when
// nobody is trusted.
func (a *Applier) judge(s lock.Skill, fetch func() ([][]byte, error)) (judged, error) {
	namespace := namespaceOf(s)
	t, err := a.trustFor(namespace)
	if err != nil {
		return judged{}, err
	}
	j := judged{required: t.required, verdict: attest.Verdict{State: attest.Skipped, Code: attest.NoTrust, Reason: "no signer of " + namespace + " is known"}}
	if s.Unsigned {
		if j.accepted, err = a.AcceptedUnsigned(s); err != nil {
			return judged{}, err
		}
	}
	if !CanBeSigned(s) {
		j.verdict = attest.Verdict{State: attest.Unsigned, Code: attest.NoBundle, Reason: "releases from " + s.Source + " are not signed"}
		j.required = j.required && s.Source != "embedded" // what comes with skl is as good as skl
		return j, nil
	}
	if t.verifier == nil {
		return j, nil
	}
	if j.bundles, err = fetch(); err != nil {
		return judged{}, err
	}
	j.verdict = t.verifier.Verify(j.bundles, SubjectOf(s))
	if s.Signer != nil && j.verdict.State == attest.Verified && j.verdict.Signer.Lock() != *s.Signer {
		// Several may have signed it. Who the lock names is looked for among all of them.
		for _, b := range j.bundles {
			if v := t.verifier.Verify([][]byte{b}, SubjectOf(s)); v.State == attest.Verified && v.Signer.Lock() == *s.Signer {
				j.verdict = v
			}
		}
	}
	return j, nil
}

// checkSignatures verifies the releases of next that were chosen anew, records who signed
// them, and keeps the signatures for verify. A bad or missing signature, where one is
// wanted, and another signer than before are refused. What was kept from old is checked as ci does.
func (a *Applier) checkSignatures(ctx context.Context, next, old *lock.Lock, o signatureOptions) error {
	var todo, again []lock.Skill
	for _, s := range next.Skills {
		if before, ok := old.Skill(s.Name); !ok || !before.SameRelease(s) || o.chosen(s.Name) {
			todo = append(todo, s)
		} else if !o.lockOnly {
			again = append(again, s)
		}
	}
	results := make([]judged, len(todo))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, s := range todo {
		g.Go(func() (err error) {
			results[i], err = a.judge(s, func() ([][]byte, error) { return a.attestations(gctx, s) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range todo {
		s := &todo[i]
		before, _ := old.Skill(s.Name)
		o := o
		if sure, err := a.AcceptedUnsigned(*s); err != nil {
			return err
		} else if sure {
			o.allowUnsigned = true
		}
		if err := decide(s, before, results[i], o); err != nil {
			return err
		}
		next.Set(*s)
	}
	if err := a.checkLocked(ctx, again, checking{keep: !o.dry, allowUnsigned: o.allowUnsigned}); err != nil || o.dry {
		return err
	}
	for i, s := range todo {
		if err := a.keepSignatures(s, results[i].bundles); err != nil {
			return err
		}
	}
	return a.AcceptUnsigned(slices.DeleteFunc(todo, func(s lock.Skill) bool { return !s.Unsigned }))
}

// signatureOptions are what a person decided on the command line.
type signatureOptions struct {
	allowUnsigned bool
	accept        []string
	dry           bool
	lockOnly      bool                   // nothing is going to be installed
	chosen        func(name string) bool // the entry was not kept from the old lock
}

// decide records the verdict in s, or refuses it. before is what was installed, the zero Skill if nothing.
func decide(s *lock.Skill, before lock.Skill, j judged, o signatureOptions) error {
	pinned := before.Signer
	s.Signer, s.Unsigned = nil, false
	switch j.verdict.State {
	case attest.Verified:
		signer := j.verdict.Signer.Lock()
		if pinned != nil {
			if same, changed := attest.Same(*pinned, signer); !same && !slices.Contains(o.accept, permSigner) {
				return diag.New(diag.Refused, "E_SIGNER_CHANGED", "%s@%s is signed by %s, and what is installed by somebody else: %s", s.Name, s.Version, j.verdict.Signer, changed).
					Hint("if that is right: add --accept %s", permSigner)
			}
		}
		s.Signer = &signer
		return nil
	case attest.Failed:
		return j.verdict.Err(s.Name + "@" + s.Version)
	case attest.Skipped:
		if pinned == nil {
			return nil
		}
		if before.SameRelease(*s) {
			s.Signer = pinned // nothing new was chosen, so nothing new has to be believed
			return nil
		}
		return diag.New(diag.Refused, "signature_no_trust", "%s was signed by %s, and now no signer is known to check %s with", s.Name, lockedSigner(pinned), s.Version).
			Hint("add [[signer]] to config.toml with its key or identity")
	}
	if !j.required && pinned == nil {
		return nil
	}
	if !o.allowUnsigned {
		return j.verdict.Err(s.Name + "@" + s.Version).(*diag.Error).Hint("to accept it all the same, which is recorded: add --allow-unsigned")
	}
	s.Unsigned = true
	return nil
}

func lockedSigner(s *lock.Signer) string {
	if s == nil {
		return ""
	}
	return attest.Signer{Issuer: s.Issuer, Identity: s.Identity, Repository: s.Repository, Ref: s.Ref, Runner: s.Runner, Key: s.Key}.String()
}

// kept is the file that holds the signatures of a manifest.
func (a *Applier) kept(s lock.Skill) string {
	_, sum, _ := strings.Cut(string(s.Manifest), ":")
	return filepath.Join(a.Dirs.Data, "signatures", sum+".json")
}

// keepSignatures writes the bundles of a release, if there are any, where verify finds them without a network.
func (a *Applier) keepSignatures(s lock.Skill, bundles [][]byte) error {
	if len(bundles) == 0 {
		return nil
	}
	raw := make([]json.RawMessage, len(bundles))
	for i, b := range bundles {
		raw[i] = b
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	path := a.kept(s)
	if err := a.MkdirPrivate(filepath.Dir(path)); err != nil {
		return err
	}
	// It is a copy that is verified whenever it is read; one that a crash tore is fetched again. So it is not synced.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600) // earlier versions of skl wrote it for everybody
}

// keptSignatures reads them back; nil if there are none that can be read.
func (a *Applier) keptSignatures(s lock.Skill) ([][]byte, error) {
	text, err := os.ReadFile(a.kept(s))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var raw []json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		return nil, nil
	}
	bundles := make([][]byte, len(raw))
	for i, b := range raw {
		bundles[i] = b
	}
	return bundles, nil
}

// recheck verifies a locked release again: its signatures and the proof of its registry's log. It never
// trusts the lock alone. Signatures are those that were kept, and unless skl is offline those of the source where
// the kept ones do not do; with keep, they replace them.
func (a *Applier) recheck(ctx context.Context, s lock.Skill, keep bool) (judged, error) {
	if s.Source == "registry" {
		if err := a.Registry.VerifyLog(ctx, s, keep && !a.Offline()); err != nil {
			return judged{}, err
		}
	}
	j, err := a.judge(s, func() ([][]byte, error) { return a.keptSignatures(s) })
	if err != nil {
		return judged{}, err
	}
	if CanBeSigned(s) && (j.verdict.State == attest.Unsigned || j.verdict.State == attest.Failed) {
		if j, err = a.recheckSource(ctx, s, j, keep); err != nil {
			return judged{}, err
		}
	}
	if s.Signer == nil || j.verdict.State != attest.Verified {
		return j, nil
	}
	if now := j.verdict.Signer.Lock(); now != *s.Signer {
		same, changed := attest.Same(*s.Signer, now)
		if same {
			changed = fmt.Sprintf("the certificate says %q %q, the lock %q %q", now.Identity, now.Ref, s.Signer.Identity, s.Signer.Ref)
		}
		return j, diag.New(diag.Refused, "E_SIGNER_CHANGED", "%s@%s is signed by %s, not by whom skl.lock names: %s", s.Name, s.Version, j.verdict.Signer, changed)
	}
	return j, nil
}

// recheckSource judges s by what its source has now. kept is the verdict of what was kept, which was no good.
func (a *Applier) recheckSource(ctx context.Context, s lock.Skill, kept judged, keep bool) (judged, error) {
	none := kept.verdict.State == attest.Unsigned
	if a.Offline() {
		if none && kept.bad(s) != nil {
			return judged{}, diag.New(diag.Refused, "signature_offline", "the signature of %s@%s is not on this machine, and skl is offline", s.Name, s.Version).
				Hint("skl ci, once with a network, keeps it")
		}
		return kept, nil
	}
	now, err := a.judge(s, func() ([][]byte, error) { return a.attestations(ctx, s) })
	switch {
	case err != nil && none:
		return judged{}, err
	case err != nil:
		return kept, nil
	case keep && now.verdict.State == attest.Verified:
		err = a.keepSignatures(s, now.bundles)
	}
	return now, err
}

// bad is the refusal that follows from what recheck found, nil if there is none. What the lock says of signers
// and decisions has to be what was found; where it says less, or more, it is refused.
func (j judged) bad(s lock.Skill) error {
	what := s.Name + "@" + s.Version
	switch {
	case j.verdict.State == attest.Failed:
		return j.verdict.Err(what)
	case s.Unsigned && (j.verdict.State == attest.Verified || s.Signer != nil):
		return diag.New(diag.Refused, codeUnsigned, "skl.lock says that %s was taken without a signature, and also or in truth it is signed", what).
			Hint("to choose it anew: skl lock --upgrade %s", s.Name)
	case s.Unsigned && !j.accepted:
		return diag.New(diag.Refused, codeUnsigned, "skl.lock says that somebody took %s without a signature; on this machine nobody did", what).
			Hint("to take it here, too: skl ci --allow-unsigned")
	case j.verdict.State == attest.Unsigned && !s.Unsigned && (j.required || s.Signer != nil):
		return j.verdict.Err(what)
	case j.verdict.State == attest.Verified && s.Signer == nil:
		return diag.New(diag.Refused, "E_SIGNER_CHANGED", "%s is signed by %s, and skl.lock names no signer", what, j.verdict.Signer).
			Hint("if nobody removed it, to record it: skl lock --upgrade %s", s.Name)
	}
	return nil
}

// codeUnsigned is the code of a lock that says of a release that somebody took it without a signature.
const codeUnsigned = "E_LOCK_UNSIGNED"

// checking is how releases are checked that are about to be installed as they are locked.
type checking struct {
	keep          bool // write what was learned: signatures, the heads of logs
	allowUnsigned bool // the person takes here what skl.lock says was taken without a signature
}

// checkLocked is recheck for releases that are about to be installed as they are locked.
func (a *Applier) checkLocked(ctx context.Context, skills []lock.Skill, c checking) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	taken, unchecked := make([]bool, len(skills)), make([]bool, len(skills))
	for i, s := range skills {
		g.Go(func() error {
			j, err := a.recheck(gctx, s, c.keep)
			if err != nil {
				return err
			}
			taken[i] = s.Unsigned && !j.accepted && c.allowUnsigned
			j.accepted = j.accepted || taken[i]
			unchecked[i] = s.Signer != nil && j.verdict.State == attest.Skipped
			return j.bad(s)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var accept []lock.Skill
	for i, s := range skills {
		if unchecked[i] {
			a.Tell.Warn("the signer of %s was not checked: no signer is configured for %s", s.Name, namespaceOf(s))
		}
		if taken[i] {
			accept = append(accept, s)
		}
	}
	if !c.keep {
		return nil
	}
	return a.AcceptUnsigned(accept)
}
