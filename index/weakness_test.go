package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// weaknesses are those of the index that this one replaces, as they were found by reading it, and the tests that it would fail.
var weaknesses = []struct {
	number int
	what   string
	tests  []string // "directory below index/ TestName"
}{
	{1, "no ranking: the first in the order of rows are answered", []string{". TestBestOfMany"}},
	{2, "total_matches and truncated are of what was cut", []string{". TestTotals", ". TestHonestAboutTheRest"}},
	{3, "intersections compare prefixes", []string{". TestIntersectCommonWords"}},
	{4, "code outside of functions and types is not found", []string{". TestEveryLineIsFound"}},
	{5, "keywords of JavaScript are taken for functions", []string{". TestKeywordsAreNoSymbols"}},
	{6, "the text index grows with every edit", []string{". TestEditsDoNotGrowTheIndex"}},
	{7, "removed files stay, edits are missed, unchanged files are read", []string{". TestFresh", ". TestSameSizeSameSecond", ". TestSettledFilesAreNotRead", "files TestWatch"}},
	{8, "what was learned of files is looked up under other names", []string{". TestPriorIsAskedByPath", "serve TestPriors"}},
	{9, "the query language of the database shows through", []string{". TestPunctuation", "store TestTerms"}},
	{10, "two nodes of one span end the indexing of all files", []string{". TestNodesOfOneSpan"}},
	{11, "handles of files cannot be expanded; files that are not UTF-8 are passed over", []string{". TestFileHandles", ". TestNotUTF8", "serve TestServiceGolden"}},
	{12, "generations begin at 0 again; one stale file fails all", []string{". TestGenerationsDoNotRepeat", ". TestExpandBesideStale", "serve TestServiceRestart", "serve TestServiceKey", "serve TestServiceEdits"}},
	{13, "errors instead of answers in the protocol", []string{"serve TestToolsGolden", "serve TestToolSession"}},
	{14, "the repository is walked again and again for one question", []string{". TestQuestionWalksOnce"}},
	{15, "tokens are counted several times, texts are stored twice", []string{". TestTextIsNotStored", "chunk TestLinear"}},
	{16, "it writes into the repository", []string{". TestNothingIsWrittenToTheRoot"}},
	{17, "confidence is a guess", []string{". TestConfidenceFollowsMatches", "serve TestToolTokens"}},
}

