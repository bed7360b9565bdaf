package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
)

// others are words that other languages write for a primitive.
var others = map[string]string{"ELSEIF": "ELSE_IF", "ELIF": "ELSE_IF", "ELSIF": "ELSE_IF", "FOREACH": "FOR_EACH", "SHOWPLAN": "SHOW_PLAN", "VERIFYEXPECTED": "VERIFY_EXPECTED"}

// begins is the primitive that a text begins with, in whatever case, as one word or as two, and what follows. caps tells that it is in capitals.
// kind is tree.Prose where it begins with none.
func begins(text string) (kind tree.Kind, rest string, caps bool) {
	text = strings.TrimLeft(text, "*`_ ")
	n := 0
	for n < len(text) && (text[n] == '_' || text[n] == '-' || 'a' <= text[n]|0x20 && text[n]|0x20 <= 'z') {
		n++
	}
	word, rest := text[:n], text[n:]
	if second, tail, ok := secondWord(rest); ok {
		both := word + "_" + second
		if _, is := tree.Primitive(plainWord(both)); is && strings.ToUpper(both) == both { // "for each" begins sentences, too
			word, rest = both, tail
		}
	}
	kind, is := tree.Primitive(plainWord(word))
	if !is {
		return tree.Prose, text, false
	}
	return kind, strings.TrimLeft(rest, "*`"), strings.ToUpper(word) == word
}

// begun reports whether a text begins with a primitive.
func begun(text string) bool {
	kind, _, _ := begins(text)
	return kind != tree.Prose
}

// secondWord is the word behind a blank.
func secondWord(rest string) (word, tail string, ok bool) {
	if !strings.HasPrefix(rest, " ") {
		return "", rest, false
	}
	rest = strings.TrimLeft(rest, " ")
	n := 0
	for n < len(rest) && 'a' <= rest[n]|0x20 && rest[n]|0x20 <= 'z' {
		n++
	}
	return rest[:n], rest[n:], n > 0
}

// plainWord is a word as primitives are written.
func plainWord(word string) string {
	word = strings.ReplaceAll(strings.ToUpper(word), "-", "_")
	if other, ok := others[strings.ReplaceAll(word, "_", "")]; ok {
		return other
	}
	return word
}

// nearStep reports a step that begins as a primitive, or as a call, and is read as something else: it would be done by a model, and whatever
// stands below it whatever that says. It reports whether it did.
func (c *checker) nearStep(n *tree.Node) bool {
	if strings.ContainsAny(n.Text, "<>«»‹›≪≫&") && c.nearOperator(n) || c.unseen(n) {
		return true
	}
	if n.Kind != tree.Prose {
		return c.noOperator(n) || c.nearCondition(n)
	}
	if c.proseAsk(n) {
		return true
	}
	kind, rest, caps := begins(n.Text)
	if kind == tree.Prose {
		if k := disguised(n.Text); k != tree.Prose {
			c.report(NearStep, n.Pos, "the line seems to begin with "+k.String()+", but is not a step of that kind, so it would be text for a model: write "+k.String()+" as its first word")
			return true
		}
		return c.nearCall(n)
	}
	tight := strings.TrimLeft(rest, " ")
	if !caps && len(n.Children) == 0 && sentence(kind, rest) {
		return false
	}
	f := c.report(NearStep, n.Pos, "the line begins with "+kind.String()+" but is not a step of that kind, so its decision would not count: write "+diag.Clip(meantLine(kind, tight), 100))
	if strings.HasPrefix(tight, "<<") {
		f.Fix = c.replace(n, "write "+kind.String(), func(old string) (string, bool) {
			_, tail, _ := begins(old)
			return kind.String() + " " + strings.TrimLeft(tail, " "), strings.HasPrefix(strings.TrimLeft(tail, " "), "<<")
		})
	}
	return true
}

// sentence reports whether a line that begins with a word in small letters, which is that of a primitive, is one of everyday language that
// decides nothing: the step is done as it says.
func sentence(k tree.Kind, rest string) bool {
	if rest == "" || rest[0] != ' ' {
		return false
	}
	switch first := strings.TrimLeft(rest, " ")[:1]; {
	case strings.Contains("(<>:", first):
		return false
	}
	return k != tree.End && k != tree.Break
}

