package author

import (
	"fmt"
	"index/suffixarray"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// minWords is how long a sentence is whose loss is told.
const minWords = 4

// Lost lists the sentences of text files that a draft has nowhere any more, each with its place. A sentence is what ends at a full stop,
// a colon, an empty line or a list item; it is the same wherever it stands, whatever marks it up and however its lines are broken. The path of
// a file that moved to the present layout is the same, too. Of a tree, it also lists nodes by which it waits, chooses or ends, in however few
// words, and the sentences that are new and may take a rule back. What one of the others has is not lost; the last is looked into first.
func Lost(d *Draft, others ...*Text) ([]skill.Loss, error) {
	changes := d.Changes()
	places, err := placesOf(d, changes)
	if err != nil {
		return nil, err
	}
	own := TextOf(d.FS())
	if places != nil {
		own.shown = places.after
	}
	kept := append(slices.Clone(others), own)
	ruled := &Text{fsys: d.FS(), shown: own.rulesOf}
	was, now := &Text{fsys: d.Before(), shown: TextOf(d.Before()).itemsOf}, &Text{fsys: d.FS(), shown: own.itemsOf}
	losses, err := suspended(d, changes)
	if err != nil {
		return nil, err
	}
	losses = append(losses, lostGates(d, others)...)
	becomesTree := sync.OnceValue(func() bool { // what a sentence says is a question or an end then
		_, was := treesOf(d.Before(), d.Name)
		_, is := treesOf(d.FS(), d.Name)
		return is && !was
	})
	var shownBefore func(name, text string) string
	if places != nil {
		shownBefore = places.before
	}
	stood, err := standings(d.Before(), shownBefore)
	if err != nil {
		return nil, err
	}
	stands, err := standings(d.FS(), own.shown)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, l := range losses {
		listed[l.From] = true
	}
	for _, c := range changes {
		if c.Was == nil || !isText(c.Path) {
			continue
		}
		inRules, guard := rules(c.Path, string(c.Was)), guardLines(string(c.Was))
		for _, s := range places.sentences(c.Path, string(c.Was)) {
			found, err := anyHolds(kept, s.words)
			if found && inRules(s.line) {
				found, err = anyHolds(append(slices.Clone(others), ruled), s.words)
				if found && err == nil {
					found, err = keepsForce(was, now, s.words)
				}
			}
			moved := found && err == nil && !keepsPlace(stood[s.words], placesOfWords(stands, s.words), c.Path)
			if err != nil {
				return nil, err
			} else if found && !moved || listed[fmt.Sprintf("%s:%d", c.Path, s.line)] {
				continue
			}
			why := ""
			if found {
				why = ": it stands otherwise now, where it may not hold"
			}
			loss := skill.Loss{Code: skill.LossText, Field: "body", From: fmt.Sprintf("%s:%d", c.Path, s.line), Severity: diag.SeverityWarning,
				Text: fmt.Sprintf("%s:%d: %s%s", c.Path, s.line, diag.Brief(diag.Printable(s.text), 200), why)}
			if inRules(s.line) || (forbids(s.words) || halts(s.words) && !becomesTree()) && !(c.Path == skill.FileName && guard(s.line)) {
				loss.Code, loss.Severity = skill.LossRule, diag.SeverityError
			}
			losses = append(losses, loss)
		}
	}
	return losses, nil
}

// guardLines reports which lines of a SKILL.md are a quote above its sections that asks for a runtime: what it forbids is for agents that have none.
func guardLines(text string) func(line int) bool {
	guard := map[int]bool{}
	var quote []int
	asks, n := false, 0
	end := func() {
		for _, line := range quote {
			guard[line] = asks
		}
		quote, asks = nil, false
	}
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "## ") {
			break
		}
		if !strings.HasPrefix(line, ">") {
			end()
			continue
		}
		quote = append(quote, n)
		asks = asks || strings.Contains(line, "runtime")
	}
	end()
	return func(line int) bool { return guard[line] }
}

// A Text is what the text files of a skill say. They are read when the first sentence is looked for. It is not for concurrent use.
type Text struct {
	fsys  fs.FS
	shown func(name, text string) string // the text as it is looked for; nil is as it is
	index *suffixarray.Index
}

// TextOf is the text of the skill in fsys.
func TextOf(fsys fs.FS) *Text { return &Text{fsys: fsys} }

func (t *Text) holds(sentence string) (bool, error) {
	if t.index == nil {
		var all strings.Builder
		if err := keepWords(&all, t.fsys, t.shown); err != nil {
			return false, err
		}
		t.index = suffixarray.New([]byte(all.String()))
	}
	return len(t.index.Lookup([]byte(" "+sentence+" "), 1)) > 0, nil
}

