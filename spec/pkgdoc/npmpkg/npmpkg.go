// Package npmpkg reads the documentation of npm packages: package.json, the declaration files (.d.ts) that its exports lead to, its
// commands and the README. No script of the package runs, and no other package is looked at: what is exported of one is named and not
// described.
//
// An entry of exports is a page; its id is what code imports. A declaration that several entries export is described on the first.
package npmpkg

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// ErrNoPackage is that of a folder which is no npm package.
var ErrNoPackage = errors.New("there is no package.json of an npm package")

const maxModules = 5_000 // declaration files of one package

// Read reads the package at the root of fsys.
func Read(fsys fs.FS) (*pkgdoc.Package, error) {
	r := &reader{files: &pkgdoc.Files{FS: fsys}, modules: map[string]*module{}, told: map[string]bool{}, inner: map[*decl]map[string]*decl{}, asked: map[question]bool{}, globals: newModule(nil), require: map[string]string{}}
	text, err := r.files.Read("package.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoPackage
	}
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &m); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	if m.Name == "" || m.Version == "" {
		return nil, fmt.Errorf("package.json: it says no name or no version: %w", ErrNoPackage)
	}
	r.p = pkgdoc.Package{Ecosystem: "npm", Name: m.Name, Module: typedModule(m.Name), Version: m.Version, Title: strings.TrimSuffix(strings.Join(strings.Fields(m.Description), " "), "."),
		License: m.license(), URLs: m.urls(), Pages: []pkgdoc.Page{}, Guides: []pkgdoc.Guide{}}
	r.p.Text = strings.Join(strings.Fields(m.Description), " ")
	entries := r.entries(&m)
	if len(entries) == 0 {
		r.p.Lacks("package.json", "What its modules export is not described here.", "it leads to no declaration file: what its modules export is not known, unless there is a package @types/%s",
			strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "__"))
	}
	if err := r.load(entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := r.entry(e); err != nil {
			return nil, err
		}
	}
	if err := r.named(); err != nil {
		return nil, err
	}
	r.commands(&m)
	r.p.Skills = r.files.Skills("skills", ".agents/skills", ".claude/skills")
	if err := r.files.Finish(&r.p); err != nil {
		return nil, err
	}
	return &r.p, nil
}

// typedModule is the module that a package of declarations alone is for: x of @types/x, @a/b of @types/a__b, "" of any other package.
func typedModule(name string) string {
	of, ok := strings.CutPrefix(name, "@types/")
	if !ok {
		return ""
	}
	if scope, rest, scoped := strings.Cut(of, "__"); scoped {
		return "@" + scope + "/" + rest
	}
	return of
}

// A manifest is what package.json says.
type manifest struct {
	Name, Version, Description  string
	License, Licenses, Homepage json.RawMessage
	Repository, Bin, Exports    json.RawMessage
	Types, Typings, Main        json.RawMessage
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

func (m *manifest) license() string {
	var one struct{ Type string }
	if s := text(m.License); s != "" {
		return s
	}
	json.Unmarshal(m.License, &one) // what is no object says nothing
	return one.Type
}

func (m *manifest) urls() (out []string) {
	for _, u := range []string{text(m.Homepage), text(m.Repository)} {
		if strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://") {
			out = append(out, u)
		}
	}
	return out
}

// An entry is a module that code imports by a name, and the declaration file that describes it.
type entry struct{ name, file string }

// required adds to the exports of an entry those that only the declarations of require have.
func (r *reader) required(file string, list []public) ([]public, error) {
	more, err := r.exports(file, map[string]bool{})
	if err != nil {
		return nil, err
	}
	has := map[string]bool{"default": true}
	for _, p := range list {
		has[p.name] = true
	}
	for _, p := range more {
		if !has[p.name] {
			list = append(list, p)
			r.p.Lacks(file, "", "only require has %s", p.name)
		}
	}
	return list, nil
}