// Each weakness has a test, which is in the sources under the name that the table gives.
func TestWeaknesses(t *testing.T) {
	sources := map[string]string{}
	for i, w := range weaknesses {
		if w.number != i+1 {
			t.Errorf("weakness %d stands in place %d", w.number, i+1)
		}
		for _, test := range w.tests {
			dir, name, _ := strings.Cut(test, " ")
			if _, ok := sources[dir]; !ok {
				list, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range list {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					sources[dir] += string(text)
				}
			}
			if !regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`).MatchString(sources[dir]) {
				t.Errorf("weakness %d, %s: there is no %s in %s", w.number, w.what, name, dir)
			}
		}
	}
}

// 1. Of 300 matches, the one that is meant is first, though it was indexed last. The original answers in the order of its rows and
// looks at the first 16 alone, so it shows the files that happen to be early.
func TestBestOfMany(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("a/f%03d.go", i)] = fmt.Sprintf("package a\n\nfunc G%d() { // calls the scheduler\n\tother()\n}\n", i)
	}
	files["z/last.go"] = "package z\n\n// Scheduler runs jobs.\ntype Scheduler struct{}\n"
	r := newRepo(t, files)
	for _, ask := range []string{"scheduler", "the scheduler runs jobs", `(literal "cheduler")`, `(union (grep "scheduler") (grep "zebra"))`} {
		got := r.ask(ask)
		if len(got.Handles) == 0 || got.Handles[0].Name != "Scheduler" {
			t.Errorf("%s: the first of %d is %q", ask, got.TotalMatches, shown(got)[:1])
		}
		for i := 1; i < len(got.Handles); i++ {
			if got.Handles[i].Score > got.Handles[i-1].Score {
				t.Errorf("%s: handle %d is better than the one before", ask, i)
			}
		}
	}
}

// 2. The number of all matches is told, and that some were left out. In the original the limit is a part of the query, so that
// it never sees more than it shows: 16 of 16, and nothing is ever cut.
func TestHonestAboutTheRest(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%02d.txt", i)] = "the common line\n"
	}
	r := newRepo(t, files)
	for _, p := range []query.Params{{Pattern: "common line"}, {Pattern: "common line", Limit: 3}, {Query: `(limit 4 (grep "common"))`}, {Pattern: "common", Glob: "*.txt"}, {Patterns: []string{"common", "line"}, Match: "all", Limit: 7}} {
		q := compile(t, p)
		got := r.run(q)
		if got.TotalMatches != 50 || !got.Truncated || len(got.Handles) != q.Limit {
			t.Errorf("%+v: %d of %d, truncated %v", p, len(got.Handles), got.TotalMatches, got.Truncated)
		}
		pack, err := r.Evidence(context.Background(), q, rank.PackOptions{})
		if err != nil || pack.TotalMatches != 50 || !pack.Truncated {
			t.Errorf("%+v: a pack of %d, truncated %v, %v", p, pack.TotalMatches, pack.Truncated, err)
		}
	}
}

// 3. Two words that are each in a thousand places, and together in three, are found there. The original intersects the first
// few rows of each, which have nothing in common.
func TestIntersectCommonWords(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		word := []string{"alpha", "omega"}[i%2]
		if i == 700 || i == 1301 || i == 1999 {
			word = "alpha omega"
		}
		path := fmt.Sprintf("f%02d.go", i/50)
		files[path] += fmt.Sprintf("package a\n\n// F%d does %s.\nfunc F%d() { F%d(1, 2, 3) }\n", i, word, i, i)[min(1, i%50)*11:]
	}
	r := newRepo(t, files)
	want := []string{"f14.go F700", "f26.go F1301", "f39.go F1999"}
	for _, ask := range []string{`(intersect (grep "alpha") (grep "omega"))`, `(intersect (literal "alpha") (regex "omega"))`, `(limit 5 (intersect (grep "omega") (grep "alpha")))`} {
		same(t, ask, r.sorted(ask), want)
	}
	first := r.names("alpha omega")[:3]
	slices.Sort(first)
	same(t, "alpha omega", first, want)
	q := compile(t, query.Params{Patterns: []string{"alpha", "omega"}, Match: "all"})
	if got := r.run(q); got.TotalMatches != 3 {
		t.Errorf("patterns: %d matches", got.TotalMatches)
	}
}

// 4. Every line of a file is found by its words: package docs, imports, doc comments, constants, enums, macros, statements at the top. The
// original indexes the bodies of functions and types, and nothing else of a code file.
func TestEveryLineIsFound(t *testing.T) {
	r := newRepo(t, map[string]string{
		"a.go":  "// Package a holds zulu01.\npackage a\n\nimport (\n\t\"example.com/zulu02\"\n)\n\n//go:generate zulu03\n\n// K is zulu04.\nconst K = \"zulu05\"\n\nvar (\n\tx = zulu06() // zulu07\n)\n\n// F says zulu08.\nfunc F() { zulu09() }\n\n// zulu10 stands alone.\n",
		"b.py":  "#!/usr/bin/env zulu11\n\"\"\"Says zulu12.\"\"\"\nimport zulu13\n\nLIMIT = zulu14\n\n@zulu15\ndef f():\n    \"\"\"zulu16\"\"\"\n\nif __name__ == '__main__':\n    zulu17()\n",
		"c.rs":  "#![zulu18]\nuse crate::zulu19;\n\nconst A: u8 = zulu20;\nenum E { Zulu21, B }\nstatic S: &str = \"zulu22\";\nmacro_rules! zulu23 { () => { zulu24 } }\ntype T = zulu25;\n",
		"d.ts":  "import { zulu26 } from \"./zulu27\";\nexport const a = zulu28;\nenum E { zulu29 }\nnamespace N { zulu30() }\ndeclare module \"zulu31\" {}\nzulu32();\nexport default { zulu33: 1 };\n",
		"e.md":  "---\nkey: zulu34\n---\nzulu35 before headings\n\n# A `zulu36` heading\n\n<!-- zulu37 -->\n\n> zulu38\n\n| zulu39 |\n|---|\n| zulu40 |\n",
		"f.sql": "-- zulu41\nSELECT zulu42;\n",
	})
	for i := 1; i <= 42; i++ {
		word := fmt.Sprintf("zulu%02d", i)
		for _, ask := range []string{word, `(regex "(?i)` + word + `")`} {
			got := r.ask(ask)
			if got.TotalMatches != 1 {
				t.Errorf("%s has %d matches", ask, got.TotalMatches)
				continue
			}
			h := got.Handles[0]
			// The doc of a symbol is found and shown as the symbol; its line is told.
			lines := strings.Split(r.read(h.FilePath), "\n")
			if h.MatchLine < 1 || !strings.Contains(strings.ToLower(lines[h.MatchLine-1]), word) {
				t.Errorf("%s: the match is said to be in line %d of %s", ask, h.MatchLine, h.FilePath)
			}
		}
	}
}

// 5. The original visits every token, and a keyword has the same name as the construct it begins: each "function" becomes a nameless function of
// eight bytes, each "class" a class.
func TestKeywordsAreNoSymbols(t *testing.T) {
	text := "function f() {}\nclass A { m() {} }\nconst g = function () { return class {} };\nconst h = () => 1;\nexport default class extends A {}\n"
	r := newRepo(t, map[string]string{"a.js": text, "b.ts": text, "c.tsx": text, "d.mjs": text})
	for _, name := range []string{"<anonymous>", "function", "class", "anonymous"} {
		same(t, name, r.names(`(code "`+name+`")`), nil)
	}
	for _, name := range []string{"f", "A", "m", "g", "h"} {
		same(t, name, r.sorted(`(definition "`+name+`")`), []string{"a.js " + name, "b.ts " + name, "c.tsx " + name, "d.mjs " + name})
	}
	q := compiled(t, `(regex ".")`)
	q.Limit = query.MaxLimit
	for _, h := range r.run(q).Handles {
		if h.NodeType != "chunk" && h.Name == "" || h.Span.End-h.Span.Start <= len("function") && h.NodeType != "chunk" && h.NodeType != "method" && h.NodeType != "constant" {
			t.Errorf("%s has a %s named %q of %d bytes", h.FilePath, h.NodeType, h.Name, h.Span.End-h.Span.Start)
		}
	}
}

// 6. The original deletes the nodes of a file that changed and keeps their rows in the text index, which so grows for ever and
// gives rows that are of nothing.
func TestEditsDoNotGrowTheIndex(t *testing.T) {
	r := newRepo(t, map[string]string{"a.go": "package a\n"})
	size := func() int64 {
		t.Helper()
		if err := r.store().Merge(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := r.store().Checkpoint(context.Background()); err != nil {
			t.Fatal(err)
		}
		return r.store().Size()
	}
	edit := func(n int) {
		var b strings.Builder
		b.WriteString("package a\n")
		for i := range 100 {
			fmt.Fprintf(&b, "\n// F%d is edit%d.\nfunc F%d() { word%d() }\n", i, n, i, i*n)
		}
		r.put("a.go", b.String())
		r.update()
	}
	for n := range 5 {
		edit(n)
	}
	before := size()
	for n := range 60 {
		edit(n + 5)
	}
	if after := size(); after > before*3/2 {
		t.Errorf("after 60 edits the index has %d bytes, before %d", after, before)
	}
	for n := range 64 {
		if got := r.ask(fmt.Sprintf(`(grep "edit%d")`, n)); got.TotalMatches != 0 {
			t.Errorf("edit%d, which is gone, has %d matches", n, got.TotalMatches)
		}
	}
	if got := r.ask("edit64"); got.TotalMatches != 100 {
		t.Errorf("edit64 has %d matches", got.TotalMatches)
	}
}

// 8. What was learned is asked for under the path that handles have. The original keeps it under absolute paths and asks with
// relative ones, so nothing is ever found.
func TestPriorIsAskedByPath(t *testing.T) {
	asked := map[string]bool{}
	r := openRepo(t, plant(t, map[string]string{"a/x.go": "package a\n\nfunc Same() {}\n", "b/x.go": "package b\n\nfunc Same() {}\n"}), Options{Prior: func(nodeType, path string) float64 {
		asked[nodeType+" "+path] = true
		if path == "b/x.go" {
			return 1
		}
		return -1
	}})
	same(t, "same", r.names("same"), []string{"b/x.go Same", "a/x.go Same"})
	if !asked["function a/x.go"] || !asked["function b/x.go"] {
		t.Errorf("asked %v", asked)
	}
}

// 9. A pattern is text, not the query language of a database: the original gives what it was given to FTS5, where a dot, a colon, an apostrophe,
// a slash or an equals sign is an error, AND and NEAR are operators, and getUserById is one word.
func TestPunctuation(t *testing.T) {
	r := newRepo(t, map[string]string{
		"a.go":  "package a\n\nfunc getUserByID(cfg *Config) { a.b = cfg.Find(\"x/y\"); m[k] = `don't` }\n",
		"b.rs":  "fn parse_http_header() { std::io::read() }\n",
		"c.txt": "black AND white NEAR grey, x=y^2 -flag col:value {a} *star* \"quoted\" 100% #tag @home ~tilde <tag>\n",
	})
	for ask, want := range map[string]string{
		"a.b": "a.go", "std::io": "b.rs", "don't": "a.go", "x/y": "a.go", "x=y": "c.txt", "x=y^2": "c.txt", "AND": "c.txt", "black AND white": "c.txt", "white NEAR grey": "c.txt", "col:value": "c.txt",
		"-flag": "c.txt", "*star*": "c.txt", `"quoted"`: "c.txt", "{a}": "c.txt", "100%": "c.txt", "^2": "c.txt", "cfg.Find(": "a.go", "m[k] =": "a.go", "<tag>": "c.txt", "getUserByID": "a.go",
		"get_user_by_id": "a.go", "user by id": "a.go", "userById": "a.go", "parseHTTPHeader": "b.rs", "http header": "b.rs", "parse-http-header": "b.rs", "white OR": "c.txt", "NOT black": "c.txt",
	} {
		got := r.run(compile(t, query.Params{Pattern: ask}))
		if len(got.Handles) == 0 || got.Handles[0].FilePath != want {
			t.Errorf("%q finds %q, want %s", ask, shown(got), want)
		}
	}
	for _, ask := range []string{`"`, `"""`, "'", "(", ")", "*", "^", "a AND", "OR", `"open`, "NEAR(a b, 3)", "-", "col:", "\\", "\x01", "%_%", ";DROP TABLE files;--", "日本*"} {
		for _, p := range []query.Params{{Pattern: ask}, {Symbol: ask}, {Section: ask}, {Parent: ask}, {Symbol: ask, Kind: "reference"}, {Literal: ask}} {
			q, err := p.Compile()
			if err != nil {
				continue // said by index/query
			}
			if _, err := r.Query(context.Background(), q); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
		}
	}
}

