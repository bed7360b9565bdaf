package skillify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// long is a package with a page that is cut into several files: n sections, of which the first is as long as first says.
func long(n, first int) *pkgdoc.Package {
	p := queue()
	page := &p.Pages[0]
	page.Sections = nil
	for i := range n {
		text := strings.TrimSpace(strings.Repeat(fmt.Sprintf("Line %d of text. ", i), 40))
		if i == 0 {
			text = strings.TrimSpace(strings.Repeat("Line 0 of text.\n\n", first))
		}
		page.Sections = append(page.Sections, pkgdoc.Section{Title: fmt.Sprintf("Part %d", i), Text: text + "\n\n### Notes\n\nNote " + fmt.Sprint(i) + "."})
	}
	return p
}

// fileWith is the file of a page that has a text.
func fileWith(t *testing.T, files map[string][]byte, text string) string {
	t.Helper()
	found := ""
	for name, data := range files {
		if strings.HasPrefix(name, "references/api/drop") && strings.Contains(string(data), text) {
			if found != "" {
				t.Fatalf("%q is in %s and in %s", text, found, name)
			}
			found = name
		}
	}
	return found
}

// A page that is cut at other places in a new version is merged as one text, and cut as the new version is. No edit is a conflict because the
// section that it is in is in another file now.
func TestMergeOfParts(t *testing.T) {
	replace := func(old, new string) func(t *testing.T, files map[string][]byte) {
		return func(t *testing.T, files map[string][]byte) {
			name := fileWith(t, files, old)
			files[name] = []byte(strings.Replace(string(files[name]), old, new, 1))
		}
	}
	all := func(t *testing.T, files map[string][]byte) {
		for i := range 90 {
			replace(fmt.Sprintf("Note %d.", i), fmt.Sprintf("Note %d. Mine %d.", i, i))(t, files)
		}
	}
	part := func(n int) string { return partName("references/api/drop.md", n) }
	for _, h := range []struct {
		name string
		do   func(t *testing.T, files map[string][]byte)
		has  []string // beside each other, in one file
		not  string
		kept string
	}{
		{"nothing", func(*testing.T, map[string][]byte) {}, nil, "", ""},
		{"every section", all, []string{"Note 31. Mine 31."}, "", "edited"},
		{"a section more", replace("## Part 40\n", "## Ours\n\n"+mySentence+"\n\n## Part 40\n"), []string{"Note 39.\n\n## Ours\n\n" + mySentence}, "", "added"},
		{"a section less", func(t *testing.T, files map[string][]byte) {
			name := fileWith(t, files, "## Part 40\n")
			text := string(files[name])
			at, end := strings.Index(text, "## Part 40\n"), strings.Index(text, "## Part 41\n")
			files[name] = []byte(text[:at] + text[end:])
		}, nil, "## Part 40\n", "deleted"},
		{"a file less", func(_ *testing.T, files map[string][]byte) { delete(files, part(2)) }, nil, "", "deleted"},
		{"text behind a file", func(_ *testing.T, files map[string][]byte) {
			files[part(2)] = append(files[part(2)], "\n"+mySentence+"\n"...)
		}, []string{mySentence}, "", "edited"},
		{"a file more", func(_ *testing.T, files map[string][]byte) { files[part(9)] = []byte(mySentence + "\n") }, []string{mySentence}, "", ""},
		{"other line ends", func(_ *testing.T, files map[string][]byte) {
			for name, data := range files {
				files[name] = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
			}
		}, nil, "", ""},
	} {
		for _, c := range []struct {
			name     string
			n, first int
		}{{"nothing", 90, 1}, {"a little more", 90, 60}, {"much more", 90, 900}, {"less", 80, 1}, {"one file", 92, 1}} {
			base, now := mustMake(t, long(90, 30)), mustMake(t, long(c.n, c.first))
			if c.name == "one file" {
				now = mustMake(t, long(5, 1))
			}
			if base.File(part(3)) == nil {
				t.Fatal("the page is not long enough")
			}
			x := mustIndex(t, base)
			ours := base.All()
			h.do(t, ours)
			name := c.name + ", " + h.name
			for what, b := range map[string]*Base{"lines": {x, base.All()}, "parts": {x, nil}} {
				m := MergeWith(b, ours, now.All(), "queue 2", "abc")
				gone := slices.ContainsFunc(m.Conflicts, func(p Place) bool { return p.What != "package_removed" })
				if gone || len(m.Conflicts) > 0 && c.n == 90 {
					t.Errorf("%s, %s: conflicts %v", name, what, m.Conflicts[:min(3, len(m.Conflicts))])
				}
				if h.kept == "" && len(m.Kept) > 0 || h.kept != "" && c.n == 90 && !slices.ContainsFunc(m.Kept, func(p Place) bool { return p.What == h.kept }) {
					t.Errorf("%s, %s: kept %v", name, what, m.Kept)
				}
				if h.name == "nothing" && !maps.EqualFunc(m.Files, now.All(), func(a, b []byte) bool { return string(a) == string(b) }) {
					t.Errorf("%s, %s: it is not what is made", name, what)
				}
				for _, text := range h.has {
					if c.n == 90 && fileWith(t, m.Files, text) == "" {
						t.Errorf("%s, %s: no %q", name, what, text)
					}
				}
				if file := fileWith(t, m.Files, "## Part 40\n"); h.not != "" && file != "" {
					t.Errorf("%s, %s: %s has %q", name, what, file, h.not)
				}
				if c.n == 90 && h.name == "every section" {
					for i := range 90 {
						head, note := fmt.Sprintf("## Part %d\n", i), fmt.Sprintf("Mine %d.", i)
						if file := fileWith(t, m.Files, note); file != fileWith(t, now.All(), fmt.Sprintf("Note %d.", i)) || fileWith(t, m.Files, head) != fileWith(t, now.All(), head) {
							t.Errorf("%s, %s: %q is in %s", name, what, note, file)
						}
					}
				}
			}
		}
	}
}

