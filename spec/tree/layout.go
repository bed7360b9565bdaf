package tree

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// A mark is what the beginning of a line says about its place in a tree. Columns
// are in runes from 0, tabs advance to the next multiple of 4.
type mark struct {
	kind   markKind
	col    int  // of the bullet or connector
	text   int  // offset of the text behind it
	first  int  // column of the first character that is no blank and no rail
	start  int  // its offset
	railed bool // a rail stands before it
	corner bool // the connector is └
}

type markKind uint8

const (
	blankMark markKind = iota
	plainMark
	bulletMark
	connectorMark
)

// measure reads the beginning of a line. Rails and connectors count for box
// drawing only.
func measure(s string) (m mark) {
	col, i := 0, 0
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ':
			col, i = col+1, i+1
			continue
		case c == '\t':
			col, i = (col/4+1)*4, i+1
			continue
		case c == '\r' || c == '\v' || c == '\f':
			i++
			continue
		case c == '|':
			m.railed, col, i = true, col+1, i+1
			continue
		case c == 0xE2 && strings.HasPrefix(s[i:], "│"):
			m.railed, col, i = true, col+1, i+len("│")
			continue
		case c == 0xE2 && (strings.HasPrefix(s[i:], "├") || strings.HasPrefix(s[i:], "└")):
			m.kind, m.col, m.first, m.start = connectorMark, col, col, i
			m.corner = strings.HasPrefix(s[i:], "└")
			for i += len("├"); strings.HasPrefix(s[i:], "─"); i += len("─") {
			}
			m.text = i
			return m
		case (c == '*' || c == '-' || c == '+') && !m.railed && (i+1 == len(s) || strings.IndexByte(blanks, s[i+1]) >= 0):
			m.kind, m.col, m.first, m.start, m.text = bulletMark, col, col, i, i+1
			return m
		}
		m.kind, m.first, m.start, m.text = plainMark, col, i, i
		return m
	}
	return m
}

// A region is where a tree stands on a page.
type region struct {
	lo, hi int // lines; with the fences
	syntax Syntax
	fenced bool
}

// findRegion looks for the tree in lines lo to hi: a plain fence with connectors,
// else what comes first of bullets and connectors outside fences, else a plain
// fence with anything in it.
func (p *page) findRegion(lo, hi int) (reg region, ok bool) {
	var open, box, list = -1, -1, -1
	var other region
	for i := lo; i < hi; i++ {
		switch p.lines[i].kind {
		case fenceOpen:
			end, connector, bullet, text := p.fence(i, hi)
			if !p.lines[i].plain {
				i = end - 1
				continue
			}
			r := region{lo: i, hi: end, fenced: true, syntax: BoxSyntax}
			if connector >= 0 && (bullet < 0 || connector < bullet) {
				return r, true
			}
			if open < 0 && text >= 0 {
				if open, other = i, r; bullet >= 0 {
					other.syntax = ListSyntax
				}
			}
			i = end - 1
		case textLine:
			if p.rule(i) {
				continue
			}
			switch m := measure(p.text(i)); {
			case m.kind == bulletMark && list < 0:
				list = i
			case m.kind == connectorMark && box < 0:
				box = i
			}
		}
	}
	switch {
	case box >= 0 && (list < 0 || box < list):
		return region{lo: lo, hi: p.upToHeading(box, hi), syntax: BoxSyntax}, true
	case list >= 0:
		return region{lo: list, hi: p.upToHeading(list, hi)}, true
	}
	return other, open >= 0
}

// fence returns the end of the fence that opens at i, and the first lines of its
// content with a connector, a bullet and any text, -1 for none.
func (p *page) fence(i, hi int) (end, connector, bullet, text int) {
	connector, bullet, text = -1, -1, -1
	for end = i + 1; end < hi; end++ {
		if p.lines[end].kind != fencedLine {
			if p.lines[end].kind == fenceClose {
				end++
			}
			break
		}
		m := measure(p.text(end))
		if m.kind != blankMark && text < 0 {
			text = end
		}
		if m.kind == connectorMark && connector < 0 {
			connector = end
		}
		if m.kind == bulletMark && bullet < 0 {
			bullet = end
		}
	}
	return end, connector, bullet, text
}

