package origin_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A server that stops sending, before its header or in its body, ends the request; one that is slow, and a reader that takes its time,
// do not.
func TestStall(t *testing.T) {
	const stall = 150 * time.Millisecond
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flush := w.(http.Flusher).Flush
		switch {
		case r.URL.Path == "/header" || strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
			<-release
		case r.URL.Path == "/body":
			io.WriteString(w, "some")
			flush()
			<-release
		case r.URL.Path == "/slow":
			for range 6 {
				io.WriteString(w, "x")
				flush()
				time.Sleep(stall / 3)
			}
		case r.URL.Path == "/push":
			time.Sleep(2 * stall) // looks at what it got
		case r.URL.Path == "/quick":
			io.WriteString(w, strings.Repeat("x", 1<<20))
		}
	}))
	defer server.Close()
	defer close(release)
	for _, test := range []struct {
		method, path, want string
		pause              time.Duration
	}{
		{"GET", "/header", "timeout", 0},
		{"HEAD", "/header", "timeout", 0},
		{"POST", "/r.git/git-upload-pack", "timeout", 0},
		{"GET", "/body", "timeout", 0},
		{"GET", "/slow", "", 0},
		{"POST", "/push", "", 0},
		{"GET", "/quick", "", 2 * stall},
	} {
		c := &origin.Client{Stall: stall}
		req, err := http.NewRequestWithContext(context.Background(), test.method, server.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := c.Do(req)
		if err == nil {
			time.Sleep(test.pause)
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		code := ""
		if e, ok := diag.Own(err); ok {
			code = e.Code
		}
		if code != test.want || (err != nil) != (test.want != "") {
			t.Errorf("%s %s: %v, want code %q", test.method, test.path, err, test.want)
		}
		if took := time.Since(start); took > long.Within(20*stall) {
			t.Errorf("%s %s took %v", test.method, test.path, took)
		}
	}
}
