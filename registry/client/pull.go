package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// small is the size up to which a blob is fetched into memory, in bytes. Larger ones go
// to a file, where an interrupted download goes on.
const small = 1 << 20

// counter counts bytes of several goroutines.
type counter struct{ n atomic.Int64 }

func (c *counter) add(n int64) int64 { return c.n.Add(n) }

// Manifest fetches a manifest or index by its digest.
func (o *OCI) Manifest(ctx context.Context, t Target, d string) (oci.Blob, error) {
	want := digest.Digest(d)
	if err := oci.CheckDigest(want); err != nil {
		return oci.Blob{}, err
	}
	m, err := o.manifest(ctx, t, d)
	if e, ok := diag.Own(err); ok && e.Class == diag.Misuse {
		// Somebody got this digest from the registry, so asking for it is no mistake.
		e.Class, e.Message = diag.Failed, t.String()+": the registry does not have manifest "+d
		return m, e
	}
	return m, err
}

// Resolve fetches what a tag or digest names now.
//
//go:noinline
func (o *OCI) Resolve(ctx context.Context, t Target, reference string) (oci.Blob, error) {
	return o.manifest(ctx, t, reference)
}

func (o *OCI) manifest(ctx context.Context, t Target, reference string) (oci.Blob, error) {
	repo, err := o.repository(t)
	if err != nil {
		return oci.Blob{}, err
	}
	want := digest.Digest(reference)
	if want.Validate() != nil {
		want = ""
	}
	address := o.http.Base(t.Host) + "/v2/" + t.Repo + "/manifests/" + url.PathEscape(reference)
	if want != "" {
		address = o.http.Base(t.Host) + "/v2/" + t.Repo + "/manifests/" + reference
	}
	var m oci.Blob
	err = o.again(ctx, t, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		req.Header["Accept"] = []string{strings.Join(manifestTypes(), ", ")}
		resp, err := repo.Client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return o.refused(t, resp)
		}
		o.warned(t, resp)
		data, err := io.ReadAll(io.LimitReader(resp.Body, oci.MaxManifest+1))
		if err != nil {
			return broken(t, err)
		}
		said := digest.Digest(resp.Header.Get("Docker-Content-Digest"))
		m = oci.Blob{Descriptor: v1.Descriptor{MediaType: resp.Header.Get("Content-Type"), Digest: cmp.Or(want, said, oci.DigestOf(data)), Size: int64(len(data))}, Data: data}
		return nil
	})
	if err != nil {
		return oci.Blob{}, o.problem(t, err)
	}
	switch {
	case len(m.Data) > oci.MaxManifest:
		return oci.Blob{}, diag.New(diag.Refused, oci.CodeTooLarge, "%s: the manifest has more than %d bytes, the limit", t, oci.MaxManifest)
	case oci.CheckDigest(m.Digest) != nil || m.Digest.Algorithm().FromBytes(m.Data) != m.Digest:
		return oci.Blob{}, mismatch(t, m.Digest)
	}
	if media, _, err := mime.ParseMediaType(m.MediaType); err == nil {
		m.MediaType = media
	}
	return m, nil
}

// manifestTypes are what is asked for: some registries say 404 to those who do not.
func manifestTypes() []string {
	return []string{v1.MediaTypeImageManifest, v1.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.v2+json",
		"application/vnd.docker.distribution.manifest.list.v2+json"}
}

// warned passes on what a registry says in headers: 299 - "yanked: …".
func (o *OCI) warned(t Target, resp *http.Response) {
	for _, w := range resp.Header.Values("Warning") {
		quoted, ok := strings.CutPrefix(w, "299 - ")
		text, err := strconv.Unquote(quoted)
		if text = clean(text); ok && err == nil && text != "" && o.Warn != nil {
			o.Warn(t.String() + ": " + text)
		}
	}
}

func mismatch(t Target, d digest.Digest) error {
	return diag.New(diag.Refused, oci.CodeDigest, "%s: the content served as %s has another digest", t, diag.Printable(d.String()))
}

