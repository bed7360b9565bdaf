package prose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// nodes writes items as steps of a tree.
func (c *reader) nodes(items []*item, indent string) {
	for i, it := range items[:max(0, len(items)-1)] {
		it.goesOn = !otherBranch().MatchString(items[i+1].text)
	}
	for len(items) > 0 {
		n := 1
		for n < len(items) && otherBranch().MatchString(items[n].text) {
			n++
		}
		c.chain(items[:n], indent)
		items = items[n:]
	}
}

func (c *reader) put(indent, text string) {
	c.out, c.from = append(c.out, indent+"* "+text), append(c.from, c.at)
}

// node writes one item; it reports whether an ELSE may follow.
func (c *reader) node(it *item, indent string, chain bool) bool {
	below := indent + "  "
	if text := it.text; numberedStep().MatchString(text) && (!isPhase(text) || numberedStep().MatchString(strings.TrimLeft(text[min(4, len(text)):], " 0123456789"))) {
		c.lose(it.line, "it names a step by its number, and the steps of a tree have none")
	}
	c.at = it.line
	if c.mode[it.line] != free {
		c.together(it)
		c.leaf(it, indent)
		return false
	}
	text := unbold(it.text)
	lower := strings.ToLower(text)
	split, cut := conditional(text, len(it.kids) > 0)
	if !cut && len(it.kids) > 0 && text == strings.TrimSuffix(strings.TrimPrefix(it.text, "**"), "**") { // all of it is a heading
		split, cut = conditional(text+":", true)
	}
	if cut && slices.ContainsFunc(it.kids, func(k *item) bool { return !k.para && states(k.text) }) {
		cut = false // they are conditions
	}
	v, in, body, isLoop := loop(text, len(it.kids) > 0)
	branch := func(head, body string) {
		c.put(indent, head)
		if strings.HasSuffix(body, ":") && len(it.kids) > 0 && !announces(strings.ToLower(body)) { // "display:" and what
			c.leaf(&item{line: it.line, text: body, whole: it.text, kids: it.kids}, below)
			return
		}
		if body != "" {
			c.leaf(&item{line: it.line, text: body, whole: it.text}, below)
		}
		c.nodes(it.kids, below)
		if body == "" && len(it.kids) == 0 {
			c.put(below, "continue")
			c.lose(it.line, "a condition with nothing below it")
		}
	}
	switch {
	case cut:
		branch("IF << "+answered(split.cond), split.body)
		if split.other != "" {
			c.put(indent, "ELSE")
			c.leaf(&item{line: it.line, text: split.other, whole: it.text}, below)
			return false
		}
		return true
	case chain && (strings.HasPrefix(lower, "otherwise, if ") || strings.HasPrefix(lower, "otherwise if ") || strings.HasPrefix(lower, "else if ")):
		at := strings.Index(lower, "if ") + 3
		if cl, ok := cutClause(text[at:], len(it.kids) > 0); ok && cl.other == "" {
			branch("ELSE_IF << "+answered(cl.cond), cl.body)
			return true
		}
	case chain:
		if rest, ok := elseOf(text); ok {
			branch("ELSE", rest)
			return false
		}
	}
	if isLoop {
		branch("FOR_EACH << "+v+" in "+in, body)
		return false
	}
	c.together(it)
	c.leaf(it, indent)
	return false
}

// together has what is below an item written as text, so that one model sees both, where the item says in which case or how often that is done
// and is itself text.
func (c *reader) together(it *item) {
	if len(it.kids) == 0 || !onlyWhere(strings.ToLower(unbold(it.text))) {
		return
	}
	for _, k := range it.kids {
		c.whole(k)
	}
}

// answered is a condition about an answer as IF has it.
func answered(cond string) string {
	if option, ok := strings.CutPrefix(cond, `the answer is "`); ok {
		if option, ok = strings.CutSuffix(option, `"`); ok && option != "" {
			return "user chose " + option
		}
	}
	return cond
}

// outside finds mark outside quotes, backticks and parentheses, before a blank or the end; -1 for none.
func outside(s string, mark byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '`' || ch == '"':
			quote = ch
		case ch == '(' || ch == '[' || ch == '{':
			depth++
		case ch == ')' || ch == ']' || ch == '}':
			depth--
		case ch == mark && depth <= 0 && (i+1 == len(s) || s[i+1] == ' '):
			return i
		}
	}
	return -1
}

// cutOtherwise splits "A. Otherwise, B" behind A.
func cutOtherwise(s string) (body, other string) {
	for _, word := range [...]string{" Otherwise: ", " Otherwise, ", " Otherwise ", " Else: ", " Else, ", " If not, ", " If not: "} {
		if a, b, ok := strings.Cut(s, word); ok && a != "" && strings.ContainsAny(a[len(a)-1:], ".;!)") && !strings.HasPrefix(b, "if ") {
			return strings.TrimSpace(a), strings.TrimSpace(b)
		}
	}
	return s, ""
}

