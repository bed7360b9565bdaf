package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
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
	if starting.Wait(); t.Failed() {
		t.FailNow()
	}
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
	p := newPair(t, another(), another())
	half, meanwhile := 0, 0
	for kill := range kills {
		victim := kill % 2
		var answered [2]atomic.Int64
		var groups [2]sync.WaitGroup
		var clients [2]*client
		stop, halt := context.WithCancel(t.Context())
		for side, process := range p.processes {
			clients[side] = newClient(process.URL, p.publisher.token)
			for _, w := range p.workers[side] {
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
		await(kill, p.choice, clients[victim].sent, &answered[victim], ended)
		before := answered[1-victim].Load()
		p.processes[victim].kill()
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

		p.processes[victim] = launch(t, p.setups[victim])
		half += p.look(t, kill)
		if t.Failed() {
			return
		}
	}
	for _, process := range p.processes {
		process.stop()
	}
	p.setups[0].Fsck = true
	last := launch(t, p.setups[0])
	if len(last.Fsck.Problems) > 0 {
		t.Errorf("fsck: %+v", last.Fsck.Problems)
	}
	look := newClient(last.URL, p.reader.token)
	for _, w := range append(p.workers[0], p.workers[1]...) {
		for _, r := range w.acked {
			if err := whole(t.Context(), look, r, p.log); err != nil {
				t.Errorf("at the end: %v", err)
			}
		}
	}
	t.Logf("%d kills: %d releases, of them %d whole that nobody was told of, and %d published while the other was gone", kills, p.total(t), half, meanwhile)
}

// A pair is two replicas and those who publish to each.
type pair struct {
	setups            []setup
	processes         []*process
	admin             *client
	publisher, reader *client
	workers           [2][]*worker
	log               *follower
	choice            *rand.Rand
}

func newPair(t *testing.T, dirs ...string) *pair {
	t.Helper()
	return newPairOf(t, setup{Grace: 5 * time.Second, Every: 100 * time.Millisecond}, dirs...)
}

// newPairOf is newPair of servers with other settings; the clock is that of the second.
func newPairOf(t *testing.T, s setup, dirs ...string) *pair {
	t.Helper()
	p := &pair{log: newLog()}
	clock := s.Clock
	for i, dir := range dirs {
		s.Clock = time.Duration(i) * clock
		s.Data, s.Replica, s.Drain = dir, fmt.Sprint("r", i), 500*time.Millisecond
		p.setups, p.processes = append(p.setups, s), append(p.processes, launch(t, s))
	}
	p.admin = newClient(p.processes[1].URL, p.processes[0].Admin+p.processes[1].Admin)
	p.publisher, p.reader = p.admin.namespace(t, wire.NewNamespace{Name: "acme"})
	seed := long.Seed(t, 1)
	p.choice = rand.New(rand.NewPCG(seed, 0))
	for i, name := range []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"} {
		p.workers[i%2] = append(p.workers[i%2], &worker{name: name, rand: rand.New(rand.NewPCG(seed, uint64(i)+1))})
	}
	return p
}

// look has each replica say what it has of what the other acknowledged. It returns how many releases are there that nobody was told of.
func (p *pair) look(t *testing.T, round int) (half int) {
	t.Helper()
	for side := range p.workers {
		look := newClient(p.processes[1-side].URL, p.reader.token)
		defer look.close()
		if err := p.log.follow(t.Context(), look.as(p.admin.token)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, w := range p.workers[side] {
			found, err := w.settle(t.Context(), look, p.log, i == round%3)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if found {
				half++
			}
		}
	}
	return half
}

// total compares the releases that were acknowledged or found with the log, and returns how many there are.
func (p *pair) total(t *testing.T) (total int) {
	t.Helper()
	for _, workers := range p.workers {
		for _, w := range workers {
			total += len(w.acked)
		}
	}
	if n := len(p.log.published); n != total {
		t.Errorf("%d releases are in the log, %d were acknowledged or found", n, total)
	}
	return total
}

// A refusedError is an answer that is not the one that was wanted.
type refusedError struct {
	text   string
	status int
	took   time.Duration
}

func (e *refusedError) Error() string { return e.text }

// goOn publishes until it is told to stop, from a server that lives.
func (w *worker) goOn(stop context.Context, c *client, answered *atomic.Int64) error {
	for stop.Err() == nil {
		r, by := w.next()
		began := time.Now()
		a, err := c.publish(context.Background(), r, by)
		if err != nil {
			return err
		}
		answered.Add(1)
		if a.status != 201 {
			return &refusedError{fmt.Sprintf("%s by way %d, after %s: %d %s", r, by, time.Since(began), a.status, a.body), a.status, time.Since(began)}
		}
		w.acked, w.pending = append(w.acked, r), nil
	}
	return nil
}

// mayHappen reports whether a publish may end with err: at a replica in trouble its connection or its update is lost. At any of them it
// may have waited for so long that gc does not spare what it pushed before.
func (p *pair) mayHappen(err error, victim bool) bool {
	a, refused := err.(*refusedError)
	if !refused || a.status == http.StatusServiceUnavailable {
		return victim
	}
	return a.took > p.setups[0].Grace && slices.ContainsFunc(outlived, func(code string) bool { return strings.Contains(a.text, `"`+code+`"`) })
}

// outlived are the codes of answers to somebody whose content gc took, as it came from too long ago.
var outlived = []string{"blob_missing", "corrupt", "wrong_range", "unknown_upload"}
