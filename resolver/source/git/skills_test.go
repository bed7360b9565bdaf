package git

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

func skillMD(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }

// layout makes a repository of files in one commit and opens it by a file URL.
func layout(t *testing.T, files gittest.Files) (*Source, string, source.Release) {
	t.Helper()
	dir := gittest.Init(t, "layout")
	commit := gittest.Commit(t, dir, files)
	return &Source{Git: "-"}, "file://" + filepath.ToSlash(dir), source.Release{Kind: source.Commit, Commit: ref.Commit(commit)}
}

// list is "PATH NAME PLUGIN", or "PATH !NAME" for an invalid skill.
func list(found []source.Found) (out []string) {
	for _, f := range found {
		if f.Invalid != nil {
			out = append(out, fmt.Sprintf("%s !%s", f.Lock.Path, f.Lock.Name))
			continue
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Lock.Path, f.Lock.Name, f.Plugin)))
	}
	return out
}

func TestSkillsOfALayout(t *testing.T) {
	gittest.Need(t)
	plugin := gittest.Files{
		"skills/pdf/SKILL.md":                         skillMD("pdf"),
		"skills/notes/SKILL.md":                       skillMD("release-notes"),
		"skills/notes/inner/SKILL.md":                 skillMD("inner"),
		"examples/pdf/SKILL.md":                       skillMD("pdf"),
		"plugins/ocr/.claude-plugin/plugin.json":      `{"name":"ocr-tools","skills":["./scan/","../../tools/flat","../../../etc"]}`,
		"plugins/ocr/scan/SKILL.md":                   skillMD("scan"),
		"plugins/ocr/skills/deskew/SKILL.md":          skillMD("deskew"),
		"plugins/bad/plugin.json":                     `{"name":`,
		"plugins/bad/skills/lone/SKILL.md":            skillMD("lone"),
		"tools/flat/SKILL.md":                         skillMD("flat"),
		"node_modules/x/SKILL.md":                     skillMD("x"),
		"link@":                                       "skills/pdf",
		"skills/broken/SKILL.md":                      "no frontmatter\n",
		"skills/unportable/SKILL.md":                  skillMD("con"),
		"a/b/c/d/e/f/g/h/i/SKILL.md":                  skillMD("deep"),
		"skills/linked/SKILL.md@":                     "../pdf/SKILL.md",
		"plugins/one/.github/plugin/plugin.json":      `{"name":"one","skills":"./only"}`,
		"plugins/one/only/SKILL.md":                   skillMD("only"),
		"elsewhere/.claude-plugin/plugin.json":        `{"name":"elsewhere"}`,
		"skills/two/SKILL.md":                         skillMD("two"),
		"skills/group/two/SKILL.md":                   skillMD("two"),
		".agents/skills/pdf/SKILL.md":                 skillMD("pdf"),
		"plugins/ocr/skills/deskew/fixtures/SKILL.md": skillMD("fixture"),
	}
	s, url, at := layout(t, plugin)
	for _, c := range []struct {
		name, path string
		names      []string
		want       []string
	}{
		{"all", "", nil, []string{"skills/broken !broken", "skills/group/two two", "skills/notes release-notes", "skills/pdf pdf", "skills/two two", "skills/unportable con",
			"plugins/bad/skills/lone lone", "plugins/ocr/scan scan ocr-tools", "plugins/ocr/skills/deskew deskew ocr-tools", "plugins/one/only only one", "tools/flat flat ocr-tools", ".agents/skills/pdf pdf", "examples/pdf pdf"}},
		{"by directory", "", []string{"scan"}, []string{"plugins/ocr/scan scan ocr-tools"}},
		{"by frontmatter", "", []string{"release-notes"}, []string{"skills/notes release-notes"}},
		{"the best place comes first", "", []string{"pdf"}, []string{"skills/pdf pdf", ".agents/skills/pdf pdf", "examples/pdf pdf"}},
		{"ambiguous", "", []string{"two"}, []string{"skills/group/two two", "skills/two two"}},
		{"several", "", []string{"two", "flat"}, []string{"skills/group/two two", "skills/two two", "tools/flat flat"}},
		{"none", "", []string{"missing"}, nil},
		{"a path is the skill", "skills/notes", nil, []string{"skills/notes release-notes"}},
		{"a path inside a skill", "skills/notes/inner", nil, []string{"skills/notes/inner inner"}},
		{"a group", "skills/group", nil, []string{"skills/group/two two"}},
		{"a plugin", "plugins/ocr", nil, []string{"plugins/ocr/scan scan ocr-tools", "plugins/ocr/skills/deskew deskew ocr-tools"}},
		{"another place by path", "examples", []string{"pdf"}, []string{"examples/pdf pdf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := gitRef(url)
			r.Path = c.path
			found, err := s.Skills(context.Background(), r, at, c.names)
			if err != nil {
				t.Fatal(err)
			}
			if got := list(found); !slices.Equal(got, c.want) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	r := gitRef(url)
	r.Path = "no/where"
	if _, err := s.Skills(context.Background(), r, at, nil); !isCode(err, "unknown_path") || diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a path that is not there: %v, want unknown_path", err)
	}
}

// A repository can be a skill itself; without a name in its frontmatter it has the repository's.
func TestSkillAtTheRoot(t *testing.T) {
	gittest.Need(t)
	s, url, at := layout(t, gittest.Files{"SKILL.md": "---\ndescription: d\n---\n", "skills/more/SKILL.md": skillMD("more")})
	found, err := s.Skills(context.Background(), gitRef(url), at, nil)
	if want := []string{"layout", "skills/more more"}; err != nil || !slices.Equal(list(found), want) {
		t.Errorf("found %q, %v, want %q", list(found), err, want)
	}
}

// The version of a skill is the tag's, if the tag is for it, else it tells the commit.
func TestVersionOfASkill(t *testing.T) {
	gittest.Need(t)
	s, url, at := layout(t, gittest.Files{"skills/pdf/SKILL.md": skillMD("pdf")})
	pseudo := "0.0.0-20231114221320-" + at.Commit[:12]
	for _, c := range []struct {
		release source.Release
		want    string
	}{
		{source.Release{Kind: source.Commit}, string(pseudo)},
		{source.Release{Kind: source.Branch, Name: "main"}, string(pseudo)},
		{source.Release{Kind: source.Tag, Name: "v1.2.3"}, "1.2.3"},
		{source.Release{Kind: source.Tag, Name: "pdf-v1.2.3", Skill: "pdf", Version: "1.2.3"}, "1.2.3"},
		{source.Release{Kind: source.Tag, Name: "notes-v1.2.3", Skill: "notes", Version: "1.2.3"}, string(pseudo)},
		{source.Release{Kind: source.Tag, Name: "nightly"}, string(pseudo)},
		{source.Release{Kind: source.Commit, Version: "0.0.0-given"}, "0.0.0-given"},
	} {
		c.release.Commit = at.Commit
		found, err := s.Skills(context.Background(), gitRef(url), c.release, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := lock.Skill{Name: "pdf", Source: "git", URL: url, Path: "skills/pdf", Commit: at.Commit, Version: c.want}
		if got := found[0].Lock; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: locked as %+v, want %+v", c.release, got, want)
		}
	}
}

// A skill that is asked for by name costs four requests, its files included,
// and no SKILL.md of another skill is read.
func TestSkillByNameIsCheap(t *testing.T) {
	gittest.Need(t)
	dir := gittest.Init(t, "cheap")
	files := gittest.Files{"skills/pdf/SKILL.md": skillMD("pdf"), "skills/pdf/forms.md": "forms\n"}
	for i := range 50 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = skillMD(fmt.Sprintf("s%d", i)) + strings.Repeat(fmt.Sprintf("%x ", i*7919), 2000)
	}
	commit := gittest.Commit(t, dir, files)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	ctx := context.Background()
	r := gitRef(srv.URL + "/cheap.git")
	if _, err := s.Versions(ctx, r); err != nil {
		t.Fatal(err)
	}
	found, err := s.Skills(ctx, r, source.Release{Commit: ref.Commit(commit)}, []string{"pdf"})
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	var got entries
	if err := s.Fetch(ctx, found[0].Lock, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.m) != 2 || srv.Requests() != 4 {
		t.Errorf("%d files by %d requests, want 2 by 4", len(got.m), srv.Requests())
	}
	if srv.Sent() > 8<<10 {
		t.Errorf("%d bytes were sent for a skill of two lines among 50 of 10 kB", srv.Sent())
	}
}

func TestDirOf(t *testing.T) {
	for p, want := range map[string]string{"a": "", ".a": "", "a/b": "a", "a/b/c": "a/b", ".agents/skills/x/SKILL.json": ".agents/skills/x"} {
		if got := dirOf(p); got != want {
			t.Errorf("dirOf(%q) = %q, want %q", p, got, want)
		}
	}
}