// each reads "`x` in y:".
func each(s string) (v, in string, ok bool) {
	v, in, ok = strings.Cut(strings.TrimSuffix(strings.TrimSpace(s), ":"), " in ")
	v, in = strings.Trim(v, "` "), strings.TrimSpace(in)
	if ident(in) && !strings.Contains(in, "_") { // a word of prose, not a name that a step bound: a model lists what it means
		in = "the " + in
	}
	return v, in, ok && ident(v) && in != "" && !strings.ContainsAny(in, "<>|")
}

func ident(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// leaf writes an item that is no branch.
func (c *reader) leaf(it *item, indent string) {
	text := strings.TrimSpace(it.text)
	lower := strings.ToLower(text)
	kids := it.kids
	c.at = it.line
	open, options, isOpen := openQuestion(it)
	switch {
	case c.mode[it.line] == led:
		text = leadWord + text
	case c.mode[it.line] == quoted:
		if plainer := unmarked(text); plainer != text {
			c.lose(it.line, "marks that a tree would read as its own are left out: "+text)
		}
		text = leadWord + unmarked(text)
	case c.mode[it.line] == plain && text != "":
		text = c.prose(it)
	case text == "":
		text = "…"
		c.lose(it.line, "an empty step")
	case (lower == "stop." || lower == "stop") && !it.goesOn:
		text = "END"
	case strings.HasPrefix(lower, "stop: "): // as Convert writes END
		text = "END " + text[len("stop: "):]
	case stops(lower) && !it.goesOn:
		text = "END " + text
	case asks(it):
		head, tail, nested := c.question(it)
		if nested {
			kids = nil
		}
		c.put(indent, head)
		c.nodes(kids, indent+"  ")
		if tail != "" {
			c.node(&item{line: it.line, text: tail}, indent, false)
		}
		return
	case isOpen:
		c.lose(it.line, "see whether the question says what is asked: "+cmp.Or(it.whole, text))
		text = strings.Join(append([]string{"ASK << " + open}, options...), " | ")
	case strings.HasPrefix(lower, "show the plan") || strings.HasPrefix(lower, "show a plan") || strings.HasPrefix(lower, "show plan"):
		at := outside(text, ':')
		if at < 0 { // nobody can tell what the plan shows
			text = "Do: " + text
			break
		}
		if before := text[:at]; before != planWords {
			c.lose(it.line, "see whether the plan has what is meant: "+text)
		}
		text = "SHOW_PLAN >> " + strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(text[at+1:]), "."), ", ", " | ")
	case strings.HasPrefix(text, verifyWords) && strings.Contains(text[len(verifyWords):], "`"):
		path, _, _ := strings.Cut(text[len(verifyWords):], "`")
		text = "VERIFY_EXPECTED << " + path
	default:
		if strings.HasPrefix(lower, "ask ") && strings.Contains(text, "?") && answersActed(it) {
			c.lose(it.line, "nobody asks it: what is done after the answer stands below it; write it as ASK, and IF << user chose …")
		}
		if jumps(text) || jumpsThen(text) {
			c.lose(it.line, "it changes which step is next, and that is skl's: write it as IF, FOR_EACH or END")
		}
		if strings.HasPrefix(lower, "stop") && (len(lower) == 4 || strings.IndexByte(" .,:;", lower[4]) >= 0) {
			c.lose(it.line, "it says to stop, and a step of text ends no run: write END where the run is to end")
		}
		text = c.prose(it)
	}
	c.put(indent, text)
	c.nodes(kids, indent+"  ")
	if it.whole != "" && len(kids) == 0 && endsIn(lower) && !strings.HasPrefix(text, "END") && !strings.HasPrefix(text, "ASK") {
		c.put(indent, "END")
	}
}

// jumpsThen reports whether what a text does in a case changes which step is next.
func jumpsThen(text string) bool {
	if !onlyWhere(strings.ToLower(unbold(text))) {
		return false
	}
	_, then, _ := strings.Cut(text, ",")
	return jumps(strings.TrimSpace(then))
}

// stops reports whether a text in lower case says that the work ends here, and what is said then.
func stops(lower string) bool {
	rest, ok := lower, false
	for _, word := range [...]string{"then stop", "stop", "exit", "halt", "abort", "skip all remaining steps", "skip all the remaining steps", "skip the remaining steps", "skip all further steps", "skip the rest of the steps"} {
		if rest, ok = strings.CutPrefix(lower, word); ok {
			break
		}
	}
	switch {
	case !ok || goesOnLater(lower):
		return false
	case strings.HasPrefix(lower, "exit with "):
		return true
	case lower == "exit" || lower == "halt" || lower == "abort": // a word of another program's, as a rule
		return false
	}
	for _, word := range [...]string{" at once", " immediately", " right away", " right here", " here", " now"} {
		rest = strings.TrimPrefix(rest, word)
	}
	if rest = strings.TrimRight(rest, ".!"); rest == "" || strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, "! ") || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, "; ") {
		return true
	}
	for _, join := range [...]string{" and ", ", and ", ", then ", ", "} {
		if said, ok := strings.CutPrefix(rest, join); ok {
			verb, _, _ := strings.Cut(said, " ")
			return telling()[verb]
		}
	}
	return false
}

