package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	d, _ := open(t, Config{}, "a", "1\n2\n3\n4", "empty", "", "bin", "a\x00b", "long", long+"\nend\n", "many", strings.Repeat("0123456789\n", 60_000), "latin", "a\xe9\n")
	for _, c := range []struct {
		fields []any
		want   string
	}{
		{[]any{"path", "a"}, "1\n2\n3\n4"},
		{[]any{"path", "a", "offset", 2, "limit", 2}, "2\n3\n"},
		{[]any{"path", "a", "offset", 4}, "4"},
		{[]any{"path", "a", "limit", 1}, "1\n"},
		{[]any{"path", "a", "offset", 9}, `error: "a" has 4 lines, and 9 was asked for`},
		{[]any{"path", "empty"}, ""},
		{[]any{"path", "bin"}, `error: "bin" is a binary file of 3 bytes`},
		{[]any{"path", "none"}, `error: there is no file "none"`},
		{[]any{"path", "none/x"}, `error: there is no file "none/x"`},
		{[]any{"path", "."}, `error: "." is a directory`},
		{[]any{"path", "latin"}, "a\uFFFD\n"},
		{[]any{"path", "long", "offset", 2}, "end\n"},
	} {
		if text, _ := call(d, "read", c.fields...); text != c.want {
			t.Errorf("%v: %.100q, want %q", c.fields, text, c.want)
		}
	}
	text, _ := call(d, "read", "path", "long")
	if len(text) > maxResult || !strings.HasSuffix(text, "go on with offset 2]") {
		t.Errorf("a long line: %d bytes, %q", len(text), text[len(text)-80:])
	}
	// A file that is too large for one result is read in parts, without a line missing.
	var all strings.Builder
	offset := 1
	for range 10 {
		text, _ := call(d, "read", "path", "many", "offset", offset)
		body, note, cut := strings.Cut(text, "\n[cut: ")
		all.WriteString(body)
		if !cut {
			break
		}
		fmt.Sscanf(note[strings.Index(note, "offset"):], "offset %d", &offset)
	}
	if all.Len() != 660_000 {
		t.Errorf("%d bytes in parts", all.Len())
	}
}

func TestWriteAndEdit(t *testing.T) {
	d, dir := open(t, Config{Consent: yes}, "run.sh", "echo a\necho a\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool   string
		fields []any
		want   string
	}{
		{"write", []any{"path", "x/y/z.txt", "content", "ü\n"}, "wrote 3 bytes to x/y/z.txt"},
		{"write", []any{"path", "x/y/z.txt", "content", ""}, "wrote 0 bytes to x/y/z.txt"},
		{"write", []any{"path", "x", "content", ""}, `error: "x" is a directory`},
		{"write", []any{"path", "new/", "content", ""}, `error: the input of write: "new/" names a directory`},
		{"write", []any{"path", "run.sh/x", "content", ""}, `error: "run.sh/x" leads through something that is not a directory`},
		{"write", []any{"path", "a"}, "error: the input of write: it needs path and content"},
		{"edit", []any{"path", "run.sh", "old_string", "echo a", "new_string", "b"}, `error: old_string occurs 2 times in "run.sh": give more of the text around it`},
		{"edit", []any{"path", "run.sh", "old_string", "echo b", "new_string", "b"}, `error: old_string does not occur in "run.sh"`},
		{"edit", []any{"path", "run.sh", "old_string", "a\necho a", "new_string", "a\necho $&"}, "replaced 1 in run.sh"},
		{"edit", []any{"path", "run.sh", "old_string", "echo", "new_string", "printf", "replace_all", true}, "replaced 2 in run.sh"},
		{"edit", []any{"path", "run.sh", "old_string", "", "new_string", "x"}, "error: the input of edit: it needs path, old_string, and a new_string that differs from it"},
		{"edit", []any{"path", "none", "old_string", "a", "new_string", "x"}, `error: there is no file "none"`},
		{"read", []any{"path", "run.sh"}, "printf a\nprintf $&\n"},
	} {
		if text, _ := call(d, c.tool, c.fields...); text != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.fields, text, c.want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s was left over", path)
		}
		return nil
	})
}

