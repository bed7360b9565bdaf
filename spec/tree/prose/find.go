package prose

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A listing is where the steps stand: lines first to last, of a section that starts at head.
type listing struct{ head, first, last int }

var stepWords = [...]string{"step", "procedure", "instruction", "workflow", "process", "how to"}

// ofSteps reports whether a heading says that steps follow. One that is itself a step among others, "Step 2: Process it", does not.
func ofSteps(title string) bool {
	if _, _, ok := headNumber(title); ok || isPhase(title) {
		return false
	}
	lower := strings.ToLower(title)
	words := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, w := range words {
		if isStepWord(w) {
			return true
		}
	}
	joined := strings.Join(words, " ")
	for _, how := range [...]string{"how to use ", "how to apply ", "how to follow ", "how to run this "} {
		if strings.HasPrefix(joined, how) {
			return true
		}
	}
	return holdsOne(lower, foreignSteps[:]...)
}

// inOrder reports whether a heading in lower case says that what is below it is done one after the other.
func inOrder(lower string) bool {
	return strings.HasSuffix(lower, ", in order") || holdsOne(lower, "in order)", "in this order", "this order)", "in that order", "in sequence")
}

// isStepWord reports whether a word says that steps follow. Several workflows are a choice, as procedures and processes are.
func isStepWord(word string) bool {
	return slices.Contains(stepWords[:], word) || word == "steps" || word == "instructions"
}

// foreignSteps are the words of other languages.
var foreignSteps = [...]string{"schritte", "vorgehen", "étapes", "pasos", "etapas", "passos", "шаги", "步骤", "步驟", "流程", "手順", "절차", "단계"}

// onlySteps reports whether a heading says nothing but that steps follow.
func onlySteps(title string) bool {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(title, "-", " ")))
	for _, w := range words {
		if !isStepWord(w) && !slices.Contains(foreignSteps[:], w) && w != "the" && w != "by" && w != "main" {
			return false
		}
	}
	return len(words) > 0
}

// Scores of lists.
const (
	nothing = -9 // there is none
	sure    = 3  // it is below a heading that speaks of steps
)

// A found list is one that may be the steps. Its title is that of the heading above it, in lower case.
type found struct {
	listing
	title   string
	ordered bool
	led     bool // the text before it says that the steps follow
	count   int  // of its entries
}

// lists are the first ones below each heading, but for those that are rules, or what is not to be done.
func (c *reader) lists() (out []found) {
	heads := append([]int{c.doc.BodyLine - 1}, c.heads...)
	for i, head := range heads {
		end := c.lastLine() + 1
		if i+1 < len(heads) {
			end = heads[i+1]
		}
		f := found{}
		if i > 0 {
			f.title = strings.ToLower(headText(c.line(head)))
		}
		f.listing, f.ordered, f.count = c.firstList(head, end)
		f.led = f.count > 0 && f.ordered && c.isLed(f.listing) && c.mostlyOrders(f.listing)
		if f.count > 0 && !strings.HasPrefix(f.title, "response") && !rules(f.title) && !forbids(f.title) && !c.prohibits(f.listing) && !c.quotes(f.listing) && !c.purposes(f.listing) && !c.boldSteps(head, end) {
			out = append(out, f)
		}
	}
	return out
}

// find chooses the list: below a heading that speaks of steps, else the first numbered one. Its score is nothing where there is none.
// A list that only a sentence says to be the steps is less sure than headings that are numbered: led.
func (c *reader) find() (best listing, bestScore int, led bool) {
	bestScore = nothing
	same := false // another list is as likely
	for _, f := range c.lists() {
		score := 1
		if f.ordered {
			score = 2
		}
		switch {
		case onlySteps(f.title):
			score += 3
		case inOrder(f.title) && c.mostlyOrders(f.listing):
			score += 4
		case ofSteps(f.title) && !c.isTitle(f.head):
			score += 2
		case f.led && !c.besideWork(&f) && !holdsOne(f.title, "ing a ", "ing an "):
			score += 3
		}
		if tellsOf(f.title) || onlyWhere(f.title) {
			score -= 4
		}
		switch {
		case f.count < 2 && score < sure:
		case score > bestScore:
			best, bestScore, same, led = f.listing, score, false, f.led && !ofSteps(f.title)
		case score == bestScore:
			same = true
		}
	}
	if same && bestScore >= sure && !onlySteps(headText(c.line(best.head))) { // two of "Workflow A", "Workflow B"
		bestScore = sure - 1
	}
	return best, bestScore, led
}

// Bounds of lone, in headings of the upper two levels.
const (
	fewSections    = 4 // a numbered list is the steps
	fewestSections = 2 // a list with bullets is
)

