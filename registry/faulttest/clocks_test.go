package faulttest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// TestReplicasClocks runs two replicas whose machines do not agree what time it is. The one whose clock is not the database's says that it is not ready.
// Whoever asks it all the same gets what the other would say: tokens end at the same moment for both, uploads go on, the collector of neither takes
// what the other just stored, and what is written and signed says the time of the database.
func TestReplicasClocks(t *testing.T) {
	long.Slow(t)
	for _, ahead := range []time.Duration{2 * time.Hour, -2 * time.Hour, 10 * time.Minute, -10 * time.Minute}[:long.Of(1, 2, 4)] {
		t.Run(ahead.String(), func(t *testing.T) {
			another := metatest.Shared(t)
			p := newPairOf(t, setup{Grace: 5 * time.Second, Every: 100 * time.Millisecond, Clock: ahead}, another(), another())
			p.readyByClock(t, ahead)
			p.publishBoth(t, 3*time.Second)
			p.look(t, 0)
			for side, process := range p.processes {
				other := p.processes[1-side]
				t.Run(fmt.Sprint("from ", side), func(t *testing.T) {
					p.tokensEnd(t, newClient(process.URL, p.admin.token), newClient(other.URL, ""))
					p.bearers(t, newClient(process.URL, p.publisher.token), newClient(other.URL, ""))
					p.uploads(t, newClient(process.URL, p.publisher.token), newClient(other.URL, p.publisher.token))
					p.times(t, newClient(process.URL, p.admin.token), p.workers[side])
				})
			}
			p.look(t, 1)
			p.total(t)
			for _, process := range p.processes {
				process.stop()
			}
			p.setups[1].Fsck = true
			if last := launch(t, p.setups[1]); len(last.Fsck.Problems) > 0 {
				t.Errorf("fsck: %+v", last.Fsck.Problems)
			}
		})
	}
}

// readyByClock compares what the two say of their clocks, the second of which is ahead.
func (p *pair) readyByClock(t *testing.T, ahead time.Duration) {
	t.Helper()
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	for i, want := range []string{"ok\n", fmt.Sprintf("clock: %s %s that of the database\n", ahead.Abs(), side)} {
		a, err := newClient(p.processes[i].URL, "").do(t.Context(), "GET", "/readyz", nil)
		if err != nil || string(a.body) != want {
			t.Errorf("replica %d: %s %v", i, a.body, err)
		}
	}
}

// publishBoth publishes to both for a time. Everything has to be acknowledged.
func (p *pair) publishBoth(t *testing.T, lasts time.Duration) {
	t.Helper()
	stop, halt := context.WithTimeout(t.Context(), lasts)
	defer halt()
	var answered [2]atomic.Int64
	var group sync.WaitGroup
	for side, process := range p.processes {
		c := newClient(process.URL, p.publisher.token)
		defer c.close()
		for _, w := range p.workers[side] {
			group.Go(func() {
				if err := w.goOn(stop, c, &answered[side]); err != nil && !p.mayHappen(err, false) {
					t.Errorf("replica %d: %v", side, err)
				}
			})
		}
	}
	group.Wait()
	if answered[0].Load() == 0 || answered[1].Load() == 0 {
		t.Errorf("published %d and %d", answered[0].Load(), answered[1].Load())
	}
}

// tokensEnd makes a token at one that ends in some seconds. It is good at both until then, and at neither later.
func (p *pair) tokensEnd(t *testing.T, one, other *client) {
	t.Helper()
	const lasts = 3 * time.Second
	ends := time.Now().Add(lasts)
	var token wire.Token
	decode(t, one.must(t, 201, "POST", "/api/v1/tokens", asJSON(wire.NewToken{Account: "brief", Namespace: "acme", Role: "reader", Expires: ends}), "Content-Type", wire.MediaJSON), &token)
	for _, c := range []*client{one, other} {
		a, err := c.as(token.Text).do(t.Context(), "GET", "/api/v1/namespaces/acme", nil)
		if after := time.Now(); err != nil || a.status != 200 && after.Before(ends) {
			t.Errorf("a token of %s is refused: %d %s %v", lasts, a.status, a.body, err)
		}
	}
	time.Sleep(time.Until(ends.Add(500 * time.Millisecond))) // the clocks of both are that of the database but for the time of an answer
	for _, c := range []*client{one, other} {
		if a, err := c.as(token.Text).do(t.Context(), "GET", "/api/v1/namespaces/acme", nil); err != nil || a.status != 401 {
			t.Errorf("a token that ended is good: %d %s %v", a.status, a.body, err)
		}
	}
}

// bearers shows one what another gave for a token.
func (p *pair) bearers(t *testing.T, one, other *client) {
	t.Helper()
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("skl:"+one.token))
	var given struct{ Token string }
	decode(t, one.as("").must(t, 200, "GET", "/token?scope=repository:acme/none:pull", nil, "Authorization", basic), &given)
	other.as(given.Token).must(t, 404, "GET", "/v2/acme/none/tags/list", nil)
}

// uploads has an upload begin at one and go on at the other and back, with pauses in which garbage is collected.
func (p *pair) uploads(t *testing.T, one, other *client) {
	t.Helper()
	content := noise(300 << 10)
	location := one.must(t, 202, "POST", "/v2/acme/upload/blobs/uploads/", nil).head.Get("Location")
	third := len(content) / 3
	for i, c := range []*client{other, one} {
		time.Sleep(300 * time.Millisecond)
		from, to := i*third, (i+1)*third
		c.must(t, 202, "PATCH", location, content[from:to], "Content-Range", fmt.Sprintf("%d-%d", from, to-1))
	}
	d := sha(content)
	other.must(t, 201, "PUT", location+"?digest="+d, content[2*third:], "Content-Range", fmt.Sprintf("%d-%d", 2*third, len(content)-1))
	time.Sleep(300 * time.Millisecond)
	if a := one.must(t, 200, "GET", "/v2/acme/upload/blobs/"+d, nil); !bytes.Equal(a.body, content) {
		t.Error("what came together is not what was sent")
	}
}

// times compares what was written about the newest releases of some, and what is signed now, with the clock here, which is the database's.
func (p *pair) times(t *testing.T, c *client, workers []*worker) {
	t.Helper()
	const most = time.Minute // that all this takes
	near := func(what string, at time.Time) {
		if off := time.Since(at); off < -time.Second || off > most {
			t.Errorf("%s is of %s, which is %s ago", what, at, off)
		}
	}
	for _, w := range workers {
		var v wire.Version
		newest := w.acked[len(w.acked)-1]
		c.get(t, newest.api(), &v)
		near(newest.String(), v.Published)
	}
	var events wire.Page[wire.Event]
	c.get(t, "/api/v1/audit?limit=5", &events)
	for _, e := range events.Items {
		near("event "+e.Action, e.At)
	}
	a := c.must(t, http.StatusOK, "GET", "/log/checkpoint", nil)
	_, signed, _ := strings.Cut(string(a.body), "\ntime ")
	signed, _, _ = strings.Cut(signed, "\n")
	at, err := time.Parse(time.RFC3339, signed)
	if err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	near("the checkpoint", at)
}
