package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twins are the functions that may only hand their parameters to another one, each with the reason.
var twins = map[string]string{
	"cmd/skl/internal/scope.Unwritable": "the command line does not import install",
	"cmd/skl/internal/scope.serverKey":  "says in docker's word what the key is",
	"install.MakeMachine":               "has a body for each system",
	"install.join":                      "takes a directory and one name, no more",
	"runtime/sandbox.Run":               "has a body for each system",
}

// TestTwins: a function that does nothing but call another with the parameters that it was given is a second name for one
// thing. Methods may, since interfaces ask for them.
func TestTwins(t *testing.T) {
	found, looked := map[string]bool{}, 0
	root := os.DirFS(repository)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				looked++
				if isTwin(f) {
					found[path.Dir(name)+"."+f.Name.Name] = true
				}
			}
		}
		return nil
	})
	if err != nil || looked < 2000 {
		t.Fatalf("%d functions: %v", looked, err)
	}
	for name := range found {
		if twins[name] == "" {
			t.Errorf("%s only calls another function: call that one instead", name)
		}
	}
	for name := range twins {
		if !found[name] {
			t.Errorf("%s is an exception, and does more or is gone", name)
		}
	}
}

// isTwin reports whether the body of f is one call of a named function with the parameters of f in their order.
func isTwin(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	var call *ast.CallExpr
	switch s := f.Body.List[0].(type) {
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			call, _ = s.Results[0].(*ast.CallExpr)
		}
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	}
	if call == nil {
		return false
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
	case *ast.SelectorExpr:
		if _, ok := fun.X.(*ast.Ident); !ok {
			return false
		}
	default:
		return false
	}
	var params, given []string
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			params = append(params, name.Name)
		}
	}
	for _, arg := range call.Args {
		id, ok := arg.(*ast.Ident)
		if !ok {
			return false
		}
		given = append(given, id.Name)
	}
	return len(params) > 0 && slices.Equal(params, given)
}
