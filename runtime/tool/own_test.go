package tool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Tools of skl's own pass the policy of the skill; what is for the tree alone is neither shown to a model nor done for one.
func TestOwn(t *testing.T) {
	done := 0
	do := func(_ context.Context, input json.RawMessage) (string, error) {
		done++
		return string(input), nil
	}
	fails := func(context.Context, json.RawMessage) (string, error) {
		return "", diag.New(diag.Refused, "changed_meanwhile", "it is another one")
	}
	object := json.RawMessage(`{"type":"object"}`)
	own := []Own{{Name: "skl_look", Schema: object, Effect: None, Do: do}, {Name: "skl_write", Schema: object, Effect: Filesystem, TreeOnly: true, Do: do},
		{Name: "skl_hidden", Schema: object, Effect: None, Do: do}, {Name: "skl_fails", Schema: object, Effect: None, Do: fails}}
	allow := []skill.Tool{{Name: "skl_look"}, {Name: "skl_write"}, {Name: "skl_fails"}}
	d, _ := open(t, Config{Own: own, Policy: &skill.Tools{Limited: true, Allow: allow}, SideEffects: []string{"filesystem"}, Grants: []Grant{{Effects: []Effect{Filesystem}}}})
	var shown []string
	for _, tool := range d.For(false) {
		shown = append(shown, tool.Name)
	}
	if !slices.Equal(shown, []string{"skl_fails", "skl_look"}) {
		t.Errorf("a model is shown %v", shown)
	}
	if !d.Reads("skl_look") || d.Reads("skl_write") {
		t.Error("which of them read is not known")
	}
	call := func(name string) (model.ToolResult, error) {
		result, _, _, err := d.Call(t.Context(), name, json.RawMessage(`{"a":1}`), false)
		return result, err
	}
	if r, err := call("skl_look"); err != nil || r.Text != `{"a":1}` || done != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, name := range []string{"skl_write", "skl_hidden", "bash"} {
		if r, err := call(name); !errors.Is(err, diag.Code(CodeDenied)) || !r.IsError || done != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r, err := call("skl_fails"); err != nil || !r.IsError {
		t.Errorf("a tool that did not do it: %+v, %v", r, err)
	}
	if run.ByTree(t.Context()) {
		t.Error("any context is that of a tree")
	}
	for _, bad := range []Own{{Name: "bash", Do: do}, {Name: "skl_look", Do: do}, {Name: "skl_none"}} {
		if _, err := New(Config{WorkDir: t.TempDir(), Own: append(slices.Clone(own), bad)}); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
}
