package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/testdata/long"
)

// An edited is a file that is rewritten again and again. Each of its lines names the file and the version, "f3v17".
type edited struct {
	number int
	path   string

	mu    sync.Mutex
	texts []string // by version
}

// next makes the next version, which is longer or shorter, and notes it before it is written.
func (e *edited) next(r *rand.Rand) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := len(e.texts)
	mark := fmt.Sprintf("f%dv%d", e.number, v)
	var b strings.Builder
	switch filepath.Ext(e.path) {
	case ".go":
		fmt.Fprintf(&b, "package %s\n", mark)
		for k := range 1 + r.IntN(30) {
			fmt.Fprintf(&b, "\n// %sk%d is common.\nfunc %sk%d() {\n%s}\n", mark, k, mark, k, strings.Repeat("\tcommon("+mark+")\n", 1+r.IntN(20)))
		}
	case ".md":
		for k := range 1 + r.IntN(20) {
			fmt.Fprintf(&b, "# %s heading %d\n\n%s\n", mark, k, strings.Repeat(mark+" is common text.\n", 1+r.IntN(30)))
		}
	default:
		b.WriteString(strings.Repeat(mark+" is a common line.\n", 1+r.IntN(2000)))
	}
	e.texts = append(e.texts, b.String())
	return b.String()
}

var marks = regexp.MustCompile(`f\d+v\d+`)

// shows says what is wrong with text that is shown of the file, if anything: it must be the bytes of one version, at this place. A version that
// is written in place exists in part for a moment, which is a beginning of it.
func (e *edited) shows(text string, start int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := marks.FindAllString(text, -1)
	slices.Sort(seen)
	seen = slices.Compact(seen)
	if len(seen) > 2 { // two: the last may be cut, "f3v1" of "f3v17"
		return fmt.Errorf("it shows %q", seen)
	}
	for _, v := range e.texts {
		if start >= 0 && start+len(text) <= len(v) && v[start:start+len(text)] == text || start < 0 && strings.Contains(v, text) {
			return nil
		}
	}
	return fmt.Errorf("no version has it")
}

// previews says the same of a preview.
func (e *edited) previews(h *query.Handle) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, v := range e.texts {
		if h.Span.End <= len(v) && query.Preview([]byte(v[h.Span.Start:h.Span.End]), previewBytes) == h.Preview {
			return nil
		}
	}
	return fmt.Errorf("no version has it")
}

// While four writers rewrite files, as whole files by a rename and in place, eight readers never see a span with the text of another version, or
// with half of one. In the end the answers are those of an index that is built anew.
func TestConcurrentEdits(t *testing.T) {
	long.Slow(t)
	duration := long.Of(time.Second/2, 2*time.Second, 5*time.Second)
	for _, watch := range []bool{false, true} {
		t.Run(fmt.Sprintf("watch %v", watch), func(t *testing.T) {
			hammer(t, watch, duration/2)
		})
	}
}

