package skillsearch

import "math"

// goodMatch is the confidence below which there is no good match: on the tuning half, a lower one finds few more of the tasks that
// have a skill, and offers more for those that have none.
const goodMatch = 0.55

// signs are what tells whether the first skill of an answer is right. Words are weighed by how rare they are.
type signs struct {
	share     float64 // of the score of a skill that is made of all that is asked for
	score     float64
	concepts  int     // of the task
	covered   float64 // share of them that it has
	named     float64 // share of the words of its name that the task has
	inName    float64 // share of the task that its name has
	described float64 // share of the task that its description has
	unknown   float64 // share of the task that no skill has
}

// confidence is the probability that one of the first three is right. The numbers were fitted to the tuning half of the tasks.
func (g signs) confidence() float64 {
	sum := -8.603 + 4.183*g.share + 1.47*math.Log(1+g.score) + 0.875*math.Log(float64(g.concepts)) + 2.128*g.covered +
		1.307*g.named + 3.465*g.inName + 1.819*g.described - 1.584*g.unknown
	return 1 / (1 + math.Exp(-sum))
}

// signs returns those of the best skill of an answer.
func (s *Searcher) signs(q *question, best scored) signs {
	x := s.index
	g := signs{score: best.value, concepts: len(q.concepts)}
	mass := 0.0
	for i := range q.concepts {
		k := &q.concepts[i]
		rare := k.weight * x.rarity(k.members[0].terms)
		mass += rare
		has, known := x.holds(k, best.doc)
		if has.any {
			g.covered++
		}
		if !known {
			g.unknown += rare
		}
		g.named += has.name
		g.inName += rare * has.name
		g.described += rare * has.description
	}
	g.covered /= float64(len(q.concepts))
	g.named /= float64(max(1, len(x.names[best.doc])))
	if mass > 0 {
		g.share, g.inName, g.described, g.unknown = best.value/mass, g.inName/mass, g.described/mass, g.unknown/mass
	}
	return g
}

// A holding says where a document has a concept, and how well: 0 to 1.
type holding struct {
	any               bool
	name, description float64
}

// holds returns what a document has of a concept, and whether any has some of it.
func (x *index) holds(k *concept, doc int) (has holding, known bool) {
	for _, m := range k.members {
		for _, t := range m.terms {
			known = known || len(x.postings[t]) > 0
		}
		hit := x.hit(m, k.weight, doc)
		if hit.value == 0 {
			continue
		}
		has.any = true
		if hit.first.count[inName] > 0 {
			has.name = max(has.name, m.weight)
		}
		if hit.first.count[inWhen]|hit.first.count[inWhat] > 0 {
			has.description = max(has.description, m.weight)
		}
	}
	return has, known
}
