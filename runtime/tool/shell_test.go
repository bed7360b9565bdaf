package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

func anywhere(string, bool) error { return nil }

// accepts says whether a line is let through by patterns.
func accepts(patterns []string, line string) (Line, bool) {
	l, err := Commands(line, anywhere)
	if err != nil {
		return Line{}, false
	}
	for _, c := range l.Commands {
		ok := false
		for _, p := range patterns {
			ok = ok || matchCommand(p, c, false)
		}
		if !ok {
			return Line{}, false
		}
	}
	return l, true
}

func TestBashPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		ok            bool
	}{
		{"git *", "git status", true},
		{"git *", "git", true},
		{"git:*", "git log --oneline", true},
		{"git log:*", "git log", true},
		{"git log:*", "git logger", false},
		{"git status", "git status", true},
		{"git status", "git status -s", false},
		{"git *", "gitx", false},
		{"git *", "/usr/bin/git status", false},
		{"git *", "git status && git diff | git apply; git log", true},
		{"git *", "git status\ngit log", true},
		{"git *", "(git status; { git log; }) || ! git diff", true},
		{"git *", "git commit -m 'a; rm -rf / $(x) `y` && z'", true},
		{"git *", `git commit -m "a; rm \$HOME \"q\" b"`, true},
		{"git *", "git add *.go", true},
		{"git *", "git log > out.txt 2>&1", true},
		{"git *", "git apply <<'E'\n$(rm)\nE", true},
		{"git *", "'git' status", true},
		{"git *", "g\\it status", true},
		{"git *", "git status # rm -rf /", true},
		{"git *", "git status && rm -rf /", false},
		{"git *", "git status; rm x", false},
		{"git *", "git status | sh", false},
		{"git *", "git status & rm x", false},
		{"git *", "git status &", false},
		{"git *", "git status\nrm x", false},
		{"git *", "git $(rm x)", false},
		{"git *", "git `rm x`", false},
		{"git *", `git "$(rm x)"`, false},
		{"git *", "git <(rm x)", false},
		{"git *", "git $HOME", false},
		{"git *", `git "${x:=$(rm)}"`, false},
		{"git *", "git $((1+1))", false},
		{"git *", "git $'\\x41'", false},
		{"git *", "git <<E\n$(rm x)\nE", false},
		{"git *", "git <<<\"$(rm x)\"", false},
		{"git *", "PATH=/tmp git status", false},
		{"git *", "GIT_PAGER='rm x' git log", false},
		{"git *", "x=1", false},
		{"git *", "git() { rm x; }; git status", false},
		{"git *", "function git { rm x; }", false},
		{"git *", "if git x; then rm y; fi", false},
		{"git *", "for i in a; do git x; done", false},
		{"git *", "while git x; do git y; done", false},
		{"git *", "[[ -n $(rm) ]]", false},
		{"git *", "time git status", false},
		{"git *", "coproc git status", false},
		{"git *", "export PATH=/tmp", false},
		{"git *", "eval git status", false},
		{"git *", "alias git=rm", false},
		{"git *", "> x", false},
		{"git *", "git status > $x", false},
		{"git *", "git status > *", false},
		{"git *", "git status {fd}> x", false},
		{"git *", "gi* status", false},
		{"git *", "{git,rm} x", false},
		{"git *", "~/git status", false},
		{"git *", "'git status'", false},
		{"git *", "'git ' x", false},
		{"git *", "", false},
		{"git *", "# git", false},
		{"git *", "git 'unfinished", false},
		{"git *", "git status\r\nrm", false},
		{"git *", "git \x00rm", false},
		{"git *", "git\u00a0status", false},
		{"cat a?", "cat a*", false},
		{"cat [ab]", "cat [ab]", false},
		{"cat *", "cat [ab]", true},
		{"echo a b", "echo 'a b'", false},
		{"echo *", "echo 'a b'", true},
		{"./x/*", "./x/run", true},
		{"./x/*", "./x/../rm", false},
		{"scripts/x.sh", "scripts/x.sh", true},
		{"*", "anything goes | here", true},
		{"*", "anything $(goes)", false},
		{"ls", "ls \\\n -l", false},
		{"ls *", "ls \\\n -l", true},
		{"npm run test *", "npm run test:unit", false},
		{"npm run test*", "npm run test:unit", true},
	} {
		if _, ok := accepts([]string{c.pattern}, c.line); ok != c.ok {
			l, err := Commands(c.line, anywhere)
			t.Errorf("bash(%s) and %q: accepted is %v: %q, %v", c.pattern, c.line, ok, l.Commands, err)
		}
	}
}

