// Package content finds what a skill does, or tells an agent to do, against its user.
//
//   - Structural findings (Refuse) are certain: text that people cannot see, compiled code, a file that is not what its name says. No word
//     around them changes them.
//   - The others are judged by mechanism: commands and data flows as package audit reads them, and in prose a small
//     grammar of intents, which are classes of words in one sentence with their negation, quotation and place. See words.txt and rules.
//   - Shell is followed through pipes, variables and files, from what is read or fetched to where it is sent or run. See shell.go.
//   - Text is normalised first: Unicode forms, mixed scripts, emphasis, entities, comments and titles hide nothing. What is encoded is
//     decoded and read again, to a depth of maxDecoded.
//   - Every file is read whole. What was not, and why, is in [Coverage]; nothing is cut in silence. Time is linear in bytes.
//   - "skl:allow RULE reason" in a file is the word of its publisher. It marks findings of that file and hides none.
//
// Each rule is a file in rules, whose examples are tests.
package content

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
)

// Severity says how bad a finding is.
type Severity string

const (
	Refuse Severity = "refuse" // certain: it is not installed
	High   Severity = "high"   // a first install asks
	Medium Severity = "medium"
	Low    Severity = "low"
)

// Severities from the lowest.
var Severities = []Severity{Low, Medium, High, Refuse}

// AtLeast reports whether s is as bad as t.
//
//go:noinline
func (s Severity) AtLeast(t Severity) bool {
	return slices.Index(Severities, s) >= slices.Index(Severities, t)
}

//go:noinline
func (s Severity) lower(n int) Severity {
	if s == Refuse {
		return s
	}
	return Severities[max(slices.Index(Severities, s)-n, 0)]
}

// A Finding is what a rule found at a place.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`              // from 1
	Column   int      `json:"column"`            // from 1, in bytes; 0 is the whole line
	Message  string   `json:"message"`           // printable
	Text     string   `json:"text"`              // what shows it, printable, at most maxEvidence bytes
	Decoded  []string `json:"decoded,omitempty"` // encodings that hid it, from the outermost
	Allowed  string   `json:"allowed,omitempty"` // the reason that the publisher gives in skl:allow
}

// Sentence is the finding in one line: severity, place, what it is, what shows it, rule.
func (f Finding) Sentence() string {
	return diag.Printable(string(f.Severity) + " " + diag.Position{File: f.File, Line: f.Line}.String() + ": " + f.Message + ": " + f.Text + " [" + f.Rule + "]")
}

// Lint is the finding as linters give it, for SARIF.
func (f Finding) Lint() diag.Finding {
	severity := map[Severity]diag.Severity{Refuse: diag.SeverityError, High: diag.SeverityError, Medium: diag.SeverityWarning, Low: diag.SeverityInfo}[f.Severity]
	return diag.Finding{File: f.File, Line: f.Line, Column: f.Column, Rule: f.Rule, Severity: severity, Message: f.Message + ": " + f.Text}
}

// Fingerprint is equal for findings that are the same but for their line.
func (f Finding) Fingerprint() string { return f.Rule + "\x00" + f.File + "\x00" + f.Text }

// Unread is a file, or a part of one, that was not read as text.
type Unread struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	Why   string `json:"why"`
}

// Coverage says how much was read.
type Coverage struct {
	Files  int      `json:"files"`
	Bytes  int64    `json:"bytes"`
	Read   int64    `json:"read"` // bytes that were read as text or understood as a picture, font or document
	Unread []Unread `json:"unread"`
}

// An Allow is a remark of the publisher.
type Allow struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Used   bool   `json:"used"` // there is a finding of the rule in the file
}

// A Report is what was found in a skill, sorted by file, line and rule.
type Report struct {
	Findings []Finding
	Allows   []Allow
	Coverage Coverage
	Asks     audit.Report
}

// Worst is the highest severity, "" for none. Findings that the publisher allowed count.
func (r Report) Worst() (worst Severity) {
	for _, f := range r.Findings {
		if worst == "" || f.Severity.AtLeast(worst) {
			worst = f.Severity
		}
	}
	return worst
}

