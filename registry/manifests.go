package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// MaxManifest is the largest manifest that is taken, in bytes. The distribution
// specification asks for 4 MiB at least.
const MaxManifest = 4 << 20

// A Pushed manifest was stored.
type Pushed struct {
	Digest  string
	Subject string // digest, when the manifest refers to another
	State   meta.State
	Created bool   // false: it was there already, the same
	Reason  string // why it is not visible, if it is not
}

// A Pulled manifest is served with its notice.
type Pulled struct {
	meta.Manifest
	Warning string // for people: why it should not be used any more, "" if it may
}

// A document is the part of a manifest or index that the registry goes by.
type document struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType"`
	Config       *v1.Descriptor    `json:"config"`
	Layers       []v1.Descriptor   `json:"layers"`
	Blobs        []v1.Descriptor   `json:"blobs"` // artifact manifests of an early draft of the specification
	Manifests    []v1.Descriptor   `json:"manifests"`
	Subject      *v1.Descriptor    `json:"subject"`
	Annotations  map[string]string `json:"annotations"`
}

// parseManifest reads body as what mediaType says and returns the row that it makes, without state.
func parseManifest(repo, mediaType string, digest blob.Digest, body []byte) (meta.Manifest, error) {
	var doc document
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "invalid_manifest", format, args...)
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return meta.Manifest{}, bad("the manifest is not JSON: %w", err)
	}
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.TrimSpace(mediaType)
	switch {
	case mediaType == "":
		mediaType = doc.MediaType
	case doc.MediaType != "" && doc.MediaType != mediaType:
		return meta.Manifest{}, bad("the manifest says it is %s, the request %s", doc.MediaType, mediaType)
	}
	if err := oci.CheckKeys(body); err != nil {
		return meta.Manifest{}, bad("%w", err)
	}
	if err := doc.oneKind(mediaType); err != nil {
		return meta.Manifest{}, err
	}
	if mediaType == "" {
		return meta.Manifest{}, bad("neither the request nor the manifest says its media type")
	}
	m := meta.Manifest{Repo: repo, Digest: digest.String(), MediaType: mediaType, ArtifactType: doc.ArtifactType, Root: digest.String(),
		Annotations: doc.Annotations, Bytes: body, Size: int64(len(body))}
	var descriptors []v1.Descriptor
	if doc.Config != nil {
		descriptors = append(descriptors, *doc.Config)
		if m.ArtifactType == "" {
			m.ArtifactType = doc.Config.MediaType
		}
	}
	for _, d := range append(append(descriptors, doc.Layers...), doc.Blobs...) {
		if _, err := blob.ParseDigest(d.Digest.String()); err != nil {
			return meta.Manifest{}, bad("%w", err)
		}
		if !foreign(d) {
			m.Blobs = append(m.Blobs, d.Digest.String())
		}
	}
	for _, d := range doc.Manifests {
		if _, err := blob.ParseDigest(d.Digest.String()); err != nil {
			return meta.Manifest{}, bad("%w", err)
		}
		m.Manifests = append(m.Manifests, d.Digest.String())
	}
	if doc.Subject != nil {
		if _, err := blob.ParseDigest(doc.Subject.Digest.String()); err != nil {
			return meta.Manifest{}, bad("%w", err)
		}
		m.Subject = doc.Subject.Digest.String()
	}
	return m, nil
}

// oneKind refuses a document that programs take for a manifest or for an index as they like, and
// content in descriptors that is not what they name.
func (doc *document) oneKind(mediaType string) error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "invalid_manifest", format, args...)
	}
	isManifest := mediaType == v1.MediaTypeImageManifest || strings.HasSuffix(mediaType, "docker.distribution.manifest.v2+json")
	isIndex := mediaType == v1.MediaTypeImageIndex || strings.HasSuffix(mediaType, "docker.distribution.manifest.list.v2+json")
	asManifest, asIndex := doc.Config != nil || doc.Layers != nil, doc.Manifests != nil
	switch {
	case asManifest && asIndex:
		return bad("the manifest is also an index")
	case isManifest && asIndex, isIndex && asManifest:
		return bad("the manifest is not of the type that it is sent as, %s", mediaType)
	}
	all := append(append(append([]v1.Descriptor{}, doc.Layers...), doc.Blobs...), doc.Manifests...)
	for _, d := range []*v1.Descriptor{doc.Config, doc.Subject} {
		if d != nil {
			all = append(all, *d)
		}
	}
	for _, d := range all {
		digest, err := blob.ParseDigest(d.Digest.String())
		switch {
		case err != nil:
			return bad("%w", err)
		case d.Size < 0:
			return bad("the size of %s is negative", digest)
		case d.Data != nil && (int64(len(d.Data)) != d.Size || !digest.Names(d.Data)):
			return bad("%s comes with other data than it names", digest)
		}
	}
	return nil
}