// Edits of one file at the same time do not lose each other.
func TestEditsTogether(t *testing.T) {
	var content strings.Builder
	for i := range 32 {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	d, dir := open(t, Config{Consent: yes}, "f", content.String())
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			if text, _ := call(d, "edit", "path", "f", "old_string", fmt.Sprintf("<%d>", i), "new_string", fmt.Sprintf("[%d]", i)); text != "replaced 1 in f" {
				t.Error(text)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(filepath.Join(dir, "f")); strings.Contains(string(data), "<") || strings.Count(string(data), "[") != 32 {
		t.Errorf("%s", data)
	}
}

func TestGlobGrepList(t *testing.T) {
	d, dir := open(t, Config{SkillDir: t.TempDir()}, "a.go", "package a\n// TODO one\r\n", "b/c.go", "TODO two", "b/d/e.txt", "todo three\nTODO four\n",
		".git/x.go", "TODO", "node_modules/m.go", "TODO", "bin", "TODO\x00", "long", strings.Repeat("y", 2000)+"TODO\n")
	put(t, filepath.Join(d.own.real, "s.md"), "TODO in skill\n")
	if err := os.Symlink("a.go", filepath.Join(dir, "l.go")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool   string
		fields []any
		want   string
	}{
		{"glob", []any{"pattern", "**/*.go"}, "a.go\nb/c.go\n"},
		{"glob", []any{"pattern", "*.go"}, "a.go\n"},
		{"glob", []any{"pattern", "**/*.{txt,go}", "path", "b"}, "b/c.go\nb/d/e.txt\n"},
		{"glob", []any{"pattern", "b/**"}, "b/c.go\nb/d/e.txt\n"},
		{"glob", []any{"pattern", "*.go", "path", "node_modules"}, "node_modules/m.go\n"},
		{"glob", []any{"pattern", "*", "path", "skill:"}, "skill:s.md\n"},
		{"glob", []any{"pattern", "*.rs"}, "nothing found\n"},
		{"glob", []any{"pattern", "[a"}, `error: the glob "[a" has a [ without its ] at byte 1`},
		{"glob", []any{"pattern", "*", "path", "none"}, `error: there is no file or directory "none"`},
		{"grep", []any{"pattern", "TODO (one|two)$"}, "a.go:2: // TODO one\nb/c.go:1: TODO two\n"},
		{"grep", []any{"pattern", "^todo", "ignore_case", true, "path", "b"}, "b/c.go:1: TODO two\nb/d/e.txt:1: todo three\nb/d/e.txt:2: TODO four\n"},
		{"grep", []any{"pattern", "TODO", "files_only", true}, "a.go\nb/c.go\nb/d/e.txt\nlong\n"},
		{"grep", []any{"pattern", "TODO", "glob", "*.txt"}, "b/d/e.txt:2: TODO four\n"},
		{"grep", []any{"pattern", "TODO", "glob", "b/*.go"}, "b/c.go:1: TODO two\n"},
		{"grep", []any{"pattern", "TODO", "path", "b/c.go"}, "b/c.go:1: TODO two\n"},
		{"grep", []any{"pattern", `\Atodo\b`, "path", "b"}, "b/d/e.txt:1: todo three\n"},
		{"grep", []any{"pattern", "TODO", "path", "long"}, "long:1: [byte 2001] …" + strings.Repeat("y", 125) + "TODO\n"},
		{"grep", []any{"pattern", "y+", "path", "long"}, "long:1: " + strings.Repeat("y", 500) + "…\n"},
		{"grep", []any{"pattern", "TODO", "path", "skill:"}, "skill:s.md:1: TODO in skill\n"},
		{"grep", []any{"pattern", "one\n"}, "nothing found\n"},
		{"list", []any{}, "a.go\nb/\nbin\nl.go@\nlong\nnode_modules/\n"},
		{"list", []any{"path", "a.go"}, `error: "a.go" is not a directory`},
		{"list", []any{"path", "b/d"}, "e.txt\n"},
	} {
		text, _ := call(d, c.tool, c.fields...)
		if text = strings.TrimPrefix(text, ".git/\n"); text != c.want {
			t.Errorf("%s %v: %.200q, want %q", c.tool, c.fields, text, c.want)
		}
	}
	if text, _ := call(d, "grep", "pattern", "(?=x)"); !strings.HasPrefix(text, "error: the input of grep: ") {
		t.Error(text)
	}
	empty := filepath.Join(dir, "empty")
	os.Mkdir(empty, 0o777)
	if text, _ := call(d, "list", "path", "empty"); text != "nothing found\n" {
		t.Errorf("an empty directory: %q", text)
	}
}

func TestSearchCaps(t *testing.T) {
	d, dir := open(t, Config{})
	for i := range 1100 {
		put(t, filepath.Join(dir, fmt.Sprintf("f%04d", i)), "x\n")
	}
	for _, c := range [][]any{{"glob", "pattern", "*"}, {"grep", "pattern", "x"}, {"list"}} {
		text, _ := call(d, c[0].(string), c[1:]...)
		if n := strings.Count(text, "\n"); n != maxResults+1 || !strings.HasSuffix(text, "[cut: there is more; narrow the search]\n") || !utf8.ValidString(text) {
			t.Errorf("%s gives %d lines", c[0], n)
		}
	}
}

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"**", "a/b", true}, {"**/a", "a", true}, {"**/a", "x/y/a", true}, {"a/**", "a", true}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a/**/b", "ab", false},
		{"*", "a/b", false}, {"a?", "ab", true}, {"[a-c]", "b", true}, {"{a,b/c}", "b/c", true}, {"{a,{b,c}}d", "cd", true}, {"./a", "a", true}, {"a/**/**/b", "a/b", true},
		{"**a", "xa", true}, {"**a", "x/a", false},
	} {
		g, err := parseGlob(c.pattern)
		if err != nil || g.Match(c.path) != c.want {
			t.Errorf("%s and %s: %v", c.pattern, c.path, err)
		}
	}
	for _, bad := range []string{"", "{a", "a}", "[", strings.Repeat("x", 2000), strings.Repeat("{", 500)} {
		if _, err := parseGlob(bad); err == nil {
			t.Errorf("%.20s was accepted", bad)
		}
	}
	// Time does not explode.
	g, _ := parseGlob(strings.Repeat("**/a/", 100) + "b")
	if g.Match(strings.Repeat("a/", 2000) + "c") {
		t.Error("matched")
	}
	if matchStar(strings.Repeat("*a", 100)+"b", strings.Repeat("a", 10_000)) {
		t.Error("matched")
	}
}

