package ship

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/oci"
)

// A Published is a release on a registry.
type Published struct {
	OK      bool      `json:"ok"`   // false: it waits for a signature
	Name    string    `json:"name"` // namespace/name
	Version string    `json:"version"`
	Digest  string    `json:"digest"` // of the manifest
	Tree    string    `json:"tree"`
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitempty"` // of the state
	Signer  string    `json:"signer"`           // "" for an unsigned release
	Log     *LogEntry `json:"log"`              // null where the registry has no log
	URLs    []string  `json:"urls"`
	Created bool      `json:"created"`          // false: this release was there already
	Healed  int       `json:"healed,omitempty"` // of such a release: its files that the registry had damaged or lost, and has again
	Next    string    `json:"next,omitempty"`   // command that makes it visible
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`

	To         string `json:"-"` // the registry, for people
	InstallRef string `json:"-"` // what a person types to install it
}

// Waits reports whether the release is not visible yet.
func (p Published) Waits() bool { return p.State == wire.Draft || p.State == wire.Quarantined }

// A LogEntry is a place in the log of a registry.
type LogEntry struct {
	Origin string `json:"origin"`
	Index  int64  `json:"index"`
}

// A PublishRequest asks for a folder to be published.
type PublishRequest struct {
	Dir     string   // with a SKILL.md
	Name    string   // NS/NAME@VERSION, as far as the folder does not say it
	To      string   // name of a registry, URL, or oci://host[/prefix]; "" is the default registry
	Image   bool     // also the form that containers mount, as VERSION-image
	Include []string // files that are published whatever their names and git say; relative to Dir, with slashes
	Signing Signing
	DryRun  bool
}

// Publish validates, signs and publishes a skill as one step. It makes the release visible last.
func (s *Shipper) Publish(ctx context.Context, r PublishRequest) (Published, error) {
	d, err := s.draft(ctx, r.Dir, r.Name)
	if err != nil {
		return Published{}, err
	}
	if err := s.Scope.Meant(scope.Parcel{
		Dir: d.dir, Paths: slices.Sorted(maps.Keys(d.files)), Include: r.Include, Fate: "published for ever", Insists: "publishes",
		Command: "skl publish " + strings.TrimSpace(diag.Quote(s.Scope.Short(d.dir))+" "+r.Name),
	}); err != nil {
		return Published{}, err
	}
	to, err := s.destination(ctx, r.To, r.To != "")
	if err != nil {
		return Published{}, err
	}
	if err := s.needsExist(ctx, d); err != nil {
		return Published{}, err
	}
	sign, err := s.signer(ctx, r.Signing)
	if err != nil {
		return Published{}, err
	}
	if d.built, err = oci.Build(d.input); err != nil {
		return Published{}, fmt.Errorf("%s: %w", s.Scope.Short(d.dir), err)
	}
	out := Published{Name: d.namespace + "/" + d.name, Version: d.version, Digest: d.built.Root.Digest.String(),
		Tree: string(d.built.Summary.Tree), State: "draft", OK: true, Files: d.built.Summary.Files, Bytes: d.built.Summary.Bytes, URLs: []string{}, To: to.shown}
	out.InstallRef = to.installRef(out, s.leads(d.namespace, to.shown))
	if r.DryRun {
		if out.Reason, err = s.wouldWait(ctx, to, d, out.Digest); err != nil {
			return Published{}, s.Scope.Explain(to.shown, err)
		}
		return out, nil
	}
	if err := s.trusted(ctx, to, d.namespace); err != nil {
		return Published{}, err
	}
	if err := to.publish(ctx, d, sign, &out); err != nil {
		return Published{}, s.Scope.Explain(to.shown, err)
	}
	out.OK = out.State != wire.Draft
	switch out.State {
	case wire.Draft:
		out.Next = "skl sign " + out.Name + "@" + out.Version + " --sign KEY"
	case wire.Quarantined:
		out.Next = "skl registry approve " + out.Name + "@" + out.Version
	}
	if r.Image {
		if err := to.publishImage(ctx, d, sign, &out); err != nil {
			return Published{}, err
		}
	}
	return out, nil
}

// needsExist refuses, exit 3, a release that needs what nobody could install: a skill that is not where it is said to be, or has no version that
// is allowed and was not taken back. Offline that is not known, which is told.
func (s *Shipper) needsExist(ctx context.Context, d *draft) error {
	rs := s.Scope.Resolver(manifest.New())
	for i := range d.needs {
		n := &d.needs[i]
		if !n.Placed() || n.Name == d.name {
			continue
		}
		if s.Scope.Offline() {
			s.Scope.Tell.Warn("offline: did not check that %s is there, which %s needs (%s)", n.Want.Ref, d.name, n.File)
			continue
		}
		_, err := rs.Choose(ctx, resolver.Named{Name: n.Name, Want: n.Want})
		e, ok := errors.AsType[*diag.Error](err)
		if err == nil || !ok || e.Retryable {
			if err != nil {
				return err
			}
			continue
		}
		why := diag.New(diag.Unmet, "unmet_need", "%s/%s needs %s (%s): %w", d.namespace, d.name, n.Want.Ref, n.File, err)
		why.Hints, why.Candidates = e.Hints, e.Candidates
		return why
	}
	return nil
}

// wouldWait asks a registry of skills why it would refuse a release, which is an error, or not show it at once. One that is older does
// not know the question.
func (s *Shipper) wouldWait(ctx context.Context, to *destination, d *draft, manifest string) (string, error) {
	if to.rest == nil {
		return "", nil
	}
	if by, err := s.byIdentity(ctx, to); by || err != nil {
		if err != nil {
			return "", err
		}
		s.Scope.Tell.Note("an identity token is good for once, so it was not asked whether %s takes the release", to.shown)
		return "", nil
	}
	if s.Scope.Offline() {
		s.Scope.Tell.Note("offline, so %s was not asked whether it takes the release", to.shown)
		return "", nil
	}
	v, _, err := to.rest.Publish(ctx, d.namespace, d.name, d.version, wire.PublishRequest{Manifest: manifest, DryRun: true})
	if errors.Is(err, diag.Code("invalid_request")) && strings.Contains(err.Error(), "dry_run") {
		s.Scope.Tell.Note("%s is older and does not say beforehand whether it takes a release", to.shown)
		return "", nil
	}
	return v.Reason, err
}

// installRef is what a person types to install what was published.
func (d *destination) installRef(out Published, leads bool) string {
	if d.rest != nil && leads {
		return out.Name + "@" + out.Version
	}
	namespace, name, _ := strings.Cut(out.Name, "/")
	tag, _ := oci.Tag(out.Version)
	return "oci://" + d.target(namespace, name).String() + ":" + tag
}

// publish stages the skill by digest, attaches its signature, and only then makes it visible.
func (d *destination) publish(ctx context.Context, s *draft, sign signFunc, out *Published) error {
	t := d.target(s.namespace, s.name)
	subject := attest.Subject{Name: t.Repo, Version: s.version, Digest: s.built.Root.Digest.String()}
	signature, signer, err := attachSignature(ctx, sign, subject, s.built.Root.Descriptor, s.input.Created)
	if err != nil {
		return err
	}
	pushed, err := d.oci.Push(ctx, t, client.ImageOf(s.built), signature...)
	if err != nil {
		return err
	}
	out.Signer = signer
	if d.rest == nil {
		return d.tag(ctx, s.built.Root, t, s.version, out)
	}
	v, created, err := d.rest.Publish(ctx, s.namespace, s.name, s.version, wire.PublishRequest{Manifest: out.Digest})
	if err != nil {
		return err
	}
	out.State, out.Reason, out.Created = v.State, v.Reason, created
	if !created && v.State != wire.Draft { // all of it was there once
		out.Healed = pushed.Sent
	}
	if v.Log != nil {
		out.Log = &LogEntry{v.Log.Origin, v.Log.Index}
	}
	out.URLs = slices.DeleteFunc([]string{v.URLs.OCI, v.URLs.Download, v.URLs.Files}, func(u string) bool { return u == "" })
	return nil
}

// tag publishes on a registry that knows nothing of versions: what is there already under the
// tag is left alone unless it is the same.
func (d *destination) tag(ctx context.Context, root oci.Blob, t client.Target, version string, out *Published) error {
	tag, err := oci.Tag(version)
	if err != nil {
		return err
	}
	out.State = wire.Approved
	out.URLs = append(out.URLs, "oci://"+t.String()+":"+tag)
	switch have, err := d.oci.Resolve(ctx, t, tag); {
	case err == nil && have.Digest == root.Digest:
		return nil
	case err == nil:
		return diag.New(diag.Refused, "version_exists", "%s:%s is published already with another content", t, tag).Hint("publish it under a new version")
	case !notFound(err):
		return err
	}
	out.Created = true
	return d.oci.Tag(ctx, t, root, tag)
}

// publishImage publishes the mountable form under VERSION-image, signed by the same.
func (d *destination) publishImage(ctx context.Context, s *draft, sign signFunc, out *Published) error {
	image, err := oci.BuildImage(s.input)
	if err != nil {
		return err
	}
	t := d.target(s.namespace, s.name)
	subject := attest.Subject{Name: t.Repo, Version: s.version, Digest: image.Root.Digest.String()}
	signature, _, err := attachSignature(ctx, sign, subject, image.Root.Descriptor, s.input.Created)
	if err != nil {
		return err
	}
	if _, err := d.oci.Push(ctx, t, client.ImageOf(image), signature...); err != nil {
		return err
	}
	tag, err := oci.ImageTag(s.version)
	if err != nil {
		return err
	}
	out.URLs = append(out.URLs, "oci://"+t.String()+":"+tag)
	return d.oci.Tag(ctx, t, image.Root, tag)
}
