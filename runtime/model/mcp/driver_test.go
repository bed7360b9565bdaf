package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

var _ model.Model = (*Driver)(nil)

// Of many agents that answer the same step at once one succeeds.
func TestOneAnswerCounts(t *testing.T) {
	d := NewDriver("m-1")
	var wait sync.WaitGroup
	var got model.Reply
	wait.Go(func() { got, _ = d.Fill(t.Context(), model.Request{Node: "1", Prompt: "who"}) })
	steps, err := d.Next(t.Context())
	if err != nil || len(steps) != 1 {
		t.Fatal(steps, err)
	}
	var taken []string
	var mu sync.Mutex
	for i := range 20 {
		wait.Go(func() {
			err := d.Answer(steps[0].ID, json.RawMessage(strconv.Quote(strconv.Itoa(i))))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken = append(taken, strconv.Itoa(i))
			} else if !errors.Is(err, diag.Code(CodeStepDone)) {
				t.Errorf("refused with %v", err)
			}
		})
	}
	wait.Wait()
	if len(taken) != 1 || got.Text != taken[0] {
		t.Errorf("taken %v, the run got %q", taken, got.Text)
	}
}

// A step that the run gave up cannot be answered, and its tools have ended.
func TestGivenUp(t *testing.T) {
	d := NewDriver("m-1")
	ctx, cancel := context.WithCancel(t.Context())
	running, filled := make(chan bool), make(chan error)
	var toolEnded bool
	go func() {
		_, err := d.Fill(ctx, model.Request{Node: "1", Tools: []model.Tool{{Name: "wait"}}, Call: func(ctx context.Context, _ string, _ json.RawMessage) model.ToolResult {
			running <- true
			<-ctx.Done()
			toolEnded = true
			return model.ToolResult{}
		}})
		filled <- err
	}()
	steps, _ := d.Next(t.Context())
	go d.Call(t.Context(), steps[0].ID, "wait", nil)
	<-running
	cancel()
	if err := <-filled; !errors.Is(err, context.Canceled) || !toolEnded {
		t.Errorf("Fill returned %v, tool ended: %v", err, toolEnded)
	}
	if err := d.Answer(steps[0].ID, json.RawMessage(`"x"`)); !errors.Is(err, diag.Code(CodeStepDone)) {
		t.Errorf("answered with %v", err)
	}
	d.End()
	d.End()
	if _, err := d.Fill(t.Context(), model.Request{}); !errors.Is(err, diag.Code(CodeStopped)) {
		t.Errorf("after the end %v", err)
	}
}

// Steps that begin together are seen together.
func TestParallelStepsInOneNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDriver("m-1")
		d.Strands(63)
		for i := range 64 {
			go d.Fill(t.Context(), model.Request{Node: fmt.Sprint(i)})
		}
		if steps, err := d.Next(t.Context()); len(steps) != 64 || err != nil {
			t.Errorf("got %d steps, %v", len(steps), err)
		}
		d.End()
	})
}

// A step that a part of the run reaches after an answer is in the next Next, however late it comes; a part that does
// something else for long does not hold up the steps of the others.
func TestNextWaitsForStrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDriver("m-1")
		d.Strands(1)
		fill := func(node string) { d.Fill(t.Context(), model.Request{Node: node}) }
		want := func(nodes ...string) (ids []string) {
			t.Helper()
			steps, err := d.Next(t.Context())
			var got []string
			for _, s := range steps {
				got, ids = append(got, s.Node), append(ids, s.ID)
			}
			if err != nil || !slices.Equal(got, nodes) {
				t.Errorf("Next = %q, %v; want %q", got, err, nodes)
			}
			return ids
		}
		go func() {
			fill("a1")
			time.Sleep(settle / 2)
			fill("a2")
			time.Sleep(time.Hour)
			d.Strands(-1)
		}()
		go func() {
			time.Sleep(settle / 2)
			fill("b")
		}()
		ids := want("a1", "b")
		d.Answer(ids[0], json.RawMessage(`"x"`))
		ids = want("b", "a2")
		d.Answer(ids[1], json.RawMessage(`"x"`))
		began := time.Now()
		want("b")
		if waited := time.Since(began); waited != settle {
			t.Errorf("Next waited for %v", waited)
		}
		time.Sleep(2 * time.Hour) // the first part is over
		began = time.Now()
		want("b")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Next waited for %v, and nothing is at work", waited)
		}
		d.End()
	})
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`"s"`, `{"value":true}`, `null`, `{`, `[[[`, `{"value":1e999}`} {
		f.Add(seed, "s1")
		f.Add(seed, "s2")
	}
	f.Fuzz(func(t *testing.T, answer, id string) {
		d := NewDriver("m")
		schema, err := model.Compile(verdict)
		if err != nil {
			t.Fatal(err)
		}
		d.last = 1
		p := &pending{Step: Step{ID: "s1", Schema: verdict}, schema: schema, answer: make(chan json.RawMessage, 1)}
		d.pending = append(d.pending, p)
		err = d.Answer(id, json.RawMessage(answer))
		select {
		case got := <-p.answer:
			if err != nil || id != "s1" || schema.Check(got) != nil {
				t.Errorf("the run got %s for step %q, %v", got, id, err)
			}
		default:
			if err == nil || len(d.pending) != 1 {
				t.Errorf("nothing was given to the run, but the error is %v and %d wait", err, len(d.pending))
			}
		}
	})
}

func BenchmarkStep(b *testing.B) {
	d := NewDriver("m-1")
	go func() {
		for {
			if _, err := d.Fill(context.Background(), model.Request{Node: "1", Prompt: "p"}); err != nil {
				return
			}
		}
	}()
	for n := 1; b.Loop(); n++ {
		for len(d.Pending()) == 0 {
			runtime.Gosched()
		}
		if err := d.Answer(stepName(n), json.RawMessage(`"x"`)); err != nil {
			b.Fatal(err)
		}
	}
	d.End()
}