// broken is the error of an answer that broke off.
func broken(t Target, err error) error {
	e := diag.New(diag.Failed, "network", "%s: the answer broke off: %w", t, err)
	e.Retryable = true
	return e
}

// Unpack fetches the layers of a skill and streams its files to sink. Every byte was checked
// against its digest before sink sees the first one.
//
//go:noinline
func (o *OCI) Unpack(ctx context.Context, t Target, a *oci.Artifact, sink bundle.Sink) error {
	return a.Unpack(func(layer v1.Descriptor) (oci.Content, error) { return o.Blob(ctx, t, layer) }, sink)
}

// Blob fetches a blob, at most bundle.MaxArchiveBytes of it, unless the cache has it. The caller closes it.
func (o *OCI) Blob(ctx context.Context, t Target, d v1.Descriptor) (oci.Content, error) {
	if err := oci.CheckDigest(d.Digest); err != nil {
		return nil, err
	}
	if d.Size < 0 || d.Size > bundle.MaxArchiveBytes {
		return nil, diag.New(diag.Refused, oci.CodeTooLarge, "%s: %s has %d bytes, more than %d, the limit", t, d.Digest, d.Size, int64(bundle.MaxArchiveBytes))
	}
	if content := o.cached(d); content != nil {
		return content, nil
	}
	if d.Size <= small {
		return o.inMemory(ctx, t, d)
	}
	if o.Cache == "" {
		dir, err := os.MkdirTemp("", "skl-blob-")
		if err != nil {
			return nil, err
		}
		content, err := o.toFile(ctx, t, d, filepath.Join(dir, "blob"), filepath.Join(dir, "part"))
		if err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		return &temporary{content, dir}, nil
	}
	return o.toCache(ctx, t, d)
}

// temporary is a Content whose directory goes with it.
type temporary struct {
	oci.Content
	dir string
}

func (c *temporary) Close() error {
	return errors.Join(c.Content.Close(), os.RemoveAll(c.dir))
}

// A File is an [oci.Content] in an open file, which is not embedded: of what is in an interface, the program keeps every method.
type File struct {
	File   *os.File
	Length int64
	Remove bool // with Close
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.File.ReadAt(p, off) }

// Size implements [oci.Content].
func (f *File) Size() int64 { return f.Length }

// Close implements [io.Closer].
func (f *File) Close() error {
	err := f.File.Close()
	if f.Remove {
		os.Remove(f.File.Name())
	}
	return err
}

func (o *OCI) cachePath(d digest.Digest) string {
	return filepath.Join(o.Cache, d.Algorithm().String(), d.Encoded())
}

// cached is a blob that was fetched before; nil if there is none or it is damaged, which removes it.
func (o *OCI) cached(d v1.Descriptor) oci.Content {
	if o.Cache == "" {
		return nil
	}
	path := o.cachePath(d.Digest)
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == d.Size && whole(f, d.Digest) == nil {
		return &File{File: f, Length: d.Size}
	}
	f.Close()
	os.Remove(path)
	return nil
}

var errDigest = errors.New("the content has another digest")

// whole checks that f has the digest d.
func whole(f io.ReadSeeker, d digest.Digest) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := d.Algorithm().Hash()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if digest.NewDigest(d.Algorithm(), h) != d {
		return errDigest
	}
	return nil
}

func (o *OCI) inMemory(ctx context.Context, t Target, d v1.Descriptor) (oci.Content, error) {
	repo, err := o.repository(t)
	if err != nil {
		return nil, err
	}
	var data []byte
	err = o.again(ctx, t, func() error {
		req, err := o.blobRequest(ctx, t, d)
		if err != nil {
			return err
		}
		resp, err := repo.Client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return o.refused(t, resp)
		}
		var buf bytes.Buffer
		if _, err := io.Copy(&buf, io.LimitReader(resp.Body, d.Size+1)); err != nil {
			return broken(t, err)
		}
		if data = buf.Bytes(); int64(len(data)) < d.Size && resp.ContentLength < 0 {
			return broken(t, io.ErrUnexpectedEOF)
		}
		return nil
	})
	if err != nil {
		return nil, o.problem(t, err)
	}
	if int64(len(data)) != d.Size || d.Digest.Algorithm().FromBytes(data) != d.Digest {
		return nil, mismatch(t, d.Digest)
	}
	o.Progress.Send(diag.Event{Stage: "fetch", Name: t.String(), Done: d.Size, Total: d.Size})
	return oci.Bytes(data), nil
}

