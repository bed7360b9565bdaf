package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

const tree0 = "tree-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
const sum0 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const wholeReceipt = `{
  "v": 1,
  "name": "pdf",
  "tree": "` + tree0 + `",
  "version": "1.4.2",
  "source": "git",
  "url": "https://git.example/pdf.git",
  "commit": "0123456789abcdef0123456789abcdef01234567",
  "signer": {"issuer":"https://id.example","identity":"kim@example.org"},
  "generated_from": {"ecosystem":"npm","package":"pdf-lib"},
  "links": [".claude/skills/pdf"],
  "copy_of": ".agents/skills/pdf",
  "later": {"a":[1,2.50]},
  "files": {
    "SKILL.md": [120,"` + sum0 + `","-"],
    "run": [6,"` + sum0 + `","l"],
    "run.sh": [0,"` + sum0 + `","x"]
  }
}
`

func TestReceipt(t *testing.T) {
	r, err := ParseReceipt([]byte(wholeReceipt))
	if err != nil {
		t.Fatal(err)
	}
	if r.Signer == nil || *r.Signer != (lock.Signer{Issuer: "https://id.example", Identity: "kim@example.org"}) ||
		r.Files["run.sh"].Mode != bundle.Executable || r.Files["SKILL.md"].Size != 120 || !slices.Equal(r.Links, []string{".claude/skills/pdf"}) || r.CopyOf != ".agents/skills/pdf" {
		t.Errorf("parsed %+v", r)
	}
	if got := string(r.Format()); got != wholeReceipt {
		t.Errorf("Format gives\n%s\nwant\n%s", got, wholeReceipt)
	}
}

func TestParseReceiptRefuses(t *testing.T) {
	edit := func(from, to string) string { return strings.Replace(wholeReceipt, from, to, 1) }
	tests := map[string]string{
		"nothing":              "",
		"not JSON":             "{",
		"a later version":      edit(`"v": 1`, `"v": 2`),
		"no version":           edit(`"v": 1,`, ``),
		"no name":              edit(`"pdf"`, `""`),
		"a name with a path":   edit(`"pdf"`, `"../pdf"`),
		"a name of skl's own":  edit(`"pdf"`, `".skl"`),
		"a short digest":       edit(tree0, "tree-sha256:00"),
		"a path out of it":     edit(`"SKILL.md"`, `"../SKILL.md"`),
		"an absolute path":     edit(`"SKILL.md"`, `"/SKILL.md"`),
		"a path with a .git":   edit(`"SKILL.md"`, `".git/config"`),
		"a link out of it":     edit(`".claude/skills/pdf"`, `"../skills/pdf"`),
		"an absolute link":     edit(`".claude/skills/pdf"`, `"/home/pdf"`),
		"a link into .git":     edit(`".claude/skills/pdf"`, `".git/hooks/pdf"`),
		"a link by drive":      edit(`".claude/skills/pdf"`, `"C:/skills/pdf"`),
		"a link of another":    edit(`".claude/skills/pdf"`, `".claude/skills/other"`),
		"a link that is ..":    edit(`".claude/skills/pdf"`, `"a/../pdf"`),
		"a copy of elsewhere":  edit(`".agents/skills/pdf"`, `"../skills/pdf"`),
		"a copy of another":    edit(`".agents/skills/pdf"`, `".agents/skills/other"`),
		"an absolute copy":     edit(`".agents/skills/pdf"`, `"/home/pdf"`),
		"two fields of a file": edit(`[120,`, `[`),
		"a negative size":      edit(`[120,`, `[-1,`),
		"an unknown mode":      edit(`"-"`, `"d"`),
		"a short hash":         edit(`[120,"e3`, `[120,"`),
		"an upper-case hash":   edit(`[120,"e3`, `[120,"E3`),
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		r, err := ParseReceipt([]byte(tests[name]))
		if !errors.Is(err, diag.Code("E_RECEIPT")) || !reflect.DeepEqual(r, Receipt{}) {
			t.Errorf("%s: %+v, %v; want the zero Receipt and E_RECEIPT", name, r, err)
		}
	}
}

