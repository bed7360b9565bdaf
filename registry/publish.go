package registry

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A Candidate is a release that is about to be published.
type Candidate struct {
	Release meta.Release
	Zip     []byte // its files
	Report  wire.Report
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

// A publication is a manifest that is to become a version of a skill.
type publication struct {
	manifest  meta.Manifest // may have been stored before
	namespace string
	name      string
	version   string
	mirrored  string // address of the registry that it was copied from; "" if it comes from here
	again     bool   // the same manifest published once more under this version is no error
}

// putSkill takes a manifest without subject in a namespace of skills: a draft, a
// version, or the mountable form of one.
func (g *Registry) putSkill(ctx context.Context, who Caller, m meta.Manifest, tag string) (Pushed, error) {
	namespace, name, ok := cutRepo(m.Repo)
	if !ok {
		return Pushed{}, diag.New(diag.Misuse, "invalid_name", "a skill's repository is namespace/name, not %s", m.Repo)
	}
	if err := g.checkSkillName(namespace, name); err != nil {
		return Pushed{}, err
	}
	if tag == "" {
		return g.putDraft(ctx, who, m)
	}
	p := publication{manifest: m, namespace: namespace, name: name, again: true}
	if base, found := strings.CutSuffix(tag, imageSuffix); found {
		p.version, _ = oci.Version(base)
		return g.putImage(ctx, who, p, tag)
	}
	p.version, ok = oci.Version(tag)
	if canonical, err := oci.Tag(p.version); !ok || err != nil || canonical != tag {
		return Pushed{}, diag.New(diag.Misuse, "invalid_version", "tag %q is not a semantic version, and in %s tags are versions", tag, m.Repo).
			Hint("push it as %s:1.0.0; tags that move need a namespace that accepts any artifact", m.Repo)
	}
	done, err := g.publish(ctx, who, p)
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
		if err := g.present(ctx, tx, m); err != nil {
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
		if err := tx.PutManifest(ctx, m); err != nil || !p.Created {
			return err
		}
		return g.event(ctx, tx, who, "push", m.Repo+"@"+m.Digest, map[string]string{"type": m.ArtifactType})
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
	if e, ok := errors.AsType[*diag.Error](err); ok && StatusOf(e.Code) != 500 {
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
	return g.publish(ctx, who, publication{manifest: m, namespace: namespace, name: name, version: version, mirrored: from})
}

// WouldPublish is what PublishMirrored would say of a manifest that need not be there yet, as far as its files do not matter: an error, or
// why the release would not be seen at once. It changes nothing.
func (g *Registry) WouldPublish(ctx context.Context, who Caller, namespace, name, version, manifest string) (waits string, err error) {
	if err := g.checkSkillName(namespace, name); err != nil {
		return "", err
	}
	if _, err := oci.Tag(version); err != nil {
		return "", err
	}
	p := publication{manifest: meta.Manifest{Repo: namespace + "/" + name, Digest: manifest}, namespace: namespace, name: name, version: version}
	if have, found, err := g.existing(ctx, who, p); err != nil || found {
		return have.Reason, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.writable(ctx, tx, who, p.manifest.Repo, auth.Publish)
		if err != nil {
			return err
		}
		if a.ns.Policy.ManualApproval || a.ns.Policy.SecondPerson {
			waits = waitsForApproval
		}
		if a.ns.Policy.RequireSignature {
			waits = strings.TrimPrefix(waits+", needs a signature of a signer of the namespace", ", ")
		}
		return g.unclaimed(ctx, tx, who, a.ns, p)
	})
	return waits, err
}

func foreignManifest(digest string) error {
	return diag.New(diag.Misuse, "not_a_skill", "%s belongs to another manifest and is not a release", digest)
}

// publish is the pipeline.
func (g *Registry) publish(ctx context.Context, who Caller, p publication) (Published, error) {
	if _, err := oci.Tag(p.version); err != nil {
		return Published{}, err
	}
	// Decided before the costly part; decided again in the transaction that counts.
	have, found, err := g.existing(ctx, who, p)
	if err != nil {
		return Published{}, err
	}
	if found {
		g.mend(ctx, p, have)
		return g.publishAgain(ctx, who, p, have)
	}
	if err := g.view(ctx, func(tx *meta.Tx) error { return g.present(ctx, tx, p.manifest) }); err != nil {
		return Published{}, err
	}
	return anew(func() (Published, error) {
		candidate, err := g.candidate(ctx, who, p)
		if err != nil {
			return Published{}, err
		}
		report, err := g.putReport(ctx, p.manifest, &candidate)
		if err != nil {
			return Published{}, err
		}
		var done meta.Release
		var created bool
		err = g.change(ctx, who, func(tx *meta.Tx, who Caller) (err error) {
			done, created, err = g.accept(ctx, tx, who, p, candidate, report)
			return err
		})
		if err != nil {
			return Published{}, err
		}
		return g.published(ctx, done, created), nil
	})
}

// publishAgain answers for r, the same manifest under the same version. A draft is judged anew: perhaps the policy has changed.
func (g *Registry) publishAgain(ctx context.Context, who Caller, p publication, r meta.Release) (Published, error) {
	if !p.again {
		return Published{}, exists(r)
	}
	if r.State == meta.Draft {
		var err error
		if r, err = g.retry(ctx, who, r); err != nil {
			return Published{}, err
		}
	}
	return g.published(ctx, r, false), nil
}

// mend makes the archive and the report of a release again that are lost or damaged, from what its publisher has just pushed. That it
// cannot is in the log; the release is no worse for it.
func (g *Registry) mend(ctx context.Context, p publication, r meta.Release) {
	d, err := blob.ParseDigest(r.Zip)
	if err != nil || g.stored(ctx, d, r.ZipSize) && g.reported(ctx, r) {
		return
	}
	c, err := g.validate(ctx, p.manifest, p.name, p.version)
	if err == nil && !d.Names(c.Zip) {
		err = errors.New("this version packs it in another way")
	}
	if err == nil {
		_, err = g.putSmall(ctx, c.Zip)
	}
	if err == nil && r.Report != "" {
		if _, err = g.putReport(ctx, p.manifest, &c); err == nil && c.Release.Report != r.Report {
			err = errors.New("this version audits it in another way")
		}
	}
	if err != nil {
		g.logger().WarnContext(ctx, "a damaged archive or report could not be made again", "release", r.Repo()+"@"+r.Version, "digest", r.Zip, "error", err)
	}
}

// candidate validates a publication and has it scanned, which makes its state Approved or Quarantined. It stores the zip archive
// for other clients.
func (g *Registry) candidate(ctx context.Context, who Caller, p publication) (Candidate, error) {
	c, err := g.validate(ctx, p.manifest, p.name, p.version)
	if err != nil {
		return Candidate{}, err
	}
	r := &c.Release
	r.Namespace, r.Publisher, r.MirroredURL = p.namespace, who.Account, p.mirrored
	verdict := g.judgeReport(c.Report)
	if g.Scan != nil && !verdict.Refuse {
		other, err := g.Scan(ctx, c)
		if err != nil {
			return Candidate{}, diag.New(diag.Failed, "unavailable", "the scan of %s@%s did not finish: %w", r.Repo(), r.Version, err)
		}
		verdict = verdict.and(other)
	}
	r.State = meta.Approved
	switch {
	case verdict.Refuse:
		return Candidate{}, diag.New(diag.Refused, "scan_refused", "%s@%s was refused by the registry's scan: %s", r.Repo(), r.Version, verdict.Reason)
	case verdict.Quarantine:
		r.State, r.Reason = meta.Quarantined, verdict.Reason
	}
	d, err := g.putSmall(ctx, c.Zip)
	if err != nil {
		return Candidate{}, err
	}
	r.Zip, r.ZipSize = d.String(), int64(len(c.Zip))
	return c, nil
}

// published adds the proof of the log. The release is there already; a proof that cannot be had is no error.
func (g *Registry) published(ctx context.Context, r meta.Release, created bool) Published {
	p := Published{Release: r, Created: created}
	if proof, err := g.LogProof(ctx, r); err == nil {
		p.Proof = proof
	}
	return p
}

func exists(r meta.Release) error {
	what := "is published already, and versions do not change"
	if r.State == meta.Draft {
		what = "is a draft already that waits for a signature"
	}
	return diag.New(diag.Misuse, "version_exists", "%s@%s %s", r.Repo(), r.Version, what).Hint("publish it under a new version")
}

// existing looks for the version of a publication, and finds it if it is of the same manifest. Its error has the code
// version_exists if it is of another.
func (g *Registry) existing(ctx context.Context, who Caller, p publication) (r meta.Release, found bool, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		if _, err := g.writable(ctx, tx, who, p.namespace+"/"+p.name, auth.Publish); err != nil {
			return err
		}
		have, err := tx.Release(ctx, p.namespace, p.name, p.version)
		switch {
		case errors.Is(err, meta.ErrNotFound):
			return nil
		case err != nil:
			return err
		case have.Manifest != p.manifest.Digest:
			return exists(have)
		}
		r, found = have, true
		return nil
	})
	return r, found, err
}

