package oci

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// Limits for slow clients.
const (
	patience = 30 * time.Second // without a byte, unless the Handler says otherwise
	slowest  = 4 << 10          // bytes a second, on average after the first patience
	notice   = time.Second      // by how much a deadline is moved, at least
	piece    = 256 << 10        // bytes that are written under one deadline
)

// A pace moves a deadline while bytes flow.
type pace struct {
	set    func(time.Time) error // of the connection; its error means that there are none
	wait   time.Duration         // without a byte
	began  time.Time
	end    time.Time // the deadline that is set
	amount int64     // bytes so far
}

func (q *request) pace(set func(time.Time) error) pace {
	wait := q.h.Patience
	if wait == 0 {
		wait = patience
	}
	return pace{set: set, wait: wait}
}

// due is the time by which the next byte has to be there.
func (p *pace) due(now time.Time) time.Time {
	end := p.began.Add(p.wait + time.Duration(p.amount/slowest)*time.Second)
	if next := now.Add(p.wait); next.Before(end) {
		return next
	}
	return end
}

// move is called before each transfer.
func (p *pace) move() {
	now := time.Now()
	if p.began.IsZero() {
		p.began = now
	}
	end := p.due(now)
	if end.Sub(p.end) < min(notice, p.wait/4) {
		return
	}
	p.end = end
	_ = p.set(end)
}

// A body reads what the client sends and remembers how that ended, as the
// core cannot tell a client that fell silent from a disk that failed.
type body struct {
	r      io.Reader
	want   int64 // bytes the client announced, -1 if it did not
	pace   pace
	done   bool  // read to the end
	failed error // a *diag.Error
}

// content is the request's body; the deadline of reading it moves on while bytes arrive.
func (q *request) content() *body {
	if q.body == nil {
		q.body = &body{r: q.r.Body, want: q.r.ContentLength, pace: q.pace(http.NewResponseController(q.w).SetReadDeadline)}
		if q.body.want == 0 || q.r.Body == nil {
			q.body.r, q.body.done = http.NoBody, true
		}
	}
	return q.body
}

func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	b.pace.move()
	n, err := b.r.Read(p)
	b.pace.amount += int64(n)
	if err != nil || b.pace.amount == b.want {
		_ = b.pace.set(time.Time{}) // what is done with it may take its time
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && (b.want < 0 || b.pace.amount == b.want || b.done):
		b.done = true
		return n, io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.failed = diag.New(diag.Failed, "timeout", "the body came too slowly")
	default:
		b.failed = diag.New(diag.Failed, "incomplete_upload", "the body ended after %d bytes", b.pace.amount)
	}
	return n, b.failed
}

// write sends content in pieces; a client that does not take them ends the connection.
func (q *request) write(content []byte) {
	p := q.pace(http.NewResponseController(q.w).SetWriteDeadline)
	for len(content) > 0 {
		p.move()
		n, err := q.w.Write(content[:min(len(content), piece)])
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		p.amount += int64(n)
		content = content[n:]
	}
}

// stream sends size bytes of r, which the head of the answer announced.
func (q *request) stream(r io.Reader, size int64) {
	p := q.pace(http.NewResponseController(q.w).SetWriteDeadline)
	for size > 0 {
		p.move()
		n, err := io.CopyN(q.w, r, min(size, 4*piece))
		if err != nil {
			if q.h.Failed != nil && q.r.Context().Err() == nil {
				q.h.Failed(q.r, err)
			}
			panic(http.ErrAbortHandler)
		}
		p.amount += n
		size -= n
	}
}
