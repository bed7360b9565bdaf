package lang

import (
	"path"
	"strings"
)

// Of returns the language of a file by its name, "" for none.
func Of(name string) Language {
	ext := strings.ToLower(path.Ext(name))
	switch ext {
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
	if ext == "" {
		ext = strings.ToLower(path.Base(name))
	}
	for i := range tables {
		if t := &tables[i]; strings.Contains(t.names, " "+ext+" ") {
			return t.language
		}
	}
	return ""
}

// OfText returns the language of a script without an extension by its first line, "" for none.
func OfText(name string, src []byte) Language {
	if path.Ext(name) != "" || len(src) < 4 || src[0] != '#' || src[1] != '!' {
		return ""
	}
	line, _, _ := strings.Cut(string(src[2:min(len(src), 200)]), "\n")
	words := strings.Fields(line)
	for len(words) > 1 && (path.Base(words[0]) == "env" || words[0][0] == '-' || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	switch strings.TrimRight(path.Base(words[0]), "0123456789.") {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "bats":
		return Shell
	case "python", "pypy":
		return Python
	case "node", "nodejs", "bun":
		return JavaScript
	case "deno", "ts-node", "tsx":
		return TypeScript
	case "ruby", "jruby":
		return Ruby
	case "php":
		return PHP
	case "lua", "luajit", "texlua":
		return Lua
	case "swift":
		return Swift
	case "kotlin":
		return Kotlin
	case "perl":
		return "perl"
	case "tclsh", "wish", "expect":
		return "tcl"
	case "awk", "gawk", "mawk":
		return "awk"
	case "Rscript":
		return R
	}
	return ""
}

// unread are extensions of languages that Scan does not know, and their names.
const unread = " .pl perl .pm perl .scala scala .sc scala .dart dart .groovy groovy .gradle groovy .m objective-c .mm objective-c .ex elixir .exs elixir .erl erlang .hrl erlang" +
	" .hs haskell .ml ocaml .mli ocaml .clj clojure .cljs clojure .cljc clojure .zig zig .jl julia .cr crystal .nim nim .d d .f90 fortran .f95 fortran .f fortran .pas pascal" +
	" .vb visual-basic .fs fsharp .fsx fsharp .ps1 powershell .psm1 powershell .bat batch .cmd batch .vue vue .svelte svelte .astro astro .sol solidity .sv systemverilog .vhd vhdl" +
	" .vhdl vhdl .asm assembly .s assembly .tcl tcl .awk awk .el lisp .lisp lisp .scm scheme .rkt racket .coffee coffeescript .graphql graphql .thrift thrift .cmake cmake .nix nix" +
	" .fish fish .vim vim .cu cuda .hx haxe .elm elm .purs purescript .v v .odin odin .gd gdscript .mk make "

// Unread returns the language of a file whose definitions Scan does not read, by its name, "" for none.
func Unread(name string) Language {
	ext := strings.ToLower(path.Ext(name))
	if ext == "" {
		return ""
	}
	i := strings.Index(unread, " "+ext+" ")
	if i < 0 {
		return ""
	}
	language, _, _ := strings.Cut(unread[i+len(ext)+2:], " ")
	return Language(language)
}

// Reads says whether Scan finds the definitions of a language, and its references.
func Reads(l Language) (definitions, references bool) {
	switch l {
	case Go, Rust, Python, JavaScript, TypeScript, TSX:
		return true, true
	}
	return Approximate(l), false
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
	if t := tableOf(l); t != nil {
		return scanTable(t, src)
	}
	return File{}
}