// foreign reports whether a layer need not be in the registry: it may not be distributed by it.
func foreign(d v1.Descriptor) bool {
	return strings.Contains(d.MediaType, "nondistributable") || strings.Contains(d.MediaType, ".foreign.") || len(d.URLs) > 0
}

// Manifest finds a manifest by tag or digest.
func (g *Registry) Manifest(ctx context.Context, who Caller, repo, reference string) (p Pulled, err error) {
	if err := auth.CheckRepository(repo); err != nil {
		return Pulled{}, err
	}
	err = g.recall(ctx, func(tx reader) error {
		p.Warning = ""
		a, err := g.readable(ctx, tx, who, repo, "unknown_manifest", "manifest "+reference+" in "+repo)
		if err != nil {
			return err
		}
		p.Manifest, err = g.find(ctx, tx, who, a, repo, reference)
		if err != nil || p.State == meta.Approved {
			return err
		}
		r, rerr := tx.ReleaseByManifest(ctx, repo, p.Root)
		switch {
		case p.State == meta.Blocked:
			return gone(repo+" "+reference, r.Reason)
		case rerr == nil && (p.State == meta.Yanked || p.State == meta.Deprecated):
			p.Warning = strings.TrimSuffix(string(p.State)+": "+r.Reason, ": ")
		case rerr != nil && !errors.Is(rerr, meta.ErrNotFound):
			return rerr
		}
		return nil
	})
	if err != nil {
		return Pulled{}, err
	}
	return p, nil
}

// StatManifest is Manifest for who asks whether it is there. To who may push, one of which a part is lost or known to be damaged is
// not: clients that find the manifest send nothing of what it names.
func (g *Registry) StatManifest(ctx context.Context, who Caller, repo, reference string) (Pulled, error) {
	p, err := g.Manifest(ctx, who, repo, reference)
	if err != nil {
		return Pulled{}, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.access(ctx, tx, who, repo)
		if err != nil || !a.draft {
			return err
		}
		if whole, err := g.whole(ctx, tx, p.Manifest, maxNested); err != nil || !whole {
			return errors.Join(err, g.unknown(who, "unknown_manifest", "manifest %s in %s", reference, repo))
		}
		return nil
	})
	if err != nil {
		return Pulled{}, err
	}
	return p, nil
}

// maxNested is how many manifests of an index are looked at, those of indexes in it among them.
const maxNested = 64

