//go:build unix

package local

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A pipe is refused without being opened, which would block.
func TestFetchRefusesPipes(t *testing.T) {
	s := &Source{Dir: write(t, map[string]string{"pdf/SKILL.md": skillText("pdf")})}
	if err := unix.Mkfifo(filepath.Join(s.Dir, "pdf", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(s, lock.Skill{URL: "./pdf"}); !errors.Is(err, diag.Code(bundle.CodeIrregular)) {
		t.Errorf("a pipe in the folder: %v", err)
	}
	if _, err := s.Versions(t.Context(), parse(t, "./pdf/pipe")); !errors.Is(err, diag.Code("unknown_format")) {
		t.Errorf("a pipe as an archive: %v", err)
	}
	// A pipe called SKILL.md makes no skill.
	if err := unix.Mkfifo(filepath.Join(s.Dir, "SKILL.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Skills(t.Context(), parse(t, "."), theRelease, nil); err != nil || len(found) != 1 {
		t.Errorf("found %s, %v", show(found), err)
	}
}
