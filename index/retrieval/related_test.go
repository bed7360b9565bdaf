package retrieval

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/rank"
)

const (
	relatedFile = "../rank/related.txt"

	perProject  = 600  // functions that are learned from, so that no project says most
	leastSeen   = 8    // functions whose names have a word
	leastTold   = 10   // functions whose documentation has one
	leastShared = 4    // projects that have both together
	mostSeen    = 0.12 // share of the functions that may have a word which is related to another
	leastClose  = 10   // of 100
	rounds      = 6    // of the estimation
	noneWeight  = 3    // of the words that nothing in the documentation explains, at the start
)

// A learned function is what its documentation says, and what its first line does.
type learned struct {
	told, names []int // numbers of terms, sorted
	project     int
}

// A teacher collects functions. Term 0 is what no word of the documentation explains.
type teacher struct {
	t         testing.TB
	terms     []string
	number    map[string]int
	projects  map[string]int
	of        map[int]int // project → functions
	seen      map[uint64]bool
	functions []learned
}

func (l *teacher) term(text string) int {
	n, ok := l.number[text]
	if !ok {
		n = len(l.terms)
		l.number[text] = n
		l.terms = append(l.terms, text)
	}
	return n
}

// projectOf returns whose a file is, by its path in a collection of modules, packages or directories.
func projectOf(p string) string {
	if i := strings.LastIndex(p, "node_modules/"); i >= 0 {
		parts := strings.SplitN(p[i+len("node_modules/"):], "/", 3)
		if strings.HasPrefix(parts[0], "@") && len(parts) > 2 {
			return parts[0] + "/" + parts[1]
		}
		return parts[0]
	}
	if module, _, ok := strings.Cut(p, "@"); ok {
		return module
	}
	first, _, _ := strings.Cut(p, "/")
	return first
}

