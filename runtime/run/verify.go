package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A checking is a visit of VERIFY_EXPECTED.
type checking struct{ visit }

// run checks a list against what is (ruling 5.24). What a claim says of files and bindings is looked up; the rest is one request.
func (at checking) run(ctx context.Context) error {
	at.phase("Verify")
	at.begin(nil)
	file, err := at.shown(at.n.Path)
	if err != nil {
		return err
	}
	if file == "" {
		file = plan.DefaultVerify
	}
	r, err := at.s.plan.Resource(at.home(), file)
	if err != nil {
		return at.placed(err)
	}
	list := resource.ParseChecklist(r.Text)
	checks := make([]Check, len(list.Items))
	var open []int
	for i, item := range list.Items {
		checks[i] = Check{Node: at.id(), Item: item.Text}
		claim, ok := resource.ParseClaim(item.Text)
		if !ok || len(item.Subs) > 0 {
			open = append(open, i)
			continue
		}
		pass, err := claim.Check(at.claims(ctx))
		if err != nil {
			if suspended(ctx, err) || fatal(err) {
				return err
			}
			checks[i].Reason = err.Error()
		}
		checks[i].Pass = pass && err == nil
	}
	if len(open) > 0 {
		if err := at.judge(ctx, list, open, checks); err != nil {
			return err
		}
	}
	halt, failed := "", 0
	for i, c := range checks {
		status := Pass
		if !c.Pass {
			status = Fail
			failed++
			if (list.Halts || list.Items[i].Halt) && halt == "" {
				halt = c.Item
			}
		}
		at.tell(Event{Kind: Checked, Text: c.Item, Status: status, Value: encode(map[string]any{"reason": c.Reason})})
	}
	at.st.Checks = append(at.st.Checks, checks...)
	if failed > 0 {
		at.warn("verify_failed", fmt.Sprintf("%d of %d items of %s do not hold", failed, len(checks), r.Path))
	}
	if halt != "" {
		return endSignal{Status: Halted, Exit: exitHalted, Message: "does not hold: " + halt}
	}
	at.finish(OK, nil)
	return nil
}

// claims is what items that need no model are checked against.
func (at checking) claims(ctx context.Context) resource.ClaimEnv {
	return resource.ClaimEnv{
		Fill:   at.literal,
		Exists: func(file string) (bool, error) { return at.exists(ctx, file) },
		Read: func(file string) ([]byte, error) {
			if ok, err := at.exists(ctx, file); err != nil || !ok {
				if err == nil {
					err = fs.ErrNotExist
				}
				return nil, err
			}
			text, err := at.readProject(ctx, file)
			return []byte(text), err
		},
		Holds: func(condition string) (bool, error) {
			v, _, err := cond.Eval(ctx, cond.Parse(condition), at.env(ctx))
			return v, err
		},
	}
}

var itemsSchema = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"index":{"type":"integer"},"pass":{"type":"boolean"},"reason":{"type":"string"}},"required":["index","pass","reason"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`)

// judge asks the model about the items that are open, all at once, with tools that only read.
func (at checking) judge(ctx context.Context, list resource.Checklist, open []int, checks []Check) error {
	var p prompt
	p.line("Check each item against the files and the values as they are now. Change nothing.")
	p.part("What the list says before its items", list.Preamble)
	var items, all strings.Builder
	for _, i := range open {
		fmt.Fprintf(&items, "%d. %s\n", i, list.Items[i].Text)
		for _, sub := range list.Items[i].Subs {
			fmt.Fprintf(&items, "   - %s\n", sub)
		}
		all.WriteString(list.Items[i].Text + "\n")
	}
	p.part("Items, by their index", items.String())
	at.writeValues(&p, all.String(), at.names(), true)
	req := model.Request{Purpose: model.Checklist, Isolated: at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: itemsSchema}
	got, err := at.fill(ctx, req, true)
	if err != nil {
		return err
	}
	var said struct {
		Items []struct {
			Index  int    `json:"index"`
			Pass   bool   `json:"pass"`
			Reason string `json:"reason"`
		} `json:"items"`
	}
	if err := json.Unmarshal(got.Output, &said); err != nil {
		return at.badValue("no list of items")
	}
	judged := map[int]bool{}
	for _, s := range said.Items {
		for _, i := range open {
			if s.Index == i {
				checks[i].Pass, checks[i].Reason = s.Pass, s.Reason
				judged[i] = true
			}
		}
	}
	if len(judged) < len(open) {
		return at.badValue(fmt.Sprintf("%d of %d items were judged", len(judged), len(open)))
	}
	return nil
}
