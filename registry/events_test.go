package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// eventActions lists every action that the source writes into the audit trail, and no other.
func TestEventActions(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`g\.event\(ctx, tx, who, "([a-z-]+)"`)
	want := map[string]bool{}
	for _, a := range []Action{Approve, Reject, Quarantine, Deprecate, Undeprecate, Yank, Unyank, Block, Unblock} {
		if _, ok := transitions(a); !ok {
			t.Errorf("there is no transition %s", a)
		}
		want[string(a)] = true
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range written.FindAllStringSubmatch(string(text), -1) {
			want[m[1]] = true
		}
	}
	got := eventActions()
	if !slices.IsSorted(got) || len(got) != len(want) || len(got) < 25 {
		t.Errorf("%d actions, want %d in order: %q", len(got), len(want), got)
	}
	for _, a := range got {
		if !want[a] {
			t.Errorf("nothing writes %s", a)
		}
		delete(want, a)
	}
	for a := range want {
		t.Errorf("%s is missing", a)
	}
}
