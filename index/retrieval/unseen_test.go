package retrieval

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	Confidence float64   `json:"confidence"`
	Stop       bool      `json:"stop"`
	Right      bool      `json:"right"`
	X          []float64 `json:"x,omitempty"`
	Own        float64   `json:"own"`  // reciprocal rank
	BM25       float64   `json:"bm25"` // the same of chunks of 50 lines
	Own10      float64   `json:"own10"`
	Handles    int       `json:"handles"`
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
	a := asked{Repository: c.name, Set: strings.TrimPrefix(q.set, "P "), Text: q.text, Confidence: p.Guidance.Confidence, Stop: p.Guidance.StopQuerying, Right: rightPack(q, p), Handles: len(p.Handles)}
	_, a.Own = recalls(q, own, q.rightSpan)
	_, a.BM25 = recalls(q, base, q.rightSpan)
	if a.Own > 0 {
		a.Own10 = 1
	}
	return a
}

// A measured says how far the guidance of served packs can be believed, and how well they are found.
type measured struct {
	Questions int        `json:"questions"`
	Right     float64    `json:"right"`
	Brier     float64    `json:"brier"`
	Relative  float64    `json:"brier_of_best_constant"` // Brier divided by that of the constant that fits best
	RelBounds [2]float64 `json:"brier_95"`
	AUC       float64    `json:"auc"`
	AUCBounds [2]float64 `json:"auc_95"`
	Stopped   float64    `json:"stopped"`
	StopWrong float64    `json:"stop_wrong"` // of those
	StopBound [2]float64 `json:"stop_wrong_95"`
	MRR       float64    `json:"mrr_10"`
	BM25      float64    `json:"mrr_10_bm25"`
	Ratio     float64    `json:"mrr_ratio"`
	RatioHas  [2]float64 `json:"mrr_ratio_95"`
	Recall    float64    `json:"recall_10"`
}

func measureAsked(list []asked) measured {
	m := measured{Questions: len(list)}
	if len(list) == 0 {
		return m
	}
	m.Right, m.Stopped, m.Recall = meanOf(list, func(a asked) float64 { return truth(a.Right) }), meanOf(list, func(a asked) float64 { return truth(a.Stop) }), meanOf(list, func(a asked) float64 { return a.Own10 })
	m.Brier, m.MRR, m.BM25 = meanOf(list, squared), meanOf(list, func(a asked) float64 { return a.Own }), meanOf(list, func(a asked) float64 { return a.BM25 })
	relative := func(l []asked) float64 {
		p := meanOf(l, func(a asked) float64 { return truth(a.Right) })
		if p == 0 || p == 1 {
			return 0 // a constant is perfect
		}
		return meanOf(l, squared) / (p * (1 - p))
	}
	wrong := func(l []asked) float64 {
		return meanOf(filter(l, func(a asked) bool { return a.Stop }), func(a asked) float64 { return 1 - truth(a.Right) })
	}
	ratio := func(l []asked) float64 {
		return meanOf(l, func(a asked) float64 { return a.Own }) / max(meanOf(l, func(a asked) float64 { return a.BM25 }), 1e-9)
	}
	m.Relative, m.RelBounds = round(relative(list)), resampled(list, relative)
	m.AUC, m.AUCBounds = round(auc(list)), resampled(list, auc)
	m.StopWrong, m.StopBound = round(wrong(list)), resampled(list, wrong)
	m.Ratio, m.RatioHas = round(ratio(list)), resampled(list, ratio)
	m.Right, m.Stopped, m.Recall, m.Brier, m.MRR, m.BM25 = round(m.Right), round(m.Stopped), round(m.Recall), round(m.Brier), round(m.MRR), round(m.BM25)
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

func logMeasured(t *testing.T, list []asked) map[string]measured {
	// Names are what an index is best at, and what is not there cannot be found: neither counts for the goals.
	out := map[string]measured{"all": measureAsked(filter(list, func(a asked) bool { return a.Set != "name" && a.Set != "absent" }))}
	for _, a := range list {
		if _, ok := out[a.Set]; !ok {
			out[a.Set] = measureAsked(filter(list, func(b asked) bool { return b.Set == a.Set }))
		}
	}
	for _, set := range slices.Sorted(maps.Keys(out)) {
		m := out[set]
		t.Logf("%-9s n %4d right %.3f  Brier %.4f, relative %.3f %.3f  AUC %.3f %.3f  stop %.3f wrong %.3f %.3f  MRR %.3f bm25 %.3f ratio %.2f %.2f recall %.3f", set, m.Questions, m.Right, m.Brier, m.Relative, m.RelBounds,
			m.AUC, m.AUCBounds, m.Stopped, m.StopWrong, m.StopBound, m.MRR, m.BM25, m.Ratio, m.RatioHas, m.Recall)
	}
	return out
}

// What do the tuning repositories say about guidance and ranking? SKL_TEST_RETRIEVAL=unseen-tune prints it, and coefficients for
// rank.DefaultCalibration. The judging repositories are not touched.
func TestTuneUnseen(t *testing.T) {
	if os.Getenv("SKL_TEST_RETRIEVAL") != "unseen-tune" {
		t.Skip("skipped: SKL_TEST_RETRIEVAL is not unseen-tune")
	}
	var list []asked
	var samples []rank.Sample
	var before []question
	for _, c := range libraries(t, false) {
		questions := prose(c, "")
		before, questions = questions, append(questions, absentOf(before)...)
		dir := t.TempDir()
		c.write(t, dir)
		x := openIndex(t, dir)
		base := baselines(t, c, false)[0]
		for _, q := range questions {
			p, _ := x.evidence(q)
			reply, _ := x.ask(q)
			b, _ := base.ask(q)
			a := judged(c, q, p, reply.hits, b.hits)
			a.X = p.Guidance.Observed[:]
			list = append(list, a)
			samples = append(samples, rank.Sample{X: p.Guidance.Observed, Answered: a.Right})
		}
		x.x.Close()
		t.Logf("%v: %d files, %d questions", c.name, len(c.paths), len(questions))
	}
	logMeasured(t, list)
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
		list[i].Stop = list[i].Confidence >= 0.75
	}
	logMeasured(t, list)
	var b strings.Builder
	for i, f := range rank.Features {
		fmt.Fprintf(&b, " %s %.2f", f, fitted[i])
	}
	t.Logf("fitted:%s", b.String())
	t.Logf("fitted: %#.2f", [len(rank.Features)]float64(fitted))
}

// absentOf makes questions of another repository, which this one has no answer to.
func absentOf(other []question) (out []question) {
	for i, q := range other {
		if q.set != "P config" && q.set != "P name" && i%10 == 0 {
			q.set, q.truth = "P absent", nil
			out = append(out, q)
		}
	}
	return out
}

// path of the results of the judging repositories.
var unseenFile = filepath.Join("testdata", "unseen.json")
