package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/codes"
)

// TestErrorCodes compares "skl help errors" with the source: every code that some
// diag.New or diag.Error of the program can carry is listed, in order, and no other.
func TestErrorCodes(t *testing.T) {
	used := codesInSource(t, filepath.Join("..", "..", "..", ".."))
	listed := map[string]bool{}
	for i, c := range codes.All {
		listed[c[0]] = true
		if i > 0 && codes.All[i-1][0] >= c[0] {
			t.Errorf("%q stands behind %q: the list is sorted and names each code once", c[0], codes.All[i-1][0])
		}
		if text := c[1]; text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "\n") || len(text) > 100 {
			t.Errorf("%s: %q is not one clear line", c[0], text)
		}
		if used[c[0]] == "" {
			t.Errorf("%q is listed and nothing in the source uses it", c[0])
		}
	}
	for _, code := range slices.Sorted(maps.Keys(used)) {
		if !listed[code] {
			t.Errorf("%s: add to codes.go: {%q, \"…\"},", used[code], code)
		}
	}
	page := errorsHelp()
	for _, c := range append(codes.Carried, append(codes.All, [2]string{"E_MODE"}, [2]string{"E_INCOMPLETE"})...) {
		if !strings.Contains(page, "\n  "+c[0]+" ") {
			t.Errorf("help errors does not show %s", c[0])
		}
	}
}

// otherNames are beginnings and ends of codes that say what a family says in another word.
var otherNames = regexp.MustCompile(`^(bad|illegal|malformed|missing|nonexistent|mismatched|unrecogni[sz]ed)_|_(malformed|damaged|broken|bad|wrong|unreadable_file)$`)

// TestErrorFamilies holds that each family has members, and that no code says in another word what a family says.
func TestErrorFamilies(t *testing.T) {
	members := map[string]int{}
	for _, c := range codes.All {
		code := c[0]
		if otherNames.MatchString(code) && code != "signature_malformed" { // a reason of spec/attest behind the word of the family
			t.Errorf("%s: name it after a family of codes.Families", code)
		}
		for _, f := range codes.Families {
			for name := range strings.FieldsSeq(f[0]) {
				begins, prefix := strings.CutSuffix(name, "…")
				ends, suffix := strings.CutPrefix(name, "…")
				if prefix && strings.HasPrefix(code, begins) || suffix && strings.HasSuffix(code, ends) {
					members[name]++
				}
			}
		}
	}
	for _, f := range codes.Families {
		for name := range strings.FieldsSeq(f[0]) {
			if members[name] < 2 {
				t.Errorf("%s has %d members", name, members[name])
			}
		}
	}
}

// A codeSearch finds the values that the code argument of diag.New can have. It
// follows constants, variables of the function, and parameters back to the calls
// of the function within its package.
type codeSearch struct {
	t      *testing.T
	files  *token.FileSet
	consts map[string]map[string]string // by package name, then constant
	codes  map[string][]string          // by package name, the constants of its type Code
	pkgs   map[string][]*ast.File       // by directory
	found  map[string]string            // code to place
	seen   map[string]bool              // functions and parameters that were followed
}

func codesInSource(t *testing.T, top string) map[string]string {
	s := &codeSearch{t: t, files: token.NewFileSet(), consts: map[string]map[string]string{}, codes: map[string][]string{}, pkgs: map[string][]*ast.File{},
		found: map[string]string{}, seen: map[string]bool{}}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test") && d.Name() != "attest"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(s.files, path, nil, 0)
		if err != nil {
			return err
		}
		s.pkgs[filepath.Dir(path)] = append(s.pkgs[filepath.Dir(path)], file)
		s.constants(file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range s.pkgs {
		for _, file := range files {
			s.file(files, file)
		}
	}
	return s.found
}

func (s *codeSearch) constants(file *ast.File) {
	pkg := file.Name.Name
	if s.consts[pkg] == nil {
		s.consts[pkg] = map[string]string{}
	}
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				if i < len(v.Values) {
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						s.consts[pkg][name.Name], _ = strconv.Unquote(lit.Value)
						if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Code" {
							s.codes[pkg] = append(s.codes[pkg], s.consts[pkg][name.Name])
						}
					}
				}
			}
		}
	}
}