// anyHolds reports whether one of all texts has a sentence.
func anyHolds(all []*Text, sentence string) (bool, error) {
	for _, t := range slices.Backward(all) {
		if found, err := t.holds(sentence); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// exceptions are words that take something back of the sentence that they follow.
var exceptions = [...]string{"unless", "except", "but", "if", "when", "only", "without", "until"}

// keepsForce reports whether a rule is not followed by an exception that it was not followed by before.
func keepsForce(was, now *Text, sentence string) (bool, error) {
	for _, word := range exceptions {
		weaker, err := now.holds(sentence + " " + word)
		if err != nil || !weaker {
			if err != nil {
				return false, err
			}
			continue
		}
		if before, err := was.holds(sentence + " " + word); err != nil || !before {
			return false, err
		}
	}
	return true, nil
}

// itemsOf is rulesOf with a word in front of each item of a list: what one says is no exception from the one before.
func (t *Text) itemsOf(name, text string) string {
	var b strings.Builder
	for line := range strings.Lines(t.rulesOf(name, text)) {
		rest := strings.TrimLeft(line, " \t")
		if len(rest) > 1 && strings.ContainsAny(rest[:1], "-*+0123456789") {
			b.WriteString("entry entry ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// rulesOf is the part of a text that says what must or must not be done, outside of comments.
func (t *Text) rulesOf(name, text string) string {
	text = uncommented(text)
	if t.shown != nil {
		text = t.shown(name, text)
	}
	in := rules(name, text)
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; in(n) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// uncommented is Markdown with its comments left out, and their lines kept.
func uncommented(text string) string {
	var w strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "<!--")
		w.WriteString(before)
		if !ok {
			return w.String()
		}
		inside, after, closed := strings.Cut(rest, "-->")
		w.WriteString(strings.Repeat("\n", strings.Count(inside, "\n")))
		if !closed {
			return w.String()
		}
		text = after
	}
}

// halts reports whether the words of a sentence say that the work waits for somebody, or ends.
func halts(sentence string) bool {
	text := " " + sentence + " "
	for _, w := range [...]string{" ask the ", " ask which ", " ask whether ", " ask before ", " ask for ", " ask if ", " wait for ", " wait until ", " confirm with ", " approval ", " consent ", " stop and ", " and stop "} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return strings.HasPrefix(text, " stop ") || strings.HasSuffix(text, " stop ")
}

// forbids reports whether the words of a sentence say what is not to be done.
func forbids(sentence string) bool {
	text := " " + sentence + " "
	for _, w := range [...]string{" never ", " do not ", " don't ", " don’t ", " must not ", " mustn't ", " not allowed ", " forbidden ", " under no circumstances "} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// linkInPage is a link to a heading, in this file or another one of the skill.
var linkInPage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\([A-Za-z0-9./_-]*#[^()\s]*\)`) })

// unplaced is a text without where its links to headings lead: a heading that moves takes them along.
func unplaced(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return linkInPage().ReplaceAllString(text, "](#)")
}

// keepWords writes the words of the text files of a skill.
func keepWords(kept *strings.Builder, fsys fs.FS, shown func(name, text string) string) error {
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == ".git" {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !e.Type().IsRegular() || !isText(name) {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		text := string(data)
		if shown != nil {
			text = shown(name, text)
		}
		kept.WriteByte('\n')
		words(kept, unplaced(text))
		return err
	})
}

// rules reports which lines of a text say what must or must not be done: all of a policy, and the section Rules of a skill.
func rules(name, text string) func(line int) bool {
	if policy(name) {
		return func(int) bool { return true }
	}
	if name != skill.FileName {
		return func(int) bool { return false }
	}
	from, to, n := 0, 0, 0
	for line := range strings.Lines(text) {
		n++
		switch heading, ok := strings.CutPrefix(line, "## "); {
		case ok && from == 0 && strings.TrimSpace(heading) == "Rules":
			from = n
		case ok && from > 0 && to == 0:
			to = n
		}
	}
	if to == 0 {
		to = n + 1
	}
	return func(line int) bool { return from > 0 && line > from && line < to }
}

// policy reports whether a file holds rules and nothing else.
func policy(name string) bool {
	return strings.HasPrefix(name, "assets/policies/") || strings.HasPrefix(name, "policies/")
}

func isText(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".markdown", ".mdc":
		return true
	}
	return false
}

// A sentence of a text, with the line that it begins in.
type sentence struct {
	line        int
	words, text string
	count       int // of words
}

// sentences are those of a text that are long enough.
func sentences(text string) []sentence {
	return slices.DeleteFunc(allSentences(text), sentence.short)
}

// short reports whether the loss of a sentence is not told. What is forbidden is told in however few words.
func (s sentence) short() bool { return s.count < minWords && !(s.count > 1 && forbids(s.words)) }

func allSentences(text string) (out []sentence) {
	line, from, start := 1, 0, 1
	front := 0 // end of the frontmatter, whose lines are each by themselves
	if strings.HasPrefix(text, "---") {
		front = max(strings.Index(text, "\n---"), 0)
	}
	flush := func(to int) {
		part := text[from:to]
		var b strings.Builder
		if n := words(&b, unplaced(part)); n > 0 {
			lead := len(part) - len(strings.TrimLeft(part, " \t\r\n"))
			out = append(out, sentence{start + strings.Count(part[:lead], "\n"), strings.TrimSpace(b.String()), strings.Join(strings.Fields(part), " "), n})
		}
		from, start = to, line
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			line++
			rest := strings.TrimLeft(text[i+1:min(len(text), i+201)], " \t>")
			if first, _ := utf8.DecodeRuneInString(rest); i < front || rest == "" || strings.ContainsRune("\r\n-*+#|`~├└│", first) || first >= '0' && first <= '9' {
				flush(i + 1)
			}
		case '.', '!', '?', ':', ';':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\r' || text[i+1] == '\n' {
				flush(i + 1)
			}
		case '|':
			flush(i + 1)
		case 0xe3, 0xef: // marks of Chinese and Japanese
			if r, size := utf8.DecodeRuneInString(text[i:]); strings.ContainsRune("。！？；：", r) {
				i += size - 1
				flush(i + 1)
			}
		}
	}
	flush(len(text))
	return out
}

// words writes the words of a text, in lower case, each between blanks, and counts them.
func words(b *strings.Builder, text string) (n int) {
	b.WriteByte(' ')
	in := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana): // whose words have no blanks between them
			if in {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
			b.WriteByte(' ')
			in = false
			n++
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
			if !in {
				n++
			}
			in = true
		case in && (r != '\'' && r != '’'):
			b.WriteByte(' ')
			in = false
		}
	}
	if in {
		b.WriteByte(' ')
	}
	return n
}
