package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// visitVerify checks a list against what is (ruling 5.24). What a claim says of files and bindings is looked up; the rest is one request.
func (m *Machine) visitVerify(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.phase("Verify")
	m.begin(n, path, nil)
	file, err := m.shown(n, n.Path)
	if err != nil {
		return err
	}
	if file == "" {
		file = plan.DefaultVerify
	}
	r, err := m.s.plan.Resource(m.home(), file)
	if err != nil {
		return placed(err, n)
	}
	list := resource.ParseChecklist(r.Text)
	checks := make([]Check, len(list.Items))
	var open []int
	for i, item := range list.Items {
		checks[i] = Check{Node: m.id(n), Item: item.Text}
		claim, ok := resource.ParseClaim(item.Text)
		if !ok || len(item.Subs) > 0 {
			open = append(open, i)
			continue
		}
		pass, err := claim.Check(m.claims(ctx, n, path))
		if err != nil {
			if suspended(ctx, err) || fatal(err) {
				return err
			}
			checks[i].Reason = err.Error()
		}
		checks[i].Pass = pass && err == nil
	}
	if len(open) > 0 {
		if err := m.judgeItems(ctx, n, path, list, open, checks); err != nil {
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
		m.emit(Event{Kind: Checked, Path: path, Node: m.id(n), Text: c.Item, Status: status, Value: encode(map[string]any{"reason": c.Reason})})
	}
	m.st.Checks = append(m.st.Checks, checks...)
	if failed > 0 {
		m.warn("verify_failed", fmt.Sprintf("%d of %d items of %s do not hold", failed, len(checks), r.Path))
	}
	if halt != "" {
		return endSignal{Status: Halted, Exit: exitHalted, Message: "does not hold: " + halt}
	}
	m.finish(f, n, began, OK, nil)
	return nil
}

// claims is what items that need no model are checked against.
func (m *Machine) claims(ctx context.Context, n *tree.Node, path string) resource.ClaimEnv {
	return resource.ClaimEnv{
		Fill:   m.literal,
		Exists: func(file string) (bool, error) { return m.exists(ctx, n, path, file) },
		Read: func(file string) ([]byte, error) {
			if ok, err := m.exists(ctx, n, path, file); err != nil || !ok {
				if err == nil {
					err = fs.ErrNotExist
				}
				return nil, err
			}
			text, err := m.readProject(ctx, n, path, file)
			return []byte(text), err
		},
		Holds: func(condition string) (bool, error) {
			v, _, err := cond.Eval(ctx, cond.Parse(condition), m.env(ctx, n, path))
			return v, err
		},
	}
}

var itemsSchema = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"index":{"type":"integer"},"pass":{"type":"boolean"},"reason":{"type":"string"}},"required":["index","pass","reason"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`)

// judgeItems asks the model about the items that are open, all at once, with tools that only read.
func (m *Machine) judgeItems(ctx context.Context, n *tree.Node, path string, list resource.Checklist, open []int, checks []Check) error {
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
	m.values(&p, all.String(), m.names(), true)
	req := model.Request{Purpose: model.Checklist, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: itemsSchema}
	got, err := m.fill(ctx, n, req, true)
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
		return badValue(n, "no list of items")
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
		return badValue(n, fmt.Sprintf("%d of %d items were judged", len(judged), len(open)))
	}
	return nil
}
