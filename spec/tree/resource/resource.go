// Package resource reads the files that a tree loads: checklists, scripts with
// named sections, templates with slots, sections of Markdown files, and fills text
// with values. It is pure: bytes in, values out, and follows spec/canopy-tree.md.
//
//   - Nothing here fails: a text that has not the shape that is asked for gives nothing, or stays as it is.
//   - Values are filled in once, from left to right. What a value holds is never
//     read again, so a value cannot smuggle in another slot.
//   - A slot without value stays as it is written, and is reported where that is asked.
//   - Line ends CR LF are read as LF. Fenced blocks hide headings and boxes.
//
// Callers bound what they read; all work here is linear in its input. Everything is safe for
// concurrent use, as far as the lookup funcs are.
package resource

// Category is what a file is for, which its directory says.
type Category string

const (
	Script    Category = "scripts"
	Template  Category = "templates"
	Constant  Category = "constants"
	Schema    Category = "schemas"
	Checks    Category = "checklists"
	Policy    Category = "policies"
	VerifyDoc Category = "verify"
	Reference Category = "references"
	Project   Category = "" // not a file of the skill's layout
)

// CategoryOf tells the category of a path as a tree writes it, in the present
// and in the legacy layout.
func CategoryOf(path string) Category { return categoryOf(path) }

// Mapped returns the other spelling of a path: the legacy one of a present path, the
// present one of a legacy path; "" if there is none.
func Mapped(path string) string { return mapped(path) }

// DefaultVerify is the checklist of a VERIFY_EXPECTED that names none.
const DefaultVerify = "assets/verify/verify-expected.md"

// An Item is one box of a checklist.
type Item struct {
	Text string   // with following deeper lines joined
	Subs []string // nested bullets without a box
	Line int
	Halt bool // marked (halt)
}

// A Checklist is a file of VERIFY_EXPECTED or of a review.
type Checklist struct {
	Preamble string // prose and headings beside the items
	Items    []Item
	Halts    bool // the preamble says that a failing item stops the skill
}

// ParseChecklist reads every line "- [ ] text".
func ParseChecklist(src string) Checklist { return parseChecklist(src) }

// ScriptSection returns the text of the section NAME ("# === NAME ===") of a
// script, ok false if there is none. Names compare without case, blanks equal underscores. A section that
// is Markdown with one fenced block gives the block.
func ScriptSection(src, name string) (text string, ok bool) { return scriptSection(src, name) }

// ScriptSections returns the names of the sections in order.
func ScriptSections(src string) []string { return scriptSections(src) }

// MarkdownSection returns the text below the heading whose text, case folded, equals or
// starts with name, up to the next heading of that level.
func MarkdownSection(src, name string) (text string, ok bool) { return markdownSection(src, name) }

// Slots returns the names of a template's slots <name>, in order, without duplicates.
func Slots(src string) []string { return slots(src) }

// Fill replaces the slots of a template whose names lookup knows ("-" equals "_"),
// once; unknown slots stay and are returned.
func Fill(src string, lookup func(name string) (string, bool)) (text string, unknown []string) {
	return fill(src, lookup)
}

// Interpolate fills text that is shown or used literally (ruling 5.11): $ARGUMENTS, <<path>>, {path},
// <ident> when bound, context.path. It never fills twice.
func Interpolate(text, arguments string, lookup func(path string) (string, bool)) string {
	return interpolate(text, arguments, lookup)
}

// Mentions returns the names and paths that text refers to, in order, without
// duplicates: <<path>>, {path}, `path` and context.path always, as written; <name>, bare words, and context.path behind "-" or "/"
// when known says that they are bound, "-" equal to "_" in the first. A nil known knows none. $ARGUMENTS is not among them.
func Mentions(text string, known func(name string) bool) []string { return mentions(text, known) }

// InterpolateEnd fills the message of END: as Interpolate does, and when the
// last word after ": " is the name of a binding, that word as well. That last rule is
// doubtful, as the word could be meant as a word: doubtful tells that it was used, so that it can be warned of.
func InterpolateEnd(text, arguments string, lookup func(path string) (string, bool)) (filled string, doubtful bool) {
	return interpolateEnd(text, arguments, lookup)
}

// ClaimKind is what a claim is about.
type ClaimKind uint8

const (
	FileExists   ClaimKind = iota // file Path exists
	FileContains                  // file Path contains Want
	Binding                       // Condition, a test of a binding
)

// A Claim is the text of a checklist's item that needs no model.
type Claim struct {
	Kind      ClaimKind
	Path      string // as written, with its slots
	Want      string // as written, without quotes
	Not       bool   // does not exist, does not contain
	Condition string // Binding: "x is …", a condition of spec/tree/cond
}

// ParseClaim reads `file X exists`, `file X does not exist`, `file X contains "Y"`,
// `file X does not contain "Y"` and `binding X is …`. The whole text must match; ok is
// false for what a model has to judge.
func ParseClaim(text string) (c Claim, ok bool) { return parseClaim(text) }

// A ClaimEnv is what claims are checked against. A nil func is an error, but for Fill.
type ClaimEnv struct {
	Fill   func(text string) string             // interpolates Path and Want; nil leaves them
	Exists func(path string) (bool, error)      // of a file or directory of the project
	Read   func(path string) ([]byte, error)    // a file of the project; fs.ErrNotExist: the claim does not hold
	Holds  func(condition string) (bool, error) // decides a test of a binding
}

// Check decides c.
func (c Claim) Check(env ClaimEnv) (bool, error) { return c.check(env) }

// ParseArguments reads what the preamble of a skill says of $ARGUMENTS: lines "Label: $ARGUMENTS",
// "Label: $ARGUMENTS (default: X)" and "first token is `a`, remainder is `b`". bindings holds a and b,
// and under the key "$ARGUMENTS" the default where args is empty and there is one. understood is false if
// some line that mentions $ARGUMENTS says more than these, which a model has to read. Blockquotes are not read.
func ParseArguments(preamble, args string) (bindings map[string]string, understood bool) {
	return parseArguments(preamble, args)
}