// Limits of what is reported; what is beyond is counted.
const (
	maxEvidence = 200 // bytes
	maxFindings = 20  // of one rule in one file
)

// Scan reads the files of a skill. Files are neither changed nor kept.
func Scan(files []audit.File) Report {
	s := newScan()
	sorted := slices.Clone(files)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Path < sorted[j].Path })
	for _, f := range sorted {
		if f.Path == skill.FileName {
			s.about = strings.ToLower(string(f.Data[:min(len(f.Data), 1500)]))
		}
	}
	s.markdown = markdowns(sorted)
	var commands []audit.Command
	s.asks = audit.Trace(sorted, func(c audit.Command) { commands = append(commands, c) })
	for _, f := range s.asks {
		for _, at := range f.Places {
			if f.Permission.Kind == audit.Hook && !strings.HasSuffix(at.File, ".md") {
				s.hooks[at.File] = true
			}
		}
	}
	s.trace(commands)
	sorted = slices.DeleteFunc(sorted, func(f audit.File) bool { return f.Link == audit.LinkSame })
	for _, f := range sorted {
		s.file(f)
	}
	sorted = slices.DeleteFunc(sorted, func(f audit.File) bool { return f.Link == audit.LinkUnread })
	for _, f := range sorted {
		s.steps(f)
		s.pipelines(f)
	}
	s.flows(sorted)
	return s.report()
}

// A scan collects what is found.
type scan struct {
	rules    *ruleSet
	about    string // the start of SKILL.md in lower case
	asks     audit.Report
	found    []Finding
	more     map[[2]string]int // findings of a rule in a file
	seen     map[seenKey]bool
	allows   []Allow
	hooks    map[string]bool   // files of configuration with hooks
	markdown map[string][]byte // files of Markdown
	cites    map[string][]cite // of those of which a finding asked
	spans    bool              // what is found reaches out of the line that it is at
	coverage Coverage
	budget   int // bytes that may still be decoded or unpacked
	path     string
	line     int // of what is decoded, 0 for none
	decoded  []string
}

type seenKey struct {
	rule, file string
	line       int
}

func newScan() *scan {
	return &scan{rules: loaded(), more: map[[2]string]int{}, seen: map[seenKey]bool{}, hooks: map[string]bool{}, cites: map[string][]cite{}, budget: 32 << 20, coverage: Coverage{Unread: []Unread{}}}
}

// add notes a finding of the file that is read. One rule has one finding at a line, the worst.
func (s *scan) add(rule string, severity Severity, line, column int, message, text string) {
	if s.line > 0 {
		line, column = s.line, 0
	}
	severity = s.cited(rule, severity, line)
	key := seenKey{rule, s.path, line}
	if s.seen[key] {
		for i := range s.found {
			if f := &s.found[len(s.found)-1-i]; f.Rule == rule && f.File == s.path && f.Line == line {
				if f.Severity != severity && severity.AtLeast(f.Severity) {
					f.Severity, f.Message, f.Text = severity, diag.Printable(message), evidence(text)
				}
				return
			}
		}
		return
	}
	s.seen[key] = true
	of := [2]string{rule + "\x00" + string(severity), s.path}
	if s.more[of]++; s.more[of] > maxFindings {
		return
	}
	f := Finding{Rule: rule, Severity: severity, File: s.path, Line: max(line, 1), Column: column, Message: diag.Printable(message), Text: evidence(text), Decoded: slices.Clone(s.decoded)}
	if len(f.Decoded) > 0 {
		f.Message += ", in text that is encoded as " + strings.Join(f.Decoded, " in ")
	}
	s.found = append(s.found, f)
}

// evidence is a text as it may be shown, on one line.
//
//go:noinline
func evidence(text string) string {
	if len(text) > 4*maxEvidence {
		text = text[:4*maxEvidence]
	}
	text = diag.Printable(strings.Join(strings.Fields(text), " "))
	if len(text) > maxEvidence {
		n := maxEvidence - len("…")
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n] + "…"
	}
	return text
}

