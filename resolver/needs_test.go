package resolver

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/skill"
)

// Needs in the notations of other tools are read as a name, with a ref or without.
func TestForeignNeeds(t *testing.T) {
	for _, tt := range []struct{ word, name, ref string }{
		{"acme/tools/skills/pdf#v1.2.0", "pdf", "acme/tools/skills/pdf@v1.2.0"},
		{"acme/tools/skills/pdf#^1.2", "pdf", "acme/tools/skills/pdf@^1.2"},
		{"acme/tools", "tools", "acme/tools"},
		{"github.com/acme/tools/skills/pdf", "pdf", "acme/tools/skills/pdf"},
		{"git.example.com/acme/tools#main", "tools", "git+https://git.example.com/acme/tools@main"},
		{"https://git.example.com/acme/tools.git//skills/pdf#main", "pdf", "git+https://git.example.com/acme/tools.git//skills/pdf@main"},
		{"oci.example.com/org/pdf:v1.0.0", "pdf", "oci://oci.example.com/org/pdf:v1.0.0"},
		{"oci.example.com/org/pdf@sha256:" + strings.Repeat("ab", 32), "pdf", "oci://oci.example.com/org/pdf@sha256:" + strings.Repeat("ab", 32)},
		{"git://git.example.com/acme/tools@v1#skills/pdf", "pdf", "git+https://git.example.com/acme/tools//skills/pdf@v1"},
		{"./local/pdf", "pdf", ""},
		{"../pdf", "pdf", ""},
		{"/pdf", "pdf", ""},
		{"https://user:secret@git.example.com/a/b.git", "b", ""},
		{"ext::sh -c x", "ext", ""},
		{"acme/--upload-pack=x", "--upload-pack=x", ""},
	} {
		n := foreign(tt.word, "apm.yml")
		got := ""
		if n.Placed() {
			got = n.Want.Ref.String()
		}
		if n.Name != tt.name || got != tt.ref {
			t.Errorf("%s: %q %q, want %q %q", tt.word, n.Name, got, tt.name, tt.ref)
		}
	}
}

// The first file that names a skill decides, and what is no list of needs is an error.
func TestNeeds(t *testing.T) {
	own := []byte("[skills]\nbase = { ref = \"acme/base\", version = \"^1\" }\nmine = { ref = \"./mine\" }\n")
	apm := []byte("name: x\ndependencies:\n  apm:\n    - acme/tools/skills/base#v2\n    - acme/tools/skills/pdf\n    - acme/package\n    - git: https://git.example.com/a/b.git\n      path: skills/xls\n      ref: v3\n")
	doc := func(text string) *skill.Document {
		d, err := skill.Read([]byte("---\nname: x\ndescription: Needs.\n" + text + "---\n"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	all, err := Needs(own, apm, doc("toolhive.requires:\n  - oci.example.com/org/doc:v1\n  - oci.example.com/org/base:v9\nmetadata:\n  skl-requires: other acme/base@^1 oci://oci.example.com/org/img:1.0.0\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		place := "-"
		if all[i].Placed() {
			place = all[i].Want.Ref.String()
		}
		got = append(got, all[i].Name+" "+place+" "+all[i].File)
	}
	want := []string{
		"base acme/base@^1 skl.toml:2:8", "doc oci://oci.example.com/org/doc:v1 SKILL.md", "img oci://oci.example.com/org/img:1.0.0 SKILL.md", "mine - skl.toml:3:8", "other - SKILL.md", "package - apm.yml",
		"pdf acme/tools/skills/pdf apm.yml", "xls git+https://git.example.com/a/b.git//skills/xls@v3 apm.yml",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bad := range []struct{ own, apm, front string }{
		{own: "[skills\n"}, {front: "metadata:\n  skl-requires: acme/base@^1 acme/base@^2\n"}, {front: "metadata:\n  skl-requires: acme/base@^1 corp/base@^1\n"},
		{own: "[skills]\nbase = { ref = \"acme/base\", version = \"^1\" }\n", front: "metadata:\n  skl-requires: acme/base@^2\n"},
		{own: "[skills]\nbase = { ref = \"acme/tools#other\" }\n"}, {front: "metadata:\n  skl-requires: [{a: b}]\n"},
		{apm: "- a\n- b\n"}, {apm: "a: [\n"}, {front: "toolhive.requires: {a: b}\n"}, {own: "[skills]\n\"A b\" = { ref = \"acme/x\" }\n"},
	} {
		var own, apm []byte
		if bad.own != "" {
			own = []byte(bad.own)
		}
		if bad.apm != "" {
			apm = []byte(bad.apm)
		}
		if all, err := Needs(own, apm, doc(bad.front)); err == nil {
			t.Errorf("%+v: %v", bad, all)
		}
	}
}

func FuzzNeeds(f *testing.F) {
	f.Add([]byte("[skills]\nbase = { ref = \"acme/base\", version = \"^1\" }\n"), []byte("dependencies:\n  apm:\n    - acme/tools/skills/base#v2\n    - git: x\n"), []byte("---\nname: x\ndescription: y\ntoolhive.requires: a/b:c\n---\n"))
	f.Fuzz(func(t *testing.T, own, apm, text []byte) {
		doc, err := skill.Read(text)
		if err != nil {
			doc = nil
		}
		all, err := Needs(own, apm, doc)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for i := range all {
			n := &all[i]
			if n.Placed() && (skill.CheckName(n.Name, n.Name) != nil || n.Want.Ref.Kind == "local") || seen[n.Name] {
				t.Errorf("%+v", *n)
			}
			seen[n.Name] = true
			n.Range()
		}
	})
}