// silent are functions of package report whose errors are never printed: the command has printed its result.
var silent = []string{"Unmet", "Refused"}

func (s *codeSearch) file(pkg []*ast.File, file *ast.File) {
	for _, decl := range file.Decls {
		fn, _ := decl.(*ast.FuncDecl)
		if fn != nil && (file.Name.Name == "report" && slices.Contains(silent, fn.Name.Name) || file.Name.Name == "diag") {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isDiag(n.Fun, "New") && len(n.Args) > 2 {
					s.value(pkg, file, fn, n.Args[1])
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && isError(n.Type) && fmt.Sprint(kv.Key) == "Code" {
						s.value(pkg, file, fn, kv.Value)
					}
				}
			}
			return true
		})
	}
}

func isDiag(e ast.Expr, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && fmt.Sprint(sel.X) == "diag" && sel.Sel.Name == name
}

// isError says whether a type is one of those that carry codes: those of diag, and of the answers of an index.
func isError(e ast.Expr) bool {
	if sel, ok := e.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "query" {
		return sel.Sel.Name == "Failure"
	}
	if p, ok := e.(*ast.Ident); ok && p.Name == "Problem" {
		return true
	}
	return isDiag(e, "Error")
}

// value notes what e can be. fn is the function e stands in.
func (s *codeSearch) value(pkg []*ast.File, file *ast.File, fn *ast.FuncDecl, e ast.Expr) {
	place := s.files.Position(e.Pos())
	switch e := e.(type) {
	case *ast.BasicLit:
		code, _ := strconv.Unquote(e.Value)
		s.found[code] = place.String()
		return
	case *ast.SelectorExpr:
		if code, ok := s.consts[fmt.Sprint(e.X)][e.Sel.Name]; ok {
			s.found[code] = place.String()
			return
		}
		if e.Sel.Name == "Code" || e.Sel.Name == "Rule" {
			return // of an error or finding that was made elsewhere
		}
	case *ast.BinaryExpr: // a word before what is a Code of the package
		word, ok := e.X.(*ast.BasicLit)
		if _, isCode := e.Y.(*ast.CallExpr); ok && isCode && len(s.codes[file.Name.Name]) > 0 {
			prefix, _ := strconv.Unquote(word.Value)
			for _, code := range s.codes[file.Name.Name] {
				s.found[prefix+code] = place.String()
			}
			return
		}
	case *ast.Ident:
		if code, ok := s.consts[file.Name.Name][e.Name]; ok {
			s.found[code] = place.String()
			return
		}
		if fn != nil && s.variable(pkg, file, fn, e.Name) {
			return
		}
	}
	s.t.Errorf("%s: the code of this error cannot be told from the source", place)
}

// variable follows a variable or parameter of fn.
func (s *codeSearch) variable(pkg []*ast.File, file *ast.File, fn *ast.FuncDecl, name string) bool {
	key := fmt.Sprint(s.files.Position(fn.Pos()), name)
	if s.seen[key] {
		return true
	}
	s.seen[key] = true
	known := false
	ast.Inspect(fn, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, left := range a.Lhs {
			if id, ok := left.(*ast.Ident); ok && id.Name == name {
				known = true // the code of an error that was made elsewhere, if one call gives several values
				if len(a.Lhs) == len(a.Rhs) {
					s.value(pkg, file, fn, a.Rhs[i])
				}
			}
		}
		return true
	})
	at := 0
	for _, field := range fn.Type.Params.List {
		for _, p := range field.Names {
			if p.Name == name {
				known = true
				s.calls(pkg, fn.Name.Name, at)
			}
			at++
		}
	}
	return known
}

// calls notes the argument number at of every call of the package's function or method name.
func (s *codeSearch) calls(pkg []*ast.File, name string, at int) {
	for _, file := range pkg {
		for _, decl := range file.Decls {
			fn, _ := decl.(*ast.FuncDecl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) <= at {
					return true
				}
				id, _ := call.Fun.(*ast.Ident)
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					id = sel.Sel
				}
				if id != nil && id.Name == name {
					s.value(pkg, file, fn, call.Args[at])
				}
				return true
			})
		}
	}
}
