package trace

import (
	"encoding/json"

	"github.com/skl-project/skl/runtime/run"
)

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
	return fields
}
