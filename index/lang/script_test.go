package lang

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/growth"
	"github.com/skl-project/skl/testdata/long"
)

// hostileScripts are inputs that a careless scanner reads again and again, or dives into.
var hostileScripts = map[string]func(n int) string{
	"open brackets":             func(n int) string { return strings.Repeat("(", n) },
	"open braces":               func(n int) string { return strings.Repeat("{", n) },
	"open lists":                func(n int) string { return "x = " + strings.Repeat("[", n) },
	"closing brackets":          func(n int) string { return strings.Repeat(")]}", n) },
	"mismatched brackets":       func(n int) string { return strings.Repeat("([{", n) + strings.Repeat(")]}", n) },
	"balanced brackets":         func(n int) string { return strings.Repeat("(", n) + strings.Repeat(")", n) },
	"open strings":              func(n int) string { return strings.Repeat("'\n", n) },
	"open comments":             func(n int) string { return strings.Repeat("/*", n) },
	"open templates":            func(n int) string { return strings.Repeat("`${", n) },
	"templates in templates":    func(n int) string { return strings.Repeat("`${", n) + strings.Repeat("}`", n) },
	"open regular expressions":  func(n int) string { return strings.Repeat("=/[", n) },
	"divisions":                 func(n int) string { return "a" + strings.Repeat("/a", n) },
	"less":                      func(n int) string { return "a" + strings.Repeat("<a", n) },
	"less and brackets":         func(n int) string { return strings.Repeat("a<(", n) },
	"type arguments":            func(n int) string { return "x as " + strings.Repeat("A<", n) + strings.Repeat(">", n) + "()" },
	"more":                      func(n int) string { return strings.Repeat("a>", n) },
	"open elements":             func(n int) string { return "x = " + strings.Repeat("<a>", n) },
	"open tags":                 func(n int) string { return "x = " + strings.Repeat("<a ", n) },
	"elements in elements":      func(n int) string { return "x = " + strings.Repeat("<a>", n) + strings.Repeat("</a>", n) },
	"expressions in elements":   func(n int) string { return "x = " + strings.Repeat("<a>{", n) },
	"arrows":                    func(n int) string { return strings.Repeat("x=>", n) },
	"arrows in arguments":       func(n int) string { return strings.Repeat("f(x=>", n) },
	"conditionals":              func(n int) string { return strings.Repeat("a?", n) + strings.Repeat(":a", n) },
	"conditionals in a row":     func(n int) string { return "a" + strings.Repeat("?a:a", n) },
	"colons behind brackets":    func(n int) string { return strings.Repeat("(a):b|c.d|", n) },
	"conditional result types":  func(n int) string { return strings.Repeat("a?(b):c|d|e:", n) },
	"functions in functions":    func(n int) string { return strings.Repeat("function f(){", n) },
	"classes in classes":        func(n int) string { return strings.Repeat("class A{m(){", n) },
	"objects in objects":        func(n int) string { return "x=" + strings.Repeat("{a:", n) },
	"calls of calls":            func(n int) string { return "a" + strings.Repeat("()", n) },
	"methods of calls":          func(n int) string { return "a" + strings.Repeat(".b()", n) },
	"long path":                 func(n int) string { return "a" + strings.Repeat(".b", n) + "()" },
	"long path called":          func(n int) string { return strings.Repeat("a.b", n) + "()" },
	"prefixes":                  func(n int) string { return strings.Repeat("!-", n) + "a" },
	"new":                       func(n int) string { return strings.Repeat("new ", n) },
	"await":                     func(n int) string { return strings.Repeat("await ", n) },
	"declare":                   func(n int) string { return strings.Repeat("declare ", n) },
	"export":                    func(n int) string { return strings.Repeat("export ", n) },
	"export default":            func(n int) string { return strings.Repeat("export default ", n) },
	"decorators":                func(n int) string { return strings.Repeat("@a ", n) },
	"decorators of exports":     func(n int) string { return strings.Repeat("@a export ", n) },
	"assignments":               func(n int) string { return strings.Repeat("a=", n) },
	"else if":                   func(n int) string { return strings.Repeat("if(a){}else ", n) },
	"labels":                    func(n int) string { return strings.Repeat("a:", n) },
	"comments before":           func(n int) string { return strings.Repeat("// a\n", n) + "const f = () => 1, g = () => 2" },
	"comments between":          func(n int) string { return "const f = 1" + strings.Repeat(", //\n//\n\ng = 1", n) },
	"unions":                    func(n int) string { return "type A = " + strings.Repeat("|A", n) },
	"keyof":                     func(n int) string { return "type A = " + strings.Repeat("keyof ", n) },
	"extends":                   func(n int) string { return "type A = " + strings.Repeat("A extends B ? C : ", n) },
	"extends within":            func(n int) string { return "type A = " + strings.Repeat("A extends B ? ", n) },
	"infer":                     func(n int) string { return "type A = " + strings.Repeat("infer A extends ", n) },
	"function types":            func(n int) string { return "type A = " + strings.Repeat("(a:A)=>", n) },
	"function types as results": func(n int) string { return strings.Repeat("(a):(b)=>", n) },
	"generic functions":         func(n int) string { return "x=" + strings.Repeat("<T>(a)=>", n) },
	"shifts":                    func(n int) string { return strings.Repeat("a<<", n) },
	"import lists":              func(n int) string { return "import {" + strings.Repeat("a,", n) },
	"imports":                   func(n int) string { return strings.Repeat("import a,", n) },
	"export lists":              func(n int) string { return strings.Repeat("export {a}", n) },
	"one name":                  func(n int) string { return strings.Repeat("<<a", n/2) + strings.Repeat("a", n) },
	"spaces":                    func(n int) string { return "//\n" + strings.Repeat(" ", 5*n) + "class A {}" },
	"signatures":                func(n int) string { return strings.Repeat("function f(", n/10) + strings.Repeat(")", n/10) },
	"zero bytes":                func(n int) string { return strings.Repeat("\x00", n) },
	"bytes that are no text":    func(n int) string { return strings.Repeat("\xff\xe2", n) },
	"one line": func(n int) string {
		return strings.Repeat("a.b(function(c){return c?d:e/f/g+`x${h}`});", n)
	},
}

