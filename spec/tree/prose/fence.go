package prose

import "strings"

// A fence is a code block that is open: the characters that close it, "" where none is open, and how many blocks of an example of Markdown
// are open in it. By the rules of Markdown the first bare fence in such a block would end it, and what follows would be headings and
// lists of the skill: who wrote "```bash" inside of "```markdown" means that its end is that of the inner one.
type fence struct {
	mark   string
	nests  bool // it is an example of Markdown
	inside int
}

// opens begins a block if a line without blanks around it opens one.
func (f *fence) opens(text string) bool {
	mark, info := cutFence(text)
	if mark == "" || mark[0] == '`' && strings.Contains(info, "`") {
		return false
	}
	word, _, _ := strings.Cut(info, " ")
	*f = fence{mark: mark, nests: word == "markdown" || word == "md"}
	return true
}

// holds takes a line of an open block. Behind the last one none is open.
func (f *fence) holds(text string) {
	mark, info := cutFence(text)
	switch {
	case mark == "" || mark[0] != f.mark[0]:
	case info != "":
		if f.nests && !strings.Contains(info, "`") {
			f.inside++
		}
	case f.inside > 0:
		f.inside--
	case len(mark) >= len(f.mark):
		f.mark = ""
	}
}

// cutFence cuts "```go" after its mark, which is "" if a line does not begin with one.
func cutFence(text string) (mark, info string) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return "", ""
	}
	run := len(text) - len(strings.TrimLeft(text, text[:1]))
	if run < 3 {
		return "", ""
	}
	return text[:run], strings.TrimSpace(text[run:])
}
