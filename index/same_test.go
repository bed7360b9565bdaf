package index

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/testdata/goroot"
	"github.com/skl-project/skl/testdata/long"
)

// fifty are questions of all kinds about a part of the sources of Go.
func fifty(t *testing.T) (list []query.Query) {
	for _, words := range []string{"connection pool", "error", "read", "the request is canceled", "close idle connections of the transport", "parse a cookie", "timeout", "dial tcp", "http2 frame size", "where are headers written",
		"Server", "newTransport", "x", "zebra", "zebra timeout", "return err", "if err != nil", "tls handshake", "URL escape", "multipart form", "a b c d e f g"} {
		list = append(list, compile(t, query.Params{Pattern: words}))
	}
	for _, e := range []string{`(code "Request")`, `(code "writeReq")`, `(code "http.Client")`, `(definition "Close")`, `(definition "String")`, `(references "Errorf")`, `(references "Close")`, `(references "http.Get")`, `(section "a")`,
		`(file "**/*_test.go")`, `(file "*.go")`, `(children "Server")`, `(children "Transport")`, `(children-named "Server" "Serve")`, `(in-file "http/**" (grep "conn"))`, `(union (grep "cookie") (code "Jar"))`, `(union (references "Get") (references "Post"))`,
		`(intersect (grep "error") (grep "timeout"))`, `(intersect (code "Transport") (literal "mu.Lock"))`, `(intersect (literal "err") (regex "ctx\\.") (grep "conn"))`, `(limit 3 (grep "error"))`, `(union (limit 2 (grep "read")) (limit 2 (grep "write")))`,
		`(literal "return nil, err")`, `(literal "(")`, `(regex "func \\(\\w+ \\*Server\\)")`, `(regex "(?i)todo")`, `(regex "^$")`, `(in-file "url/*.go" (regex "^func "))`, `(grep "日本")`} {
		q := compile(t, query.Params{Query: e})
		q.ExpandBudget = 300 * (len(list) % 3)
		list = append(list, q)
	}
	return list
}

// all answers the questions, without what depends on when and not on what.
func all(t *testing.T, x *Index, list []query.Query) (answers []string) {
	t.Helper()
	x.lately = lately{} // what was expanded before
	for _, q := range list {
		got, err := x.Query(context.Background(), q)
		if err != nil {
			t.Fatalf("%s: %v", q.Expr, err)
		}
		got.Generation = 0
		x.lately = lately{}
		pack, err := x.Evidence(context.Background(), q, rank.PackOptions{})
		if err != nil {
			t.Fatalf("%s: %v", q.Expr, err)
		}
		pack.Generation = 0
		answers = append(answers, asJSON(t, got)+asJSON(t, pack))
	}
	return answers
}

func compareAnswers(t *testing.T, what string, list []query.Query, got, want []string) {
	t.Helper()
	differ := 0
	for i := range list {
		if got[i] == want[i] {
			continue
		}
		if differ++; differ > 5 {
			continue
		}
		g, w := strings.Split(got[i], "\n"), strings.Split(want[i], "\n")
		for k := range g {
			if k >= len(w) || g[k] != w[k] {
				t.Errorf("%s, %s: line %d is %s, want %s", what, list[i].Expr, k, g[k], strings.Join(w[min(k, len(w)):min(k+1, len(w))], ""))
				break
			}
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d answers differ", what, differ, len(list))
	}
}

// The answer depends on the files and the question, and on nothing else: not on the order in which files were indexed, on what they held
// before, on what was asked before, nor on who asks.
func TestDeterministic(t *testing.T) {
	from := filepath.Join(goroot.Src(t), long.Of("net/url", "net/http", "net"))
	dir := filepath.Join(t.TempDir(), "net")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	patiently := Options{FirstAnswer: time.Minute} // else a question is answered from what there was time to read
	list := fifty(t)
	if len(list) != 50 {
		t.Fatalf("%d questions", len(list))
	}
	one := openRepo(t, dir, patiently)
	one.update()
	want := all(t, one.Index, list)
	compareAnswers(t, "asked again", list, all(t, one.Index, list), want)

	if testing.Short() {
		edit(t, one, rand.New(rand.NewPCG(21, 21)), 4)
		fresh := openRepo(t, dir, patiently)
		fresh.update()
		compareAnswers(t, "after some edits", list, all(t, one.Index, list), all(t, fresh.Index, list))
		return
	}
	two := openRepo(t, dir, patiently)
	compareAnswers(t, "indexed by the first question", list, all(t, two.Index, list), want)

	three := openRepo(t, dir, patiently)
	for _, pattern := range []string{"url/**", "*_test.go", "http/**", ""} { // so that the numbers of files are in another order
		if _, err := three.Update(context.Background(), mustGlob(t, pattern), false); err != nil {
			t.Fatal(err)
		}
	}
	compareAnswers(t, "indexed in another order", list, all(t, three.Index, list), want)

	edit(t, one, rand.New(rand.NewPCG(21, 21)), 12)
	fresh := openRepo(t, dir, patiently)
	fresh.update()
	compareAnswers(t, "after many edits", list, all(t, one.Index, list), all(t, fresh.Index, list))
	compareAnswers(t, "after many edits at once", list, all(t, two.Index, list), all(t, fresh.Index, list))
}

// edit changes files at random and indexes after each round.
func edit(t *testing.T, r *repo, random *rand.Rand, rounds int) {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			rel, err := filepath.Rel(r.dir, path)
			paths = append(paths, rel)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		for range 5 {
			path := paths[random.IntN(len(paths))]
			data, err := os.ReadFile(filepath.Join(r.dir, path))
			if err != nil {
				continue // it was removed
			}
			text := string(data)
			switch random.IntN(5) {
			case 0:
				r.remove(path)
			case 1:
				r.rename(path, strings.TrimSuffix(path, ".go")+fmt.Sprintf("%d.go", round))
			case 2:
				r.put(path, text+fmt.Sprintf("\n// Added%d reads the connection error.\nfunc Added%d() error { return nil }\n", round, round))
			case 3:
				r.put(path, text[:len(text)/2])
			case 4:
				r.put(path, "// a line more\n"+text)
			}
		}
		if round%2 == 0 {
			r.update()
		} else {
			r.ask("connection")
		}
	}
}