// entries are those that package.json names, sorted, the package's own first.
func (r *reader) entries(m *manifest) (out []entry) {
	add := func(key, file string) {
		if file = r.declarations(file); file != "" && !slices.ContainsFunc(out, func(e entry) bool { return e.name == path.Join(r.p.Imported(), key) }) {
			out = append(out, entry{path.Join(r.p.Imported(), key), file})
		}
	}
	require := func(key string, raw json.RawMessage) {
		if file := r.declarations(typesOf(raw, 0, requires)); file != "" {
			r.require[path.Join(r.p.Imported(), key)] = file
		}
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(m.Exports, &keys) == nil && len(keys) > 0 {
		r.keys = keys
		dots := false
		for _, key := range sorted(keys) {
			if !strings.HasPrefix(key, ".") {
				continue
			}
			dots = true
			if strings.Contains(key, "*") {
				continue
			}
			add(key, typesOf(keys[key], 0, imports))
			require(key, keys[key])
		}
		for _, key := range sorted(keys) {
			if !strings.HasPrefix(key, ".") || !strings.Contains(key, "*") || string(keys[key]) == "null" {
				continue
			}
			modules, ok := r.matches(keys, key)
			if !ok {
				r.p.Lacks("package.json", "Modules of the pattern "+pkgdoc.Code(path.Join(r.p.Imported(), key))+" are not described here.", "modules of the pattern %s are not listed", key)
				continue
			}
			for _, module := range modules {
				if file := r.declarations(module.file); !slices.ContainsFunc(out, func(e entry) bool { return e.file == file }) { // it has a name of its own
					add(module.name, module.file)
				}
			}
		}
		if !dots {
			r.keys = map[string]json.RawMessage{".": m.Exports}
			add(".", typesOf(m.Exports, 0, imports))
			require(".", m.Exports)
		}
	} else if s := text(m.Exports); s != "" {
		add(".", s)
	}
	if len(out) == 0 {
		add(".", cmp.Or(text(m.Types), text(m.Typings), text(m.Main), "index.js"))
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out
}

// maxPattern is how many modules of one pattern are listed. More are what a package is made of, and not what it is for.
const maxPattern = 200

// matches are the modules that a pattern of exports stands for, by their keys, sorted. It is false where these are too many to list, or where
// every file is one.
func (r *reader) matches(keys map[string]json.RawMessage, pattern string) (out []entry, ok bool) {
	target := strings.TrimPrefix(typesOf(keys[pattern], 0, imports), "./")
	before, after, one := strings.Cut(target, "*")
	if !one || strings.Contains(after, "*") || path.Ext(after) == "" {
		return nil, false
	}
	top := path.Dir(before + "x")
	if !fs.ValidPath(top) {
		return nil, false
	}
	n := 0
	err := fs.WalkDir(r.files.FS, top, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.IsDir() && e.Name() == "node_modules" {
			return fs.SkipDir
		}
		if n++; n > 10*maxPattern {
			return fs.SkipAll
		}
		star, begins := strings.CutPrefix(file, before)
		star, ends := strings.CutSuffix(star, ending(after))
		if e.IsDir() || !begins || !ends || star == "" {
			return nil
		}
		key := strings.Replace(pattern, "*", star, 1)
		if _, own := keys[key]; !own && r.pattern(keys, key) == pattern {
			out = append(out, entry{key, before + star + after})
		}
		return nil
	})
	return out, err == nil && n <= 10*maxPattern && len(out) <= maxPattern
}

// ending is that of the declaration files for one of programs.
func ending(program string) string {
	for end, of := range map[string]string{".mjs": ".d.mts", ".cjs": ".d.cts", ".js": ".d.ts"} {
		if rest, ok := strings.CutSuffix(program, end); ok {
			return rest + of
		}
	}
	return program
}

// pattern is the one of exports that is for a key: the longest before its star.
func (r *reader) pattern(keys map[string]json.RawMessage, key string) (best string) {
	long := -1
	for _, k := range sorted(keys) {
		before, after, ok := strings.Cut(k, "*")
		if ok && strings.HasPrefix(key, before) && strings.HasSuffix(key, after) && len(key) >= len(before)+len(after) && len(before) > long {
			best, long = k, len(before)
		}
	}
	return best
}

// own is the declaration file of a module of this package that is named as code outside names it, "" if there is none.
func (r *reader) own(module string) string {
	rest, ok := strings.CutPrefix(module, r.p.Imported())
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	key := "." + rest
	if len(r.keys) == 0 {
		return r.declarations(cmp.Or(strings.TrimPrefix(rest, "/"), "index.js"))
	}
	if raw, ok := r.keys[key]; ok {
		return r.declarations(typesOf(raw, 0, imports))
	}
	pattern := r.pattern(r.keys, key)
	before, after, _ := strings.Cut(pattern, "*")
	if pattern == "" {
		return ""
	}
	star := key[len(before) : len(key)-len(after)]
	return r.declarations(strings.ReplaceAll(typesOf(r.keys[pattern], 0, imports), "*", star))
}

func sorted(m map[string]json.RawMessage) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Conditions of an export in the order in which they count.
const (
	imports  = "types import module node default require browser"
	requires = "types require node default import module browser"
)

// typesOf is the file that the conditions of an export lead to: types first, wherever it stands.
func typesOf(raw json.RawMessage, depth int, order string) string {
	if s := text(raw); s != "" || depth > 10 {
		return s
	}
	var conditions map[string]json.RawMessage
	if json.Unmarshal(raw, &conditions) != nil {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			return typesOf(list[0], depth+1, order)
		}
		return ""
	}
	for _, key := range strings.Fields(order) {
		if inner, ok := conditions[key]; ok {
			if s := typesOf(inner, depth+1, order); s != "" {
				return s
			}
		}
	}
	return ""
}

