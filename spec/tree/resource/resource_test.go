package resource_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree/resource"
)

func table(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

var bound = map[string]string{
	"name": "pdf", "skill_name": "my-skill", "context.version": "1.2.0", "context.a.b[0].c": "deep", "version": "1.2.0",
	"target_skill": "ghost", "evil": "{name} <name> $ARGUMENTS", "empty": "",
}

func TestInterpolate(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"arguments", "Review: $ARGUMENTS.", "Review: fast one."},
		{"arguments in brackets", "{$ARGUMENTS} <<$ARGUMENTS>>", "fast one fast one"},
		{"a longer word is not arguments", "$ARGUMENTS_OLD", "$ARGUMENTS_OLD"},
		{"double", "at <<context.version>>", "at 1.2.0"},
		{"brace", "at {context.version}/{name}", "at 1.2.0/pdf"},
		{"slot, hyphen equals underscore", "<skill-name> and <name>", "my-skill and pdf"},
		{"context path in a sentence", "New version is context.version.", "New version is 1.2.0."},
		{"context path, backticked", "is `context.version`", "is `1.2.0`"},
		{"context path, deep", "x context.a.b[0].c y", "x deep y"},
		{"context path and an extension", "v-context.version.txt", "v-1.2.0.txt"},
		{"context is a part of a word", "subcontext.version my.context.version", "subcontext.version my.context.version"},
		{"bare words stay", "name and `name` and version", "name and `name` and version"},
		{"unbound forms stay", "{nobody} <b> <<nobody>> context.nobody {a, b} <not this>", "{nobody} <b> <<nobody>> context.nobody {a, b} <not this>"},
		{"values are not filled again", "<evil>", "{name} <name> $ARGUMENTS"},
		{"empty value", "[{empty}]", "[]"},
		{"operators stay", "a << b >> c", "a << b >> c"},
		{"half forms", "<<name> {name <name", "<pdf {name <name"},
		{"beside each other", "{name}{name}<name>", "pdfpdfpdf"},
	} {
		if got := resource.Interpolate(tt.text, "fast one", table(bound)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := resource.Interpolate("{name} context.version $ARGUMENTS", "x", nil); got != "{name} context.version x" {
		t.Errorf("without lookup: %q", got)
	}
}

func TestInterpolateEnd(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		doubtful   bool
	}{
		{"Skill not found: target_skill", "Skill not found: ghost", true},
		{"Skill not found: target_skill.", "Skill not found: ghost.", true},
		{"Skill not found: nothing", "Skill not found: nothing", false},
		{"Usage: /debug <name> [args]", "Usage: /debug pdf [args]", false},
		{"Skill not found target_skill", "Skill not found target_skill", false},
		{"a: evil", "a: {name} <name> $ARGUMENTS", true},
		{"{name}: name", "pdf: pdf", true},
		{"Cancelled.", "Cancelled.", false},
		{"", "", false},
	} {
		got, doubtful := resource.InterpolateEnd(tt.text, "", table(bound))
		if got != tt.want || doubtful != tt.doubtful {
			t.Errorf("%q: %q %v, want %q %v", tt.text, got, doubtful, tt.want, tt.doubtful)
		}
	}
}

func TestMentions(t *testing.T) {
	known := func(n string) bool { _, ok := bound[n]; return ok || n == "change" }
	for _, tt := range []struct {
		text        string
		known, none []string
	}{
		{"Use <<context.x>>, {y}, <skill-name>, `z` and context.w.", []string{"context.x", "y", "skill_name", "z", "context.w"}, []string{"context.x", "y", "z", "context.w"}},
		{"bump version in change.files[0] for the name", []string{"version", "change.files[0]", "name"}, nil},
		{"`git log` and `a.b` in src/x", []string{"a.b"}, []string{"a.b"}},
		{"version and `version` and version", []string{"version"}, []string{"version"}},
		{"my_version, 2version, versions, x.version, <b>", nil, nil},
		{"$ARGUMENTS", nil, nil},
		{"Read measure-context.md, a/ctx.json and x.context.md", nil, nil},
		{"Write v-context.version and out/context.version.md", []string{"context.version", "context.version.md"}, nil},
		{"(context.x)", []string{"context.x"}, []string{"context.x"}},
	} {
		if got := resource.Mentions(tt.text, known); !slices.Equal(got, tt.known) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.known)
		}
		if got := resource.Mentions(tt.text, nil); !slices.Equal(got, tt.none) {
			t.Errorf("%q, nothing known: %q, want %q", tt.text, got, tt.none)
		}
	}
}