// 10. Nodes are told apart by their place and type in the original, and must differ: two of one type and span, such as a paragraph that is the
// whole of another, end the whole batch with an error.
func TestNodesOfOneSpan(t *testing.T) {
	r := newRepo(t, map[string]string{
		"a.md": "x\n", "b.md": "# \n# \n", "c.go": "package c\n\ntype (\n\tA struct{}\n)\n\nvar a, b = 1, 2\n", "d.js": "const f = () => () => () => 1\n", "e.rs": "mod m { mod m { mod m {} } }\n",
		"f.py": "class A: pass\nclass A: pass\n", "z.txt": "the last word\n",
	})
	if report := r.update(); report.Added != 7 {
		t.Errorf("%+v", report)
	}
	same(t, "the last word", r.names("last word"), []string{"z.txt chunk"})
	same(t, "two of one span, by the first", r.names(`(in-file "*.go" (definition "a"))`), []string{"c.go a", "c.go A"})
	same(t, "by the second", r.names(`(definition "b")`), []string{"c.go b"})
	if got := r.ask(`(union (in-file "*.go" (definition "a")) (definition "b"))`); got.TotalMatches != 2 || len(got.Handles) != 2 {
		t.Errorf("both are one handle: %q", shown(got))
	}
}

// 11. The handle of a file has an id that the original never stores, so that it cannot be expanded.
func TestFileHandles(t *testing.T) {
	r := newRepo(t, map[string]string{"a.go": "package a\n\nfunc A() {}\n", "sub/empty.txt": "", "space.md": " \n\t\n", "crlf.txt": "a\r\nb\r\n"})
	got := r.ask(`(file "**")`)
	if len(got.Handles) != 4 {
		t.Fatalf("%q", shown(got))
	}
	for _, h := range got.Handles {
		e := r.expand(h.ID)
		if len(e.Contents) != 1 || e.Contents[0].Content != r.read(h.FilePath) || h.Span.End != len(r.read(h.FilePath)) {
			t.Errorf("%s expands to %s", h.FilePath, asJSON(t, e))
		}
	}
}

