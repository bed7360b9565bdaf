package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// top is the test that t is a subtest of, or t.
func (t test) top() string {
	name, _, _ := strings.Cut(t.name, "/")
	return name
}

// A tally is what "go test -json" printed of the tests of some packages.
type tally struct {
	w        io.Writer
	ended    map[test]string // the last action of each test
	open     map[test]bool   // begun and not ended; whether it was under way, and not waiting for its turn
	order    []test          // that began
	output   map[test][]string
	packages map[string]string   // the last action
	shown    map[string]bool     // a test says why this run of the package failed
	named    map[string]string   // ended, by PACKAGE.TEST
	needs    map[string][]string // by PACKAGE.TEST
	left     map[string]bool     // long suites that were skipped, by PACKAGE.TEST
	reasons  map[string]int      // of skips
	early    map[string]bool     // packages that ended before their tests did, with each test that had begun
	broken   []string            // packages that failed and had no test to show for it, and errors of reading
}

func newTally(w io.Writer) *tally {
	return &tally{w: w, ended: map[test]string{}, open: map[test]bool{}, output: map[test][]string{}, packages: map[string]string{}, shown: map[string]bool{},
		named: map[string]string{}, needs: map[string][]string{}, left: map[string]bool{}, reasons: map[string]int{}, early: map[string]bool{}}
}

// read takes in what one go test prints.
func (t *tally) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(t.w, lines.Text()) // of the go command itself
			continue
		}
		t.take(e)
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(t.w, err)
		t.broken = append(t.broken, err.Error())
	}
}

func (t *tally) take(e event) {
	id := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.w, e.Output)
	case "output":
		t.output[id] = append(t.output[id], e.Output)
	case "attr":
		switch e.Key {
		case "needs":
			t.needs[id.String()] = append(t.needs[id.String()], e.Value)
		case "left":
			t.left[id.String()] = true
		}
	case "start":
		t.shown[e.Package] = false
		t.packages[e.Package] = "start"
		delete(t.output, test{pkg: e.Package})
	case "run":
		t.open[id] = true
		t.order = append(t.order, id)
	case "pause":
		t.open[id] = false
	case "cont":
		t.open[id] = true
	case "pass", "skip", "fail":
		if e.Test == "" {
			t.end(e)
			return
		}
		delete(t.open, id)
		t.ended[id], t.named[id.String()] = e.Action, e.Action
		switch e.Action {
		case "skip":
			t.reasons[reason(t.output[id])]++
		case "fail":
			t.shown[e.Package] = true
			fmt.Fprintf(t.w, "--- %s %s\n%s", e.Package, e.Test, strings.Join(t.output[id], ""))
			return // what it said is needed later
		}
		delete(t.output, id)
	}
}

// end is that of a package.
func (t *tally) end(e event) {
	t.packages[e.Package] = e.Action
	fmt.Fprintf(t.w, "%-4s %s %.1f s\n", e.Action, e.Package, e.Elapsed)
	if e.Action != "fail" {
		return
	}
	for _, id := range t.unfinished(e.Package) {
		t.shown[e.Package] = true
		fmt.Fprintf(t.w, "--- %s %s did not end\n%s", id.pkg, id.name, strings.Join(t.output[id], ""))
	}
	if !t.shown[e.Package] {
		fmt.Fprint(t.w, strings.Join(t.output[test{pkg: e.Package}], ""))
		t.broken = append(t.broken, e.Package)
		return
	}
	// A panic fails the test that it is in before it ends the program, which then does not say FAIL in a line of its own.
	t.early[e.Package] = !slices.Contains(t.output[test{pkg: e.Package}], "FAIL\n")
}

// lost ends the packages that began and have no end, because the program or the go command went away. It reports whether there was one.
func (t *tally) lost() bool {
	found := false
	for _, pkg := range slices.Sorted(maps.Keys(t.packages)) {
		if t.packages[pkg] == "start" {
			found = true
			t.end(event{Action: "fail", Package: pkg})
		}
	}
	return found
}

// failed reports whether a test or a package failed.
func (t *tally) failed() bool {
	return slices.Contains(slices.Collect(maps.Values(t.packages)), "fail")
}

// beside is what a package said outside of its tests, without what the go command and the testing package say of every one.
func (t *tally) beside(pkg string) (text []string) {
	for _, line := range t.output[test{pkg: pkg}] {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); {
		case word == "", word == "PASS", word == "FAIL", word == "ok", strings.HasPrefix(word, "exit status "), strings.HasPrefix(word, "coverage: "), strings.HasPrefix(word, "testing: warning: no tests to run"):
		default:
			text = append(text, line)
		}
	}
	return text
}

// talkative are the packages that failed in their tests, and said something besides.
func (t *tally) talkative() (packages []string) {
	for _, pkg := range slices.Sorted(maps.Keys(t.packages)) {
		if t.packages[pkg] == "fail" && t.shown[pkg] && len(t.beside(pkg)) > 0 {
			packages = append(packages, pkg)
		}
	}
	return packages
}

// unfinished are the tests of a package that were under way when it ended, without those that others are part of.
func (t *tally) unfinished(pkg string) (tests []test) {
	for _, id := range t.order {
		if t.open[id] && id.pkg == pkg && !t.parent(id, func(sub test) bool { return t.open[sub] }) {
			tests = append(tests, id)
		}
	}
	return tests
}

// failures are the tests that failed, without those that failed by their subtests.
func (t *tally) failures() (tests []test) {
	for _, id := range t.order {
		if !slices.Contains(tests, id) && t.ended[id] == "fail" && (!t.parent(id, func(sub test) bool { return t.ended[sub] == "fail" }) || t.complained(id)) {
			tests = append(tests, id)
		}
	}
	return tests
}

// parent reports whether a subtest of id is as asked.
func (t *tally) parent(id test, is func(test) bool) bool {
	for _, sub := range t.order {
		if sub.pkg == id.pkg && strings.HasPrefix(sub.name, id.name+"/") && is(sub) {
			return true
		}
	}
	return false
}

// complained reports whether a test itself said something: it may have failed for more than its subtests.
func (t *tally) complained(id test) bool {
	_, ok := said(t.output[id])
	return ok
}

// said is the first line that a test printed with the place where it did.
func said(output []string) (string, bool) {
	for _, line := range output {
		if place, text, ok := strings.Cut(line, ".go:"); ok && strings.HasPrefix(line, "    ") && !strings.Contains(strings.TrimSpace(place), " ") {
			if _, text, ok := strings.Cut(text, ": "); ok {
				return strings.TrimSpace(text), true
			}
		}
	}
	return "", false
}

// reason is what a test said when it was skipped.
func reason(output []string) string {
	if text, ok := said(output); ok {
		return text
	}
	return "without a reason"
}

// first is what a test that failed said first, and what it panicked with where it did.
func first(output []string) string {
	for _, line := range output {
		if strings.HasPrefix(line, "panic: ") {
			return strings.TrimSpace(line)
		}
	}
	if text, ok := said(output); ok {
		return text
	}
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "it said nothing"
}
