package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultRetries is how often a request is sent again when a Service says nothing.
const DefaultRetries = 4

const (
	firstWait = 500 * time.Millisecond // before the first retry; doubled for each one after it
	longWait  = 8 * time.Second        // longest wait that the service did not name
)

// Ask sends body as JSON to path below the service's base, and gives the
// stream of events that answers. Requests refused for load or rate, and those
// that found no connection, are sent again; any other answer than a stream of
// events is an error. The caller closes the stream.
func (s Service) Ask(ctx context.Context, path string, body any) (*Events, error) {
	text, err := encode(body)
	if err != nil {
		return nil, diag.New(diag.Failed, model.CodeRejected, "the request to %s cannot be written: %s", s.Name, s.Say(err.Error()))
	}
	res, err := s.send(ctx, s.Base.JoinPath(path).String(), text)
	if err := s.refused(ctx, res, err); err != nil {
		closeBody(res)
		return nil, err
	}
	return newEvents(res.Body), nil
}

// encode is JSON in UTF-8, also where body holds raw JSON that is not.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(bytes.TrimSpace(b.Bytes()), []byte("\uFFFD")), nil
}

// send gives the last response, or the last error of the connection.
func (s Service) send(ctx context.Context, address string, body []byte) (*http.Response, error) {
	for sent := 0; ; sent++ {
		res, err := s.post(ctx, address, body)
		if ctx.Err() != nil {
			closeBody(res)
			return nil, ctx.Err()
		}
		wait, again := next(res, sent)
		if sent >= s.retries() || !again {
			return res, err
		}
		closeBody(res)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func (s Service) retries() int {
	if s.Retries == 0 {
		return DefaultRetries
	}
	return max(0, s.Retries)
}

func (s Service) post(ctx context.Context, address string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "skl")
	for name, value := range s.Header {
		req.Header.Set(name, value)
	}
	return s.HTTP.Do(req)
}

// next says whether a request is worth sending again, and after which time;
// the nil response is a connection that failed.
func next(res *http.Response, sent int) (time.Duration, bool) {
	wait := min(firstWait<<min(sent, 10), longWait)
	wait -= rand.N(wait / 4) // so that many clients do not come back together
	if res == nil {
		return wait, true
	}
	if named, ok := retryAfter(res.Header); ok {
		wait = named
	}
	if res.StatusCode < 400 || wait > MaxWait {
		return 0, false
	}
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return wait, true
	case "false":
		return 0, false
	}
	return wait, busy(res.StatusCode)
}

// busy says whether the same request may have another answer later.
func busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
}

// retryAfter is the time that a service asks to wait: the header in
// milliseconds, in seconds or as a date.
func retryAfter(h http.Header) (time.Duration, bool) {
	for _, form := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(h.Get(form.name), 64)
		if (err == nil || math.IsInf(n, 1)) && n >= 0 {
			return time.Duration(min(n*float64(form.unit), float64(math.MaxInt64/2))), true
		}
	}
	if date, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, time.Until(date)), true
	}
	return 0, false
}

func closeBody(res *http.Response) {
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
}
