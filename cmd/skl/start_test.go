package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// TestMain makes this test program skl itself where a test starts it under that name.
func TestMain(m *testing.M) {
	if os.Args[0] == "skl" {
		main()
	}
	os.Exit(m.Run())
}

var initialised = regexp.MustCompile(`(?m)^init (\S+) .*?(\d+) bytes, \d+ allocs$`)

// TestCollectionWaits holds that internal/memory is initialised before packages that allocate much, so that no garbage
// is collected while a command starts: the runtime would begin at some 2.8 MB.
func TestCollectionWaits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	cmd := exec.Command(self, "version")
	cmd.Args[0] = "skl" // see TestMain
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	before, after, seen := 0, 0, false
	for _, m := range initialised.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case m[1] == module+"cmd/skl/internal/memory":
			seen = true
		case seen:
			after += n
		default:
			before += n
		}
	}
	if !seen || before > 2<<20 || after == 0 {
		t.Errorf("internal/memory initialised: %v, with %d bytes allocated before it and %d after it", seen, before, after)
	}
}

// TestNoSlowTables holds that no module is linked whose tables of character widths take 27 ms at the start of every command.
func TestNoSlowTables(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Fatal("the modules of this program are not known")
	}
	for _, m := range info.Deps {
		if v := strings.TrimPrefix(m.Version, "v0.0."); m.Path == "github.com/mattn/go-runewidth" && v != m.Version {
			if n, err := strconv.Atoi(v); err != nil || n < 28 {
				t.Errorf("%s %s is linked: take v0.0.28", m.Path, m.Version)
			}
		}
	}
}
