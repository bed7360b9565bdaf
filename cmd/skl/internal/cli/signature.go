package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// permSigner accepts that a skill is signed by somebody else than before.
const permSigner = "signer"

// canBeSigned reports whether releases of this source can carry signatures.
func canBeSigned(s lock.Skill) bool { return s.Source == "registry" || s.Source == "oci" }

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
func (w *world) trustFor(namespace string) (trust, error) {
	w.trusts.mu.Lock()
	defer w.trusts.mu.Unlock()
	if t, ok := w.trusts.made[namespace]; ok {
		return t, nil
	}
	t, err := w.makeTrust(namespace)
	if err == nil {
		if w.trusts.made == nil {
			w.trusts.made = map[string]trust{}
		}
		w.trusts.made[namespace] = t
	}
	return t, err
}

func (w *world) makeTrust(namespace string) (trust, error) {
	var t trust
	var believed attest.Trust
	roots := map[string]bool{}
	for _, s := range w.config.Signers {
		if !s.Wants(namespace) {
			continue
		}
		t.required = t.required || s.Required
		if err := w.believe(&believed, s); err != nil {
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
func (w *world) believe(t *attest.Trust, s config.Signer) error {
	read := func(path string) ([]byte, error) {
		text, err := os.ReadFile(absolute(filepath.Dir(w.configPath()), path))
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

// subjectOf is what a signature of s has to be about, and the namespace whose signers count.
func subjectOf(s lock.Skill) (subject attest.Subject, namespace string) {
	subject = attest.Subject{Digest: s.Manifest}
	if v, err := semver.StrictNewVersion(s.Version); err == nil && !strings.HasPrefix(v.Original(), "0.0.0-") {
		subject.Version = s.Version
	}
	text := s.Ref
	if s.Source == "oci" {
		text = s.URL
	}
	r, err := ref.Parse(text)
	if err != nil {
		return subject, ""
	}
	if r.Kind == ref.OCI {
		// The path is not part of what was signed: OCI artifacts are mirrored below other paths, and
		// the digest says which bytes are meant.
		return subject, strings.TrimSuffix(r.Host+"/"+r.Owner, "/")
	}
	subject.Name = r.Owner + "/" + r.Repo
	return subject, r.Owner
}

// attestations asks a source for the bundles attached to a release.
func (w *world) attestations(ctx context.Context, s lock.Skill) ([][]byte, error) {
	if s.Source == "registry" {
		return w.registry.Attestations(ctx, s)
	}
	list, err := w.oci.Referrers(ctx, s)
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
	bundles  [][]byte
}

// judge verifies the signatures of one release with what fetch gives. It fetches nothing when
// nobody is trusted.
func (w *world) judge(s lock.Skill, fetch func() ([][]byte, error)) (judged, error) {
	subject, namespace := subjectOf(s)
	t, err := w.trustFor(namespace)
	if err != nil {
		return judged{}, err
	}
	j := judged{required: t.required, verdict: attest.Verdict{State: attest.Skipped, Code: attest.NoTrust, Reason: "no signer of " + namespace + " is known"}}
	if t.verifier == nil {
		return j, nil
	}
	if j.bundles, err = fetch(); err != nil {
		return judged{}, err
	}
	j.verdict = t.verifier.Verify(j.bundles, subject)
	return j, nil
}

// checkSignatures verifies the releases of next that old does not have, records who signed
// them, and keeps the signatures for verify. A bad or missing signature, where one is
// wanted, and another signer than before are refused. What old has, and the root does not, is checked as ci does.
func (w *world) checkSignatures(ctx context.Context, next, old *lock.Lock, have map[string]install.Have, o signatureOptions) error {
	var todo, again []lock.Skill
	for _, s := range next.Skills {
		if !canBeSigned(s) {
			continue
		}
		if before, ok := old.Skill(s.Name); !ok || before.Manifest != s.Manifest || before.URL != s.URL {
			todo = append(todo, s)
		} else if h := have[s.Name]; !o.lockOnly && (!h.Present || !h.Managed || h.Receipt.Tree != s.Tree || h.Receipt.Manifest != s.Manifest) {
			again = append(again, s)
		}
	}
	results := make([]judged, len(todo))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, s := range todo {
		g.Go(func() (err error) {
			results[i], err = w.judge(s, func() ([][]byte, error) { return w.attestations(gctx, s) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, s := range todo {
		before, _ := old.Skill(s.Name)
		if err := decide(&s, before, results[i], o); err != nil {
			return err
		}
		next.Set(s)
	}
	if err := w.checkLocked(ctx, again, !o.dry); err != nil || o.dry {
		return err
	}
	for i, s := range todo {
		if err := w.keepSignatures(s, results[i].bundles); err != nil {
			return err
		}
	}
	return nil
}

// signatureOptions are what a person decided on the command line.
type signatureOptions struct {
	allowUnsigned bool
	accept        []string
	dry           bool
	lockOnly      bool // nothing is going to be installed
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
func (w *world) kept(s lock.Skill) string {
	_, sum, _ := strings.Cut(s.Manifest, ":")
	return filepath.Join(w.dirs.data, "signatures", sum+".json")
}

// keepSignatures writes the bundles of a release, if there are any, where verify finds them without a network.
func (w *world) keepSignatures(s lock.Skill, bundles [][]byte) error {
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
	path := w.kept(s)
	if err := w.private(filepath.Dir(path)); err != nil {
		return err
	}
	// It is a copy that is verified whenever it is read; one that a crash tore is fetched again. So it is not synced.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600) // earlier versions of skl wrote it for everybody
}

// keptSignatures reads them back; nil if there are none that can be read.
func (w *world) keptSignatures(s lock.Skill) ([][]byte, error) {
	text, err := os.ReadFile(w.kept(s))
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
func (w *world) recheck(ctx context.Context, s lock.Skill, keep bool) (judged, error) {
	if !canBeSigned(s) {
		return judged{verdict: attest.Verdict{State: attest.Unsigned, Code: attest.NoBundle}}, nil
	}
	if s.Source == "registry" {
		if err := w.registry.VerifyLog(ctx, s); err != nil {
			return judged{}, err
		}
	}
	j, err := w.judge(s, func() ([][]byte, error) { return w.keptSignatures(s) })
	if err != nil {
		return judged{}, err
	}
	if j.verdict.State == attest.Unsigned || j.verdict.State == attest.Failed {
		if j, err = w.recheckSource(ctx, s, j, keep); err != nil {
			return judged{}, err
		}
	}
	if s.Signer == nil || j.verdict.State != attest.Verified {
		return j, nil
	}
	if same, changed := attest.Same(*s.Signer, j.verdict.Signer.Lock()); !same {
		return j, diag.New(diag.Refused, "E_SIGNER_CHANGED", "%s@%s is signed by %s, not by whom skl.lock names: %s", s.Name, s.Version, j.verdict.Signer, changed)
	}
	return j, nil
}

// recheckSource judges s by what its source has now. kept is the verdict of what was kept, which was no good.
func (w *world) recheckSource(ctx context.Context, s lock.Skill, kept judged, keep bool) (judged, error) {
	none := kept.verdict.State == attest.Unsigned
	if w.offline() {
		if none && kept.bad(s) != nil {
			return judged{}, diag.New(diag.Refused, "signature_offline", "the signature of %s@%s is not on this machine, and skl is offline", s.Name, s.Version).
				Hint("skl ci, once with a network, keeps it")
		}
		return kept, nil
	}
	now, err := w.judge(s, func() ([][]byte, error) { return w.attestations(ctx, s) })
	switch {
	case err != nil && none:
		return judged{}, err
	case err != nil:
		return kept, nil
	case keep && now.verdict.State == attest.Verified:
		err = w.keepSignatures(s, now.bundles)
	}
	return now, err
}

// bad is the refusal that follows from what recheck found, nil if there is none.
func (j judged) bad(s lock.Skill) error {
	switch {
	case j.verdict.State == attest.Failed:
		return j.verdict.Err(s.Name + "@" + s.Version)
	case j.verdict.State == attest.Unsigned && canBeSigned(s) && !s.Unsigned && (j.required || s.Signer != nil):
		return j.verdict.Err(s.Name + "@" + s.Version)
	}
	return nil
}

// checkLocked is recheck for releases that are about to be installed as they are locked.
func (w *world) checkLocked(ctx context.Context, skills []lock.Skill, keep bool) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, s := range skills {
		g.Go(func() error {
			j, err := w.recheck(gctx, s, keep)
			if err != nil {
				return err
			}
			return j.bad(s)
		})
	}
	return g.Wait()
}
