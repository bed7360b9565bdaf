package run

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// lookup finds the value of a path such as "x", "context.x", "x.y" or "x[0].y". A path that begins with context or ctx is
// first a field of a binding of that name, then the binding after the dot (ruling 5.9).
func (st *stack) lookup(path string) (any, bool) {
	v, _, ok := st.find(path)
	return v, ok
}

// find is lookup, and says what the binding lacks that the path leads into.
func (st *stack) find(path string) (v any, lack string, ok bool) {
	head, rest := splitPath(path)
	v, lack, ok = st.local(head)
	if ok {
		if v, ok := descend(v, rest); ok {
			return v, lack, true
		}
	}
	if (head == "context" || head == "ctx") && strings.HasPrefix(rest, ".") {
		head, rest = splitPath(rest[1:])
		if v, lack, ok = st.local(head); ok {
			v, ok = descend(v, rest)
			return v, lack, ok
		}
	}
	if lack != "" && !ok { // an input that has no value hides what is further out
		return nil, lack, false
	}
	if v, ok := st.field(head); ok {
		v, ok = descend(v, rest)
		return v, "", ok
	}
	return nil, "", false
}

// field finds a name that nothing binds in the map that context, or ctx, is bound to. A name that is in both is in none.
func (st *stack) field(name string) (value any, ok bool) {
	for _, object := range [...]string{"context", "ctx"} {
		v, _ := st.binding(object)
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

// binding finds a plain name: parameters and loop variables of the frames from the innermost, then the scope that they are
// in. It does not look through the wall of an isolated op.
func (st *stack) binding(name string) (any, bool) {
	v, _, ok := st.local(name)
	return v, ok
}

// local is binding, and says what the binding lacks. An input that was given and has no value lacks something, and is not ok.
func (st *stack) local(name string) (v any, lack string, ok bool) {
	for i := len(st.Frames) - 1; i >= 0; i-- {
		f := st.Frames[i]
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

// assign binds a name: the parameter or loop variable of that name if there is one, else in the scope. lack is what the value lacks.
func (st *stack) assign(name string, value any, lack string) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "context."), "ctx.")
	for i := len(st.Frames) - 1; i >= 0; i-- {
		f := st.Frames[i]
		if f.Kind == opFrame {
			if f.Wrote == nil {
				f.Wrote = map[string]any{}
			}
			f.Wrote[name] = value
			f.Unsure.set(name, lack)
		}
		if f.holds(name) || f.Scope != nil {
			st.store(i, write{i, name, value, lack})
			return
		}
	}
}

// holds reports whether name is a parameter or loop variable of f that a call or loop gave.
func (f *frame) holds(name string) bool {
	_, ok := f.Locals[name]
	return ok || f.Lacks[name] != ""
}

func (st *stack) store(i int, w write) {
	if i < st.base {
		st.over.writes = append(st.over.writes, w)
	}
	f := st.Frames[i]
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
func (st *stack) outcome(name string, o outcome) {
	s, i := st.scope()
	if s.Outcomes == nil {
		s.Outcomes = map[string]outcome{}
	}
	s.Outcomes[name] = o
	if i < st.base {
		st.over.ended = append(st.over.ended, namedOutcome{name, o})
	}
}

// answer is the answer of the most recent ASK of this op or of one around it (ruling 5.15).
func (st *stack) answer() (*answered, bool) {
	for i := len(st.Frames) - 1; i >= 0; i-- {
		f := st.Frames[i]
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
func (st *stack) known(name string) bool {
	_, ok := st.binding(name)
	return ok
}

// names of all that is visible, sorted.
func (st *stack) names() []string {
	seen := map[string]bool{}
	for i := len(st.Frames) - 1; i >= 0; i-- {
		f := st.Frames[i]
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
	maps.DeleteFunc(seen, func(name string, _ bool) bool { return !st.known(name) })
	return slices.Sorted(maps.Keys(seen))
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
func (st *stack) named(phrase string) (any, bool) {
	if v, ok := st.lookup(strings.Trim(phrase, "`")); ok {
		return v, true
	}
	want := tree.NameOf(strings.TrimPrefix(strings.TrimPrefix(strings.Trim(phrase, "`"), "context."), "ctx."))
	for _, name := range st.names() {
		if tree.NameOf(name) == want {
			return st.binding(name)
		}
	}
	return nil, false
}
