package rank

import "math"

// Observed is what the confidence of a pack is made of: the kind of the question, and features between 0 and 1. Each means the same for one
// candidate as for many: of what needs others, a pack without them has what is usual.
type Observed struct {
	Kind Kind
	X    [features]float64 // all 0 of a pack without candidates
}

const features = 25

// Features names what an Observed holds, in order.
var Features = [features]string{
	"one",                      // always 1
	"value",                    // of the best, as value/(0.25+value)
	"drop",                     // between the best and the eighth, relative to the best
	"second",                   // coverage of the second
	"words",                    // logarithm of the number of words that say something, 1 at 32
	"unknown",                  // share of these words that the repository has nowhere
	"known",                    // share of the others that the best has, weighted by how rare they are
	"rarest",                   // how rare the rarest word is that the best has
	"all",                      // share of the words that the suggested have, together
	"exact",                    // the best has the name that was asked for
	"name",                     // what the name of the best gives to its score
	"body",                     // what its body and its documentation give
	"near",                     // what words that stand together give
	"code",                     // 1 if the best is a function or a method
	"lines",                    // logarithm of the lines of the best, 1 at 400
	"place",                    // what it loses for being a test, generated or foreign
	"gap",                      // between the best and the second, relative to the best
	"file",                     // share of the words that the file of the best has and no other file; below 1/2 if another has more of them
	"path",                     // what the path of the best gives to its score
	"sign",                     // what its signature gives
	"many",                     // logarithm of the number of matches, 1 at a thousand
	"known near", "words name", // products
	"rest",       // of the words that the name of the best does not have, the share that the rest of it has
	"exact rest", // product
}

// Defaults for a pack without a second or an eighth candidate: the means of packs that have one.
const (
	usualDrop   = 0.32
	usualSecond = 0.5
	usualGap    = 0.12
	usualNear   = 0.55 // of a question of one word
)

// Observe returns the features of a pack: chosen candidates, best first, and the number of all matches. Of no candidates it is zero.
func Observe(q Question, chosen []Candidate, total int) Observed {
	o := Observed{Kind: q.Kind}
	if len(chosen) == 0 {
		return o
	}
	content := max(1, len(q.Content()))
	top := &chosen[0]
	value := max(0, top.Score.Value)
	drop, second, gap := usualDrop, usualSecond, usualGap
	if len(chosen) > 1 {
		second = clamp01(chosen[1].Score.Coverage)
	}
	if value > 0 && len(chosen) > 1 {
		gap = clamp01(1 - max(0, chosen[1].Score.Value)/value)
	}
	if value > 0 && len(chosen) >= 8 {
		drop = clamp01(1 - max(0, chosen[7].Score.Value)/value)
	}
	var part [6]float64
	for _, p := range top.Score.Parts {
		switch p.Name {
		case "name":
			part[0] = clamp01(p.Value)
		case "body", "doc":
			part[1] = clamp01(part[1] + p.Value)
		case "near":
			part[2] = clamp01(3 * p.Value)
		case "place":
			part[3] = clamp01(-p.Value)
		case "path":
			part[4] = clamp01(3 * p.Value)
		case "signature":
			part[5] = clamp01(2 * p.Value)
		}
	}
	if content == 1 {
		part[2] = usualNear
	}
	all, file, other := wordsOf(chosen)
	o.X = [features]float64{1, value / (0.25 + value), drop, second, clamp01(ln(float64(1+content)) / ln(33)), clamp01(top.Score.Unknown), clamp01(top.Score.Known),
		clamp01(top.Score.Rarest / 10), clamp01(float64(all) / float64(content)), clamp01(top.Score.Exact), part[0], part[1], part[2], 0,
		clamp01(ln(float64(2+max(0, top.LastLine-top.FirstLine))) / 6), part[3], gap, clamp01((1 + float64(file-other)/float64(content)) / 2), part[4], part[5],
		clamp01(ln(float64(max(1, total))) / ln(1000))}
	if top.Kind == "function" || top.Kind == "method" {
		o.X[13] = 1
	}
	x := &o.X
	x[21], x[22] = mul(x[6], x[12]), mul(x[4], x[10])
	x[23] = clamp01(top.Score.Rest)
	x[24] = mul(x[9], x[23])
	return o
}

// wordsOf counts the words of the question that the first of chosen have, together, and those that the chosen of the file of the best
// have, and the chosen of the other file that has most.
func wordsOf(chosen []Candidate) (all, file, other int) {
	have, of := map[string]bool{}, map[string]map[string]bool{}
	for i, c := range chosen {
		if of[c.Path] == nil {
			of[c.Path] = map[string]bool{}
		}
		for _, t := range c.Score.Matched {
			of[c.Path][t] = true
			if i < maxSuggested {
				have[t] = true
			}
		}
	}
	for p, words := range of {
		if p != chosen[0].Path {
			other = max(other, len(words))
		}
	}
	return len(have), len(of[chosen[0].Path]), other
}

// groups of kinds that are calibrated apart.
const groups = 5

// group of a kind: those that ask in a sentence share one.
func (k Kind) group() int { return min(int(k), groups-1) }

// A Calibration turns features into a probability: the logistic function of their weighted sum. The first row holds the weights for questions of
// all kinds, the others what is added to them for concepts, names, options, errors, and questions in a sentence.
type Calibration [1 + groups][features]float64

