package prose

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A phase is a numbered heading with a list below it, or with paragraphs, or with neither.
type phase struct {
	listing
	next  int  // the line of the next heading, or behind the file
	words bool // it has no list
	stays bool // text stays below it: code, a table, deeper headings, or more than its list
}

// phaseWords begin the headings of phases, before their number.
var phaseWords = [...]string{"phase ", "step ", "stage ", "task "}

// isPhase reports whether a heading is that of a numbered phase.
func isPhase(title string) bool {
	lower := strings.ToLower(strings.TrimLeft(title, "*"))
	for _, w := range phaseWords {
		rest, ok := strings.CutPrefix(lower, w)
		if !ok { // "Phases 3-5"
			rest, ok = strings.CutPrefix(lower, strings.TrimSpace(w)+"s ")
		}
		if ok && rest != "" && (rest[0] >= '0' && rest[0] <= '9' || isCounted(rest)) {
			return true
		}
	}
	return false
}

// isCounted reports whether a text in lower case begins with a letter, a Roman number or "p.2", which ends there or before a dash or colon.
func isCounted(text string) bool {
	end := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(" :-–—)", r) })
	word := text
	if end >= 0 {
		word = text[:end]
		if rest := strings.TrimLeft(text[end:], " "); rest != "" && !strings.ContainsAny(rest[:1], ":-)") && !strings.HasPrefix(rest, "–") && !strings.HasPrefix(rest, "—") {
			return false
		}
	}
	letter, number, dotted := strings.Cut(word, ".")
	switch {
	case dotted:
		return len(letter) == 1 && number != "" && strings.Trim(number, "0123456789") == ""
	case len(word) == 1:
		return word[0] >= 'a' && word[0] <= 'z'
	}
	return word != "" && strings.Trim(word, "ivx") == ""
}

// phases are the numbered headings of one level, if there are two at least: then the tree goes over all of them, and not over the one
// list at head alone. Unless they may be anywhere, head is one of them.
func (c *reader) phases(head int, anywhere bool) []phase {
	var heads []int
	for _, n := range c.heads {
		if isPhase(headText(c.line(n))) && (len(heads) == 0 || headLevel(c.line(n)) == headLevel(c.line(heads[0]))) {
			heads = append(heads, n)
		}
	}
	if len(heads) < 2 {
		heads = c.numbered()
	}
	if len(heads) < 2 {
		heads = c.continued()
	}
	if len(heads) < 2 || !anywhere && !c.below(head, heads) || c.ofOneCase(heads[0]) || c.tabled(heads) {
		return nil
	}
	heads = c.between(heads)
	out := make([]phase, len(heads))
	for i, n := range heads {
		out[i] = c.phase(n)
	}
	return out
}

// tabled reports whether a table lists more phases than have a heading: the others are done too, and nobody knows from what is here how.
func (c *reader) tabled(heads []int) bool {
	word, _, _ := strings.Cut(strings.ToLower(headText(c.line(heads[0]))), " ")
	last := -1
	for _, n := range heads {
		last = max(last, firstNumber(headText(c.line(n))))
	}
	in := false
	for n := c.doc.BodyLine; n <= c.lastLine(); n++ {
		text := strings.TrimSpace(c.line(n))
		if c.kinds[n] != textLine || text[0] != '|' {
			in = false
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimLeft(text, "| "), "|")
		cell = strings.ToLower(strings.Trim(cell, " *_`"))
		if c.kinds[n-1] != textLine || !strings.HasPrefix(strings.TrimSpace(c.line(n-1)), "|") { // the heads of the table
			in = last >= 0 && (cell == word || cell == word+"s" || cell == word+" #")
			continue
		}
		number := strings.TrimSpace(strings.TrimPrefix(cell, word))
		if in && len(number) < 3 && number != "" && strings.Trim(number, "0123456789") == "" && firstNumber(number) > last {
			return true
		}
	}
	return false
}

