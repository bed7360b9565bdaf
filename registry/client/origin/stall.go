package origin

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// defaultStall is how long a request may wait for a byte.
const defaultStall = time.Minute

// A watch gives a request up when no byte came for a while. It runs only while somebody waits for the server.
type watch struct {
	after  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	cause  func() error
	what   string
}

// stalled starts a watch over req and returns req under it.
func (c *Client) stalled(req *http.Request) (*http.Request, *watch) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{after: c.Stall, cancel: cancel, cause: func() error { return context.Cause(ctx) }, what: req.Method + " " + shown(req.URL)}
	if w.after <= 0 {
		w.after = defaultStall
	}
	w.timer = time.AfterFunc(w.header(req), func() { cancel(errStalled) })
	return req.WithContext(ctx), w
}

// header is how long the first byte may take. Who asks for something is answered at once; a server that is sent something may
// have to look at it first, and the transport has a limit for that.
func (w *watch) header(req *http.Request) time.Duration {
	if req.Method == http.MethodGet || req.Method == http.MethodHead || strings.HasSuffix(req.URL.Path, "/git-upload-pack") {
		return w.after
	}
	return w.after + 2*time.Minute
}

// err is err, or what became of the request when the watch ended it.
func (w *watch) err(err error) error {
	if err == nil || w.cause() != errStalled {
		return err
	}
	e := diag.New(diag.Failed, "timeout", "%s: the server sent no byte for %s", w.what, w.after)
	e.Retryable = true
	return e
}

// body is the body of a response under the watch.
func (w *watch) body(r io.ReadCloser) io.ReadCloser { return &watched{ReadCloser: r, watch: w} }

type watched struct {
	io.ReadCloser
	watch *watch
}

func (b *watched) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.watch.after)
	n, err := b.ReadCloser.Read(p)
	b.watch.timer.Stop()
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, b.watch.err(err)
}

func (b *watched) Close() error {
	b.watch.timer.Stop()
	err := b.ReadCloser.Close()
	b.watch.cancel(nil)
	return err
}
