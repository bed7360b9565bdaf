package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// Report is a finished run as aligned rows: the number of each node if asked for, its state, its text, how it was decided, what it
// cost and what it bound.
func Report(events []run.Event, numbers bool) []string {
	return reported(events).lines(numbers)
}

// reported are the rows of a run in the order of its tree.
func reported(events []run.Event) *report {
	r := &report{index: map[string]int{}}
	for _, e := range run.Canonical(events) {
		r.add(e)
	}
	for _, e := range events { // Canonical drops times
		if at, ok := r.index[e.Path]; ok && e.Kind == run.NodeDone {
			r.rows[at].took = e.Took
		}
	}
	// A branch that was not taken is told of before the one that was.
	order.Stable(r.rows, func(a, b reportRow) int { return comparePaths(a.path, b.path) })
	return r
}

type report struct {
	rows  []reportRow
	index map[string]int // by path
	tail  []string       // what has no node
	halt  halt
}

type reportRow struct {
	path, text, sign, notes string
	in, out                 int // tokens
	took                    time.Duration
}

func (r *report) add(e run.Event) {
	at, ok := r.index[e.Path]
	ok = ok && e.Path != ""
	switch e.Kind {
	case run.NodeStarted, run.NodeSkipped, run.NodeDone:
		if !ok { // a branch that was looked at and not taken was begun before
			at = len(r.rows)
			r.index[e.Path] = at
			r.rows = append(r.rows, reportRow{path: e.Path, text: e.Text})
		}
		r.rows[at].sign = "…"
		if e.Kind != run.NodeStarted {
			r.rows[at].sign, _ = r.halt.sign(e)
		}
		return
	case run.RunEnded, run.RunSuspended:
		if e.Text != "" {
			r.tail = append(r.tail, string(e.Status)+": "+cut(e.Text, 200))
		}
		for i := range r.rows {
			if e.Kind == run.RunSuspended && r.rows[i].sign == "…" {
				r.rows[i].sign = "⏸"
			}
		}
		return
	}
	if !ok {
		return
	}
	row := &r.rows[at]
	switch e.Kind {
	case run.Decided:
		row.note("= " + plain(e.Value, 30) + " by " + cut(e.How, 20))
	case run.ModelReplied:
		if e.Usage != nil {
			row.in, row.out = row.in+e.Usage.InputTokens, row.out+e.Usage.OutputTokens
		}
	case run.ToolReplied:
		row.note(cut(e.Name, 40) + " " + string(e.Status))
	case run.Answered:
		by := " by " + cut(e.How, 20)
		if e.How == "relayed" {
			by = " (relayed by the agent)"
		}
		row.note("answered " + plain(e.Value, 30) + by)
	case run.Bound:
		row.note(cut(e.Name, 40) + "=" + plain(e.Value, 40))
	case run.Checked:
		row.note(string(e.Status) + " " + cut(e.Text, 40))
	}
}

func (r *reportRow) note(text string) {
	if r.notes != "" {
		r.notes += ", "
	}
	r.notes += text
}

// lines aligns the rows: number, sign, indented text, notes, time.
func (r *report) lines(numbers bool) []string {
	paths, texts := 0, 0
	for i := range r.rows {
		row := &r.rows[i]
		row.path, row.text = diag.Printable(row.path), indent(row.path)+cut(row.text, 70)
		paths = max(paths, columns(row.path))
		texts = max(texts, columns(row.text))
	}
	var out []string
	for _, row := range r.rows {
		if row.in+row.out > 0 {
			row.note(fmt.Sprintf("%d+%d tokens", row.in, row.out))
		}
		line := row.sign + " " + pad(row.text, texts) + "  " + cut(row.notes, 120)
		if numbers {
			line = pad(row.path, paths) + "  " + line
		}
		if row.took >= 100*time.Millisecond {
			line += "  " + row.took.Round(100*time.Millisecond).String()
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return append(out, r.tail...)
}

// Flip compares a run with the way that it would have taken with another decision at the visit from: rows with the number of the node, from there on, a
// "+" before what is done besides, a "-" before what is not done any more, and a "~" before what comes out differently.
// Rows after the visit until, where the other way goes no further, are left out; "" leaves out none.
func Flip(before, after []run.Event, from, until string) []string {
	was, now, out := reported(before), reported(after), report{}
	was.reindex()
	now.reindex()
	marks := map[string]string{}
	add := func(mark string, r reportRow) {
		if comparePaths(r.path, from) >= 0 {
			marks[r.path] = mark
			out.rows = append(out.rows, r)
		}
	}
	for _, r := range now.rows {
		mark := " "
		switch at, there := was.index[r.path]; {
		case r.sign != "⊘" && !was.done(r.path):
			mark = "+"
		case there && (was.rows[at].sign != r.sign || was.rows[at].notes != r.notes):
			mark = "~"
		}
		add(mark, r)
	}
	for _, r := range was.rows {
		if _, told := now.index[r.path]; !told && r.sign != "⊘" && (until == "" || comparePaths(r.path, until) <= 0) {
			add("-", r)
		}
	}
	order.Stable(out.rows, func(a, b reportRow) int { return comparePaths(a.path, b.path) })
	for i := range out.rows {
		out.rows[i].path = marks[out.rows[i].path] + " " + out.rows[i].path
	}
	return out.lines(true)
}

// done reports whether a visit was not skipped.
func (r *report) done(path string) bool {
	at, ok := r.index[path]
	return ok && r.rows[at].sign != "⊘"
}

// reindex is for rows that were put into another order.
func (r *report) reindex() {
	for i := range r.rows {
		r.index[r.rows[i].path] = i
	}
}
