package trace

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// DebugLog is the name of the file that [Debug] keeps in the project's directory.
const DebugLog = ".canopy-debug-trace.log"

// debugWidth is the width of the boxes in columns.
const debugWidth = 60

// Debug follows a run as canopy-debug does, without touching the skill: a banner per phase and a line per node on w, and a
// snapshot of the whole tree after every change.
type Debug struct {
	W        io.Writer
	Skill    *tree.Skill
	Command  string                  // what was typed
	Snapshot func(text string) error // replaces the log file; nil keeps none

	phase  string
	number int
	state  map[string]string // by node id: symbol
	here   string
}

// phases are the phases of the skill's run, in order.
func (d *Debug) phases() []string {
	out := []string{"Initialize"}
	if d.Skill.Agent != nil {
		out = append(out, "Explore")
	}
	out = append(out, "Tree Execution")
	verify := false
	tree.Walk(d.Skill.Tree.Nodes, func(n *tree.Node) bool {
		verify = verify || n.Kind == tree.Verify
		return true
	})
	if verify {
		out = append(out, "Verify")
	}
	return append(out, "Response")
}

// describes the phase in one line.
func (d *Debug) description(phase string) string {
	switch phase {
	case "Initialize":
		return "Reading the arguments of " + d.Skill.Name
	case "Explore":
		return "A subagent explores the project"
	case "Tree Execution":
		nodes := 0
		tree.Walk(d.Skill.Tree.Nodes, func(*tree.Node) bool { nodes++; return true })
		return fmt.Sprintf("Walking the tree of %s: %d nodes", d.Skill.Name, nodes)
	case "Verify":
		return "Comparing what is with what is expected"
	}
	return "Putting the response together"
}

// Event implements Sink.
func (d *Debug) Event(e run.Event) {
	if d.state == nil {
		d.state = map[string]string{}
	}
	switch e.Kind {
	case run.PhaseStarted:
		d.banner(e.Text)
	case run.NodeStarted:
		sign := "→"
		switch {
		case e.Agent && (e.Type == "call" || e.Type == "EXPLORE"):
			sign = "⟳"
		case e.Type == "ASK":
			sign = "⏸"
		}
		d.line(sign, e)
		if in := pairs(e.Value, 40); in != "" {
			fmt.Fprintf(d.W, "  inputs:  %s\n", in)
		}
	case run.NodeDone:
		if e.Type == "END" && e.Status != run.OK {
			d.halted(e)
			break
		}
		sign := symbol(e.Status)
		if sign == "■" {
			sign = "✗" // canopy-debug has one sign for what failed and for what END stopped
		}
		d.line(sign, e)
		if out := pairs(e.Value, 40); out != "" {
			fmt.Fprintf(d.W, "  outputs: %s\n", out)
		}
	case run.NodeSkipped:
		d.line("⊘", e)
	case run.PlanShown:
		for _, row := range planRows(e, "     ") {
			fmt.Fprintln(d.W, row)
		}
		return
	case run.Decided:
		fmt.Fprintf(d.W, "     = %s (%s)\n", plain(e.Value, 60), how(e.How))
		return
	case run.Checked, run.Output, run.Warned:
		for _, text := range describe(run.Event{Kind: e.Kind, Text: e.Text, Status: e.Status}) {
			fmt.Fprintf(d.W, "     %s\n", strings.TrimSpace(text))
		}
		return
	default:
		return
	}
	d.snapshot()
}

// Close implements Sink.
func (d *Debug) Close() error { return nil }

func (d *Debug) line(sign string, e run.Event) {
	d.state[e.Node], d.here = sign, ""
	if sign == "→" || sign == "⟳" || sign == "⏸" {
		d.here = e.Node
	}
	fmt.Fprintf(d.W, "  %s  %s\n", sign, cut(e.Text, 200))
}

func (d *Debug) banner(phase string) {
	all := d.phases()
	d.phase, d.number = phase, 0
	for i, p := range all {
		if p == phase {
			d.number = i + 1
		}
	}
	if d.number == 0 {
		return
	}
	title := fmt.Sprintf("╔══ Phase %d of %d: %s ", d.number, len(all), strings.ToUpper(phase))
	d.box(title, d.description(phase))
}

// box writes a double-lined box of debugWidth columns with one row.
func (d *Debug) box(title, text string) {
	fmt.Fprintf(d.W, "%s%s╗\n", title, strings.Repeat("═", max(debugWidth-1-utf8.RuneCountInString(title), 0)))
	fmt.Fprintf(d.W, "║  %-*s║\n", debugWidth-4, cut(text, debugWidth-5))
	fmt.Fprintf(d.W, "╚%s╝\n", strings.Repeat("═", debugWidth-2))
}

func (d *Debug) halted(e run.Event) {
	d.line("✗", e)
	message := plain(e.Value, debugWidth)
	if message == "" || message == "null" {
		message = strings.TrimSpace(strings.TrimPrefix(e.Text, "END"))
	}
	d.box("╔══ HALTED ", message)
}

// snapshot writes the whole tree with the state of each node.
func (d *Debug) snapshot() {
	if d.Snapshot == nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "canopy-debug — %s\n", cut(d.Command, 200))
	fmt.Fprintf(&b, "Phase %d of %d: %s\n\n", d.number, len(d.phases()), d.phase)
	title := "─── " + cut(d.Skill.Name, 40) + " "
	fmt.Fprintf(&b, "%s%s\n", title, strings.Repeat("─", max(debugWidth-utf8.RuneCountInString(title), 0)))
	d.rows(&b, d.Skill.Tree.Nodes, 0, false)
	b.WriteString(strings.Repeat("─", debugWidth) + "\n")
	if d.Snapshot(b.String()) != nil {
		d.Snapshot = nil // a log that cannot be written stops nothing
	}
}

func (d *Debug) rows(b *strings.Builder, nodes []*tree.Node, level int, skipped bool) {
	for _, n := range nodes {
		sign := d.state[n.ID]
		switch {
		case sign == "" && skipped:
			sign = "⊘"
		case sign == "":
			sign = "⊙"
		}
		line := "  " + strings.Repeat("   ", level) + sign + "  " + cut(n.Text, 120)
		if n.ID == d.here {
			line += strings.Repeat(" ", max(55-1-utf8.RuneCountInString(line), 1)) + "← here"
		}
		b.WriteString(line + "\n")
		d.rows(b, n.Children, level+1, sign == "⊘")
	}
}
