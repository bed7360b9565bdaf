package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// written makes the plan of a skill from its parts.
func written(t *testing.T, preamble, nodes, ops string) *plan.Plan {
	t.Helper()
	files := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n" + preamble + "\n\n## Tree\n\n" + nodes + "\n\n## Response: place\n")}}
	if ops != "" {
		files["references/ops.md"] = &fstest.MapFile{Data: []byte(ops)}
	}
	s, err := tree.Load(files, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), s, plan.Options{NoLint: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	branches = "* IF << b equals \"master\"\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"\n"
	outer    = "## OUTER << b\n\n* OUTER << b\n  * IF << b equals \"master\"\n    * bind place = \"THEN\"\n  * ELSE\n    * bind place = \"ELSE\"\n"
)

// A name without a value decides nothing by a rule, wherever it stands and however it got there. What decides instead is said: without a model the
// run fails with the name. want is the binding "place", or what the error says.
func TestNamesWithoutValue(t *testing.T) {
	for _, test := range []struct{ name, preamble, tree, ops, args, want string }{
		{"case in backticks", "", "* bind kind = \"x\"\n* SWITCH << kind\n  * CASE << `env.target`\n    * bind place = \"CASE\"\n  * DEFAULT\n    * bind place = \"DEFAULT\"", "", "", `case names "env.target"`},
		{"case of context", "", "* bind kind = \"x\"\n* SWITCH << kind\n  * CASE << context.target\n    * bind place = \"CASE\"\n  * DEFAULT\n    * bind place = \"DEFAULT\"", "", "", `case names "context.target"`},
		{"case behind one that fits", "", "* bind kind = \"x\"\n* SWITCH << kind\n  * CASE << x\n    * bind place = \"CASE\"\n  * CASE << `target`\n    * bind place = \"TARGET\"", "", "", "CASE"},
		{"choice", "", "* SWITCH << kind\n  * CASE << a\n    * bind place = \"CASE\"\n  * DEFAULT\n    * bind place = \"DEFAULT\"", "", "", `expression names "kind"`},
		{"choice by what is bound later", "", "* SWITCH << kind\n  * DEFAULT\n    * bind place = \"DEFAULT\"\n* bind kind = \"a\"", "", "", `expression names "kind"`},
		{"input, a word", "", "* OUTER << b = brnach", outer, "", "b holds brnach"},
		{"input, by place", "", "* OUTER << brnach", outer, "", "b holds brnach"},
		{"input, a reference", "", "* OUTER << b = context.brnach", outer, "", "b holds context.brnach"},
		{"input, bound later", "", "* OUTER << branch\n* bind branch = \"master\"", outer, "", "b holds branch"},
		{"input hides the caller's", "", "* bind b = \"master\"\n* OUTER << b = context.brnach", outer, "", "b holds context.brnach"},
		{"input, handed on", "", "* OUT << x = brnach", "## OUT << x\n\n* OUT << x\n  * OUTER << x\n\n" + outer, "", "b holds brnach"},
		{"input, handed on by a binding", "", "* OUT << x = brnach", "## OUT << x\n\n* OUT << x\n  * bind y = x\n  * OUTER << y\n\n" + outer, "", "b holds brnach"},
		{"result", "", "* OUT >> b\n" + branches, "## OUT >> r\n\n* OUT >> r\n  * bind r = brnach\n", "", "b holds brnach"},
		{"input with a place", "", "* OUTER << \"{new_version}\"", outer, "", "b holds new_version"},
		{"binding with a place", "", "* bind b = \"v<<version>>\"\n" + branches, "", "", "b holds version"},
		{"out of PARALLEL", "", "* PARALLEL\n  * bind b = brnach\n  * bind c = \"x\"\n" + branches, "", "", "b holds brnach"},
		{"input that is text", "", "* OUTER << b = \"master\"", outer, "", "THEN"},
		{"word that a condition has", "", "* OUTER << b = master", outer, "", "THEN"},
		{"word with a capital", "", "* OUTER << b = Release", outer, "", "ELSE"},
		{"bound again", "", "* bind b = brnach\n* bind b = \"master\"\n" + branches, "", "", "THEN"},
		{"backticks", "", "* bind `c` = `nope`", "", "", "nope has no value"},
		{"right side in backticks", "", "* bind b = \"x\"\n* IF << b equals `nope`\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "", "", `names "nope"`},
		{"right side, a name", "", "* bind b = \"x\"\n* IF << b equals wanted_version\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "", "", `names "wanted_version"`},
		{"right side, a slip", "", "* bind b = \"x\"\n* bind branch = \"x\"\n* IF << b equals brnach\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "", "", `names "brnach"`},
		{"right side, bound later", "", "* bind b = \"x\"\n* IF << b equals later\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"\n* bind later = \"x\"", "", "", `names "later"`},
		{"right side, a text", "", "* bind b = \"x\"\n* IF << b equals master\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "", "", "ELSE"},
		{"loop", "", "* OUT << things", "## OUT << list\n\n* OUT << list\n  * FOR_EACH << x in list\n    * bind place = x\n", "", `collection "list"`},
		{"list of a loop", "", "* bind branch = \"x\"\n* FOR_EACH << x in [main, brnach]\n  * bind place = x", "", "", `names "brnach"`},
		{"question", "", "* ASK << Deploy {version}? | Yes | No", "", "", "version has no value"},
		{"option", "", "* ASK << Deploy? | Yes <<context.x>> | No", "", "", "context.x has no value"},
		{"option in backticks", "", "* ASK << Use `{name}`? | Yes | No\n* IF << Yes\n  * bind place = \"THEN\"", "", "", "THEN"},
		{"plan", "", "* SHOW_PLAN >> action: push {branch}", "", "", "branch has no value"},
		{"path", "", "* Read `{context.dir}/x.md`", "", "", "context.dir has no value"},
		{"optional input", "", "* OUT", "## OUT << [| verbose]\n\n* OUT\n  * IF << verbose\n    * bind place = \"THEN\"\n  * ELSE\n    * bind place = \"ELSE\"\n", "", "ELSE"},
		{"optional remainder", "Parse $ARGUMENTS — first token is `a`, remainder is `b`", "* IF << b\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "", "one", "ELSE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &run.Runner{Tools: &project{files: map[string]string{}}, Answers: map[string]run.Answer{"0": {Text: "Yes"}}}
			result, err := r.Run(t.Context(), written(t, test.preamble, test.tree, test.ops), test.args)
			place, _ := result.Bindings["place"].(string)
			switch {
			case err == nil && place == test.want:
			case err != nil && place == "" && strings.Contains(err.Error(), test.want):
			default:
				t.Errorf("place %q, %v; want %s", place, err, test.want)
			}
		})
	}
}

// An argument that the skill names and nobody gave is null, by rule: one request reads the arguments, and none is about the condition.
func TestArgumentNotGiven(t *testing.T) {
	p := written(t, "Target: $ARGUMENTS — optional flag `verbose`", "* IF << verbose\n  * bind place = \"THEN\"\n* ELSE\n  * bind place = \"ELSE\"", "")
	m := newScripted(`arguments = {"verbose": null}`)
	result, err := (&run.Runner{Model: m}).Run(t.Context(), p, "one")
	if err != nil || result.Bindings["place"] != "ELSE" || len(m.requests) != 1 {
		t.Errorf("%v, %v, %d requests", result.Bindings, err, len(m.requests))
	}
	for _, e := range p.Effects("one") {
		if e.Mode == "condition" {
			t.Errorf("the dry run foresees %+v", e)
		}
	}
}

// The approved plan is the one carried out: each field of a plan reaches the steps behind it as it was shown, whether
// the tree bound it, wrote it or a model gave it, by whatever way a step takes it. An adjusted plan is asked for anew.
func TestApproved(t *testing.T) {
	nodes := "* bind target = \"main\"\n* SHOW_PLAN >> new_version | changed files | action: push | target\n* ASK << Proceed? | Yes | Adjust | No\n* IF << No\n  * END\n" +
		"* BUMP << changed_files | new_version | action | target\n* Tell the team about `new_version` on `target`\n* bind place = \"release {new_version}\""
	ops := "## BUMP << files | version | action | target\n\nBump `files` to `version`.\n"
	shown := map[string]any{"new_version": "2.0.0", "changed files": []any{"a.go", "b.go"}, "action": "push", "target": "main"}
	t.Run("yes", func(t *testing.T) {
		m := newScripted("1 = {\"new_version\":\"2.0.0\",\"changed files\":[\"a.go\",\"b.go\"]}\n* = done")
		approved(t, nodes, ops, m, "Yes", shown, "release 2.0.0")
	})
	t.Run("adjusted", func(t *testing.T) {
		m := newScripted("1 = {\"new_version\":\"1.9.0\",\"changed files\":[]}\n2 = {\"new_version\":\"2.0.0\",\"changed files\":[\"a.go\",\"b.go\"]}\n* = done")
		approved(t, nodes, ops, m, "Adjust", shown, "release 2.0.0")
	})
}

func approved(t *testing.T, nodes, ops string, m *scripted, first string, want map[string]any, place string) {
	t.Helper()
	answers := []string{first, "the version", "Yes"}
	r := &run.Runner{Model: m, KeepEvents: true, Ask: func(_ context.Context, _ run.Question) (run.Answer, error) {
		a := answers[0]
		answers = answers[1:]
		return run.Answer{Text: a}, nil
	}}
	result, err := r.Run(t.Context(), written(t, "", nodes, ops), "")
	if err != nil || result.Bindings["place"] != place {
		t.Fatal(result.Bindings, err)
	}
	last := map[string]any{}
	var given map[string]any
	for _, e := range result.Events {
		switch {
		case e.Kind == run.PlanShown:
			var rows []struct {
				Field string
				Value any
			}
			if err := json.Unmarshal(e.Value, &rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				last[row.Field] = row.Value
			}
		case e.Kind == run.NodeStarted && strings.HasPrefix(e.Text, "BUMP"):
			if err := json.Unmarshal(e.Value, &given); err != nil {
				t.Fatal(err)
			}
		}
	}
	if fmt.Sprint(last) != fmt.Sprint(want) {
		t.Errorf("shown %v", last)
	}
	for param, field := range map[string]string{"files": "changed files", "version": "new_version", "action": "action", "target": "target"} {
		if fmt.Sprint(given[param]) != fmt.Sprint(last[field]) {
			t.Errorf("%s: shown %v, given %v", field, last[field], given[param])
		}
	}
	for path, names := range map[string][]string{"4": {"version = \"2.0.0\"", `files = ["a.go","b.go"]`}, "5": {"new_version = \"2.0.0\"", "target = \"main\""}} {
		for _, name := range names {
			if !strings.Contains(m.requests[path].Prompt, name) {
				t.Errorf("the request at %s has no %s:\n%s", path, name, m.requests[path].Prompt)
			}
		}
	}
}