// The hits with the highest scores are taken, and of equals the first.
func TestLikeliest(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		hits := make([]hit, 1+random.IntN(60))
		files := []*store.File{{Path: "a.go"}, {Path: "a_test.go"}, {Path: "vendor/b.go"}}
		for i := range hits {
			hits[i] = hit{file: files[i*len(files)/len(hits)], node: i, base: float64(random.IntN(4)) / 2}
		}
		n := 1 + random.IntN(len(hits))
		want := slices.Clone(hits)
		slices.SortStableFunc(want, func(a, b hit) int {
			return cmp.Compare(b.base+weighPath(b.file.Path), a.base+weighPath(a.file.Path))
		})
		want = want[:n]
		slices.SortFunc(want, func(a, b hit) int { return cmp.Compare(a.node, b.node) })
		if got := likeliest(hits, n); !slices.Equal(got, want) {
			t.Fatalf("%d of %v: %v, want %v", n, hits, got, want)
		}
	}
}

// The number of matches in an answer is exact: it is the number of handles that a larger limit gives.
func TestTotalsAreExact(t *testing.T) {
	long.Slow(t)
	dir := plant(t, nil)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(goroot.Src(t), "go"))); err != nil {
		t.Fatal(err)
	}
	r := openRepo(t, dir, Options{})
	r.update()
	// Sections that a block of code divides into two pieces, more of them than are looked at.
	for i := range considered {
		text := strings.Repeat("zweisatz matters.\n", 4)
		r.put(fmt.Sprintf("docs/%d.md", i), fmt.Sprintf("# Apple %d\n\n%s\n```go\n%s```\n\n%s\n# Pear\n\nNothing.\n", i, text, strings.Repeat("func f() {}\n", 9), text))
	}
	all := 0
	for _, q := range append(fifty(t), compile(t, query.Params{Pattern: "zweisatz matters"}), compile(t, query.Params{Pattern: "zweisatz"})) {
		q.Limit = 1 << 20 // beyond what users may ask for
		whole := r.run(q)
		n := len(whole.Handles) + len(whole.RefHandles)
		ids := map[string]bool{}
		for _, h := range whole.Handles {
			ids[h.ID] = true
		}
		if whole.TotalMatches != n || len(ids) != len(whole.Handles) || whole.Truncated {
			t.Errorf("%s: %d matches, %d handles, %d of them different, truncated: %v", q.Expr, whole.TotalMatches, n, len(ids), whole.Truncated)
		}
		if strings.Contains(q.Text, "zweisatz") && n != considered {
			t.Errorf("%s: %d sections, want %d", q.Expr, n, considered)
		}
		q.Limit = 3
		if part := r.run(q); part.TotalMatches != n || part.Truncated != (n > 3) {
			t.Errorf("%s: %d matches of %d, truncated: %v", q.Expr, part.TotalMatches, n, part.Truncated)
		}
		all += n
	}
	t.Logf("%d matches", all)
}

// The rows common to several lists are those that counting finds.
func TestInAtLeast(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		lists := make([][]store.Row, 1+random.IntN(5))
		count := map[store.Row]int{}
		for i := range lists {
			for row := range store.Row(40) {
				if random.IntN(1+i) == 0 {
					lists[i] = append(lists[i], row)
					count[row]++
				}
			}
		}
		n := 1 + random.IntN(len(lists))
		var want []store.Row
		for row := range store.Row(40) {
			if count[row] >= n {
				want = append(want, row)
			}
		}
		if got := inAtLeast(n, lists); !slices.Equal(got, want) {
			t.Fatalf("%d of %v: %v, want %v", n, lists, got, want)
		}
	}
}
