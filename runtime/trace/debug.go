package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// DebugLog is the name of the file that [Debug] keeps in the project's directory.
const DebugLog = ".canopy-debug-trace.log"

// debugWidth is the width of the boxes in columns, hereColumn where the mark of the current node begins in the log.
const (
	debugWidth = 60
	hereColumn = 55
)

// Debug follows a run as canopy-debug does, without touching the skill: a banner per phase and a line per node on w, and a
// snapshot of the whole tree after every change.
type Debug struct {
	W        io.Writer
	Skill    *tree.Skill
	Command  string                  // what was typed
	Snapshot func(text string) error // replaces the log file; nil keeps none

	names []string // of the phases, in order
	phase string
	tree  map[string]*debugNode // of the skill's own tree, by id
	open  []debugVisit          // what runs now, in the order it began
	plans map[string][]string   // rows of a plan that wait for the line of its node, by path
}

// A debugNode is a node of the skill's own tree in the log.
type debugNode struct {
	node, parent *tree.Node
	sign         string // "" when it was not visited yet
	round        string // path of the visits of its children without their index: another one is another round of a loop
}

type debugVisit struct{ path, node string }

// phases are the phases of the skill's run, in order. Explore is there with an Agent section only, Verify where the
// tree, or an op that it calls, has a checklist.
func phases(s *tree.Skill) []string {
	out := []string{"Initialize"}
	if s.Agent != nil {
		out = append(out, "Explore")
	}
	out = append(out, "Tree Execution")
	if s.Tree != nil && verifies(s, s.Tree.Nodes, map[*tree.Op]bool{}) {
		out = append(out, "Verify")
	}
	return append(out, "Response")
}

func verifies(s *tree.Skill, nodes []*tree.Node, seen map[*tree.Op]bool) bool {
	found := false
	tree.Walk(nodes, func(n *tree.Node) bool {
		found = found || n.Kind == tree.Verify
		if n.Kind == tree.Call && !found {
			if op := s.Op(n.Name); op != nil && op.Tree != nil && !seen[op] {
				seen[op] = true
				found = verifies(s, op.Tree.Nodes, seen)
			}
		}
		return !found
	})
	return found
}

// start looks the tree over, once.
func (d *Debug) start() {
	d.names, d.tree, d.plans = phases(d.Skill), map[string]*debugNode{}, map[string][]string{}
	d.phase = d.names[0]
	if d.Skill.Tree != nil {
		d.index(d.Skill.Tree.Nodes, nil)
	}
}

func (d *Debug) index(nodes []*tree.Node, parent *tree.Node) {
	for _, n := range nodes {
		d.tree[n.ID] = &debugNode{node: n, parent: parent}
		d.index(n.Children, n)
	}
}

// description says what a phase does, in one line.
func (d *Debug) description(phase string) string {
	switch phase {
	case "Initialize":
		return "Reading the arguments of " + d.Skill.Name
	case "Explore":
		return "A subagent explores the project"
	case "Tree Execution":
		return fmt.Sprintf("Walking the tree of %s: %d nodes", d.Skill.Name, len(d.tree))
	case "Verify":
		return "Comparing what is with what is expected"
	}
	return "Putting the response together"
}

// Event implements Sink.
func (d *Debug) Event(e run.Event) {
	if d.tree == nil {
		d.start()
	}
	switch e.Kind {
	case run.PhaseStarted:
		if !slices.Contains(d.names, e.Text) {
			return // of an op that stands for a phase which the skill does not have
		}
		d.phase = e.Text
		title := fmt.Sprintf("Phase %d of %d: %s", d.number(), len(d.names), strings.ToUpper(e.Text))
		d.box(title, d.description(e.Text))
	case run.NodeStarted:
		d.begin(e)
	case run.NodeDone, run.NodeSkipped:
		d.end(e)
	case run.PlanShown:
		d.plans[e.Path] = planRows(e, "     ")
		return
	case run.Decided, run.Answered:
		fmt.Fprintf(d.W, "     = %s (%s)\n", plain(e.Value, 60), how(e.How))
		return
	case run.Checked:
		fmt.Fprintf(d.W, "     %s %s%s\n", symbol(e.Status), cut(e.Text, textColumns), reason(e))
		return
	case run.Warned:
		fmt.Fprintf(d.W, "     warning: %s\n", cut(e.Text, 300))
		return
	case run.ToolReplied:
		if e.Status != run.OK {
			fmt.Fprintf(d.W, "     %s\n", toolSaid(e))
		}
		return
	case run.Output:
		for _, text := range paragraphs(e.Text) {
			fmt.Fprintf(d.W, "     %s\n", text)
		}
		return
	case run.RunSuspended:
		for _, v := range d.open {
			d.mark(v.node, "⏸")
		}
		fmt.Fprintf(d.W, "  ⏸  %s\n", cut(e.Text, 200))
	default:
		return
	}
	d.snapshot()
}

// Close implements Sink.
func (d *Debug) Close() error { return nil }

func (d *Debug) number() int { return slices.Index(d.names, d.phase) + 1 }

