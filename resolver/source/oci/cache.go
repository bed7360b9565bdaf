package oci

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// The cache holds blobs and manifests by digest. Whatever is read from it is hashed first, so that
// nothing in it needs to survive a crash; errors of writing manifests are dropped.

func (s *Source) path(kind string, d digest.Digest) string {
	return filepath.Join(s.CacheDir, "oci", kind, d.Algorithm().String(), d.Encoded())
}

// keep stores a manifest, for when skl is offline.
func (s *Source) keep(d digest.Digest, b []byte) {
	at := s.path("blobs", d)
	if s.CacheDir == "" {
		return
	}
	if _, err := os.Stat(at); err == nil || durable.MkdirPrivate(filepath.Dir(at)) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(at), ".part-")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = durable.Rename(f.Name(), at)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// cachedBytes reads a manifest that was kept.
func (s *Source) cachedBytes(d digest.Digest) ([]byte, bool) {
	if s.CacheDir == "" {
		return nil, false
	}
	f, err := os.Open(s.path("blobs", d))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, oci.MaxManifest))
	if err != nil || d.Algorithm().FromBytes(b) != d {
		return nil, false
	}
	return b, true
}

// cached opens a blob in the cache. A damaged one is as good as none.
func (s *Source) cached(d v1.Descriptor) (*client.File, bool) {
	f, err := os.Open(s.path("blobs", d.Digest))
	if err != nil {
		return nil, false
	}
	if err := checkFile(f, d); err != nil {
		f.Close()
		return nil, false
	}
	return &client.File{File: f, Length: d.Size}, true
}

var errOther = errors.New("the content is another")

// checkFile compares a file with its descriptor: its size, then all of its bytes.
func checkFile(f *os.File, d v1.Descriptor) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != d.Size {
		return errOther
	}
	verifier := d.Digest.Verifier()
	if _, err := io.Copy(verifier, io.NewSectionReader(f, 0, d.Size)); err != nil {
		return err
	}
	if !verifier.Verified() {
		return errOther
	}
	return nil
}

// config reads a config blob, which is small.
func (r *repository) config(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if d.Size > oci.MaxConfig {
		return nil, diag.New(diag.Refused, oci.CodeTooLarge, "the config has more than %d bytes, the limit", oci.MaxConfig)
	}
	content, err := r.blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(io.NewSectionReader(content, 0, d.Size))
}

// blob opens a blob, from the cache or after downloading it. d was checked by spec/oci.
func (r *repository) blob(ctx context.Context, d v1.Descriptor) (oci.Content, error) {
	if err := oci.CheckDigest(d.Digest); err != nil {
		return nil, r.explain(err)
	}
	if d.Size == 0 {
		if err := oci.CheckBytes(d, nil); err != nil {
			return nil, r.explain(err)
		}
		return oci.Bytes(nil), nil
	}
	if r.source.CacheDir == "" {
		return r.temporary(ctx, d)
	}
	if f, ok := r.source.cached(d); ok {
		return f, nil
	}
	// One directory for each blob that is under way: its lock keeps a second process, or
	// goroutine, from writing to the same file; who comes second finds the blob complete.
	parts := r.source.path("parts", d.Digest)
	target := r.source.path("blobs", d.Digest)
	for _, dir := range []string{parts, filepath.Dir(target)} {
		if err := durable.MkdirPrivate(dir); err != nil {
			return nil, unwritable(err)
		}
	}
	unlock, err := durable.Lock(ctx, parts, nil)
	if errors.Is(err, fs.ErrNotExist) { // removed by who has just finished
		return r.blobAgain(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	if f, ok := r.source.cached(d); ok {
		return f, nil
	}
	part := filepath.Join(parts, "blob.part")
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return r.blobAgain(ctx, d)
	}
	if err != nil {
		return nil, unwritable(err)
	}
	if err := r.fill(ctx, f, d); err != nil {
		f.Close()
		return nil, err
	}
	// Closed first: an open file is not renamed on every system. Opening checks it again.
	f.Close()
	if err := durable.Rename(part, target); err != nil {
		return nil, unwritable(err)
	}
	os.Remove(parts)
	if f, ok := r.source.cached(d); ok {
		return f, nil
	}
	return nil, diag.New(diag.Failed, "cache", "%s changed while it was written", diag.Printable(target))
}

// blobAgain is for the moment between making a directory and locking it, in which another
// process may have finished and removed it.
func (r *repository) blobAgain(ctx context.Context, d v1.Descriptor) (oci.Content, error) {
	if f, ok := r.source.cached(d); ok {
		return f, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.temporary(ctx, d)
}

func (r *repository) temporary(ctx context.Context, d v1.Descriptor) (oci.Content, error) {
	f, err := os.CreateTemp("", "skl-blob-")
	if err != nil {
		return nil, unwritable(err)
	}
	b := &client.File{File: f, Length: d.Size, Remove: true}
	if err := r.fill(ctx, f, d); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func unwritable(err error) error {
	return diag.New(diag.Failed, "cache", "the cache cannot be written: %w", err).
		Hint("the cache directory may be deleted at any time")
}

// fill downloads d into f, which may hold the start of it, and checks it. Bytes of an earlier try
// that turn out to be wrong are thrown away, once.
func (r *repository) fill(ctx context.Context, f *os.File, d v1.Descriptor) error {
	info, err := f.Stat()
	if err != nil {
		return unwritable(err)
	}
	resumed := info.Size() > 0
	for {
		down := &origin.Download{
			URL: r.base + "/blobs/" + string(d.Digest), Size: d.Size, Do: r.do, Check: r.check,
			Progress: func(done, total int64) {
				r.source.Progress.Send(diag.Event{Stage: "fetch", Name: r.url, Done: done, Total: total})
			},
		}
		if r.source.download != nil {
			r.source.download(down)
		}
		ctx := auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull)
		if _, err := r.source.Client.Download(ctx, f, down); err != nil {
			return r.explain(err)
		}
		err := checkFile(f, d)
		if err == nil {
			return nil
		}
		if err := f.Truncate(0); err != nil {
			return unwritable(err)
		}
		if err != errOther {
			return unwritable(err)
		}
		if !resumed {
			return diag.New(diag.Refused, oci.CodeDigest, "%s: the content it sends for %s has another digest", r.url, d.Digest)
		}
		resumed = false
	}
}
