package retrieval

import (
	"os"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/rank"
)

// TestTune measures the weights of index/rank on the tuning questions. It runs with SKL_TEST_RETRIEVAL=tune, for a part
// of the library, or tune-full; it prints how each set does, and coefficients for rank.DefaultCalibration. The judging
// half is not touched.
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
	fitted := rank.Fit(b.samples)
	t.Logf("%d packs: Brier %.4f with %.2f", len(b.samples), rank.Brier(now, b.samples), now)
	t.Logf("fitted: Brier %.4f with %.2f", rank.Brier(fitted, b.samples), fitted)
	t.Logf("features: %v", rank.Features)
}
