package origin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// A Download is one file that is fetched in as many requests as it takes. What the file
// holds already is not asked for again: a server that knows ranges sends the rest, any other
// sends everything and the file starts anew.
//
// Nothing says that the bytes are the right ones: callers that resume what another
// process began check a digest when it is complete.
type Download struct {
	URL    string
	Header http.Header // sent with every request
	Size   int64       // bytes of the whole file; 0 means not known
	Limit  int64       // more bytes are refused; 0 means 1 GiB
	// ETag is the version of which the file holds the start, and of the whole file in the end;
	// "" means that the address never has another content.
	ETag string

	Do       func(*http.Request) (*http.Response, error) // nil: Client.Do
	Check    func(*http.Response) error                  // makes the error of a status that is not 200 or 206; nil: http_status
	Progress func(done, total int64)                     // bytes; total is 0 when not known. May be nil
	Retries  int                                         // after errors of the network or a busy server; 0 means 3
	Pause    time.Duration                               // before the first retry, doubled for each further one; 0 means 500 ms
	Stall    time.Duration                               // without a byte, after which a request is given up; 0 means 60 s
}

const (
	defaultLimit   = 1 << 30
	longestPause   = 30 * time.Second
	enoughProgress = 1 << 20 // bytes after which the retries are counted anew
)

// Download fetches d into f, which is open for reading and writing, and returns the length of the file.
// After an error f holds what came so far, for the next try.
func (c *Client) Download(ctx context.Context, f *os.File, d *Download) (int64, error) {
	t := transfer{client: c, Download: d, file: f, limit: d.Limit, pause: d.Pause, stall: d.Stall}
	if t.limit <= 0 {
		t.limit = defaultLimit
	}
	if d.Size > 0 {
		t.limit = min(t.limit, d.Size)
		if d.Size > t.limit {
			return 0, t.tooLarge()
		}
	}
	if t.pause <= 0 {
		t.pause = 500 * time.Millisecond
	}
	if t.stall <= 0 {
		t.stall = time.Minute
	}
	if t.Do == nil {
		t.Do = c.Do
	}
	retries := d.Retries
	if retries == 0 {
		retries = 3
	}
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	t.have = have
	for failures := 0; ; {
		before := t.have
		done, err := t.attempt(ctx)
		if done || err != nil && (!retryable(err) || ctx.Err() != nil) {
			return t.have, err
		}
		if t.have-before >= enoughProgress {
			failures = 0
		}
		if failures++; failures > retries && err != nil {
			return t.have, err
		}
		if err == nil {
			continue // the file was emptied: ask once more, for everything
		}
		wait := max(t.pause<<min(failures-1, 10), t.after)
		select {
		case <-ctx.Done():
			return t.have, err
		case <-time.After(min(wait, longestPause)):
		}
	}
}

func retryable(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && e.Retryable
}

// A transfer is a Download under way. It belongs to one goroutine.
type transfer struct {
	*Download
	client       *Client
	file         *os.File
	have, limit  int64
	total        int64 // of the whole file, as a partial answer said; 0 means not known
	pause, stall time.Duration
	after        time.Duration // what the server asked to wait
	emptied      bool
}

func (t *transfer) tooLarge() error {
	return diag.New(diag.Failed, "too_large", "%s is larger than %d bytes", t.shown(), t.limit)
}

func (t *transfer) shown() string {
	req, err := http.NewRequest(http.MethodGet, t.URL, nil)
	if err != nil {
		return "the file"
	}
	return shown(req.URL)
}

