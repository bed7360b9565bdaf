package plan

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A symbol is the value of a binding as far as it is known before a run.
type symbol struct {
	known bool
	value any  // of JSON's Go types, when known
	maybe bool // a run may come by without binding it
	open  bool // a text that may stand for a name: no rule decides by it
}

// A slot is a name in one frame.
type slot struct {
	frame int
	name  string
}

// change is an undo record.
type change struct {
	slot
	old   symbol
	bound bool // it was
}

// symbols are the bindings of a walk: one map for the run, and one on top for each op's parameters and each
// loop's variable. Changes are recorded, so that a branch costs what it changes.
type symbols struct {
	frames []map[string]symbol
	log    []change
}

// at finds the frame that binds name, the innermost first: inline ops see their caller's (dynamic scope).
func (s *symbols) at(name string) (int, bool) {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if _, ok := s.frames[i][name]; ok {
			return i, true
		}
	}
	return 0, false
}

// set binds name where it is a parameter or a loop variable, else in the run.
func (s *symbols) set(name string, v symbol) {
	if name == "" {
		return
	}
	frame, _ := s.at(name)
	s.put(slot{frame, name}, v)
}

// loosen makes name unknown where a run may bind it, or not.
func (s *symbols) loosen(name string) {
	frame, bound := s.at(name)
	s.set(name, symbol{maybe: !bound || s.frames[frame][name].maybe})
}

// breakOff says that what was bound since mark, a length of log, may not have been: a BREAK may have come before.
func (s *symbols) breakOff(mark int) {
	seen := map[slot]bool{}
	for _, c := range s.log[mark:len(s.log):len(s.log)] {
		if seen[c.slot] || c.frame >= len(s.frames) {
			continue
		}
		seen[c.slot] = true
		if now, ok := s.frames[c.frame][c.name]; ok && !now.maybe && (!c.bound || c.old.maybe) && !strings.HasPrefix(c.name, "\x00") {
			s.put(c.slot, symbol{maybe: true})
		}
	}
}

func (s *symbols) put(at slot, v symbol) {
	old, bound := s.frames[at.frame][at.name]
	s.log = append(s.log, change{at, old, bound})
	s.frames[at.frame][at.name] = v
}

func (s *symbols) push(frame map[string]symbol) { s.frames = append(s.frames, frame) }
func (s *symbols) pop()                         { s.frames = s.frames[:len(s.frames)-1] }

// undo goes back to mark, a length of log, and returns what had changed. Frames are those of the mark.
func (s *symbols) undo(mark int) map[slot]symbol {
	var after map[slot]symbol
	for i := len(s.log) - 1; i >= mark; i-- {
		c := s.log[i]
		if c.frame >= len(s.frames) {
			continue // of a frame that is gone
		}
		if after == nil {
			after = map[slot]symbol{}
		}
		if _, seen := after[c.slot]; !seen {
			after[c.slot] = s.frames[c.frame][c.name]
		}
		if c.bound {
			s.frames[c.frame][c.name] = c.old
		} else {
			delete(s.frames[c.frame], c.name)
		}
	}
	s.log = s.log[:mark]
	return after
}

// merge takes over what the branches that may have run leave behind: a value that all agree on, else none.
func (s *symbols) merge(branches []map[slot]symbol) {
	if len(branches) == 0 {
		return
	}
	merged := map[slot]symbol{}
	for _, b := range branches {
		for at := range b {
			merged[at] = symbol{}
		}
	}
	for at := range merged {
		first, same := s.after(branches[0], at)
		maybe := !same || first.maybe
		for _, b := range branches[1:] {
			v, ok := s.after(b, at)
			maybe = maybe || !ok || v.maybe
			same = same && ok && v.known && first.known && reflect.DeepEqual(v.value, first.value)
		}
		if merged[at] = (symbol{maybe: maybe}); same && first.known {
			merged[at] = first
		}
	}
	for at, v := range merged {
		s.put(at, v)
	}
}

func (s *symbols) after(branch map[slot]symbol, at slot) (symbol, bool) {
	if v, ok := branch[at]; ok {
		return v, true
	}
	v, ok := s.frames[at.frame][at.name]
	return v, ok
}

// lookup follows a path. bound is false when nothing can have bound it; v.known is false when its value is not known.
func (s *symbols) lookup(path string) (v symbol, bound bool) {
	for _, prefix := range [...]string{"context", "ctx"} { // ruling 5.9: a binding of that name comes first
		rest, ok := strings.CutPrefix(path, prefix+".")
		if !ok {
			continue
		}
		if frame, ok := s.at(prefix); ok {
			if v := field(s.frames[frame][prefix], "."+rest); v.known && v.value != nil || !s.frames[frame][prefix].known {
				return v, true
			}
		}
		path = rest
		break
	}
	name, steps := path, ""
	if i := strings.IndexAny(path, ".["); i > 0 {
		name, steps = path[:i], path[i:]
	}
	frame, ok := s.at(name)
	if !ok {
		return symbol{}, false
	}
	return field(s.frames[frame][name], steps), true
}

