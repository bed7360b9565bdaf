package index

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Changed files are read and stored once, however many ask at a time.
func TestSweepIsShared(t *testing.T) {
	for _, watch := range []bool{false, true} {
		r := openRepo(t, plant(t, map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n"}), Options{Watch: watch})
		before := r.ask("alpha").Generation
		r.put("a.go", "package a\n\nfunc Beta() {}\n")
		batch, err := r.store().Begin(context.Background()) // nobody can write
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				got, err := r.Query(context.Background(), compiled(t, `(definition "Beta")`))
				if err != nil || len(got.Handles) != 1 || got.Generation != before+1 {
					t.Errorf("watch %v: %d handles of generation %d, before %d, error %v", watch, len(got.Handles), got.Generation, before, err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond) // that they all wait; those that come later have nothing left to do
		batch.Rollback()
		wait.Wait()
	}
}

// One who gives up does not keep the others from an answer.
func TestSweepWithoutItsLeader(t *testing.T) {
	r := newRepo(t, map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n"})
	q := compiled(t, "alpha")
	r.sweeps.turn <- struct{}{} // one runs, and goes on
	defer func() { <-r.sweeps.turn }()
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() {
		_, err := r.Query(ctx, q)
		first <- err
	}()
	for r.sweeps.waiting() == nil {
		time.Sleep(time.Millisecond)
	}
	second := make(chan error, 1)
	go func() {
		got, err := r.Query(context.Background(), q)
		if err == nil && len(got.Handles) != 1 {
			err = errors.New("nothing was found")
		}
		second <- err
	}()
	time.Sleep(20 * time.Millisecond)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("who did not: %v", err)
	}
}

func (s *sweeps) waiting() *sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}
