//go:build unix

package scratch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain turns this program into one that holds a directory until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_HOLD") != "" {
		dir, remove, err := New("script")
		if err != nil {
			panic(err)
		}
		os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755)
		os.Chmod(filepath.Join(dir, "a"), 0)
		fmt.Println(dir)
		time.Sleep(time.Minute)
		remove()
		return
	}
	os.Exit(m.Run())
}

// The directory of a killed process is removed by the next process; one that a living process holds stays, and so does
// anything else.
func TestSweep(t *testing.T) {
	swept = sync.Once{}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	holder := func() (*exec.Cmd, string) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SCRATCH_HOLD=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return cmd, strings.TrimSpace(line)
	}
	var theirs []string
	killed, gone := holder()
	_, kept := holder()
	other := filepath.Join(temporary, "skl-planted-1")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{ // what people have
		"skl-claude-notes":     {"todo.txt": "x"},
		"skl-script-marked":    {mark: "mine\n"},
		"skl-sandbox-both":     {mark: markText, "d/x": "x", "mine.txt": "x"},
		"skl-copilot-file":     {mark: markText, inner: "x"},
		"skl-undone-lookalike": {inner + "/x": "x"},
	} {
		for path, text := range files {
			path = filepath.Join(temporary, name, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			theirs = append(theirs, path)
		}
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(temporary, "skl-script-link")); err != nil {
		t.Fatal(err)
	}
	killed.Process.Kill()
	killed.Wait()
	if _, err := os.Stat(gone); err != nil {
		t.Fatalf("what is to be swept is not there: %v", err)
	}
	dir, remove, err := New("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(gone)); err == nil {
		t.Error("what a killed process left is still there")
	}
	for _, path := range append(theirs, kept, other, outside, dir, filepath.Join(temporary, "skl-script-link")) {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	sweep() // of the process that holds it
	if _, err := os.Lstat(dir); err != nil {
		t.Error(err)
	}
	remove()
	if _, err := os.Lstat(filepath.Dir(dir)); err == nil {
		t.Error("remove leaves the directory")
	}
}
