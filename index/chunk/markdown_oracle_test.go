package chunk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/skl-project/skl/testdata/goroot"
)

// oracle lists headings and code blocks of src, one a line, as goldmark finds them.
func oracle(src []byte) []string {
	line := func(p int) int { return 1 + bytes.Count(src[:p], []byte{'\n'}) }
	var out []string
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Lines().Len() > 0 {
				out = append(out, fmt.Sprintf("%d heading %d nested %t", line(n.Lines().At(0).Start), n.Level, n.Parent() != doc))
			}
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock:
			if n.Lines().Len() > 0 {
				info := ""
				if n.Info != nil {
					info = string(n.Info.Segment.Value(src))
				}
				out = append(out, fmt.Sprintf("%d fence %q nested %t", line(n.Lines().At(0).Start), strings.TrimSpace(info), n.Parent() != doc))
			}
		case *ast.CodeBlock:
			out = append(out, fmt.Sprintf("%d indented nested %t", line(n.Lines().At(0).Start), n.Parent() != doc))
		}
		return ast.WalkContinue, nil
	})
	return out
}

// ours lists what scanBlocks finds in the same form.
func ours(src []byte) []string {
	var out []string
	l := newLines(src)
	for _, b := range scanBlocks(src, 0) {
		line := l.at(b.start, 0) + 1
		switch b.kind {
		case headingLeaf:
			if b.textEnd > b.textStart {
				out = append(out, fmt.Sprintf("%d heading %d nested %t", l.at(b.textStart, 0)+1, b.level, b.nested))
			}
		case fencedLeaf:
			last := l.at(b.end-1, 0) + 1
			body := bytes.TrimSpace(src[l.start(line):l.start(last)])
			if last > line && (len(body) > 0 && (last > line+1 || !bytes.HasPrefix(body, []byte("```")) && !bytes.HasPrefix(body, []byte("~~~")))) {
				out = append(out, fmt.Sprintf("%d fence %q nested %t", line+1, src[b.textStart:b.textEnd], b.nested))
			}
		case indentedLeaf:
			out = append(out, fmt.Sprintf("%d indented nested %t", line, b.nested))
		}
	}
	return out
}

// Real Markdown files: headings and code blocks are where goldmark sees them.
func TestMarkdownOracle(t *testing.T) {
	var files []string
	roots := []string{filepath.Join(goroot.Dir(), "doc"), filepath.Join(goroot.Dir(), "src"), "../..", os.Getenv("SKL_MARKDOWN")}
	for _, root := range roots {
		if root == "" {
			continue
		}
		filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.EqualFold(filepath.Ext(path), ".md") {
				files = append(files, path)
			}
			return nil
		})
	}
	if len(files) < 10 {
		t.Skip("no Markdown here")
	}
	same, blocks := 0, 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil || len(src) > 1<<20 {
			continue
		}
		src = src[frontmatter(src):]
		want, got := oracle(src), ours(src)
		blocks += len(want)
		if slices.Equal(want, got) {
			same++
			continue
		}
		for i := range max(len(want), len(got)) {
			w, g := "", ""
			if i < len(want) {
				w = want[i]
			}
			if i < len(got) {
				g = got[i]
			}
			if w != g {
				t.Logf("%s: goldmark %s, here %s", path, w, g)
				break
			}
		}
	}
	t.Logf("%d of %d files equal, %d blocks", same, len(files), blocks)
	if same*100 < len(files)*97 {
		t.Error("too few")
	}
}
