package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"time"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/registry"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// permSigner accepts that a skill is signed by somebody else than before.
const permSigner = "signer"

// CanBeSigned reports whether a release carries signatures, or could: one of git does if its entry names who signed it.
//
//go:noinline
func CanBeSigned(s lock.Skill) bool {
	return s.Source == "registry" || s.Source == "oci" || s.Source == "git" && s.Signer != nil
}

// signable reports whether signatures of a release are looked for: in git, where somebody is trusted to sign there, or is said to have.
func (a *Applier) signable(s lock.Skill) (bool, error) {
	if s.Source != "git" || CanBeSigned(s) {
		return CanBeSigned(s), nil
	}
	t, err := a.trustFor(namespaceOf(s))
	return t.git || t.oms, err
}

// A trust is whom this user believes about the releases of one namespace.
type trust struct {
	verifier *attest.Verifier // nil when no signer is configured
	required bool
	git      bool // somebody is trusted to sign commits and tags
	oms      bool // somebody is trusted to sign the files of a skill
}

// trusts makes each trust once.
type trusts struct {
	mu       sync.Mutex // guards all of this, and Applier.proven
	made     map[string]trust
	compared func(*lock.Skill) bool // releases whose files were compared with their source
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
			roots[scope.Absolute(filepath.Dir(s.File), s.TrustedRoot)] = true
		}
	}
	if len(roots) > 1 {
		return trust{}, diag.New(diag.Failed, "config_invalid", "the signers of %s name different trusted roots; one namespace has one", namespace)
	}
	t.git = len(believed.SSH) > 0
	t.oms = len(believed.OMS) > 0
	if len(believed.Keys)+len(believed.Identities) == 0 && !t.git && !t.oms {
		return t, nil
	}
	var err error
	t.verifier, err = attest.NewVerifier(believed)
	return t, err
}

// believe adds a configured signer, which names one file. Paths are relative to the file that names it.
func (a *Applier) believe(t *attest.Trust, s config.Signer) error {
	file := cmp.Or(s.Key, s.OMS, s.Allowed, s.TrustedRoot)
	text, err := os.ReadFile(scope.Absolute(filepath.Dir(s.File), file))
	if err != nil {
		return diag.New(diag.Failed, "config_invalid", "the signer of %s: %w", s.Namespace, err)
	}
	switch {
	case s.Key != "":
		var key attest.PublicKey
		key, err = attest.ParsePublic(text)
		t.Keys = append(t.Keys, key)
	case s.OMS != "":
		var signers attest.OMSSigners
		signers, err = attest.ParseOMSSigners(text, s.Identity, time.Now())
		t.OMS = append(t.OMS, signers)
	case s.Allowed != "":
		var allowed []attest.AllowedSigner
		allowed, err = attest.ParseAllowedSigners(text)
		t.SSH = append(t.SSH, attest.SSHSigners{Allowed: allowed, Pattern: s.Identity})
	default:
		t.Root, err = attest.ParseRoot(text)
		t.Identities = append(t.Identities, attest.Identity{Issuer: s.Issuer, Pattern: s.Identity})
	}
	if err != nil {
		return diag.New(diag.Failed, "config_invalid", "the signer of %s: %s: %w", s.Namespace, file, err)
	}
	return nil
}

// SubjectOf is what a signature of s has to be about.
func SubjectOf(s lock.Skill) attest.Subject {
	subject := attest.Subject{Digest: string(s.Manifest), Tree: string(s.Tree)}
	if v, err := semver.StrictNewVersion(s.Version); err == nil && !strings.HasPrefix(v.Original(), "0.0.0-") {
		subject.Version = s.Version
	}
	if s.Source == "git" {
		subject.Digest, subject.Tags = attest.GitDigest+string(s.Commit), tagsOf(s, subject.Version)
	}
	// The path of an OCI artifact is not part of what was signed: they are mirrored below other paths, and
	// the digest says which bytes are meant.
	if r, err := ref.Parse(s.Ref); err == nil && r.Kind == ref.Name {
		subject.Name = r.Owner + "/" + r.Repo
	}
	return subject
}

