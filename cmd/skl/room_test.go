package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoom holds that what installs can be read in pieces: no function of it is over 60 lines, and no type has more than 12 fields.
func TestRoom(t *testing.T) {
	const lines, fields = 60, 12
	for _, dir := range []string{"plan", "signature", "trees", "apply"} {
		files, err := filepath.Glob(filepath.Join("internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", dir, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if size := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1; size > lines {
						t.Errorf("%s: %s has %d lines", file, n.Name.Name, size)
					}
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok && countFields(s) > fields {
						t.Errorf("%s: %s has %d fields", file, n.Name.Name, countFields(s))
					}
				}
				return true
			})
		}
	}
}

func countFields(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names)) // an embedded one has no name
	}
	return n
}
