package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/resource"
)

const small = "---\nname: small\ndescription: Does a thing, when asked to.\n---\n\n## Tree\n\n* Read `assets/constants/a.md`\n* Say it\n"

// files of a folder on disk, where links are.
func onDisk(t *testing.T, files map[string]string, links map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no links here:", err)
		}
	}
	return dir
}

func TestResource(t *testing.T) {
	dir := onDisk(t, map[string]string{
		"SKILL.md": small, "assets/constants/a.md": "A", "assets/templates/t.md": "T", "policies/p.md": "P",
		"assets/constants/big.md": strings.Repeat("x", plan.MaxFile+1), "assets/constants/full.md": strings.Repeat("x", plan.MaxFile),
	}, map[string]string{"assets/constants/link.md": "a.md"})
	s := load(t, os.DirFS(dir), "small")
	p, err := plan.New(t.Context(), s, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Links that lead out make no bundle, so they come when the skill is already planned.
	for name, target := range map[string]string{"assets/constants/out.md": "../../../secret.md", "assets/far": "../..", "assets/constants/twice.md": "link.md"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "../secret.md"), []byte("S"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string // text, or the code of the error
		found      string
		category   resource.Category
		legacy     bool
	}{
		{path: "assets/constants/a.md", want: "A", found: "assets/constants/a.md", category: resource.Constant},
		{path: " `./assets/../assets/constants/a.md` ", want: "A", found: "assets/constants/a.md", category: resource.Constant},
		{path: "constants/a.md", want: "A", found: "assets/constants/a.md", category: resource.Constant, legacy: true},
		{path: "assets/policies/p.md", want: "P", found: "policies/p.md", category: resource.Policy, legacy: true},
		{path: "../small/assets/templates/t.md", want: "T", found: "assets/templates/t.md", category: resource.Template},
		{path: "assets/constants/link.md", want: "A", found: "assets/constants/link.md", category: resource.Constant},
		{path: "assets/constants/none.md", want: plan.CodeMissing},
		{path: "assets/constants", want: plan.CodeMissing},
		{path: "", want: plan.CodeMissing},
		{path: "assets/constants/big.md", want: plan.CodeTooLarge},
		{path: "../secret.md", want: plan.CodeOutside},
		{path: "..", want: plan.CodeOutside},
		{path: "../../secret.md", want: plan.CodeOutside},
		{path: "assets/../../secret.md", want: plan.CodeOutside},
		{path: "../small/../secret.md", want: plan.CodeOutside},
		{path: "<skills-root>/../secret.md", want: plan.CodeOutside},
		{path: "/etc/passwd", want: plan.CodeOutside},
		{path: "~/.netrc", want: plan.CodeOutside},
		{path: "C:/secret.md", want: plan.CodeOutside},
		{path: `..\secret.md`, want: plan.CodeOutside},
		{path: "a\x00b", want: plan.CodeOutside},
		{path: "assets/constants/out.md", want: plan.CodeOutside},
		{path: "assets/constants/twice.md", want: plan.CodeOutside},
		{path: "assets/far/secret.md", want: plan.CodeOutside},
	} {
		t.Run(c.path, func(t *testing.T) {
			r, err := p.Resource(s, c.path)
			if c.found == "" {
				if !errors.Is(err, diag.Code(c.want)) || r != (plan.Resource{}) {
					t.Fatalf("got %q, %v; want %s", r.Text, err, c.want)
				}
				return
			}
			if want := (plan.Resource{Category: c.category, Path: c.found, Text: c.want, Legacy: c.legacy}); err != nil || r != want {
				t.Fatalf("got %+v, %v; want %+v", r, err, want)
			}
		})
	}
	if r, err := p.Resource(s, "assets/constants/full.md"); err != nil || len(r.Text) != plan.MaxFile {
		t.Errorf("a file of just the limit: %d bytes, %v", len(r.Text), err)
	}
}

// What was read when the plan was made is what every run of it reads.
func TestResourceStays(t *testing.T) {
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte(small)}, "assets/constants/a.md": {Data: []byte("before")}}
	s := load(t, fsys, "small")
	p, err := plan.New(t.Context(), s, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fsys["assets/constants/a.md"] = &fstest.MapFile{Data: []byte("after")}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r, err := p.Resource(s, "assets/constants/a.md"); err != nil || r.Text != "before" {
				t.Errorf("got %q, %v", r.Text, err)
			}
			if _, err := p.Resource(s, "assets/constants/b.md"); !errors.Is(err, diag.Code(plan.CodeMissing)) {
				t.Errorf("got %v", err)
			}
			if len(p.Effects("")) != 2 {
				t.Errorf("effects: %v", p.Effects(""))
			}
		})
	}
	wg.Wait()
	if !strings.HasPrefix(p.Digest, "tree-sha256:") {
		t.Errorf("digest %q", p.Digest)
	}
}

func TestDynamic(t *testing.T) {
	for path, want := range map[string]bool{
		"assets/constants/a.md": false, "assets/constants/<side>.md": true, "{context.file}": true, "$ARGUMENTS": true,
		"<skills-root>/tools/a.md": false, "<skills-root>/<name>/a.md": true, "": false,
	} {
		if got := plan.Dynamic(path); got != want {
			t.Errorf("Dynamic(%q) = %v", path, got)
		}
	}
}
