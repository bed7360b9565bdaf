package skillsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// tuned holds what was chosen by measuring on the tuning half of the tasks; see TestQuality.
var tuned = struct {
	weight, length [fields]float64 // of a field: what a word in it counts, and how much its length takes away
	saturation     float64         // how soon a further occurrence counts nothing
	pair           float64         // of two words side by side, relative to a word
	bodyShare      float64         // how much a word in a body makes it common, relative to one outside
	background     float64         // how many skills the list of common words stands for
	alias          float64         // of a word that means the same
	near           float64         // of the word that was meant by one with a slip
	split          float64         // of a word that is part of a known phrase
	against        float64         // of a word of a clause that says when not to use a skill
	named          float64         // of a name that is in the task as a whole
}{
	weight:     [fields]float64{6, 3, 2, 0.8, 1, 0.5},
	length:     [fields]float64{0.75, 0.4, 0.5, 0.4, 0.5, 0.5},
	saturation: 4,
	pair:       0.3,
	bodyShare:  0.3,
	background: 130,
	alias:      0.75,
	near:       0.9,
	split:      0.6,
	against:    0.5,
	named:      1,
}

// A concept is something that the task asks for: a word, and all that may stand for it.
type concept struct {
	word    string // as a term
	shown   string // as it was written
	weight  float64
	members []member
}

// maxConcepts bounds the time of a search; a task has seldom more than thirty words that say something.
const maxConcepts = 128

// A member is a way to say a concept: a term, or several that must all be there.
type member struct {
	terms  []string
	weight float64
}

// Search returns the skills for a task, of which at most 4 KiB are read.
func (s *Searcher) Search(task string, c Context) Answer {
	limit := c.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	a := Answer{Skills: []Match{}}
	q := s.ask(diag.Head(task, maxTask))
	if len(q.concepts) == 0 || s.index.docs == 0 {
		a.NoGoodMatch = true
		a.Note = "the task has no word to search for"
		if s.index.docs == 0 {
			a.Note = "there are no skills to choose from"
		}
		return a
	}
	scores := s.index.score(&q)
	for i := range scores {
		if scores[i].words > 0 {
			s.finish(&scores[i], &q, c)
		}
	}
	scores = slices.DeleteFunc(scores, func(d scored) bool { return d.value <= 0 })
	if a.Total = len(scores); a.Total == 0 {
		a.NoGoodMatch, a.Note = true, "no skill has a word of the task"
		return a
	}
	order.Sort(scores, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(s.skills[x.doc].Name, s.skills[y.doc].Name), cmp.Compare(x.doc, y.doc))
	})
	a.Gap = 1
	if len(scores) > 1 {
		a.Gap = rounded(1 - scores[1].value/scores[0].value)
	}
	a.Confidence = rounded(s.signs(&q, scores[0]).confidence())
	if a.NoGoodMatch = a.Confidence < goodMatch; a.NoGoodMatch {
		a.Note = "no skill is a good match: these have only some words of the task"
	}
	for _, d := range scores[:min(limit, len(scores))] {
		m := s.match(&q, d)
		if a.Note == "" && slices.ContainsFunc(a.Skills, func(o Match) bool { return o.Name == m.Name }) {
			a.Note = "several skills have one name: source and digest tell them apart"
		}
		a.Skills = append(a.Skills, m)
	}
	return a
}

// A question is a task as concepts.
type question struct {
	terms    []string // that say something, in order, without repetitions
	all      []string // every term, in order
	concepts []concept
	pairs    []string
}

func (s *Searcher) ask(task string) question {
	var q question
	stop := stopWords()
	part := map[string]bool{}
	for _, t := range rank.Ask(task).Terms {
		if t.Part {
			part[t.Text] = true
		}
	}
	written := map[string]string{}
	var joined []concept
	last := ""
	for w := range strings.FieldsFuncSeq(strings.ToLower(task), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, t := range termsOf(w) {
			if written[t] == "" {
				written[t] = w
			}
		}
		// "play wright" may be one word.
		if whole := termsOf(last + w); last != "" && len(whole) == 1 && s.index.outside(whole[0]) {
			joined = append(joined, concept{word: whole[0], shown: last + w, weight: 1, members: []member{{whole, 1}, {append(termsOf(last), termsOf(w)...), 1}}})
		}
		last = w
	}
	q.all = termsOf(task)
	seen := map[string]bool{}
	before := ""
	for _, t := range q.all {
		if stop[t] {
			before = ""
			continue
		}
		if before != "" {
			q.pairs = append(q.pairs, before+" "+t)
		}
		before = t
		if seen[t] {
			continue
		}
		if seen[t] = true; len(q.terms) == maxConcepts {
			continue
		}
		q.terms = append(q.terms, t)
		k := concept{word: t, shown: cmp.Or(written[t], t), weight: 1, members: []member{{[]string{t}, 1}}}
		if part[t] {
			k.weight = 0.5
		}
		if len(s.index.postings[t]) == 0 {
			if near := s.index.near(t); len(near) > 0 {
				k.members = near
			}
		}
		q.concepts = append(q.concepts, k)
	}
	for _, k := range joined {
		if !seen[k.word] {
			q.split(k.members[1].terms)
			q.concepts = append(q.concepts, k)
		}
	}
	if s.words != nil {
		s.words.widen(&q, s.index)
	}
	slices.Sort(q.pairs)
	q.pairs = slices.Compact(q.pairs)
	return q
}