// endsIn reports whether a text in lower case says last that the work ends.
func endsIn(lower string) bool {
	lower = strings.TrimRight(lower, ".!")
	for _, end := range [...]string{" immediately", " here", " now", " at once"} {
		lower = strings.TrimSuffix(lower, end)
	}
	for _, end := range [...]string{" and stop", " then stop", ", stop", " and exit", " then exit", " and halt", " and abort"} {
		if before, ok := strings.CutSuffix(lower, end); ok {
			return !goesOnLater(before)
		}
	}
	return false
}

var telling = wordSet(`tell report inform say notify explain warn let show output print return alert state surface`)

// goesOnLater reports whether a text in lower case that begins with stop speaks of what is done afterwards.
func goesOnLater(lower string) bool {
	for _, w := range wordsIn(strings.ReplaceAll(lower, " at once", "")) {
		switch w {
		case "until", "before", "wait", "continue", "continuing", "resume", "once", "ask", "again", "retry", "await", "unless", "when", "if":
			return true
		}
	}
	return false
}

// unmarked takes operators out of a text, also where backticks hide them.
func unmarked(text string) string {
	return strings.NewReplacer("<<", "< <", ">>", "> >", "`", "", "|", "/", "->", "→", "=>", "⇒").Replace(text)
}

// prose writes text that is for the model, so that it is not read as anything else.
func (c *reader) prose(it *item) string {
	text := it.text
	if body, names, ok := strings.Cut(text, keepWords); ok {
		var outs []string
		for _, n := range strings.FieldsFunc(strings.ReplaceAll(names, " and ", ","), func(r rune) bool { return strings.ContainsRune(", .:`", r) }) {
			outs = append(outs, n)
			ok = ok && ident(n)
		}
		if ok && len(outs) > 0 {
			return body + " >> " + strings.Join(outs, " | ")
		}
	}
	word, rest, _ := strings.Cut(text, " ")
	bare := strings.Trim(word, "*:.,")
	switch _, reserved := tree.Primitive(bare); {
	case reserved && bare == "IF":
		c.lose(it.line, "a condition in prose")
		return "when" + text[len(word):]
	case reserved:
		c.lose(it.line, "the step starts with "+bare+", which is a word of the language")
		return "then " + strings.ToLower(word) + text[len(word):]
	case strings.EqualFold(bare, "end") || strings.EqualFold(bare, "break"):
		return "then " + strings.ToLower(word[:1]) + text[1:] // a step that begins so is one that is misspelt
	case rest == "" && len(bare) > 1 && strings.ToUpper(bare) == bare && strings.ToLower(bare) != bare:
		return "do " + bare // a single word in capitals is a call
	}
	return text
}

// question writes "Ask …? (A / B)" as ASK. tail is what follows the options; nested
// says that the items below are the options.
func (c *reader) question(it *item) (out, tail string, nested bool) {
	text := it.text
	end := strings.IndexByte(text, '?')
	q := text[:end+1]
	rest := strings.TrimLeft(text[end+1:], `"”'. `)
	if cut, ok := addressed(q); ok {
		if len(cut) < len(q)-len("ask ") {
			c.lose(it.line, "see whether the question says what is asked: "+cmp.Or(it.whole, text))
		}
		q = strings.TrimLeft(cut, "\"“'")
	}
	var options []string
	switch {
	case strings.HasPrefix(rest, "(") && strings.Contains(rest, ")"):
		list, after, _ := strings.Cut(rest[1:], ")")
		rest = after
		options = strings.FieldsFunc(list, func(r rune) bool { return r == '/' || r == '|' || r == ',' })
	case strings.HasPrefix(rest, "Options:"):
		list, after, _ := strings.Cut(strings.TrimPrefix(rest, "Options:"), ".")
		rest = after
		options = strings.Split(list, ",")
	}
	if len(options) == 0 && len(it.kids) > 1 {
		nested = true
		for _, k := range it.kids {
			nested = nested && len(k.kids) == 0 && len(k.text) <= 60
			options = append(options, strings.TrimSuffix(k.text, "."))
		}
		if !nested {
			options = nil
		}
	}
	out = "ASK << " + strings.ReplaceAll(q, "|", "/")
	for _, o := range options {
		if o = strings.TrimSpace(strings.ReplaceAll(o, "|", "/")); o != "" {
			out += " | " + o
		}
	}
	if len(options) == 0 {
		c.lose(it.line, "the question has no options, so its answer is free text; bind it with >>")
	}
	if names, ok := strings.CutPrefix(rest, strings.Replace(keepWords, "result", "answer", 1)); ok {
		name, after, _ := strings.Cut(strings.TrimPrefix(names, "`"), "`")
		if ident(name) {
			out, rest = out+" >> "+name, after
		}
	}
	return out, strings.TrimLeft(rest, ".;, "), nested
}
