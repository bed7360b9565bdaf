package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// byCache is how a condition was decided that the model had decided before in this run.
const byCache = "cache"

// bySet is how something was decided that Runner.Set gives.
const bySet = "set"

func (m *Machine) visitIf(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	if n.Kind != tree.If && f.Chain != chainOpen {
		m.skip(f, n, path)
		return nil
	}
	m.begin(n, path, nil)
	value, by := true, f.ChainAnswer
	if n.Kind != tree.Else {
		c := m.s.plan.Cond(n)
		by = by || m.aboutAnswer(c)
		v, how, read, err := m.decide(ctx, n, path, c)
		if err != nil {
			return err
		}
		m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.Cond, Value: encode(v), How: how, Read: read.json()})
		value = v
	}
	f.ChainAnswer = by
	if !value {
		f.Chain = chainOpen
		m.skip(f, n, path)
		return nil
	}
	f.Chain = chainTaken
	m.push(&frame{Kind: branchFrame, Base: path, Owner: n.ID, ByAnswer: by, node: n, nodes: branchNodes(n, 0)})
	m.top().started = began
	return nil
}

// decide evaluates a condition. It gives what it went by, too.
func (m *Machine) decide(ctx context.Context, n *tree.Node, path string, c cond.Expr) (bool, string, *reading, error) {
	if raw, ok := m.override(n, path); ok {
		m.set = true
		set, err := decode(raw)
		v, ok := set.(bool)
		if err != nil || !ok {
			return false, "", nil, diag.New(diag.Misuse, CodeValue, "the value set for %s is neither true nor false: %s", path, diag.Brief(string(raw), 60))
		}
		return v, bySet, nil, nil
	}
	cached := false
	read := m.reading()
	env := read.from(m.env(ctx, n, path))
	if m.judges(c) {
		env.Model = func(ctx context.Context, text string) (bool, error) {
			v, fromCache, err := m.judge(ctx, n, path, text)
			cached = fromCache
			return v, err
		}
	}
	v, how, err := cond.Eval(ctx, c, env)
	if err != nil {
		return false, "", nil, placed(m.held(err, cond.Names(c)), n)
	}
	if cached {
		return v, byCache, read, nil
	}
	return v, string(how), read, nil
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

// held adds to an error of a name without a value what the name holds instead: "b holds brnach, which has no value".
func (m *Machine) held(err error, names []string) error {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Code != CodeUndecided {
		return err
	}
	for _, name := range names {
		if _, lack, _ := m.find(name); lack != "" && lack != name {
			c := *e
			c.Message += ": " + diag.Printable(name) + " holds " + diag.Printable(lack) + ", which nothing gave a value"
			return &c
		}
	}
	return err
}

// judges reports whether a model may be asked about c. Where there is none, or models may not decide, a name without a value is the
// error; natural language still goes to judge, which says what is missing.
func (m *Machine) judges(c cond.Expr) bool {
	return cond.Model(c) || m.mayJudge()
}

// mayJudge reports whether a model, or the record of one, decides where a name has no value.
func (m *Machine) mayJudge() bool {
	return !m.s.r.Deterministic && (m.s.past != nil || m.s.r.Model != nil)
}

// decisive is lookup for conditions: a text that may stand for a name is no value, and an optional input that was left out is null.
func (m *Machine) decisive(path string) (any, bool) {
	v, lack, ok := m.find(path)
	if ok || lack != "" {
		return v, ok && lack == ""
	}
	name := cond.Root(path)
	if path == name && m.s.plan.Argument(name) {
		return nil, true
	}
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		if f.Kind == opFrame && f.callee.Op != nil && path == name && slices.Contains(f.callee.Op.Params, tree.Param{Name: name, Optional: true}) {
			return nil, true
		}
		if f.Scope != nil {
			break
		}
	}
	return nil, false
}

