package rank

import "math"

// Compilers may join a product and a sum into one operation that rounds once, on some processors, and some of them
// have their own logarithm. Scores must be equal everywhere, so products are rounded by mul, and these functions are
// made of nothing else.

// mul returns the rounded product.
func mul(a, b float64) float64 { return float64(a * b) }

// ln returns the natural logarithm of x > 0, and 0 of anything else.
func ln(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m+m, e-1
	}
	// The series of the inverse hyperbolic tangent; s is at most 0.172.
	s := (m - 1) / (m + 1)
	s2 := mul(s, s)
	sum := 0.0
	for n := 17; n > 0; n -= 2 {
		sum = mul(sum, s2) + 1/float64(n)
	}
	return mul(float64(e), math.Ln2) + mul(2*s, sum)
}

// exp returns e to the power of x, with x cut to -40 to 40.
func exp(x float64) float64 {
	if x != x {
		return 1
	}
	x = max(-40, min(40, x))
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - mul(k, math.Ln2)
	sum := 1.0
	for n := 14; n > 0; n-- {
		sum = 1 + mul(sum, r)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// round4 rounds to four digits behind the point, which is what people are shown.
func round4(x float64) float64 { return math.Floor(mul(x, 10000)+0.5) / 10000 }

func clamp01(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}