// split makes words count less that are a part of a phrase which is a concept itself.
func (q *question) split(phrase []string) {
	for i := range q.concepts {
		if slices.Contains(phrase, q.concepts[i].word) {
			q.concepts[i].weight = min(q.concepts[i].weight, tuned.split)
		}
	}
}

// widen adds to each concept what means the same.
func (v *vocabulary) widen(q *question, x *index) {
	concepts := q.concepts
	for i := range q.all {
		for _, u := range v.starts[q.all[i]] {
			seq := v.phrase(u)
			if i+len(seq) > len(q.all) || !slices.Equal(q.all[i:i+len(seq)], seq) {
				continue
			}
			same := []member{}
			for n, other := range v.groups[u.group] {
				if n != u.phrase {
					same = append(same, member{other, tuned.alias})
				}
			}
			if len(seq) == 1 {
				for n := range concepts {
					if concepts[n].word == seq[0] {
						concepts[n].members = append(concepts[n].members, same...)
					}
				}
				continue
			}
			if slices.ContainsFunc(q.concepts, func(k concept) bool { return slices.Equal(k.members[0].terms, seq) }) {
				continue
			}
			q.split(seq)
			q.concepts = append(q.concepts, concept{strings.Join(seq, " "), strings.Join(seq, " "), 1, append([]member{{seq, 1}}, same...)})
		}
	}
}

// near returns the words that t may be a slip of, or a short or long form of.
func (x *index) near(t string) []member {
	if len(t) < 5 {
		return nil
	}
	var best []member
	found := 3
	for _, w := range x.short {
		if d := len(w) - len(t); d < -2 || d > 2 {
			if len(t) >= 5 && len(w) > 5 && (strings.HasPrefix(w, t) || strings.HasPrefix(t, w)) && found > 2 {
				best = append(best, member{[]string{w}, tuned.alias})
			}
			continue
		}
		if len(w) < 4 || w[0] != t[0] && (len(w) < 2 || w[1] != t[0] && w[0] != t[1]) {
			continue
		}
		allowed := 1
		if len(t) >= 8 {
			allowed = 2
		}
		d := distance(w, t, min(allowed, found))
		switch {
		case d > allowed || d > found:
		case d < found:
			found, best = d, []member{{[]string{w}, tuned.near}}
		default:
			best = append(best, member{[]string{w}, tuned.near})
		}
	}
	return best[:min(len(best), 4)]
}

// distance returns how many bytes must be put in, left out, replaced or swapped with the next to make b of a; more
// than limit are limit+1.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 {
		return limit + 1
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(last[j-1]+change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
	}
	return min(rows[len(a)%3][len(b)], limit+1)
}

// A scored document.
type scored struct {
	doc     int
	value   float64
	words   int // concepts it has
	pairs   float64
	against float64
	named   float64
	prior   float64
}

// score returns the scores of all documents, without what finish adds.
func (x *index) score(q *question) []scored {
	all := make([]scored, x.docs)
	for i := range all {
		all[i].doc = i
	}
	best := make([]hit, x.docs)
	var touched []uint32
	for i := range q.concepts {
		k := &q.concepts[i]
		touched = touched[:0]
		for _, m := range k.members {
			touched = x.hits(m, k.weight, best, touched)
		}
		for _, doc := range touched {
			all[doc].words++
			all[doc].value += best[doc].value
			best[doc] = hit{}
		}
	}
	for _, p := range q.pairs {
		rare := x.rarity([]string{p})
		for i := range x.postings[p] {
			post := &x.postings[p][i]
			v, _ := x.weigh(post)
			v *= tuned.pair * rare
			all[post.doc].pairs += v
			all[post.doc].value += v
		}
	}
	return all
}

// A hit is the best that one document has for a concept.
type hit struct {
	value   float64
	first   *posting // of the first term
	outside bool     // not only in the body
}

// hits improves best by what documents have of m, and adds to touched those that had nothing.
func (x *index) hits(m member, weight float64, best []hit, touched []uint32) []uint32 {
	first := x.postings[m.terms[0]]
	rare := weight * m.weight * x.rarity(m.terms)
	for i := range first {
		h := x.weighAll(m, &first[i])
		if h.value *= rare; h.value == 0 {
			continue
		}
		b := &best[first[i].doc]
		if b.value == 0 {
			touched = append(touched, first[i].doc)
		}
		if outside := h.outside || b.outside; h.value > b.value {
			*b = h
			b.outside = outside
		} else {
			b.outside = outside
		}
	}
	return touched
}

