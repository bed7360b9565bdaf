package within

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// trap makes a confined directory beside one with a secret, and returns both.
func trap(t *testing.T) (d *Dir, in, out string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out = filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, dir := range []string{filepath.Join(in, "sub"), filepath.Join(out, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, in, out
}

func link(t *testing.T, text, path string) {
	t.Helper()
	if err := os.Symlink(text, path); err != nil {
		t.Skip("skipped: links cannot be made here")
	}
}

// No operation follows a link out, however it leads there, and what is outside stays as it is.
func TestNothingLeavesADir(t *testing.T) {
	for name, text := range map[string]string{"relative": "../out", "absolute": "OUT", "by a link inside": "hop"} {
		t.Run(name, func(t *testing.T) {
			d, in, out := trap(t)
			if text == "OUT" {
				text = out
			}
			link(t, "../out", filepath.Join(in, "hop"))
			way := filepath.Join(in, "way")
			link(t, text, way)
			secret := filepath.Join(way, "secret")
			mine := filepath.Join(in, "mine")
			if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			for op, do := range map[string]func() error{
				"ReadFile":    func() error { _, err := d.ReadFile(secret, 100); return err },
				"WriteFile":   func() error { return d.WriteFile(secret, []byte("x"), 0o644) },
				"Create":      func() error { return d.Create(filepath.Join(way, "new"), []byte("x"), 0o644) },
				"Lstat":       func() error { _, err := d.Lstat(secret); return err },
				"Stat":        func() error { _, err := d.Stat(way); return err },
				"ReadDir":     func() error { _, err := d.ReadDir(way); return err },
				"Mkdir":       func() error { return d.Mkdir(filepath.Join(way, "new"), 0o755) },
				"MkdirAll":    func() error { _, err := d.MkdirAll(filepath.Join(way, "new", "er"), 0o755); return err },
				"MkdirTemp":   func() error { _, err := d.MkdirTemp(way, "x"); return err },
				"Symlink":     func() error { return d.Symlink("x", filepath.Join(way, "new")) },
				"Readlink":    func() error { _, err := d.Readlink(filepath.Join(way, "sub")); return err },
				"Remove":      func() error { return d.Remove(secret) },
				"RemoveAll":   func() error { return d.RemoveAll(filepath.Join(way, "sub")) },
				"Rename to":   func() error { return d.Rename(mine, filepath.Join(way, "new")) },
				"Rename from": func() error { return d.Rename(secret, filepath.Join(in, "stolen")) },
				"Exchange":    func() error { return d.Exchange(mine, secret) },
				"OpenRoot":    func() error { _, err := d.OpenRoot(way); return err },
				"SyncTree":    func() error { return d.SyncTree(way) },
			} {
				if err := do(); !errors.Is(err, diag.Code("E_ROOT_ESCAPE")) {
					t.Errorf("%s: error %v, want E_ROOT_ESCAPE", op, err)
				}
			}
			if data, err := os.ReadFile(filepath.Join(out, "secret")); err != nil || string(data) != "secret" {
				t.Errorf("the file outside is %q, %v", data, err)
			}
			if entries, err := os.ReadDir(out); err != nil || len(entries) != 2 {
				t.Errorf("outside there is now %v, %v", entries, err)
			}
			if d.Exists(filepath.Join(in, "stolen")) {
				t.Error("the file outside was moved in")
			}
		})
	}
}

// A path that is not below the directory is refused, whatever lies there.
func TestPathsOutside(t *testing.T) {
	d, in, out := trap(t)
	for _, path := range []string{filepath.Join(out, "secret"), in + "/../out/secret", "relative", "/", in + "2"} {
		if _, err := d.ReadFile(path, 100); !errors.Is(err, diag.Code("E_ROOT_ESCAPE")) {
			t.Errorf("ReadFile(%q): error %v, want E_ROOT_ESCAPE", path, err)
		}
	}
}

// A link that stays inside is followed on the way, also one with an absolute text.
func TestLinksInside(t *testing.T) {
	d, in, _ := trap(t)
	if err := os.WriteFile(filepath.Join(in, "sub", "a"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "sub", filepath.Join(in, "short"))
	link(t, filepath.Join(in, "sub"), filepath.Join(in, "long"))
	for _, way := range []string{"short", "long"} {
		path := filepath.Join(in, way, "a")
		if data, err := d.ReadFile(path, 100); err != nil || string(data) != "a" {
			t.Errorf("ReadFile(%s): %q, %v", path, data, err)
		}
		if err := d.WriteFile(path, []byte("a"), 0o644); err != nil {
			t.Errorf("WriteFile(%s): %v", path, err)
		}
	}
	if _, err := d.ReadFile(filepath.Join(in, "none"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: error %v", err)
	}
}

// Only regular files of a bounded size are read, and only regular files are replaced.
func TestOnlyRegularFiles(t *testing.T) {
	d, in, _ := trap(t)
	file := filepath.Join(in, "file")
	if err := d.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadFile(file, 4); !errors.Is(err, diag.Code("too_large")) {
		t.Errorf("a file over the limit: error %v", err)
	}
	if data, err := d.ReadFile(file, 5); err != nil || string(data) != "12345" {
		t.Errorf("a file at the limit: %q, %v", data, err)
	}
	if err := d.WriteFile(file, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
	odd := map[string]string{"directory": filepath.Join(in, "sub")}
	link(t, "file", filepath.Join(in, "link"))
	odd["link"] = filepath.Join(in, "link")
	if path := filepath.Join(in, "pipe"); makePipe(path) == nil {
		odd["pipe"] = path
		if _, err := d.ReadFile(path, 100); !errors.Is(err, durable.ErrIrregular) {
			t.Errorf("reading a pipe: error %v, want ErrIrregular", err)
		}
	}
	for kind, path := range odd {
		if err := d.WriteFile(path, []byte("x"), 0o644); !errors.Is(err, diag.Code("irregular_file")) {
			t.Errorf("replacing a %s: error %v, want irregular_file", kind, err)
		}
	}
	if entries, _ := os.ReadDir(in); len(entries) != 4 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestExchange(t *testing.T) {
	d, in, _ := trap(t)
	a, b := filepath.Join(in, "sub"), filepath.Join(in, "other")
	if err := d.Mkdir(b, 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := d.Inode(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Exchange(a, b); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("skipped: this file system cannot exchange two paths")
	} else if err != nil {
		t.Fatal(err)
	}
	if after, err := d.Inode(b); err != nil || after != before {
		t.Errorf("b is %d, %v; want what a was, %d", after, err, before)
	}
}

// RemoveAll takes read-only directories away and follows no link.
func TestRemoveAll(t *testing.T) {
	d, in, out := trap(t)
	deep := filepath.Join(in, "sub", "deep")
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, out, filepath.Join(deep, "way"))
	if err := os.Chmod(deep, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveAll(filepath.Join(in, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "secret")); err != nil {
		t.Error(err)
	}
}

// Every operation works in a Dir that is not confined, through links that the user made.
func TestAnywhere(t *testing.T) {
	_, in, out := trap(t)
	link(t, out, filepath.Join(in, "way"))
	d := Anywhere()
	path := filepath.Join(in, "way", "file")
	if err := d.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadFile(filepath.Join(out, "file"), 10); err != nil || string(data) != "x" {
		t.Errorf("read %q, %v", data, err)
	}
}

// FuzzNames holds that no path, however it is written, is read outside of the directory.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"a", "../out/secret", "way/secret", "way", "sub/../way/secret", "/etc/passwd", "hop/secret", "", ".", "..", "sub/", "a\x00b", "way/../out/secret"} {
		f.Add(s)
	}
	top := f.TempDir()
	in := filepath.Join(top, "in")
	for _, dir := range []string{filepath.Join(in, "sub"), filepath.Join(top, "out")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "out", "secret"), []byte("secret"), 0o644); err != nil {
		f.Fatal(err)
	}
	for path, text := range map[string]string{"way": "../out", "hop": filepath.Join(top, "out"), "sub/up": "../.."} {
		if err := os.Symlink(text, filepath.Join(in, path)); err != nil {
			f.Skip("skipped: links cannot be made here")
		}
	}
	d, err := Open(in)
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	f.Fuzz(func(t *testing.T, name string) {
		for _, path := range []string{filepath.Join(in, name), in + "/" + name, name} {
			if data, err := d.ReadFile(path, 100); err == nil {
				t.Errorf("ReadFile(%q) read %q", path, data)
			}
		}
	})
}
