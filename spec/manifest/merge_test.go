package manifest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/manifest"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"^1.1.0", "^1.0.0", true}, {"^1.0.0", "^1.1.0", false}, {"~1.2.0", "^1.0.0", true}, {"~1.0.0", "~1.2.0", false},
		{"=1.2.3", "^1.0.0", true}, {"1.2.3", ">=1.2.3", true}, {">=1.2.3", "1.2.3", false}, {">=1.2, <1.4", "^1.0", true},
		{">=1.2, <3", "^1.0", false}, {"^2", ">=1", true}, {"1.2 - 1.4", "^1.0.0", true}, {"1.x", "^1.0.0", true}, {"^1.0.0", "1.x", true},
		{"^0.2.3", "^0.2.0", true}, {"^0.2.0", "^0.3.0", false}, {"^1.0.0 || ^2.0.0", ">=1.0.0, <3.0.0", true}, {"^1.0.0", "^1.0.0 || ^2.0.0", true},
		{">1.2.3", ">=1.2.3", true}, {">=1.2.3", ">1.2.3", false}, {"<=1.2.3", "<1.2.4", true}, {"!=1.2.3", ">=0", true}, {">=0", "!=1.2.3", false},
		{"*", "^1.0.0", false}, {"^1.0.0", "*", true}, {">=1.0.0-0", ">=1.0.0", false}, {"^99999999999.0.0", "*", false}, {"nonsense", "*", false},
	} {
		if got := manifest.Within(c.a, c.b); got != c.want {
			t.Errorf("%q in %q: %t", c.a, c.b, got)
		}
	}
}

var errPick = errors.New("asked")

// merge takes the two sides of src, which both come from base where src does not say it.
func merge(src, base []byte, pick func(manifest.Clash) (manifest.Side, error)) (*manifest.Manifest, string, error) {
	sides, err := conflict.Split(src, "skl.toml")
	if err != nil {
		return nil, "", err
	}
	if sides.Base == nil {
		sides.Base = base
	}
	m, _, told, err := manifest.Merge(sides, "skl.toml", pick)
	return m, told, err
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		src, want, asked, told string
		base                   []byte
	}{
		"both are new files": {
			src:  "<<<<<<< HEAD\n# Skills\n[skills]\npdf = { ref = \"a/b/pdf\" }\n\n[namespace]\na = \"forge:github\"\n=======\n# Skills\n[skills]\nocr = { ref = \"c/d/ocr\" } # mine\n\n[namespace]\nc = \"forge:github\"\n>>>>>>> x\n",
			want: "# Skills\n[skills]\npdf = { ref = \"a/b/pdf\" }\n\nocr = { ref = \"c/d/ocr\" } # mine\n[namespace]\na = \"forge:github\"\nc = \"forge:github\"\n",
			base: []byte{},
		},
		"tables of their own": {
			src:  "[skills.pdf]\nref = \"a/b/pdf\"\n<<<<<<< HEAD\nversion = \"^1.0.0\"\n=======\nversion = \"^1.2.0\"\n>>>>>>> x\n",
			want: "[skills.pdf]\nref = \"a/b/pdf\"\nversion = \"^1.2.0\"\n", told: "comments",
		},
		"another agent": {
			src:   "[targets]\n<<<<<<< HEAD\nhosts = [\"a\"]\n=======\nhosts = [\"b\"]\n>>>>>>> x\n",
			asked: "targets.hosts",
		},
		"the ancestor decides": {
			src:  "[skills]\n<<<<<<< HEAD\npdf = { ref = \"a/b/pdf\", branch = \"x\" }\n||||||| o\npdf = { ref = \"a/b/pdf\" }\n=======\npdf = { ref = \"a/b/pdf\" }\ncsv = { ref = \"a/b/csv\" }\n>>>>>>> x\n",
			want: "[skills]\npdf = { ref = \"a/b/pdf\", branch = \"x\" }\ncsv = { ref = \"a/b/csv\" }\n",
		},
		"removed and changed": {
			src:   "[skills]\n<<<<<<< HEAD\n||||||| o\npdf = { ref = \"a/b/pdf\" }\n=======\npdf = { ref = \"a/b/pdf\", branch = \"x\" }\n>>>>>>> x\n",
			asked: "skills.pdf",
		},
		"acceptances": {
			src:  "<<<<<<< HEAD\n[[ack]]\ncode = \"W_X\"\nname = \"a\"\n=======\n[[ack]]\ncode = \"W_X\"\nname = \"b\"\n>>>>>>> x\n",
			want: "[[ack]]\ncode = \"W_X\"\nname = \"a\"\n[[ack]]\ncode = \"W_X\"\nname = \"b\"\n",
			base: []byte{},
		},
		"one removed what the other left alone": {
			src:  "[skills]\n<<<<<<< HEAD\npdf = { ref = \"a/b/pdf\" }\n=======\ncsv = { ref = \"a/b/csv\" }\n>>>>>>> x\n",
			base: []byte("[skills]\npdf = { ref = \"a/b/pdf\" }\n"),
			want: "[skills]\ncsv = { ref = \"a/b/csv\" }\n",
		},
		"nobody knows which side was first": {src: "[skills]\n<<<<<<< HEAD\npdf = { ref = \"a/b/pdf\" }\n=======\ncsv = { ref = \"a/b/csv\" }\n>>>>>>> x\n", asked: "skills.csv"},
		"the ancestor is no manifest":       {src: "[skills]\n<<<<<<< HEAD\npdf = { ref = \"a/b/pdf\" }\n=======\ncsv = { ref = \"a/b/csv\" }\n>>>>>>> x\n", base: []byte("<<<<<<< x\n"), asked: "skills.csv"},
		"crlf": {
			src:  "[skills]\r\n<<<<<<< HEAD\r\npdf = { ref = \"a/b/pdf\" }\r\n=======\r\ncsv = { ref = \"a/b/csv\" }\r\n>>>>>>> x\r\n",
			want: "[skills]\r\npdf = { ref = \"a/b/pdf\" }\r\ncsv = { ref = \"a/b/csv\" }\r\n",
			base: []byte("[skills]\r\n"),
		},
	} {
		asked := ""
		m, told, err := merge([]byte(c.src), c.base, func(c manifest.Clash) (manifest.Side, error) {
			asked = c.Entry
			return "", errPick
		})
		switch {
		case asked != c.asked || (asked != "") != errors.Is(err, errPick):
			t.Errorf("%s: asked for %q, %v", name, asked, err)
		case asked != "":
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case string(m.Bytes()) != c.want || !strings.HasPrefix(told, c.told) || (told != "") != (c.told != ""):
			t.Errorf("%s: %q\n%s", name, told, m.Bytes())
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("[skills]\n<<<<<<< HEAD\npdf = { ref = \"a/b/pdf\" }\n||||||| o\n=======\ncsv = { ref = \"a/b/csv\" }\n>>>>>>> x\n"))
	f.Add([]byte("<<<<<<< HEAD\n[[ack]]\ncode = \"W_X\"\nname = \"a\"\n=======\n[skills.pdf]\nref = \"a/b/pdf\"\n>>>>>>> x\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, _, err := merge(src, nil, func(manifest.Clash) (manifest.Side, error) { return manifest.Theirs, nil })
		if err != nil {
			return
		}
		if _, err := manifest.Parse(m.Bytes(), "skl.toml"); err != nil {
			t.Fatalf("%v\n%s", err, m.Bytes())
		}
	})
}
