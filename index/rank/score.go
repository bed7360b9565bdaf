package rank

import (
	"bytes"
	"path"
	"strings"
)

const (
	maxBody  = 64 << 10 // bytes of a body that are looked at
	maxField = 16 << 10 // of another field
)

// A Document is something that may answer.
type Document struct {
	Name      string // of the symbol, heading or skill
	Owner     string // of what it belongs to
	Path      string // of the file, with slashes
	Signature string
	Doc       []byte // doc comment or description
	Body      []byte // the first 64 KiB count
	Kind      string // type of node as in JSON, such as "function"
	Tokens    int    // that reading it costs
	Exported  bool
	Made      bool    // a program wrote it
	Lines     int     // that it has; 0 if that is not known
	Prior     float64 // what is known of it besides its text, such as feedback; 0 for nothing, between -1 and 1
}

// A Corpus is what the scores are relative to. The zero Corpus takes all terms for equally rare.
type Corpus struct {
	Documents int
	Length    float64               // mean number of terms of a document
	Frequency func(term string) int // how many documents have the term, roughly
}

// A Score says how well a document answers.
type Score struct {
	Value    float64  // comparable among documents of one question; an excellent answer has about 2, four digits behind the point
	Coverage float64  // share of the question that matched, weighted by how rare the terms are, 0 to 1
	Exact    float64  // 1 if the name is what was asked for, letter by letter; less if nearly, or if more was asked; else 0
	Known    float64  // the same of the terms that the corpus has at all, without Stop terms
	Unknown  float64  // share of the terms, without Stop terms, that the corpus has nowhere: the same for all documents of a question
	Rest     float64  // of the terms that its name does not have, the share that the rest of it has, weighted alike; 1 if its name has all
	Rarest   float64  // how rare the rarest of Matched is: the logarithm of how many documents there are for each that has it
	Matched  []string // terms of the question that it has, in the order of the question, without Stop terms
	Parts    []Part   // what Value is the sum of; without those that are 0
}

// A Part of a score. Place is negative, for tests and what others wrote; prior may be.
type Part struct {
	Name  string  `json:"name"` // "name", "owner", "path", "signature", "doc", "body", "near", "phrase", "option", "cover", "exact", "kind", "exported", "size", "short", "place", "prior"
	Value float64 `json:"value"`
}

// The fields of a document.
const (
	inName = iota
	inOwner
	inPath
	inSignature
	inDoc
	inBody
	fields
	inKind // not scored as a field
)

var fieldNames = [fields]string{"name", "owner", "path", "signature", "doc", "body"}

// Weights are all that can be tuned in a score.
type Weights struct {
	Field      [6]float64 // of one occurrence in name, owner, path, signature, doc and body
	Shorter    [6]float64 // 0 to below 1: how much the number of other terms in the field matters
	Usual      [6]float64 // number of other terms that takes nothing away and adds nothing; of the body it is that of the Corpus
	Saturation float64    // weight of occurrences that gives half of what a term can give

	Stop, Part float64 // of such terms, relative to others

	Text, Near, Cover, Exact    float64 // most that these parts give
	Phrase, Option              float64
	Kind, Asked, Exported, Size float64
	Prior                       float64
	Related                     float64 // of an occurrence of a term that is related to one of the question as close as can be, relative to one of that term
	RelatedBody                 float64 // share of it in a body
	Short                       float64 // what a definition of one line loses; one of two lines loses half of it
	Test, Foreign, Made         float64 // share of the score that tests, the code of others and generated code lose
}

// DefaultWeights returns the weights that New uses.
func DefaultWeights() Weights {
	return Weights{
		Field:      [6]float64{8, 1.2, 4, 5, 2, 0.7},
		Shorter:    [6]float64{0.45, 0.3, 0.8, 0.8, 0.4, 0.95},
		Usual:      [6]float64{4, 3, 8, 12, 25, 0},
		Saturation: 2.4,
		Stop:       0.05,
		Part:       1,
		Text:       1,
		Near:       0.2,
		Cover:      0.18,
		Exact:      0.42,
		Phrase:     0.8,
		Option:     0.6,
		Kind:       0.05,
		Asked:      0.05,
		Exported:   0.05,
		Size:       0.03,
		Prior:      0.15,
		Test:       0.7,
		Foreign:    0.3,
		Made:       0.2,
	}
}

