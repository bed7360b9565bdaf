package tree

import (
	"strings"
)

// primitive reads a node whose first word is reserved. It reports false for what
// is prose all the same: an IF without an operator.
func (r *nodeReader) primitive(n *Node, kind Kind, word, rest string, bold bool, remarks *[2]remark) bool {
	front := written(word, bold)
	input, has := strings.CutPrefix(rest, "<<")
	switch kind {
	case If, ElseIf:
		if rest != "" && !has {
			return false
		}
		n.Cond = trim(input)
		r.inline(n, remarks)
	case Switch, Case:
		if has {
			n.Cond = trim(input)
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

// inline splits an IF that has no children at the last free dash or arrow into
// the condition and its branch.
func (r *nodeReader) inline(n *Node, remarks *[2]remark) {
	if len(n.Children) > 0 || !strings.Contains(n.Cond, "—") && !strings.Contains(n.Cond, "→") {
		return
	}
	r.sc.reset(n.Cond)
	at, size := -1, 0
	for _, dash := range [...]string{" — ", " → "} {
		for from := 0; ; {
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
		return
	}
	body := trim(n.Cond[at+size:])
	if body == "" {
		return
	}
	n.Cond, n.Body = trim(n.Cond[:at]), body
	remarks[1] = remark{ruleInline, "the branch stands on the line of its condition: write it as a child of the " + kindNames[If]}
}