func (p *page) upToHeading(i, hi int) int {
	for i < hi && p.lines[i].kind != headingLine {
		i++
	}
	return i
}

// A level is an open node while lines are read.
type level struct {
	col    int
	child  int // column of its first child, -1 before
	corner bool
	node   *Node
}

// A layouter builds the tree of one region. Its findings are one for each kind
// of trouble with the layout, and one for each node with trouble of its own.
type layouter struct {
	page   *page
	tree   *Tree
	op     string // "" for the tree of SKILL.md
	owner  string // what a label repeats
	reader nodeReader

	stack   []level
	nodes   int
	limit   int    // nodes that may be read
	last    *Node  // the newest node; nil when it was left out
	lastCol int    // what the column of a continuation exceeds
	join    []byte // text of last while it continues
	slab    []Node

	stray  int    // the first line since the newest node that belongs to no node, -1 without one
	tight  bool   // the line stray stands right below a node
	joined []item // continuations

	mixed, lost, uneven, tooDeep, tooMany, strays, numbers, joins bool
	findings                                                      []diag.Finding
}

// An item is a line of a node.
type item struct {
	node *Node
	line int
}

// readTree reads the tree in lines lo to hi of p. It is nil when there is none.
func readTree(p *page, lo, hi int, op, owner string, isOp func(string) bool, limit int) (*Tree, []diag.Finding) {
	reg, ok := p.findRegion(lo, hi)
	if !ok {
		return nil, nil
	}
	l := readRegion(p, lo, hi, reg, op, owner, isOp, limit)
	if at := l.lateLabel(); at > reg.lo {
		// Text above the label is prose of the op, its layout included.
		reg.lo = at
		l = readRegion(p, lo, hi, reg, op, owner, isOp, limit)
	}
	if len(l.tree.Nodes) == 0 {
		return nil, l.findings
	}
	return l.tree, l.findings
}

func readRegion(p *page, lo, hi int, reg region, op, owner string, isOp func(string) bool, limit int) *layouter {
	l := &layouter{page: p, op: op, owner: owner, lastCol: -1, limit: min(limit, MaxNodes), stray: -1}
	l.reader.isOp = isOp
	l.tree = &Tree{Syntax: reg.syntax, Fenced: reg.fenced}
	root := &Node{}
	l.stack = append(l.stack, level{col: -1, child: -1, node: root})
	if reg.syntax == ListSyntax {
		l.list(reg)
	} else {
		l.box(reg)
	}
	l.flush()
	l.unread(lo, reg)
	if reg.fenced && op == "" {
		l.outside(lo, reg.lo)
		l.outside(reg.hi, hi)
	}
	l.finish(root, reg)
	return l
}

// lateLabel returns the line of the label of an op that describes itself in
// bullets above its tree, -1 if there is none. Above it stand only prose and
// readings: behind a step, the op's own name is a call.
func (l *layouter) lateLabel() int {
	t := l.tree
	if l.op == "" || t.Label != nil || t.Fenced || t.Syntax != ListSyntax {
		return -1
	}
	for _, n := range t.Nodes {
		if n.Kind == Call && len(n.Children) > 0 && l.repeats(n.Text) {
			return n.Pos.Line - l.page.first
		}
		if steps([]*Node{n}) {
			break
		}
	}
	return -1
}

// steps reports whether nodes hold more than prose and readings.
func steps(nodes []*Node) bool {
	found := false
	Walk(nodes, func(n *Node) bool {
		found = found || n.Kind != Prose && n.Kind != Read
		return !found
	})
	return found
}

func (l *layouter) report(done *bool, i, col int, rule string, s diag.Severity, message string) {
	if !*done {
		*done = true
		l.findings = append(l.findings, l.page.finding(i, col, rule, s, message))
	}
}

func (l *layouter) reportMixed(i, at int) {
	l.report(&l.mixed, i, at+1, ruleLayout, diag.SeverityError, "a tree is drawn either with bullets or with box characters, and this one mixes both")
}

