package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/secrets"
	"github.com/skl-project/skl/testdata/goroot"
	"github.com/skl-project/skl/testdata/long"
)

// A corpus is all files of a directory in memory, to be searched without an index.
type corpus struct {
	dir   string
	paths []string
	texts [][]byte // nil for a binary file
	all   []byte   // texts, one behind the other, a NUL between
	start []int    // of each in all
}

func readCorpus(t testing.TB, r *repo) *corpus {
	t.Helper()
	list, err := r.walker.Walk(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.TooLarge) > 0 || list.Odd > 0 {
		t.Logf("%d files are too large to be searched, %d have odd names", len(list.TooLarge), list.Odd)
	}
	c := &corpus{dir: r.dir}
	for _, f := range list.Files {
		data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(f.Path)))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			data = nil
		}
		c.paths, c.texts, c.start = append(c.paths, f.Path), append(c.texts, data), append(c.start, len(c.all))
		c.all = append(append(c.all, data...), 0)
	}
	return c
}

// literal returns the files that hold text, found by looking at every byte.
func (c *corpus) literal(text string) (paths []string) {
	for at := 0; ; {
		i := bytes.Index(c.all[at:], []byte(text))
		if i < 0 {
			return paths
		}
		n, ok := slices.BinarySearch(c.start, at+i)
		if !ok {
			n--
		}
		paths = append(paths, c.paths[n])
		at = c.start[n] + len(c.texts[n])
	}
}

// regex returns the files with a line that matches.
func (c *corpus) regex(expr string) (paths []string) {
	re := regexp.MustCompile("(?m)" + strings.ReplaceAll(expr, "$", "\r?$"))
	for i, text := range c.texts {
		// The text after the last line end is not a line.
		if len(text) > 0 && re.Match(bytes.TrimSuffix(text, []byte("\n"))) {
			paths = append(paths, c.paths[i])
		}
	}
	return paths
}

var token = regexp.MustCompile(`[A-Za-z0-9_]+|[^\sA-Za-z0-9_]`)

// literals returns n texts of two to four words with punctuation between or around them, as they stand somewhere in a line.
func (c *corpus) literals(n int, r *rand.Rand) (list []string) {
	for len(list) < n {
		text := c.texts[r.IntN(len(c.texts))]
		if len(text) == 0 {
			continue
		}
		at := r.IntN(len(text))
		from := bytes.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := bytes.Cut(text[from:], []byte("\n"))
		places := token.FindAllIndex(line[:min(len(line), 400)], -1)
		if len(places) < 4 {
			continue
		}
		first := r.IntN(len(places) - 3)
		last := min(len(places)-1, first+2+r.IntN(5))
		s := string(line[places[first][0]:places[last][1]])
		words := len(regexp.MustCompile(`\w+`).FindAllString(s, -1))
		if words < 2 || words > 4 || !strings.ContainsFunc(s, func(r rune) bool { return strings.ContainsRune("()[]{}.,:;=+-*/&|<>!\"'`%#@?", r) }) || !utf8.ValidString(s) || slices.Contains(list, s) {
			continue
		}
		list = append(list, s)
	}
	return list
}

// regexes makes expressions of such texts: with classes for words, in any case, with alternatives and anchors.
func (c *corpus) regexes(n int, r *rand.Rand) (list []string) {
	words := regexp.MustCompile(`\w+`)
	for _, s := range c.literals(n, r) {
		if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
			s = "if err != nil {"
		}
		e := regexp.QuoteMeta(s)
		places := words.FindAllStringIndex(e, -1)
		p := places[r.IntN(len(places))]
		switch len(list) % 8 {
		case 0:
			e = e[:p[0]] + `\w+` + e[p[1]:]
		case 1:
			e = `(?i)` + e
		case 2:
			e = e + `|` + regexp.QuoteMeta(c.literals(1, r)[0])
		case 3:
			e = `^\s*` + e
		case 4:
			e = e + `[;,)]*$`
		case 5:
			e = e[:p[0]] + `(` + e[p[0]:p[1]] + `|[A-Z][a-z]+)` + e[p[1]:]
		case 6:
			e = e[:p[1]] + `.*` + e[p[1]:]
		case 7:
			e = `\b` + e[p[0]:p[1]] + `\b[ -~]{2,9}[({]`
		}
		list = append(list, e)
	}
	return list
}

func filesOf(t testing.TB, r *repo, p query.Params) []string {
	t.Helper()
	list, err := r.Index.Files(context.Background(), compile(t, p))
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return list
}

func missing(got, want []string) string {
	var lost, more []string
	for _, p := range want {
		if !slices.Contains(got, p) {
			lost = append(lost, p)
		}
	}
	for _, p := range got {
		if !slices.Contains(want, p) {
			more = append(more, p)
		}
	}
	return fmt.Sprintf("%d files, want %d; missing %q, more %q", len(got), len(want), lost[:min(len(lost), 3)], more[:min(len(more), 3)])
}

