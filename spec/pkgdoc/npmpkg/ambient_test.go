package npmpkg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/testdata/growth"
)

func pack(files ...string) bundle.Memory {
	m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}}
	for i := 0; i+1 < len(files); i += 2 {
		m[files[i]] = bundle.MemoryFile{Data: []byte(files[i+1])}
	}
	return m
}

func ids(t *testing.T, m bundle.Memory) (out []string) {
	t.Helper()
	p, err := Read(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range p.Pages {
		for _, s := range page.Symbols {
			out = append(out, s.ID)
		}
	}
	for _, n := range p.Notes {
		out = append(out, n.String())
	}
	return out
}

// TestAmbient puts what a file declares for other modules where it belongs.
func TestAmbient(t *testing.T) {
	for _, c := range []struct {
		name string
		m    bundle.Memory
		want string
	}{
		{"an interface of a namespace", pack("index.d.ts", "/// <reference path='./c.d.ts' />\nexport = _;\ndeclare const _: _.S;\ndeclare namespace _ { interface S {} }",
			"c.d.ts", "import _ = require('./index');\ndeclare module './index' { interface S { chunk(): 1 } interface S { take(): 2 } interface T {} }"), "p#S p#S.chunk p#S.take p#T p#default"},
		{"an interface of a module", pack("index.d.ts", "export * from './c';\nexport interface S { a(): 1 }\ninterface H {}\nexport {}",
			"c.d.ts", "export {};\ndeclare module './index' { interface S { b(): 1 } interface N {} }"), "p#N p#S p#S.a p#S.b"},
		{"modules by name", pack("index.d.ts", "/// <reference path=\"fs.d.ts\" />\n/// <reference path=\"g.d.ts\" />", "g.d.ts", "interface G { g(): 1 }",
			"fs.d.ts", "declare module 'node:fs' { function open(): 1; const __proto__: 1 }\ndeclare module 'fs' { export * from 'node:fs' }"), "fs#__proto__ fs#open global#G global#G.g node:fs#__proto__ node:fs#open"},
		{"its own name, another one, the global scope", pack("index.d.ts", "declare const _d: 1;\nexport { _d as named };\ndeclare global { interface W {} }\ndeclare module 'p/v' { export function v(): void }\ndeclare module 'p' { interface O {} }"),
			"global#W p#O p#named p/v#v"},
		{"references in a circle, out of the package and to nothing", pack("index.d.ts", "/// <reference path='a.d.ts' />\n/// <reference path='../../b.d.ts' />\n/// <reference path='/c.d.ts' />\n/// <reference path='none.d.ts' />\nexport const x: 1;",
			"a.d.ts", "/// <reference path='index.d.ts' />\n/// <reference path='a.d.ts' />\ndeclare var a: 1;"), "global#a p#x index.d.ts: 3 of the files that it refers to are not in the package, such as ../../b.d.ts"},
		{"no file of that name", pack("index.d.ts", "export const x: 1;\ndeclare module './none' { interface A {} }"), "p#x index.d.ts: what it adds to ./none is left out: there is no such file in the package"},
	} {
		if got := strings.Join(ids(t, c.m), " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestManyReferences reads many references and many augmentations of one interface in time that grows with their number.
func TestManyReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for name, of := range map[string]func(n int) bundle.Memory{
		"references": func(n int) bundle.Memory {
			var w strings.Builder
			for i := range n {
				fmt.Fprintf(&w, "/// <reference path='x%d.d.ts' />\n", i)
			}
			return pack("index.d.ts", w.String()+"export const a: 1;")
		},
		"augmentations": func(n int) bundle.Memory {
			var w strings.Builder
			for i := range n {
				fmt.Fprintf(&w, "declare module './index' { interface S { m%d(): void; n(): %d } }\n", i, i)
			}
			return pack("index.d.ts", "export = _;\nimport './c';\ndeclare namespace _ { interface S {} }", "c.d.ts", w.String()+"export {}")
		},
	} {
		small, large := growth.Times(1<<10, 8, 40, 5*time.Millisecond, func(n int) {
			if _, err := Read(of(n)); err != nil {
				t.Fatal(err)
			}
		})
		if large > 40*small {
			t.Errorf("%s: 1,024 take %v, 8,192 %v", name, small, large)
		}
	}
}

// TestOverloads keeps what each signature says with it.
func TestOverloads(t *testing.T) {
	p, err := Read(pack("index.d.ts", "/** First */\nexport function f(a: string): string;\n/** Second */\nexport function f(a: number): number;\n/** First */\nexport function f(a: 3): 3;\n"+
		"export interface I {\n /** One */\n m(): 1;\n /** Two\n * @deprecated use n */\n m(a: 2): 2 }\n"+
		"/** Gets\n * @param a one\n * @returns it */\nexport function g(a: 1): 1;\n/** Gets\n * @param a one\n * @param b two\n * of them\n * @returns both */\nexport function g(a: 1, b: 2): 2;\n/** Gets\n * @param a one */\nexport function g(a: 3): 3;"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"p#f":   "First\n\n`function f(a: number): number`:\n\nSecond",
		"p#g":   "Gets\n\n`function g(a: 1, b: 2): 2`:\n\n- `b`: two\n  of them\n\nReturns: both",
		"p#I.m": "One\n\n`m(a: 2): 2`:\n\nDeprecated: use n\n\nTwo",
	} {
		if s, _ := p.Symbol(id); s == nil || s.Text != want {
			t.Errorf("%s: %+v, want %q", id, s, want)
		}
	}
}

// TestRequire lists what only the declarations of require have.
func TestRequire(t *testing.T) {
	m := pack("a.d.mts", "export function f(): 1", "a.d.cts", "export function f(): 2;\nexport function g(): 3")
	m["package.json"] = bundle.MemoryFile{Data: []byte(`{"name":"p","version":"1.0.0","exports":{"import":{"types":"./a.d.mts"},"require":{"types":"./a.d.cts"}}}`)}
	if got := strings.Join(ids(t, m), " "); got != "p#f p#g a.d.cts: only require has g" {
		t.Error(got)
	}
}

// A package of declarations describes the module that it is for, also where it declares that by name.
func TestTypes(t *testing.T) {
	for _, test := range []struct{ name, module string }{{"@types/bag", "bag"}, {"@types/acme__bag", "@acme/bag"}, {"bag", ""}, {"@acme/types", ""}} {
		files := fstest.MapFS{"package.json": {Data: []byte(`{"name":"` + test.name + `","version":"1.0.0","types":"index.d.ts"}`)},
			"index.d.ts": {Data: []byte("export declare function fill(): void;\n")},
			"more.d.ts":  {Data: []byte("declare module \"" + test.module + "\" { function empty(): void }\n")}}
		if test.module != "" {
			files["index.d.ts"].Data = append([]byte("/// <reference path=\"more.d.ts\" />\n"), files["index.d.ts"].Data...)
		}
		p, err := Read(files)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{test.name + "#fill"}
		if test.module != "" {
			want = []string{test.module + "#empty", test.module + "#fill"}
		}
		var ids []string
		for _, page := range p.Pages {
			for _, s := range page.Symbols {
				ids = append(ids, s.ID)
			}
		}
		if p.Module != test.module || !slices.Equal(ids, want) {
			t.Errorf("%s: module %q, %q", test.name, p.Module, ids)
		}
	}
}
