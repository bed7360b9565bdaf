// Package prose turns a skill's tree into numbered steps for any agent, and numbered
// steps into a tree, as far as that needs no understanding of the text.
//
//   - [Convert] writes the section "## Tree" as "## Steps", with the bodies of ops where
//     they are first called. [FromProse] goes the other way, for lists.
//   - [ToTree] is FromProse for a whole skill: what lint refuses in a SKILL.md with a tree moves to files that the tree reads.
//   - Convert and FromProse change what they must and no other byte of the file, line ends included, and
//     return what a person should look at (losses), one sentence each.
//   - Neither runs, reads or writes other files than the ones of the skill that was loaded.
//     Output is linear in the input: a body is written once, whatever calls it how often.
//
// The steps say what spec/canopy-tree.md has a run do, questions with a negative
// answer included.
package prose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// Codes of errors.
const (
	CodeNoTree  = "no_tree"        // there is nothing to convert
	CodeNoSteps = "no_steps"       // no list of steps was found
	CodeHasTree = "has_tree"       // the skill is a tree already
	CodeCannot  = "cannot_convert" // the result would not be a skill
)

// Convert writes s without its tree: the SKILL.md, and what was lost. Rules and
// response stay as they are; the guard, the canopy part of compatibility and
// metadata.canopy-* go. A skill of a single agent file has no SKILL.md to write and is
// refused, as is one without a tree.
func Convert(s *tree.Skill) (src []byte, losses []string, err error) {
	if s.Tree == nil || s.Doc == nil {
		return nil, nil, diag.New(diag.Unmet, CodeNoTree, "%s has no section \"## Tree\"", diag.Printable(s.Name))
	}
	src, err = fs.ReadFile(s.FS, s.File)
	if err != nil {
		return nil, nil, diag.New(diag.Unmet, CodeCannot, "%s of %s cannot be read: %w", s.File, diag.Printable(s.Name), err)
	}
	w := &writer{skill: s, title: map[string]bool{}, open: map[string]bool{}, asked: map[string]bool{}, ends: check.FindFacts(s).Ends}
	for _, f := range s.Findings {
		if f.Severity == diag.SeverityError && f.Rule != "CNP-S05" {
			w.lose("%s line %d: %s", f.File, f.Line, f.Message)
		}
	}
	w.all()
	p := newPaper(src)
	edits := append(w.body(p), w.frontmatter(src)...)
	out := skill.Apply(src, edits)
	doc, err := skill.Read(out)
	if err != nil {
		return nil, nil, diag.New(diag.Unmet, CodeCannot, "%s cannot be written without its tree: %w", diag.Printable(s.Name), err)
	}
	for _, f := range skill.BodyFeatures(out[doc.Body:]) {
		if f.Kind == skill.CanopyTree {
			return nil, nil, diag.New(diag.Unmet, CodeCannot, "a part of %s would still be read as a tree", diag.Printable(s.Name)).
				At(diag.Position{File: s.File, Line: f.Line + doc.BodyLine - 1})
		}
	}
	w.numbers(p)
	w.remains()
	return out, w.losses, nil
}

// A paper is a file cut into lines.
type paper struct {
	src    []byte
	starts []int // offset of each line, and of the end
	nl     string
}

func newPaper(src []byte) *paper {
	p := &paper{src: src, starts: []int{0}, nl: "\n"}
	for i, c := range src {
		if c == '\n' {
			p.starts = append(p.starts, i+1)
		}
	}
	if p.starts[len(p.starts)-1] != len(src) {
		p.starts = append(p.starts, len(src))
	}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		p.nl = "\r\n"
	}
	return p
}

// start is the offset of line n, counted from 1; beyond the last line it is the end.
func (p *paper) start(n int) int {
	return p.starts[min(max(n, 1), len(p.starts))-1]
}

// blank reports whether line n is empty.
func (p *paper) blank(n int) bool {
	return n < len(p.starts) && len(bytes.TrimSpace(p.src[p.start(n):p.start(n+1)])) == 0
}

func (p *paper) text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, p.nl) + p.nl
}

// cut removes lines first to last, and the blank lines behind them.
func (p *paper) cut(first, last int) diag.Fix {
	for p.blank(last + 1) {
		last++
	}
	return diag.Fix{Start: p.start(first), End: p.start(last + 1)}
}

