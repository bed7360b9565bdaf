// Package steps has no code: it tests .ci/lib, which .ci/run, .ci/quick and .ci/deep are made of.
package steps

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script has a step of each kind: a program, a pipeline, a program that goes on in the background and does not listen, and one that
// starts others. Each says when it has begun.
const script = `#!/usr/bin/env bash
set -euo pipefail
self=$(readlink -f "$0") from=$PWD
cd "${self%/*}/.."
. .ci/lib
[ -n "${SKL_CI_GUARDED:-}" ] || guard "$@"
steps=(program pipeline deaf tree)
begin() { touch "begun.$1"; }
step_program() { begin program; sleep "$naps"; }
step_pipeline() { begin pipeline; sleep "$naps" | cat | cat >/dev/null; }
step_deaf() { (trap '' TERM INT HUP; begin deaf; sleep "$naps"; sleep "$naps") & wait; }
step_tree() { bash -c 'sleep "$naps" & sleep "$naps" & touch begun.tree; wait'; }
main "$@"
`

// bench is a folder with that script.
func bench(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: .ci/lib reads /proc")
	}
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("skipped: " + program + " is not installed")
		}
	}
	dir := t.TempDir()
	lib, err := os.ReadFile(filepath.Join("..", "..", "..", ".ci", "lib"))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, ".ci"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".ci", "lib"), lib, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".ci", "run"), []byte(script), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func command(dir, naps string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	// A program that was written a moment ago may be open in a process that another test starts just now: "text file busy". Bash reads it.
	cmd := exec.Command("bash", append([]string{filepath.Join(dir, ".ci", "run")}, args...)...)
	cmd.Env = append(os.Environ(), "naps="+naps, "SKL_STEPS_TEST="+dir, "TMPDIR="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "SKL_CI_GUARDED=", "SKL_TEST_ENDS=") // a run tests this, too
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what a terminal would do
	return cmd, out
}

