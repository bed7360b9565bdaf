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
		all[i].X[0] = 1
		for j := 1; j < observations; j++ {
			all[i].X[j] = r.Float64()
		}
		all[i].Answered = r.Float64() < truth.raw(all[i].X)
	}
	return all
}

func TestFitFindsWhatMadeTheSamples(t *testing.T) {
	truth := Calibration{-2, 3, 2, 0, 1, -1, 0, 0.5, -1, 0} // and nothing for the others
	got := Fit(samples(1, 8000, truth))
	for i := range got {
		if math.Abs(got[i]-truth[i]) > 0.5 {
			t.Errorf("%s: %v, want about %v", Features[i], got[i], truth[i])
		}
	}
	judge := samples(2, 5000, truth)
	fitted, known, other := Brier(got, judge), Brier(truth, judge), Brier(Calibration{}, judge)
	if fitted > known+0.002 || other != 0.25 || fitted > other-0.03 {
		t.Errorf("Brier score is %v, of the truth %v, of always one half %v", fitted, known, other)
	}
	if again := Fit(samples(1, 8000, truth)); again != got {
		t.Errorf("%v, and again %v", got, again)
	}
}

func TestFitIsCarefulWithLittle(t *testing.T) {
	if got := Fit(nil); got != (Calibration{}) {
		t.Errorf("of nothing: %v", got)
	}
	one := Sample{Answered: true}
	for i := range one.X {
		one.X[i] = 1
	}
	if p := Fit([]Sample{one}).Probability(one.X); p < 0.5 || p > 0.8 {
		t.Errorf("one answer makes it %v sure", p)
	}
	all := make([]Sample, 1000)
	for i := range all {
		all[i] = one
		all[i].X[1], all[i].Answered = float64(i%2), i%2 == 1
	}
	c := Fit(all)
	if p, q := c.Probability(all[1].X), c.Probability(all[0].X); p < 0.95 || q > 0.05 || c[1] > 20 {
		t.Errorf("%v and %v by %v", p, q, c)
	}
}

func TestObserve(t *testing.T) {
	three := []Candidate{
		{Path: "a/x.go", Score: Score{Value: 1, Coverage: 0.9, Exact: 0.8}},
		{Path: "a/y.go", Score: Score{Value: 0.75, Coverage: 0.6}},
		{Path: "b/z.go", Score: Score{Value: 0.25, Coverage: 0.3}},
	}
	got := Observe(Ask("where is it parsed"), three, 10, true)
	for name, want := range map[string]float64{"one": 1, "where": 1, "how": 0, "coverage": 0.9, "exact": 0.8, "value": 0.5, "gap": 0.25, "spread": 0.5, "together": 0.5, "rest": 0.6, "many": 1.0 / 3, "cut": 1, "symbol": 1} {
		if x := got[slices.Index(Features[:], name)]; math.Abs(x-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, x, want)
		}
	}
	// One candidate has no more that speaks for it than the best of several which are as usual.
	alone := Observe(Ask("where is it parsed"), three[:1], 10, true)
	for _, name := range []string{"gap", "spread", "together", "same file"} {
		if x := alone[slices.Index(Features[:], name)]; x <= 0 || x >= 0.5 {
			t.Errorf("%s of one candidate is %v", name, x)
		}
	}
	if got := Observe(Question{}, nil, 0, false); got != (Observed{}) || DefaultCalibration().Probability(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	strange := Observe(Question{}, []Candidate{{Score: Score{Value: math.NaN(), Coverage: -1, Exact: math.Inf(1)}}, {Score: Score{Value: -3}}}, -5, false)
	if p := DefaultCalibration().Probability(strange); !(p >= 0 && p <= 1) {
		t.Errorf("%v of %v", p, strange)
	}
}

// The more that speaks for an answer, the surer.
func TestDefaultCalibrationIsSensible(t *testing.T) {
	c := DefaultCalibration()
	some := func(kind string, coverage, exact, value, inName, total float64, truncated bool) Observed {
		q := Ask(kind)
		return Observe(q, []Candidate{
			{Path: "a/x.go", Kind: "function", Score: Score{Value: value, Coverage: coverage, Exact: exact, Matched: []string{"pars"}, Parts: []Part{{"name", inName}, {"body", 0.1 * coverage}}}},
			{Path: "b/y.go", Kind: "function", Score: Score{Value: value * 0.8, Coverage: coverage / 2}},
		}, int(total), truncated)
	}
	poor, good := some("where is the table of contents parsed for customers", 0.2, 0, 0.2, 0, 500, true), some("parseTable", 1, 1, 1.8, 0.7, 2, false)
	if p := c.Probability(poor); p >= 0.35 {
		t.Errorf("%v of few words", p)
	}
	if p := c.Probability(good); p < 0.7 {
		t.Errorf("%v of an exact name", p)
	}
}

func BenchmarkFit(b *testing.B) {
	all := samples(1, 2000, Calibration{-2, 3, 2, 0, 1, -1, 0, 0.5, -1, 0})
	for b.Loop() {
		Fit(all)
	}
}
