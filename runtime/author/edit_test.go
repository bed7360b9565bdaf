package author

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// at is the anchor of the line of a text that holds a word.
func at(t testing.TB, text, word string) string {
	t.Helper()
	for i, line := range split(text).lines {
		if strings.Contains(line, word) {
			return anchor(i+1, line)
		}
	}
	t.Fatalf("no line with %q", word)
	return ""
}

func TestSplice(t *testing.T) {
	for _, c := range []struct {
		name, was, now string
		edits          []Splice
	}{
		{"replace", "a\nb\nc\n", "a\nB\nB2\nc\n", []Splice{{How: "replace", From: "b", Text: "B\nB2"}}},
		{"a range", "a\nb\nc\nd\n", "a\nX\nd\n", []Splice{{How: "replace", From: "b", To: "c", Text: "X\n"}}},
		{"delete", "a\nb\nc\n", "a\nc\n", []Splice{{How: "delete", From: "b"}}},
		{"delete all", "a\nb", "", []Splice{{How: "delete", From: "a", To: "b"}}},
		{"before and after", "a\nb\n", "0\na\n1\nb\n2\n", []Splice{{How: "after", From: "b", Text: "2"}, {How: "before", From: "a", Text: "0"}, {How: "after", From: "a", Text: "1"}}},
		{"line ends", "a\r\nb\r\nc\r\n", "a\r\nX\r\nY\r\nc\r\n", []Splice{{How: "replace", From: "b", Text: "X\nY\n"}}},
		{"mixed ends", "a\r\nb\nc\r\nd\r\n", "a\r\nb\nX\r\nd\r\n", []Splice{{How: "replace", From: "c", Text: "X"}}},
		{"no last end, replaced", "a\nb", "a\nX", []Splice{{How: "replace", From: "b", Text: "X\n"}}},
		{"no last end, after", "a\nb", "a\nb\nX", []Splice{{How: "after", From: "b", Text: "X"}}},
		{"no last end, before", "a\nb", "a\nX\nb", []Splice{{How: "before", From: "b", Text: "X"}}},
		{"a mark and blanks", "\ufeffa \nb\t\n", "\ufeffa \nX\n", []Splice{{How: "replace", From: "b", Text: "X"}}},
		{"an empty line", "a\nb\n", "a\n\nb\n", []Splice{{How: "after", From: "a", Text: ""}}},
	} {
		edits := c.edits
		for i := range edits {
			edits[i].From = at(t, c.was, edits[i].From)
			if edits[i].To != "" {
				edits[i].To = at(t, c.was, edits[i].To)
			}
		}
		if now, _, err := splice("f", c.was, edits); now != c.now || err != nil {
			t.Errorf("%s: %q, %v", c.name, now, err)
		}
	}
}

func TestEditsRefused(t *testing.T) {
	was := "one\ntwo\nthree\n"
	one, two := at(t, was, "one"), at(t, was, "two")
	for name, answer := range map[string]string{
		"no JSON":         `I changed it`,
		"another key":     `{"edits":[],"run":"rm"}`,
		"nothing":         `{"edits":[],"new_files":[],"deleted_files":[],"questions":[]}`,
		"no such line":    `{"edits":[{"file":"a.md","how":"delete","from":"9:abcd"}]}`,
		"another text":    `{"edits":[{"file":"a.md","how":"delete","from":"1:0000"}]}`,
		"a number alone":  `{"edits":[{"file":"a.md","how":"delete","from":"1"}]}`,
		"no text":         `{"edits":[],"new_files":[{"path":"assets/a.txt","text":"\u0000","why":""}]}`,
		"no text in it":   `{"edits":[{"file":"a.md","how":"replace","from":"` + one + `","text":"a\u0000"}]}`,
		"backwards":       `{"edits":[{"file":"a.md","how":"delete","from":"` + two + `","to":"` + one + `"}]}`,
		"overlap":         `{"edits":[{"file":"a.md","how":"delete","from":"` + one + `","to":"` + two + `"},{"file":"a.md","how":"replace","from":"` + two + `","text":"x"}]}`,
		"how":             `{"edits":[{"file":"a.md","how":"rewrite","from":"` + one + `"}]}`,
		"delete and text": `{"edits":[{"file":"a.md","how":"delete","from":"` + one + `","text":"x"}]}`,
		"no such file":    `{"edits":[{"file":"b.md","how":"delete","from":"` + one + `"}]}`,
		"outside":         `{"edits":[{"file":"../a.md","how":"delete","from":"` + one + `"}]}`,
		"new outside":     `{"new_files":[{"path":"../../x","text":"x"}]}`,
		"new in git":      `{"new_files":[{"path":".git/hooks/pre-commit","text":"x"}]}`,
		"new twice":       `{"new_files":[{"path":"n.md","text":"x"},{"path":"n.md","text":"y"}]}`,
		"new and deleted": `{"new_files":[{"path":"n.md","text":"x"}],"deleted_files":[{"path":"n.md"}]}`,
		"new that is":     `{"new_files":[{"path":"a.md","text":"x"}]}`,
		"delete outside":  `{"deleted_files":[{"path":"/etc/passwd"}]}`,
		"delete none":     `{"deleted_files":[{"path":"none.md"}]}`,
		"both":            `{"edits":[{"file":"a.md","how":"delete","from":"` + one + `"}],"deleted_files":[{"path":"a.md"}]}`,
		"a link":          `{"edits":[{"file":"link.md","how":"delete","from":"` + one + `"}]}`,
		"too large":       `{"new_files":[{"path":"big.md","text":"` + strings.Repeat("x", MaxFile+1) + `"}]}`,
	} {
		e, err := ParseEdits([]byte(answer))
		if err == nil {
			files := sample().(fstest.MapFS)
			files["a.md"] = &fstest.MapFile{Data: []byte(was)}
			err = e.Apply(Over("s", files))
		}
		if w := (*Wrong)(nil); !errors.As(err, &w) || w.Why == "" || len(w.Why) > 1100 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEditsAsk tells an answer that holds nothing but questions from one that is at fault.
func TestEditsAsk(t *testing.T) {
	e, err := ParseEdits([]byte(`{"edits":[],"new_files":[],"deleted_files":[],"questions":["What?","Where?"]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := Over("s", sample())
	if asks := (*Asks)(nil); !errors.As(e.Apply(d), &asks) || asks.Error() != "What?\nWhere?" || len(d.Changes()) > 0 {
		t.Errorf("%v, %v", asks, d.Changes())
	}
}

// FuzzSplice holds that bytes outside of the named lines stay, and that lines are only made by the edit.
func FuzzSplice(f *testing.F) {
	f.Add("a\r\nb\nc", 1, 2, "x\ny", uint8(0))
	f.Add("a\n", 0, 0, "", uint8(3))
	f.Fuzz(func(t *testing.T, was string, from, to int, text string, how uint8) {
		lines := split(was)
		if len(lines.lines) == 0 || from < 0 || to < from || to >= len(lines.lines) {
			return
		}
		s := Splice{How: []string{"replace", "delete", "before", "after"}[how%4], From: anchor(from+1, lines.lines[from]), To: anchor(to+1, lines.lines[to]), Text: text}
		now, _, err := splice("f", was, []Splice{s})
		if err != nil {
			return
		}
		head, tail := "", ""
		for i, line := range lines.lines {
			switch {
			case i < from:
				head += line + lines.ends[i]
			case i > to:
				tail += line + lines.ends[i]
			}
		}
		if !strings.HasPrefix(now, head) || !strings.HasSuffix(now, tail) {
			t.Errorf("%q became %q", was, now)
		}
	})
}
