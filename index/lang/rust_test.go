package lang

import (
	"strings"
	"testing"
)

var hostileRust = map[string]func(n int) string{
	"open brackets":         func(n int) string { return strings.Repeat("(", n) },
	"open braces":           func(n int) string { return strings.Repeat("{", n) },
	"closing brackets":      func(n int) string { return strings.Repeat(")]}", n) },
	"mismatched brackets":   func(n int) string { return strings.Repeat("([{", n) + strings.Repeat(")]}", n) },
	"balanced brackets":     func(n int) string { return strings.Repeat("(", n) + strings.Repeat(")", n) },
	"open strings":          func(n int) string { return strings.Repeat("\"\\\"", n) },
	"open raw strings":      func(n int) string { return strings.Repeat("r##\"", n) },
	"many hashes":           func(n int) string { return strings.Repeat("r"+strings.Repeat("#", 255), n/100) },
	"hashes in raw strings": func(n int) string { return "r" + strings.Repeat("#", 200) + "\"" + strings.Repeat("\"####", n) },
	"open comments":         func(n int) string { return strings.Repeat("/*", n) },
	"nested comments":       func(n int) string { return strings.Repeat("/*", n) + strings.Repeat("*/", n) },
	"quotes":                func(n int) string { return strings.Repeat("'", n) },
	"lifetimes":             func(n int) string { return strings.Repeat("'a ", n) },
	"escaped quotes":        func(n int) string { return strings.Repeat(`'\`, n) },
	"less":                  func(n int) string { return "fn f() { a" + strings.Repeat("<a", n) },
	"qualified paths":       func(n int) string { return "fn f() { " + strings.Repeat("<", n) },
	"type arguments":        func(n int) string { return "type A = " + strings.Repeat("A<", n) + strings.Repeat(">", n) },
	"turbofish":             func(n int) string { return "fn f() { " + strings.Repeat("a::<", n) },
	"turbofish in a row":    func(n int) string { return "fn f() { a" + strings.Repeat("::<A>", n) },
	"bindings":              func(n int) string { return "type A = " + strings.Repeat("A<B=", n) },
	"references":            func(n int) string { return "type A = " + strings.Repeat("&", n) },
	"functions of types":    func(n int) string { return "type A = " + strings.Repeat("Fn()->", n) },
	"impl for":              func(n int) string { return strings.Repeat("impl A ", n) },
	"impl paths":            func(n int) string { return strings.Repeat("impl ", n) },
	"impl in impl":          func(n int) string { return strings.Repeat("impl A{", n) },
	"closures":              func(n int) string { return "fn f() { " + strings.Repeat("|a|", n) },
	"empty closures":        func(n int) string { return "fn f() { " + strings.Repeat("||", n) },
	"match":                 func(n int) string { return "fn f() { " + strings.Repeat("match a{b=>", n) },
	"match heads":           func(n int) string { return "fn f() { " + strings.Repeat("match ", n) },
	"if":                    func(n int) string { return "fn f() { " + strings.Repeat("if ", n) },
	"if let":                func(n int) string { return "fn f() { " + strings.Repeat("if let A(a)=", n) },
	"else if":               func(n int) string { return "fn f() { " + strings.Repeat("if a{}else ", n) },
	"for in":                func(n int) string { return "fn f() { " + strings.Repeat("for a in ", n) },
	"return":                func(n int) string { return "fn f() { " + strings.Repeat("return ", n) },
	"prefixes":              func(n int) string { return "fn f() { " + strings.Repeat("!-*&", n) },
	"ranges":                func(n int) string { return "fn f() { " + strings.Repeat("..", n) },
	"methods":               func(n int) string { return "fn f() { a" + strings.Repeat(".b()", n) },
	"long path":             func(n int) string { return "fn f() { a" + strings.Repeat("::b", n) + "()" },
	"long path of fields":   func(n int) string { return "fn f() { a" + strings.Repeat(".b", n) + "()" },
	"long use":              func(n int) string { return "use a" + strings.Repeat("::b", n) + ";" },
	"use in use":            func(n int) string { return "use " + strings.Repeat("a::{", n) },
	"use in long use": func(n int) string {
		return "use " + strings.Repeat("aaaaaaaa::", 1000) + "{" + strings.Repeat("a::{b},", n)
	},
	"structs":          func(n int) string { return "fn f() { " + strings.Repeat("A{a:", n) },
	"patterns":         func(n int) string { return "fn f() { let " + strings.Repeat("A{a:", n) },
	"attributes":       func(n int) string { return strings.Repeat("#[a]", n) },
	"open attributes":  func(n int) string { return strings.Repeat("#[doc=a!", n) },
	"macros":           func(n int) string { return strings.Repeat("a!{", n) },
	"functions":        func(n int) string { return strings.Repeat("fn f(", n) },
	"functions within": func(n int) string { return strings.Repeat("fn f(){", n) },
	"words before":     func(n int) string { return strings.Repeat("unsafe ", n) },
	"default":          func(n int) string { return strings.Repeat("default const async ", n) },
	"comments before":  func(n int) string { return strings.Repeat("/// a\n", n) + "fn f() {}" },
	"bounds":           func(n int) string { return "fn f<T: " + strings.Repeat("A+", n) },
	"where":            func(n int) string { return "fn f() where " + strings.Repeat("A:B,", n) },
	"for lifetimes":    func(n int) string { return "fn f() where " + strings.Repeat("for<'a> ", n) },
	"zero bytes":       func(n int) string { return strings.Repeat("\x00", n) },
	"bytes that are no text": func(n int) string {
		return strings.Repeat("\xff\xe2'", n)
	},
	"one line": func(n int) string {
		return "fn f() {" + strings.Repeat("a.b::<C>(|d| match d { E(f) => g!(h), _ => 'i' });", n) + "}"
	},
}

func TestHostileRust(t *testing.T) { testHostile(t, hostileRust, Rust) }

func FuzzRust(f *testing.F) {
	for _, shape := range hostileRust {
		f.Add([]byte(shape(3)))
	}
	addSources(f, "testdata/rust_*.txt")
	f.Fuzz(func(t *testing.T, src []byte) {
		lawful(t, Rust, src, Scan(Rust, src))
	})
}