// A denied program stays denied by any path, and behind any program that runs other commands.
func TestDeniedBashPatterns(t *testing.T) {
	for line, denied := range map[string]bool{
		"rm x": true, "ls; rm x": true, "/bin/rm x": true, "'rm' x": true, "\\rm x": true, "./rm x": true, "rmdir x": true, "ls rm x": false, "echo 'rm x'": false,
		"sh -c 'rm x'": true, "env rm x": true, "xargs rm": true, "find . -exec rm {} +": true, "find . -name x": false, "eval rm x": true,
		"$(echo rm) x": true, "r=rm; $r x": true, "for f in x; do ls; done": true, "python3 -c 1": true, "rm": true, "ls *": false,
		"git -c alias.z='!rm f' z": true, "python3.11 -c 1": true, "cp /bin/rm r": true, "./r f": true, "ln -s /bin/rm zap": true, "./zap f": true, "perl5.36.0 -e 1": true,
		"/lib64/ld-linux-x86-64.so.2 /bin/rm f": true, "busybox rm f": true, "unlink f": true, "mv f g": true, "git rm f": true, "git clean -f": true, "find . -delete": true,
		"awk 'BEGIN{system(\"rm f\")}'": true, "sed -n '1e rm f' x": true, "tar --to-command=rm -xf x": true, "sort -o f f": true, "sort --compress-program=rm f": true, "uniq a b": true,
		"rg --pre rm x": true, "git log --output=f": true, "git -C x status": true, "git ls-remote ext::rm": true, "/tmp/cat x": true, "find *": true, "make": true, "nosuchprogram": true, "test -v 'a[$(rm f)]'": true, "[ x -o -v 'a[$(rm f)]' ]": true, "printf -v 'a[$(rm f)]' x": true, "printf -v'a[$(rm f)]' x": true, "printf %s x": false, "[ -f x ]": true, "test -f x": false,
		"git status": false, "git diff HEAD": false, "git --no-pager log -3": false, "cat x | sort -u | uniq -c | head -3": false, "grep -rn x .": false, "wc -l < x": false, "find . -name 'a*'": false,
	} {
		config := everything(&plain{})
		config.Policy = tools(t, "deny: bash(rm *)")
		config.Exec = (&plain{}).exec
		d, _ := open(t, config)
		if text, got := call(d, "bash", "command", line); got != denied {
			t.Errorf("%s: %s", line, text)
		}
	}
}

