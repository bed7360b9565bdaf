package skill

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
)

const sidecar = `{"name": "deploy", "version": "1.20", "description": "Ships: the \"app\".", "author": "A. Person", "license": "MIT", "tools": ["bash"]}`

// Values missing from SKILL.md are read from SKILL.json, which can then be written into SKILL.md without a loss.
func TestReadWith(t *testing.T) {
	for name, src := range map[string]string{
		"no frontmatter":    "# Deploy\n\nShip it.\n",
		"empty":             "",
		"empty frontmatter": "---\n---\nShip it.\n",
		"name alone":        "---\nname: deploy\n---\nShip it.\n",
		"metadata":          "---\nname: deploy\nmetadata:\n  tags: a b\n---\nShip it.\n",
		"windows":           "---\r\nname: deploy\r\n---\r\nShip it.\r\n",
		"byte order mark":   "\ufeffShip it.\n",
	} {
		d, err := ReadWith([]byte(src), []byte(sidecar))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		author, _ := d.Meta("author")
		if d.Name != "deploy" || d.Description != `Ships: the "app".` || d.Version != "1.20" || d.License != "MIT" || author != "A. Person" || d.Invocation != Auto {
			t.Errorf("%s: %+v", name, d)
		}
		if got := rulesOf(d.Warnings); !slices.Contains(got, RuleSidecarAlone) || !slices.Contains(got, RuleLegacyTools) || slices.Contains(got, RuleDescMissing) {
			t.Errorf("%s: %v", name, got)
		}
		if body := string([]byte(src)[d.Body:]); name != "empty" && !strings.Contains(body, "Ship it.") {
			t.Errorf("%s: body %q", name, body)
		}

		files := fstest.MapFS{FileName: {Data: []byte(src)}, SidecarName: {Data: []byte(sidecar)}}
		publish := Lint(files, "deploy", LintOptions{Publish: true})
		if i := slices.IndexFunc(publish, func(f diag.Finding) bool { return f.Rule == RuleSidecarAlone }); i < 0 || publish[i].Severity != diag.SeverityError {
			t.Errorf("%s: a publish takes it: %v", name, publish)
		}
		for range 3 {
			files[FileName] = &fstest.MapFile{Data: Apply(files[FileName].Data, Fixes(Lint(files, "deploy", LintOptions{})))}
		}
		fixed, err := Read(files[FileName].Data)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, files[FileName].Data)
			continue
		}
		author, _ = fixed.Meta("author")
		if fixed.Name != d.Name || fixed.Description != d.Description || fixed.Version != d.Version || fixed.License != d.License || author != "A. Person" {
			t.Errorf("%s: mended to\n%s", name, files[FileName].Data)
		}
		if left := rulesOf(Lint(files, "deploy", LintOptions{})); slices.Contains(left, RuleSidecar) || slices.Contains(left, RuleSidecarAlone) {
			t.Errorf("%s: after mending: %v", name, left)
		}
	}
}

// SKILL.md counts where both say something, one of a version takes nothing, and a broken sidecar hides no sound SKILL.md.
func TestReadWithBoth(t *testing.T) {
	own := "---\nname: ship\ndescription: Does more.\n---\nx\n"
	v1 := "---\nskill_format: corteza.skill/v1\nname: ship\ndescription: Does more.\n---\nx\n"
	for _, c := range []struct{ src, sidecar, name, version, warns string }{
		{own, sidecar, "ship", "1.20", "name, description: SKILL.md counts"},
		{v1, sidecar, "ship", "", "name, description, license, version, author: SKILL.md counts"},
		{own, `{"name": "ship"}`, "ship", "", ""},
		{own, "{", "ship", "", "it is not read: "},
	} {
		d, err := ReadWith([]byte(c.src), []byte(c.sidecar))
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, w := range d.Warnings {
			if (w.Rule == RuleSidecar || w.Rule == RuleSidecarBroken) && w.File == SidecarName {
				said += w.Message
			}
		}
		if d.Name != c.name || d.Version != c.version || !strings.HasPrefix(said, c.warns) || c.warns == "" && said != "" {
			t.Errorf("%q beside %q: %q %q %q", c.sidecar, c.src, d.Name, d.Version, said)
		}
	}
	for _, c := range []struct{ src, sidecar, want string }{
		{"Ship it.\n", "{", CodeSidecar},
		{"Ship it.\n", `{"name": "ship"}`, CodeNoDescription},
		{"---\nname: ship\n", sidecar, CodeNoDescription}, // not closed: what follows may be frontmatter
		{"---\nname: [\n---\n", sidecar, CodeYAML},
		{"---\nskill_format: corteza.skill/v1\nname: ship\n---\n", sidecar, CodeNoDescription},
		{"Ship it.\n", strings.Repeat(" ", MaxFrontmatter) + sidecar, CodeSidecar},
	} {
		if d, err := ReadWith([]byte(c.src), []byte(c.sidecar)); code(err) != c.want || d != nil {
			t.Errorf("%.40q beside %.40q: %v, %v", c.sidecar, c.src, d, err)
		}
	}
}