func TestTemplate(t *testing.T) {
	src := "# <skill-name> <name>\n<Name> <N> <a b> <skill_name> <nobody> <evil> <nobody>\n"
	if got := resource.Slots(src); !slices.Equal(got, []string{"skill-name", "name", "skill_name", "nobody", "evil"}) {
		t.Errorf("slots %q", got)
	}
	got, unknown := resource.Fill(src, table(bound))
	if want := "# my-skill pdf\n<Name> <N> <a b> my-skill <nobody> {name} <name> $ARGUMENTS <nobody>\n"; got != want || !slices.Equal(unknown, []string{"nobody"}) {
		t.Errorf("%q, unknown %q", got, unknown)
	}
	if got, _ := resource.Fill("<a_b>", table(map[string]string{"a-b": "1"})); got != "1" {
		t.Errorf("underscore should find a hyphen: %q", got)
	}
}

func TestCategories(t *testing.T) {
	for _, tt := range []struct {
		path, mapped string
		want         resource.Category
	}{
		{"scripts/a.sh", "commands/a.sh", resource.Script},
		{"commands/a.ps1", "scripts/a.ps1", resource.Script},
		{"assets/templates/x/y.md", "templates/x/y.md", resource.Template},
		{"templates/y.md", "assets/templates/y.md", resource.Template},
		{"assets/constants/y.md", "constants/y.md", resource.Constant},
		{"assets/schemas/y.json", "schemas/y.json", resource.Schema},
		{"assets/checklists/y.md", "checklists/y.md", resource.Checks},
		{"policies/y.md", "assets/policies/y.md", resource.Policy},
		{"`assets/verify/y.md`", "verify/y.md", resource.VerifyDoc},
		{"verify/y.md", "assets/verify/y.md", resource.VerifyDoc},
		{"references/y.md", "", resource.Reference},
		{"references/ops.md", "ops.md", resource.Reference},
		{"ops.md", "references/ops.md", resource.Reference},
		{"ops/a.md", "references/ops/a.md", resource.Reference},
		{"references/ops/a.md", "ops/a.md", resource.Reference},
		{"SKILL.md", "skill.md", resource.Project},
		{"./templates/y.md", "assets/templates/y.md", resource.Template},
		{"README.md", "", resource.Project},
		{"src/templates/y.md", "", resource.Project},
		{"../other/templates/y.md", "", resource.Project},
		{"templates/../../y.md", "", resource.Project},
		{"/templates/y.md", "", resource.Project},
		{`templates\y.md`, "", resource.Project},
		{"assets/y.md", "", resource.Project},
		{"templates/", "", resource.Project},
		{"", "", resource.Project},
	} {
		if got := resource.CategoryOf(tt.path); got != tt.want {
			t.Errorf("CategoryOf(%q) = %q, want %q", tt.path, got, tt.want)
		}
		got := resource.Mapped(tt.path)
		if got != tt.mapped {
			t.Errorf("Mapped(%q) = %q, want %q", tt.path, got, tt.mapped)
		}
		if got != "" && resource.CategoryOf(got) != tt.want {
			t.Errorf("%q and %q should have one category", tt.path, got)
		}
	}
}

func TestChecklist(t *testing.T) {
	src := strings.ReplaceAll(`# Expected state

If an item fails, the skill stops.

- [ ] first item
  goes on here
  - with a bullet
    that goes on
  - and a second

  and after a blank line
* [x] (halt) second item
    - [X] **(HALT)** nested item
- no box, but a bullet
  below it
+ [ ] last
`+"  ```\n  - [ ] in a block\n  ```\n- [link](x)\n", "\n", "\r\n")
	got := resource.ParseChecklist(src)
	want := []resource.Item{
		{Text: "first item goes on here and after a blank line", Subs: []string{"with a bullet that goes on", "and a second"}, Line: 5},
		{Text: "second item", Line: 12, Halt: true},
		{Text: "nested item", Line: 13, Halt: true},
		{Text: "last ``` - [ ] in a block ```", Line: 16},
	}
	if !reflect.DeepEqual(got.Items, want) {
		t.Errorf("items\n%+v\nwant\n%+v", got.Items, want)
	}
	if want := "# Expected state\n\nIf an item fails, the skill stops.\n\n- no box, but a bullet\n  below it\n- [link](x)"; got.Preamble != want || !got.Halts {
		t.Errorf("preamble %q, halts %v", got.Preamble, got.Halts)
	}
}

