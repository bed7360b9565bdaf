package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// doors are all ways by which a skill gets at a file: what it takes, and whether it succeeded.
type doors struct {
	t    *testing.T
	d    *tool.Dispatcher
	work string
}

func (o doors) call(name, input string) bool {
	r, _, _, err := o.d.Call(context.Background(), name, []byte(input), false)
	return err == nil && !r.IsError && !strings.Contains(r.Text, "nothing found")
}

func (o doors) script(text string) bool {
	r, _, err := o.d.Script(context.Background(), run.Script{Path: "a.sh", Text: text})
	return err == nil && !r.IsError
}

// reads are the doors by which the text of path was had.
func (o doors) reads(path string) (open []string) {
	quoted := fmt.Sprintf("%q", path)
	note := func(door string, had bool) {
		if had {
			open = append(open, door)
		}
	}
	note("read", o.call("read", `{"path":`+quoted+`}`))
	note("grep", o.call("grep", `{"pattern":".","path":`+quoted+`}`) && o.call("grep", `{"pattern":"text","path":`+quoted+`}`))
	note("edit", o.call("edit", `{"path":`+quoted+`,"old_string":"text","new_string":"text "}`))
	_, err := o.d.ReadFile(path)
	note("tree", err == nil)
	note("bash", o.call("bash", `{"command":"cat -- '`+path+`'"}`))
	note("script", o.script("cat -- '"+path+"'"))
	return open
}

// writes are the doors by which path was made.
func (o doors) writes(path string) (open []string) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(o.work, path)
	}
	if _, err := os.Lstat(full); err == nil {
		o.t.Fatalf("%s is there", full)
	}
	line := "mkdir -p -- '" + filepath.Dir(path) + "' && echo x > '" + path + "'"
	for _, door := range []struct {
		name string
		open func()
	}{
		{"write", func() { o.call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, path)) }},
		{"tree", func() { o.d.WriteFile(context.Background(), path, []byte("x")) }},
		{"bash", func() { o.call("bash", fmt.Sprintf(`{"command":%q}`, line)) }},
		{"script", func() { o.script(line) }},
	} {
		door.open()
		if _, err := os.Lstat(full); err == nil {
			open = append(open, door.name)
			if err := os.Remove(full); err != nil {
				o.t.Fatal(err)
			}
		}
	}
	return open
}

// TestDoors holds that there is no place to which one door is closed and another open: tools of files, trees, programs and scripts keep
// to one set of rules. Searches, runs over MCP, tests and publish have scripts of their own: place_home, test_asked, publish_not_meant.
func TestDoors(t *testing.T) {
	if sandbox.Probe().Tier != sandbox.Tier1 {
		t.Skip("programs are kept from nothing beforehand without namespaces")
	}
	all := []string{"read", "grep", "edit", "tree", "bash", "script"}
	every := []string{"write", "tree", "bash", "script"}
	at := func(t *testing.T, work string, files ...string) doors {
		runs := bench(t, true)
		home := runs.Scope.Home
		if work == "" {
			work = t.TempDir()
		} else if work == "HOME" {
			work = home
		}
		for _, name := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, name), []byte("text\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := bound(t, runs)
		leave, err := runs.Agree(r, session.Request{Args: "2.0.0", Allow: []string{"run", "filesystem", "external"}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := runs.Dispatcher(r, leave, session.Bounds{Work: work, Sandbox: "auto"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return doors{t, d, work}
	}
	hold := func(t *testing.T, what string, open, want []string) {
		t.Helper()
		if !slices.Equal(open, want) {
			t.Errorf("%s: open are %v, want %v", what, open, want)
		}
	}

	t.Run("inside", func(t *testing.T) {
		o := at(t, "", "a.txt")
		hold(t, "reading", o.reads("a.txt"), all)
		hold(t, "writing", o.writes("b.txt"), every)
		hold(t, "writing below", o.writes("sub/b.txt"), every)
	})
	t.Run("outside", func(t *testing.T) {
		o := at(t, "")
		other := filepath.Join(t.TempDir(), "a.txt")
		if err := os.WriteFile(other, []byte("text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		hold(t, "reading", o.reads(other), nil)
		hold(t, "writing", o.writes(filepath.Join(filepath.Dir(other), "b.txt")), nil)
	})
	t.Run("home", func(t *testing.T) {
		o := at(t, "HOME", "a.txt", ".ssh/id_rsa")
		hold(t, "reading", o.reads("a.txt"), nil)
		hold(t, "a key", o.reads(".ssh/id_rsa"), nil)
		hold(t, "writing", o.writes("b.txt"), nil)
	})
	t.Run("top", func(t *testing.T) {
		o := at(t, "/")
		hold(t, "reading", o.reads("etc/passwd"), nil)
	})
	t.Run("secrets", func(t *testing.T) {
		for _, name := range []string{".env", "config/master.key", ".npmrc", "sub/.netrc"} {
			hold(t, name, at(t, "", name).reads(name), []string{"script"}) // which may read whatever lies there, and was agreed to
		}
	})
	t.Run("protected", func(t *testing.T) {
		names := strings.Fields(`.git/hooks/pre-commit .git/config .github/workflows/x.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile
			skl.toml skl.lock policy.toml .agents/.skl/skills/disabled/x/SKILL.md .envrc .vscode/tasks.json`)
		for _, h := range hosts.All() {
			for _, dir := range append(slices.Clone(h.ProjectReads), h.ProjectWrite) {
				if strings.HasPrefix(dir, ".") { // any project may call its own data/skills
					names = append(names, dir+"/x/SKILL.md")
				}
			}
			for _, e := range h.Evidence {
				if strings.HasPrefix(e, ".") || !strings.Contains(e, "/") && e != "skills" {
					names = append(names, strings.TrimSuffix(e, "/"))
				}
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		for _, name := range names { // in a directory below the working directory, too
			names = append(names, "pkg/"+name)
		}
		o := at(t, "")
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(o.work, name)); err == nil {
				continue
			}
			if _, err := o.d.WriteFile(context.Background(), name, []byte("x")); diag.ClassOf(err) != diag.Refused {
				t.Errorf("%s: a tree writes it: %v", name, err)
			}
			if o.call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, name)) {
				t.Errorf("%s: write writes it", name)
			}
		}
		var lines strings.Builder
		for _, name := range names {
			fmt.Fprintf(&lines, "(mkdir -p '%s' && echo x > '%s') 2>/dev/null\n", filepath.Dir(name), name)
		}
		o.script(lines.String())
		made := 0
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(o.work, name)); err == nil {
				t.Errorf("%s: a program wrote it", name)
				made++
			}
		}
		t.Logf("%d names, %d written", len(names), made)
	})
}
