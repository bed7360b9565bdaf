package run_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// With strict contracts nothing is bound that does not fit, whatever does the work and wherever the contract stands.
func TestStrict(t *testing.T) {
	const (
		choice = `{"type":"object","properties":{"kind":{"enum":["a","b"]}},"required":["kind"]}`
		number = `{"type":"object","properties":{"kind":{"type":"number"}},"required":["kind"]}`
		any    = `{"type":"object","properties":{"kind":{}},"required":["kind"]}`
		out    = "\n\n> **Output contract:** `assets/schemas/out.json`\n\n"
		in     = "\n\n> **Input contract:** `assets/schemas/in.json`\n\n"
	)
	for _, test := range []struct{ name, agent, nodes, ops, explore, out, in, want string }{
		{"the section itself", "look around.", "* EXPLORE >> kind", "", choice, "", "", "output of EXPLORE"},
		{"an op of text", "execute LOOK.", "* EXPLORE >> kind", "## LOOK\n\nLook around.\n", choice, "", "", "output of"},
		{"an op of text that names its output", "execute LOOK.", "* EXPLORE >> kind", "## LOOK >> kind\n\nLook around.\n", choice, "", "", "output of"},
		{"an op of text with a contract that fits", "execute LOOK.", "* EXPLORE >> kind", "## LOOK >> kind" + out + "Look around.\n", choice, any, "", "output of EXPLORE"},
		{"an op of text with its own contract", "execute LOOK.", "* EXPLORE >> kind", "## LOOK >> kind" + out + "Look around.\n", any, number, "", "output of LOOK"},
		{"an op with a tree", "execute LOOK.", "* EXPLORE >> kind", "## LOOK >> kind\n\n* LOOK\n  * Look around >> kind\n", choice, "", "", "output of"},
		{"an op with a tree and a contract that fits", "execute LOOK.", "* EXPLORE >> kind", "## LOOK >> kind" + out + "* LOOK\n  * Look around >> kind\n", choice, any, "", "output of EXPLORE"},
		{"nothing bound", "execute LOOK.", "* EXPLORE", "## LOOK >> kind\n\nLook around.\n", choice, "", "", "output of"},
		{"a call", "", "* LOOK >> kind", "## LOOK >> kind" + out + "Look around.\n", "", choice, "", "output of LOOK"},
		{"a subagent", "", "* **LOOK** >> kind", "## LOOK >> kind\n\n> **Subagent.** Output contract: `assets/schemas/out.json`\n\nLook around.\n", "", choice, "", "output of LOOK"},
		{"a subagent with a tree", "", "* **LOOK** >> kind", "## LOOK >> kind\n\n> **Subagent.** Output contract: `assets/schemas/out.json`\n\n* LOOK\n  * Look around >> kind\n", "", choice, "", "output of LOOK"},
		{"an input", "", "* LOOK << \"zzz\" >> kind", "## LOOK << kind >> kind" + in + "Look around.\n", "", "", choice, "input of LOOK"},
		{"an input that is missing", "execute LOOK.", "* EXPLORE >> kind", "## LOOK << kind >> kind" + in + "Look around.\n", any, "", choice, "input of LOOK"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "---\nname: demo\ndescription: Does a thing. Use when asked.\nmetadata:\n  canopy-contracts: strict\n---\n\n"
			if test.agent != "" {
				text += "## Agent\n\n**explore** — " + test.agent + "\n\n"
			}
			files := fstest.MapFS{"SKILL.md": {Data: []byte(text + "## Tree\n\n" + test.nodes + "\n* bind after = 1\n")}}
			for name, data := range map[string]string{"references/ops.md": test.ops, "assets/schemas/explore-schema.json": test.explore, "assets/schemas/out.json": test.out, "assets/schemas/in.json": test.in} {
				if data != "" {
					files[name] = &fstest.MapFile{Data: []byte(data)}
				}
			}
			s, err := tree.Load(files, "")
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(t.Context(), s, plan.Options{NoLint: true})
			if err != nil {
				t.Fatal(err)
			}
			result, err := (&run.Runner{Model: newScripted(`* = {"kind":"zzz"}`)}).Run(t.Context(), p, "")
			if result.Status != run.Halted || !strings.Contains(result.Message, "[contract-violation] "+test.want) || len(result.Bindings) > 0 {
				t.Errorf("%s, %q, bindings %v, %v; want [contract-violation] %s", result.Status, result.Message, result.Bindings, err, test.want)
			}
		})
	}
}
