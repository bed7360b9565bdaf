package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// An image is a manifest with its layers. While somebody reads it, nobody deletes it.
type image struct {
	repo     string
	manifest []byte
	digest   digest.Digest
	layers   []digest.Digest
	reading  sync.RWMutex
	dead     bool // guarded by reading
}

const grace = 2 * time.Second

// A pool is what the clients of the gc test have in common.
type pool struct {
	mu     sync.Mutex
	latest map[string]*image // by repository: what its tag names
	common [][]byte          // layers that many images have
	rand   *rand.Rand
}

// pick is any live image, which stays alive until done is called.
func (p *pool) pick() (im *image, done func()) {
	p.mu.Lock()
	var all []*image
	for _, im := range p.latest {
		all = append(all, im)
	}
	p.mu.Unlock()
	if len(all) == 0 {
		return nil, nil
	}
	im = all[p.rand.IntN(len(all))]
	im.reading.RLock()
	if im.dead {
		im.reading.RUnlock()
		return nil, nil
	}
	return im, im.reading.RUnlock
}

// TestGCUnderLoad collects garbage all the time while eight clients push, pull, mount, move
// tags and delete. What is live is served at every moment, what a client was told to be there is
// there when it names it, and in the end nothing else is stored.
func TestGCUnderLoad(t *testing.T) {
	long.Slow(t)
	seconds := fromEnv(t, "SKL_FAULT_SECONDS", long.Of(1, 3, 15))
	data := metatest.Dir(t)
	srv, admin := open(t, setup{Data: data, Every: 100 * time.Millisecond, Grace: grace})
	admin.must(t, 201, "POST", "/api/v1/namespaces", asJSON(wire.NewNamespace{Name: "acme", Policy: wire.Policy{AcceptAny: true}}), "Content-Type", wire.MediaJSON)
	p := &pool{latest: map[string]*image{}, common: [][]byte{noise(500), noise(70 << 10), noise(1200 << 10)}, rand: long.Rand(t, 1)}
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer stop()
	var wg sync.WaitGroup
	var pushed, pulled [8]int
	for i := range pushed {
		repo := fmt.Sprintf("acme/repo%d", i/2) // two clients move the same tag
		wg.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				var err error
				if p.rand.IntN(3) == 0 {
					err = p.push(t.Context(), admin, repo)
					pushed[i]++
				} else {
					err = p.pull(t.Context(), admin)
					pulled[i]++
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}

	// The live blobs; all others go when the grace is over.
	live := map[string]bool{}
	for _, im := range p.latest {
		for _, d := range im.layers {
			live[d.Encoded()] = true
		}
	}
	var stale []string
	idle := time.Now()
	for end := idle.Add(grace + 30*time.Second); ; time.Sleep(100 * time.Millisecond) { // a pass takes seconds on a machine that is busy
		stale = stale[:0]
		for path := range files(t, filepath.Join(data, "blobs")) {
			if !live[filepath.Base(path)] {
				stale = append(stale, path)
			}
		}
		if len(stale) == 0 || time.Now().After(end) {
			break
		}
	}
	gone := time.Since(idle)
	if len(stale) > 0 {
		t.Errorf("%d files are garbage and stay: %v", len(stale), stale[:min(len(stale), 5)])
	}
	for range 20 {
		if err := p.pull(t.Context(), admin); err != nil {
			t.Error(err)
		}
	}
	var counts [2]int
	for i := range pushed {
		counts[0] += pushed[i]
		counts[1] += pulled[i]
	}
	t.Logf("%d images pushed and %d pulled in %d s; %d blobs are live; the garbage was gone %v later", counts[0], counts[1], seconds, len(live), gone.Round(100*time.Millisecond))
	clean(t, srv)
}

// push makes an image of new and common layers, moves the tag to it, and deletes the image that had it.
func (p *pool) push(ctx context.Context, c *client, repo string) error {
	im, began := &image{repo: repo}, time.Now()
	m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Config: v1.DescriptorEmptyJSON, ArtifactType: "application/x-test"}
	layers := [][]byte{[]byte("{}"), noise(200 + p.rand.IntN(2000)), p.common[p.rand.IntN(len(p.common))]}
	if p.rand.IntN(4) == 0 {
		layers = append(layers, noise(100<<10))
	}
	for i, content := range layers {
		d := digest.FromBytes(content)
		if err := p.layer(ctx, c, repo, d, content); err != nil {
			return err
		}
		im.layers = append(im.layers, d)
		if i > 0 {
			m.Layers = append(m.Layers, v1.Descriptor{MediaType: "application/octet-stream", Digest: d, Size: int64(len(content))})
		}
	}
	// Sometimes a layer of somebody else's is mounted. It is live at that moment, and may not be later.
	if other, done := p.pick(); other != nil {
		d := other.layers[1]
		a, err := c.do(ctx, "POST", "/v2/"+repo+"/blobs/uploads/?mount="+d.String()+"&from="+other.repo, nil)
		done()
		if err != nil || a.status != 201 {
			return fmt.Errorf("mount of live %s from %s: %d %s %v", d, other.repo, a.status, a.body, err)
		}
		a, err = c.do(ctx, "HEAD", "/v2/"+repo+"/blobs/"+d.String(), nil)
		if err != nil || a.status != 200 {
			return fmt.Errorf("HEAD of mounted %s: %d %v", d, a.status, err)
		}
		size := a.head.Get("Content-Length")
		var n int64
		fmt.Sscan(size, &n)
		im.layers = append(im.layers, d)
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: "application/octet-stream", Digest: d, Size: n})
	}
	if p.rand.IntN(4) == 0 {
		time.Sleep(time.Duration(p.rand.IntN(1000)) * time.Millisecond) // less than the grace
	}
	im.manifest = asJSON(m)
	im.digest = digest.FromBytes(im.manifest)

	p.mu.Lock()
	defer p.mu.Unlock()
	a, err := c.do(ctx, "PUT", "/v2/"+repo+"/manifests/latest", im.manifest, "Content-Type", m.MediaType)
	if err == nil && a.status == 400 && time.Since(began) > grace/2 {
		return nil // on a machine as slow as that, the grace is over
	}
	if err != nil || a.status != 201 {
		return fmt.Errorf("push of a manifest to %s: %d %s %v", repo, a.status, a.body, err)
	}
	old := p.latest[repo]
	p.latest[repo] = im
	if old == nil {
		return nil
	}
	old.reading.Lock()
	defer old.reading.Unlock()
	old.dead = true
	a, err = c.do(ctx, "DELETE", "/v2/"+repo+"/manifests/"+old.digest.String(), nil)
	if err != nil || a.status != 202 {
		return fmt.Errorf("delete of %s: %d %s %v", old.digest, a.status, a.body, err)
	}
	return nil
}