// blobURL is where the bytes of a blob are.
func (o *OCI) blobURL(t Target, d v1.Descriptor) string {
	return o.http.Base(t.Host) + "/v2/" + t.Repo + "/blobs/" + d.Digest.String()
}

func (o *OCI) blobRequest(ctx context.Context, t Target, d v1.Descriptor) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, o.blobURL(t, d), nil)
}

// refused is the error of an answer that brings no manifest or blob. A blob that is missing is no mistake of whoever asks: a manifest names
// it, and so it is where the registry leads to another place that lacks it.
func (o *OCI) refused(t Target, resp *http.Response) error {
	err := o.problem(t, parseRefusal(resp))
	if e, ok := diag.Own(err); ok && e.Class == diag.Misuse && resp.Request != nil && !strings.Contains(resp.Request.URL.Path, "/manifests/") {
		e.Class = diag.Failed
		return e
	}
	return err
}

// toCache fetches a blob to its place in the cache. Of several processes that want the same blob one
// fetches it; the others wait and find it there.
func (o *OCI) toCache(ctx context.Context, t Target, d v1.Descriptor) (oci.Content, error) {
	path := o.cachePath(d.Digest)
	part := path + ".part" // a directory, so that it can be locked
	for {
		if err := durable.MkdirPrivate(part); err != nil {
			return nil, err
		}
		unlock, err := durable.Lock(ctx, part, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue // whoever had the lock is done
		}
		if err != nil {
			return nil, err
		}
		if content := o.cached(d); content != nil {
			os.Remove(part)
			unlock()
			return content, nil
		}
		content, err := o.toFile(ctx, t, d, path, filepath.Join(part, "blob"))
		if err == nil {
			os.Remove(part)
		}
		unlock()
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // the directory was removed between making and locking it
		}
		return content, err
	}
}

// toFile fetches a blob to the file part, or the rest of it, and renames that to path when it
// has its digest.
func (o *OCI) toFile(ctx context.Context, t Target, d v1.Descriptor, path, part string) (oci.Content, error) {
	repo, err := o.repository(t)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	resumed, _ := f.Seek(0, io.SeekEnd)
	err = o.fetch(ctx, repo, f, t, d)
	if err == nil {
		err = whole(f, d.Digest)
	}
	if errors.Is(err, errDigest) && resumed > 0 {
		// The bytes left by an earlier process may have belonged to something else.
		if err = f.Truncate(0); err == nil {
			err = o.fetch(ctx, repo, f, t, d)
		}
		if err == nil {
			err = whole(f, d.Digest)
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, errDigest) {
			os.Remove(part)
			err = mismatch(t, d.Digest)
		}
		return nil, o.problem(t, err)
	}
	// Windows renames no open file.
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := durable.Rename(part, path); err != nil {
		return nil, err
	}
	if f, err = os.Open(path); err != nil {
		return nil, err
	}
	return &File{File: f, Length: d.Size}, nil
}

func (o *OCI) fetch(ctx context.Context, repo *remote.Repository, f *os.File, t Target, d v1.Descriptor) error {
	_, err := o.download.Download(ctx, f, &origin.Download{
		URL: o.blobURL(t, d), Size: d.Size, Do: repo.Client.Do, Retries: restarts,
		Check: func(resp *http.Response) error { return o.refused(t, resp) },
		Progress: func(done, total int64) {
			o.Progress.Send(diag.Event{Stage: "fetch", Name: t.String(), Done: done, Total: d.Size})
		},
	})
	return err
}
