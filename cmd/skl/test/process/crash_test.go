package process

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/testdata/long"
)

// The real program is killed at random moments of an install and of an update of 50 skills, with links for agents and with
// copies. What can be seen is always whole, reading commands say what happened, and the next install mends it.
func TestKillLoop(t *testing.T) {
	long.Slow(t)
	for _, links := range []string{"symlink", "copy"} {
		for _, command := range []string{"install", "update"} {
			t.Run(command+"/"+links, func(t *testing.T) { killLoop(t, command, links) })
		}
	}
}

func killLoop(t *testing.T, command, links string) {
	if links == "symlink" && runtime.GOOS == "windows" {
		t.Skip("skipped: needs a system where everyone may make symbolic links")
	}
	url := harness.Library(t, 50)
	p := harness.NewPlace(t)
	if err := os.WriteFile(filepath.Join(p.Project, "skl.toml"), fmt.Appendf(nil, "[targets]\nlinks = %q\n", links), 0o644); err != nil {
		t.Fatal(err)
	}
	ref := map[string]string{"install": url + "@1.0.0", "update": url + "@main"}[command]
	p.Must("install", ref, "--all", "--host", "claude-code", "--yes")
	random := rand.New(rand.NewSource(2))
	rounds := long.Of(1, 1, 6)
	if long.Every() {
		rounds = 40
	}
	interrupted, took := 0, time.Duration(0)
	for round := -1; round < rounds; round++ { // the round -1 is left alone, and shows how long it takes
		version := 3 - wholeSkills(t, p, round)[0]
		args := []string{"install", fmt.Sprintf("%s@%d.0.0", url, version), "--all", "--force"}
		if command == "update" {
			gittest.Commit(t, filepath.FromSlash(strings.TrimPrefix(url, "git+file://")), harness.Skills(50, version))
			args = []string{"update", "--yes"}
		}
		if round < 0 {
			start := time.Now()
			p.Must(args...)
			took = time.Since(start)
			if now := wholeSkills(t, p, round)[0]; now != version {
				t.Fatalf("%s has not changed the skills", command)
			}
			continue
		}
		cmd := p.Command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took/10 + time.Duration(random.Int63n(int64(took))))
		cmd.Process.Kill()
		cmd.Wait()
		wholeSkills(t, p, round)
		status, out := p.Skl("list")
		switch {
		case status == 3 && strings.Contains(out, "interrupted"):
			interrupted++
		case status != 0:
			t.Fatalf("round %d: list: exit %d\n%s", round, status, out)
		}
		p.Must("install")
		p.Must("verify")
		p.Must("check")
		wholeSkills(t, p, round)
	}
	t.Logf("%d of %d rounds were interrupted between the journal and the end", interrupted, rounds)
}

// wholeSkills fails unless each of the 50 skills, in the root and where claude-code looks, is wholly one version, 1 or 2. It
// returns their versions in the root.
func wholeSkills(t *testing.T, p *harness.Place, round int) []int {
	t.Helper()
	versions := make([]int, 50)
	for i := range 50 {
		for _, root := range []string{".agents", ".claude"} {
			dir := filepath.Join(p.Project, root, "skills", fmt.Sprintf("s%02d", i))
			doc, err := os.ReadFile(filepath.Join(dir, "SKILL.md"))
			if err != nil {
				t.Fatalf("round %d: a skill is missing: %v", round, err)
			}
			script, err := os.ReadFile(filepath.Join(dir, "scripts", "run.sh"))
			if err != nil || bytes.Contains(doc, []byte("Version 1.")) != bytes.Contains(script, []byte("echo 1")) {
				t.Fatalf("round %d: %s is half of one version and half of the other: %v", round, dir, err)
			}
			if root == ".agents" {
				versions[i] = 2
				if bytes.Contains(doc, []byte("Version 1.")) {
					versions[i] = 1
				}
			}
		}
	}
	return versions
}

// Two installs at once both end right: both skills are in the manifest, the lock and the root.
func TestTwoAtOnce(t *testing.T) {
	url := harness.Library(t, 12)
	p := harness.NewPlace(t)
	var wg sync.WaitGroup
	outputs := make([]string, 12)
	statuses := make([]int, 12)
	for i := range 12 {
		wg.Go(func() {
			statuses[i], outputs[i] = p.Skl("install", url, fmt.Sprintf("s%02d", i))
		})
	}
	wg.Wait()
	for i, status := range statuses {
		if status != 0 {
			t.Errorf("install of s%02d: exit %d\n%s", i, status, outputs[i])
		}
	}
	p.Must("verify")
	p.Must("check")
	if out := p.Must("list", "--fields", "name"); strings.Count(out, "\n") != 13 {
		t.Errorf("list shows\n%s", out)
	}
}

// A full disk is a clear error, and nothing has changed.
func TestFullDisk(t *testing.T) {
	p := harness.NewPlace(t)
	small := mount(t, p.Project, "tmpfs", "tmpfs", "size=256k")
	defer small()
	if err := os.Mkdir(filepath.Join(p.Project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := gittest.Init(t, "big")
	gittest.Commit(t, dir, gittest.Files{"SKILL.md": "---\nname: big\ndescription: d\n---\n", "data.bin": strings.Repeat("0123456789abcdef", 40_000)})
	before := listing(p.Project)
	status, out := p.Skl("install", "git+file://"+dir)
	if status != 1 || !strings.Contains(out, "no space is left") || !strings.Contains(out, "hint:") {
		t.Errorf("exit %d\n%s", status, out)
	}
	if now := listing(p.Project); now != before {
		t.Errorf("something was left behind:\n%s", now)
	}
}

// A read-only project is a clear error.
func TestReadOnlyProject(t *testing.T) {
	p := harness.NewPlace(t)
	undo := mount(t, p.Project, p.Project, "", "bind")
	defer undo()
	if out, err := exec.Command("mount", "-o", "remount,bind,ro", p.Project).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, out := p.Skl("install", harness.Library(t, 1))
	if status != 1 || !strings.Contains(out, "cannot be written") || !strings.Contains(out, "hint:") {
		t.Errorf("exit %d\n%s", status, out)
	}
}

// mount mounts a file system, or skips the test where that is not allowed.
func mount(t *testing.T, on, what, kind, options string) (undo func()) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("skipped: needs root on Linux, to mount a file system")
	}
	args := []string{"-o", options, what, on}
	if kind != "" {
		args = append([]string{"-t", kind}, args...)
	}
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("skipped: mounting is not allowed here: %s", out)
	}
	return func() {
		if out, err := exec.Command("umount", on).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	}
}

func listing(dir string) string {
	return strings.Join(harness.Listing(dir, func(path string) string {
		data, _ := os.ReadFile(path)
		return fmt.Sprintf(" %x", data)
	}), "\n")
}
