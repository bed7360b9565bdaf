package skillsearch

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
)

// A field of a skill. What a word says depends on where it stands.
type field uint8

const (
	inName field = iota
	inWhen
	inWhat
	inHeadings // and tags
	inBody
	inFiles // and tools
	fields
)

// fieldName is what an answer calls a field.
var fieldName = [fields]string{"name", "when", "what", "heading", "body", "files"}

// A posting says how often one document has one term in each field.
type posting struct {
	doc   uint32
	count [fields]uint8 // 255 for more
}

// An index knows where each term stands.
type index struct {
	docs     int
	postings map[string][]posting // by term, in order of doc
	rare     map[string]float64   // by term: how much it tells about a skill
	against  []map[string]bool    // terms of the clauses that say when not to use a skill
	norm     [][fields]float64    // what a count is divided by, for the length of the field
	names    [][]string           // terms of the name
	langs    [][]string           // languages that it is about
	short    []string             // terms that stand outside of bodies, sorted: what a misspelled word may mean
}

func newIndex(skills []Skill) *index {
	x := &index{docs: len(skills), postings: map[string][]posting{}, rare: map[string]float64{}, against: make([]map[string]bool, len(skills)),
		norm: make([][fields]float64, len(skills)), names: make([][]string, len(skills)), langs: make([][]string, len(skills))}
	b := builder{ids: map[string]uint32{}}
	var total [fields]float64
	lengths := make([][fields]float64, len(skills))
	for i := range skills {
		b.lengths = [fields]float64{}
		x.add(&b, uint32(i), &skills[i])
		lengths[i] = b.lengths
		for f := range fields {
			total[f] += b.lengths[f]
		}
	}
	for i := range lengths {
		for f := range fields {
			if mean := total[f] / float64(len(skills)); mean > 0 {
				x.norm[i][f] = 1 - tuned.length[f] + tuned.length[f]*lengths[i][f]/mean
			} else {
				x.norm[i][f] = 1
			}
		}
	}
	for i, t := range b.terms {
		x.postings[t] = b.lists[i]
		x.rare[t] = x.rareness(t, b.lists[i])
		if slices.ContainsFunc(b.lists[i], func(p posting) bool { return p.outside() }) && !strings.Contains(t, " ") {
			x.short = append(x.short, t)
		}
	}
	slices.Sort(x.short)
	return x
}

// outside reports whether a term stands somewhere else than in the body or in names of files.
func (p posting) outside() bool {
	return p.count[inName]|p.count[inWhen]|p.count[inWhat]|p.count[inHeadings] != 0
}

// A builder gathers postings.
type builder struct {
	ids     map[string]uint32
	terms   []string
	lists   [][]posting
	lengths [fields]float64 // of the document at hand
	pair    []byte          // the term before, for pairs
}

func (x *index) add(b *builder, doc uint32, s *Skill) {
	name := strings.NewReplacer("-", " ", "_", " ", "/", " ").Replace(diag.Head(s.Name, maxShownName))
	x.names[doc] = termsOf(name)
	b.text(doc, inName, name, true)
	// "draw-io" is also looked for as "drawio".
	parts := strings.Fields(strings.ToLower(name))
	for i := 1; i < len(parts); i++ {
		b.text(doc, inName, parts[i-1]+parts[i], false)
	}
	if len(parts) > 2 {
		b.text(doc, inName, strings.Join(parts, ""), false)
	}
	b.lengths[inName] = float64(len(parts))

	c := ReadClauses(s.Description)
	b.text(doc, inWhat, c.What, true)
	for _, w := range c.When {
		b.text(doc, inWhen, w, true)
	}
	for _, w := range c.WhenNot {
		for _, t := range termsOf(w) {
			if x.against[doc] == nil {
				x.against[doc] = map[string]bool{}
			}
			x.against[doc][t] = true
		}
	}
	for _, t := range s.Tags[:min(len(s.Tags), MaxNames)] {
		b.text(doc, inHeadings, diag.Head(t, maxShown), true)
	}
	body := s.Body[:min(len(s.Body), MaxBody)]
	headings := s.Headings
	if headings == nil {
		headings = Headings(body)
	}
	for _, h := range headings[:min(len(headings), MaxNames)] {
		b.text(doc, inHeadings, diag.Head(h, maxShown), true)
	}
	rank.Terms(body, func(t []byte) { b.count(doc, inBody, t) })
	x.langs[doc] = languages(name, s.Tags, c.What)
	for _, f := range s.Files[:min(len(s.Files), MaxNames)] {
		b.text(doc, inFiles, strings.NewReplacer("/", " ", "-", " ", "_", " ", ".", " ").Replace(diag.Head(f, 2*maxShown)), false)
	}
	for _, t := range s.Tools[:min(len(s.Tools), MaxNames)] {
		b.text(doc, inFiles, diag.Head(t, maxShown), false)
	}
}

