package requirements

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// tables are what is required of this product: the file of each in testdata and what its numbers begin with. Those of seeds are the
// documents that asked for it, those of promises what it promised since.
var tables = map[string]string{
	"seeds/canopy-code-index": "index", "seeds/canopy-concepts": "concepts", "seeds/canopy-primitives": "primitives", "seeds/canopy-runtime-hosts": "hosts",
	"seeds/corteza-skill-v1": "v1", "promises/client": "client",
}

// TestSeedRequirements reads the tables of testdata/seeds and testdata/promises, whose READMEs have their form, and wants every test, script and page that
// a requirement names to be there. It asks by its attributes that all of them ran and passed, which testdata/tools/totals looks after in .ci/run and .ci/deep.
func TestSeedRequirements(t *testing.T) {
	var all []requirement
	for _, file := range slices.Sorted(maps.Keys(tables)) {
		text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(file)+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		requirements, err := readRequirements(file+".txt", tables[file], string(text))
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: %s", file, countRequirements(requirements))
		all = append(all, requirements...)
	}
	t.Logf("in all: %s", countRequirements(all))
	at := evidenceAt{os.DirFS(harness.Repository)}
	named := map[string]bool{}
	for _, r := range all {
		if err := at.check(r); err != nil {
			t.Error(err)
		}
		for _, e := range r.evidence {
			if e, err := at.place(e); err == nil {
				named[e.test()] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		t.Attr("needs", name)
	}
}

// A requirement is one line of a table.
type requirement struct {
	place          string // file:line
	id, text       string
	evidence       []evidence
	differs, opens string // the reason, what is missing: at most one of them
}

// Evidence is what shows a requirement: a test, named by its package's directory and its name. Of a script or a page, file is where it is;
// the directory of a script is known when it was looked for.
type evidence struct {
	dir, name, file string
}

// module begins the names of our packages.
const module = "github.com/skl-project/skl/"

// test is the test as go test -json names it, with its package.
func (e evidence) test() string { return module + e.dir + "." + e.name }

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Example)[A-Za-z0-9_]*(/\S+)?$`)
	fileName = regexp.MustCompile(`^[a-z0-9_]+$`)
)

// readRequirements reads a table whose numbers begin with prefix. What it returns beside an error is what could be read.
func readRequirements(file, prefix, text string) (all []requirement, err error) {
	lines, n := map[string]int{}, 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r := requirement{place: fmt.Sprintf("%s:%d", file, n)}
		if e := r.read(line, prefix); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.place, e))
			continue
		}
		if lines[r.id] > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %s is in line %d too", r.place, r.id, lines[r.id]))
		}
		lines[r.id] = n
		all = append(all, r)
	}
	if n > 0 && len(all) == 0 {
		err = errors.Join(err, fmt.Errorf("%s has no requirement", file))
	}
	return all, err
}

func (r *requirement) read(line, prefix string) error {
	fields := strings.Split(line, " | ")
	if len(fields) != 3 {
		return fmt.Errorf("%d fields in %q, want SEED-N | requirement | evidence", len(fields), line)
	}
	r.id, r.text = fields[0], strings.TrimSpace(fields[1])
	number, ok := strings.CutPrefix(r.id, prefix+"-")
	if n, err := strconv.Atoi(number); !ok || err != nil || n < 1 || strconv.Itoa(n) != number {
		return fmt.Errorf("%q is no number of this table, such as %s-1", r.id, prefix)
	}
	if r.text == "" {
		return fmt.Errorf("%s says nothing", r.id)
	}
	for rest, more := fields[2], true; more; {
		if reason, ok := strings.CutPrefix(rest, "differs:"); ok {
			if r.differs = strings.TrimSpace(reason); len(strings.Fields(reason)) < 3 {
				return fmt.Errorf("%s differs without a reason", r.id)
			}
			break
		}
		if what, ok := strings.CutPrefix(rest, "open:"); ok {
			if r.opens = strings.TrimSpace(what); r.opens == "" {
				return fmt.Errorf("%s does not say what is open", r.id)
			}
			break
		}
		var part string
		part, rest, more = strings.Cut(rest, "; ")
		e, err := readEvidence(part)
		if err != nil {
			return fmt.Errorf("%s: %w", r.id, err)
		}
		r.evidence = append(r.evidence, e)
	}
	return nil
}

func readEvidence(s string) (evidence, error) {
	kind, name, ok := strings.Cut(s, ":")
	if ok && kind == "script" && fileName.MatchString(name) {
		return evidence{"", "TestScripts/" + name, "cmd/skl/test/*/testdata/script/" + name + ".txtar"}, nil
	}
	if page := path.Base(name); ok && kind == "page" && fileName.MatchString(page) {
		switch path.Dir(name) {
		case "examples":
			return evidence{"cmd/skl/test/documents", "TestExamplesRun/pages/" + page, "cmd/skl/test/documents/testdata/examples/" + page + ".txtar"}, nil
		case "docs":
			return evidence{"cmd/skl/test/documents", "TestDocs/pages/" + page, "cmd/skl/test/documents/testdata/docs/" + page + ".txtar"}, nil
		}
	}
	dir, name, ok := strings.Cut(s, " ")
	if ok && fs.ValidPath(dir) && testName.MatchString(name) {
		return evidence{dir: dir, name: name}, nil
	}
	return evidence{}, fmt.Errorf("%q is none of DIR TestName, script:NAME, page:examples/NAME, page:docs/NAME, differs: REASON, open: WHAT", s)
}

func countRequirements(all []requirement) string {
	shown, differs, opens := 0, 0, 0
	for _, r := range all {
		switch {
		case r.differs != "":
			differs++
		case r.opens != "":
			opens++
		default:
			shown++
		}
	}
	return fmt.Sprintf("%d requirements: %d shown, %d differ, %d open", len(all), shown, differs, opens)
}

// evidenceAt finds evidence in a repository.
type evidenceAt struct{ repository fs.FS }

var pageName = regexp.MustCompile(`[A-Za-z0-9_./-]+\.md\b`)

func (at evidenceAt) check(r requirement) (err error) {
	for _, e := range r.evidence {
		if e := at.find(e); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", r.place, r.id, e))
		}
	}
	for _, page := range pageName.FindAllString(r.differs, -1) {
		if _, e := fs.Stat(at.repository, page); e != nil && strings.Contains(page, "/") {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", r.place, r.id, e))
		}
	}
	return err
}

// place finds the file of a script or a page, and with it the directory of a script.
func (at evidenceAt) place(e evidence) (evidence, error) {
	if e.file == "" {
		return e, nil
	}
	files, err := fs.Glob(at.repository, e.file)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d files are %s", len(files), e.file)
	}
	if err == nil && e.dir == "" {
		e.dir = path.Dir(path.Dir(path.Dir(files[0])))
	}
	return e, err
}

// find looks for the function of a test in files that some system builds.
func (at evidenceAt) find(e evidence) error {
	e, err := at.place(e)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(e.name, "/")
	files, err := fs.Glob(at.repository, path.Join(e.dir, "*_test.go"))
	if err != nil {
		return err
	}
	excluded := ""
	for _, file := range files {
		text, err := fs.ReadFile(at.repository, file)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "func "+name+"(") || !declares(file, text, name) {
			continue
		}
		if at.built(file) {
			return nil
		}
		excluded = file
	}
	if excluded != "" {
		return fmt.Errorf("%s of %s is built nowhere: see the build tags of %s", name, e.dir, excluded)
	}
	return fmt.Errorf("there is no %s in %s", name, cmp.Or(e.dir, "."))
}

func declares(file string, text []byte, name string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	return err == nil && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && fn.Name.Name == name
	})
}

// built reports whether one of the systems of the product builds a file of tests, without further tags.
func (at evidenceAt) built(file string) bool {
	for _, system := range []string{"linux", "darwin", "windows"} {
		c := build.Default
		c.GOOS, c.GOARCH, c.BuildTags = system, "amd64", nil
		c.JoinPath = path.Join
		c.OpenFile = func(name string) (io.ReadCloser, error) { return at.repository.Open(name) }
		if ok, err := c.MatchFile(path.Split(file)); ok && err == nil {
			return true
		}
	}
	return false
}

// A table is wrong in each of these ways, and the message says where.
func TestSeedTables(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"v1-1 | text", "2 fields"},
		{"v1-1 | text | a TestB | a TestC", "4 fields"},
		{"index-1 | text | a TestB", `"index-1" is no number`},
		{"v1-01 | text | a TestB", `"v1-01" is no number`},
		{"v1-0 | text | a TestB", `"v1-0" is no number`},
		{"v1-1 |  | a TestB", "says nothing"},
		{"v1-1 | text | ", "2 fields"},
		{"v1-1 | text | a TestB; ", `"a TestB;" is none of`},
		{"v1-1 | text | TestB", `"TestB" is none of`},
		{"v1-1 | text | a testB", `"a testB" is none of`},
		{"v1-1 | text | ../a TestB", "is none of"},
		{"v1-1 | text | script:../run", "is none of"},
		{"v1-1 | text | page:other/run", "is none of"},
		{"v1-1 | text | differs: ", "without a reason"},
		{"v1-1 | text | differs: not so", "without a reason"},
		{"v1-1 | text | open:", "what is open"},
		{"v1-2 | text | a TestB\nv1-2 | text | a TestB", "t.txt:2: v1-2 is in line 1 too"},
		{"# nothing", "t.txt has no requirement"},
	} {
		_, err := readRequirements("t.txt", "v1", tt.line)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.line, err, tt.want)
		}
	}
	all, err := readRequirements("t.txt", "v1", "# title\n\nv1-2 | one | a/b TestC/sub; script:run_x\nv1-1 | two | page:docs/run; differs: another word is used\nv1-9 | three | open: all of it\n")
	if err != nil || countRequirements(all) != "3 requirements: 1 shown, 1 differ, 1 open" {
		t.Fatalf("%v, %s", err, countRequirements(all))
	}
	if got := all[0].evidence[0].test() + " " + all[0].evidence[1].test() + " " + all[1].evidence[0].test(); got != module+"a/b.TestC/sub "+module+".TestScripts/run_x "+module+"cmd/skl/test/documents.TestDocs/pages/run" {
		t.Errorf("the tests are %s", got)
	}
}

// Evidence is found where it is, and nowhere else.
func TestSeedEvidence(t *testing.T) {
	at := evidenceAt{fstest.MapFS{
		"a/a_test.go":                                {Data: []byte("package a\n\n// func TestNo(\nfunc TestYes(t *testing.T) {}\n\nfunc (x) TestMethod() {}\n")},
		"a/a.go":                                     {Data: []byte("package a\n\nfunc TestPlain(t *testing.T) {}\n")},
		"a/linux_linux_test.go":                      {Data: []byte("package a\n\nfunc TestLinux(t *testing.T) {}\n")},
		"a/tag_test.go":                              {Data: []byte("//go:build never\n\npackage a\n\nfunc TestTag(t *testing.T) {}\n")},
		"a/plan9_plan9_test.go":                      {Data: []byte("package a\n\nfunc TestPlan9(t *testing.T) {}\n")},
		"cmd/skl/test/x/scripts_test.go":             {Data: []byte("package x\n\nfunc TestScripts(t *testing.T) {}\n")},
		"cmd/skl/test/x/testdata/script/here.txtar":  {},
		"cmd/skl/test/x/testdata/script/twice.txtar": {},
		"cmd/skl/test/y/testdata/script/twice.txtar": {},
		"spec/page.md":                               {},
	}}
	for _, tt := range []struct{ line, want string }{
		{"a TestYes", ""},
		{"a TestYes/sub", ""},
		{"a TestLinux", ""},
		{"script:here", ""},
		{"differs: see spec/page.md for that", ""},
		{"a TestNo", "there is no TestNo in a"},
		{"a TestYe", "there is no TestYe in a"},
		{"a TestMethod", "there is no TestMethod in a"},
		{"a TestPlain", "there is no TestPlain in a"},
		{"b TestYes", "there is no TestYes in b"},
		{"a TestTag", "built nowhere: see the build tags of a/tag_test.go"},
		{"a TestPlan9", "built nowhere"},
		{"script:there", "0 files are cmd/skl/test/*/testdata/script/there.txtar"},
		{"script:twice", "2 files are"},
		{"page:docs/here", "0 files are"},
		{"differs: see spec/gone.md for that", "spec/gone.md"},
	} {
		all, err := readRequirements("t.txt", "v1", "v1-1 | text | "+tt.line)
		if err != nil {
			t.Fatal(err)
		}
		if err := at.check(all[0]); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
	}
}
