package retrieval

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
)

// A corpus is a copy of files and what is known of them. It is not changed after it was made.
type corpus struct {
	name  string
	dir   string
	files map[string][]byte // by path with slashes
	paths []string          // sorted
	defs  []def             // by path and line; of Go
	asts  map[string]*ast.File
	fset  *token.FileSet
}

// A def is a definition in a Go file.
type def struct {
	path, pkg   string // pkg is the directory
	name, owner string // owner is the receiver's type
	kind        string // "func", "type", "const", "var", and "asked" of an interface
	line, end   int    // of the definition without its doc comment
	doc         string
	group       string // what the halves are divided by: a package or a module
	first, last int    // bytes of the declaration
	docFrom     int    // bytes of the doc comment; -1 for none
	docTo       int
}

func (d def) test() bool { return strings.HasSuffix(d.path, "_test.go") }

// judging says which half a package, module or commit belongs to.
func judging(group string) bool {
	h := fnv.New32a()
	h.Write([]byte(group))
	return h.Sum32()>>7&1 == 0
}

// smallLibrary lists the directories of Go's library that the normal test uses.
var smallLibrary = strings.Fields("archive bufio bytes compress container context database debug encoding errors expvar flag fmt go hash html " +
	"image index io log math mime net os path reflect regexp sort strconv strings sync testing text unicode")

// readTree reads the regular text files of up to 1 MiB below dirs of root.
func readTree(root string, dirs []string, keep func(path string) bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			if !d.Type().IsRegular() {
				return nil
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			if !keep(rel) {
				return nil
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if len(data) <= 1<<20 && bytes.IndexByte(data[:min(len(data), 8000)], 0) < 0 {
				files[rel] = data
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// newCorpus parses the Go files among files. group names the half that a path belongs to.
func newCorpus(name string, files map[string][]byte, group func(path string) string) (*corpus, error) {
	c := &corpus{name: name, files: files, fset: token.NewFileSet(), asts: map[string]*ast.File{}}
	for p := range files {
		c.paths = append(c.paths, p)
	}
	slices.Sort(c.paths)
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range c.paths {
		if path.Ext(p) != ".go" {
			continue
		}
		g.Go(func() error {
			f, err := parser.ParseFile(c.fset, p, files[p], parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil // a test's broken input
			}
			defs := definitions(c.fset, p, group(p), f)
			mu.Lock()
			defer mu.Unlock()
			c.asts[p] = f
			c.defs = append(c.defs, defs...)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.defs, func(a, b def) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.first, b.first), cmp.Compare(a.line, b.line), cmp.Compare(a.name, b.name))
	})
	return c, nil
}

// definitions lists the top-level definitions of a file.
func definitions(fset *token.FileSet, p, group string, f *ast.File) []def {
	var defs []def
	// Positions are those of the file itself; //line comments do not count.
	line := func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }
	offset := func(pos token.Pos) int { return fset.PositionFor(pos, false).Offset }
	add := func(kind, owner string, name *ast.Ident, from, to token.Pos, doc *ast.CommentGroup) {
		if name.Name == "_" {
			return
		}
		d := def{path: p, pkg: path.Dir(p), name: name.Name, owner: owner, kind: kind, group: group,
			line: line(from), end: line(to), first: offset(from), last: offset(to), docFrom: -1}
		if doc != nil {
			d.doc, d.docFrom, d.docTo = doc.Text(), offset(doc.Pos()), offset(doc.End())
		}
		defs = append(defs, d)
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			owner := ""
			if decl.Recv != nil && len(decl.Recv.List) > 0 {
				owner = receiver(decl.Recv.List[0].Type)
			}
			add("func", owner, decl.Name, decl.Pos(), decl.End(), decl.Doc)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add("type", "", spec.Name, spec.Pos(), spec.End(), nil)
					if of, ok := spec.Type.(*ast.InterfaceType); ok {
						for _, m := range of.Methods.List {
							for _, name := range m.Names {
								add("asked", spec.Name.Name, name, name.Pos(), m.End(), nil)
							}
						}
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(decl.Tok.String(), "", name, name.Pos(), spec.End(), nil)
					}
				}
			}
		}
	}
	return defs
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// withoutDocs returns the corpus without the doc comments of functions; lines are those of the new text.
func (c *corpus) withoutDocs() *corpus {
	out := &corpus{name: c.name + "-bare", files: make(map[string][]byte, len(c.files)), paths: c.paths}
	byPath := map[string][]def{}
	for _, d := range c.defs {
		byPath[d.path] = append(byPath[d.path], d)
	}
	for _, p := range c.paths {
		src, defs := c.files[p], byPath[p]
		var text []byte
		from, gone := 0, 0
		for _, d := range defs {
			if d.docFrom >= 0 {
				start := bytes.LastIndexByte(src[:d.docFrom], '\n') + 1
				text = append(text, src[from:start]...)
				gone += bytes.Count(src[start:d.first], []byte("\n"))
				from = bytes.LastIndexByte(src[:d.first], '\n') + 1
			}
			d.line -= gone
			d.end -= gone
			out.defs = append(out.defs, d)
		}
		out.files[p] = append(text, src[from:]...)
	}
	return out
}

// write puts the files below dir, for programs that read files.
func (c *corpus) write(t testing.TB, dir string) {
	t.Helper()
	c.dir = dir
	made := map[string]bool{}
	for _, p := range c.paths {
		name := filepath.Join(dir, filepath.FromSlash(p))
		if d := filepath.Dir(name); !made[d] {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
			made[d] = true
		}
		if err := os.WriteFile(name, c.files[p], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// goSource returns the directory of Go's own source.
func goSource(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("skipped: where Go is cannot be asked: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

// library reads Go's library: the small part, or all of it.
func library(t testing.TB, full bool) *corpus {
	t.Helper()
	root := goSource(t)
	dirs := smallLibrary
	if full {
		dirs = []string{"."}
	}
	files, err := readTree(root, dirs, func(p string) bool { return path.Ext(p) != ".zip" })
	if err != nil {
		t.Skipf("skipped: the source of Go is not at hand: %v", err)
	}
	c, err := newCorpus("go", files, path.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ordinary says whether a path is of code that people write and ask for.
func ordinary(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == "testdata" || part == "vendor" || part == "_asm" {
			return false
		}
	}
	return !strings.HasSuffix(p, "_test.go") && !strings.HasPrefix(path.Base(p), "z")
}

// generated says whether a file says that a program wrote it.
func (c *corpus) generated(p string) bool {
	src := c.files[p]
	return bytes.Contains(src[:min(len(src), 2000)], []byte("DO NOT EDIT"))
}

func TestWithoutDocs(t *testing.T) {
	src := "package p\n\n// F does.\n// More.\nfunc F() {\n}\n\n/* G too */\nfunc G() { F() }\n\nvar x = 1\n"
	c, err := newCorpus("x", map[string][]byte{"p/p.go": []byte(src)}, path.Dir)
	if err != nil {
		t.Fatal(err)
	}
	bare := c.withoutDocs()
	if got, want := string(bare.files["p/p.go"]), "package p\n\nfunc F() {\n}\n\nfunc G() { F() }\n\nvar x = 1\n"; got != want {
		t.Errorf("text without docs is %q, want %q", got, want)
	}
	var got []string
	for _, d := range bare.defs {
		got = append(got, fmt.Sprint(d.name, d.line, d.end))
	}
	if want := []string{"F3 4", "G6 6", "x8 8"}; !slices.Equal(got, want) {
		t.Errorf("definitions are at %v, want %v", got, want)
	}
}
