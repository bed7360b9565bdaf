package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Clients keep the head of the log that they saw last, and refuse another history for ever. A database can go back behind what they
// saw: it is restored to an earlier time, or another server takes over that had not heard of the last commits. So where many processes
// share a database, each head is kept apart from it, with the records that led there, before anybody is told of it. What is kept is
// compared with the database when a process starts, when it has a new connection to write with, and now and then. Records that the
// database lacks are appended again, and what they say counts: see [Registry.goBy]. If it has others in their place nothing is appended until somebody decides: what is kept says what
// was shown.

// Heads is where heads of the log are kept, by the size of the log. What it returns is not trusted.
type Heads interface {
	// KeepHead keeps text under a size, unless there is one: then it returns that. It is nil if text was kept.
	KeepHead(ctx context.Context, size int64, text []byte) (before []byte, err error)
	// Head is what is kept under a size. ErrNotFound of package blob if that is nothing.
	Head(ctx context.Context, size int64) ([]byte, error)
	// LastHead is the largest size under which there is something; 0 if there is nothing.
	LastHead(ctx context.Context) (size int64, err error)
}

// A keptHead is a head of the log as it is kept.
type keptHead struct {
	Checkpoint string   `json:"checkpoint"` // signed
	From       int64    `json:"from"`       // size of the one before
	Records    []string `json:"records"`    // from there to this one

	head tlog.Checkpoint
}

const (
	maxKept     = 256     // records beside one head
	maxAppended = 100_000 // records that are appended again
)

// heads is what is known of the heads that are kept.
type heads struct {
	once sync.Once
	turn chan struct{} // has room for who compares what is kept, or adds to it, and alone sets what follows

	mu         sync.Mutex      // guards what follows
	last       tlog.Checkpoint // the largest that is kept, and is of the log of the database
	compared   bool            // with the database, ever
	connection int64           // that the database had then
	halted     error           // why nothing is appended
}

var (
	// errUncompared is the error of a transaction that runs again when the heads that are kept were compared with the database.
	errUncompared = errors.New("the log was not compared with what was shown of it")
	// errStale is the error of what saw another state of the log than there is by now.
	errStale = errors.New("the log went on meanwhile")
)

// enter waits for the turn to compare and to keep heads. The caller leaves.
func (h *heads) enter(ctx context.Context) (leave func(), err error) {
	h.once.Do(func() { h.turn = make(chan struct{}, 1) })
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }, nil
	case <-ctx.Done():
		return nil, Explain(ctx.Err())
	}
}

// state is what is known now.
func (h *heads) state() (last tlog.Checkpoint, compared bool, halted error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.compared, h.halted
}

// append adds a record to the log, unless clients saw another one. Its error may be errUncompared, for [Registry.reading].
func (g *Registry) append(ctx context.Context, tx *meta.Tx, rec tlog.Record) (index int64, err error) {
	if index, err = tlog.Append(ctx, logStorage{tx}, rec); err == nil && g.Heads != nil {
		err = g.mayAppend(index)
	}
	return index, err
}

// mayAppend refuses a record that was appended to a log of that size, which then is not the one that was shown.
func (g *Registry) mayAppend(size int64) error {
	h := &g.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.halted != nil:
		return readOnly(h.halted)
	case !h.compared || size < h.last.Size || h.connection != g.connection():
		return errUncompared
	}
	return nil
}

// codeReadOnly is the code of errors while the log is not the one that was shown.
const codeReadOnly = "log_read_only"

// readOnly is the error for whoever wants something appended, or signed.
func readOnly(why error) error {
	e := diag.New(diag.Failed, codeReadOnly, "this registry takes no changes and signs nothing, because its log is not the one that it showed: %s", diag.Printable(why.Error()))
	e.Err = why
	return e.Hint("whoever runs the registry finds what helps in its guide: skl help guide registry")
}

// ReadOnly says why nothing is appended to the log; nil if that is not so.
func (g *Registry) ReadOnly() error {
	_, _, halted := g.heads.state()
	return halted
}

// asReadOnly is readOnly for an error of CompareLog that says what is wrong with the log, and else that error.
func asReadOnly(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && strings.HasPrefix(e.Code, "log_") && e.Code != codeReadOnly {
		return readOnly(err)
	}
	return err
}

// connection counts the connections that the database was written through, where those can be of different servers.
func (g *Registry) connection() int64 {
	if s, ok := g.Meta.(interface{ Connections() int64 }); ok {
		return s.Connections()
	}
	return 0
}

// CompareLog compares the log with the heads that are kept, and appends records that it lacks again. Its errors have the codes log_fork and
// log_rollback; until it succeeds nothing is appended. It does nothing where no heads are kept.
func (g *Registry) CompareLog(ctx context.Context) error {
	if g.Heads == nil {
		return nil
	}
	leave, err := g.heads.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return g.compareLog(ctx)
}

