package tree

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// An opFile is one file with definitions of ops.
type opFile struct {
	page  *page
	wants string // in a file per op: the only name that is looked up there first
	ops   []*Op
	spans []opSpan
}

// An opSpan is where an op's definition stands: its heading, the first line of
// its body behind the marker, and the line behind its end.
type opSpan struct{ head, body, end int }

// findOps reads the op files in lookup order, and the headings in them.
func (l *loader) findOps() {
	for _, dir := range [...]string{"references", "."} {
		l.opFile(path.Join(dir, "ops.md"), "")
		sub := path.Join(dir, "ops")
		entries, err := fs.ReadDir(l.fsys, sub)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if stem, ok := strings.CutSuffix(e.Name(), ".md"); ok && !e.IsDir() {
				l.opFile(path.Join(sub, e.Name()), strings.ReplaceAll(strings.ToUpper(stem), "-", "_"))
			}
		}
	}
}

func (l *loader) opFile(name, wants string) {
	src, err := readFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	add := func(message string) {
		l.skill.Findings = append(l.skill.Findings, diag.Finding{File: name, Rule: ruleLimit, Severity: diag.SeverityError, Message: message})
	}
	switch l.bytes += len(src); {
	case err != nil:
		add("the file cannot be read: " + err.Error())
		return
	case l.bytes > MaxOpBytes, len(l.files) >= MaxOpFiles, len(l.skill.Ops) >= MaxOps:
		add("the skill has too many ops; this file is not read")
		return
	}
	f := newOpFile(newPage(strings.TrimPrefix(src, "\ufeff"), name, 1), wants, MaxOps-len(l.skill.Ops))
	l.files = append(l.files, f)
	for _, op := range f.ops {
		l.skill.Ops = append(l.skill.Ops, op)
		if k, reserved := Primitive(op.Name); !reserved || k == Explore && op.Subagent {
			l.known[op.Name] = true
		}
	}
}

// OpsOf finds the definitions of ops in the text of an op file; their bodies are not read. A file that holds none has none, and so has one
// whose name is not that of an op file: references/ops.md, references/ops/NAME.md, and both without references/. Case does not count in it.
func OpsOf(src, name string) []*Op {
	dir, wants := path.Dir(name), ""
	if strings.EqualFold(path.Base(dir), "ops") {
		dir, wants = path.Dir(dir), "NAME"
	} else if !strings.EqualFold(path.Base(name), "ops.md") {
		return nil
	}
	if dir != "." && !strings.EqualFold(dir, "references") || !strings.EqualFold(path.Ext(name), ".md") || len(src) > MaxFileBytes {
		return nil
	}
	return newOpFile(newPage(strings.TrimPrefix(src, "\ufeff"), name, 1), wants, MaxOps).ops
}

// newOpFile finds the definitions of a file. Their bodies are read by readBody.
func newOpFile(p *page, wants string, limit int) *opFile {
	f := &opFile{page: p, wants: wants}
	for i := 0; i < len(p.lines) && len(f.ops) < limit; i++ {
		if p.lines[i].kind != headingLine {
			continue
		}
		op := p.heading(i)
		if op == nil {
			continue
		}
		end := i + 1
		title := false
		for end < len(p.lines) && (p.lines[end].kind != headingLine || p.lines[end].level > p.lines[i].level) {
			if p.lines[end].kind == headingLine && wants == "" && p.isTitle(op, end) {
				title = true
				break
			}
			end++
		}
		if title {
			continue
		}
		body := p.marker(op, i+1, end)
		op.Last, op.End = p.first+end-1, p.first+end
		for op.Last > op.Pos.Line && (p.blank(op.Last-p.first) || p.rule(op.Last-p.first)) {
			op.Last--
		}
		f.ops, f.spans = append(f.ops, op), append(f.spans, opSpan{i, body, end})
		i = end - 1
	}
	return f
}

// isTitle reports whether an upper-case heading without a signature, such as
// "# OPS", is a title above the op that line i starts.
func (p *page) isTitle(op *Op, i int) bool {
	if op.Params != nil || op.Outs != nil {
		return false
	}
	inner := p.heading(i)
	return inner != nil && (op.Level == 1 || inner.Params != nil || inner.Outs != nil)
}

