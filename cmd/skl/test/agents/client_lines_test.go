package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/registry/oci/peertest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/testdata/long"
)

// Each line that "registry clients" prints for a program that is at hand runs as it is printed, in a shell, with nothing replaced but the
// words in capitals; and what comes out of it are the files that were published.
func TestClientLines(t *testing.T) {
	long.Only(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the lines are for a POSIX shell")
	}
	host, token := harness.ServeRegistry(t, server.Config{})
	bin := t.TempDir()
	for name, pkg := range map[string]string{"oras": peertest.Oras, "crane": peertest.Crane} {
		if err := os.Symlink(peertest.Program(t, pkg), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "skl")); err != nil {
		t.Fatal(err)
	}
	programs := map[string]bool{"skl": true, "oras": true, "crane": true}
	if skills := os.Getenv("SKL_TEST_SKILLS"); skills != "" {
		// npx, without asking a registry of packages for what is installed.
		harness.WriteFile(t, filepath.Join(bin, "npx"), "#!/bin/sh\nshift\nexec '"+skills+"' \"$@\" --yes\n")
		if err := os.Chmod(filepath.Join(bin, "npx"), 0o755); err != nil {
			t.Fatal(err)
		}
		programs["npx"] = true
	} else if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Error("SKL_TEST_SKILLS names no program, and SKL_TEST_REQUIRE=all wants the lines for npx to run")
	} else {
		t.Log("SKL_TEST_SKILLS names no program, so the lines for npx do not run")
	}
	home := t.TempDir()
	env := append(harness.GitEnv(home), "DOCKER_CONFIG="+filepath.Join(home, "docker"), "NO_PROXY=127.0.0.1", "CI=1", "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1",
		"PATH="+bin+string(os.PathListSeparator)+filepath.Dir(os.Getenv("SKL_TEST_SKILLS"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	shell := func(dir, line string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", "set -e; "+line)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", line, err, stdout.Bytes(), stderr.Bytes())
		}
		return stdout.String()
	}
	tokenFile := harness.WriteFile(t, filepath.Join(home, "token"), token+"\n")
	skill := filepath.Join(home, "pdf")
	const text = "---\nname: pdf\ndescription: Fills forms in PDF files. Use when a form is to be filled.\nlicense: MIT\n---\n\n# PDF\n"
	harness.WriteFile(t, filepath.Join(skill, "SKILL.md"), text)
	harness.WriteFile(t, filepath.Join(skill, "docs", "deep", "notes.md"), "notes\n")
	shell(home, "skl login http://"+host+" --token-stdin --default < token && skl registry namespace create acme --public && skl publish pdf acme/pdf@1.0.0 --image")

	reading := strings.TrimSpace(shell(home, "skl registry token create --name agents --namespace acme"))
	var printed struct {
		Clients []struct {
			For   string
			Lines []string
		}
	}
	if err := json.Unmarshal([]byte(shell(home, "skl registry clients --json")), &printed); err != nil {
		t.Fatal(err)
	}
	same := func(line, dir string) {
		t.Helper()
		for name, want := range map[string]string{"SKILL.md": text, "docs/deep/notes.md": "notes\n"} {
			if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", line, name, got, err)
			}
		}
	}
	ran := map[string]int{}
	for _, c := range printed.Clients {
		for _, line := range c.Lines {
			program, _, _ := strings.Cut(line, " ")
			if !programs[program] {
				continue
			}
			dir := t.TempDir()
			typed := strings.NewReplacer("TOKEN_FILE", tokenFile, "/t/TOKEN/", "/t/"+reading+"/", "DIR", skill, "@VERSION", "@1.1.0").Replace(line)
			if strings.HasPrefix(line, "skl login ") {
				typed += " --token-stdin < " + tokenFile
			}
			out := shell(dir, "git init -q; "+typed)
			ran[program]++
			switch {
			case strings.HasPrefix(line, "oras pull "):
				same(line, filepath.Join(dir, "pdf"))
			case strings.HasPrefix(line, "crane export "):
				same(line, dir)
			case strings.HasPrefix(line, "crane manifest "):
				if !json.Valid([]byte(out)) {
					t.Errorf("%s: %q", line, out)
				}
			case strings.HasPrefix(line, "skl install "), strings.HasPrefix(line, "npx skills add "):
				found, err := filepath.Glob(filepath.Join(dir, ".*", "skills", "pdf"))
				if err != nil || len(found) == 0 {
					t.Errorf("%s: installed nothing: %v", line, err)
					continue
				}
				same(line, found[0])
			}
		}
	}
	for program := range programs {
		if ran[program] == 0 {
			t.Errorf("no line for %s ran", program)
		}
	}

	// crane auth login, which the lines have just run, did not replace what skl login keeps.
	shell(home, "printf wrong | crane auth login "+host+" --username other --password-stdin")
	if out := shell(home, "skl registry doctor"); !strings.Contains(out, "you are admin, by the credential from skl login") {
		t.Errorf("after crane auth login:\n%s", out)
	}
	shell(home, "skl registry token list")
	// Nor does it keep crane from its own, or from ours where it has none.
	shell(home, "crane auth logout "+host+" && crane catalog "+host+" | grep -x acme/pdf")
}
