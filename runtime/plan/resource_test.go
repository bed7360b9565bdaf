package plan_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
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

// Resources are read when the plan is made, and every run of it sees that text.
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

func TestRefusal(t *testing.T) {
	f := readFixture(t, "testdata/across_refused.txtar")
	p, err := f.plan(t)
	if p != nil || err == nil {
		t.Fatalf("got %v, %v", p, err)
	}
	r, ok := errors.AsType[plan.Refusal](err)
	if !ok || len(r.Findings) != 2 {
		t.Fatalf("%#v is no refusal with two findings", err)
	}
	if want := "../tools/references/ops.md:3:3: no op NOWHERE in tools, nor in the skills that it depends on (CNP-T17)"; !strings.HasPrefix(r.Error(), want+"\n") {
		t.Errorf("got %s", r.Error())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := load(t, readFixture(t, "testdata/recursion.txtar").skill, "recursion")
	if p, err := plan.New(ctx, s, plan.Options{}); p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, %v", p, err)
	}
}

// A contract of the Agent section, and one that the plan does not reach.
func TestContractsByOp(t *testing.T) {
	f := readFixture(t, "testdata/explore_contract.txtar")
	p, err := f.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.AgentSchema(); s == nil || s.Path != "assets/schemas/found.json" {
		t.Errorf("got %+v", s)
	}
	f = readFixture(t, "testdata/contracts.txtar")
	if p, err = f.plan(t); err != nil {
		t.Fatal(err)
	}
	for n := range p.Nodes() {
		c, _ := p.Callee(n)
		if in, out := p.Input(c), p.Output(c); out == nil || (in == nil) != (n.Name == "GUESS") || out.Hint != (n.Name == "GUESS") {
			t.Errorf("%s: %+v, %+v", n.Name, in, out)
		}
	}
	if p.AgentSchema() != nil {
		t.Error("no Agent section, and a contract of it")
	}
	if n, _, ok := p.NodeByID("SKILL.md#/99"); ok || n != nil {
		t.Error("a node that is not there was found")
	}
	stranger := &tree.Node{Kind: tree.If, Cond: "x is missing"}
	if p.Order(stranger) != -1 || p.ID(stranger) != "" || p.Cond(stranger) == nil {
		t.Error("a node of another tree")
	}
}
