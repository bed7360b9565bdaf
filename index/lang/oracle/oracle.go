// Oracle prints the definitions and references that the official tree-sitter grammars
// see, in the terms of index/lang, so that index/lang's scanners can be measured.
//
//	go build -o /tmp/oracle .            # in this directory; needs a C compiler
//	/tmp/oracle -lang python FILES…      # one JSON line per file, in the order given
//	find . -name '*.rs' | /tmp/oracle -lang rust -   # paths from standard input
//	/tmp/oracle -lang tsx -tree FILE     # the syntax tree, to learn node names
//
// A line is {"path", "broken", "symbols": [{"kind","name","start","end","nameStart",
// "nameEnd","parent"}], "references": [{"kind","name","qualifier","start","end"}]}; offsets are
// bytes, ends exclusive, both lists are in the order of their starts (of equal starts the longer
// symbol first). broken says that the tree holds ERROR or MISSING nodes: such files are no truth.
//
// # Mapping, all languages
//
//   - A symbol's span is the grammar's node without leading decorators; nodes that only wrap
//     (decorated_definition, export_statement, ambient_declaration) are left out. What stands inside
//     the node in the grammar stays: Rust's pub, async, static, abstract.
//   - A symbol's parent is the smallest listed symbol whose node encloses it.
//   - Constants, variables and fields are listed outside function bodies only; functions and
//     types at any depth.
//   - A reference's span is the last component alone ("c" of a.b.c()), so span text == name.
//     The qualifier is the text before it without the joining ".", "?." or "::", and only where that
//     text is names joined by these (no space, bracket or string); otherwise "".
//   - A call is listed where the callee is a name or a path that ends in a name; f()() and a[0]()
//     give nothing for the outer callee. A decorator that is only a name or path is a call.
//
// # Python
//
// function_definition: method directly in a class (if, try and with between do not count), else
// function. class_definition: class. type_alias_statement: struct. assignment, outside functions:
// each name on its left side (also in tuples and lists, also chained) is a field in a class body,
// otherwise a constant if it is [A-Z0-9_]+ with a letter, else a variable; a lone name bound to a lambda is a function
// (a method in a class). The span is the assignment node's, for all names of a chain the outermost's. Calls as above. Imports: of "import a.b" b with qualifier a;
// of "from .m import x" m with qualifier "." and x with qualifier ".m"; aliases are not listed. Type uses: names
// and paths in annotations (not in calls' arguments, strings, lambdas) and in a class's positional bases; the
// base of a subscripted base class and the names in its brackets too.
//
// # Rust
//
// function_item, function_signature_item: method directly in impl or trait, else function. struct_item,
// union_item, type_item, associated_type: struct. impl_item: struct named by the first type_identifier or
// primitive_type of its type (if none, by the type's text). enum_item: enum. trait_item: class. mod_item: module. macro_definition:
// macro. const_item: constant. static_item: variable. Nothing inside token trees. Calls: call_expression by
// identifier, field, scoped path, with or without turbofish; macro_invocation by the macro's name. Imports: leaves
// of use trees, qualifier is the whole path with outer prefixes; "self" in braces and "*" give the last component of the prefix;
// extern crate. Type uses: each type_identifier that is not a declared name nor an impl's name; not "Self", not primitive types.
//
// # JavaScript, TypeScript, TSX
//
// function_declaration, generator_function_declaration, function_signature: function. function_expression and class
// with a name of their own and not bound: function, class. class_declaration, abstract_class_declaration: class.
// interface_declaration, type_alias_declaration: struct. enum_declaration: enum. module, internal_module: module (its dotted name,
// or the text within quotes). method_definition, method_signature, abstract_method_signature directly in a class or
// interface body: method; a method_definition in an object: function. variable_declarator whose name is an identifier: bound to a function,
// arrow or class (parentheses aside), a function or class at any depth; else, outside functions and the head of a for, a constant
// for const, otherwise a variable. assignment_expression to an identifier or member, pair with a property_identifier key: a function
// or class if so bound, else nothing. field_definition, public_field_definition named by an identifier or #private: method if bound to a function, else field.
// Spans are the declarator's, assignment's, pair's. String, number and computed names are not listed.
// Calls: call_expression (and tagged templates), new_expression, JSX elements whose name has an upper-case first letter or a dot;
// not super(). Imports: import_specifier's and export_specifier's imported name, default and namespace names, with the module's
// text as qualifier; the module's text itself (as the name, within the quotes) for import "x", export * from "x", require("x") and import("x").
// Type uses: each type_identifier that is not a declared name (declarations, type parameters, mapped type keys), and a class's extends name.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
)

