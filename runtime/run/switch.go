package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A choice is a visit of SWITCH.
type choice struct{ visit }

func (at choice) run(ctx context.Context) error {
	at.begin(nil)
	read := at.reading()
	take, value, how, err := at.choose(ctx, read)
	if err != nil {
		return err
	}
	at.tell(Event{Kind: Decided, Type: at.n.Kind.String(), Text: at.n.Cond, Value: encode(value), How: how, Read: read.json()})
	for i, c := range at.n.Children {
		if i != take {
			at.to(c, at.path+"/"+strconv.Itoa(i)).pass()
		}
	}
	if take < 0 {
		at.finish(OK, nil)
		return nil
	}
	s, _ := at.scope()
	by := false
	if x := at.s.plan.Subject(at.n); !x.Natural {
		by = s.Asked[cond.Root(x.Operand.Text)]
	}
	taken := at.to(at.n.Children[take], at.path+"/"+strconv.Itoa(take))
	at.into(&frame{Kind: branchFrame, Base: taken.path, Take: take + 1, ByAnswer: by, nodes: branchNodes(at.n, take+1)})
	taken.begin(nil)
	return nil
}

// choose picks the CASE or DEFAULT, -1 for none. read gets what it goes by.
func (at choice) choose(ctx context.Context, read *reading) (take int, value any, how string, err error) {
	env := read.from(at.env(ctx))
	x := at.s.plan.Subject(at.n)
	if raw, ok := at.override(); ok {
		at.eff.set = true
		if value, err = decode(raw); err == nil {
			take, err = at.match(value, env)
		}
		return take, value, bySet, at.placed(err)
	}
	if !x.Natural {
		if value, err = x.Value(env); err == nil {
			take, err = at.match(value, env)
		}
		if !errors.Is(err, diag.Code(CodeUndecided)) || !at.mayJudge() {
			return take, value, string(cond.ByRule), at.placed(err)
		}
	}
	take, value, err = at.byModel(ctx)
	return take, value, string(cond.ByModel), at.placed(err)
}

// match is the first CASE that value equals, else DEFAULT, -1 for none. A case that has no value leaves it open what those behind it mean.
func (at choice) match(value any, env cond.Env) (int, error) {
	for i, c := range at.n.Children {
		if c.Kind != tree.Case {
			continue
		}
		if same, err := cond.Match(value, at.s.plan.Case(c), env); err != nil || same {
			return i, placed(err, c)
		}
	}
	return fallback(at.n), nil
}

// fallback is the DEFAULT of a SWITCH, -1 if it has none.
func fallback(n *tree.Node) int {
	return slices.IndexFunc(n.Children, func(c *tree.Node) bool { return c.Kind == tree.Default })
}

// byModel lets the model choose among the texts of the cases; the value of none is null.
func (at choice) byModel(ctx context.Context) (take int, value any, err error) {
	if at.s.r.Deterministic {
		return -1, nil, diag.New(diag.Refused, CodeNatural, "the choice by %q needs a model, and models may not decide here", at.n.Cond).At(at.position())
	}
	enum := []any{}
	for _, c := range at.n.Children {
		if c.Kind == tree.Case {
			enum = append(enum, at.s.plan.Case(c).Text)
		}
	}
	enum = append(enum, "none")
	var p prompt
	p.line("Choose the case that fits, or none.")
	p.part("By", at.n.Cond)
	p.part("Cases", string(encode(enum)))
	at.writeValues(&p, at.n.Cond, nil, true)
	schema := encode(map[string]any{"type": "object", "properties": map[string]any{"value": map[string]any{"enum": enum}}, "required": []any{"value"}, "additionalProperties": false})
	got, err := at.fill(ctx, model.Request{Purpose: model.Choice, Isolated: at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return -1, nil, err
	}
	var said struct {
		Value any `json:"value"`
	}
	if json.Unmarshal(got.Output, &said) != nil || !slices.Contains(enum, said.Value) {
		return -1, nil, diag.New(diag.Unmet, CodeUndecided, "the model chose none of the cases of %q", at.n.Cond).At(at.position())
	}
	for i, c := range at.n.Children {
		if c.Kind == tree.Case && at.s.plan.Case(c).Text == said.Value {
			return i, said.Value, nil
		}
	}
	return fallback(at.n), nil, nil
}
