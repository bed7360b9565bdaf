package faulttest

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// TestReplicasUpgrade replaces two replicas behind a proxy, one by one, by those of a version with two more steps of the schema, back
// and forth, while clients publish and read: no request fails. What is added is there from the first new replica on; what is removed waits until the
// last old one is gone, and then no old one starts any more.
func TestReplicasUpgrade(t *testing.T) {
	long.Slow(t)
	another := metatest.Shared(t)
	later := laterProgram(t)
	p := newPairOf(t, setup{Grace: time.Hour, Every: 100 * time.Millisecond}, another(), another()) // gc takes nothing of a publish that waits
	front := newProxy(t, p.processes...)
	c := newClient(front.url, p.publisher.token)
	first := newRelease("pdf", "1.0.0", 2000)
	if err := expect(201)(c.publish(t.Context(), first, byTag)); err != nil {
		t.Fatal(err)
	}

	stop, halt := context.WithCancel(t.Context())
	defer halt()
	var answered, read atomic.Int64
	var clients sync.WaitGroup
	for _, w := range append(p.workers[0], p.workers[1]...) {
		clients.Go(func() {
			if err := w.goOn(stop, c, &answered); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Go(func() {
		for stop.Err() == nil {
			if err := same(t.Context(), c, first.v2("manifests", "1.0.0"), first.manifest()); err != nil {
				t.Error(err)
				return
			}
			read.Add(1)
		}
	})
	db := metatest.SQL(t, p.setups[0].Data)
	replace := func(side int, program string, want int) {
		t.Helper()
		p.processes[side].stop()
		p.setups[side].Program = program
		p.processes[side] = launch(t, p.setups[side])
		front.set(side, p.processes[side].URL)
		published, reads := answered.Load(), read.Load()
		for limit := time.Now().Add(time.Minute); answered.Load() < published+10 || read.Load() < reads+10; time.Sleep(10 * time.Millisecond) {
			if t.Failed() || time.Now().After(limit) {
				t.Fatal("nothing is published or read any more")
			}
		}
		var text []byte
		if err := db.QueryRow(`SELECT value FROM settings WHERE key = 'schema'`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		if string(text) != strconv.Itoa(want) {
			t.Errorf("schema %s, want %d", text, want)
		}
	}
	now := meta.Version()
	replace(0, later, now+1)
	replace(1, "", now+1) // an old one starts again
	replace(0, "", now+1) // and the new one is taken back
	replace(0, later, now+1)
	replace(1, later, now+2)
	halt()
	clients.Wait()
	old := p.setups[1]
	old.Program = ""
	p.processes[1].stop()
	if _, err := tryLaunch(t, old); err == nil || !strings.Contains(err.Error(), "and this one knows schemas up to "+strconv.Itoa(now)) {
		t.Errorf("an old one starts: %v", err)
	}
	p.processes[1] = launch(t, p.setups[1])
	p.look(t, 0)
	delete(p.log.published, first.String())
	t.Logf("%d releases and %d reads, none failed", p.total(t), read.Load())
	p.setups[0].Fsck = true
	p.processes[0].stop()
	if found := launch(t, p.setups[0]).Fsck.Problems; len(found) > 0 {
		t.Errorf("fsck: %+v", found)
	}
}

// laterProgram is this test as one of a version that is to come.
func laterProgram(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "later.test")
	build := exec.Command("go", "test", "-c", "-tags", "skl_next_schema", "-o", out, ".")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}
