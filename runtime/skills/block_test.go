package skills

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
)

// In the tables below [ is a line with the first marker, ] one with the second, and
// B the whole block as skl writes it.
func picture(s string) string {
	s = strings.ReplaceAll(s, "B", string(Block()))
	s = strings.ReplaceAll(s, "[", beginMarker+"\n")
	return strings.ReplaceAll(s, "]", endMarker+"\n")
}

func TestBlockIsOnePairAlone(t *testing.T) {
	block := string(Block())
	switch {
	case !strings.HasPrefix(block, beginMarker+"\n"), !strings.HasSuffix(block, "\n"+endMarker+"\n"):
		t.Errorf("the block does not stand between its markers:\n%s", block)
	case strings.Contains(block, "\r"), strings.Contains(inner(), "canopy-runtime-"), strings.Contains(block, "```"), strings.Contains(block, "~~~"):
		t.Errorf("the block holds what scan would stumble over:\n%s", block)
	case len(block) > 1200:
		t.Errorf("the block has %d bytes, and every agent reads it each time", len(block))
	}
}

func TestActivate(t *testing.T) {
	for _, test := range []struct {
		name, in, out string
		state         State
	}{
		{"no file", "", "B", Create},
		{"one line", "a\n", "a\n\nB", Append},
		{"a last line without end", "a", "a\n\nB", Append},
		{"a blank line is there already", "a\n\n", "a\n\n\nB", Append},
		{"only a blank line", "\n", "\n\nB", Append},
		{"the present block", "a\nB\nc\n", "a\nB\nc\n", Keep},
		{"an old block between text", "a\n[old\n]c", "a\nBc", Replace},
		{"an empty block", "[]", "B", Replace},
		{"the first of two", "[old\n]x\n[old\n]", "Bx\n[old\n]", Replace},
		{"markers inside a fence are text", "```md\n[old\n]```\n", "```md\n[old\n]```\n\nB", Append},
		{"a tilde fence with backticks inside", "~~~\n```\n[]~~~\n", "~~~\n```\n[]~~~\n\nB", Append},
		{"a fence that is never closed hides nothing", "```\na\n", "```\na\n\nB", Append},
		{"and the block below it is found", "```\na\n[]", "```\na\nB", Replace},
		{"a shorter run closes no fence", "````\n```\n[]````\n", "````\n```\n[]````\n\nB", Append},
		{"a marker within a line is text", "see " + beginMarker + "\n", "see " + beginMarker + "\n\nB", Append},
		{"a byte order mark", "\ufeff[old\n]", "\ufeffB", Replace},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, want := picture(test.in), picture(test.out)
			got, state, err := Activate([]byte(in))
			if err != nil || string(got) != want || state != test.state {
				t.Fatalf("state %q, error %v, text\n%s\nwant %q and\n%s", state, err, got, test.state, want)
			}
			again, state, err := Activate(got)
			if err != nil || state != Keep || !bytes.Equal(again, got) {
				t.Errorf("a second time: state %q, error %v, text\n%s", state, err, again)
			}
		})
	}
}

func TestActivateKeepsLineEnds(t *testing.T) {
	dos := func(s string) string { return strings.ReplaceAll(picture(s), "\n", "\r\n") }
	for _, test := range []struct{ name, in, out string }{
		{"appended", dos("a\nb\n"), dos("a\nb\n\nB")},
		{"appended to a last line without end", dos("a\nb"), dos("a\nb\n\nB")},
		{"replaced", dos("a\n[old\n]c\n"), dos("a\nBc\n")},
		{"kept", dos("a\nBc\n"), dos("a\nBc\n")},
		{"the marker's own line end holds", "a\n" + dos("[old\n]"), "a\n" + dos("B")},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := Activate([]byte(test.in))
			if err != nil || string(got) != test.out {
				t.Errorf("error %v, text %q, want %q", err, got, test.out)
			}
		})
	}
}

func TestDeactivate(t *testing.T) {
	for _, test := range []struct {
		name, in, out string
		removed       bool
	}{
		{"no file", "", "", false},
		{"no block", "a\n", "a\n", false},
		{"the block alone", "B", "", true},
		{"appended", "a\n\nB", "a\n", true},
		{"between paragraphs", "a\n\nB\nc\n", "a\n\nc\n", true},
		{"text right after it", "a\n\nBc\n", "a\n\nc\n", true},
		{"no blank line before it", "a\nB", "a\n", true},
		{"all of several", "a\n\nB\nb\n\n[old\n]", "a\n\nb\n", true},
		{"inside a fence it is text", "```\nB```\n", "```\nB```\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, removed, err := Deactivate([]byte(picture(test.in)))
			if err != nil || string(got) != picture(test.out) || removed != test.removed {
				t.Errorf("removed %v, error %v, text %q, want %v and %q", removed, err, got, test.removed, picture(test.out))
			}
		})
	}
}

func TestMarkersThatDoNotPairUp(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		line           int
	}{
		{"no end", "a\n[b\n", "begins once and ends nowhere", 2},
		{"no begin", "a\n]b\n", "begins nowhere and ends once", 2},
		{"two begins", "[[]", "begins 2 times and ends once", 2},
		{"nested, with equal counts", "[\n[]]", "begins again inside itself", 3},
		{"the wrong way round", "][", "ends before it begins", 1},
		{"a third end", "[]]", "begins once and ends 2 times", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := []byte(picture(test.in))
			out, state, err := Activate(src)
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Class != diag.Unmet || e.Code != CodeBlock || e.Where.Line != test.line || !strings.Contains(e.Message, test.want) {
				t.Fatalf("error %v, want line %d and %q", err, test.line, test.want)
			}
			if out != nil || state != "" {
				t.Error("an error comes without a result")
			}
			if out, removed, err := Deactivate(src); err == nil || out != nil || removed {
				t.Error("what cannot be activated cannot be deactivated")
			}
			found := CheckBlock(src, "CLAUDE.md")
			if len(found) != 1 || found[0].Severity != diag.SeverityError || found[0].Line != test.line || found[0].File != "CLAUDE.md" || found[0].Rule != BlockRule {
				t.Errorf("findings %+v", found)
			}
		})
	}
}

