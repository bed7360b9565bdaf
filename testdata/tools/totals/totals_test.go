package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decide runs a check over what each go test in turn prints.
func decide(asking string, noSkips bool, runs ...string) (s sum, shown string) {
	var out strings.Builder
	c := &check{w: &out, asking: asking, noSkips: noSkips, goTest: func(_ []string, read func(io.Reader)) error {
		if len(runs) > 0 {
			read(strings.NewReader(runs[0]))
			runs = runs[1:]
		}
		return nil
	}}
	s = c.run([]string{"./..."})
	s.print(&out)
	return s, out.String()
}

// events are lines of JSON: "action package test", and what follows is the output.
func events(lines ...string) string {
	var all strings.Builder
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		if f[0] == "fail" && len(f) == 2 { // what the testing package says at its end
			all.WriteString(`{"Action":"output","Package":"` + f[1] + `","Output":"FAIL\n"}` + "\n")
		}
		all.WriteString(`{"Action":"` + f[0] + `","Package":"` + f[1] + `"`)
		if len(f) > 2 && f[2] != "" {
			all.WriteString(`,"Test":"` + f[2] + `"`)
		}
		if len(f) > 3 {
			all.WriteString(`,"Output":"` + f[3] + `\n"`)
		}
		all.WriteString("}\n")
	}
	return all.String()
}

// A test that another one needs has to have passed; nothing else counts.
func TestNeeds(t *testing.T) {
	const asks = `{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestA/one"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestB"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestB"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"other","Value":"q.TestC"}
{"Action":"pass","Package":"p","Test":"TestTable"}
`
	const one, b = `{"Action":"pass","Package":"q","Test":"TestA/one"}` + "\n", `{"Action":"pass","Package":"q","Test":"TestB"}` + "\n"
	const left = `{"Action":"attr","Package":"q","Test":"TestA/one","Key":"left","Value":"long"}` + "\n"
	skipped := strings.ReplaceAll(one, `"pass"`, `"skip"`)
	for _, tt := range []struct {
		name, events, asking string
		noSkips, ok          bool
		want                 string
	}{
		{"all passed", asks + one + b, "p.TestTable", true, true, "3 passed, 0 failed, 0 skipped"},
		{"before those that ask", one + b + asks, "p.TestTable", true, true, "3 passed, 0 failed"},
		{"one did not run", asks + b, "p.TestTable", false, false, "q.TestA/one did not run, and p.TestTable needs it"},
		{"only its parent ran", asks + `{"Action":"pass","Package":"q","Test":"TestA"}` + "\n" + b, "p.TestTable", false, false, "q.TestA/one did not run"},
		{"one of that name in another package", asks + strings.ReplaceAll(one, `"q"`, `"r"`) + b, "p.TestTable", false, false, "q.TestA/one did not run"},
		{"skipped", asks + skipped + b, "p.TestTable", true, false, "q.TestA/one did not pass (skip), and p.TestTable needs it"},
		{"skipped as a long suite", asks + left + skipped + b, "p.TestTable", true, true, "2 passed, 0 failed, 1 skipped"},
		{"part of a long suite that was skipped", asks + strings.ReplaceAll(left+skipped, "/one", "") + b, "p.TestTable", true, true, "2 passed, 0 failed, 1 skipped"},
		{"part of a test that was skipped", asks + strings.ReplaceAll(skipped, "/one", "") + b, "p.TestTable", true, false, "q.TestA/one did not run"},
		{"skipped where that is allowed", asks + skipped + b, "p.TestTable", false, true, "2 passed, 0 failed, 1 skipped"},
		{"failed", asks + strings.ReplaceAll(one, `"pass"`, `"fail"`) + b, "p.TestTable", false, false, "q.TestA/one did not pass (fail)"},
		{"nobody asked", one + b, "p.TestTable", false, false, "p.TestTable asked for no test"},
		{"nobody has to ask", one + b, "", true, true, "2 passed, 0 failed"},
		{"some of the packages", asks, "", true, true, "1 passed, 0 failed"},
	} {
		if s, out := decide(tt.asking, tt.noSkips, tt.events); s.fine() != tt.ok || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, s.fine(), out)
		}
	}
}