// collect learns from the files below root, but for those of projects that questions are asked about.
func (l *teacher) collect(root string, asked []string) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what cannot be read teaches nothing
		}
		p, err := filepath.Rel(root, name)
		p = filepath.ToSlash(p)
		if err != nil || defines[path.Ext(p)] == nil || isTestFile(p) {
			return err
		}
		whose := projectOf(p)
		if slices.ContainsFunc(asked, func(a string) bool {
			return slices.ContainsFunc(strings.Split(strings.ToLower(strings.ReplaceAll(whose, "!", "")), "/"), func(part string) bool {
				return part == a || strings.TrimPrefix(part, "go-") == strings.TrimPrefix(a, "go-") || strings.TrimSuffix(strings.TrimSuffix(part, ".go"), "-go") == a
			})
		}) {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil || !askable(p, data) {
			return nil
		}
		if _, ok := l.projects[whose]; !ok {
			l.projects[whose] = len(l.projects)
		}
		l.file(p, strings.Split(string(data), "\n"), l.projects[whose])
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// file learns from the functions of a file that say what they do.
func (l *teacher) file(p string, lines []string, project int) {
	for i, line := range lines[:max(0, len(lines)-12)] {
		name := definition(p, line)
		_, _, text := documentation(lines, i, path.Ext(p) == ".py")
		h := fnv.New64a()
		h.Write([]byte(line + text))
		if name == "" || text == "" || l.of[project] == perProject || l.seen[h.Sum64()] {
			continue
		}
		l.seen[h.Sum64()] = true
		told := l.told(name, text)
		if len(told) < 2 || len(told) > 25 {
			continue
		}
		f := learned{told: told, project: project}
		rank.Terms([]byte(line), func(term []byte) {
			if len(term) > 1 && len(term) <= 20 {
				f.names = append(f.names, l.term(string(term)))
			}
		})
		slices.Sort(f.names)
		f.names = slices.Compact(f.names)
		l.functions = append(l.functions, f)
		l.of[project]++
	}
}

// told returns the terms of the first sentence of the documentation of a function.
func (l *teacher) told(name, text string) (list []int) {
	text = markup.ReplaceAllString(text, "$1$2")
	text, _, _ = strings.Cut(text, "\n\n")
	text, _, _ = strings.Cut(text, "\n@")
	text, _, _ = strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
	if strings.HasPrefix(text, "Deprecated") {
		return nil
	}
	words := strings.Fields(text)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.EqualFold(strings.Trim(w, ".,:()`"), name) })
	for _, w := range rank.Ask(strings.Join(words, " ")).Words {
		if len(w.Parts) == 0 && !w.Stop {
			list = append(list, l.term(w.Text))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// estimate says how probable it is that a word of a name stands there for a word of the documentation, by expectation and maximisation: each word of a
// name is explained by one of the documentation, or by none. shared counts the projects that have both.
func (l *teacher) estimate() (probable map[[2]int]float64, shared map[[2]int]int, seen, told []int) {
	seen, told = make([]int, len(l.terms)), make([]int, len(l.terms))
	for _, f := range l.functions {
		for _, n := range f.names {
			seen[n]++
		}
		for _, w := range f.told {
			told[w]++
		}
	}
	pairs := func(f learned, yield func(name int, told []int)) {
		told := append([]int{0}, f.told...)
		for _, n := range f.names {
			if seen[n] >= leastSeen {
				yield(n, told)
			}
		}
	}
	probable, shared = map[[2]int]float64{}, map[[2]int]int{}
	last := map[[2]int]int{} // project, from 1
	for _, f := range l.functions {
		pairs(f, func(n int, told []int) {
			for _, w := range told {
				k := [2]int{w, n}
				probable[k] = 1
				if last[k] != f.project+1 {
					last[k] = f.project + 1
					shared[k]++
				}
			}
		})
	}
	for range rounds {
		count, sum := make(map[[2]int]float64, len(probable)), make([]float64, len(l.terms))
		weight := func(w, n int) float64 {
			if w == 0 {
				return noneWeight * probable[[2]int{w, n}]
			}
			return probable[[2]int{w, n}]
		}
		for _, f := range l.functions {
			pairs(f, func(n int, told []int) {
				all := 0.0
				for _, w := range told {
					all += weight(w, n)
				}
				for _, w := range told {
					x := weight(w, n) / all
					count[[2]int{w, n}] += x
					sum[w] += x
				}
			})
		}
		for k := range probable {
			probable[k] = count[k] / sum[k[0]]
		}
	}
	return probable, shared, seen, told
}

// lines returns what relatedFile has.
func (l *teacher) lines() (out []string) {
	probable, shared, seen, told := l.estimate()
	of := map[int][]int{}
	for k, p := range probable {
		common := float64(seen[k[1]]) / float64(len(l.functions))
		if k[0] != 0 && k[0] != k[1] && told[k[0]] >= leastTold && shared[k] >= leastShared && common <= mostSeen && p >= 2*common {
			of[k[0]] = append(of[k[0]], k[1])
		}
	}
	for w, names := range of {
		type relation struct {
			name  string
			close int
		}
		var list []relation
		for _, n := range names {
			// As close as the word itself is 100: most documentation repeats words of the name.
			c := int(100*min(1, probable[[2]int{w, n}]/max(0.1, probable[[2]int{w, w}])) + 0.5)
			if c >= leastClose {
				list = append(list, relation{l.terms[n], c})
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b relation) int {
			return cmp.Or(cmp.Compare(b.close, a.close), cmp.Compare(a.name, b.name))
		})
		line := l.terms[w]
		for _, r := range list {
			line += fmt.Sprintf(" %s %d", r.name, r.close)
		}
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b string) int {
		first, _, _ := strings.Cut(a, " ")
		second, _, _ := strings.Cut(b, " ")
		return cmp.Compare(first, second)
	})
	return out
}

// TestLearnRelated learns the words that names use for the words of their documentation. SKL_TEST_RETRIEVAL=related
// reads the directories of SKL_TEST_SOURCES, such as the sources of Go, a cache of modules and a node_modules, and
// writes relatedFile. Projects that questions are asked about are left out.
func TestLearnRelated(t *testing.T) {
	if os.Getenv("SKL_TEST_RETRIEVAL") != "related" {
		t.Skip("skipped: SKL_TEST_RETRIEVAL is not related")
	}
	var asked []string
	for _, held := range []bool{false, true} {
		for _, r := range repositoryHalf(t, held) {
			asked = append(asked, r.project())
		}
	}
	l := &teacher{t: t, terms: []string{""}, number: map[string]int{"": 0}, projects: map[string]int{}, of: map[int]int{}, seen: map[uint64]bool{}}
	for _, dir := range filepath.SplitList(os.Getenv("SKL_TEST_SOURCES")) {
		l.collect(dir, asked)
	}
	lines := l.lines()
	t.Logf("%d functions of %d projects relate %d words", len(l.functions), len(l.projects), len(lines))
	if err := os.WriteFile(relatedFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRelatedIsLearned(t *testing.T) {
	l := &teacher{t: t, terms: []string{""}, number: map[string]int{"": 0}, projects: map[string]int{}, of: map[int]int{}, seen: map[uint64]bool{}}
	thing := func(i int) string {
		return string([]byte{'a' + byte(i/676), 'a' + byte(i/26%26), 'a' + byte(i%26), 'x'})
	}
	learn := func(project int, text, thing string) {
		capital := strings.ToUpper(thing[:1]) + thing[1:]
		text = "package a\n\n// It " + strings.NewReplacer("thing", thing, "Thing", capital, "unique", fmt.Sprint("p", project)).Replace(text) + " {\n\tx()\n}\n"
		l.file("a.go", strings.Split(text+strings.Repeat("\n", 12), "\n"), project)
	}
	for i := range 60 {
		learn(i, "removes the thing of this directory.\nfunc DeleteThing(dir, unique)", thing(i%12))
		learn(i, "shows every thing of this directory.\nfunc PrintThing(dir, unique)", thing(i%12))
		learn(i, "removes each thing at once.\nfunc DeleteAllThing(unique)", thing(i%12))
	}
	for i := range 1500 { // others, so that no word is common
		learn(i, "gives what stands beside the thing now.\nfunc ThingOf(n uint)", thing(i+100))
	}
	got := strings.Join(l.lines(), "\n")
	for _, want := range []string{"directori dir ", "remov delet "} {
		if !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("%q is not learned: %s", want, got)
		}
	}
	for _, p := range []struct{ path, want string }{{"github.com/a/b@v1.2.3/c/d.go", "github.com/a/b"}, {"x/node_modules/@s/p/i.js", "@s/p"}, {"x/node_modules/p/i.js", "p"}, {"net/http/server.go", "net"}} {
		if got := projectOf(p.path); got != p.want {
			t.Errorf("%s is of %q", p.path, got)
		}
	}
}
