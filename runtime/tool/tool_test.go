package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// TestMain lets the test binary be an MCP server too, see mcp_test.go.
func TestMain(m *testing.M) {
	sandbox.Main()
	if kind := os.Getenv("SKL_TEST_SERVER"); kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

// plain runs programs without confining them, and counts.
type plain struct {
	runs  atomic.Int32
	mu    sync.Mutex
	last  sandbox.Command
	extra []string
}

func (p *plain) exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	p.runs.Add(1)
	p.mu.Lock()
	p.last = c
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, append(c.Env, p.extra...), c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return sandbox.Result{ExitCode: exit.ExitCode(), TimedOut: ctx.Err() == context.DeadlineExceeded}, nil
	}
	return sandbox.Result{}, err
}

// tools reads "read grep; deny bash" and the like.
func tools(t testing.TB, text string) *skill.Tools {
	t.Helper()
	out := &skill.Tools{}
	allow, deny, _ := strings.Cut(text, "deny:")
	if allow != "" {
		out.Limited = true
	}
	add := func(list string) (parsed []skill.Tool) {
		for _, s := range Split(list) {
			tool, err := skill.ParseTool(s)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, tool)
		}
		return parsed
	}
	out.Allow, out.Deny = add(strings.TrimPrefix(allow, "allow:")), add(deny)
	return out
}

// open makes a Dispatcher over a new directory with these files, name then content.
func open(t testing.TB, config Config, files ...string) (*Dispatcher, string) {
	t.Helper()
	if config.WorkDir == "" {
		config.WorkDir = t.TempDir()
	}
	for i := 0; i < len(files); i += 2 {
		put(t, filepath.Join(config.WorkDir, files[i]), files[i+1])
	}
	d, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, config.WorkDir
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func yes(context.Context, Ask) (Answer, error) { return Always, nil }

// try calls with fields, and says why the call did not take place.
func try(d *Dispatcher, name string, fields ...any) error {
	in := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		in[fields[i].(string)] = fields[i+1]
	}
	input, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	_, _, _, err = d.Call(context.Background(), name, input, false)
	return err
}

// call calls with fields, name then value.
func call(d *Dispatcher, name string, fields ...any) (text string, denied bool) {
	in := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		in[fields[i].(string)] = fields[i+1]
	}
	input, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	r, _, _, err := d.Call(context.Background(), name, input, false)
	denied = err != nil
	if r.IsError && !denied {
		return "error: " + r.Text, false
	}
	return r.Text, denied
}

// everything is a Config in which only the policies say no.
func everything(p *plain) Config {
	return Config{Consent: yes, Exec: p.exec, Hosts: []string{"127.0.0.1:1"}}
}

