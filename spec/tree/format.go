package tree

import (
	"bytes"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// Format writes the trees of one file canonically: that of SKILL.md or an agent
// file, or those of an op file (ops.md, ops/NAME.md). Everything else stays byte for byte, line ends
// too, and so does a file without a tree. Lines between the nodes that are none
// stay where they are; blank ones go.
//
// A tree whose layout has errors is left as it is, and findings says why. So are
// all trees of a file that is larger than MaxFileBytes or no UTF-8 text, or in
// which a new layout would change what a tree says.
func Format(src []byte, file string) (out []byte, findings []diag.Finding) {
	if len(src) > MaxFileBytes || !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0 {
		return src, []diag.Finding{{File: file, Rule: ruleLimit, Severity: diag.SeverityError, Message: "the file is too large, or no UTF-8 text"}}
	}
	before := fileTrees(string(src), file)
	var b strings.Builder
	at := 0 // what is written of src
	for _, ft := range before {
		if bad := ft.layoutErrors(); bad != nil {
			findings = append(findings, bad...)
			continue
		}
		b.Write(src[at:ft.start()])
		at = ft.write(&b)
	}
	if at == 0 {
		return src, findings
	}
	b.Write(src[at:])
	if b.String() == string(src) {
		return src, findings
	}
	// The proof that nothing else changed is the result itself.
	if after := fileTrees(b.String(), file); !sameTrees(before, after) {
		return src, append(findings, diag.Finding{File: file, Rule: ruleLayout, Severity: diag.SeverityError,
			Message: "lines between the nodes stand in the way of a new layout"})
	}
	return []byte(b.String()), findings
}

func sameTrees(a, b []fileTree) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].owner != b[i].owner || !Equal(a[i].tree, b[i].tree) {
			return false
		}
	}
	return true
}

// A fileTree is one tree of a file that is formatted.
type fileTree struct {
	page     *page
	owner    string
	tree     *Tree
	findings []diag.Finding
}

// fileTrees finds the trees of a file: one below "## Tree", else those of its ops.
func fileTrees(src, file string) (out []fileTree) {
	body, first := bodyOf(src)
	p := newPage(src[body:], file, first)
	p.offset = body
	heads := p.sections()
	for k, h := range heads[:len(heads)-1] {
		if h.title != "Tree" {
			continue
		}
		owner := strings.TrimSuffix(path.Base(file), ".md")
		if strings.EqualFold(owner, "skill") {
			owner = frontmatterName(src[:body])
		}
		end := p.upToHeading(h.line+1, heads[k+1].line)
		t, findings := readTree(p, h.line+1, end, "", owner, nil, math.MaxInt)
		if t != nil {
			out = append(out, fileTree{p, owner, t, findings})
		}
		return out
	}
	if path.Base(file) != "ops.md" && opOf(file) == "" {
		return nil // headings in capitals define ops nowhere else
	}
	f := newOpFile(p, opOf(file), MaxOps)
	known := map[string]bool{}
	for _, op := range f.ops {
		known[op.Name] = true
	}
	for i, op := range f.ops {
		if findings := f.readBody(i, map[string]int{}, func(name string) bool { return known[name] }, math.MaxInt); op.Tree != nil {
			out = append(out, fileTree{p, op.Name, op.Tree, findings})
		}
	}
	return out
}

// HasTree reports whether an entry file has a section "## Tree": without one its skill is text, and nothing of it is laid out.
func HasTree(src []byte) bool {
	body, first := bodyOf(string(src))
	heads := newPage(string(src)[body:], "", first).sections()
	return slices.ContainsFunc(heads[:len(heads)-1], func(h sectionHead) bool { return h.title == "Tree" })
}

// opOf is the op that a file of the form ops/NAME.md defines, "" for other files.
func opOf(file string) string {
	if path.Base(path.Dir(file)) != "ops" {
		return ""
	}
	return strings.ReplaceAll(strings.ToUpper(strings.TrimSuffix(path.Base(file), ".md")), "-", "_")
}