// 11. The original passes over a file that is not UTF-8 without a word.
func TestNotUTF8(t *testing.T) {
	r := newRepo(t, map[string]string{"latin1.c": "// gr\xfc\xdfe\nint price_of(int item);\n", "cut.txt": "the word caf\xc3", "mixed.go": "package a\n\n// \xff\xfe\nfunc Mixed() {}\n"})
	same(t, "price_of", r.names(`(literal "price_of")`), []string{"latin1.c chunk"})
	same(t, "price of", r.names("price"), []string{"latin1.c chunk"})
	same(t, "cut", r.names("word"), []string{"cut.txt chunk"})
	same(t, "mixed", r.names(`(definition "Mixed")`), []string{"mixed.go Mixed"})
	for _, h := range r.ask(`(file "*")`).Handles {
		if e := r.expand(h.ID); len(e.Contents) != 1 || e.Contents[0].Content != r.read(h.FilePath) {
			t.Errorf("%s expands to %s", h.FilePath, asJSON(t, e))
		}
	}
}

// 12. A generation is never used twice, also not by an index that was built anew: the original begins at 0 again, so that an old handle
// passes for a new one.
func TestGenerationsDoNotRepeat(t *testing.T) {
	ctx := context.Background()
	dir, cache := plant(t, shop), t.TempDir()
	seen := map[uint64]bool{}
	for range 4 {
		r := openRepo(t, dir, Options{CacheDir: cache})
		r.update()
		last := uint64(0)
		for i := range 3 {
			r.put("notes/plain.txt", fmt.Sprint("edit ", i, len(seen)))
			g := r.update().Generation
			if seen[g] || g <= last || g >= 1<<53 {
				t.Errorf("generation %d after %d, seen %v", g, last, seen[g])
			}
			seen[g], last = true, g
		}
		reopened := openRepo(t, dir, Options{CacheDir: cache})
		if g, err := reopened.Generation(ctx); err != nil || g != last {
			t.Errorf("opened again it has generation %d, %v; want %d", g, err, last)
		}
		if err := Drop(ctx, cache, dir); err != nil {
			t.Fatal(err)
		}
	}
}