func (d *Debug) begin(e run.Event) {
	sign := "→"
	switch {
	case e.Type == "EXPLORE", e.Type == "call" && strings.HasPrefix(e.Text, "**"):
		sign = "⟳"
	case e.Type == "ASK":
		sign = "⏸"
	}
	d.open = append(d.open, debugVisit{e.Path, e.Node})
	d.visit(e)
	d.line(sign, e)
	if in := pairs(e.Value, 40); in != "" {
		fmt.Fprintf(d.W, "  inputs:  %s\n", in)
	}
}

// visit begins to show a node: what was below it in an earlier visit, and beside it in another round of a loop, counts no more.
func (d *Debug) visit(e run.Event) {
	n := d.tree[e.Node]
	if n == nil {
		return
	}
	d.forget(n.node.Children)
	if n.parent == nil {
		return
	}
	round := e.Path[:max(strings.LastIndexByte(e.Path, '/'), 0)]
	if at := d.tree[n.parent.ID]; at.round != round {
		d.forget(n.parent.Children)
		at.round = round
	}
}

// forget makes nodes new again: a loop begins another round, or an op is called again.
func (d *Debug) forget(nodes []*tree.Node) {
	tree.Walk(nodes, func(n *tree.Node) bool {
		*d.tree[n.ID] = debugNode{node: n, parent: d.tree[n.ID].parent}
		return true
	})
}

func (d *Debug) end(e run.Event) {
	d.open = slices.DeleteFunc(d.open, func(v debugVisit) bool { return v.path == e.Path })
	switch {
	case e.Kind == run.NodeSkipped:
		d.visit(e)
		d.line("⊘", e)
		return
	case e.Type == "END" && e.Status != run.OK:
		d.line("✗", e)
		d.halted(e)
		return
	}
	sign := symbol(e.Status)
	if sign == "■" {
		sign = "✗" // canopy-debug has one sign for what failed and for what END stopped
	}
	d.line(sign, e)
	if out := pairs(e.Value, 40); out != "" {
		fmt.Fprintf(d.W, "  outputs: %s\n", out)
	}
	for _, row := range d.plans[e.Path] {
		fmt.Fprintln(d.W, row)
	}
	delete(d.plans, e.Path)
}

func (d *Debug) mark(id, sign string) {
	if n := d.tree[id]; n != nil {
		n.sign = sign
	}
}

func (d *Debug) line(sign string, e run.Event) {
	d.mark(e.Node, sign)
	fmt.Fprintf(d.W, "  %s  %s\n", sign, cut(e.Text, 200))
}

// box writes a double-lined box of debugWidth columns with one row.
func (d *Debug) box(title, text string) {
	title = "╔══ " + cut(title, debugWidth-8) + " "
	fmt.Fprintf(d.W, "%s%s╗\n", title, strings.Repeat("═", debugWidth-1-columns(title)))
	fmt.Fprintf(d.W, "║  %s║\n", pad(cut(text, debugWidth-5), debugWidth-4))
	fmt.Fprintf(d.W, "╚%s╝\n", strings.Repeat("═", debugWidth-2))
}

func (d *Debug) halted(e run.Event) {
	var message string
	if json.Unmarshal(e.Value, &message) != nil || message == "" {
		message = "The skill ends here."
	}
	d.box("HALTED", message)
}

// snapshot writes the whole tree with the state of each node.
func (d *Debug) snapshot() {
	if d.Snapshot == nil {
		return
	}
	here := ""
	for _, v := range slices.Backward(d.open) {
		if d.tree[v.node] != nil { // not inside of an op
			here = v.node
			break
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "canopy-debug — %s\n", cut(d.Command, 200))
	fmt.Fprintf(&b, "Phase %d of %d: %s\n\n", d.number(), len(d.names), d.phase)
	title := "─── " + cut(d.Skill.Name, 40) + " "
	fmt.Fprintf(&b, "%s%s\n", title, strings.Repeat("─", debugWidth-columns(title)))
	if d.Skill.Tree != nil {
		d.rows(&b, d.Skill.Tree.Nodes, here, 0, false)
	}
	b.WriteString(strings.Repeat("─", debugWidth) + "\n")
	if d.Snapshot(b.String()) != nil {
		d.Snapshot = nil // a log that cannot be written stops nothing
	}
}

func (d *Debug) rows(b *strings.Builder, nodes []*tree.Node, here string, level int, skipped bool) {
	for _, n := range nodes {
		sign := d.tree[n.ID].sign
		switch {
		case sign == "" && skipped:
			sign = "⊘"
		case sign == "":
			sign = "⊙"
		}
		start := strings.Repeat("  ", min(level, maxIndent)+1) + sign + "  "
		if n.ID == here {
			// The text gives way, so that the mark is always found in the same place.
			room := hereColumn - 2 - columns(start)
			fmt.Fprintf(b, "%s← here\n", pad(start+cut(n.Text, max(room, 8)), hereColumn-1))
		} else {
			b.WriteString(start + cut(n.Text, 120) + "\n")
		}
		d.rows(b, n.Children, here, level+1, sign == "⊘")
	}
}
