package author_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/spec/diag"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

// open is an author who works in dir, their home.
func open(t *testing.T, dir string) *author.Author {
	t.Helper()
	sc, err := scope.Open(scope.Options{Dir: dir, Scope: "user", UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return &author.Author{Scope: sc}
}

// TestUseCases starts skills, digests one and packs it, without a command line.
func TestUseCases(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "skills"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, dir)

	if plan, err := a.Start(author.StartRequest{Name: "notes", DryRun: true}); err != nil || scope.Exists(plan.Path) {
		t.Errorf("a dry run: %+v, %v", plan, err)
	}
	started, err := a.Start(author.StartRequest{Name: "notes"})
	if err != nil || started.Path != filepath.Join(dir, "skills", "notes") {
		t.Fatalf("started: %+v, %v", started, err)
	}
	for name, r := range map[string]author.StartRequest{"there already": {Name: "notes"}, "no name": {Name: "Not A Name"}} {
		if out, err := a.Start(r); diag.ClassOf(err) != diag.Misuse || out != (author.Started{}) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}

	digest, err := a.Digest("skills/notes")
	if err != nil || digest.Files != 1 {
		t.Fatalf("digest: %+v, %v", digest, err)
	}
	if dry, err := a.Pack(author.PackRequest{Folder: "skills/notes", File: "a.tar.gz", DryRun: true}); err != nil || scope.Exists(dry.File) {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	read := func(file string) []byte {
		t.Helper()
		out, err := a.Pack(author.PackRequest{Folder: "skills/notes", File: file})
		if err != nil || out.Digest != digest.Digest {
			t.Fatalf("%s: %+v, %v", file, out, err)
		}
		text, err := os.ReadFile(out.File)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if one, two := read("a.tar.gz"), read("b.tgz"); len(one) == 0 || !bytes.Equal(one, two) {
		t.Error("the same folder gives two archives")
	}
	if zip := read("a.zip"); !bytes.HasPrefix(zip, []byte("PK")) {
		t.Error("a zip is none")
	}
	for _, r := range []author.PackRequest{{Folder: "skills/notes", File: "a.rar"}, {Folder: "missing", File: "a.zip"}} {
		if _, err := a.Pack(r); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestActivate writes the block for agents and takes it out again.
func TestActivate(t *testing.T) {
	b := scopetest.New(t)
	b.Write("CLAUDE.md", "# Mine\n")
	a := &author.Author{Scope: b.Scope()}
	q := author.ActivateRequest{Hosts: []string{"claude-code"}, DryRun: true}
	files, err := a.Activate(q)
	if err != nil || len(files) != 1 || files[0].Action != "append" || b.Read("CLAUDE.md") != "# Mine\n" {
		t.Errorf("a dry run: %+v, %v", files, err)
	}
	q.DryRun = false
	if _, err := a.Activate(q); err != nil || !strings.HasPrefix(b.Read("CLAUDE.md"), "# Mine\n") || !strings.Contains(b.Read("CLAUDE.md"), "canopy-runtime-") {
		t.Errorf("activate: %v\n%s", err, b.Read("CLAUDE.md"))
	}
	q.Remove = true
	if files, err := a.Activate(q); err != nil || files[0].Action != "remove" || b.Read("CLAUDE.md") != "# Mine\n" {
		t.Errorf("remove: %+v, %v\n%s", files, err, b.Read("CLAUDE.md"))
	}
}

// TestSkillify makes a skill of a package of R, and refuses one that brings its own.
func TestSkillify(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bag/DESCRIPTION": "Package: bag\nVersion: 1.0\nTitle: Bags\n", "bag/NAMESPACE": "export(a)", "bag/man/a.Rd": `\name{a}\alias{a}\title{A}`,
		"own/DESCRIPTION": "Package: own\nVersion: 1.0\n", "own/inst/skills/x/SKILL.md": "x"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, dir)
	dry, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "./bag", DryRun: true})
	if err != nil || dry.State != "would_write" || scope.Exists(dry.Path) {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	for _, want := range []string{"written", "unchanged"} {
		out, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "./bag"})
		if err != nil || out.State != want || out.Report.Symbols != 1 || out.Path != dry.Path {
			t.Errorf("%s: %+v, %v", want, out, err)
		}
	}
	if out, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "./own"}); diag.ClassOf(err) != diag.Unmet || out.Name != "" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "led")); err != nil {
		t.Skip("skipped: no links here")
	}
	if out, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "./bag", Output: "led/x"}); diag.ClassOf(err) != diag.Refused {
		t.Errorf("through a link: %+v, %v", out, err)
	}
}