// meantLine is how a primitive with this text behind it is written.
func meantLine(k tree.Kind, text string) string {
	switch k {
	case tree.Else, tree.Default, tree.Parallel, tree.Break:
		return k.String() + ", and the steps below it"
	case tree.ShowPlan:
		return "SHOW_PLAN >> field | field"
	case tree.Explore:
		return "EXPLORE >> name"
	}
	text = strings.TrimSpace(strings.TrimLeft(text, "<:>= "))
	if strings.HasPrefix(text, "(") && strings.HasSuffix(strings.TrimSuffix(text, ":"), ")") {
		text = strings.TrimSuffix(strings.TrimSuffix(text[1:], ":"), ")")
	}
	text = strings.TrimRight(text, ": ")
	if k == tree.End {
		return "END << " + text
	}
	if text == "" {
		text = map[tree.Kind]string{tree.Ask: "question | option", tree.ForEach: "item in list", tree.Verify: "assets/checklist.md"}[k]
	}
	if text == "" {
		text = "condition"
	}
	return k.String() + " << " + text
}

// nearCall reports a step that begins with a name in capitals and goes on with half an operator, and one that holds an operator for inputs,
// which no text has.
func (c *checker) nearCall(n *tree.Node) bool {
	name := capitals(n.Text)
	if first, _, _ := strings.Cut(strings.TrimLeft(n.Text[name:], " "), " "); name > 0 && n.Text[0] >= 'A' && half[first] != "" {
		c.report(NearStep, n.Pos, "half an operator, "+first+", stands behind "+diag.Clip(n.Text[:name], 60)+", so it is not a call: write "+half[first])
		return true
	}
	if c.lowerCall(n) || c.mixedCall(n) {
		return true
	}
	if k := nearlyPrimitive(cmp.Or(nearlyCapital(n.Text), n.Text[:name])); k != tree.Prose {
		c.report(NearStep, n.Pos, "there is no "+diag.Clip(n.Text[:name], 60)+", so that the line would be text for a model: write "+k.String()+", or begin with another word")
		return true
	}
	fields := strings.Fields(hideBrackets(blank(n.Text, "\"'`")))
	for _, f := range fields[:min(len(fields), 4)] { // what comes later may speak of operators
		if f == "<<" {
			c.report(NearStep, n.Pos, "the step has inputs, <<, and begins with no name of an op: it would be text for a model")
			return true
		}
	}
	return false
}

// mixedCall reports a step that begins with a name in small and capital letters which is that of an op, but for the letters.
func (c *checker) mixedCall(n *tree.Node) bool {
	first, rest, _ := strings.Cut(n.Text, " ")
	word := strings.Trim(first, "*`")
	if !IsName(word) || strings.ToUpper(word) == word || !strings.Contains(word, "_") && !strings.HasPrefix(strings.TrimLeft(rest, " "), ">>") {
		return false
	}
	upper := strings.ToUpper(word)
	i := slices.IndexFunc(c.skill.Ops, func(op *tree.Op) bool { return len(op.Name) >= near && spell.Distance(upper, op.Name, 2) < 2 })
	if i >= 0 {
		c.report(LowerCase, n.Pos, "the name of a call is in capitals: "+diag.Clip(c.skill.Ops[i].Name, 60))
	}
	return i >= 0
}

// nearlyCapital is the first word of a text in capitals, if all but one of at least five letters are; else "".
func nearlyCapital(text string) string {
	word, _, _ := strings.Cut(text, " ")
	small := strings.Count(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return 'a'
		}
		return '-'
	}, word), "a")
	if len(word) < 5 || small != 1 || !IsName(word) {
		return ""
	}
	return strings.ToUpper(word)
}

// nearlyPrimitive is the primitive that differs from a word in capitals by one letter, tree.Prose if none does.
func nearlyPrimitive(word string) tree.Kind {
	if len(word) < 2 {
		return tree.Prose
	}
	for k := tree.If; k <= tree.Verify; k++ {
		if name := k.String(); len(name) > 2 && spell.Distance(word, name, 2) == 1 && !strings.HasSuffix(word, name) {
			return k
		}
	}
	return tree.Prose
}

// half are pieces that stand where an operator is meant.
var half = map[string]string{"<": "<<", ">": ">>", "<-": "<<", "->": ">>", "=>": ">>", "<=": "<<", "<<<": "<<", ">>>": ">>",
	"«": "<<", "»": ">>", "≪": "<<", "≫": ">>", "‹": "<<", "›": ">>", "‹‹": "<<", "››": ">>", "<‹": "<<", "‹<": "<<", "›>": ">>", ">›": ">>",
	"&lt;&lt;": "<<", "&gt;&gt;": ">>", "<<|": "<<", "|>>": ">>", ">>|": ">>"}

