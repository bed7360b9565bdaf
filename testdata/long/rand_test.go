package long

import "testing"

func TestSeed(t *testing.T) {
	t.Setenv("SKL_TEST_SEED", "")
	t.Setenv("SKL_TEST_LONG", "")
	if a, b := Rand(t, 7), Rand(t, 7); a.Uint64() != b.Uint64() || a.Uint64() == Rand(t, 8).Uint64() {
		t.Error("a seed does not decide")
	}
	t.Setenv("SKL_TEST_LONG", "all")
	if a, b := Seed(t, 7), Seed(t, 7); !testing.Short() && (a == 7 || a == b) {
		t.Errorf("where suites are run whole the seeds are %d and %d", a, b)
	}
	t.Setenv("SKL_TEST_SEED", "12")
	if got := Seed(t, 7); got != 12 {
		t.Errorf("SKL_TEST_SEED=12 makes %d", got)
	}
}