// accept is the transaction of a publish: it stores manifest, tag, release, audit event
// and log entry, and returns the release as it is stored. It has not created it if the same one was there.
func (g *Registry) accept(ctx context.Context, tx *meta.Tx, who Caller, p publication, c Candidate, report attachment) (r meta.Release, created bool, err error) {
	a, err := g.writable(ctx, tx, who, c.Release.Repo(), auth.Publish)
	if err != nil {
		return meta.Release{}, false, err
	}
	if p.mirrored != "" {
		if err := g.need(who, auth.Manage, p.namespace); err != nil {
			return meta.Release{}, false, err
		}
	}
	if err := g.present(ctx, tx, p.manifest); err != nil {
		return meta.Release{}, false, err
	}
	have, err := tx.Release(ctx, p.namespace, p.name, p.version)
	switch {
	case err == nil && p.again && have.Manifest == p.manifest.Digest:
		return have, false, nil
	case err == nil:
		return meta.Release{}, false, exists(have)
	case !errors.Is(err, meta.ErrNotFound):
		return meta.Release{}, false, err
	}
	if err := g.unclaimed(ctx, tx, who, a.ns, p); err != nil {
		return meta.Release{}, false, err
	}
	r, lacks, err := g.judge(ctx, tx, a.ns, c.Release)
	if err != nil {
		return meta.Release{}, false, err
	}
	if r, err = asItWas(ctx, tx, begun(r, a.ns.Policy, lacks)); err != nil {
		return meta.Release{}, false, err
	}
	if err := g.admits(r, c.Report); err != nil {
		return meta.Release{}, false, err
	}
	r.Published, r.LogIndex = g.now(), -1
	r.Updated = r.Published
	if err := g.store(ctx, tx, p.manifest, r); err != nil {
		return meta.Release{}, false, err
	}
	if err := g.attach(ctx, tx, report, r); err != nil {
		return meta.Release{}, false, err
	}
	if r.State.Served() {
		if err := g.log(ctx, tx, &r, who, "", "publish"); err != nil {
			return meta.Release{}, false, err
		}
	}
	if err := tx.CreateRelease(ctx, r); err != nil {
		return meta.Release{}, false, err
	}
	err = g.event(ctx, tx, who, "publish", r.Repo()+"@"+r.Version, map[string]string{"manifest": r.Manifest, "tree": r.Tree, "state": string(r.State)})
	return r, true, err
}

