package retrieval

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
)

// pythonScript prints the functions of the files named on standard input, as Python's own parser sees them, and where the
// standard library is when no file is named. Columns of ast count bytes.
const pythonScript = `
import ast, json, platform, sys, sysconfig
names = sys.stdin.read().split("\0")[:-1]
if not names:
    print(json.dumps([platform.python_version(), sysconfig.get_path("stdlib")]))
for name in names:
    try:
        tree = ast.parse(open(name, "rb").read())
    except Exception:
        continue
    for n in ast.walk(tree):
        if not isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) or not ast.get_docstring(n) or len(n.body) < 2:
            continue
        d = n.body[0]
        print(json.dumps({"file": name, "name": n.name, "line": n.lineno, "end": n.end_lineno, "doc": ast.get_docstring(n),
            "from": d.lineno, "to": d.end_lineno}))
`

// pythonLibrary reads Python's standard library without its tests, and makes the questions about it. The returned corpus lacks
// the documentation of all its functions.
func pythonLibrary(t testing.TB, n int) (c *corpus, version string, questions []question) {
	t.Helper()
	run := func(input string) []byte {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", pythonScript)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			return nil
		}
		return out
	}
	var where []string
	if err := json.Unmarshal(run(""), &where); err != nil || len(where) != 2 {
		return nil, "", nil
	}
	files, err := readTree(where[1], []string{"."}, func(p string) bool {
		return path.Ext(p) == ".py" && !strings.Contains(p, "site-packages/") && !strings.Contains(p, "test") && !strings.HasPrefix(p, "config-")
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err = newCorpus("python", files, path.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, p := range c.paths {
		names.WriteString(path.Join(where[1], p) + "\x00")
	}
	type function struct {
		File, Name, Doc     string
		Line, End, From, To int
	}
	byPath := map[string][]function{}
	d := json.NewDecoder(bytes.NewReader(run(names.String())))
	for d.More() {
		var f function
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		f.File = strings.TrimPrefix(f.File, where[1]+"/")
		byPath[f.File] = append(byPath[f.File], f)
	}

	var all []question
	for _, p := range c.paths {
		lines := bytes.SplitAfter(c.files[p], []byte("\n"))
		gone := make([]bool, len(lines)+1) // of lines counted from 1
		for _, f := range byPath[p] {
			for l := f.From; l <= f.To; l++ {
				gone[l] = true
			}
		}
		now := make([]int, len(lines)+1) // the new number of a line, or of the last before it
		var text []byte
		for i, line := range lines {
			now[i+1] = now[i]
			if !gone[i+1] {
				now[i+1]++
				text = append(text, line...)
			}
		}
		c.files[p] = text
		for _, f := range byPath[p] {
			words := sentence(f.Name, f.Doc, false)
			if words != "" && f.End-f.Line-(f.To-f.From) >= 3 {
				all = append(all, question{set: "S3 python", group: p, text: words, truth: []place{{p, now[f.Line], now[f.End]}},
					params: query.Params{Pattern: words}})
			}
		}
	}
	r := newDrawer(310, n)
	for _, q := range shuffled(r, all) {
		if len(questions) < n && r.take(q.group, q.text) {
			questions = append(questions, q)
		}
	}
	return c, where[0], questions
}
