// Package long says how much of a long suite a test run does. Tests use it for crash loops, for measurements of quality, for
// suites that try every case, and for those that need a real agent.
//
//   - go test -short does the least: a test that takes more than half a second does less, or is skipped.
//   - go test does a sample of every suite, chosen by a fixed seed, so that each promise is still guarded.
//   - SKL_TEST_LONG=all, which .ci/deep sets, does all.
//   - SKL_TEST_LONG=every does also what takes too long for .ci/deep: every hostile clone with every command.
//
// With -short the variable has no effect.
//
// A test that is skipped because it belongs to the long suites has the attribute left=long: where another test needs it to have
// run, .ci/run does without it.
package long

import (
	"os"
	"testing"
	"time"
)

// All reports whether suites are run whole.
func All() bool {
	v := os.Getenv("SKL_TEST_LONG")
	return (v == "all" || v == "every") && !testing.Short()
}

// Every reports whether suites are run beyond what .ci/deep does.
func Every() bool { return All() && os.Getenv("SKL_TEST_LONG") == "every" }

// Only skips a test that has no smaller form, unless suites are run whole.
func Only(t testing.TB) {
	t.Helper()
	if !All() {
		leave(t, "takes long; set SKL_TEST_LONG=all to run")
	}
}

// Agent is the agent program that the environment variable names. The one that somebody has in the PATH is not taken: it may be of any
// version. Without one the test is skipped; where suites are run whole and SKL_TEST_REQUIRE is all, it fails.
func Agent(t testing.TB, variable, name string) string {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		if All() && os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatalf("%s does not name the program %s, and SKL_TEST_REQUIRE=all wants no test skipped", variable, name)
		}
		leave(t, variable+" does not name the program "+name)
	}
	return program
}

// leave skips a test of the long suites.
func leave(t testing.TB, why string) {
	t.Helper()
	t.Attr("left", "long")
	t.Skip("skipped: " + why)
}

// Slow skips a test that takes more than half a second, with -short.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: takes more than half a second, and -short is given")
	}
}

// Of is how many, or how large: the first with -short, the second for a sample, and the third for all.
func Of[T any](short, sample, all T) T {
	switch {
	case testing.Short():
		return short
	case All():
		return all
	}
	return sample
}

// Hang is how long a test waits for what takes moments, and lets run what takes moments: only what hangs, or takes years, is longer than that on a
// machine that does ten other things. How fast something is, benchmarks and [Within] say.
const Hang = 20 * time.Second

// Within is how long something may take that a busy machine makes slow: d where suites are run whole, and elsewhere only no longer than [Hang].
func Within(d time.Duration) time.Duration { return Of(Hang, Hang, d) }
