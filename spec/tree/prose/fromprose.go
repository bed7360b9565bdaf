package prose

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// FromProse writes a SKILL.md whose steps are a list as one with a tree: src with that
// list as section "## Tree", and what a person should look at. name is the
// skill's, "" takes the frontmatter's. The list is the one below a heading that speaks of steps, else the only one that says what to do.
// Where there are lists, and none is surely the steps, it is refused: another list would be a wrong tree.
//
// Items become steps, nested items their detail; "If X: …", "Otherwise: …", "For each X
// in Y:", "Ask …?" with options, "Stop: …" and "Show the plan …: …" become what the
// language has for them. A paragraph right above the list that says in which case, how often or for what it is done ("If X:", "For each
// X:", "BLOCKED: …:") is above its steps in the tree too. A guard and compatibility are added, and Rules and Response where
// there are none. Where there are numbered headings ("Phase 1", "Step 2", "3. Verb …"), the tree
// goes over all of them; what they hold besides a list stays below them. Whatever else the items hold (code, quotes, tables) follows the tree as notes.
func FromProse(src []byte, name string) ([]byte, []string, error) {
	out, c, err := fromProse(src, name, nil)
	if err != nil {
		return nil, nil, err
	}
	return out, c.losses, nil
}

// A writing says how an item is written.
type writing uint8

const (
	free    writing = iota // as what it says
	plain                  // as text for a model, never a branch or question
	led                    // as such text behind a word of its own, so that it begins like nothing of the language
	quoted                 // as that, without marks of the language
	maxMode = quoted
)

// fromProse is FromProse with a mode for the items on some lines. Its reader knows what became of them.
func fromProse(src []byte, name string, mode map[int]writing) ([]byte, *reader, error) {
	mode = maps.Clone(mode)
	if mode == nil {
		mode = map[int]writing{}
	}
	before := maps.Clone(mode)
	for pass := 0; ; pass++ {
		out, c, err := writtenIn(src, name, mode)
		if err != nil {
			return nil, c, err
		}
		if pass == maxConversions || !c.unsaid(mode, out) {
			for _, line := range slices.Sorted(maps.Keys(mode)) {
				if before[line] == free {
					c.lose(line, "it does not say that a negative answer ends the work, as that of a question of a tree does, so it stays text")
				}
			}
			return out, c, nil
		}
	}
}

// writtenIn is one writing of fromProse. Its reader is there besides an error where lists were found, and none that is surely the steps.
func writtenIn(src []byte, name string, mode map[int]writing) ([]byte, *reader, error) {
	doc, err := skill.Read(src)
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		name = doc.Name
	}
	if len(src) > tree.MaxFileBytes {
		return nil, nil, diag.New(diag.Unmet, CodeCannot, "%s is larger than the %d bytes that a tree may have", skill.FileName, tree.MaxFileBytes)
	}
	c := &reader{paper: newPaper(src), doc: doc, mode: map[int]writing{}}
	maps.Copy(c.mode, mode)
	c.scan()
	list, score, led := c.find()
	phases := c.phases(list.head, score < sure || led)
	if text := c.headed(); text != nil && phases == nil {
		other := &reader{paper: newPaper(text), doc: doc, mode: c.mode}
		other.scan()
		l, n, d := other.find()
		if p := other.phases(l.head, n < sure || d); p != nil {
			c, src, list, score, led, phases = other, text, l, n, d, p
		}
	}
	switch {
	case phases != nil || score >= sure:
	case score > nothing:
		list, c.unsure = c.lone()
	default:
		c.unsure = c.hasLists()
	}
	switch {
	case c.hasTree:
		return nil, nil, diag.New(diag.Unmet, CodeHasTree, "%s has a section \"## Tree\" already", diag.Printable(name))
	case c.unsure:
		return nil, c, diag.New(diag.Unmet, CodeNoSteps, "%s has lists, and none that is surely its steps", diag.Printable(name)).
			Hint("put the list of its steps below a heading \"## Steps\"")
	case score == nothing && phases == nil:
		return nil, nil, diag.New(diag.Unmet, CodeNoSteps, "%s has no list of steps to make a tree of", diag.Printable(name)).
			Hint("write its steps as a numbered list below a heading \"## Steps\"")
	}
	c.out, c.from = append(c.out, "* "+label(name)), append(c.from, 0)
	var edits []diag.Fix
	if phases != nil {
		edits = c.ofPhases(phases)
		c.numbers(func(n int) bool {
			return slices.ContainsFunc(phases, func(p phase) bool { return n >= p.first && n <= p.last })
		})
	} else {
		c.numbers(func(n int) bool { return n >= list.first && n <= list.last })
		c.nodes(c.under(list.head, c.items(list)), "  ")
		edits = c.section(list)
		if list.head >= c.doc.BodyLine && c.kinds[list.head] == headLine && !onlySteps(headText(c.line(list.head))) {
			c.lose(list.head, "the list below \""+headText(c.line(list.head))+"\" is the tree now: see whether it is the steps")
		}
	}
	out := skill.Apply(src, append(edits, c.around()...))
	if err := c.proved(out); err != nil {
		return nil, nil, err
	}
	return out, c, nil
}

