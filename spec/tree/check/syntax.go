package check

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

const maxNodeRunes = 120

// parser takes over what the parser found, with the fixes that it does not make.
func (c *checker) parser() {
	for _, f := range c.skill.Findings {
		if f.Fix == nil {
			switch {
			case f.Rule == TwoTrees && f.Message == tree.Numbered:
				f.Fix = c.numbered(f.Line)
			case f.Rule == InlineBranch:
				f.Fix = c.nest(f)
			}
		}
		c.findings = append(c.findings, f)
	}
}

// nest moves an inline branch to a line of its own.
func (c *checker) nest(found diag.Finding) *diag.Fix {
	n := c.nodeAt(found)
	if n == nil || len(n.Children) != 1 || n.Children[0].OnLine == "" || n.Note != "" {
		return nil
	}
	old, at := c.raw(n)
	step, _ := c.raw(n.Children[0])
	cond, ok := strings.CutSuffix(old, step)
	if step == "" {
		return nil
	}
	if !ok {
		return nil
	}
	cond = strings.TrimRight(cond, " \t")
	for _, dash := range [...]string{"—", "→"} {
		if short, ok := strings.CutSuffix(cond, dash); ok {
			f := c.source(n.Pos.File)
			line, start := f.line(n.Pos.Line)
			front := line[:at-start]
			word, condition, _ := strings.Cut(strings.TrimRight(short, " \t"), " ")
			if condition = strings.TrimLeft(condition, " \t"); !strings.HasPrefix(condition, "<<") && !strings.Contains(word, "<<") {
				condition = "<< " + condition
			}
			return &diag.Fix{Note: "write the branch as a child", Start: at, End: at + len(old), Text: word + " " + condition + f.newline() + below(front) + step}
		}
	}
	return nil
}

// below is the beginning of a line for the only child of a node, whose own line begins with front.
func below(front string) string {
	if i := strings.IndexAny(front, "├└"); i >= 0 {
		rail := "│   "
		if strings.HasPrefix(front[i:], "└") {
			rail = "    "
		}
		return front[:i] + rail + "└── "
	}
	bullet := strings.TrimLeft(front, " \t")
	if bullet == "" {
		return front + "├── "
	}
	return front[:len(front)-len(bullet)] + "  " + bullet
}

// nodeAt finds the node that a finding is about.
func (c *checker) nodeAt(f diag.Finding) *tree.Node {
	if c.nodes == nil {
		c.nodes = map[tree.Pos]*tree.Node{}
		add := func(n *tree.Node) bool { c.nodes[n.Pos] = n; return true }
		if c.skill.Tree != nil {
			tree.Walk(c.skill.Tree.Nodes, add)
		}
		for _, op := range c.skill.Ops {
			if op.Tree != nil {
				tree.Walk(op.Tree.Nodes, add)
			}
		}
	}
	return c.nodes[tree.Pos{File: f.File, Line: f.Line, Column: f.Column}]
}

// syntax checks the text of every node.
func (c *checker) syntax(b *body) {
	options := map[*tree.Node]bool{}
	b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
		if n.Kind == tree.Ask {
			for _, child := range n.Children {
				options[child] = isOption(n, child)
			}
		}
		c.operators(n)
		if strings.Contains(n.Text, "→") {
			c.arrow(n)
		}
		for _, dir := range [...]string{".claude/", ".github/", ".agents/"} {
			if strings.Contains(n.Text, dir) {
				f := c.report(HostPath, n.Pos, "the step names "+dir+", a directory of some hosts: write <skills-root>/ or a path in the skill")
				if !strings.Contains(n.Path, dir) { // a text for a model, which finds out what there is
					f.Severity = diag.SeverityWarning
				}
				break
			}
		}
		if c.skill.Name != "canopy-debug" && (strings.HasPrefix(n.Name, "TRACE_") || strings.Contains(n.Cond, "debug_mode")) {
			c.report(DebugCode, n.Pos, "the step traces the run: \"skl run --trace FILE\" does so for every skill")
		}
		if options[n] || c.nearStep(n) {
			return
		}
		if n.Kind == tree.Prose {
			c.prose(n)
		}
	})
}

