package trace

import (
	"encoding/json"

	"github.com/skl-project/skl/runtime/run"
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
		rows = append(rows, in+pad(cut(f.Field, 30), width)+"  "+plain(f.Value, 100))
	}
	return rows
}
