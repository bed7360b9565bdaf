package index

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/testdata/long"
)

// helperEnv holds the root, the cache and the seed of TestHelper.
const helperEnv = "SKL_INDEX_TEST_HELPER"

// TestHelper is another process that edits and indexes until it is killed. Alone it does nothing.
func TestHelper(t *testing.T) {
	args := filepath.SplitList(os.Getenv(helperEnv))
	if len(args) != 3 {
		t.Skip("it is for other tests")
	}
	dir, cache := args[0], args[1]
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(context.Background(), dir, Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	fmt.Println("ready")
	for i := 0; ; i++ {
		put(t, dir, fmt.Sprintf("d/f%d.go", r.IntN(40)), module(r))
		switch {
		case i%20 == 19: // all in one go, with the settings for that
			if _, err = x.Invalidate(context.Background(), glob.Glob{}); err == nil {
				err = x.store().Bulk(context.Background(), true)
			}
			fallthrough
		case i%3 == 0:
			if err == nil {
				_, err = x.Update(context.Background(), glob.Glob{}, i%2 == 0)
			}
		default:
			_, err = x.Query(context.Background(), compiled(t, "common word"))
		}
		if err != nil {
			fmt.Println("error:", err)
			t.Fatal(err)
		}
	}
}

// module is a Go file with functions of random names.
func module(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("package d\n")
	for range 1 + r.IntN(20) {
		fmt.Fprintf(&b, "\n// Doc of a common word%d.\nfunc Func%d() { call%d(\"word%d\") }\n", r.IntN(50), r.IntN(100), r.IntN(10), r.IntN(50))
	}
	return b.String()
}

func startHelper(t *testing.T, dir, cache string, seed uint64) (kill func(), output *bytesBehindLock) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	c.Env = append(os.Environ(), helperEnv+"="+strings.Join([]string{dir, cache, strconv.FormatUint(seed, 10)}, string(os.PathListSeparator)))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skip("no other process can be started: ", err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the helper does not start: %v", err)
		}
		if strings.TrimSpace(line) == "ready" {
			break
		}
	}
	output = new(bytesBehindLock)
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(output, lines)
	}()
	return sync.OnceFunc(func() {
		c.Process.Kill()
		<-done
		c.Wait()
	}), output
}

type bytesBehindLock struct {
	mu sync.Mutex
	b  []byte
}

func (b *bytesBehindLock) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b = append(b.b, p...)
	return len(p), nil
}

func (b *bytesBehindLock) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.b)
}

var crashAsks = []string{"common word7", "common", `(definition "Func7")`, `(code "Func1")`, `(references "call3")`, `(literal "word1")`, `(regex "call[12]\\(")`, `(file "d/*1.go")`, `(intersect (grep "common") (literal "word3"))`}

// A process that is killed at any moment, while it indexes and edits, leaves an index that answers as one that is built anew.
// Meanwhile another uses the same index.
func TestKilled(t *testing.T) {
	times := long.Of(1, 4, 20)
	r := long.Rand(t, 7)
	dir, cache := plant(t, nil), t.TempDir()
	for i := range 40 {
		put(t, dir, fmt.Sprintf("d/f%d.go", i), module(r))
	}
	x := openRepo(t, dir, Options{CacheDir: cache})
	begin := time.Now()
	for n := range times {
		if time.Since(begin) > 60*time.Second {
			t.Logf("stopped after %d of %d times: the machine is busy", n, times)
			break
		}
		kill, output := startHelper(t, dir, cache, r.Uint64())
		end := time.Now().Add(time.Duration(5+r.IntN(250)) * time.Millisecond)
		for {
			q := compiled(t, crashAsks[r.IntN(len(crashAsks))])
			if _, err := x.Query(context.Background(), q); err != nil {
				t.Errorf("beside another process, %s: %v", q.Expr, err)
			}
			if time.Now().After(end) {
				break
			}
		}
		kill()
		if s := output.String(); strings.Contains(s, "error:") {
			t.Fatalf("the other process says %s", s)
		}
		opened := openRepo(t, dir, Options{CacheDir: cache})
		fresh := openRepo(t, dir, Options{})
		for _, ask := range crashAsks {
			want := answers(fresh, ask)
			same(t, fmt.Sprintf("kill %d, the process beside, %s", n, ask), answers(x, ask), want)
			same(t, fmt.Sprintf("kill %d, one that opens it, %s", n, ask), answers(opened, ask), want)
		}
		if t.Failed() {
			return
		}
	}
}

// answers is all that an answer says but the generation.
func answers(r *repo, ask string) []string {
	got := r.ask(ask)
	got.Generation = 0
	return strings.Split(asJSON(r.t, got), "\n")
}

