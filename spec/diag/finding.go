package diag

import (
	"cmp"

	"github.com/skl-project/skl/spec/order"
)

// Severity of a Finding.
type Severity string

const (
	SeverityError   Severity = "error"   // cannot be published, or not be installed
	SeverityWarning Severity = "warning" // works, but not everywhere
	SeverityInfo    Severity = "info"    // worth knowing
)

// A Finding is one remark of a checker about a place in a file.
// Its JSON form is that of "skl lint --json".
type Finding struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`   // from 1; 0 means the whole file
	Column   int      `json:"column"` // from 1, in bytes; 0 means the whole line
	Rule     string   `json:"rule"`   // SPEC-…, V1-…, CNP-…, PKG-…, AUD-…
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Fix      *Fix     `json:"fix"`
}

// Sentence is f in one line: its place and what is said.
func (f Finding) Sentence() string {
	return Position{File: f.File, Line: f.Line, Column: f.Column}.String() + ": " + f.Message
}

// A Fix is a mechanical edit that removes the finding: the bytes [Start, End)
// of File are replaced by Text. Offsets are in bytes from the start of the file.
type Fix struct {
	Note  string `json:"note"` // what it does, as a sentence fragment: `quote the value`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// SortFindings orders findings by file, line, column and rule.
//
//go:noinline
func SortFindings(fs []Finding) {
	order.Stable(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
}

// Gained are the findings of which there are more than before, by what key gives for them: the last ones of each.
func Gained(before, after []Finding, key func(Finding) string) (out []Finding) {
	had := map[string]int{}
	for _, f := range before {
		had[key(f)]++
	}
	for _, f := range after {
		k := key(f)
		if had[k]--; had[k] < 0 {
			out = append(out, f)
		}
	}
	return out
}

// Worst returns the highest severity among findings, or "" for none.
func Worst(fs []Finding) Severity {
	worst := Severity("")
	for _, f := range fs {
		if rank(f.Severity) > rank(worst) {
			worst = f.Severity
		}
	}
	return worst
}

func rank(s Severity) int {
	switch s {
	case SeverityError:
		return 3
	case SeverityWarning:
		return 2
	case SeverityInfo:
		return 1
	}
	return 0
}