// Literals and regular expressions are found in exactly the files that have them.
func TestLiteralsComplete(t *testing.T) {
	part, literals, expressions := long.Of("net/url", "net/http", "net"), long.Of(40, 100, 200), long.Of(8, 16, 50)
	r := openRepo(t, filepath.Join(goroot.Src(t), filepath.FromSlash(part)), Options{})
	r.update()
	c := readCorpus(t, r)
	random := rand.New(rand.NewPCG(11, 11))
	for _, s := range append(c.literals(literals, random), "e", "\t", "/", "日本", "\xe6\x97", "func (", "\r\n", "}\n\nfunc", " ", "err != nil {\n\t\treturn") {
		if !utf8.ValidString(s) {
			continue
		}
		if got, want := filesOf(t, r, query.Params{Literal: s}), c.literal(s); !slices.Equal(got, want) {
			t.Errorf("%q: %s", s, missing(got, want))
		}
	}
	for _, e := range append(c.regexes(expressions, random), `x`, `.`, `^$`, `^`, `\S{200,}`, `(?i)kelvin`, `[^\x00-\x7f]`, `\x{fffd}`) {
		if got, want := filesOf(t, r, query.Params{Regex: e}), c.regex(e); !slices.Equal(got, want) {
			t.Errorf("%s: %s", e, missing(got, want))
		}
	}
}

// So they are while most files are not indexed yet: an index of a part says nothing of the rest.
func TestLiteralsCompleteBeforeIndexing(t *testing.T) {
	long.Slow(t)
	r := openRepo(t, filepath.Join(goroot.Src(t), "crypto"), Options{FirstAnswer: 50 * time.Millisecond / patient})
	c := readCorpus(t, r)
	random := rand.New(rand.NewPCG(12, 12))
	partly := 0
	for i, s := range c.literals(12, random) {
		p := query.Params{Literal: s}
		if i%3 == 2 {
			p = query.Params{Regex: regexp.QuoteMeta(s) + `.`}
		}
		covered, err := r.Covered(context.Background(), glob.Glob{})
		if err != nil {
			t.Fatal(err)
		}
		if covered < len(c.paths) {
			partly++
		}
		want := c.literal(s)
		if p.Regex != "" {
			want = c.regex(p.Regex)
		}
		if i%2 == 0 {
			if got := filesOf(t, r, p); !slices.Equal(got, want) {
				t.Errorf("%+v with %d of %d files: %s", p, covered, len(c.paths), missing(got, want))
			}
			continue
		}
		q := compile(t, p)
		q.Limit = query.MaxLimit
		got := r.run(q)
		if got.NotIndexed != 0 || got.Note != r.LeftOut().Note(false) {
			t.Errorf("%+v: %d files are not covered, it says", p, got.NotIndexed)
		}
		var paths []string
		for _, h := range got.Handles {
			paths = append(paths, h.FilePath)
		}
		slices.Sort(paths)
		if paths = slices.Compact(paths); !got.Truncated && !slices.Equal(paths, want) {
			t.Errorf("%+v with %d of %d files: %s", p, covered, len(c.paths), missing(paths, want))
		}
	}
	if partly < 3 {
		t.Errorf("all was indexed after %d questions: the test shows nothing", partly)
	}
	// A glob of files is complete too.
	if got := filesOf(t, r, query.Params{Query: `(file "**/*_test.go")`}); len(got) == 0 || !slices.Equal(got, slices.DeleteFunc(slices.Clone(c.paths), func(p string) bool { return !strings.HasSuffix(p, "_test.go") })) {
		t.Errorf("%d test files", len(got))
	}
}

// findRipgrep returns what runs ripgrep in a directory. A test without it is skipped.
func findRipgrep(t *testing.T) func(dir string, args ...string) []byte {
	t.Helper()
	rg, err := exec.LookPath("rg")
	switch {
	case err != nil && os.Getenv("SKL_TEST_REQUIRE") == "all":
		t.Fatal("ripgrep is not there, and SKL_TEST_REQUIRE=all wants no test skipped")
	case err != nil:
		t.Skip("ripgrep is not there")
	}
	return func(dir string, args ...string) []byte {
		cmd := exec.Command(rg, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 1) { // 1: nothing found
			t.Fatalf("rg %q: %v", args, err)
		}
		return bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")) // --crlf is for its output too
	}
}

