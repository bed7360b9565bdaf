package origin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// A flaky serves content with an ETag and misbehaves as its script says, one word for each request.
type flaky struct {
	content []byte
	etag    string
	script  []string
	asked   []string // Range, and If-Range behind a space
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	word, n := "", 0
	if len(f.script) > 0 {
		fmt.Sscanf(f.script[0], "%s %d", &word, &n)
		f.script = f.script[1:]
	}
	w.Header().Set("ETag", f.etag)
	switch word {
	case "status":
		w.WriteHeader(n)
		return
	case "plain":
		r.Header.Del("Range")
	case "shifted": // a range that was not asked for
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", n, len(f.content)-1, len(f.content)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(f.content[n:])
		return
	case "short":
		w.Write(f.content[:n])
		return
	case "part": // less than was asked for, which servers may
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", n, n+9, len(f.content)))
		w.Header().Set("Content-Length", "10")
		w.WriteHeader(http.StatusPartialContent)
		w.Write(f.content[n : n+10])
		return
	case "stall":
		w.Write(f.content[:n])
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case "cut":
		w = &cutAfter{w, n}
	case "change":
		f.content, f.etag = bytes.ToUpper(f.content), `"2"`
		w.Header().Set("ETag", f.etag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

type cutAfter struct {
	http.ResponseWriter
	left int
}

func (c *cutAfter) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.ResponseWriter.Write(p[:c.left])
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func TestDownload(t *testing.T) {
	content := []byte(strings.Repeat("abcdefghij", 10))
	tests := []struct {
		name   string
		have   string
		etag   string
		script string
		change func(*Download)
		code   string
		asked  string
	}{
		{name: "at once", asked: ""},
		{name: "two cuts", script: "cut 30,cut 20", asked: `,bytes=30- "1",bytes=50- "1"`},
		{name: "the rest of an earlier process", have: "abcdefghij", asked: "bytes=10-"},
		{name: "all is there", have: string(content), change: func(d *Download) { d.Size = 100 }, asked: "none"},
		{name: "another content meanwhile", script: "cut 30,change", asked: `,bytes=30- "1"`},
		{name: "an old version", have: "old", etag: `"0"`, asked: `bytes=3- "0"`},
		{name: "a server without ranges", have: "abcde", script: "plain", asked: "bytes=5-"},
		{name: "a range that was not asked for", have: "abcde", script: "shifted 7", asked: "bytes=5-,"},
		{name: "more than there is", have: strings.Repeat("x", 200), asked: "bytes=200-,"},
		{name: "a part of the rest", have: "abcdefghij", script: "part 10", asked: "bytes=10-,bytes=20-"},
		{name: "busy", script: "status 503,status 429", asked: ",,"},
		{name: "a silent server", script: "stall 40", asked: `,bytes=40- "1"`},
		{name: "too many cuts", script: "cut 1,cut 1,cut 1,cut 1,cut 1", code: "network", asked: `,bytes=1- "1",bytes=2- "1",bytes=3- "1"`},
		{name: "not found", script: "status 404", code: "http_status", asked: ""},
		{name: "a status of the caller", script: "status 404", code: "mine", asked: "",
			change: func(d *Download) {
				d.Check = func(*http.Response) error { return diag.New(diag.Refused, "mine", "mine") }
			}},
		{name: "too large", change: func(d *Download) { d.Limit = 99 }, code: "too_large", asked: ""},
		{name: "longer than announced", change: func(d *Download) { d.Size = 99 }, code: "size_mismatch", asked: ""},
		{name: "shorter than announced", change: func(d *Download) { d.Size = 101 }, code: "size_mismatch", asked: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := &flaky{content: content, etag: `"1"`}
			if tt.script != "" {
				server.script = strings.Split(tt.script, ",")
			}
			s := httptest.NewServer(server)
			defer s.Close()
			f, err := os.Create(filepath.Join(t.TempDir(), "f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.WriteString(tt.have)
			last := int64(0)
			d := &Download{URL: s.URL + "/f?secret", ETag: tt.etag, Pause: time.Millisecond, Stall: 100 * time.Millisecond, Progress: func(done, total int64) { last = done }}
			if tt.change != nil {
				tt.change(d)
			}
			n, err := new(Client).Download(context.Background(), f, d)
			asked := strings.Join(server.asked, ",")
			if server.asked == nil {
				asked = "none"
			}
			if asked != tt.asked {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			if tt.code != "" {
				e, ok := errors.AsType[*diag.Error](err)
				if !ok || e.Code != tt.code || strings.Contains(e.Message, "secret") {
					t.Errorf("error %v, want code %s", err, tt.code)
				}
				return
			}
			got, _ := os.ReadFile(f.Name())
			if err != nil || n != int64(len(got)) || !bytes.Equal(got, server.content) || tt.asked != "none" && last != n {
				t.Errorf("%d bytes (progress %d), %v: %q", n, last, err, got)
			}
		})
	}
}

// A context that ends stops the retries, and what came stays.
func TestDownloadCanceled(t *testing.T) {
	s := httptest.NewServer(&flaky{content: make([]byte, 100), script: slices.Repeat([]string{"cut 7"}, 9)})
	defer s.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	n, err := new(Client).Download(ctx, f, &Download{URL: s.URL, Pause: time.Hour})
	if err == nil || n != 7 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// An anonymous transport leaves the 401 to its caller.
func TestAnonymous(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	c := &Client{Credential: func(context.Context, string) (Credential, error) {
		asked++
		return Credential{User: "u", Secret: "p"}, nil
	}}
	req, _ := http.NewRequest(http.MethodGet, s.URL, nil)
	resp, err := c.Anonymous().RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || asked != 0 {
		t.Errorf("%v, %v, asked %d times", resp, err, asked)
	}
	resp.Body.Close()
}