func TestMigrate(t *testing.T) {
	for _, c := range []struct{ name, src, sidecar, want, remark string }{
		{"plain", "---\nname: a\ndescription: Does a.\n---\nx\n", "", "---\nname: a\ndescription: Does a.\nskill_format: corteza.skill/v1\n---\nx\n", ""},
		{"switches", "---\nname: a\ndescription: Does a.\ndisable-model-invocation: true\n---\n", "",
			"---\nname: a\ndescription: Does a.\ndisable-model-invocation: true\nskill_format: corteza.skill/v1\nmodel_invocation: user-only\n---\n", "model_invocation is user-only"},
		{"model only", "---\nname: a\ndescription: Does a.\nuser-invocable: false\n---\n", "",
			"---\nname: a\ndescription: Does a.\nuser-invocable: false\nskill_format: corteza.skill/v1\nmodel_invocation: model-only\ncritical: [model_invocation]\n---\n", "model_invocation is model-only"},
		{"sidecar", "x\n", `{"name": "a", "description": "Does a.", "version": "1.0"}`,
			"---\nname: a\ndescription: Does a.\nmetadata:\n  version: \"1.0\"\nskill_format: corteza.skill/v1\n---\n\nx\n", "SKILL.json is not read any more"},
		{"a limit", "---\nname: a\ndescription: Does a.\ntools:\n  allow: [read]\n---\n", "",
			"---\nname: a\ndescription: Does a.\ntools:\n  allow: [read]\nskill_format: corteza.skill/v1\n---\n", ""},
		{"keys that had no effect", "---\nname: a\ndescription: Does a.\nattach: true\n---\n", "",
			"---\nname: a\ndescription: Does a.\nattach: true\nskill_format: corteza.skill/v1\n---\n", "attach: without effect before"},
		{"in metadata", "---\nname: a\ndescription: Does a.\nmetadata:\n  corteza-tools-allow: read\n---\n", "",
			"---\nname: a\ndescription: Does a.\nskill_format: corteza.skill/v1\ntools:\n  allow: [read]\n---\n", ""},
	} {
		var side []byte
		if c.sidecar != "" {
			side = []byte(c.sidecar)
		}
		got, remarks, err := Migrate([]byte(c.src), side)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(got) != c.want || !strings.Contains(strings.Join(remarks, "\n"), c.remark) {
			t.Errorf("%s: %q\n%s", c.name, remarks, got)
		}
		if again, _, err := Migrate(got, side); err != nil || string(again) != string(got) {
			t.Errorf("%s: the second time: %v\n%s", c.name, err, again)
		}
		before, _ := ReadWith([]byte(c.src), side)
		if after, err := Read(got); err != nil || after.Invocation != before.Invocation || after.V1 == nil || after.Version != before.Version {
			t.Errorf("%s: %v %+v", c.name, err, after)
		}
	}
	for name, src := range map[string]string{
		"near":   "---\nname: a\ndescription: Does a.\ntool: [read]\n---\n",
		"braces": "---\n{name: a, description: Does a.}\n---\n",
	} {
		if _, _, err := Migrate([]byte(src), nil); code(err) != "cannot_convert" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A SKILL.json alone is no skill, and a SKILL.md that is not there has no empty body.
func TestLintSidecarAlone(t *testing.T) {
	found := Lint(fstest.MapFS{SidecarName: {Data: []byte(`{"name": "x", "description": "Does x. Use when x is asked for."}`)}}, "x", LintOptions{})
	if got := rulesOf(found); !slices.Equal(got, []string{RuleNoSkillFile, RuleSidecarAlone}) {
		t.Errorf("found %v", got)
	}
}