// SentenceWeights returns the weights for questions of several words. What such a question says of the answer stands in all of it, so that
// a name which happens to be one of its words counts less, and which kind of definition it is hardly at all.
func SentenceWeights(k Kind) Weights {
	w := DefaultWeights()
	w.Field[inDoc], w.Field[inBody] = 1.2, 0.9
	w.Near, w.Phrase, w.Cover, w.Exact = 0.45, 0.5, 0.1, 0.2
	w.Kind, w.Exported, w.Size = 0.02, 0, 0.015
	w.Short, w.Made = 0.3, 0.5
	switch k {
	case How, Where, Function, Report: // what is asked for is said in other words than the answer has: those of names tell most
		w.Field = [fields]float64{14, 2.4, 4, 4, 0.6, 0.45}
		w.Saturation = 4.8
		w.Near, w.Phrase, w.Exact, w.Exported, w.Short = 0.05, 0.05, 0.4, 0.05, 0.15
		w.Related, w.RelatedBody = 0.5, 0.5
		if k == Report { // what is changed for it has tests, too
			w.Test = 0.35
		}
	case Failure: // of a message, one text has all the words, and in their order
		w.Field = [fields]float64{4, 1.2, 4, 3, 1.2, 1.5}
		w.Saturation, w.Near, w.Phrase = 1.5, 1.2, 0.8
	}
	return w
}

// kindWeight says how often a kind is what people want, 0 to 1.
func kindWeight(kind string) float64 {
	switch kind {
	case "function", "method", "skill":
		return 1
	case "macro":
		return 0.9
	case "class", "struct", "enum", "op", "node":
		return 0.8
	case "constant", "section", "module":
		return 0.6
	case "code_block", "variable", "field":
		return 0.5
	case "file":
		return 0.4
	case "chunk":
		return 0.3
	case "paragraph":
		return 0.2
	}
	return 0.5
}

// A Scorer scores documents for one question. It may be used concurrently.
type Scorer struct {
	w       Weights
	terms   []Term
	names   []string
	options []string
	at      map[string]int // index in weights of terms and of joined ones, which follow them
	related [][]relation   // of the terms that follow those, and of terms that are also asked for, by what they are related to
	weights []float64      // what a term adds to the coverage; all together 1
	rarity  []float64      // of a term, 0 for one that the corpus does not have
	known   float64        // sum of weights of terms that it has
	unknown float64        // share of terms that it does not
	before  []int          // the term that is no Stop term before one that is none, or -1
	next    []int          // the inverse
	joined  int            // number of joined ones
	pairs   int            // number of terms that have one before
	starts  starts
	length  float64
	tests   bool // the question is about tests
}

// New returns a Scorer.
func New(q Question, c Corpus) *Scorer { return DefaultWeights().New(q, c) }

// New returns a Scorer with other weights.
func (w Weights) New(q Question, c Corpus) *Scorer {
	s := &Scorer{w: w, terms: q.Terms[:min(len(q.Terms), maxTerms)], names: q.Names, options: q.Options, at: map[string]int{}, length: c.Length}
	if !(s.length > 0) {
		s.length = 150
	}
	sum := 0.0
	s.rarity = make([]float64, len(s.terms))
	content, missing := 0, 0
	for i, t := range s.terms {
		s.at[t.Text] = i
		s.starts.add([]byte(t.Text))
		x := 1.0
		if c.Frequency != nil && c.Documents > 0 {
			n := min(max(c.Frequency(t.Text), 0), c.Documents)
			x = ln(1 + (float64(c.Documents-n)+0.5)/(float64(n)+0.5))
			whole := !t.Part && i+1 < len(s.terms) && s.terms[i+1].Part
			if n == 0 && whole {
				x = 0 // nobody calls it that; its parts say what is meant
			}
			if n > 0 {
				s.rarity[i] = x
			} else if !t.Stop && !whole {
				missing++
			}
		} else {
			s.rarity[i] = x
		}
		if !t.Stop {
			content++
		}
		if t.Stop {
			x = mul(x, w.Stop)
		}
		if t.Part {
			x = mul(x, w.Part)
		}
		s.tests = s.tests || t.Text == "test"
		s.weights = append(s.weights, x)
		sum += x
	}
	for i := range s.weights {
		if sum > 0 {
			s.weights[i] /= sum
		} else {
			s.weights[i] = 1 / float64(len(s.weights))
		}
	}
	for i, t := range s.terms {
		if !t.Stop && s.rarity[i] > 0 {
			s.known += s.weights[i]
		}
	}
	s.unknown = float64(missing) / float64(max(1, content))
	s.chain()
	for _, j := range q.Joined {
		if _, ok := s.at[j]; !ok && j != "" {
			s.at[j] = len(s.weights)
			s.starts.add([]byte(j))
			s.weights = append(s.weights, 0)
			s.joined++
		}
	}
	s.relate()
	return s
}