// declarations is the declaration file of a module, "" if there is none.
func (r *reader) declarations(file string) string {
	if file == "" {
		return ""
	}
	file = path.Clean(strings.TrimPrefix(file, "./"))
	if !fs.ValidPath(file) {
		return ""
	}
	for _, end := range []string{".d.ts", ".d.mts", ".d.cts"} {
		if strings.HasSuffix(file, end) {
			if r.files.Has(file) {
				return file
			}
			return ""
		}
	}
	base := file
	for _, end := range []string{".mjs", ".cjs", ".js", ".mts", ".cts", ".ts", ".jsx", ".tsx"} {
		if rest, ok := strings.CutSuffix(file, end); ok {
			base = rest
			if end == ".mjs" || end == ".cjs" {
				if own := rest + ".d." + end[1:2] + "ts"; r.files.Has(own) {
					return own
				}
			}
			break
		}
	}
	for _, name := range []string{base + ".d.ts", base + ".d.mts", base + ".d.cts", path.Join(base, "index.d.ts"), path.Join(base, "index.d.mts")} {
		if r.files.Has(name) {
			return name
		}
	}
	return ""
}

// reader reads one package.
type reader struct {
	files   *pkgdoc.Files
	p       pkgdoc.Package
	modules map[string]*module         // by file; nil for one that cannot be read
	told    map[string]bool            // declarations that a page describes, by file, line and name
	inner   map[*decl]map[string]*decl // what namespaces hold, by name
	asked   map[question]bool          // in the search for one export

	globals  *module  // the global scope
	ambients []string // modules that are declared by name

	require map[string]string          // declaration files of entries for require
	keys    map[string]json.RawMessage // of exports; nil where that says nothing
}

// module is that of a declaration file.
func (r *reader) module(file string) (*module, error) {
	if m, ok := r.modules[file]; ok {
		return m, nil
	}
	if len(r.modules) >= maxModules {
		return nil, fmt.Errorf("%w: it has more than 5,000 declaration files", pkgdoc.ErrTooLarge)
	}
	text, err := r.files.Text(file)
	if errors.Is(err, pkgdoc.ErrTooLarge) {
		return nil, err
	}
	var m *module
	if err == nil {
		var ok bool
		if m, ok = parse(file, text); !ok {
			err = errors.New("it is longer than is read")
		}
	}
	if err != nil {
		r.p.Note(file, 0, "it is left out: %v", err)
	}
	if m != nil {
		m.up = r.globals
	}
	r.modules[file] = m
	return m, nil
}

