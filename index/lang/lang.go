// Package lang finds the symbols and references of one source file: definitions
// with their spans, parents, signatures and doc comments, and calls, imports and
// uses of types.
//
//   - Scan takes any bytes and never fails: a file that is broken, or half of one,
//     gives what can be recognised. Time and memory are linear in the size of the file.
//   - Go is read by go/parser, and by a scanner of its own where that gives up. Rust, Python,
//     JavaScript and TypeScript (with JSX and TSX) are read by scanners that know strings, comments
//     and brackets, and the forms of definitions; they are measured against tree-sitter (index/lang/oracle).
//   - Java, Kotlin, C, C++, C#, Ruby, PHP, Swift, shells, HCL, protobuf, SQL, Lua and R are read by one scanner and a table for each:
//     their definitions alone. They are approximate; testdata/real_results.txt says how often they agree with universal-ctags.
//   - It is pure: bytes in, values out. It may be called concurrently.
package lang

// A Language is one that Scan knows.
type Language string

const (
	Go         Language = "go"
	Rust       Language = "rust"
	Python     Language = "python"
	JavaScript Language = "javascript" // with JSX
	TypeScript Language = "typescript"
	TSX        Language = "tsx"

	// Those that follow are read by tables; see [Approximate].
	Java     Language = "java"
	Kotlin   Language = "kotlin"
	C        Language = "c"
	CPP      Language = "cpp" // also all headers
	CSharp   Language = "csharp"
	Ruby     Language = "ruby"
	PHP      Language = "php"
	Swift    Language = "swift"
	Shell    Language = "shell"
	HCL      Language = "hcl"
	Protobuf Language = "protobuf"
	SQL      Language = "sql"
	Lua      Language = "lua"
	R        Language = "r"
)

// Kind says what a symbol is.
type Kind string

const (
	Function Kind = "function"
	Method   Kind = "method" // a function with a parent that is a type
	Class    Kind = "class"  // class, trait, interface of Go and Rust's trait
	Struct   Kind = "struct" // struct, impl, type, TypeScript's interface and type alias
	Enum     Kind = "enum"
	Constant Kind = "constant"
	Variable Kind = "variable"
	Field    Kind = "field" // only of a class body: class fields, enum members are not listed
	Macro    Kind = "macro"
	Module   Kind = "module" // mod, namespace
)

// A Span is a range of bytes [Start, End) with its lines, which count from 1.
type Span struct {
	Start, End          int
	FirstLine, LastLine int
}

// A Symbol is a definition.
type Symbol struct {
	Kind      Kind
	Name      string // as declared; a method's without its type
	Span      Span   // of the whole definition, decorators, attributes and export keywords aside, as the official grammar has it
	NameSpan  Span
	Parent    int    // index of the enclosing symbol in File.Symbols, -1 for none; a Go method's is its receiver's type if the file declares it
	Owner     string // name of the type that it belongs to, also where Parent is -1: the receiver, the type of an impl
	Signature string // parameters and result, on one line, at most 200 bytes; "" where there are none
	Doc       Span   // of the comment or docstring that belongs to it; zero for none
	Exported  bool   // by the rules of the language
}

// RefKind says how a name is used.
type RefKind string

const (
	Call    RefKind = "call"
	Import  RefKind = "import"
	TypeRef RefKind = "type_ref"
)

// A Reference is a use of a name.
type Reference struct {
	Kind      RefKind
	Name      string // last component
	Qualifier string // what stands before it, if that is a path of names: the receiver of a call, the module of an import (of Go the whole path)
	Span      Span   // of Name alone
	Source    int    // index of the smallest symbol around it, -1 for none
}

// A File is what Scan found, both in the order of their starts.
type File struct {
	Symbols    []Symbol
	References []Reference
	Broken     bool // the official parser would report an error, as far as the scanner can tell
}
