package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta"
)

// A place is a bucket with metadata, which several processes use.
type place struct {
	address string
	meta    meta.Store
}

func newPlace(t testing.TB) place { return place{s3test.Address(t), openMeta(t)} }

// replica opens the place as one more process does.
func (p place) replica(t testing.TB) *s3.Store { return openAt(t, p.address, s3.Options{Meta: p.meta}) }

// objects are the keys in the bucket, without the prefix, but for registry.json.
func (p place) objects(t testing.TB) (keys []string) {
	t.Helper()
	at, err := s3.ParseAddress(p.address)
	if err != nil {
		t.Fatal(err)
	}
	bucket, prefix, _, _ := s3.Parts(at)
	for o := range s3test.Client(t).ListObjectsIter(t.Context(), bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if key := strings.TrimPrefix(o.Key, prefix); key != "registry.json" {
			keys = append(keys, key)
		}
	}
	return keys
}

// write changes an object behind the store's back; nil removes it.
func (p place) write(t testing.TB, key string, content []byte) {
	t.Helper()
	at, err := s3.ParseAddress(p.address)
	if err != nil {
		t.Fatal(err)
	}
	bucket, prefix, _, _ := s3.Parts(at)
	c := s3test.Client(t)
	if content == nil {
		err = c.RemoveObject(t.Context(), bucket, prefix+key, minio.RemoveObjectOptions{})
	} else {
		_, err = c.PutObject(t.Context(), bucket, prefix+key, bytes.NewReader(content), int64(len(content)), "", "", minio.PutObjectOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// key is where d is.
func (p place) key(t testing.TB, d blob.Digest) string {
	t.Helper()
	var o meta.Object
	if err := p.meta.View(t.Context(), func(tx *meta.Tx) (err error) {
		o, err = tx.Object(t.Context(), d.String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return o.Key
}

// noise is content that nothing else has.
func noise(size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32())}).Read(b)
	return b
}

func put(t testing.TB, s blob.Store, content []byte) blob.Digest {
	t.Helper()
	d := blob.Sum(blob.SHA256, content)
	if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return d
}

func read(ctx context.Context, s blob.Store, d blob.Digest) ([]byte, error) {
	c, err := s.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

func want(t testing.TB, s blob.Store, d blob.Digest, content []byte) {
	t.Helper()
	if got, err := read(t.Context(), s, d); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes, %v; want %d", len(got), err, len(content))
	}
}

// An upload is continued by whichever process the client reaches, across the bounds of parts.
func TestUploadMoves(t *testing.T) {
	p := newPlace(t)
	replicas := []*s3.Store{p.replica(t), p.replica(t), p.replica(t)}
	for _, pieces := range [][]int{{5, 3 << 20, 1}, {8 << 20}, {8<<20 - 1, 2}, {3 << 20, 9 << 20, 100, 8 << 20, 4 << 20}, {17 << 20, 1 << 20}} {
		for _, known := range []bool{false, true} {
			id := fmt.Sprintf("up-%d-%v", len(pieces), known)
			var all []byte
			for i, size := range pieces {
				piece := noise(size)
				n, err := replicas[i%2].Append(t.Context(), id, int64(len(all)), bytes.NewReader(piece))
				all = append(all, piece...)
				if err != nil || n != int64(len(all)) {
					t.Fatalf("%v: Append = %d, %v", pieces, n, err)
				}
			}
			d, did := blob.Sum(blob.SHA512, all), blob.Appended{}
			if known {
				did = blob.Appended{Digest: d, Size: int64(len(all))}
			} else if _, err := replicas[0].Commit(t.Context(), id, blob.Sum(blob.SHA256, []byte("other")), did); !errors.Is(err, blob.ErrDigest) {
				t.Errorf("%v: Commit as another: %v", pieces, err)
			}
			if n, err := replicas[2].Commit(t.Context(), id, d, did); err != nil || n != int64(len(all)) {
				t.Fatalf("%v: Commit = %d, %v", pieces, n, err)
			}
			want(t, replicas[0], d, all)
			want(t, replicas[2], d, all)
			if err := replicas[1].Delete(t.Context(), d, time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
	}
	if left := p.objects(t); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Of two processes that append at one place, one wins; what the other stored is not seen.
func TestUploadOfTwo(t *testing.T) {
	p := newPlace(t)
	a, b := p.replica(t), p.replica(t)
	for round := range 5 {
		id := fmt.Sprint("up-", round)
		contents := [][]byte{noise(9 << 20), noise(9 << 20)}
		var errs [2]error
		var both sync.WaitGroup
		for i, s := range []*s3.Store{a, b} {
			both.Go(func() { _, errs[i] = s.Append(t.Context(), id, 0, bytes.NewReader(contents[i])) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || errs[0] != nil && !errors.Is(errs[0], blob.ErrOffset) || errs[1] != nil && !errors.Is(errs[1], blob.ErrOffset) {
			t.Fatalf("%v, %v: want one that wins", errs[0], errs[1])
		}
		won := contents[0]
		if errs[0] != nil {
			won = contents[1]
		}
		d := blob.Sum(blob.SHA256, won)
		if _, err := a.Commit(t.Context(), id, d, blob.Appended{Digest: d, Size: int64(len(won))}); err != nil {
			t.Fatal(err)
		}
		want(t, b, d, won)
	}
}

// Content that is put by one process while another collects is there for a third, or the Put failed.
func TestCollectorElsewhere(t *testing.T) {
	p := newPlace(t)
	a, b, c := p.replica(t), p.replica(t), p.replica(t)
	contents := [][]byte{noise(100), noise(300 << 10)}
	ctx, stop := context.WithCancel(t.Context())
	var collector sync.WaitGroup
	collector.Go(func() {
		for ctx.Err() == nil {
			for _, content := range contents {
				err := b.Delete(context.Background(), blob.Sum(blob.SHA256, content), time.Now().Add(-500*time.Millisecond))
				if err != nil && !errors.Is(err, blob.ErrRecent) && !errors.Is(err, blob.ErrNotFound) {
					t.Errorf("Delete: %v", err)
				}
			}
		}
	})
	var group sync.WaitGroup
	for _, content := range contents {
		group.Go(func() {
			d := blob.Sum(blob.SHA256, content)
			for i := range 12 {
				if err := a.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
					t.Errorf("Put: %v", err)
				}
				put := time.Now()
				got, err := read(t.Context(), c, d)
				if err != nil && time.Since(put) < 400*time.Millisecond || err == nil && !bytes.Equal(got, content) {
					t.Errorf("right after Put: %d bytes, %v", len(got), err)
				}
				time.Sleep(time.Duration(i) * 60 * time.Millisecond)
			}
		})
	}
	group.Wait()
	stop()
	collector.Wait()
}

// Content that is damaged or lost in the bucket is not served, is said once it is known, and a Put of any process heals it.
func TestDamage(t *testing.T) {
	p := newPlace(t)
	a := p.replica(t)
	for _, size := range []int{0, 1000, 2 << 20} {
		for how, wrong := range map[string][]byte{"other content": noise(size), "cut": noise(size / 2), "gone": nil} {
			if size == 0 && wrong != nil {
				continue
			}
			content := noise(size)
			d := put(t, a, content)
			key := p.key(t, d)
			p.write(t, key, wrong)
			expected := blob.ErrCorrupt
			if wrong == nil {
				expected = blob.ErrNotFound
			}
			want(t, a, d, content) // it has it itself
			b := p.replica(t)
			if got, err := read(t.Context(), b, d); !errors.Is(err, expected) {
				t.Errorf("%d bytes, %s: read %d bytes, %v", size, how, len(got), err)
			}
			if _, err := p.replica(t).Stat(t.Context(), d); !errors.Is(err, expected) {
				t.Errorf("%d bytes, %s: Stat: %v", size, how, err)
			}
			if err := a.Check(t.Context(), d); !errors.Is(err, expected) {
				t.Errorf("%d bytes, %s: Check: %v", size, how, err)
			}
			put(t, b, content)
			want(t, p.replica(t), d, content)
			if p.key(t, d) == key {
				t.Errorf("%d bytes, %s: the key was used again", size, how)
			}
			if err := a.Check(t.Context(), d); err != nil {
				t.Errorf("%d bytes, %s: Check of what is healed: %v", size, how, err)
			}
		}
	}
	// One that comes back by itself, as from a backup of the bucket.
	content := noise(5000)
	d := put(t, a, content)
	p.write(t, p.key(t, d), nil)
	if err := a.Check(t.Context(), d); !errors.Is(err, blob.ErrNotFound) {
		t.Error(err)
	}
	p.write(t, p.key(t, d), content)
	if err := a.Check(t.Context(), d); err != nil {
		t.Error(err)
	}
	want(t, p.replica(t), d, content)
}

// A Put asks whether what it need not send is there.
func TestPutOfWhatIsLost(t *testing.T) {
	p := newPlace(t)
	a := p.replica(t)
	for _, wrong := range [][]byte{nil, []byte("short")} {
		content := noise(1000)
		d := put(t, a, content)
		p.write(t, p.key(t, d), wrong)
		put(t, a, content)
		want(t, p.replica(t), d, content)
	}
}

// Survey finds what is lost among many, and what is left over is listed and removed.
func TestSweep(t *testing.T) {
	p := newPlace(t)
	a := p.replica(t)
	s3.Limits(a, 0, time.Hour, 7)
	var all []blob.Digest
	for i := range 30 {
		all = append(all, put(t, a, noise(100+i)))
	}
	for i := range 10 {
		id := fmt.Sprint("up-", i)
		if _, err := a.Append(t.Context(), id, 0, bytes.NewReader(noise(50))); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			continue
		}
		if _, err := a.Append(t.Context(), id, 50, bytes.NewReader(noise(50+i))); err != nil {
			t.Fatal(err)
		}
	}
	before := p.objects(t)
	if err := a.Survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if _, err := a.Stat(t.Context(), d); err != nil {
			t.Errorf("after a survey of what is right: %v", err)
		}
	}
	lost, cut := all[11], all[23]
	lostKey := p.key(t, lost)
	p.write(t, lostKey, nil)
	p.write(t, p.key(t, cut), []byte("x"))
	if err := a.Survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		_, err := a.Stat(t.Context(), d)
		if expected := map[blob.Digest]error{lost: blob.ErrNotFound, cut: blob.ErrCorrupt}[d]; !errors.Is(err, expected) {
			t.Errorf("Stat: %v, want %v", err, expected)
		}
	}

	// Left over are objects, whichever process made them, and names of others are not.
	left := path.Join("b/sha256", lost.Hex()[:2], lost.Hex()+".abcdefghijklmnopqrstuvwxyz")
	upload := "u/ab/abcdefghijklmnopqrstuvwxyz"
	p.write(t, left, []byte("left"))
	p.write(t, upload, []byte("left"))
	p.write(t, "b/notes.txt", []byte("of somebody"))
	at, err := s3.ParseAddress(p.address)
	if err != nil {
		t.Fatal(err)
	}
	bucket, prefix, _, _ := s3.Parts(at)
	if _, err := s3test.Client(t).NewMultipartUpload(t.Context(), bucket, prefix+"u/bb/bbcdefghijklmnopqrstuvwxyz", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	staged, over := 0, map[string]bool{}
	for u, err := range a.Uploads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(u.ID, "up-") {
			staged++
			continue
		}
		over[u.ID] = true
		if err := a.Abort(t.Context(), u.ID); err != nil {
			t.Error(err)
		}
	}
	if staged != 10 || len(over) != 3 || !over["put."+left] || !over["put."+upload] || !over["put.u/bb/bbcdefghijklmnopqrstuvwxyz"] {
		t.Errorf("%d uploads and %v", staged, over)
	}
	if err := a.Abort(t.Context(), "put."+p.key(t, all[0])); err == nil {
		t.Error("an object that is needed was removed")
	}
	for _, id := range []string{"put.registry.json", "put.b/notes.txt", "put.u/../registry.json", "put.u/ab/cdefghijklmnopqrstuvwxyzabc"} {
		if err := a.Abort(t.Context(), id); err == nil {
			t.Errorf("%s was removed", id)
		}
	}
	if after := p.objects(t); len(after) != len(before)-1+1 {
		t.Errorf("%d objects before and %d after", len(before), len(after))
	}
	s3.Limits(a, time.Hour, time.Hour, 1000)
	p.write(t, upload, []byte("of a Put under way"))
	for u, err := range a.Uploads(t.Context()) {
		if err != nil || strings.HasPrefix(u.ID, "put.") {
			t.Errorf("young, and listed: %+v, %v", u, err)
		}
	}
}

// A process that slept between an object and its row does not write the row: the object may be taken for left over.
func TestSlept(t *testing.T) {
	p := newPlace(t)
	a := p.replica(t)
	s3.Limits(a, time.Hour, -1, 1000)
	content := noise(1000)
	d := blob.Sum(blob.SHA256, content)
	if err := a.Put(t.Context(), d, -1, bytes.NewReader(content)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Put: %v", err)
	}
	if _, err := a.Append(t.Context(), "up", 0, bytes.NewReader(content)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Append: %v", err)
	}
	if _, err := a.Stat(t.Context(), d); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
	for u, err := range a.Uploads(t.Context()) {
		t.Errorf("listed: %+v, %v", u, err)
	}
}

// The cache holds what is read most, within its bounds, and what it holds is checked.
func TestCache(t *testing.T) {
	p := newPlace(t)
	dir := t.TempDir()
	a := openAt(t, p.address, s3.Options{Meta: p.meta, Dir: dir, Cache: 1 << 20})
	var all []blob.Digest
	contents := map[blob.Digest][]byte{}
	for range 12 {
		content := noise(200 << 10)
		d := put(t, a, content)
		contents[d] = content
		all = append(all, d)
		if size := diskUse(t, dir); size > 1<<20 {
			t.Errorf("the cache has %d bytes", size)
		}
	}
	for _, d := range append(all, all...) {
		want(t, a, d, contents[d])
	}
	if size := diskUse(t, dir); size > 1<<20 || size < 800<<10 {
		t.Errorf("the cache has %d bytes", size)
	}
	big := noise(3 << 20)
	want(t, a, put(t, a, big), big)
	damage(t, dir)
	for _, d := range all {
		want(t, a, d, contents[d])
	}
	// The next process takes over what is there, if it is right.
	damage(t, dir)
	b := openAt(t, p.address, s3.Options{Meta: p.meta, Dir: dir, Cache: 1 << 20})
	for _, d := range all {
		want(t, b, d, contents[d])
	}
	if size := diskUse(t, dir); size > 1<<20 {
		t.Errorf("the cache has %d bytes", size)
	}
}