// unclaimed refuses a publication whose manifest is something else already, or whose name is too near to one of another owner.
func (g *Registry) unclaimed(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, p publication) error {
	m := p.manifest
	if other, err := tx.ReleaseByManifest(ctx, m.Repo, m.Digest); err == nil {
		return diag.New(diag.Misuse, "version_exists", "this manifest is %s@%s already; one manifest is one release", other.Repo(), other.Version)
	} else if !errors.Is(err, meta.ErrNotFound) {
		return err
	}
	switch have, err := tx.Manifest(ctx, m.Repo, m.Digest); {
	case err == nil && have.State == meta.Blocked:
		return gone(m.Repo+"@"+m.Digest, "")
	case err == nil && have.Root != m.Digest:
		return foreignManifest(m.Digest)
	case err != nil && !errors.Is(err, meta.ErrNotFound):
		return err
	}
	return g.nameIsFree(ctx, tx, who, ns, p.name)
}

// store writes what a release stands on: its manifest with what belongs to it, its tag and its archive.
func (g *Registry) store(ctx context.Context, tx *meta.Tx, m meta.Manifest, r meta.Release) error {
	m.State, m.Root, m.Created = r.State, m.Digest, r.Published
	if err := tx.PutManifest(ctx, m); err != nil {
		return err
	}
	if err := adopt(ctx, tx, m, m.Digest, r.State); err != nil {
		return err
	}
	if err := tx.SetManifestState(ctx, m.Repo, m.Digest, r.State); err != nil {
		return err
	}
	tag, err := oci.Tag(r.Version)
	if err != nil {
		return err
	}
	if err := tx.PutTag(ctx, m.Repo, tag, m.Digest, r.Published); err != nil {
		return err
	}
	if err := g.still(ctx, tx, r.Zip, r.ZipSize); err != nil {
		return err
	}
	return tx.KeepBlob(ctx, r.Zip, r.ZipSize)
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

// judge returns r with what its signatures say of it. lacks says what keeps it a draft in its namespace: "" if nothing does.
func (g *Registry) judge(ctx context.Context, tx *meta.Tx, ns meta.Namespace, r meta.Release) (judged meta.Release, lacks string, err error) {
	bundles, err := g.bundles(ctx, tx, r.Repo(), r.Manifest)
	if err != nil {
		return meta.Release{}, "", err
	}
	r.Signed = len(bundles) > 0
	signer, why := g.verifySigner(ns.Policy, r, bundles)
	if signer != nil {
		if r.Signer, err = json.Marshal(signer); err != nil {
			return meta.Release{}, "", err
		}
	} else if ns.Policy.RequireSignature {
		lacks = "waits for a signature: " + why
	}
	return r, lacks, nil
}

const waitsForApproval = "waits for approval"

// begun returns r, which is Approved or was quarantined by the scan, in the state that the policy of its namespace lets it begin with.
func begun(r meta.Release, policy meta.Policy, lacks string) meta.Release {
	switch {
	case r.State != meta.Approved:
	case lacks != "":
		r.State, r.Reason = meta.Draft, lacks
	case policy.ManualApproval || policy.SecondPerson:
		r.State, r.Reason = meta.Quarantined, waitsForApproval
	}
	return r
}

// promote publishes the draft r that waited for a signature, if it has one now, and returns it as it is then. Who asks may publish there.
func (g *Registry) promote(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, r meta.Release) (meta.Release, error) {
	r, lacks, err := g.judge(ctx, tx, ns, r)
	if err != nil {
		return meta.Release{}, err
	}
	r.State, r.Reason = meta.Approved, ""
	r = begun(r, ns.Policy, lacks)
	if g.Admit != nil && r.State != meta.Draft {
		report, err := g.report(r)
		if err == nil {
			err = g.admits(r, report)
		}
		if err != nil {
			return meta.Release{}, err
		}
	}
	r.Updated = g.now()
	if r.State.Served() {
		if err := g.log(ctx, tx, &r, who, "", "publish"); err != nil {
			return meta.Release{}, err
		}
	}
	if err := restate(ctx, tx, r); err != nil {
		return meta.Release{}, err
	}
	if r.State == meta.Draft {
		return r, nil
	}
	return r, g.event(ctx, tx, who, "promote", r.Repo()+"@"+r.Version, map[string]string{"state": string(r.State)})
}

// retry is promote of a draft that was found before, and returns the release as it is now.
func (g *Registry) retry(ctx context.Context, who Caller, draft meta.Release) (r meta.Release, err error) {
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, draft.Repo(), auth.Publish)
		if err != nil {
			return err
		}
		r, err = tx.Release(ctx, draft.Namespace, draft.Name, draft.Version)
		if err == nil && r.State == meta.Draft {
			r, err = g.promote(ctx, tx, who, a.ns, r)
		}
		return err
	})
	return r, err
}

