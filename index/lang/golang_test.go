package lang

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// goFiles returns the files of GOROOT/src, testdata included.
func goFiles(t testing.TB) []string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command")
	}
	var files []string
	_ = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && Of(path) == Go {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// astDefinitions is the truth: every named function, method, type, method of a named interface and
// package-level constant and variable of a file, as "kind name start-end".
func astDefinitions(set *token.FileSet, tree *ast.File) map[string]int {
	found := map[string]int{}
	add := func(kind Kind, name *ast.Ident, n ast.Node) {
		if name.Name != "_" {
			found[fmt.Sprintf("%s %s %d-%d", kind, name.Name, set.Position(n.Pos()).Offset, set.Position(n.End()).Offset)]++
		}
	}
	top := map[ast.Decl]bool{}
	for _, d := range tree.Decls {
		top[d] = true
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				add(Method, n.Name, n)
			} else {
				add(Function, n.Name, n)
			}
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				whole := ast.Node(n)
				if n.Lparen.IsValid() {
					whole = spec
				}
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if top[n] && n.Tok == token.CONST {
							add(Constant, name, whole)
						} else if top[n] {
							add(Variable, name, whole)
						}
					}
				case *ast.TypeSpec:
					face, ok := spec.Type.(*ast.InterfaceType)
					if !ok {
						add(Struct, spec.Name, whole)
						continue
					}
					add(Class, spec.Name, whole)
					for _, m := range face.Methods.List {
						for _, name := range m.Names {
							add(Method, name, m)
						}
					}
				}
			}
		}
		return true
	})
	return found
}

// TestGoStandardLibrary compares Scan with go/ast on every file of GOROOT/src (a sample is every twelfth), and
// the scanner for broken files with it too.
func TestGoStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 11,000 files")
	}
	var files, definitions, differences, size int
	var broken, calls counts
	var tree, flat time.Duration
	for i, path := range goFiles(t) {
		if i%long.Of(1, 12, 1) != 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		files++
		size += len(src)
		want := astDefinitions(set, parsed)
		start := time.Now()
		f := Scan(Go, src)
		tree += time.Since(start)
		got := definitionsOf(f)
		definitions += len(want)
		if !maps.Equal(got, want) {
			differences++
			t.Errorf("%s: Scan and go/ast differ", path)
		}
		start = time.Now()
		b := scanBrokenGo(src)
		flat += time.Since(start)
		count(&broken, definitionsOf(b), want, func(k string) { logSome(t, path, k) })
		count(&calls, referencesOf(b), referencesOf(f), nil)
		lawful(t, Go, src, b)
	}
	t.Logf("%d files, %.1f MB, %d definitions, %d files differ, %.0f MB/s", files, float64(size)/1e6, definitions, differences, float64(size)/1e6/tree.Seconds())
	t.Logf("scanner for broken files: definitions %v, calls and imports %v, %.0f MB/s", broken, calls, float64(size)/1e6/flat.Seconds())
	if broken.f1() < 0.99 || calls.f1() < 0.97 {
		t.Error("the scanner for broken files is worse than 0.99, 0.97")
	}
}

var logged int

func logSome(t *testing.T, path, what string) {
	if logged++; logged <= *showDifferences {
		t.Log(path, what)
	}
}

func definitionsOf(f File) map[string]int {
	found := map[string]int{}
	for _, s := range f.Symbols {
		found[fmt.Sprintf("%s %s %d-%d", s.Kind, s.Name, s.Span.Start, s.Span.End)]++
	}
	return found
}

func referencesOf(f File) map[string]int {
	found := map[string]int{}
	for _, r := range f.References {
		if r.Kind != TypeRef {
			found[fmt.Sprintf("%s %s %d", r.Kind, r.Name, r.Span.Start)]++
		}
	}
	return found
}

func count(c *counts, got, want map[string]int, differs func(string)) {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		both := min(got[k], want[k])
		c.both += both
		c.missed += want[k] - both
		if both < want[k] && differs != nil {
			differs("missed " + k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if more := got[k] - want[k]; more > 0 {
			c.extra += more
			if differs != nil {
				differs("extra " + k)
			}
		}
	}
}

// A file that lacks one closing brace keeps nearly all that is found in it.
func TestGoMissingBrace(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 11,000 files")
	}
	var c counts
	refused := 0
	for i, path := range goFiles(t) {
		if i%long.Of(1, 60, 10) != 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		at := strings.LastIndexByte(string(src[:len(src)/2]), '}')
		if at < 0 {
			continue
		}
		whole := Scan(Go, src)
		half := Scan(Go, slices.Concat(src[:at], src[at+1:]))
		if half.Broken && !whole.Broken {
			refused++
			count(&c, namesOf(half), namesOf(whole), nil)
		}
	}
	t.Logf("%d files: %v", refused, c)
	if refused > 0 && c.f1() < 0.98 {
		t.Error("less than 0.98")
	}
}

func namesOf(f File) map[string]int {
	found := map[string]int{}
	for _, s := range f.Symbols {
		found[string(s.Kind)+" "+s.Name]++
	}
	return found
}