func TestWhoseFailureHalts(t *testing.T) {
	for text, want := range map[string]bool{
		"A failing item halts the skill.":                      true,
		"Stop the skill when an item\ndoes hold.":              true,
		"One red box fails the skill.":                         true,
		"If any box is open, the skill fails.":                 true,
		"A failing item does not stop the skill.":              false,
		"Nothing here stops the skill.":                        false,
		"If an item fails, tell the user which skill made it.": false,
		"Items are checked. Stop when done! The skill goes on": false,
		"# Skill state\nstop signs are red":                    true, // one sentence by its marks: kept simple, and safe
		"After the skill ran:":                                 false,
		"":                                                     false,
	} {
		if got := resource.ParseChecklist(text + "\n\n- [ ] x\n").Halts; got != want {
			t.Errorf("%q halts: %v", text, got)
		}
	}
}

const script = `#!/bin/sh
echo no section

# === Get Release ===
# Output: a tag
tag=$(gh release view)
cat <<END
` + "```\nx\n```" + `
END

#=== CHECK_PR ===
gh pr list
# === Docs ===

Lists commits.

` + "```powershell\ngit log `\n  --oneline\n```" + `

**Output:** lines.
# === Two ===
` + "```\na\n```\n```\nb\n```" + `
# === Open ===
` + "```\na" + `
# === Get release ===
echo second of that name
# === Empty ===
# === ===
`

func TestScriptSection(t *testing.T) {
	for _, src := range []string{script, strings.ReplaceAll(script, "\n", "\r\n")} {
		if got := resource.ScriptSections(src); !slices.Equal(got, []string{"Get Release", "CHECK_PR", "Docs", "Two", "Open", "Get release", "Empty"}) {
			t.Errorf("sections %q", got)
		}
		for name, want := range map[string]string{
			"Get Release":   "# Output: a tag\ntag=$(gh release view)\ncat <<END\n```\nx\n```\nEND",
			"GET_RELEASE":   "# Output: a tag\ntag=$(gh release view)\ncat <<END\n```\nx\n```\nEND",
			"`check pr`":    "gh pr list",
			"docs":          "git log `\n  --oneline",
			"two":           "```\na\n```\n```\nb\n```",
			"open":          "```\na",
			"  Empty ":      "# === ===",
			"nobody":        "-",
			"":              "-",
			"no section":    "-",
			"Get  release ": "# Output: a tag\ntag=$(gh release view)\ncat <<END\n```\nx\n```\nEND",
		} {
			got, ok := resource.ScriptSection(src, name)
			if !ok {
				got = "-"
			}
			if got != want {
				t.Errorf("section %q = %q, want %q", name, got, want)
			}
		}
	}
}

