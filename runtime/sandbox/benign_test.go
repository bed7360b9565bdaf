//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"time"

	"github.com/skl-project/skl/testdata/long"
)

// TestBenign runs what skills really do. It must work in every tier.
func TestBenign(t *testing.T) {
	long.Slow(t)
	for _, c := range []struct {
		name, program, script, want string
		setup                       string
	}{
		{name: "pipeline", program: "/bin/sh", script: "printf 'b\\na\\n' | sort | tr '\\n' ' ' | tee out; test -s out", want: "a b "},
		{name: "files", program: "/bin/sh", script: "mkdir -p a/b && echo x >a/b/c && mv a/b/c a/c && ln a/c d && ln -s d e && cat e && rm -r a && chmod 700 d && echo $HOME >$TMPDIR/y && test -d $HOME", want: "x\n"},
		{name: "background", program: "/bin/sh", script: "sleep 60 & sleep 0.01; kill $!; wait $!; echo $?", want: "143\n"},
		{name: "time", program: "/bin/sh", script: "date -u +%Y >/dev/null; uname >/dev/null; id -u >/dev/null; cat /etc/hosts >/dev/null; head -c 3 /dev/urandom >/dev/null; echo ok", want: "ok\n"},
		{name: "git status", program: "/usr/bin/git", setup: "git init -q . && git add . && git -c user.name=a -c user.email=a@example.org commit -qm a",
			script: "git status --short && touch b && git status --short && git log --oneline | wc -l", want: "?? b\n1\n"},
		{name: "git commit", program: "/usr/bin/git", setup: "git init -q . && git config user.name a && git config user.email a@example.org",
			script: "git add x.txt && git commit -qm a && echo y >y && git add -A && git commit -qm b && git log --oneline | wc -l", want: "2\n"},
		{name: "python", program: "/usr/bin/python3", want: "[1, 4] child\n",
			script: "python3 -c 'import json,os,subprocess,tempfile,threading,sqlite3,ssl,hashlib\n" +
				"t=threading.Thread(target=lambda:None);t.start();t.join()\n" +
				"open(\"w\",\"w\").write(json.dumps(1));tempfile.TemporaryFile()\n" +
				"print([x*x for x in (1,2)],subprocess.run([\"echo\",\"child\"],capture_output=True,text=True).stdout.strip())'"},
		{name: "node", program: "/usr/bin/node", want: "child 2\n",
			script: `node -e 'const c=require("child_process"),fs=require("fs");fs.writeFileSync("w","2");` +
				`c.exec("echo child",(e,o)=>{console.log(o.trim(),fs.readFileSync("w","utf8"))})'`},
	} {
		for _, tier := range tiers() {
			t.Run(c.name+" in "+tier.String(), func(t *testing.T) {
				if _, err := os.Stat(c.program); err != nil {
					t.Skip("there is no " + c.program)
				}
				dir := t.TempDir()
				must(t, os.WriteFile(filepath.Join(dir, "x.txt"), []byte("x"), 0o600))
				if c.setup != "" {
					cmd := exec.Command("/bin/sh", "-c", c.setup)
					cmd.Dir, cmd.Env = dir, []string{"HOME=" + t.TempDir(), "PATH=" + defaultPath}
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				var out, errs bytes.Buffer
				r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", c.script}, Dir: dir, Stdout: &out,
					Stderr: &errs, Timeout: time.Minute, ceiling: tier})
				if err != nil || r.ExitCode != 0 || out.String() != c.want {
					t.Errorf("exit %d, %v, %q, want %q\n%s", r.ExitCode, err, out.String(), c.want, errs.String())
				}
				if strings.Contains(errs.String(), "ermission denied") {
					t.Errorf("complains: %s", errs.String())
				}
			})
		}
	}
}