func testHostile(t *testing.T, shapes map[string]func(int) string, languages ...Language) {
	for k, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			size := long.Of(5_000, 100_000, 100_000)
			src := []byte(shapes[name](size))
			for i, l := range languages {
				if !long.All() && i != k%len(languages) { // a sample asks one language of each shape
					continue
				}
				begin := time.Now()
				f := Scan(l, src)
				took := time.Since(begin)
				if took > time.Second { // is it the machine, or does it grow faster than the text?
					small, large := growth.Times(size, 4, 10, time.Second, func(n int) { Scan(l, []byte(shapes[name](n))) })
					if large > 10*small || small > long.Within(5*time.Second) {
						t.Errorf("%s: %v for %d bytes, %v for four times as much", l, small, len(src), large)
					}
				}
				if testing.Verbose() && took > 150*time.Millisecond {
					t.Logf("%s: %v for %d bytes", l, took, len(src))
				}
				lawful(t, l, src, f)
			}
		})
	}
}

func TestHostileScripts(t *testing.T) {
	testHostile(t, hostileScripts, JavaScript, TypeScript, TSX)
}

// addSources seeds f with files.
func addSources(f *testing.F, pattern string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no files %s: %v", pattern, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

func FuzzScript(f *testing.F) {
	for _, shape := range hostileScripts {
		f.Add([]byte(shape(3)))
	}
	addSources(f, "testdata/script_*.txt")
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, l := range []Language{JavaScript, TypeScript, TSX} {
			lawful(t, l, src, Scan(l, src))
		}
	})
}
