package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// TestAsking tells of a model while it is asked, and of nothing before and afterwards.
func TestAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 100)
		s := session.Asking(func(e diag.Event) { told <- e.Stage + " " + e.Name })(nil, session.Record{Model: "openai:tiny"})
		count := func() (n int) {
			synctest.Wait()
			for ; len(told) > 0; n++ {
				if got := <-told; got != "ask openai:tiny" {
					t.Errorf("told %q", got)
				}
			}
			return n
		}
		for _, step := range []struct {
			event run.Event
			want  int // of what is told in the next three seconds and a half
		}{
			{run.Event{Kind: run.NodeStarted}, 0},
			{run.Event{Kind: run.ModelCalled, Replayed: true}, 0},
			{run.Event{Kind: run.ModelCalled}, 4},
			{run.Event{Kind: run.ModelCalled}, 4}, // another one at the same time
			{run.Event{Kind: run.ModelReplied}, 3},
			{run.Event{Kind: run.ModelReplied}, 0},
			{run.Event{Kind: run.ModelReplied}, 0}, // of an earlier process
			{run.Event{Kind: run.ModelCalled}, 4},
		} {
			s.Event(step.event)
			time.Sleep(3500 * time.Millisecond)
			if n := count(); n != step.want {
				t.Errorf("%s: told %d times, not %d", step.event.Kind, n, step.want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if n := count(); n != 0 {
			t.Errorf("told %d times after the end", n)
		}
	})
}
