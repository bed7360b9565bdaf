package server

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/registry/meta/metatest"
)

// Metrics of blobs and of gc are there before the first run, and say after one what it did.
func TestMetricsFromTheStart(t *testing.T) {
	cfg := Config{Data: metatest.Dir(t), Addr: "127.0.0.1:0"}
	cfg.GC.Every = Duration(200 * time.Millisecond)
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	page := func() string {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Body.String()
	}
	before := page()
	for _, line := range []string{"skl_registry_blobs 0", "skl_registry_blob_bytes 0", "skl_registry_gc_last_seconds 0",
		`skl_registry_gc_total{what="runs"} 0`, `skl_registry_gc_total{what="failures"} 0`, `skl_registry_gc_total{what="blobs"} 0`, `skl_registry_gc_total{what="bytes"} 0`} {
		if !strings.Contains(before, "\n"+line+"\n") {
			t.Errorf("no %q before the first run", line)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	l, err := s.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		<-done
		s.Close()
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		after := page()
		if !strings.Contains(after, `skl_registry_gc_total{what="runs"} 0`) && !strings.Contains(after, "skl_registry_gc_last_seconds 0\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("gc ran, or did not, and the metrics do not say it")
		}
	}
}

// metricNames are those that Prometheus' client for Go gives to metrics of a process and of Go.
const metricNames = `go_gc_duration_seconds go_gc_gogc_percent go_gc_gomemlimit_bytes go_goroutines go_info go_memstats_alloc_bytes
go_memstats_alloc_bytes_total go_memstats_buck_hash_sys_bytes go_memstats_frees_total go_memstats_gc_sys_bytes go_memstats_heap_alloc_bytes
go_memstats_heap_idle_bytes go_memstats_heap_inuse_bytes go_memstats_heap_objects go_memstats_heap_released_bytes go_memstats_heap_sys_bytes
go_memstats_last_gc_time_seconds go_memstats_mallocs_total go_memstats_mcache_inuse_bytes go_memstats_mcache_sys_bytes
go_memstats_mspan_inuse_bytes go_memstats_mspan_sys_bytes go_memstats_next_gc_bytes go_memstats_other_sys_bytes go_memstats_stack_inuse_bytes
go_memstats_stack_sys_bytes go_memstats_sys_bytes go_sched_gomaxprocs_threads go_threads process_cpu_seconds_total process_max_fds
process_network_receive_bytes_total process_network_transmit_bytes_total process_open_fds process_resident_memory_bytes process_start_time_seconds
process_virtual_memory_bytes process_virtual_memory_max_bytes`

// TestMetricsPage compares the page with what Prometheus' own client for Go wrote of the same requests (testdata/metrics.golden),
// and looks whether values of the process and of Go are believable.
func TestMetricsPage(t *testing.T) {
	runtime.GC() // there is a last one
	s, err := Open(t.Context(), Config{Data: metatest.Dir(t), Replica: "one"}, WithVersion("1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := s.metrics
	m.request("v2", "GET", 200, 3*time.Millisecond, 0, 1234567890)
	m.request("v2", "BREW", 404, 70*time.Second, 12, 1)
	m.request("api", "PUT", 201, 300*time.Microsecond, 5e15, 0)
	m.request("a\"b\\c\nd", "PUT", 201, 1500*time.Microsecond, 0, 0)
	m.blobs.Store(3)
	m.blobSize.Store(123456789)
	m.collected(registry.GCReport{Drafts: 1, Links: 2, Blobs: 3, Bytes: 4567890123}, nil)
	m.collected(registry.GCReport{Blobs: 99}, errors.New("disk full"))
	m.gcLast.Store(1790000000)
	s.gate = gate.New(gate.Options{Share: 2, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gated := s.gate.Listener(l)
	defer gated.Close()
	for range 3 { // of which one gives way
		out, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		in, err := gated.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
	}
	s.pair = &pair{loaded: &tls.Certificate{Leaf: &x509.Certificate{NotAfter: time.Unix(1800000000, 0)}}}
	w := httptest.NewRecorder()
	m.page.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if got := w.Header().Get("Content-Type"); w.Code != 200 || got != exposition {
		t.Errorf("%d %s", w.Code, got)
	}

	line := regexp.MustCompile(`^([a-z_]+)((?:_bucket|_sum|_count)?(?:\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})?) (\S+)$`)
	values, own, names, name := map[string]float64{}, "", []string(nil), ""
	for text := range strings.Lines(w.Body.String()) {
		text = strings.TrimSuffix(text, "\n")
		if rest, ok := strings.CutPrefix(text, "# HELP "); ok {
			name, _, _ = strings.Cut(rest, " ")
			names = append(names, name)
		} else if !strings.HasPrefix(text, "# TYPE "+name+" ") {
			parts := line.FindStringSubmatch(text)
			if parts == nil || !strings.HasPrefix(parts[1], name) {
				t.Fatalf("line of %s: %q", name, text)
			}
			if values[parts[1]+parts[2]], err = strconv.ParseFloat(parts[3], 64); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if strings.HasPrefix(name, "skl_") && !strings.HasPrefix(text, "skl_registry_db_bytes ") {
			own += text + "\n"
		}
	}
	want, err := os.ReadFile(filepath.Join("testdata", "metrics.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if own != string(want) {
		t.Errorf("metrics of the registry:\n%s\nwant:\n%s", own, want)
	}
	if !slices.IsSorted(names) {
		t.Errorf("the names are not in order: %v", names)
	}
	for _, name := range strings.Fields(metricNames) {
		if !slices.Contains(names, name) && (runtime.GOOS == "linux" || strings.HasPrefix(name, "go_")) {
			t.Errorf("there is no %s", name)
		}
	}
	now := float64(time.Now().Unix())
	for name, bounds := range map[string][2]float64{
		"skl_registry_db_bytes": {1000, 1e9}, "process_start_time_seconds": {now - 3600, now + 5}, "process_cpu_seconds_total": {0, 3600},
		"process_resident_memory_bytes": {1e6, 1e11}, "process_virtual_memory_bytes": {1e6, 1e14}, "process_open_fds": {3, 1e6}, "process_max_fds": {3, 1e10},
		"go_goroutines": {1, 1e4}, "go_threads": {1, 1e4}, "go_memstats_alloc_bytes": {1e4, 1e11}, "go_memstats_sys_bytes": {1e6, 1e12},
		"go_memstats_last_gc_time_seconds": {now - 3600, now + 5}, "go_gc_duration_seconds_count": {1, 1e6}, "go_sched_gomaxprocs_threads": {1, 1e4},
		"go_memstats_mallocs_total": {1000, 1e12}, `go_info{version="` + runtime.Version() + `"}`: {1, 1},
	} {
		if value, ok := values[name]; ok && !(value >= bounds[0] && value <= bounds[1]) {
			t.Errorf("%s is %v, want %v", name, value, bounds)
		}
	}
}

// TestScrapes: a page that many want at once is not made for more than maxScrapes of them.
func TestScrapes(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	page := expose(func() []family {
		inside <- struct{}{}
		<-leave
		return nil
	})
	codes := make(chan int)
	ask := func() {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		codes <- w.Code
	}
	for range maxScrapes {
		go ask()
		<-inside
	}
	go ask()
	if code := <-codes; code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	close(leave)
	for range maxScrapes {
		if code := <-codes; code != 200 {
			t.Errorf("%d", code)
		}
	}
	go func() { <-inside }()
	go ask()
	if code := <-codes; code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

// TestPackedMetrics: who asks for gzip gets the same page in gzip, and nobody else does.
func TestPackedMetrics(t *testing.T) {
	const text = "# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n"
	server := httptest.NewServer(expose(func() []family { return []family{one("up", "gauge", "Whether it is up.", 1)} }))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}} // asks for what the test says
	defer client.CloseIdleConnections()
	for _, test := range []struct {
		accept []string
		packed bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZIP ; Q=0.5"}, true},
		{[]string{"deflate, gzip;q=1.0, *;q=0.5"}, true},
		{[]string{"zstd", "gzip"}, true},
		{[]string{"gzip;q=0.2, identity;q=0.1"}, true},
		{[]string{"*, identity;q=0"}, true},
		{[]string{"gzip, identity"}, false}, // as good: the shorter way
		{[]string{"*"}, false},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"gzip;q=high"}, false},
		{[]string{"gzip;q=NaN"}, false},
		{[]string{"gzip;level=9"}, false},
		{[]string{"gzipped, br"}, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Accept-Encoding"] = test.accept
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, encoding := io.Reader(response.Body), response.Header.Get("Content-Encoding")
		if encoding == "gzip" {
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatalf("%q: %v", test.accept, err)
			}
		}
		got, err := io.ReadAll(body)
		response.Body.Close()
		if err != nil || string(got) != text || (encoding == "gzip") != test.packed || response.Header.Get("Content-Type") != exposition || response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %q %v %v", test.accept, got, response.Header, err)
		}
	}

	// The whole way: Go's client asks for gzip by itself, and unpacks.
	s, err := Open(t.Context(), Config{Data: metatest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	whole := httptest.NewServer(s.Handler())
	defer whole.Close()
	response, err := whole.Client().Get(whole.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || !response.Uncompressed || !strings.Contains(string(got), "\nskl_registry_blobs 0\n") {
		t.Errorf("%s, unpacked %v: %s %v", response.Status, response.Uncompressed, got, err)
	}
}

// TestChosenMetrics: a scraper may name the families that it wants.
func TestChosenMetrics(t *testing.T) {
	page := expose(func() []family {
		return []family{one("up", "gauge", "Up.", 1), one("down", "gauge", "Down.", 0), one("upper", "gauge", "Upper.", 2)}
	})
	const up, down, upper = "# HELP up Up.\n# TYPE up gauge\nup 1\n", "# HELP down Down.\n# TYPE down gauge\ndown 0\n", "# HELP upper Upper.\n# TYPE upper gauge\nupper 2\n"
	for query, want := range map[string]string{"": down + up + upper, "?name[]=up": up, "?name%5B%5D=upper&name[]=down": down + upper, "?name[]=left": "", "?name=up": down + up + upper} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest("GET", "/metrics"+query, nil))
		if got := w.Body.String(); w.Code != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", query, w.Code, got, want)
		}
	}
}