// compareLog is CompareLog in the turn of the caller.
func (g *Registry) compareLog(ctx context.Context) error {
	connection := g.connection()
	last, compared, _ := g.heads.state()
	newest, err := g.Heads.LastHead(ctx)
	if err == nil && (!compared || newest != last.Size) {
		var kept keptHead
		kept, err = g.listedHead(ctx, newest)
		last = kept.head
	}
	if err == nil {
		err = g.continues(ctx, last)
	}
	if e, ok := errors.AsType[*diag.Error](err); err != nil && (!ok || !strings.HasPrefix(e.Code, "log_")) {
		return Explain(err) // nothing is known
	}
	if err != nil {
		return g.halt(ctx, err)
	}
	h := &g.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.connection, h.compared, h.halted = last, connection, true, nil
	return nil
}

// halt stops everything that appends or signs, because of err, which it returns.
func (g *Registry) halt(ctx context.Context, err error) error {
	g.heads.mu.Lock()
	defer g.heads.mu.Unlock()
	g.heads.halted = err
	g.logger().ErrorContext(ctx, "nothing is appended to the log, which is not the one that was shown", "error", err)
	return err
}

// LastHead is the largest head that is kept, signed, and its size; nil if there is none.
func (g *Registry) LastHead(ctx context.Context) (note []byte, size int64, err error) {
	if size, err = g.Heads.LastHead(ctx); err != nil || size == 0 {
		return nil, 0, Explain(err)
	}
	kept, err := g.listedHead(ctx, size)
	return []byte(kept.Checkpoint), size, Explain(err)
}

// listedHead reads the head that LastHead named, if it named one.
func (g *Registry) listedHead(ctx context.Context, size int64) (keptHead, error) {
	if size == 0 {
		return keptHead{}, nil
	}
	kept, err := g.keptHead(ctx, size)
	if errors.Is(err, blob.ErrNotFound) { // it was listed a moment ago
		err = fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
	}
	return kept, err
}

// keptHead reads what is kept under a size.
func (g *Registry) keptHead(ctx context.Context, size int64) (keptHead, error) {
	text, err := g.Heads.Head(ctx, size)
	if err != nil {
		return keptHead{}, err
	}
	return g.openHead(size, text)
}

func (g *Registry) openHead(size int64, text []byte) (k keptHead, err error) {
	if err := json.Unmarshal(text, &k); err != nil {
		return k, diag.New(diag.Refused, "log_checkpoint", "what is kept of the log at entry %d cannot be read: %w", size, err)
	}
	if k.head, err = tlog.OpenCheckpoint([]byte(k.Checkpoint), g.Key.Public()); err != nil {
		return k, err
	}
	if k.head.Size != size || k.From < 0 || k.From > size || int64(len(k.Records)) != size-k.From {
		return k, diag.New(diag.Refused, "log_checkpoint", "what is kept of the log at entry %d is of entries %d to %d, with %d records", size, k.From, k.head.Size, len(k.Records))
	}
	return k, nil
}

// continues appends what the log lacks of the one with this head, and refuses a log that is another.
func (g *Registry) continues(ctx context.Context, shown tlog.Checkpoint) error {
	size, err := g.LogContinues(ctx, shown)
	if errors.Is(err, diag.Code("log_rollback")) {
		return g.appendAgain(ctx, size, shown)
	}
	return err
}

// appendAgain appends the records that a log of that size lacks of what was shown.
func (g *Registry) appendAgain(ctx context.Context, size int64, shown tlog.Checkpoint) error {
	cut := cutLog(size, shown.Size)
	if shown.Size-size > maxAppended {
		return cut.Hint("more than %d entries are not appended again; restore a newer backup of the database", maxAppended)
	}
	var records []string // of shown, from the end; then from first
	first := shown.Size
	for first > size {
		kept, err := g.keptHead(ctx, first)
		if errors.Is(err, blob.ErrNotFound) || err == nil && kept.From == first {
			return cut.Hint("the bucket lacks entries before %d, so restore a newer backup of the database", first)
		}
		if err != nil {
			return err
		}
		records, first = append(kept.Records, records...), kept.From
	}
	fork := diag.New(diag.Refused, "log_fork", "it has %d entries, and %d others were signed", size, shown.Size)
	var names []string
	lost, changed := 0, 0
	err := g.update(ctx, func(tx *meta.Tx) error {
		names, lost, changed = names[:0], 0, 0
		if now, err := tx.LogSize(ctx); err != nil || now != size {
			if err == nil {
				err = errStale // another process was faster
			}
			return err
		}
		own, err := tx.LogRecords(ctx, first, size)
		if err != nil {
			return err
		}
		for i, record := range records {
			if i < len(own) {
				if !bytes.Equal(own[i], []byte(record)) {
					return fork
				}
				continue
			}
			rec, err := tlog.ParseRecord([]byte(record))
			if err != nil {
				return err
			}
			if _, err := tlog.Append(ctx, logStorage{tx}, rec); errors.Is(err, meta.ErrExists) { // hashes of what is gone: the database did not go back, somebody removed it
				return cutLog(size, shown.Size)
			} else if err != nil {
				return err
			}
			gone, differs, err := g.goBy(ctx, tx, rec)
			if err != nil {
				return err
			}
			if gone {
				lost++
			}
			if differs {
				changed++
			}
			names = append(names, fmt.Sprintf("%s %s@%s", rec.Action, rec.Name, rec.Version))
		}
		root, err := tlog.Root(ctx, logStorage{tx}, shown.Size)
		if err == nil && root != shown.Root {
			err = fork
		}
		if err != nil {
			return err
		}
		who := Caller{Remote: "local"}
		who.Account = System
		return g.event(ctx, tx, who, "log-append-again", "", map[string]any{"from": size, "to": shown.Size, "lost": lost, "changed": changed})
	})
	if errors.Is(err, errStale) {
		return g.continues(ctx, shown)
	}
	if err == nil {
		g.logger().ErrorContext(ctx, "the database had gone back: entries of the log were appended again; releases that are lost have to be published again",
			"from", size, "to", shown.Size, "lost", lost, "changed", changed, "entries", names[:min(len(names), 100)])
	}
	return err
}