func label(name string) string {
	if name == "" || strings.ContainsAny(name, " \t\r\n<>|") {
		return "skill"
	}
	return name
}

// A reader turns the lines of a body into items.
type reader struct {
	*paper
	doc     *skill.Document
	kinds   []lineKind // by line number
	heads   []int      // lines of headings
	up      []int      // for each of heads, which of them it is below; -1 for none
	hasTree bool
	open    bool              // a fence or comment that nothing closes runs to the end of the file
	nests   bool              // examples of Markdown hold code blocks
	unsure  bool              // there are lists, and none is surely the steps
	stays   map[string]string // by the heading of a phase below which text stays, the line of the tree that is that phase
	out     []string          // lines of the tree
	from    []int             // the line of the item that each was made of
	at      int               // the line of the item that is written
	mode    map[int]writing
	notes   []string // lines that follow the tree
	noted   int      // blocks in them
	losses  []string
}

type lineKind uint8

const (
	textLine lineKind = iota
	emptyLine
	headLine
	codeLine
	hiddenLine // of an HTML comment
	ruleLine
)

//go:noinline
func (c *reader) lose(line int, text string) {
	if len(c.losses) < maxLosses {
		c.losses = append(c.losses, diag.Position{File: skill.FileName, Line: line}.String()+": "+text)
	}
}

func (c *reader) line(n int) string {
	return strings.TrimRight(string(c.src[c.start(n):c.start(n+1)]), "\r\n")
}

func (c *reader) lastLine() int { return len(c.starts) - 1 }

// scan classifies the lines of the body. Examples of Markdown hold code blocks unless one is open at the end then.
func (c *reader) scan() {
	c.nests = true
	if c.classify(); c.open {
		c.nests = false
		c.classify()
	}
}

func (c *reader) classify() {
	c.kinds, c.heads, c.hasTree = make([]lineKind, c.lastLine()+2), nil, false
	code, comment := fence{}, false
	for n := c.doc.BodyLine; n <= c.lastLine(); n++ {
		l := c.line(n)
		text := strings.TrimSpace(l)
		switch {
		case comment:
			c.kinds[n], comment = hiddenLine, !strings.Contains(text, "-->")
		case code.mark != "":
			c.kinds[n] = codeLine
			code.holds(text)
		case text == "":
			c.kinds[n] = emptyLine
		case code.opens(text):
			c.kinds[n] = codeLine
			code.nests = code.nests && c.nests
		case strings.HasPrefix(text, "<!--"):
			c.kinds[n], comment = hiddenLine, !strings.Contains(text[4:], "-->")
		case headLevel(l) > 0:
			c.kinds[n] = headLine
			c.heads = append(c.heads, n)
			c.hasTree = c.hasTree || headLevel(l) == 2 && headText(l) == "Tree"
		case len(text) >= 3 && strings.Trim(text, text[:1]) == "" && strings.Contains("-*_", text[:1]):
			c.kinds[n] = ruleLine
		}
	}
	c.open = comment || code.mark != ""
	c.up = c.up[:0]
	for i, n := range c.heads {
		up := i - 1
		for up >= 0 && headLevel(c.line(c.heads[up])) >= headLevel(c.line(n)) {
			up = c.up[up]
		}
		c.up = append(c.up, up)
	}
}