// operators looks for operators that nothing follows.
func (c *checker) operators(n *tree.Node) {
	t := n.Text
	switch n.Kind {
	case tree.Call, tree.Ask, tree.ShowPlan, tree.Explore:
		empty := strings.HasSuffix(t, "<<") && n.Kind == tree.Call || strings.HasSuffix(t, ">>") && n.Kind == tree.Call ||
			strings.HasSuffix(t, " |") || strings.Contains(t, "<< >>") && n.Kind == tree.Call
		front := blank(t, "\"'`")
		empty = empty || strings.Contains(front, "<< |") || strings.Contains(front, "| |") || strings.Contains(front, "| >>") || strings.Contains(front, ">> |")
		if empty {
			c.report(EmptyOperator, n.Pos, "nothing stands behind an operator of "+word(n))
		}
	case tree.Prose, tree.Read, tree.Bind:
		if strings.HasSuffix(t, " >>") && len(n.Outs) == 0 {
			c.report(EmptyOperator, n.Pos, "nothing stands behind >>")
		}
	}
}

// word names a node for a reader.
func word(n *tree.Node) string {
	if n.Kind == tree.Call {
		return diag.Clip(n.Name, 60)
	}
	return n.Kind.String()
}

// arrow looks for an output that is written with an arrow.
func (c *checker) arrow(n *tree.Node) {
	i := strings.LastIndex(n.Text, "→")
	names := strings.TrimSpace(n.Text[i+len("→"):])
	if len(names) < 3 || names[0] != '{' || names[len(names)-1] != '}' {
		return
	}
	for _, name := range strings.Split(names[1:len(names)-1], ",") {
		if !IsName(strings.TrimSpace(name)) {
			return
		}
	}
	c.report(ArrowOutput, n.Pos, "an arrow binds nothing: write >> "+diag.Clip(names, 60)).
		Fix = c.replace(n, "write >> for the arrow", func(old string) (string, bool) {
		head, tail, ok := cutLast(old, "→")
		return head + ">>" + tail, ok && strings.TrimSpace(tail) == names && !strings.Contains(blank(old, "\"'`"), ">>")
	})
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// prose checks a step in natural language.
func (c *checker) prose(n *tree.Node) {
	text := n.Body
	lower := strings.ToLower(text)
	if c.prosePlan(n) {
		return
	}
	plain := blank(text, "`\"")
	switch {
	case strings.HasPrefix(lower, "if ") && strings.ContainsAny(plain, ":,") || strings.HasPrefix(lower, "if ") && strings.Contains(lower, " then "):
		c.report(ProseFlow, n.Pos, "a condition stands in prose: write IF << and the step below it")
	case (strings.HasPrefix(lower, "for each ") || strings.HasPrefix(lower, "for every ")) && !emits(lower):
		c.report(ProseFlow, n.Pos, "a loop stands in prose: write FOR_EACH << item in collection")
	case strings.Contains(lower, "loop back") || strings.Contains(lower, "go back to "):
		c.report(ProseFlow, n.Pos, "prose cannot move control: the tree goes on behind this step")
	case len(n.Children) > 0 && hasSteps(n.Children):
		c.report(ProseFlow, n.Pos, "steps stand below prose: they run after it, whatever it says")
	}
	if !emits(lower) {
		if free := blank(hideBrackets(plain), "`"); strings.Contains(free, "; ") || strings.Contains(free, " — ") {
			c.report(Clauses, n.Pos, "the step joins clauses: make each a step of its own")
		}
	}
	if runes := utf8.RuneCountInString(text); runes > maxNodeRunes {
		c.report(LongNode, n.Pos, "the step is "+count(runes, "character")+" long: make it a named op")
	} else if sentences(plain) > 1 {
		c.report(LongNode, n.Pos, "the step has several sentences: make it a named op")
	}
	c.literal(n, lower)
	if cmd := command(text); cmd != "" {
		c.report(ShellCommand, n.Pos, "a command stands in the tree, "+diag.Clip(cmd, 60)+": move it to a section of a script")
	}
}

// emits: text that is printed can hold what a step cannot.
func emits(lower string) bool {
	for _, verb := range [...]string{"report:", "print:", "say:", "display:", "output:", "natural language:"} {
		if strings.HasPrefix(lower, verb) {
			return true
		}
	}
	return false
}

func (c *checker) literal(n *tree.Node, lower string) {
	if !emits(lower) || strings.HasPrefix(lower, "natural language:") {
		return
	}
	_, text, _ := strings.Cut(n.Body, ":")
	if len(strings.Fields(text)) < 3 {
		return
	}
	if i := strings.IndexByte(text, '<'); i >= 0 && strings.IndexByte(text[i:], '>') > 1 {
		c.report(SlotText, n.Pos, "text with slots stands in the tree: move it to a template")
		return
	}
	c.report(FixedText, n.Pos, "fixed text stands in the tree: move it to a file of constants")
}

func hasSteps(nodes []*tree.Node) bool {
	found := false
	tree.Walk(nodes, func(n *tree.Node) bool {
		found = found || n.Kind != tree.Prose && n.Kind != tree.Read
		return !found
	})
	return found
}

// lowerCall looks for "name << inputs", where name is no op's.
func (c *checker) lowerCall(n *tree.Node) bool {
	name, rest, _ := strings.Cut(n.Text, "<<")
	name = strings.TrimSpace(name)
	if name == n.Text || name == "" || strings.ContainsAny(name, " \t") || rest != "" && rest[0] != ' ' {
		return false
	}
	bare := strings.Trim(name, "*`")
	if strings.Trim(bare, "-") == "" || !IsName(strings.ReplaceAll(bare, "-", "_")) {
		return false
	}
	upper := strings.ReplaceAll(strings.ToUpper(bare), "-", "_")
	message := "the name of a call is in capitals: " + diag.Clip(upper, 60)
	_, reserved := tree.Primitive(upper)
	f := c.report(LowerCase, n.Pos, message)
	if (reserved || c.skill.Op(upper) != nil) && bare == name {
		f.Fix = c.replace(n, "write the name in capitals", func(old string) (string, bool) {
			tail, ok := strings.CutPrefix(old, name)
			return upper + tail, ok
		})
	}
	return true
}

func (c *checker) proseAsk(n *tree.Node) bool {
	text, ok := cutFold(n.Body, "ask:")
	if !ok {
		return false
	}
	question := strings.Trim(strings.TrimSpace(text), `"`)
	c.report(ProseAsk, n.Pos, "a question in prose waits for nobody: write ASK << question | option").
		Fix = c.replace(n, "write ASK <<", func(old string) (string, bool) {
		return "ASK << " + question, strings.HasSuffix(old, text) && question != "" && !strings.ContainsAny(question, "|<>\"'`→—←") && len(n.Outs) == 0 && len(n.Children) == 0
	})
	return true
}

func (c *checker) prosePlan(n *tree.Node) bool {
	rest, ok := cutFold(n.Body, "show plan")
	if !ok {
		if rest, ok = cutFold(n.Body, "show the plan"); !ok {
			return false
		}
	}
	fields := ""
	if list, ok := strings.CutPrefix(rest, ":"); ok {
		fields = strings.Join(strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '|' }), " |")
	}
	fields = strings.TrimSpace(fields)
	c.report(ProsePlan, n.Pos, "a plan in prose is not shown before the changes: write SHOW_PLAN >> field | field").
		Fix = c.replace(n, "write SHOW_PLAN >>", func(old string) (string, bool) {
		return "SHOW_PLAN >> " + fields, fields != "" && strings.HasSuffix(old, rest) && !strings.ContainsAny(fields, "<>\"'`()[]{}:←.") && len(n.Outs) == 0 && len(n.Children) == 0
	})
	return true
}