// text counts the terms of a text, and with pairs also what stands side by side.
func (b *builder) text(doc uint32, f field, text string, pairs bool) {
	stop := stopWords()
	b.pair = b.pair[:0]
	rank.Terms([]byte(text), func(t []byte) {
		b.count(doc, f, t)
		if !pairs || stop[string(t)] {
			b.pair = b.pair[:0]
			return
		}
		if len(b.pair) > 0 {
			n := len(b.pair)
			b.pair = append(append(b.pair, ' '), t...)
			b.count(doc, f, b.pair)
			b.lengths[f]--
			b.pair = b.pair[n+1:]
			return
		}
		b.pair = append(b.pair, t...)
	})
}

func (b *builder) count(doc uint32, f field, term []byte) {
	b.lengths[f]++
	id, ok := b.ids[string(term)]
	if !ok {
		if len(term) > 64 {
			return
		}
		id = uint32(len(b.terms))
		t := string(term)
		b.ids[t], b.terms, b.lists = id, append(b.terms, t), append(b.lists, nil)
	}
	list := b.lists[id]
	if n := len(list); n == 0 || list[n-1].doc != doc {
		list = append(list, posting{doc: doc})
		b.lists[id] = list
	}
	if c := &list[len(list)-1].count[f]; *c < math.MaxUint8 {
		*c++
	}
}

// Headings returns the headings of a markdown text without their marks, at most MaxNames. It skips fenced code.
func Headings(body []byte) []string {
	var all []string
	fence := ""
	for l := range strings.Lines(string(body)) {
		l = strings.TrimSpace(l)
		switch {
		case fence != "":
			if strings.HasPrefix(l, fence) {
				fence = ""
			}
		case strings.HasPrefix(l, "```"), strings.HasPrefix(l, "~~~"):
			fence = l[:3]
		case strings.HasPrefix(l, "#"):
			text := strings.TrimLeft(l, "#")
			if n := len(l) - len(text); n <= 6 && strings.HasPrefix(text, " ") {
				if all = append(all, strings.TrimSpace(text)); len(all) == MaxNames {
					return all
				}
			}
		}
	}
	return all
}

// languages returns the programming languages that a skill says it is about.
func languages(name string, tags []string, what string) []string {
	var all []string
	add := func(text string, named bool) {
		for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '#' && r != '+' }) {
			l := ""
			switch w {
			case "go":
				if named { // else it is a verb
					l = w
				}
			case "golang":
				l = "go"
			case "c#", "csharp", "dotnet", "aspnet":
				l = "csharp"
			case "c++", "cpp":
				l = "cpp"
			case "python", "javascript", "typescript", "rust", "java", "kotlin", "ruby", "php", "swift", "powershell":
				l = w
			}
			if l != "" && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	add(name, true)
	for _, t := range tags[:min(len(tags), MaxNames)] {
		add(diag.Head(t, maxShown), true)
	}
	add(what, false)
	return all
}
