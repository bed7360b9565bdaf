package prose_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
	"github.com/skl-project/skl/testdata/corpus"
)

// there makes a tree of prose, and prose of that. ok is false where the skill has no tree to make.
func there(t *testing.T, src []byte, name string, files fs.FS) (back []byte, added map[string]string, ok bool) {
	t.Helper()
	out, err := prose.ToTree(src, name, files)
	if err != nil {
		return nil, nil, false
	}
	c := converted{src: out.Source, files: map[string]string{}}
	for _, f := range out.Files {
		c.files[f.Name] = f.Text
	}
	s, err := tree.Load(c.over(files), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	back, _, err = prose.Convert(s)
	if err != nil {
		t.Logf("%s: %v", name, err)
		return nil, nil, false
	}
	return back, c.files, true
}

// back checks that prose -> tree -> prose leaves compatibility as it was and nothing of the tree, and adds nothing the second time.
func back(t *testing.T, src []byte, name string, files fs.FS) (ok bool) {
	t.Helper()
	first, added, ok := there(t, src, name, files)
	if !ok {
		return false
	}
	before, err := skill.Read(src)
	if err != nil {
		return false
	}
	after, err := skill.Read(first)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return true
	}
	if was, is := strings.TrimSpace(before.Compatibility), strings.TrimSpace(after.Compatibility); was != is && !strings.Contains(strings.ToLower(was), "canopy") {
		t.Errorf("%s: compatibility %q became %q", name, was, is)
	}
	for _, own := range []string{"Runtime required.", "\n- Do only what the tree says.", "\n## Response: summary\n", "canopy-features", "\n## Tree"} {
		if strings.Contains(string(first), own) && !strings.Contains(string(src), own) {
			t.Errorf("%s: %q is left of the tree", name, own)
		}
	}
	second, more, ok := there(t, first, name, converted{src: first, files: added}.over(files))
	if !ok {
		t.Errorf("%s: no tree the second time", name)
		return true
	}
	if os.Getenv("SKL_TEST_CONVERT_SHOW") == name {
		t.Logf("%s\n======\n%s", first, second)
	}
	if len(more) > 0 || len(second) > len(first) {
		t.Errorf("%s: the second time %d files more, and %d bytes after %d", name, len(more), len(second), len(first))
	}
	return true
}

func TestThereAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: reads hundreds of skills")
	}
	n := 0
	count := func(ok bool) {
		if ok {
			n++
		}
	}
	for dir, fsys := range corpus.Below(corpus.Files(t), corpus.IsEntry) {
		s, err := tree.Load(fsys, path.Base(dir))
		if err != nil || s.Tree == nil {
			continue
		}
		if src, _, err := prose.Convert(s); err == nil {
			count(back(t, src, path.Base(dir), fsys))
		}
	}
	t.Logf("%d skills of the corpus", n)
	root := publishedSkills(t)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() != skill.FileName {
			return err
		}
		src, err := os.ReadFile(name)
		if err == nil {
			count(back(t, src, filepath.Base(filepath.Dir(name)), os.DirFS(filepath.Dir(name))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d skills", n)
}

// Text beside what skl writes stays, and so does what is not exactly that.
func TestLeftovers(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"all is skl's", "## Tree\n\n* a b\n\n## Rules\n\n- Do only what the tree says.\n\n## Response: summary\n", "## Steps\n\n1. a b\n"},
		{"a rule besides", "## Tree\n\n* a b\n\n## Rules\n\n- Do only what the tree says.\n- Be brief.\n\n## Response: summary\n", "## Steps\n\n1. a b\n\n## Rules\n\n- Be brief.\n"},
		{"a rule in other words", "## Tree\n\n* a b\n\n## Rules\n\n- Do only what the tree says, please.\n\n## Response: list\n", "## Steps\n\n1. a b\n\n## Rules\n\n- Do only what the tree says, please.\n\n## Response: list\n"},
		{"a response with text", "## Tree\n\n* a b\n\n## Response: summary\n\nOf all.\n", "## Steps\n\n1. a b\n\n## Response: summary\n\nOf all.\n"},
		{"sections behind it", "## Tree\n\n* a b\n\n## Rules\n\n- Do only what the tree says.\n\n## More\n\nText.", "## Steps\n\n1. a b\n\n## More\n\nText."},
		{"text between", "## Rules\n\n- Do only what the tree says.\n\n## Tree\n\n* a b\n\n## Response: summary\n", "## Steps\n\n1. a b\n"},
	} {
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte(head + test.body)}}, "demo")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := prose.Convert(s)
		if err != nil || string(got) != head+test.want {
			t.Errorf("%s: %v\n%q\nwant\n%q", test.name, err, got, head+test.want)
		}
	}
}

// Compatibility is given back as it was, whatever version of skl wrote what stands beside it.
func TestCompatibilityBack(t *testing.T) {
	const older = "Needs a runtime for Canopy trees. Either run it with skl, or give the agent the skill canopy-runtime from github.com/kostiantyn-matsebora/canopy, with any installer of agent skills or by copying its directory."
	const former = "Needs a runtime for Canopy trees. Run the skill with skl, or give the agent the skill canopy-runtime, which any installer of agent skills can fetch. Both are found at github.com/skl-project/skl."
	for _, own := range []string{older, former} {
		for _, test := range []struct{ is, want string }{
			{own, ""}, {"Needs git. " + own, "Needs git."}, {own + " Needs git", "Needs git"}, {"Both are found at example.com. " + own, "Both are found at example.com."},
		} {
			s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: d\ncompatibility: " + test.is + "\n---\n\n## Tree\n\n* a b\n")}}, "demo")
			if err != nil {
				t.Fatal(err)
			}
			src, _, err := prose.Convert(s)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := skill.Read(src)
			if err != nil || doc.Compatibility != test.want {
				t.Errorf("%q became %q, %v, want %q", test.is, doc.Compatibility, err, test.want)
			}
		}
	}
}