// body are the edits below the frontmatter.
func (w *writer) body(p *paper) (edits []diag.Fix) {
	s := w.skill
	if s.Guard != nil {
		edits = append(edits, p.cut(s.Guard.Pos.Line, s.Guard.Last))
	}
	trees := 0
	for _, sec := range s.Sections {
		switch {
		case sec.Title == "Agent" && s.Agent != nil && s.Agent.Pos == sec.Pos:
			edits = append(edits, p.cut(sec.Pos.Line, sec.Last))
		case sec.Title != "Tree":
			w.mentions(sec)
		case trees > 0:
			w.lose("%s line %d: the second section \"## Tree\" was never run and is removed", s.File, sec.Pos.Line)
			edits = append(edits, p.cut(sec.Pos.Line, sec.Last))
		default:
			trees++
			edits = append(edits, diag.Fix{Start: p.start(sec.Pos.Line), End: p.start(sec.Pos.Line + 1), Text: "## Steps" + p.nl})
			if s.Tree.Last > sec.Pos.Line {
				edits = append(edits, diag.Fix{Start: p.start(s.Tree.First), End: p.start(s.Tree.Last + 1), Text: p.text(w.lines)})
			}
		}
	}
	return append(edits, w.placeholders(p, edits)...)
}

// Texts that FromProse writes where a skill has no rules and names no response. They go with the tree if nobody changed them.
const (
	ownRule     = "- Do only what the tree says."
	ownResponse = "Response: summary"
)

// placeholders are the edits that take out what FromProse wrote for want of something better. The last one takes the blank lines
// before it along, if nothing stands behind it.
func (w *writer) placeholders(p *paper, others []diag.Fix) (out []diag.Fix) {
	for _, sec := range w.skill.Sections {
		var fix diag.Fix
		switch text := strings.TrimSpace(sec.Text); {
		case sec.Title == "Rules" && text == ownRule, sec.Title == ownResponse && text == "":
			fix = p.cut(sec.Pos.Line, sec.Last)
		case sec.Title == "Rules" && strings.Contains(text, ownRule):
			fix = p.cutLine(sec, ownRule)
		}
		if last := len(out) - 1; last >= 0 && out[last].End == fix.Start {
			out[last].End = fix.End
		} else if fix.End > 0 {
			out = append(out, fix)
		}
	}
	if len(out) == 0 || out[len(out)-1].End < len(p.src) {
		return out
	}
	last := &out[len(out)-1]
	from := 0
	for _, f := range others {
		if f.Start < last.Start {
			from = max(from, f.End)
		}
	}
	if kept := bytes.TrimRight(p.src[from:last.Start], " \t\r\n"); len(kept) > 0 {
		at := from + len(kept)
		if p.src[last.End-1] == '\n' { // else the line that is the last one now has no end either
			at += bytes.IndexByte(p.src[at:], '\n') + 1
		}
		last.Start = at
	} else {
		last.Start = max(from, min(w.skill.Doc.Body, last.Start))
	}
	return out
}

// cutLine removes the first line of a section that is text.
func (p *paper) cutLine(sec tree.Section, text string) diag.Fix {
	for n := sec.Pos.Line + 1; n <= sec.Last; n++ {
		if strings.TrimRight(string(p.src[p.start(n):p.start(n+1)]), " \r\n") == text {
			return diag.Fix{Start: p.start(n), End: p.start(n + 1)}
		}
	}
	return diag.Fix{}
}

