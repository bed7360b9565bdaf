package skillify

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// Limits of a summary.
const (
	maxSentences = 8
	maxSentence  = 300 // bytes
	maxCites     = 5
	promptBytes  = 24_000 // of what a model is told of a package
)

// A Summary is prose of an overview that a model wrote: sentences that name what they are taken from.
type Summary struct {
	By        string     `json:"by"` // the model
	Sentences []Sentence `json:"sentences"`
}

// A Sentence is one of a summary. Cites are ids of symbols, pages or guides of the package.
type Sentence struct {
	Text  string   `json:"text"`
	Cites []string `json:"cites"`
}

// SummarySchema is the JSON Schema of a model's answer.
const SummarySchema = `{"type":"object","additionalProperties":false,"required":["sentences"],"properties":{"sentences":{"type":"array","minItems":1,"maxItems":8,"items":` +
	`{"type":"object","additionalProperties":false,"required":["text","cites"],"properties":{"text":{"type":"string","minLength":1,"maxLength":300},` +
	`"cites":{"type":"array","minItems":1,"maxItems":5,"items":{"type":"string","minLength":1}}}}}}}`

// SummaryTask is what a model is asked for, without what it is told of the package.
const SummaryTask = `Write 3 to 8 plain sentences for a programmer who decides whether and how to use this package: what it is for, what its main parts are, and how
these work together. Use only what is said below. Each sentence names in "cites" the ids that it is taken from, exactly as they stand below, and
has the words of these: one with many other words is refused. A name of code stands in backticks and is one that stands below. No headings, no links, no lists, no advice about other packages.`

// SummaryData is what a model is told of a package, at most 24,000 bytes: its ids, with the titles and the first sentences of the documentation. It is
// text of somebody else.
func SummaryData(p *pkgdoc.Package) string {
	m := &maker{p: p, name: Name(p)}
	m.count()
	var w strings.Builder
	put := func(format string, args ...any) bool {
		line := strings.Join(strings.Fields(m.clean(fmt.Sprintf(format, args...))), " ") + "\n"
		if w.Len()+len(line) > promptBytes {
			return false
		}
		w.WriteString(line)
		return true
	}
	put("%s %s: %s", p.Name, p.Version, p.Title)
	put("%s", short(p.Text, 1500))
	for i := range p.Guides {
		g := &p.Guides[i]
		var heads []string
		for _, h := range g.Headings {
			heads = append(heads, h.Text)
		}
		put("guide %s: %s. Headings: %s", g.ID, g.Title, short(strings.Join(heads, "; "), 300))
	}
	for _, t := range m.tasks() {
		for _, s := range t.use {
			if !put("%s %s on page %s: %s. %s", s.Kind, s.ID, t.page.ID, t.title, short(firstSentence(s.Text), 200)) {
				return w.String()
			}
		}
	}
	return w.String()
}

// CheckSummary refuses a summary that cites what is not there, names code that the package does not have, says what the entries that it
// cites do not, or is more than plain sentences. Its error says what is wrong, for whoever wrote it.
func CheckSummary(p *pkgdoc.Package, s *Summary) error {
	ids, names := known(p)
	at := entries(p)
	if len(s.Sentences) == 0 || len(s.Sentences) > maxSentences {
		return fmt.Errorf("there are %d sentences, and 1 to %d are wanted", len(s.Sentences), maxSentences)
	}
	for i := range s.Sentences {
		err := s.Sentences[i].check(ids, names)
		if err == nil {
			err = s.Sentences[i].supported(p, at)
		}
		if err != nil {
			return fmt.Errorf("sentence %d: %w", i+1, err)
		}
	}
	return nil
}

// markup is what no sentence needs: links, HTML, headings, what agents expand, and addresses.
var markup = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\]\\(|<[/!a-zA-Z]|https?://|www\\.|[\\r\\n\\t]|^[#>|*-]|!`|\\$\\{|\\$[A-Z0-9]|(^|[ (])@|\\*\\*")
})

// call is a name of code outside of backticks.
var call = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL_.][\pL\pN_.:]*\(`) })

func (s *Sentence) check(ids, names map[string]bool) error {
	text := strings.TrimSpace(s.Text)
	switch {
	case text == "" || len(text) > maxSentence:
		return fmt.Errorf("it has %d bytes, and at most %d are wanted", len(text), maxSentence)
	case len(s.Cites) == 0 || len(s.Cites) > maxCites:
		return fmt.Errorf("it cites %d ids, and 1 to %d are wanted", len(s.Cites), maxCites)
	case markup().MatchString(text):
		return fmt.Errorf("it is more than a plain sentence: %q", markup().FindString(text))
	case strings.Count(text, "`")%2 == 1:
		return fmt.Errorf("a backtick is not closed")
	}
	for _, id := range s.Cites {
		if !ids[id] {
			return fmt.Errorf("there is no id %q", short(id, 80))
		}
	}
	for i, span := range strings.Split(text, "`") {
		if i%2 == 1 {
			if name := strings.TrimSuffix(span, "()"); !names[name] {
				return fmt.Errorf("the package has nothing called %q", short(name, 80))
			}
			continue
		}
		for _, name := range call().FindAllString(span, -1) {
			if name = strings.TrimSuffix(name, "("); !names[name] {
				return fmt.Errorf("the package has nothing called %q", short(name, 80))
			}
		}
	}
	return nil
}

// known are the ids that a sentence can cite, and the names that it can have as code.
func known(p *pkgdoc.Package) (ids, names map[string]bool) {
	ids, names = map[string]bool{}, map[string]bool{p.Name: true, p.Imported(): true}
	for i := range p.Guides {
		ids[p.Guides[i].ID] = true
	}
	for i := range p.Pages {
		page := &p.Pages[i]
		ids[page.ID], names[page.ID] = true, true
		for _, param := range page.Params {
			names[param.Name] = true
		}
		for _, s := range page.Symbols {
			ids[s.ID], names[s.ID], names[s.Name], names[s.Name[strings.LastIndexByte(s.Name, '.')+1:]] = true, true, true, true
			for _, param := range s.Params {
				names[param.Name] = true
			}
		}
	}
	return ids, names
}

// ParseSummary reads a model's answer.
func ParseSummary(by string, answer json.RawMessage) (*Summary, error) {
	s := &Summary{}
	if err := json.Unmarshal(answer, s); err != nil {
		return nil, err
	}
	s.By = by
	return s, nil
}

// summary writes a summary, each sentence with the files that it is taken from.
func (m *maker) summary() string {
	if m.o.Summary == nil {
		return ""
	}
	var w strings.Builder
	fmt.Fprintf(&w, "## Overview\n\nWritten by %s from the entries that each sentence names.\n\n", m.line(escaped(m.o.Summary.By)))
	for _, s := range m.o.Summary.Sentences {
		text := strings.TrimSuffix(m.line(strings.TrimSpace(s.Text)), ".")
		var links []string
		for _, id := range s.Cites {
			if at := m.fileOf(id); at != "" {
				links = append(links, fmt.Sprintf("[%s](%s)", m.line(pkgdoc.Code(m.clean(id))), at))
			}
		}
		slices.Sort(links)
		fmt.Fprintf(&w, "%s (%s).\n", text, strings.Join(slices.Compact(links), ", "))
	}
	return w.String() + "\n"
}

// fileOf is the reference that describes an id.
func (m *maker) fileOf(id string) string {
	if at := m.guideAt[id]; at != "" {
		return at
	}
	if at := m.pageAt[id]; at != "" {
		return at
	}
	for _, page := range m.pagesOf(id) {
		return m.at(page, id)
	}
	return ""
}