func headLevel(l string) int {
	n := len(l) - len(strings.TrimLeft(l, "#"))
	if n == 0 || n > 6 || len(l) > n && l[n] != ' ' && l[n] != '\t' {
		return 0
	}
	return n
}

func headText(l string) string { return strings.TrimSpace(strings.Trim(l, "# \t")) }

// marker finds the bullet or number at the start of a line: its column, and where its
// text starts, 0 if there is none.
func marker(l string) (col, text int, ordered bool) {
	i := 0
	for i < len(l) && (l[i] == ' ' || l[i] == '\t') {
		if l[i] == '\t' {
			col += 4 - col%4
		} else {
			col++
		}
		i++
	}
	j := i
	switch {
	case i == len(l):
		return 0, 0, false
	case strings.IndexByte("*-+", l[i]) >= 0:
		j++
	default:
		for j < len(l) && l[j] >= '0' && l[j] <= '9' {
			j++
		}
		if j == i || j > i+9 || j == len(l) || l[j] != '.' && l[j] != ')' {
			return 0, 0, false
		}
		j, ordered = j+1, true
	}
	if j < len(l) && l[j] != ' ' && l[j] != '\t' {
		return 0, 0, false
	}
	return col, j, ordered
}

func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }

// clean keeps what the language reads as its own out of prose.
func clean(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "[ ] "), "←", "<-")
	if !strings.Contains(s, "<<") && !strings.Contains(s, ">>") {
		return s
	}
	parts := strings.Split(s, "`") // even ones are outside backticks
	for i := 0; i < len(parts); i += 2 {
		for _, op := range [...]string{"<<", ">>"} {
			parts[i] = strings.ReplaceAll(parts[i], op, op[:1]+" "+op[1:])
		}
	}
	return strings.Join(parts, "`")
}

// section are the edits that put the tree in place of the list.
func (c *reader) section(l listing) (edits []diag.Fix) {
	title := ""
	if l.head >= c.doc.BodyLine {
		title = c.line(l.head)
	}
	plain := headLevel(title) == 2 // its heading becomes that of the tree
	for n := l.head + 1; n < l.first; n++ {
		plain = plain && c.kinds[n] == emptyLine
	}
	text := c.text(c.out)
	if plain {
		edits = append(edits, diag.Fix{Start: c.start(l.head), End: c.start(l.head + 1), Text: "## Tree" + c.nl})
	} else {
		text = "## Tree" + c.nl + c.nl + text
	}
	follows := false // text of the same section behind the list
	for n := l.last + 1; n <= c.lastLine() && c.kinds[n] != headLine; n++ {
		if !follows && c.kinds[n] != emptyLine && c.kinds[n] != ruleLine {
			follows = true
			c.lose(n, "it stands behind the list, and is below \"## Notes\" now")
		}
	}
	if c.open { // a section at the end would be part of the block
		text += strings.ReplaceAll(c.tail(), "\n", c.nl)
	}
	if len(c.notes) > 0 || follows || c.open {
		text += c.nl + "## Notes" + c.nl + c.text(c.notes)
	}
	return append(edits, diag.Fix{Start: c.start(l.first), End: c.start(l.last + 1), Text: text})
}

