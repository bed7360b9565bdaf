package main

import (
	"strings"
	"testing"
)

// A test that another one needs has to have passed; nothing else counts.
func TestNeeds(t *testing.T) {
	const asks = `{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestA/one"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestB"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"needs","Value":"q.TestB"}
{"Action":"attr","Package":"p","Test":"TestTable","Key":"other","Value":"q.TestC"}
{"Action":"pass","Package":"p","Test":"TestTable"}
`
	const one, b = `{"Action":"pass","Package":"q","Test":"TestA/one"}` + "\n", `{"Action":"pass","Package":"q","Test":"TestB"}` + "\n"
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
		{"skipped", asks + strings.ReplaceAll(one, `"pass"`, `"skip"`) + b, "p.TestTable", true, false, "q.TestA/one did not pass (skip), and p.TestTable needs it"},
		{"skipped where that is allowed", asks + strings.ReplaceAll(one, `"pass"`, `"skip"`) + b, "p.TestTable", false, true, "2 passed, 0 failed, 1 skipped"},
		{"failed", asks + strings.ReplaceAll(one, `"pass"`, `"fail"`) + b, "p.TestTable", false, false, "q.TestA/one did not pass (fail)"},
		{"nobody asked", one + b, "p.TestTable", false, false, "p.TestTable asked for no test"},
		{"nobody has to ask", one + b, "", true, true, "2 passed, 0 failed"},
		{"some of the packages", asks, "", true, true, "1 passed, 0 failed"},
	} {
		var out strings.Builder
		if ok := count(strings.NewReader(tt.events), &out, tt.asking, tt.noSkips); ok != tt.ok || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, ok, out.String())
		}
	}
}

func TestTotals(t *testing.T) {
	for _, tt := range []struct {
		name, events string
		ok           bool
		want         string
	}{
		{"nothing", "", false, "0 passed, 0 failed, 0 skipped\n"},
		{"a test that failed", `{"Action":"output","Package":"p","Test":"TestX","Output":"why\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestX"}`, false, "--- p TestX\nwhy\n0 passed, 1 failed"},
		{"a package that does not build", `{"Action":"output","Package":"p","Output":"no\n"}` + "\n" + `{"Action":"fail","Package":"p"}`, false, "no\n0 passed, 1 failed"},
		{"a reason", `{"Action":"output","Package":"p","Test":"TestX","Output":"    x_test.go:3: no git\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestX"}`, false, "1 skipped: no git\n"},
		{"text of the go command", "not JSON\n" + `{"Action":"pass","Package":"p","Test":"TestX"}`, true, "not JSON\n1 passed"},
	} {
		var out strings.Builder
		if ok := count(strings.NewReader(tt.events), &out, "", false); ok != tt.ok || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, ok, out.String())
		}
	}
}
