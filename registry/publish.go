package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A Candidate is a release that is about to be published.
type Candidate struct {
	Release meta.Release
	Zip     []byte // its files
}

// A Verdict is a scanner's. The zero Verdict lets the release pass.
type Verdict struct {
	Refuse     bool
	Quarantine bool
	Reason     string
}

// A Published release, as its publisher is told.
type Published struct {
	Release meta.Release
	Proof   *tlog.Proof // nil until it is logged
	Created bool
}

// imageSuffix ends the tag of the mountable form of a version.
const imageSuffix = "-image"

// putSkill takes a manifest without subject in a namespace of skills: a draft, a
// version, or the mountable form of one.
func (g *Registry) putSkill(ctx context.Context, who Caller, m meta.Manifest, tag string) (Pushed, error) {
	namespace, name, ok := strings.Cut(m.Repo, "/")
	if !ok || strings.Contains(name, "/") {
		return Pushed{}, diag.New(diag.Misuse, "invalid_name", "a skill's repository is namespace/name, not %s", m.Repo)
	}
	if err := g.checkSkillName(namespace, name); err != nil {
		return Pushed{}, err
	}
	if tag == "" {
		return g.putDraft(ctx, who, m)
	}
	if base, found := strings.CutSuffix(tag, imageSuffix); found {
		version, _ := oci.Version(base)
		return g.putImage(ctx, who, m, namespace, name, tag, version)
	}
	version, ok := oci.Version(tag)
	if canonical, err := oci.Tag(version); !ok || err != nil || canonical != tag {
		return Pushed{}, diag.New(diag.Misuse, "invalid_version", "tag %q is no semantic version, and in %s tags are versions", tag, m.Repo).
			Hint("push it as %s:1.0.0; tags that move need a namespace that accepts any artifact", m.Repo)
	}
	done, err := g.publish(ctx, who, m, namespace, name, version, "", true)
	if err != nil {
		return Pushed{}, err
	}
	return Pushed{Digest: m.Digest, State: done.Release.State, Created: done.Created, Reason: done.Release.Reason}, nil
}

// putDraft stores a manifest that nothing names yet. What it is, is looked at when it is published.
func (g *Registry) putDraft(ctx context.Context, who Caller, m meta.Manifest) (Pushed, error) {
	if err := g.isSkill(m); err != nil {
		return Pushed{}, err
	}
	p := Pushed{Digest: m.Digest, State: meta.Draft}
	err := g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, m.Repo, auth.Push); err != nil {
			return err
		}
		if err := present(ctx, tx, m); err != nil {
			return err
		}
		have, err := tx.Manifest(ctx, m.Repo, m.Digest)
		switch {
		case errors.Is(err, meta.ErrNotFound):
			m.State, p.State, p.Created = meta.Draft, meta.Draft, true
		case err != nil:
			return err
		case have.State == meta.Blocked:
			return gone(m.Repo+"@"+m.Digest, "")
		default: // gc spares it anew
			m.Root, m.State, p.State, p.Created = have.Root, have.State, have.State, false
		}
		return tx.PutManifest(ctx, m)
	})
	return p, err
}

// isSkill refuses what no client could install, by what the manifest says of itself.
func (g *Registry) isSkill(m meta.Manifest) error {
	if _, err := oci.Read(m.MediaType, m.Bytes); err != nil {
		return refused(err)
	}
	return nil
}

// refused gives an error of the formats the code that protocols know.
func refused(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && statuses(e.Code) != 500 {
		return err
	}
	return diag.New(diag.Misuse, "invalid_bundle", "%w", err)
}

// Publish makes a manifest that was pushed by digest the version. Its error is of code
// version_exists when there is one, the same or another.
func (g *Registry) Publish(ctx context.Context, who Caller, namespace, name, version, manifest string) (Published, error) {
	return g.PublishMirrored(ctx, who, namespace, name, version, manifest, "")
}

