package client

import (
	"cmp"
	"context"
	"errors"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/order"
)

// maxReferrers bounds the signatures and other referrers that are copied with a release.
const maxReferrers = 64

// A Copying is one release that is to be copied.
type Copying struct {
	From      Target // repository it is in
	Reference string // digest or tag of its manifest there

	Namespace, Name, Version string // what it is called at the destination

	// State of the release at the destination: "", wire.Yanked or wire.Deprecated; Reason says why.
	State, Reason string
}

// A Copied says what became of one release.
type Copied struct {
	Copying
	Manifest  string // digest
	Created   bool   // false: it was there already, the same
	Referrers int    // signatures and attestations that were copied, or were there
	Err       error  // nil: it is there
}

// A Mirror copies releases into a registry of skills, with their manifests, blobs and what
// refers to them, byte for byte: digests stay, and so do signatures.
//
// It is idempotent: what is there already is not sent again, also after an interruption. A version
// that the destination has with another manifest is an error of that release (version_exists), and the
// others are copied.
type Mirror struct {
	From   *OCI
	To     *OCI    // of the destination
	Client *Client // of the destination
	// Origin is recorded as where the releases come from; "" records nothing.
	Origin string
	Report func(Copied) // called for each release, in order. May be nil

	tags map[Target]map[string]bool // of the repositories copied from
}

