package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// env is what conditions, cases and collections are decided against, without a model.
func (at visit) env(ctx context.Context) cond.Env {
	return cond.Env{
		Lookup: at.decisive,
		Binds: func(path string) bool {
			_, lack, ok := at.find(path)
			if lack != "" && !ok { // an input that was given a name
				path = lack
			}
			return at.binds(path) && (lack == "" || !ok)
		},
		Name:      func(word string) bool { return at.s.plan.Word(at.n, word) == check.Name },
		Option:    at.s.plan.Offers,
		Arguments: at.s.args,
		Answer: func() (string, []string, bool) {
			a, ok := at.answer()
			if !ok {
				return "", nil, false
			}
			return a.Text, a.Options, true
		},
		Exists: func(file string) (bool, error) { return at.exists(ctx, file) },
		Outcome: func(name string) string {
			s, _ := at.scope()
			return string(s.Outcomes[name].Status)
		},
	}
}

// mayJudge reports whether a model, or the record of one, decides where a name has no value.
func (at place) mayJudge() bool {
	return !at.s.r.Deterministic && (at.s.past != nil || at.s.r.Model != nil)
}

// decisive is lookup for conditions: a text that may stand for a name is no value, and an optional input that was left out is null.
func (at place) decisive(path string) (any, bool) {
	v, lack, ok := at.find(path)
	if ok || lack != "" {
		return v, ok && lack == ""
	}
	name := cond.Root(path)
	if path == name && at.s.plan.Argument(name) {
		return nil, true
	}
	for i := len(at.Frames) - 1; i >= 0; i-- {
		f := at.Frames[i]
		if f.Kind == opFrame && f.callee.Op != nil && path == name && slices.Contains(f.callee.Op.Params, tree.Param{Name: name, Optional: true}) {
			return nil, true
		}
		if f.Scope != nil {
			break
		}
	}
	return nil, false
}

// binds reports whether something binds the name that a path leads into, so that it can be missing. What context has is known once it is
// bound.
func (at place) binds(path string) bool {
	if at.s.plan.Names(path) {
		return true
	}
	name := cond.Root(path)
	for _, object := range [...]string{"context", "ctx"} {
		if !at.s.plan.Names(object) {
			continue
		}
		v, ok := at.binding(object)
		if _, has := descend(v, "."+name); !ok || v == nil || has {
			return true
		}
	}
	return false
}

// held adds to an error of a name without a value what the name holds instead: "b holds brnach, which has no value".
func (at visit) held(err error, names []string) error {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Code != CodeUndecided {
		return err
	}
	for _, name := range names {
		if _, lack, _ := at.find(name); lack != "" && lack != name {
			c := *e
			c.Message += ": " + diag.Printable(name) + " holds " + diag.Printable(lack) + ", which nothing gave a value"
			return &c
		}
	}
	return err
}

// exists asks whether a file of the project is there.
func (at visit) exists(ctx context.Context, file string) (bool, error) {
	file = at.projectPath(file)
	got, err := at.do(ctx, effect{kind: "exists", digest: digest(file)}, func(context.Context, string) (reply, error) {
		if at.s.r.Tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "a condition asks for the file %s, and there are no tools to look with", file).At(at.position())
		}
		ok, err := at.s.r.Tools.Exists(file)
		if err != nil {
			return reply{}, diag.New(diag.Failed, CodeFile, "looking for %s: %w", file, err).At(at.position())
		}
		return reply{Output: encode(ok)}, nil
	})
	return string(got.Output) == "true", err
}

// A reading is what a decision went by: values by their names, files by whether they are there, and the last answer. A nil reading keeps nothing.
type reading []read

// A read is one of them. The value is JSON; a long one is a text that is cut.
type read struct {
	name  string
	value json.RawMessage
}

const maxRead = 200 // bytes of a value that a reading keeps

// reading is where a decision notes what it goes by; nil if nobody wants to know.
func (m *Machine) reading() *reading {
	if !m.s.sink {
		return nil
	}
	return &reading{}
}

func (r *reading) add(name string, v any) {
	if slices.ContainsFunc(*r, func(o read) bool { return o.name == name }) {
		return
	}
	raw := encode(v)
	if len(raw) > maxRead {
		raw = encode(diag.Clip(string(raw), maxRead))
	}
	*r = append(*r, read{name, raw})
}

// from is env, of which r keeps what is asked for.
func (r *reading) from(env cond.Env) cond.Env {
	if r == nil {
		return env
	}
	lookup, answer, exists := env.Lookup, env.Answer, env.Exists
	env.Lookup = func(path string) (any, bool) {
		v, ok := lookup(path)
		if ok {
			r.add(path, v)
		}
		return v, ok
	}
	env.Answer = func() (string, []string, bool) {
		text, options, ok := answer()
		if ok {
			r.add("answer", text)
		}
		return text, options, ok
	}
	env.Exists = func(file string) (bool, error) {
		there, err := exists(file)
		if err == nil {
			r.add(file, there)
		}
		return there, err
	}
	return env
}

// json is an object; nil if nothing was looked up.
func (r *reading) json() json.RawMessage {
	if r == nil || len(*r) == 0 {
		return nil
	}
	slices.SortFunc(*r, func(a, b read) int { return strings.Compare(a.name, b.name) })
	out := []byte{'{'}
	for i, o := range *r {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, encode(o.name)...), ':'), o.value...)
	}
	return append(out, '}')
}