// hit returns what one document has of m.
func (x *index) hit(m member, weight float64, doc int) hit {
	p := x.posting(m.terms[0], uint32(doc))
	if p == nil {
		return hit{}
	}
	h := x.weighAll(m, p)
	h.value *= weight * m.weight * x.rarity(m.terms)
	return h
}

// weighAll returns how much of m the document of p has, where p is of the first term of m. It is the least of what it
// has of each term.
func (x *index) weighAll(m member, p *posting) hit {
	h := hit{first: p}
	h.value, h.outside = x.weigh(p)
	for _, t := range m.terms[1:] {
		other := x.posting(t, p.doc)
		if other == nil {
			return hit{}
		}
		v, o := x.weigh(other)
		h.value, h.outside = min(h.value, v), h.outside && o
	}
	return h
}

// posting returns what doc has of a term, or nil.
func (x *index) posting(term string, doc uint32) *posting {
	l := x.postings[term]
	if at, ok := slices.BinarySearchFunc(l, doc, func(p posting, d uint32) int { return cmp.Compare(p.doc, d) }); ok {
		return &l[at]
	}
	return nil
}

// weigh returns how much of a term a document has, between 0 and 1.
func (x *index) weigh(p *posting) (value float64, outside bool) {
	norm := &x.norm[p.doc]
	sum := 0.0
	for f, n := range p.count {
		if n > 0 {
			sum += tuned.weight[f] * often(field(f), n) / norm[f]
		}
	}
	return sum / (sum + tuned.saturation), p.outside()
}

// often is what n occurrences in a field count. A body says a word as often as it is long, which is no better than three times.
func often(f field, n uint8) float64 {
	if f == inBody {
		return 4 * float64(n) / (float64(n) + 3)
	}
	return float64(n)
}

// shares splits v by the fields that a posting has its weight from.
func (x *index) shares(p *posting, v float64) (by [fields]float64) {
	sum := 0.0
	for f, n := range p.count {
		by[f] = tuned.weight[f] * often(field(f), n) / x.norm[p.doc][f]
		sum += by[f]
	}
	for f := range by {
		by[f] *= v / sum
	}
	return by
}

// rarity returns how much terms that stand for one concept tell about a skill; of several terms it is their mean.
func (x *index) rarity(terms []string) float64 {
	sum := 0.0
	for _, t := range terms {
		rare, ok := x.rare[t]
		if !ok {
			rare = x.rareness(t, nil)
		}
		sum += rare
	}
	return sum / float64(len(terms))
}

// rareness is the rarity of one term, given where it stands. The list of common words counts as further skills, so that few
// skills do not make every word a rare one.
func (x *index) rareness(term string, l []posting) float64 {
	have, all := tuned.background*common()[term], float64(x.docs)+tuned.background
	for i := range l {
		if l[i].outside() {
			have++
		} else {
			have += tuned.bodyShare
		}
	}
	return math.Log(1 + (all-have+0.5)/(have+0.5))
}

// finish adds what does not come from single words.
func (s *Searcher) finish(d *scored, q *question, c Context) {
	x := s.index
	if not := x.against[d.doc]; not != nil {
		for i := range q.concepts {
			k := &q.concepts[i]
			if len(k.members[0].terms) == 1 && not[k.word] && !x.has(k.word, d.doc) {
				d.against += k.weight * x.rarity(k.members[0].terms) * tuned.against
			}
		}
	}
	if n := x.names[d.doc]; len(n) > 0 && contains(q.all, n) && (len(n) > 1 || len(q.terms) == 1) {
		d.named = tuned.named * float64(len(n))
	}
	d.value = max(d.value-d.against+d.named, 0)
	d.prior = d.value * prior(&s.skills[d.doc], x.langs[d.doc], c)
	d.value = math.Round((d.value+d.prior)*1e6) / 1e6 // the last bits differ between platforms
}

// outside reports whether a term stands in what some skill says of itself.
func (x *index) outside(term string) bool {
	return slices.ContainsFunc(x.postings[term], func(p posting) bool { return p.outside() })
}

// has reports whether a term stands in what a skill says of itself.
func (x *index) has(term string, doc int) bool {
	p := x.posting(term, uint32(doc))
	return p != nil && p.outside()
}

func contains(all, part []string) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// prior is what is known of a skill besides its words: at most a seventh of its score.
func prior(k *Skill, langs []string, c Context) float64 {
	p := 0.0
	if k.Installed {
		p += 0.03
	}
	if k.Verified {
		p += 0.02
	}
	if len(langs) > 0 && len(c.Languages) > 0 {
		if slices.ContainsFunc(langs, func(l string) bool { return slices.Contains(c.Languages, l) }) {
			p += 0.05
		} else {
			p -= 0.05
		}
	}
	return p - 0.03*float64(min(k.Findings, 3))
}

func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