// whole reports whether all that a manifest names is stored, as far as is known.
func (g *Registry) whole(ctx context.Context, tx *meta.Tx, m meta.Manifest, budget int) (bool, error) {
	d, err := blob.ParseDigest(m.Digest)
	if err != nil {
		return false, err
	}
	if !d.Names(m.Bytes) {
		return false, nil
	}
	if m, err = parseManifest(m.Repo, m.MediaType, d, m.Bytes); err != nil {
		return true, nil // it was accepted by other rules; what it names is not known
	}
	for _, text := range m.Blobs {
		d, err := blob.ParseDigest(text)
		if err != nil {
			continue
		}
		size, _, err := tx.Blob(ctx, m.Repo, text)
		if errors.Is(err, meta.ErrNotFound) {
			size, err = -1, nil
		}
		if err != nil {
			return false, err
		}
		if stored, err := g.storedIn(ctx, tx, d, size); err != nil || !stored {
			return false, err
		}
	}
	for _, text := range m.Manifests {
		if budget--; budget < 0 {
			break
		}
		child, err := tx.Manifest(ctx, m.Repo, text)
		if errors.Is(err, meta.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if whole, err := g.whole(ctx, tx, child, budget); err != nil || !whole {
			return whole, err
		}
	}
	return true, nil
}

// find finds a manifest that can be known of with access a; blocked ones are found.
func (g *Registry) find(ctx context.Context, tx reader, who Caller, a access, repo, reference string) (m meta.Manifest, err error) {
	if strings.Contains(reference, ":") {
		m, err = tx.Manifest(ctx, repo, reference)
	} else {
		m, err = tx.ManifestByTag(ctx, repo, reference)
	}
	hidden := err == nil && !m.State.Served() && m.State != meta.Blocked && !a.draft
	if errors.Is(err, meta.ErrNotFound) || hidden {
		err = g.unknown(who, "unknown_manifest", "manifest %s in %s", reference, repo)
	}
	if err != nil {
		return meta.Manifest{}, err
	}
	return m, nil
}

// PutManifest stores a manifest. In a namespace of skills a tag that is a version
// publishes it: see the package comment.
func (g *Registry) PutManifest(ctx context.Context, who Caller, repo, reference, mediaType string, body []byte) (Pushed, error) {
	if err := auth.CheckRepository(repo); err != nil {
		return Pushed{}, err
	}
	if len(body) > MaxManifest {
		return Pushed{}, diag.New(diag.Misuse, "too_large", "a manifest has at most %d bytes", MaxManifest)
	}
	tag := reference
	digest := blob.Sum(blob.SHA256, body)
	if strings.Contains(reference, ":") {
		claimed, err := blob.ParseDigest(reference)
		if err != nil || !claimed.Names(body) {
			return Pushed{}, diag.New(diag.Misuse, "wrong_digest", "the manifest does not have the digest %s", diag.Printable(reference))
		}
		tag, digest = "", claimed
	} else if !validTag(tag) {
		return Pushed{}, diag.New(diag.Misuse, "invalid_name", "%q is not a tag", tag)
	}
	return g.PutManifestAs(ctx, who, repo, tag, mediaType, digest, body)
}

// PutManifestAs is PutManifest of a manifest whose digest was checked, with a tag or without.
func (g *Registry) PutManifestAs(ctx context.Context, who Caller, repo, tag, mediaType string, digest blob.Digest, body []byte) (Pushed, error) {
	m, err := parseManifest(repo, mediaType, digest, body)
	if err != nil {
		return Pushed{}, err
	}
	m.Created = g.now()
	var a access
	err = g.view(ctx, func(tx *meta.Tx) error {
		do := auth.Push
		if m.Subject != "" {
			do = auth.Sign
		}
		a, err = g.writable(ctx, tx, who, repo, do)
		return err
	})
	switch { // each looks again at rights and policy in its transaction
	case err != nil:
		return Pushed{}, err
	case a.ns.Policy.AcceptAny:
		return g.putAny(ctx, who, m, tag)
	case m.Subject != "":
		return g.putReferrer(ctx, who, m, tag)
	}
	return g.putSkill(ctx, who, m, tag)
}

// validTag is the rule of the distribution specification: [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}.
func validTag(s string) bool {
	if len(s) == 0 || len(s) > 128 || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// putAny stores a manifest where any artifact is accepted: visible at once, with tags that move.
func (g *Registry) putAny(ctx context.Context, who Caller, m meta.Manifest, tag string) (Pushed, error) {
	p := Pushed{Digest: m.Digest, Subject: m.Subject, State: meta.Approved}
	m.State = meta.Approved
	err := g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, m.Repo, auth.Push)
		if err == nil && !a.ns.Policy.AcceptAny {
			err = diag.New(diag.Failed, "unavailable", "the policy of %s was changed just now", a.ns.Name)
		}
		if err != nil {
			return err
		}
		if err := g.present(ctx, tx, m); err != nil {
			return err
		}
		_, err = tx.Manifest(ctx, m.Repo, m.Digest)
		p.Created = errors.Is(err, meta.ErrNotFound)
		if err != nil && !p.Created {
			return err
		}
		if p.Created {
			if err := tx.PutManifest(ctx, m); err != nil {
				return err
			}
		}
		if tag != "" {
			if err := tx.PutTag(ctx, m.Repo, tag, m.Digest, m.Created); err != nil {
				return err
			}
		}
		if g.quiet() || !p.Created && tag == "" {
			return nil
		}
		return g.event(ctx, tx, who, "push", m.Repo+"@"+m.Digest, map[string]string{"type": m.ArtifactType, "tag": tag})
	})
	return p, err
}

