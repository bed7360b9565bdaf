package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source/git/gittest"
)

// A Place is a home and a project in which the real program runs.
type Place struct {
	T             *testing.T
	Home, Project string
}

// NewPlace makes one, with a project that git takes for a repository.
func NewPlace(t *testing.T) *Place {
	t.Helper()
	dir := t.TempDir()
	p := &Place{t, filepath.Join(dir, "home"), filepath.Join(dir, "project")}
	for _, d := range []string{p.Home, filepath.Join(p.Project, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Command is skl with args; TestMain makes this binary answer to the name.
func (p *Place) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("skl", args...)
	cmd.Dir = p.Project
	cmd.Env = append(GitEnv(p.Home), "USERPROFILE="+p.Home)
	return cmd
}

// Skl runs the program and returns its status and what it printed.
func (p *Place) Skl(args ...string) (status int, output string) {
	p.T.Helper()
	cmd := p.Command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// Must is skl that has to succeed.
func (p *Place) Must(args ...string) string {
	p.T.Helper()
	status, out := p.Skl(args...)
	if status != 0 {
		p.T.Fatalf("skl %s: exit %d\n%s", strings.Join(args, " "), status, out)
	}
	return out
}

// Skills are the files of n skills in a version.
func Skills(n, version int) gittest.Files {
	files := gittest.Files{}
	for i := range n {
		name := fmt.Sprintf("s%02d", i)
		files["skills/"+name+"/SKILL.md"] = fmt.Sprintf("---\nname: %s\ndescription: Version %d.\n---\n", name, version)
		files["skills/"+name+"/scripts/run.sh*"] = fmt.Sprintf("#!/bin/sh\necho %d\n", version)
	}
	return files
}

// Library is a repository with n skills and the versions 1.0.0 and 2.0.0.
func Library(t *testing.T, n int) (url string) {
	dir := gittest.Init(t, "library")
	for version := 1; version <= 2; version++ {
		gittest.Git(t, dir, "tag", fmt.Sprintf("v%d.0.0", version), gittest.Commit(t, dir, Skills(n, version)))
	}
	return "git+file://" + filepath.ToSlash(dir)
}

// WriteFile makes a file with its directories.
func WriteFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