func TestMarkdownSection(t *testing.T) {
	src := "# Doc\n\nintro\n\n## Style guide\n\nold\n\n### Sub\n\ndeep\n\n## `Style` ##\n\nnew\n```\n## Security\nno heading\n```\n\n## Security: all of it\n\nsecure\n# Next\nx\n    ## code\n#none\n"
	for name, want := range map[string]string{
		"style":         "new\n```\n## Security\nno heading\n```",
		"Style Guide":   "old\n\n### Sub\n\ndeep",
		"style g":       "old\n\n### Sub\n\ndeep",
		"sub":           "deep",
		"SECURITY":      "secure",
		"`next`":        "x\n    ## code\n#none",
		"doc":           "intro\n\n## Style guide\n\nold\n\n### Sub\n\ndeep\n\n## `Style` ##\n\nnew\n```\n## Security\nno heading\n```\n\n## Security: all of it\n\nsecure",
		"guide":         "-",
		"":              "-",
		"code":          "-",
		"no heading":    "-",
		"security: all": "secure",
	} {
		got, ok := resource.MarkdownSection(src, name)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("section %q = %q, want %q", name, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	files := map[string]string{"docs/pdf.md": "version 1.2.0", "a b": ""}
	denied := errors.New("denied")
	env := resource.ClaimEnv{
		Fill: func(s string) string { return resource.Interpolate(s, "", table(bound)) },
		Exists: func(p string) (bool, error) {
			if p == "secret.md" {
				return false, denied
			}
			_, ok := files[p]
			return ok, nil
		},
		Read: func(p string) ([]byte, error) {
			if d, ok := files[p]; ok {
				return []byte(d), nil
			}
			return nil, fs.ErrNotExist
		},
		Holds: func(c string) (bool, error) { return c == "`n` is 3", nil },
	}
	for _, tt := range []struct {
		text string
		want bool
		err  error
	}{
		{"file docs/pdf.md exists", true, nil},
		{"The file `docs/<name>.md` exists.", true, nil},
		{"`docs/{name}.md` exists", true, nil},
		{"docs/pdf.md does not exist", false, nil},
		{"File gone.md does not exist", true, nil},
		{"file `a b` exists", true, nil},
		{"docs/pdf.md contains \"version {version}\"", true, nil},
		{"`docs/pdf.md` contains `2.0.0`", false, nil},
		{"docs/pdf.md does not contain \"2.0.0\"", true, nil},
		{"gone.md does not contain \"x\"", false, nil},
		{"binding n is 3", true, nil},
		{"binding `n` is missing", false, nil},
		{"secret.md exists", false, denied},
		{"secret.md does not exist", false, denied},
	} {
		c, ok := resource.ParseClaim(tt.text)
		if !ok {
			t.Errorf("%q should be a claim", tt.text)
			continue
		}
		if got, err := c.Check(env); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q = %v, %v", tt.text, got, err)
		}
		if got, err := c.Check(resource.ClaimEnv{}); got || err == nil {
			t.Errorf("%q without an environment = %v, %v", tt.text, got, err)
		}
	}
	for _, text := range []string{"", "file", "README exists", "all tests pass", "a.md exists if there are ops", "a.md contains x", "a.md contains \"a\" or \"b\"",
		"binding", "binding n", "binding n+1 is 3", "`a.md exists", "a.md contains the version", "binding `n is 3"} {
		if c, ok := resource.ParseClaim(text); ok {
			t.Errorf("%q should be for a model, got %+v", text, c)
		}
	}
}

func TestParseArguments(t *testing.T) {
	for _, tt := range []struct {
		name, preamble, args string
		want                 map[string]string
		understood           bool
	}{
		{"nothing said", "Some prose.", "x", nil, true},
		{"bare", "$ARGUMENTS", "x", nil, true},
		{"label", "New version: $ARGUMENTS", "x", nil, true},
		{"default used", "Write the page at: $ARGUMENTS (default: README.md)", " ", map[string]string{"$ARGUMENTS": "README.md"}, true},
		{"default not used", "Write the page at: $ARGUMENTS (default: README.md)", "x", nil, true},
		{"first and rest", "Preamble: parse $ARGUMENTS — first token is `target`, remainder is `rest`.", " pdf  to  text ", map[string]string{"target": "pdf", "rest": "to  text"}, true},
		{"first and rest, one token", "parse `$ARGUMENTS`: first token is `a`, the rest is `b`", "pdf", map[string]string{"a": "pdf", "b": ""}, true},
		{"first alone", "$ARGUMENTS: the first token is a", "pdf x", map[string]string{"a": "pdf"}, true},
		{"a sentence", "Parse `$ARGUMENTS`: if an operation is given, bind it to `op`.", "x", nil, false},
		{"a sentence that ends so", "Look at what stands in $ARGUMENTS", "x", nil, false},
		{"one line of two", "$ARGUMENTS\nSplit $ARGUMENTS at commas", "x", nil, false},
		{"the guard is not read", "> **Runtime required.** Parse $ARGUMENTS first", "x", nil, true},
		{"three tokens", "$ARGUMENTS — first token is `a`, second is `b`, remainder is `c`", "x y z", nil, false},
		{"same name twice", "$ARGUMENTS — first token is `a`, remainder is `a`", "x y", nil, false},
	} {
		got, understood := resource.ParseArguments(tt.preamble, tt.args)
		if !maps.Equal(got, tt.want) || understood != tt.understood {
			t.Errorf("%s: %q %v, want %q %v", tt.name, got, understood, tt.want, tt.understood)
		}
	}
}

func ExampleInterpolate() {
	values := map[string]string{"context.version": "1.2.0", "name": "pdf"}
	lookup := func(path string) (string, bool) { v, ok := values[path]; return v, ok }
	fmt.Println(resource.Interpolate("Release <name> context.version of $ARGUMENTS? {owner} decides.", "main", lookup))
	// Output: Release pdf 1.2.0 of main? {owner} decides.
}

func ExampleFill() {
	text, unknown := resource.Fill("# <skill-name> by <owner>", func(name string) (string, bool) { return "pdf", name == "skill_name" })
	fmt.Println(text, unknown)
	// Output: # pdf by <owner> [owner]
}

func ExampleParseChecklist() {
	c := resource.ParseChecklist("Halt the skill when an item fails.\n\n- [ ] (halt) tests pass\n- [ ] docs/a.md exists\n")
	fmt.Println(c.Halts, len(c.Items), c.Items[0].Halt)
	claim, ok := resource.ParseClaim(c.Items[1].Text)
	fmt.Println(ok, claim.Path)
	// Output:
	// true 2 true
	// true docs/a.md
}

// A script with sections runs whole only where the step says so, and says nothing against it.
func TestScriptPart(t *testing.T) {
	const script = "echo a\n# === LOG ===\nlog\n# === Clean Up ===\nrm\n"
	for _, tt := range []struct{ src, words, want string }{
		{script, "for LOG", "LOG"},
		{script, "for `Clean Up` section", "Clean Up"},
		{script, "§ clean-up", "Clean Up"},
		{script, "for LOG, then print it", "LOG"},
		{script, "as a whole", "whole"},
		{script, "whole", "whole"},
		{script, "(the whole script)", "whole"},
		{script, "in its entirety", "refused"},
		{script, "for all sections", "whole"},
		{script, "with every section, and show what it says", "whole"},
		{script, "", "refused"},
		{script, "for LOG and not all sections", "refused"},
		{script, "for the whole story of the log", "refused"},
		{script, "whole, but not Clean Up", "refused"},
		{script, "whole except Clean Up", "refused"},
		{script, "as a whole, for LOG", "refused"},
		{script, "not for LOG", "refused"},
		{script, "for LOG and Clean Up", "refused"},
		{script, "for all sections but LOG", "refused"},
		{script, "for a whole release", "refused"},
		{"echo a\n", "for LOG", "whole"},
		{"echo a\n", "for LOG and not all sections", "whole"},
		{"# --- LOG ---\nlog\n# --- RM ---\nrm\n", "for LOG", "refused"},
		{"# --- LOG ---\nlog\n# --- RM ---\nrm\n", "for the release", "whole"},
		{"// === LOG ===\nlog\n// === RM ===\nrm\n", "for RM section", "refused"},
		{"# == LOG\nlog\n#== RM ==\nrm\n", "§ RM", "refused"},
		{"#region LOG\nlog\n#endregion\n", "for LOG", "refused"},
		{"REM === LOG ===\nlog\n", "for LOG", "refused"},
		{"# === LOG ==\nlog\n", "for LOG", "refused"},
		{"#!/bin/sh\n# writes the log\nlog\n", "for the log", "whole"},
	} {
		got, ok := resource.ScriptPart(tt.src, tt.words)
		switch {
		case !ok:
			got = "refused"
			if why := resource.NoPart("scripts/a.sh", tt.src, tt.words); !strings.Contains(why, "section") {
				t.Errorf("%q of %q: %s", tt.words, tt.src, why)
			}
		case got == "":
			got = "whole"
		}
		if got != tt.want {
			t.Errorf("%q of %q runs %s, want %s", tt.words, tt.src, got, tt.want)
		}
	}
}
