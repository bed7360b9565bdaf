package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const (
	rounds     = 4    // how often what had not begun is run, where a package ends early
	aloneLimit = "5m" // of a test that is run again
)

// A check runs tests and decides.
type check struct {
	w       io.Writer
	asking  string // -needs
	noSkips bool
	goTest  func(args []string, read func(io.Reader)) error // runs go test -json; its error is errTests where a test or a package failed
	list    func(patterns []string) ([]string, error)       // the packages that patterns mean; nil: nobody asks whether each was run
}

var errTests = errors.New("go test failed, and no test did")

// goTest runs the go command. Its error is errTests for the exit status that a failed test gives.
func goTest(args []string, read func(io.Reader)) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	read(out)
	if err = cmd.Wait(); cmd.ProcessState.ExitCode() == 1 {
		return errTests
	} else if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// list are the packages that patterns mean.
func list(patterns []string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// test runs go test and takes in what it prints. What the command itself says, and no test, is an error; so is a package that has no end.
func (c *check) test(t *tally, args []string) {
	err := c.goTest(args, t.read)
	lost := t.lost()
	switch {
	case errors.Is(err, errTests) && (lost || t.failed()):
	case err != nil:
		t.broken = append(t.broken, err.Error())
	}
}

// run runs go test with args, and again what has to be.
func (c *check) run(args []string) sum {
	t := newTally(c.w)
	c.test(t, args)
	c.rest(t, args)
	c.all(t, args)

	var s sum
	failures := t.failures()
	for _, pkg := range t.talkative() {
		c.without(t, pkg, failures, args)
	}
	s.Failed = append(s.Failed, t.broken...)
	if len(failures) > maxUnstable {
		fmt.Fprintf(c.w, "%d tests failed: none of them is run again\n", len(failures))
	}
	for _, id := range failures {
		why := id.String() + ": " + first(t.output[id])
		if len(failures) > maxUnstable || !c.again(id, args) {
			s.Failed = append(s.Failed, why)
			continue
		}
		s.Unstable = append(s.Unstable, why)
		t.ended[id], t.named[id.String()] = "pass", "pass"
	}
	t.clear()
	for _, how := range t.ended {
		switch how {
		case "pass":
			s.Passed++
		case "skip":
			s.Skipped++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(t.reasons)) {
		fmt.Fprintf(c.w, "%d skipped: %s\n", t.reasons[why], why)
	}
	if c.asking != "" {
		s.Failed = append(s.Failed, t.unmet(c.asking, c.noSkips)...)
	}
	return s
}

// rest runs the tests that had not begun when their package ended early. Those that were under way failed.
func (c *check) rest(t *tally, args []string) {
	for round := 1; ; round++ {
		var early []string
		for pkg, how := range t.packages {
			if how == "fail" && (len(t.unfinished(pkg)) > 0 || t.early[pkg]) {
				early = append(early, pkg)
			}
		}
		slices.Sort(early)
		for _, pkg := range early {
			for _, id := range t.unfinished(pkg) {
				t.ended[id], t.named[id.String()] = "fail", "fail"
			}
			skip := t.skip(pkg)
			t.early[pkg] = false
			for id := range t.open {
				if id.pkg == pkg {
					delete(t.open, id)
				}
			}
			if round > rounds {
				t.broken = append(t.broken, fmt.Sprintf("%s ended early %d times: some of its tests did not run", pkg, round))
				continue
			}
			fmt.Fprintf(c.w, "%s ended early: what it had not begun is run now\n", pkg)
			c.test(t, append(flags(args, "skip"), "-skip="+joined(flagOf(args, "skip"), skip), pkg))
		}
		if len(early) == 0 {
			return
		}
	}
}

// all adds a failure for each package that was asked for and of which go test said nothing.
func (c *check) all(t *tally, args []string) {
	if c.list == nil {
		return
	}
	packages, err := c.list(slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") }))
	if err != nil {
		t.broken = append(t.broken, err.Error())
	}
	for _, pkg := range packages {
		if t.packages[pkg] == "" {
			t.broken = append(t.broken, pkg+" did not run")
		}
	}
}

// without runs a package that said something outside of its tests, as a race or what TestMain finds, without the tests that failed: it
// may have failed for more than these.
func (c *check) without(t *tally, pkg string, failures []test, args []string) {
	var skip []string
	for _, id := range failures {
		if id.pkg == pkg {
			skip = append(skip, pattern(id.name))
		}
	}
	said := t.beside(pkg)
	fmt.Fprintf(c.w, "%s said something outside of its tests: it is run without those that failed\n", pkg)
	again := newTally(c.w)
	err := c.goTest(append(flags(args, "skip"), "-skip="+joined(flagOf(args, "skip"), strings.Join(skip, "|")), pkg), again.read)
	if err != nil || again.packages[pkg] != "pass" {
		t.broken = append(t.broken, pkg+": "+first(said))
	}
}

// skip is the pattern of the tests of a package that ended: of a test that others are part of and that did not end, those that did.
func (t *tally) skip(pkg string) string {
	unfinished := map[string]bool{}
	for id := range t.open {
		if id.pkg == pkg && t.ended[id] == "" {
			unfinished[id.top()] = true
		}
	}
	var patterns []string
	for _, id := range t.order {
		if id.pkg == pkg && t.ended[id] != "" && (id.name == id.top() || unfinished[id.top()]) {
			patterns = append(patterns, pattern(id.name))
		}
	}
	slices.Sort(patterns)
	return strings.Join(slices.Compact(patterns), "|")
}

// again reports whether a test passes alone, twice.
func (c *check) again(id test, args []string) bool {
	args = append(flags(args, "run", "skip", "timeout", "count"), "-run="+pattern(id.name), "-count=1", "-timeout="+aloneLimit, id.pkg)
	for n := range 2 {
		t := newTally(io.Discard)
		err := c.goTest(args, t.read)
		passed := err == nil && t.ended[id] == "pass" && t.packages[id.pkg] == "pass"
		fmt.Fprintf(c.w, "%s alone, try %d: passed: %v\n", id, n+1, passed)
		if !passed {
			return false
		}
	}
	return true
}

// clear lets tests pass that failed by their subtests only, where all of these pass now.
func (t *tally) clear() {
	for _, id := range slices.Backward(t.order) {
		fails := func(sub test) bool { return t.ended[sub] == "fail" }
		if t.ended[id] == "fail" && t.parent(id, func(test) bool { return true }) && !t.parent(id, fails) && !t.complained(id) {
			t.ended[id], t.named[id.String()] = "pass", "pass"
		}
	}
}

// pattern matches a test of that name alone, as go test -run and -skip understand it.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "|" + b
}

// flags are the flags among the arguments of go test, without some of them.
func flags(args []string, without ...string) (kept []string) {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && !slices.Contains(without, name) {
			kept = append(kept, arg)
		}
	}
	return kept
}

func flagOf(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "-"+name+"="); ok {
			return value
		}
	}
	return ""
}