func TestTotals(t *testing.T) {
	passes := events("run p TestX", "pass p TestX", "pass p")
	fails := events("run p TestX", "output p TestX     x_test.go:3: why", "fail p TestX", "fail p")
	inner := events("run p TestX", "run p TestX/a", "output p TestX/a why", "fail p TestX/a", "fail p TestX", "fail p")
	innerPasses := events("run p TestX", "run p TestX/a", "pass p TestX/a", "pass p TestX", "pass p")
	outer := events("run p TestX", "run p TestX/a", "pass p TestX/a", "output p TestX     x_test.go:9: outside", "fail p TestX", "fail p")
	var six, sixPass []string
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		six = append(six, "run p Test"+name, "fail p Test"+name)
		sixPass = append(sixPass, events("run p Test"+name, "pass p Test"+name, "pass p"), events("run p Test"+name, "pass p Test"+name, "pass p"))
	}
	for _, tt := range []struct {
		name string
		runs []string
		ok   bool
		want string
	}{
		{"nothing", []string{""}, false, "0 passed, 0 failed, 0 skipped\n"},
		{"a test that fails", []string{fails, fails}, false, "x_test.go:3: why\nfail p 0.0 s\n"},
		{"a test that fails again", []string{fails, passes, fails}, false, "failed: p.TestX: why\n0 passed, 1 failed"},
		{"a test that passes alone", []string{fails, passes, passes}, true, "unstable: p.TestX: why\n1 passed, 0 failed, 0 skipped, 1 unstable\n"},
		{"that is not there alone", []string{fails, events("pass p")}, false, "0 passed, 1 failed"},
		{"that is skipped alone", []string{fails, events("run p TestX", "skip p TestX", "pass p")}, false, "0 passed, 1 failed"},
		{"a subtest", []string{inner, innerPasses, innerPasses}, true, "unstable: p.TestX/a: why\n2 passed, 0 failed"},
		{"a subtest that fails again", []string{inner, inner}, false, "failed: p.TestX/a: why\n0 passed, 1 failed"},
		{"more than its subtests", []string{outer, outer}, false, "failed: p.TestX: outside\n1 passed, 1 failed"},
		{"too many that might be unstable", append([]string{events(append(six, "fail p")...)}, sixPass...), false, "none of them is run again\nfailed: p.TestA: it said nothing"},
		{"a package that does not build", []string{events("output p  no", "fail p")}, false, "no\nFAIL\nfailed: p\n0 passed, 1 failed"},
		{"a package that fails when its tests passed", []string{events("run p TestX", "pass p TestX", "output p  leak", "fail p")}, false, "leak\nFAIL\nfailed: p\n1 passed, 1 failed"},
		{"a reason", []string{events("run p TestX", "output p TestX     x_test.go:3: no git", "skip p TestX")}, false, "1 skipped: no git\n"},
		{"a panic after a word", []string{events("run p TestX", "output p TestX     x_test.go:3: begins", "output p TestX panic: boom", "fail p TestX", "fail p")}, false, "failed: p.TestX: panic: boom\n"},
		{"text of the go command", []string{"not JSON\n" + passes}, true, "not JSON\npass p 0.0 s\n1 passed"},
	} {
		if s, out := decide("", false, tt.runs...); s.fine() != tt.ok || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, s.fine(), out)
		}
	}
}

// A run of go test that does not come to its end is a failure, whatever its tests said until then.
func TestEnds(t *testing.T) {
	passes := events("run p TestX", "pass p TestX", "pass p")
	begun := events("start p", "run p TestX", "pass p TestX", "run p TestY")
	fails := events("run p TestX", "fail p TestX", "output p  leak", "fail p")
	for _, tt := range []struct {
		name string
		runs []string
		errs []error
		list []string
		ok   bool
		want string
	}{
		{"killed", []string{passes}, []error{errors.New("go test: signal: killed")}, nil, false, "failed: go test: signal: killed\n1 passed, 1 failed"},
		{"failed without a test", []string{passes}, []error{errTests}, nil, false, "failed: go test failed, and no test did\n"},
		{"a package without an end", []string{begun, events("start p", "run p TestZ", "fail p TestZ", "fail p")}, []error{nil, errTests}, nil, false, "p TestY did not end\n"},
		{"and the rest of it", []string{begun, events("start p", "run p TestZ", "fail p TestZ", "fail p")}, []error{nil, errTests}, nil, false, "failed: p.TestZ: it said nothing\n"},
		{"a package that did not run", []string{passes}, nil, []string{"p", "q"}, false, "failed: q did not run\n1 passed, 1 failed"},
		{"all ran", []string{passes}, nil, []string{"p"}, true, "1 passed, 0 failed"},
		{"a package that says more, and fails without that test", []string{fails, events("start p", "output p  leak", "fail p"), passes, passes}, []error{errTests, errTests}, nil, false, "failed: p: leak\n"},
		{"a package that says more, and passes without that test", []string{fails, events("start p", "pass p"), passes, passes}, []error{errTests}, nil, true, "1 passed, 0 failed, 0 skipped, 1 unstable\n"},
	} {
		var out strings.Builder
		runs, errs := tt.runs, tt.errs
		c := &check{w: &out, goTest: func(_ []string, read func(io.Reader)) (err error) {
			if len(runs) > 0 {
				read(strings.NewReader(runs[0]))
				runs = runs[1:]
			}
			if len(errs) > 0 {
				err, errs = errs[0], errs[1:]
			}
			return err
		}}
		if tt.list != nil {
			c.list = func([]string) ([]string, error) { return tt.list, nil }
		}
		s := c.run([]string{"./..."})
		s.print(&out)
		if s.fine() != tt.ok || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, s.fine(), out.String())
		}
	}
}

