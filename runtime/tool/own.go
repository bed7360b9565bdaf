package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/skl-project/skl/spec/diag"
)

// An Own is a tool that skl itself gives to one skill. It passes the policies and the questions that every tool passes.
type Own struct {
	Name        string // letters, digits and _, and no name of a built-in tool
	Description string
	Schema      json.RawMessage // of the input, an object
	Effect      Effect          // None or Filesystem
	TreeOnly    bool            // ops of the tree call it, and no model sees it
	// Do does it. Its text is the result, its error that of a tool that did not do it.
	Do func(ctx context.Context, input json.RawMessage) (string, error)
}

// handler is the tool in the table.
func (o *Own) handler() *handler {
	return &handler{name: o.Name, wire: o.Name, own: true, treeOnly: o.TreeOnly, description: o.Description, schema: o.Schema, effect: o.Effect,
		prepare: func(_ *Dispatcher, input json.RawMessage) (*use, error) {
			if !isObject(input) {
				return nil, badInput(o.Name, "is not a JSON object")
			}
			return &use{detail: o.Name, do: func(ctx context.Context) (string, error) {
				text, err := o.Do(ctx, input)
				if isDenied(err) { // the call took place
					err = failed("%w", err)
				}
				return text, err
			}}, nil
		}}
}

// addOwn adds tools of skl's own, sorted.
func (t *table) addOwn(all []Own) error {
	for i := range all {
		o := &all[i]
		if isBuiltin(o.Name) || o.Do == nil {
			return diag.New(diag.Misuse, CodeUnknown, "a tool of skl's own cannot be called %q", o.Name)
		}
		at, found := slices.BinarySearchFunc(t.builtins, o.Name, func(h *handler, name string) int { return cmp.Compare(h.name, name) })
		if found {
			return diag.New(diag.Misuse, CodeUnknown, "two tools are called %q", o.Name)
		}
		t.builtins = slices.Insert(t.builtins, at, o.handler())
	}
	return nil
}