// PublishMirrored is Publish of a release that was copied from another registry, whose address is kept. Only who manages
// the namespace may say so; "" says that it comes from here.
func (g *Registry) PublishMirrored(ctx context.Context, who Caller, namespace, name, version, manifest, from string) (Published, error) {
	if from != "" {
		if err := g.need(who, auth.Manage, namespace); err != nil {
			return Published{}, err
		}
		if u, err := url.Parse(from); err != nil || u.Host == "" || u.User != nil || len(from) > 500 || diag.Printable(from) != from {
			return Published{}, diag.New(diag.Misuse, "invalid_request", "%q is not the address of a registry", diag.Printable(from))
		}
	}
	if err := g.checkSkillName(namespace, name); err != nil {
		return Published{}, err
	}
	repo := namespace + "/" + name
	var m meta.Manifest
	err := g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.writable(ctx, tx, who, repo, auth.Publish)
		if err != nil {
			return err
		}
		m, err = g.find(ctx, tx, who, a, repo, manifest)
		return err
	})
	if err != nil {
		return Published{}, err
	}
	if m.Root != m.Digest || m.Subject != "" {
		return Published{}, foreignManifest(manifest)
	}
	d, err := blob.ParseDigest(m.Digest)
	if err != nil {
		return Published{}, err
	}
	if m, err = parseManifest(repo, m.MediaType, d, m.Bytes); err != nil { // for what it names
		return Published{}, err
	}
	return g.publish(ctx, who, m, namespace, name, version, from, false)
}

func foreignManifest(digest string) error {
	return diag.New(diag.Misuse, "not_a_skill", "%s belongs to another manifest and is no release", digest)
}

// publish is the pipeline. m may have been stored before. With again, publishing the same manifest once more is no error.
func (g *Registry) publish(ctx context.Context, who Caller, m meta.Manifest, namespace, name, version, from string, again bool) (Published, error) {
	if _, err := oci.Tag(version); err != nil {
		return Published{}, err
	}
	// Decided before the costly part; decided again in the transaction that counts.
	old, err := g.existing(ctx, who, namespace, name, version, m.Digest)
	if err != nil || old != nil {
		switch {
		case old != nil && !again:
			err = exists(*old)
		case old != nil && old.State == meta.Draft:
			err = g.retry(ctx, who, old) // perhaps the policy has changed
		}
		return g.published(ctx, old, false), err
	}
	r, zip, err := g.validate(ctx, m, name, version)
	if err != nil {
		return Published{}, err
	}
	r.Namespace, r.Publisher, r.MirroredURL = namespace, who.Account, from
	state, reason := meta.Approved, ""
	if g.Scan != nil {
		verdict, err := g.Scan(ctx, Candidate{r, zip})
		if err != nil {
			return Published{}, diag.New(diag.Failed, "unavailable", "the scan of %s@%s did not finish: %w", r.Repo(), version, err)
		}
		switch {
		case verdict.Refuse:
			return Published{}, diag.New(diag.Refused, "scan_refused", "%s@%s was refused by the registry's scan: %s", r.Repo(), version, verdict.Reason)
		case verdict.Quarantine:
			state, reason = meta.Quarantined, verdict.Reason
		}
	}
	d, err := g.putSmall(ctx, zip)
	if err != nil {
		return Published{}, err
	}
	r.Zip, r.ZipSize = d.String(), int64(len(zip))
	var proof *meta.Release
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		next := r
		created, err := g.accept(ctx, tx, who, m, &next, state, reason, again)
		if err != nil {
			return err
		}
		proof = &next
		if !created {
			proof = nil
		}
		r2 := next
		old = &r2
		return nil
	})
	if err != nil {
		return Published{}, err
	}
	return g.published(ctx, old, proof != nil), nil
}

// published adds the proof of the log. The release is there already; a proof that cannot be had is no error.
func (g *Registry) published(ctx context.Context, r *meta.Release, created bool) Published {
	if r == nil {
		return Published{}
	}
	p := Published{Release: *r, Created: created}
	if proof, err := g.LogProof(ctx, *r); err == nil {
		p.Proof = proof
	}
	return p
}

func exists(r meta.Release) error {
	e := diag.New(diag.Misuse, "version_exists", "%s@%s is published already, and versions do not change", r.Repo(), r.Version)
	if r.State == meta.Draft {
		e.Message = fmt.Sprintf("%s@%s is a draft already that waits for a signature", r.Repo(), r.Version)
	}
	return e.Hint("publish it under a new version")
}

// existing looks whether the version is there: nil if not, the release if it is of the same
// manifest, an error if it is of another.
func (g *Registry) existing(ctx context.Context, who Caller, namespace, name, version, manifest string) (*meta.Release, error) {
	var found *meta.Release
	err := g.view(ctx, func(tx *meta.Tx) error {
		if _, err := g.writable(ctx, tx, who, namespace+"/"+name, auth.Publish); err != nil {
			return err
		}
		r, err := tx.Release(ctx, namespace, name, version)
		switch {
		case errors.Is(err, meta.ErrNotFound):
			return nil
		case err != nil:
			return err
		case r.Manifest != manifest:
			return exists(r)
		}
		found = &r
		return nil
	})
	return found, err
}

