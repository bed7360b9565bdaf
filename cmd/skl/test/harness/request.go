package harness

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// askHTTP implements: ask STATUS METHOD URL [NAME: VALUE…], one request of a program or browser that is not skl. Header
// "Host" is the host that it names, "Body" its body.
func askHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: ask STATUS METHOD URL [NAME: VALUE…]")
	}
	r, err := http.NewRequest(args[1], args[2], nil)
	ts.Check(err)
	for _, line := range args[3:] {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Host":
			r.Host = value
		case "Body":
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(value)), int64(len(value))
		default:
			r.Header.Add(name, value)
		}
	}
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	ts.Check(err)
	ts.Logf("[answer]\n%s\n%s", resp.Status, text)
	if got := resp.Status[:3]; got != args[0] {
		ts.Fatalf("%s %s answers %s, want %s", args[1], args[2], got, args[0])
	}
}
