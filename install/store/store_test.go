package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

func demo(sink bundle.Sink) error {
	if err := sink.File("SKILL.md", false, -1, strings.NewReader("---\nname: a\ndescription: d\n---\n")); err != nil {
		return err
	}
	if links() {
		if err := sink.Link("docs/latest.md", "../SKILL.md"); err != nil {
			return err
		}
	}
	return sink.File("scripts/run.sh", true, -1, strings.NewReader("#!/bin/sh\n"))
}

// links reports whether symbolic links can be made here; on Windows that is a privilege.
var links = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "links-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if os.Symlink("x", filepath.Join(dir, "l")) != nil {
		return false
	}
	_, err = os.Readlink(filepath.Join(dir, "l"))
	return err == nil
})

func TestPutAndCopy(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "store")}
	sum, err := s.Put(bundle.InstallLimits, demo)
	if err != nil || !s.Has(sum.Tree) || sum.Files != 3 && links() {
		t.Fatalf("Put: %+v, %v", sum, err)
	}
	dst := filepath.Join(t.TempDir(), "a")
	copied, err := s.Copy(sum.Tree, within.Anywhere(), dst)
	if err != nil || copied.Tree != sum.Tree {
		t.Fatalf("Copy: %+v, %v", copied, err)
	}
	for path, mode := range map[string]fs.FileMode{"SKILL.md": 0o644, "scripts/run.sh": 0o755} {
		info, err := os.Stat(filepath.Join(dst, path))
		if err != nil || durable.HasModes && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %o", path, info, err, mode)
		}
	}
	if !links() {
		// the skill has none
	} else if text, err := os.Readlink(filepath.Join(dst, "docs", "latest.md")); err != nil || filepath.ToSlash(text) != "../SKILL.md" {
		t.Errorf("link %q, %v", text, err)
	}
	info, err := os.Stat(filepath.Join(s.Path(sum.Tree), "SKILL.md"))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("the stored file can be written: %v, %v", info.Mode(), err)
	}
}

// The modes of an entry lie beside it: a disk that has none, or lost them, changes nothing.
func TestModesAreKeptBeside(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	sum, err := s.Put(bundle.InstallLimits, demo)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(s.Path(sum.Tree), "scripts", "run.sh"), 0o444); err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "a")
	if copied, err := s.Copy(sum.Tree, within.Anywhere(), dst); err != nil || copied.Tree != sum.Tree {
		t.Fatalf("Copy: %+v, %v", copied, err)
	}
	if info, err := os.Stat(filepath.Join(dst, "scripts", "run.sh")); err != nil || durable.HasModes && info.Mode().Perm() != 0o755 {
		t.Errorf("copied out with %v, %v", info.Mode(), err)
	}
	if err := s.Drop(sum.Tree); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*")); len(left) > 0 {
		t.Errorf("Drop left %v", left)
	}
}

