package skillsearch

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
)

// match describes a document that was found.
func (s *Searcher) match(q *question, d scored) Match {
	k := &s.skills[d.doc]
	m := Match{Name: line(k.Name, maxShownName), Ref: line(cmp.Or(k.Ref, k.Name), maxShownName), Version: line(k.Version, 32), Installed: k.Installed,
		Description: summary(k.Description), Trust: line(k.Trust, 32), Score: rounded(d.value), Tokens: k.Tokens, Source: line(k.Source, 64),
		Digest: short(k.Digest), Findings: k.Findings, Index: d.doc}
	m.Why, m.Parts = s.why(q, d)
	return m
}

// summary is the part of a description that tells most: what the skill does, else when to use it.
func summary(description string) string {
	c := ReadClauses(description)
	if len(c.What) >= 20 || len(c.When) == 0 {
		return line(cmp.Or(c.What, description), maxShown)
	}
	return line(strings.TrimSpace(c.What+" "+c.When[0]), maxShown)
}

func short(digest string) string {
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok {
		algorithm, hex = "", digest
	} else {
		algorithm += ":"
	}
	return line(algorithm+diag.Head(hex, 12), 32)
}

// why explains a score: the words that gave most, by where they stand, and the sum.
func (s *Searcher) why(q *question, d scored) (why []string, parts []rank.Part) {
	x := s.index
	var words [fields][]string
	var sum [fields]float64
	for i := range q.concepts {
		k := &q.concepts[i]
		var top hit
		for _, m := range k.members {
			if h := x.hit(m, k.weight, d.doc); h.value > top.value {
				top = h
			}
		}
		if top.value == 0 {
			continue
		}
		by := x.shares(top.first, top.value)
		at := field(0)
		for f := range fields {
			if sum[f] += by[f]; by[f] > by[at] {
				at = f
			}
		}
		words[at] = append(words[at], k.shown)
	}
	why = []string{}
	for f := range fields {
		if sum[f] > 0 {
			parts = append(parts, rank.Part{Name: fieldName[f], Value: rounded(sum[f])})
		}
		if len(words[f]) > 0 && len(why) < 4 {
			why = append(why, line(fieldName[f]+": "+strings.Join(words[f][:min(len(words[f]), 4)], ", "), 60))
		}
	}
	for _, p := range []rank.Part{{Name: "phrase", Value: d.pairs}, {Name: "exact", Value: d.named}, {Name: "against", Value: -d.against}, {Name: "prior", Value: d.prior}} {
		if p.Value = rounded(p.Value); p.Value != 0 {
			parts = append(parts, p)
		}
	}
	return why, parts
}
