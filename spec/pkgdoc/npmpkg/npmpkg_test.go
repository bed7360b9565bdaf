package npmpkg

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/testdata/growth"
)

var update = flag.Bool("update", false, "write the golden files")

func files(t testing.TB, data []byte) bundle.Memory {
	t.Helper()
	m := bundle.Memory{}
	for _, f := range txtar.Parse(data).Files {
		m[f.Name] = bundle.MemoryFile{Data: f.Data}
	}
	return m
}

// TestBag reads a package that has a bit of everything.
func TestBag(t *testing.T) {
	data, err := os.ReadFile("testdata/bag.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(files(t, data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/bag.json"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s differs: go test -run TestBag -update, and look at the difference", golden)
	}
}

// TestExports lists the names that declaration files make public.
func TestExports(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"export declare function a(x: number): void;\nexport declare function a(x: string): void;", "a"},
		{"export declare const a: number, b: Map<string, number>;\nexport let c", "a b c"},
		{"declare function hidden(): void;\nexport { hidden as shown };", "shown"},
		{"declare const a: 1;\nexport declare const b: 2;", "a b"}, // without a list all of it is exported
		{"declare const a: 1;\nexport declare const b: 2;\nexport {};", "b"},
		{"interface A { }\ndeclare function b(): A", "A b"}, // no module
		{"export interface A extends B<C> { x: { y: 1 }; }\nexport type D = { a: 1 } | {\n b: 2\n}\nexport type E = 1", "A D E"},
		{"export default class A { }\nexport class B {}", "B default"},
		{"declare const _default: { a: 1 };\nexport default _default;\nexport { type X, Y as 'z z' };\ntype X = 1; declare const Y: 2;", "X default z z"},
		{"export = A;\ndeclare namespace A {\n  function b(): void;\n  namespace c { const d: 1 }\n}", "b c default"},
		{"export * from './other';\nexport * as ns from './other';\nexport { o as p } from './other.js';", "Q ns o p"},
		{"import { o } from './other';\nexport { o };\nexport * from 'elsewhere';", "o"},
		{"export * from './index';\nexport const a: 1;", "a"}, // of itself
		{"declare module 'x' {\n  export const a: 1;\n}", "a"},
		{"export declare enum A { B, C = 'c' }\nexport const enum D { E }", "A D"},
		{"export abstract class A<T extends { x: string }> extends B {\n  private constructor();\n  m(): void\n  get g(): 1\n}", "A"},
		{"// export const no: 1\n/* export const no2: 1 */\nexport const s: \"export const no3: 1;\" | `${string}`", "s"},
		{"export const a: () => { b: 1 }\nexport const c: A<B<C>>\n", "a c"},
		{"export const é: 1", "é"},
		{"import { o, Q as R } from './other';\ndeclare function f(): f.I;\ndeclare namespace f {\n  export interface I {}\n  export type { o, R };\n  export { f as default };\n}\nexport = f;", "I R default o"},
		{"export declare namespace N { class I {} }\nexport import A = N.I;", "A N"},
		{"declare namespace N { namespace M { class I {} } }\nimport B = N.M;\nexport { B };\nexport import C = B.I;\nexport import D = E.F;", "B C D"},
		{"import * as n from './other';\nexport import A = n.Q;\nexport = N.M;\ndeclare namespace N { namespace M { const x: 1; export { n as y } } }", "A default y"},
		{"export import A = require('./other');\nexport import B = B.c;", "A B"},
		{"declare namespace N { const a: 1; const b: 2; export { a as c } }\nexport = N", "c default"},
		{"export {", ""}, {"export class {{{", ""}, {"}}}} export const a: 1", "a"},
	} {
		m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0","types":"index.d.ts"}`)}, "index.d.ts": {Data: []byte(c.src)},
			"other.d.ts": {Data: []byte("export declare const o: 1;\nexport interface Q {}\nexport default o;")}}
		p, err := Read(m)
		if err != nil {
			t.Errorf("%q: %v", c.src, err)
			continue
		}
		var names []string
		for _, page := range p.Pages {
			for _, s := range page.Symbols {
				if !strings.Contains(s.Name, ".") {
					names = append(names, s.Name)
				}
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestEntries finds the declaration file of every way in which package.json says it.
func TestEntries(t *testing.T) {
	all := bundle.Memory{}
	for _, name := range []string{"index.d.ts", "lib/a.d.ts", "lib/a.d.mts", "lib/a.d.cts", "lib/b/index.d.ts"} {
		all[name] = bundle.MemoryFile{Data: []byte("export const x: 1;")}
	}
	for _, c := range []struct{ manifest, want string }{
		{`{}`, "p=index.d.ts"},
		{`{"types": "./lib/a.d.ts"}`, "p=lib/a.d.ts"},
		{`{"typings": "lib/a"}`, "p=lib/a.d.ts"},
		{`{"main": "lib/a.js"}`, "p=lib/a.d.ts"},
		{`{"main": "lib/a.mjs"}`, "p=lib/a.d.mts"},
		{`{"main": "lib/b"}`, "p=lib/b/index.d.ts"},
		{`{"exports": "./lib/a.cjs"}`, "p=lib/a.d.cts"},
		{`{"exports": {"import": {"types": "./lib/a.d.mts", "default": "./x.mjs"}, "require": "./lib/a.cjs"}}`, "p=lib/a.d.mts"},
		{`{"exports": {".": {"default": "./lib/a.js"}, "./b": [{"types": "./lib/b/index.d.ts"}], "./package.json": "./package.json", "./n": null, "./p/*": "./p/*.js"}}`, "p=lib/a.d.ts p/b=lib/b/index.d.ts"},
		{`{"main": "../../etc/passwd"}`, ""},
		{`{"exports": {".": {"types": "/etc/a.d.ts"}}}`, "p=index.d.ts"},
	} {
		m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0",` + c.manifest[1:])}}
		if c.manifest == "{}" {
			m["package.json"] = bundle.MemoryFile{Data: []byte(`{"name":"p","version":"1.0.0"}`)}
		}
		for name, f := range all {
			m[name] = f
		}
		p, err := Read(m)
		if err != nil {
			t.Errorf("%s: %v", c.manifest, err)
			continue
		}
		var got []string
		for _, page := range p.Pages {
			got = append(got, page.ID+"="+page.File)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.manifest, got, c.want)
		}
	}
}

func TestComment(t *testing.T) {
	d := comment("/**\n * Does {@link x | it} with {@code y}.\n *\n * More.\n * @param a - the a\n * @param [b=1] the b\n * @param {string} opts.c the c\n * @returns the end\n * @deprecated use z\n * @example <caption>x</caption>\n * ```ts\n * a(1) // @no\n * ```\n * @example b(2)\n * @internal x\n */")
	if d.text != "Does it with `y`.\n\nMore." || d.returns != "the end" || d.deprecated != "use z" || fmt.Sprint(d.params) != "map[a:the a b:the b opts.c:the c]" ||
		fmt.Sprintf("%q", d.examples) != `["a(1) // @no" "b(2)"]` {
		t.Errorf("%+v", d)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		m    bundle.Memory
		want string
		is   error
	}{
		{bundle.Memory{}, "no package.json", ErrNoPackage},
		{bundle.Memory{"package.json": {Data: []byte(`{"name":"p"}`)}}, "no version", ErrNoPackage},
		{bundle.Memory{"package.json": {Data: []byte(`{"name":`)}}, "package.json: ", nil},
		{bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1"}`)}, "index.d.ts": {Data: make([]byte, pkgdoc.MaxFile+1)}}, "more than 16 MiB", pkgdoc.ErrTooLarge},
	} {
		p, err := Read(c.m)
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v, %v; want %q", p, err, c.want)
		}
	}
}

// TestCircle ends where modules export each other.
func TestCircle(t *testing.T) {
	m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}}
	m["index.d.ts"] = bundle.MemoryFile{Data: []byte("export * from './a';\nexport { x } from './a';\nimport { y } from './a';\nexport { y };")}
	m["a.d.ts"] = bundle.MemoryFile{Data: []byte("export * from './index';\nexport { x } from './index';\nexport { y } from './index';\nexport const z: 1;")}
	p, err := Read(m)
	if err != nil || p.Count() != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestLinear reads texts that could be slow.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for _, unit := range []string{"export const a: 1;\n", "export import A = B.c.d;\n", "export class A { m(x: B<C>): void; }\n", "<", "a < b ", "(", "{", "export function ", "export const a = <", "class A {", "/** x */", "`", "export const a: A<B<",
		"namespace a { ", "export import A = N.B; ", "namespace N { export { a, N as N1 }; } ", "import ", "export { a, ", "export * from './x';\n", "@", "\\u"} {
		small, large := growth.Times(64<<10, 8, 40, 5*time.Millisecond, func(n int) {
			parse("a.d.ts", strings.Repeat(unit, n/len(unit)))
		})
		if large > 40*small {
			t.Errorf("%q: 64 KiB take %v, 512 KiB %v", unit, small, large)
		}
	}
	small, large := growth.Times(4<<10, 8, 40, 5*time.Millisecond, func(n int) {
		var class strings.Builder
		class.WriteString("export class A {\n")
		for i := range n {
			fmt.Fprintf(&class, "m%d(): void;\n", i)
		}
		parse("a.d.ts", class.String()+"}\n")
	})
	if large > 40*small {
		t.Errorf("4,096 methods take %v, 32,768 %v", small, large)
	}
}

