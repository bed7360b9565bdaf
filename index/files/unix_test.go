//go:build unix

package files_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/skl-project/skl/index/files"
)

// Links are not followed, and only regular files are files.
func TestWalkKinds(t *testing.T) {
	dir, err := os.MkdirTemp("", "k") // short enough for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	plant(t, dir, map[string]string{"d/f": "", "rules": "*\n"})
	for name, target := range map[string]string{"loop": ".", "d/up": "..", "link": "d/f", "dangling": "none", ".gitignore": "rules"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fifo", "d/.gitignore", "d/CACHEDIR.TAG"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	w := &files.Walker{Root: dir, Getenv: quiet}
	list := walkAll(t, w)
	if got := pathsOf(list.Files); !slices.Equal(got, []string{"d/f", "rules"}) || list.Odd != 0 {
		t.Errorf("found %q, odd %d", got, list.Odd)
	}
	if w.Ignored("d/f", false) || !w.Ignored("loop/d/f", false) {
		t.Error("Ignored does not agree about links")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got := walkAll(t, &files.Walker{Root: link, Getenv: quiet}); len(got.Files) != 2 {
		t.Errorf("a root that is a link has %v", got.Files)
	}
}

func TestWalkOddNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\nb", "\xff", "ok", "ä", `back\slash`, "d\xfe/lost"} {
		if os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755) != nil || os.WriteFile(filepath.Join(dir, name), nil, 0o644) != nil {
			t.Skip("the file system has no such names")
		}
	}
	list := walkAll(t, &files.Walker{Root: dir, Getenv: quiet})
	if got := pathsOf(list.Files); !slices.Equal(got, []string{`back\slash`, "ok", "ä"}) {
		t.Errorf("found %q", got)
	}
	if list.Odd != 3 {
		t.Errorf("%d odd names, want 3", list.Odd)
	}
}

func TestWalkUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	plant(t, dir, map[string]string{"open/f": "", "shut/f": ""})
	shut := filepath.Join(dir, "shut")
	if err := os.Chmod(shut, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(shut, 0o755)
	list := walkAll(t, &files.Walker{Root: dir, Getenv: quiet})
	if got := pathsOf(list.Files); !slices.Equal(got, []string{"open/f"}) || !slices.Equal(list.Unreadable, []string{"shut"}) {
		t.Errorf("found %q, unreadable %q", got, list.Unreadable)
	}
}