// heading reads line i as the heading of an op, nil if it is another one.
func (p *page) heading(i int) *Op {
	text, col := p.title(i)
	text = trim(strings.Trim(unescape(text), "`"))
	var r nodeReader
	word, rest, _ := r.firstWord(text)
	if word == "" || !isCall(rest) {
		return nil
	}
	op := &Op{Name: word, Pos: p.pos(i, col), Level: int(p.lines[i].level)}
	o := r.split(rest, 0, true)
	for _, s := range o.ins {
		op.Params = appendParams(op.Params, s)
	}
	op.Outs = o.targets()
	return op
}

// appendParams reads one piece of a signature: "severity [| header]" is two.
func appendParams(out []Param, s string) []Param {
	for s != "" {
		plain, rest, found := strings.Cut(s, "[")
		if plain = bare(trim(plain)); plain != "" {
			out = append(out, Param{Name: plain})
		}
		if !found {
			break
		}
		inner, tail, _ := strings.Cut(rest, "]")
		for _, name := range strings.Split(inner, "|") {
			if name = bare(trim(name)); name != "" {
				out = append(out, Param{Name: name, Optional: true})
			}
		}
		s = trim(tail)
	}
	return out
}

// marker reads the blockquote below a heading, if it is one that says something
// of the op, and returns the line behind it.
func (p *page) marker(op *Op, lo, hi int) (body int) {
	at := lo
	for at < hi && (p.lines[at].kind == commentLine || p.lines[at].kind == textLine && p.blank(at)) {
		at++
	}
	var quote []string
	end := at
	for ; end < hi && p.lines[end].kind == textLine && strings.HasPrefix(p.text(end), ">"); end++ {
		quote = append(quote, p.text(end)[1:])
	}
	if len(quote) == 0 {
		return lo
	}
	text := strings.Join(quote, "\n")
	p.kinds(op, quote, at)
	op.Input = p.contract(text, "Input contract:", at)
	op.Output = p.contract(text, "Output contract:", at)
	if !op.Subagent && !op.CallsTool() && op.Input == nil && op.Output == nil {
		return lo
	}
	op.InputDoc = inputDoc(quote)
	return end
}

// kinds reads how an op is run: the first line of a marker says it. A second kind on a line of its own is kept, so that lint can refuse the two.
func (p *page) kinds(op *Op, quote []string, at int) {
	for i, s := range quote {
		s = trim(s)
		if _, ok := MarkedAs(s, "Subagent"); ok && !op.Subagent {
			op.Subagent, op.MarkerPos = true, p.pos(at+i, 1)
		}
		if rest, ok := MarkedAs(s, "Tool"); ok && !op.CallsTool() {
			op.Tool, op.ToolPos = toolIn(rest), p.pos(at+i, 1)
		}
		if i == 0 && !op.Subagent && !op.CallsTool() {
			return
		}
	}
}

// MarkedAs cuts the word of a marker, in bold with its dot or without, from the beginning of a line.
func MarkedAs(line, word string) (rest string, ok bool) {
	for _, form := range [...]string{"**" + word + ".**", "**" + word + "**"} {
		if rest, ok = strings.CutPrefix(line, form); ok {
			return rest, true
		}
	}
	return line, false
}

// toolIn is the name in backticks that a marker begins with, "" if none is there.
func toolIn(rest string) string {
	name, ok := strings.CutPrefix(trim(rest), "`")
	name, _, closed := strings.Cut(name, "`")
	if !ok || !closed {
		return ""
	}
	return trim(name)
}

func (p *page) contract(text, key string, at int) *Contract {
	ref, off, ok := contractIn(text, key)
	if !ok {
		return nil
	}
	at += strings.Count(text[:off], "\n")
	return &Contract{Path: ref, Pos: p.pos(at, off-strings.LastIndexByte(text[:off], '\n')+1)}
}

// contractIn finds the path behind key, with or without backticks, and its offset.
func contractIn(text, key string) (ref string, off int, ok bool) {
	i := strings.Index(text, key)
	if i < 0 {
		return "", 0, false
	}
	off = i + len(key)
	rest := strings.TrimLeft(text[off:], "* \t")
	off = len(text) - len(rest)
	if strings.HasPrefix(rest, "`") {
		ref, _, ok = strings.Cut(rest[1:], "`")
		if ok && !strings.Contains(ref, "\n") && trim(ref) != "" {
			return trim(ref), off + 1, true
		}
		return "", 0, false
	}
	if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
		rest = rest[:end]
	}
	ref = strings.TrimRight(rest, ".,;")
	return ref, off, strings.ContainsAny(ref, "./")
}

