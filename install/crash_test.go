package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/testdata/long"
)

// TestMain turns this binary into an install that dies when the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SKL_CRASH_DIR"); dir != "" {
		at, err := strconv.Atoi(os.Getenv("SKL_CRASH_AT"))
		if err != nil {
			panic(err)
		}
		n := 0
		err = move(dir, 2, func(string) error {
			if n++; n == at {
				die()
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The world of these tests has two states. In state 1 the skills s00 to s39 have
// content 1; in state 2 s00 to s24 have content 2, s25 to s29 are as before, s30 to s39
// are gone and s40 to s49 are new: adds, updates, removals and keeps of 50 skills. Some live in other roots, or move: see homes.
func wanted(state int) []lock.Skill {
	var want []lock.Skill
	for i := range 50 {
		version := 1
		switch {
		case state == 1 && i >= 40, state == 2 && i >= 30 && i < 40:
			continue
		case state == 2 && (i < 25 || i >= 40):
			version = 2
		}
		s := lock.Skill{Name: fmt.Sprintf("s%02d", i), Ref: "./x", Source: "local", URL: "./x", Version: fmt.Sprintf("%d.0.0", version)}
		guard := bundle.NewGuard(nil, bundle.InstallLimits)
		if err := content(context.Background(), s, guard); err != nil {
			panic(err)
		}
		sum, err := guard.Close()
		if err != nil {
			panic(err)
		}
		s.Tree, s.Files, s.Bytes = sum.Tree, sum.Files, sum.Bytes
		want = append(want, s)
	}
	return want
}

// content is the Fetch of these tests.
func content(_ context.Context, s lock.Skill, sink bundle.Sink) error {
	text := fmt.Sprintf("---\nname: %s\ndescription: version %s\n---\n", s.Name, s.Version)
	if err := sink.File("SKILL.md", false, int64(len(text)), strings.NewReader(text)); err != nil {
		return err
	}
	script := "#!/bin/sh\necho " + s.Version + "\n"
	if err := sink.File("scripts/run.sh", true, int64(len(script)), strings.NewReader(script)); err != nil {
		return err
	}
	return sink.Link("latest", "scripts/run.sh")
}

// siteIn is the installation in dir; the user's state directory is beside it.
func siteIn(dir string) Site {
	s, err := Confine(dir, filepath.Join(dir, ".agents", "skills"), filepath.Join(dir, "..", "state"))
	if err != nil {
		panic(err)
	}
	return s
}

func installerIn(dir string) *Installer {
	return &Installer{Site: siteIn(dir), Links: []string{filepath.Join(dir, ".claude", "skills")},
		Store: &store.Store{Dir: filepath.Join(dir, "..", "store")}, Fetch: content}
}

// move brings dir to a state.
func move(dir string, state int, step func(string) error) error {
	ctx := context.Background()
	in := installerIn(dir)
	in.step = step
	claude, tools := filepath.Join(dir, ".claude", "skills"), filepath.Join(dir, "tools", "skills")
	in.Roots, in.Homes = []string{claude, tools}, homes(state, claude, tools)
	in.LinksOf = map[string][]string{claude: {in.Root}, tools: {claude, in.Root}}
	want := wanted(state)
	have, err := in.Survey(ctx, want, nil, false)
	if err != nil {
		return err
	}
	if err := errors.Join(in.Materialise(ctx, want, have, false, false)...); err != nil {
		return err
	}
	var l lock.Lock
	for _, s := range want {
		l.Set(s)
	}
	changes := in.Diff(want, have, Options{Prune: true})
	_, err = in.Apply(ctx, changes, Files{LockPath: filepath.Join(dir, "skl.lock"), Lock: l.Format(),
		ManifestPath: filepath.Join(dir, "skl.toml"), Manifest: fmt.Appendf(nil, "# state %d\n", state)})
	return err
}

// homes are the roots of the skills that do not live in the canonical one: in state 2 some moved there with and without new
// content, one moved back, some are new there, and some that were there are gone.
func homes(state int, claude, tools string) map[string]string {
	if state == 1 {
		return map[string]string{"s07": tools, "s08": tools, "s35": tools, "s36": claude}
	}
	return map[string]string{"s05": claude, "s06": tools, "s08": claude, "s25": claude, "s26": tools, "s45": claude, "s46": tools, "s35": tools, "s36": claude}
}

// look describes everything in dir but what is machine-local.
func look(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", info.Mode(), rel)
		switch {
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		case d.Type()&fs.ModeSymlink != 0:
			text, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " -> %s", text)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole fails unless every skill that can be seen is complete: its tree is one of
// the two that were ever published under its name.
func whole(t *testing.T, dir string) {
	t.Helper()
	trees := map[string][]bundle.Digest{}
	for state := 1; state <= 2; state++ {
		for _, s := range wanted(state) {
			trees[s.Name] = append(trees[s.Name], s.Tree)
		}
	}
	for _, root := range []string{".agents/skills", ".claude/skills", "tools/skills"} {
		entries, err := os.ReadDir(filepath.Join(dir, root))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			path := filepath.Join(dir, root, e.Name())
			if _, err := os.Stat(path); err != nil && e.Type()&fs.ModeSymlink != 0 {
				continue // its skill is being removed or not there yet
			}
			if !slices.Contains(trees[e.Name()], siteIn(dir).treeOf(path, bundle.ExactFS)) {
				t.Fatalf("%s is half a skill", path)
			}
		}
	}
}

// crashed copies the world in state 1 to a new directory, next to the store.
func crashed(t *testing.T, base string, n int) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(base), fmt.Sprintf("w%d", n))
	if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// child starts an install to state 2 that dies at a step; 0 never dies.
func child(dir string, at int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SKL_CRASH_DIR="+dir, fmt.Sprintf("SKL_CRASH_AT=%d", at))
	return cmd
}

// states makes the two states and returns how they look and how many steps lie between.
func states(t *testing.T) (base, one, two string, steps int) {
	t.Helper()
	base = filepath.Join(memory(t), "base")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := move(base, 1, nil); err != nil {
		t.Fatal(err)
	}
	one = look(t, base)
	dir := crashed(t, base, 0)
	if err := move(dir, 2, func(string) error { steps++; return nil }); err != nil {
		t.Fatal(err)
	}
	return base, one, look(t, dir), steps
}

// memory is a temporary directory in memory where there is one: hundreds of
// installs would otherwise wait for the disk, and a killed process needs no disk to be killed.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "skl-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { store.Remove(dir) })
	return dir
}

// settle recovers dir as the next writing command does and checks what it finds.
func settle(t *testing.T, dir, one, two string) Recovery {
	t.Helper()
	interrupted := siteIn(dir).Interrupted()
	r, err := Recover(siteIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	if interrupted != (r.Result != Clean) {
		t.Errorf("interrupted: %v, but recovery: %q", interrupted, r.Result)
	}
	now := look(t, dir)
	switch r.Result {
	case RolledBack:
		if now != one {
			t.Errorf("rolled back, but not to the state before:\n%s", difference(one, now))
		}
	case Finished:
		if now != two {
			t.Errorf("finished, but not in the state after:\n%s", difference(two, now))
		}
	default:
		if now != one && now != two {
			t.Errorf("nothing to recover, but neither state before nor after:\n%s", difference(one, now))
		}
	}
	if err := move(dir, 2, nil); err != nil {
		t.Fatal(err)
	}
	if now := look(t, dir); now != two {
		t.Errorf("the next install does not reach its state:\n%s", difference(two, now))
	}
	return r
}

func difference(want, got string) string {
	var out []string
	w := strings.Split(want, "\n")
	g := strings.Split(got, "\n")
	for _, line := range w {
		if !slices.Contains(g, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out[:min(len(out), 8)], "\n")
}

// A process that is killed at any step of an install of 50 skills leaves no half
// skill to see, and the next install finishes it or takes it back.
func TestKilledAtEveryStep(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	base, one, two, steps := states(t)
	if steps < 100 {
		t.Fatalf("%d steps are too few to be an install of 50 skills", steps)
	}
	outcomes := map[Outcome]int{}
	stride := long.Of(60, 7, 1)
	for at := steps; at >= 1; at -= stride { // from the end, where an install is finished and not taken back
		dir := crashed(t, base, at)
		if err := child(dir, at).Run(); err == nil {
			t.Fatalf("step %d: the child was not killed", at)
		}
		whole(t, dir)
		outcomes[settle(t, dir, one, two).Result]++
		if t.Failed() {
			t.Fatalf("after a kill at step %d of %d", at, steps)
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d steps: %v", steps, outcomes)
	if outcomes[RolledBack] == 0 || outcomes[Finished] == 0 {
		t.Errorf("outcomes %v: both ways of settling should have been seen", outcomes)
	}
}

// The same at random moments, where no step was foreseen.
func TestKilledAnyTime(t *testing.T) {
	t.Parallel()
	base, one, two, _ := states(t)
	rounds := long.Of(2, 10, 30)
	random := rand.New(rand.NewSource(1))
	killed := 0
	for n := 1; n <= rounds; n++ {
		dir := crashed(t, base, n)
		cmd := child(dir, 0)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Intn(60_000)) * time.Microsecond)
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		whole(t, dir)
		settle(t, dir, one, two)
		if t.Failed() {
			t.Fatalf("round %d", n)
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d of %d were killed in time", killed, rounds)
}

// A step that fails, instead of the process dying, leaves the state before.
func TestFailedStepsAreUndone(t *testing.T) {
	long.Slow(t)
	base, one, _, steps := states(t)
	for at := 1; at <= steps; at += 5 {
		n := 0
		broken := errors.New("broken")
		name := ""
		err := move(base, 2, func(step string) error {
			if n++; n == at {
				name = step
				return broken
			}
			return nil
		})
		if name == "committed" || name == "clean" || name == "forget" {
			break // the new state stands
		}
		if !errors.Is(err, broken) {
			t.Fatalf("step %d (%s): error %v", at, name, err)
		}
		if now := look(t, base); now != one {
			t.Fatalf("step %d (%s) failed and changed something:\n%s", at, name, difference(one, now))
		}
	}
}

// Edits made between the interruption and the recovery are kept.
func TestEditsAfterACrashAreKept(t *testing.T) {
	base, _, _, steps := states(t)
	dir := crashed(t, base, 1)
	if err := child(dir, steps-3).Run(); err == nil {
		t.Fatal("the child was not killed")
	}
	edited := filepath.Join(dir, ".agents", "skills", "s00", "SKILL.md")
	time.Sleep(20 * time.Millisecond)
	if err := os.WriteFile(edited, []byte("my work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Recover(siteIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	if r.Result != RolledBack || len(r.Kept) != 1 {
		t.Fatalf("recovery %+v, want one kept directory after a roll-back", r)
	}
	data, err := os.ReadFile(filepath.Join(r.Kept[0], "SKILL.md"))
	if err != nil || string(data) != "my work\n" {
		t.Errorf("the edit is not in the backup: %q, %v", data, err)
	}
}

// A transaction does not start over the journal of one that was interrupted.
func TestBeginLeavesAJournalAlone(t *testing.T) {
	base, _, _, steps := states(t)
	dir := crashed(t, base, 1)
	if err := child(dir, steps-5).Run(); err == nil {
		t.Fatal("the child was not killed")
	}
	journal := siteIn(dir).journalPath()
	before, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := move(dir, 2, nil); !errors.Is(err, diag.Code("interrupted_install")) {
		t.Errorf("error %v, want interrupted_install", err)
	}
	if after, err := os.ReadFile(journal); err != nil || string(after) != string(before) {
		t.Errorf("the journal has changed: %v", err)
	}
}
