package skillify

import (
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/testdata/growth"
)

// TestImport is the line with which code takes a package in: what it imports is a value, under a name that code can have.
func TestImport(t *testing.T) {
	const def, fn, typ, iface, con = "default", pkgdoc.Function, pkgdoc.Type, pkgdoc.Interface, pkgdoc.Constant
	for _, c := range []struct {
		name, guide string
		symbols     []pkgdoc.Symbol
		want        string
	}{
		{"chalk", "", []pkgdoc.Symbol{{Name: "Name", Kind: typ, Text: "A name."}, {Name: def, Kind: con}}, `import chalk from "chalk"`},
		{"chalk", "", []pkgdoc.Symbol{{Name: "Name", Kind: typ, Text: "A name."}, {Name: "Other", Kind: iface}}, "npm install chalk\n"},
		{"fast", "const Fast = require('fast')", []pkgdoc.Symbol{{Name: def, Kind: fn}, {Name: "fast", Kind: fn}}, `import Fast from "fast"`},
		{"fast", "import fast, { other } from 'fast'", []pkgdoc.Symbol{{Name: "fast", Kind: fn}}, `import { fast } from "fast"`},
		{"fast", "import type { A } from 'fast'\nimport { type B, b as c } from \"fast\"", []pkgdoc.Symbol{{Name: "A", Kind: iface}, {Name: "a", Kind: fn}, {Name: "b", Kind: fn}}, `import { b } from "fast"`},
		{"fast", "import { A } from 'fast'", []pkgdoc.Symbol{{Name: "A", Kind: iface}, {Name: "a", Kind: fn}}, `import { a } from "fast"`},
		{"fast", "import { default as fst } from 'fast'", []pkgdoc.Symbol{{Name: def, Kind: fn}}, `import fst from "fast"`},
		{"fast", "import * as f from 'fast'", []pkgdoc.Symbol{{Name: "a", Kind: fn}}, `import * as f from "fast"`},
		{"fast", "import x from 'faster'; fast is it", []pkgdoc.Symbol{{Name: "delete", Kind: fn}, {Name: "z", Kind: con}}, `import { z } from "fast"`},
		{"fast", "import delete from 'fast'", []pkgdoc.Symbol{{Name: def, Kind: fn}}, `import fast from "fast"`},
		{"@acme/bag-of.words2", "", []pkgdoc.Symbol{{Name: def, Kind: fn}}, `import bagOfWords2 from "@acme/bag-of.words2"`},
		{"delete", "", []pkgdoc.Symbol{{Name: def, Kind: fn}}, `import _delete from "delete"`},
		{"9", "", []pkgdoc.Symbol{{Name: def, Kind: fn}}, `import _ from "9"`},
	} {
		p := &pkgdoc.Package{Ecosystem: "npm", Name: c.name, Version: "1.0.0", Title: "Does it", Pages: []pkgdoc.Page{{ID: c.name, Title: "Does it", Symbols: c.symbols}}}
		for i := range c.symbols {
			c.symbols[i].ID = c.name + "#" + c.symbols[i].Name
		}
		if c.guide != "" {
			p.Guides = []pkgdoc.Guide{{ID: "readme", Title: "README", Text: c.guide}}
		}
		s := mustMake(t, p)
		if text := string(s.File("SKILL.md")); !strings.Contains(text, c.want) || strings.Contains(text, "`default`") {
			t.Errorf("%s %q: want %s\n%s", c.name, c.guide, c.want, text)
		}
	}
}