// inContext finds a name that nothing binds in the map that context, or ctx, is bound to: in one of them. A map that only a run
// knows may have it.
func (s *symbols) inContext(path string) (v symbol, ok bool) {
	name, steps := path, ""
	if i := strings.IndexAny(path, ".["); i > 0 {
		name, steps = path[:i], path[i:]
	}
	for _, object := range [...]string{"context", "ctx"} {
		frame, bound := s.at(object)
		if !bound || name == object {
			continue
		}
		of := s.frames[frame][object]
		fields, _ := of.value.(map[string]any)
		value, has := fields[name]
		switch {
		case !of.known:
			return symbol{}, true
		case has && ok:
			return symbol{}, false
		case has:
			v, ok = symbol{known: true, value: value}, true
		}
	}
	return field(v, steps), ok
}

// field follows steps such as ".a[0].b" into a known value; what is not there is null.
func field(v symbol, steps string) symbol {
	for steps != "" && v.known {
		end := strings.IndexAny(steps[1:], ".[") + 1
		if end == 0 {
			end = len(steps)
		}
		step := steps[1:end]
		if steps[0] == '[' {
			i, err := strconv.Atoi(strings.TrimSuffix(step, "]"))
			list, _ := v.value.([]any)
			if err != nil || i < 0 || i >= len(list) {
				return symbol{known: true}
			}
			v.value = list[i]
		} else {
			object, _ := v.value.(map[string]any)
			v.value = object[step]
		}
		steps = steps[end:]
	}
	return v
}

// eval gives the value of v in n; what has none is nothing that a run surely has.
func (w *walker) eval(n *tree.Node, v tree.Value) symbol {
	switch v.Kind {
	case tree.Arguments:
		return symbol{known: true, value: w.args}
	case tree.String:
		return w.text(n, v.Text)
	case tree.Number:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return symbol{known: true, value: f}
		}
	case tree.Bool:
		return symbol{known: true, value: v.Text == "true"}
	case tree.Null:
		return symbol{known: true}
	case tree.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			e := w.eval(n, item)
			if !e.known {
				return symbol{maybe: e.maybe}
			}
			list[i] = e.value
		}
		return symbol{known: true, value: list}
	case tree.Ref:
		if e, ok := w.lookup(v.Text); ok {
			return e
		}
		if e, ok := w.inContext(v.Text); ok {
			return e
		}
		return symbol{maybe: true}
	case tree.Word:
		if isPath(v.Text) {
			if e, ok := w.lookup(v.Text); ok {
				return e
			}
			if e, ok := w.inContext(v.Text); ok {
				return e
			}
		}
		text := w.text(n, v.Text)
		switch w.p.Word(n, v.Text) {
		case check.Name:
			return symbol{maybe: true}
		case check.Guess:
			text.open = true
		}
		return text
	}
	return symbol{}
}

// text is a literal text of n. One that keeps a place for a name is open.
func (w *walker) text(n *tree.Node, literal string) symbol {
	text, known := w.fill(literal, w.args)
	v := symbol{known: known, value: text}
	for _, h := range resource.Holes(literal, func(path string) (string, bool) { _, bound := w.lookup(path); return "", bound }) {
		v.open = v.open || w.p.Hole(n, h)
	}
	return v
}

// fill interpolates text; known is false if it holds a binding without a known value.
func (s *symbols) fill(text, args string) (filled string, known bool) {
	known = true
	filled = resource.Interpolate(text, args, func(path string) (string, bool) {
		v, bound := s.lookup(path)
		if !bound || !v.known {
			known = known && !bound
			return "", false
		}
		return cond.Text(v.value), true
	})
	return filled, known
}

// sum evaluates an expression; "+" adds numbers, joins lists and joins texts.
func (w *walker) sum(n *tree.Node, e Expr) symbol {
	if len(e.Parts) == 0 {
		return symbol{}
	}
	total := w.eval(n, e.Parts[0])
	for _, part := range e.Parts[1:] {
		v := w.eval(n, part)
		if !v.known || !total.known {
			return symbol{}
		}
		total.open = total.open || v.open
		a, number := total.value.(float64)
		b, second := v.value.(float64)
		if number && second {
			total.value = a + b
			continue
		}
		if list, ok := total.value.([]any); ok {
			more, ok := v.value.([]any)
			if !ok {
				more = []any{v.value}
			}
			total.value = slices.Concat(list, more)
			continue
		}
		total.value = cond.Text(total.value) + cond.Text(v.value)
	}
	return total
}
