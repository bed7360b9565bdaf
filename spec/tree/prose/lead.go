package prose

import "strings"

// leadIn is the first line of the paragraph right above a list that says in which case, how often or what for the list is, 0 where
// none does. The list belongs below it: alone, its entries would be done in every case.
func (c *reader) leadIn(head, list int) int {
	last := list - 1
	for last > head && c.kinds[last] == emptyLine {
		last--
	}
	if last <= head || c.kinds[last] != textLine {
		return 0
	}
	first := last
	for first-1 > head && c.kinds[first-1] == textLine {
		first--
	}
	if strings.ContainsAny(strings.TrimSpace(c.line(first))[:1], "|>") || last-first >= maxLeadLines {
		return 0
	}
	text := unbold(strings.TrimSpace(c.line(first)))
	switch {
	case limits(strings.ToLower(text)):
		return first
	case !strings.HasSuffix(strings.TrimRight(strings.TrimSpace(c.line(last)), "*_"), ":"):
		return 0
	case onlyWhere(strings.ToLower(text)):
		return first
	case announces(lastSentence(strings.ToLower(strings.TrimSpace(c.line(last))))):
		return 0
	}
	return first
}

// maxLeadLines bounds a paragraph that is a step. A longer one stays above the tree.
const maxLeadLines = 6

// onlyWhere reports whether a text in lower case begins with a word that says when or for what the rest holds.
func onlyWhere(lower string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(lower, "*_ "), " ")
	switch strings.Trim(word, "*_:,") {
	case "if", "when", "whenever", "unless", "until", "while", "after", "before", "once", "for", "optional", "optionally", "otherwise", "during", "only", "without":
		return true
	}
	return false
}

// governs reports whether a paragraph in lower case is for one case, or says in which case or how often what stands beside it is done.
func governs(lower string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(lower, "*_>⚠️!- "), " ")
	switch strings.Trim(word, "*_:") {
	case "if", "when", "for", "unless", "while", "until", "once":
		return true
	}
	return limits(lower)
}

// limits reports whether a paragraph in lower case says in which case, or how often, what stands beside it is done.
func limits(lower string) bool {
	plain := strings.TrimLeft(lower, "*_>⚠️!- ")
	word, _, _ := strings.Cut(plain, " ")
	switch strings.Trim(word, "*_:") {
	case "condition", "precondition", "loop", "exit", "repeat", "skip", "gate", "trigger", "only", "applies", "optional", "conditional":
		return true
	}
	if holdsOne(plain, "skip", "omit", "deviat") { // "skipping one only when it does not apply"
		plain = strings.NewReplacer("only when ", "", "only if ", "").Replace(plain)
	}
	return holdsOne(plain, "only do this", "do this only", "only if ", "only when ", "only run ", "skip this", "skip only", "skipped only", "skip it", "skip with", "skipped with", "skip if", "skip when", "skip unless", "this step is ", "this phase is ", "not needed if", "not needed when", "run this only", "does not apply", "only applies", "only for ")
}

// lastSentence is what stands behind the last sentence that ends in a text.
func lastSentence(text string) string {
	for _, end := range [...]string{". ", "! ", "? ", ":** "} {
		if i := strings.LastIndex(text, end); i >= 0 {
			text = text[i+len(end):]
		}
	}
	return text
}

// announces reports whether a text in lower case only says that the steps follow.
func announces(lower string) bool {
	return holdsOne(lower, stepWords[:]...) || holdsOne(lower, "follow", "these", "below", "in order", "task", "phase", "checklist", "you must", "you should", "you will", "i will", "do this")
}

// under puts items below their heading where that says in which case they are done.
func (c *reader) under(head int, items []*item) []*item {
	if head < c.doc.BodyLine || c.kinds[head] != headLine {
		return items
	}
	text := clean(headText(c.line(head)))
	if !onlyWhere(strings.ToLower(text)) {
		return items
	}
	return []*item{{line: head, text: strings.TrimRight(text, ":") + ":", kids: items}}
}
