package session

import (
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

// Asking follows a run by telling that its model is asked while it has not answered. It shows nothing else.
func Asking(tell diag.Progress) func(*Runnable, Record) trace.Sink {
	return func(_ *Runnable, record Record) trace.Sink { return &waiting{tell: tell, model: record.Model} }
}

// askEvery is how often it is told that a model is asked.
const askEvery = time.Second

// Waits tells that a model is asked, again and again until end is called. Nothing is told after end returns.
func Waits(tell diag.Progress, model string) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for {
			tell.Send(diag.Event{Stage: "ask", Name: model})
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-ended })
}

// waiting is a sink that tells of a model.
type waiting struct {
	tell  diag.Progress
	model string

	mu   sync.Mutex
	open int    // requests
	end  func() // ends the telling; nil where no request is open
}

// Event takes requests and their answers.
func (w *waiting) Event(e run.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Replayed:
	case e.Kind == run.ModelCalled:
		if w.open++; w.end == nil {
			w.end = Waits(w.tell, w.model)
		}
	case e.Kind == run.ModelReplied && w.open > 0:
		if w.open--; w.open == 0 {
			w.over()
		}
	}
}

func (w *waiting) over() {
	if w.end != nil {
		w.end()
		w.end = nil
	}
}

// Close ends the telling.
func (w *waiting) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over()
	return nil
}
