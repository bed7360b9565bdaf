package skill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

const misindented = `---
skill_format: corteza.skill/v1
name: autoresearch
description: Bounded autonomous research loop into a pensar vault.
model_invocation: user-only
side_effects: [filesystem, network]
library_depends: [pensar, llm.api]
attach: false
tools:
allow: [web_search, pensar_ingest_url, pensar_search_pages,
pensar_related_pages, pensar_write_page, finalize]
trust: package
interaction: returning
---
Research the question, write what was found to the vault, then stop.
`

// v1 makes a skill of format v1 with these keys.
func v1(lines string) []byte { return minimal("skill_format: corteza.skill/v1\n" + lines) }

func TestExampleIsClean(t *testing.T) {
	d := mustRead(t, []byte(exampleSkill))
	if len(d.Warnings) != 0 || d.State != Ready {
		t.Fatalf("state %s, warnings %v", d.State, d.Warnings)
	}
	v := d.V1
	if d.Invocation != UserOnly || v.Trust != "package" || v.Interaction != "returning" || v.Attach || v.Encoding != TopLevel {
		t.Errorf("got %+v", v)
	}
	if !slices.Equal(d.SideEffects, []string{"filesystem", "network"}) {
		t.Errorf("side effects %q", d.SideEffects)
	}
	if want := []Dependency{{Name: "pensar", Ecosystem: "r"}, {Name: "llm.api", Ecosystem: "r"}}; !slices.Equal(v.LibraryDepends, want) {
		t.Errorf("library_depends %v", v.LibraryDepends)
	}
	if len(d.Tools.Allow) != 6 || !d.Tools.Limited || d.Tools.Allow[5].String() != "finalize" {
		t.Errorf("tools %+v", d.Tools)
	}
}

// The example as it is often pasted: allow stands at the margin.
func TestMisindentedExample(t *testing.T) {
	d := mustRead(t, []byte(misindented))
	if d.Tools == nil || !d.Tools.Limited || len(d.Tools.Allow) != 0 {
		t.Errorf("tools %+v, want an empty allow list", d.Tools)
	}
	if len(d.Warnings) != 1 {
		t.Fatalf("warnings %v", d.Warnings)
	}
	w := d.Warnings[0]
	if w.Rule != RuleIndent || w.Severity != diag.SeverityError || w.Line != 10 || !strings.Contains(w.Message, "did you mean tools.allow?") {
		t.Errorf("got %+v", w)
	}
	fixed := Apply([]byte(misindented), Fixes(d.Warnings))
	if d := mustRead(t, fixed); len(d.Warnings) != 0 || len(d.Tools.Allow) != 6 {
		t.Errorf("after the fix %v, tools %+v, in %s", d.Warnings, d.Tools, fixed)
	}
}

// effects returns a check that a skill is read with exactly these side effects.
func effects(want ...string) func(*Document) bool {
	return func(d *Document) bool { return slices.Equal(d.SideEffects, want) }
}
func noTools(d *Document) bool {
	return d.Tools != nil && d.Tools.Limited && len(d.Tools.Allow) == 0
}
func disabled(d *Document) bool { return d.Invocation == Disabled }
func unsupported(d *Document) bool {
	return d.State == Unsupported && code(d.Problem) == CodeFormatUnsupported
}
func gated(d *Document) bool  { return d.State == Gated && len(d.V1.LibraryDepends) == 0 }
func noArgs(d *Document) bool { return d.V1.NoUserArgs && d.V1.Arguments == nil }

var hash = "sha256:" + strings.Repeat("ab", 32)

