package run

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// lookup finds the value of a path such as "x", "context.x", "x.y" or "x[0].y". A path that begins with context or ctx is
// first a field of a binding of that name, then the binding after the dot (ruling 5.9).
func (m *Machine) lookup(path string) (any, bool) {
	v, _, ok := m.find(path)
	return v, ok
}

// find is lookup, and says what the binding lacks that the path leads into.
func (m *Machine) find(path string) (v any, lack string, ok bool) {
	head, rest := splitPath(path)
	v, lack, ok = m.local(head)
	if ok {
		if v, ok := descend(v, rest); ok {
			return v, lack, true
		}
	}
	if (head == "context" || head == "ctx") && strings.HasPrefix(rest, ".") {
		head, rest = splitPath(rest[1:])
		if v, lack, ok = m.local(head); ok {
			v, ok = descend(v, rest)
			return v, lack, ok
		}
	}
	if lack != "" && !ok { // an input that has no value hides what is further out
		return nil, lack, false
	}
	if v, ok := m.field(head); ok {
		v, ok = descend(v, rest)
		return v, "", ok
	}
	return nil, "", false
}

// field finds a name that nothing binds in the map that context, or ctx, is bound to. A name that is in both is in none.
func (m *Machine) field(name string) (value any, ok bool) {
	for _, object := range [...]string{"context", "ctx"} {
		v, _ := m.binding(object)
		fields, _ := cond.Parts(v).(map[string]any)
		if v, has := fields[name]; has {
			if ok {
				return nil, false
			}
			value, ok = v, true
		}
	}
	return value, ok
}

// binds reports whether something binds the name that a path leads into, so that it can be missing. What context has is known once it is
// bound.
func (m *Machine) binds(path string) bool {
	if m.s.plan.Names(path) {
		return true
	}
	name := cond.Root(path)
	for _, object := range [...]string{"context", "ctx"} {
		if !m.s.plan.Names(object) {
			continue
		}
		v, ok := m.binding(object)
		if _, has := descend(v, "."+name); !ok || v == nil || has {
			return true
		}
	}
	return false
}

// binding finds a plain name: parameters and loop variables of the frames from the innermost, then the scope that they are
// in. It does not look through the wall of an isolated op.
func (m *Machine) binding(name string) (any, bool) {
	v, _, ok := m.local(name)
	return v, ok
}

// local is binding, and says what the binding lacks. An input that was given and has no value lacks something, and is not ok.
func (m *Machine) local(name string) (v any, lack string, ok bool) {
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		if v, ok := f.Locals[name]; ok || f.Lacks[name] != "" {
			return v, f.Lacks[name], ok
		}
		if f.Scope != nil {
			v, ok := f.Scope.Vars[name]
			return v, f.Scope.Lacks[name], ok
		}
	}
	return nil, "", false
}

// write is an assignment that a child of PARALLEL made below its own frames.
type write struct {
	frame int
	name  string
	value any
	lack  string
}

// assign binds a name: the parameter or loop variable of that name if there is one, else in the scope. lack is what the value lacks.
func (m *Machine) assign(name string, value any, lack string) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "context."), "ctx.")
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		if f.Kind == opFrame {
			if f.Wrote == nil {
				f.Wrote = map[string]any{}
			}
			f.Wrote[name] = value
			f.Unsure.set(name, lack)
		}
		if f.holds(name) || f.Scope != nil {
			m.store(i, write{i, name, value, lack})
			return
		}
	}
}

// holds reports whether name is a parameter or loop variable of f that a call or loop gave.
func (f *frame) holds(name string) bool {
	_, ok := f.Locals[name]
	return ok || f.Lacks[name] != ""
}

func (m *Machine) store(i int, w write) {
	if i < m.base {
		m.writes = append(m.writes, w)
	}
	f := m.st.Frames[i]
	if f.holds(w.name) {
		if f.Locals == nil {
			f.Locals = map[string]any{}
		}
		f.Locals[w.name] = w.value
		f.Lacks.set(w.name, w.lack)
		return
	}
	delete(f.Scope.Asked, w.name)
	delete(f.Scope.Planned, w.name)
	f.Scope.Vars[w.name] = w.value
	f.Scope.Lacks.set(w.name, w.lack)
}

// outcome records what became of the call that binds name.
func (m *Machine) outcome(name string, o outcome) {
	s, i := m.scope()
	if s.Outcomes == nil {
		s.Outcomes = map[string]outcome{}
	}
	s.Outcomes[name] = o
	if i < m.base {
		m.ended = append(m.ended, namedOutcome{name, o})
	}
}

