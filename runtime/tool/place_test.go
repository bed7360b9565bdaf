package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// In the person's home, above it, and where skl keeps its own, no door is open: no tool of files, no program, no script and no step of
// a tree reads, writes or lists anything. One directory further all of them work.
func TestPlaces(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	state := filepath.Join(top, "state")
	skill := filepath.Join(home, ".agents", "skills", "demo")
	for name, text := range map[string]string{
		"home/.ssh/id_rsa": "key", "home/note.txt": "note", "home/src/note.txt": "note", "state/trust.json": "trust", "state/note.txt": "note", "state/runs/note.txt": "note", "note.txt": "note",
		"home/.agents/skills/demo/SKILL.md": "a skill",
	} {
		put(t, filepath.Join(top, name), text)
	}
	for _, c := range []struct {
		dir    string
		closed bool
	}{{home, true}, {top, true}, {state, true}, {filepath.Join(state, "runs"), true}, {filepath.Join(home, ".ssh"), true}, {filepath.Join(home, "src"), false}} {
		config := everything(&plain{})
		config.WorkDir, config.Home, config.Keys, config.SkillDir = c.dir, home, []string{state}, skill
		d, _ := open(t, config)
		for _, use := range []struct {
			tool   string
			fields []any
		}{
			{"read", []any{"path", "note.txt"}}, {"read", []any{"path", filepath.Join(c.dir, "note.txt")}}, {"read", []any{"path", ".ssh/id_rsa"}},
			{"grep", []any{"pattern", "note"}}, {"glob", []any{"pattern", "*.txt"}}, {"list", []any{"path", "."}},
			{"write", []any{"path", "new.txt", "content", "x"}}, {"edit", []any{"path", "note.txt", "old_string", "note", "new_string", "n"}},
			{"bash", []any{"command", "cat note.txt"}}, {"bash", []any{"command", "echo hi"}},
		} {
			text, denied := call(d, use.tool, use.fields...)
			if c.closed && (!denied || !strings.Contains(text, "and is not opened")) || !c.closed && denied {
				t.Errorf("%s: %s %v: %q, denied is %v", c.dir, use.tool, use.fields, text, denied)
			}
		}
		if text, denied := call(d, "read", "path", "skill:SKILL.md"); denied || text != "a skill" {
			t.Errorf("%s: the skill's own file: %q", c.dir, text)
		}
		_, err := d.ReadFile("note.txt")
		if _, wrote := d.WriteFile(context.Background(), "tree.txt", nil); c.closed != errors.Is(err, diag.Code(sandbox.CodeDir)) || c.closed != (diag.ClassOf(wrote) == diag.Refused) {
			t.Errorf("%s: the tree itself: %v, %v", c.dir, err, wrote)
		}
		result, _, err := d.Script(context.Background(), run.Script{Path: "a.sh", Text: "echo hi"})
		if c.closed != (err != nil) || !c.closed && result.Text != "hi\n" {
			t.Errorf("%s: a script: %q, %v", c.dir, result.Text, err)
		}
		for _, could := range d.Could() {
			if changes := could.Tool == "write" || could.Tool == "edit" || could.Tool == "bash"; changes && could.Allowed == c.closed {
				t.Errorf("%s: %s is said to be allowed: %v", c.dir, could.Tool, could.Allowed)
			}
		}
		for _, name := range []string{"new.txt", "tree.txt"} {
			if _, err := os.Stat(filepath.Join(c.dir, name)); (err == nil) == c.closed {
				t.Errorf("%s: %s: %v", c.dir, name, err)
			}
		}
	}
	// A skill that is the home itself is no way in, and the person may switch the sandbox off, for programs.
	config := everything(&plain{})
	config.Home, config.SkillDir = home, home
	d, _ := open(t, config)
	if text, denied := call(d, "read", "path", "skill:note.txt"); !denied {
		t.Errorf("the home as a skill: %q", text)
	}
	config = everything(&plain{})
	config.WorkDir, config.Home, config.Off = home, home, true
	config.Exec = func(_ context.Context, c sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, nil }
	d, _ = open(t, config)
	if _, denied := call(d, "bash", "command", "true"); denied {
		t.Error("a program without a sandbox, which the person wanted, is kept from running")
	}
}

// A file whose name says that it holds secrets is read by no tool, unless the person names it.
func TestSecretNames(t *testing.T) {
	files := []string{".env", "TOKEN=1", "config/master.key", "TOKEN=2", "a.txt", "TOKEN=3", ".env.example", "TOKEN=4"}
	config := everything(&plain{})
	d, dir := open(t, config, files...)
	for _, c := range []struct {
		tool   string
		fields []any
		denied bool
	}{
		{"read", []any{"path", ".env"}, true}, {"read", []any{"path", filepath.Join(dir, ".env")}, true}, {"read", []any{"path", "config/../.env"}, true},
		{"read", []any{"path", "config/master.key"}, true}, {"read", []any{"path", ".env.example"}, false}, {"read", []any{"path", "a.txt"}, false},
		{"edit", []any{"path", ".env", "old_string", "TOKEN", "new_string", "X"}, true},
		{"bash", []any{"command", "cat .env"}, true}, {"bash", []any{"command", "x=$(cat '.env'); echo $x"}, true}, {"bash", []any{"command", "sort < config/master.key"}, true},
		{"bash", []any{"command", "echo --file=.env -d @.env"}, true}, {"bash", []any{"command", "grep -nf.env a.txt"}, true}, {"bash", []any{"command", "echo new.env"}, false}, {"bash", []any{"command", "cat .env.example"}, false},
		{"write", []any{"path", "other.env", "content", "x"}, false},
	} {
		if text, denied := call(d, c.tool, c.fields...); denied != c.denied || denied && !strings.Contains(text, "its name says that it holds secrets") {
			t.Errorf("%s %v: %q, denied is %v", c.tool, c.fields, text, denied)
		}
	}
	if _, err := d.ReadFile(".env"); diag.ClassOf(err) != diag.Refused {
		t.Errorf("the tree itself: %v", err)
	}
	text, _ := call(d, "grep", "pattern", "TOKEN")
	if want := ".env.example:1: TOKEN=4\na.txt:1: TOKEN=3\n[not searched: 3 files whose names say that they hold secrets]\n"; text != want {
		t.Errorf("grep: %q", text)
	}
	grant, _ := ParseGrant("read(.env), read(config/*.key), read")
	config.Grants = []Grant{grant}
	d, _ = open(t, config, files...)
	if text, denied := call(d, "read", "path", ".env"); denied || text != "TOKEN=1" {
		t.Errorf("a file that the person named: %q", text)
	}
	if text, denied := call(d, "bash", "command", "cat config/master.key"); denied || text != "TOKEN=2\n" {
		t.Errorf("a file that the person named, by bash: %q", text)
	}
	if _, denied := call(d, "read", "path", "other.env"); denied { // it is not there
		t.Error("a file that is not there is refused")
	}
}