// tagsOf are the names that a signed tag of the release s may have: those of its version, and the one that its ref names.
func tagsOf(s lock.Skill, version string) (tags []string) {
	if version != "" {
		tags = git.TagsOf(s.Name, version)
	}
	if r, err := ref.Parse(s.Ref); err == nil && s.RefKind == lock.Tag && r.Version != "" {
		tags = append(tags, r.Version)
	}
	return tags
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

// evidence is what there is of signatures of a release.
type evidence struct {
	bundles [][]byte
	tree    bundle.Digest // of the files, where they were looked at for a signature
}

// attestations asks a source for the bundles attached to a release. Where nothing can be signed there are none.
func (a *Applier) attestations(ctx context.Context, s lock.Skill) (out evidence, err error) {
	if can, err := a.signable(s); err != nil || !can {
		return out, err
	}
	t, err := a.trustFor(namespaceOf(s))
	if err != nil {
		return out, err
	}
	switch {
	case s.Source == "git" && t.git:
		out.bundles, err = a.Git.Signed(ctx, s, SubjectOf(s).Tags)
	case s.Source == "registry":
		out.bundles, err = a.Registry.Attestations(ctx, s)
	case s.Source == "oci":
		list, oerr := a.OCI.Referrers(ctx, s)
		for i := range list {
			out.bundles = append(out.bundles, list[i].Bundle)
		}
		err = oerr
	}
	if err != nil || !t.oms {
		return out, err
	}
	files, err := a.ReleaseTree(ctx, s)
	if err != nil {
		return out, err
	}
	entries := make([]bundle.Entry, 0, len(files))
	for path, f := range files {
		entries = append(entries, bundle.Entry{Path: path, Kind: f.Kind, SHA256: sha256.Sum256(f.Data)})
	}
	out.tree = bundle.TreeDigest(entries)
	if f, ok := files[attest.OMSFile]; ok && f.Kind != bundle.Link {
		signed, err := attest.OMSEvidence(f.Data, entries)
		if err != nil {
			return out, err
		}
		out.bundles = append(out.bundles, signed)
	}
	return out, nil
}

// A judged release: what its signatures say.
type judged struct {
	verdict  attest.Verdict
	required bool
	accepted bool // this user took it without a signature; looked up only if the lock says that somebody did
	bundles  [][]byte
	tree     bundle.Digest // of the files that were looked at for a signature, "" if they were not

	pin       *scope.Pin      // who signed it before on this machine; nil on first use
	claims    []attest.Signer // whom the signatures name, where nobody is known to check them with
	revoked   attest.Signer   // whose signature it is, if the verdict is that this one was revoked
	continues bool            // one of those who signed it is pinned, or nobody is
	unasked   bool            // nobody is trusted to sign in git, so no signature was looked for there
}

// judge verifies the signatures of one release with what fetch gives. It fetches nothing when
// nobody is trusted.
func (a *Applier) judge(s lock.Skill, fetch func() (evidence, error)) (judged, error) {
	namespace := namespaceOf(s)
	t, err := a.trustFor(namespace)
	if err != nil {
		return judged{}, err
	}
	can, err := a.signable(s)
	if err != nil {
		return judged{}, err
	}
	j := judged{required: t.required, continues: true, verdict: attest.Verdict{State: attest.Skipped, Code: attest.NoTrust, Reason: "no signer of " + namespace + " is known"}}
	if s.Unsigned || s.Signer == nil && can {
		if j.accepted, err = a.AcceptedUnsigned(s); err != nil {
			return judged{}, err
		}
	}
	if !can {
		j.verdict = attest.Verdict{State: attest.Unsigned, Code: attest.NoBundle, Reason: "releases from " + s.Source + " are not signed"}
		j.required = j.required && s.Source != "embedded" // what comes with skl is as good as skl
		if s.Source == "git" {
			j.unasked = true
			j.verdict.Reason = "no [[signer]] says who signs commits, tags or files of " + namespace
		}
		return j, nil
	}
	if j.pin, err = a.pin(&s); err != nil {
		return j, err
	}
	if t.verifier == nil {
		if j.pin != nil && !j.pin.Unchecked {
			return j, nil
		}
		found, err := fetch()
		if err != nil && j.pin == nil && diag.ClassOf(err) != diag.Refused && !errors.Is(err, context.Canceled) {
			err = nil // nothing is pinned then
		}
		j.bundles = found.bundles
		j.claims = attest.Claims(j.bundles)
		if j.pin == nil {
			return j, err
		}
		at := j.claimed()
		if j.continues = at >= 0; j.continues && j.pin.State == scope.Revoked {
			j.revoked = j.claims[at]
			j.verdict = revoked(j.pin)
		}
		return j, err
	}
	found, err := fetch()
	if err != nil {
		return judged{}, err
	}
	if j.bundles, j.tree = found.bundles, found.tree; s.Tree == "" {
		s.Tree = j.tree // those that its pin names
	}
	if j.verdict = t.verifier.Verify(j.bundles, SubjectOf(s)); j.verdict.State == attest.Verified {
		j.choose(t.verifier, &s)
	}
	return j, nil
}

// claimed is the index of the claim that continues the pin, -1 if none does.
func (j *judged) claimed() int {
	return slices.IndexFunc(j.claims, func(s attest.Signer) bool { return continues(lock.Signer(j.pin.Signer), s.Lock()) })
}

// uncheckedChange is the refusal of a release that names other signers than the one that is pinned, where nobody is known to check
// them with; nil if there is no change.
func (j *judged) uncheckedChange(s *lock.Skill) *diag.Error {
	if j.verdict.State != attest.Skipped || j.pin == nil || !j.pin.Unchecked || j.continues {
		return nil
	}
	was := signerOf(j.pin)
	if len(j.claims) == 0 {
		err := diag.New(diag.Refused, "signature_no_signature", "%s is not signed, and an earlier release was", release(s))
		err.Message += sides(was, "no signature")
		return err
	}
	return changedSigner(s, was, j.claims[0].Lock(), "what this machine first used of it")
}

// checkSignatures verifies the releases of list that were chosen anew, records in them who signed
// them, and keeps the signatures for verify. A bad or missing signature, where one is
// wanted, and another signer than before are refused. What was kept from old is checked as ci does. The errors are those of list, in its order;
// the last one is of none of them.
func (a *Applier) checkSignatures(ctx context.Context, list []lock.Skill, old *lock.Lock, o signatureOptions) ([]error, error) {
	errs := make([]error, len(list))
	var todo, again []int
	for i, s := range list {
		if before, ok := old.Skill(s.Name); !ok || !before.SameRelease(s) || o.chosen(s.Name) {
			todo = append(todo, i)
		} else if !o.lockOnly {
			again = append(again, i)
		}
	}
	results := make([]judged, len(list))
	var g errgroup.Group
	g.SetLimit(8)
	for _, i := range todo {
		g.Go(func() error {
			results[i], errs[i] = a.judge(list[i], func() (evidence, error) { return a.attestations(ctx, list[i]) })
			return nil
		})
	}
	if g.Wait(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, i := range todo {
		if errs[i] == nil {
			errs[i] = a.decide(&list[i], old, results[i], o)
		}
	}
	kept, locked := make([]lock.Skill, len(again)), []error(nil)
	for n, i := range again {
		kept[n] = list[i]
	}
	locked, err := a.checkLocked(ctx, kept, checking{keep: !o.dry, allowUnsigned: o.allowUnsigned})
	if err != nil {
		return nil, err
	}
	for n, i := range again {
		errs[i] = locked[n]
	}
	if o.dry {
		return errs, nil
	}
	var unsigned []lock.Skill
	for _, i := range todo {
		if errs[i] != nil {
			continue
		}
		if err := a.keepSignatures(list[i], results[i].bundles); err != nil {
			return nil, err
		}
		if list[i].Unsigned {
			unsigned = append(unsigned, list[i])
		}
	}
	return errs, a.AcceptUnsigned(unsigned)
}

// decide records in s what was judged of it, or refuses it.
func (a *Applier) decide(s *lock.Skill, old *lock.Lock, j judged, o signatureOptions) error {
	before, _ := old.Skill(s.Name)
	sure, err := a.AcceptedUnsigned(*s)
	if err != nil {
		return err
	}
	o.allowUnsigned = o.allowUnsigned || sure
	if err := decide(s, before, j, o); err != nil {
		return err
	}
	if v := &j.verdict; v.Code == attest.NotChecked && !s.Unsigned {
		a.Tell.Warn("%s counts as unsigned: %s", release(s), v.Reason)
	}
	a.claim(*s, j)
	return nil
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
	pinned, here := before.Signer, signerOf(j.pin)
	if pinned == nil {
		pinned = here
	}
	s.Signer, s.Unsigned = nil, false
	switch j.verdict.State {
	case attest.Verified:
		signer := PinOf(j.verdict)
		what := "what is installed"
		if here != nil && j.continues && j.pin.State == scope.Accepted {
			pinned = nil // this user did that
		} else if !j.continues && (before.Signer == nil || continues(*before.Signer, signer)) {
			pinned, what = here, "what this machine first used of it"
		}
		if pinned != nil && !continues(*pinned, signer) && !slices.Contains(o.accept, permSigner) {
			return safeHint(changedSigner(s, pinned, signer, what).Hint("if that is right: add --accept %s", permSigner).Hint("skl trust accept %s", s.Name), before)
		}
		s.Signer = &signer
		return nil
	case attest.Failed:
		err := j.verdict.Err(release(s)).(*diag.Error)
		if before.Name == "" {
			return err.Hint("ask its publisher to sign it, or configure who may: [[signer]] in config.toml")
		}
		return err.Hint("ask its publisher. To stay with %s and hear no more of it: skl update --hold %s --reason TEXT", orNone(before.Version), s.Name)
	case attest.Skipped:
		if err := j.uncheckedChange(s); err != nil {
			switch {
			case len(j.claims) > 0 && slices.Contains(o.accept, permSigner):
				return nil
			case len(j.claims) == 0 && o.allowUnsigned:
				s.Unsigned = true
				return nil
			case len(j.claims) > 0:
				err = err.Hint("if that is right: add --accept %s", permSigner)
			default:
				err = err.Hint("to accept it all the same, which is recorded: add --allow-unsigned")
			}
			return safeHint(err.Hint("skl trust accept %s", s.Name), before)
		}
		if pinned == nil || before.Signer == nil && j.pin.Unchecked {
			return nil
		}
		if before.SameRelease(*s) {
			s.Signer = pinned // nothing new was chosen, so nothing new has to be believed
			return nil
		}
		return noTrust(s, pinned)
	}
	if !j.required && pinned == nil {
		return nil
	}
	if pinned != nil && j.unasked {
		return noTrust(s, pinned)
	}
	if !o.allowUnsigned {
		err := j.verdict.Err(release(s)).(*diag.Error).Hint("to accept it all the same, which is recorded: add --allow-unsigned")
		if j.unasked {
			err = err.Hint("to check its signature: add [[signer]] with allowed_signers or oms to config.toml; skl help guide trust")
		}
		if pinned != nil {
			err.Message += sides(pinned, "no signature")
			err = safeHint(err.Hint("skl trust accept %s", s.Name), before)
		}
		return err
	}
	s.Unsigned = true
	return nil
}

// release is the name of a release with its version, if it has one.
//
//go:noinline
func release(s *lock.Skill) string { return strings.TrimSuffix(s.Name+"@"+s.Version, "@") }

// safeHint adds to a refusal that others can go on without it, if it is that of an update.
func safeHint(err *diag.Error, before lock.Skill) *diag.Error {
	if before.Name == "" {
		return err
	}
	return err.Hint("skl update --safe updates the rest")
}

//go:noinline
func lockedSigner(s *lock.Signer) string {
	if s == nil {
		return ""
	}
	return attest.Signer{Kind: s.Kind, Issuer: s.Issuer, Identity: s.Identity, Repository: s.Repository, Ref: s.Ref, Runner: s.Runner, Key: s.Key}.String()
}

// kept is the file that holds the signatures of a manifest.
func (a *Applier) kept(s lock.Skill) string {
	_, sum, _ := strings.Cut(string(s.Manifest), ":")
	if s.Source == "git" { // one commit has many skills, each with files of its own
		path := sha256.Sum256([]byte(s.Path))
		sum = string(s.Commit) + "-" + hex.EncodeToString(path[:6])
	}
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
func (a *Applier) keptSignatures(s lock.Skill) (out evidence, err error) {
	text, err := os.ReadFile(a.kept(s))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return out, err
	}
	var raw []json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		return out, nil
	}
	for _, b := range raw {
		out.bundles = append(out.bundles, b)
	}
	return out, nil
}

// recheck verifies a locked release again: its signatures and the proof of its registry's log. It never
// trusts the lock alone. Signatures are those that were kept, and unless skl is offline those of the source where
// the kept ones do not do; with keep, they replace them.
func (a *Applier) recheck(ctx context.Context, s lock.Skill, keep bool) (judged, error) {
	var unproven error // unless a signature proves it
	if s.Source == "registry" {
		err := a.Registry.VerifyLog(ctx, s, keep && !a.Offline())
		if errors.Is(err, diag.Code(registry.CodeUnproven)) {
			unproven = err
		} else if err != nil {
			return judged{}, err
		}
	}
	j, err := a.judge(s, func() (evidence, error) { return a.keptSignatures(s) })
	if err != nil {
		return judged{}, err
	}
	can, err := a.signable(s)
	if err != nil {
		return judged{}, err
	}
	if can && (j.verdict.State == attest.Unsigned || j.verdict.State == attest.Failed || j.uncheckedChange(&s) != nil && !s.Unsigned) {
		if j, err = a.recheckSource(ctx, s, j, keep); err != nil {
			return judged{}, err
		}
	}
	if j.verdict.State != attest.Verified && j.bad(s) == nil {
		return j, unproven
	}
	if s.Signer == nil || j.verdict.State != attest.Verified {
		return j, nil
	}
	if now := PinOf(j.verdict); now != *s.Signer {
		same, changed := attest.Same(*s.Signer, now)
		if same {
			changed = fmt.Sprintf("the certificate says %q %q, the lock %q %q", now.Identity, now.Ref, s.Signer.Identity, s.Signer.Ref)
		}
		return j, diag.New(diag.Refused, CodeSignerChanged, "%s is signed by %s, not by whom skl.lock names: %s", release(&s), j.verdict.Signer, changed)
	}
	return j, nil
}

// recheckSource judges s by what its source has now. kept is the verdict of what was kept, which was no good.
func (a *Applier) recheckSource(ctx context.Context, s lock.Skill, kept judged, keep bool) (judged, error) {
	none := kept.verdict.State == attest.Unsigned && kept.verdict.Code == attest.NoBundle || kept.verdict.State == attest.Skipped && len(kept.bundles) == 0
	if a.Offline() {
		if none && kept.bad(s) != nil {
			return judged{}, diag.New(diag.Refused, "signature_offline", "the signature of %s is not on this machine, and skl is offline", release(&s)).
				Hint("skl ci, once with a network, keeps it")
		}
		return kept, nil
	}
	now, err := a.judge(s, func() (evidence, error) { return a.attestations(ctx, s) })
	switch {
	case err != nil && none:
		return judged{}, err
	case err != nil:
		return kept, nil
	case keep && (now.verdict.State == attest.Verified || now.verdict.State == attest.Skipped && now.continues):
		err = a.keepSignatures(s, now.bundles)
	}
	return now, err
}

// bad is the refusal that follows from what recheck found, nil if there is none. What the lock says of signers
// and decisions has to be what was found; where it says less, or more, it is refused.
func (j judged) bad(s lock.Skill) error {
	what := release(&s)
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
	case j.verdict.State == attest.Unsigned && !s.Unsigned && j.pin != nil && !j.accepted:
		err := j.verdict.Err(what).(*diag.Error).Hint("if that is right: skl trust accept %s", s.Name)
		err.Message += sides(signerOf(j.pin), "no signature")
		return err
	case j.uncheckedChange(&s) != nil && !j.accepted:
		return j.uncheckedChange(&s).Hint("if that is right: skl trust accept %s", s.Name)
	case j.verdict.State == attest.Verified && s.Signer == nil:
		return diag.New(diag.Refused, CodeSignerChanged, "%s is signed by %s, and skl.lock names no signer", what, j.verdict.Signer).
			Hint("if nobody removed it, to record it: skl lock --upgrade %s", s.Name)
	case j.verdict.State == attest.Verified && !j.continues:
		return changedSigner(&s, signerOf(j.pin), PinOf(j.verdict), "what this machine first used of it").Hint("if that is right: skl trust accept %s", s.Name)
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

// checkLocked is recheck for releases that are about to be installed as they are locked. The errors are those of skills, in their order; the last
// one is of none of them.
func (a *Applier) checkLocked(ctx context.Context, skills []lock.Skill, c checking) ([]error, error) {
	var g errgroup.Group
	g.SetLimit(8)
	errs, taken, unchecked := make([]error, len(skills)), make([]bool, len(skills)), make([]bool, len(skills))
	for i, s := range skills {
		g.Go(func() error {
			j, err := a.recheck(ctx, s, c.keep)
			if errs[i] = err; err != nil {
				return nil
			}
			taken[i] = s.Unsigned && !j.accepted && c.allowUnsigned
			j.accepted = j.accepted || taken[i]
			unchecked[i] = s.Signer != nil && j.verdict.State == attest.Skipped
			a.claim(s, j)
			errs[i] = j.bad(s)
			return nil
		})
	}
	if g.Wait(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var accept []lock.Skill
	for i, s := range skills {
		if errs[i] != nil {
			continue
		}
		if unchecked[i] {
			a.Tell.Warn("the signer of %s was not checked: no signer is configured for %s", s.Name, namespaceOf(s))
		}
		if taken[i] {
			accept = append(accept, s)
		}
	}
	if !c.keep {
		return errs, nil
	}
	return errs, a.AcceptUnsigned(accept)
}

// first is the first error of several, nil if there is none.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// claim remembers what j found of s until its files were compared. It is called by several at a time.
func (a *Applier) claim(s lock.Skill, j judged) {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	if a.signed == nil {
		a.signed = map[string]lock.Skill{}
	}
	delete(a.named, s.Name)
	switch {
	case len(j.claims) > 0:
		if a.named == nil {
			a.named = map[string]lock.Skill{}
		}
		delete(a.signed, s.Name)
		signer := j.claims[0].Lock()
		if j.pin != nil {
			signer = j.claims[max(j.claimed(), 0)].Lock()
		}
		s.Signer = &signer
		a.named[s.Name] = s
		return
	case j.verdict.State == attest.Verified:
		signer := PinOf(j.verdict)
		s.Signer = &signer
	case s.Unsigned:
		s.Signer = nil
	default:
		delete(a.signed, s.Name)
		return
	}
	a.signed[s.Name] = s
}