// A database that is damaged is built anew, and until then no answer is wrong: with any pages overwritten, with its end cut off, while it is closed
// and while it is open.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	dir := plant(t, nil)
	for i := range 60 {
		put(t, dir, fmt.Sprintf("d/f%d.go", i), module(r))
	}
	asks := append([]string{`(children "Func7")`, `(union (grep "word1") (grep "word2"))`, "where is the doc of a common word"}, crashAsks...)
	fresh := openRepo(t, dir, Options{})
	want := map[string][]string{}
	for _, ask := range asks {
		want[ask] = answers(fresh, ask)
	}
	cache := t.TempDir()
	built := openRepo(t, dir, Options{CacheDir: cache})
	built.update()
	if err := built.store().Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := built.Close(); err != nil {
		t.Fatal(err)
	}
	path := database(t, cache, dir)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	times := long.Of(4, 12, 60)
	rebuilt, unnoticed := 0, 0
	for n := range times {
		bad := slices.Clone(good)
		what := ""
		switch n % 4 {
		case 0:
			bad = bad[:r.IntN(len(bad))]
			what = fmt.Sprintf("cut to %d of %d bytes", len(bad), len(good))
		case 1:
			at := r.IntN(len(bad))
			what = fmt.Sprintf("4 KiB of noise at %d", at)
			for i := at; i < min(at+4096, len(bad)); i++ {
				bad[i] = byte(r.Uint32())
			}
		case 2:
			at := r.IntN(len(bad)) &^ 4095
			what = fmt.Sprintf("4 KiB of zeros at %d", at)
			clear(bad[at:min(at+4096, len(bad))])
		case 3:
			what = "single bytes"
			for range 20 {
				bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			}
		}
		cache := t.TempDir()
		at := filepath.Join(Dir(cache, dir), filepath.Base(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := Open(context.Background(), dir, Options{CacheDir: cache})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		y := &repo{x, t, dir}
		wrong := 0
		for _, ask := range asks {
			got, err := x.Query(context.Background(), compiled(t, ask))
			if err != nil {
				t.Errorf("%s: %s: %v", what, ask, err)
				continue
			}
			y.check(compiled(t, ask), got)
			if !slices.Equal(answers(y, ask), want[ask]) {
				wrong++
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if database(t, cache, dir) != at {
			rebuilt++
		} else if wrong > 0 {
			unnoticed++
			t.Logf("%s: %d of %d answers differ and nothing was noticed", what, wrong, len(asks))
		}
		if wrong > 0 && database(t, cache, dir) != at {
			t.Logf("%s: %d of %d answers differed before it was noticed", what, wrong, len(asks))
		}
	}
	t.Logf("of %d damaged databases %d were built anew", times, rebuilt)
	// The full text tables have no checksums, so that single bytes of them may be others unnoticed.
	if unnoticed > times/10 {
		t.Errorf("%d of %d damaged databases give other answers", unnoticed, times)
	}
}

// database returns the path of the database of a root.
func database(t *testing.T, cache, root string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(Dir(cache, root), "index-*.db"))
	if err != nil || len(list) != 1 {
		t.Fatalf("databases: %q, %v", list, err)
	}
	return list[0]
}

// Damage that is noticed while an index is in use, by several at once, makes it build anew for all of them.
func TestDamagedWhileOpen(t *testing.T) {
	r := newRepo(t, shop)
	r.update()
	want := r.names("cart")
	for round := range 3 {
		old := r.store()
		batch, err := old.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// A row that names no piece, as a page of another time might have it.
		stray := store.Record{File: store.File{Path: fmt.Sprintf("stray%d", round)}, Terms: [][]byte{[]byte("cart price e_cart h_00000000")}}
		if err := batch.Put(&stray); err != nil {
			t.Fatal(err)
		}
		if _, err := batch.Commit(); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for n := range 6 {
			wait.Go(func() {
				for range 3 {
					var err error
					if n%3 == 2 {
						_, err = r.Update(context.Background(), glob.Glob{}, true)
					} else {
						_, err = r.Query(context.Background(), compiled(t, "cart"))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		same(t, "cart", r.names("cart"), want)
	}
	// Another format, made by another skl while this one runs.
	if err := store.Drop(context.Background(), r.store().Dir()); err != nil {
		t.Fatal(err)
	}
	other := openRepo(t, r.dir, Options{CacheDir: r.o.CacheDir})
	same(t, "dropped, opened anew", other.names("cart"), want)
	same(t, "dropped while open", r.names("cart"), want)
	r.put("new.go", "package n\n\nfunc Brandnew() {}\n")
	same(t, "who had it open", r.names("brandnew"), []string{"new.go Brandnew"})
	same(t, "who opened it", other.names("brandnew"), []string{"new.go Brandnew"})
}
