package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/testdata/long"
)

// A watched store counts transactions, and can have another in its place.
type watched struct {
	meta.Store
	mu    sync.Mutex
	late  func() // is done by the next View after it sees its state of the database, and before it is used
	views atomic.Int64
	reads atomic.Int64
}

func (w *watched) now() meta.Store {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Store
}

func (w *watched) View(ctx context.Context, fn func(*meta.Tx) error) error {
	w.views.Add(1)
	return w.now().View(ctx, func(tx *meta.Tx) error {
		if late := w.late; late != nil {
			w.late = nil
			if _, err := tx.LogSize(ctx); err != nil {
				return err
			}
			done := make(chan struct{})
			go func() { late(); close(done) }() // as somebody else would
			<-done
		}
		return fn(tx)
	})
}

func (w *watched) Read(ctx context.Context, fn func(*meta.Tx) error) error {
	w.reads.Add(1)
	return w.now().Read(ctx, fn)
}

// remembering is another process over the same stores as f, which remembers what it reads.
func (f *fixture) remembering() (*registry.Registry, *watched) {
	w := &watched{Store: f.Meta}
	g := &registry.Registry{Blobs: f.Blobs, Meta: w, Key: f.Key, Now: f.Now, Open: f.Open}
	g.Remember()
	return g, w
}

// plain is another that remembers nothing.
func (f *fixture) plain() *registry.Registry {
	return &registry.Registry{Blobs: f.Blobs, Meta: f.Meta, Key: f.Key, Now: f.Now, Open: f.Open}
}

// told is everything that a registry says to somebody of what may be remembered.
func told(ctx context.Context, g *registry.Registry, who registry.Caller, repo string, references []string, blobs []blob.Digest) (said []string) {
	for _, r := range references {
		p, err := g.Manifest(ctx, who, repo, r)
		said = append(said, fmt.Sprint(r, " ", p.Digest, " ", p.State, " ", p.Warning, " ", len(p.Bytes), " ", err))
	}
	for _, d := range blobs {
		c, err := g.OpenBlob(ctx, who, repo, d)
		size := int64(-1)
		if err == nil {
			size = c.Size()
			c.Close()
		}
		said = append(said, fmt.Sprint(d, " ", size, " ", err))
	}
	return said
}

// TestRemembered does at random whatever changes what a pull is told, by one process and by another, and compares what the one that remembers says with
// what one says that reads everything anew.
func TestRemembered(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open %v", open), func(t *testing.T) { testRemembered(t, open) })
	}
}