// lone is the list that is the steps though no heading says so: the only one that says what to do, in a text of few sections or below
// a heading that speaks of work. unsure is set where there is none.
func (c *reader) lone() (l listing, unsure bool) {
	var kinds [4][]found // numbered, with bullets, and both below a heading that says when
	for _, f := range c.lists() {
		kind := 0
		if !f.ordered {
			kind = 1
		}
		if onlyWhere(f.title) {
			kind += 2
		}
		if f.count > 1 && !tellsOf(f.title) && c.mostlyOrders(f.listing) {
			kinds[kind] = append(kinds[kind], f)
		}
	}
	i := slices.IndexFunc(kinds[:], func(l []found) bool { return len(l) > 0 })
	if i < 0 {
		return listing{}, true
	}
	if len(kinds[i]) > 1 { // of several, the one that is the work
		kinds[i] = slices.DeleteFunc(kinds[i], func(f found) bool { return !isWork(f.title) })
	}
	if len(kinds[i]) != 1 {
		return listing{}, true
	}
	sections := 0
	for _, h := range c.heads {
		if title := headText(c.line(h)); headLevel(c.line(h)) <= 2 && title != "Rules" && !strings.HasPrefix(title, "Response") {
			sections++
		}
	}
	few := [...]int{fewSections, fewestSections}[i%2]
	f := kinds[i][0]
	return f.listing, c.besideWork(&f) || sections > few && !isWork(f.title)
}

// isTitle reports whether a heading is that of the whole text: "do-in-steps" is a name.
func (c *reader) isTitle(head int) bool {
	return len(c.heads) > 0 && head == c.heads[0] && headLevel(c.line(head)) == 1
}

// besideWork reports whether a list is below a heading that says that it is not the work of the whole skill: a deep one, a choice, a beginning.
func (c *reader) besideWork(f *found) bool {
	deep := f.head >= c.doc.BodyLine && c.kinds[f.head] == headLine && headLevel(c.line(f.head)) > 2
	return deep || holdsOne(f.title, choiceWords[:]...) || holdsOne(f.title, "setup", "set up", "install", "tip")
}

// isWork reports whether below a heading in lower case a list that says what to do is the work of a skill.
func isWork(title string) bool {
	word, _, _ := strings.Cut(title, " ")
	return holdsOne(title, workWords[:]...) || strings.TrimRight(word, ":") == "action" || strings.TrimRight(word, ":") == "protocol"
}

// isLed reports whether the paragraph right above a list says that it is the steps.
func (c *reader) isLed(l listing) bool {
	n := l.first
	for _, text, _ := marker(c.line(n)); text == 0 && n < l.last; _, text, _ = marker(c.line(n)) {
		n++
	}
	for n--; n > l.head && c.kinds[n] == emptyLine; n-- {
	}
	if n <= l.head || c.kinds[n] != textLine {
		return false
	}
	lower := strings.ToLower(strings.TrimRight(strings.TrimSpace(c.line(n)), "*_"))
	return strings.HasSuffix(lower, " in order:") || strings.HasSuffix(lower, ":") && holdsOne(lastSentence(lower), "these steps", "following steps", "in this order", "steps below")
}

// choiceWords are parts of headings below which one of several things is done, and not one after the other.
var choiceWords = [...]string{"workflows", "procedures", "processes", "operations", "recipes", "patterns", "commands", "options", "modes", "api", "tasks", "methods", "functions", "tools"}

// workWords are parts of headings below which a list that says what to do is the work of a skill.
var workWords = [...]string{"flow", "task", "method", "approach", "sequence", "playbook", "runbook", "routine", "working style", "what to do", "directive"}

// rules reports whether a list below a heading holds for all steps: none of it is one.
func rules(title string) bool {
	return holdsOne(title, "rules", "constraint", "guideline", "principle", "guardrail", "boundaries", "must not")
}

// purposes reports whether a list is several lists, each for something else: "To run a test:", "To delete all:".
func (c *reader) purposes(l listing) bool {
	n := 0
	for at := l.first; at <= l.last; at++ {
		if _, text, _ := marker(c.line(at)); text > 0 || c.kinds[at] != textLine {
			continue
		}
		line := strings.ToLower(unbold(strings.TrimSpace(c.line(at))))
		if strings.HasPrefix(line, "to ") && strings.HasSuffix(line, ":") {
			n++
		}
	}
	return n > 1
}

