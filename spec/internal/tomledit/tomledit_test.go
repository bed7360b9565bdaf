package tomledit

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Each edit is shown as the file before, the edit, and the file after.
func TestEdits(t *testing.T) {
	tests := []struct {
		name, before, after string
		edit                func(*Doc) error
	}{
		{"a value is replaced where it stands",
			"a = 1 # one\n[t]\nb  =  'x' # two\n", "a = 1 # one\n[t]\nb  =  2 # two\n",
			func(d *Doc) error { return d.Set([]string{"t", "b"}, "2") }},
		{"a new key follows the last of its table",
			"[t]\na = 1\n\n# u\n[u]\nb = 2\n", "[t]\na = 1\nc = 3\n\n# u\n[u]\nb = 2\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"in an empty table it follows the header, also at the end of a file without a line end",
			"[t] # t", "[t] # t\nc = 3\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"indentation and line ends are taken over",
			"[t]\r\n\ta = 1\r\n", "[t]\r\n\ta = 1\r\n\tc = 3\r\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"inline tables stay inline",
			"t = { a = 1 }\nu = {}\n", "t = { a = 1, c = 3 }\nu = {}\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"empty ones too",
			"u = {}\n", "u = { c = 3 }\n",
			func(d *Doc) error { return d.Set([]string{"u", "c"}, "3") }},
		{"dotted keys stay dotted",
			"t.a = 1\n[u]\n", "t.a = 1\nt.c = 3\n[u]\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"a table that only has sub-tables gets a section",
			"[t.u]\na = 1\n", "[t.u]\na = 1\n\n[t]\nc = 3\n",
			func(d *Doc) error { return d.Set([]string{"t", "c"}, "3") }},
		{"a key that needs quotes gets them",
			"[t]\n", "[t]\n\"a b\" = 1\n",
			func(d *Doc) error { return d.Set([]string{"t", "a b"}, "1") }},
		{"the first of an inline table is deleted with its comma",
			"t = { a = 1, b = 2 }\n", "t = { b = 2 }\n",
			func(d *Doc) error { return deleted(d.Delete([]string{"t", "a"})) }},
		{"so is the last",
			"t = { a = 1, b = 2 }\n", "t = { a = 1 }\n",
			func(d *Doc) error { return deleted(d.Delete([]string{"t", "b"})) }},
		{"dotted keys of an inline table go one by one",
			"t = { a.x = 1, b = 2, a.y = 3 }\n", "t = { b = 2 }\n",
			func(d *Doc) error { return deleted(d.Delete([]string{"t", "a"})) }},
		{"a section goes with its sub-tables and one blank line; comments on their own lines stay",
			"[a]\n# about t\n\n[t]\n# inside\nx = [\n 1,\n]\n[t.u]\ny = 2\n\n[z]\n", "[a]\n# about t\n\n# inside\n\n[z]\n",
			func(d *Doc) error { return deleted(d.Delete([]string{"t"})) }},
		{"an element of a list of tables is deleted",
			"[[t]]\na = 1\n\n[[t]]\na = 2\n\n[[t]]\na = 3\n", "[[t]]\na = 1\n\n[[t]]\na = 3\n",
			func(d *Doc) error { return d.DeleteItem([]string{"t"}, 1) }},
		{"a key of an element is set",
			"[[t]]\na = 1\n\n[[t]]\na = 2\n", "[[t]]\na = 1\nb = 3\n\n[[t]]\na = 2\n",
			func(d *Doc) error { return d.SetInItem([]string{"t"}, 0, "b", "3") }},
		{"a list on one line is rewritten",
			"l = [ 'a', 'b' ] # l\n", "l = [\"b\", \"c\"] # l\n",
			func(d *Doc) error { return d.SetStrings([]string{"l"}, []string{"b", "c"}) }},
		{"a list on several lines keeps its comments",
			"l = [\n  'a', # A\n  # before b\n  'b',\n  'c' # C\n]\n", "l = [\n  # A\n  # before b\n  'b',\n  'c', # C\n  \"d\"\n]\n",
			func(d *Doc) error { return d.SetStrings([]string{"l"}, []string{"b", "c", "d"}) }},
		{"with a comma at its end it keeps that",
			"l = [\n  'a',\n  'b', # B\n]\n", "l = [\n  'b', # B\n  \"d\",\n]\n",
			func(d *Doc) error { return d.SetStrings([]string{"l"}, []string{"b", "d"}) }},
	}
	for _, tt := range tests {
		d, err := Parse([]byte(tt.before))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := tt.edit(d); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := string(d.Bytes()); got != tt.after {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.after)
		}
	}
}

func deleted(found bool, err error) error {
	if err == nil && !found {
		panic("nothing was deleted")
	}
	return err
}

// A failed edit changes nothing.
func TestEditRefused(t *testing.T) {
	const src = "a = 1\n[t]\n[[l]]\n"
	edits := map[string]func(*Doc) error{
		"value into table":     func(d *Doc) error { return d.Set([]string{"t"}, "1") },
		"key below a value":    func(d *Doc) error { return d.Set([]string{"a", "b"}, "1") },
		"key below a list":     func(d *Doc) error { return d.Set([]string{"l", "b"}, "1") },
		"text that is no TOML": func(d *Doc) error { return d.Set([]string{"t", "b"}, "1 2") },
		"no such element":      func(d *Doc) error { return d.DeleteItem([]string{"l"}, 1) },
		"no list":              func(d *Doc) error { return d.DeleteItem([]string{"t"}, 0) },
	}
	for name, edit := range edits {
		d, _ := Parse([]byte(src))
		if err := edit(d); err == nil || string(d.Bytes()) != src || d.Root.Get("t") == nil {
			t.Errorf("%s: error %v, file %q", name, err, d.Bytes())
		}
	}
}