func (l *layouter) list(reg region) {
	p := l.page
	for i := reg.lo; i < reg.hi; i++ {
		switch p.lines[i].kind {
		case commentLine, headingLine:
			continue
		case fenceOpen:
			if reg.fenced && i == reg.lo {
				continue
			}
			if m := measure(p.text(i)); m.first <= l.lastCol {
				end, connector, _, _ := p.fence(i, reg.hi)
				if connector >= 0 && p.lines[i].plain {
					l.reportMixed(connector, 0)
				}
				l.aside(i)
				i = end - 1
				continue
			}
			for end, _, _, _ := p.fence(i, reg.hi); i < end; i++ {
				l.continues(i, trim(p.text(i)))
			}
			i--
			continue
		case fenceClose:
			continue
		}
		s := p.text(i)
		m := measure(s)
		switch {
		case m.kind == blankMark:
		case p.rule(i):
			l.interrupt()
		case m.kind == bulletMark:
			if l.tree.Bullet == "" {
				l.tree.Bullet = s[m.start : m.start+1]
			}
			l.add(i, m, m.col, s)
		case m.kind == connectorMark:
			l.reportMixed(i, m.start)
			fallthrough
		default:
			if col, at := indent(s); col > l.lastCol {
				l.continues(i, trim(s[at:]))
			} else if m.kind == connectorMark {
				l.interrupt()
			} else {
				l.aside(i)
			}
		}
	}
}

// indent is the column and the offset of the first character that is no blank.
func indent(s string) (col, at int) {
	for at < len(s) {
		switch s[at] {
		case ' ':
			col++
		case '\t':
			col = (col/4 + 1) * 4
		case '\r', '\v', '\f':
		default:
			return col, at
		}
		at++
	}
	return col, at
}

func (l *layouter) box(reg region) {
	p := l.page
	for i := reg.lo; i < reg.hi; i++ {
		switch k := p.lines[i].kind; {
		case k == fenceOpen && !reg.fenced:
			end, _, _, _ := p.fence(i, reg.hi)
			l.aside(i)
			i = end - 1
			continue
		case k == fenceOpen, k == fenceClose, k == commentLine, k == headingLine:
			continue
		}
		s := p.text(i)
		m := measure(s)
		switch {
		case m.kind == blankMark:
			continue
		case p.rule(i):
			l.interrupt()
			continue
		case m.kind == connectorMark:
			l.add(i, m, m.col+1, s)
			l.lastCol = m.col
			continue
		case m.kind == bulletMark:
			l.reportMixed(i, m.start)
		case m.railed && strings.HasPrefix(s[m.start:], "--"):
			l.report(&l.mixed, i, m.start+1, ruleLayout, diag.SeverityError, "|-- is not a connector: draw branches with ├── and └──")
		}
		switch {
		case m.railed || m.first > l.lastCol && l.lastCol >= 0:
			l.continues(i, trim(s[m.start:]))
		case m.kind == plainMark && (reg.fenced || l.isRoot(i, reg.hi, trim(s[m.start:]))):
			m.text = m.start
			l.add(i, m, 0, s)
			l.lastCol = m.first
		case m.kind == bulletMark:
			l.interrupt()
		default:
			l.aside(i)
		}
	}
}

// isRoot reports whether a line without a connector is a node outside a fence: a
// step, or what stands right above a connector.
func (l *layouter) isRoot(i, hi int, text string) bool {
	if word, rest, _ := l.reader.firstWord(unescape(text)); word != "" {
		if _, ok := Primitive(word); ok || isCall(rest) || l.reader.known(word) {
			return true
		}
	}
	for i++; i < hi; i++ {
		if k := l.page.lines[i].kind; k == commentLine {
			continue
		} else if k != textLine {
			return false
		}
		if m := measure(l.page.text(i)); m.kind != blankMark {
			return m.kind == connectorMark
		}
	}
	return false
}