// A damaged entry is never copied out, whatever was changed.
func TestDamageIsNoticed(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"a byte":             func(dir string) error { return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("x"), 0o644) },
		"a file more":        func(dir string) error { return os.WriteFile(filepath.Join(dir, "more"), nil, 0o644) },
		"a file less":        func(dir string) error { return os.Remove(filepath.Join(dir, "scripts", "run.sh")) },
		"no SKILL.md":        func(dir string) error { return os.Remove(filepath.Join(dir, "SKILL.md")) },
		"the modes beside":   func(dir string) error { return os.WriteFile(dir+modesSuffix, []byte("SKILL.md\n"), 0o644) },
		"a link that leaves": func(dir string) error { return os.Symlink("../../../x", filepath.Join(dir, "out")) },
	} {
		if strings.Contains(name, "link") && !links() {
			continue
		}
		s := &Store{Dir: t.TempDir()}
		sum, err := s.Put(bundle.InstallLimits, demo)
		if err != nil {
			t.Fatal(err)
		}
		dir := s.Path(sum.Tree)
		for _, p := range []string{dir, filepath.Join(dir, "scripts"), filepath.Join(dir, "SKILL.md")} {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		dst := filepath.Join(t.TempDir(), "a")
		if _, err := s.Copy(sum.Tree, within.Anywhere(), dst); !errors.Is(err, diag.Code("store_corrupt")) {
			t.Errorf("%s: error %v, want store_corrupt", name, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("%s: something was copied", name)
		}
		if err := s.Drop(sum.Tree); err != nil || s.Has(sum.Tree) {
			t.Errorf("%s: Drop: %v", name, err)
		}
	}
}

func TestRefusedPutLeavesNothing(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	for name, fetch := range map[string]func(bundle.Sink) error{
		"fails":       func(sink bundle.Sink) error { return errors.Join(demo(sink), errors.New("broken")) },
		"no SKILL.md": func(sink bundle.Sink) error { return sink.File("a", false, -1, strings.NewReader("")) },
		"leaves":      func(sink bundle.Sink) error { return sink.File("../a", false, -1, strings.NewReader("")) },
		"two of SKILL.md": func(sink bundle.Sink) error {
			return errors.Join(demo(sink), sink.File("skill.md", false, -1, strings.NewReader("")))
		},
	} {
		if sum, err := s.Put(bundle.InstallLimits, fetch); err == nil || sum.Tree != "" {
			t.Errorf("%s: %+v, %v; want an error and nothing", name, sum, err)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestManyPutsOfOneTree(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := s.Put(bundle.InstallLimits, demo); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestPrune(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	keep, err := s.Put(bundle.InstallLimits, demo)
	if err != nil {
		t.Fatal(err)
	}
	drop, err := s.Put(bundle.InstallLimits, func(sink bundle.Sink) error {
		return sink.File("SKILL.md", false, -1, strings.NewReader("other"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, bytes, err := s.Prune(map[bundle.Digest]bool{keep.Tree: true}, true); err != nil || n != 1 || bytes != 5 || !s.Has(drop.Tree) {
		t.Errorf("dry: %d entries, %d bytes, %v", n, bytes, err)
	}
	if n, _, err := s.Prune(map[bundle.Digest]bool{keep.Tree: true}, false); err != nil || n != 1 || s.Has(drop.Tree) || !s.Has(keep.Tree) {
		t.Errorf("%d entries, %v", n, err)
	}
}

// How long does a skill take to come out of the store, checked?
func BenchmarkCopy(b *testing.B) {
	s := &Store{Dir: b.TempDir()}
	sum, err := s.Put(bundle.InstallLimits, func(sink bundle.Sink) error {
		for i := range 8 {
			if err := sink.File(fmt.Sprintf("references/%d.md", i), false, -1, strings.NewReader(strings.Repeat("text\n", 1000))); err != nil {
				return err
			}
		}
		return demo(sink)
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(sum.Bytes)
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		if _, err := s.Copy(sum.Tree, within.Anywhere(), filepath.Join(dir, fmt.Sprint(n))); err != nil {
			b.Fatal(err)
		}
	}
}

// Leftovers of a killed Put go with the next Put once they are old; a directory that another Put is filling stays.
func TestPutSweeps(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	leave := func(name string, age time.Duration) string {
		t.Helper()
		dir, file := filepath.Join(s.Dir, name), filepath.Join(s.Dir, name, "tree", "SKILL.md")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("half"), 0o444), os.Chmod(filepath.Dir(file), 0o500)); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		for _, path := range []string{file, filepath.Dir(file), dir} {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	old, young := leave("put-1", 2*time.Hour), leave("put-2", time.Minute)
	if _, _, err := s.Prune(nil, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(bundle.InstallLimits, demo); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old leftover: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("a Put at work: %v", err)
	}
	if _, _, err := s.Prune(nil, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("a Put at work, after Prune: %v", err)
	}
}

// Where no link can be made, the error names the link, and others pass unchanged.
func TestNoLinks(t *testing.T) {
	for _, err := range []error{os.ErrPermission, os.ErrExist} {
		if got := unlinked("docs/latest", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	noLinks := error(syscall.EPERM)
	if runtime.GOOS == "windows" {
		noLinks = syscall.Errno(1314) // a privilege is not held
	}
	err := unlinked("docs/latest", &os.LinkError{Op: "symlink", Old: "a.md", New: "docs/latest", Err: noLinks})
	if !errors.Is(err, diag.Code("no_links")) || !strings.Contains(err.Error(), "docs/latest") {
		t.Errorf("%v", err)
	}
}
