package conflict_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
)

func TestSplit(t *testing.T) {
	for name, c := range map[string]struct{ src, ours, theirs, base string }{
		"merge":     {"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> side\nd\n", "a\nb\nd\n", "a\nc\nd\n", ""},
		"diff3":     {"a\n<<<<<<< HEAD\nb\n||||||| 1234567\no\n=======\nc\n>>>>>>> side\n", "a\nb\n", "a\nc\n", "a\no\n"},
		"crlf":      {"a\r\n<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> side\r\n", "a\r\nb\r\n", "a\r\nc\r\n", ""},
		"no labels": {"<<<<<<<\nb\n=======\nc\n>>>>>>>", "b\n", "c\n", ""},
		"two":       {"<<<<<<< x\n=======\nc\n>>>>>>> y\nm\n<<<<<<< x\nd\n=======\n>>>>>>> y\n", "m\nd\n", "c\nm\n", ""},
		"nested base": {"<<<<<<< x\nb\n||||||| y\n<<<<<<<<< p\nq\n=========\nr\n>>>>>>>>> s\n=======\nc\n>>>>>>> z\n",
			"b\n", "c\n", "<<<<<<<<< p\nq\n=========\nr\n>>>>>>>>> s\n"},
		"longer markers": {"<<<<<<<<<< x\nb\n==========\n=======\n>>>>>>>>>> y\n", "b\n", "=======\n", ""},
	} {
		got, err := conflict.Split([]byte(c.src), "f")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(got.Ours) != c.ours || string(got.Theirs) != c.theirs || string(got.Base) != c.base || got.Line == 0 || got.Line != conflict.Line([]byte(c.src)) {
			t.Errorf("%s: %q %q %q, line %d", name, got.Ours, got.Theirs, got.Base, got.Line)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for src, line := range map[string]int{
		"a\n<<<<<<< x\nb\n":                                   2,
		"a\n<<<<<<< x\nb\n=======\nc\n":                       2,
		"=======\n":                                           1,
		"a\n>>>>>>> x\n":                                      2,
		"<<<<<<< x\n<<<<<<< y\n":                              2,
		"<<<<<<< x\n>>>>>>> y\n":                              2,
		"<<<<<<< x\n=======\n=======\n>>>>>>> y\n":            3,
		"<<<<<<< x\n=======\n||||||| y\n>>>>>>> y\n":          3,
		"<<<<<<< x\n||||||| y\n||||||| y\n=======\n>>>>>>> y": 3,
	} {
		_, err := conflict.Split([]byte(src), "skl.lock")
		e, ok := diag.Own(err)
		if !ok || e.Code != "conflict_markers" || e.Where.Line != line || e.Where.File != "skl.lock" {
			t.Errorf("%q: %v", src, err)
		}
		if conflict.Line([]byte(src)) == 0 {
			t.Errorf("%q: no marker", src)
		}
	}
	for _, src := range []string{"", "a = \"<<<<<<< x\"\n", " <<<<<<< x\n", "<<<<<<<x\n", "<<<<<< x\n", "# ======= x\n"} {
		if s, err := conflict.Split([]byte(src), "f"); err != nil || s.Line != 0 || conflict.Line([]byte(src)) != 0 || string(s.Ours) != src || string(s.Theirs) != src {
			t.Errorf("%q: %+v, %v", src, s, err)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("a\n<<<<<<< HEAD\nb\n||||||| 1234567\no\n=======\nc\n>>>>>>> side\nd"))
	f.Add([]byte("<<<<<<< x\r\n=======\r\n>>>>>>> y\r\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := conflict.Split(src, "f")
		line := conflict.Line(src)
		if err != nil {
			if e, ok := diag.Own(err); s != nil || !ok || e.Where.Line < line || line == 0 {
				t.Fatalf("%v", err)
			}
			return
		}
		if s.Line != line || line == 0 && (!bytes.Equal(s.Ours, src) || !bytes.Equal(s.Theirs, src)) || (line > 0) != (len(s.Hunks) > 0) {
			t.Fatalf("%+v", s)
		}
		// Each hunk stands where it says, and the other side is what is left with its text exchanged.
		var other []byte
		at := 0
		for _, h := range s.Hunks {
			if h.At < at || !bytes.HasPrefix(s.Ours[h.At:], h.Ours) {
				t.Fatalf("%+v", s)
			}
			other = append(append(other, s.Ours[at:h.At]...), h.Theirs...)
			at = h.At + len(h.Ours)
		}
		if other = append(other, s.Ours[at:]...); !bytes.Equal(other, s.Theirs) {
			t.Fatalf("theirs is %q, and not %q", s.Theirs, strings.ToValidUTF8(string(other), "?"))
		}
	})
}

func TestBetween(t *testing.T) {
	for _, c := range []struct{ base, ours, theirs, marked string }{
		{"a\nb\nc\n", "a\nx\nc\n", "a\ny\nz\nc\n", "a\n<<<<<<< ours\nx\n||||||| base\nb\n=======\ny\nz\n>>>>>>> theirs\nc\n"},
		{"", "a\n", "b\n", "<<<<<<< ours\na\n||||||| base\n=======\nb\n>>>>>>> theirs\n"},
		{"a\na\n", "a\n", "a\na\na\n", "a\n<<<<<<< ours\n||||||| base\na\n=======\na\na\n>>>>>>> theirs\n"},
		{"a\n", "a\n<<<<<<< x\n", "a\nb", "a\n<<<<<<<< ours\n<<<<<<< x\n|||||||| base\n========\nb\n>>>>>>>> theirs\n"},
		{"a\n", "b\n", "b\n", "b\n"},
		{"xa\n", "a\n", "b\na\n", "<<<<<<< ours\na\n||||||| base\nxa\n=======\nb\na\n>>>>>>> theirs\n"},
	} {
		s := conflict.Between([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if got := string(s.Marked()); got != c.marked {
			t.Errorf("%q %q %q: %q, want %q", c.base, c.ours, c.theirs, got, c.marked)
		}
	}
}

func FuzzBetween(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n", "d\nb\n")
	f.Add("", "<<<<<<< x\n", "=======\n")
	f.Add("", "<<<<<<<", "========")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		ended := func(s string) string {
			if s != "" && !strings.HasSuffix(s, "\n") {
				s += "\n"
			}
			return s
		}
		if base, ours, theirs = ended(base), ended(ours), ended(theirs); ours == theirs {
			return
		}
		got, err := conflict.Split(conflict.Between([]byte(base), []byte(ours), []byte(theirs)).Marked(), "f")
		if err != nil || string(got.Ours) != ours || string(got.Theirs) != theirs || string(got.Base) != base {
			t.Errorf("%q %q %q: %+v, %v", base, ours, theirs, got, err)
		}
	})
}