func testRemembered(t *testing.T, anybody bool) {
	steps := long.Of(30, 120, 3000)
	f := open(t, meta.Policy{})
	f.Open = anybody
	f.Remember() // it says what it changes also where anybody may
	ctx := t.Context()
	if err := f.CreateNamespace(ctx, root, meta.Namespace{Name: "any", Policy: meta.Policy{AcceptAny: true}}); err != nil {
		t.Fatal(err)
	}
	g, w := f.remembering()
	plain := f.plain()
	r := long.Rand(t, 4)
	callers := []registry.Caller{root, publisher, reader, {Identity: auth.Identity{Anonymous: true}}}
	repos := []string{"acme/pdf", "any/one", "any/two"}
	references := map[string][]string{}
	blobs := map[string][]blob.Digest{}
	var tokens, released []string
	done, versions := map[string]int{}, 0
	one := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return list[r.IntN(len(list))]
	}
	change := func(g *fixture) (what string, err error) {
		repo := repos[r.IntN(len(repos))]
		reference := one(references[repo])
		switch what = []string{"push", "push", "publish", "tag", "tag", "delete", "untag", "unlink", "act", "act", "act", "public", "grant", "ungrant", "token", "revoke"}[r.IntN(16)]; what {
		case "push", "publish", "tag":
			versions++
			version := fmt.Sprintf("1.0.%d", versions)
			to := map[string]string{"push": "", "publish": version, "tag": "latest"}[what]
			b := g.build("pdf", version, version)
			if what == "publish" && repo == "acme/pdf" {
				released = append(released, version)
			}
			_, err = g.push(root, repo, to, b)
			references[repo] = append(references[repo], b.Root.Digest.String(), to)
			for _, content := range b.Blobs {
				blobs[repo] = append(blobs[repo], blob.Sum(blob.SHA256, content.Data))
			}
			references[repo] = references[repo][max(0, len(references[repo])-12):]
			blobs[repo] = blobs[repo][max(0, len(blobs[repo])-12):]
		case "delete":
			err = g.DeleteManifest(ctx, root, repo, reference)
		case "untag":
			err = g.DeleteTag(ctx, root, repo, reference)
		case "unlink":
			if all := blobs[repo]; len(all) > 0 {
				err = g.DeleteBlob(ctx, root, repo, all[r.IntN(len(all))])
			}
		case "act":
			actions := []registry.Action{registry.Yank, registry.Unyank, registry.Deprecate, registry.Undeprecate, registry.Block, registry.Unblock, registry.Quarantine, registry.Approve}
			_, err = g.Act(ctx, root, "acme", "pdf", one(released[max(0, len(released)-3):]), actions[r.IntN(len(actions))], fmt.Sprint("reason ", versions))
		case "public":
			_, err = g.UpdateNamespace(ctx, root, []string{"acme", "any"}[r.IntN(2)], func(n *meta.Namespace) error { n.Public = !n.Public; return nil })
		case "grant":
			err = g.Grant(ctx, root, meta.Grant{Account: "tom", Namespace: "acme", Role: []string{"reader", "publisher"}[r.IntN(2)]})
		case "ungrant":
			err = g.Ungrant(ctx, root, "tom", "acme")
		case "token":
			var made meta.Token
			if _, made, err = g.CreateToken(ctx, root, "tom", "acme", "reader", time.Time{}); err == nil {
				tokens = append(tokens, made.ID)
			}
		case "revoke":
			err = g.RevokeToken(ctx, root, one(tokens))
		}
		return what, err
	}
	remembering := *f
	remembering.Registry = g
	asked := 0
	for step := range steps {
		by := f
		if r.IntN(3) == 0 {
			by = &remembering
		}
		what, err := change(by)
		if err == nil {
			done[what]++
		}
		for _, repo := range repos {
			who := callers[r.IntN(len(callers))]
			refs := append([]string{"latest", "9.9.9"}, references[repo]...)
			for range 2 { // the second time it remembers more
				want := told(ctx, plain, who, repo, refs, blobs[repo])
				got := told(ctx, g, who, repo, refs, blobs[repo])
				asked += len(got)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("step %d, after %s (%v), to %q in %s it says\n%s\nand not\n%s", step, what, err, who.Account, repo, got[i], want[i])
					}
				}
			}
		}
		for _, id := range append(tokens[max(0, len(tokens)-5):], "none") {
			want, wanted := plain.LookupToken(ctx, id)
			got, err := g.LookupToken(ctx, id)
			if fmt.Sprint(got, err) != fmt.Sprint(want, wanted) {
				t.Fatalf("step %d, after %s: token %+v, %v; not %+v, %v", step, what, got, err, want, wanted)
			}
		}
	}
	for _, what := range []string{"push", "publish", "tag", "delete", "untag", "unlink", "act", "public", "grant", "token", "revoke"} {
		if done[what] == 0 && steps > 100 && !(anybody && what == "act") {
			t.Errorf("nothing was done by %s", what)
		}
	}
	if views := w.views.Load(); views > int64(asked)*3/4 {
		t.Errorf("%d questions took %d transactions", asked, views)
	}
	t.Logf("%v: %d questions, %d transactions, %d short ones", done, asked, w.views.Load(), w.reads.Load())
}