// 12. One file that changed is no reason to fail the others: the original answers 500.
func TestExpandBesideStale(t *testing.T) {
	r := newRepo(t, shop)
	stale := r.ask(`(definition "PaymentGateway")`).Handles[0].ID
	gone := r.ask("milk").Handles[0].ID
	good := r.ask(`(definition "Total")`).Handles[0].ID
	r.put("pay/gateway.py", "# rewritten\n")
	r.remove("notes/plain.txt")
	e := r.expand(stale, good, gone)
	if len(e.Contents) != 1 || e.Contents[0].HandleID != good || len(e.FailedIDs) != 2 || e.FailedIDs[0].HandleID != stale || e.FailedIDs[1].HandleID != gone {
		t.Errorf("%s", asJSON(t, e))
	}
}

// 14. One question looks at each directory once, however many words it has. The original walks the tree twice for each of up to 88 globs. Here the number of
// looks is told by the times at which a directory was read.
func TestQuestionWalksOnce(t *testing.T) {
	r := newRepo(t, shop)
	r.update()
	walks := 0
	r.walker.Getenv = func(key string) string {
		if key == "HOME" {
			walks++
		}
		return os.Getenv(key)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.put(".git/HEAD", "ref: refs/heads/main\n") // the rules of a repository are read once for each walk
	r.ask("zebra")
	one := walks
	if one == 0 {
		t.Fatal("a walk is not seen")
	}
	for _, ask := range []string{"auth database api config middleware workflow core service", `(union (grep "a") (grep "b") (in-file "src/**" (grep "c")) (file "**/*.go"))`, "where is the payment gateway charged"} {
		walks = 0
		r.ask(ask)
		if walks > one {
			t.Errorf("%s: %d walks, a word takes %d", ask, walks, one)
		}
	}
}

// 15. The index holds no second copy of the texts: its words cannot be read in it.
func TestTextIsNotStored(t *testing.T) {
	line := "a sentence that is nowhere else, with Wörds\n"
	r := newRepo(t, map[string]string{"a.md": "# Heading\n\n" + line, "b.go": "package b\n\nfunc F() {\n\t// " + line + "}\n", "c.txt": line})
	r.update()
	if err := r.store().Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(copyOf(t, database(t, r.o.CacheDir, r.dir)))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{line, "sentence that", "nowhere else"} {
		if strings.Contains(string(data), text) {
			t.Errorf("the database has %q", text)
		}
	}
}

// copyOf copies a file with another program: to open and close a database in its process would drop its locks.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.Link(path, to); err != nil {
		t.Skip("no links here: ", err)
	}
	return to
}

