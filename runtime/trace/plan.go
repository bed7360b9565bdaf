package trace

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

const maxPlanRows = 100

type planField struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

// planFields are the rows of a PlanShown event.
func planFields(e run.Event) []planField {
	var fields []planField
	if json.Unmarshal(e.Value, &fields) != nil {
		return nil
	}
	return fields[:min(len(fields), maxPlanRows)]
}

// planRows is a plan as aligned rows.
func planRows(e run.Event, in string) []string {
	fields := planFields(e)
	width := 0
	for _, f := range fields {
		width = max(width, columns(cut(f.Field, 30)))
	}
	var rows []string
	for _, f := range fields {
		if lines := linesOf(f.Value); lines != nil {
			rows = append(rows, in+cut(f.Field, 30))
			rows = append(rows, within(lines, in+"  ")...)
			continue
		}
		rows = append(rows, in+pad(cut(f.Field, 30), width)+"  "+plain(f.Value, 100))
	}
	return rows
}

// maxPlanLines is how many lines of one text a plan shows. A person agrees to what they see, so that it is not few.
const maxPlanLines = 400

// linesOf are the lines of a text that has several, nil for other values.
func linesOf(value json.RawMessage) []string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) < 2 {
		return nil
	}
	return lines
}

// within are lines behind an indentation, printable. What is not shown is said.
func within(lines []string, in string) (rows []string) {
	for i, line := range lines {
		if i == maxPlanLines {
			return append(rows, fmt.Sprintf("%s… and %d more lines", in, len(lines)-i))
		}
		line = strings.ReplaceAll(diag.Clip(strings.TrimSuffix(line, "\r"), 4096), "\t", "    ")
		rows = append(rows, in+shorten(diag.Printable(line), 300))
	}
	return rows
}