// Tools that [read, grep] does not name cannot be reached, however they are called.
func TestAllowReadAndGrep(t *testing.T) {
	config := everything(&plain{})
	ran := config.Exec
	runs := 0
	config.Exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) { runs++; return ran(ctx, c) }
	config.Policy = tools(t, "allow: read, grep")
	config.Servers = []Server{testServer("evil", "hostile"), testServer("run", "hostile")}
	d, dir := open(t, config, "a.txt", "hello\n")

	wide := skill.Tools{Limited: true, Allow: []skill.Tool{{Name: "bash"}, {Name: "read"}, {Namespace: "evil", Name: "*"}, {Name: "write"}}}
	for who, d := range map[string]*Dispatcher{"skill": d, "subagent": d.Narrow(skill.Tools{}), "subagent that asks for more": d.Narrow(wide)} {
		for _, name := range []string{
			"bash", "Bash", "BASH", "shell", "sh", "run_terminal_cmd", "run_shell_command", "terminal", "exec", "bash ", " bash", "bash\x00", "ｂａｓｈ",
			"evil::bash", "evil__bash", "evil_bash", "::bash", "evil::read", "evil__read", "evil_read", "run::terminal_cmd", "run__terminal_cmd",
			"write", "Write", "edit", "str_replace", "fetch", "WebFetch", "list", "LS", "glob", "bash(git status)", "read(a.txt)::bash", "",
		} {
			r, _, _, err := d.Call(context.Background(), name, json.RawMessage(`{"command":"touch pwned","path":"pwned","content":"x"}`), false)
			if diag.ClassOf(err) != diag.Refused || !r.IsError {
				t.Errorf("%s: %q was not denied: %+v", who, name, r)
			}
		}
		for _, path := range []string{"scripts/x.sh", "scripts/x.py", "bash", "read"} {
			for _, section := range []string{"", "GET_TAG"} {
				if r, _, err := d.Script(context.Background(), run.Script{Path: path, Section: section, Text: "#!/bin/bash\ntouch pwned\n"}); err == nil || !r.IsError {
					t.Errorf("%s: script %s ran: %+v", who, path, r)
				}
			}
		}
		if _, err := d.WriteFile(context.Background(), "pwned", nil); !errors.Is(err, diag.Code(CodeDenied)) {
			t.Errorf("%s: WriteFile: %v", who, err)
		}
		var names []string
		for _, tool := range d.For(false) {
			names = append(names, tool.Name)
		}
		if want := "grep read"; strings.Join(names, " ") != want && who != "subagent that asks for more" || slices.Contains(names, "bash") {
			t.Errorf("%s: the model sees %q", who, names)
		}
		if text, denied := call(d, "Read", "path", "a.txt"); denied || text != "hello\n" {
			t.Errorf("%s: read gave %q, %v", who, text, denied)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil || runs > 0 {
		t.Error("something ran")
	}
	for _, s := range d.table.servers {
		if started, _ := s.state(); started {
			t.Errorf("server %s was started, although nothing of it is allowed", s.config.Name)
		}
	}
}

// A denial wins over every permission, in whatever spelling.
func TestDenyWins(t *testing.T) {
	for _, c := range []struct {
		name           string
		policy, person string
		grant          string
		call           string
		denied         bool
	}{
		{"nothing is limited", "", "", "", "bash", false},
		{"denied", "deny: bash", "", "", "bash", true},
		{"denied and allowed", "allow: bash deny: bash", "", "", "bash", true},
		{"denied in a host's spelling", "deny: Bash", "", "", "bash", true},
		{"denied, called in a host's spelling", "deny: bash", "", "", "run_terminal_cmd", true},
		{"denied by the person", "allow: bash", "deny: run_shell_command", "", "bash", true},
		{"not allowed by the person", "allow: bash", "allow: read", "", "bash", true},
		{"--allow does not widen", "allow: read", "", "bash, external", "bash", true},
		{"--allow does not undo a denial", "deny: bash", "", "bash,external", "bash", true},
		{"allowed in a host's spelling", "allow: Bash", "", "", "bash", false},
		{"nothing is allowed", "allow: ,", "", "", "bash", true},
		{"allowed by both", "allow: bash, read", "allow: Shell", "", "bash", false},
		{"a pattern that fits", "allow: bash(echo *)", "", "", "bash", false},
		{"a pattern that does not", "allow: bash(git *)", "", "", "bash", true},
		{"patterns of both have to fit", "allow: bash(echo *)", "allow: bash(echo b*)", "", "bash", true},
		{"one of two patterns", "allow: bash(git *), bash(echo hi)", "", "", "bash", false},
		{"a denied pattern", "deny: bash(echo *)", "", "", "bash", true},
		{"another denied pattern", "deny: bash(rm *)", "", "", "bash", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := everything(&plain{})
			if c.policy != "" {
				config.Policy = tools(t, c.policy)
			}
			if c.person != "" {
				config.Person = tools(t, c.person)
			}
			var err error
			grant, err := ParseGrant(c.grant)
			config.Grants = []Grant{grant}
			if err != nil {
				t.Fatal(err)
			}
			d, _ := open(t, config)
			text, denied := call(d, c.call, "command", "echo hi")
			if denied != c.denied || !denied && text != "hi\n" {
				t.Errorf("%q, denied is %v", text, denied)
			}
		})
	}
}

