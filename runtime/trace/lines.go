package trace

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// Lines writes one line per node that ended, indented by its depth, and the texts that a
// run addresses to a person. It is for logs and pipes.
func Lines(w io.Writer) Sink { return &lines{w: w} }

type lines struct{ w io.Writer }

func (l *lines) Event(e run.Event) {
	for _, line := range describe(e) {
		fmt.Fprintf(l.w, "skl: %s\n", line)
	}
}

func (l *lines) Close() error { return nil }

// describe is what an event says to a person; nil for events that say nothing.
func describe(e run.Event) []string {
	in := strings.Repeat("  ", depth(e.Path))
	switch e.Kind {
	case run.NodeDone:
		return []string{in + symbol(e.Status) + " " + cut(e.Text, 100) + outcome(e)}
	case run.Decided:
		return []string{in + "  = " + plain(e.Value, 60) + "  (" + how(e.How) + ")"}
	case run.ToolReplied:
		if e.Status != run.OK {
			return []string{in + "  " + e.Name + ": " + string(e.Status) + " " + cut(e.Text, 80)}
		}
	case run.PlanShown:
		return planRows(e, in+"  ")
	case run.Checked:
		return []string{in + "  " + symbol(e.Status) + " " + cut(e.Text, 100)}
	case run.Warned:
		return []string{"warning: " + cut(e.Text, 300)}
	case run.Output:
		var out []string
		for line := range strings.SplitSeq(strings.TrimRight(e.Text, "\n"), "\n") {
			out = append(out, in+diag.Printable(line))
		}
		return out
	}
	return nil
}

// how is who decided, in words.
func how(h string) string {
	switch h {
	case "grammar":
		return "decided by skl"
	case "model":
		return "decided by the model"
	case "cache":
		return "decided by the model before"
	}
	return h
}

// outcome is what follows a node's text: what it bound, how long it took, why it failed.
func outcome(e run.Event) string {
	out := ""
	if e.Status == run.Failed || e.Status == run.Halted {
		out = "  " + string(e.Status)
	}
	if e.Took >= 100*time.Millisecond {
		out += "  " + e.Took.Round(100*time.Millisecond).String()
	}
	return out
}

// planRows is a plan as aligned rows.
func planRows(e run.Event, in string) []string {
	width := 0
	for _, f := range planFields(e) {
		width = max(width, len([]rune(cut(f.Field, 30))))
	}
	var rows []string
	for _, f := range planFields(e) {
		rows = append(rows, fmt.Sprintf("%s%-*s  %s", in, width, cut(f.Field, 30), plain(f.Value, 100)))
	}
	return rows
}
