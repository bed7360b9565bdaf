package registrytest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// testAtomic lets updates fail, alone and beside others.
func testAtomic(t *testing.T, s meta.Store) {
	fails := errors.New("fails")
	err := s.Update(t.Context(), func(tx *meta.Tx) error {
		return errors.Join(tx.CreateNamespace(t.Context(), meta.Namespace{Name: "acme"}), tx.CreateRelease(t.Context(), release("acme/a@1.0.0", meta.Approved)), fails)
	})
	if !errors.Is(err, fails) {
		t.Fatalf("error %v", err)
	}
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Namespace(t.Context(), "acme"); return err })

	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := s.Update(t.Context(), func(tx *meta.Tx) error {
				if err := tx.PutSetting(t.Context(), fmt.Sprint("k", i), []byte("v")); err != nil {
					return err
				}
				if i%3 == 0 {
					return fails
				}
				return nil
			})
			if errors.Is(err, fails) != (i%3 == 0) || err != nil && !errors.Is(err, fails) {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range 60 {
		want := error(nil)
		if i%3 == 0 {
			want = meta.ErrNotFound
		}
		refused(t, s, want, func(tx *meta.Tx) error { _, err := tx.Setting(t.Context(), fmt.Sprint("k", i)); return err })
	}
}

func testPanic(t *testing.T, s meta.Store) {
	for _, run := range []func(context.Context, func(*meta.Tx) error) error{s.Update, s.View} {
		func() {
			defer func() {
				if recover() != "oops" {
					t.Error("the panic did not reach its caller")
				}
			}()
			run(t.Context(), func(tx *meta.Tx) error {
				tx.PutSetting(t.Context(), "k", nil)
				panic("oops")
			})
		}()
	}
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Setting(t.Context(), "k"); return err })

	var kept *meta.Tx
	update(t, s, func(tx *meta.Tx) error { kept = tx; return nil })
	if err := kept.PutSetting(t.Context(), "k", nil); err == nil {
		t.Error("a Tx wrote after its func had returned")
	}
}