// add makes the node of line i, whose text starts at m.text, and hangs it up at column depth.
func (l *layouter) add(i int, m mark, depth int, s string) {
	l.flush()
	l.tellStray()
	l.last, l.lastCol = nil, m.col
	n := len(l.stack)
	sibling := level{}
	for l.stack[n-1].col >= depth {
		n--
		sibling = l.stack[n]
	}
	l.stack = l.stack[:n]
	up := &l.stack[n-1]
	switch {
	case n > MaxDepth+2:
		l.report(&l.tooDeep, i, m.start+1, ruleLimit, diag.SeverityError, tooDeep)
		return
	case l.nodes >= l.limit:
		l.report(&l.tooMany, i, m.start+1, ruleLimit, diag.SeverityError, l.limits())
		return
	}
	connector := m.kind == connectorMark
	if connector && sibling.node != nil && sibling.col == depth && sibling.corner {
		l.report(&l.lost, i, m.start+1, ruleLayout, diag.SeverityError, "the indentation is lost: a step follows the last one of its branch (└) at the same column")
	}
	if up.child >= 0 && up.child != depth && (depth > 0 || !connector && l.tree.Syntax == ListSyntax) {
		l.report(&l.uneven, i, m.start+1, ruleLayout, diag.SeverityError, "the steps of one branch stand at different columns, so that which one a step belongs to is not sure")
	} else if !connector && l.tree.Syntax == ListSyntax && n > 1 && depth-up.col < 2 {
		l.report(&l.uneven, i, m.start+1, ruleLayout, diag.SeverityError, "the step is indented by one column, so that whether it belongs to the one before is not sure")
	}
	if up.child < 0 {
		up.child = depth
	}
	text := strings.TrimLeft(s[m.text:], blanks)
	col := len(s) - len(text) + 1
	if len(l.slab) == 0 {
		l.slab = make([]Node, min(64, l.limit-l.nodes))
	}
	node := &l.slab[0]
	l.slab = l.slab[1:]
	l.nodes++
	node.Text, node.Pos = strings.TrimRight(text, blanks), l.page.pos(i, col)
	node.Last = node.Pos.Line
	l.last = node
	up.node.Children = append(up.node.Children, node)
	l.stack = append(l.stack, level{col: depth, child: -1, corner: m.corner, node: node})
	if l.tree.First == 0 {
		l.tree.First = node.Pos.Line
	}
	l.tree.Last = node.Last
}

func (l *layouter) limits() string {
	return "the tree has more than " + strconv.Itoa(l.limit) + " nodes; the rest is not read"
}

var tooDeep = "the tree is more than " + strconv.Itoa(MaxDepth) + " levels deep; deeper steps are not read"

// continues adds a line to the newest node.
func (l *layouter) continues(i int, text string) {
	if l.last == nil || text == "" {
		return
	}
	l.joined = append(l.joined, item{l.last, i})
	if len(l.join) == 0 {
		l.join = append(l.join, l.last.Text...)
	}
	if len(l.join) > 0 {
		l.join = append(l.join, ' ')
	}
	l.join = append(l.join, text...)
	l.last.Last = l.page.first + i
	l.tree.Last = l.last.Last
}

// interrupt ends the newest node: a line that belongs to no node stands behind it.
func (l *layouter) interrupt() {
	l.flush()
	l.last = nil
}

// aside is interrupt for a line that would be lost if it is meant as a step.
func (l *layouter) aside(i int) {
	l.interrupt()
	if l.nodes > 0 && (l.stray < 0 || isNumbered(trim(l.page.text(i))) && !isNumbered(trim(l.page.text(l.stray)))) {
		l.stray, l.tight = i, l.page.first+i-1 == l.tree.Last
	}
}

// tellStray reports a line among the steps that nothing would do.
func (l *layouter) tellStray() {
	i := l.stray
	if l.stray = -1; i < 0 {
		return
	}
	if text := trim(l.page.text(i)); isNumbered(text) {
		l.report(&l.numbers, i, 1, ruleStray, diag.SeverityError, "a numbered line is not a step of a tree, so nothing would run it: write * for the number")
		return
	}
	l.report(&l.strays, i, 1, ruleStray, diag.SeverityError, "the line stands among the steps and belongs to none, so nothing would run it: begin it with *, or indent it below its step")
}

// isQuotedStep reports whether a quote has the bullet of a step in it.
func isQuotedStep(text string) bool {
	quoted := strings.TrimLeft(text, "> \t")
	return len(quoted) < len(text) && len(quoted) > 1 && strings.IndexByte("*-+", quoted[0]) >= 0 && strings.IndexByte(blanks, quoted[1]) >= 0
}

