// Totals reads what "go test -json" prints and says what a person wants to know
// of it: one line per package, all output of tests that failed, why tests were
// skipped, and last "N passed, N failed, N skipped". Subtests count as tests. A package
// that fails without a failed test, because it does not build or is killed, counts as one.
// The exit status is 1 if anything failed, or if there was no test at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of "build-output", in place of Package
	Elapsed                       float64
}

type test struct{ pkg, name string }

func main() {
	var passed, failed, skipped int
	output := map[test][]string{}
	failures := map[string]int{}
	reasons := map[string]int{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text()) // of the go command itself
			continue
		}
		id := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			output[id] = append(output[id], e.Output)
		case "pass", "skip", "fail":
			if e.Test == "" {
				fmt.Printf("%-4s %s %.1f s\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" && failures[e.Package] == 0 {
					fmt.Print(strings.Join(output[id], ""))
					failed++
				}
				break
			}
			switch e.Action {
			case "pass":
				passed++
			case "skip":
				skipped++
				reasons[reason(output[id])]++
			case "fail":
				failed++
				failures[e.Package]++
				fmt.Printf("--- %s %s\n%s", e.Package, e.Test, strings.Join(output[id], ""))
			}
			delete(output, id)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Println(err)
		failed++
	}
	for why, n := range reasons {
		fmt.Printf("%d skipped: %s\n", n, why)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
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
