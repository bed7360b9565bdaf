package query

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Within returns r so that it costs about maxTokens tokens as JSON; 0 is no limit. Content goes first, then handles, both from the end;
// one handle always stays. What is left out still counts as matched. r is not changed.
func (r Result) Within(maxTokens int) Result {
	if maxTokens <= 0 {
		return r
	}
	size := jsonTokens(r)
	if size <= maxTokens {
		return r
	}
	r.Handles, r.RefHandles, r.ExpandedHandleIDs = slices.Clone(r.Handles), slices.Clone(r.RefHandles), slices.Clone(r.ExpandedHandleIDs)
	for i := len(r.Handles) - 1; i >= 0 && size > maxTokens; i-- {
		h := &r.Handles[i]
		if h.Content == "" {
			continue
		}
		size -= jsonTokens(h.Content)
		h.Content = ""
		r.ExpandedHandleIDs = slices.DeleteFunc(r.ExpandedHandleIDs, func(id string) bool { return id == h.ID })
		r.ExpandedCount, r.AutoExpanded = len(r.ExpandedHandleIDs), false
		r.ExpandNote = "max_tokens left no room for all content; expand the handles that are needed"
	}
	for size > maxTokens && len(r.Handles)+len(r.RefHandles) > 1 {
		if n := len(r.RefHandles) - 1; n >= 0 {
			size -= jsonTokens(r.RefHandles[n])
			r.RefHandles = r.RefHandles[:n]
		} else {
			n := len(r.Handles) - 1
			size -= jsonTokens(r.Handles[n])
			r.TotalTokens -= r.Handles[n].TokenCount
			r.Handles = r.Handles[:n]
		}
		r.Truncated = true
	}
	return r
}

// jsonTokens is about how many tokens a value costs as JSON, in which punctuation makes tokens short.
func jsonTokens(v any) int {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return 0 // not of a type of this package
	}
	return b.Len()/3 + 1
}
