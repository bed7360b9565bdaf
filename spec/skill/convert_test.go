package skill

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestToPortable(t *testing.T) {
	got, err := ToPortable([]byte(exampleSkill))
	if err != nil {
		t.Fatal(err)
	}
	want := `---
name: autoresearch
description: Bounded autonomous research loop into a pensar vault.
metadata:
  corteza-skill-format: corteza.skill/v1
  corteza-model-invocation: user-only
  corteza-side-effects: filesystem network
  corteza-tools-allow: web_search pensar_ingest_url pensar_search_pages pensar_related_pages pensar_write_page finalize
  corteza-library-depends: pensar llm.api
  corteza-attach: "false"
  corteza-interaction: returning
---
Research the question, write what was found to the vault, then stop.
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d := mustRead(t, got)
	if len(d.Warnings) > 0 || d.V1 == nil || d.V1.Encoding != Portable || d.Invocation != UserOnly || len(d.Tools.Allow) != 6 {
		t.Errorf("read back: %v %+v", d.Warnings, d.V1)
	}
	if d.V1.Trust != "local" {
		t.Errorf("trust %s was carried", d.V1.Trust)
	}
}

func TestToTopLevel(t *testing.T) {
	src := v1Portable(`author: skl
  corteza-tools-allow: "[]"
  corteza-generated-from: '{"package":"p","version":"1.10","source_hash":"sha256:` + strings.Repeat("0a", 32) + `"}'
  corteza-arguments: '{"schema":{"type":"object","properties":{"n":{"default":1,"const":"1"}}}}'
  corteza-x-mine: "true"`)
	got, err := ToTopLevel(src)
	if err != nil {
		t.Fatal(err)
	}
	want := `---
name: x
description: Does x.
metadata:
  author: skl
skill_format: corteza.skill/v1
tools:
  allow: []
generated_from:
  package: p
  version: "1.10"
  source_hash: "sha256:` + strings.Repeat("0a", 32) + `"
arguments: {schema: {type: object, properties: {"n": {default: 1, const: "1"}}}}
x-mine: true
---
Do it.
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// v1Portable makes a skill in encoding B with these metadata lines.
func v1Portable(lines string) []byte {
	return minimal("metadata:\n  corteza-skill-format: corteza.skill/v1\n  " + lines + "\n")
}

// Only the lines of the format change, wherever metadata stands and however it is written.
func TestConvertKeepsTheRest(t *testing.T) {
	for name, lines := range map[string]string{
		"no metadata":       "license: MIT # ours\nskill_format: corteza.skill/v1\nattach: false\n",
		"metadata first":    "metadata:\n    a: b # c\n    d: |\n      text\n\nskill_format: corteza.skill/v1\nattach: true\n",
		"metadata in lines": "skill_format: corteza.skill/v1\nattach: true\nmetadata:\n  a: b\n# end\n",
		"empty metadata":    "metadata:\nskill_format: corteza.skill/v1\n",
		"null metadata":     "skill_format: corteza.skill/v1\nmetadata: {}\n",
		"braces":            "metadata: {a: b, c: d}\nskill_format: corteza.skill/v1\nattach: true\n",
		"windows":           "skill_format: corteza.skill/v1\r\nattach: true\r\n",
	} {
		src := minimal(lines)
		portable, err := ToPortable(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, kept := range []string{"license: MIT # ours", "a: b", "# c", "      text\n", "# end"} {
			if strings.Contains(lines, kept) && !strings.Contains(string(portable), kept) {
				t.Errorf("%s: %q is gone from\n%s", name, kept, portable)
			}
		}
		checkConversions(t, src)
	}
}

func TestConvertRefuses(t *testing.T) {
	for src, want := range map[string]string{
		string(minimal("")):                                                     "",
		string(v1("model_invocation: maybe\n")):                                 "cannot_convert",
		string(v1("metadata: x\n")):                                             "cannot_convert",
		string(v1("metadata:\n  corteza-attach: 'true'\n")):                     CodeDualEncoding,
		string(minimal("skill_format: corteza.skill/v2\n")):                     CodeFormatUnsupported,
		"---\n{name: x, description: d, skill_format: corteza.skill/v1}\n---\n": "cannot_convert",
		"---\nname: x\n---\n":                                                   CodeNoDescription,
	} {
		got, err := ToPortable([]byte(src))
		if code(err) != want || (err != nil) != (got == nil) {
			t.Errorf("ToPortable(%q) = %q, %v, want %s", src, got, err, want)
		}
		if err == nil && string(got) != src {
			t.Errorf("ToPortable(%q) = %q, want no change", src, got)
		}
	}
}

func TestDualEncoding(t *testing.T) {
	both := "attach: true\nmetadata:\n  corteza-skill-format: corteza.skill/v1\n"
	equal := v1(both + "  corteza-attach: \"true\"\n")
	if d := mustRead(t, equal); d.State != Ready || len(d.Warnings) != 0 {
		t.Errorf("equal encodings: %s %v", d.State, d.Warnings)
	}
	if got, err := ToPortable(equal); err != nil || bytes.Contains(got, []byte("skill_format:")) {
		t.Errorf("ToPortable of both: %s, %v", got, err)
	}
	for _, differ := range [][]byte{
		v1(both),
		v1(both + "  corteza-attach: \"false\"\n"),
		v1(both + "  corteza-attach: \"true\"\n  corteza-tools-allow: read\n"),
		minimal("side_effects: [none]\nmetadata:\n  corteza-skill-format: corteza.skill/v1\n"),
	} {
		if d := mustRead(t, differ); d.State != Invalid || code(d.Problem) != CodeDualEncoding || d.V1 != nil {
			t.Errorf("%s\nstate %s, problem %v", differ, d.State, d.Problem)
		}
	}
	host := minimal("arguments: [file]\ntrust: user\nmetadata:\n  corteza-skill-format: corteza.skill/v1\n")
	if d := mustRead(t, host); d.State != Ready || d.V1.Trust != "user" || d.V1.Arguments != nil {
		t.Errorf("a host's arguments beside encoding B: %s %v %+v", d.State, d.Problem, d.V1)
	}
}

// A bad value under metadata fails closed too.
func TestPortableFailsClosed(t *testing.T) {
	for lines, rule := range map[string]string{
		"corteza-model-invocation: maybe":    RuleModelInvocation,
		"corteza-attach: 'yes'":              RuleAttach,
		"corteza-tools-allow: '[1'":          RuleTools,
		"corteza-tools-allow: ''":            RuleTools,
		"corteza-side-effects: none network": RuleSideEffects,
		"corteza-arguments: '{'":             RuleArguments,
		"corteza-critical: everything":       RuleCritical,
		"corteza-tool-alow: read":            RuleNearSafety,
		"corteza-tool: read":                 RuleNearSafety,
		"corteza-trust: managed":             RuleNearSafety,
		"corteza-colour: red":                RuleUnknownField,
	} {
		d := mustRead(t, v1Portable(lines))
		if got := strings.Join(rulesOf(d.Warnings), " "); got != rule {
			t.Errorf("%s: findings %q, want %q", lines, got, rule)
		}
	}
}

// checkConversions holds the laws of both encodings for a file that can be converted.
func checkConversions(t *testing.T, src []byte) {
	t.Helper()
	portable, err := ToPortable(src)
	if err != nil {
		return
	}
	top, err := ToTopLevel(portable)
	if err != nil {
		t.Fatalf("ToTopLevel(%q), from %q: %v", portable, src, err)
	}
	again, err := ToPortable(top)
	if err != nil {
		t.Fatalf("ToPortable(%q), from %q: %v", top, src, err)
	}
	for _, c := range [][2][]byte{{portable, top}, {top, again}, {src, portable}} {
		a, b := factsOf(t, c[0]), factsOf(t, c[1])
		if key, same := sameFacts(a, b); !same {
			t.Fatalf("%s changed from %q to %q\n%s\n%s", key, a[key], b[key], c[0], c[1])
		}
	}
	if twice, err := ToPortable(portable); err != nil || !bytes.Equal(twice, portable) {
		t.Fatalf("ToPortable twice: %v\n%s\n%s", err, portable, twice)
	}
	if twice, err := ToTopLevel(top); err != nil || !bytes.Equal(twice, top) {
		t.Fatalf("ToTopLevel twice: %v\n%s\n%s", err, top, twice)
	}
	if !bytes.Equal(bodyOf(src), bodyOf(portable)) || !bytes.Equal(bodyOf(src), bodyOf(top)) {
		t.Fatalf("the body changed in\n%s\n%s", portable, top)
	}
}

func factsOf(t *testing.T, src []byte) map[string]string {
	t.Helper()
	r, p := open(src)
	if p != nil {
		t.Fatalf("%s: %q", p.Message, src)
	}
	return r.allFacts()
}

func bodyOf(src []byte) []byte {
	r, p := open(src)
	if p != nil {
		return nil
	}
	return src[r.fm.body:]
}

func FuzzEncodings(f *testing.F) {
	f.Add([]byte(exampleSkill))
	f.Add(v1("tools: {allow: [], deny: ['a::b(c, d)']}\nlibrary_depends: [ab, {name: cd, version: '>= 1'}]\nx-y: [1, 0x1f, .5, ~, 'no', \"\\u2028\"]\n"))
	f.Add(v1("arguments:\n  schema:\n    type: object\n    properties: {'on': {default: 012}}\nmetadata:\n  a: |+\n   b\n\ncritical: [tools]\n"))
	f.Add(v1Portable("corteza-critical: '[\"tools\"]'\n  corteza-x-a: '{\"b\":[1e3,null,true]}'"))
	f.Add(v1("metadata: {a: b}\nattach: TRUE\ninteraction: returning\n"))
	f.Fuzz(func(t *testing.T, src []byte) { checkConversions(t, src) })
}

func ExampleToPortable() {
	portable, err := ToPortable([]byte("---\nname: x\ndescription: Does x.\nskill_format: corteza.skill/v1\nside_effects: [none]\n---\n"))
	fmt.Print(string(portable), err)
	// Output:
	// ---
	// name: x
	// description: Does x.
	// metadata:
	//   corteza-skill-format: corteza.skill/v1
	//   corteza-side-effects: none
	// ---
	// <nil>
}