func TestReceipts(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "b", "b+acme")
	w.skill("P/.agents/skills", "a", "a+acme")
	root := w.path("P/.agents/skills")
	w.write(ReceiptPath(root, "broken"), []byte("{"))
	w.write(ReceiptPath(root, "other"), receiptFor(t, root, "a").Format())
	receipts, errs := Receipts(root)
	if len(receipts) != 2 || receipts[0].Name != "a" || receipts[1].Name != "b" || len(errs) != 2 {
		t.Errorf("receipts %v, errors %v; want a and b, and two errors", receipts, errs)
	}
	for _, err := range errs {
		if !errors.Is(err, diag.Code("E_RECEIPT")) || !strings.Contains(err.Error(), ".json") {
			t.Errorf("error %v does not name the file", err)
		}
	}
	if _, err := ReadReceipt(root, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no receipt: %v", err)
	}
	if receipts, errs := Receipts(w.path("none")); receipts != nil || errs != nil {
		t.Errorf("no root: %v, %v", receipts, errs)
	}
}

// A receipt that cannot be read is said, and counts as none.
func TestBrokenReceiptIsListed(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a+acme")
	w.write(ReceiptPath(w.path("P/.agents/skills"), "pdf"), []byte("{"))
	if r := w.discover().Skills[0]; codes(r) != "E_RECEIPT" || r.Source != "" || r.State != Active {
		t.Errorf("listed as %s from %q with %q", r.State, r.Source, codes(r))
	}
}

// Whatever is accepted survives a rewrite, fields of later versions too, and names no path outside: of the
// root for the skill itself, of the skill for its files, of the scope for links.
func FuzzParseReceipt(f *testing.F) {
	f.Add([]byte(wholeReceipt))
	f.Add([]byte(`{"v":1,"name":"a","tree":"` + tree0 + `","files":{},"x":"<&>","Y":1e3,"":null}`))
	f.Add([]byte(strings.Replace(wholeReceipt, ".claude/skills/pdf", "../pdf", 1)))
	f.Add([]byte(strings.Replace(wholeReceipt, "SKILL.md", "/etc/passwd", 1)))
	f.Add([]byte(`{"v":1,"NAME":"a","tree":"` + tree0 + `","files":null,"signer":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReceipt(data)
		if err != nil {
			if !reflect.DeepEqual(r, Receipt{}) {
				t.Fatalf("error %v and %+v", err, r)
			}
			return
		}
		for _, p := range append(append(slices.Collect(maps.Keys(r.Files)), r.Links...), r.Name) {
			if !filepath.IsLocal(filepath.FromSlash(p)) || strings.EqualFold(strings.Split(p, "/")[0], ".git") {
				t.Fatalf("%q names %q", data, p)
			}
		}
		if filepath.Base(r.Name) != r.Name {
			t.Fatalf("%q has the name %q", data, r.Name)
		}
		text := r.Format()
		again, err := ParseReceipt(text)
		if err != nil {
			t.Fatalf("%q is written as %q, which gives %v", data, text, err)
		}
		if string(again.Format()) != string(text) {
			t.Fatalf("%q is written as %q, then as %q", data, text, again.Format())
		}
		if !slices.Equal(slices.Sorted(maps.Keys(r.unknown)), slices.Sorted(maps.Keys(again.unknown))) || len(r.Files) != len(again.Files) {
			t.Fatalf("%q loses fields: %v, %v", data, r, again)
		}
	})
}

func ExampleReceipt() {
	r := Receipt{Name: "pdf", Tree: tree0, Version: "1.4.2", Source: "git", URL: "https://git.example/pdf.git"}
	r.Files = map[string]File{"SKILL.md": {Size: 120, Mode: bundle.Plain}}
	fmt.Print(string(r.Format()))
	// Output:
	// {
	//   "v": 1,
	//   "name": "pdf",
	//   "tree": "tree-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	//   "version": "1.4.2",
	//   "source": "git",
	//   "url": "https://git.example/pdf.git",
	//   "files": {
	//     "SKILL.md": [120,"0000000000000000000000000000000000000000000000000000000000000000","-"]
	//   }
	// }
}
