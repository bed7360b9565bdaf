package query

import (
	"encoding/json"

	"github.com/skl-project/skl/index/chunk"
)

// Within returns r without the last handles, if need be, so that as JSON it has at most about maxTokens tokens; 0 is no limit. What is left
// out still counts as matched.
func (r Result) Within(maxTokens int) Result {
	if maxTokens <= 0 {
		return r
	}
	for len(r.Handles)+len(r.RefHandles) > 0 {
		text, err := json.Marshal(r)
		if err != nil || chunk.Tokens(text) <= maxTokens {
			return r
		}
		if n := len(r.RefHandles); n > 0 {
			r.RefHandles = r.RefHandles[:n-1]
		} else {
			n := len(r.Handles) - 1
			r.TotalTokens -= r.Handles[n].TokenCount
			r.Handles = r.Handles[:n]
		}
		r.Truncated = true
	}
	return r
}