// file reads one file: its name, its form, and its text.
func (s *scan) file(f audit.File) {
	s.path = f.Path
	s.coverage.Files++
	if f.Link == audit.LinkUnread {
		s.add("AUD-UNREAD", High, 1, 0, "one of many links to "+f.Of+", by whose names it is read in other ways", path.Base(f.Path))
		return
	}
	s.coverage.Bytes += int64(len(f.Data))
	s.name(f.Path)
	text, readable := s.form(f)
	if !readable {
		return
	}
	s.coverage.Read += int64(len(f.Data))
	s.text(f.Path, text)
}

// text reads a text: what is invisible, what it says, what is encoded in it.
func (s *scan) text(path string, text []byte) {
	s.hidden(text, false)
	s.allow(text)
	s.layout(text)
	s.says(path, text)
	s.encoded(path, text)
	s.resolve(path, text)
	s.sources(path, text)
	s.links(text)
}

// layout finds what pushes text out of sight.
func (s *scan) layout(text []byte) {
	blank, line := 0, 0
	for len(text) > 0 {
		line++
		end := bytes.IndexByte(text, '\n')
		var row []byte
		if end < 0 {
			row, text = text, nil
		} else {
			row, text = text[:end], text[end+1:]
		}
		if len(row) < 256 {
			if len(row) == 0 || len(bytes.TrimSpace(row)) == 0 {
				blank++
				continue
			}
		} else if i := longestBlank(row); i > 0 && row[0] != '|' && row[i] != '|' {
			s.add("AUD-PADDING", s.rules.severity("AUD-PADDING"), line, i+1, "text behind more than 200 blanks on a line", string(bytes.TrimSpace(row[i:])))
		} else if len(bytes.TrimSpace(row)) == 0 {
			blank++
			continue
		}
		if blank >= 50 {
			s.add("AUD-PADDING", s.rules.severity("AUD-PADDING"), line, 0, "text behind "+diag.Count(blank, "blank line"), string(row))
		}
		blank = 0
	}
}

// longestBlank is where the text behind 200 blanks or more starts, 0 if there is none.
func longestBlank(row []byte) int {
	run, text := 0, false
	for i, c := range row {
		if c == ' ' || c == '\t' || c == '\r' {
			run++
			continue
		}
		if run > 200 && text {
			return i
		}
		run, text = 0, true
	}
	return 0
}

// report puts together what was found.
func (s *scan) report() Report {
	for of, n := range s.more {
		if n > maxFindings {
			rule, severity, _ := strings.Cut(of[0], "\x00")
			last := Finding{Rule: rule, Severity: Severity(severity), File: of[1]}
			for _, f := range s.found {
				if f.Rule == rule && f.File == of[1] {
					last.Line = max(last.Line, f.Line)
				}
			}
			last.Message = diag.Count(n-maxFindings, "more finding") + " of this rule in this file"
			s.found = append(s.found, last)
		}
	}
	for i := range s.allows {
		a := &s.allows[i]
		for k := range s.found {
			if f := &s.found[k]; f.Rule == a.Rule && f.File == a.File {
				a.Used = true
				if f.Severity != Refuse && f.Allowed == "" {
					f.Allowed = a.Reason
				}
			}
		}
	}
	order.Stable(s.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	if s.found == nil {
		s.found = []Finding{}
	}
	if s.allows == nil {
		s.allows = []Allow{}
	}
	return Report{s.found, s.allows, s.coverage, s.asks}
}

// allow reads the remarks of the publisher.
func (s *scan) allow(text []byte) {
	const mark = "skl:allow "
	if s.line > 0 {
		return
	}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(mark))
		if i < 0 {
			return
		}
		at += i + len(mark)
		rest, _, _ := bytes.Cut(text[at:min(len(text), at+1000)], []byte("\n"))
		id, reason, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
		for _, end := range []string{"-->", "*/", "#}", "`"} {
			reason, _, _ = strings.Cut(reason, end)
		}
		if _, ok := s.rules.byID[id]; ok && len(s.allows) < 100 {
			s.allows = append(s.allows, Allow{Rule: id, Reason: evidence(reason), File: s.path, Line: 1 + bytes.Count(text[:at], []byte("\n"))})
		}
	}
}
