// Package skill reads SKILL.md files: the agentskills format, the keys that
// single hosts add to it, and corteza.skill/v1 (spec/corteza.skill-v1.md).
//
//   - [Read] is lenient, as hosts are: it loads what can be loaded and keeps
//     remarks. [Lint] checks one skill directory against every rule ([Rules]).
//   - Frontmatter is a restricted YAML: UTF-8, one document, a map with unique
//     string keys, no anchors, aliases, tags or merge keys, at most 64 KiB and
//     8 levels. Scalars keep their source text, values know their place in the file.
//   - Files are edited by splices at those places ([Apply], [ToPortable],
//     [ToTopLevel]), never written anew.
//   - Safety keys fail closed: a value that is not understood has the effect
//     of the strictest one.
//
// The package opens no file and runs nothing.
package skill

import (
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// Codes of errors about a SKILL.md as a whole.
const (
	CodeYAML              = "E_YAML"               // the frontmatter cannot be read
	CodeNoDescription     = "E_NO_DESCRIPTION"     // no frontmatter, or no description in it
	CodeFormatUnsupported = "E_FORMAT_UNSUPPORTED" // skill_format is malformed or newer, or critical names an unknown key
	CodeDualEncoding      = "E_DUAL_ENCODING"      // both encodings of corteza.skill/v1, saying different things
	CodeLibraryDepends    = "E_LIBRARY_DEPENDS"    // library_depends cannot be read, so needs cannot be checked
)

// State says whether a skill that was read can be activated.
type State string

const (
	Ready       State = "ready"
	Unsupported State = "unsupported" // made for another version of the format: list it, never activate or rewrite it
	Invalid     State = "invalid"     // contradicts itself
	Gated       State = "gated"       // its needs cannot be checked
)

// A Document is what a SKILL.md says. Strings are as written, without the
// space around them.
type Document struct {
	Name          string // "" when absent: hosts then use the directory's name
	Description   string // never empty
	License       string
	Compatibility string
	Version       string   // metadata.version, else a top-level version; as written
	AllowedTools  []string // pre-approved by the skill: names, some with a pattern in parentheses

	Format     string     // skill_format as written; "" is v0
	V1         *V1        // what corteza.skill/v1 adds; nil for other formats
	Invocation Invocation // who may invoke it, by skill_format or else by hosts' own keys
	Tools      *Tools     // which tools its steps may call; nil: the host's policy alone
	Idle       []string   // keys of corteza.skill that have no effect, because skill_format is missing

	// SideEffects is nil when undeclared, which prompts treat as every effect.
	// Declared, it is none alone, or some of filesystem, network, session, external.
	SideEffects []string
	State       State
	Problem     error // a *diag.Error; nil when State is Ready

	Metadata []Pair   // in source order; a map or list is given as JSON
	Fields   []Field  // the whole frontmatter
	Dialects []string // hosts whose own keys it uses, sorted

	Body     int // offset of the first byte behind the frontmatter
	BodyLine int // its line

	Warnings []diag.Finding // in source order; File is [FileName]
}

// A Pair is one entry of metadata.
type Pair struct{ Key, Value string }

// Meta returns the value of a metadata key.
func (d *Document) Meta(key string) (string, bool) {
	for _, p := range d.Metadata {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Read reads a SKILL.md as hosts do. It forgives names and lengths outside the
// rules, values of a wrong type, unknown keys, and unquoted colons; each leaves a
// Warning. It does not look at the body, nor at the directory's name, which the
// caller compares with Name.
//
// Its error is a *diag.Error with code E_YAML or E_NO_DESCRIPTION; the document is
// then nil. A document for another format version is returned, to be listed, with
// State and Problem set. src is kept neither in the document nor in the error,
// and the time taken does not depend on the body's length.
func Read(src []byte) (*Document, error) {
	r, p := open(src)
	if p != nil {
		code := CodeYAML
		if p.Rule == RuleFrontmatter {
			code = CodeNoDescription
		}
		return nil, fileError(code, p)
	}
	r.read()
	if r.doc.Description == "" {
		return nil, diag.New(diag.Unmet, CodeNoDescription, "the skill has no description").
			At(diag.Position{File: FileName, Line: 1}).Hint("add a description to its frontmatter that says what it does and when to use it")
	}
	return r.lenient(), nil
}

// lenient is the document, with remarks for what hosts forgive.
func (r *reader) lenient() *Document {
	d := r.doc
	d.Warnings = r.findings
	for i := range d.Warnings {
		if w := &d.Warnings[i]; (strings.HasPrefix(w.Rule, "SPEC-") || w.Rule == RuleSidecarBroken) && w.Severity == diag.SeverityError {
			w.Severity = diag.SeverityWarning
		}
	}
	diag.SortFindings(d.Warnings)
	return d
}

func fileError(code string, p *diag.Finding) *diag.Error {
	e := diag.New(diag.Unmet, code, "%s", p.Message).At(diag.Position{File: FileName, Line: p.Line, Column: p.Column})
	if strings.HasPrefix(p.Message, notYAML) && !strings.Contains(p.Message, "control characters") {
		e = e.Hint("values that hold \": \", or start with a special character, need quotes")
	}
	return e
}

// A reader fills a document and collects findings with their rules' severities.
type reader struct {
	fm       *frontmatter
	doc      *Document
	limited  bool // model_invocation, or what is near it, says who may invoke the skill
	findings []diag.Finding
}

// open finds and parses the frontmatter of src.
func open(src []byte) (*reader, *diag.Finding) {
	fm, p := split(src)
	if p == nil {
		p = fm.parse()
	}
	if p != nil {
		return nil, p
	}
	return &reader{fm: fm, doc: &Document{State: Ready, Fields: fm.root, Body: fm.body, BodyLine: fm.bodyLine}}, nil
}

// report adds a finding at s. The result may be changed until the next report.
func (r *reader) report(rule string, s Span, format string, args ...any) *diag.Finding {
	r.findings = append(r.findings, *problem(rule, s.Line, s.Column, format, args...))
	return &r.findings[len(r.findings)-1]
}

// refuse records why the skill is not ready; the first reason counts.
//
//go:noinline
func (r *reader) refuse(state State, code string, f *diag.Finding) {
	if r.doc.State == Ready {
		r.doc.State, r.doc.Problem = state, fileError(code, f)
	}
}

func (r *reader) read() {
	r.encoding()
	for _, f := range r.fm.root {
		switch f.Key {
		case "name":
			r.doc.Name = strings.TrimSpace(r.text(f))
		case "description":
			r.description(f)
		case "license":
			r.doc.License = strings.TrimSpace(r.text(f))
		case "compatibility":
			r.compatibility(f)
		case "metadata":
			r.metadata(f)
		case "allowed-tools":
			r.allowedTools(f)
		}
	}
	if err := CheckName(r.doc.Name, ""); err != nil {
		f, _ := find(r.fm.root, "name")
		r.reportError(err, f.Value.Span)
	}
	if r.doc.Description == "" {
		r.report(RuleDescMissing, Span{Line: 1, Column: 1}, "the skill has no description")
	}
	r.version()
	r.format()
	r.invocation()
	r.unknownKeys()
}

// reportError reports an error of a name check, whose code is a rule.
func (r *reader) reportError(err error, at Span) {
	if e, ok := err.(*diag.Error); ok {
		r.report(e.Code, Span{Line: max(at.Line, 1), Column: max(at.Column, 1)}, "%s", e.Message)
	}
}

// encoding reports what the file's bytes do to other readers.
func (r *reader) encoding() {
	if r.fm.bom {
		r.report(RuleBOM, Span{Line: 1, Column: 1}, "the file starts with a byte order mark, before which some hosts see no frontmatter").
			Fix = &diag.Fix{Note: "remove the byte order mark", Start: 0, End: 3}
	}
	for _, q := range r.fm.quotes {
		f := r.report(RuleYAMLQuote, r.fm.span(q.Start, q.End), "the value holds a colon and must be quoted")
		f.Fix = &q
	}
	if r.fm.flowRoot {
		r.report(RuleFlow, Span{Line: 2, Column: 1}, "the frontmatter is written in braces, which the reference tool refuses")
	}
}

// text returns the text of a field that holds a string.
func (r *reader) text(f Field) string {
	if f.Value.Kind != Scalar {
		r.report(RuleFieldType, f.Value.Span, "%s is not a string", diag.Printable(f.Key))
		return ""
	}
	if f.Value.IsNull() {
		return ""
	}
	r.mustBeString(RuleNotString, f, f.Key)
	r.control(f.Key, f.Value.Text, f.Value.Span)
	return f.Value.Text
}

// mustBeString reports a plain scalar that some hosts read as another type.
func (r *reader) mustBeString(rule string, f Field, label string) {
	if as := f.Value.readsAs(); as != "" {
		r.report(rule, f.Value.Span, "%s is written without quotes and reads as %s in some hosts", diag.Printable(label), as).
			Fix = &diag.Fix{Note: "quote the value", Start: f.Value.Start, End: f.Value.End, Text: `"` + f.Value.Text + `"`}
	}
}

func (r *reader) description(f Field) {
	text := r.text(f)
	r.cut(f)
	r.doc.Description = strings.TrimSpace(text)
	if len(text) <= 1024 {
		return
	}
	if n := utf8.RuneCountInString(text); n > 1024 { // agentskills spec, "description": 1-1024 characters
		r.report(RuleDescLength, f.Value.Span, "description is %d characters long, hosts cut or refuse it above 1024", n)
	}
}

func (r *reader) compatibility(f Field) {
	text := r.text(f)
	r.cut(f)
	r.doc.Compatibility = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n > 500 { // agentskills spec, "compatibility": 1-500 characters
		r.report(RuleCompatLength, f.Value.Span, "compatibility is %d characters long, at most 500 are allowed", n)
	}
}

func (r *reader) metadata(f Field) {
	if f.Value.IsNull() {
		return
	}
	if f.Value.Kind != Map {
		r.report(RuleMetaType, f.Value.Span, "metadata is not a map")
		return
	}
	if f.Value.Style == Flow {
		r.report(RuleFlow, f.Value.Span, "metadata is written in braces, which the reference tool refuses")
	}
	r.doc.Metadata = make([]Pair, 0, len(f.Value.Fields))
	for _, m := range f.Value.Fields {
		if m.Value.Kind == Scalar {
			r.doc.Metadata = append(r.doc.Metadata, Pair{m.Key, m.Value.Text})
			r.mustBeString(RuleMetaValue, m, "metadata."+m.Key)
			r.control("metadata."+m.Key, m.Value.Text, m.Value.Span)
			continue
		}
		if _, vendor := LookupKey("metadata." + m.Key); !vendor {
			r.report(RuleMetaValue, m.Value.Span, "metadata.%s is not a string", diag.Printable(m.Key))
		}
		text, _ := appendJSON(nil, m.Value)
		r.doc.Metadata = append(r.doc.Metadata, Pair{m.Key, string(text)})
	}
}

func (r *reader) allowedTools(f Field) {
	if f.Value.IsNull() {
		return
	}
	var tools []string
	switch f.Value.Kind {
	case Scalar:
		tools = splitTools(f.Value.Text)
		r.doc.AllowedTools = tools
		if strings.Join(tools, " ") == strings.Join(strings.Fields(f.Value.Text), " ") {
			return
		}
	case List:
		var ok bool
		if tools, ok = f.Value.texts(); !ok {
			r.report(RuleFieldType, f.Value.Span, "allowed-tools is not a list of names")
			return
		}
		r.doc.AllowedTools = tools
	default:
		r.report(RuleFieldType, f.Value.Span, "allowed-tools is not a string")
		return
	}
	joined := strings.Join(tools, " ")
	finding := r.report(RuleAllowedTools, f.Value.Span, "allowed-tools is a string of names separated by spaces; only some hosts read other forms")
	if again := splitTools(joined); len(tools) > 0 && strings.Join(again, "\n") == strings.Join(tools, "\n") {
		colon := f.KeySpan.End + strings.IndexByte(string(r.fm.src[f.KeySpan.End:f.Value.End]), ':')
		finding.Fix = &diag.Fix{Note: "write the names as one string", Start: colon + 1, End: f.Value.End, Text: " " + scalarYAML(joined)}
	}
}

// version prefers metadata.version, which every host passes on.
func (r *reader) version() {
	if v, ok := r.doc.Meta("version"); ok {
		r.doc.Version = strings.TrimSpace(v)
		return
	}
	if f, ok := find(r.fm.root, "version"); ok && f.Value.Kind == Scalar && !f.Value.IsNull() {
		r.doc.Version = strings.TrimSpace(f.Value.Text)
	}
}