// accept is the transaction of a publish: it stores manifest, tag, release, audit event
// and log entry. It reports false if the same release was there.
func (g *Registry) accept(ctx context.Context, tx *meta.Tx, who Caller, m meta.Manifest, r *meta.Release, state meta.State, reason string, again bool) (bool, error) {
	a, err := g.writable(ctx, tx, who, r.Repo(), auth.Publish)
	if err != nil {
		return false, err
	}
	if r.MirroredURL != "" {
		if err := g.need(who, auth.Manage, r.Namespace); err != nil {
			return false, err
		}
	}
	if err := present(ctx, tx, m); err != nil {
		return false, err
	}
	have, err := tx.Release(ctx, r.Namespace, r.Name, r.Version)
	switch {
	case err == nil && again && have.Manifest == m.Digest:
		*r = have
		return false, nil
	case err == nil:
		return false, exists(have)
	case !errors.Is(err, meta.ErrNotFound):
		return false, err
	}
	if other, err := tx.ReleaseByManifest(ctx, r.Repo(), m.Digest); err == nil {
		return false, diag.New(diag.Misuse, "version_exists", "this manifest is %s@%s already; one manifest is one release", other.Repo(), other.Version)
	} else if !errors.Is(err, meta.ErrNotFound) {
		return false, err
	}
	switch have, err := tx.Manifest(ctx, m.Repo, m.Digest); {
	case err == nil && have.State == meta.Blocked:
		return false, gone(m.Repo+"@"+m.Digest, "")
	case err == nil && have.Root != m.Digest:
		return false, foreignManifest(m.Digest)
	case err != nil && !errors.Is(err, meta.ErrNotFound):
		return false, err
	}
	if err := g.nameIsFree(ctx, tx, r.Namespace, r.Name); err != nil {
		return false, err
	}
	if err := g.judge(ctx, tx, a.ns, m.Digest, r, &state, &reason); err != nil {
		return false, err
	}
	if a.ns.Policy.ManualApproval && state == meta.Approved {
		state, reason = meta.Quarantined, "waits for approval"
	}
	now := g.now()
	r.State, r.Reason, r.Published, r.Updated, r.LogIndex = state, reason, now, now, -1
	m.State, m.Root, m.Created = state, m.Digest, now
	if err := tx.PutManifest(ctx, m); err != nil {
		return false, err
	}
	if err := adopt(ctx, tx, m, m.Digest, state); err != nil {
		return false, err
	}
	if err := tx.SetManifestState(ctx, m.Repo, m.Digest, state); err != nil {
		return false, err
	}
	tag, err := oci.Tag(r.Version)
	if err != nil {
		return false, err
	}
	if err := tx.PutTag(ctx, m.Repo, tag, m.Digest, now); err != nil {
		return false, err
	}
	if err := tx.KeepBlob(ctx, r.Zip, r.ZipSize); err != nil {
		return false, err
	}
	if state.Served() {
		if err := g.log(ctx, tx, r, who, "publish"); err != nil {
			return false, err
		}
	}
	if err := tx.CreateRelease(ctx, *r); err != nil {
		return false, err
	}
	return true, g.event(ctx, tx, who, "publish", r.Repo()+"@"+r.Version, map[string]string{"manifest": r.Manifest, "tree": r.Tree, "state": string(state)})
}

// adopt lets the entries of an index stand and fall with root, unless they do so with something else: an entry that is
// a release itself becomes visible with that alone.
func adopt(ctx context.Context, tx *meta.Tx, index meta.Manifest, root string, state meta.State) error {
	for _, d := range index.Manifests {
		entry, err := tx.Manifest(ctx, index.Repo, d)
		if err != nil {
			return err
		}
		if entry.State != meta.Draft || entry.Root != d {
			continue
		}
		if _, err := tx.ReleaseByManifest(ctx, index.Repo, d); err == nil {
			continue
		} else if !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		if err := tx.SetManifestRoot(ctx, index.Repo, d, root, state); err != nil {
			return err
		}
	}
	return nil
}

