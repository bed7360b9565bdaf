package retrieval

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

var sampled = flag.String("samples", "", "file to write the features of the packs of the tuning half to")

// An asked is what became of a question about a repository.
type asked struct {
	Repository string    `json:"repository"`
	Set        string    `json:"set"`
	Text       string    `json:"text"`
	None       bool      `json:"none"` // there is no answer
	Confidence float64   `json:"confidence"`
	Stop       bool      `json:"stop"`
	Right      bool      `json:"right"`
	Kind       rank.Kind `json:"kind"` // as the index takes it
	X          []float64 `json:"x,omitempty"`
	Own        float64   `json:"own"`   // reciprocal rank
	BM25       float64   `json:"bm25"`  // the same of chunks of 50 lines
	Found      bool      `json:"found"` // among the first 20
}

// rightPack says whether one of the suggested handles of a pack answers.
func rightPack(q question, p query.Pack) bool {
	return slices.ContainsFunc(p.Handles, func(e query.Evidence) bool {
		return slices.Contains(p.ExpandSuggestion, e.ID) && q.rightSpan(hit{e.FilePath, e.LineRange[0], e.LineRange[1], e.TokenCount})
	})
}

func hitsOf(handles []query.Handle) (out []hit) {
	for _, h := range handles {
		out = append(out, hit{h.FilePath, h.LineRange[0], h.LineRange[1], h.TokenCount})
	}
	return out
}

// judged makes an asked of answers.
func judged(c *corpus, q question, p query.Pack, own, base []hit) asked {
	a := asked{Repository: c.name, Set: q.kind(), Text: q.text, None: len(q.truth) == 0, Confidence: p.Guidance.Confidence, Stop: p.Guidance.StopQuerying, Right: rightPack(q, p)}
	_, a.Own = recalls(q, own, q.rightSpan)
	_, a.BM25 = recalls(q, base, q.rightSpan)
	a.Found = slices.ContainsFunc(own[:min(len(own), 20)], q.rightSpan)
	return a
}

// A measured says how far the guidance of served packs can be believed, and how well they are found.
type measured struct {
	Questions int        `json:"questions"`
	None      int        `json:"without_answer"`
	Right     float64    `json:"right"` // packs of which a suggested handle answers
	Brier     float64    `json:"brier"`
	Relative  float64    `json:"brier_of_best_constant"` // Brier divided by that of the constant that fits best
	RelBounds [2]float64 `json:"brier_95"`
	AUC       float64    `json:"auc"` // of confidence, for right packs against all others
	AUCBounds [2]float64 `json:"auc_95"`
	Stopped   float64    `json:"stopped"`
	StopRight float64    `json:"stop_right"` // of those
	StopBound [2]float64 `json:"stop_right_95"`
	StopNone  float64    `json:"stop_without_answer"` // of the questions without an answer: wrong stops
	Refused   float64    `json:"right_not_stopped"`   // of the right packs: wrong refusals
	Followed  float64    `json:"right_by_guidance"`   // for an agent that answers where it is told to stop, and says otherwise that there is no answer
	Always    float64    `json:"right_by_answering"`  // for one that always answers
	MRR       float64    `json:"mrr_10"`              // of the questions with an answer
	BM25      float64    `json:"mrr_10_bm25"`
	Found     float64    `json:"found_20"` // of the questions with an answer: one is among the first 20
	Ratio     float64    `json:"mrr_ratio"`
	RatioHas  [2]float64 `json:"mrr_ratio_95"`
}

