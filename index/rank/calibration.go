package rank

import "math"

// Observed are the features of a pack that its confidence is made of, most of them between 0 and 1. Each means the same for one candidate as
// for many: of what needs a second candidate, a single one has what is usual.
type Observed [observations]float64

const observations = 38

// Features names what an Observed holds, in order.
var Features = [observations]string{
	"one",                                                 // always 1
	"name", "config", "error", "how", "where", "function", // 1 for the kind of the question; 0 of all is a concept
	"coverage", // of the best
	"exact",    // the best has the name that was asked for
	"value",    // of the best, as value/(1+value)
	"gap",      // between the best and the second, relative to the best
	"spread",   // between the best and the mean of the others
	"together", // share of the next four that are in the directory of the best
	"rest",     // mean coverage of the three best
	"many",     // logarithm of the number of matches, 1 at a thousand
	"cut",      // 1 if truncated
	"words",    // logarithm of the number of words that say something, 1 at 32
	"all",      // share of these words that the suggested have, together
	"in name",  // what the name of the best gives to its score
	"in body",  // what its body gives
	"near",     // what words that stand together give
	"spread value",
	"place",                                                           // what it loses for being a test, generated or foreign
	"symbol",                                                          // 1 if the best is a definition
	"same file",                                                       // share of the next four that are in the file of the best
	"config coverage", "error coverage", "error near", "how coverage", // these and the following are products
	"concept value", "concept in body", "concept near", "asked in name", "asked gap", "error all", "value value", "name exact", "name value", // asked: how, where or function
}

// What a pack of one candidate has where a second is missing: the means of packs with several.
const (
	usualGap    = 0.12
	usualSpread = 0.3
	usualNear   = 0.35 // together
	usualFile   = 0.2
)

// Observe returns the features of a pack: chosen candidates, best first, and the number of all matches. Of no candidates it is zero.
func Observe(q Question, chosen []Candidate, total int, truncated bool) Observed {
	var x Observed
	if len(chosen) == 0 {
		return x
	}
	top := &chosen[0]
	x[0] = 1
	if q.Kind != Concept {
		x[q.Kind] = 1
	}
	x[7] = clamp01(top.Score.Coverage)
	x[8] = clamp01(top.Score.Exact)
	value := max(0, top.Score.Value)
	x[9] = value / (1 + value)
	x[10], x[11], x[12], x[24] = usualGap, usualSpread, usualNear, usualFile
	if value > 0 && len(chosen) > 1 {
		sum := 0.0
		for _, c := range chosen[1:] {
			sum += max(0, c.Score.Value)
		}
		x[10] = clamp01(1 - max(0, chosen[1].Score.Value)/value)
		x[11] = clamp01(1 - sum/float64(len(chosen)-1)/value)
	}
	if next := chosen[1:min(5, len(chosen))]; len(next) > 0 {
		x[12], x[24] = 0, 0
		for _, c := range next {
			if directory(c.Path) == directory(top.Path) {
				x[12] += 1 / float64(len(next))
			}
			if c.Path == top.Path {
				x[24] += 1 / float64(len(next))
			}
		}
	}
	three := chosen[:min(3, len(chosen))]
	for _, c := range three {
		x[13] += clamp01(c.Score.Coverage) / float64(len(three))
	}
	x[14] = clamp01(ln(float64(max(1, total))) / ln(1000))
	if truncated {
		x[15] = 1
	}
	content := q.Content()
	x[16] = clamp01(ln(float64(max(1, len(content)))) / ln(32))
	matched := map[string]bool{}
	for _, c := range chosen[:min(maxSuggested, len(chosen))] {
		for _, t := range c.Score.Matched {
			matched[t] = true
		}
	}
	if len(content) > 0 {
		x[17] = clamp01(float64(len(matched)) / float64(len(content)))
	}
	for _, p := range top.Score.Parts {
		switch p.Name {
		case "name":
			x[18] = clamp01(p.Value)
		case "body":
			x[19] = clamp01(p.Value)
		case "near":
			x[20] = clamp01(5 * p.Value)
		case "place":
			x[22] = clamp01(-p.Value)
		}
	}
	switch top.Kind {
	case "chunk", "file", "section", "paragraph", "code_block":
	default:
		x[23] = 1
	}
	x[25], x[26], x[27] = mul(x[Config], x[7]), mul(x[Failure], x[7]), mul(x[Failure], x[20])
	x[28] = mul(x[How], x[7])
	switch q.Kind {
	case Concept:
		x[29], x[30], x[31] = x[9], x[19], x[20]
	case How, Where, Function:
		x[32], x[33] = x[18], x[10]
	case Failure:
		x[34] = x[17]
	case Name:
		x[36], x[37] = x[8], x[9]
	}
	x[21], x[35] = mul(x[9], x[11]), mul(x[9], x[9])
	return x
}