// present refuses a manifest that names blobs or manifests that its repository does not have, or that are known to be damaged.
func (g *Registry) present(ctx context.Context, tx *meta.Tx, m meta.Manifest) error {
	for _, d := range m.Blobs {
		digest, err := blob.ParseDigest(d)
		if err != nil {
			return err
		}
		size, _, err := tx.Blob(ctx, m.Repo, d)
		stored := false
		if err == nil {
			stored, err = g.storedIn(ctx, tx, digest, size)
		}
		if err != nil && !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		if !stored {
			return diag.New(diag.Misuse, "blob_missing", "the manifest names blob %s, which was not pushed to %s", d, m.Repo)
		}
	}
	for _, d := range m.Manifests {
		if _, err := tx.Manifest(ctx, m.Repo, d); errors.Is(err, meta.ErrNotFound) {
			return diag.New(diag.Misuse, "blob_missing", "the index names manifest %s, which was not pushed to %s", d, m.Repo)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxReferrers bounds what can be attached to one manifest.
const maxReferrers = 256

// putReferrer attaches a signature or another artifact to a manifest. It shares
// the state of what it is attached to. A signature may be what a draft waited for: then the same transaction publishes it.
func (g *Registry) putReferrer(ctx context.Context, who Caller, m meta.Manifest, tag string) (Pushed, error) {
	if tag != "" {
		return Pushed{}, diag.New(diag.Misuse, "denied", "a tag in %s is a version of the skill; push what refers to another manifest by digest", m.Repo)
	}
	if m.ArtifactType == oci.ArtifactReport {
		return Pushed{}, diag.New(diag.Refused, "denied", "reports of an audit are written by the registry itself, so %s cannot be pushed", m.ArtifactType)
	}
	p := Pushed{Digest: m.Digest, Subject: m.Subject}
	err := g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		p.State, p.Created = "", false
		if _, err := g.writable(ctx, tx, who, m.Repo, auth.Sign); err != nil {
			return err
		}
		if err := g.present(ctx, tx, m); err != nil {
			return err
		}
		subject, err := tx.Manifest(ctx, m.Repo, m.Subject)
		if errors.Is(err, meta.ErrNotFound) {
			return diag.New(diag.Misuse, "unknown_manifest", "there is no manifest %s in %s to attach this to", m.Subject, m.Repo)
		}
		if err != nil {
			return err
		}
		if have, err := tx.Manifest(ctx, m.Repo, m.Digest); err == nil {
			p.State, err = g.attached(ctx, tx, who, m, have.State)
			return err
		} else if !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		others, err := tx.Referrers(ctx, m.Repo, m.Subject, "", maxReferrers)
		if err != nil {
			return err
		}
		if len(others) >= maxReferrers {
			return diag.New(diag.Refused, "denied", "%s has %d artifacts attached, which is the limit", m.Subject, maxReferrers)
		}
		m.Root, m.State, p.Created = subject.Root, subject.State, true
		if err := tx.PutManifest(ctx, m); err != nil {
			return err
		}
		if err := g.event(ctx, tx, who, "attach", m.Repo+"@"+m.Subject, map[string]string{"manifest": m.Digest, "type": m.ArtifactType}); err != nil {
			return err
		}
		p.State, err = g.attached(ctx, tx, who, m, subject.State)
		return err
	})
	if err != nil {
		return Pushed{}, err
	}
	return p, nil
}

// attached draws the conclusions from a signature, and returns the state that it has then, which was state.
func (g *Registry) attached(ctx context.Context, tx *meta.Tx, who Caller, m meta.Manifest, state meta.State) (meta.State, error) {
	r, err := tx.ReleaseByManifest(ctx, m.Repo, m.Subject)
	if errors.Is(err, meta.ErrNotFound) || err == nil && m.ArtifactType != oci.SigstoreBundle {
		return state, nil
	}
	if err != nil {
		return "", err
	}
	a, err := g.access(ctx, tx, who, m.Repo)
	if err != nil {
		return "", err
	}
	switch {
	case r.State == meta.Draft && (g.Open || who.May(auth.Publish, m.Repo)):
		if r, err = g.promote(ctx, tx, who, a.ns, r); err != nil {
			return "", err
		}
		return r.State, nil
	case r.State != meta.Draft && len(r.Signer) == 0: // signed after it was published
		if r, _, err = g.judge(ctx, tx, a.ns, r); err != nil { // it is out already, whatever it lacks
			return "", err
		}
		r.Updated = g.now()
		err = tx.UpdateRelease(ctx, r)
	}
	return state, err
}

// DeleteManifest removes a manifest with its tags, in an open registry or where any artifact is
// accepted. Elsewhere only drafts and what is attached to a manifest can be removed.
func (g *Registry) DeleteManifest(ctx context.Context, who Caller, repo, digest string) error {
	if err := auth.CheckRepository(repo); err != nil {
		return err
	}
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, repo, auth.Delete)
		if err != nil {
			return err
		}
		m, err := g.find(ctx, tx, who, a, repo, digest)
		if err != nil {
			return err
		}
		if !a.ns.Policy.AcceptAny && m.Subject == "" && (m.State != meta.Draft || m.Root != m.Digest) {
			return diag.New(diag.Refused, "denied", "%s is published and stays; skl yank hides a release", digest)
		}
		if !a.ns.Policy.AcceptAny && m.ArtifactType == oci.ArtifactReport {
			return diag.New(diag.Refused, "denied", "%s is the audit report of %s, and stays", digest, m.Subject)
		}
		if a.ns.Policy.AcceptAny || m.Subject != "" {
			err = tx.DeleteManifest(ctx, repo, m.Digest)
		} else {
			_, err = dropDraft(ctx, tx, m)
		}
		if err != nil {
			return err
		}
		if g.quiet() {
			return nil
		}
		return g.event(ctx, tx, who, "delete", repo+"@"+digest, map[string]string{"type": m.ArtifactType})
	})
}