// FuzzPages: a page that nobody edited is the new one after a merge, wherever both are cut, and no line of a person is lost.
func FuzzPages(f *testing.F) {
	f.Add("# t\n\n## a\n\none\n\n### x\n\ntwo\n", "# t\n\n## a\n\nnew\n\none\n\n### x\n\ntwo\n", "mine", uint(12), uint(20), uint(9))
	f.Add("# t\n```\n# a\nb\n```\n## c\n", "# t\n## c\n", "## c", uint(3), uint(7), uint(1))
	f.Fuzz(func(t *testing.T, was, new, line string, cut, cutNew, at uint) {
		if strings.ContainsAny(line+was+new, "\r") || strings.Contains(line, "\n") || strings.TrimSpace(line) == "" || strings.Contains(was, line) {
			return
		}
		files := func(text string, cut uint) map[string][]byte {
			m := &maker{}
			text = strings.Trim(unix(text), "\n")
			lines := strings.SplitAfter(text, "\n")
			n := int(cut % uint(len(lines)+1))
			a, b := strings.Trim(strings.Join(lines[:n], ""), "\n"), strings.Trim(strings.Join(lines[n:], ""), "\n")
			if n == 0 || b == "" {
				m.add("a.md", text)
			} else {
				p := []piece{{text: a}, {from: len(strings.Join(lines[:n], "")), text: b}}
				headings(p, text)
				m.add("a.md", a+"\n\n"+goesOn("a-part2.md"))
				m.add("a-part2.md", "Part 2 of 2 of a.md"+belowText(p[1].above)+".\n\n"+b)
			}
			out := map[string][]byte{}
			for _, file := range m.files {
				out[file.Path] = file.Data
			}
			return out
		}
		made, now := files(was, cut), files(new, cutNew)
		x := &Index{Files: allSums(made)}
		ours := maps.Clone(made)
		for _, b := range []*Base{{x, made}, {x, nil}} {
			m := MergeWith(b, made, now, "x 1", "abc")
			if len(m.Conflicts)+len(m.Kept) > 0 || !maps.EqualFunc(m.Files, now, func(a, b []byte) bool { return string(a) == string(b) }) {
				t.Errorf("%q to %q: %q, %v %v", made, now, m.Files, m.Conflicts, m.Kept)
			}
			lines := strings.SplitAfter(string(made["a.md"]), "\n")
			n := int(at % uint(len(lines)))
			ours["a.md"] = []byte(strings.Join(lines[:n], "") + line + "\n" + strings.Join(lines[n:], ""))
			m = MergeWith(b, ours, now, "x 1", "abc")
			has := false
			for _, data := range m.Files {
				has = has || strings.Contains(string(data), line)
			}
			if !has {
				t.Errorf("%q to %q: %q is not in %q", ours, now, line, m.Files)
			}
		}
	})
}
