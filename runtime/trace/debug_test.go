package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// The stream of canopy-debug for a whole run, and the log at each of its changes.
func TestDebug(t *testing.T) {
	skill, events := review(t, reviewed, yes)
	var out strings.Builder
	var logs []string
	d := &Debug{W: &out, Skill: skill, Command: "review PR-1", Snapshot: func(text string) error {
		logs = append(logs, text)
		return nil
	}}
	for _, e := range events {
		d.Event(e)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "debug.txt", out.String())
	for i, text := range logs {
		wellFormed(t, i, text)
	}
	// The log while the op's body runs, and in the second round of the loop.
	find := func(what string) string {
		for _, text := range logs {
			if here, _, ok := strings.Cut(text, "← here"); ok && strings.Contains(here[strings.LastIndexByte(here, '\n')+1:], what) {
				return text
			}
		}
		t.Errorf("%q is never the current node", what)
		return ""
	}
	golden(t, "debug_log.txt", find("**REVIEW**")+find("Look at b.go")+logs[len(logs)-1])
}

// wellFormed holds a snapshot to the form of the log.
func wellFormed(t *testing.T, i int, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	here := 0
	for n, line := range lines {
		start, _, ok := strings.Cut(line, "← here")
		if ok {
			here++
			if columns(start) != hereColumn-1 {
				t.Errorf("snapshot %d, line %d: the mark is in column %d", i, n+1, columns(start)+1)
			}
		}
	}
	if !strings.HasPrefix(lines[0], "canopy-debug — ") || !strings.HasPrefix(lines[1], "Phase ") || lines[2] != "" || here > 1 {
		t.Errorf("snapshot %d:\n%s", i, text)
	}
}

func TestDebugSuspended(t *testing.T) {
	skill, events := review(t, reviewed, nil)
	var out strings.Builder
	last := ""
	d := &Debug{W: &out, Skill: skill, Snapshot: func(text string) error {
		last = text
		return nil
	}}
	for _, e := range events {
		d.Event(e)
	}
	if !strings.Contains(last, "⏸  ASK << Publish the review? | Yes | No") || !strings.HasSuffix(out.String(), "  ⏸  Publish the review?\n") {
		t.Errorf("got\n%s\n%s", out.String(), last)
	}
}

// Phases are numbered over those that the skill has.
func TestDebugPhases(t *testing.T) {
	verify := []*tree.Node{{ID: "0", Kind: tree.Verify, Text: "VERIFY_EXPECTED"}}
	call := []*tree.Node{{ID: "0", Kind: tree.Call, Name: "CHECK", Text: "CHECK"}}
	plain := []*tree.Node{{ID: "0", Text: "Do it"}}
	checks := &tree.Op{Name: "CHECK", Kind: tree.TreeBody, Tree: &tree.Tree{Nodes: []*tree.Node{{ID: "o", Kind: tree.Verify}, {ID: "o2", Kind: tree.Call, Name: "CHECK"}}}}
	for _, tt := range []struct {
		name  string
		skill *tree.Skill
		want  string
	}{
		{"plain", &tree.Skill{Tree: &tree.Tree{Nodes: plain}}, "1/3 INITIALIZE, 2/3 TREE EXECUTION, 3/3 RESPONSE"},
		{"explore", &tree.Skill{Agent: &tree.Agent{}, Tree: &tree.Tree{Nodes: plain}}, "1/4 INITIALIZE, 2/4 EXPLORE, 3/4 TREE EXECUTION, 4/4 RESPONSE"},
		{"verify", &tree.Skill{Tree: &tree.Tree{Nodes: verify}}, "1/4 INITIALIZE, 2/4 TREE EXECUTION, 3/4 VERIFY, 4/4 RESPONSE"},
		{"verify in an op", &tree.Skill{Tree: &tree.Tree{Nodes: call}, Ops: []*tree.Op{checks}}, "1/4 INITIALIZE, 2/4 TREE EXECUTION, 3/4 VERIFY, 4/4 RESPONSE"},
		{"an op that nothing calls", &tree.Skill{Tree: &tree.Tree{Nodes: plain}, Ops: []*tree.Op{checks}}, "1/3 INITIALIZE, 2/3 TREE EXECUTION, 3/3 RESPONSE"},
		{"both", &tree.Skill{Agent: &tree.Agent{}, Tree: &tree.Tree{Nodes: verify}}, "1/5 INITIALIZE, 2/5 EXPLORE, 3/5 TREE EXECUTION, 4/5 VERIFY, 5/5 RESPONSE"},
		{"no tree", &tree.Skill{}, "1/3 INITIALIZE, 2/3 TREE EXECUTION, 3/3 RESPONSE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			d := &Debug{W: &out, Skill: tt.skill, Snapshot: func(string) error { return nil }}
			for _, phase := range []string{"Initialize", "Explore", "Tree Execution", "Verify", "Response"} {
				d.Event(run.Event{Kind: run.PhaseStarted, Text: phase})
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				var n, of int
				if _, err := fmt.Sscanf(line, "╔══ Phase %d of %d:", &n, &of); err == nil {
					_, label, _ := strings.Cut(line, ": ")
					label, _, _ = strings.Cut(label, " ═")
					got = append(got, fmt.Sprintf("%d/%d %s", n, of, label))
				}
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got %s", s)
			}
		})
	}
}

