package tree

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// primitive reads a node whose first word is reserved. It reports false for what
// is prose all the same: an IF without an operator. A step on the same line is left in Body.
func (r *nodeReader) primitive(n *Node, kind Kind, word, rest string, bold bool, remarks *[2]remark) bool {
	front := written(word, bold)
	input, has := strings.CutPrefix(rest, "<<")
	switch kind {
	case If, ElseIf:
		n.Cond = trim(input)
		certain := r.inline(n, kind, remarks)
		if rest != "" && !has && !certain {
			n.Cond, n.Body, remarks[1] = "", "", remark{}
			return false
		}
		input, has = n.Cond, rest != ""
	case Switch, Case:
		if has {
			n.Cond = trim(input)
			if kind == Case {
				r.inline(n, kind, remarks)
				input = n.Cond
			}
			if n.Cond != "" {
				n.Args = []Arg{{Value: parseValue(n.Cond, 0)}}
			}
		}
	case ForEach:
		if has {
			forEach(n, trim(input))
		}
	case Verify:
		if has {
			n.Path = bare(trim(input))
		}
	case End:
		if has && interpolation(rest, 0) > 0 {
			has = false
		}
		n.Message = rest
		if has {
			n.Message = trim(input)
		}
	case Else, Default, Break, Parallel:
		if !has && !strings.HasPrefix(rest, ">>") {
			n.Body = rest
			for _, dash := range [...]string{"—", "→", "-"} {
				if tail, ok := strings.CutPrefix(rest, dash); ok {
					n.Body = trim(tail)
					break
				}
			}
			if n.Body != "" && len(n.Children) == 0 && (kind == Else || kind == Default) {
				rest = ""
			}
			break
		}
		r.operate(n, rest, front, remarks)
		n.Kind, n.Bold = kind, bold
		return true
	case Ask, ShowPlan, Explore:
		r.operate(n, rest, front, remarks)
		n.Kind, n.Bold = kind, bold
		return true
	}
	n.Kind, n.Bold = kind, bold
	o := operators{head: rest}
	if has {
		o = operators{in: true}
		if s := trim(input); s != "" {
			o.ins = []string{s}
		}
	}
	n.Text = r.canonical(n.Text, front, o)
	return true
}

// operate reads the primitives that have inputs and outputs as calls have.
func (r *nodeReader) operate(n *Node, rest, front string, remarks *[2]remark) {
	kind, _ := Primitive(strings.Trim(front, "*"))
	from := 0
	if kind == Ask {
		from = r.askInput(rest)
	}
	o := r.split(rest, from, true)
	if o.swapped {
		remarks[0] = outOfOrder
	}
	n.Text = r.canonical(n.Text, front, o)
	switch kind {
	case Ask:
		n.Outs, n.Question = o.targets(), o.head
		options := o.ins
		if n.Question == "" && len(options) > 0 {
			n.Question, options = options[0], options[1:]
		}
		for _, s := range options {
			if s != "" {
				n.Options = append(n.Options, s)
			}
		}
	case ShowPlan:
		n.Body, n.Args = o.head, o.args()
		for _, s := range o.outs {
			if s != "" {
				n.Fields = append(n.Fields, r.planField(s))
			}
		}
	default:
		n.Body, n.Args, n.Outs = o.head, o.args(), o.targets()
	}
}

// askInput is where the search for the operator of an ASK starts: behind the
// interpolations of a question that stands before it.
func (r *nodeReader) askInput(rest string) int {
	from := 0
	for r.sc.reset(rest); ; {
		a := r.sc.find("<<", from, len(rest))
		if a <= 0 {
			return from
		}
		end := interpolation(rest, a)
		if end == 0 {
			return a
		}
		from = end
	}
}

func (r *nodeReader) planField(s string) PlanField {
	r.sc.reset(s)
	i := r.sc.find(": ", 0, len(s))
	if i <= 0 {
		return PlanField{Text: bare(s)}
	}
	return PlanField{Text: bare(trim(s[:i])), Value: trim(s[i+1:])}
}

// forEach reads "item in collection".
func forEach(n *Node, text string) {
	name, rest := "", ""
	if strings.HasPrefix(text, "`") {
		end := strings.IndexByte(text[1:], '`')
		if end < 0 {
			return
		}
		name, rest = text[1:1+end], text[1+end+1:]
	} else {
		end := identLen(text)
		name, rest = text[:end], text[end:]
	}
	in := strings.TrimLeft(rest, blanks)
	if !isIdent(name) || in == rest || !strings.HasPrefix(in, "in ") {
		return
	}
	n.Var, n.In = name, trim(in[3:])
}

