package documents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// onScreens are the guides that TestScreens carries out.
var onScreens = []string{"install", "shadowing", "authoring", "ci"}

// TestScreens carries out the first guides word by word on a terminal of 80 columns, for somebody who has an empty home and answers each question by
// Enter. testdata/docs/screens has what the terminal shows; with -update it is written.
func TestScreens(t *testing.T) {
	long.Slow(t)
	master, slave, err := harness.OpenTerminal(80, 50)
	if err != nil {
		t.Skipf("skipped: no pseudo-terminal: %v", err)
	}
	master.Close()
	slave.Close()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the pages are written for a POSIX shell")
	}
	d := &docs{dir: filepath.Join("testdata", "docs"), pages: map[string]*docPage{}, width: 80}
	for _, name := range onScreens {
		d.read(t, name, filepath.Join("..", "..", "internal", "guide", name+".md"))
	}
	d.run(t)
	if t.Failed() {
		return
	}
	for _, name := range onScreens {
		if p := d.pages[name]; p.started {
			compareScreens(t, filepath.Join(d.dir, "screens", name+".txt"), p.screens)
		}
	}
}

// compareScreens compares what terminals showed with a file, but for what differs from run to run.
func compareScreens(t *testing.T, path string, lines []string) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(was), "\n"), "\n")
	same := func(a, b string) bool { return masked(a) == masked(b) }
	if slices.EqualFunc(lines, want, same) {
		return
	}
	if *harness.Update {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	at := 0
	for at < len(lines) && at < len(want) && same(lines[at], want[at]) {
		at++
	}
	few := func(lines []string) string { return strings.Join(lines[at:min(at+12, len(lines))], "\n") }
	t.Errorf("%s:%d is not what a terminal shows: go test ./cmd/skl/test/documents -run TestScreens -update\nshown:\n%s\nwanted:\n%s", path, at+1, few(lines), few(want))
}

// show carries out the commands of a block on a terminal, and keeps what that shows.
func (s *docShell) show(ts *testscript.TestScript, b *docBlock, width int) {
	for _, step := range b.steps() {
		shown, exit := s.screen(ts, step, width)
		text := strings.TrimRight(s.steady(strings.Join(shown.Lines(), "\n")), "\n ")
		if exit != step.exit {
			ts.Fatalf("%s:%d: %s\nexits with %d, want %d\n%s", s.page.path, b.line, step.command, exit, step.exit, text)
		}
		s.page.screens = append(s.page.screens, step.lines...)
		if text != "" {
			s.page.screens = append(s.page.screens, strings.Split(text, "\n")...)
		}
		s.page.screens = append(s.page.screens, "")
	}
}
