package faulttest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// TestReplicasSleep stops one of two replicas in the middle of its work, and lets it go on later: the other waits a few seconds for what
// the sleeper holds, and goes on. When the sleeper wakes it does nothing with what it believed, and takes part again.
func TestReplicasSleep(t *testing.T) {
	long.Slow(t)
	another := metatest.Shared(t)
	p := newPair(t, another(), another())
	p.trouble(t, long.Of(1, 1, 10), time.Duration(long.Of(6, 6, 60))*time.Second, func(round int) (victim int, begin, end func()) {
		sleeper := p.processes[round%2].cmd.Process
		return round % 2, func() { sleeper.Signal(syscall.SIGSTOP) }, func() { sleeper.Signal(syscall.SIGCONT) }
	})
}

// TestReplicasApart cuts one of two replicas off from the database, in each way that a network has: what it has under way ends with an
// error or is whole, the other goes on, and it takes part again when the network is back.
func TestReplicasApart(t *testing.T) {
	long.Slow(t)
	another := metatest.Shared(t)
	apart := another()
	net := throughNetwork(t, filepath.Join(apart, "database.json"))
	p := newPair(t, apart, another())
	faults := []fault{deaf, hole, reset, slow}
	p.trouble(t, long.Of(1, 2, 40), time.Duration(long.Of(6, 8, 30))*time.Second, func(round int) (victim int, begin, end func()) {
		f := faults[round%len(faults)]
		begin = func() {
			net.set(f)
			// A question whether it is ready does not hear that it is.
			limit := time.Now().Add(15 * time.Second)
			for client := (&http.Client{Timeout: time.Second}); f != slow; time.Sleep(100 * time.Millisecond) {
				resp, err := client.Get(p.processes[0].URL + "/readyz")
				if err != nil {
					break
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					break
				}
				if time.Now().After(limit) {
					t.Errorf("it says that it is ready, 15 s after fault %d of its network", f)
					break
				}
			}
		}
		return 0, begin, func() { net.set(none) }
	})
}

// throughNetwork has the directory of a registry speak to its database through a network that can be interrupted.
func throughNetwork(t *testing.T, location string) *network {
	t.Helper()
	var at map[string]any
	text, err := os.ReadFile(location)
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(at["url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t, u.Host)
	u.Host = n.addr()
	at["url"] = u.String()
	if text, err = json.Marshal(at); err == nil {
		err = os.WriteFile(location, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// trouble publishes to both, has one get into trouble for a time, and looks each time what each finds of what the other acknowledged.
func (p *pair) trouble(t *testing.T, rounds int, lasts time.Duration, plan func(round int) (victim int, begin, end func())) {
	var longest time.Duration
	half := 0
	for round := range rounds {
		hit, begin, end := plan(round)
		var answered [2]atomic.Int64
		var groups [2]sync.WaitGroup
		stop, halt := context.WithCancel(t.Context())
		defer halt()
		var clients [2]*client
		for side, process := range p.processes {
			clients[side] = newClient(process.URL, p.publisher.token)
			for _, w := range p.workers[side] {
				groups[side].Go(func() {
					err := w.goOn(stop, clients[side], &answered[side])
					if err != nil && !p.mayHappen(err, side == hit) {
						t.Errorf("round %d, victim %v: %v", round, side == hit, err)
					}
				})
			}
		}
		await(round, p.choice, clients[hit].sent, &answered[hit], t.Context().Done())
		begin()
		began := time.Now()
		for n, last := answered[1-hit].Load(), began; time.Since(began) < lasts; time.Sleep(time.Millisecond) {
			if now := answered[1-hit].Load(); now > n {
				n, last = now, time.Now()
			}
			longest = max(longest, time.Since(last))
		}
		end()
		halt()
		groups[0].Wait()
		groups[1].Wait()
		for _, c := range clients {
			c.close()
		}
		for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			a, err := newClient(p.processes[hit].URL, "").do(t.Context(), "GET", "/readyz", nil)
			if err == nil && a.status == http.StatusOK {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("round %d: it does not take part again: %d %s, %v", round, a.status, a.body, err)
			}
		}
		half += p.look(t, round)
		if t.Failed() {
			return
		}
	}
	if longest > lasts-time.Second {
		t.Errorf("the other replica stood still for %s", longest)
	}
	t.Logf("%d times for %s: %d releases, of them %d whole that nobody was told of; the other stood still for at most %s", rounds, lasts, p.total(t), half, longest.Round(time.Millisecond))
}
