package skillsearch

import "testing"

func TestTmpSweep(t *testing.T) {
	skills := corpus(t)
	ra, aa := triggerAsks(skills)
	rb, ab := headingAsks(skills)
	some, _ := taskAsks(t)
	aa, _ = halves(aa)
	ab, _ = halves(ab)
	ac, _ := halves(some)
	ad, _ := halves(slips(some))
	eval := func() float64 {
		total := 0.0
		run := func(sk []Skill, w float64, sets ...[]ask) {
			s := New(sk, Options{})
			for _, as := range sets {
				m := measure(t, func(a ask) Answer { return s.Search(a.task, Context{Limit: 10}) }, as, sk, false)
				total += w * (m.MRR + m.Third*.5)
			}
		}
		run(ra, 1, aa)
		run(rb, .5, ab)
		run(skills, 1, ac, ad)
		return total
	}
	best := eval()
	t.Log(best)
	ps := map[string]*float64{}
	for f := range fields {
		ps["w "+fieldName[f]] = &tuned.weight[f]
		ps["l "+fieldName[f]] = &tuned.length[f]
	}
	ps["sat"] = &tuned.saturation
	ps["pair"] = &tuned.pair
	ps["bodyShare"] = &tuned.bodyShare
	ps["background"] = &tuned.background
	ps["alias"] = &tuned.alias
	ps["near"] = &tuned.near
	ps["split"] = &tuned.split
	ps["against"] = &tuned.against
	ps["named"] = &tuned.named
	for pass := 0; pass < 2; pass++ {
		for n, p := range ps {
			was := *p
			for _, m := range []float64{0.5, 0.75, 1.35, 2} {
				v := was * m
				if (n[0] == 'l' && n[1] == ' ' || n == "alias" || n == "near" || n == "split") && v > 1 {
					continue
				}
				old := *p
				*p = v
				if e := eval(); e > best+0.003 {
					t.Logf("%s %.3f -> %.3f: %.4f", n, was, v, e)
					best = e
				} else {
					*p = old
				}
			}
		}
	}
	t.Logf("%+v", tuned)
}