// TestManyWays ends where every name leads to every other.
func TestManyWays(t *testing.T) {
	m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}}
	stars := ""
	for i := range 30 {
		stars += fmt.Sprintf("export * from './m%d';\n", i)
	}
	for i := range 30 {
		m[fmt.Sprintf("m%d.d.ts", i)] = bundle.MemoryFile{Data: []byte(stars)}
	}
	m["index.d.ts"] = bundle.MemoryFile{Data: []byte("export { x } from './m0';\nexport declare namespace N { import A = N.B.B.B.B; export { A as B } }")}
	p, err := Read(m)
	if err != nil || p.Count() != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

// An export may have any string as its name, also one that says nothing; then it is as it is written, and its module keeps to itself.
func TestNamesThatAreStrings(t *testing.T) {
	m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}, "b.d.ts": {Data: []byte("export declare const b: 1")}}
	m["index.d.ts"] = bundle.MemoryFile{Data: []byte("declare function a(): void;\nexport { a as '', a as \"\\\\\", a as 'c d' };\nexport * as \"\" from './b'")}
	p, err := Read(m)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, page := range p.Pages {
		for _, s := range page.Symbols {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " · "), `"" · "\\" · '' · c d`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("export declare function a<T extends { x: 1 }>(x?: T, ...y: any[]): void;\nexport * from './b';\nexport { c as d };\nexport default class { private x; m(): 1 }")
	f.Add("export = A;\ndeclare namespace A { const b: `x${string}`; }\nimport e = require('f');\nexport const enum G { H }")
	f.Add("namespace {}")
	f.Add("declare function a(): void;\nexport { a as '' };\nexport * as '' from './b'")
	f.Add("export namespace N { import A = N.B; export { A as B, f as default }; export type { C } }\nexport import D = N.B;\nimport f = require('./b')")
	f.Fuzz(func(t *testing.T, src string) {
		m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}, "index.d.ts": {Data: []byte(src)}, "b.d.ts": {Data: []byte(src)}}
		p, err := Read(m)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, page := range p.Pages {
			for _, s := range page.Symbols {
				if s.Name == "" {
					t.Errorf("a symbol of %s has no name", page.ID)
				}
				seen[s.ID] = true
			}
		}
	})
}

