package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommentsOpenWithANoun: a clause as the subject hides the thing that a comment is about. A function may be called Which.
func TestCommentsOpenWithANoun(t *testing.T) {
	clause, read := regexp.MustCompile(`^/[/*]\s*(What|Who|Which|That which)\b`), 0
	err := fs.WalkDir(os.DirFS(repository), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(repository, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		read++
		named := map[*ast.CommentGroup]string{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				named[f.Doc] = f.Name.Name
			}
		}
		for _, c := range file.Comments {
			if m := clause.FindStringSubmatch(c.List[0].Text); m != nil && named[c] != m[1] {
				t.Errorf("%s:%d opens with %q: begin with a noun", name, set.Position(c.Pos()).Line, m[1])
			}
		}
		return nil
	})
	if err != nil || read < 1000 {
		t.Fatalf("%d files: %v", read, err)
	}
}