type symbol struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	NameStart int    `json:"nameStart"`
	NameEnd   int    `json:"nameEnd"`
	Parent    int    `json:"parent"`
}

type reference struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Qualifier string `json:"qualifier,omitempty"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
}

type file struct {
	Path       string      `json:"path"`
	Broken     bool        `json:"broken"`
	Symbols    []symbol    `json:"symbols"`
	References []reference `json:"references"`
}

func main() {
	language := flag.String("lang", "", "python, rust, javascript, typescript or tsx")
	tree := flag.Bool("tree", false, "print the syntax tree")
	flag.Parse()
	if err := run(*language, *tree, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(language string, tree bool, paths []string) error {
	if _, err := newParser(language); err != nil {
		return err
	}
	if len(paths) == 1 && paths[0] == "-" {
		paths = nil
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			paths = append(paths, in.Text())
		}
		if err := in.Err(); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if tree {
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			p, _ := newParser(language)
			p.parse(src).print(out, src, 0)
		}
		return nil
	}
	return each(language, paths, out)
}

// each reads the files on all cores and prints their lines in the order of paths.
func each(language string, paths []string, out *bufio.Writer) error {
	lines := make([]chan []byte, len(paths))
	for i := range lines {
		lines[i] = make(chan []byte, 1)
	}
	var next int
	var mu sync.Mutex
	for range runtime.NumCPU() {
		go func() {
			p, _ := newParser(language)
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(paths) {
					return
				}
				line, err := json.Marshal(p.file(language, paths[i]))
				if err != nil {
					line = []byte("{}")
				}
				lines[i] <- line
			}
		}()
	}
	for i := range lines {
		if _, err := out.Write(append(<-lines[i], '\n')); err != nil {
			return err
		}
		lines[i] = nil
	}
	return nil
}

func (p *parser) file(language, path string) file {
	f := file{Path: path}
	src, err := os.ReadFile(path)
	if err != nil {
		f.Broken = true
		return f
	}
	root := p.parse(src)
	f.Broken = root.broken()
	w := walker{src: src, refSeen: map[reference]bool{}}
	switch language {
	case "python":
		w.python(root, scope{})
	case "rust":
		w.rust(root, scope{})
	default:
		w.script(root, scope{})
	}
	w.finish(&f)
	return f
}

// finish sorts what was found and links the parents.
func (w *walker) finish(f *file) {
	sort.SliceStable(w.symbols, func(i, j int) bool {
		a, b := w.symbols[i], w.symbols[j]
		if a.Start != b.Start {
			return a.Start < b.Start
		}
		return a.End > b.End
	})
	var open []int
	for i := range w.symbols {
		s := &w.symbols[i]
		for len(open) > 0 && !encloses(w.symbols[open[len(open)-1]], *s) {
			open = open[:len(open)-1]
		}
		s.Parent = -1
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
		}
		open = append(open, i)
	}
	sort.SliceStable(w.references, func(i, j int) bool { return w.references[i].Start < w.references[j].Start })
	f.Symbols, f.References = w.symbols, w.references
}

// encloses is false for equal spans: the names of one tuple are siblings.
func encloses(a, b symbol) bool {
	return a.Start <= b.Start && b.End <= a.End && (a.Start != b.Start || a.End != b.End)
}
