// Package chunk divides a file into nodes, which are what a handle can stand for, and into pieces, which are
// what text search finds.
//
//   - Nodes nest: a class holds its methods, a section its subsections. Two may have one type and span, as those
//     of "var a, b", and are no parents of each other. They are symbols (index/lang), sections,
//     code blocks and paragraphs of Markdown, ops and nodes of Canopy trees, and chunks: parts of a file that are
//     nothing of these.
//   - Pieces are disjoint and in order, and together hold every byte that is not white space. Each is shown as one
//     node. A long symbol has several, shown as chunks with the symbol as their parent.
//   - Split takes any bytes and never fails. Time and memory are linear in the size of the file.
//   - Spans count bytes of the file as it is, whatever its line ends or encoding; lines count from 1.
//   - It is pure: bytes in, values out. It may be called concurrently.
package chunk

import "github.com/skl-project/skl/index/lang"

// A Type says what a node is. The numbers are part of handle ids (index/query) and are never reused.
type Type uint8

const (
	Section   Type = 0 // of Markdown, with its subsections
	CodeBlock Type = 1
	Paragraph Type = 2
	Function  Type = 3
	Class     Type = 4 // class, trait, Go's interface
	Struct    Type = 5 // struct, impl, type
	Method    Type = 6
	Chunk     Type = 7 // part of a file that is no other node
	Enum      Type = 8
	Constant  Type = 9
	Variable  Type = 10
	Field     Type = 11
	Macro     Type = 12
	Module    Type = 13
	Op        Type = 14 // of a Canopy tree
	Node      Type = 15 // of a Canopy tree
	File      Type = 16 // a whole file; Split makes none
)

var names = [...]string{"section", "code_block", "paragraph", "function", "class", "struct", "method", "chunk",
	"enum", "constant", "variable", "field", "macro", "module", "op", "node", "file"}

// String returns the name used in JSON: "code_block".
func (t Type) String() string {
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// ParseType is the inverse of [Type.String].
func ParseType(s string) (t Type, ok bool) {
	for i, n := range names {
		if n == s {
			return Type(i), true
		}
	}
	return 0, false
}

// IsSymbol says whether nodes of the type are definitions of code.
func (t Type) IsSymbol() bool {
	return t >= Function && t <= Method || t >= Enum && t <= Module
}

// A Region is a range of bytes [Start, End) with the lines that it touches, counted from 1.
type Region struct {
	Start, End          int
	FirstLine, LastLine int
}

// A Part is a node of a file.
type Part struct {
	Region           // of a symbol, without its doc comment, as in index/lang
	Type      Type   //
	Name      string // of a symbol or op; a section's heading without markup; a code block's info string; "" for none
	Owner     string // name of what it belongs to: the type of a method, the section of a code block or subsection, the op (or skill) of a tree's node, the symbol or section of a chunk; "" for none
	Parent    int    // index of the enclosing node, -1 for none
	Level     int    // of a heading, 1 to 6
	Signature string // as in index/lang; of an op what its heading says behind the name
	DocStart  int    // of the doc comment, [DocStart, DocEnd); both 0 for none
	DocEnd    int    //
	Exported  bool
	Tokens    int // estimated, see [Tokens]
}

// A Piece is a part of a file that text search finds.
type Piece struct {
	Region     // of a symbol, with its doc comment
	Node   int // index of the node that it is shown as; that node lies within Region but for doc comments and what divides a long one
}

// A Reference is a use of a name.
type Reference struct {
	Kind      lang.RefKind
	Name      string
	Qualifier string // "" for none
	Region           // of Name alone; both lines are the one it stands on
	Source    int    // index of the smallest symbol around it, or of that which a decorator belongs to, else of its piece's node
}

// An Outline is what Split found, each list in the order of starts.
type Outline struct {
	Language   string // a lang.Language, also one that is not read, "markdown", "skill" (a SKILL.md), "tree" (one with a Canopy tree, or an op file), "text"; "" for a binary file
	Nodes      []Part // an outer node before those in it
	Pieces     []Piece
	References []Reference
	Tokens     int // of the whole file
	Lines      int
	Binary     bool // holds a NUL byte in its first 8,000 bytes: no nodes, no pieces
	Broken     bool // as in index/lang
}

// Limits of a file. What is beyond gets fewer, larger pieces; nothing is left out.
const (
	MaxPieces = 1 << 16
	MaxNodes  = 1 << 20
)
