package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The specification's examples have exactly the findings that it says.
func TestSpecificationExamples(t *testing.T) {
	text, err := os.ReadFile("../corteza.skill-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples [][]byte
	for part := range bytes.SplitSeq(text, []byte("```yaml\n")) {
		if code, _, ok := bytes.Cut(part, []byte("```\n")); ok && bytes.HasPrefix(code, []byte("---\n")) {
			examples = append(examples, append(bytes.Clone(code), "Do it.\n"...))
		}
	}
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	for i, src := range examples[:2] {
		if found := lintFile(src, nil, "autoresearch", LintOptions{Publish: true}); len(found) > 0 {
			t.Errorf("example %d has findings: %v", i, found)
		}
	}
	if got, err := ToPortable(examples[0]); err != nil || !bytes.Equal(got, examples[1]) {
		t.Errorf("ToPortable of the first example: %v\n%s", err, got)
	}
	found := lintFile(examples[2], nil, "autoresearch", LintOptions{})
	if len(found) != 1 {
		t.Fatalf("the mis-indented example has findings: %v", found)
	}
	f := found[0]
	line := fmt.Sprintf("    %s:%d:%d: %s %s: %s\n", f.File, f.Line, f.Column, f.Severity, f.Rule, f.Message)
	if !strings.Contains(string(text), line) {
		t.Errorf("the specification does not show this line:\n%s", line)
	}
	fixed := Apply(examples[2], Fixes(found))
	if key, same := sameFacts(factsOf(t, fixed), factsOf(t, examples[0])); !same {
		t.Errorf("the fix changes %s: %s", key, fixed)
	}
}

// The published schema has the keys and values of the code's table.
func TestSchemaFile(t *testing.T) {
	text, err := os.ReadFile("../corteza.skill-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Const      string
		Enum       []string
		Items      struct{ Enum []string }
		Properties map[string]json.RawMessage
		Required   []string
	}
	var schema struct {
		Properties map[string]property
		Defs       map[string]property `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, k := range v1Keys {
		want = append(want, k.name)
		p := schema.Properties[k.name]
		if values := append(p.Enum, p.Items.Enum...); !slices.Equal(values, k.values) {
			t.Errorf("%s: the schema has the values %q, the code %q", k.name, values, k.values)
		}
	}
	for name := range schema.Properties {
		if !isBaseKey(name) {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has the keys %q, the code %q", got, want)
	}
	if schema.Properties["skill_format"].Const != FormatV1 {
		t.Errorf("skill_format is %q", schema.Properties["skill_format"].Const)
	}
	origin := schema.Defs["origin"]
	for _, key := range originKeys {
		if _, ok := origin.Properties[key]; !ok {
			t.Errorf("the schema's origin has no %s", key)
		}
	}
	if len(origin.Properties) != len(originKeys) || !slices.Equal(origin.Required, []string{"package", "version", "source_hash"}) {
		t.Errorf("the schema's origin is %+v", origin)
	}
}

// Every key that is read has its row in the table of section 3, and in that of no other.
func TestKeysAreSpecified(t *testing.T) {
	page, err := os.ReadFile("../corteza.skill-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## 3. Keys\n")
	section, _, _ := strings.Cut(rest, "\n### ")
	for _, k := range v1Keys {
		if strings.Count(section, "\n| `"+k.name+"` | ") != 1 {
			t.Errorf("%s has no row in section 3", k.name)
		}
	}
	if rows := strings.Count(section, "\n| `"); rows != len(v1Keys)+1 { // and x-…
		t.Errorf("%d rows for %d keys", rows, len(v1Keys))
	}
}