// 1,000 literals and 200 regular expressions give exactly the files that ripgrep finds in the sources of Go.
// ripgrep reads what is before the first NUL of a binary file; that is not text here, and left out of the comparison.
func TestLiteralsAsRipgrep(t *testing.T) {
	long.Only(t) // it reads all sources of Go many times; TestLiteralsComplete is a sample
	ripgrep := findRipgrep(t)
	r := openRepo(t, goroot.Src(t), Options{Watch: true})
	start := time.Now()
	report := r.update()
	t.Logf("%d files, %d MB, indexed in %v", report.Added, report.Bytes>>20, time.Since(start).Round(time.Millisecond))
	c := readCorpus(t, r)
	// The same files: hidden ones too, .gitignore without a repository, no .git.
	same := []string{"--hidden", "--no-require-git", "--no-messages", "-g", "!.git", "-E", "none", "--crlf"}
	run := func(args ...string) []byte { return ripgrep(r.dir, append(slices.Clone(same), args...)...) }
	binary := map[string]bool{}
	for i, p := range c.paths {
		binary[p] = c.texts[i] == nil
	}
	paths := func(out []byte) (list []string) {
		for _, p := range strings.Split(string(out), "\n") {
			if p != "" && !binary[p] && !secrets.Named(p) {
				list = append(list, p)
			}
		}
		slices.Sort(list)
		return list
	}
	// Files whose names say that they hold keys are left out on purpose, and counted.
	searched := strings.Fields(string(run("--files")))
	searched = slices.DeleteFunc(searched, func(p string) bool { return secrets.Named(p) })
	if len(searched) != len(c.paths) {
		t.Fatalf("ripgrep searches %d files beside those with secrets, we %d", len(searched), len(c.paths))
	}
	random := rand.New(rand.NewPCG(13, 13))

	// One run of ripgrep for all literals says what matches where, but of matches that overlap only the first: where that
	// differs from ours, ripgrep is asked for the one literal.
	literals := c.literals(1000, random)
	patterns := filepath.Join(t.TempDir(), "patterns")
	if err := os.WriteFile(patterns, []byte(strings.Join(literals, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	byRipgrep := map[string][]string{}
	for _, line := range strings.Split(string(run("-F", "-f", patterns, "-o", "-I", "--no-line-number", "--with-filename", "--null", "--sort", "path")), "\n") {
		path, text, ok := strings.Cut(line, "\x00")
		if !ok || binary[path] {
			continue
		}
		if list := byRipgrep[text]; len(list) == 0 || list[len(list)-1] != path {
			byRipgrep[text] = append(list, path)
		}
	}
	asked, total := 0, 0
	var took []time.Duration
	for _, s := range literals {
		begin := time.Now()
		got := filesOf(t, r, query.Params{Literal: s})
		took = append(took, time.Since(begin))
		total += len(got)
		want := byRipgrep[s]
		slices.Sort(want)
		if !slices.Equal(got, want) {
			asked++
			want = paths(run("-l", "-F", "--", s))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %s", s, missing(got, want))
		}
	}
	slices.Sort(took)
	t.Logf("1,000 literals in %d files, %d of them asked one by one; a search takes %v (median), %v (99 %%)", total, asked, took[len(took)/2], took[len(took)*99/100])

	// An expression takes one run of ripgrep each.
	begin := time.Now()
	expressions := c.regexes(200, random)
	compared := 0
	var mu sync.Mutex
	err := parallel(context.Background(), len(expressions), func(i int) {
		e := expressions[i]
		if time.Since(begin) > 15*time.Second && os.Getenv("SKL_TEST_REQUIRE") != "all" {
			return
		}
		got, err := r.Index.Files(context.Background(), compile(t, query.Params{Regex: e}))
		if err != nil {
			t.Errorf("%s: %v", e, err)
			return
		}
		// Words and case of ASCII alone, as in RE2.
		want := paths(run("-l", "--no-unicode", "--", e))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s", e, missing(got, want))
		}
		mu.Lock()
		compared++
		mu.Unlock()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d expressions are compared, in %v", compared, len(expressions), time.Since(begin).Round(time.Second))
}

// Lines without what every match has are passed over, and no match is lost by that: whatever letters an expression folds.
func TestNeedle(t *testing.T) {
	for expr, want := range map[string]string{
		`func \w+Lock\(`: "func ", `(?i)TODO\(\w+\)`: "todo(", `(?i)disk`: "di", `(?i)mask`: "ma", `(?i)Kiss`: "i", `(?i)ß`: "", `a|b`: "", `x*`: "", `(?i)grün`: "gr",
		`(abc)+d`: "abc", `a(?i)bc`: "bc", "\\x{fffd}": "",
	} {
		parsed, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if n := needleOf(parsed.Simplify()); string(n.text) != want {
			t.Errorf("%s: %q, want %q", expr, n.text, want)
		}
	}
	text := []byte("Disk dis\u212a DI\u017f\u212a disc\nGR\u00dcN gr\u00fcn\r\ntodo(x) ToDo(y)\n\nTASK ta\u017fk\nta\xffsk \xef\xbf\xbd\nMask")
	for _, expr := range []string{`(?i)disk`, `(?i)grün`, `(?i)todo\(`, `(?i)task`, `(?i)ſ`, `(?i)mask$`, `^mask`, `disk`, `(?i)tas`, "\\x{fffd}", `(?i)^g\S+`} {
		re := regexp.MustCompile(expr)
		parsed, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []int
		regexFinder(re, needleOf(parsed.Simplify()))(text, func(at, _ int) { got = append(got, at) })
		regexFinder(re, needle{})(text, func(at, _ int) { want = append(want, at) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d, want %d", expr, got, want)
		}
	}
}