// Config.Limit bounds every grant, whoever makes it: --allow, the person, or an earlier answer.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		limit, grant string
		denied       bool
	}{
		{"external", "external", false},
		{"external", "bash(echo *)", false},
		{"bash(echo *)", "external", false},
		{"bash(echo *)", "", false}, // the person says yes
		{"bash(git *)", "external", true},
		{"bash(git *)", "", true},
		{"write, fetch, github::list", "external", true},
		{"filesystem,network", "external,filesystem", true},
		{"", "external", true},
		{"", "", true},
	} {
		config := everything(&plain{})
		grant, err := ParseGrant(c.grant)
		limit, bad := ParseGrant(c.limit)
		if err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		config.Grants, config.Limit = []Grant{grant}, &limit
		d, dir := open(t, config)
		if text, denied := call(d, "bash", "command", "echo hi"); denied != c.denied {
			t.Errorf("limit %q, grant %q: %q, denied is %v", c.limit, c.grant, text, denied)
		}
		if _, denied := call(d, "list", "path", dir); denied {
			t.Errorf("limit %q: list needs no leave", c.limit)
		}
	}
}

func TestNarrowNeverWidens(t *testing.T) {
	config := everything(&plain{})
	config.Policy = tools(t, "allow: read, write(docs/**), bash(git *) deny: read(secret/**)")
	d, _ := open(t, config, "a", "x", "secret/k", "y")
	sub := d.Narrow(*tools(t, "allow: read, write, bash, edit deny: bash(git push *)"))
	subsub := sub.Narrow(*tools(t, "allow: read"))
	for _, c := range []struct {
		d      *Dispatcher
		tool   string
		fields []any
		denied bool
	}{
		{d, "write", []any{"path", "docs/a", "content", ""}, false},
		{sub, "write", []any{"path", "docs/b", "content", ""}, false},
		{sub, "write", []any{"path", "src/a", "content", ""}, true},
		{sub, "edit", []any{"path", "a", "old_string", "x", "new_string", "y"}, true},
		{sub, "bash", []any{"command", "git push origin"}, true},
		{sub, "bash", []any{"command", "git --version"}, false},
		{sub, "bash", []any{"command", "ls"}, true},
		{sub, "read", []any{"path", "secret/k"}, true},
		{subsub, "read", []any{"path", "a"}, false},
		{subsub, "write", []any{"path", "docs/a", "content", ""}, true},
		{subsub, "bash", []any{"command", "git --version"}, true},
	} {
		if text, denied := call(c.d, c.tool, c.fields...); denied != c.denied {
			t.Errorf("%s %v: %s", c.tool, c.fields, text)
		}
	}
	if sub.Close() != nil {
		t.Error("Close")
	}
	if _, denied := call(d, "read", "path", "a"); denied {
		t.Error("closing a narrowed dispatcher closed all")
	}
}

