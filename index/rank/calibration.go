package rank

import "math"

// Observed are the features of a pack that its confidence is made of, each between 0 and 1.
type Observed [observations]float64

const observations = 10

// Features names what an Observed holds, in order.
var Features = [observations]string{
	"one",      // always 1
	"coverage", // of the best
	"exact",    // the best has the name that was asked for
	"value",    // of the best, as value/(1+value)
	"gap",      // between the best and the second, relative to the best
	"spread",   // between the best and the mean of the others
	"together", // share of the next four that are in the directory of the best
	"rest",     // mean coverage of the three best
	"many",     // logarithm of the number of matches, 1 at a thousand
	"cut",      // 1 if truncated
}

// Observe returns the features of a pack: chosen candidates, best first, and the number of all matches. Of no candidates it is zero.
func Observe(chosen []Candidate, total int, truncated bool) Observed {
	var x Observed
	if len(chosen) == 0 {
		return x
	}
	top := &chosen[0]
	x[0] = 1
	x[1] = clamp01(top.Score.Coverage)
	x[2] = clamp01(top.Score.Exact)
	value := max(0, top.Score.Value)
	x[3] = value / (1 + value)
	if value > 0 && len(chosen) > 1 {
		sum := 0.0
		for _, c := range chosen[1:] {
			sum += max(0, c.Score.Value)
		}
		x[4] = clamp01(1 - max(0, chosen[1].Score.Value)/value)
		x[5] = clamp01(1 - sum/float64(len(chosen)-1)/value)
	} else if value > 0 {
		x[4], x[5] = 1, 1
	}
	next := chosen[1:min(5, len(chosen))]
	for _, c := range next {
		if directory(c.Path) == directory(top.Path) {
			x[6] += 1 / float64(len(next))
		}
	}
	three := chosen[:min(3, len(chosen))]
	for _, c := range three {
		x[7] += clamp01(c.Score.Coverage) / float64(len(three))
	}
	x[8] = clamp01(ln(float64(max(1, total))) / ln(1000))
	if truncated {
		x[9] = 1
	}
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

// DefaultCalibration returns the calibration that Pack uses. The numbers are replaced by what index/retrieval fits to its tuning sets.
func DefaultCalibration() Calibration {
	return Calibration{0.05, 0.57, 0.2, 1.41, -0.27, 0.81, 0.87, 1.57, -1.02, -1.64}
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