type namedOutcome struct {
	name string
	outcome
}

// answer is the answer of the most recent ASK of this op or of one around it (ruling 5.15).
func (m *Machine) answer() (*answered, bool) {
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		if f.Answer != nil {
			return f.Answer, true
		}
		if f.Isolated {
			break
		}
	}
	return nil, false
}

// known tells whether a plain name is bound.
func (m *Machine) known(name string) bool {
	_, ok := m.binding(name)
	return ok
}

// names of all that is visible, sorted.
func (m *Machine) names() []string {
	seen := map[string]bool{}
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		for k := range f.Locals {
			seen[k] = true
		}
		if f.Scope != nil {
			for k := range f.Scope.Vars {
				seen[k] = true
			}
			break
		}
	}
	maps.DeleteFunc(seen, func(name string, _ bool) bool { return !m.known(name) })
	return slices.Sorted(maps.Keys(seen))
}

// literal fills text that is shown or used as it is (ruling 5.11).
func (m *Machine) literal(text string) string {
	if !strings.ContainsAny(text, "$<{.") {
		return text
	}
	return resource.Interpolate(text, m.s.args, m.lookupText)
}

// filled is literal for text of n, and names what has no value in it, "" if nothing.
func (m *Machine) filled(n *tree.Node, text string) (filled, hole string) {
	filled = m.literal(text)
	if !strings.ContainsAny(text, "<{.") {
		return filled, ""
	}
	for _, h := range resource.Holes(text, m.lookupText) {
		if m.s.plan.Hole(n, h) {
			return filled, h.Path
		}
	}
	return filled, ""
}

// shown is literal for text of n that somebody answers, or that names a file or section: every name in it must have a value.
func (m *Machine) shown(n *tree.Node, text string) (string, error) {
	filled, hole := m.filled(n, text)
	if hole != "" && hole != "skills-root" {
		return "", m.unbound(n, hole)
	}
	return filled, nil
}

// told is filled, with a warning of what has no value.
func (m *Machine) told(n *tree.Node, text string) (filled, hole string) {
	if filled, hole = m.filled(n, text); hole != "" {
		m.warn(CodeUnbound, hole+" has no value, and stays as it is written")
	}
	return filled, hole
}

func (m *Machine) lookupText(path string) (string, bool) {
	if v, ok := m.lookup(path); ok {
		return cond.Text(v), true
	}
	return "", false
}

// projectPath fills <skills-root> in a path of the project.
func (m *Machine) projectPath(file string) string {
	if m.s.r.SkillsRoot == "" {
		return file
	}
	return strings.ReplaceAll(file, "<skills-root>", m.s.r.SkillsRoot)
}

// encode is v as JSON without HTML escapes. Values come from JSON, so that it cannot fail.
func encode(v any) json.RawMessage {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case bool:
		return strconv.AppendBool(nil, v)
	case string:
		if plain(v) {
			return append(append([]byte{'"'}, v...), '"')
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// plain reports whether s is itself between quotes, in JSON.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// splitPath cuts the first name off a path.
func splitPath(path string) (head, rest string) {
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// descend follows ".name" and "[n]" into a value, and into the value that a text spells.
func descend(v any, rest string) (any, bool) {
	for rest != "" {
		var key string
		if rest[0] == '[' {
			i := strings.IndexByte(rest, ']')
			if i < 0 {
				return nil, false
			}
			key, rest = rest[1:i], rest[i+1:]
			list, ok := cond.Parts(v).([]any)
			n, err := strconv.Atoi(key)
			if !ok || err != nil || n < 0 || n >= len(list) {
				return nil, false
			}
			v = list[n]
			continue
		}
		if rest[0] != '.' {
			return nil, false
		}
		key, rest = splitPath(rest[1:])
		object, ok := cond.Parts(v).(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// named finds the binding that a phrase names.
func (m *Machine) named(phrase string) (any, bool) {
	if v, ok := m.lookup(strings.Trim(phrase, "`")); ok {
		return v, true
	}
	want := tree.NameOf(strings.TrimPrefix(strings.TrimPrefix(strings.Trim(phrase, "`"), "context."), "ctx."))
	for _, name := range m.names() {
		if tree.NameOf(name) == want {
			return m.binding(name)
		}
	}
	return nil, false
}
