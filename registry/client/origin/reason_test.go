package origin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// TestReasonOfClosed wants one word for a connection that was closed, whenever net/http noticed it.
func TestReasonOfClosed(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, errors.New("http: server closed idle connection")} {
		if got := Reason(&url.Error{Op: "Get", URL: "http://x", Err: err}); got.Error() != "the server closed the connection" {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestUnanswered wants words for people, the system's own only as a detail, and a hint, when no answer comes.
func TestUnanswered(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := free.Addr().String()
	free.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for {
			c, err := closing.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	nowhere := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}}
	for _, c := range []struct {
		url, want, hint string
		client          *Client
	}{
		{"http://" + refusing + "/a?secret=1", "cannot reach " + refusing + " for http://" + refusing + "/a: connection refused", "nothing listens there", &Client{}},
		{"http://" + closing.Addr().String() + "/a", "cannot reach " + closing.Addr().String() + " for http://" + closing.Addr().String() + "/a: the server closed the connection", "try again", &Client{}},
		{"https://skl.invalid/a", "cannot reach skl.invalid for https://skl.invalid/a: its address cannot be looked up", "HTTPS_PROXY", &Client{resolver: nowhere}},
		{"https://skl.invalid/a", "cannot reach skl.invalid through the proxy " + refusing + " for https://skl.invalid/a: connection refused", "HTTPS_PROXY and NO_PROXY",
			&Client{Getenv: func(k string) string { return map[string]string{"HTTPS_PROXY": "http://" + refusing}[k] }}},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.client.Do(req)
		stop()
		e, ok := errors.AsType[*diag.Error](err)
		if !ok || e.Message != c.want || e.Code != "network" || !e.Retryable || len(e.Hints) == 0 || !strings.Contains(e.Hints[0], c.hint) {
			t.Errorf("%s: %#v, want %q with a hint on %q", c.url, err, c.want, c.hint)
			continue
		}
		var detailed interface{ Detail() string }
		if !errors.As(err, &detailed) || !strings.HasPrefix(detailed.Detail(), "GET http") || strings.Contains(detailed.Detail(), "secret") {
			t.Errorf("%s: no detail, or one with a secret: %v", c.url, detailed)
		}
	}
}
