package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

var update = flag.Bool("update", false, "write what the plans are now into the files of testdata")

// A fixture is one file of testdata: a skill, the skills that it depends on, arguments, and
// what comes of them.
type fixture struct {
	archive *txtar.Archive
	skill   fstest.MapFS
	deps    map[string]fstest.MapFS
	depends []string
	args    string
	want    string
}

func readFixture(t testing.TB, name string) *fixture {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{archive: archive, skill: fstest.MapFS{}, deps: map[string]fstest.MapFS{}}
	for _, file := range archive.Files {
		switch dir, rest, _ := strings.Cut(file.Name, "/"); dir {
		case "skill":
			f.skill[rest] = &fstest.MapFile{Data: file.Data}
		case "deps":
			skill, path, _ := strings.Cut(rest, "/")
			if f.deps[skill] == nil {
				f.deps[skill] = fstest.MapFS{}
			}
			f.deps[skill][path] = &fstest.MapFile{Data: file.Data}
		case "depends":
			f.depends = strings.Fields(string(file.Data))
		case "args":
			f.args = strings.TrimSpace(string(file.Data))
		case "want":
			f.want = string(file.Data)
		}
	}
	return f
}

func load(t testing.TB, fsys fs.FS, dir string) *tree.Skill {
	t.Helper()
	s, err := tree.Load(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fixture) plan(t testing.TB) (*plan.Plan, error) {
	t.Helper()
	loaded := map[string]*tree.Skill{}
	for name, fsys := range f.deps {
		loaded[name] = load(t, fsys, name)
	}
	return plan.New(t.Context(), load(t, f.skill, ""), plan.Options{
		Depends: f.depends,
		Find: func(name string) (*tree.Skill, error) {
			if s := loaded[name]; s != nil {
				return s, nil
			}
			return nil, fmt.Errorf("%s is not installed", name)
		},
	})
}

// describe writes what New gave as the fixtures have it.
func describe(p *plan.Plan, err error, args string) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "refused: %v\n", err)
		if e, ok := errors.AsType[*diag.Error](err); ok {
			fmt.Fprintf(&b, "class %d, code %s\n", e.Class, e.Code)
			for _, h := range e.Hints {
				fmt.Fprintf(&b, "hint: %s\n", h)
			}
			if len(e.Candidates) > 0 {
				fmt.Fprintf(&b, "candidates: %s\n", strings.Join(e.Candidates, ", "))
			}
		}
		if r, ok := errors.AsType[plan.Refusal](err); ok {
			for _, f := range r.Findings {
				fmt.Fprintf(&b, "finding: %s:%d %s %s\n", f.File, f.Line, f.Rule, f.Message)
			}
		}
		return b.String()
	}
	fmt.Fprintf(&b, "features: %s\n", strings.Join(p.Features, ", "))
	for _, f := range p.Warnings {
		switch f.Rule { // those that binding finds; style has tests of its own
		case check.FileMissing, check.PlainMarked, check.SampleSchema, check.UnknownOp, check.VerifyPath, check.BreakTree:
		default:
			continue
		}
		fmt.Fprintf(&b, "warning: %s:%d %s %s\n", f.File, f.Line, f.Rule, f.Message)
	}
	for _, e := range p.Effects(args) {
		what := e.What
		if len(e.Options) > 0 {
			what += " (" + strings.Join(e.Options, ", ") + ")"
		}
		fmt.Fprintf(&b, "%s: %s\n    %s\n", strings.TrimSpace(e.Kind+" "+e.Mode), what, strings.TrimSpace(e.Node+" at "+e.Path))
		if e.When != "" {
			fmt.Fprintf(&b, "    when %s\n", e.When)
		}
	}
	return b.String()
}

// Every file of testdata is a skill and what its plan is: refused, or its warnings and effects.
func TestPlans(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			f := readFixture(t, name)
			p, err := f.plan(t)
			got := describe(p, err, f.args)
			if *update {
				last := &f.archive.Files[len(f.archive.Files)-1]
				last.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(f.archive), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if got != f.want {
				t.Errorf("got\n%s\nwant\n%s", got, f.want)
			}
			if err == nil {
				checkNodes(t, p)
				if again := describe(p, nil, f.args); again != got {
					t.Errorf("the second walk differs\n%s", again)
				}
			}
		})
	}
}

// checkNodes checks that what the plan says of each node agrees.
func checkNodes(t *testing.T, p *plan.Plan) {
	i := 0
	for n, in := range p.Nodes() {
		found, body, ok := p.NodeByID(p.ID(n))
		if !ok || found != n || body != in {
			t.Errorf("NodeByID(%q) is another node, or none", p.ID(n))
		}
		if p.Order(n) != i {
			t.Errorf("Order(%s) = %d, want %d", p.ID(n), p.Order(n), i)
		}
		if c, ok := p.Callee(n); ok && c.Skill.Op(c.Op.Name) != c.Op {
			t.Errorf("%s: Callee is not an op of its skill", p.ID(n))
		}
		if n.Kind == tree.If && p.Cond(n) == nil {
			t.Errorf("%s has no condition", p.ID(n))
		}
		i++
	}
	if i == 0 {
		t.Error("a plan without nodes")
	}
}