// The rules are go-toml's: what it accepts is accepted, and nothing else.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a = 1\n[b]\nc.d = 2 # x\n[[e]]\nf=[1,2]\n", "a.b = 1\n[a.c]\nx = {y = 1, z.w = \"q\"}\nt = 1979-05-27T07:32:00Z\n",
		"[a.b]\n[a]\nb.c = 1", "a = 1\n[a]", "[[a]]\n[a]", "a = []\n[[a]]", "a = {}\n[a.b]", "x = 0x_1", "x = 1979-13-01", "a = 1\r\nb = \"\\u00e9\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var x map[string]any
		want := toml.Unmarshal([]byte(s), &x)
		d, err := Parse([]byte(s))
		if err != nil {
			if want == nil && !strings.Contains(err.Error(), "deep") {
				t.Fatalf("%q is refused: %v", s, err)
			}
			return
		}
		if want != nil {
			t.Fatalf("%q is accepted, go-toml says %v", s, want)
		}
		// The one-line form says the same.
		again, err := Parse([]byte("x = " + d.Root.Inline()))
		if err != nil {
			if !strings.Contains(err.Error(), "deep") {
				t.Fatalf("%q: inline %q: %v", s, d.Root.Inline(), err)
			}
		} else if got := again.Root.Get("x").Inline(); got != d.Root.Inline() {
			t.Fatalf("%q: inline %q becomes %q", s, d.Root.Inline(), got)
		}
	})
}

// After any edit, the file says what it said, with exactly that edit, and no
// comment that stands on a line of its own is lost.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{
		"# a\n[skills] # b\nx = { ref = 'a' } # c\n\n# d\n[skills.y]\nref = 'b'\n# e\n[t]\n", "skills.x.ref = 1\n# f\n[skills.y.z]\na=1",
		"skills = { x.ref = 1, y = {}, z = [\n# g\n1, # h\n] }", "[a]\n[[skills]]\nx = 1", "[skills]\r\nx.a = 1\r\nx.b = 2\r\n", "[skills]\nl = [\n# i\n'p', # j\n'q']",
	} {
		f.Add(s, uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		d, err := Parse([]byte(s))
		if err != nil || strings.Contains(d.Root.Inline(), `\u0000`) {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		keys := []string{"x", "y", "z", "new", "ref", "l"}
		path := []string{"skills", keys[rnd.IntN(len(keys))], keys[rnd.IntN(len(keys))]}[:2+rnd.IntN(2)]
		before, text := flat(d.Root), string(d.Bytes())
		comments := ownComments(text)
		inside := commentsWithin(d, text, path) // these go with the value
		comments = slices.DeleteFunc(comments, func(c string) bool { return slices.Contains(inside, c) })
		list := []string{"p", "r", "q"}[:rnd.IntN(4)]
		kind := rnd.IntN(3)
		found := false
		switch kind {
		case 0:
			err = d.Set(path, `"v"`)
		case 1:
			found, err = d.Delete(path)
		case 2:
			err = d.SetStrings(path, list)
		}
		if err != nil {
			if string(d.Bytes()) != text {
				t.Fatalf("%q: a failed edit changes the file to %q", s, d.Bytes())
			}
			return
		}
		want := map[string]string{}
		at := strings.Join(path, "\x00")
		for k, v := range before {
			if k != at && !strings.HasPrefix(k, at+"\x00") {
				want[k] = v
			}
		}
		switch kind {
		case 0:
			want[at] = `"v"`
		case 1:
			if !found && string(d.Bytes()) != text {
				t.Fatalf("%q: deleting nothing gives %q", s, d.Bytes())
			}
		case 2:
			want[at] = QuoteList(list)
		}
		got := flat(d.Root)
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q, edit %d of %q: %q is %q, want %q, in %q", s, kind, path, k, got[k], v, d.Bytes())
			}
			delete(got, k)
		}
		if len(got) > 0 {
			t.Fatalf("%q, edit %d of %q adds %q: %q", s, kind, path, got, d.Bytes())
		}
		if !bytes.ContainsAny(d.Bytes(), "\"'") || kind == 0 && before[at] == "" {
			for _, c := range comments {
				if !slices.Contains(ownComments(string(d.Bytes())), c) {
					t.Fatalf("%q, edit %d of %q loses %q: %q", s, kind, path, c, d.Bytes())
				}
			}
		}
	})
}

// commentsWithin are those in the value at path as it is written, or in the values below it if it is a table of dotted keys or with lines of its own.
func commentsWithin(d *Doc, text string, path []string) (list []string) {
	v := d.Root
	for _, key := range path {
		if v = v.Get(key); v == nil {
			return nil
		}
	}
	if v.end > v.Offset && v.end <= len(text) {
		return ownComments(text[v.Offset:v.end])
	}
	for _, f := range v.Fields {
		list = append(list, commentsWithin(d, text, append(slices.Clone(path), f.Key))...)
	}
	return list
}

// flat is every value of a table by its path.
func flat(v *Value) map[string]string {
	m := map[string]string{}
	var walk func(prefix string, v *Value)
	walk = func(prefix string, v *Value) {
		for _, f := range v.Fields {
			if f.Value.Kind == Table && len(f.Value.Fields) > 0 {
				walk(prefix+f.Key+"\x00", f.Value)
			} else if f.Value.Kind != Table {
				m[prefix+f.Key] = f.Value.Inline()
			}
		}
	}
	walk("", v)
	return m
}

// ownComments are the comments that have a line for themselves.
func ownComments(s string) []string {
	var list []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}