// nearOperator reports what stands in a call or a primitive where an operator is meant, outside of quotes and code. Conditions compare with
// some of that, so of them the first piece counts.
func (c *checker) nearOperator(n *tree.Node) bool {
	fields := strings.Fields(blank(n.Text, "\"'`"))
	switch n.Kind {
	case tree.Call, tree.Ask, tree.End, tree.Else, tree.Default, tree.Break, tree.Parallel, tree.ShowPlan, tree.Explore, tree.Verify:
	case tree.If, tree.ElseIf, tree.Switch, tree.Case, tree.ForEach:
		fields = fields[:min(len(fields), 3)]
	default:
		return c.nearOutput(n, fields)
	}
	for i, f := range fields {
		if half[f] != "" && (i > 0 || n.Kind != tree.Call) {
			c.report(NearStep, n.Pos, "half an operator, "+f+", stands in "+word(n)+" and would be text: write "+half[f])
			return true
		}
		if f == "<<" && slices.Contains(fields[:i], f) {
			c.report(NearStep, n.Pos, "the operator << stands in "+word(n)+" twice, and the second would be text: write >> for what it gives")
			return true
		}
	}
	return false
}

// unseen reports a character that nobody sees in an operator, or in what decides something: the line is not what it looks like.
func (c *checker) unseen(n *tree.Node) bool {
	if strings.IndexFunc(n.Text, diag.Invisible) < 0 {
		return false
	}
	operators := func(text string) int { return strings.Count(text, ">>") + strings.Count(text, "<<") }
	switch n.Kind {
	case tree.If, tree.ElseIf, tree.Switch, tree.Case, tree.ForEach:
		if strings.IndexFunc(blank(n.Text, "\"'`"), diag.Invisible) < 0 {
			return false
		}
	default:
		if operators(visible(n.Text)) == operators(n.Text) {
			return false // it is text, or in the first word, which disguised looks at
		}
	}
	c.report(NearStep, n.Pos, "the line holds a character that nobody sees, so that it is not what it looks like: write it again")
	return true
}

// nearOutput reports half an operator where a text, a reading or a binding is to end in outputs.
func (c *checker) nearOutput(n *tree.Node, fields []string) bool {
	k := len(fields)
	for i, f := range fields {
		last := i == k-2 && half[f] == ">>" && strings.Contains(fields[k-1], "_")
		if f == ">>>" || f == ">>" && i+1 < k && half[fields[i+1]] != "" || last {
			c.report(NearStep, n.Pos, "half an operator stands where outputs are meant, and would be text: write >>")
			return true
		}
	}
	return false
}

// noOperator reports text that stands where inputs or outputs are meant, with no operator before it.
func (c *checker) noOperator(n *tree.Node) bool {
	free := blank(n.Text, "\"'`")
	text, op := "", "<<"
	switch n.Kind {
	case tree.Ask:
		if !strings.Contains(free, "<<") && strings.Contains(free, " | ") {
			text = n.Question
		}
	case tree.Explore:
		if op = ">>"; !strings.Contains(free, ">>") {
			text = n.Body
			if _, given, ok := strings.Cut(n.Text, "<<"); ok && c.skill.Op("EXPLORE") == nil { // nothing takes it
				text = strings.TrimSpace(given)
			}
		}
	case tree.Verify:
		if n.Path == "" {
			_, text, _ = strings.Cut(n.Text, " ")
		}
	case tree.Call:
		op, text = c.unmarked(n, free)
	}
	if text == "" {
		return false
	}
	c.report(NearStep, n.Pos, "no operator stands in front of what "+word(n)+" is given: write "+op+" "+diag.Clip(text, 80))
	return true
}

// unmarked is what a call gives or binds with no operator before it, and the operator.
func (c *checker) unmarked(n *tree.Node, free string) (op, text string) {
	callee := c.skill.Op(n.Name)
	if callee != nil && len(callee.Outs) > 0 && len(callee.Params) == 0 && len(n.Outs) == 0 && len(n.Args) > 0 && strings.Contains(free, "<<") { // it takes nothing
		_, text, _ = strings.Cut(n.Text, "<<")
		return ">>", strings.TrimSpace(text)
	}
	if callee != nil && len(callee.Outs) > 0 && len(n.Outs) == 0 {
		for _, a := range n.Args {
			if a.Value.Kind == tree.Word && strings.Contains(a.Value.Text, " ") {
				return ">>", a.Value.Text
			}
		}
		if n.Inline != "" && !strings.Contains(n.Inline, " ") && len(callee.Params) == 0 {
			return ">>", n.Inline
		}
	}
	name := strings.TrimPrefix(strings.Trim(n.Inline, "`"), "context.") // of a value, and no words
	given := callee != nil && len(callee.Params) > 0 && (IsName(name) || strings.HasPrefix(name, "$")) || strings.Contains(n.Inline, " | ")
	if n.Inline != "" && !strings.Contains(free, "<<") && given {
		return "<<", n.Inline
	}
	return "", ""
}