// Boxes are 60 columns wide, whatever stands in them.
func TestDebugBoxes(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("long ", 30), strings.Repeat("日", 40), "a" + strings.Repeat("日", 40), "e\u0301 combining", "👍 " + strings.Repeat("👍", 40), hostile, "two\nlines"} {
		for _, title := range []string{"HALTED", text} {
			var out strings.Builder
			(&Debug{W: &out}).box(title, text)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 3 {
				t.Errorf("%q, %q: %d lines", title, text, len(lines))
			}
			for _, line := range lines {
				if columns(line) != 60 {
					t.Errorf("%q, %q: %d columns: %s", title, text, columns(line), line)
				}
			}
		}
	}
}

// END stops with a box that says why.
func TestDebugHalted(t *testing.T) {
	var out strings.Builder
	d := &Debug{W: &out, Skill: &tree.Skill{Tree: &tree.Tree{Nodes: []*tree.Node{{ID: "0", Kind: tree.End, Text: "END << No tests, no release."}}}}}
	d.Event(started("0", "END", "END << No tests, no release."))
	e := done("0", "END", "END << No tests, no release.", run.Halted)
	e.Value = []byte(`"No tests, no release."`)
	d.Event(e)
	const want = `  →  END << No tests, no release.
  ✗  END << No tests, no release.
╔══ HALTED ════════════════════════════════════════════════╗
║  No tests, no release.                                   ║
╚══════════════════════════════════════════════════════════╝
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

// A round of a loop begins with children that were not visited; a branch that was skipped in the round before counts for nothing.
func TestDebugLoopForgets(t *testing.T) {
	a, b := &tree.Node{ID: "0/0", Text: "a"}, &tree.Node{ID: "0/1", Text: "b", Children: []*tree.Node{{ID: "0/1/0", Text: "c"}}}
	loop := &tree.Node{ID: "0", Kind: tree.ForEach, Text: "FOR_EACH", Children: []*tree.Node{a, b}}
	log := ""
	d := &Debug{W: io.Discard, Skill: &tree.Skill{Name: "s", Tree: &tree.Tree{Nodes: []*tree.Node{loop}}}, Snapshot: func(text string) error {
		log = text
		return nil
	}}
	at := func(path, node, kind string) run.Event {
		return run.Event{Kind: run.EventKind(kind), Path: path, Node: node, Text: node, Status: run.OK}
	}
	for _, e := range []run.Event{
		at("0", "0", "node.started"), at("0[0]/0", "0/0", "node.started"), at("0[0]/0", "0/0", "node.done"), at("0[0]/1", "0/1", "node.skipped"),
		at("0[1]/0", "0/0", "node.started"),
	} {
		d.Event(e)
	}
	rows := strings.Join(strings.Split(log, "\n")[4:8], "\n")
	const want = `  →  FOR_EACH
    →  a                                              ← here
    ⊙  b
      ⊙  c`
	if rows != want {
		t.Errorf("got\n%s", rows)
	}
}

// A log that cannot be written stops nothing, and is tried once.
func TestDebugLogFails(t *testing.T) {
	tries := 0
	d := &Debug{W: io.Discard, Skill: &tree.Skill{}, Snapshot: func(string) error {
		tries++
		return errors.New("read-only")
	}}
	d.Event(run.Event{Kind: run.PhaseStarted, Text: "Initialize"})
	d.Event(run.Event{Kind: run.PhaseStarted, Text: "Response"})
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
}