// bodyOf is where the text behind the frontmatter starts, and its line.
func bodyOf(src string) (offset, first int) {
	offset, first = len(src)-len(strings.TrimPrefix(src, "\ufeff")), 1
	start, n := offset, 0
	for line := range strings.Lines(src[offset:]) {
		offset += len(line)
		fence := strings.TrimRight(line, blanks+"\n") == "---"
		if n == 0 && !fence {
			break
		}
		if n++; n > 1 && fence {
			return offset, n + 1
		}
	}
	return start, 1
}

// frontmatterName is the value of the key name, as far as a label can repeat it.
func frontmatterName(frontmatter string) string {
	for line := range strings.Lines(frontmatter) {
		if v, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.Trim(v, blanks+"\n\"'")
		}
	}
	return ""
}

func (ft fileTree) layoutErrors() (bad []diag.Finding) {
	for _, f := range ft.findings {
		if f.Severity == diag.SeverityError && (f.Rule == ruleLayout || f.Rule == ruleLimit) {
			bad = append(bad, f)
		}
	}
	return bad
}

// start is the offset of the tree's first line in the file.
func (ft fileTree) start() int {
	return ft.page.offset + int(ft.page.lines[ft.tree.First-ft.page.first].start)
}

// write writes the tree's lines, and returns the offset behind them in the file.
func (ft fileTree) write(b *strings.Builder) int {
	p, t := ft.page, ft.tree
	lo, hi := t.First-p.first, t.Last-p.first
	eol := p.eol(lo)
	type printed struct{ indent, text string }
	at := make(map[int]printed, hi-lo+1) // by the line that a node starts in
	covered := make([]bool, hi-lo+1)     // lines that belong to nodes
	printLines(t, func(n *Node, indent, text string) {
		at[n.Pos.Line] = printed{indent, text}
		for i := n.Pos.Line; i <= n.Last; i++ {
			covered[i-t.First] = true
		}
	})
	put := func(parts ...string) {
		for _, s := range parts {
			b.WriteString(s)
		}
		b.WriteString(eol)
	}
	for i := lo; i <= hi; i++ {
		line, ok := at[p.first+i]
		switch {
		case ok:
			put(line.indent, line.text)
		case t.Fenced && i == lo:
			put("```")
		case t.Fenced && i == hi && p.lines[i].kind == fenceClose:
		case covered[i-lo] && p.lines[i].kind != commentLine:
		case p.lines[i].kind != commentLine && p.spacer(i, t.Syntax):
		default:
			put(p.text(i))
		}
	}
	if t.Fenced {
		put("```")
	}
	end := p.lineEnd(hi)
	if end == len(p.src) && !strings.HasSuffix(p.src, "\n") && !(t.Fenced && p.lines[hi].kind != fenceClose) {
		kept := strings.TrimSuffix(b.String(), eol)
		b.Reset()
		b.WriteString(kept)
	}
	return p.offset + end
}

// spacer reports whether line i holds nothing but what a layout is made of: blanks,
// rails, a bullet or a connector.
func (p *page) spacer(i int, syntax Syntax) bool {
	s := p.text(i)
	switch m := measure(s); m.kind {
	case blankMark:
		return syntax == BoxSyntax || trim(s) == ""
	case bulletMark:
		return syntax == ListSyntax && trim(s[m.text:]) == ""
	case connectorMark:
		return syntax == BoxSyntax && trim(s[m.text:]) == ""
	}
	return false
}

// eol is how line i ends; a last line without an end is given that of the file's first.
func (p *page) eol(i int) string {
	end, next := int(p.lines[i].end), p.lineEnd(i)
	if next > end {
		return p.src[end:next]
	}
	if i > 0 {
		return p.eol(0)
	}
	return "\n"
}

// lineEnd is the offset behind line i and its line end.
func (p *page) lineEnd(i int) int {
	if i+1 < len(p.lines) {
		return int(p.lines[i+1].start)
	}
	return len(p.src)
}
