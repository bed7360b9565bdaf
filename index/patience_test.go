package index

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/testdata/long"
)

// While nothing can be stored, a query waits for no longer than its time, finds exact text in what changed all the same, and says what
// it does not cover. What it shows of files that changed is what they hold now.
func TestQueryDoesNotWait(t *testing.T) {
	long.Slow(t)
	list := map[string]string{}
	for i := range 548 {
		list[fmt.Sprintf("d%02d/f%03d.go", i%30, i)] = fmt.Sprintf("package d\n\n// F%03d is common.\nfunc F%03d() {}\n", i, i)
	}
	for _, watch := range []bool{false, true} {
		r := openRepo(t, plant(t, list), Options{Watch: watch, FirstAnswer: time.Second})
		r.update()
		old := r.ask(`(definition "F007")`)
		for path, text := range list { // another branch is checked out
			r.put(path, "// checked out\n"+text+"\nfunc New() {}\n")
		}
		batch, err := r.store().Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		within := func(ask string) query.Result {
			t.Helper()
			start := time.Now()
			got := r.ask(ask)
			if took := time.Since(start); took > long.Within(3*time.Second) {
				t.Errorf("watch %v: %s took %v", watch, ask, took)
			}
			return got
		}
		if got := within("common"); got.NotIndexed != len(list) || got.Note == "" || len(got.Handles) != 0 {
			t.Errorf("watch %v: words: %d not indexed, note %q, %d handles", watch, got.NotIndexed, got.Note, len(got.Handles))
		}
		if got := within(`(literal "func New()")`); got.TotalMatches != len(list) {
			t.Errorf("watch %v: exact text: %d matches", watch, got.TotalMatches)
		}
		start := time.Now()
		e, err := r.Expand(context.Background(), []string{old.Handles[0].ID}, 0)
		if err != nil || len(e.Contents) != 0 || time.Since(start) > long.Within(3*time.Second) {
			t.Errorf("watch %v: a handle of before: %v, %v, %v", watch, e, err, time.Since(start))
		}
		batch.Rollback()
		r.update()
		if got := r.ask("common"); got.TotalMatches != len(list) || got.NotIndexed != 0 || got.Behind {
			t.Errorf("watch %v: in the end: %+v", watch, got)
		}
	}
}

// A handle whose file changed elsewhere is expanded although the change cannot be stored.
func TestExpandWithoutStoring(t *testing.T) {
	r := openRepo(t, plant(t, map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n"}), Options{FirstAnswer: 200 * time.Millisecond})
	h := r.ask(`(definition "Alpha")`).Handles[0]
	r.put("a.go", "package a\n\nfunc Alpha() {}\n\nfunc Beta() {}\n")
	batch, err := r.store().Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Rollback()
	e, err := r.Expand(context.Background(), []string{h.ID}, 0)
	if err != nil || len(e.Contents) != 1 || e.Contents[0].Content != "func Alpha() {}" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A question for which there is no time to look at the files says so.
func TestBehind(t *testing.T) {
	r := openRepo(t, plant(t, map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n"}), Options{FirstAnswer: 50 * time.Millisecond})
	r.update()
	r.sweeps.turn <- struct{}{} // another looks, and goes on
	got := r.ask("alpha")
	if len(got.Handles) != 1 || !got.Behind || got.Note == "" {
		t.Errorf("%+v", got)
	}
	<-r.sweeps.turn
	if got := r.ask("alpha"); got.Behind || got.Note != "" {
		t.Errorf("afterwards: %+v", got)
	}
}
