// Totals runs go test and says what a person wants to know of it: one line per
// package, all output of tests that failed, why tests were skipped, and last
// "N passed, N failed, N skipped". Subtests count as tests.
//
//	totals [-needs PACKAGE.TEST] [-sum FILE] [-- FLAGS PACKAGES]
//
// Flags of go test are written -name=value. Without "--" nothing is run, and the last line is the sum of FILE,
// to which each run adds its line.
//
// A test that fails is run again alone, twice. If it passes both times it is unstable: it is named with what it said
// first, and counts as passed; more than 5 of these are a failure. A package that ends early, by its time limit, a panic
// or an exit, counts as the tests that were under way; those that had not begun are run then. A package that fails
// without a failed test, because it does not build, counts as one, and so does a package of which go test said nothing. One that
// said something outside of its tests is run once more without those that failed.
//
// A test can ask that other tests ran and passed, by its attributes: t.Attr("needs", "PACKAGE.TEST").
// With -needs PACKAGE.TEST, a test that was asked for and is not among those that passed counts as a failure, and so does the
// test that is given where it asked for none. A test that was skipped will do unless SKL_TEST_REQUIRE is all, and also then
// if it, or the test it is part of, has the attribute t.Attr("left", "long"): it has no sample and belongs to the long suites.
//
// The exit status is 1 if anything failed, or if there was no test at all.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// maxUnstable is how many unstable tests are no reason to refuse.
const maxUnstable = 5

func main() {
	asking := flag.String("needs", "", "the `PACKAGE.TEST` that asks for other tests")
	file := flag.String("sum", "", "the `FILE` that has the sum of several runs")
	flag.Parse()
	c := &check{w: os.Stdout, asking: *asking, noSkips: os.Getenv("SKL_TEST_REQUIRE") == "all", goTest: goTest, list: list}
	var s sum
	if flag.NArg() > 0 {
		s = c.run(flag.Args())
		if err := s.addTo(*file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	} else {
		var err error
		if s, err = readSum(*file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s.print(os.Stdout)
	if !s.fine() {
		os.Exit(1)
	}
}

// A sum is what became of the tests of one run or several.
type sum struct {
	Passed, Skipped int
	Failed          []string // why: tests, packages, and tests that are needed
	Unstable        []string // tests and what they said first
}

func (s sum) fine() bool {
	return len(s.Failed) == 0 && len(s.Unstable) <= maxUnstable && s.Passed > 0
}

// print names what failed and what is unstable; the totals are the last line.
func (s sum) print(w io.Writer) {
	for _, name := range s.Failed {
		fmt.Fprintf(w, "failed: %s\n", name)
	}
	for _, name := range s.Unstable {
		fmt.Fprintf(w, "unstable: %s\n", name)
	}
	failed := len(s.Failed)
	if len(s.Unstable) > maxUnstable {
		fmt.Fprintf(w, "failed: more than %d tests are unstable\n", maxUnstable)
		failed++
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped", s.Passed, failed, s.Skipped)
	if len(s.Unstable) > 0 {
		fmt.Fprintf(w, ", %d unstable", len(s.Unstable))
	}
	fmt.Fprintln(w)
}

// addTo adds s to those of the file, as a line; "" is no file.
func (s sum) addTo(file string) error {
	if file == "" {
		return nil
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// readSum adds up the lines of a file.
func readSum(file string) (total sum, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return sum{}, err
	}
	for line := range strings.Lines(string(content)) {
		var s sum
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return sum{}, fmt.Errorf("%s: %w", file, err)
		}
		total.Passed += s.Passed
		total.Skipped += s.Skipped
		total.Failed = append(total.Failed, s.Failed...)
		total.Unstable = append(total.Unstable, s.Unstable...)
	}
	return total, nil
}

// unmet says which tests that were asked for did not pass, in the order of their names.
func (t *tally) unmet(asking string, noSkips bool) (missing []string) {
	if len(t.needs[asking]) == 0 {
		missing = append(missing, asking+" asked for no test")
	}
	for by, tests := range t.needs {
		slices.Sort(tests)
		for _, name := range slices.Compact(tests) {
			switch how := t.named[name]; {
			case how == "pass", how == "skip" && !noSkips, t.leaves(name):
			case how == "":
				missing = append(missing, fmt.Sprintf("%s did not run, and %s needs it", name, by))
			default:
				missing = append(missing, fmt.Sprintf("%s did not pass (%s), and %s needs it", name, how, by))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// leaves reports whether the test of that name, or one that it is part of, was left to the long suites.
func (t *tally) leaves(name string) bool {
	for {
		if t.named[name] == "skip" && t.left[name] {
			return true
		}
		i := strings.LastIndex(name, "/")
		if i < 0 {
			return false
		}
		name = name[:i] // at last parts of the package's path, which are no tests
	}
}