func measureAsked(list []asked) measured {
	is := func(f func(asked) bool) func(asked) float64 { return func(a asked) float64 { return truth(f(a)) } }
	none := func(a asked) bool { return a.None }
	right := func(a asked) bool { return a.Right }
	stop := func(a asked) bool { return a.Stop }
	some := func(l []asked) []asked { return filter(l, func(a asked) bool { return !a.None }) }
	m := measured{Questions: len(list), None: len(filter(list, none))}
	if len(list) == 0 {
		return m
	}
	relative := func(l []asked) float64 {
		p := meanOf(l, is(right))
		if p == 0 || p == 1 {
			return 0 // a constant is perfect
		}
		return meanOf(l, squared) / (p * (1 - p))
	}
	rightStops := func(l []asked) float64 { return meanOf(filter(l, stop), is(right)) }
	ratio := func(l []asked) float64 {
		return meanOf(some(l), func(a asked) float64 { return a.Own }) / max(meanOf(some(l), func(a asked) float64 { return a.BM25 }), 1e-9)
	}
	m.Right, m.Stopped, m.Brier = round(meanOf(list, is(right))), round(meanOf(list, is(stop))), round(meanOf(list, squared))
	m.Relative, m.RelBounds = round(relative(list)), resampled(list, relative)
	m.AUC, m.AUCBounds = round(auc(list)), resampled(list, auc)
	m.StopRight, m.StopBound = round(rightStops(list)), resampled(list, rightStops)
	m.StopNone = round(meanOf(filter(list, none), is(stop)))
	m.Refused = round(meanOf(filter(list, right), is(func(a asked) bool { return !a.Stop })))
	m.Followed = round(meanOf(list, is(func(a asked) bool { return a.Stop && a.Right || !a.Stop && a.None })))
	m.Always = m.Right
	m.MRR, m.BM25 = round(meanOf(some(list), func(a asked) float64 { return a.Own })), round(meanOf(some(list), func(a asked) float64 { return a.BM25 }))
	m.Found = round(meanOf(some(list), is(func(a asked) bool { return a.Found })))
	m.Ratio, m.RatioHas = round(ratio(list)), resampled(list, ratio)
	return m
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func squared(a asked) float64 {
	return (a.Confidence - truth(a.Right)) * (a.Confidence - truth(a.Right))
}

func meanOf(list []asked, f func(asked) float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sum := 0.0
	for _, a := range list {
		sum += f(a)
	}
	return sum / float64(len(list))
}

// auc is the probability that a right pack has more confidence than a wrong one.
func auc(list []asked) float64 {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b asked) int { return compareFloat(a.Confidence, b.Confidence) })
	wins, right, wrong := 0.0, 0.0, 0.0
	for i := 0; i < len(sorted); {
		r, w := 0.0, 0.0
		j := i
		for ; j < len(sorted) && sorted[j].Confidence == sorted[i].Confidence; j++ {
			r += truth(sorted[j].Right)
			w += 1 - truth(sorted[j].Right)
		}
		wins += r*wrong + r*w/2
		right, wrong, i = right+r, wrong+w, j
	}
	return wins / max(right*wrong, 1e-9)
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// resampled returns the bounds of 95 % of values of f, by drawing whole repositories: questions of one are not independent.
func resampled(list []asked, f func([]asked) float64) [2]float64 {
	of := map[string][]asked{}
	for _, a := range list {
		of[a.Repository] = append(of[a.Repository], a)
	}
	names := slices.Sorted(maps.Keys(of))
	rng := rand.New(rand.NewPCG(95, uint64(len(list))))
	values := make([]float64, 400)
	for i := range values {
		var drawn []asked
		for range names {
			drawn = append(drawn, of[names[rng.IntN(len(names))]]...)
		}
		values[i] = f(drawn)
	}
	slices.Sort(values)
	return [2]float64{round(values[10]), round(values[389])}
}

// measuredSets measures all questions, and those of each set apart.
func measuredSets(list []asked) map[string]measured {
	out := map[string]measured{"all": measureAsked(list)}
	for _, a := range list {
		if _, ok := out[a.Set]; !ok {
			out[a.Set] = measureAsked(filter(list, func(b asked) bool { return b.Set == a.Set }))
		}
	}
	return out
}

func logMeasured(t *testing.T, name string, sets map[string]measured) {
	t.Helper()
	t.Logf("%s: %-9s %5s %6s %5s %6s %5s %11s %5s %6s %6s %7s %6s %5s %5s %5s", name, "", "n", "right", "Brier", "of con", "AUC", "95 %", "stop", "right", "absent", "refused", "follow", "MRR", "/bm25", "@20")
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		m := sets[set]
		t.Logf("%s: %-9s %5d %6.3f %.3f %6.3f %.3f %.3f-%.3f %.3f %6.3f %6.3f %7.3f %6.3f %.3f %5.2f %.3f", name, set, m.Questions, m.Right, m.Brier, m.Relative, m.AUC, m.AUCBounds[0], m.AUCBounds[1],
			m.Stopped, m.StopRight, m.StopNone, m.Refused, m.Followed, m.MRR, m.Ratio, m.Found)
	}
}

// TestTuneGuidance measures guidance and ranking on the tuning repositories. SKL_TEST_RETRIEVAL=guidance-tune prints
// the results, and coefficients for rank.DefaultCalibration. It touches no held-out repository.
func TestTuneGuidance(t *testing.T) {
	if os.Getenv("SKL_TEST_RETRIEVAL") != "guidance-tune" {
		t.Skip("skipped: SKL_TEST_RETRIEVAL is not guidance-tune")
	}
	var list []asked
	var samples []rank.Sample
	exams(t, false, func(e exam) {
		dir := t.TempDir()
		e.c.write(t, dir)
		x := openIndex(t, dir)
		base := baselines(t, e.c, false)[0]
		for _, q := range e.questions {
			p, _ := x.evidence(q)
			reply, _ := x.ask(q)
			b, _ := base.ask(q)
			a := judged(e.c, q, p, reply.hits, b.hits)
			a.X, a.Kind = p.Guidance.Observed.X[:], p.Guidance.Observed.Kind
			list = append(list, a)
			samples = append(samples, rank.Sample{X: p.Guidance.Observed, Answered: a.Right})
		}
		x.x.Close()
	})
	logMeasured(t, "now", measuredSets(list))
	if *sampled != "" {
		data, err := json.Marshal(list)
		if err == nil {
			err = os.WriteFile(*sampled, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fitted := rank.Fit(samples)
	for i := range list {
		list[i].Confidence = fitted.Probability(samples[i].X)
		list[i].Stop = list[i].Confidence >= rank.Enough
	}
	logMeasured(t, "fitted", measuredSets(list))
	for i, row := range fitted {
		t.Logf("{%s}, // %s", strings.Trim(fmt.Sprintf("%.2f", row), "[]"), append([]string{"all"}, "concept", "name", "config", "error", "sentence")[i])
	}
}