// cutFold is CutPrefix without case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// hideBrackets writes blanks over what stands in parentheses.
func hideBrackets(s string) string {
	if !strings.Contains(s, "(") {
		return s
	}
	b := []byte(s)
	depth := 0
	for i, c := range b {
		if c == '(' {
			depth++
		}
		if depth > 0 {
			b[i] = ' '
		}
		if c == ')' && depth > 0 {
			depth--
		}
	}
	return string(b)
}

var sentenceEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-z0-9)][.!?]\s+[A-Z]`) })

// sentences counts the sentences of a text.
func sentences(text string) int {
	n := 1
	for _, at := range sentenceEnd().FindAllStringIndex(text, -1) {
		if head := text[:at[0]+1]; strings.HasSuffix(head, "e.g") || strings.HasSuffix(head, "i.e") || strings.HasSuffix(head, " vs") || strings.HasSuffix(head, "etc") {
			continue
		}
		n++
	}
	return n
}

// programs start commands in a shell.
var programs = [...]string{"ansible", "aws", "az", "bash", "bun", "cargo", "chmod", "cp", "curl", "docker", "find", "gcloud", "gh", "git", "go", "grep", "helm", "java", "kubectl",
	"make", "mkdir", "mv", "mvn", "node", "npm", "npx", "pip", "pnpm", "podman", "psql", "pwsh", "python", "python3", "rm", "sed", "sh", "ssh", "tar", "terraform", "wget", "yarn"}

// command returns a shell command with at least two arguments behind its program
// and the program's own verb, that stands between backticks or behind "Run".
func command(text string) string {
	test := func(s string) bool {
		f := strings.Fields(s)
		return len(f) >= 3 && slices.Contains(programs[:], f[0])
	}
	for code := range spans(text) {
		if test(code) {
			return code
		}
	}
	if rest, ok := cutFold(text, "run "); ok && test(rest) {
		for i, f := range strings.Fields(rest) {
			if i > 0 && strings.HasPrefix(f, "-") {
				return rest
			}
		}
	}
	return ""
}