// signHead signs the head of the log by fn, which is given a transaction and what signs in it, and returns what it returns when it may be shown.
func (g *Registry) signHead(ctx context.Context, fn func(tx *meta.Tx, sign func(extra ...string) ([]byte, error)) (note []byte, err error)) (note []byte, err error) {
	for tries := 1; ; tries++ {
		err := g.view(ctx, func(tx *meta.Tx) (err error) {
			note, err = fn(tx, func(extra ...string) ([]byte, error) { return g.Key.Sign(ctx, logStorage{tx}, g.now(), extra...) })
			return err
		})
		if err != nil || g.Heads == nil {
			return note, err
		}
		head, err := tlog.OpenCheckpoint(note, g.Key.Public())
		if err == nil {
			err = g.keep(ctx, head)
		}
		if errors.Is(err, errStale) && tries < 10 {
			continue
		}
		return note, Explain(asReadOnly(err))
	}
}

// keep keeps a head that a transaction saw, and those between it and the last one that is kept. Its error is errStale if the
// transaction saw less than that.
func (g *Registry) keep(ctx context.Context, head tlog.Checkpoint) error {
	kept := func() (done bool, err error) {
		last, compared, halted := g.heads.state()
		switch {
		case halted != nil:
			return true, readOnly(halted)
		case compared && head.Size == last.Size && (head.Root == last.Root || head.Size == 0):
			return true, nil
		}
		return false, nil
	}
	if done, err := kept(); done {
		return err
	}
	leave, err := g.heads.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if done, err := kept(); done {
		return err
	}
	last, compared, _ := g.heads.state()
	for compare := !compared || head.Size <= last.Size; ; {
		if compare {
			if err := g.compareLog(ctx); err != nil {
				return err
			}
			last, _, _ = g.heads.state()
		}
		switch {
		case head.Size == last.Size && (head.Root == last.Root || head.Size == 0):
			return nil
		case head.Size <= last.Size:
			return errStale
		}
		newest, err := g.Heads.LastHead(ctx)
		if err != nil {
			return err
		}
		if compare = newest != last.Size; !compare { // else another process went on
			if last, err = g.keepNext(ctx, last, min(last.Size+maxKept, head.Size)); err != nil {
				return err
			}
		}
	}
}

// keepNext keeps the head of a size, which the log has, and returns it. Last is the one before.
func (g *Registry) keepNext(ctx context.Context, last tlog.Checkpoint, size int64) (tlog.Checkpoint, error) {
	k := keptHead{From: last.Size}
	if err := g.view(ctx, func(tx *meta.Tx) error {
		k.Records = k.Records[:0]
		root, err := tlog.Root(ctx, logStorage{tx}, size)
		if err != nil {
			return err
		}
		k.head = tlog.Checkpoint{Origin: g.Key.Origin(), Size: size, Root: root, Time: g.now().Truncate(time.Second)}
		records, err := tx.LogRecords(ctx, k.From, size)
		for _, r := range records {
			k.Records = append(k.Records, string(r))
		}
		if err == nil && int64(len(k.Records)) != size-k.From {
			err = errStale
		}
		return err
	}); err != nil {
		return last, err
	}
	note, err := g.Key.SignCheckpoint(k.head)
	if err != nil {
		return last, err
	}
	k.Checkpoint = string(note)
	text, err := json.Marshal(k)
	if err != nil {
		return last, err
	}
	before, err := g.Heads.KeepHead(ctx, size, text)
	if err != nil {
		return last, err
	}
	if before != nil {
		other, err := g.openHead(size, before)
		if err == nil && other.head.Root != k.head.Root {
			err = forkedLog(size)
		}
		if err != nil {
			return last, g.halt(ctx, err)
		}
	}
	g.heads.mu.Lock()
	defer g.heads.mu.Unlock()
	g.heads.last = k.head
	return k.head, nil
}
