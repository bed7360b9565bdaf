package rank

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// samples makes packs whose answers follow a known calibration.
func samples(seed int64, n int, truth Calibration) []Sample {
	r := rand.New(rand.NewSource(seed))
	all := make([]Sample, n)
	for i := range all {
		all[i].X.Kind = Kind(r.Intn(int(kinds)))
		all[i].X.X[0] = 1
		for j := 1; j < features; j++ {
			all[i].X.X[j] = r.Float64()
		}
		all[i].Answered = r.Float64() < truth.raw(all[i].X)
	}
	return all
}

func TestFitFindsWhatMadeTheSamples(t *testing.T) {
	truth := Calibration{{-2, 3, 2, 0, 1, -1, 0, 0.5, -1}, {}, {0, 0, -1.5}} // and nothing for other features and kinds
	got := Fit(samples(1, 12000, truth))
	for _, k := range []Kind{Concept, Name, Config, Failure, How, Function} {
		for i := 1; i < features; i++ {
			if x, want := got[0][i]+got[1+k.group()][i], truth[0][i]+truth[1+k.group()][i]; math.Abs(x-want) > 0.7 {
				t.Errorf("%s of %v: %v, want about %v", Features[i], k, x, want)
			}
		}
	}
	judge := samples(2, 5000, truth)
	fitted, known, other := Brier(got, judge), Brier(truth, judge), Brier(Calibration{}, judge)
	if fitted > known+0.003 || other != 0.25 || fitted > other-0.03 {
		t.Errorf("Brier score is %v, of the truth %v, of always one half %v", fitted, known, other)
	}
	if again := Fit(samples(1, 12000, truth)); again != got {
		t.Errorf("%v, and again %v", got, again)
	}
}

func TestFitIsCarefulWithLittle(t *testing.T) {
	if got := Fit(nil); got != (Calibration{}) {
		t.Errorf("of nothing: %v", got)
	}
	one := Sample{Answered: true}
	for i := range one.X.X {
		one.X.X[i] = 1
	}
	if p := Fit([]Sample{one}).Probability(one.X); p < 0.5 || p > 0.8 {
		t.Errorf("one answer makes it %v sure", p)
	}
	all := make([]Sample, 1000)
	for i := range all {
		all[i] = one
		all[i].X.X[1], all[i].Answered = float64(i%2), i%2 == 1
	}
	c := Fit(all)
	if p, q := c.Probability(all[1].X), c.Probability(all[0].X); p < 0.95 || q > 0.05 || c[0][1] > 20 {
		t.Errorf("%v and %v by %v", p, q, c)
	}
}

func TestObserve(t *testing.T) {
	three := []Candidate{
		{Path: "a/x.go", Kind: "method", FirstLine: 1, LastLine: 5, Score: Score{Value: 1, Known: 0.9, Unknown: 0.25, Rest: 1, Rarest: 5, Exact: 0.8, Matched: []string{"pars"}, Parts: []Part{{"name", 0.4}, {"near", 0.1}}}},
		{Path: "a/y.go", Score: Score{Value: 0.75, Coverage: 0.6, Matched: []string{"tabl"}}},
		{Path: "b/z.go", Score: Score{Value: 0.25, Coverage: 0.3}},
	}
	feature := func(o Observed, name string) float64 { return o.X[slices.Index(Features[:], name)] }
	got := Observe(Ask("where is the table parsed early"), three, 10)
	for name, want := range map[string]float64{"one": 1, "value": 0.8, "second": 0.6, "known": 0.9, "unknown": 0.25, "rarest": 0.5, "all": 2.0 / 3, "exact": 0.8, "name": 0.4, "near": 0.3, "body": 0, "code": 1, "gap": 0.25, "file": 0.5, "many": 1.0 / 3} {
		if x := feature(got, name); math.Abs(x-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, x, want)
		}
	}
	if got.Kind != Where {
		t.Errorf("it is a question of %v", got.Kind)
	}
	// One candidate has no more that speaks for it than the best of several which are as usual.
	alone := Observe(Ask("where is it parsed"), three[:1], 10)
	for _, name := range []string{"drop", "second", "gap"} {
		if x := feature(alone, name); x <= 0 || x > 0.5 {
			t.Errorf("%s of one candidate is %v", name, x)
		}
	}
	if got := Observe(Question{}, nil, 0); got != (Observed{}) || DefaultCalibration().Probability(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	strange := Observe(Question{}, []Candidate{{Score: Score{Value: math.NaN(), Coverage: -1, Exact: math.Inf(1)}}, {Score: Score{Value: -3}}}, -5)
	if p := DefaultCalibration().Probability(strange); !(p >= 0 && p <= 1) {
		t.Errorf("%v of %v", p, strange)
	}
}

// The more that speaks for an answer, the surer.
func TestDefaultCalibrationIsSensible(t *testing.T) {
	c := DefaultCalibration()
	matched := []string{"parset", "pars", "tabl"}
	some := func(question string, share, exact, value, inName float64) Observed {
		return Observe(Ask(question), []Candidate{
			{Path: "a/x.go", Kind: "function", LastLine: 20, Score: Score{Value: value, Coverage: share, Known: share, Unknown: 0.6 * (1 - share), Rest: share, Rarest: 2 + 5*share, Exact: exact, Matched: matched[:1+int(2*share)], Parts: []Part{{"name", inName}, {"near", 0.2 * share}, {"body", 0.1 * share}}}},
			{Path: "b/y.go", Kind: "function", Score: Score{Value: value * 0.8, Coverage: share / 2}},
		}, 10)
	}
	poor, good := some("where is the table of contents parsed for customers", 0.2, 0, 0.2, 0), some("parseTable", 1, 1, 3.2, 0.7)
	if p := c.Probability(poor); p >= 0.35 {
		t.Errorf("%v of few words", p)
	}
	if p := c.Probability(good); p < 0.7 {
		t.Errorf("%v of an exact name", p)
	}
}

// A higher score of the best candidate, with nothing else changed (by words in its documentation, for example), never
// makes it less sure.
func TestHigherIsSurer(t *testing.T) {
	c := DefaultCalibration()
	for k := range kinds {
		for _, known := range []float64{0.3, 1} {
			last := 0.0
			for value := 0.05; value < 4; value *= 1.2 {
				top := Candidate{Path: "a", Kind: "function", LastLine: 30, Score: Score{Value: value, Coverage: known, Known: known, Rarest: 4}}
				p := c.Probability(Observe(Question{Kind: k}, []Candidate{top}, 3))
				if p < last {
					t.Errorf("%v with value %.2f: %v after %v", k, value, p, last)
				}
				last = p
			}
		}
	}
}

func BenchmarkFit(b *testing.B) {
	all := samples(1, 2000, Calibration{{-2, 3, 2, 0, 1, -1, 0, 0.5, -1}})
	for b.Loop() {
		Fit(all)
	}
}
