// Package registrytest holds the promises of the registry's stores as tests. Every
// implementation runs the same suite: fs and S3 for blobs, SQLite and PostgreSQL for the rest.
package registrytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/skl-project/skl/registry/blob"
)

// Blob runs the promises of [blob.Store]. Open returns an empty store for each test; a store that
// limits the size of blobs accepts at least 4 MiB.
func Blob(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, blob.Store)
	}{
		{"put, stat, open", testPut},
		{"a wrong claim stores nothing", testWrongClaim},
		{"a reader that fails stores nothing", testBrokenReader},
		{"put again", testPutAgain},
		{"an upload in pieces", testAppend},
		{"the wrong offset", testOffset},
		{"an append that fails changes nothing", testAppendFails},
		{"a wrong commit keeps the upload", testCommit},
		{"abort", testAbort},
		{"ids that are paths", testIDs},
		{"delete spares what was put since", testDelete},
		{"listing", testList},
		{"content can be read at any place", testContent},
		{"a context that is done", testContext},
		{"everybody puts the same", testConcurrentPut},
		{"pieces from two sides", testConcurrentAppend},
		{"put, open and delete at once", testConcurrentDelete},
		{"deleted while it is put again", testDeletedMeanwhile},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// sizes are on both sides of what implementations treat differently.
var sizes = []int{0, 1, 10 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1, 3 << 20}

// random is content that compresses badly: the same in every run, and another one for each of 256 calls in a row with that size.
func random(size int) []byte {
	made.Lock()
	defer made.Unlock()
	if made.n == nil {
		made.n = map[int]int{}
	}
	made.n[size]++
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16), byte(made.n[size]), byte(made.n[size] >> 8)}).Read(content)
	if size > 0 {
		content[0] = byte(made.n[size]) // of a single byte, too
	}
	return content
}

var made struct {
	sync.Mutex
	n map[int]int // how many of each size
}

func put(t *testing.T, s blob.Store, algorithm string, content []byte) blob.Digest {
	t.Helper()
	d := blob.Sum(algorithm, content)
	if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatalf("Put of %d bytes: %v", len(content), err)
	}
	return d
}

// want fails unless d is stored with exactly this content.
func want(t *testing.T, s blob.Store, d blob.Digest, content []byte) {
	t.Helper()
	size, err := s.Stat(t.Context(), d)
	if err != nil || size != int64(len(content)) {
		t.Errorf("Stat = %d, %v; want %d", size, err, len(content))
	}
	c, err := s.Open(t.Context(), d)
	if err != nil {
		t.Errorf("Open: %v", err)
		return
	}
	defer c.Close()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, content) || c.Size() != int64(len(content)) {
		t.Errorf("read %d bytes (size %d), %v; want the %d that were put", len(got), c.Size(), err, len(content))
	}
}

// wantNone fails if d is stored.
func wantNone(t *testing.T, s blob.Store, d blob.Digest) {
	t.Helper()
	if size, err := s.Stat(t.Context(), d); !errors.Is(err, blob.ErrNotFound) || size != 0 {
		t.Errorf("Stat = %d, %v; want ErrNotFound", size, err)
	}
	if c, err := s.Open(t.Context(), d); !errors.Is(err, blob.ErrNotFound) || c != nil {
		t.Errorf("Open = %v, %v; want nil, ErrNotFound", c, err)
	}
	if err := s.Check(t.Context(), d); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Check = %v, want ErrNotFound", err)
	}
}

// wantNoUploads fails if anything is staged.
func wantNoUploads(t *testing.T, s blob.Store) {
	t.Helper()
	for u, err := range s.Uploads(t.Context()) {
		t.Errorf("left behind: %+v, %v", u, err)
	}
}

func testPut(t *testing.T, s blob.Store) {
	for _, algorithm := range []string{blob.SHA256, blob.SHA512} {
		for _, size := range sizes {
			content := random(size)
			d := blob.Sum(algorithm, content)
			wantNone(t, s, d)
			put(t, s, algorithm, content)
			want(t, s, d, content)
			want(t, s, d, content) // also a second time, from whatever is remembered
			if err := s.Check(t.Context(), d); err != nil {
				t.Errorf("Check: %v", err)
			}
			unknown := random(size + 7)
			du := blob.Sum(algorithm, unknown)
			if err := s.Put(t.Context(), du, -1, iotest.HalfReader(bytes.NewReader(unknown))); err != nil {
				t.Errorf("Put without a size: %v", err)
			}
			want(t, s, du, unknown)
		}
	}
	wantNoUploads(t, s)
}

