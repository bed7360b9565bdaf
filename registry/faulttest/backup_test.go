package faulttest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/testdata/long"
)

// TestBackupUnderLoad copies a registry while clients publish and gc runs. What is restored from the copy
// is sound, has all that was acknowledged before the backup began, and its log is one that clients could have
// seen during the backup.
func TestBackupUnderLoad(t *testing.T) {
	long.Slow(t)
	data, backup, restored := metatest.Dir(t), t.TempDir(), t.TempDir()
	grace := time.Second
	if metatest.Postgres() {
		grace = 5 * time.Second // longer than a publish takes beside gc
	}
	srv, admin := open(t, setup{Data: data, Every: 50 * time.Millisecond, Grace: grace})
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var acked []*release // guarded by mu
	var wg sync.WaitGroup
	for i, name := range []string{"alpha", "bravo", "charlie", "delta"} {
		wg.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				r := newRelease(name, fmt.Sprintf("1.0.%d", n), 20<<10)
				a, err := publisher.publish(t.Context(), r, mode((n+i)%int(modes)))
				if err != nil || a.status != 201 {
					t.Errorf("publish: %d %s %v", a.status, a.body, err)
					return
				}
				mu.Lock()
				acked = append(acked, r)
				mu.Unlock()
				// Garbage for gc: a draft's layer that no manifest names.
				b := newRelease(name, "9.9.9", 100).built.Blobs[0]
				publisher.do(t.Context(), "POST", "/v2/acme/"+name+"/blobs/uploads/?digest="+b.Digest.String(), b.Data)
			}
		})
	}
	time.Sleep(2 * time.Second)
	mu.Lock()
	first := len(acked)
	mu.Unlock()
	log := newLog()
	if err := log.follow(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	copied, err := srv.Backup(t.Context(), backup, nil)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	mu.Lock()
	last := len(acked)
	mu.Unlock()
	after := newLog()
	if err := after.follow(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	stop()
	wg.Wait()

	if _, err := server.Restore(t.Context(), restored, backup); err != nil {
		t.Fatal(err)
	}
	srv2, c := open(t, setup{Data: restored})
	c = c.as(admin.token)
	clean(t, srv2)
	if report, err := srv2.Registry.Scrub(t.Context(), nil); err != nil || len(report.Problems) > 0 {
		t.Errorf("scrub: %v %+v", err, report.Problems)
	}
	// A client that followed the log up to the backup can continue with the restored one.
	if err := log.follow(t.Context(), c); err != nil {
		t.Fatalf("the restored log does not continue what was seen before the backup: %v", err)
	}
	// And the log that went on continues the restored one: its root is that of a moment of the backup.
	size := log.size
	if size > after.size {
		t.Errorf("the backup's log has %d entries, more than the %d after it", size, after.size)
	}
	if err := log.follow(t.Context(), admin); err != nil {
		t.Errorf("the log that went on does not continue the restored one: %v", err)
	}
	log.client = c
	rest := c.as(reader.token)
	restoredLog := newLog()
	if err := restoredLog.follow(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for i, r := range acked {
		err := whole(t.Context(), rest, r, restoredLog)
		if err != nil && i < first {
			t.Errorf("acknowledged before the backup: %v", err)
		}
		if err != nil {
			missing++
			if err := absent(t.Context(), rest, r, restoredLog); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("backup of %d blobs in %s while %d releases were published; %d of %d are in it, %d at least", copied.Blobs, took.Round(time.Millisecond), last-first, len(acked)-missing, len(acked), first)
}