func TestPathPatterns(t *testing.T) {
	config := Config{Consent: yes, Policy: tools(t, "allow: read(docs/**), read(*.md), grep(docs/**), grep(*.md), glob, list, write(out/*) deny: read(**/.env), read(docs/private)")}
	d, dir := open(t, config, "docs/a.txt", "needle 1", "docs/.env", "needle 2", "docs/private/x", "needle 3", "b.md", "needle 4", "c.txt", "needle 5", "docs/.ENV", "needle 6")
	if err := os.Symlink("../c.txt", filepath.Join(dir, "docs", "link")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for path, denied := range map[string]bool{
		"docs/a.txt": false, "./docs//a.txt": false, "docs/../b.md": false, "b.md": false, "c.txt": true, "docs/../c.txt": true,
		"docs/.env": true, "docs/./.env": true, "docs/.ENV": true, "docs/private/x": true, "docs/link": true,
	} {
		if text, got := call(d, "read", "path", path); got != denied {
			t.Errorf("read %s: %s", path, text)
		}
	}
	if text, _ := call(d, "grep", "pattern", "needle"); text != "b.md:1: needle 4\ndocs/a.txt:1: needle 1\n" {
		t.Errorf("grep shows what read must not: %q", text)
	}
	for path, denied := range map[string]bool{"out/x": false, "out/z/y": true, "x": true, "out/../y": true} {
		if text, got := call(d, "write", "path", path, "content", "1"); got != denied {
			t.Errorf("write %s: %s", path, text)
		}
	}
	if _, err := d.ReadFile("docs/.env"); !errors.Is(err, diag.Code(CodeDenied)) {
		t.Errorf("ReadFile of a denied file: %v", err)
	}
	if data, err := d.ReadFile("c.txt"); err != nil || string(data) != "needle 5" {
		t.Errorf("ReadFile: %q, %v", data, err)
	}
}

type memory struct {
	sync.Mutex
	yes map[string]bool
}

func (m *memory) Consented(digest string, e Effect) (bool, error) {
	m.Lock()
	defer m.Unlock()
	return m.yes[digest+" "+string(e)], nil
}

func (m *memory) Remember(digest string, e Effect) error {
	m.Lock()
	defer m.Unlock()
	m.yes[digest+" "+string(e)] = true
	return nil
}

func TestConsentOncePerDigestAndEffect(t *testing.T) {
	store := &memory{yes: map[string]bool{}}
	var asked []string
	config := everything(&plain{})
	config.Remembered, config.Digest, config.Skill = store, "sha256:1", "pdf"
	config.Consent = func(_ context.Context, a Ask) (Answer, error) {
		asked = append(asked, fmt.Sprint(a.Effect, " ", a.Tool, " ", a.Detail))
		return Always, nil
	}
	d, _ := open(t, config, "a", "x")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() { call(d, "write", "path", fmt.Sprint("f", i), "content", "") })
	}
	wg.Wait()
	call(d, "bash", "command", "echo 1")
	call(d, "Bash", "command", "echo 2")
	call(d, "edit", "path", "a", "old_string", "x", "new_string", "y")
	call(d, "read", "path", "a")
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "filesystem write write f") || asked[1] != "external bash echo 1" {
		t.Errorf("asked %q", asked)
	}
	// The next run of the same bytes asks nothing; another digest asks again; a no is not remembered.
	config.Consent = func(_ context.Context, a Ask) (Answer, error) { asked = append(asked, a.Digest); return No, nil }
	asked = nil
	d, _ = open(t, config)
	if text, denied := call(d, "bash", "command", "echo 3"); denied || text != "3\n" {
		t.Error(text)
	}
	config.Digest = "sha256:2"
	d, _ = open(t, config)
	for range 3 {
		if _, denied := call(d, "bash", "command", "echo 3"); !denied {
			t.Error("not denied")
		}
	}
	if !slices.Equal(asked, []string{"sha256:2"}) || store.yes["sha256:2 external"] {
		t.Errorf("asked %q, remembers %v", asked, store.yes)
	}
}

