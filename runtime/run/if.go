package run

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// byCache is how a condition was decided that the model had decided before in this run.
const byCache = "cache"

// bySet is how something was decided that Runner.Set gives.
const bySet = "set"

// A condition is a visit of IF, ELSE_IF or ELSE.
type condition struct{ visit }

func (at condition) run(ctx context.Context) error {
	if at.n.Kind != tree.If && at.f.Chain != chainOpen {
		at.skip()
		return nil
	}
	at.begin(nil)
	value, by := true, at.f.ChainAnswer
	if at.n.Kind != tree.Else {
		c := at.s.plan.Cond(at.n)
		by = by || at.aboutAnswer(c)
		v, how, read, err := at.decide(ctx, c)
		if err != nil {
			return err
		}
		at.tell(Event{Kind: Decided, Type: at.n.Kind.String(), Text: at.n.Cond, Value: encode(v), How: how, Read: read.json()})
		value = v
	}
	at.f.ChainAnswer = by
	if !value {
		at.f.Chain = chainOpen
		at.skip()
		return nil
	}
	at.f.Chain = chainTaken
	at.into(&frame{Kind: branchFrame, Base: at.path, ByAnswer: by, nodes: branchNodes(at.n, 0)})
	return nil
}

// decide evaluates a condition. It gives what it went by, too.
func (at condition) decide(ctx context.Context, c cond.Expr) (bool, string, *reading, error) {
	if raw, ok := at.override(); ok {
		at.eff.set = true
		set, err := decode(raw)
		v, ok := set.(bool)
		if err != nil || !ok {
			return false, "", nil, diag.New(diag.Misuse, CodeValue, "the value set for %s is neither true nor false: %s", at.path, diag.Brief(string(raw), 60))
		}
		return v, bySet, nil, nil
	}
	cached := false
	read := at.reading()
	env := read.from(at.env(ctx))
	if at.judges(c) {
		env.Model = func(ctx context.Context, text string) (bool, error) {
			v, fromCache, err := at.judge(ctx, text)
			cached = fromCache
			return v, err
		}
	}
	v, how, err := cond.Eval(ctx, c, env)
	if err != nil {
		return false, "", nil, placed(at.held(err, cond.Names(c)), at.n)
	}
	if cached {
		return v, byCache, read, nil
	}
	return v, string(how), read, nil
}

// judges reports whether a model may be asked about c. Where there is none, or models may not decide, a name without a value is the
// error; natural language still goes to judge, which says what is missing.
func (at condition) judges(c cond.Expr) bool {
	return cond.Model(c) || at.mayJudge()
}

// aboutAnswer reports whether a condition looks at what a person answered.
func (at condition) aboutAnswer(c cond.Expr) bool {
	if a, ok := at.answer(); ok && slices.ContainsFunc(a.Options, func(o string) bool { return cond.Offers(c, o) }) {
		return true
	}
	s, _ := at.scope()
	return len(s.Asked) > 0 && slices.ContainsFunc(cond.Names(c), func(name string) bool { return s.Asked[cond.Root(name)] })
}

var conditionSchema = json.RawMessage(`{"type":"object","properties":{"value":{"type":["boolean","null"]},"reason":{"type":"string"}},"required":["value","reason"],"additionalProperties":false}`)

// judge asks the model about one condition in natural language (ruling 5.3).
func (at condition) judge(ctx context.Context, text string) (value, cached bool, err error) {
	if at.s.r.Deterministic {
		return false, false, diag.New(diag.Refused, CodeNatural, "the condition %q needs a model, and models may not decide conditions here", text).At(at.position())
	}
	var p prompt
	p.line("Decide whether this condition holds now.")
	p.part("Condition", text)
	at.writeValues(&p, text, nil, true)
	if a, ok := at.answer(); ok {
		p.foreign("The person's last answer", a.Text)
	}
	p.line("Answer with value true or false and a short reason. If it cannot be decided, value is null.")
	key := digest(p.String())
	if v, ok := at.st.Cache[key]; ok {
		return v, true, nil
	}
	req := model.Request{Purpose: model.Condition, Isolated: at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: conditionSchema}
	got, err := at.fill(ctx, req, true)
	if err != nil {
		return false, false, err
	}
	var said struct {
		Value  *bool  `json:"value"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(got.Output, &said) != nil || said.Value == nil {
		return false, false, diag.New(diag.Unmet, CodeUndecided, "the model could not decide the condition %q: %s", text, diag.Clip(said.Reason, 200)).At(at.position())
	}
	at.decided(key, *said.Value)
	return *said.Value, false, nil
}

// decided keeps what the model decided, by the digest of what it was asked.
func (m *Machine) decided(key string, value bool) {
	if m.st.Cache == nil {
		m.st.Cache = map[string]bool{}
	}
	m.st.Cache[key] = value
}