// firstNumber is the first one in a text, -1 if there is none.
func firstNumber(text string) int {
	i := strings.IndexAny(text, "0123456789")
	if i < 0 {
		return -1
	}
	digits := text[i:]
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// isGate reports whether a heading says what to do, or that the work waits there.
func isGate(title string) bool {
	word, _, _ := strings.Cut(strings.ToLower(title), " ")
	switch strings.Trim(word, "*_:") {
	case "gate", "checkpoint", "approval", "confirmation", "preflight", "pause":
		return true
	}
	return instructs(title)
}

// between adds to headings those of their level and section that stand among them: a gate between two phases is one. In the whole text,
// whose sections are of all kinds, they have to say so.
func (c *reader) between(heads []int) (out []int) {
	for i, n := range heads {
		if i > 0 {
			first, _ := slices.BinarySearch(c.heads, heads[i-1])
			for j := first + 1; c.heads[j] < n; j++ {
				at, title := c.heads[j], headText(c.line(c.heads[j]))
				sibling := headLevel(c.line(at)) == headLevel(c.line(n)) && c.up[j] == c.up[first] && c.parent(n) == c.up[j]
				if sibling && !besides(strings.ToLower(title)) && (headLevel(c.line(at)) > 2 || isGate(title)) {
					out = append(out, at)
				}
			}
		}
		out = append(out, n)
	}
	return out
}

// below reports whether a heading is one of others, or below one of them.
func (c *reader) below(head int, heads []int) bool {
	for i, ok := slices.BinarySearch(c.heads, head); ok && i >= 0; i = c.up[i] {
		if slices.Contains(heads, c.heads[i]) {
			return true
		}
	}
	return false
}

// phase reads what stands below a heading, up to the next one of any level.
func (c *reader) phase(head int) phase {
	p := phase{next: c.lastLine() + 1}
	deeper := false
	if i, _ := slices.BinarySearch(c.heads, head+1); i < len(c.heads) {
		p.next = c.heads[i]
		deeper = headLevel(c.line(p.next)) > headLevel(c.line(head))
	}
	count := 0
	if p.listing, _, count = c.firstList(head, p.next); count > 0 {
		if p.stays = deeper || !c.bare(p); p.stays && (c.limited(p) || c.works(p)) || onlyWhere(strings.ToLower(phaseText(headText(c.line(head))))) {
			p.stays = true
			p.listing, p.words = listing{head: head}, true
		}
		return p
	}
	p.words = true
	p.listing = c.paragraphs(head, p.next)
	if deeper || !c.bare(p) { // what is done stands below the deeper headings, or in the code that a paragraph speaks of
		p.listing, p.stays = listing{head: head}, true
	}
	return p
}

// limited reports whether the text of a phase beside its list says when, how often or up to where its steps are done: without that
// they would be done in every case.
func (c *reader) limited(p phase) bool {
	for n := p.head + 1; n < p.next; n++ {
		if c.kinds[n] == textLine && (n < p.first || n > p.last) && c.kinds[n-1] != textLine && governs(strings.ToLower(strings.TrimSpace(c.line(n)))) {
			return true
		}
	}
	return false
}

// works reports whether the text of a phase beside its list is done, too: it has commands, or a paragraph that says what to do. Who reads
// it sees in which order.
func (c *reader) works(p phase) bool {
	for n := p.head + 1; n < p.next; n++ {
		if n >= p.first && n <= p.last {
			continue
		}
		text := strings.TrimSpace(c.line(n))
		_, info := cutFence(text)
		switch {
		case c.kinds[n] == codeLine && slices.Contains([]string{"bash", "sh", "shell", "zsh", "console", "powershell", "pwsh"}, strings.ToLower(info)):
			return true
		case c.kinds[n] == textLine && c.kinds[n-1] != textLine && begins(text):
			return true
		}
	}
	return false
}

// phaseText is the heading of a phase without its number.
func phaseText(title string) string {
	if _, rest, ok := headNumber(title); ok {
		return rest
	}
	if _, rest, ok := strings.Cut(title, ":"); ok && isPhase(title) {
		return strings.TrimSpace(rest)
	}
	return title
}

// minNumbered is how many headings "1. Verb …" are steps. Fewer are as often a part of something else.
const minNumbered = 3

// numbered are the headings of one level that are numbered one after the other, where three of four say what to do or the heading above
// them says that they are the steps. Where several sections have some, they are those of the one section whose heading says so.
func (c *reader) numbered() []int {
	for level := 2; level <= 4; level++ {
		var all, bySteps []int
		bySection := map[int][]int{}
		for _, n := range c.heads {
			if _, _, ok := headNumber(headText(c.line(n))); ok && headLevel(c.line(n)) == level {
				all = append(all, n)
				bySection[c.parent(n)] = append(bySection[c.parent(n)], n)
			}
		}
		if c.areSteps(all) {
			return all
		}
		sections := 0
		for _, heads := range bySection {
			if c.areSteps(heads) && c.belowSteps(heads[0]) {
				bySteps = heads
				sections++
			}
		}
		if sections == 1 && len(bySection) > 1 {
			return bySteps
		}
	}
	return nil
}

// areSteps reports whether numbered headings are steps.
func (c *reader) areSteps(heads []int) bool {
	verbs, next := 0, -1
	for _, n := range heads {
		number, text, _ := headNumber(headText(c.line(n)))
		if next >= 0 && number != next || next < 0 && number > 1 || slices.ContainsFunc(c.above(n), besides) || c.choices(n) {
			return false
		}
		next = number + 1
		if instructs(text) {
			verbs++
		}
	}
	return len(heads) >= minNumbered && !c.ofData(heads) && (verbs*4 >= len(heads)*3 || c.belowSteps(heads[0]))
}

// headNumber cuts "3. Text" and "3) Text".
func headNumber(title string) (number int, text string, ok bool) {
	digits := title[:len(title)-len(strings.TrimLeft(title, "0123456789"))]
	number, err := strconv.Atoi(digits)
	rest := title[len(digits):]
	if err != nil || len(digits) > 3 || rest == "" || rest[0] != '.' && rest[0] != ')' || !strings.HasPrefix(rest[1:], " ") {
		return 0, "", false
	}
	return number, strings.TrimSpace(rest[1:]), true
}

// besides reports whether what stands below a heading is not what the skill does.
func besides(title string) bool {
	return rules(title) || forbids(title) || tellsOf(title) || onlyWhere(title)
}

// above are the headings that a heading is below, but for that of the whole text, in lower case: the nearest first.
func (c *reader) above(head int) (titles []string) {
	for i := c.parent(head); i >= 0 && headLevel(c.line(c.heads[i])) > 1; i = c.up[i] {
		titles = append(titles, strings.ToLower(headText(c.line(c.heads[i]))))
	}
	return titles
}

// parent is which of the headings the one on a line is below, -1 for none.
func (c *reader) parent(head int) int {
	i, ok := slices.BinarySearch(c.heads, head)
	if !ok {
		return -1
	}
	return c.up[i]
}

// ofOneCase reports whether the section that a heading is in is for one case of several: "Creating a file" beside "Changing a file", or one
// that begins with the words that say in which case it is followed.
func (c *reader) ofOneCase(head int) bool {
	up := c.parent(head)
	if up < 0 || headLevel(c.line(c.heads[up])) < 2 {
		return false
	}
	for n := c.heads[up] + 1; n < head; n++ {
		if c.kinds[n] == textLine && c.kinds[n-1] != textLine && limits(strings.ToLower(strings.TrimSpace(c.line(n)))) {
			return true
		}
	}
	doing := 0
	for _, n := range c.heads {
		word, _, _ := strings.Cut(headText(c.line(n)), " ")
		if headLevel(c.line(n)) == headLevel(c.line(c.heads[up])) && len(word) > 5 && strings.HasSuffix(word, "ing") {
			doing++
		}
	}
	word, _, _ := strings.Cut(headText(c.line(c.heads[up])), " ")
	return doing > 1 && len(word) > 5 && strings.HasSuffix(word, "ing")
}

// choices reports whether the nearest heading above another one says that one of several things is done.
func (c *reader) choices(head int) bool {
	titles := c.above(head)
	return len(titles) > 0 && holdsOne(titles[0], choiceWords[:]...)
}

// ofData reports whether headings are what can be done with a thing, one at a time: to create, read, change and delete it.
func (c *reader) ofData(heads []int) bool {
	has := map[string]bool{}
	for _, n := range heads {
		_, text, _ := headNumber(headText(c.line(n)))
		verb, _, _ := strings.Cut(strings.ToLower(text), " ")
		switch verb {
		case "create", "add", "new":
			has["create"] = true
		case "get", "list", "read", "query", "show", "find":
			has["read"] = true
		case "update", "edit", "modify", "rename":
			has["update"] = true
		case "delete", "remove", "drop":
			has["delete"] = true
		case "start", "stop", "restart":
			has["start"] = true
		}
	}
	return has["delete"] && len(has) >= 3
}

// continued are the headings of one level, in one section, below which one numbered list goes on: 1 to 3 below the first, 4 to 6 below the
// second. Those in front of which another such list ends are what is done in another case, and none.
func (c *reader) continued() []int {
	var heads []int
	next := 0 // the number that goes on
	for i, n := range c.heads {
		end := c.lastLine() + 1
		if i+1 < len(c.heads) {
			end = c.heads[i+1]
		}
		l, ordered, count := c.firstList(n, end)
		if !ordered || count == 0 {
			if len(heads) > 0 && headLevel(c.line(n)) < headLevel(c.line(heads[0])) {
				break
			}
			continue
		}
		first, last := c.numbersOf(l)
		switch {
		case len(heads) > 0 && first == next && headLevel(c.line(n)) == headLevel(c.line(heads[0])):
			heads, next = append(heads, n), last+1
		case len(heads) >= 2:
			return nil // it goes on in another way
		case first == 1 && headLevel(c.line(n)) > 2:
			heads, next = []int{n}, last+1
		}
	}
	if len(heads) < 2 || slices.ContainsFunc(c.above(heads[0]), besides) || c.choices(heads[0]) {
		return nil
	}
	return heads
}

// numbersOf are the numbers of the first and last entry of a list.
func (c *reader) numbersOf(l listing) (first, last int) {
	col := -1
	for n := l.first; n <= l.last; n++ {
		at, text, ordered := marker(c.line(n))
		if !ordered || c.kinds[n] != textLine || col >= 0 && at > col {
			continue
		}
		number, err := strconv.Atoi(strings.Trim(c.line(n)[:text], " \t.)"))
		if err != nil {
			continue
		}
		if col < 0 {
			first = number
		}
		col, last = at, number
	}
	return first, last
}

// belowSteps reports whether the nearest heading above another one says that steps follow.
func (c *reader) belowSteps(head int) bool {
	titles := c.above(head)
	return len(titles) > 0 && (ofSteps(titles[0]) || holdsOne(titles[0], workWords[:]...))
}

// paragraphs are the lines of text that follow a heading, up to code, a table or a quote. Its first is 0 where there are none.
func (c *reader) paragraphs(head, end int) listing {
	l := listing{head: head}
	for n := head + 1; n < end; n++ {
		switch text := strings.TrimSpace(c.line(n)); {
		case c.kinds[n] == emptyLine:
			continue
		case c.kinds[n] != textLine || text[0] == '|' || text[0] == '>':
			return l
		}
		if l.first == 0 {
			l.first = n
		}
		l.last = n
	}
	return l
}

// steps are the items of a phase.
func (c *reader) steps(p phase) (items []*item) {
	switch {
	case !p.words:
		return c.items(p.listing)
	case p.first == 0:
		return nil
	}
	for n := p.first; n <= p.last; n++ {
		text := clean(strings.TrimSpace(c.line(n)))
		switch {
		case c.kinds[n] == emptyLine:
		case n > p.first && c.kinds[n-1] == textLine:
			items[len(items)-1].text += " " + text
		default:
			items = append(items, &item{line: n, text: text})
		}
	}
	return items
}

// ofPhases are the edits that put a tree over phases before the first of them. Their lists go, other text stays where it is.
func (c *reader) ofPhases(phases []phase) (edits []diag.Fix) {
	var items []*item
	stay := map[int]string{} // headings, by their lines
	for _, p := range phases {
		text := headText(c.line(p.head))
		if p.stays {
			stay[p.head] = text
		}
		if _, rest, ok := headNumber(text); ok {
			text = rest
		}
		items = append(items, &item{line: p.head, text: clean(text), kids: c.steps(p)})
		first := p.first
		if c.bare(p) {
			first, p.last = p.head, p.next-1
		}
		if first == 0 {
			continue
		}
		edits = append(edits, diag.Fix{Start: c.start(first), End: c.start(p.last + 1)})
	}
	c.nodes(items, "  ")
	c.stays = map[string]string{}
	for i, line := range c.from {
		if title, ok := stay[line]; ok && c.stays[title] == "" {
			c.stays[title] = c.out[i]
		}
	}
	text := "## Tree" + c.nl + c.nl + c.text(c.out) + c.nl
	if c.open { // before the tree: behind it the deeper headings of phases would be below those of the tail
		text = strings.ReplaceAll(strings.TrimPrefix(c.tail()+"\n", "\n"), "\n", c.nl) + text
	}
	if len(c.notes) > 0 {
		text += "## Notes" + c.nl + c.text(c.notes) + c.nl
	}
	at := c.start(phases[0].head)
	return append([]diag.Fix{{Start: at, End: at, Text: text}}, edits...)
}

// bare reports whether a phase holds nothing but its list.
func (c *reader) bare(p phase) bool {
	if p.stays {
		return false
	}
	for n := p.head + 1; n < p.next; n++ {
		if (n < p.first || n > p.last) && c.kinds[n] != emptyLine && c.kinds[n] != ruleLine {
			return false
		}
	}
	return true
}