// Each line of v1 keys has these findings and holds this.
var failClosedCases = []struct {
	lines, rules string
	holds        func(*Document) bool
}{
	{"", "", func(d *Document) bool {
		return d.Invocation == Auto && d.SideEffects == nil && d.Tools == nil && d.V1.Trust == "local" && d.V1.Interaction == "conversational"
	}},
	{"model_invocation: 'disabled'", "", disabled},
	{"model_invocation: Auto", RuleModelInvocation, disabled},
	{"model_invocation: [auto]", RuleModelInvocation, disabled},
	{"model_invocation:", RuleModelInvocation, disabled},
	{"model_invocation: model-only", RuleModelOnly, func(d *Document) bool { return d.Invocation == ModelOnly }},
	{"model_invocation: model-only\ncritical: [model_invocation]", "", func(d *Document) bool { return d.Invocation == ModelOnly }},
	{"model_invocation: auto\ndisable-model-invocation: true", RuleHostKey + " " + RuleInvocationConflict, func(d *Document) bool { return d.Invocation == UserOnly }},
	{"model_invocation: user-only\ndisable-model-invocation: true", RuleHostKey, func(d *Document) bool { return d.Invocation == UserOnly }},
	{"modelInvocation: auto", RuleNearSafety, disabled},
	{"model-invocation: auto", RuleNearSafety, disabled},

	{"side_effects: [none]", "", effects("none")},
	{"side_effects: [none, network]", RuleSideEffects, effects("network", "external")},
	{"side_effects: [disk]", RuleSideEffects, effects("external")},
	{"side_effects: [session, session]", RuleSideEffects, effects("session", "external")},
	{"side_effects: network", RuleSideEffects, effects("external")},
	{"side_effects: []", RuleSideEffects, effects("external")},
	{"side_efects: [none]", RuleNearSafety, effects("external")},

	{"tools: {allow: [read, 'pensar::*', 'git(commit)']}", "", func(d *Document) bool { return len(d.Tools.Allow) == 3 }},
	{"tools: {deny: [read]}", "", func(d *Document) bool { return !d.Tools.Limited && len(d.Tools.Deny) == 1 }},
	{"tools: {allow: []}", "", noTools},
	{"tools: {}", RuleTools, noTools},
	{"tools:", RuleTools, noTools},
	{"tools: [read]", RuleTools, noTools},
	{"tools: {allow: read}", RuleTools, noTools},
	{"tools: {allow: [read, read]}", RuleTools, noTools},
	{"tools: {allow: [read], only: [x]}", RuleTools, noTools},
	{"tools: {allow: ['*']}", RuleToolName, noTools},
	{"tools: {allow: [read], deny: ['a b']}", RuleToolName, noTools},
	{"tools: {allow: [" + strings.Repeat("t, ", 128) + "t]}", RuleTools, noTools},
	{"tools: {allow: [read, bash]}", RuleToolInterpreter, func(d *Document) bool { return len(d.Tools.Allow) == 2 }},
	{"tools: {allow: [read], deny: [read]}", RuleToolUnreachable, func(d *Document) bool { return len(d.Tools.Allow) == 1 }},
	{"tool: {allow: [read]}", RuleNearSafety, noTools},
	{"allow: [read]", RuleNearSafety, noTools},

	{"trust: managed", "", func(d *Document) bool { return d.V1.Trust == "managed" }},
	{"trust: root", RuleTrust, func(d *Document) bool { return d.V1.Trust == "local" }},
	{"trsut: managed", RuleNearSafety, func(d *Document) bool { return d.V1.Trust == "local" }},

	{"library_depends: [pensar, {name: '@a/b', ecosystem: npm, version: ^1}]", "", func(d *Document) bool {
		return slices.Equal(d.V1.LibraryDepends, []Dependency{{"pensar", "", "r"}, {"@a/b", "^1", "npm"}})
	}},
	{"library_depends: pensar", RuleLibraryDepends, gated},
	{"library_depends: [{version: 1}]", RuleLibraryDepends, gated},
	{"library_depends: [{name: x.y, ecosystem: cobol}]", RuleLibraryDepends, gated},
	{"library_depends: ['x; y']", RuleLibraryDepends, gated},
	{"library_depends: [{name: xy, path: z}]", RuleLibraryDepends, gated},

	{"attach: true", "", func(d *Document) bool { return d.V1.Attach }},
	{"attach: 'true'", RuleAttach, func(d *Document) bool { return !d.V1.Attach }},
	{"attach: yes", RuleAttach, func(d *Document) bool { return !d.V1.Attach }},

	{"generated_from: {package: p, version: 1.10, source_hash: '" + hash + "'}", "", func(d *Document) bool { return d.V1.GeneratedFrom.Map()["version"] == "1.10" }},
	{"generated_from: {package: p, version: 1, source_hash: '" + hash + "', integrity: 'h1:x=', summarized_by: m}", "", func(d *Document) bool {
		return d.V1.GeneratedFrom.Integrity == "h1:x=" && d.V1.GeneratedFrom.SummarizedBy == "m"
	}},
	{"generated_from: {package: p, version: 1.10}", RuleGeneratedFrom, func(d *Document) bool { return d.V1.GeneratedFrom == nil }},
	{"generated_from: {package: p, version: 1, source_hash: 'sha256:xy'}", RuleGeneratedFrom, func(d *Document) bool { return d.V1.GeneratedFrom == nil }},
	{"generated_from: p", RuleGeneratedFrom, func(d *Document) bool { return d.V1.GeneratedFrom == nil }},
	{"derived_from: {package: p, version: 1, source_hash: '" + hash + "', color: x}", RuleUnknownField, func(d *Document) bool { return d.V1.DerivedFrom.Package == "p" }},
	{"derived_from: {package: [p]}", RuleDerivedFrom, func(d *Document) bool { return d.V1.DerivedFrom == nil }},

	{"interaction: oneshot", RuleInteraction, func(d *Document) bool { return d.V1.Interaction == "conversational" }},

	{"critical: [tools, arguments.schema]", "", func(d *Document) bool { return d.State == Ready && len(d.V1.Critical) == 2 }},
	{"critical: [x-mine]", RuleCritical, unsupported},
	{"critical: tools", RuleCritical, unsupported},
	{"critcal: [tools]", RuleNearSafety, unsupported},
	{"colour: red", RuleUnknownField, func(d *Document) bool { return d.State == Ready }},
	{"x-colour: {r: 1}", "", func(d *Document) bool { return len(d.V1.Extensions) == 1 }},

	{"arguments: [a]", RuleArguments, noArgs},
	{"arguments: {schema: {type: string}}", RuleArguments, noArgs},
	{"arguments: {shape: {}}", RuleArguments, noArgs},
	{"arguments: {schema: {type: object, required: [b], properties: {a: {}, b: {type: integer, default: 1}}}}", "", func(d *Document) bool {
		return slices.Equal(d.V1.Arguments.Positional, []string{"b"}) && strings.Contains(string(d.V1.Arguments.Schema), `"default":1`)
	}},
	{"arguments: {schema: {type: object, properties: {a: {}}}, positional: [a]}", "", func(d *Document) bool { return slices.Equal(d.V1.Arguments.Positional, []string{"a"}) }},
	{"arguments: {schema: {type: object, properties: {a: {}}}, positional: [b]}", RulePositional, func(d *Document) bool { return len(d.V1.Arguments.Positional) == 0 }},
}