// layer pushes a layer, unless it is said to be there.
func (p *pool) layer(ctx context.Context, c *client, repo string, d digest.Digest, content []byte) error {
	a, err := c.do(ctx, "HEAD", "/v2/"+repo+"/blobs/"+d.String(), nil)
	if err != nil || a.status != 200 && a.status != 404 {
		return fmt.Errorf("HEAD %s: %d %v", d, a.status, err)
	}
	if a.status == 200 {
		return nil
	}
	a, err = c.pushBlob(ctx, repo, d.String(), content, len(content) > 100 && p.rand.IntN(2) == 0)
	if err != nil || a.status != 201 {
		return fmt.Errorf("push of %s to %s: %d %s %v", d, repo, a.status, a.body, err)
	}
	return nil
}

// pull reads a live image, its manifest by tag or digest and all its layers.
func (p *pool) pull(ctx context.Context, c *client) error {
	im, done := p.pick()
	if im == nil {
		return nil
	}
	defer done()
	if err := same(ctx, c, "/v2/"+im.repo+"/manifests/"+im.digest.String(), im.digest.String()); err != nil {
		return err
	}
	if a, err := c.do(ctx, "GET", "/v2/"+im.repo+"/manifests/latest", nil); err != nil || a.status != 200 {
		return fmt.Errorf("%s:latest: %d %v", im.repo, a.status, err)
	}
	for _, d := range im.layers {
		if err := same(ctx, c, "/v2/"+im.repo+"/blobs/"+d.String(), d.String()); err != nil {
			return err
		}
	}
	return nil
}