// 17. Confidence is measured (index/retrieval has the numbers); here, that it is more for a name that is there than for words that are
// strewn about, and little for what is not there. The original adds up weights that nobody measured, and tells an agent to stop at
// four handles of two files, whatever they are.
func TestConfidenceFollowsMatches(t *testing.T) {
	r := newRepo(t, shop)
	confidence := func(ask string) rank.Guidance {
		t.Helper()
		pack, err := r.Evidence(context.Background(), compiled(t, ask), rank.PackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pack.Guidance
	}
	name, strewn, none := confidence(`(definition "PaymentGateway")`), confidence("zebra unicorn of things"), confidence("xylophone")
	if name.Confidence <= strewn.Confidence || strewn.Confidence < none.Confidence || name.ConfidenceBand == "low" || none.ConfidenceBand != "low" {
		t.Errorf("a name %.2f, strewn words %.2f, nothing %.2f", name.Confidence, strewn.Confidence, none.Confidence)
	}
	if !name.StopQuerying || none.StopQuerying {
		t.Errorf("stop for a name: %v, for nothing: %v", name.StopQuerying, none.StopQuerying)
	}
	for _, g := range []rank.Guidance{name, strewn, none} {
		if g.Confidence < 0 || g.Confidence > 1 || g.StopQuerying != (g.RecommendedAction == "expand_then_answer") || !slices.Contains([]string{"low", "medium", "high"}, g.ConfidenceBand) {
			t.Errorf("%+v", g)
		}
	}
}
