package skill_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/skill"
)

// A name is added in the style of what stands there; no other byte changes, and a second time nothing does.
func TestRequire(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{"no metadata", "name: a\n", "name: a\nmetadata:\n  skl-requires: lib\n"},
		{"other entries", "metadata:\n  version: \"1\" # kept\nlicense: MIT\n", "metadata:\n  version: \"1\" # kept\n  skl-requires: lib\nlicense: MIT\n"},
		{"an empty value", "metadata:\n  skl-requires:\n", "metadata:\n  skl-requires: lib\n"},
		{"plain", "metadata:\n  skl-requires: acme/x@^1, y  # why\n", "metadata:\n  skl-requires: acme/x@^1, y lib  # why\n"},
		{"quoted", "metadata:\n  skl-requires: \"x\"\n", "metadata:\n  skl-requires: \"x lib\"\n"},
		{"a list in brackets", "metadata:\n  skl-requires: [x, y]\n", "metadata:\n  skl-requires: [x, y, lib]\n"},
		{"a list in lines", "metadata:\n  skl-requires:\n    - x\n    - y\n  a: b\n", "metadata:\n  skl-requires:\n    - x\n    - y\n    - lib\n  a: b\n"},
		{"a map in braces", "metadata: {a: b}\n", "metadata: {a: b, skl-requires: lib}\n"},
		{"there already", "metadata:\n  skl-requires: x acme/lib@1.0\n", "metadata:\n  skl-requires: x acme/lib@1.0\n"},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			whole := func(text string) []byte {
				return []byte(strings.ReplaceAll("\ufeff---\ndescription: d\n"+text+"---\nBody. \n\nend", "\n", eol))
			}
			got, err := skill.Require(whole(test.before), "lib")
			if err != nil || !bytes.Equal(got, whole(test.after)) {
				t.Errorf("%s: %q, %v, want %q", test.name, got, err, whole(test.after))
				continue
			}
			if again, err := skill.Require(got, "lib"); err != nil || !bytes.Equal(again, got) {
				t.Errorf("%s: the second time gives %q, %v", test.name, again, err)
			}
			doc, err := skill.Read(got)
			if err != nil || !slices.Contains(doc.Required(), "lib") {
				t.Errorf("%s: %v, %v", test.name, doc, err)
			}
		}
	}
	for _, src := range []string{"no frontmatter", "---\n{description: d}\n---\n", "---\ndescription: d\nmetadata: text\n---\n",
		"---\ndescription: d\nmetadata:\n  skl-requires: {a: b}\n---\n", "---\ndescription: d\nmetadata:\n  skl-requires: |\n    x\n---\n"} {
		if out, err := skill.Require([]byte(src), "lib"); err == nil || out != nil {
			t.Errorf("%q becomes %q, %v", src, out, err)
		}
	}
}