// TestNamespace describes what a namespace exports by a list or by an alias as where it is declared, also in a circle.
func TestNamespace(t *testing.T) {
	m := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0"}`)}, "t.d.ts": {Data: []byte("/** One. */\nexport interface Q { id: string }")}}
	m["index.d.ts"] = bundle.MemoryFile{Data: []byte("import { Q } from './t';\nimport type { Z } from 'elsewhere';\nexport declare namespace N {\n  class I { m(): void }\n  namespace M { export type { Q, Z }; export { N } }\n}\nexport import A = N.I;")}
	p, err := Read(m)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Pages[0].Symbols {
		got = append(got, fmt.Sprintf("%s %s %s|%s", s.Kind, s.Name, strings.Join(strings.Fields(s.Signature), " "), s.Text))
	}
	want := []string{"class A class I { }|", "method A.m m(): void|", "namespace N namespace N|", "class N.I class I { }|", "method N.I.m m(): void|",
		"namespace N.M namespace M|", "interface N.M.Q interface Q { id: string; }|One.", "type N.M.Z |Of elsewhere.", "namespace N.M.N |"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPatterns lists the modules that a pattern of exports stands for, and finds what a package names of itself as others do.
func TestPatterns(t *testing.T) {
	many := bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0","exports":{"./m/*":"./m/*.js"}}`)}}
	for i := range maxPattern + 1 {
		many[fmt.Sprintf("m/a%d.d.ts", i)] = bundle.MemoryFile{Data: []byte("export const a: 1")}
	}
	for name, c := range map[string]struct {
		files bundle.Memory
		want  string
		lacks int
	}{
		"a star, its own and one that is closed": {bundle.Memory{
			"package.json":         {Data: []byte(`{"name":"p","version":"1.0.0","exports":{".":{"types":"./esm/index.d.mts"},"./*":{"import":{"types":"./esm/*.d.mts","default":"./esm/*.mjs"},"default":"./*.js"},"./in/*":null,"./b":{"types":"./other.d.ts"}}}`)},
			"esm/index.d.mts":      {Data: []byte("export * from 'p/a';\nexport * from 'p/b';\nexport * from 'p/in/c';\nexport * from 'q';\nexport const r: 1;")},
			"esm/a.d.mts":          {Data: []byte("export const a: 1;")},
			"esm/deep/d.d.mts":     {Data: []byte("export const d: 1;")},
			"esm/b.d.mts":          {Data: []byte("export const wrong: 1;")},
			"esm/in/c.d.mts":       {Data: []byte("export const c: 1;")},
			"other.d.ts":           {Data: []byte("export const b: 1;")},
			"node_modules/x.d.mts": {Data: []byte("export const x: 1;")},
		}, "p#a p#b p#r p/a#a p/b#b p/deep/d#d", 2}, // p/in/c and q
		"programs":   {bundle.Memory{"package.json": {Data: []byte(`{"name":"@s/p","version":"1.0.0","exports":{"./*":"./lib/*.js"}}`)}, "lib/a.d.ts": {Data: []byte("export const a: 1;")}, "lib/b.js": {Data: []byte("1")}}, "@s/p/a#a", 0},
		"every file": {bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0","exports":{"./*":"./*",".":"./a.js"}}`)}, "a.d.ts": {Data: []byte("export const a: 1;")}, "b.d.ts": {Data: []byte("export const b: 1;")}}, "p#a", 1},
		"too many":   {many, "", 1},
		"without":    {bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0","types":"a.d.ts"}`)}, "a.d.ts": {Data: []byte("export * from 'p/lib/b';")}, "lib/b.d.ts": {Data: []byte("export const b: 1;")}}, "p#b", 0},
		"of itself":  {bundle.Memory{"package.json": {Data: []byte(`{"name":"p","version":"1.0.0","types":"a.d.ts"}`)}, "a.d.ts": {Data: []byte("export * from 'p/a';\nexport * from 'pq';\nexport const a: 1;")}}, "p#a", 1},
	} {
		p, err := Read(c.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ids []string
		for _, page := range p.Pages {
			for _, s := range page.Symbols {
				ids = append(ids, s.ID)
			}
		}
		lacks := 0
		for _, n := range p.Notes {
			if strings.Contains(n.Text, "not listed") {
				lacks++
			}
		}
		if got := strings.Join(ids, " "); got != c.want || lacks != c.lacks {
			t.Errorf("%s:\ngot  %s\nwant %s\n%+v", name, got, c.want, p.Notes)
		}
	}
}
