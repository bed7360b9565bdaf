package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skl-project/skl/install/durable"
)

// Limits of what is laid over a service.
const (
	overlayFiles = 2000     // what is dirty beyond is left to the service
	overlayBytes = 64 << 20 // all together
	overlayFile  = 4 << 20  // one
)

// An overlay is the index of the files that are not committed, which are few, made of copies in the cache: an index of the
// repository itself would have to read all of it. Paths, and so ids of handles, are the same. A nil overlay holds nothing.
type overlay struct {
	root, cache string
	dirty       DirtyFunc
	open        OpenFunc
	opening     Opening

	mu sync.Mutex
	x  Index
}

// look returns the paths that are not committed, also of files that are gone, and the index of their text; nil if there is no text.
func (o *overlay) look(ctx context.Context) (dirty map[string]bool, here Index, err error) {
	if o == nil {
		return nil, nil, nil
	}
	paths, err := o.dirty(ctx, o.root)
	paths = paths[:min(len(paths), overlayFiles)]
	if err != nil || len(paths) == 0 {
		return nil, nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := sha256.Sum256([]byte(o.root))
	dir := filepath.Join(o.cache, "overlay", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		return nil, nil, err
	}
	unlock, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	copied, err := copyFiles(o.root, filepath.Join(dir, "files"), paths)
	if err != nil {
		return nil, nil, err
	}
	dirty = make(map[string]bool, len(paths))
	for _, p := range paths {
		dirty[p] = true
	}
	if copied == 0 {
		return dirty, nil, nil
	}
	if o.x == nil {
		x, err := o.open(context.WithoutCancel(ctx), filepath.Join(dir, "files"), o.opening)
		if err != nil {
			return nil, nil, err
		}
		o.x = x
	}
	return dirty, o.x, nil
}

func (o *overlay) close() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.x == nil {
		return nil
	}
	err := o.x.Close()
	o.x = nil
	return err
}

// copyFiles makes dir hold the regular files of root that paths names and nothing else. It returns their number. Copies keep the times of
// their files, which tell whether they have to be made anew.
func copyFiles(root, dir string, paths []string) (copied int, err error) {
	from, err := os.OpenRoot(root)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	want := make(map[string]bool)
	total := int64(0)
	for _, p := range paths {
		info, err := from.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > overlayFile || total+info.Size() > overlayBytes {
			continue // deleted, a link, or too large
		}
		total += info.Size()
		if err := copyFile(from, to, p, info); err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue
			}
			return 0, err
		}
		want[p] = true
		copied++
	}
	return copied, fs.WalkDir(to.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || want[p] {
			return err
		}
		return to.Remove(p)
	})
}

func copyFile(from, to *os.Root, p string, info fs.FileInfo) error {
	if have, err := to.Lstat(p); err == nil && have.Mode().IsRegular() && have.Size() == info.Size() && have.ModTime().Equal(info.ModTime()) {
		return nil
	}
	in, err := from.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	// Obstacles are of an earlier time: a file where there is a directory now, or the reverse.
	for parent := pathDir(p); parent != "."; parent = pathDir(parent) {
		if old, err := to.Lstat(parent); err == nil && !old.IsDir() {
			if err := to.Remove(parent); err != nil {
				return err
			}
		}
	}
	if err := to.RemoveAll(p); err != nil {
		return err
	}
	if err := to.MkdirAll(pathDir(p), 0o700); err != nil {
		return err
	}
	out, err := to.OpenFile(p, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, overlayFile))
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return to.Chtimes(p, info.ModTime(), info.ModTime())
}

func pathDir(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return "."
}
