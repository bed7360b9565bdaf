// Package long says how much of a long suite a test run does. Tests use it for crash loops, for measurements of quality, and for
// suites that try every case.
//
//   - go test -short does the least: a test that takes more than half a second does less, or is skipped.
//   - go test does a sample of every suite, chosen by a fixed seed, so that each promise is still guarded.
//   - SKL_TEST_LONG=all, which .ci/run sets, does all.
//   - SKL_TEST_LONG=every does also what takes too long for .ci/run: every hostile clone with every command.
//
// With -short the variable has no effect.
package long

import (
	"os"
	"testing"
)

// All reports whether suites are run whole.
func All() bool {
	v := os.Getenv("SKL_TEST_LONG")
	return (v == "all" || v == "every") && !testing.Short()
}

// Every reports whether suites are run beyond what .ci/run does.
func Every() bool { return All() && os.Getenv("SKL_TEST_LONG") == "every" }

// Only skips a test that has no smaller form, unless suites are run whole.
func Only(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("skipped: takes long; set SKL_TEST_LONG=all to run")
	}
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
