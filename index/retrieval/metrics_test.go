package retrieval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	maxTokens = 8000 // what a reader reads at most
	maxSpan   = 200  // lines that a right answer may have
)

// rightFile says whether h is of a file that has the answer.
func (q question) rightFile(h hit) bool {
	return slices.ContainsFunc(q.truth, func(p place) bool { return p.path == h.path })
}

// rightSpan says whether h shows the answer: it holds the first line, or lies within.
func (q question) rightSpan(h hit) bool {
	return slices.ContainsFunc(q.truth, func(p place) bool {
		if p.path != h.path {
			return false
		}
		return p.first == 0 || h.last-h.first < maxSpan && (h.first <= p.first && p.first <= h.last || p.first <= h.first && h.last <= p.last)
	})
}

// An outcome is how a system did on one question.
type outcome struct {
	file, span [3]float64 // recall at 1, 5 and 10, of files and of spans
	mrr        float64    // of spans, among the first 10
	fileMRR    float64
	complete   float64 // of a question that wants all: the share of the truth among all hits
	precise    float64 // and the share of right hits
	tokens     int
	zero       bool
}

var cuts = [3]int{1, 5, 10}

// judge compares a reply with the truth.
func judge(q question, r reply) outcome {
	o := outcome{zero: len(r.hits) == 0, tokens: maxTokens}
	var files []hit // the first of each file
	seen := map[string]bool{}
	for _, h := range r.hits {
		if !seen[h.path] {
			seen[h.path] = true
			files = append(files, h)
		}
	}
	o.file, o.fileMRR = recalls(q, files, q.rightFile)
	o.span, o.mrr = recalls(q, r.hits, q.rightSpan)
	if q.all && len(r.hits) > 0 {
		found, right := map[place]bool{}, 0
		for _, h := range r.hits {
			if q.rightSpan(h) {
				right++
			}
			for _, p := range q.truth {
				if p.path == h.path && (p.first == 0 || h.first <= p.first && p.first <= h.last) {
					found[p] = true
				}
			}
		}
		o.complete, o.precise = float64(len(found))/float64(len(q.truth)), float64(right)/float64(len(r.hits))
	}
	read := r.listing
	for _, h := range r.hits {
		read += h.tokens
		if q.rightSpan(h) {
			o.tokens = min(read, maxTokens)
			break
		}
	}
	return o
}

// recalls returns the recall at each cut and the reciprocal of the rank of the first right hit among ten. Of a
// question that wants all of its truth, recall counts files.
func recalls(q question, hits []hit, right func(hit) bool) (recall [3]float64, mrr float64) {
	if first := slices.IndexFunc(hits[:min(len(hits), 10)], right); first >= 0 {
		mrr = 1 / float64(first+1)
		for i, cut := range cuts {
			if first < cut {
				recall[i] = 1
			}
		}
	}
	if q.all {
		want := map[string]bool{}
		for _, p := range q.truth {
			want[p.path] = true
		}
		for i, cut := range cuts {
			got := map[string]bool{}
			for _, h := range hits[:min(len(hits), cut)] {
				if want[h.path] && right(h) {
					got[h.path] = true
				}
			}
			recall[i] = float64(len(got)) / float64(len(want))
		}
	}
	return recall, mrr
}

// A score sums up the outcomes of a set, rounded so that it can be compared.
type score struct {
	Questions int        `json:"questions"`
	File      [3]float64 `json:"recall_file_1_5_10"`
	Span      [3]float64 `json:"recall_span_1_5_10"`
	MRR       float64    `json:"mrr_10"`
	Interval  [2]float64 `json:"mrr_95"` // of MRR, by resampling
	FileMRR   float64    `json:"file_mrr_10"`
	Complete  float64    `json:"complete,omitempty"` // of sets that want all of the truth
	Precise   float64    `json:"precise,omitempty"`
	Tokens    float64    `json:"tokens"` // mean
	Zero      float64    `json:"zero_results"`
}

