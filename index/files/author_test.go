package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuthor compares with git itself.
func TestAuthor(t *testing.T) {
	for _, c := range []struct {
		name, home, repo, work string // .gitconfig, .git/config, ~/work.cfg
		env                    []string
		want                   string
	}{
		{name: "the user's", home: "[user]\n\tname = A User # comment\n\temail = \"a@example.com\"\n", want: "A User <a@example.com>"},
		{name: "the repository's", home: "[user]\nname=A\nemail=a@example.com\n", repo: "[user]\nname = Another\n", want: "Another <a@example.com>"},
		{name: "the environment's", home: "[user]\nname=A\nemail=a@example.com\n", env: []string{"GIT_AUTHOR_NAME=E", "GIT_AUTHOR_EMAIL=e@example.com"}, want: "E <e@example.com>"},
		{name: "an included file's", home: "[user]\nname=A\nemail=a@example.com\n[include]\npath = ~/work.cfg\n", work: "[user]\nemail = w@example.com\n", want: "A <w@example.com>"},
		{name: "a folder's", home: "[user]\nname=A\nemail=a@example.com\n[includeIf \"gitdir:~/p/\"]\npath = work.cfg\n", work: "[user]\nemail = w@example.com\n", want: "A <w@example.com>"},
		{name: "another folder's", home: "[user]\nname=A\nemail=a@example.com\n[includeIf \"gitdir:~/q/\"]\npath = work.cfg\n", work: "[user]\nemail = w@example.com\n", want: "A <a@example.com>"},
		{name: "this one's", home: "[user]\nname=A\nemail=a@example.com\n[includeIf \"gitdir:~/p/.git\"]\npath = work.cfg\n", work: "[user]\nemail = w@example.com\n", want: "A <w@example.com>"},
		{name: "in other letters", home: "[user]\nname=A\nemail=a@example.com\n[includeIf \"gitdir/i:~/P/\"]\npath = work.cfg\n", work: "[user]\nemail = w@example.com\n", want: "A <w@example.com>"},
		{name: "a name of a folder", home: "[user]\nname=A\nemail=a@example.com\n[includeIf \"gitdir:~/p/\"]\npath = work.cfg\n", work: "[user]\nname = W\n", want: "W <a@example.com>"},
		{name: "crumbs", home: "[user]\nname = \"A <b> C\"\nemail = a@example.com\n", want: "A b C <a@example.com>"},
		{name: "an address of the environment", home: "[user]\nname=A\n", env: []string{"EMAIL=x@example.com"}, want: "A <x@example.com>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			if real, err := filepath.EvalSymlinks(home); err == nil {
				home = real
			}
			dir := filepath.Join(home, "p")
			for name, text := range map[string]string{".gitconfig": c.home, "work.cfg": c.work, "p/.git/HEAD": "ref: refs/heads/main\n",
				"p/.git/config": "[core]\nrepositoryformatversion = 0\n" + c.repo, "p/.git/objects/x": "", "p/.git/refs/x": ""} {
				file := filepath.Join(home, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			env := append([]string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}, c.env...)
			getenv := func(key string) string {
				for _, e := range env {
					if value, ok := strings.CutPrefix(e, key+"="); ok {
						return value
					}
				}
				return ""
			}
			if got := (&Tracker{Getenv: getenv}).Author(dir); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			git, err := exec.LookPath("git")
			if err != nil {
				t.Skip("skipped: git is not installed to compare with")
			}
			cmd := exec.Command(git, "var", "GIT_AUTHOR_IDENT")
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.Output()
			if is, _, _ := strings.Cut(string(out), ">"); err != nil || is+">" != c.want {
				t.Errorf("git says %q (%v), want %q", out, err, c.want)
			}
		})
	}
	if got := (&Tracker{Getenv: func(string) string { return "" }}).Author(t.TempDir()); got != "" {
		if _, err := os.Stat("/etc/gitconfig"); err != nil {
			t.Errorf("of nobody: %q", got)
		}
	}
}