func hammer(t *testing.T, watch bool, duration time.Duration) {
	dir := plant(t, nil)
	list := make([]*edited, 8)
	byPath := map[string]*edited{}
	for i := range list {
		e := &edited{number: i, path: fmt.Sprintf("d%d/f%d%s", i%2, i, []string{".go", ".md", ".go", ".txt"}[i%4])}
		list[i], byPath[e.path] = e, e
		put(t, dir, e.path, e.next(rand.New(rand.NewPCG(1, uint64(i)))))
	}
	x := openRepo(t, dir, Options{Watch: watch}).Index
	var wait sync.WaitGroup
	var written, answered, shownHandles, expandedHandles atomic.Int64
	begin := time.Now()
	goOn := func() bool { // longer where machines are slow, so that something happens
		took := time.Since(begin)
		return took < duration || took < time.Minute && (written.Load() < 20 || shownHandles.Load() < 100 || expandedHandles.Load() < 10)
	}
	for w := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(w)))
			for goOn() {
				e := list[w+4*r.IntN(2)] // each file has one writer
				name := filepath.Join(dir, e.path)
				text := e.next(r)
				var err error
				if r.IntN(2) == 0 {
					err = os.WriteFile(name, []byte(text), 0o644)
				} else if err = os.WriteFile(name+"~", []byte(text), 0o644); err == nil { // it is found under this name for a moment
					err = os.Rename(name+"~", name)
				}
				if err != nil {
					t.Error(err)
					return
				}
				written.Add(1)
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			}
		})
	}
	file := func(path string) *edited { return byPath[strings.TrimSuffix(path, "~")] }
	for n := range 8 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(n)))
			ctx := context.Background()
			last := uint64(0)
			for goOn() {
				e := list[r.IntN(len(list))]
				asks := []string{"common", "common heading", `(literal "common")`, `(regex "^func f\\d+v\\d+k[0-3]\\(")`, `(file "**")`, `(definition "` + e.latest() + `k0")`, `(section "heading 1")`, `(references "common")`,
					`(intersect (grep "common") (file "d1/*"))`}
				q := compiled(t, asks[r.IntN(len(asks))])
				q.Limit = 1 + r.IntN(40)
				q.ExpandBudget = []int{0, 0, 500, 1 << 20}[r.IntN(4)]
				got, err := x.Query(ctx, q)
				if err != nil {
					t.Errorf("%s: %v", q.Expr, err)
					return
				}
				answered.Add(1)
				if got.Generation < last {
					t.Errorf("generation %d after %d", got.Generation, last)
				}
				last = got.Generation
				var ids []string
				for i := range got.Handles {
					h := &got.Handles[i]
					shownHandles.Add(1)
					ids = append(ids, h.ID)
					e := file(h.FilePath)
					if typ, ok := chunk.ParseType(h.NodeType); !ok || query.ID(h.FilePath, typ, h.Span.Start, h.Span.End) != h.ID {
						t.Errorf("%s: %s is not the id of %s %+v", q.Expr, h.ID, h.NodeType, h.Span)
					}
					if err := e.previews(h); err != nil {
						t.Errorf("%s: %s %s %+v, preview %q: %v", q.Expr, h.FilePath, h.Name, h.Span, h.Preview, err)
					}
					if h.Content != "" {
						if err := e.shows(h.Content, h.Span.Start); err != nil || len(h.Content) != h.Span.End-h.Span.Start {
							t.Errorf("%s: %s %s %+v, content of %d bytes: %v", q.Expr, h.FilePath, h.Name, h.Span, len(h.Content), err)
						}
					}
					if h.NodeType == "function" && !strings.HasPrefix(h.Preview, "func "+h.Name+"(") {
						t.Errorf("%s: %s is shown as %q", q.Expr, h.Name, h.Preview)
					}
				}
				for _, h := range got.RefHandles {
					if err := file(h.FilePath).shows(h.Preview, -1); err != nil || h.Name != "common" || h.Span.End-h.Span.Start != len("common") {
						t.Errorf("%s: %s %q: %v", q.Expr, h.FilePath, h.Preview, err)
					}
				}
				switch r.IntN(3) {
				case 0:
					out, err := x.Expand(ctx, ids, 0)
					if err != nil {
						t.Errorf("Expand: %v", err)
						return
					}
					for _, c := range out.Contents {
						expandedHandles.Add(1)
						if err := file(c.FilePath).shows(c.Content, -1); err != nil {
							t.Errorf("Expand of %s, lines %v: %v", c.FilePath, c.LineRange, err)
						}
					}
				case 1:
					if _, err := x.Evidence(ctx, q, rank.PackOptions{}); err != nil {
						t.Errorf("Evidence: %v", err)
					}
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d versions were written, %d answers had %d handles, %d were expanded", written.Load(), answered.Load(), shownHandles.Load(), expandedHandles.Load())
	if written.Load() < 20 || shownHandles.Load() < 100 || expandedHandles.Load() < 10 {
		t.Error("too little happened")
	}
	for _, e := range list { // what a writer of another goroutine left is not there
		if _, err := os.Stat(filepath.Join(dir, e.path+"~")); err == nil {
			t.Errorf("%s~ is left", e.path)
		}
	}
	fresh := openRepo(t, dir, Options{})
	for _, ask := range []string{"common", `(literal "common")`, `(file "**")`, `(section "heading")`} {
		want := shown(fresh.ask(ask))
		got := shown((&repo{x, t, dir}).ask(ask))
		for deadline := time.Now().Add(10 * time.Second); watch && !slices.Equal(got, want) && time.Now().Before(deadline); {
			got = shown((&repo{x, t, dir}).ask(ask))
		}
		same(t, "in the end, "+ask, got, want)
	}
}

func (e *edited) latest() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprintf("f%dv%d", e.number, len(e.texts)-1)
}