// TestRememberedAtOnce moves tags by one process while others read them by another, which remembers: what was acknowledged is what is read.
func TestRememberedAtOnce(t *testing.T) {
	f := open(t, meta.Policy{AcceptAny: true})
	g, w := f.remembering()
	moves := long.Of(20, 50, 500)
	var group sync.WaitGroup
	for i := range 4 {
		repo := fmt.Sprint("acme/repo", i)
		var built []*oci.Built
		for n := range 3 {
			built = append(built, f.build("pdf", "1.0.0", fmt.Sprint(i, n)))
		}
		group.Go(func() {
			for n := range moves {
				b := built[n%3]
				if _, err := f.push(root, repo, "latest", b); err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					p, err := g.Manifest(t.Context(), root, repo, "latest")
					if err != nil || p.Digest != b.Root.Digest.String() {
						t.Errorf("%s is %s, %v; it was moved to %s", repo, p.Digest, err, b.Root.Digest)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if views := w.views.Load(); views > int64(4*moves*3) {
		t.Errorf("%d questions took %d transactions", 4*moves*3, views)
	}
}

// TestRememberedNoMore has the database go back, and others write what nobody told of: what is remembered of the one that it was is
// forgotten at once, and the rest in time.
func TestRememberedNoMore(t *testing.T) {
	f := open(t, meta.Policy{AcceptAny: true})
	ctx := t.Context()
	first, second := f.build("pdf", "1.0.0", "first"), f.build("pdf", "1.0.0", "second")
	if _, err := f.push(root, "acme/pdf", "latest", first); err != nil {
		t.Fatal(err)
	}
	g, w := f.remembering()
	latest := func(want *oci.Built) {
		t.Helper()
		if p, err := g.Manifest(ctx, root, "acme/pdf", "latest"); err != nil || p.Digest != want.Root.Digest.String() {
			t.Errorf("it is %s, %v; want %s", p.Digest, err, want.Root.Digest)
		}
	}
	latest(first)
	before := f.copied()
	if _, err := f.push(root, "acme/pdf", "latest", second); err != nil {
		t.Fatal(err)
	}
	latest(second)
	latest(second)
	views := w.views.Load()
	latest(second)
	if w.views.Load() != views {
		t.Error("it does not remember")
	}

	// A row of before a change, which is remembered after the others know of that.
	w.late = func() {
		if _, err := f.push(root, "acme/pdf", "latest", second); err != nil {
			t.Error(err)
		}
		if _, err := g.Manifest(ctx, root, "acme/pdf", "other"); code(err) != "unknown_manifest" {
			t.Error(err)
		}
	}
	if _, err := f.push(root, "acme/pdf", "latest", first); err != nil { // so that it is not remembered
		t.Fatal(err)
	}
	latest(first)
	latest(second)

	w.mu.Lock()
	w.Store = before
	w.mu.Unlock()
	latest(first)

	// While the database does not answer nothing is told.
	w.mu.Lock()
	w.Store = gone{before}
	w.mu.Unlock()
	if _, err := g.Manifest(ctx, root, "acme/pdf", "latest"); code(err) != "unavailable" {
		t.Errorf("%v", err)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := g.Manifest(ended, root, "acme/pdf", "latest"); err == nil {
		t.Error("who does not wait any more is told something")
	}
}

// gone is a store that cannot be reached.
type gone struct{ meta.Store }

func (gone) Read(context.Context, func(*meta.Tx) error) error {
	return fmt.Errorf("%w: for this test", meta.ErrUnavailable)
}

// BenchmarkRemembered asks for a manifest and a layer, as a pull does, in a process that remembers them.
func BenchmarkRemembered(b *testing.B) {
	f := open(b, meta.Policy{AcceptAny: true})
	built := f.build("pdf", "1.0.0", "x")
	if _, err := f.push(root, "acme/pdf", "latest", built); err != nil {
		b.Fatal(err)
	}
	layer := blob.Sum(blob.SHA256, built.Blobs[0].Data)
	remembering, _ := f.remembering()
	for name, g := range map[string]*registry.Registry{"with": remembering, "without": f.plain()} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, err := g.Manifest(b.Context(), root, "acme/pdf", "latest")
					c, err2 := g.OpenBlob(b.Context(), root, "acme/pdf", layer)
					if err := errors.Join(err, err2); err != nil {
						b.Error(err)
						return
					}
					c.Close()
				}
			})
		})
	}
}
