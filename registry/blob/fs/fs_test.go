package fs_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/registrytest"
	"github.com/skl-project/skl/testdata/long"
)

func open(t testing.TB, dir string) *fs.Store {
	t.Helper()
	s, err := fs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	long.Slow(t)
	registrytest.Blob(t, func(t *testing.T) blob.Store { return open(t, t.TempDir()) })
}

func path(dir string, d blob.Digest) string {
	return filepath.Join(dir, "blobs", d.Algorithm(), d.Hex()[:2], d.Hex())
}

func random(size int) []byte {
	content := make([]byte, size)
	rand.Read(content)
	return content
}

func put(t testing.TB, s *fs.Store, content []byte) blob.Digest {
	t.Helper()
	d := blob.Sum(blob.SHA256, content)
	if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return d
}

func read(s *fs.Store, d blob.Digest) ([]byte, error) {
	c, err := s.Open(context.Background(), d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

// A flipped bit is not served, is found by Check, and is healed by the next Put.
func TestBitFlip(t *testing.T) {
	for _, size := range []int{1, 10 << 10, 100 << 10, 1 << 20, 2 << 20} {
		for _, opened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, opened before %v", size, opened), func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir)
				content := random(size)
				d := put(t, s, content)
				if opened {
					time.Sleep(150 * time.Millisecond) // so that the file is old enough to be remembered
					for range 2 {
						if got, err := read(s, d); err != nil || !bytes.Equal(got, content) {
							t.Fatalf("before the flip: %v", err)
						}
					}
				}
				flip(t, path(dir, d), int64(size/2))
				if _, err := read(s, d); !errors.Is(err, blob.ErrCorrupt) {
					t.Errorf("Open = %v, want ErrCorrupt", err)
				}
				if err := s.Check(t.Context(), d); !errors.Is(err, blob.ErrCorrupt) {
					t.Errorf("Check = %v, want ErrCorrupt", err)
				}
				if _, err := os.Stat(path(dir, d)); err != nil {
					t.Errorf("the damaged file should stay: %v", err)
				}
				put(t, s, content)
				if got, err := read(s, d); err != nil || !bytes.Equal(got, content) {
					t.Errorf("after a new Put: %v", err)
				}
				if err := s.Check(t.Context(), d); err != nil {
					t.Errorf("Check after a new Put: %v", err)
				}
			})
		}
	}
}

// Changes made by the medium, which leave the times as they were, are found by Check, and small content is never
// served.
func TestBitFlipOfTheMedium(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	content := random(10 << 10)
	d := put(t, s, content)
	info, err := os.Stat(path(dir, d))
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path(dir, d), 77)
	if err := os.Chtimes(path(dir, d), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, err := read(s, d); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("Open = %v, want ErrCorrupt", err)
	}
}

func TestTruncatedAndGrown(t *testing.T) {
	for _, size := range []int{10 << 10, 100 << 10, 2 << 20} {
		for _, to := range []int64{0, int64(size) - 1, int64(size) + 1} {
			dir := t.TempDir()
			s := open(t, dir)
			content := random(size)
			d := put(t, s, content)
			if err := os.Truncate(path(dir, d), to); err != nil {
				t.Fatal(err)
			}
			if _, err := read(s, d); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%d bytes cut to %d: %v, want ErrCorrupt", size, to, err)
			}
			put(t, s, content)
			if _, err := read(s, d); err != nil {
				t.Errorf("%d bytes cut to %d, after a new Put: %v", size, to, err)
			}
		}
	}
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func TestMaxBytes(t *testing.T) {
	s := open(t, t.TempDir())
	s.MaxBytes = 2 << 20
	for _, size := range []int{2<<20 + 1, 3 << 20} {
		content := random(size)
		d := blob.Sum(blob.SHA256, content)
		for _, claimed := range []int64{int64(size), -1} {
			if err := s.Put(t.Context(), d, claimed, bytes.NewReader(content)); !errors.Is(err, blob.ErrTooLarge) {
				t.Errorf("Put of %d bytes, claimed %d: %v, want ErrTooLarge", size, claimed, err)
			}
		}
		if _, err := s.Append(t.Context(), "a", 0, bytes.NewReader(content)); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("Append of %d bytes: %v, want ErrTooLarge", size, err)
		}
	}
	put(t, s, random(2<<20))
	for u := range s.Uploads(t.Context()) {
		t.Errorf("left behind: %+v", u)
	}
}