// A public is a declaration under the name that a module gives it; d is nil for one of another package.
type public struct {
	name  string
	d     *decl
	of    from
	typed bool // it is no value, as far as the exports say
}

// exports are what a module makes public, sorted by name. Modules that export each other end.
func (r *reader) exports(file string, seen map[string]bool) (out []public, err error) {
	if seen[file] || len(seen) > maxModules {
		return nil, nil
	}
	seen[file] = true
	m, err := r.module(file)
	if m == nil {
		return nil, err
	}
	taken := map[string]bool{}
	add := func(p public) {
		if !taken[p.name] {
			taken[p.name] = true
			out = append(out, p)
		}
	}
	for _, e := range m.exports {
		if e.of.name == "*" && e.as == "" {
			continue
		}
		p, err := r.resolve(file, m, e, 0)
		if err != nil {
			return nil, err
		}
		if !e.whole || p.d == nil {
			add(p)
		} else {
			inner, err := r.within(p.d)
			if err != nil {
				return nil, err
			}
			p.d = p.d.alone()
			add(p)
			for _, one := range inner {
				add(one)
			}
		}
	}
	if m.global || !m.chosen {
		byDefault := map[string]bool{}
		for _, e := range m.exports {
			if e.as == "default" {
				byDefault[e.local] = true
			}
		}
		for _, name := range m.order {
			if name != "default" && !byDefault[name] {
				add(public{name: name, d: m.decls[name]})
			}
		}
	}
	more, err := r.stars(file, m, seen)
	if err != nil {
		return nil, err
	}
	for _, p := range more {
		add(p)
	}
	slices.SortStableFunc(out, func(a, b public) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// alone is a declaration with its methods, and without what is in the namespace of its name.
func (d *decl) alone() *decl {
	own := *d
	own.lists = nil
	own.members = slices.DeleteFunc(slices.Clone(d.members), func(one decl) bool {
		return one.kind != pkgdoc.Method || d.kind == pkgdoc.Namespace || strings.Count(one.name, ".") > strings.Count(d.name, ".")+1
	})
	return &own
}

// inside are the declarations in a namespace, under their own names.
func (d *decl) inside() (out []decl) {
	at := map[string]int{}
	for _, one := range d.members {
		name, ok := strings.CutPrefix(one.name, d.name+".")
		if !ok || one.kind == pkgdoc.Method && d.kind != pkgdoc.Namespace && !strings.Contains(name, ".") {
			continue
		}
		one.name = name
		if of, _, inner := strings.Cut(name, "."); inner {
			if k, ok := at[of]; ok {
				out[k].members = append(out[k].members, one)
			}
			continue
		}
		at[name] = len(out)
		one.members = nil
		out = append(out, one)
	}
	return out
}

// beside is the declaration file of a module that another one names, "" if it is of another package.
func (r *reader) beside(file, module string) string {
	if !strings.HasPrefix(module, ".") {
		if r.modules[ambientKey+module] != nil && module != "" {
			return ambientKey + module
		}
		return r.own(module)
	}
	return r.declarations(path.Join(path.Dir(file), module))
}

// stars are what a module exports of others as a whole.
func (r *reader) stars(file string, m *module, seen map[string]bool) (out []public, err error) {
	for _, e := range m.exports {
		if e.of.name != "*" || e.as != "" {
			continue
		}
		to := r.beside(file, e.of.module)
		if to == "" {
			r.p.Lacks(m.file, "Exports that come from "+pkgdoc.Code(e.of.module)+" are not described here.", "what it exports of %s is not listed", e.of.module)
			continue
		}
		more, err := r.exports(to, seen)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if p.name != "default" {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// within are the exports of a namespace as those of a module.
func (r *reader) within(d *decl) (out []public, err error) {
	for _, inner := range d.inside() {
		out = append(out, public{name: inner.name, d: &inner})
	}
	for _, l := range d.lists {
		if strings.Contains(l.as, ".") {
			continue // of a namespace in it
		}
		one, err := r.resolve(d.file, l.in, l.e, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// member is what a namespace exports under a name: p is the namespace.
func (r *reader) member(p public, name string, depth int) (public, error) {
	to := public{name: name, of: from{p.of.module, name, p.of.typed}}
	if p.d == nil || depth > maxNesting {
		return to, nil
	}
	if p.d.all != "" {
		next, err := r.module(p.d.all)
		if next == nil {
			return to, err
		}
		return r.find(p.d.all, next, to, depth)
	}
	inner := r.inner[p.d]
	if inner == nil {
		inner = map[string]*decl{}
		for _, one := range p.d.inside() {
			inner[one.name] = &one
		}
		r.inner[p.d] = inner
	}
	if to.d = inner[name]; to.d != nil {
		return to, nil
	}
	for _, l := range p.d.lists[:min(len(p.d.lists), maxLists)] {
		if l.as == name {
			return r.resolve(p.d.file, l.in, l.e, depth+1)
		}
	}
	return to, nil
}

// maxLists bounds the lists of a namespace that are searched for what is in it: a name behind them is named and not described.
const maxLists = 1000

// resolve follows an export to what it declares.
func (r *reader) resolve(file string, m *module, e export, depth int) (public, error) {
	p := public{name: e.as, of: e.of, typed: e.typed}
	if depth == 0 {
		clear(r.asked)
	}
	if e.of.module == "" {
		if r.again(m, "local "+e.local) {
			return p, nil
		}
		first, rest, deep := strings.Cut(e.local, ".")
		d, alias, of, ok := m.look(first)
		switch {
		case !ok || depth > maxNesting:
			return p, nil
		case alias == e.local: // of itself
			return p, nil
		case deep || alias != "":
			path := strings.Trim(cmp.Or(alias, first)+"."+rest, ".")
			return r.path(file, m, path, p, depth)
		case d != nil:
			p.d = d
			return p, nil
		}
		p.of, p.typed = of, p.typed || of.typed
	}
	to := r.beside(file, p.of.module)
	if to == "" || depth > maxNesting {
		return p, nil
	}
	if p.of.name == "*" {
		p.d = &decl{name: e.as, kind: pkgdoc.Namespace, file: to, all: to, sigs: []string{"namespace " + e.as}}
		return p, nil
	}
	next, err := r.module(to)
	if next == nil {
		return p, err
	}
	if p.of.name == "=" {
		for _, other := range next.exports {
			if other.whole {
				found, err := r.resolve(to, next, other, depth+1)
				p.d = found.d
				return p, err
			}
		}
		p.d = &decl{name: e.as, kind: pkgdoc.Namespace, file: to, all: to, sigs: []string{"namespace " + e.as}}
		return p, nil
	}
	return r.find(to, next, p, depth)
}

// again reports whether the search for one export asked this of a module before: names may lead in circles, and many ways to one place.
func (r *reader) again(m *module, what string) bool {
	key := question{m, what}
	was := r.asked[key]
	r.asked[key] = true
	return was
}

type question struct {
	m    *module
	what string
}

// path follows a.b.c: a is a local name, the others are each in the one before.
func (r *reader) path(file string, m *module, path string, p public, depth int) (public, error) {
	names := strings.SplitN(path, ".", maxNesting)
	at, err := r.resolve(file, m, export{as: names[0], local: names[0]}, depth+1)
	for _, name := range names[1:] {
		if err != nil {
			return p, err
		}
		at, err = r.member(at, name, depth+1)
	}
	p.d, p.of = at.d, at.of
	return p, err
}

// find looks for a name among the exports of a module.
func (r *reader) find(file string, m *module, p public, depth int) (public, error) {
	want := p.of.name
	if r.again(m, "export "+want) {
		return p, nil
	}
	for _, e := range m.exports {
		if e.as == want && !(e.of.name == "*" && e.as == "") {
			found, err := r.resolve(file, m, e, depth+1)
			p.d = found.d
			return p, err
		}
	}
	if m.global || !m.chosen {
		if d := m.decls[want]; d != nil {
			p.d = d
			return p, nil
		}
	}
	for _, e := range m.exports {
		if e.of.name != "*" || e.as != "" || depth > maxNesting {
			continue
		}
		if to := r.beside(file, e.of.module); to != "" {
			next, err := r.module(to)
			if err != nil {
				return p, err
			}
			if next != nil && next != m {
				if found, err := r.find(to, next, p, depth+1); err != nil || found.d != nil {
					return found, err
				}
			}
		}
	}
	return p, nil
}

// entry adds the page of a module that code imports.
func (r *reader) entry(e entry) error {
	list, err := r.exports(e.file, map[string]bool{})
	if err != nil {
		return err
	}
	if other := r.require[e.name]; other != "" && other != e.file {
		if list, err = r.required(other, list); err != nil {
			return err
		}
	}
	page := pkgdoc.Page{ID: e.name, Title: e.name, Symbols: []pkgdoc.Symbol{}, File: e.file}
	if m := r.modules[e.file]; m != nil {
		page.File = m.file
	}
	if e.name == r.p.Name {
		page.Title = cmp.Or(r.p.Title, e.name)
	}
	seen := map[string]bool{}
	for _, one := range list {
		symbols, err := r.symbols(&page, one, 0)
		if err != nil {
			return err
		}
		for _, s := range symbols {
			if !seen[s.ID] {
				seen[s.ID] = true
				page.Symbols = append(page.Symbols, s)
			}
		}
	}
	if len(page.Symbols) > 0 {
		r.p.Pages = append(r.p.Pages, page)
	}
	return nil
}

// symbols are those of one export: itself and its methods. What another page describes is named alone.
func (r *reader) symbols(page *pkgdoc.Page, one public, depth int) (out []pkgdoc.Symbol, err error) {
	name := one.name
	if one.d == nil {
		s := pkgdoc.Symbol{ID: page.ID + "#" + name, Name: name, Kind: pkgdoc.Variable}
		if one.typed {
			s.Kind = pkgdoc.Type
		}
		if one.of.module != "" {
			s.Text = "Of " + one.of.module + "."
		}
		return []pkgdoc.Symbol{s}, nil
	}
	key := fmt.Sprintf("%s\x00%d\x00%s", one.d.file, one.d.line, one.d.name[strings.LastIndexByte(one.d.name, '.')+1:])
	again := r.told[key]
	r.told[key] = true
	for i, d := range append([]decl{*one.d}, one.d.members...) {
		if i > 0 {
			rest := strings.TrimPrefix(d.name, one.d.name)
			d.name = name + rest
		} else {
			d.name = name
		}
		s := pkgdoc.Symbol{ID: page.ID + "#" + d.name, Name: d.name, Kind: d.kind, Line: d.line}
		if !again {
			doc := comment(d.doc)
			doc.overloads(d.more)
			s.Signature, s.Params, s.Text, s.Returns, s.Deprecated = strings.Join(d.sigs, "\n"), doc.with(d.params), doc.text, doc.returns, doc.deprecated
			for _, e := range doc.examples {
				page.Examples = append(page.Examples, "// "+d.name+"\n"+e)
			}
		}
		out = append(out, s)
		if again {
			return out, nil
		}
	}
	if depth > maxNesting {
		return out, nil
	}
	for _, l := range one.d.lists {
		inner, err := r.resolve(one.d.file, l.in, l.e, 0)
		if err != nil {
			return nil, err
		}
		inner.name = name + "." + l.as
		more, err := r.symbols(page, inner, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// commands adds a page of the programs that a package installs.
func (r *reader) commands(m *manifest) {
	names := map[string]json.RawMessage{}
	if text(m.Bin) != "" {
		names[path.Base(m.Name)] = m.Bin
	} else {
		json.Unmarshal(m.Bin, &names) // what is no object names no command
	}
	if len(names) == 0 {
		return
	}
	page := pkgdoc.Page{ID: "commands", Title: "Commands that it installs", Symbols: []pkgdoc.Symbol{}, File: "package.json"}
	for _, name := range sorted(names) {
		page.Symbols = append(page.Symbols, pkgdoc.Symbol{ID: "commands#" + name, Name: name, Kind: pkgdoc.Command, Signature: "npx " + m.Name + "@" + m.Version})
	}
	r.p.Pages = append(r.p.Pages, page)
}
