package registry

import (
	"context"
	"errors"
	"io"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// cutRepo splits the name of a skill's repository.
func cutRepo(repo string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(repo, "/")
	return namespace, name, ok && !strings.Contains(name, "/")
}

// stage unpacks an archive and makes the artifact that a client would have pushed.
func (g *Registry) stage(ctx context.Context, name, version string, r io.ReaderAt, size int64) (*oci.Built, error) {
	release, err := g.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if size > bundle.MaxArchiveBytes {
		return nil, diag.New(diag.Misuse, "too_large", "an archive has at most %d bytes", int64(bundle.MaxArchiveBytes))
	}
	head := make([]byte, min(size, 512))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	format := bundle.Detect(head)
	if format == "" {
		return nil, diag.New(diag.Misuse, "invalid_bundle", "the body is neither a tar.gz nor a zip archive")
	}
	tree := bundle.Memory{}
	guard := bundle.NewGuard(memory(tree), bundle.PublishLimits)
	guard.Portable = true
	if _, err := bundle.Unpack(r, size, format, guard); err != nil {
		return nil, refused(err)
	}
	if _, err := guard.Close(); err != nil {
		return nil, refused(err)
	}
	if _, err := checkBundle(tree, name); err != nil {
		return nil, err
	}
	built, err := oci.Build(oci.Input{Files: tree, Version: version})
	if err != nil {
		return nil, refused(err)
	}
	return built, nil
}

// PublishArchive stages a tar.gz or zip of a skill and publishes it.
func (g *Registry) PublishArchive(ctx context.Context, who Caller, namespace, name, version string, r io.ReaderAt, size int64) (Published, error) {
	if err := g.checkSkillName(namespace, name); err != nil {
		return Published{}, err
	}
	if _, err := oci.Tag(version); err != nil {
		return Published{}, err
	}
	repo := namespace + "/" + name
	if err := g.mayPush(ctx, who, repo); err != nil {
		return Published{}, err
	}
	built, err := g.stage(ctx, name, version, r, size)
	if err != nil {
		return Published{}, err
	}
	m, err := parseManifest(repo, v1.MediaTypeImageManifest, blob.Sum(blob.SHA256, built.Root.Data), built.Root.Data)
	if err != nil {
		return Published{}, err
	}
	p := publication{manifest: m, namespace: namespace, name: name, version: version}
	if have, found, err := g.existing(ctx, who, p); err != nil {
		return Published{}, err
	} else if found {
		return Published{}, exists(have)
	}
	return anew(func() (Published, error) {
		if err := g.storeBuilt(ctx, who, repo, built); err != nil {
			return Published{}, err
		}
		done, err := g.publish(ctx, who, p)
		if errors.Is(err, diag.Code("blob_missing")) { // all were linked
			err = swept("the content of " + repo + "@" + version)
		}
		return done, err
	})
}

// storeBuilt stores the blobs of an artifact and links them to repo.
func (g *Registry) storeBuilt(ctx context.Context, who Caller, repo string, built *oci.Built) error {
	sizes := map[string]int64{}
	for _, b := range built.Blobs {
		d, err := g.putSmall(ctx, b.Data)
		if err != nil {
			return err
		}
		sizes[d.String()] = b.Size
	}
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, repo, auth.Publish); err != nil {
			return err
		}
		for d, n := range sizes {
			if err := g.link(ctx, tx, repo, d, n); err != nil {
				return err
			}
		}
		return nil
	})
}
