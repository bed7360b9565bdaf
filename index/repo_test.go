package index

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/glob"
)

// A repo is a directory that a test writes and an index of it.
type repo struct {
	*Index
	t   testing.TB
	dir string
}

// newRepo writes files, "path": "text", and opens an index of them that nobody else has.
func newRepo(t testing.TB, files map[string]string) *repo {
	t.Helper()
	return openRepo(t, plant(t, files), Options{})
}

// plant writes files into a directory that ends with the test.
func plant(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		put(t, dir, path, text)
	}
	return dir
}

func openRepo(t testing.TB, dir string, o Options) *repo {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	x, err := Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &repo{x, t, dir}
}

// put writes a file, and the directories above it.
func put(t testing.TB, dir, path, text string) {
	t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *repo) put(path, text string) { r.t.Helper(); put(r.t, r.dir, path, text) }

func (r *repo) remove(path string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, filepath.FromSlash(path))); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) read(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(path)))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// compiled makes a query of an S-expression, or of words if it has no parenthesis first.
func compiled(t testing.TB, text string) query.Query {
	t.Helper()
	p := query.Params{Pattern: text}
	if strings.HasPrefix(text, "(") {
		p = query.Params{Query: text}
	}
	return compile(t, p)
}

func compile(t testing.TB, p query.Params) query.Query {
	t.Helper()
	q, err := p.Compile()
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return q
}

// ask answers a question, of which every handle is checked against the files.
func (r *repo) ask(text string) query.Result {
	r.t.Helper()
	return r.run(compiled(r.t, text))
}

func (r *repo) run(q query.Query) query.Result {
	r.t.Helper()
	got, err := r.Query(context.Background(), q)
	if err != nil {
		r.t.Fatalf("%s: %v", q.Expr, err)
	}
	r.check(q, got)
	return got
}

// check holds for every answer.
func (r *repo) check(q query.Query, got query.Result) {
	r.t.Helper()
	for _, h := range got.Handles {
		text := r.read(h.FilePath)
		if h.Span.Start < 0 || h.Span.End > len(text) || h.Span.Start > h.Span.End {
			r.t.Errorf("%s: %s has the span %+v of %d bytes", q.Expr, h.FilePath, h.Span, len(text))
			continue
		}
		span := text[h.Span.Start:h.Span.End]
		if want := query.Preview([]byte(span), previewBytes); h.Preview != want {
			r.t.Errorf("%s: %s %+v has the preview %q, want %q", q.Expr, h.FilePath, h.Span, h.Preview, want)
		}
		if h.Content != "" && h.Content != span {
			r.t.Errorf("%s: %s %+v has the content %q", q.Expr, h.FilePath, h.Span, h.Content)
		}
		if first := 1 + strings.Count(text[:h.Span.Start], "\n"); h.LineRange[0] != first {
			r.t.Errorf("%s: %s %+v begins in line %d, want %d", q.Expr, h.FilePath, h.Span, h.LineRange[0], first)
		}
		if h.MatchLine != 0 && (h.MatchLine < 1 || h.MatchLine > 1+strings.Count(text, "\n")) {
			r.t.Errorf("%s: %s has the match in line %d", q.Expr, h.FilePath, h.MatchLine)
		}
	}
	for _, h := range got.RefHandles {
		text := r.read(h.FilePath)
		if h.Span.End > len(text) || !strings.EqualFold(text[h.Span.Start:h.Span.End], h.Name) {
			r.t.Errorf("%s: %s %+v is no use of %q", q.Expr, h.FilePath, h.Span, h.Name)
		}
	}
	if more := got.TotalMatches > len(got.Handles)+len(got.RefHandles) || got.AtLeast; got.Truncated != more {
		r.t.Errorf("%s: %d of %d matches and truncated %v", q.Expr, len(got.Handles)+len(got.RefHandles), got.TotalMatches, got.Truncated)
	}
	ids := map[string]bool{}
	for _, h := range got.Handles {
		if ids[h.ID] {
			r.t.Errorf("%s: %s is there twice", q.Expr, h.ID)
		}
		ids[h.ID] = true
	}
}

// shown writes an answer as "path name|type" of each handle, in order.
func shown(got query.Result) []string {
	var list []string
	for _, h := range got.Handles {
		name := h.Name
		if name == "" {
			name = h.NodeType
		}
		list = append(list, h.FilePath+" "+name)
	}
	for _, h := range got.RefHandles {
		list = append(list, h.FilePath+" "+h.RefType+" "+strings.TrimPrefix(h.Qualifier+"."+h.Name, "."))
	}
	return list
}

func (r *repo) names(text string) []string { r.t.Helper(); return shown(r.ask(text)) }

// sorted returns a copy of what a question finds where the order is no matter.
func (r *repo) sorted(text string) []string {
	r.t.Helper()
	list := r.names(text)
	slices.Sort(list)
	return list
}

func (r *repo) files(text string) []string {
	r.t.Helper()
	list, err := r.Index.Files(context.Background(), compiled(r.t, text))
	if err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return list
}

func (r *repo) update() Report {
	r.t.Helper()
	report, err := r.Update(context.Background(), glob.Glob{}, false)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

func (r *repo) expand(ids ...string) query.Expansion {
	r.t.Helper()
	e, err := r.Expand(context.Background(), ids, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func mustGlob(t testing.TB, s string) glob.Glob {
	t.Helper()
	g, err := glob.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// same fails if two lists differ.
func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %q\n  want %q", what, got, want)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
