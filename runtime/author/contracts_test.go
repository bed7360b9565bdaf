package author

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const treeOfOps = "---\nname: s\ndescription: Writes notes. Use when notes are wanted.\n---\n\n## Tree\n\n* s\n  * LIST << $ARGUMENTS >> notes\n  * **CHECK** << notes >> verdict\n  * GREP << notes >> found\n  * SHOW << notes\n\n## Rules\n\n- None.\n\n## Response: verdict\n"

const plainOps = "# Ops\n\n## LIST << log [| since] >> notes\n\nList what `log` says.\n\n## CHECK << notes >> verdict\n\n> **Subagent.**\n\nCheck the notes.\n\n" +
	"## GREP << pattern >> found\n\n> **Tool.** `grep`.\n\nLook for it.\n\n## SHOW << notes\nSay the notes."

func opFiles(ops string) fstest.MapFS {
	return fstest.MapFS{"SKILL.md": {Data: []byte(treeOfOps)}, "references/ops.md": {Data: []byte(ops)}}
}

func TestContracts(t *testing.T) {
	for _, crlf := range []bool{false, true} {
		ends := func(text string) string {
			if crlf {
				return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
			}
			return text
		}
		d := Over("s", opFiles(ends(plainOps)))
		if left, err := Contracts(d); err != nil || len(left) > 0 {
			t.Fatalf("%q %v", left, err)
		}
		want := strings.NewReplacer("notes\n\nList", "notes\n\n> **Input contract:** `assets/schemas/list-input.json`\n> **Output contract:** `assets/schemas/list-output.json`\n\nList",
			"> **Subagent.**\n", "> **Subagent.**\n> **Input contract:** `assets/schemas/check-input.json`\n> **Output contract:** `assets/schemas/check-output.json`\n",
			"## SHOW << notes\n", "## SHOW << notes\n\n> **Input contract:** `assets/schemas/show-input.json`\n\n").Replace(plainOps)
		if got := string(mustRead(t, d.FS(), "references/ops.md")); got != ends(want) {
			t.Errorf("the ops are %q", got)
		}
		const schema = "{\n  \"type\": \"object\",\n  \"additionalProperties\": true,\n  \"properties\": {\n    \"log\": {\n      \"type\": \"string\"\n    },\n    \"since\": {\n      \"type\": \"string\"\n    }\n  }\n}\n"
		if got := string(mustRead(t, d.FS(), "assets/schemas/list-input.json")); got != schema {
			t.Errorf("the schema is %s", got)
		}
		if len(d.Changes()) != 6 {
			t.Errorf("%d files change", len(d.Changes()))
		}
		again := Over("s", d.FS())
		if left, err := Contracts(again); err != nil || len(left)+len(again.Changes()) > 0 {
			t.Errorf("a second time: %q %v %v", left, again.Changes(), err)
		}
	}
}

// A heading that ends its file without a line end gets its marker, and no line end.
func TestContractsAtTheEnd(t *testing.T) {
	d := Over("s", opFiles(strings.TrimSuffix(plainOps, "\nSay the notes.")))
	left, err := Contracts(d)
	if err != nil || len(left) > 0 {
		t.Fatalf("%q %v", left, err)
	}
	if got := string(mustRead(t, d.FS(), "references/ops.md")); !strings.HasSuffix(got, "\n## SHOW << notes\n\n> **Input contract:** `assets/schemas/show-input.json`") {
		t.Errorf("%q", got)
	}
}

func TestContractsLeave(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(files fstest.MapFS)
		want   string // that is left
		files  int    // that change
	}{
		"a schema is there": {func(f fstest.MapFS) { f["assets/schemas/list-output.json"] = &fstest.MapFile{Data: []byte("{}")} },
			"LIST gets no contract: assets/schemas/list-output.json is there", 4},
		"one of the old layout": {func(f fstest.MapFS) { f["schemas/show-input.json"] = &fstest.MapFile{Data: []byte("{}")} },
			"SHOW gets no contract: schemas/show-input.json is there", 5},
		"strict": {func(f fstest.MapFS) {
			f["SKILL.md"].Data = []byte(strings.Replace(treeOfOps, "\n---\n\n", "\nmetadata:\n  canopy-contracts: strict\n---\n\n", 1))
		}, "contracts are strict", 0},
		"a list where a text is needed": {func(f fstest.MapFS) {
			f["SKILL.md"].Data = []byte(strings.Replace(treeOfOps, "  * LIST << $ARGUMENTS", "  * ROWS >> rows\n  * LIST << rows", 1))
			f["references/ops.md"].Data = []byte(plainOps + "\n\n## ROWS >> rows\n\n> **Output contract:** `assets/schemas/r.json`\n\nGive them.\n")
			f["assets/schemas/r.json"] = &fstest.MapFile{Data: []byte(`{"type": "object", "properties": {"rows": {"type": "array"}}}`)}
		}, "LIST gets no contract: lint would find something new", 4},
		"a second definition": {func(f fstest.MapFS) {
			f["ops.md"] = &fstest.MapFile{Data: []byte("## LIST << log >> notes\n\nOther.\n")}
		},
			"LIST gets no contract: nothing calls this definition in ops.md", 6},
	} {
		files := opFiles(plainOps)
		tt.change(files)
		d := Over("s", files)
		left, err := Contracts(d)
		if err != nil || len(d.Changes()) != tt.files || !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, tt.want) }) {
			t.Errorf("%s: %d files change, left %q, %v", name, len(d.Changes()), left, err)
		}
	}
}

// A skill with more ops than one plan holds, or with names without end, is left as it is, and soon.
func TestContractsOfHostile(t *testing.T) {
	for name, ops := range map[string]string{
		"many ops": func() (s string) {
			var b strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&b, "## OP_%d << x >> y\n\nDo.\n\n", i)
			}
			return b.String()
		}(),
		"many names": "## LIST << " + strings.Repeat("a | ", 200_000) + "b >> notes\n\nDo.\n",
		"long names": "## LIST << " + strings.Repeat("a", 900_000) + " >> " + strings.Repeat("b", 100_000) + "\n\nDo.\n",
		"long op":    "## L" + strings.Repeat("I", 1000) + " << a\n\nDo.\n",
	} {
		d := Over("s", opFiles(ops))
		start := time.Now()
		if _, err := Contracts(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
