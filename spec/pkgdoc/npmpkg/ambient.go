package npmpkg

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// reference is the directive that names another declaration file.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^///\s*<reference\s+path\s*=\s*["']([^"']+)["']`)
})

// references are the paths of the directives above the first statement of a file, each once.
func references(head string) (out []string) {
	seen := map[string]bool{}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if m := reference().FindStringSubmatch(line); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, m[1])
		}
	}
	return out
}

// ambientOf is the module that a file declares by name, or augments; "" is the global scope.
func (m *module) ambientOf(name string) *module {
	if in := m.ambient[name]; in != nil {
		return in
	}
	if m.ambient == nil {
		m.ambient = map[string]*module{}
	}
	in := newModule(m)
	in.file = m.file
	m.ambient[name] = in
	m.ambients = append(m.ambients, name)
	return in
}

// absorb adds what another module declares and exports. Its own declarations come first.
func (m *module) absorb(from *module) {
	for _, name := range from.order {
		d := *from.decls[name]
		d.sigs, d.more, d.members, d.lists = slices.Clip(d.sigs), slices.Clip(d.more), slices.Clip(d.members), slices.Clip(d.lists)
		m.declare(d)
	}
	m.exports = append(m.exports, from.exports...)
	for name, of := range from.imports {
		if _, ok := m.imports[name]; !ok {
			m.imports[name] = of
		}
	}
	for name, of := range from.aliases {
		if _, ok := m.aliases[name]; !ok {
			m.aliases[name] = of
		}
	}
	m.global, m.chosen = m.global && from.global, m.chosen || from.chosen
}

// augment adds what another file declares in a module of this one: to the namespace that the module exports as a whole, if there is one.
func (m *module) augment(from *module) {
	for _, e := range m.exports {
		if d := m.decls[e.local]; e.whole && d != nil {
			inner := decl{name: e.local, kind: pkgdoc.Namespace, sigs: []string{"namespace " + e.local}, line: d.line, file: d.file}
			inner.holds(from)
			m.declare(inner)
			return
		}
	}
	chosen := m.chosen
	m.absorb(from)
	if m.chosen = chosen; !chosen {
		return
	}
	listed := map[string]bool{}
	for _, e := range m.exports {
		listed[e.as] = true
	}
	for _, name := range from.order {
		if !listed[name] {
			m.exports = append(m.exports, export{as: name, local: name})
		}
	}
}

// tidy makes one of the members of a name that several declarations of an owner have.
func (m *module) tidy() {
	for _, d := range m.decls {
		at := map[string]int{}
		var members []decl
		for _, one := range d.members {
			k, ok := at[one.name]
			if !ok {
				at[one.name] = len(members)
				one.sigs, one.more = slices.Clip(one.sigs), slices.Clip(one.more)
				members = append(members, one)
				continue
			}
			members[k].join(one)
		}
		d.members = members
		d.sigs = bodies(d.sigs)
		for k := range d.members {
			d.members[k].sigs = bodies(d.members[k].sigs)
		}
	}
}

// bodies are signatures, each once, without those that say nothing beside another one.
func bodies(sigs []string) []string {
	if len(sigs) < 2 {
		return sigs
	}
	seen := map[string]bool{}
	var out []string
	for _, s := range sigs {
		if !seen[s] && !strings.HasSuffix(s, " {\n}") {
			out = append(out, s)
		}
		seen[s] = true
	}
	if out == nil {
		return sigs[:1]
	}
	return out
}

// load reads the files that those of the entries lead to, and puts what they declare for other modules, and for all, where it belongs.
func (r *reader) load(entries []entry) error {
	var queue []string
	queued := map[string]bool{}
	push := func(file string) {
		if file != "" && !queued[file] {
			queued[file] = true
			queue = append(queue, file)
		}
	}
	entryOf := map[string]string{}
	referred := map[string]bool{}
	for _, e := range entries {
		push(e.file)
		push(r.require[e.name])
		entryOf[e.name] = e.file
	}
	for k := 0; k < len(queue); k++ { // it grows
		m, err := r.module(queue[k])
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		for _, to := range r.referred(queue[k], m) {
			referred[to] = true
			push(to)
		}
		for _, to := range m.leads {
			push(r.beside(queue[k], to))
		}
	}
	for _, file := range queue {
		m := r.modules[file]
		if m == nil {
			continue
		}
		if m.global && referred[file] && !slices.ContainsFunc(entries, func(e entry) bool { return e.file == file }) {
			r.globals.absorb(m)
		}
		for _, name := range m.ambients {
			r.place(file, name, m.ambient[name], entryOf)
		}
	}
	for _, file := range queue {
		if m := r.modules[file]; m != nil {
			m.tidy()
		}
	}
	for _, name := range r.ambients {
		r.modules[ambientKey+name].tidy()
	}
	r.globals.tidy()
	return nil
}

// ambientKey begins what stands for the file of a module that is declared by name: no path has it.
const ambientKey = "\x00"

// place puts what a file declares of a module where that is: "" is the global scope.
func (r *reader) place(file, name string, in *module, entryOf map[string]string) {
	to := entryOf[name]
	switch {
	case name == "":
		r.globals.absorb(in)
		return
	case strings.HasPrefix(name, "."):
		if to = r.beside(file, name); to == "" {
			r.p.Note(file, 0, "what it adds to %s is left out: there is no such file in the package", name)
			return
		}
	}
	if to != "" && r.modules[to] != nil {
		r.modules[to].augment(in)
		return
	}
	if has := r.modules[ambientKey+name]; has != nil {
		has.absorb(in)
		return
	}
	r.modules[ambientKey+name] = in
	r.ambients = append(r.ambients, name)
}

// referred are the files of the package that the directives of one name. The others are noted together.
func (r *reader) referred(file string, m *module) (out []string) {
	missing, first := 0, ""
	for _, ref := range m.references {
		to := path.Join(path.Dir(file), ref)
		if path.IsAbs(ref) || !fs.ValidPath(to) || !r.files.Has(to) {
			if missing++; missing == 1 {
				first = ref
			}
			continue
		}
		out = append(out, to)
	}
	if missing > 0 {
		r.p.Note(file, 0, "%d of the files that it refers to are not in the package, such as %s", missing, first)
	}
	return out
}

// named adds the pages of what is declared by name, and of the global scope.
func (r *reader) named() error {
	slices.Sort(r.ambients)
	for _, name := range r.ambients {
		if err := r.entry(entry{name, ambientKey + name}); err != nil {
			return err
		}
	}
	r.modules[ambientKey] = r.globals
	r.globals.global, r.globals.chosen, r.globals.exports = true, false, nil
	name := "global"
	if slices.ContainsFunc(r.p.Pages, func(p pkgdoc.Page) bool { return p.ID == name }) {
		name = "globalThis"
	}
	if err := r.entry(entry{name, ambientKey}); err != nil {
		return fmt.Errorf("global scope: %w", err)
	}
	slices.SortStableFunc(r.p.Pages, func(a, b pkgdoc.Page) int { return strings.Compare(a.ID, b.ID) })
	return nil
}