func testWrongClaim(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		content := random(size)
		for what, claim := range map[string]struct {
			d    blob.Digest
			size int64
		}{
			"another digest":      {blob.Sum(blob.SHA256, append(content, 1)), int64(size)},
			"another digest, -1":  {blob.Sum(blob.SHA512, append(content, 1)), -1},
			"one byte too few":    {blob.Sum(blob.SHA256, content), int64(size) + 1},
			"one byte too much":   {blob.Sum(blob.SHA256, content), int64(size) - 1},
			"the digest of a cut": {blob.Sum(blob.SHA256, content[:size/2]), int64(size / 2)},
			"no digest":           {blob.Digest{}, int64(size)},
		} {
			if claim.size < 0 && what != "another digest, -1" || size == 0 && what == "the digest of a cut" {
				continue
			}
			err := s.Put(t.Context(), claim.d, claim.size, bytes.NewReader(content))
			if !errors.Is(err, blob.ErrDigest) {
				t.Errorf("%d bytes, %s: %v, want ErrDigest", size, what, err)
			}
			if !claim.d.IsZero() {
				wantNone(t, s, claim.d)
			}
		}
	}
	wantNoUploads(t, s)
}

func testBrokenReader(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		content := random(size)
		d := blob.Sum(blob.SHA256, content)
		cut := errors.New("connection cut")
		r := io.MultiReader(bytes.NewReader(content[:size/2]), iotest.ErrReader(cut))
		if err := s.Put(t.Context(), d, int64(size), r); !errors.Is(err, cut) {
			t.Errorf("%d bytes: %v, want the reader's error", size, err)
		}
		wantNone(t, s, d)
	}
	wantNoUploads(t, s)
}

func testPutAgain(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		content := random(size)
		d := put(t, s, blob.SHA256, content)
		put(t, s, blob.SHA256, content)
		want(t, s, d, content)
		// Knowing a digest is not having the content.
		wrong := append(bytes.Clone(content), 'x')
		for _, claimed := range []int64{int64(len(wrong)), -1} {
			if err := s.Put(t.Context(), d, claimed, bytes.NewReader(wrong)); !errors.Is(err, blob.ErrDigest) {
				t.Errorf("%d bytes: other content under a stored digest: %v, want ErrDigest", size, err)
			}
		}
		if size > 0 {
			if err := s.Put(t.Context(), d, int64(size), strings.NewReader("")); !errors.Is(err, blob.ErrDigest) {
				t.Errorf("%d bytes: nothing under a stored digest: %v, want ErrDigest", size, err)
			}
		}
		want(t, s, d, content)
	}
	wantNoUploads(t, s)
}

func testAppend(t *testing.T, s blob.Store) {
	for _, algorithm := range []string{blob.SHA256, blob.SHA512} {
		for _, size := range sizes {
			for _, remember := range []bool{false, true} {
				content := random(size)
				d := blob.Sum(algorithm, content)
				id := fmt.Sprintf("up-%s_%d-%v", algorithm, size, remember)
				h, offset := d.Hash(), int64(0)
				for _, piece := range [][]byte{content[:size/3], content[size/3 : size/2], content[size/2:]} {
					n, err := s.Append(t.Context(), id, offset, io.TeeReader(bytes.NewReader(piece), h))
					offset += int64(len(piece))
					if err != nil || n != offset {
						t.Fatalf("Append = %d, %v; want %d", n, err, offset)
					}
				}
				if size > 0 || !remember { // there is only one empty blob
					wantNone(t, s, d)
				}
				var known blob.Appended
				if remember {
					known = blob.Appended{Digest: blob.Finish(algorithm, h), Size: offset}
				}
				if n, err := s.Commit(t.Context(), id, d, known); err != nil || n != int64(size) {
					t.Fatalf("Commit = %d, %v; want %d", n, err, size)
				}
				want(t, s, d, content)
				if _, err := s.Commit(t.Context(), id, d, known); !errors.Is(err, blob.ErrOffset) {
					t.Errorf("second Commit: %v, want ErrOffset", err)
				}
			}
		}
	}
	wantNoUploads(t, s)
}

