package faulttest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/meta/postgres"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/testdata/long"
)

const (
	takeOver = 500 * time.Millisecond // from the end of a database until another one takes its place
	backIn   = 30 * time.Second       // replicas publish again after that
)

// TestReplicasFailover switches the database off while clients publish, and has a synchronous standby take its place: replicas find it by
// themselves, and have all that was acknowledged.
func TestReplicasFailover(t *testing.T) {
	long.Slow(t)
	for round := range long.Of(1, 1, 10) {
		more := t.Run(fmt.Sprint(round), func(t *testing.T) { // with which its servers end
			primary := postgrestest.NewServer(t)
			standby := primary.Standby(t)
			primary.Together(t)
			another := metatest.SharedAt(t, postgrestest.Address(primary, standby), s3test.Address(t))
			p := newPair(t, another(), another())
			p.publish(t, true, func() { primary.Kill(t) })
			back := p.failOver(t, standby)
			half := p.look(t, 0)
			p.publish(t, false, func() {})
			half += p.look(t, 1)
			t.Logf("%d releases, of them %d whole that nobody was told of; each replica published again %s after there was a database", p.total(t), half, back)
			p.clean(t)
		})
		if !more {
			return
		}
	}
}

// TestReplicasFailBack has a standby take the place of the database that has not heard of its last commits. Those are lost, and their entries in the log
// that clients saw are not: the log goes on from there, an event says it, and what was lost is published again.
func TestReplicasFailBack(t *testing.T) {
	long.Slow(t)
	primary := postgrestest.NewServer(t)
	standby := primary.Standby(t)
	another := metatest.SharedAt(t, postgrestest.Address(primary, standby), s3test.Address(t))
	p := newPair(t, another(), another())
	p.publish(t, false, func() {})
	p.look(t, 0)
	primary.Await(t, "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	standby.Apart(t)
	kept := map[*release]bool{}
	for _, r := range p.acked() {
		kept[r] = true
	}
	p.publish(t, false, func() {})
	p.look(t, 1) // clients see the log with what is lost soon
	seen := p.log.size
	lost := slices.DeleteFunc(p.acked(), func(r *release) bool { return kept[r] })
	primary.Kill(t)

	back := p.failOver(t, standby)
	look := newClient(p.processes[0].URL, p.admin.token)
	if err := p.log.follow(t.Context(), look); err != nil {
		t.Fatalf("the log is another one: %v", err)
	}
	var events wire.Page[wire.Event]
	look.get(t, "/api/v1/audit?action=log-append-again", &events)
	if len(events.Items) != 1 {
		t.Errorf("%+v", events)
	}
	for i, r := range lost {
		look.must(t, http.StatusNotFound, "GET", r.api(), nil)
		publisher := newClient(p.processes[i%2].URL, p.publisher.token)
		if err := expect(201)(publisher.publish(t.Context(), r, mode(i%int(modes)))); err != nil {
			t.Errorf("%s, which was lost: %v", r, err)
		}
		publisher.close()
	}
	t.Logf("%d releases were lost of %d entries; each replica published again %s after there was a database", len(lost), seen, back)
	p.clean(t)
}

// TestPooledFailover puts another server behind a pooler, whose connections stay: they count as new ones, for it may have less.
func TestPooledFailover(t *testing.T) {
	long.Slow(t)
	primary := postgrestest.NewServer(t)
	standby := primary.Standby(t)
	at := func(s *postgrestest.Server) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port())) }
	way := newNetwork(t, at(primary))
	_, port, err := net.SplitHostPort(way.addr())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), primary.Pooled(t, number), postgres.Options{Pooler: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	update := func() error { return store.Update(t.Context(), func(*meta.Tx) error { return nil }) }
	for range 2 {
		if err := update(); err != nil {
			t.Fatal(err)
		}
	}
	before := store.Connections()
	if err := update(); err != nil || store.Connections() != before {
		t.Errorf("the same server: %v, %d connections, before %d", err, store.Connections(), before)
	}
	primary.Kill(t)
	way.to(at(standby))
	standby.Promote(t)
	for limit := time.Now().Add(backIn); update() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the other server is not used")
		}
	}
	if store.Connections() == before {
		t.Error("another server is behind the pooler, and that is not noticed")
	}
}

// publish has clients publish to both replicas: for a while, and during what happens then. If that is trouble, clients end by it, and else they are told to.
func (p *pair) publish(t *testing.T, trouble bool, happens func()) {
	t.Helper()
	var answered atomic.Int64
	var working sync.WaitGroup
	stop, halt := context.WithCancel(t.Context())
	defer halt()
	for side, process := range p.processes {
		c := newClient(process.URL, p.publisher.token)
		defer c.close()
		for _, w := range p.workers[side] {
			working.Go(func() {
				if err := w.goOn(stop, c, &answered); err != nil && !(trouble && p.mayHappen(err, true)) {
					t.Error(err)
				}
			})
		}
	}
	for n, limit := int64(30+p.choice.IntN(30)), time.Now().Add(time.Minute); answered.Load() < n && time.Now().Before(limit) && !t.Failed(); {
		time.Sleep(time.Millisecond)
	}
	happens()
	if !trouble {
		halt()
	}
	working.Wait()
}

// acked are the releases that were acknowledged.
func (p *pair) acked() (all []*release) {
	for _, workers := range p.workers {
		for _, w := range workers {
			all = append(all, w.acked...)
		}
	}
	return all
}

// failOver has a standby take the place of a database that is gone, and returns how long replicas need from then on until both publish.
func (p *pair) failOver(t *testing.T, standby *postgrestest.Server) time.Duration {
	t.Helper()
	time.Sleep(takeOver)
	standby.Promote(t)
	began := time.Now()
	for side, process := range p.processes {
		c := newClient(process.URL, p.publisher.token)
		defer c.close()
		for w := p.workers[side][0]; ; time.Sleep(50 * time.Millisecond) {
			r, by := w.next()
			a, err := c.publish(t.Context(), r, by)
			if err == nil && a.status == http.StatusCreated {
				w.acked, w.pending = append(w.acked, r), nil
				break
			}
			if err == nil && strings.HasSuffix(a.code(), "version_exists") { // it was taken when nobody could be told any more
				break
			}
			if err != nil || a.status != http.StatusServiceUnavailable || time.Since(began) > backIn {
				t.Fatalf("a publish, %s after there was a database: %d %s, %v", time.Since(began), a.status, a.body, err)
			}
		}
	}
	return time.Since(began).Round(time.Millisecond)
}

// clean fails the test if fsck finds anything.
func (p *pair) clean(t *testing.T) {
	t.Helper()
	for _, process := range p.processes {
		process.stop()
	}
	p.setups[0].Fsck = true
	if found := launch(t, p.setups[0]).Fsck.Problems; len(found) > 0 {
		t.Errorf("fsck: %+v", found)
	}
}