// attempt sends one request. Neither done nor an error means that the file had to be emptied.
func (t *transfer) attempt(ctx context.Context) (done bool, err error) {
	if t.Size > 0 && t.have == t.Size {
		return true, nil
	}
	if t.have > t.limit {
		if err := t.empty(); err != nil {
			return false, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(t.stall+2*time.Minute, func() { cancel(errStalled) }) // the header has a limit of its own
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return false, diag.New(diag.Failed, "invalid_url", "the address of a download is not a URL")
	}
	for key, values := range t.Header {
		req.Header[key] = values
	}
	// The bytes on the way are the bytes of the file, or offsets mean nothing.
	req.Header.Set("Accept-Encoding", "identity")
	if t.have > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(t.have, 10)+"-")
		if t.ETag != "" && !strings.HasPrefix(t.ETag, "W/") {
			req.Header.Set("If-Range", t.ETag)
		}
	}
	resp, err := t.Do(req)
	if err != nil {
		return false, err
	}
	defer drain(resp)
	switch resp.StatusCode {
	case http.StatusOK:
		if err := t.empty(); err != nil {
			return false, err
		}
		t.ETag, t.total = resp.Header.Get("ETag"), 0
	case http.StatusPartialContent:
		if !t.continues(resp) {
			return false, t.again()
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return false, t.again()
	default:
		return false, t.refused(resp)
	}
	return t.copy(ctx, resp, func() { watch.Reset(t.stall) })
}

var errStalled = errors.New("no byte came for too long")

// continues reports whether resp goes on where the file ends.
func (t *transfer) continues(resp *http.Response) bool {
	text, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	span, total, ok2 := strings.Cut(text, "/")
	first, _, ok3 := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !ok2 || !ok3 || err != nil || start != t.have || t.have == 0 {
		return false
	}
	if n, err := strconv.ParseInt(total, 10, 64); err == nil && t.Size == 0 && n >= t.have {
		t.total = n
	}
	etag := resp.Header.Get("ETag")
	return t.ETag == "" || etag == "" || etag == t.ETag
}

// again empties the file, for an answer that does not fit it; once.
func (t *transfer) again() error {
	if t.emptied {
		return diag.New(diag.Failed, "network", "%s: the server does not send the range that was asked for", t.shown())
	}
	t.emptied = true
	t.ETag = ""
	return t.empty()
}

func (t *transfer) empty() error {
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	_, err := t.file.Seek(0, io.SeekStart)
	t.have = 0
	return err
}

// refused is the error of a status that brings no content.
func (t *transfer) refused(resp *http.Response) error {
	t.after = 0
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		t.after = time.Duration(min(n, 60)) * time.Second
	}
	if t.Check != nil {
		if err := t.Check(resp); err != nil {
			return err
		}
	}
	e := diag.New(diag.Failed, "http_status", "%s answers with status %d", t.shown(), resp.StatusCode)
	e.Retryable = Busy(resp.StatusCode)
	return e
}

// Busy reports whether a status says that the same request may succeed later.
func Busy(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// copy writes the body behind what the file has.
func (t *transfer) copy(ctx context.Context, resp *http.Response, alive func()) (done bool, err error) {
	total := t.Size
	if total <= 0 {
		total = t.total
	}
	if total <= 0 && resp.ContentLength >= 0 {
		total = t.have + resp.ContentLength
	}
	if total > t.limit {
		return false, t.tooLarge()
	}
	buf := make([]byte, 64<<10)
	for {
		alive()
		n, rerr := resp.Body.Read(buf)
		if t.have+int64(n) > t.limit {
			if t.Size > 0 {
				return false, t.mismatch(t.Size)
			}
			return false, t.tooLarge()
		}
		if n > 0 {
			// The offset is said, so that a short write before cannot shift what follows.
			if _, err := t.file.WriteAt(buf[:n], t.have); err != nil {
				return false, err
			}
			t.have += int64(n)
			if t.Progress != nil {
				t.Progress(t.have, total)
			}
		}
		switch {
		case rerr == io.EOF && (total <= 0 || t.have == total):
			return true, nil
		case rerr == io.EOF:
			if t.have > total || resp.StatusCode == http.StatusOK && resp.ContentLength >= 0 {
				return false, t.mismatch(total) // the server thinks that this was all
			}
			rerr = io.ErrUnexpectedEOF
			fallthrough
		case rerr != nil:
			if cause := context.Cause(ctx); cause != nil {
				rerr = cause
			}
			e := diag.New(diag.Failed, "network", "%s broke off after %d bytes: %w", t.shown(), t.have, rerr)
			e.Retryable = true
			return false, e
		}
	}
}

func (t *transfer) mismatch(want int64) error {
	return diag.New(diag.Failed, "size_mismatch", "%s is not %d bytes long, as was announced", t.shown(), want)
}