func testOffset(t *testing.T, s blob.Store) {
	ctx := t.Context()
	if _, err := s.Append(ctx, "new", 3, strings.NewReader("x")); !errors.Is(err, blob.ErrOffset) {
		t.Errorf("a new upload at offset 3: %v, want ErrOffset", err)
	}
	wantNoUploads(t, s)
	if _, err := s.Append(ctx, "a", 0, strings.NewReader("hello ")); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{0, 5, 7, 1 << 40} {
		if _, err := s.Append(ctx, "a", offset, strings.NewReader("x")); !errors.Is(err, blob.ErrOffset) {
			t.Errorf("offset %d after 6 bytes: %v, want ErrOffset", offset, err)
		}
	}
	if n, err := s.Append(ctx, "a", 6, strings.NewReader("world")); n != 11 || err != nil {
		t.Errorf("Append = %d, %v; want 11", n, err)
	}
	d := blob.Sum(blob.SHA256, []byte("hello world"))
	if _, err := s.Commit(ctx, "a", d, blob.Appended{}); err != nil {
		t.Error(err)
	}
	if _, err := s.Commit(ctx, "never", d, blob.Appended{}); !errors.Is(err, blob.ErrOffset) {
		t.Errorf("Commit of no upload: %v, want ErrOffset", err)
	}
}

func testAppendFails(t *testing.T, s blob.Store) {
	ctx, cut := t.Context(), errors.New("connection cut")
	broken := io.MultiReader(strings.NewReader("half a piece"), iotest.ErrReader(cut))
	if _, err := s.Append(ctx, "a", 0, broken); !errors.Is(err, cut) {
		t.Errorf("Append = %v, want the reader's error", err)
	}
	if _, err := s.Append(ctx, "a", 0, strings.NewReader("first ")); err != nil {
		t.Fatal(err)
	}
	broken = io.MultiReader(strings.NewReader("half a piece"), iotest.ErrReader(cut))
	if _, err := s.Append(ctx, "a", 6, broken); !errors.Is(err, cut) {
		t.Errorf("Append = %v, want the reader's error", err)
	}
	if n, err := s.Append(ctx, "a", 6, strings.NewReader("second")); n != 12 || err != nil {
		t.Fatalf("Append = %d, %v; want 12", n, err)
	}
	content := []byte("first second")
	d := blob.Sum(blob.SHA256, content)
	if _, err := s.Commit(ctx, "a", d, blob.Appended{}); err != nil {
		t.Fatal(err)
	}
	want(t, s, d, content)
}