func directory(p string) string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return ""
}

// A Calibration turns features into a probability: the logistic function of their weighted sum.
type Calibration [observations]float64

// DefaultCalibration returns the calibration that Pack uses. The numbers are what index/retrieval fits to the packs of repositories that judge nothing.
func DefaultCalibration() Calibration {
	return Calibration{
		-2.38, 0.33, -0.37, -0.56, 0.09, -0.21, -0.39, -1.10, -0.09, 2.98, -0.22, 0.97, 0.05,
		-1.05, -0.98, -0.53, 1.23, 1.61, 0.76, 2.81, 0.12, 1.44, -0.97, 0.31, 0.93, 1.25,
		0.61, 2.67, -0.40, 1.03, 0.13, -0.02, 2.15, 0.56, -0.07, 0.60, 1.05, 0.84,
	}
}

// Probability returns the probability that the pack answers, between 0.01 and 0.99, two digits behind the point. It is 0 for zero features.
func (c Calibration) Probability(x Observed) float64 {
	if x[0] == 0 {
		return 0
	}
	return max(0.01, min(0.99, math.Floor(mul(c.raw(x), 100)+0.5)/100))
}

func (c Calibration) raw(x Observed) float64 {
	sum := 0.0
	for i := range x {
		sum += mul(c[i], x[i])
	}
	return 1 / (1 + exp(-sum))
}

// A Sample is a pack of which it is known whether one of its suggested handles answers.
type Sample struct {
	X        Observed
	Answered bool
}

// Fit returns the calibration that explains samples best: logistic regression by Newton's method. The goals are not 0 and 1 but
// a little between (Platt), and large coefficients cost, so few or uniform samples give careful numbers. Equal
// samples in equal order give equal numbers. Without samples it returns the zero Calibration, which says 0.5 of everything.
func Fit(samples []Sample) Calibration {
	yes := 0
	for _, s := range samples {
		if s.Answered {
			yes++
		}
	}
	high, low := float64(yes+1)/float64(yes+2), 1/float64(len(samples)-yes+2)
	var c Calibration
	for range 50 {
		step := c.step(samples, high, low)
		most := 0.0
		for i := range c {
			// A step of more than 2 leaves the range where the second derivative says anything.
			step[i] = max(-2, min(2, step[i]))
			c[i] += step[i]
			most = max(most, math.Abs(step[i]))
		}
		if most < 1e-9 {
			break
		}
	}
	for i := range c {
		c[i] = round4(c[i])
	}
	return c
}

// ridge is what a coefficient other than the first costs, in samples.
const ridge = 1.0

// step returns the step of Newton's method from c.
func (c Calibration) step(samples []Sample, high, low float64) Calibration {
	var h [observations][observations + 1]float64 // second derivatives, and the gradient as last column
	for i := range c {
		h[i][i] = ridge
		if i == 0 {
			h[i][i] = 1e-6
		}
		h[i][observations] = -mul(h[i][i], c[i])
	}
	for _, s := range samples {
		p, goal := c.raw(s.X), low
		if s.Answered {
			goal = high
		}
		w := mul(p, 1-p)
		for i, x := range s.X {
			h[i][observations] += mul(goal-p, x)
			for j, y := range s.X {
				h[i][j] += mul(w, mul(x, y))
			}
		}
	}
	return solve(h)
}

// solve returns the solution of a system of linear equations whose matrix is positive definite.
func solve(h [observations][observations + 1]float64) (x Calibration) {
	for i := range h {
		for j := i + 1; j < len(h); j++ {
			f := h[j][i] / h[i][i]
			for k := i; k <= observations; k++ {
				h[j][k] -= mul(f, h[i][k])
			}
		}
	}
	for i := observations - 1; i >= 0; i-- {
		sum := h[i][observations]
		for j := i + 1; j < observations; j++ {
			sum -= mul(h[i][j], x[j])
		}
		x[i] = sum / h[i][i]
	}
	return x
}

// Brier returns the mean squared difference between what c says of samples and what is so: 0 is perfect, 0.25 is what
// a coin gets. It is 0 without samples.
func Brier(c Calibration, samples []Sample) float64 {
	if len(samples) == 0 {
		return 0
	}
	sum := 0.0
	for _, s := range samples {
		d := c.Probability(s.X)
		if s.Answered {
			d = 1 - d
		}
		sum += mul(d, d)
	}
	return sum / float64(len(samples))
}
