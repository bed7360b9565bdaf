package apply_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A looker computes the previews of what it is asked and leaves.
type looker struct {
	scopetest.Nobody
	lines [][]string
	errs  []error
}

func (l *looker) Say(string) (string, error) { return "", nil }

func (l *looker) Choose(c ask.Choice) ([]int, error) {
	for _, o := range c.Options {
		if o.Later == nil {
			l.lines, l.errs = append(l.lines, nil), append(l.errs, nil)
			continue
		}
		lines, err := o.Later(context.Background())
		l.lines, l.errs = append(l.lines, lines), append(l.errs, err)
	}
	return nil, ask.ErrLeft
}

// A preview reads a bounded number of bytes, asks nobody while offline, and counts findings as info does.
func TestPreviewsOfSkills(t *testing.T) {
	b := scopetest.New(t)
	b.Skill("src", "small", "# small\n")
	b.Write("src/odd/SKILL.md", "---\nname: odd\ndescription: Does odd. Use when asked.\nlicense: \"MIT\\n\\e[2J\"\nallowed-tools: [Bash]\n---\n# odd\n")
	b.Write("src/big/SKILL.md", "---\nname: big\ndescription: Is big. Use when asked.\n---\n# big\n")
	b.Write("src/big/data.bin", strings.Repeat("x", 17<<20))
	found := func(name string) source.Found {
		return source.Found{Lock: lock.Skill{Name: name, Source: "local", URL: filepath.Join(b.Project, "src"), Path: name}}
	}
	far := source.Found{Lock: lock.Skill{Name: "far", Source: "git", URL: "https://127.0.0.1:1/far.git", Path: "far", Commit: ref.Commit(strings.Repeat("a", 40))}}
	bad := found("small")
	bad.Invalid = os.ErrInvalid
	l := &looker{}
	a := apply.New(b.Scope(), l)
	r, err := ref.Parse("./src")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.ChooseSkills(r, []source.Found{found("small"), found("odd"), found("big"), far, bad}, nil, false); err == nil {
		t.Fatal("nothing was chosen, and no error")
	}
	if got := strings.Join(l.lines[0], "\n"); got != "1 file, 69 B: SKILL.md\nasks for  nothing\nfindings  none · licence none stated · unsigned" || l.errs[0] != nil {
		t.Errorf("small: %q, %v", got, l.errs[0])
	}
	if got := strings.Join(l.lines[1], "\n"); !strings.Contains(got, "findings  2 · licence MIT \x1b[2J · unsigned") || l.errs[1] != nil {
		t.Errorf("odd: %q, %v", got, l.errs[1])
	}
	if l.lines[2] != nil || l.errs[2] == nil || !strings.Contains(l.errs[2].Error(), "data.bin") {
		t.Errorf("big: %v, %v", l.lines[2], l.errs[2])
	}
	if l.lines[3] != nil || l.errs[3] == nil || !strings.Contains(l.errs[3].Error(), "offline") {
		t.Errorf("far: %v, %v", l.lines[3], l.errs[3])
	}
	if l.lines[4] != nil {
		t.Errorf("one that cannot be installed: %v", l.lines[4])
	}
	for _, name := range []string{"skl.toml", "skl.lock", ".agents"} {
		if _, err := os.Lstat(filepath.Join(b.Project, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