// The sum of several runs has the failures of all, and too many unstable tests in all are a failure.
func TestSum(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sum")
	for _, s := range []sum{{Passed: 3, Skipped: 1, Unstable: []string{"a", "b", "c"}}, {Passed: 4, Unstable: []string{"d", "e"}}} {
		if err := s.addTo(file); err != nil {
			t.Fatal(err)
		}
	}
	total, err := readSum(file)
	var out strings.Builder
	total.print(&out)
	if err != nil || !total.fine() || !strings.HasSuffix(out.String(), "\n7 passed, 0 failed, 1 skipped, 5 unstable\n") {
		t.Errorf("%v %+v\n%s", err, total, out.String())
	}
	if err := (sum{Passed: 1, Unstable: []string{"f"}}).addTo(file); err != nil {
		t.Fatal(err)
	}
	total, err = readSum(file)
	out.Reset()
	total.print(&out)
	if err != nil || total.fine() || !strings.HasSuffix(out.String(), "\n8 passed, 1 failed, 1 skipped, 6 unstable\n") {
		t.Errorf("%v %+v\n%s", err, total, out.String())
	}
}

// planted has a test of each kind: odd fails the first time, and hangs is ended by the time limit.
const planted = `package planted

import (
	"os"
	"testing"
	"time"
)

func TestBefore(t *testing.T) {}

func TestOdd(t *testing.T) {
	if f, err := os.OpenFile("been", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		t.Error("the first time")
	}
}

func TestPanics(t *testing.T) {
	if os.Getenv("PLANTED_PANIC") == "" {
		return
	}
	if f, err := os.OpenFile("panicked", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		panic("the first time")
	}
}

func TestAlways(t *testing.T) {
	if os.Getenv("PLANTED_ALWAYS") != "" {
		t.Error("always")
	}
}

func TestScripts(t *testing.T) {
	for _, name := range []string{"a", "hangs", "c d", "e"} {
		t.Run(name, func(t *testing.T) {
			if name == "hangs" && os.Getenv("PLANTED_HANG") != "" {
				time.Sleep(time.Hour)
			}
		})
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	t.Run("x", func(t *testing.T) {})
}

func TestAfter(t *testing.T) {}
`

// TestPlanted runs the real go command: a test that fails decides, one that fails now and then is named, and one that hangs is named
// and takes no other along.
func TestPlanted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		env      []string
		limit    string // ends what hangs
		passed   int
		failed   string
		unstable []string
	}{
		{"odd", nil, "1m", 12, "", []string{"planted.TestOdd: the first time"}},
		{"always", []string{"PLANTED_ALWAYS"}, "1m", 11, "planted.TestAlways: always", []string{"planted.TestOdd: the first time"}},
		{"hang", []string{"PLANTED_HANG"}, "5s", 11, "planted.TestScripts/hangs: panic: test timed out after 5s", []string{"planted.TestOdd: the first time"}},
		{"panic", []string{"PLANTED_PANIC"}, "1m", 12, "", []string{"planted.TestOdd: the first time", "planted.TestPanics: panic: the first time [recovered, repanicked]"}},
		{"panic before a failure", []string{"PLANTED_PANIC", "PLANTED_ALWAYS"}, "1m", 11, "planted.TestAlways: always",
			[]string{"planted.TestOdd: the first time", "planted.TestPanics: panic: the first time [recovered, repanicked]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{"go.mod": "module planted\n\ngo 1.26\n", "planted_test.go": planted} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			for _, name := range tt.env {
				t.Setenv(name, "1")
			}
			var out strings.Builder
			c := &check{w: &out, list: list, goTest: func(args []string, read func(io.Reader)) error {
				for i, arg := range args { // that of a test that is run alone is minutes
					if strings.HasPrefix(arg, "-timeout=") {
						args[i] = "-timeout=" + tt.limit
					}
				}
				return goTest(args, read)
			}}
			s := c.run([]string{"-timeout=" + tt.limit, "./..."})
			if s.Passed != tt.passed || strings.Join(s.Failed, "\n") != tt.failed || !slices.Equal(s.Unstable, tt.unstable) {
				t.Errorf("%+v\n%s", s, out.String())
			}
		})
	}
}