// boldStep finds a paragraph that is a step among others: "**Step 2:** Locate files", "**2. Locate files**".
var boldStep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\*\*(?:(?i:step|phase|stage|task) )?[0-9]+(?:[.:)]|\*\*| [-–—])`)
})

// boldSteps reports whether a section has two such paragraphs: a list in it is that of one step.
func (c *reader) boldSteps(head, end int) bool {
	n := 0
	for at := head + 1; at < end; at++ {
		if c.kinds[at] == textLine && boldStep().MatchString(strings.TrimSpace(c.line(at))) {
			n++
		}
	}
	return n > 1
}

// hasLists reports whether there is a list, or paragraphs that are steps.
func (c *reader) hasLists() bool {
	for n := c.doc.BodyLine; n <= c.lastLine(); n++ {
		if _, text, _ := marker(c.line(n)); c.kinds[n] == textLine && (text > 0 || boldStep().MatchString(strings.TrimSpace(c.line(n)))) {
			return true
		}
	}
	return false
}

// entries are the texts of a list, but for those below others: the rest of the line that each begins on.
func (c *reader) entries(l listing) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := -1
		for n := l.first; n <= l.last; n++ {
			col, text, _ := marker(c.line(n))
			if text == 0 || c.kinds[n] != textLine || first >= 0 && col > first {
				continue
			}
			if first = col; !yield(c.line(n)[text:]) {
				return
			}
		}
	}
}

// quotes reports whether more than half of the entries of a list are what somebody says or writes, for example.
func (c *reader) quotes(l listing) bool {
	n, all := 0, 0
	for entry := range c.entries(l) {
		all++
		if entry = strings.TrimLeft(entry, " \t*_"); strings.HasPrefix(entry, `"`) || strings.HasPrefix(entry, "“") {
			n++
		}
	}
	return n*2 > all
}

// prohibits reports whether more than half of the entries of a list say what is not to be done.
func (c *reader) prohibits(l listing) bool {
	n, all := 0, 0
	for entry := range c.entries(l) {
		all++
		entry = strings.TrimLeft(strings.ReplaceAll(entry, "**", ""), " \t_❌")
		for _, word := range [...]string{"never", "do not", "don't", "don’t", "avoid", "must not", "no"} {
			if _, ok := cutWord(entry, word); ok {
				n++
				break
			}
		}
	}
	return n*2 > all
}

// forbids reports whether a list below a heading says what is not to be done: no step is.
func forbids(title string) bool {
	return holdsOne(title, "never", "don't", "don’t", "do not", "avoid", "not to", "when not", "anti-pattern", "antipattern", "mistake", "fail", "pitfall", "red flag", "gotcha", "wrong")
}

// tellsOf reports whether a list below a heading is about the skill rather than what is done: it is taken where there is no other.
func tellsOf(title string) bool {
	return holdsOne(title, "when to use", "use case", "limitation", "prerequisite", "requirement", "resources", "references", "related", "troubleshoot", "example", "contents", "capabilities", "best practice",
		"feature", "output")
}

func holdsOne(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// firstList finds the first list between two headings.
func (c *reader) firstList(head, end int) (l listing, ordered bool, count int) {
	l.head = head
	col, inside := 0, false
	for n := head + 1; n < end; n++ {
		if c.kinds[n] == codeLine || c.kinds[n] == hiddenLine {
			if c.kinds[n-1] != c.kinds[n] {
				inside = l.first > 0 && indentOf(c.line(n)) > col
			}
			if inside { // a block of the last item
				l.last = n
			}
			continue
		}
		at, text, number := marker(c.line(n))
		isItem := text > 0 && c.kinds[n] == textLine
		switch {
		case l.first == 0 && !isItem:
			continue
		case l.first == 0:
			l.first, ordered, col = n, number, at
			if first := c.leadIn(head, n); first > 0 {
				l.first = first
			}
		case c.kinds[n] == ruleLine:
			if !ordered || !c.resumes(n, end, col) {
				return l, ordered, count
			}
		case c.kinds[n] == textLine && !isItem && indentOf(c.line(n)) <= col && c.kinds[n-1] != textLine:
			if !otherBranch().MatchString(strings.TrimSpace(c.line(n))) && !(ordered && c.resumes(n, end, col)) {
				return l, ordered, count // a paragraph behind the list
			}
		}
		if isItem && at <= col {
			count++
		}
		if c.kinds[n] == textLine {
			l.last = n
		}
	}
	return l, ordered, count
}

// resumes reports whether a numbered list goes on behind line n: a rule, or a paragraph that is followed by another one.
func (c *reader) resumes(n, end, col int) bool {
	words := 0
	for ; n < end; n++ {
		at, text, number := marker(c.line(n))
		switch {
		case c.kinds[n] == emptyLine || c.kinds[n] == ruleLine:
		case c.kinds[n] != textLine || strings.ContainsAny(strings.TrimSpace(c.line(n))[:1], "|>"):
			return false
		case text > 0:
			return number && at <= col
		default:
			if words++; words > maxLeadLines {
				return false
			}
		}
	}
	return false
}
