package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// TestReplicasStart starts many processes on an empty database and an empty bucket: they are one registry.
func TestReplicasStart(t *testing.T) {
	another := metatest.Shared(t)
	n := long.Of(3, 6, 20)
	processes := make([]*process, n)
	var starting sync.WaitGroup
	for i := range processes {
		dir := another()
		starting.Go(func() { processes[i] = launch(t, setup{Data: dir}) })
	}
	starting.Wait()
	admin, logs := "", map[string]bool{}
	for _, p := range processes {
		if p.Admin != "" && admin != "" {
			t.Error("two processes made an admin token")
		}
		admin += p.Admin
	}
	newClient(processes[0].URL, admin).must(t, 201, "POST", "/api/v1/namespaces", []byte(`{"name":"acme","public":true}`), "Content-Type", wire.MediaJSON)
	for _, p := range processes {
		var about wire.About
		c := newClient(p.URL, admin)
		c.get(t, "/api/v1", &about)
		logs[about.Log] = true
		var ns wire.Namespace
		c.get(t, "/api/v1/namespaces/acme", &ns)
	}
	if len(logs) != 1 || admin == "" {
		t.Errorf("%d logs, admin token %q", len(logs), admin)
	}
}

// TestReplicasKill kills one of two replicas again and again while clients publish to both. Those of the other do not notice, what
// was acknowledged by either is served whole by the other, and the log goes on.
func TestReplicasKill(t *testing.T) {
	long.Slow(t)
	kills := fromEnv(t, "SKL_FAULT_KILLS", long.Of(2, 4, 200))
	another := metatest.Shared(t)
	setups := []setup{{Data: another(), Grace: 5 * time.Second, Every: 100 * time.Millisecond}, {Data: another(), Grace: 5 * time.Second, Every: 100 * time.Millisecond}}
	processes := []*process{launch(t, setups[0]), launch(t, setups[1])}
	admin := newClient(processes[0].URL, processes[0].Admin+processes[1].Admin)
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})

	seed := long.Seed(t, 1)
	choice := rand.New(rand.NewPCG(seed, 0))
	var workers [2][]*worker
	for i := range 6 {
		workers[i%2] = append(workers[i%2], &worker{name: []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}[i], rand: rand.New(rand.NewPCG(seed, uint64(i)+1))})
	}
	log, half, meanwhile := newLog(), 0, 0
	for kill := range kills {
		victim := kill % 2
		var answered [2]atomic.Int64
		var groups [2]sync.WaitGroup
		var clients [2]*client
		stop, halt := context.WithCancel(t.Context())
		for side, p := range processes {
			clients[side] = newClient(p.URL, publisher.token)
			for _, w := range workers[side] {
				groups[side].Go(func() {
					if side == victim {
						if err := w.run(clients[side], &answered[side]); err != nil {
							t.Error(err)
						}
						return
					}
					if err := w.goOn(stop, clients[side], &answered[side]); err != nil {
						t.Errorf("kill %d of the other: %v", kill, err)
					}
				})
			}
		}
		ended := make(chan struct{})
		go func() { groups[victim].Wait(); close(ended) }()
		await(kill, choice, clients[victim].sent, &answered[victim], ended)
		before := answered[1-victim].Load()
		processes[victim].kill()
		<-ended
		for limit := time.Now().Add(10 * time.Second); answered[1-victim].Load() < before+3 && time.Now().Before(limit) && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
		halt()
		groups[1-victim].Wait()
		if answered[1-victim].Load() < before+3 {
			t.Errorf("kill %d: the other replica published nothing more in 10 s", kill)
		}
		meanwhile += int(answered[1-victim].Load() - before)
		for _, c := range clients {
			c.close()
		}

		processes[victim] = launch(t, setups[victim])
		// Each looks at what the other acknowledged.
		for side := range workers {
			look := newClient(processes[1-side].URL, reader.token)
			if err := log.follow(t.Context(), look.as(admin.token)); err != nil {
				t.Fatalf("kill %d: %v", kill, err)
			}
			for i, w := range workers[side] {
				found, err := w.settle(t.Context(), look, log, i == kill%3)
				if err != nil {
					t.Fatalf("kill %d: %v", kill, err)
				}
				if found {
					half++
				}
			}
			look.close()
		}
		if t.Failed() {
			return
		}
	}
	for _, p := range processes {
		p.stop()
	}
	setups[0].Fsck = true
	last := launch(t, setups[0])
	if len(last.Fsck.Problems) > 0 {
		t.Errorf("fsck: %+v", last.Fsck.Problems)
	}
	total := 0
	look := newClient(last.URL, reader.token)
	for _, w := range append(workers[0], workers[1]...) {
		total += len(w.acked)
		for _, r := range w.acked {
			if err := whole(t.Context(), look, r, log); err != nil {
				t.Errorf("at the end: %v", err)
			}
		}
	}
	if n := len(log.published); n != total {
		t.Errorf("%d releases are in the log, %d were acknowledged or found", n, total)
	}
	t.Logf("%d kills: %d releases, of them %d whole that nobody was told of, and %d published while the other was gone", kills, total, half, meanwhile)
}

// A refusedError is an answer that is not the one that was wanted.
type refusedError struct {
	text   string
	status int
}

func (e *refusedError) Error() string { return e.text }

// goOn publishes until it is told to stop, from a server that lives.
func (w *worker) goOn(stop context.Context, c *client, answered *atomic.Int64) error {
	for stop.Err() == nil {
		r, by := w.next()
		a, err := c.publish(context.Background(), r, by)
		if err != nil {
			return err
		}
		answered.Add(1)
		if a.status != 201 {
			return &refusedError{fmt.Sprintf("%s by way %d: %d %s", r, by, a.status, a.body), a.status}
		}
		w.acked, w.pending = append(w.acked, r), nil
	}
	return nil
}