// env is what conditions, cases and collections are decided against, without a model.
func (m *Machine) env(ctx context.Context, n *tree.Node, path string) cond.Env {
	return cond.Env{
		Lookup: m.decisive,
		Binds: func(path string) bool {
			_, lack, ok := m.find(path)
			if lack != "" && !ok { // an input that was given a name
				path = lack
			}
			return m.binds(path) && (lack == "" || !ok)
		},
		Name:      func(word string) bool { return m.s.plan.Word(n, word) == check.Name },
		Option:    m.s.plan.Offers,
		Arguments: m.s.args,
		Answer: func() (string, []string, bool) {
			a, ok := m.answer()
			if !ok {
				return "", nil, false
			}
			return a.Text, a.Options, true
		},
		Exists: func(file string) (bool, error) { return m.exists(ctx, n, path, file) },
		Outcome: func(name string) string {
			s, _ := m.scope()
			return string(s.Outcomes[name].Status)
		},
	}
}

// aboutAnswer reports whether a condition looks at what a person answered.
func (m *Machine) aboutAnswer(c cond.Expr) bool {
	if a, ok := m.answer(); ok && slices.ContainsFunc(a.Options, func(o string) bool { return cond.Offers(c, o) }) {
		return true
	}
	s, _ := m.scope()
	return len(s.Asked) > 0 && slices.ContainsFunc(cond.Names(c), func(name string) bool { return s.Asked[cond.Root(name)] })
}

var conditionSchema = json.RawMessage(`{"type":"object","properties":{"value":{"type":["boolean","null"]},"reason":{"type":"string"}},"required":["value","reason"],"additionalProperties":false}`)

// judge asks the model about one condition in natural language (ruling 5.3).
func (m *Machine) judge(ctx context.Context, n *tree.Node, path, text string) (value, cached bool, err error) {
	if m.s.r.Deterministic {
		return false, false, diag.New(diag.Refused, CodeNatural, "the condition %q needs a model, and models may not decide conditions here", text).At(position(n))
	}
	var p prompt
	p.line("Decide whether this condition holds now.")
	p.part("Condition", text)
	m.values(&p, text, nil, true)
	if a, ok := m.answer(); ok {
		p.foreign("The person's last answer", a.Text)
	}
	p.line("Answer with value true or false and a short reason. If it cannot be decided, value is null.")
	key := digest(p.String())
	if v, ok := m.st.Cache[key]; ok {
		return v, true, nil
	}
	req := model.Request{Purpose: model.Condition, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: conditionSchema}
	got, err := m.fill(ctx, n, req, true)
	if err != nil {
		return false, false, err
	}
	var said struct {
		Value  *bool  `json:"value"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(got.Output, &said) != nil || said.Value == nil {
		return false, false, diag.New(diag.Unmet, CodeUndecided, "the model could not decide the condition %q: %s", text, diag.Clip(said.Reason, 200)).At(position(n))
	}
	if m.st.Cache == nil {
		m.st.Cache = map[string]bool{}
	}
	m.st.Cache[key] = *said.Value
	return *said.Value, false, nil
}

func position(n *tree.Node) diag.Position {
	if n == nil {
		return diag.Position{}
	}
	return diag.Position{File: n.Pos.File, Line: n.Pos.Line, Column: n.Pos.Column}
}

func badValue(n *tree.Node, what string) error {
	return diag.New(diag.Failed, CodeValue, "the model's answer for %q is not what was asked for: %s", diag.Clip(n.Text, 80), what).At(position(n))
}

// exists asks whether a file of the project is there.
func (m *Machine) exists(ctx context.Context, n *tree.Node, path, file string) (bool, error) {
	file = m.projectPath(file)
	got, err := m.do(ctx, effect{kind: "exists", path: path, node: m.id(n), digest: digest(file)}, func(context.Context, string) (reply, error) {
		if m.s.r.Tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "a condition asks for the file %s, and there are no tools to look with", file).At(position(n))
		}
		ok, err := m.s.r.Tools.Exists(file)
		if err != nil {
			return reply{}, diag.New(diag.Failed, CodeFile, "looking for %s: %w", file, err).At(position(n))
		}
		return reply{Output: encode(ok)}, nil
	})
	return string(got.Output) == "true", err
}
