package process

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/testdata/long"
)

// steps are the nodes of the tree of TestKilledRuns with the section of the script that each runs.
var steps = map[string]string{"0": "A", "1": "B", "2/0": "C", "2/1": "D", "2/2": "E", "3": "F", "4": "G", "5": "H"}

// effectful is a skill whose steps write their section's name to effects.txt.
func effectful() gittest.Files {
	var script strings.Builder
	for _, section := range slices.Sorted(maps.Values(steps)) {
		fmt.Fprintf(&script, "# === %s ===\necho %[1]s >> effects.txt\nsleep 0.02\necho %[1]s\n", section)
	}
	var tree strings.Builder
	for _, node := range slices.Sorted(maps.Keys(steps)) {
		if node == "2/0" {
			tree.WriteString("* PARALLEL\n")
		}
		indent := ""
		if strings.Contains(node, "/") {
			indent = "  "
		}
		fmt.Fprintf(&tree, "%s* Read `scripts/steps.sh` for `%s` section >> %s\n", indent, steps[node], strings.ToLower(steps[node]))
	}
	return gittest.Files{
		"SKILL.md":         "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n" + tree.String() + "\n## Response: a | b | c | d | e | f | g | h\n",
		"scripts/steps.sh": script.String(),
	}
}

var unseen = regexp.MustCompile(`--rerun '([0-9/]+)'`)

// The real program is killed at random moments of a run whose every step has an effect. Resume never does an effect twice by itself:
// where nobody saw one end it asks, and is told what happened. In the end each effect was there once.
func TestKilledRuns(t *testing.T) {
	long.Slow(t)
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("skipped: needs /bin/sh")
	}
	p := harness.NewPlace(t)
	for name, text := range effectful() {
		path := filepath.Join(p.Project, "demo", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	effects := filepath.Join(p.Project, "effects.txt")
	start := time.Now()
	p.Must("run", "demo", "--allow", "run,external")
	took := time.Since(start)
	random := rand.New(rand.NewSource(3))
	rounds := long.Of(1, 3, 12)
	if long.Every() {
		rounds = 130
	}
	resumed, asked := 0, 0
	for round := range rounds {
		os.Remove(effects)
		cmd := p.Command("run", "demo", "--allow", "run,external")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took/20 + time.Duration(random.Int63n(int64(took))))
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			continue // it was done before
		}
		time.Sleep(60 * time.Millisecond) // a step that was running has ended, or died with the program
		args := []string{"resume"}
		for again := 0; ; again++ {
			status, out := p.Skl(args...)
			if status == 0 {
				break
			}
			done, err := os.ReadFile(effects)
			if status == 2 && strings.Contains(out, "is done (ok)") {
				if err != nil { // that was the run before; this one had not begun
					p.Must("run", "demo", "--allow", "run,external")
				}
				break
			}
			nodes := unseen.FindAllStringSubmatch(out, -1)
			if status != 5 || len(nodes) == 0 || again == len(steps) {
				t.Fatalf("round %d: resume: exit %d\n%s", round, status, out)
			}
			asked++
			args = []string{"resume"}
			for _, node := range nodes {
				section, ok := steps[node[1]]
				if !ok {
					t.Fatalf("round %d: %s is no step\n%s", round, node[1], out)
				}
				if slices.Contains(strings.Fields(string(done)), section) {
					args = append(args, "--done", node[1]+"="+section)
				} else {
					args = append(args, "--rerun", node[1])
				}
			}
		}
		resumed++
		done, err := os.ReadFile(effects)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(done))
		slices.Sort(got)
		if want := slices.Sorted(maps.Values(steps)); !slices.Equal(got, want) {
			t.Fatalf("round %d: the effects are %v and not %v", round, got, want)
		}
	}
	t.Logf("%d of %d runs were resumed; %d times resume asked what had happened", resumed, rounds, asked)
}