// inputDoc reads the bullets "- `name` — text" of a marker.
func inputDoc(quote []string) map[string]string {
	var doc map[string]string
	var name string
	var text []string
	flush := func() {
		if name == "" {
			return
		}
		if doc == nil {
			doc = map[string]string{}
		}
		doc[name], name = strings.Join(text, " "), ""
	}
	inputs := false
	for _, s := range quote {
		m := measure(s)
		switch {
		case m.kind == bulletMark && inputs:
			flush()
			ident, rest, ok := strings.Cut(strings.TrimPrefix(trim(s[m.text:]), "`"), "`")
			if ok && isIdent(ident) {
				name, text = ident, append(text[:0], trim(strings.TrimLeft(rest, blanks+"—–-:")))
			}
		case m.kind == plainMark && m.first > 1 && name != "":
			text = append(text, trim(s))
		default:
			flush()
			inputs = inputs || strings.HasPrefix(strings.TrimLeft(trim(s), "* "), "Inputs:")
		}
	}
	flush()
	return doc
}

// readOps reads the bodies of a file.
func (l *loader) readOps(f *opFile) {
	seen := map[string]int{}
	for i, op := range f.ops {
		findings := f.readBody(i, seen, l.isOp, l.nodes)
		l.skill.Findings = append(l.skill.Findings, findings...)
		if op.Tree != nil {
			Walk(op.Tree.Nodes, func(*Node) bool { l.nodes--; return true })
		}
	}
}

// readBody classifies and reads the body of op i.
func (f *opFile) readBody(i int, seen map[string]int, isOp func(string) bool, limit int) []diag.Finding {
	p, op, at := f.page, f.ops[i], f.spans[i]
	op.Kind = EmptyBody
	if op.Prose = p.prose(at.body, at.end, nil); op.Prose == "" {
		return nil
	}
	op.Kind = ProseBody
	id := op.Name
	if seen[id]++; seen[id] > 1 {
		id += "~" + strconv.Itoa(seen[id])
	}
	if p.numbered(at.body, at.end) >= 0 {
		op.Kind = ProcedureBody
	}
	t, findings := readTree(p, at.body, at.end, id, op.Name, isOp, limit)
	if t == nil || !p.isProgram(t, at, op.Kind) {
		findings = slices.DeleteFunc(findings, func(d diag.Finding) bool { return t != nil || d.Rule != ruleLimit })
		if i := p.firstStep(at.body, at.end, false); i >= 0 && measure(p.text(i)).col == 0 {
			findings = append(findings, p.finding(i, 1, ruleNear, diag.SeverityError,
				"this line is a step of a tree, and numbers or headings beside it make the op "+op.Name+" text for a model: write * for each number, and an op for each heading"))
		}
		return findings
	}
	first, last := t.First-p.first, t.Last-p.first
	op.Kind, op.Tree = TreeBody, t
	op.Prose = p.prose(at.body, at.end, func(i int) bool { return first <= i && i <= last })
	return findings
}

// isProgram reports whether a tree in an op's body is meant to be run: it has a
// label, a primitive, a call or a binding. Box characters are drawn for no other
// reason, but in a fence they may also show directories.
func (p *page) isProgram(t *Tree, at opSpan, kind BodyKind) bool {
	if t.Label != nil {
		return true
	}
	if t.Syntax == ListSyntax && !t.Fenced {
		if kind == ProcedureBody {
			return false
		}
		for i := at.body; i < at.end; i++ {
			if p.lines[i].kind == headingLine {
				return false
			}
		}
	}
	return steps(t.Nodes)
}

// numbered is the first line of a numbered list at the margin, -1 if there is none.
func (p *page) numbered(lo, hi int) int {
	for i := lo; i < hi; i++ {
		if p.lines[i].kind == textLine && isNumbered(p.text(i)) {
			return i
		}
	}
	return -1
}
