package retrieval

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/index/query"
)

// A message is a string in a Go file.
type message struct {
	text, path string
	line       int
}

// messages lists the strings with a space in them, without escapes: those of tests, and the others.
func messages(c *corpus) (expected, written []message) {
	for _, p := range c.paths {
		f := c.asts[p]
		if f == nil || strings.Contains(p, "testdata/") || strings.HasPrefix(p, "vendor/") {
			continue
		}
		test := strings.HasSuffix(p, "_test.go")
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil || len(s) < 12 || len(s) > 120 || !strings.Contains(s, " ") || strings.ContainsAny(s, "\n\t\\") {
				return true
			}
			m := message{s, p, c.fset.PositionFor(lit.Pos(), false).Line}
			if test {
				expected = append(expected, m)
			} else {
				written = append(written, m)
			}
			return true
		})
	}
	return expected, written
}

// errorStrings makes S5: a message as a test expects it; the truth is the line that writes it. Half of the messages have values
// filled in, so that no text search for the whole message finds them.
func errorStrings(c *corpus, n int) []question {
	expected, written := messages(c)
	r := newDrawer(500, n)
	expected = shuffled(r, expected)

	var out []question
	group := func(m message) string { return path.Dir(m.path) }
	for _, m := range expected {
		if len(out) == n/2 {
			break
		}
		if strings.ContainsAny(m.text, `"%`) || len(plainWords(m.text)) < 3 {
			continue
		}
		var sites []place
		for _, w := range written {
			if strings.Contains(w.text, m.text) {
				sites = append(sites, place{w.path, w.line, w.line})
			}
		}
		if len(sites) == 1 && r.take(group(m), m.text) {
			out = append(out, question{set: "S5 exact", group: group(m), text: m.text, truth: sites, params: query.Params{Literal: m.text}})
		}
	}

	type format struct {
		re   *regexp.Regexp
		site place
	}
	formats := map[string][]format{} // by the longest word that stays
	verb := regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)
	for _, w := range written {
		parts := verb.Split(w.text, -1)
		fixed := plainWords(strings.Join(parts, " "))
		if len(parts) < 2 || len(fixed) < 3 {
			continue
		}
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		key := slices.MaxFunc(fixed, func(a, b string) int { return len(a) - len(b) })
		formats[key] = append(formats[key], format{regexp.MustCompile("^" + strings.Join(parts, "(.+)") + "$"), place{w.path, w.line, w.line}})
	}
	want := len(out) + n/2
	for _, m := range expected {
		if len(out) == want {
			break
		}
		if strings.Contains(m.text, "%") {
			continue
		}
		var sites []place
		ws := plainWords(m.text)
		slices.Sort(ws)
		for _, w := range slices.Compact(ws) {
			for _, f := range formats[w] {
				if f.re.MatchString(m.text) {
					sites = append(sites, f.site)
				}
			}
		}
		if text := strings.Join(plainWords(m.text), " "); len(sites) == 1 && r.take("filled "+group(m), text) {
			out = append(out, question{set: "S5 filled", group: group(m), text: text, truth: sites, params: query.Params{Pattern: text}})
		}
	}
	return out
}

// exactTexts makes S7: a few tokens of a random line, at least one of them punctuation, and expressions made of such. The truth is all
// files that have it; no question has more than 150 lines that match, since an answer has at most 200 handles.
func exactTexts(c *corpus, n int) []question {
	r := newDrawer(700, n)
	tokens := regexp.MustCompile(`\w+|[^\w\s]`)
	word := regexp.MustCompile(`^\w{3,}$`)
	var out []question
	for try := 0; len(out) < n && try < 50*n; try++ {
		p := c.paths[r.rng.IntN(len(c.paths))]
		lines := bytes.Split(c.files[p], []byte("\n"))
		line := lines[r.rng.IntN(len(lines))]
		at := tokens.FindAllIndex(line, -1)
		k := 2 + r.rng.IntN(3)
		if len(at) < k || len(line) > 400 {
			continue
		}
		i := r.rng.IntN(len(at) - k + 1)
		from, to := at[i][0], at[i+k-1][1]
		text := string(line[from:to])
		var named []int // tokens that are words
		for j := i; j < i+k; j++ {
			if word.Match(line[at[j][0]:at[j][1]]) {
				named = append(named, j)
			}
		}
		if len(named) == 0 || tokens.ReplaceAllString(text, "") == text || len(named) == k || len(text) < 6 || len(text) > 60 || !ascii(text) {
			continue
		}
		q := question{set: "S7 literal", group: path.Dir(p), text: text, all: true, params: query.Params{Literal: text, Limit: query.MaxLimit}}
		need, match := text, func(line []byte) bool { return bytes.Contains(line, []byte(text)) }
		if len(out)%3 == 2 {
			if len(named) < 2 {
				continue
			}
			a, b := at[named[0]][0], at[named[0]][1]
			expr := regexp.QuoteMeta(string(line[from:a])) + `\w+` + regexp.QuoteMeta(string(line[b:to]))
			re := regexp.MustCompile(expr)
			q.set, q.text, q.params = "S7 regex", expr, query.Params{Regex: expr, Limit: query.MaxLimit}
			need, match = string(line[b:to]), re.Match
		}
		truth, matching := c.search([]byte(need), match, 150)
		if matching > 150 || !r.take(q.group, q.text) {
			continue
		}
		q.truth = truth
		out = append(out, q)
	}
	return out
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// search returns the files with lines that match, which all contain need, and the number of those lines; it ends when they are more than most.
func (c *corpus) search(need []byte, match func(line []byte) bool, most int) (files []place, matching int) {
	for _, p := range c.paths {
		src, found := c.files[p], false
		if !bytes.Contains(src, need) {
			continue
		}
		for line := range bytes.SplitSeq(src, []byte("\n")) {
			if bytes.Contains(line, need) && match(line) {
				found = true
				matching++
			}
		}
		if found {
			files = append(files, place{path: p})
		}
		if matching > most {
			break
		}
	}
	return files, matching
}
