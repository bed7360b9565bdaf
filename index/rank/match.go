package rank

import "sync"

// A match counts the terms of one document. It is kept in a pool.
type match struct {
	cut     cutter
	s       *Scorer
	field   int
	known   int // terms of the field that the question has
	text    []byte
	counts  [maxTerms][fields]int     // of a term in a field
	related [maxTerms][fields]float64 // the closest relation of a term in a field
	last    [maxTerms]int             // where a term was seen in this field, from 1; only in doc and body
	gap     [maxTerms]int             // least distance of a term and the one before it in the question, or 0
	run     run
	first   int  // the term that the name begins with, which of an identifier is the whole; -1 if the question does not have it
	owned   bool // the question has a term of the owner
	joined  bool // the name is words of the question written as one
	asked   bool // the question has the word for the kind
}

var matches = sync.Pool{New: func() any {
	m := new(match)
	m.cut.yield = m.see
	return m
}}

func (m *match) begin(s *Scorer) {
	n := len(s.terms)
	clear(m.counts[:n])
	clear(m.gap[:n])
	clear(m.related[:n])
	m.run = run{}
	m.s, m.first, m.owned, m.joined, m.asked = s, -1, false, false, false
	m.cut.want = &s.starts
}

// read counts the terms of a field and returns how many others it has.
func (m *match) read(field int, text []byte) (others int) {
	if len(text) == 0 {
		return 0
	}
	clear(m.last[:len(m.s.terms)])
	m.run = run{best: m.run.best}
	m.field, m.known, m.cut.count = field, 0, 0
	m.cut.text(text)
	return m.cut.count - m.known
}

func (m *match) readString(field int, text string) (others int) {
	m.text = append(m.text[:0], text[:min(len(text), maxField)]...)
	return m.read(field, m.text)
}

// see counts one term.
func (m *match) see(term []byte) {
	i, ok := m.s.at[string(term)]
	if !ok {
		return
	}
	if m.s.related != nil && m.field != inKind {
		m.relate(m.s.related[i])
		if i >= len(m.s.terms)+m.s.joined {
			return
		}
	}
	m.known++
	leads := m.field == inName && m.cut.count == 1
	if leads {
		m.first = i
	}
	switch {
	case i >= len(m.s.terms):
		m.joined = m.joined || leads
		return
	case m.field == inKind:
		m.asked = true
		return
	}
	m.counts[i][m.field]++
	m.owned = m.owned || m.field == inOwner
	if m.field < inDoc {
		return
	}
	m.last[i] = m.cut.count
	m.follow(i)
	if before := m.s.before[i]; before >= 0 {
		m.near(i, before)
	}
	if next := m.s.next[i]; next >= 0 {
		m.near(next, i)
	}
}

// relate keeps the closest of the relations of a term that has just been seen.
func (m *match) relate(list []relation) {
	for _, r := range list {
		if m.field == inBody {
			r.close = mul(r.close, m.s.w.RelatedBody)
		}
		m.related[r.term][m.field] = max(m.related[r.term][m.field], r.close)
	}
}

// A run is what stands in a text as it stands in the question, word for word.
type run struct {
	term, at int     // that it ends with, and where
	terms    int     // how many there are
	content  int     // how many of them are not Stop
	weight   float64 // of all of them
	best     float64 // the most that a run has of four terms, or of three that are not Stop
}

// follow continues the run with a term that has just been seen, or begins another.
func (m *match) follow(i int) {
	r := &m.run
	if r.terms == 0 || i != r.term+1 || m.cut.count != r.at+1 {
		*r = run{best: r.best}
	}
	r.term, r.at = i, m.cut.count
	r.terms++
	if !m.s.terms[i].Stop {
		r.content++
	}
	r.weight += m.s.weights[i]
	if r.terms > 3 || r.content > 2 {
		r.best = max(r.best, r.weight)
	}
}

// near keeps the distance of two terms, the second of which has just been seen, or the first.
func (m *match) near(i, before int) {
	if m.last[i] == 0 || m.last[before] == 0 {
		return
	}
	gap := max(1, max(m.last[i], m.last[before])-min(m.last[i], m.last[before]))
	if m.gap[i] == 0 || gap < m.gap[i] {
		m.gap[i] = gap
	}
}
