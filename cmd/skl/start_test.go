package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// A started is a package that is initialised at the start of every command, and how much it allocates there.
type started struct {
	path  string
	bytes int
}

// atStart are the packages that are initialised at the start, in their order.
func atStart(t *testing.T) (out []started) {
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
	for _, m := range initialised.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, started{m[1], n})
	}
	return out
}

// TestAuditsWait holds that a command which audits nothing does not pay for audits: their tables are made when they are first used.
func TestAuditsWait(t *testing.T) {
	const most = 8 << 10
	for _, p := range atStart(t) {
		if strings.HasPrefix(p.path, module+"spec/audit") && p.bytes > most {
			t.Errorf("%s allocates %d bytes at the start of every command, more than %d", p.path, p.bytes, most)
		}
	}
}

// TestCollectionWaits holds that internal/memory is initialised before packages that allocate much, so that no garbage
// is collected while a command starts: the runtime would begin at some 2.8 MB.
func TestCollectionWaits(t *testing.T) {
	before, after, seen := 0, 0, false
	for _, p := range atStart(t) {
		switch {
		case p.path == module+"cmd/skl/internal/memory":
			seen = true
		case seen:
			after += p.bytes
		default:
			before += p.bytes
		}
	}
	if !seen || before > 2<<20 || after == 0 {
		t.Errorf("internal/memory initialised: %v, with %d bytes allocated before it and %d after it", seen, before, after)
	}
}

var collected = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB, (\d+) MB goal`)

// TestCollector holds that the choice of a command counts to its end: while skl index runs, the heap may grow to five times what lives.
func TestCollector(t *testing.T) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		t.Skip("skipped: GOGC or GOMEMLIMIT says how garbage is collected")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 300 {
		var text strings.Builder
		text.WriteString("package p\n")
		for k := range 60 {
			fmt.Fprintf(&text, "// F%[1]dn%[2]d does what is done in case %[2]d.\nfunc F%[1]dn%[2]d(value int) int { if value > %[2]d { return value }; return other%[2]d(value, \"text %[1]d\") }\n", i, k)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var trace bytes.Buffer
	cmd := exec.Command(self, "index", dir)
	cmd.Args[0] = "skl" // see TestMain
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "HOME="+t.TempDir(), "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=")
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &trace)
	}
	lived, judged := 0, 0
	for _, m := range collected.FindAllStringSubmatch(trace.String(), -1) {
		goal, _ := strconv.Atoi(m[2])
		if lived > 1 {
			if judged++; goal < 4*lived {
				t.Errorf("%d MB lived, and the next collection began at %d", lived, goal)
			}
		}
		lived, _ = strconv.Atoi(m[1])
	}
	if judged == 0 {
		t.Errorf("nothing can be told by\n%s", &trace)
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
