package query

import "github.com/skl-project/skl/index/rank"

// A Pack is compact evidence: ranked handles without text, and how to go on.
type Pack struct {
	QueryText        string         `json:"query_text"`
	TotalMatches     int            `json:"total_matches"`
	Truncated        bool           `json:"truncated"`
	SelectedCount    int            `json:"selected_count"`
	SelectedTokens   int            `json:"selected_tokens"`
	Handles          List[Evidence] `json:"handles"`
	Files            List[PackFile] `json:"files"`
	ExpandSuggestion List[string]   `json:"expand_suggestion"` // at most 6 ids, best first
	Guidance         rank.Guidance  `json:"guidance"`
	Relaxed          bool           `json:"relaxed,omitempty"`
	NotIndexed       int            `json:"not_indexed,omitempty"`
	Behind           bool           `json:"behind,omitempty"`
	NotRead          []string       `json:"not_read,omitempty"`
	Note             string         `json:"note,omitempty"`
	Generation       uint64         `json:"generation,omitempty"`
}

// An Evidence is a handle of a Pack.
type Evidence struct {
	ID          string      `json:"id"`
	FilePath    string      `json:"file_path"`
	NodeType    string      `json:"node_type"`
	Name        string      `json:"name,omitempty"`
	Parent      string      `json:"parent,omitempty"`
	Span        Span        `json:"span"`
	LineRange   [2]int      `json:"line_range"`
	TokenCount  int         `json:"token_count"`
	Score       float64     `json:"score"`
	Why         []rank.Part `json:"why,omitempty"`
	Approximate bool        `json:"approximate,omitempty"`
	Source      string      `json:"source,omitempty"`
	CommitSHA   string      `json:"commit_sha,omitempty"`
	Generation  uint64      `json:"generation,omitempty"`
}

// A PackFile groups the handles of a Pack by file.
type PackFile struct {
	FilePath    string       `json:"file_path"`
	HandleIDs   List[string] `json:"handle_ids"`
	TotalTokens int          `json:"total_tokens"`
}
