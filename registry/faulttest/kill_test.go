package faulttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/testdata/long"
)

// A worker publishes versions of one skill, one after the other.
type worker struct {
	name    string
	rand    *rand.Rand
	n       int
	pending *release // was sent and not acknowledged
	by      mode
	acked   []*release
	checked int // acked releases before this one were verified since they were acknowledged
}

// next is the release to publish: the pending one again, if there is one.
func (w *worker) next() (*release, mode) {
	if w.pending == nil {
		w.n++
		size := 200
		if w.n%5 == 0 {
			size = 100 << 10
		}
		w.pending, w.by = newRelease(w.name, fmt.Sprintf("0.0.%d", w.n), size), mode(w.rand.IntN(int(modes)))
	}
	return w.pending, w.by
}

// run publishes until the server is gone.
func (w *worker) run(c *client, answered *atomic.Int64) error {
	for {
		r, by := w.next()
		began := time.Now()
		a, err := c.publish(context.Background(), r, by)
		if err != nil {
			return nil // killed
		}
		answered.Add(1)
		if a.status != 201 {
			return fmt.Errorf("%s by way %d, after %s: %d %s", r, by, time.Since(began), a.status, a.body)
		}
		w.acked, w.pending = append(w.acked, r), nil
	}
}

// TestKill kills a registry again and again while clients publish, and looks each time what is left.
func TestKill(t *testing.T) {
	long.Slow(t)
	kills := fromEnv(t, "SKL_FAULT_KILLS", long.Of(2, 10, 200))
	began := time.Now()
	s := setup{Data: metatest.Dir(t), Fsck: true, Grace: 5 * time.Second}
	p := launch(t, s)
	admin := newClient(p.URL, p.Admin)
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	tokens := map[string]string{"admin": p.Admin, "publisher": publisher.token, "reader": reader.token}

	var workers []*worker
	seed := long.Seed(t, 1)
	choice := rand.New(rand.NewPCG(seed, 0))
	for i, name := range []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"} {
		workers = append(workers, &worker{name: name, rand: rand.New(rand.NewPCG(seed, uint64(i)+1))})
	}
	log := newLog()
	half := 0 // pending releases that turned out to be there
	var ready []time.Duration
	for kill := range kills {
		c := newClient(p.URL, tokens["publisher"])
		var answered atomic.Int64
		var wg sync.WaitGroup
		ended := make(chan struct{})
		for _, w := range workers {
			wg.Go(func() {
				if err := w.run(c, &answered); err != nil {
					t.Error(err)
				}
			})
		}
		go func() { wg.Wait(); close(ended) }()
		await(kill, choice, c.sent, &answered, ended)
		p.kill()
		<-ended
		c.close()

		s.Every = 0
		if kill%4 == 0 {
			s.Every = 15 * time.Millisecond // the next kill may hit gc
		}
		p = launch(t, s)
		ready = append(ready, p.Took)
		if len(p.Fsck.Problems) > 0 {
			t.Fatalf("kill %d: fsck: %+v", kill, p.Fsck.Problems)
		}
		admin, reader = newClient(p.URL, tokens["admin"]), newClient(p.URL, tokens["reader"])
		if err := log.follow(t.Context(), admin); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		for i, w := range workers {
			found, err := w.settle(t.Context(), reader, log, i == kill%len(workers))
			if err != nil {
				t.Fatalf("kill %d: %v", kill, err)
			}
			if found {
				half++
			}
		}
		if t.Failed() {
			return
		}
		admin.close()
		reader.close()
	}

	total := 0
	reader = newClient(p.URL, tokens["reader"])
	for _, w := range workers {
		total += len(w.acked)
		for _, r := range w.acked {
			if err := whole(t.Context(), reader, r, log); err != nil {
				t.Errorf("at the end: %v", err)
			}
		}
	}
	if n := len(log.published); n != total {
		t.Errorf("%d releases are in the log, %d were acknowledged or found", n, total)
	}
	slices.Sort(ready)
	t.Logf("%d kills in %s: %d releases, of them %d whole that nobody was told of; start takes %s, at most %s",
		kills, time.Since(began).Round(time.Second), total, half, ready[len(ready)/2].Round(time.Millisecond), ready[len(ready)-1].Round(time.Millisecond))
}

// await returns at a random point: after some time, some bytes, or some answers.
func await(kill int, r *rand.Rand, sent, answered *atomic.Int64, ended <-chan struct{}) {
	var due func() bool
	switch kill % 3 {
	case 0:
		at := time.Now().Add(time.Duration(r.IntN(60_000)) * time.Microsecond)
		due = func() bool { return time.Now().After(at) }
	case 1:
		n := int64(r.IntN(200_000))
		due = func() bool { return sent.Load() >= n }
	default:
		n := int64(r.IntN(25))
		due = func() bool { return answered.Load() >= n }
	}
	for limit := time.Now().Add(10 * time.Second); !due() && time.Now().Before(limit); {
		select {
		case <-ended:
			return
		case <-time.After(50 * time.Microsecond):
		}
	}
}