// Releases lists what a registry of skills has in a namespace, oldest first, so that a copy that is
// interrupted has no gaps. Blocked and unapproved releases are left out. Into is the
// namespace at the destination; "" is the same.
func (c *Client) Releases(ctx context.Context, namespace, into string) ([]Copying, error) {
	skills, err := c.Skills(ctx, namespace)
	if err != nil {
		return nil, err
	}
	type dated struct {
		Copying
		wire.VersionSummary
	}
	lists := make([][]wire.VersionSummary, len(skills))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, s := range skills {
		g.Go(func() (err error) {
			lists[i], err = c.Versions(gctx, namespace, s.Name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var all []dated
	for i, s := range skills {
		for _, v := range lists[i] {
			item := Copying{From: Target{c.Host(), namespace + "/" + s.Name}, Reference: v.Manifest,
				Namespace: cmp.Or(into, namespace), Name: s.Name, Version: v.Version}
			switch v.State {
			case wire.Approved:
			case wire.Deprecated, wire.Yanked:
				item.State, item.Reason = v.State, v.Reason
			default:
				continue
			}
			all = append(all, dated{item, v})
		}
	}
	order.Stable(all, func(a, b dated) int { return a.Published.Compare(b.Published) })
	items := make([]Copying, len(all))
	for i, d := range all {
		items[i] = d.Copying
	}
	return items, nil
}

// Run copies items one after the other. Its error joins those of the releases; each was reported.
func (m *Mirror) Run(ctx context.Context, items []Copying) error {
	var errs []error
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		done := m.copy(ctx, item)
		if m.Report != nil {
			m.Report(done)
		}
		if done.Err != nil {
			errs = append(errs, done.Err)
		}
	}
	return errors.Join(errs...)
}

func (m *Mirror) copy(ctx context.Context, item Copying) (done Copied) {
	done.Copying = item
	root, err := m.From.Resolve(ctx, item.From, item.Reference)
	if err != nil {
		done.Err = err
		return done
	}
	done.Manifest = root.Digest.String()
	have, err := m.Client.Version(ctx, item.Namespace, item.Name, item.Version)
	e, refused := errors.AsType[*diag.Error](err)
	switch {
	case err == nil && have.Manifest != done.Manifest:
		done.Err = diag.New(diag.Refused, "version_exists", "%s/%s@%s: %s has another manifest of this version", item.Namespace, item.Name, item.Version, m.Client.Host())
		return done
	case refused && e.Class == diag.Refused, err != nil && !refused, refused && e.Class == diag.Failed:
		done.Err = err
		return done
	}
	to := Target{m.Client.Host(), item.Namespace + "/" + item.Name}
	there := err == nil
	if done.Referrers, done.Err = m.content(ctx, item.From, to, root, there); done.Err != nil {
		return done
	}
	if !there {
		have, done.Created, done.Err = m.Client.Publish(ctx, item.Namespace, item.Name, item.Version, wire.PublishRequest{Manifest: done.Manifest, Mirrored: m.Origin})
		if done.Err != nil {
			return done
		}
	}
	if done.Err = m.image(ctx, item, to); done.Err == nil {
		done.Err = m.settle(ctx, item, have.State)
	}
	return done
}

// image copies the mountable form of a release, if there is one.
func (m *Mirror) image(ctx context.Context, item Copying, to Target) error {
	tag, err := oci.Tag(item.Version)
	if err != nil {
		return nil
	}
	tag += "-image"
	if has, err := m.has(ctx, item.From, tag); !has || err != nil {
		return err
	}
	root, err := m.From.Resolve(ctx, item.From, tag)
	if err != nil {
		return err
	}
	if m.there(ctx, to, tag, root) {
		return nil
	}
	if _, err := m.content(ctx, item.From, to, root, false); err != nil {
		return err
	}
	return m.To.Tag(ctx, to, root, tag)
}

// there reports whether a tag of the destination is root already.
func (m *Mirror) there(ctx context.Context, to Target, tag string, root oci.Blob) bool {
	have, err := m.To.Resolve(ctx, to, tag)
	return err == nil && have.Digest == root.Digest
}

// has reports whether a repository has a tag.
func (m *Mirror) has(ctx context.Context, from Target, tag string) (bool, error) {
	if m.tags[from] == nil {
		repo, err := m.From.repository(from)
		if err != nil {
			return false, err
		}
		found := map[string]bool{}
		err = repo.Tags(ctx, "", func(tags []string) error {
			for _, t := range tags {
				found[t] = true
			}
			return nil
		})
		if err != nil {
			return false, m.From.problem(from, err)
		}
		if m.tags == nil {
			m.tags = map[Target]map[string]bool{}
		}
		m.tags[from] = found
	}
	return m.tags[from][tag], nil
}

// settle gives the copy the state of the original.
func (m *Mirror) settle(ctx context.Context, item Copying, now string) error {
	do := map[string]string{wire.Yanked: "yank", wire.Deprecated: "deprecate"}[item.State]
	if do == "" || now == item.State || now != wire.Approved && now != wire.Deprecated {
		return nil
	}
	_, err := m.Client.Act(ctx, item.Namespace, item.Name, item.Version, wire.Action{Action: do, Reason: item.Reason})
	return err
}

// content copies the manifest with all it leads to, unless it is there, and then what refers to it.
func (m *Mirror) content(ctx context.Context, from, to Target, root oci.Blob, there bool) (referrers int, err error) {
	src, err := m.From.repository(from)
	if err != nil {
		return 0, err
	}
	dst, err := m.To.repository(to)
	if err != nil {
		return 0, err
	}
	if !there {
		if err := m.graph(ctx, src, dst, root.Descriptor); err != nil {
			return 0, m.either(from, to, err)
		}
	}
	var list []v1.Descriptor
	err = src.Referrers(ctx, root.Descriptor, "", func(page []v1.Descriptor) error {
		list = append(list, page...)
		if len(list) > maxReferrers {
			return diag.New(diag.Refused, "too_large", "%s: more than %d artifacts refer to %s", from, maxReferrers, root.Digest)
		}
		return nil
	})
	if err != nil {
		return 0, m.From.problem(from, err)
	}
	for _, r := range list {
		if r.ArtifactType == oci.ArtifactReport { // the destination audits what it takes itself
			continue
		}
		if err := m.graph(ctx, src, dst, r); err != nil {
			return referrers, m.either(from, to, err)
		}
		referrers++
	}
	return referrers, nil
}

// graph copies a manifest and all it leads to.
func (m *Mirror) graph(ctx context.Context, src, dst *remote.Repository, root v1.Descriptor) error {
	return oras.CopyGraph(ctx, src, dst, root, oras.CopyGraphOptions{
		Concurrency: parallel, MaxMetadataBytes: oci.MaxManifest,
		FindSuccessors: func(ctx context.Context, fetcher content.Fetcher, d v1.Descriptor) ([]v1.Descriptor, error) {
			next, err := content.Successors(ctx, fetcher, d)
			for _, n := range next {
				if n.Size > bundle.MaxArchiveBytes {
					return nil, diag.New(diag.Refused, oci.CodeTooLarge, "%s has %d bytes, more than %d, the limit", n.Digest, n.Size, int64(bundle.MaxArchiveBytes))
				}
			}
			return next, err
		},
	})
}

// either explains an error of a copy by the side it came from.
func (m *Mirror) either(from, to Target, err error) error {
	if e, ok := errors.AsType[*oras.CopyError](err); ok && e.Origin == oras.CopyErrorOriginSource {
		return m.From.problem(from, err)
	}
	return m.To.problem(to, err)
}
