package local

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Files that this user may not read are named, and do not hide those that can be read.
func TestUnreadable(t *testing.T) {
	s := &Source{Dir: write(t, map[string]string{
		"pdf/SKILL.md": skillText("pdf"), "pdf/key": "secret", "all/pdf/SKILL.md": skillText("pdf"), "all/closed/x": "",
	})}
	for _, p := range []string{"pdf/key", "all/closed"} {
		if err := os.Chmod(filepath.Join(s.Dir, p), 0); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// root reads everything: give the file system another user on this thread, which ends with the goroutine.
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			openTo(t, s.Dir)
			if err := unix.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		_, err := fetch(s, lock.Skill{URL: "./pdf"})
		if !errors.Is(err, diag.Code("unreadable")) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "./pdf: ") || !strings.Contains(err.Error(), "key") {
			t.Errorf("unreadable file: %v", err)
		}
		found, err := s.Skills(t.Context(), parse(t, "./all"), theRelease, nil)
		if err != nil || len(found) != 1 {
			t.Errorf("beside an unreadable folder: found %s, %v", show(found), err)
		}
	}()
	<-done
}

// openTo lets others enter dir and the directories above it that are the test's own.
func openTo(t *testing.T, dir string) {
	for range 2 {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
		dir = filepath.Dir(dir)
	}
}

// Directories that go away while skills are looked for, as threads of a process do, hold none; the root of the machine is refused.
func TestSkillsOfWhatGoesAway(t *testing.T) {
	s := &Source{Dir: t.TempDir()}
	for _, dir := range []string{"/proc/self", "/proc/self/task"} {
		r, err := ref.Parse(dir)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := s.Skills(t.Context(), r, source.Release{}, nil); err != nil || len(found) > 0 {
			t.Errorf("Skills(%s) = %v, %v", dir, found, err)
		}
	}
	r, err := ref.Parse("/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Skills(t.Context(), r, source.Release{}, nil); !errors.Is(err, diag.Code("too_many_files")) {
		t.Errorf("Skills(/): %v", err)
	}
}