// A relation of a term with one of a question.
type relation struct {
	term  int
	close float64 // 0 to 1
}

// relate adds the terms that often name what those of the question describe.
func (s *Scorer) relate() {
	if s.w.Related == 0 {
		return
	}
	s.related = make([][]relation, len(s.weights))
	for i, t := range s.terms {
		if t.Stop {
			continue
		}
		for term, close := range related(t.Text) {
			j, ok := s.at[term]
			if !ok {
				j = len(s.weights)
				s.at[term] = j
				s.starts.add([]byte(term))
				s.weights = append(s.weights, 0)
				s.related = append(s.related, nil)
			}
			s.related[j] = append(s.related[j], relation{i, mul(s.w.Related, close)})
		}
	}
}

// chain links the terms that are not Stop.
func (s *Scorer) chain() {
	s.before, s.next = make([]int, len(s.terms)), make([]int, len(s.terms))
	last := -1
	for i, t := range s.terms {
		s.before[i], s.next[i] = -1, -1
		if t.Stop {
			continue
		}
		if last >= 0 {
			s.before[i], s.next[last] = last, i
			s.pairs++
		}
		last = i
	}
}

// Score returns the score of d. Its time is linear in the text of d.
func (s *Scorer) Score(d Document) Score {
	m := matches.Get().(*match)
	defer matches.Put(m)
	m.begin(s)
	others := [fields]int{
		m.readString(inName, d.Name), m.readString(inOwner, d.Owner), m.readString(inPath, d.Path), m.readString(inSignature, d.Signature),
		m.read(inDoc, d.Doc[:min(len(d.Doc), maxField)]), m.read(inBody, d.Body[:min(len(d.Body), maxBody)]),
	}
	m.readString(inKind, d.Kind)
	if m.joined {
		for i, t := range s.terms {
			if !t.Stop {
				m.counts[i][inName] = max(1, m.counts[i][inName])
			}
		}
	}

	var r Score
	text := s.text(m, others, &r)
	r.Exact = round4(s.exact(m, &d, others))
	r.Parts = make([]Part, 0, 16)
	for f, x := range text {
		r.add(fieldNames[f], mul(s.w.Text, x))
	}
	r.add("near", mul(s.w.Near, s.near(m)))
	r.add("phrase", mul(s.w.Phrase, m.run.best))
	r.add("option", mul(s.w.Option, s.option(d.Body[:min(len(d.Body), maxBody)])))
	r.add("cover", mul(s.w.Cover, mul(r.Coverage, r.Coverage)))
	r.add("exact", mul(s.w.Exact, r.Exact))
	kind := mul(s.w.Kind, kindWeight(d.Kind))
	if m.asked {
		kind += s.w.Asked
	}
	r.add("kind", mul(r.Coverage, kind))
	if d.Exported {
		r.add("exported", mul(s.w.Exported, r.Coverage))
	}
	r.add("size", mul(s.w.Size, r.Coverage)/(1+ln(float64(max(1, d.Tokens)))))
	if s.w.Short > 0 && d.Lines > 0 {
		r.add("short", -min(r.Value, s.w.Short/float64(d.Lines)))
	}
	r.add("place", -mul(r.Value, s.lost(&d)))
	if d.Prior == d.Prior {
		r.add("prior", mul(s.w.Prior, max(-1, min(1, d.Prior))))
	}
	r.Coverage = round4(min(1, r.Coverage))
	return r
}

// add adds a part.
func (r *Score) add(name string, value float64) {
	if value = round4(value); value != 0 {
		r.Parts = append(r.Parts, Part{name, value})
		r.Value = round4(r.Value + value)
	}
}

