package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// storesContext are the structs that may have a context, as "file.go Type": each one with the interface of another
// module that leaves it no parameter to come by. There is none today: a func that closes over the context, such as
// its Err, does for a Read or a ReadTiles.
var storesContext = map[string]string{}

// TestContextsAreParameters: a context is a parameter of what it bounds, so no struct of the product has a field
// that holds one, by whatever name context is imported, in a slice, map or channel or as an embedded field.
func TestContextsAreParameters(t *testing.T) {
	found, looked := map[string]bool{}, 0
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		looked++
		for _, in := range structsWithContext(file) {
			found[name+" "+in] = true
			if storesContext[name+" "+in] == "" {
				t.Errorf("%s: struct %s stores a context: make it a parameter of the methods that need it", name, in)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 500 {
		t.Errorf("only %d files were found", looked)
	}
	for in := range storesContext {
		if !found[in] {
			t.Errorf("%s is an exception and stores no context any more", in)
		}
	}
}

// structsWithContext returns the types of a file with a struct in them that has a context; "?" is a struct outside a declaration
// of a type. A func that takes a context holds none, and an interface whose methods do neither.
func structsWithContext(file *ast.File) []string {
	name := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"context"` {
			name = "context"
			if i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	isContext := func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			return ok && x.Name == name && s.Sel.Name == "Context"
		}
		id, ok := n.(*ast.Ident)
		return ok && name == "." && id.Name == "Context"
	}
	var in []string
	var declared string
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			declared = n.Name.Name
			ast.Inspect(n.Type, look)
			declared = "?"
			return false
		case *ast.StructType:
			for _, field := range n.Fields.List {
				ast.Inspect(field.Type, func(n ast.Node) bool {
					switch n.(type) {
					case *ast.FuncType, *ast.InterfaceType, *ast.StructType: // the last is looked at by itself
						return false
					}
					if n != nil && isContext(n) {
						in = append(in, declared)
					}
					return true
				})
			}
		}
		return true
	}
	declared = "?"
	ast.Inspect(file, look)
	return slices.Compact(in)
}

func TestStructsWithContext(t *testing.T) {
	for fields, want := range map[string]string{
		"ctx context.Context":                         "[T]",
		"context.Context":                             "[T]",
		"all []context.Context":                       "[T]",
		"by map[string]*context.Context":              "[T]",
		"inner struct{ ctx context.Context }":         "[T]",
		"stop context.CancelFunc; ended func() error": "[]",
		"do func(ctx context.Context) error":          "[]",
		"s interface{ Do(context.Context) error }":    "[]",
	} {
		for _, imported := range [][2]string{{"", "context."}, {"c ", "c."}, {". ", ""}} {
			src := fmt.Sprintf("package p\nimport %s\"context\"\ntype T struct { %s }\n", imported[0], strings.ReplaceAll(fields, "context.", imported[1]))
			file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(structsWithContext(file)); got != want {
				t.Errorf("%s: %s, want %s", src, got, want)
			}
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nimport \"context\"\nfunc f() { x := struct{ c context.Context }{}; _ = x }", 0)
	if got := fmt.Sprint(structsWithContext(file)); err != nil || got != "[?]" {
		t.Errorf("in a func: %s, %v", got, err)
	}
}