// TestGoImport imports what others can import, at a version that the go command knows.
func TestGoImport(t *testing.T) {
	page := func(dir string, kind pkgdoc.Kind) pkgdoc.Page {
		return pkgdoc.Page{ID: dir, File: dir, Title: "Does it", Symbols: []pkgdoc.Symbol{{ID: dir + ".A", Name: dir + ".A", Kind: kind, Signature: "go install example.com/m/" + dir}}}
	}
	for _, c := range []struct {
		version string
		pages   []pkgdoc.Page
		want    string
	}{
		{"1.2.0", []pkgdoc.Page{page(".", pkgdoc.Function)}, `import "example.com/m" // else go get example.com/m@v1.2.0`},
		{"devel", []pkgdoc.Page{page(".", pkgdoc.Function)}, "go get example.com/m\n"},
		{"1.2.0", []pkgdoc.Page{page(".", pkgdoc.Command), page("a", pkgdoc.Function)}, `import "example.com/m/a" // else go get example.com/m@v1.2.0`},
		{"1.2.0", []pkgdoc.Page{page("cmd", pkgdoc.Command)}, "```sh\ngo install example.com/m/cmd\n```"},
	} {
		s := mustMake(t, &pkgdoc.Package{Ecosystem: "go", Name: "example.com/m", Version: c.version, Title: "Does it", Pages: c.pages})
		if text := string(s.File("SKILL.md")); !strings.Contains(text, c.want) {
			t.Errorf("want %s\n%s", c.want, text)
		}
	}
}

// TestImportLinear reads guides that are full of imports.
func TestImportLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for _, unit := range []string{"import ", "import { a } from 'x'\n", "import 'x", "'x'"} {
		small, large := growth.Times(64<<10, 8, 40, 5*time.Millisecond, func(n int) {
			m := &maker{p: &pkgdoc.Package{Ecosystem: "npm", Name: "x", Guides: []pkgdoc.Guide{{Text: strings.Repeat(unit, n/len(unit))}}}}
			m.clauses()
		})
		if large > 40*small {
			t.Errorf("%q: 64 KiB take %v, 512 KiB %v", unit, small, large)
		}
	}
}

// Methods of an interface are called on the value of the package that is of it. What is for @types/x is imported from x.
func TestInstance(t *testing.T) {
	for _, c := range []struct {
		name    string
		symbols []pkgdoc.Symbol
		want    []string
	}{
		{"the default", []pkgdoc.Symbol{{Name: "default", Kind: pkgdoc.Constant, Signature: "const _: _.Static"}}, []string{`import _ from "@acme/bag" // else npm install @acme/bag @types/acme__bag`, "`_.fill`"}},
		{"a name", []pkgdoc.Symbol{{Name: "bag", Kind: pkgdoc.Constant, Signature: "const bag: Static"}}, []string{`import { bag } from "@acme/bag"`, "`bag.fill`"}},
		{"two", []pkgdoc.Symbol{{Name: "a", Kind: pkgdoc.Constant, Signature: "const a: Static"}, {Name: "b", Kind: pkgdoc.Constant, Signature: "const b: Static"}}, []string{"`Static.fill`"}},
		{"three", []pkgdoc.Symbol{{Name: "a", Kind: pkgdoc.Constant, Signature: "const a: Static"}, {Name: "b", Kind: pkgdoc.Constant, Signature: "const b: Static"},
			{Name: "c", Kind: pkgdoc.Constant, Signature: "const c: Static"}}, []string{"`Static.fill`"}},
		{"a list of them", []pkgdoc.Symbol{{Name: "a", Kind: pkgdoc.Constant, Signature: "const a: Static[]"}}, []string{"`Static.fill`"}},
		{"made by a compiler", []pkgdoc.Symbol{{Name: "default", Kind: pkgdoc.Constant, Signature: "const _default: Static"}}, []string{`import bag from "@acme/bag"`, "`bag.fill`"}},
	} {
		symbols := append(c.symbols, pkgdoc.Symbol{Name: "Static", Kind: pkgdoc.Interface, Signature: "interface Static {}"},
			pkgdoc.Symbol{Name: "Static.fill", Kind: pkgdoc.Method, Signature: "fill(): void", Text: "Fills it."})
		for i := range symbols {
			symbols[i].ID = "@acme/bag#" + symbols[i].Name
		}
		p := &pkgdoc.Package{Ecosystem: "npm", Name: "@types/acme__bag", Module: "@acme/bag", Version: "1.0.0", Title: "Does it", Pages: []pkgdoc.Page{{ID: "@acme/bag", Title: "Does it", Symbols: symbols}}}
		text := string(mustMake(t, p).File("SKILL.md"))
		for _, want := range append(c.want, "code uses the package @acme/bag", "# `@types/acme__bag` 1.0.0") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", c.name, want, text)
			}
		}
	}
}
