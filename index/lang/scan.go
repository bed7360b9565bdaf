package lang

import (
	"path"
	"strings"
)

// Of returns the language of a file by its name, "" for none.
func Of(name string) Language {
	switch strings.ToLower(path.Ext(name)) {
	case ".go":
		return Go
	case ".rs":
		return Rust
	case ".py", ".pyi", ".pyw":
		return Python
	case ".js", ".jsx", ".mjs", ".cjs":
		return JavaScript
	case ".ts", ".mts", ".cts":
		return TypeScript
	case ".tsx":
		return TSX
	}
	return ""
}

// Scan reads src, which is not changed and not kept. A language that it does not know gives an empty File.
func Scan(l Language, src []byte) File {
	switch l {
	case Go:
		return scanGo(src)
	case Rust:
		return scanRust(src)
	case Python:
		return scanPython(src)
	case JavaScript, TypeScript, TSX:
		return scanScript(l, src)
	}
	return File{}
}