func testCommit(t *testing.T, s blob.Store) {
	ctx := t.Context()
	for _, size := range sizes {
		content := random(size)
		d, other := blob.Sum(blob.SHA256, content), blob.Sum(blob.SHA256, append(content, 1))
		if _, err := s.Append(ctx, "a", 0, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		for what, known := range map[string]blob.Appended{
			"nothing known":     {},
			"the truth known":   {Digest: d, Size: int64(size)},
			"another algorithm": {Digest: blob.Sum(blob.SHA512, content), Size: int64(size)},
		} {
			if _, err := s.Commit(ctx, "a", other, known); !errors.Is(err, blob.ErrDigest) {
				t.Errorf("%d bytes, %s: %v, want ErrDigest", size, what, err)
			}
		}
		wantNone(t, s, other)
		if n, err := s.Commit(ctx, "a", d, blob.Appended{}); err != nil || n != int64(size) {
			t.Errorf("the right Commit after wrong ones = %d, %v", n, err)
		}
	}
	wantNoUploads(t, s)
}

func testAbort(t *testing.T, s blob.Store) {
	ctx := t.Context()
	if err := s.Abort(ctx, "never"); err != nil {
		t.Errorf("Abort of no upload: %v", err)
	}
	if _, err := s.Append(ctx, "a", 0, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.Abort(ctx, "a"); err != nil {
		t.Error(err)
	}
	wantNoUploads(t, s)
	if _, err := s.Append(ctx, "a", 1, strings.NewReader("x")); !errors.Is(err, blob.ErrOffset) {
		t.Errorf("Append after Abort: %v, want ErrOffset", err)
	}
	if n, err := s.Append(ctx, "a", 0, strings.NewReader("y")); n != 1 || err != nil {
		t.Errorf("a new upload of the same id = %d, %v", n, err)
	}
}

func testIDs(t *testing.T, s blob.Store) {
	d := blob.Sum(blob.SHA256, []byte("x"))
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a\x00", "a b", "é", "put.x", strings.Repeat("a", 129)} {
		if _, err := s.Append(t.Context(), id, 0, strings.NewReader("x")); err == nil {
			t.Errorf("Append to %q was accepted", id)
		}
		if _, err := s.Commit(t.Context(), id, d, blob.Appended{}); err == nil {
			t.Errorf("Commit of %q was accepted", id)
		}
	}
	for _, id := range []string{"", "..", "../x", "put.../x", "put../../x", "put."} {
		if err := s.Abort(t.Context(), id); err == nil {
			t.Errorf("Abort of %q was accepted", id)
		}
	}
	if _, err := s.Append(t.Context(), strings.Repeat("a", 128), 0, strings.NewReader("x")); err != nil {
		t.Errorf("an id of 128 letters: %v", err)
	}
}

func testDelete(t *testing.T, s blob.Store) {
	ctx := t.Context()
	for _, size := range sizes {
		content := random(size)
		d := put(t, s, blob.SHA256, content)
		before := time.Now().Add(-time.Hour)
		if err := s.Delete(ctx, d, before); !errors.Is(err, blob.ErrRecent) {
			t.Errorf("Delete of what is older than an hour: %v, want ErrRecent", err)
		}
		want(t, s, d, content)
		time.Sleep(20 * time.Millisecond)
		marked := time.Now()
		time.Sleep(20 * time.Millisecond)
		put(t, s, blob.SHA256, content)
		if err := s.Delete(ctx, d, marked); !errors.Is(err, blob.ErrRecent) {
			t.Errorf("Delete of what was put again: %v, want ErrRecent", err)
		}
		want(t, s, d, content)
		if err := s.Delete(ctx, d, time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Delete: %v", err)
		}
		wantNone(t, s, d)
		for _, unless := range []time.Time{{}, before} {
			if err := s.Delete(ctx, d, unless); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Delete of nothing: %v, want ErrNotFound", err)
			}
		}
		put(t, s, blob.SHA256, content)
		want(t, s, d, content)
		if err := s.Delete(ctx, d, time.Time{}); err != nil {
			t.Errorf("Delete at once: %v", err)
		}
	}
}

func testList(t *testing.T, s blob.Store) {
	ctx := t.Context()
	stored := map[blob.Digest]int64{}
	for i := range 40 {
		content := random(i)
		stored[put(t, s, []string{blob.SHA256, blob.SHA512}[i%2], content)] = int64(i)
	}
	last := ""
	for info, err := range s.Blobs(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if size, ok := stored[info.Digest]; !ok || size != info.Size {
			t.Errorf("Blobs yields %+v, which was put with %d bytes", info, size)
		}
		if info.Digest.String() <= last {
			t.Errorf("%s comes after %s", info.Digest, last)
		}
		if age := time.Since(info.Modified); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was modified %v ago", info.Digest, age)
		}
		last = info.Digest.String()
		delete(stored, info.Digest)
	}
	if len(stored) != 0 {
		t.Errorf("not yielded: %v", stored)
	}
	for range s.Blobs(ctx) {
		break // stopping early is allowed
	}
	if _, err := s.Append(ctx, "one", 0, strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	var uploads []blob.Upload
	for u, err := range s.Uploads(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		uploads = append(uploads, u)
	}
	if len(uploads) != 1 || uploads[0].ID != "one" || uploads[0].Size != 3 || time.Since(uploads[0].Modified) > time.Minute {
		t.Errorf("Uploads = %+v", uploads)
	}
}

