package harness

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// refused WORDS skl ARGS…: a command line that nobody can be asked about exits with 4, its hint is to add exactly "--accept WORDS",
// and nothing is written: project and home are as before, the store aside.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[1] != "skl" {
		ts.Fatalf("usage: refused WORDS skl ARGS…")
	}
	snapshot(ts, false, nil)
	status, said := runSaid(ts, args[2:])
	if status != 4 {
		ts.Fatalf("exits with %d, want 4", status)
	}
	if got := Accepts(said); got != args[0] {
		ts.Fatalf("the hint is to accept %q, want %q", got, args[0])
	}
	unchanged(ts, false, []string{"store"})
}

// Accepts is the word that the last hint of a refusal has behind --accept, as a shell would pass it on. It is "" without such a hint.
func Accepts(said string) (words string) {
	for line := range strings.Lines(said) {
		_, after, ok := strings.Cut(line, "accept that: add --accept ")
		if !ok {
			continue
		}
		after, _, _ = strings.Cut(after, `"`) // of JSON
		if list := shellWords(" " + strings.TrimSpace(after)); len(list) == 1 {
			words = list[0]
		}
	}
	return words
}
