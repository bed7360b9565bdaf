package retrieval

import (
	"bytes"
	"hash/fnv"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
)

// An exam is one state of a repository, and what is asked about it.
type exam struct {
	c         *corpus
	questions []question
}

// Sets of questions that have no answer.
const (
	gone    = "gone"    // their answer was taken out of the repository
	foreign = "foreign" // they are of another repository
	grafted = "grafted" // they ask of a definition what is said of one of another repository, in words that its file does not have
)

func (q question) kind() string { return strings.TrimPrefix(q.set, "P ") }

// exams hands the exams of a half to use. A repository that cannot be had is left out, and said.
func exams(t *testing.T, held bool, use func(exam)) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: it takes the programs of Debian")
	}
	dir := os.Getenv("SKL_TEST_REPOSITORIES")
	if dir == "" {
		dir = t.TempDir()
	}
	strangers := map[bool][]question{} // of the repository before, by whether they are about commits
	for _, r := range repositoryHalf(t, held) {
		list, err := r.exams(t, dir)
		if err != nil {
			t.Logf("%v is left out: %v", r, err)
			continue
		}
		commits := r.kind == "git"
		var own []question
		n, files := 0, 0
		for _, e := range list {
			own = append(own, filter(e.questions, func(q question) bool { return len(q.truth) > 0 })...)
			e.questions = append(e.questions, grafts(e.c, strangers[commits], e.questions)...)
			e.questions = append(e.questions, foreigners(e.c, strangers[commits], e.questions)...)
			n, files = n+len(e.questions), max(files, len(e.c.paths))
			use(e)
		}
		if len(own) > 0 {
			strangers[commits] = own
		}
		t.Logf("%v: %d files, %d questions", r, files, n)
	}
}

// exams makes those of a repository: one of its text, or one for each of some commits.
func (r repository) exams(t testing.TB, dir string) (list []exam, err error) {
	if r.kind != "git" {
		files, err := r.fetch(t, dir)
		if err != nil {
			return nil, err
		}
		c := corpusOf(r.String(), files)
		questions := prose(c, "")
		return []exam{{c, takeOut(c, questions)}}, nil
	}
	h, err := r.cloned(t, dir)
	if err != nil {
		return nil, err
	}
	for _, change := range h.commits(t, perCommits, func(string) bool { return true }) {
		h.at(t, change.parent)
		files, err := readTree(h.dir, []string{"."}, isSource)
		if err != nil {
			return nil, err
		}
		q := change.question
		q.truth = slices.DeleteFunc(q.truth, func(p place) bool { return files[p.path] == nil })
		if len(q.truth) > 0 {
			q.set, q.all, q.params.Limit = "P commit", false, 0
			list = append(list, exam{corpusOf(r.String(), files), []question{q}})
		}
	}
	return list, nil
}

const perCommits = 40 // commits of a repository that are asked about

// takeOut removes a third of the files with answers from c. Questions that have no answer left are of the set gone.
func takeOut(c *corpus, questions []question) (out []question) {
	taken := func(p place) bool {
		h := fnv.New32a()
		h.Write([]byte(c.name + "\x00" + p.path))
		return h.Sum32()>>5%3 == 0
	}
	for _, q := range questions {
		left := filter(q.truth, func(p place) bool { return !taken(p) })
		for _, p := range q.truth {
			if taken(p) {
				delete(c.files, p.path)
			}
		}
		if q.truth = left; len(left) == 0 {
			q.set = gone
		}
		out = append(out, q)
	}
	c.paths = filter(c.paths, func(p string) bool { return c.files[p] != nil })
	return out
}

// foreigners chooses questions of others about c, so many that half of all have no answer.
func foreigners(c *corpus, others, own []question) (out []question) {
	answerable := len(filter(own, func(q question) bool { return len(q.truth) > 0 }))
	need := answerable - (len(own) - answerable)
	if len(others) == 0 || need <= 0 {
		return nil
	}
	for i := range others {
		if len(out) == need {
			break
		}
		q := others[(i*7+len(own))%len(others)]
		if slices.ContainsFunc(out, func(o question) bool { return o.text == q.text }) || named(c, q) {
			continue
		}
		q.set, q.truth = foreign, nil
		out = append(out, q)
	}
	return out
}

// grafts asks of definitions of c, of which own asks, what others say of theirs.
func grafts(c *corpus, others, own []question) (out []question) {
	others = filter(others, func(q question) bool { return q.subject != "" })
	for i, q := range own {
		if q.subject == "" || len(q.truth) == 0 || len(others) == 0 {
			continue
		}
		text := bytes.ToLower(c.files[q.truth[0].path])
		lacks := func(w string) bool { return !bytes.Contains(text, []byte(w[:len(w)-len(w)/4])) }
		for k := range others {
			o := others[(i+k)%len(others)]
			if !slices.ContainsFunc(o.detail, func(w string) bool { return !lacks(w) }) {
				g := question{set: grafted, group: q.group, text: askDetail(q.subject, o.detail, i%4)}
				g.params = query.Params{Pattern: g.text}
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// named says whether q asks for a name that c has, too.
func named(c *corpus, q question) bool {
	name := q.subject
	if q.kind() == "name" || q.kind() == "config" {
		name = slices.MaxFunc(plainWords(q.text), func(a, b string) int { return len(a) - len(b) })
	}
	if name == "" {
		return false
	}
	return slices.ContainsFunc(c.paths, func(p string) bool { return bytes.Contains(c.files[p], []byte(name)) })
}

func TestTakeOut(t *testing.T) {
	c := &corpus{name: "one", files: map[string][]byte{}}
	var questions []question
	for _, p := range strings.Fields("a.go b.go c.go d.go e.go f.go g.go h.go") {
		c.files[p], c.paths = []byte("package a\n"), append(c.paths, p)
		questions = append(questions, question{set: "P how", text: p, truth: []place{{path: p}}}, question{set: "P config", text: "all " + p, truth: []place{{path: "a.go"}, {path: p}}})
	}
	out := takeOut(c, questions)
	if len(c.paths) == 8 || len(c.paths) == 0 || len(out) != len(questions) {
		t.Fatalf("%d of 8 files are left, %d of %d questions", len(c.paths), len(out), len(questions))
	}
	for _, q := range out {
		if (q.set == gone) != (len(q.truth) == 0) {
			t.Errorf("%q is of %q with %d answers", q.text, q.set, len(q.truth))
		}
		for _, p := range q.truth {
			if c.files[p.path] == nil {
				t.Errorf("the answer of %q is not there", q.text)
			}
		}
	}
	strange := foreigners(c, questions, out)
	if missing := len(filter(out, func(q question) bool { return q.set == gone })); len(strange)+missing > len(out)-missing || len(strange) == 0 {
		t.Errorf("%d questions of others beside %d, of which %d have no answer", len(strange), len(out), missing)
	}
}