func testContent(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		content := random(size)
		d := put(t, s, blob.SHA256, content)
		c, err := s.Open(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(c, content); err != nil && size <= 64<<10 {
			t.Errorf("%d bytes: %v", size, err)
		}
		piece := make([]byte, 5)
		n, err := c.ReadAt(piece, int64(size)-3)
		if size >= 3 && (n != 3 || err != io.EOF || !bytes.Equal(piece[:3], content[size-3:])) {
			t.Errorf("%d bytes: ReadAt near the end = %d, %v", size, n, err)
		}
		if at, err := c.Seek(int64(size/2), io.SeekStart); at != int64(size/2) || err != nil {
			t.Errorf("Seek = %d, %v", at, err)
		}
		rest, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(rest, content[size/2:]) {
			t.Errorf("%d bytes: the second half is %d bytes, %v", size, len(rest), err)
		}
		// An open blob can be read to its end, whatever happens to the name.
		if err := s.Delete(t.Context(), d, time.Time{}); err == nil {
			if _, err := c.Seek(0, io.SeekStart); err != nil {
				t.Error(err)
			}
			if all, err := io.ReadAll(c); err != nil || !bytes.Equal(all, content) {
				t.Errorf("%d bytes: after Delete: %d bytes, %v", size, len(all), err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testContext(t *testing.T, s blob.Store) {
	d := put(t, s, blob.SHA256, []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := []byte("other")
	if err := s.Put(ctx, blob.Sum(blob.SHA256, other), 5, bytes.NewReader(other)); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Open(ctx, d); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if err := s.Delete(ctx, d, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete: %v", err)
	}
	if err := s.Check(ctx, d); !errors.Is(err, context.Canceled) {
		t.Errorf("Check: %v", err)
	}
	for _, err := range s.Blobs(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Blobs: %v", err)
		}
	}
	want(t, s, d, []byte("x"))
}

func testConcurrentPut(t *testing.T, s blob.Store) {
	var group sync.WaitGroup
	contents := [][]byte{random(100), random(70 << 10), random(2 << 20)}
	for range 16 {
		group.Go(func() {
			for _, content := range contents {
				d := blob.Sum(blob.SHA256, content)
				if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
					t.Errorf("Put: %v", err)
				}
				want(t, s, d, content)
			}
		})
	}
	group.Wait()
	wantNoUploads(t, s)
}

// Of several who append at the same place, at most one succeeds.
func testConcurrentAppend(t *testing.T, s blob.Store) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var won []byte
	for i := range 16 {
		group.Go(func() {
			piece := bytes.Repeat([]byte{byte('a' + i)}, 1000)
			_, err := s.Append(t.Context(), "a", 0, iotest.OneByteReader(bytes.NewReader(piece)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && won != nil:
				t.Error("two Appends at one offset succeeded")
			case err == nil:
				won = piece
			case !errors.Is(err, blob.ErrOffset):
				t.Errorf("Append: %v", err)
			}
		})
	}
	group.Wait()
	if won == nil {
		t.Fatal("no Append succeeded")
	}
	d := blob.Sum(blob.SHA256, won)
	if _, err := s.Commit(t.Context(), "a", d, blob.Appended{}); err != nil {
		t.Fatal(err)
	}
	want(t, s, d, won)
}

// A Put that takes longer than a blob stays is acknowledged only if the blob is there afterwards.
func testDeletedMeanwhile(t *testing.T, s blob.Store) {
	content := random(1<<20 + 5)
	d := put(t, s, blob.SHA256, content)
	slow := &meanwhile{Reader: bytes.NewReader(content), after: len(content) / 2, do: func() {
		if err := s.Delete(t.Context(), d, time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}}
	if err := s.Put(t.Context(), d, int64(len(content)), slow); err != nil {
		t.Fatalf("Put: %v", err)
	}
	c, err := s.Open(t.Context(), d)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(content), err)
	}
}

// A meanwhile does something after so many bytes were read of it.
type meanwhile struct {
	io.Reader
	after int
	do    func()
}

func (m *meanwhile) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	if m.after -= n; m.after <= 0 && m.do != nil {
		m.do()
		m.do = nil
	}
	return n, err
}

// A Put that was acknowledged after a collector looked is there after its Delete.
func testConcurrentDelete(t *testing.T, s blob.Store) {
	ctx, stop := context.WithCancel(t.Context())
	contents := [][]byte{random(100), random(70 << 10), random(1<<20 + 5)}
	var collector sync.WaitGroup
	collector.Go(func() {
		for ctx.Err() == nil {
			marked := time.Now().Add(-50 * time.Millisecond)
			for _, content := range contents {
				err := s.Delete(context.Background(), blob.Sum(blob.SHA256, content), marked)
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
			for i := range 20 {
				began := time.Now()
				if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
					t.Errorf("Put: %v", err)
				}
				c, err := s.Open(t.Context(), d)
				if err == nil {
					c.Close()
				} else if time.Since(began) < 45*time.Millisecond {
					t.Errorf("Open right after Put: %v", err)
				}
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			}
		})
	}
	group.Wait()
	stop()
	collector.Wait()
}
