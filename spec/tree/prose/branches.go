package prose

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// elseWords begin the other branch of a condition. "If not" alone does: with more behind it, it is a condition of its own.
const elseWords = `(?:otherwise\b|else\b|or else\b|alternatively\b|if not[,:]|if neither\b|if none[,:]|failing that\b|in (?:all|any|the|every) other cases?\b|in other cases\b)`

// otherBranch matches a text that begins with a word of the other branch, behind marks of emphasis.
var otherBranch = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i)[*_"“(]*` + elseWords) })

// innerBranch matches such a word where a sentence or clause of a text starts.
var innerBranch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:[.!?;:…)][*_"”’)]*\s+|[→—–]\s*)[*_"“(]*` + elseWords)
})

// lastBranch matches one that nothing follows, and the word before it.
var lastBranch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:(\S+)\s+)?\b(?:otherwise|else|if not|or else|alternatively)[*_]*[:,.…]*$`)
})

// stray reports whether a text speaks of the other branch of a condition that it does not hold.
func stray(text string) bool {
	if otherBranch().MatchString(text) || innerBranch().MatchString(text) {
		return true
	}
	m := lastBranch().FindStringSubmatch(text[max(0, len(text)-80):])
	if m == nil {
		return false
	}
	switch strings.ToLower(m[1]) {
	case "nothing", "anything", "something", "everything", "anyone", "someone", "everyone", "nobody", "anybody", "what", "who", "where", "nowhere", "somewhere", "anywhere":
		return false
	}
	return true
}

// elseOf is what follows the words of the other branch at the start of a text.
func elseOf(text string) (rest string, ok bool) {
	for _, word := range [...]string{"otherwise", "else", "if not"} {
		if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
			continue
		}
		rest = text[len(word):]
		if rest == "" && word != "if not" || rest != "" && (rest[0] == ':' || rest[0] == ',' || rest[0] == ' ' && word != "if not") {
			return strings.TrimLeft(rest, ":, "), true
		}
	}
	return "", false
}

// chain writes an item and the items behind it that are its other branches. Where one of them cannot be told from the
// steps beside it, all stay text: a branch that is cut wrong would be done in the other case.
func (c *reader) chain(items []*item, indent string) {
	out, losses := len(c.out), len(c.losses)
	open := false
	parts := c.split(items)
	if slices.ContainsFunc(parts, c.goesOnBehind) {
		for _, it := range items {
			c.whole(it)
			c.node(it, indent, false)
		}
		c.lose(items[0].line, "nobody can tell whether the text behind its list is for each case or for this one, so it stays text")
		return
	}
	for _, it := range parts {
		open = c.node(it, indent, open)
	}
	if !c.branches(out, indent) || !headless(parts[1:]) && !c.strays(out) {
		return
	}
	c.out, c.from, c.losses = c.out[:out], c.from[:out], c.losses[:losses]
	for _, it := range items {
		c.whole(it)
		c.node(it, indent, false)
	}
	c.lose(items[0].line, "nobody can tell where its branches end, so it stays text")
}

// goesOnBehind reports whether a condition or loop has a paragraph behind the list of its steps: that may be said in any case.
func (c *reader) goesOnBehind(it *item) bool {
	list := false
	for _, k := range it.kids {
		if k.para && list {
			_, cut := conditional(unbold(it.text), true)
			_, _, _, isLoop := loop(unbold(it.text), true)
			return cut || isLoop || otherBranch().MatchString(it.text)
		}
		list = list || !k.para
	}
	return false
}

// split puts paragraphs of a condition that are its other branches behind it, if nothing of the item stands behind them.
func (c *reader) split(items []*item) []*item {
	first := *items[0]
	if c.mode[first.line] != free {
		return items
	}
	at := 0
	for at < len(first.kids) && !first.kids[at].isOther() {
		at++
	}
	if _, ok := conditional(unbold(first.text), at > 0); !ok {
		return items
	}
	for _, k := range first.kids[at:] {
		if !k.isOther() {
			return items
		}
	}
	parts := append([]*item{&first}, first.kids[at:]...)
	first.kids = first.kids[:at:at]
	return append(parts, items[1:]...)
}

// isOther reports whether an item is a paragraph that begins the other branch of something.
func (it *item) isOther() bool { return it.para && otherBranch().MatchString(it.text) }

// headless reports whether one of the items is the other branch of something, and nothing hangs below it.
func headless(items []*item) bool {
	for _, it := range items {
		if rest, ok := elseOf(unbold(it.text)); ok && rest == "" && len(it.kids) == 0 {
			return true
		}
	}
	return false
}

// branches reports whether lines of the tree, from one on, hold an IF of that indentation.
func (c *reader) branches(from int, indent string) bool {
	for _, l := range c.out[from:] {
		if strings.HasPrefix(l, indent+"* IF <<") {
			return true
		}
	}
	return false
}

// strays reports whether lines of the tree, from one on, hold a step that speaks of the other branch of a condition.
func (c *reader) strays(from int) bool {
	for _, l := range c.out[from:] {
		text := strings.TrimPrefix(strings.TrimLeft(l, " "), "* ")
		if text != "ELSE" && stray(text) {
			return true
		}
	}
	return false
}

// whole has an item, and all below it, written as text.
func (c *reader) whole(it *item) {
	c.mode[it.line] = max(c.mode[it.line], plain)
	for _, k := range it.kids {
		c.whole(k)
	}
}