// judge looks at the signatures of a release. Where one is required and missing, it stays a draft.
func (g *Registry) judge(ctx context.Context, tx *meta.Tx, ns meta.Namespace, manifest string, r *meta.Release, state *meta.State, reason *string) error {
	bundles, err := g.bundles(ctx, tx, r.Repo(), manifest)
	if err != nil {
		return err
	}
	r.Signed = len(bundles) > 0
	signer, why := g.verifySigner(ns.Policy, *r, bundles)
	if signer != nil {
		if r.Signer, err = json.Marshal(signer); err != nil {
			return err
		}
	}
	if ns.Policy.RequireSignature && signer == nil && *state == meta.Approved {
		*state, *reason = meta.Draft, "waits for a signature: "+why
	}
	return nil
}

// promote publishes the draft r that waited for a signature, if it has one now. Who asks may publish there.
func (g *Registry) promote(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, r *meta.Release) error {
	state, reason := meta.Approved, ""
	if err := g.judge(ctx, tx, ns, r.Manifest, r, &state, &reason); err != nil {
		return err
	}
	if ns.Policy.ManualApproval && state == meta.Approved {
		state, reason = meta.Quarantined, "waits for approval"
	}
	r.State, r.Reason, r.Updated = state, reason, g.now()
	if state.Served() {
		if err := g.log(ctx, tx, r, who, "publish"); err != nil {
			return err
		}
	}
	if err := tx.SetManifestState(ctx, r.Repo(), r.Manifest, state); err != nil {
		return err
	}
	if err := tx.UpdateRelease(ctx, *r); err != nil {
		return err
	}
	if state == meta.Draft {
		return nil
	}
	return g.event(ctx, tx, who, "promote", r.Repo()+"@"+r.Version, map[string]string{"state": string(state)})
}

// retry is promote of a draft that was found before.
func (g *Registry) retry(ctx context.Context, who Caller, r *meta.Release) error {
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, r.Repo(), auth.Publish)
		if err != nil {
			return err
		}
		now, err := tx.Release(ctx, r.Namespace, r.Name, r.Version)
		if err != nil {
			return err
		}
		if now.State == meta.Draft {
			if err := g.promote(ctx, tx, who, a.ns, &now); err != nil {
				return err
			}
		}
		*r = now
		return nil
	})
}

// nameIsFree refuses a new name that looks like one the namespace has.
func (g *Registry) nameIsFree(ctx context.Context, tx *meta.Tx, namespace, name string) error {
	names, err := tx.Names(ctx, namespace)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	if near, ok := auth.TooNear(name, names); ok {
		return diag.New(diag.Refused, "near_name", "%s is easily taken for %s/%s, which exists", name, namespace, near).
			Hint("choose a name that cannot be mistaken")
	}
	return nil
}

// putImage stores the mountable form of a version: other media types, the same files.
func (g *Registry) putImage(ctx context.Context, who Caller, m meta.Manifest, namespace, name, tag, version string) (Pushed, error) {
	tree, err := g.treeOf(ctx, m)
	if err != nil {
		return Pushed{}, err
	}
	p := Pushed{Digest: m.Digest, Created: true}
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, m.Repo, auth.Publish); err != nil {
			return err
		}
		if err := present(ctx, tx, m); err != nil {
			return err
		}
		r, err := tx.Release(ctx, namespace, name, version)
		if errors.Is(err, meta.ErrNotFound) {
			return diag.New(diag.Misuse, "unknown_version", "there is no release %s/%s@%s that this could be the image of", namespace, name, version)
		}
		if err != nil {
			return err
		}
		if r.Tree != tree {
			return diag.New(diag.Refused, "invalid_bundle", "the image does not hold the files of %s@%s", r.Repo(), version)
		}
		if have, err := tx.ManifestByTag(ctx, m.Repo, tag); err == nil {
			if have.Digest != m.Digest {
				return diag.New(diag.Misuse, "version_exists", "%s has an image already, and versions do not change", r.Repo()+"@"+version)
			}
			p.State, p.Created = have.State, false
			return nil
		}
		m.Root, m.State, p.State = r.Manifest, r.State, r.State
		if err := tx.PutManifest(ctx, m); err != nil {
			return err
		}
		if err := adopt(ctx, tx, m, r.Manifest, r.State); err != nil {
			return err
		}
		if err := tx.PutTag(ctx, m.Repo, tag, m.Digest, m.Created); err != nil {
			return err
		}
		return g.event(ctx, tx, who, "image", r.Repo()+"@"+version, map[string]string{"manifest": m.Digest})
	})
	return p, err
}