func BenchmarkCallRead(b *testing.B) {
	d, _ := open(b, Config{}, "docs/guide/intro.md", strings.Repeat("a line of text that is not very long\n", 100))
	b.SetBytes(3700)
	for b.Loop() {
		if text, _ := call(d, "read", "path", "docs/guide/intro.md"); len(text) != 3700 {
			b.Fatal(len(text))
		}
	}
}

func BenchmarkGrep10kFiles(b *testing.B) {
	d, dir := open(b, Config{})
	body := strings.Repeat("func f(x int) error { return nil } // nothing to see\n", 40)
	for i := range 10_000 {
		text := body
		if i%1000 == 0 {
			text += "the needle\n"
		}
		put(b, filepath.Join(dir, fmt.Sprintf("p%02d/s%d/f%04d.go", i/400, i/100%4, i)), text)
	}
	for b.Loop() {
		if text, _ := call(d, "grep", "pattern", `need[l]e$`); strings.Count(text, "\n") != 10 {
			b.Fatal(text)
		}
	}
	b.ReportMetric(10_000, "files")
}

func BenchmarkBashPattern(b *testing.B) {
	for b.Loop() {
		if _, ok := accepts([]string{"npm *", "git *"}, `git add *.go && git commit -m "a message" | git status > out.txt`); !ok {
			b.Fatal("not accepted")
		}
	}
}