func TestCheckBlock(t *testing.T) {
	for _, test := range []struct {
		name, in string
		lines    []int // of warnings
	}{
		{"the present block", "a\n\nB", nil},
		{"with other line ends", strings.ReplaceAll(picture("a\n\nB"), "\n", "\r\n"), nil},
		{"no block", "a\n", []int{0}},
		{"an old text", "a\n[old\n]", []int{2}},
		{"two blocks", "[old\n]B", []int{1, 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lines []int
			for _, f := range CheckBlock([]byte(picture(test.in)), "f") {
				if f.Severity != diag.SeverityWarning {
					t.Errorf("%+v is no warning", f)
				}
				lines = append(lines, f.Line)
			}
			if len(lines) != len(test.lines) || len(lines) > 0 && lines[0] != test.lines[0] || len(lines) > 1 && lines[1] != test.lines[1] {
				t.Errorf("lines %v, want %v", lines, test.lines)
			}
		})
	}
}

func TestTarget(t *testing.T) {
	claude, copilot := fstest.MapFS{claudeFile: {}}, fstest.MapFS{copilotFile: {}}
	for _, test := range []struct {
		name string
		fsys fs.FS
		host string
		want string
	}{
		{"claude-code", copilot, "claude-code", claudeFile},
		{"github-copilot", claude, "github-copilot", copilotFile},
		{"agents, nothing there", fstest.MapFS{}, "agents", claudeFile},
		{"agents, no project", nil, "agents", claudeFile},
		{"agents, the first is there", claude, "agents", claudeFile},
		{"agents, the second is there", copilot, "agents", copilotFile},
		{"agents, both are there", fstest.MapFS{claudeFile: {}, copilotFile: {}}, "agents", claudeFile},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := Target(test.fsys, test.host); err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
	got, err := Target(claude, "claude-cod")
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || got != "" || e.Class != diag.Misuse || e.Code != CodeHost || len(e.Candidates) == 0 || e.Candidates[0] != "claude-code" || len(e.Hints) != 1 {
		t.Errorf("%q, %#v", got, err)
	}
	if _, err := Target(claude, "copilott"); !errors.Is(err, diag.Code(CodeHost)) || err.(*diag.Error).Candidates[0] != "github-copilot" {
		t.Errorf("a part of a name: %v", err)
	}
	if _, err := Target(claude, "zzzzzzzzzzzz"); !errors.Is(err, diag.Code(CodeHost)) || len(err.(*diag.Error).Candidates) != 3 {
		t.Errorf("a host like no other: %v", err)
	}
}

// FuzzActivate holds: a second Activate changes nothing; Deactivate takes Activate back; what is outside
// of the block stays as it is.
func FuzzActivate(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\n\nB", "a\r\n[old\r\n]c", "```\n[]```\n[]", "~~~\n[", "[[]]", "[]\n\n[]\r\n", "\ufeff[]", "a\r", "````\n```\n[]", "~~~\n```\n~~~\n[]```\n"} {
		f.Add(picture(s))
	}
	f.Fuzz(func(t *testing.T, s string) {
		src := []byte(s)
		out, state, err := Activate(src)
		plain, removed, err2 := Deactivate(src)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("Activate says %v, Deactivate says %v", err, err2)
		}
		if err != nil {
			return
		}
		if again, state, err := Activate(out); err != nil || state != Keep || !bytes.Equal(again, out) {
			t.Fatalf("a second time: %q, %v\n%q\n%q", state, err, out, again)
		}
		back, ok, err := Deactivate(out)
		if err != nil || !ok {
			t.Fatalf("the block is not found again: %v", err)
		}
		want := plain // what was there before, without old blocks
		if state == Append && !bytes.HasSuffix(src, []byte("\n")) {
			want = append(append([]byte{}, src...), out[len(src):bytes.IndexByte(out[len(src):], '\n')+len(src)+1]...)
		}
		if !bytes.Equal(back, want) {
			t.Fatalf("Deactivate(Activate(%q)) = %q, want %q", s, back, want)
		}
		if none, ok, err := Deactivate(plain); err != nil || ok || !bytes.Equal(none, plain) {
			t.Fatalf("blocks are left in %q: %v", plain, err)
		}
		switch state {
		case Append:
			if !bytes.HasPrefix(out, src) || removed {
				t.Fatal("text before the block changed")
			}
		case Replace, Keep:
			p, _ := scan(src)
			q, _ := scan(out)
			if !bytes.Equal(src[:p[0].text], out[:q[0].text]) || !bytes.Equal(src[p[0].end:], out[q[0].end:]) {
				t.Fatal("text outside the block changed")
			}
		}
	})
}

func BenchmarkActivate(b *testing.B) {
	for name, text := range map[string]string{"prose": "A line of an instruction file.\n", "fences": "```go\n", "runs": "```\n````\n~~~~~\n"} {
		src := []byte(strings.Repeat(text, 1<<20/len(text)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, state, err := Activate(src); err != nil || state != Append {
					b.Fatal(state, err)
				}
			}
		})
	}
}
