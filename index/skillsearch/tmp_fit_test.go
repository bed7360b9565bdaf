package skillsearch

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

func TestTmpFeatures(t *testing.T) {
	skills := corpus(t)
	out, _ := os.Create("/tmp/ss/feat.tsv")
	defer out.Close()
	emit := func(set string, s *Searcher, sk []Skill, a ask, half string) {
		q := s.ask(a.task)
		sc := s.index.score(&q)
		for i := range sc {
			s.finish(&sc[i], &q, Context{})
		}
		slices.SortFunc(sc, func(x, y scored) int {
			if x.value > y.value {
				return -1
			} else if x.value < y.value {
				return 1
			}
			return x.doc - y.doc
		})
		right := 0
		if slices.Contains(a.right, sk[sc[0].doc].Name) {
			right = 1
		}
		f := s.features(&q, sc)
		fmt.Fprintf(out, "%s\t%s\t%d", set, half, right)
		for _, v := range f {
			fmt.Fprintf(out, "\t%.4f", v)
		}
		fmt.Fprintf(out, "\t%s\t%s\n", a.task, sk[sc[0].doc].Name)
	}
	half := func(a ask) string {
		tune, _ := halves([]ask{a})
		if len(tune) > 0 {
			return "t"
		}
		return "j"
	}
	rest, asks := triggerAsks(skills)
	s := New(rest, Options{})
	for _, a := range asks {
		emit("a", s, rest, a, half(a))
	}
	s = New(skills, Options{})
	some, none := taskAsks(t)
	for _, a := range some {
		emit("c", s, skills, a, half(a))
	}
	for _, a := range none {
		emit("none", s, skills, a, half(a))
	}
	// few skills
	for i, a := range some {
		var few, without []Skill
		for j, k := range skills {
			if slices.Contains(a.right, k.Name) {
				few = append(few, k)
			} else if (j*7+i*13)%20 == 0 {
				few = append(few, k)
				without = append(without, k)
			}
		}
		emit("few", New(few, Options{}), few, a, half(a))
		emit("fewnone", New(without, Options{}), without, a, half(a))
	}
}