// DeleteTag removes a tag where any artifact is accepted.
func (g *Registry) DeleteTag(ctx context.Context, who Caller, repo, tag string) error {
	if err := auth.CheckRepository(repo); err != nil {
		return err
	}
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, repo, auth.Delete)
		if err != nil {
			return err
		}
		if !a.ns.Policy.AcceptAny {
			return diag.New(diag.Refused, "denied", "the versions of %s stay; skl yank hides a release", repo)
		}
		err = tx.DeleteTag(ctx, repo, tag)
		if errors.Is(err, meta.ErrNotFound) {
			err = g.unknown(who, "unknown_tag", "tag %s in %s", tag, repo)
		}
		if err != nil || g.quiet() {
			return err
		}
		return g.event(ctx, tx, who, "tag-delete", repo, map[string]string{"tag": tag})
	})
}

// maxTags is the longest list of tags in one answer.
const maxTags = 10_000

// Tags lists tags behind after, sorted by bytes, at most limit (below 0: 10,000).
func (g *Registry) Tags(ctx context.Context, who Caller, repo, after string, limit int) (tags []string, err error) {
	if err := auth.CheckRepository(repo); err != nil {
		return nil, err
	}
	if limit < 0 || limit > maxTags {
		limit = maxTags
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		what := "repository " + repo
		a, err := g.readable(ctx, tx, who, repo, "not_found", what)
		if err != nil {
			return err
		}
		if exists, err := tx.RepoExists(ctx, repo); err != nil || !exists {
			return errors.Join(err, g.unknown(who, "not_found", "%s", what))
		}
		tags, err = tx.Tags(ctx, repo, after, limit, a.ns.Policy.AcceptAny)
		if err == nil && len(tags) == 0 && after == "" && limit > 0 && !a.draft && !a.ns.Policy.AcceptAny {
			return g.unknown(who, "not_found", "%s", what) // nothing but drafts
		}
		return err
	})
	return tags, err
}

// Referrers lists what refers to a manifest, which need not exist.
func (g *Registry) Referrers(ctx context.Context, who Caller, repo, digest, artifactType string) (list []meta.Manifest, err error) {
	if err := auth.CheckRepository(repo); err != nil {
		return nil, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.readable(ctx, tx, who, repo, "not_found", "repository "+repo)
		if err != nil {
			return err
		}
		all, err := tx.Referrers(ctx, repo, digest, artifactType, maxReferrers)
		for _, m := range all {
			if m.State.Served() || a.draft && m.State != meta.Blocked {
				list = append(list, m)
			}
		}
		return err
	})
	return list, err
}
