package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/index/store"
)

// rootName is the file in the directory of an index that says what it is of.
const rootName = "root"

// Dir returns the directory of the index of root with the extra patterns of [Options], below cacheDir. Its name begins with that of the root.
func Dir(cacheDir, root string, extra ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{root}, extra...), "\x00")))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	return filepath.Join(cacheDir, name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:8]))
}

// Drop removes the index of a root, of which there need not be one.
func Drop(ctx context.Context, cacheDir, root string, extra ...string) error {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	dir := Dir(cacheDir, root, extra...)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return store.Drop(ctx, dir)
}

// writeRoot notes what the index in dir is of.
func writeRoot(dir, root string) error {
	name := filepath.Join(dir, rootName)
	want := root + "\n"
	if have, err := os.ReadFile(name); err == nil && string(have) == want {
		return nil
	}
	return os.WriteFile(name, []byte(want), 0o600)
}

// An Orphan is the index of a directory that is not there any more.
type Orphan struct {
	Dir   string // of the index
	Root  string // what it was of
	Bytes int64
}

// Orphans returns those below cacheDir, by directory. An index that does not say what it is of is none.
func Orphans(cacheDir string) ([]Orphan, error) {
	entries, err := os.ReadDir(cacheDir) // sorted
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Orphan
	for _, e := range entries {
		dir := filepath.Join(cacheDir, e.Name())
		note, err := os.ReadFile(filepath.Join(dir, rootName))
		root, whole := strings.CutSuffix(string(note), "\n")
		if err != nil || !whole || !filepath.IsAbs(root) || len(root) > 1<<16 {
			continue
		}
		if _, err := os.Lstat(root); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		o := Orphan{Dir: dir, Root: root}
		parts, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if info, err := p.Info(); err == nil && info.Mode().IsRegular() {
				o.Bytes += info.Size()
			}
		}
		list = append(list, o)
	}
	return list, nil
}

// Remove removes the index. A process that still has it open goes on with what it has.
func (o Orphan) Remove(ctx context.Context) error {
	if err := store.Drop(ctx, o.Dir); err != nil {
		return err
	}
	return os.RemoveAll(o.Dir)
}
