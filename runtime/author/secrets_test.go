package author_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
)

// A model is shown no file whose name says that it holds secrets, and is told that it is there.
func TestSecretsAreNotShown(t *testing.T) {
	files := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: d\n---\n\nDo it.\n")}}
	for _, name := range []string{".env", "id_rsa", "scripts/.env.local", "sub/secrets.json"} {
		files[name] = &fstest.MapFile{Data: []byte("KEY=abcdef\n")}
	}
	d := author.Over("demo", files)
	text, err := author.Material(d)
	if err != nil || strings.Contains(text, "abcdef") || !strings.Contains(text, "Do it.") {
		t.Errorf("%v\n%s", err, text)
	}
	for name := range files {
		_, err := author.Shown(d, name, 1)
		if name == "SKILL.md" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, diag.Code("path_protected")) || !strings.Contains(text, name+" (its name says that it holds secrets)") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