// Whatever is not understood is read as the strictest value.
func TestV1FailsClosed(t *testing.T) {
	for _, c := range failClosedCases {
		d := mustRead(t, v1(c.lines+"\n"))
		if got := strings.Join(rulesOf(d.Warnings), " "); got != c.rules {
			t.Errorf("%s: findings %q, want %q", c.lines, got, c.rules)
		}
		if d.V1 == nil || !c.holds(d) {
			t.Errorf("%s: got %s, %v, %+v", c.lines, d.State, d.Invocation, d.V1)
		}
	}
}

func TestArgumentSchemas(t *testing.T) {
	for schema, ok := range map[string]bool{
		"{type: object}": true,
		"{type: object, properties: {pattern: {type: string}, $ref: {}}}":                     true, // names of arguments, not keywords
		"{type: object, properties: {a: {$ref: '#/$defs/x'}}, $defs: {x: {}}}":                true,
		"{type: object, properties: {a: {enum: [{$ref: x}]}}}":                                true, // data
		"{type: object, properties: {a: {pattern: '^[a-z]+$'}}}":                              true,
		"{type: object, $schema: 'https://json-schema.org/draft/2020-12/schema'}":             true,
		"{type: object, $schema: 'http://json-schema.org/draft-07/schema#'}":                  false,
		"{type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}":                       false,
		"{type: object, allOf: [{$ref: other.json}]}":                                         false,
		"{type: object, $dynamicRef: '#/x'}":                                                  false,
		`{type: object, properties: {a: {pattern: '(?=x)'}}}`:                                 false,
		`{type: object, patternProperties: {'(a)\1': {}}}`:                                    false,
		"{type: object, properties: {a: {default: .inf}}}":                                    false,
		"{type: object, properties: {a: {description: " + strings.Repeat("x", 17<<10) + "}}}": false,
		"{type: object, a: {a: {a: {a: {a: {}}}}}}":                                           true,
		"[object]": false,
	} {
		d := mustRead(t, v1("arguments: {schema: "+schema+"}\n"))
		if got := d.V1.Arguments != nil; got != ok {
			t.Errorf("%.80s: accepted is %v: %v", schema, got, d.Warnings)
		}
	}
	deep := v1("metadata:\n  corteza-skill-format: corteza.skill/v1\n  corteza-arguments: '{\"schema\":{\"type\":\"object\",\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}'\n")
	deep = []byte(strings.Replace(string(deep), "skill_format: corteza.skill/v1\n", "", 1))
	if d := mustRead(t, deep); d.V1.Arguments != nil {
		t.Error("a schema of seven levels was accepted")
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		lines, rules, format string
		state                State
	}{
		{"", "", "", Ready},
		{"skill_format: corteza.skill/v2\nbrand_new: 1\n", RuleFormatUnsupported, "corteza.skill/v2", Unsupported},
		{"skill_format: corteza.skill/v1.1\n", RuleFormat, "corteza.skill/v1.1", Unsupported},
		{"skill_format: corteza.skill/v01\n", RuleFormat, "corteza.skill/v01", Unsupported},
		{"skill_format: 1\n", RuleFormat, "1", Unsupported},
		{"skill_format:\n", RuleFormat, "", Unsupported},
		{"skill-format: corteza.skill/v1\ntools: {allow: []}\n", RuleNearSafety, "", Unsupported},
		{"metadata: {corteza-skill-format: corteza.skill/v9}\n", RuleFlow + " " + RuleFormatUnsupported, "corteza.skill/v9", Unsupported},
		{"side_effects: [none]\n", RuleNoFormat, "", Ready},
		{"tools: Read\narguments: [a]\n", RuleNoFormat + " " + RuleHostKey, "", Ready}, // not ours without skill_format
		{"attach: later\ncritical: yes\ntrust: full\n", "", "", Ready},
		{"tools: {deny: [bash]}\n", RuleNoFormat, "", Ready},
		{"arguments: {schema: {type: object}}\n", RuleNoFormat, "", Ready},
		{"attach: true\ncritical: [tools]\ntrust: package\n", RuleNoFormat, "", Ready},
		{"model_invocation: disabled\nlibrary_depends: [ab]\n", RuleNoFormat, "", Ready},
	} {
		d := mustRead(t, minimal(c.lines))
		if d.State != c.state || d.Format != c.format || (d.Problem != nil) != (c.state != Ready) {
			t.Errorf("%q: state %s, format %q, problem %v", c.lines, d.State, d.Format, d.Problem)
		}
		if got := strings.Join(rulesOf(d.Warnings), " "); got != c.rules {
			t.Errorf("%q: findings %q, want %q", c.lines, got, c.rules)
		}
		if d.Name != "x" || d.Description == "" {
			t.Errorf("%q: cannot be listed", c.lines)
		}
	}
}