func summarise(outcomes []outcome) score {
	n := float64(len(outcomes))
	s := score{Questions: len(outcomes)}
	if n == 0 {
		return s
	}
	mean := func(f func(o outcome) float64) float64 {
		sum := 0.0
		for _, o := range outcomes {
			sum += f(o)
		}
		return round(sum / n)
	}
	for i := range cuts {
		s.File[i] = mean(func(o outcome) float64 { return o.file[i] })
		s.Span[i] = mean(func(o outcome) float64 { return o.span[i] })
	}
	s.MRR = mean(func(o outcome) float64 { return o.mrr })
	s.FileMRR = mean(func(o outcome) float64 { return o.fileMRR })
	s.Complete = mean(func(o outcome) float64 { return o.complete })
	s.Precise = mean(func(o outcome) float64 { return o.precise })
	s.Tokens = math.Round(mean(func(o outcome) float64 { return float64(o.tokens) }))
	s.Zero = mean(func(o outcome) float64 {
		if o.zero {
			return 1
		}
		return 0
	})
	s.Interval = bootstrap(outcomes, func(o outcome) float64 { return o.mrr })
	return s
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// bootstrap returns the bounds that 95 % of resampled means lie in.
func bootstrap(outcomes []outcome, f func(o outcome) float64) [2]float64 {
	rng := rand.New(rand.NewPCG(95, uint64(len(outcomes))))
	means := make([]float64, 1000)
	for i := range means {
		sum := 0.0
		for range outcomes {
			sum += f(outcomes[rng.IntN(len(outcomes))])
		}
		means[i] = sum / float64(len(outcomes))
	}
	slices.Sort(means)
	return [2]float64{round(means[25]), round(means[974])}
}

// A claim is a stated probability and whether it came true.
type claim struct {
	confidence float64
	right      bool
}

// A reliability says how far stated confidence can be believed.
type reliability struct {
	Claims int          `json:"claims"`
	Brier  float64      `json:"brier"` // mean square of the error; 0.25 is what always saying 0.5 gets
	Base   float64      `json:"brier_of_mean"`
	Mean   float64      `json:"mean_confidence"`
	Right  float64      `json:"right"`
	Bins   []calibrated `json:"bins"`
}

// calibrated is one bin of a reliability table, a tenth wide.
type calibrated struct {
	From   float64 `json:"from"`
	Claims int     `json:"claims"`
	Mean   float64 `json:"mean_confidence"`
	Right  float64 `json:"right"`
}

func reliable(claims []claim) reliability {
	r := reliability{Claims: len(claims)}
	if len(claims) == 0 {
		return r
	}
	var bins [10]struct{ n, right, sum float64 }
	n := float64(len(claims))
	for _, c := range claims {
		b := &bins[max(0, min(9, int(c.confidence*10)))]
		y := 0.0
		if c.right {
			y = 1
		}
		b.n++
		b.sum += c.confidence
		b.right += y
		r.Brier += (c.confidence - y) * (c.confidence - y) / n
		r.Mean += c.confidence / n
		r.Right += y / n
	}
	r.Base = round(r.Right * (1 - r.Right))
	r.Brier, r.Mean, r.Right = round(r.Brier), round(r.Mean), round(r.Right)
	for i, b := range bins {
		if b.n > 0 {
			r.Bins = append(r.Bins, calibrated{float64(i) / 10, int(b.n), round(b.sum / b.n), round(b.right / b.n)})
		}
	}
	return r
}

func (s score) String() string {
	return fmt.Sprintf("n %4d  file %.3f %.3f %.3f  span %.3f %.3f %.3f  mrr %.3f [%.3f %.3f]  tokens %4.0f  zero %.3f  all %.3f  only %.3f",
		s.Questions, s.File[0], s.File[1], s.File[2], s.Span[0], s.Span[1], s.Span[2], s.MRR, s.Interval[0], s.Interval[1], s.Tokens, s.Zero, s.Complete, s.Precise)
}

func TestJudge(t *testing.T) {
	q := question{truth: []place{{"a.go", 10, 40}, {"b.go", 5, 9}}}
	tests := []struct {
		name           string
		all            bool
		hits           []hit
		file10, span10 float64
		mrr            float64
		tokens         int
	}{
		{"nothing", false, nil, 0, 0, 0, maxTokens},
		{"the first line", false, []hit{{"a.go", 1, 10, 7}}, 1, 1, 1, 107},
		{"a part of it", false, []hit{{"a.go", 20, 30, 7}}, 1, 1, 1, 107},
		{"across its end", false, []hit{{"a.go", 30, 50, 7}}, 1, 0, 0, maxTokens},
		{"a whole file is no answer", false, []hit{{"a.go", 1, 500, 7}}, 1, 0, 0, maxTokens},
		{"second", false, []hit{{"c.go", 1, 9, 5}, {"b.go", 5, 9, 7}}, 1, 1, 0.5, 112},
		{"half of all", true, []hit{{"c.go", 1, 9, 5}, {"b.go", 5, 9, 7}}, 0.5, 0.5, 0.5, 112},
		{"too late", false, slices.Insert(slices.Repeat([]hit{{"c.go", 1, 9, 1}}, 10), 10, hit{"b.go", 5, 9, 7}), 1, 0, 0, 117},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := q
			q.all = tt.all
			o := judge(q, reply{tt.hits, 100})
			if o.file[2] != tt.file10 || o.span[2] != tt.span10 || o.mrr != tt.mrr || o.tokens != tt.tokens {
				t.Errorf("judged file %v, span %v, mrr %v, %d tokens; want %v, %v, %v, %d", o.file[2], o.span[2], o.mrr, o.tokens,
					tt.file10, tt.span10, tt.mrr, tt.tokens)
			}
		})
	}
}

func TestReliable(t *testing.T) {
	var claims []claim
	for i := range 100 { // 0.85 is right in 85 of 100 cases, 0.2 in 20
		claims = append(claims, claim{0.85, i < 85}, claim{0.2, i < 20})
	}
	r := reliable(claims)
	if want := round((0.85*0.15 + 0.2*0.8) / 2); r.Brier != want || len(r.Bins) != 2 || r.Bins[1].Right != 0.85 || r.Bins[0].Mean != 0.2 {
		t.Errorf("reliable = %+v, want Brier %v", r, want)
	}
}

func TestBootstrap(t *testing.T) {
	outcomes := slices.Repeat([]outcome{{mrr: 1}, {mrr: 0}}, 200)
	low, high := bootstrap(outcomes, func(o outcome) float64 { return o.mrr })[0], bootstrap(outcomes, func(o outcome) float64 { return o.mrr })[1]
	if low < 0.43 || low > 0.48 || high < 0.52 || high > 0.57 { // 0.5 +- 1.96 * 0.5/20
		t.Errorf("interval of 400 coins is %v to %v", low, high)
	}
}