// DefaultCalibration returns the calibration that Pack uses. The numbers are what index/retrieval fits to the packs of repositories that judge nothing.
func DefaultCalibration() Calibration {
	return Calibration{
		{-8.23, 4.61, 1.03, 0.07, 2.21, -1.16, 0.44, 0.14, 0.10, -1.13, 0.70, 1.36, 0.65, 0.35, -0.14, -2.25, 0.08, 1.17, 0.96, 0.01, -0.75, -0.94, -0.33, -0.22, 2.65},         // all kinds
		{1.34, -1.54, 0.13, -0.36, -0.05, 0.70, 0.10, -0.37, 0.66, 0.34, 0.72, 0.49, 0.67, -0.32, 1.67, 0.21, -0.13, 0.32, 0.45, 0.79, 0.15, -0.35, 0.23, -0.13, 0.38},          // concepts
		{0.42, 0.73, -0.94, 0.05, -0.05, -0.29, -0.11, 0.14, -0.90, 0.57, 0.64, -0.00, -0.24, 0.73, -1.45, -1.86, -1.20, -0.28, 1.46, 0.02, -1.48, -0.90, 0.38, 1.61, 1.01},     // names
		{0.54, 2.83, 0.42, -0.17, -1.29, -0.41, -1.23, 1.33, 1.39, 0.25, -1.37, -1.63, -0.04, -0.75, -1.01, -0.69, -0.26, -0.48, -0.49, -1.20, 0.81, 1.15, -0.57, -0.12, -0.75}, // options
		{-0.80, 2.09, 0.23, 0.79, 0.04, -0.75, 0.80, -0.14, -1.65, -0.24, -0.41, 0.72, 0.36, 0.58, -0.12, -0.23, 1.92, 0.99, -0.16, -0.83, -0.62, -0.03, 0.10, 0.38, -0.44},     // errors
		{-1.51, 0.51, 1.20, -0.23, 3.55, -0.41, 0.88, -0.82, 0.60, -2.06, 1.12, 1.78, -0.10, 0.11, 0.76, 0.32, -0.26, 0.63, -0.30, 1.22, 0.39, -0.81, -0.47, -1.96, 2.44},       // sentences
	}
}

// Probability returns the probability that the pack answers, between 0.01 and 0.99, two digits behind the point. It is 0 for zero features.
func (c Calibration) Probability(x Observed) float64 {
	if x.X[0] == 0 {
		return 0
	}
	return max(0.01, min(0.99, math.Floor(mul(c.raw(x), 100)+0.5)/100))
}

func (c *Calibration) raw(o Observed) float64 {
	sum := 0.0
	own := &c[1+o.Kind.group()]
	for i, x := range o.X {
		sum += mul(c[0][i]+own[i], x)
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
	for at := c.fits(samples, high, low); ; {
		step := c.step(samples, high, low)
		next, fits, share := c, at, 1.0
		for ; share > 1e-6; share /= 2 { // a whole step may lead beyond the best
			for i := range weights {
				*next.at(i) = *c.at(i) + mul(share, step[i])
			}
			if fits = next.fits(samples, high, low); fits > at {
				break
			}
		}
		if fits < at+1e-7 {
			break
		}
		c, at = next, fits
	}
	for i := range weights {
		*c.at(i) = round4(*c.at(i))
	}
	return c
}

const weights = (1 + groups) * features // of a Calibration

func (c *Calibration) at(i int) *float64 { return &c[i/features][i%features] }

// ridge is what a weight costs, in samples; that of the constant for all kinds costs nothing.
const ridge = 0.5

// fits says how well c explains samples: the logarithm of their likelihood, without what large weights cost.
func (c *Calibration) fits(samples []Sample, high, low float64) (sum float64) {
	for _, s := range samples {
		p, goal := c.raw(s.X), low
		if s.Answered {
			goal = high
		}
		p = max(1e-12, min(1-1e-12, p))
		sum += mul(goal, ln(p)) + mul(1-goal, ln(1-p))
	}
	for i := 1; i < weights; i++ {
		sum -= mul(ridge/2, mul(*c.at(i), *c.at(i)))
	}
	return sum
}

// step returns the step of Newton's method from c.
func (c *Calibration) step(samples []Sample, high, low float64) [weights]float64 {
	h := make([][weights + 1]float64, weights) // second derivatives, and the gradient as last column
	for i := range h {
		h[i][i] = ridge
		if i == 0 {
			h[i][i] = 1e-6
		}
		h[i][weights] = -mul(h[i][i], *c.at(i))
	}
	for _, s := range samples {
		p, goal := c.raw(s.X), low
		if s.Answered {
			goal = high
		}
		w := mul(p, 1-p)
		own := (1 + s.X.Kind.group()) * features
		for i, x := range s.X.X {
			for _, row := range [2]int{i, own + i} {
				h[row][weights] += mul(goal-p, x)
				for j, y := range s.X.X {
					h[row][j] += mul(w, mul(x, y))
					h[row][own+j] += mul(w, mul(x, y))
				}
			}
		}
	}
	return solve(h)
}

// solve returns the solution of a system of linear equations whose matrix is positive definite.
func solve(h [][weights + 1]float64) (x [weights]float64) {
	for i := range h {
		for j := i + 1; j < len(h); j++ {
			f := h[j][i] / h[i][i]
			if f == 0 {
				continue
			}
			for k := i; k <= weights; k++ {
				h[j][k] -= mul(f, h[i][k])
			}
		}
	}
	for i := weights - 1; i >= 0; i-- {
		sum := h[i][weights]
		for j := i + 1; j < weights; j++ {
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
