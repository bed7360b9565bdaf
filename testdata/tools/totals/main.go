// Totals reads what "go test -json" prints and says what a person wants to know
// of it: one line per package, all output of tests that failed, why tests were
// skipped, and last "N passed, N failed, N skipped". Subtests count as tests. A package
// that fails without a failed test, because it does not build or is killed, counts as one.
// The exit status is 1 if anything failed, or if there was no test at all.
//
// A test can ask that other tests ran and passed, by its attributes: t.Attr("needs", "PACKAGE.TEST").
// With -needs PACKAGE.TEST, a test that was asked for and is not among those that passed counts as a failure, and so does the
// test that is given where it asked for none. A test that was skipped will do unless SKL_TEST_REQUIRE is all.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Key, Value                    string // of "attr"
	ImportPath                    string // of "build-output", in place of Package
	Elapsed                       float64
}

type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + "." + t.name }

func main() {
	asking := flag.String("needs", "", "the `PACKAGE.TEST` that asks for other tests")
	flag.Parse()
	if !count(os.Stdin, os.Stdout, *asking, os.Getenv("SKL_TEST_REQUIRE") == "all") {
		os.Exit(1)
	}
}

// count prints the totals of r to w, and reports whether all is well.
func count(r io.Reader, w io.Writer, asking string, noSkips bool) bool {
	var passed, failed, skipped int
	output := map[test][]string{}
	failures := map[string]int{}
	reasons := map[string]int{}
	ended := map[string]string{} // the last action of each test
	needs := map[string][]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(w, lines.Text()) // of the go command itself
			continue
		}
		id := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			output[id] = append(output[id], e.Output)
		case "attr":
			if e.Key == "needs" {
				needs[id.String()] = append(needs[id.String()], e.Value)
			}
		case "pass", "skip", "fail":
			if e.Test == "" {
				fmt.Fprintf(w, "%-4s %s %.1f s\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" && failures[e.Package] == 0 {
					fmt.Fprint(w, strings.Join(output[id], ""))
					failed++
				}
				break
			}
			ended[id.String()] = e.Action
			switch e.Action {
			case "pass":
				passed++
			case "skip":
				skipped++
				reasons[reason(output[id])]++
			case "fail":
				failed++
				failures[e.Package]++
				fmt.Fprintf(w, "--- %s %s\n%s", e.Package, e.Test, strings.Join(output[id], ""))
			}
			delete(output, id)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(w, err)
		failed++
	}
	for why, n := range reasons {
		fmt.Fprintf(w, "%d skipped: %s\n", n, why)
	}
	if asking != "" {
		missing := unmet(asking, needs, ended, noSkips)
		for _, m := range missing {
			fmt.Fprintln(w, m)
		}
		failed += len(missing)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0
}

// unmet says which tests that were asked for did not pass, in the order of their names.
func unmet(asking string, needs map[string][]string, ended map[string]string, noSkips bool) (missing []string) {
	if len(needs[asking]) == 0 {
		missing = append(missing, asking+" asked for no test")
	}
	for by, tests := range needs {
		slices.Sort(tests)
		for _, name := range slices.Compact(tests) {
			switch how := ended[name]; {
			case how == "pass", how == "skip" && !noSkips:
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

// reason is what a test said when it was skipped.
func reason(output []string) string {
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			_, text, _ = strings.Cut(text, ": ")
			return text
		}
		return line
	}
	return "without a reason"
}