// An upload goes on after a restart where the caller's record says, whatever a crash left beyond it.
func TestAppendAfterCrash(t *testing.T) {
	dir := t.TempDir()
	if _, err := open(t, dir).Append(t.Context(), "a", 0, strings.NewReader("hello ")); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "staging", "u-a"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "bytes of an Append that never returned")
	f.Close()

	s := open(t, dir)
	if _, err := s.Append(t.Context(), "a", 1000, strings.NewReader("x")); !errors.Is(err, blob.ErrOffset) {
		t.Errorf("beyond the end: %v, want ErrOffset", err)
	}
	if n, err := s.Append(t.Context(), "a", 6, strings.NewReader("world")); n != 11 || err != nil {
		t.Fatalf("Append = %d, %v; want 11", n, err)
	}
	content := []byte("hello world")
	d := blob.Sum(blob.SHA256, content)
	// One more restart, and Commit goes by what the caller knows.
	f, _ = os.OpenFile(filepath.Join(dir, "staging", "u-a"), os.O_WRONLY|os.O_APPEND, 0)
	io.WriteString(f, "again")
	f.Close()
	if n, err := open(t, dir).Commit(t.Context(), "a", d, blob.Appended{Digest: d, Size: 11}); n != 11 || err != nil {
		t.Fatalf("Commit = %d, %v; want 11", n, err)
	}
	if got, err := read(s, d); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %q, %v", got, err)
	}
}

// Leftovers of interrupted Puts are listed, and can be removed; strange files are not taken for blobs.
func TestResidue(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	d := put(t, s, []byte("x"))
	for _, name := range []string{"staging/p-ABC", "blobs/sha256/" + d.Hex()[:2] + "/README", "blobs/sha256/note"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("residue"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(filepath.Join(dir, "blobs", "sha256", "note"))
	for u, err := range s.Uploads(t.Context()) {
		if err != nil || u.ID != "put.p-ABC" {
			t.Errorf("Uploads yields %+v, %v", u, err)
		}
		if err := s.Abort(t.Context(), u.ID); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "staging")); len(left) != 0 {
		t.Errorf("staging holds %v", left)
	}
	n := 0
	for info, err := range s.Blobs(t.Context()) {
		if n++; err != nil || info.Digest != d {
			t.Errorf("Blobs yields %+v, %v", info, err)
		}
	}
	if n != 1 {
		t.Errorf("%d blobs, want 1", n)
	}
}

// TestKilled kills a process in the middle of its Puts and Commits: all it acknowledged is
// there and right, and no other blob is damaged.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("SKL_TEST_PUT_INTO"); dir != "" {
		putForever(dir)
	}
	rounds := long.Of(1, 4, 20)
	dir := t.TempDir()
	acknowledged := 0
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SKL_TEST_PUT_INTO="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var acks []string
		var once sync.Once
		for lines.Scan() {
			acks = append(acks, lines.Text())
			once.Do(func() {
				time.AfterFunc(time.Duration(5+round*3)*time.Millisecond, func() { cmd.Process.Kill() })
			})
		}
		cmd.Wait()
		s := open(t, dir)
		for _, line := range acks {
			d, err := blob.ParseDigest(line)
			if err != nil {
				continue // the last line may be cut
			}
			acknowledged++
			if err := s.Check(t.Context(), d); err != nil {
				t.Errorf("round %d: acknowledged, but: %v", round, err)
			}
		}
	}
	s, stored := open(t, dir), 0
	for info, err := range s.Blobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		stored++
		if err := s.Check(t.Context(), info.Digest); err != nil {
			t.Errorf("after all rounds: %v", err)
		}
	}
	if acknowledged < rounds || stored < acknowledged {
		t.Errorf("%d acknowledged, %d stored: the test did not do its work", acknowledged, stored)
	}
	t.Logf("%d rounds, %d acknowledged, %d stored", rounds, acknowledged, stored)
	for u, err := range s.Uploads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Abort(t.Context(), u.ID); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "staging")); len(left) != 0 {
		t.Errorf("%d files of staging cannot be removed", len(left))
	}
}

