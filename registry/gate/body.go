package gate

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Linger is how long a server waits for the rest of a body that nobody reads.
const Linger = 2 * time.Second

// slowestRate is how many bytes have to move in a second, on average after the first stall: else
// a client could hold on for ever with a byte a minute.
const slowestRate = 4 << 10

// A Body is the body of a request that its client has to send. It counts what is read, and moves the deadline of the connection: each byte
// has its time, and a body that nobody reads has [Linger] once the answer is decided. One goroutine uses it.
type Body struct {
	io.ReadCloser
	control  *http.ResponseController
	still    bool          // another reader moves the deadlines
	stall    time.Duration // without a byte
	transfer *Transfer
	want     int64     // bytes that were announced, -1 if they were not
	done     bool      // nothing comes any more
	began    time.Time // the first Read
	n        int64
}

// NewBody takes the body of r, which has stall for each byte. With still, only the first byte is waited for, and a reader
// further in has deadlines of its own.
func NewBody(control *http.ResponseController, r *http.Request, stall time.Duration, still bool) *Body {
	b := &Body{ReadCloser: r.Body, control: control, still: still, stall: stall, want: r.ContentLength,
		done: r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0}
	if !b.done {
		control.SetReadDeadline(time.Now().Add(stall)) // whoever reads the body moves it on; the handler may be none of them
	}
	return b
}

// Of says which transfer the body belongs to.
func (b *Body) Of(t *Transfer) { b.transfer = t }

// Bytes is how many were read.
func (b *Body) Bytes() int64 { return b.n }

// Due is the time by which the next bytes have to move, of a transfer that began then and moved n.
func (b *Body) Due(now, began time.Time, n int64) time.Time {
	next, end := now.Add(b.stall), began.Add(b.stall+time.Duration(n/slowestRate)*time.Second)
	if end.Before(next) {
		return end
	}
	return next
}

// Settle is called before the answer is written: net/http reads what is left of a body that nobody wanted before it sends one.
func (b *Body) Settle() {
	if !b.done {
		b.control.SetReadDeadline(time.Now().Add(Linger))
	}
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if !b.still && !b.done {
		now := time.Now()
		if b.began.IsZero() {
			b.began = now
		}
		b.control.SetReadDeadline(b.Due(now, b.began, b.n))
	}
	defer b.transfer.Waiting()()
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	b.transfer.Moved(int64(n))
	if !b.done && (errors.Is(err, io.EOF) || b.n == b.want) {
		b.done = true
		b.control.SetReadDeadline(time.Time{}) // what is done with it may take its time
	}
	return n, err
}