// A denial of reading, finding or changing some files binds commands too: those that may read one, and all that are not known to be harmless.
func TestDeniedPathsBindBash(t *testing.T) {
	for deny, lines := range map[string]map[string]bool{
		"read(secret/**)": {
			"cat secret/k": true, "cat ./x/../secret/k": true, "head -n1 'secret/k'": true, "grep . secret/*": true, "grep -r . .": true, "grep -R x": true, "rg x": true, "cat link": true,
			"cd secret && cat k": true, "cp secret/k a": true, "python3 x.py": true, "diff -r secret x": true, "cat secret": true, "grep -fsecret/k x": true, "grep -nfsecret/k x": true,
			"date --file=secret/k": true, "sort --files0-from=x/list": true, "cat x/../*/k": true, "git show HEAD:secret/k": true, "git diff": true, "git log -p": true, "make": true,
			"du --files0-from=secret/k": true, "find -files0-from secret/k": true, "wc --files0-from x/list": true, "jq -n 'import \"./secret/k\" as $d; $d'": true, "strings @secret/k": true,
			"cat a": false, "cat a x/b | wc -l": false, "ls secret": false, "echo secret/k": false, "git status": false, "grep -n text a": false, "test -f secret/k": false, "cat nothing": false,
		},
		"list(secret/**)":    {"ls secret": true, "find .": true, "cat a": false, "rg x": true, "mkdir y": true},
		"write(secret/**)":   {"cat secret/k": false, "touch secret/k": true, "tee secret/k": true, "sed -i s/a/b/ a": true, "ls": false},
		"fetch(example.org)": {"curl http://example.org": true, "cat a": false, "python3 -c 1": true},
	} {
		config := everything(&plain{})
		config.Policy = tools(t, "deny: "+deny)
		config.Exec = (&plain{}).exec
		d, dir := open(t, config, "secret/k", "text", "a", "text", "x/b", "text")
		if err := os.Symlink("secret/k", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		for line, denied := range lines {
			if text, got := call(d, "bash", "command", line); got != denied {
				t.Errorf("%s: %s: %s", deny, line, text)
			}
		}
		if _, _, err := d.Script(context.Background(), run.Script{Path: "a.sh", Text: "echo hi"}); diag.ClassOf(err) != diag.Refused {
			t.Errorf("%s: a script: %v", deny, err)
		}
	}
	config := everything(&plain{})
	config.Policy = tools(t, "deny: bash(rm *)")
	d, _ := open(t, config)
	if text, _ := call(d, "bash", "command", "npm test"); !strings.Contains(text, `denied in part by the skill (bash(rm *)), and with it every command that is not known to be harmless, as "npm" is not`) {
		t.Error(text)
	}
}

func TestRedirections(t *testing.T) {
	p := &plain{}
	config := everything(p)
	config.Policy = tools(t, "allow: bash(echo *), bash(cat *), bash(cd *) deny: write(locked/*), read(hidden/*)")
	d, dir := open(t, config, "locked/x", "1", "hidden/x", "1", ".git/config", "1", "in", "input\n")
	for line, denied := range map[string]bool{
		"echo hi > out": false, "echo hi >> sub.txt 2>/dev/null": false, "cat < in": false, "echo hi > " + filepath.Join(dir, "abs"): false,
		"echo hi > ../out": true, "echo hi > /etc/passwd": true, "echo hi > .git/config": true, "echo hi >| locked/x": true, "echo hi &> /tmp/x": true,
		"cat < /etc/passwd": true, "cat < hidden/x": true, "cd .. && echo hi > out": true, "echo hi > locked/../../x": true, "echo hi <> in": true,
		"echo hi > /dev/null 2>&1": false, "(echo hi) > ../x": true, "echo hi >& x": true, "echo hi > 'o ut'": false,
	} {
		if text, got := call(d, "bash", "command", line); got != denied {
			t.Errorf("%s: %s", line, text)
		}
	}
	if _, err := Commands("echo > x", func(path string, write bool) error { return failed("%s %v", path, write) }); err == nil || err.Error() != "x true" {
		t.Errorf("%v", err)
	}
}

// The line that is run is the one that was judged: a shell prints the same words for both.
func TestRewrittenLineMeansTheSame(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for _, line := range []string{
		`printf '%s\n' a "b c" 'd  e' f\ g`, `printf '%s|' "it's" 'say "x"' \' \" "a\\b" 'a\b' "\$x" '$x'`, "printf '%s|' 'a\nb' \"c\nd\"", "printf '%s|' a\\\nb \"c\\\nd\"",
		`printf x; printf y && printf z || printf w`, `printf 'c\na\n' | sort | cat`, `(printf a; { printf b; }) | cat`, `! printf a`, "printf a\nprintf b\n# c\nprintf d",
		"cat <<E\nx 'y' \\$z \"w\"\nE", "cat <<'E'\n$x `y`\nE", "cat <<-E | cat\n\tindented\nE", "cat <<<'a b'", `printf '%s|' '' "" a''b`, `printf '%s|' {a,b}c`, `printf '%s|' ü 'ö' "é"`,
		`'printf' '%s' if then fi`, `printf '%s|' \if "while" [ ] { }`, `printf '%s|' -n --x=y a=b`, `printf %s%% 1 2 > /dev/null`, `printf '%s|' '!' "!" a!b`, "if_=1", "printf '%s|' a#b '#c'",
	} {
		l, err := Commands(line, anywhere)
		if err != nil {
			if line != "if_=1" {
				t.Errorf("%q: %v", line, err)
			}
			continue
		}
		run := func(s string) string {
			out, _ := exec.Command(bash, "-c", s).CombinedOutput()
			return string(out)
		}
		if want, got := run(line), run(l.Text); got != want || want == "" && !strings.Contains(line, "/dev/null") {
			t.Errorf("%q prints %q, as %q it prints %q", line, want, l.Text, got)
		}
		again, err := Commands(l.Text, anywhere)
		if err != nil || strings.Join(again.Commands, ";") != strings.Join(l.Commands, ";") {
			t.Errorf("%q is judged as %q, and %q as %q", line, l.Commands, l.Text, again.Commands)
		}
	}
}

// FuzzBashPattern: in a line that a pattern accepts, whoever reads what is run finds simple commands that the
// pattern means, and no way to others.
func FuzzBashPattern(f *testing.F) {
	for _, s := range []string{"git status", "git status; rm x", "git $(rm)", "git log > x", "'git' \"a b\" \\\n c", "(git a || git b) | git c", "git <<E\nx\nE", "git {a,b}*~", "git a\ngit b # c", "x=1 git", "! git a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, ok := accepts([]string{"git *"}, line)
		if !ok {
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(l.Text), "")
		if err != nil {
			t.Fatalf("%q is run as %q: %v", line, l.Text, err)
		}
		commands := 0
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				commands++
				name := ""
				for _, part := range n.Args[0].Parts {
					switch p := part.(type) {
					case *syntax.Lit:
						name += p.Value
					case *syntax.SglQuoted:
						name += p.Value
					}
				}
				if name != "git" || len(n.Assigns) > 0 {
					t.Fatalf("%q is run as %q, which runs %q", line, l.Text, name)
				}
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.FuncDecl, *syntax.ForClause, *syntax.WhileClause, *syntax.IfClause,
				*syntax.CaseClause, *syntax.DeclClause, *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.TimeClause, *syntax.CoprocClause, *syntax.Assign:
				t.Fatalf("%q is run as %q, which holds a %T", line, l.Text, n)
			}
			return true
		})
		if commands != len(l.Commands) || commands == 0 {
			t.Fatalf("%q is run as %q, which has %d commands and not %q", line, l.Text, commands, l.Commands)
		}
		if again, ok := accepts([]string{"git *"}, l.Text); !ok || strings.Join(again.Commands, ";") != strings.Join(l.Commands, ";") {
			t.Fatalf("%q is run as %q, which is judged as %q and not %q", line, l.Text, again.Commands, l.Commands)
		}
	})
}

