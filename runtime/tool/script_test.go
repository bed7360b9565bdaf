package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
)

func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary) // others leave files in the usual one
	p := &plain{}
	config := everything(p)
	config.SkillDir = t.TempDir()
	config.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	put(t, filepath.Join(config.SkillDir, "scripts", "lib.sh"), "hello() { echo \"hello from $1\"; }\n")
	whole := ". \"${0%/*}/lib.sh\"\nhello \"$SKL_ARG_SINCE_TAG\"\n"
	put(t, filepath.Join(config.SkillDir, "scripts", "whole.sh"), whole)
	d, dir := open(t, config)
	for _, c := range []struct {
		name, needs   string
		script        run.Script
		want          string
		fails, denied bool
	}{
		{name: "section", script: run.Script{Path: "scripts/x.sh", Section: "GET_TAG", Text: "echo \"$SKL_ARG_A_B $PWD\"", Env: map[string]string{"a-b": "v;$(x)"}}, want: "v;$(x) " + d.work.real + "\n"},
		{name: "whole file finds its neighbours", script: run.Script{Path: "scripts/whole.sh", Text: whole, Env: map[string]string{"since tag": "v1"}}, want: "hello from v1\n"},
		{name: "changed text does not run in place", script: run.Script{Path: "scripts/whole.sh", Text: "echo \"${0##*/}\""}, want: "script.sh\n"},
		{name: "status", script: run.Script{Path: "x.sh", Text: "echo a; exit 2"}, want: "a\nx.sh ended with status 2", fails: true},
		{name: "python", needs: "python3", script: run.Script{Path: "x.py", Text: "import os\nprint(os.environ['SKL_ARG_N'])", Env: map[string]string{"n": "ü"}}, want: "ü\n"},
		{name: "node", needs: "node", script: run.Script{Path: "x.js", Text: "console.log(process.env.SKL_SKILL_DIR)"}, want: d.own.real + "\n"},
		{name: "first line", script: run.Script{Path: "bin/x", Text: "#!/usr/bin/env bash\necho $BASH_VERSION | head -c 0; echo ok"}, want: "ok\n"},
		{name: "first line of sh", script: run.Script{Path: "x", Text: "#!/bin/sh -e\necho ok"}, want: "ok\n"},
		{name: "unknown", script: run.Script{Path: "x.rb", Text: "puts 1"}, want: "x.rb is not run: neither its name nor its first line names bash, sh, python3, node or pwsh", fails: true, denied: true},
		{name: "ambiguous names", script: run.Script{Path: "x.sh", Text: "echo", Env: map[string]string{"a b": "", "a-b": "x"}}, want: `the input of the script: the bindings "a b" and "a-b" are both SKL_ARG_A_B`, fails: true},
		{name: "own name, and only the output", script: run.Script{Path: "x.sh", Text: "echo noise >&2; printf %s \"$NEW_version:$ARGUMENTS\"", Env: map[string]string{"NEW_version": "2", "new_version": "2", "ARGUMENTS": "a b"}}, want: "2:a b"},
		{name: "names that steer programs", script: run.Script{Path: "x.sh", Text: "echo \"${BASH_ENV-none} ${LD_PRELOAD-none} $SKL_ARG_PATH\"; ls / > /dev/null", Env: map[string]string{"PATH": "/x", "BASH_ENV": "/x", "LD_PRELOAD": "/x"}}, want: "none none /x\n"},
		{name: "failure shows everything", script: run.Script{Path: "x.sh", Text: "printf out; echo err >&2; exit 1"}, want: "out\nerr\nx.sh ended with status 1", fails: true},
		{name: "too much", script: run.Script{Path: "x.sh", Text: "yes | head -c 2000000"}, want: "x.sh printed 2000000 bytes, and at most 1048576 are taken", fails: true},
		{name: "much", script: run.Script{Path: "x.sh", Text: "yes | head -c 1000000"}, want: strings.Repeat("y\n", 500_000)},
		{name: "NUL", script: run.Script{Path: "x.sh", Text: "echo", Env: map[string]string{"a": "\x00"}}, want: `the input of the script: the binding "a" has a NUL, or is too large: at most 98304 bytes, and 524288 for all`, fails: true},
		{name: "file in the working directory", script: run.Script{Path: "x.sh", Text: "echo 1 > made; cat made"}, want: "1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
				t.Skip("no", c.needs)
			}
			r, _, err := d.Script(context.Background(), c.script)
			if r.Text != c.want || r.IsError != c.fails || (err != nil) != c.denied {
				t.Errorf("%+v %v, want %q", r, err, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A script is a use of bash, by the name of its path.
func TestScriptPolicy(t *testing.T) {
	for policy, denied := range map[string]bool{
		"allow: bash": false, "allow: Bash": false, "allow: read": true, "deny: bash": true, "deny: shell": true, "allow: bash(git *)": true,
		"allow: bash(scripts/*)": false, "allow: bash(scripts/x.sh)": false, "deny: bash(scripts/*)": true, "deny: bash(rm *)": true, "deny: read": false,
	} {
		config := everything(&plain{})
		config.Policy = tools(t, policy)
		d, _ := open(t, config)
		if r, _, err := d.Script(context.Background(), run.Script{Path: "scripts/x.sh", Text: "echo"}); (err != nil) != denied {
			t.Errorf("%s: %+v", policy, r)
		}
	}
	config := everything(&plain{})
	var asked []Ask
	config.Consent = func(_ context.Context, a Ask) (Answer, error) { asked = append(asked, a); return No, nil }
	d, _ := open(t, config)
	if _, _, err := d.Script(context.Background(), run.Script{Path: "x.sh", Section: "S", Text: "echo"}); err == nil || len(asked) != 1 || asked[0].Detail != "x.sh, section S" {
		t.Errorf("%+v", asked)
	}
}

func TestInterpreterPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := func(path string) string {
		path = filepath.Join(home, path)
		put(t, path, "#!/bin/sh\n")
		os.Chmod(path, 0o755)
		return path
	}
	put(t, filepath.Join(home, ".pyenv", "version"), "3.12.1\n")
	shim, real := program(".pyenv/shims/python3"), program(".pyenv/versions/3.12.1/bin/python3")
	node := program(".nvm/versions/node/v20/bin/node")
	own, local, deep := program("bin/python3"), program(".local/bin/python3"), program(".local/share/uv/python/cpython/bin/python3")
	d, work := open(t, Config{Home: home, Path: filepath.Dir(shim) + ":" + filepath.Dir(node) + ":relative:."})
	if got := unshimmed(shim); got != real {
		t.Errorf("the shim runs %s", got)
	}
	for path, want := range map[string]string{
		shim: filepath.Join(home, ".pyenv"), real: filepath.Dir(filepath.Dir(real)), node: filepath.Dir(filepath.Dir(node)),
		own: own, local: local, deep: filepath.Dir(filepath.Dir(deep)), "/usr/bin/env": "", filepath.Join(home, "none"): "",
	} {
		if got := d.prefixOf(path); got != want {
			t.Errorf("%s needs %q, want %q", path, got, want)
		}
	}
	if got := strings.Join(d.interpreterDirs(), " "); !strings.Contains(got, ".nvm/versions/node/v20") || strings.Contains(got+" ", home+" ") {
		t.Errorf("programs may read %s", got)
	}
	// A file of the working directory is never taken for a program.
	put(t, filepath.Join(work, "bash"), "#!/bin/sh\n")
	os.Chmod(filepath.Join(work, "bash"), 0o755)
	evil, _ := open(t, Config{WorkDir: work, Path: work})
	if path, ok := evil.look("bash"); ok {
		t.Errorf("bash is %s", path)
	}
}

// A .ps1 is handed to pwsh as a file, without a profile and without questions, with the bindings in its environment. PowerShell itself is
// seldom there, so a program that tells what it was given has its place.
func TestPowerShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sh")
	}
	bin := t.TempDir()
	program := filepath.Join(bin, "pwsh")
	put(t, program, "#!/bin/sh\necho \"$1 $2 $3 $SKL_ARG_N\"\ncase $4 in *.ps1) cat \"$4\" ;; esac\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	config := everything(&plain{})
	config.SkillDir = t.TempDir()
	config.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	d, _ := open(t, config)
	for _, path := range []string{"scripts/x.ps1", "scripts/X.PS1"} {
		r, _, err := d.Script(context.Background(), run.Script{Path: path, Text: "Write-Output $env:SKL_ARG_N\n", Env: map[string]string{"n": "7"}})
		if want := "-NoProfile -NonInteractive -File 7\nWrite-Output $env:SKL_ARG_N\n"; err != nil || r.IsError || r.Text != want {
			t.Errorf("%s: %+v %v, want %q", path, r, err, want)
		}
	}
}