func testView(t *testing.T, s meta.Store) {
	if err := s.View(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", nil) }); err == nil {
		t.Error("a view wrote")
	}
	update(t, s, func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", []byte("old")) })
	get := func(tx *meta.Tx) string {
		v, err := tx.Setting(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		return string(v)
	}
	ask(t, s, func(tx *meta.Tx) (int, error) {
		same(t, get(tx), "old")
		update(t, s, func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", []byte("new")) })
		same(t, get(tx), "old")
		return 0, nil
	})
	ask(t, s, func(tx *meta.Tx) (int, error) { same(t, get(tx), "new"); return 0, nil })
}

func testCancel(t *testing.T, s meta.Store) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, run := range []func(context.Context, func(*meta.Tx) error) error{s.Update, s.View} {
		if err := run(gone, func(*meta.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	// One waits behind another, and goes away.
	var wg sync.WaitGroup
	waiting, cancel := context.WithCancel(t.Context())
	ran := false
	update(t, s, func(tx *meta.Tx) error {
		wg.Go(func() {
			if err := s.Update(waiting, func(tx *meta.Tx) error { ran = true; return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		time.Sleep(10 * time.Millisecond)
		cancel()
		wg.Wait()
		return nil
	})
	if ran {
		t.Error("the func of a caller that went away ran")
	}
	// One goes away while it runs: nothing of it happens.
	running, cancel := context.WithCancel(t.Context())
	if err := s.Update(running, func(tx *meta.Tx) error {
		err := tx.PutSetting(t.Context(), "k", nil)
		cancel()
		return err
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Setting(t.Context(), "k"); return err })
}

func testCreateOnce(t *testing.T, s meta.Store) {
	var wg sync.WaitGroup
	var won, lost atomic.Int64
	for i := range 100 {
		wg.Go(func() {
			r := release("acme/a@1.0.0", meta.Approved)
			r.Publisher = strconv.Itoa(i)
			err := s.Update(t.Context(), func(tx *meta.Tx) error {
				if err := tx.CreateRelease(t.Context(), r); err != nil {
					return err
				}
				n, err := tx.LogSize(t.Context())
				if err != nil {
					return err
				}
				return tx.AppendLog(t.Context(), n, []byte(r.Publisher), n, [][32]byte{{}})
			})
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, meta.ErrExists):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 99 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
	same(t, ask(t, s, func(tx *meta.Tx) (int64, error) { return tx.LogSize(t.Context()) }), 1)
}

func testSerial(t *testing.T, s meta.Store) {
	var wg sync.WaitGroup
	update(t, s, func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "n", []byte("0")) })
	read := func(tx *meta.Tx) (int, error) {
		v, err := tx.Setting(t.Context(), "n")
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(v))
	}
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if err := s.Update(t.Context(), func(tx *meta.Tx) error {
					n, err := read(tx)
					if err != nil {
						return err
					}
					return tx.PutSetting(t.Context(), "n", []byte(strconv.Itoa(n+1)))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	same(t, ask(t, s, read), 200)
}

func testReopen(t *testing.T, open func(testing.TB, string) meta.Store) {
	dir := t.TempDir()
	s := open(t, dir)
	create(t, s, release("acme/a@1.0.0", meta.Approved))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	same(t, getSkill(t, s, "acme", "a").Latest, "1.0.0")
	if got, _ := find(t, s, meta.Search{Text: "a"}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func testClosed(t *testing.T, s meta.Store) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				if s.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", nil) }) != nil {
					return
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if s.View(t.Context(), func(*meta.Tx) error { return nil }) == nil {
		t.Error("a closed store was viewed")
	}
}

// testBackup copies a store that is being written, and opens the copy's file as a whole.
func testBackup(t *testing.T, s meta.Store) {
	create(t, s, release("acme/a@1.0.0", meta.Approved))
	dst := filepath.Join(t.TempDir(), "copy")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", []byte(strconv.Itoa(i))) }); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.Backup(t.Context(), dst); err != nil {
		t.Error(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	close(stop)
	wg.Wait()
	if info, err := os.Stat(dst); err != nil || info.Size() == 0 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if err := s.Backup(t.Context(), dst); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over another: %v", err)
	}
}

// childDir is the variable that makes the suite a process to be killed: the directory of its store.
const childDir = "SKL_META_CHILD"

// releaseOf is what writer w publishes as number n.
func releaseOf(w, n int) meta.Release {
	r := release(fmt.Sprintf("acme/w%d@1.0.%d", w, n), meta.Approved)
	r.Description = fmt.Sprintf("word%d", n)
	return r
}

// writeUntilKilled publishes from several goroutines and says which publishes were acknowledged.
func writeUntilKilled(ctx context.Context, s meta.Store) {
	const writers = 4
	var out sync.Mutex
	for w := range writers {
		go func() {
			for n := 0; ; n++ {
				r := releaseOf(w, n)
				m := manifest(r.Manifest, meta.Approved)
				err := s.Update(context.Background(), func(tx *meta.Tx) error {
					size, err := tx.LogSize(ctx)
					if err != nil {
						return err
					}
					return errors.Join(tx.PutManifest(ctx, m), tx.CreateRelease(ctx, r), tx.PutTag(ctx, "acme/a", fmt.Sprintf("w%d-%d", w, n), m.Digest, day),
						tx.AppendLog(ctx, size, []byte(r.Repo()+"@"+r.Version), size, [][32]byte{{}}))
				})
				if errors.Is(err, meta.ErrExists) {
					continue // of the process before
				}
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println("published", w, n)
				out.Unlock()
			}
		}()
	}
	select {}
}

// testKill kills a process that publishes, again and again, and looks whether each release that it was
// told of is there with its manifest, tag, log entry and search entry, and none other in part.
func testKill(t *testing.T, open func(testing.TB, string) meta.Store) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	for round := range rounds {
		acknowledged := publishAndKill(t, dir, time.Duration(20+37*round)*time.Millisecond)
		s := open(t, dir)
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		logged := map[string]bool{}
		for _, r := range ask(t, s, func(tx *meta.Tx) ([][]byte, error) { return tx.LogRecords(t.Context(), 0, 1<<30) }) {
			logged[string(r)] = true
		}
		for _, a := range acknowledged {
			var w, n int
			if _, err := fmt.Sscan(a, &w, &n); err != nil {
				t.Fatalf("%q: %v", a, err)
			}
			r := releaseOf(w, n)
			if !logged[r.Repo()+"@"+r.Version] {
				t.Fatalf("%s was acknowledged and is not there", a)
			}
		}
		visible := 0
		for w := range 8 {
			for _, r := range ask(t, s, func(tx *meta.Tx) ([]meta.Release, error) { return tx.Releases(t.Context(), "acme", fmt.Sprint("w", w)) }) {
				visible++
				if !logged[r.Repo()+"@"+r.Version] {
					t.Errorf("%s@%s is there without its log entry", r.Repo(), r.Version)
				}
				tag := fmt.Sprintf("w%d-%s", w, strings.TrimPrefix(r.Version, "1.0."))
				ask(t, s, func(tx *meta.Tx) (meta.Manifest, error) { return tx.ManifestByTag(t.Context(), "acme/a", tag) })
			}
		}
		if visible != len(logged) || len(acknowledged) == 0 {
			t.Errorf("%d releases, %d log entries, %d acknowledged in this round", visible, len(logged), len(acknowledged))
		}
		for _, sk := range ask(t, s, func(tx *meta.Tx) ([]meta.Skill, error) { return tx.Skills(t.Context(), "acme", "", 0) }) {
			if got, _ := find(t, s, meta.Search{Text: sk.Name + " " + sk.Description}); len(got) != 1 {
				t.Errorf("%s is found as %v", sk.Name, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// publishAndKill runs this test binary as writeUntilKilled, kills it some time after its first
// publish, and returns what it acknowledged.
func publishAndKill(t *testing.T, dir string, after time.Duration) (acknowledged []string) {
	top, _, _ := strings.Cut(t.Name(), "/")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+top+"$", "-test.timeout=60s")
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	pipe, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		what, is := strings.CutPrefix(lines.Text(), "published ")
		if !is {
			t.Errorf("the process said %q", lines.Text())
			break
		}
		if acknowledged = append(acknowledged, what); len(acknowledged) == 1 {
			time.AfterFunc(after, func() { child.Process.Kill() })
		}
	}
	child.Process.Kill()
	child.Wait()
	return acknowledged
}