// putImage stores the mountable form of a version: other media types, the same files.
func (g *Registry) putImage(ctx context.Context, who Caller, p publication, tag string) (Pushed, error) {
	m := p.manifest
	tree, err := g.treeOf(ctx, m)
	if err != nil {
		return Pushed{}, err
	}
	pushed := Pushed{Digest: m.Digest, Created: true}
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, m.Repo, auth.Publish); err != nil {
			return err
		}
		if err := g.present(ctx, tx, m); err != nil {
			return err
		}
		r, err := tx.Release(ctx, p.namespace, p.name, p.version)
		if errors.Is(err, meta.ErrNotFound) {
			return diag.New(diag.Misuse, "unknown_version", "there is no release %s/%s@%s that this could be the image of", p.namespace, p.name, p.version)
		}
		if err != nil {
			return err
		}
		if r.Tree != tree {
			return diag.New(diag.Refused, "invalid_bundle", "the image does not hold the files of %s@%s", r.Repo(), r.Version)
		}
		if have, err := tx.ManifestByTag(ctx, m.Repo, tag); err == nil {
			if have.Digest != m.Digest {
				return diag.New(diag.Misuse, "version_exists", "%s has an image already, and versions do not change", r.Repo()+"@"+r.Version)
			}
			pushed.State, pushed.Created = have.State, false
			return nil
		}
		m.Root, m.State, pushed.State = r.Manifest, r.State, r.State
		if err := tx.PutManifest(ctx, m); err != nil {
			return err
		}
		if err := adopt(ctx, tx, m, r.Manifest, r.State); err != nil {
			return err
		}
		if err := tx.PutTag(ctx, m.Repo, tag, m.Digest, m.Created); err != nil {
			return err
		}
		return g.event(ctx, tx, who, "image", r.Repo()+"@"+r.Version, map[string]string{"manifest": m.Digest})
	})
	return pushed, err
}
