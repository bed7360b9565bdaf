package scope

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadState holds what a file of the user's state means that is missing, damaged or of no version this skl knows.
func TestReadState(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"missing":  {"", ""},
		"empty":    {"{}", ""},
		"good":     {`{"version":1,"tags":{"url name 1.0.0":"abc"}}`, ""},
		"array":    {"[1]", "it is damaged"},
		"text":     {"broken", "it is damaged"},
		"later":    {`{"version":2}`, "its version is 2"},
		"unmarked": {`{"tags":{"url name 1.0.0":"abc"}}`, "its version is 0"},
	} {
		path := filepath.Join(dir, name)
		if test.text != "" {
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tags, err := readTags(path)
		if got := errorText(err); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if (len(tags.Tags) == 1) != (name == "good") {
			t.Errorf("%s: %v", name, tags)
		}
	}
	if _, err := readTags(dir); err == nil { // a pipe is the same to it, and nothing waits for one
		t.Error("a directory was read")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
