package query

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	r := Result{TotalMatches: 20, AutoExpanded: true}
	for i := range 20 {
		h := Handle{ID: ID("a.go", 3, i, i+1), FilePath: "a.go", NodeType: "function", TokenCount: 50, Content: strings.Repeat("word ", 40)}
		r.Handles = append(r.Handles, h)
		r.ExpandedHandleIDs = append(r.ExpandedHandleIDs, h.ID)
		r.TotalTokens += 50
	}
	r.ExpandedCount = 20
	for _, limit := range []int{0, 100_000, 2000, 1000, 300, 1} {
		before, _ := json.Marshal(r)
		got := r.Within(limit)
		if after, _ := json.Marshal(r); string(after) != string(before) {
			t.Fatalf("Within(%d) changed what it was given", limit)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && len(got.Handles) > 1 && len(text)/3 > limit {
			t.Errorf("Within(%d) has %d bytes", limit, len(text))
		}
		if got.TotalMatches != 20 || len(got.Handles) == 0 || got.TotalTokens != 50*len(got.Handles) || got.Truncated != (len(got.Handles) < 20) {
			t.Errorf("Within(%d): %d of %d handles, %d tokens, truncated %v", limit, len(got.Handles), got.TotalMatches, got.TotalTokens, got.Truncated)
		}
		n := 0
		for _, h := range got.Handles {
			if h.Content != "" {
				n++
			}
		}
		if n < len(got.Handles) && len(got.Handles) < 20 && n > 0 {
			t.Errorf("Within(%d) left out handles while %d had content", limit, n)
		}
		if limit == 2000 && n == 0 {
			t.Error("2,000 tokens have room for some content")
		}
	}
}