// inline splits an IF or a CASE that has no children at the last free dash or arrow into
// the condition and its branch. It reports whether there is one arrow and nothing else that could part them.
func (r *nodeReader) inline(n *Node, kind Kind, remarks *[2]remark) bool {
	if len(n.Children) > 0 || !strings.Contains(n.Cond, "—") && !strings.Contains(n.Cond, "→") {
		return false
	}
	r.sc.reset(n.Cond)
	at, size, count := -1, 0, 0
	const arrow = " → "
	for _, dash := range [...]string{" — ", arrow} {
		for from := 0; ; count++ {
			i := r.sc.find(dash, from, len(n.Cond))
			if i < 0 {
				break
			}
			if i > at {
				at, size = i, len(dash)
			}
			from = i + 1
		}
	}
	if at <= 0 {
		return false
	}
	body := trim(n.Cond[at+size:])
	if body == "" {
		return false
	}
	once, certain := count == 1, count == 1 && strings.HasPrefix(n.Cond[at:], arrow)
	n.Cond, n.Body = trim(n.Cond[:at]), body
	remarks[1] = remark{ruleInline, "the branch stands on the line of its condition: write it as a child of the " + kindNames[kind], once}
	return certain
}

// onLine gives n the steps that stand on its own line, as children: that of a branch, and those behind the options of an ASK. text is that of
// the whole line.
func (l *layouter) onLine(n *Node, text string, depth int) {
	switch n.Kind {
	case If, ElseIf, Else, Case, Default:
		if n.Body != "" && len(n.Children) == 0 {
			if child := l.step(n, text, n.Body, depth); child != nil {
				n.Children, n.Body = []*Node{child}, ""
			}
		}
	case Ask:
		for _, c := range n.Children {
			if head, rest := optionOf(n, c.Text); rest != "" {
				if child := l.step(c, c.Text, rest, depth+1); child != nil {
					c.Text, c.Children = head, append([]*Node{child}, c.Children...)
				}
			}
		}
	}
}

// dashes part a branch from a step on its line.
const dashes = "—–-→:"

// step is the node of a step that stands behind the text of n, at the end of its line; nil where a limit is reached, which is reported.
func (l *layouter) step(n *Node, text, step string, depth int) *Node {
	line := n.Pos.Line - l.page.first
	if depth >= MaxDepth {
		l.report(&l.tooDeep, line, n.Pos.Column, ruleLimit, diag.SeverityError, tooDeep)
		return nil
	}
	if l.nodes >= l.limit {
		l.report(&l.tooMany, line, n.Pos.Column, ruleLimit, diag.SeverityError, l.limits())
		return nil
	}
	l.nodes++
	at := strings.LastIndex(l.reader.annotation(&Node{}, text), step) // a note may say the same
	if at < 0 {
		at = max(strings.LastIndex(text, step), 0)
	}
	child := &Node{Text: step, Pos: n.Pos, Last: n.Last, OnLine: " "}
	before := strings.TrimRight(text[:at], blanks)
	switch dash := before[len(strings.TrimRight(before, dashes)):]; dash { // one: a condition may end with another
	case "":
	case ":":
		child.OnLine = ": "
	default:
		child.OnLine = " " + dash + " "
	}
	raw := l.page.text(line)
	child.Pos.Column = max(min(n.Pos.Column+at, len(raw)), n.Pos.Column) // of an escaped or a longer line, a place near it
	if n.Note != "" {
		child.Note, n.Note = n.Note, "" // it stands behind the step
	}
	return child
}

// optionOf parts a line below an ASK into one of its options, the longest that the line begins with, and what stands behind a dash after it. head is
// "" for a line that is none.
func optionOf(ask *Node, text string) (head, rest string) {
	text = trim(text)
	for _, option := range ask.Options {
		if option = unquoted(option); option == "" {
			continue
		}
		for _, quote := range [...]string{"", `"`, "'", "`"} {
			written := quote + option + quote
			if len(written) <= len(head) || len(text) < len(written) || !strings.EqualFold(text[:len(written)], written) {
				continue
			}
			tail := trim(text[len(written):])
			if tail == "" {
				return text, ""
			}
			for _, dash := range [...]string{"—", "–", "-", "→", ":"} {
				if after, ok := strings.CutPrefix(tail, dash); ok {
					head, rest = text[:len(written)], trim(after)
					break
				}
			}
		}
	}
	return head, rest
}

// Option is the branch of one of the options of an ASK, nil if it has none.
func (n *Node) Option(option string) *Node {
	for _, c := range n.Children {
		if SameOption(c.Text, option) {
			return c
		}
	}
	return nil
}

// SameOption reports whether two texts are the same option, whatever their case and quotes.
func SameOption(a, b string) bool { return strings.EqualFold(unquoted(a), unquoted(b)) }

func unquoted(s string) string { return strings.Trim(trim(s), "\"'`") }