// text says what the terms give in each field, all together at most 1, and sets coverage and matched terms.
func (s *Scorer) text(m *match, others [fields]int, r *Score) (sums [fields]float64) {
	var worth [fields]float64 // of one occurrence
	for f := range fields {
		usual := s.w.Usual[f]
		if f == inBody {
			usual = s.length
		}
		worth[f] = s.w.Field[f] / (1 - s.w.Shorter[f] + mul(s.w.Shorter[f], float64(1+others[f])/(1+usual)))
	}
	matched := 0
	rest, left := 0.0, 0.0 // weights of the terms that are not in the name: those that are elsewhere, and all
	for i, t := range s.terms {
		has, beside := m.counts[i] != [fields]int{}, !t.Stop && m.counts[i][inName] == 0
		if beside {
			left += s.weights[i]
		}
		if beside && has {
			rest += s.weights[i]
		}
		var parts [fields]float64
		all := 0.0
		for f, n := range m.counts[i] {
			parts[f] = mul(worth[f], float64(n)+m.related[i][f])
			all += parts[f]
		}
		if all == 0 {
			continue
		}
		if has {
			r.Coverage += s.weights[i]
			if !t.Stop {
				matched++
			}
		}
		each := s.weights[i] / (s.w.Saturation + all)
		for f, x := range parts {
			sums[f] += mul(each, x)
		}
	}
	if matched > 0 {
		r.Matched = make([]string, 0, matched)
		for i, t := range s.terms {
			if !t.Stop && m.counts[i] != [fields]int{} {
				r.Matched = append(r.Matched, t.Text)
				r.Rarest = max(r.Rarest, s.rarity[i])
				if s.rarity[i] > 0 {
					r.Known += s.weights[i]
				}
			}
		}
	}
	if r.Rest = 1; left > 0 {
		r.Rest = min(1, rest/left)
	}
	r.Unknown = s.unknown
	if s.known > 0 {
		r.Known = min(1, r.Known/s.known)
	}
	return sums
}

// exact says how exactly the name or the path of d is what was asked for; others counts the terms of fields that the question does not have.
func (s *Scorer) exact(m *match, d *Document, others [fields]int) float64 {
	level, asked := 0.0, false
	for _, n := range s.names {
		switch {
		case n == d.Name:
			level, asked = 1, true
		case len(n) == len(d.Name) && strings.EqualFold(n, d.Name):
			level, asked = max(level, 0.95), true
		case strings.HasSuffix(d.Path, n) && (len(n) == len(d.Path) || d.Path[len(d.Path)-len(n)-1] == '/'):
			return 0.8
		}
	}
	share := 0.0 // of the question that the name is
	for i := range s.terms {
		if m.counts[i][inName] > 0 {
			share += s.weights[i]
		}
	}
	switch {
	case asked && m.owned && others[inOwner] == 0:
		return level // with the owner before it, or words about it
	case asked:
		return mul(level, max(0.6, min(1, share)))
	case m.joined:
		return 0.85
	case m.first >= 0 && others[inName] == 0:
		return mul(0.8, min(1, share))
	case m.first < 0 && others[inName] == 1 && share > 0: // an identifier whose parts the question has in another order
		return mul(0.6, min(1, share))
	}
	return 0
}

// option says which share of the options that are asked for stand in text as they do where they are declared or documented: in quotes or
// marks, as a flag, a key or a field.
func (s *Scorer) option(text []byte) float64 {
	n := 0
	for _, o := range s.options {
		for rest := text; ; {
			i := bytes.Index(rest, []byte(o))
			if i < 0 {
				break
			}
			end := i + len(o)
			if i > 0 && end < len(rest) && bytes.IndexByte([]byte("\"'`[.-"), rest[i-1]) >= 0 && bytes.IndexByte([]byte("\"'`],:= \n"), rest[end]) >= 0 {
				n++
				break
			}
			rest = rest[end:]
		}
	}
	return float64(n) / float64(max(1, len(s.options)))
}

// near says how close terms stand that are neighbours in the question, 0 to 1.
func (s *Scorer) near(m *match) float64 {
	if s.pairs == 0 {
		return 0
	}
	sum := 0.0
	for i := range s.terms {
		if m.gap[i] > 0 {
			sum += 4 / float64(3+m.gap[i])
		}
	}
	return sum / float64(s.pairs)
}

// lost returns the share of the score that the place of a document costs, and who wrote it.
func (s *Scorer) lost(d *Document) float64 {
	var lost float64
	if !s.tests && IsTest(d.Path) && !s.testsOf(d.Path) {
		lost = s.w.Test
	}
	if IsForeign(d.Path) {
		lost = max(lost, s.w.Foreign)
	}
	if d.Made || IsMade(d.Path) {
		lost = max(lost, s.w.Made)
	}
	return lost
}

// testsOf says whether a file is called after one that is asked for: its tests are asked for too.
func (s *Scorer) testsOf(p string) bool {
	for _, n := range s.names {
		file := path.Base(n)
		if stem := strings.TrimSuffix(file, path.Ext(file)); stem != file && stem != "" && isFile(path.Ext(file)[1:]) && strings.Contains(path.Base(p), stem) {
			return true
		}
	}
	return false
}
