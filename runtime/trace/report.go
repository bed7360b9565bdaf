package trace

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/runtime/run"
)

// Report is a finished run as aligned rows: the number of each node, its state, its text, how it was decided, what it
// cost and what it bound.
func Report(events []run.Event) []string {
	r := report{index: map[string]int{}}
	for _, e := range run.Canonical(events) {
		r.add(e)
	}
	for _, e := range events { // Canonical drops times
		if at, ok := r.index[e.Path]; ok && e.Kind == run.NodeDone {
			r.rows[at].took = e.Took
		}
	}
	return r.lines()
}

type report struct {
	rows  []reportRow
	index map[string]int // by path
	tail  []string       // what has no node
}

type reportRow struct {
	path, text, sign, notes string
	took                    time.Duration
}

func (r *report) add(e run.Event) {
	at, ok := r.index[e.Path]
	switch e.Kind {
	case run.NodeStarted, run.NodeSkipped:
		r.index[e.Path] = len(r.rows)
		row := reportRow{path: e.Path, text: e.Text, sign: "…"}
		if e.Kind == run.NodeSkipped {
			row.sign = "⊘"
		}
		r.rows = append(r.rows, row)
		return
	case run.RunEnded, run.RunSuspended:
		if e.Text != "" {
			r.tail = append(r.tail, string(e.Status)+": "+cut(e.Text, 200))
		}
		return
	}
	if !ok {
		return
	}
	row := &r.rows[at]
	switch e.Kind {
	case run.NodeDone:
		row.sign = symbol(e.Status)
	case run.Decided:
		row.note("= " + plain(e.Value, 30) + " by " + e.How)
	case run.ModelReplied:
		if e.Usage != nil {
			row.note(fmt.Sprintf("%d+%d tokens", e.Usage.InputTokens, e.Usage.OutputTokens))
		}
	case run.ToolReplied:
		row.note(e.Name + " " + string(e.Status))
	case run.Answered:
		row.note("answered " + plain(e.Value, 30) + " by " + e.How)
	case run.Bound:
		row.note(e.Name + "=" + plain(e.Value, 40))
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
func (r *report) lines() []string {
	paths, texts := 0, 0
	for i := range r.rows {
		row := &r.rows[i]
		row.text = strings.Repeat("  ", depth(row.path)) + cut(row.text, 70)
		paths = max(paths, utf8.RuneCountInString(row.path))
		texts = max(texts, utf8.RuneCountInString(row.text))
	}
	var out []string
	for _, row := range r.rows {
		line := pad(row.path, paths) + "  " + row.sign + " " + pad(row.text, texts) + "  " + cut(row.notes, 120)
		if row.took >= 100*time.Millisecond {
			line += "  " + row.took.Round(100*time.Millisecond).String()
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return append(out, r.tail...)
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0))
}
