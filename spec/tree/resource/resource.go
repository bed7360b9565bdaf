// Package resource reads the files that a tree loads: checklists, scripts with
// named sections, templates with slots, sections of Markdown files, and fills text
// with values. It is pure: bytes in, values out, and follows spec/canopy-tree.md.
//
//   - Nothing here fails: a text of another shape than asked for gives nothing, or stays as it is.
//   - Values are filled in once, from left to right. The content of a value is never
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

// A ClaimEnv is what claims are checked against. A nil func is an error, but for Fill.
type ClaimEnv struct {
	Fill   func(text string) string             // interpolates Path and Want; nil leaves them
	Exists func(path string) (bool, error)      // of a file or directory of the project
	Read   func(path string) ([]byte, error)    // a file of the project; fs.ErrNotExist: the claim does not hold
	Holds  func(condition string) (bool, error) // decides a test of a binding
}