// settle verifies what was acknowledged since the last time, and an older release if asked, and finds out
// whether the pending one is there: whole, or not at all.
func (w *worker) settle(ctx context.Context, c *client, log *follower, older bool) (found bool, err error) {
	sample := slices.Clone(w.acked[w.checked:])
	if older && w.checked > 0 {
		sample = append(sample, w.acked[w.rand.IntN(w.checked)])
	}
	for _, r := range sample {
		if err := whole(ctx, c, r, log); err != nil {
			return false, fmt.Errorf("acknowledged: %w", err)
		}
	}
	w.checked = len(w.acked)
	if w.pending == nil {
		return false, nil
	}
	a, err := c.do(ctx, "GET", w.pending.api(), nil)
	switch {
	case err != nil:
		return false, err
	case a.status == 404:
		return false, absent(ctx, c, w.pending, log)
	case a.status != 200:
		return false, fmt.Errorf("%s: %d %s", w.pending, a.status, a.body)
	}
	if err := whole(ctx, c, w.pending, log); err != nil {
		return false, fmt.Errorf("not acknowledged: %w", err)
	}
	w.acked, w.pending = append(w.acked, w.pending), nil
	return true, nil
}

// whole checks that a reader gets all of r, right, with a proof that it is in the log.
func whole(ctx context.Context, c *client, r *release, log *follower) error {
	a, err := c.do(ctx, "GET", r.api(), nil)
	if err != nil || a.status != 200 {
		return fmt.Errorf("%s: record: %d %v", r, a.status, err)
	}
	var v wire.Version
	if err := json.Unmarshal(a.body, &v); err != nil {
		return err
	}
	if v.Manifest != r.manifest() || v.State != wire.Approved || v.Tree != string(r.built.Summary.Tree) {
		return fmt.Errorf("%s: record: %s", r, a.body)
	}
	if v.Log == nil {
		return fmt.Errorf("%s has no proof", r)
	}
	proof, err := tlog.Decode(tlog.Encoded{Origin: v.Log.Origin, Index: v.Log.Index, Entry: v.Log.Record, Proof: v.Log.Hashes, Checkpoint: v.Log.Checkpoint})
	if err == nil {
		err = log.Check(ctx, proof, tlog.Release{Name: r.repo, Version: r.version, Manifest: v.Manifest, Tree: v.Tree})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if n := log.published[r.String()]; n != 1 {
		return fmt.Errorf("%s has %d entries in the log", r, n)
	}
	if err := same(ctx, c, r.v2("manifests", r.version), r.manifest()); err != nil {
		return err
	}
	for _, b := range r.built.Blobs {
		if err := same(ctx, c, r.v2("blobs", b.Digest.String()), b.Digest.String()); err != nil {
			return err
		}
	}
	return same(ctx, c, r.api()+"/download", v.Zip)
}

// same checks that what is served at path has the digest.
func same(ctx context.Context, c *client, path, digest string) error {
	a, err := c.do(ctx, "GET", path, nil)
	if err != nil || a.status != 200 {
		return fmt.Errorf("%s: %d %s %v", path, a.status, a.body, err)
	}
	if sum := sha256.Sum256(a.body); "sha256:"+hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("%s: what is served is not %s", path, digest)
	}
	return nil
}

// absent checks that a reader sees nothing of r.
func absent(ctx context.Context, c *client, r *release, log *follower) error {
	paths := []string{r.v2("manifests", r.version), r.v2("manifests", r.manifest()), r.api() + "/download", r.api() + "/files", r.v2("blobs", r.built.Blobs[0].Digest.String())}
	for _, path := range paths {
		if a, err := c.do(ctx, "GET", path, nil); err != nil || a.status != 404 {
			return fmt.Errorf("%s is not published, and GET %s is %d %v", r, path, a.status, err)
		}
	}
	if n := log.published[r.String()]; n != 0 {
		return fmt.Errorf("%s is not published, and has %d entries in the log", r, n)
	}
	return nil
}

// A follower holds what clients saw of the log against what it is now.
type follower struct {
	tlog.Follower
	client    *client
	size      int64
	published map[string]int // "acme/pdf@1.0.0" → entries
	state     []byte
}

func newLog() *follower {
	f := &follower{published: map[string]int{}}
	f.Follower = tlog.Follower{
		Load: func(context.Context) ([]byte, error) { return f.state, nil },
		Save: func(_ context.Context, state []byte) error { f.state = slices.Clone(state); return nil },
		Fetch: func(ctx context.Context, path string) ([]byte, error) {
			a, err := f.client.do(ctx, "GET", "/log/"+path, nil)
			if err == nil && a.status != 200 {
				err = fmt.Errorf("%s: %d %s", path, a.status, a.body)
			}
			return a.body, err
		},
		Offer: func(ctx context.Context) (string, error) {
			a, err := f.client.do(ctx, "GET", "/api/v1", nil)
			if err != nil {
				return "", err
			}
			var about wire.About
			err = json.Unmarshal(a.body, &about)
			return about.Log, err
		},
	}
	return f
}

// follow takes the newest checkpoint, which must continue the last one, and reads the new entries.
func (f *follower) follow(ctx context.Context, admin *client) error {
	f.client = admin
	head, err := f.Update(ctx)
	if err != nil {
		return err
	}
	for f.size < head.Size {
		tile := f.size / 256
		width := min(head.Size-tile*256, 256)
		path := fmt.Sprintf("tile/entries/%03d", tile)
		if tile >= 1000 {
			return errors.New("the test knows logs of up to 256,000 entries")
		}
		if width < 256 {
			path += fmt.Sprintf(".p/%d", width)
		}
		entries, err := f.Fetch(ctx, path)
		if err != nil {
			return err
		}
		for i := int64(0); len(entries) >= 2; i++ {
			n := int(entries[0])<<8 | int(entries[1])
			record, err := tlog.ParseRecord(entries[2 : 2+n])
			if err != nil {
				return err
			}
			entries = entries[2+n:]
			if tile*256+i >= f.size && record.Action == tlog.Publish {
				f.published[record.Name+"@"+record.Version]++
			}
		}
		f.size = tile*256 + width
	}
	return nil
}
