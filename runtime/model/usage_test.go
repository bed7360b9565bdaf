package model_test

import (
	"math"
	"testing"

	"github.com/skl-project/skl/runtime/model"
)

// TestUsageNeverFalls: a service that counts backwards, or beyond an int, cannot make a budget last.
func TestUsageNeverFalls(t *testing.T) {
	got := model.Usage{Calls: 1, InputTokens: 5, OutputTokens: 3}.Add(model.Usage{Calls: 1, InputTokens: math.MaxInt, OutputTokens: -7, CachedTokens: -1, Dollars: -2})
	if want := (model.Usage{Calls: 2, InputTokens: math.MaxInt, OutputTokens: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (model.Usage{Dollars: 1}).Add(model.Usage{Dollars: math.NaN()}); got.Dollars < 1 || math.IsNaN(got.Dollars) {
		t.Errorf("a price that is no number gives %v", got.Dollars)
	}
}