func TestBash(t *testing.T) {
	long.Slow(t)
	p := &plain{}
	config := everything(p)
	d, dir := open(t, config)
	for _, c := range []struct{ command, want string }{
		{"echo out; echo err >&2", "out\nerr\n"},
		{"pwd -P", d.work.real + "\n"},
		{"exit 3", "error: bash ended with status 3"},
		{"echo x; exit 3", "error: x\nbash ended with status 3"},
		{"env | grep -c SECRET", "error: 0\nbash ended with status 1"},
		{"printf 'a\\377b\\033[0m'", "a\uFFFDb\x1b[0m\n"},
		{"cat", ""},
	} {
		t.Setenv("SECRET_TOKEN", "x")
		if text, _ := call(d, "bash", "command", c.command); text != c.want {
			t.Errorf("%s: %q, want %q", c.command, text, c.want)
		}
	}
	started := time.Now()
	if text, _ := call(d, "bash", "command", "sleep 60", "timeout_seconds", 1); !strings.Contains(text, "bash was stopped after ") || time.Since(started) > 20*time.Second {
		t.Errorf("%s", text)
	}
	text, _ := call(d, "bash", "command", "echo first; yes | head -c 3000000; echo last")
	if len(text) > maxOutput || !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, "last\n") || !strings.Contains(text, "\n[cut: 29") {
		t.Errorf("%d bytes of output: %.40q…%.40q", len(text), text, text[len(text)-40:])
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, _, _, _ := d.Call(ctx, "bash", []byte(`{"command":"echo"}`), false); !r.IsError {
		t.Error("ran after cancel")
	}
	// The sandbox gets the directory, limits and hosts that the effects allow.
	config.SideEffects, config.SkillDir, config.Grants = []string{"external"}, t.TempDir(), []Grant{{Effects: []Effect{Network}}}
	config.WorkDir = dir
	d, _ = open(t, config)
	call(d, "bash", "command", "true")
	if p.last.Dir != d.work.real || !p.last.ReadOnly || p.last.Hosts != nil || p.last.Timeout != defaultTimeout || p.last.Read[len(p.last.Read)-1] != d.own.real {
		t.Errorf("%+v", p.last)
	}
	config.SideEffects = []string{"external", "filesystem", "network"}
	d, _ = open(t, config)
	call(d, "bash", "command", "true")
	if p.last.ReadOnly || len(p.last.Hosts) != 1 {
		t.Errorf("%+v", p.last)
	}
	config.Exec = nil
	d, _ = open(t, config)
	if text, denied := call(d, "bash", "command", "true"); !denied {
		t.Error(text)
	}
	if _, err := Commands("x $y", anywhere); !errors.Is(err, diag.Code(CodeDenied)) {
		t.Error(err)
	}
}

func TestHeadTail(t *testing.T) {
	for _, n := range []int{0, 1, halfOutput, halfOutput + 1, 2 * halfOutput, 2*halfOutput + 1, 5*halfOutput + 7} {
		for _, chunk := range []int{1, 7, 4096, 3 * halfOutput} {
			if chunk == 1 && n > 2*halfOutput+1 {
				continue
			}
			var all strings.Builder
			h := headTail{half: halfOutput}
			for i := 0; i < n; i += chunk {
				piece := strings.Repeat(string(rune('a'+i/chunk%26)), min(chunk, n-i))
				all.WriteString(piece)
				h.Write([]byte(piece))
			}
			got, want := h.String(), all.String()
			if n <= 2*halfOutput {
				if got != want {
					t.Errorf("%d bytes by %d were changed", n, chunk)
				}
				continue
			}
			if !strings.HasPrefix(got, want[:halfOutput]) || !strings.HasSuffix(got, want[n-halfOutput:]) || len(got) > maxOutput {
				t.Errorf("%d bytes by %d: start or end is lost", n, chunk)
			}
		}
	}
}