func TestParseTool(t *testing.T) {
	for s, ok := range map[string]bool{
		"read": true, "pensar::ingest_url": true, "pensar::*": true, "Bash(git add:*)": true, "a::b(c d)": true, "mcp__x__y": true,
		"": false, "*": false, "a::": false, "::a": false, "a::*(x)": false, "a*": false, "a::b::c": false, "a()": false, "a(b": false, "a(b)c": false,
		"a b": false, "-x": false, "a((b))": false,
	} {
		tool, err := ParseTool(s)
		if (err == nil) != ok {
			t.Errorf("ParseTool(%q) = %v", s, err)
		}
		if err != nil && (tool != Tool{} || code(err) != RuleToolName) {
			t.Errorf("ParseTool(%q) = %v, %s", s, tool, code(err))
		}
	}
}

func FuzzParseTool(f *testing.F) {
	f.Add("pensar::ingest(url *)")
	f.Fuzz(func(t *testing.T, s string) {
		if tool, err := ParseTool(s); err == nil && tool.String() != s {
			t.Errorf("ParseTool(%q).String() = %q", s, tool)
		}
	})
}

func TestPreapproved(t *testing.T) {
	for _, c := range []struct{ allowed, tools, want string }{
		{"Read Grep", "{allow: [Read]}", "Read"},
		{"Read Bash", "{allow: ['Bash(git status)', Read]}", "Read Bash(git status)"},
		{"Bash(git status)", "{allow: [Bash]}", "Bash(git status)"},
		{"Read Bash", "{deny: [Bash]}", "Read"},
		{"Bash(git push) Bash(git status)", "{deny: ['Bash(git push)']}", "Bash(git status)"},
		{"Bash", "{deny: ['Bash(git push)']}", ""},
		{"p::a p::b", "{allow: ['p::*'], deny: ['p::b']}", "p::a"},
		{"p::a", "{deny: ['p::*']}", ""},
		{"Read ???", "{deny: [x]}", "Read"},
	} {
		d := mustRead(t, v1("allowed-tools: "+c.allowed+"\ntools: "+c.tools+"\n"))
		if got := strings.Join(d.Preapproved(), " "); got != c.want {
			t.Errorf("allowed-tools %s with tools %s: %q, want %q", c.allowed, c.tools, got, c.want)
		}
	}
	if got := mustRead(t, minimal("allowed-tools: Read\n")).Preapproved(); !slices.Equal(got, []string{"Read"}) {
		t.Errorf("without tools: %q", got)
	}
}

func ExampleRead() {
	d, err := Read([]byte("---\nname: release-notes\ndescription: Writes release notes.\nmetadata:\n  version: 1.10\n---\n# Steps\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name, d.Version, d.Invocation)
	_, err = Read([]byte("---\nname: release-notes\n---\n"))
	fmt.Println(errors.Is(err, diag.Code(CodeNoDescription)), err)
	// Output:
	// release-notes 1.10 auto
	// true SKILL.md:1: the skill has no description
}