// A run that is ended by a signal fails with the signal's status, says so and in which step, and leaves neither process nor file.
func TestInterrupted(t *testing.T) {
	// Children ignore the signals that this test ignores, and a shell cannot trap those; signals that it catches are reset
	// in children. So the test also holds under nohup.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) }) // the subtests run in parallel, and have ended then
	for i, step := range []string{"program", "pipeline", "deaf", "tree", "program"} {
		for _, sent := range []struct {
			number syscall.Signal
			status int
		}{{syscall.SIGTERM, 143}, {syscall.SIGINT, 130}, {syscall.SIGHUP, 129}} {
			log := i == 4
			t.Run(fmt.Sprintf("%s/%d/%v", step, sent.status, log), func(t *testing.T) {
				t.Parallel()
				dir := bench(t)
				args := []string{"--only", step}
				if i == 0 { // the first of all
					args = nil
				}
				if log {
					args = append(args, "--log", filepath.Join(dir, "log"))
				}
				cmd, out := command(dir, "300", args...)
				if step != "program" { // the step before it, which prepares the others, is to end at once
					edit(t, dir, `step_program() { begin program; sleep "$naps"; }`, `step_program() { :; }`)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				await(t, filepath.Join(dir, "begun."+step))
				if err := cmd.Process.Signal(sent.number); err != nil {
					t.Fatal(err)
				}
				cmd.Wait()
				interrupted(t, cmd, out, dir, step, sent.status)
				if log {
					kept, err := os.ReadFile(filepath.Join(dir, "log"))
					if err != nil || !strings.Contains(string(kept), "interrupted in step") {
						t.Errorf("the log does not say it: %v\n%s", err, kept)
					}
				}
			})
		}
	}
}

// The log has the last word of a run that is interrupted, however slow the program is that writes it.
func TestInterruptedLog(t *testing.T) {
	dir := bench(t)
	real, err := exec.LookPath("tee")
	if err != nil {
		t.Skip("skipped: tee is not installed")
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	slow := filepath.Join(bin, "tee")
	if err := os.WriteFile(slow+".new", []byte("#!/bin/sh\nsleep 1\nexec "+real+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(slow+".new", slow); err != nil {
		t.Fatal(err)
	}
	cmd, out := command(dir, "300", "--only", "program", "--log", filepath.Join(dir, "log"))
	cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, filepath.Join(dir, "begun.program"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	interrupted(t, cmd, out, dir, "program", 143)
	if kept, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !strings.Contains(string(kept), "interrupted in step") {
		t.Errorf("the log does not say it: %v\n%s", err, kept)
	}
}

// interrupted looks at a run that was ended in a step: it failed with a status, said so, and left neither process nor file.
func interrupted(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer, dir, step string, status int) {
	t.Helper()
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("exit %d, want %d", got, status)
	}
	if want := fmt.Sprintf("interrupted in step %q", step); !strings.Contains(out.String(), want) {
		t.Errorf("it does not say %s:\n%s", want, out)
	}
	if strings.Contains(out.String(), "all steps passed") {
		t.Errorf("it says that all passed:\n%s", out)
	}
	if left := processes(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp.*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// The .ci/run of this repository, ended in five of its steps. It takes some minutes, so that .ci/deep does it.
func TestRunInterrupted(t *testing.T) {
	if os.Getenv("SKL_TEST_ENDS") == "" {
		t.Skip("skipped: takes minutes; set SKL_TEST_ENDS=1 to run")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []string{"machine", "build", "staticcheck", "test", "race"} {
		t.Run(step, func(t *testing.T) {
			dir := bench(t)
			log := filepath.Join(dir, "log")
			cmd, out := command(root, "", "--only", step, "--log", log)
			cmd.Env = append(cmd.Env, "SKL_STEPS_TEST="+dir, "TMPDIR="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+strings.TrimSpace(goenv(t, "GOCACHE")))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			begun := func() bool { text, _ := os.ReadFile(log); return strings.Contains(string(text), "=== "+step+"\n") }
			for deadline := time.Now().Add(10 * time.Minute); !begun() && time.Now().Before(deadline); {
				select {
				case <-ended:
					t.Fatalf("it ended before that step:\n%s", out)
				case <-time.After(10 * time.Millisecond):
				}
			}
			time.Sleep(time.Duration(i) * 1500 * time.Millisecond)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-ended
			interrupted(t, cmd, out, dir, step, 143)
		})
	}
}

// goenv is what go env says, which a cache directory of a test's own would change.
func goenv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// All steps pass, in their order; one that fails is named with what runs it alone.
func TestSteps(t *testing.T) {
	t.Parallel()
	dir := bench(t)
	cmd, out := command(dir, "0")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "=== all steps passed in ") {
		t.Errorf("%v\n%s", err, out)
	}
	edit(t, dir, `step_pipeline() {`, `step_pipeline() { false | cat;`)
	cmd, out = command(dir, "0")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "to run it alone: .ci/run --only pipeline") {
		t.Errorf("%v\n%s", err, out)
	}
	for args, status := range map[string]int{"--only\ttree": 0, "--only\tnone": 2, "--only\tprogram pipeline": 2, "--only": 2, "--log": 2, "--log\t" + dir + "/no/log": 2, "--what\tx": 2} {
		cmd, out = command(dir, "0", strings.Split(args, "\t")...)
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != status || strings.Contains(out.String(), "all steps passed") {
			t.Errorf("%s: exit %d, want %d\n%s", args, got, status, out)
		}
	}
	// Nobody reads what it says.
	cmd, out = command(dir, "0", "--only", "none")
	cmd.Args = []string{"bash", "-c", `bash "$0" --only none 2>&-`, cmd.Args[1]}
	if cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
}

// A script that goes on after a failure names each step that failed and each that checked nothing, with a command that runs them.
func TestStepsGoOn(t *testing.T) {
	t.Parallel()
	dir := bench(t)
	edit(t, dir, `set -euo`, `keep_going=yes; set -uo`)
	edit(t, dir, `step_pipeline() {`, `step_pipeline() { return 1;`)
	edit(t, dir, `step_tree() {`, `step_tree() { return 1;`)
	edit(t, dir, `step_deaf() {`, `step_deaf() { unchecked="there is no ear"; return;`)
	cmd, out := command(dir, "0")
	if cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit %d", cmd.ProcessState.ExitCode())
	}
	for _, want := range []string{"program          passed ", "pipeline         FAILED ", "deaf             not checked ", "there is no ear\n", "--only pipeline --only tree\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// It works called by a symlink; a log is where the caller stands; GOFLAGS chooses no tests.
func TestCalledFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := bench(t)
	edit(t, dir, `step_tree() {`, `step_tree() { echo "flags:$GOFLAGS"; return;`)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, ".ci", "run"), link); err != nil {
		t.Fatal(err)
	}
	cmd, out := command(dir, "0", "--only", "tree", "--log", "log")
	cmd.Args[1], cmd.Dir = link, filepath.Dir(link)
	cmd.Env = append(cmd.Env, "GOFLAGS=-run=^$ -modcacherw -skip=Test")
	err := cmd.Run()
	text, missing := os.ReadFile(filepath.Join(cmd.Dir, "log"))
	if err != nil || missing != nil || !strings.Contains(string(text), "=== passed in ") {
		t.Errorf("%v, %v\n%s", err, missing, out)
	}
	if !strings.Contains(out.String(), "flags: -modcacherw -buildvcs=false") || !strings.Contains(out.String(), "-run=^$ of GOFLAGS is left out") {
		t.Errorf("GOFLAGS:\n%s", out)
	}
}

// A signal that comes at once, before the script has started anything or just when it does, leaves nothing behind.
func TestInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 25 {
		dir := bench(t)
		cmd, out := command(dir, "300")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(2*i) * time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if cmd.Wait(); cmd.ProcessState.Success() {
			t.Errorf("after %d ms it passes\n%s", 2*i, out)
		}
		if left := processes(dir); len(left) > 0 {
			t.Errorf("after %d ms it left %v", 2*i, left)
		}
	}
}

// A run that passed is recorded for the commit that it saw from its beginning to its end; too many unstable tests in all steps together
// fail it. It runs in its own directory, wherever it is called from.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir := bench(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	record := filepath.Join(dir, "cache", "skl-ci", "passed")
	recorded := func() int {
		text, err := os.ReadFile(record)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("begun.*\ncache\ntmp.*\nother\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "one")
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, out := command(dir, "0")
	cmd.Args[1], cmd.Dir = "../.ci/run", other
	if err := cmd.Run(); err != nil || recorded() != 1 {
		t.Errorf("%v: %d records\n%s", err, recorded(), out)
	}
	for change, status := range map[string]int{
		`git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m two`:                                             0,
		`git config status.showUntrackedFiles no; touch new`:                                                                        0,
		`touch "$scratch/sum"; echo x >"$scratch/sum"; printf '#!/bin/sh\nexit 1\n' >"$scratch/totals"; chmod +x "$scratch/totals"`: 1,
	} {
		git("reset", "-q", "--hard")
		git("clean", "-qfd")
		text, err := os.ReadFile(filepath.Join(dir, ".ci", "run"))
		if err != nil {
			t.Fatal(err)
		}
		edit(t, dir, `step_tree() {`, `step_tree() { `+change+`; } ; step_before() {`)
		git("commit", "-qam", "changed")
		before := recorded()
		cmd, out := command(dir, "0")
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != status || recorded() != before || status != 0 && strings.Contains(out.String(), "all steps passed") {
			t.Errorf("%s: exit %d, %d records of %d\n%s", change, got, recorded(), before, out)
		}
		if err := os.WriteFile(filepath.Join(dir, ".ci", "run"), text, 0o755); err != nil {
			t.Fatal(err)
		}
		git("commit", "-qam", "back")
	}
}

func edit(t *testing.T, dir, old, new string) {
	t.Helper()
	path := filepath.Join(dir, ".ci", "run")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v: there is no %q", err, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// await waits for a file. It ends a hang.
func await(t *testing.T, path string) {
	t.Helper()
	for range 6000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not come", path)
}

// processes are those that have the folder in their environment.
func processes(dir string) (left []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		text, _ := os.ReadFile(path)
		if bytes.Contains(text, []byte("SKL_STEPS_TEST="+dir+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}
