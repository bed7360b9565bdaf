package bundle

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Pack writes the bundle in fsys as tar.gz. The bytes depend on paths, content and
// executable bits alone: entries are sorted by path, modes are 0644 or
// 0755, and there are no times, owners or names of the writer. They may differ between
// versions of skl, whose compressor may differ; the tree digest does not.
//
// Links are refused, and so is what a [Guard] refuses at install. Files are read
// twice; one that changes in between is an error. On error, w has a part of an archive.
func Pack(w io.Writer, fsys fs.FS) (Summary, error) { return PackBelow(w, fsys, "") }

// PackBelow is [Pack] with every path below the directory top, a valid path, as some layouts want it;
// "" is no directory. The Summary is that of the bundle, whatever top is.
func PackBelow(w io.Writer, fsys fs.FS, top string) (Summary, error) {
	if top != "" {
		if err := CheckPath(top); err != nil {
			return Summary{}, err
		}
		top += "/"
	}
	sum, err := packable(fsys)
	if err != nil {
		return Summary{}, err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return Summary{}, err
	}
	t := tar.NewWriter(z)
	for _, e := range sum.Entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: top + e.Path, Size: e.Size, Mode: int64(e.perm())}
		if err := t.WriteHeader(h); err != nil {
			return Summary{}, err
		}
		if err := copyEntry(t, fsys, e); err != nil {
			return Summary{}, err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return Summary{}, err
	}
	return sum, nil
}

// PackZip is [Pack] for zip: deflated entries, sorted by path.
func PackZip(w io.Writer, fsys fs.FS) (Summary, error) {
	sum, err := packable(fsys)
	if err != nil {
		return Summary{}, err
	}
	z := zip.NewWriter(w)
	for _, e := range sum.Entries {
		h := &zip.FileHeader{Name: e.Path, Method: zip.Deflate}
		h.SetMode(e.perm())
		entry, err := z.CreateHeader(h)
		if err != nil {
			return Summary{}, err
		}
		if err := copyEntry(entry, fsys, e); err != nil {
			return Summary{}, err
		}
	}
	if err := z.Close(); err != nil {
		return Summary{}, err
	}
	return sum, nil
}

func (e *Entry) perm() fs.FileMode {
	if e.Kind == Executable {
		return 0o755
	}
	return 0o644
}

func packable(fsys fs.FS) (Summary, error) {
	g := NewGuard(nil, InstallLimits)
	g.names.strict = true // what one system unpacks, all do
	if err := FromFS(fsys, noLinks{g}); err != nil {
		return Summary{}, err
	}
	return g.Close()
}

// noLinks refuses links: not every client can unpack them.
type noLinks struct{ Sink }

func (noLinks) Link(path, target string) error {
	return refuse(CodeLink, "%q is a link, to %q; links are not packed", path, target)
}

// copyEntry writes the content of e and checks that it is still the same.
func copyEntry(w io.Writer, fsys fs.FS, e Entry) error {
	f, err := fsys.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(f, e.Size+1)); err != nil && !errors.Is(err, tar.ErrWriteTooLong) {
		return fmt.Errorf("packing %s: %w", e.Path, err)
	}
	if [sha256.Size]byte(h.Sum(nil)) != e.SHA256 {
		return refuse(CodeSize, "%q changed while it was packed", e.Path)
	}
	return nil
}
