package author

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// A frame is how a line is read: what is around it, and below what it stands.
type frame struct {
	wrap  string // code, a quote, an element that is closed, struck out; "" is plain text
	place string // headings of its section, entries of lists and the words that lead it in
	parts int    // how many titles are above it, at least one
}

// A ruleAt is where a sentence stands.
type ruleAt struct {
	file  string
	rules bool // among what must or must not be done
	frame
}

// standings are where the rules of a skill stand, by their words. Texts are as shown gives them; nil is as they are.
func standings(fsys fs.FS, shown func(name, text string) string) (map[string][]ruleAt, error) {
	out := map[string][]ruleAt{}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !e.Type().IsRegular() || !isText(name) {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		text := string(data)
		if shown != nil {
			text = shown(name, text)
		}
		in, frames := rules(name, text), framesOf(name, text)
		for _, s := range allSentences(text) {
			if in(s.line) || forbids(s.words) {
				out[s.words] = append(out[s.words], ruleAt{name, in(s.line), frames[min(s.line, len(frames)-1)]})
			}
		}
		return nil
	})
	return out, err
}

// placesOfWords are where a sentence stands, or else those of which it is a part.
func placesOfWords(all map[string][]ruleAt, words string) []ruleAt {
	if at := all[words]; len(at) > 0 {
		return at
	}
	var out []ruleAt
	for longer, at := range all {
		if strings.Contains(" "+longer+" ", " "+words+" ") {
			out = append(out, at...)
		}
	}
	return out
}

// keepsPlace reports whether a sentence stands somewhere as it stood in a file: among rules below the same words, elsewhere as plain text. It
// does where that is not known.
func keepsPlace(was, now []ruleAt, file string) bool {
	here := func(a ruleAt) bool { return a.file == file }
	return len(now) == 0 || !slices.ContainsFunc(was, here) || slices.ContainsFunc(was, func(a ruleAt) bool {
		return here(a) && slices.ContainsFunc(now, func(b ruleAt) bool {
			return a.wrap == b.wrap && (!a.rules || b.rules && a.place == b.place && (a.file != b.file || b.parts <= a.parts))
		})
	})
}

// closed are the tags of elements whose text is not shown, or not as what holds.
var closed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(/?)(del|s|strike|template|script|style|noscript|details)\b`)
})

// framesOf are the frames of the lines of a text, from line 1.
func framesOf(name, text string) []frame {
	out := []frame{{}}
	in := rules(name, text)
	w := framer{parts: 1}
	n := 0
	for line := range strings.Lines(text) {
		n++
		out = append(out, w.next(strings.TrimRight(line, "\r\n"), in(n)))
	}
	return out
}

// A framer reads lines one after the other.
type framer struct {
	fence    string
	elements []string
	heads    []string // of the section, by level from 3
	levels   []int
	items    []entry // the entries that the next line may be below
	lead     string
	before   string // the paragraph that is read
	blank    bool
	titles   int
	parts    int
}

type entry struct {
	indent int
	text   string
}

func (w *framer) next(line string, inRules bool) frame {
	text := strings.TrimSpace(line)
	was := w.fence
	if w.fence = pkgdoc.Fenced(text, was); w.fence != "" || was != "" {
		return w.frame("code")
	}
	wrap := ""
	if len(w.elements) > 0 {
		wrap = "element"
	}
	for _, m := range closed().FindAllStringSubmatch(line, -1) {
		wrap = "element"
		if m[1] == "" {
			w.elements = append(w.elements, m[2])
		} else if len(w.elements) > 0 {
			w.elements = w.elements[:len(w.elements)-1]
		}
	}
	switch {
	case wrap != "":
	case strings.HasPrefix(text, ">"):
		wrap = "quote"
	case strings.Contains(text, "~~"):
		wrap = "struck"
	}
	if text == "" {
		w.blank = true
		return w.frame(wrap)
	}
	level := len(text) - len(strings.TrimLeft(text, "#"))
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if level > 0 && level <= 6 && strings.HasPrefix(text[level:], " ") && indent < 4 {
		w.heading(level, text, inRules)
		return w.frame(wrap)
	}
	body := strings.TrimLeft(text, "-*+0123456789.)")
	item := body != text && strings.HasPrefix(body, " ")
	if item || indent == 0 && w.blank {
		for len(w.items) > 0 && w.items[len(w.items)-1].indent >= indent {
			w.items = w.items[:len(w.items)-1]
		}
	}
	if len(w.items) == 0 && indent >= 4 && wrap == "" {
		wrap = "code"
	}
	f := w.frame(wrap)
	switch {
	case item:
		w.items = append(w.items, entry{indent, plain(body)})
	case len(w.items) == 0:
		w.paragraph(text)
	}
	w.blank = false
	return f
}

// heading begins a section.
func (w *framer) heading(level int, text string, inRules bool) {
	w.items, w.lead, w.before, w.blank = nil, "", "", true
	if level == 1 {
		w.titles++
		w.parts = max(w.titles, 1)
	}
	for len(w.levels) > 0 && w.levels[len(w.levels)-1] >= level {
		w.levels, w.heads = w.levels[:len(w.levels)-1], w.heads[:len(w.heads)-1]
	}
	if inRules && level > 2 {
		w.levels, w.heads = append(w.levels, level), append(w.heads, plain(text))
	}
}

// paragraph reads a line of one: what ends with a colon, or is all in bold, leads in what follows.
func (w *framer) paragraph(text string) {
	if w.blank {
		w.before = ""
	}
	w.before += " " + text
	bare := strings.Trim(strings.TrimSpace(w.before), "*_ ")
	w.lead = ""
	if strings.HasSuffix(strings.TrimRight(bare, "*_ "), ":") || strings.HasPrefix(strings.TrimSpace(w.before), "**") && strings.HasSuffix(strings.TrimSpace(w.before), "**") {
		w.lead = plain(bare)
	}
}

// frame is that of a line where the framer is.
func (w *framer) frame(wrap string) frame {
	place := slices.Clone(w.heads)
	place = append(place, w.lead)
	for _, e := range w.items {
		place = append(place, e.text)
	}
	return frame{wrap, strings.Join(place, "\n"), w.parts}
}

func plain(text string) string {
	var b strings.Builder
	words(&b, text)
	return strings.TrimSpace(b.String())
}
