package signature

import (
	"cmp"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A trust is whom this user believes about the releases of one namespace.
type trust struct {
	verifier *attest.Verifier // nil when no signer is configured
	required bool
	git      bool // somebody is trusted to sign commits and tags
	oms      bool // somebody is trusted to sign the files of a skill
}

// trusts makes each trust once.
type trusts struct {
	mu       sync.Mutex // guards all of this, and Judge.proven
	made     map[string]trust
	compared func(*lock.Skill) bool // releases whose files were compared with their source
}

// trustFor is the trust of a namespace, "acme" or "host/acme".
func (a *Judge) trustFor(namespace string) (trust, error) {
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

func (a *Judge) makeTrust(namespace string) (trust, error) {
	var t trust
	var believed attest.Trust
	roots := map[string]bool{}
	for _, s := range a.scope.Config.Signers {
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
func (a *Judge) believe(t *attest.Trust, s config.Signer) error {
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

// NamespaceOf is the namespace whose signers count for s. It is that of the ref, whatever source the release comes from:
// "acme" of acme/pdf, "ghcr.io/acme" of oci://ghcr.io/acme/pdf, "git.example/acme" of a clone URL. A folder has none, so that
// only the signers of "*" count.
func NamespaceOf(s lock.Skill) string {
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

// Known says whether this user knows signers of the namespace of s, and requires one.
func (a *Judge) Known(s lock.Skill) (known, required bool, err error) {
	t, err := a.trustFor(NamespaceOf(s))
	return t.verifier != nil, t.required, err
}

// Names are the signers of s that its bundles, which are judged already, prove: identities, and keys as "key:FINGERPRINT". Several may have signed it.
func (a *Judge) Names(s lock.Skill, j *Found) (names []string, err error) {
	t, err := a.trustFor(NamespaceOf(s))
	if err != nil {
		return nil, err
	}
	if s.Tree == "" {
		s.Tree = j.Tree
	}
	for _, b := range j.Bundles {
		v := t.verifier.Verify([][]byte{b}, SubjectOf(s))
		if v.State == attest.Verified && v.Signer.Key != "" {
			names = append(names, "key:"+v.Signer.Key)
		} else if v.State == attest.Verified {
			names = append(names, v.Signer.Identity)
		}
	}
	return names, nil
}