// unquotedStep is the text of the step in a quote, or text.
func unquotedStep(text string) string {
	if isQuotedStep(text) {
		return trim(strings.TrimLeft(text, "> \t")[1:])
	}
	return text
}

// hasBars reports whether a step of this kind takes texts between bars.
func (k Kind) hasBars() bool {
	return k == Ask || k == ShowPlan || k == Explore || k == Call || k == Bind
}

// unread reports what stands below the steps as if it were one, and numbered lines above those of SKILL.md. All other text describes them.
func (l *layouter) unread(lo int, reg region) {
	if l.stray >= 0 {
		text := trim(l.page.text(l.stray))
		if l.tight && (!strings.HasPrefix(text, ">") || isQuotedStep(text)) || l.op == "" && isNumbered(text) {
			l.tellStray()
		}
	}
	if l.op != "" {
		return
	}
	if i := l.page.numbered(lo, max(lo, reg.lo)); i >= 0 {
		l.stray = i
		l.tellStray()
	}
}

// tellJoined reports lines that were read as a part of the node above them, and look as if they were a step of their own.
func (l *layouter) tellJoined() {
	for _, o := range l.joined {
		text := trim(l.page.text(o.line))
		switch k := o.node.Kind; {
		case k == Prose || k == Label || k == Read:
			if l.page.lines[o.line].kind == textLine && (l.isStep(unnumbered(unquotedStep(text))) || l.belowLabel(o.node)) {
				l.report(&l.joins, o.line, 1, ruleStray, diag.SeverityError, "the line reads as a step, and is a part of the text above it: begin it with *")
			}
		case isQuotedStep(text) || strings.HasPrefix(text, "| ") && !k.hasBars() || !goesOn(trim(l.page.text(o.line-1)), text):
			l.report(&l.joins, o.line, 1, ruleStray, diag.SeverityError,
				"the line would be read as a part of "+k.String()+" above it: begin it with * if it is a step, and write the other on one line if it goes on here")
		}
	}
}

// goesOn reports whether a step that decides something goes on in the next line, so that this line can be no step.
func goesOn(above, line string) bool {
	const between = "|<>,&("
	first, _, _ := strings.Cut(line, " ")
	last := above[strings.LastIndexByte(above, ' ')+1:]
	joins := func(word string) bool { return word == "AND" || word == "OR" || word == "and" || word == "or" }
	return line == "" || above == "" || strings.IndexByte(between, line[0]) >= 0 || strings.IndexByte(between, above[len(above)-1]) >= 0 || joins(first) || joins(last)
}

// isStep reports whether a text is read as more than text.
func (l *layouter) isStep(text string) bool {
	n := &Node{}
	l.reader.read(n, unescape(text), false)
	return n.Kind != Prose && n.Kind != Read && (n.Kind != Call || len(n.Args)+len(n.Outs) > 0)
}

// belowLabel reports whether the first line of n is the label of the tree, so that nothing can go on there.
func (l *layouter) belowLabel(n *Node) bool {
	if n.Pos.Line != l.tree.First {
		return false
	}
	first := trim(l.page.text(n.Pos.Line - l.page.first)[n.Pos.Column-1:])
	return first == l.owner || isKebab(first) || l.repeats(first)
}

// unnumbered is the text of an item of a numbered list, or text.
func unnumbered(text string) string {
	if isNumbered(text) {
		_, text, _ = strings.Cut(text, " ")
	}
	return text
}

// isNumbered reports whether a line is an item of a numbered list.
func isNumbered(s string) bool {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n > 0 && n < 4 && len(s) > n+1 && (s[n] == '.' || s[n] == ')') && s[n+1] == ' '
}

func (l *layouter) flush() {
	if len(l.join) > 0 {
		l.last.Text = string(l.join)
		l.join = l.join[:0]
	}
}

// outside looks for bullets and box characters beside the fence that holds the tree.
func (l *layouter) outside(lo, hi int) {
	for i := lo; i < hi && l.page.lines[i].kind != headingLine; i++ {
		if l.page.lines[i].kind != textLine || l.page.rule(i) {
			continue
		}
		if m := measure(l.page.text(i)); m.kind == bulletMark || m.kind == connectorMark {
			l.reportMixed(i, m.start)
		}
	}
}

