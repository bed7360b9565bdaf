package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
)

// A ruleCase shows one rule: a skill that breaks it, and a near one that does not.
// A skill is a SKILL.md, or files behind lines "-- path --".
type ruleCase struct {
	rule string
	bad  string
	good string
	opt  LintOptions
}

const okSkill = "---\nname: x\ndescription: Does x.\n---\nDo it.\n"

// meta puts lines into okSkill's frontmatter, body text behind "---".
func meta(lines string) string {
	head, body, found := strings.Cut(lines, "---\n")
	if !found {
		body = "Do it.\n"
	}
	return "---\nname: x\ndescription: Does x.\n" + head + "---\n" + body
}

func v1Meta(lines string) string { return meta("skill_format: corteza.skill/v1\n" + lines) }

func named(name string) string { return "---\nname: " + name + "\ndescription: Does x.\n---\nDo it.\n" }

func with(path, content string) string {
	return "-- SKILL.md --\n" + okSkill + "-- " + path + " --\n" + content
}

var portable, publish = LintOptions{Portable: true}, LintOptions{Publish: true}

var ruleCases = []ruleCase{
	{RuleNoSkillFile, "-- README.md --\nx\n", okSkill, LintOptions{}},
	{RuleFrontmatter, "# x\n", okSkill, LintOptions{}},
	{RuleTwoFrontmatters, okSkill[:len(okSkill)-7] + "---\nname: y\n---\nDo it.\n", okSkill[:len(okSkill)-7] + "---\n\nDo it.\n\n---\n", LintOptions{}},
	{RuleDashes, meta("license: a---b\n"), meta("license: a--b\n"), LintOptions{}},
	{RuleBOM, "\ufeff" + okSkill, okSkill, LintOptions{}},
	{RuleCRLF, strings.ReplaceAll(okSkill, "\n", "\r\n"), okSkill[:len(okSkill)-1] + "\r\n", LintOptions{}},
	{RuleEncoding, meta("---\na\xff\n"), meta("---\na\u00ff\n"), LintOptions{}},
	{RuleYAMLSize, meta("license: " + strings.Repeat("x", MaxFrontmatter) + "\n"), meta("license: " + strings.Repeat("x", MaxFrontmatter-100) + "\n"), LintOptions{}},
	{RuleYAMLSyntax, meta("license: [a\n"), meta("license: a\n"), LintOptions{}},
	{RuleYAMLDocuments, meta("...\nlicense: a\n"), meta("license: '...'\n"), LintOptions{}},
	{RuleYAMLRoot, "---\n- name: x\n---\nDo it.\n", okSkill, LintOptions{}},
	{RuleYAMLKey, meta("metadata:\n  1: a\n"), meta("metadata:\n  '1': a\n"), LintOptions{}},
	{RuleYAMLDuplicate, meta("name: y\n"), meta("metadata:\n  name: y\n"), LintOptions{}},
	{RuleYAMLAnchor, meta("license: &a b\n"), meta("license: a&b\n"), LintOptions{}},
	{RuleYAMLTag, meta("license: !a b\n"), meta("license: a!b\n"), LintOptions{}},
	{RuleYAMLMerge, meta("metadata:\n  <<: {a: b}\n"), meta("metadata:\n  '<<': b\n"), LintOptions{}},
	{RuleYAMLDepth, meta("x-a: [[[[[[[[]]]]]]]]\n"), meta("x-a: [[[[[[[]]]]]]]\n"), LintOptions{}},
	{RuleYAMLQuote, meta("license: see: LICENSE\n"), meta("license: see:LICENSE\n"), LintOptions{}},
	{RuleYAMLComment, "---\nname: x\ndescription: Does C # and F#\n---\nDo it.\n", "---\nname: x\ndescription: 'Does C # and F#'\n---\nDo it.\n", LintOptions{}},
	{RuleYAMLComment, "---\nname: x\ndescription: Does: C # and F#\n---\nDo it.\n", "---\nname: x\ndescription: 'Does: C'  # and more\n---\nDo it.\n", LintOptions{}},
	{RuleYAMLComment, "---\nname: x\ndescription: # nothing\n---\nDo it.\n", "---\nname: x\ndescription: Does C#, F#\n---\nDo it.\n", LintOptions{}},
	{RuleYAMLComment, meta("compatibility: git # 2.40\n"), meta("license: MIT # see LICENSE\n"), LintOptions{}},
	{RuleYAMLComment, "---\nname: x\ndescription: two\n  lines # cut\n---\nDo it.\n", "---\nname: x\ndescription: |\n  two # lines\n  # all of it\n---\nDo it.\n", LintOptions{}},
	{RuleFlow, meta("metadata: {a: b}\n"), meta("metadata:\n  a: b\n"), LintOptions{}},

	{RuleNameMissing, "---\ndescription: d\n---\nDo it.\n", okSkill, LintOptions{}},
	{RuleNameLength, named(strings.Repeat("a", 65)), "-- dir --\n" + strings.Repeat("a", 64) + "-- SKILL.md --\n" + named(strings.Repeat("a", 64)), LintOptions{}},
	{RuleNameChars, named("X"), okSkill, LintOptions{}},
	{RuleNameDir, named("y"), okSkill, LintOptions{}},
	{RuleNameASCII, named("é"), okSkill, publish},
	{RuleNameDevice, named("con"), "-- dir --\ncon0-- SKILL.md --\n" + named("con0"), LintOptions{}},

	{RuleDescMissing, "---\nname: x\ndescription: ' '\n---\nDo it.\n", okSkill, LintOptions{}},
	{RuleDescLength, "---\nname: x\ndescription: " + strings.Repeat("d", 1025) + "\n---\nDo it.\n", "---\nname: x\ndescription: " + strings.Repeat("ü", 1024) + "\n---\nDo it.\n", LintOptions{}},
	{RuleFieldType, meta("license: [MIT]\n"), meta("license: MIT\n"), LintOptions{}},
	{RuleNotString, meta("license: no\n"), meta("license: 'no'\n"), LintOptions{}},
	{RuleCompatLength, meta("compatibility: " + strings.Repeat("c", 501) + "\n"), meta("compatibility: " + strings.Repeat("c", 500) + "\n"), LintOptions{}},
	{RuleMetaType, meta("metadata: a\n"), meta("metadata:\n"), LintOptions{}},
	{RuleMetaValue, meta("metadata:\n  version: 1.0\n"), meta("metadata:\n  version: 1.0.0\n"), LintOptions{}},
	{RuleAllowedTools, meta("allowed-tools: Read, Grep\n"), meta("allowed-tools: Read Bash(a, b)\n"), LintOptions{}},
	{RuleUnknownKey, meta("licence: MIT\n"), meta("license: MIT\n"), LintOptions{}},
	{RuleHostKey, meta("argument-hint: FILE\n"), meta("metadata:\n  argument-hint: FILE\n"), portable},
	{RuleHostBody, meta("---\nDo $ARGUMENTS.\n"), meta("---\nDo it. <!-- note -->\n"), portable},
	{RuleHostGate, v1Meta("model_invocation: user-only\ndisable-model-invocation: true\n"), v1Meta("model_invocation: auto\n"), portable},
	{RuleHostGate, v1Meta("model_invocation: user-only\n"), v1Meta("model_invocation: model-only\ncritical: [model_invocation]\n"), portable},
	{RuleHostGate, v1Meta("tools: {allow: [read]}\n"), okSkill, portable},
	{RuleHostGate, v1Meta("side_effects: [none]\n"), okSkill, portable},
	{RuleHostGate, v1Meta("tools: {deny: [bash]}\n"), okSkill, portable},
	{RuleLoadCommand, meta("---\nNow: !`date`\n"), meta("---\nNow: `date`\n"), LintOptions{}},
	{RuleBodyEmpty, meta("---\n\n"), okSkill, LintOptions{}},
	{RuleBodyLines, meta("---\n" + strings.Repeat("a\n", 501)), meta("---\n" + strings.Repeat("a\n", 500)), LintOptions{}},
	{RuleHiddenText, with("notes.md", "a\u202eb"), with("logo.png", "\x00a\u202eb"), LintOptions{}},
	{RuleControl, "---\nname: x\ndescription: \"a\\e[2Jb\"\n---\nDo it.\n", "---\nname: x\ndescription: \"a\\tb\\n\"\n---\nDo it.\n", LintOptions{}},
	{RuleControl, meta("metadata:\n  a: \"\\u009b2J\"\n"), meta("metadata:\n  a: \"\\u00e9\"\n"), LintOptions{}},
	{RuleZeroWidth, meta("---\na\u200bb\n"), meta("---\n👩\u200d💻\n"), LintOptions{}},

	{RuleFormat, meta("skill_format: v1\n"), v1Meta(""), LintOptions{}},
	{RuleFormatUnsupported, meta("skill_format: corteza.skill/v2\n"), v1Meta(""), LintOptions{}},
	{RuleNoFormat, meta("side_effects: [none]\n"), v1Meta("side_effects: [none]\n"), LintOptions{}},
	{RuleDualEncoding, v1Meta("metadata:\n  corteza-attach: 'true'\n"), v1Meta("metadata:\n  corteza-skill-format: corteza.skill/v1\n"), LintOptions{}},
	{RuleTopLevel, v1Meta(""), meta("metadata:\n  corteza-skill-format: corteza.skill/v1\n"), portable},
	{RuleIndent, v1Meta("tools:\nallow: [a]\n"), v1Meta("tools:\n  allow: [a]\n"), LintOptions{}},
	{RuleModelInvocation, v1Meta("model_invocation: never\n"), v1Meta("model_invocation: disabled\n"), LintOptions{}},
	{RuleModelOnly, v1Meta("model_invocation: model-only\n"), v1Meta("model_invocation: model-only\ncritical: [model_invocation]\n"), LintOptions{}},
	{RuleInvocationConflict, v1Meta("user-invocable: false\n"), v1Meta("user-invocable: true\n"), LintOptions{}},
	{RuleSideEffects, v1Meta("side_effects: [none, session]\n"), v1Meta("side_effects: [session]\n"), LintOptions{}},
	{RuleTools, v1Meta("tools: read\n"), v1Meta("tools: {allow: [read]}\n"), LintOptions{}},
	{RuleToolName, v1Meta("tools: {allow: ['a*']}\n"), v1Meta("tools: {allow: ['a::*']}\n"), LintOptions{}},
	{RuleToolInterpreter, v1Meta("tools: {allow: [bash]}\n"), v1Meta("tools: {deny: [bash]}\n"), LintOptions{}},
	{RuleToolUnreachable, v1Meta("tools: {allow: [a::b], deny: ['a::*']}\n"), v1Meta("tools: {allow: [a::b], deny: [a::c]}\n"), LintOptions{}},
	{RuleTrust, v1Meta("trust: full\n"), v1Meta("trust: package\n"), LintOptions{}},
	{RuleLibraryDepends, v1Meta("library_depends: [a b]\n"), v1Meta("library_depends: [ab]\n"), LintOptions{}},
	{RuleAttach, v1Meta("attach: 'no'\n"), v1Meta("attach: false\n"), LintOptions{}},
	{RuleGeneratedFrom, v1Meta("generated_from: {package: p}\n"), v1Meta("generated_from: {package: p, version: 1, source_hash: 'sha256:" + strings.Repeat("0", 64) + "'}\n"), LintOptions{}},
	{RuleDerivedFrom, v1Meta("derived_from: []\n"), v1Meta("derived_from: {package: p, version: 1, source_hash: 'sha256:" + strings.Repeat("0", 64) + "'}\n"), LintOptions{}},
	{RuleArguments, v1Meta("arguments: [file]\n"), v1Meta("arguments: {schema: {type: object}}\n"), LintOptions{}},
	{RulePositional, v1Meta("arguments: {schema: {type: object}, positional: [a]}\n"), v1Meta("arguments: {schema: {type: object, properties: {a: {}}}, positional: [a]}\n"), LintOptions{}},
	{RuleInteraction, v1Meta("interaction: batch\n"), v1Meta("interaction: returning\n"), LintOptions{}},
	{RuleCritical, v1Meta("critical: [colour]\n"), v1Meta("critical: [trust]\n"), LintOptions{}},
	{RuleUnknownField, v1Meta("colour: red\n"), v1Meta("x-colour: red\n"), LintOptions{}},
	{RuleNearSafety, v1Meta("tool: {allow: [a]}\n"), v1Meta("x-tool: {allow: [a]}\n"), LintOptions{}},

	{RuleSkillFileCase, "-- skill.md --\n" + okSkill, okSkill, LintOptions{}},
	{RuleNested, with("sub/SKILL.md", okSkill), with("sub/skill-notes.md", "a\n"), LintOptions{}},
	{RulePathUnsafe, with(`a\b`, "a"), with("a/b", "a"), LintOptions{}},
	{RulePathPortable, with("aux.md", "a"), with("auxiliary.md", "a"), LintOptions{}},
	{RulePathCollision, with("a/x.md", "a-- A/y.md --\nb"), with("a/x.md", "a-- a/y.md --\nb"), publish},
	{RulePathCollision, with("\ufb01.md", "a-- fi.md --\nb"), with("fi.md", "a-- fl.md --\nb"), publish},
	{RulePathCollision, with("A.md", "a-- a.md --\nb"), with("A.md", "a-- b.md --\nb"), publish},
	{RuleTooBig, "-- 513 files --\n", "-- 511 files --\n", publish},
	{RuleTooBigInstall, "-- 5000 files --\n", "-- 4999 files --\n", LintOptions{}},
	{RuleLink, with("a.md", "link:SKILL.md"), with("a.md", "SKILL.md"), publish},
	{RuleLinkEscape, with("a.md", "link:../x"), with("b/a.md", "link:../SKILL.md"), LintOptions{}},
	{RuleFileType, with("a", "pipe:"), with("a", "pipe"), LintOptions{}},
	{RuleSetID, with("a", "setuid:"), with("a", "exec:"), LintOptions{}},
	{RuleLFS, with("a.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), with("a.md", "version https://git-lfs.github.com/ is a pointer\n"), LintOptions{}},
	{RuleBytecode, with("__pycache__/a.pyc", "x"), with("a.py", "x"), LintOptions{}},
	{RuleSidecarBroken, with("SKILL.json", "{"), with("SKILL.json", "{}"), LintOptions{}},
	{RuleSidecarBroken, "-- SKILL.json --\n[]\n", "-- SKILL.json --\n{}\n", LintOptions{}},
	{RuleSidecarKeys, with("SKILL.json", `{"icon": "x"}`), with("SKILL.json", `{"name": "x"}`), LintOptions{}},
	{RuleSidecar, with("SKILL.json", `{"name": "other"}`), with("SKILL.json", `{"description": ""}`), LintOptions{}},
	{RuleUnreadable, with("a.md", "broken:"), with("a.md", "a"), LintOptions{}},
}

func TestRules(t *testing.T) {
	tested := map[string]bool{RuleLegacyTools: true, RuleSidecarAlone: true} // TestReadSidecar, TestReadWith
	for _, c := range ruleCases {
		tested[c.rule] = true
		severity := lookupRule(c.rule).Severity
		if c.opt.Publish && lookupRule(c.rule).Publish {
			severity = diag.SeverityError
		}
		if c.opt.Portable && c.rule == RuleHostKey {
			severity = diag.SeverityWarning
		}
		found := slices.DeleteFunc(lintText(c.bad, c.opt), func(f diag.Finding) bool { return f.Rule != c.rule })
		if len(found) == 0 || found[0].Severity != severity || found[0].File == "" || found[0].Message == "" {
			t.Errorf("%s: findings %v, want one of severity %s", c.rule, found, severity)
		}
		for _, f := range lintText(c.good, c.opt) {
			if f.Rule == c.rule {
				t.Errorf("%s: found where nothing is wrong: %v", c.rule, f)
			}
		}
	}
	for _, r := range Rules() {
		if !tested[r.ID] {
			t.Errorf("%s has no case", r.ID)
		}
	}
	if !slices.IsSortedFunc(Rules(), func(a, b RuleDoc) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("Rules is not sorted")
	}
}

// lintText lints a skill called x, whose files are written as in ruleCase. Contents
// "link:", "pipe:", "setuid:", "exec:" and "broken:" stand for kinds of files.
func lintText(text string, opt LintOptions) []diag.Finding {
	fsys, dir := brokenFS{fstest.MapFS{}}, "x"
	if !strings.HasPrefix(text, "-- ") {
		text = "-- SKILL.md --\n" + text
	}
	for part := range strings.SplitSeq("\n"+text, "-- ") {
		path, content, ok := strings.Cut(part, " --\n")
		var n int
		switch _, err := fmt.Sscanf(path, "%d files", &n); {
		case err == nil:
			fsys.MapFS["SKILL.md"] = &fstest.MapFile{Data: []byte(okSkill)}
			for i := range n {
				fsys.MapFS[fmt.Sprintf("f%d", i)] = &fstest.MapFile{}
			}
		case path == "dir":
			dir = content
		case ok:
			fsys.MapFS[path] = mapFile(content)
		}
	}
	return Lint(fsys, dir, opt)
}

func mapFile(content string) *fstest.MapFile {
	f := &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	kind, rest, _ := strings.Cut(content, ":")
	switch kind {
	case "link":
		f.Mode, f.Data = fs.ModeSymlink, []byte(rest)
	case "pipe":
		if strings.HasSuffix(content, ":") {
			f.Mode = fs.ModeNamedPipe
		}
	case "setuid":
		f.Mode |= fs.ModeSetuid
	case "exec":
		f.Mode |= 0o111
	}
	return f
}

// A brokenFS fails to read the files whose content is "broken:".
type brokenFS struct{ fstest.MapFS }

func (b brokenFS) ReadFile(name string) ([]byte, error) {
	if f := b.MapFS[name]; f != nil && string(f.Data) == "broken:" {
		return nil, errors.New("input/output error")
	}
	return b.MapFS.ReadFile(name)
}

func TestLintStrict(t *testing.T) {
	for _, f := range lintText(meta("licence: MIT\nargument-hint: x\n"), LintOptions{Strict: true}) {
		if f.Severity == diag.SeverityWarning {
			t.Errorf("%v is a warning", f)
		}
		if f.Rule == RuleHostKey && f.Severity != diag.SeverityInfo {
			t.Errorf("%v: remarks stay remarks", f)
		}
	}
}

// Fixing all that can be fixed leaves none of it, and no other text changes.
func TestFixes(t *testing.T) {
	src := "\ufeff---\nname: x\ndescription: Usage: call it\nlicense: no\nallowed-tools:\n  - Read # files\n  - Bash(git:*)\nmetadata:\n  version: 1.10\n---\nBody:  stays \n"
	findings := lintFile([]byte(src), nil, "x", LintOptions{})
	fixed := string(Apply([]byte(src), Fixes(findings)))
	want := "---\nname: x\ndescription: 'Usage: call it'\nlicense: \"no\"\nallowed-tools: \"Read Bash(git:*)\"\nmetadata:\n  version: \"1.10\"\n---\nBody:  stays \n"
	if fixed != want {
		t.Errorf("got\n%s\nwant\n%s", fixed, want)
	}
	if left := lintFile([]byte(fixed), nil, "x", LintOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestApply(t *testing.T) {
	src := []byte("abcdef")
	for _, c := range []struct {
		want  string
		fixes []diag.Fix
	}{
		{"abcdef", nil},
		{"XbcdeY", []diag.Fix{{Start: 5, End: 6, Text: "Y"}, {Start: 0, End: 1, Text: "X"}}},
		{"abXdef", []diag.Fix{{Start: 2, End: 3, Text: "X"}, {Start: 2, End: 4, Text: "Y"}}}, // overlaps
		{"aXYbcdef", []diag.Fix{{Start: 1, End: 1, Text: "X"}, {Start: 1, End: 1, Text: "Y"}}},
		{"abcdef", []diag.Fix{{Start: 5, End: 7}, {Start: -1, End: 2}, {Start: 3, End: 2}}},
	} {
		if got := string(Apply(src, c.fixes)); got != c.want {
			t.Errorf("Apply(%v) = %q, want %q", c.fixes, got, c.want)
		}
	}
	if string(src) != "abcdef" {
		t.Error("Apply changed its argument")
	}
}

func ExampleLint() {
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: notes\ndescription: Use: when asked\n---\nWrite.\n")}}
	for _, f := range Lint(fsys, "release-notes", LintOptions{}) {
		fmt.Printf("%s:%d:%d: %s %s: %s\n", f.File, f.Line, f.Column, f.Severity, f.Rule, f.Message)
	}
	// Output:
	// SKILL.md:2:7: error SPEC-NAME-DIR: name "notes" differs from its directory "release-notes"
	// SKILL.md:3:14: error SPEC-YAML-QUOTE: the value holds a colon and must be quoted
}