// front are the edits in front of the text: the guard and compatibility.
func (c *reader) front() (edits []diag.Fix) {
	guard := strings.ReplaceAll(c.nl+check.CanonicalGuard, "\n", c.nl)
	if c.nl == "\r\n" {
		guard = strings.ReplaceAll(guard, "\r\r", "\r")
	}
	if !c.blank(c.doc.BodyLine) {
		guard += c.nl
	}
	if c.doc.Body > 0 && c.src[c.doc.Body-1] != '\n' {
		guard = c.nl + guard
	}
	edits = append(edits, diag.Fix{Start: c.doc.Body, End: c.doc.Body, Text: guard})
	if fix, ok := c.compatibility(); ok {
		edits = append(edits, fix)
	}
	return edits
}

// around are the edits outside the list.
func (c *reader) around() []diag.Fix {
	edits := c.front()
	if c.open {
		return edits
	}
	if tail := c.tail(); tail != "" {
		if len(c.src) > 0 && c.src[len(c.src)-1] != '\n' {
			tail = "\n" + strings.TrimSuffix(tail, "\n")
		}
		edits = append(edits, diag.Fix{Start: len(c.src), End: len(c.src), Text: strings.ReplaceAll(tail, "\n", c.nl)})
	}
	return edits
}

// tail are the sections Rules and Response, where they are missing.
func (c *reader) tail() (text string) {
	if !c.hasSection("Rules") {
		text += "\n## Rules\n\n" + ownRule + "\n"
		c.lose(0, "write the rules that hold for every step below \"## Rules\"")
	}
	if !c.hasSection("Response") {
		text += "\n## " + ownResponse + "\n"
		c.lose(0, "name what the skill answers in the heading \"## Response\"")
	}
	return text
}

func (c *reader) hasSection(title string) bool {
	return slices.ContainsFunc(c.heads, func(n int) bool {
		text := headText(c.line(n))
		return headLevel(c.line(n)) == 2 && (text == title || title == "Response" && strings.HasPrefix(text, title))
	})
}

func (c *reader) compatibility() (diag.Fix, bool) {
	for _, f := range c.doc.Fields {
		if f.Key != "compatibility" {
			continue
		}
		old := strings.TrimSpace(c.doc.Compatibility)
		switch {
		case strings.Contains(strings.ToLower(old), "canopy"):
			return diag.Fix{}, false
		case old != "":
			old = " " + old
		}
		if len([]rune(check.CanonicalCompatibility+old)) > 500 {
			c.lose(f.KeySpan.Line, "compatibility is too long for what a tree needs; say there that it needs canopy-runtime or skl")
			return diag.Fix{}, false
		}
		return setField(c.src, f, check.CanonicalCompatibility+old), true
	}
	if len(c.doc.Fields) == 0 {
		return diag.Fix{}, false
	}
	first := c.doc.Fields[0] // before it: the last one may be a block
	at := first.KeySpan.Start - (first.KeySpan.Column - 1)
	last := c.doc.Fields[len(c.doc.Fields)-1]
	if end := max(last.Value.End, last.KeySpan.End); last.Value.Style != skill.Block {
		if i := bytes.IndexByte(c.src[end:c.doc.Body], '\n'); i >= 0 {
			at = end + i + 1
		}
	}
	return diag.Fix{Start: at, End: at, Text: "compatibility: " + check.CanonicalCompatibility + c.nl}, true
}

// proved reads the result as a tree.
func (c *reader) proved(out []byte) error {
	doc, err := skill.Read(out)
	if err != nil {
		return diag.New(diag.Unmet, CodeCannot, "the frontmatter cannot take what a tree needs: %w", err)
	}
	if len(doc.Fields) == 0 || !bytes.Contains(out[doc.Body:], []byte("## Tree")) {
		return diag.New(diag.Unmet, CodeCannot, "the list of steps cannot be made a tree")
	}
	return nil
}