// A tool to which the person said no is not offered again, and one that waits for an answer is.
func TestNoIsNotOffered(t *testing.T) {
	config := everything(&plain{})
	config.Consent = func(context.Context, Ask) (Answer, error) { return No, nil }
	d, _ := open(t, config, "a", "x")
	offered := func() string {
		var names []string
		for _, m := range d.For(false) {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	if got := offered(); got != "bash edit fetch glob grep list read write" {
		t.Errorf("before: %s", got)
	}
	if err := try(d, "write", "path", "b", "content", ""); !errors.Is(err, diag.Code(CodeEffect)) {
		t.Errorf("%v", err)
	}
	if got := offered(); got != "bash fetch glob grep list read" {
		t.Errorf("after a no to filesystem: %s", got)
	}
}

// An answer for once is not remembered.
func TestOnce(t *testing.T) {
	store := &memory{yes: map[string]bool{}}
	config := everything(&plain{})
	config.Remembered, config.Digest = store, "sha256:1"
	asked := 0
	config.Consent = func(context.Context, Ask) (Answer, error) { asked++; return Once, nil }
	d, _ := open(t, config)
	for range 2 {
		if err := try(d, "bash", "command", "echo"); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 || len(store.yes) > 0 {
		t.Errorf("asked %d times, remembers %v", asked, store.yes)
	}
}

func TestEffects(t *testing.T) {
	for _, c := range []struct {
		name     string
		declared []string
		grant    string
		ask      bool
		tool     string
		code     string
	}{
		{"read needs nothing", []string{"none"}, "", false, "read", ""},
		{"undeclared, nobody to ask", nil, "", false, "write", CodeUnasked},
		{"undeclared, agreed", nil, "", true, "write", ""},
		{"undeclared, granted", nil, "filesystem", false, "write", ""},
		{"another effect granted", nil, "network,external", false, "write", CodeUnasked},
		{"the tool granted", nil, "write", false, "write", ""},
		{"the tool granted in part", nil, "write(a*)", false, "write", ""},
		{"another part granted", nil, "write(b*)", false, "write", CodeUnasked},
		{"declared none", []string{"none"}, "filesystem", true, "write", CodeUndeclared},
		{"declared another", []string{"network"}, "filesystem", true, "write", CodeUndeclared},
		{"declared", []string{"filesystem"}, "", true, "write", ""},
		{"declared does not mean agreed", []string{"filesystem"}, "", false, "write", CodeUnasked},
		{"bash is external", []string{"external"}, "", true, "bash", ""},
		{"bash is not filesystem", []string{"filesystem"}, "", true, "bash", CodeUndeclared},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := everything(&plain{})
			config.SideEffects = c.declared
			if !c.ask {
				config.Consent = nil
			}
			grant, _ := ParseGrant(c.grant)
			config.Grants = []Grant{grant}
			d, _ := open(t, config, "a", "x")
			fields := map[string][]any{"read": {"path", "a"}, "write": {"path", "a", "content", ""}, "bash": {"command", "echo"}}[c.tool]
			code, shown := "", d.For(false)
			if e, _ := errors.AsType[*diag.Error](try(d, c.tool, fields...)); e != nil {
				code = e.Code
			}
			if code != c.code {
				t.Errorf("%q, want %q", code, c.code)
			}
			seen := slices.ContainsFunc(shown, func(m model.Tool) bool { return m.Name == c.tool })
			if seen != (c.code != CodeUndeclared) {
				t.Errorf("the model sees %s: %v", c.tool, seen)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	d, _ := open(t, everything(&plain{}), "a", "x")
	var names []string
	for _, m := range d.For(true) {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "glob grep list read" {
		t.Errorf("a step that may only read sees %q", got)
	}
	for _, name := range []string{"bash", "write", "Edit", "fetch"} {
		if _, _, _, err := d.Call(context.Background(), name, json.RawMessage(`{}`), true); diag.ClassOf(err) != diag.Refused {
			t.Errorf("%s was not denied", name)
		}
	}
	if _, canonical, _, err := d.Call(context.Background(), "Read", json.RawMessage(`{"path":"a"}`), true); err != nil || canonical != "read" {
		t.Errorf("read: %q", canonical)
	}
}

// A misspelled denial would deny nothing.
func TestUnknownDenial(t *testing.T) {
	for deny, ok := range map[string]bool{"deny: bsah": false, "deny: Task, WebSearch": true, "deny: nobody::x": true, "deny: bash, web_serch": false, "deny: Read({a)": false, "deny: bash({a)": true, "deny: nobody::read({a)": true} {
		_, err := New(Config{WorkDir: t.TempDir(), Policy: tools(t, deny)})
		if (err == nil) != ok {
			t.Errorf("%s: %v", deny, err)
		}
	}
	_, err := New(Config{WorkDir: t.TempDir(), Policy: tools(t, "deny: bsah")})
	if e, _ := errors.AsType[*diag.Error](err); e == nil || e.Code != CodeUnknown || !slices.Contains(e.Candidates, "bash") {
		t.Errorf("%v", err)
	}
}

func TestCould(t *testing.T) {
	config := Config{Consent: yes, Policy: tools(t, "allow: read, write(docs/*), web_serch, grep(a***), github::list deny: fetch"), SideEffects: []string{"network", "filesystem"}}
	d, _ := open(t, config)
	var got []string
	for _, s := range d.Could() {
		got = append(got, fmt.Sprintf("%s %v %v %s| %s", s.Tool, s.Allowed, s.Asks, s.Only, s.Why))
	}
	want := []string{
		"bash false false | bash cannot be called: programs cannot be run here",
		"edit false false | edit is not in tools.allow of the skill",
		"fetch false false | fetch cannot be called: no host may be reached",
		"glob false false | glob is not in tools.allow of the skill",
		"grep false false | grep is not in tools.allow of the skill", // but as what it cannot be, below
		"list false false | list is not in tools.allow of the skill",
		"read true false | ",
		"write true true write(docs/*)| ",
		"web_serch false false | there is no such tool",
		`grep(a***) false false | the glob "a***" has more than two * next to each other at byte 2`,
		`github::list false false | no MCP server is called "github"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestInvocable(t *testing.T) {
	for i, want := range map[skill.Invocation][2]bool{skill.Auto: {true, true}, skill.UserOnly: {false, true}, skill.ModelOnly: {true, false}, skill.Disabled: {false, false}, "else": {false, false}} {
		if byModel, byUser := Invocable("x", i, true) == nil, Invocable("x", i, false) == nil; byModel != want[0] || byUser != want[1] {
			t.Errorf("%s: model %v, person %v", i, byModel, byUser)
		}
	}
}

func TestParseGrant(t *testing.T) {
	g, err := ParseGrant("network, bash(git log *, x),github::list,Write")
	if err != nil || !slices.Equal(g.Effects, []Effect{Network}) || len(g.Tools) != 3 || g.Tools[0].Pattern != "git log *, x" {
		t.Errorf("%+v, %v", g, err)
	}
	if needs := g.Needs(); !slices.Equal(needs, []Effect{External, Filesystem, Network}) {
		t.Errorf("needs %v", needs)
	}
	for _, bad := range []string{"none", "netwrok", "a b", "bash(", "*", "read({a)", "Edit(a/***)"} {
		if _, err := ParseGrant(bad); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Inputs are taken as they are described, or not at all.
func TestStrictInputs(t *testing.T) {
	d, _ := open(t, Config{Consent: yes}, "a", "x")
	for _, input := range []string{
		`[]`, `"a"`, `null`, `{"path":"a"} {}`, `{"path":"a"}x`, `{"path":"a","path":"b"}`, `{"Path":"a"}`, `{"file_path":"a"}`, `{"path":1}`, `{"path":""}`, `{}`, ``,
		`{"path":"a","offset":-1}`, `{"path":"a","offset":1.5}`, `{"path":"a","limit":"2"}`, `{"path":"a"`, `{"path":"` + strings.Repeat("a", maxInput) + `"}`,
	} {
		r, canonical, _, err := d.Call(context.Background(), "read", json.RawMessage(input), false)
		if !r.IsError || err != nil || canonical != "read" || !strings.Contains(r.Text, "the input of read") {
			t.Errorf("%.60s: %+v", input, r)
		}
	}
	for _, m := range d.For(false) {
		if !isObject(m.Schema) || !strings.Contains(string(m.Schema), `"additionalProperties":false`) {
			t.Errorf("%s: schema %s", m.Name, m.Schema)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	d, _ := open(t, Config{})
	r, canonical, _, err := d.Call(context.Background(), "raed", nil, false)
	if canonical != "" || diag.ClassOf(err) != diag.Refused || r.Text != `not allowed: there is no tool "raed"` {
		t.Errorf("%+v %q", r, canonical)
	}
}

func ExampleDispatcher_Call() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "notes.md"), []byte("one\ntwo\n"), 0o666)
	d, err := New(Config{WorkDir: dir, Policy: &skill.Tools{Limited: true, Allow: []skill.Tool{{Name: "read"}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	r, name, _, _ := d.Call(context.Background(), "Read", json.RawMessage(`{"path":"notes.md","offset":2}`), false)
	fmt.Print(name, ": ", r.Text)
	r, _, _, err = d.Call(context.Background(), "Bash", json.RawMessage(`{"command":"ls"}`), false)
	fmt.Println(err != nil, r.Text)
	// Output:
	// read: two
	// true not allowed: bash cannot be called: programs cannot be run here
}