func putForever(dir string) {
	s, err := fs.Open(dir)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var ids atomic.Int64
	for worker := range 4 {
		go func() {
			for {
				content := random([]int{100, 10 << 10, 100 << 10, 1<<20 + 1}[worker])
				d := blob.Sum(blob.SHA256, content)
				err := s.Put(context.Background(), d, -1, bytes.NewReader(content))
				if worker%2 == 1 {
					id := fmt.Sprintf("%d-%d", os.Getpid(), ids.Add(1))
					if _, err = s.Append(context.Background(), id, 0, bytes.NewReader(content)); err == nil {
						_, err = s.Commit(context.Background(), id, d, blob.Appended{})
					}
				}
				if err != nil {
					panic(err)
				}
				mu.Lock()
				os.Stdout.WriteString(d.String() + "\n")
				mu.Unlock()
			}
		}()
	}
	time.Sleep(time.Minute)
	os.Exit(1)
}

// A full disk is told apart, leaves nothing behind, and is no obstacle once there is space again.
func TestDiskFull(t *testing.T) {
	dir := tmpfs(t, 4<<20)
	s := open(t, dir)
	small := put(t, s, random(1000))
	for _, size := range []int{1 << 20, 5 << 20} {
		var err error
		for range 10 {
			content := random(size)
			if err = s.Put(t.Context(), blob.Sum(blob.SHA256, content), int64(size), bytes.NewReader(content)); err != nil {
				break
			}
		}
		if !errors.Is(err, blob.ErrFull) {
			t.Errorf("Put: %v, want ErrFull", err)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "staging")); len(left) != 0 {
			t.Errorf("staging holds %v", left)
		}
	}
	if _, err := s.Append(t.Context(), "a", 0, bytes.NewReader(random(8<<10))); err != nil {
		t.Errorf("a little does fit: %v", err)
	}
	if _, err := s.Append(t.Context(), "a", 8<<10, bytes.NewReader(random(5<<20))); !errors.Is(err, blob.ErrFull) {
		t.Errorf("Append: %v, want ErrFull", err)
	}
	if _, err := s.Append(t.Context(), "a", 8<<10, strings.NewReader("x")); err != nil {
		t.Errorf("Append after one that did not fit: %v", err)
	}
	if _, err := read(s, small); err != nil {
		t.Errorf("what is stored can be read: %v", err)
	}
	for info := range s.Blobs(t.Context()) {
		if err := s.Delete(t.Context(), info.Digest, time.Time{}); err != nil {
			t.Error(err)
		}
	}
	put(t, s, random(2<<20))
}

// tmpfs mounts a small file system, or skips.
func tmpfs(t *testing.T, size int) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs root on Linux, to mount a small tmpfs")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+strconv.Itoa(size), "skl-test", dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

// BenchmarkPut16 asks how many durable blobs 16 clients store each second.
func BenchmarkPut16(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s := open(b, b.TempDir())
			template := random(size)
			b.SetBytes(int64(size))
			var n atomic.Int64
			b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				content := bytes.Clone(template)
				for pb.Next() {
					copy(content, strconv.FormatInt(n.Add(1), 10)+"/")
					d := blob.Sum(blob.SHA256, content)
					if err := s.Put(context.Background(), d, int64(size), bytes.NewReader(content)); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "blobs/s")
		})
	}
}

// BenchmarkOpen asks how many pulls a second the store can feed.
func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s := open(b, b.TempDir())
			d := put(b, s, random(size))
			time.Sleep(150 * time.Millisecond)
			b.SetBytes(int64(size))
			for b.Loop() {
				c, err := s.Open(context.Background(), d)
				if err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}
