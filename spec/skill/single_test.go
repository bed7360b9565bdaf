package skill

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// A file that was written reads back as the text of the skill, and runs nothing that the skill did not.
func TestSingleReadsBack(t *testing.T) {
	skills := map[string][]byte{
		"quotes":  []byte("---\nname: x\ndescription: 'a: \"b\" \\ ''c'''\n---\nUse '''x''' and \"\"\"y\"\"\" \\n.\n"),
		"windows": []byte("\ufeff---\r\nname: x\r\ndescription: Does x.\r\n---\r\n\r\nDo it.\r\n\tNow.\x00\x07"),
		"bait":    []byte("---\nname: x\ndescription: Does x.\n---\n!$ARGUMENTS @$ARGUMENTS !@./x.md @@./x.md $$ARGUMENTS[1]\n"),
		"carried": []byte("---\nname: x\ndescription: Does x.\nmetadata:\n  skl-claude-paths: \"2 paths: src/*\\n\"\n---\nDo it."),
	}
	for name, src := range dialectSkills {
		skills["dialect "+name] = []byte(src)
	}
	for name, src := range skills {
		d := mustRead(t, src)
		body := strings.TrimLeft(string(src[d.Body:]), "\r\n")
		for _, target := range SingleTargets() {
			one, err := ToSingle(src, nil, target, false)
			if err != nil {
				t.Errorf("%s to %s: %v", name, target, err)
				continue
			}
			text, description := "", d.Description
			if target == "gemini" {
				var got struct{ Description, Prompt string }
				if err := toml.Unmarshal(one.Text, &got); err != nil {
					t.Errorf("%s to gemini: %v\n%s", name, err, one.Text)
				}
				text, description = got.Prompt, got.Description
			} else {
				r, p := open(one.Text)
				if p != nil {
					t.Errorf("%s to %s: %v\n%s", name, target, p, one.Text)
					continue
				}
				text = strings.TrimPrefix(string(one.Text[r.fm.body:]), "\n")
				if f, ok := find(r.fm.root, "description"); ok {
					description = f.Value.Text
				}
			}
			if description != d.Description || strings.Count(text, "!{") != strings.Count(body, "!{") || len(BodyFeatures([]byte(body))) == 0 && text != body {
				t.Errorf("%s to %s: %q\n%q is now %q", name, target, description, body, text)
			}
		}
	}
	if one, err := ToSingle(skills["carried"], nil, "cursor", false); err != nil || !strings.Contains(string(one.Text), "globs: src/*\n") {
		t.Errorf("a key that metadata keeps is not in the rule: %v\n%s", err, one.Text)
	}
	if _, err := ToSingle([]byte("---\nname: ../x\ndescription: Does x.\n---\n"), nil, "cursor", false); code(err) != "cannot_convert" {
		t.Errorf("a name that is a path: %v", err)
	}
}