// finish turns the raw nodes into the tree's: empty ones go, the label is told
// from the steps, and every text is read.
func (l *layouter) finish(root *Node, reg region) {
	t := l.tree
	t.Nodes = l.hoist(root.Children)
	if t.Fenced {
		t.First, t.Last = l.page.first+reg.lo, l.page.first+reg.hi-1
	}
	if label := l.label(t.Nodes); label != nil {
		t.Label = label
		t.Nodes = append(label.Children[:len(label.Children):len(label.Children)], t.Nodes[1:]...)
		label.Children = nil
		label.ID = l.page.file + "#" + l.op
		l.reader.read(label, label.Text, true)
		label.Kind = Label
	}
	id := make([]byte, 0, 256)
	id = append(append(append(id, l.page.file...), '#'), l.op...)
	l.walk(t.Nodes, id, 0)
	l.tellJoined()
}

// hoist removes nodes without text; their children take their place.
func (l *layouter) hoist(nodes []*Node) []*Node {
	empty := false
	for _, n := range nodes {
		n.Text = unescape(n.Text)
		n.Children = l.hoist(n.Children)
		empty = empty || trim(n.Text) == ""
	}
	if !empty {
		return nodes
	}
	var out []*Node
	for _, n := range nodes {
		if trim(n.Text) != "" {
			out = append(out, n)
			continue
		}
		if len(n.Children) > 0 {
			l.findings = append(l.findings, diag.Finding{File: n.Pos.File, Line: n.Pos.Line, Rule: ruleLayout,
				Severity: diag.SeverityError, Message: "steps hang below a line without text"})
		}
		out = append(out, n.Children...)
	}
	return out
}

// label returns the root line that only repeats a name, nil if there is none.
func (l *layouter) label(nodes []*Node) *Node {
	if len(nodes) == 0 || len(nodes[0].Children) == 0 {
		return nil
	}
	n := nodes[0]
	if c := n.Text[0]; c != '*' && !wordByte(c) {
		return nil
	}
	if isOpName(l.owner) {
		if l.repeats(n.Text) {
			return n
		}
		return nil
	}
	var probe Node
	text := l.reader.annotation(&probe, n.Text)
	if len(nodes) > 1 || !isKebab(text) && (text != l.owner || text == "" || !utf8.ValidString(text)) {
		return nil
	}
	return n
}

// repeats reports whether text is a call of the op that the tree is of.
func (l *layouter) repeats(text string) bool {
	var probe Node
	word, rest, _ := l.reader.firstWord(l.reader.annotation(&probe, text))
	return word == l.owner && isCall(rest)
}

func (l *layouter) walk(nodes []*Node, id []byte, depth int) {
	var sure [][2]int // nodes, and findings that are about them
	for i, n := range nodes {
		id := strconv.AppendInt(append(id, '/'), int64(i), 10)
		n.ID = string(id)
		if depth == MaxDepth && len(n.Children) > 0 {
			line := n.Children[0].Pos
			n.Children = nil
			l.report(&l.tooDeep, line.Line-l.page.first, line.Column, ruleLimit, diag.SeverityError, tooDeep)
		}
		text := n.Text
		for _, r := range l.reader.read(n, text, false) {
			if r.rule != "" {
				f := diag.Finding{File: n.Pos.File, Line: n.Pos.Line, Column: n.Pos.Column, Rule: r.rule, Severity: diag.SeverityError, Message: r.text}
				if r.sure {
					sure = append(sure, [2]int{i, len(l.findings)})
				}
				l.findings = append(l.findings, f)
			}
		}
		l.onLine(n, text, depth)
		l.walk(n.Children, id, depth+1)
	}
	for _, at := range sure {
		if at[0]+1 == len(nodes) || goesWith(nodes[at[0]+1]) {
			l.findings[at[1]].Severity = diag.SeverityWarning
		}
	}
}

// goesWith reports whether a step cannot be the branch of the condition before it, out of which it slipped: it goes on with its chain, or has its
// own branch on its line as well.
func goesWith(n *Node) bool {
	switch n.Kind {
	case ElseIf, Else, Case, Default:
		return true
	}
	return n.Kind == If && len(n.Children) > 0 && n.Children[0].OnLine != ""
}
