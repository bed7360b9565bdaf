package retrieval

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// What do the tuning questions say about the weights of index/rank? Runs with SKL_TEST_RETRIEVAL=tune, for a part of the
// library, or tune-full; it prints how each set does, and coefficients for rank.DefaultCalibration. The judging half is not touched.
func TestTune(t *testing.T) {
	size := os.Getenv("SKL_TEST_RETRIEVAL")
	if !strings.HasPrefix(size, "tune") {
		t.Skip("skipped: SKL_TEST_RETRIEVAL is not tune")
	}
	b := newBench(t, false, size == "tune-full")
	b.measure()
	for _, g := range b.gates() {
		b.results.Gates[g.name] = g.value
	}
	b.log()
	if *missed != "" {
		if err := os.WriteFile(*missed, []byte(b.misses.String()), 0o644); err != nil {
			t.Error(err)
		}
	}

	now := rank.DefaultCalibration()
	same := 0
	for i, s := range b.samples {
		if math.Abs(now.Probability(s.X)-b.claims["all"][i].confidence) < 0.011 {
			same++
		}
	}
	// The features are made anew of the parts that a pack shows; if they were not those that the pack was judged by, fitting them would be of no use.
	if 10*same < 9*len(b.samples) {
		t.Errorf("only %d of %d packs have the confidence that their features give", same, len(b.samples))
	}
	fitted := rank.Fit(b.samples)
	t.Logf("%d packs: Brier %.4f with %.2f", len(b.samples), rank.Brier(now, b.samples), now)
	t.Logf("fitted: Brier %.4f with %.2f", rank.Brier(fitted, b.samples), fitted)
	t.Logf("features: %v", rank.Features)
}

// observed returns the features that the confidence of a pack was made of.
func observed(p query.Pack, limit int) rank.Observed {
	w := rank.DefaultWeights()
	var chosen []rank.Candidate
	for _, e := range p.Handles {
		c := rank.Candidate{Path: e.FilePath, Start: e.Span.Start, End: e.Span.End, Kind: e.NodeType, Tokens: e.TokenCount}
		for _, part := range e.Why {
			c.Score.Value += part.Value
			switch part.Name {
			case "cover": // is the square of the coverage
				c.Score.Coverage = math.Sqrt(part.Value / w.Cover)
			case "exact":
				c.Score.Exact = part.Value / w.Exact
			}
		}
		chosen = append(chosen, c)
	}
	return rank.Observe(chosen, p.TotalMatches, p.TotalMatches > max(limit, 4*8))
}