// mentions reports ops that other sections speak of.
func (w *writer) mentions(sec tree.Section) {
	words := strings.FieldsFunc(sec.Text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	var names []string
	for _, word := range words {
		_, reserved := tree.Primitive(word)
		if (reserved && len(word) > 3 && word != "ELSE" || w.skill.Op(word) != nil) && !slices.Contains(names, word) {
			names = append(names, word)
		}
		if len(names) == 8 {
			break
		}
	}
	if len(names) > 0 {
		w.lose("%s line %d: the section %q speaks of %s, a word of the tree that is gone", w.skill.File, sec.Pos.Line, diag.Printable(sec.Title), strings.Join(names, ", "))
	}
}

// frontmatter are the edits of compatibility and metadata.
func (w *writer) frontmatter(src []byte) (edits []diag.Fix) {
	for _, f := range w.skill.Doc.Fields {
		switch {
		case f.Key == "compatibility" && f.Value.Kind == skill.Scalar && !f.Value.IsNull():
			rest := withoutCanopy(f.Value.Text)
			switch {
			case rest == f.Value.Text:
			case rest == "":
				edits = append(edits, cutField(src, f))
			default:
				edits = append(edits, setField(src, f, rest))
			}
		case f.Key == "metadata" && f.Value.Kind == skill.Map:
			edits = append(edits, cutCanopy(src, f)...)
		}
	}
	if w.skill.Strict {
		w.lose("metadata.canopy-contracts was strict: nothing checks inputs and results any more")
	}
	return edits
}

func cutCanopy(src []byte, meta skill.Field) (edits []diag.Fix) {
	fields := meta.Value.Fields
	gone := func(f skill.Field) bool { return strings.HasPrefix(f.Key, "canopy-") }
	left := slices.IndexFunc(fields, func(f skill.Field) bool { return !gone(f) })
	switch {
	case len(fields) > 0 && left < 0:
		return []diag.Fix{cutField(src, meta)}
	case meta.Value.Style != skill.Flow:
		for _, f := range fields {
			if gone(f) {
				edits = append(edits, cutField(src, f))
			}
		}
		return edits
	}
	for i, f := range fields {
		switch {
		case !gone(f):
		case i > left: // with the comma before it
			edits = append(edits, diag.Fix{Start: fields[i-1].Value.End, End: f.Value.End})
		default:
			edits = append(edits, diag.Fix{Start: f.KeySpan.Start, End: fields[i+1].KeySpan.Start})
		}
	}
	return edits
}

// cutField removes the lines of f.
func cutField(src []byte, f skill.Field) diag.Fix {
	end := max(f.Value.End, f.KeySpan.End)
	if end > 0 && src[end-1] != '\n' {
		if i := bytes.IndexByte(src[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(src)
		}
	}
	return diag.Fix{Start: f.KeySpan.Start - (f.KeySpan.Column - 1), End: end}
}

// setField writes another text as the value of f.
func setField(src []byte, f skill.Field, text string) diag.Fix {
	at := f.KeySpan.End
	if i := bytes.IndexByte(src[at:f.Value.End], ':'); i >= 0 {
		at += i + 1
	}
	end := f.Value.End
	for end > at && (src[end-1] == '\n' || src[end-1] == '\r') {
		end--
	}
	return diag.Fix{Start: at, End: end, Text: " " + scalar(text)}
}

// scalar writes text as YAML on one line.
func scalar(text string) string {
	plain := text != "" && (text[0] >= 'A' && text[0] <= 'Z' || text[0] >= 'a' && text[0] <= 'z') && !strings.HasSuffix(text, ":")
	for _, r := range text {
		plain = plain && r >= ' '
	}
	if plain && !strings.Contains(text, ": ") && !strings.Contains(text, " #") && strings.Contains(text, " ") {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withoutCanopy leaves out what skl wrote, and else the sentences that ask for the runtime and those behind
// them that say how to install it.
func withoutCanopy(text string) string {
	trimmed := strings.TrimSpace(text)
	for _, own := range check.WrittenCompatibility() {
		if rest, ok := strings.CutPrefix(trimmed, own); ok && (rest == "" || rest[0] == ' ') {
			return strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutSuffix(trimmed, " "+own); ok {
			return strings.TrimSpace(rest)
		}
	}
	all := sentences(text)
	var keep []string
	install := false
	for _, sentence := range all {
		lower := strings.ToLower(sentence)
		switch {
		case strings.Contains(lower, "canopy"):
			install = true
			continue
		case install && (strings.HasPrefix(lower, "install") || strings.HasPrefix(lower, "either ") || strings.HasPrefix(lower, "both are found at ")):
			continue
		}
		install = false
		keep = append(keep, sentence)
	}
	if len(keep) == len(all) {
		return text
	}
	return strings.Join(keep, " ")
}

// sentences cuts text behind a period before a blank and a capital letter.
func sentences(text string) (out []string) {
	words := strings.Fields(text)
	from := 0
	for i, w := range words {
		if i+1 < len(words) && strings.HasSuffix(w, ".") && words[i+1][0] >= 'A' && words[i+1][0] <= 'Z' {
			out, from = append(out, strings.Join(words[from:i+1], " ")), i+1
		}
	}
	if from < len(words) {
		out = append(out, strings.Join(words[from:], " "))
	}
	return out
}

// remains reports the op files, which nothing reads any more.
func (w *writer) remains() {
	var files []string
	for _, op := range w.skill.Ops {
		if f := op.Pos.File; f != w.skill.File && !slices.Contains(files, f) && len(files) < 20 {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		w.lose("nothing calls the ops of %s any more: delete what no text refers to", strings.Join(files, ", "))
	}
}

func (w *writer) lose(format string, args ...any) {
	text := diag.Printable(fmt.Sprintf(format, args...))
	if !slices.Contains(w.losses, text) && len(w.losses) < maxLosses {
		w.losses = append(w.losses, text)
	}
}

const maxLosses = 200
