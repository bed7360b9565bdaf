package retrieval

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	_ "modernc.org/sqlite"

	"github.com/skl-project/skl/index/chunk"
)

// A hit is one answer.
type hit struct {
	path        string
	first, last int // lines
	tokens      int // that reading it costs
}

// A reply is what a system says to a question, best first.
type reply struct {
	hits    []hit
	listing int // tokens read before any hit is
}

// A system answers questions about a corpus. It returns false for a question of a kind that one does not ask it.
type system struct {
	name string
	ask  func(q question) (reply, bool)

	reading func(q question) int // of the tags file: see tags.reading
}

// baselines returns the systems that have no index of ours: bm25, and the others if all are wanted.
func baselines(t testing.TB, c *corpus, all bool) []system {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "base.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	out := []system{{name: "bm25", ask: newChunks(t, db, c).ask}}
	if all {
		out = append(out, system{name: "ripgrep", ask: newGrep(c).ask})
	}
	if all && len(c.defs) > 0 {
		tags := newTags(c)
		out = append(out, system{name: "ctags", ask: tags.ask, reading: tags.reading}, system{name: "reference", ask: newNodes(t, db, c).ask})
	}
	return out
}

// must runs SQL whose failure is a fault of the test.
func must(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// load fills an FTS5 table whose rows are the texts that each yields, numbered from 1.
func load(t testing.TB, db *sql.DB, name string, each func(yield func(text []byte))) {
	t.Helper()
	must(t, db, `PRAGMA journal_mode=off; PRAGMA synchronous=off; PRAGMA cache_size=-65536;
		CREATE VIRTUAL TABLE `+name+` USING fts5(text, content='', tokenize='unicode61')`)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.Prepare(`INSERT INTO ` + name + `(rowid, text) VALUES (?, ?)`)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	each(func(text []byte) {
		row++
		if _, err := insert.Exec(row, string(bytes.ToValidUTF8(text, []byte(" ")))); err != nil {
			t.Fatal(err)
		}
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// rows returns the row numbers that a statement of one argument selects; none when SQLite refuses the argument.
func rows(db *sql.DB, statement, match string) []int {
	r, err := db.Query(statement, match)
	if err != nil {
		return nil
	}
	defer r.Close()
	var out []int
	for r.Next() {
		var row int
		if r.Scan(&row) != nil {
			return nil
		}
		out = append(out, row)
	}
	if r.Err() != nil {
		return nil
	}
	return out
}

// chunks is plain FTS5: bm25 over chunks of 50 lines, any of the words.
type chunks struct {
	c   *corpus
	db  *sql.DB
	at  []hit // row-1 → chunk
	raw [][]byte
}

func newChunks(t testing.TB, db *sql.DB, c *corpus) *chunks {
	s := &chunks{c: c, db: db}
	load(t, db, "chunks", func(yield func([]byte)) {
		for _, p := range c.paths {
			src := c.files[p]
			for first := 1; len(src) > 0; first += 50 {
				text, lines := head(src, 50)
				yield(text)
				s.at = append(s.at, hit{path: p, first: first, last: first + lines - 1})
				s.raw = append(s.raw, text)
				src = src[len(text):]
			}
		}
	})
	return s
}

// head returns the first n lines of src, and how many there are.
func head(src []byte, n int) (text []byte, lines int) {
	at := 0
	for lines < n && at < len(src) {
		lines++
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			at += i + 1
		} else {
			at = len(src)
		}
	}
	return src[:at], lines
}

func (s *chunks) ask(q question) (reply, bool) {
	match := anyOf(q.text)
	if match == "" {
		return reply{}, true
	}
	var out reply
	for _, row := range rows(s.db, `SELECT rowid FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT 50`, match) {
		h := s.at[row-1]
		h.tokens = chunk.Tokens(s.raw[row-1])
		out.hits = append(out.hits, h)
	}
	return out, true
}

// anyOf returns an FTS5 expression for any word of text.
func anyOf(text string) string {
	seen := map[string]bool{}
	var terms []string
	for _, w := range ftsWords(text) {
		if !seen[w] {
			seen[w] = true
			terms = append(terms, `"`+w+`"`)
		}
	}
	return strings.Join(terms, " OR ")
}

// ftsWords cuts text as the tokenizer unicode61 does, but for accents.
func ftsWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// grep ranks files as someone with ripgrep might: by the number of different words that they have, then by how often they
// have them, case aside; and reads 50 lines about the line with most of them.
type grep struct {
	c     *corpus
	vocab string               // all words of the corpus, a line each
	files map[string][]posting // word → where
}

type posting struct{ file, count int }

func newGrep(c *corpus) *grep {
	g := &grep{c: c, files: map[string][]posting{}}
	for i, p := range c.paths {
		count := map[string]int{}
		for _, w := range plainWords(strings.ToLower(string(c.files[p]))) {
			count[w]++
		}
		for w, n := range count {
			g.files[w] = append(g.files[w], posting{i, n})
		}
	}
	var b strings.Builder
	for w := range g.files {
		b.WriteByte('\n')
		b.WriteString(w)
	}
	b.WriteByte('\n')
	g.vocab = b.String()
	return g
}

// containing calls yield with the words that contain part.
func (g *grep) containing(part string, yield func(string)) {
	for at := 0; ; {
		i := strings.Index(g.vocab[at:], part)
		if i < 0 {
			return
		}
		start := strings.LastIndexByte(g.vocab[:at+i], '\n') + 1
		end := at + i + strings.IndexByte(g.vocab[at+i:], '\n')
		yield(g.vocab[start:end])
		at = end
	}
}

func (g *grep) ask(q question) (reply, bool) {
	if q.params.Kind == "reference" || q.params.Literal != "" {
		return g.exact(q), true
	}
	type score struct{ file, distinct, count int }
	terms := plainWords(strings.ToLower(q.text))
	terms = filter(terms, func(w string) bool { return len(w) > 1 })
	slices.Sort(terms)
	terms = slices.Compact(terms)
	scores := make([]score, len(g.c.paths))
	for _, term := range terms {
		count := make([]int, len(scores))
		g.containing(term, func(w string) {
			for _, p := range g.files[w] {
				count[p.file] += p.count
			}
		})
		for i, n := range count {
			if n > 0 {
				scores[i].distinct++
				scores[i].count += n
			}
		}
	}
	for i := range scores {
		scores[i].file = i
	}
	scores = filter(scores, func(s score) bool { return s.count > 0 })
	slices.SortFunc(scores, func(a, b score) int {
		return cmp.Or(cmp.Compare(b.distinct, a.distinct), cmp.Compare(b.count, a.count), cmp.Compare(a.file, b.file))
	})
	var out reply
	for _, s := range scores[:min(len(scores), 10)] {
		out.hits = append(out.hits, g.window(g.c.paths[s.file], terms))
	}
	return out, true
}

// exact finds what is asked for as it is: the lines with a name, or 50 lines about the first match of a text.
func (g *grep) exact(q question) reply {
	var out reply
	need := []byte(q.params.Literal + q.params.Symbol)
	for _, p := range g.c.paths {
		if !bytes.Contains(g.c.files[p], need) {
			continue
		}
		if q.params.Literal != "" {
			out.hits = append(out.hits, g.window(p, []string{strings.ToLower(q.params.Literal)}))
			continue
		}
		n := 0
		for line := range bytes.SplitSeq(g.c.files[p], []byte("\n")) {
			n++
			if bytes.Contains(line, need) && slices.Contains(plainWords(string(line)), string(need)) {
				out.hits = append(out.hits, hit{p, n, n, chunk.Tokens(line)})
			}
		}
	}
	return out
}

// window returns 50 lines about the first of the lines with most of the terms.
func (g *grep) window(p string, terms []string) hit {
	lines := strings.Split(strings.ToLower(string(g.c.files[p])), "\n")
	best, most := 0, -1
	for i, line := range lines {
		n := 0
		for _, term := range terms {
			if strings.Contains(line, term) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	first, last := max(0, best-25), min(len(lines), best+25)
	return hit{path: p, first: first + 1, last: last, tokens: chunk.Tokens([]byte(strings.Join(lines[first:last], "\n")))}
}

// tags finds definitions by name, as with a tags file: as it is, else whatever its case. It gives lines, and the reader reads files.
type tags struct {
	c *corpus
	t table
}

func newTags(c *corpus) *tags { return &tags{c, newTable(c.defs)} }

func (s *tags) find(q question) []def {
	defs := s.t.exact[q.name]
	if defs == nil {
		defs = s.t.lower[strings.ToLower(q.name)]
	}
	return filter(defs, func(d def) bool {
		return (q.owner == "" || d.owner == q.owner) && (q.dir == "" || path.Base(d.pkg) == q.dir)
	})
}

func (s *tags) ask(q question) (reply, bool) {
	if q.name == "" {
		return reply{}, false
	}
	var out reply
	for _, d := range s.find(q) {
		text := s.c.lines(d.path, d.line, d.end)
		out.hits = append(out.hits, hit{d.path, d.line, d.end, chunk.Tokens(text)})
	}
	return out, true
}

// reading is what "ripgrep, then read the file" costs somebody who greps for the definition alone: the lines that define
// the name, then whole files in the order of their paths until one holds the truth.
func (s *tags) reading(q question) (tokens int) {
	seen := map[string]bool{}
	defs := s.t.lower[strings.ToLower(q.name)]
	for _, d := range defs {
		tokens += chunk.Tokens(fmt.Appendf(nil, "%s:%d:%s\n", d.path, d.line, s.c.lines(d.path, d.line, d.line)))
	}
	for _, d := range defs {
		if !seen[d.path] {
			seen[d.path] = true
			tokens += chunk.Tokens(s.c.files[d.path])
		}
		if slices.ContainsFunc(q.truth, func(p place) bool { return p.path == d.path }) {
			return min(tokens, maxTokens)
		}
	}
	return maxTokens
}

// lines returns the lines first to last of a file.
func (c *corpus) lines(p string, first, last int) []byte {
	src := c.files[p]
	skipped, _ := head(src, first-1)
	text, _ := head(src[len(skipped):], last-first+1)
	return text
}

// nodes is what this index replaces: functions and types alone are searched, all words must occur, the expression goes to FTS5 as
// it is, and answers come in the order of the files.
type nodes struct {
	c     *corpus
	db    *sql.DB
	at    []hit
	names map[string][]hit
}

func newNodes(t testing.TB, db *sql.DB, c *corpus) *nodes {
	s := &nodes{c: c, db: db, names: map[string][]hit{}}
	byPath := map[string][]def{}
	for _, d := range c.defs {
		if d.kind == "func" || d.kind == "type" {
			byPath[d.path] = append(byPath[d.path], d)
		}
	}
	load(t, db, "nodes", func(yield func([]byte)) {
		for _, p := range c.paths {
			defs := byPath[p]
			for _, d := range defs {
				text := c.lines(p, d.line, d.end)
				h := hit{p, d.line, d.end, chunk.Tokens(text)}
				yield(text)
				s.at = append(s.at, h)
				s.names[strings.ToLower(d.name)] = append(s.names[strings.ToLower(d.name)], h)
			}
			if len(defs) == 0 {
				yield(c.files[p])
				s.at = append(s.at, hit{p, 1, 1 + bytes.Count(c.files[p], []byte("\n")), chunk.Tokens(c.files[p])})
			}
		}
	})
	return s
}

func (s *nodes) ask(q question) (reply, bool) {
	if q.name != "" && strings.HasPrefix(q.set, "S1") {
		h := s.names[strings.ToLower(q.name)]
		return reply{hits: h[:min(len(h), 16)]}, true
	}
	match := q.text
	if strings.ContainsAny(match, `"()-*<>`) {
		match = `"` + strings.ReplaceAll(match, `"`, `""`) + `"`
	}
	var out reply
	for _, row := range rows(s.db, `SELECT rowid FROM nodes WHERE nodes MATCH ? ORDER BY rowid LIMIT 16`, match) {
		out.hits = append(out.hits, s.at[row-1])
	}
	return out, true
}
