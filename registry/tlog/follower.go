package tlog

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/diag"
)

// ahead is how far the clock of a registry may be ahead of ours.
const ahead = time.Hour

// A Follower is a client's memory of one log: the key that it saw first and the newest checkpoint.
// Each new checkpoint has to continue the one before. Set the fields before first use; its methods may be called
// concurrently. Two processes that share Load and Save take a lock around Update and Check.
type Follower struct {
	// Key is the log's verifier key if it is known from configuration. Else the first
	// that Offer names is kept for ever.
	Key   string
	Offer func(ctx context.Context) (string, error) // what the registry says its key is

	Load  func(ctx context.Context) ([]byte, error) // what Save stored last; nil when there is nothing
	Save  func(ctx context.Context, state []byte) error
	Fetch Fetch

	MaxAge time.Duration    // of a checkpoint; 0 means 24 hours
	Now    func() time.Time // nil means time.Now

	mu sync.Mutex // held by Update and Check: one look at the log at a time
}

// state is what is saved: the key in the first line, then the signed checkpoint, if one was seen.
type state struct {
	key        string
	note       []byte
	checkpoint Checkpoint
}

// Known returns the pinned key and the last checkpoint without asking the registry. The key is
// empty when the log was never seen.
func (f *Follower) Known(ctx context.Context) (key string, last Checkpoint, err error) {
	s, err := f.load(ctx)
	return s.key, s.checkpoint, err
}

func (f *Follower) load(ctx context.Context) (state, error) {
	saved, err := f.Load(ctx)
	if err != nil {
		return state{}, err
	}
	if len(saved) == 0 {
		return state{key: f.Key}, nil
	}
	key, text, _ := strings.Cut(string(saved), "\n")
	if f.Key != "" && f.Key != key {
		return state{}, diag.New(diag.Refused, "log_signature", "the configured key of the log is not the one that was pinned before")
	}
	s := state{key: key, note: []byte(text)}
	if s.checkpoint, err = OpenCheckpoint(s.note, key); err != nil {
		return state{}, diag.New(diag.Failed, "log_state", "the stored checkpoint of the log cannot be read: %w", err)
	}
	return s, nil
}

// Update fetches the newest checkpoint, checks that it continues the last one, and remembers it.
// It returns the checkpoint. What it refuses it does not remember, so the evidence of what was
// seen before stays. Errors of Fetch come back as they are.
func (f *Follower) Update(ctx context.Context) (Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.update(ctx)
	return s.checkpoint, err
}

func (f *Follower) update(ctx context.Context) (state, error) {
	last, err := f.load(ctx)
	if err != nil {
		return state{}, err
	}
	next := state{key: last.key}
	if next.key == "" && f.Offer != nil {
		if next.key, err = f.Offer(ctx); err != nil {
			return state{}, err
		}
		next.key = strings.TrimSpace(next.key)
	}
	if _, err := ParsePublic(next.key); err != nil {
		return state{}, err
	}
	if next.note, err = f.Fetch(ctx, "checkpoint"); err != nil {
		return state{}, err
	}
	if next.checkpoint, err = OpenCheckpoint(next.note, next.key); err != nil {
		return state{}, err
	}
	if last.note != nil {
		if err := f.continues(ctx, last.checkpoint, next.checkpoint); err != nil {
			return state{}, err
		}
	}
	if err := f.fresh(next.checkpoint); err != nil {
		return state{}, err
	}
	if last.note != nil && next.checkpoint.Size == last.checkpoint.Size && !next.checkpoint.Time.After(last.checkpoint.Time) {
		return last, f.fresh(last.checkpoint) // nothing newer
	}
	if err := f.Save(ctx, []byte(next.key+"\n"+string(next.note))); err != nil {
		return state{}, err
	}
	return next, nil
}

// continues checks that the log described by next starts with the one described by last.
func (f *Follower) continues(ctx context.Context, last, next Checkpoint) error {
	if next.Size < last.Size {
		return diag.New(diag.Refused, "log_rollback", "the log %s has %d entries, and had %d before", next.Origin, next.Size, last.Size)
	}
	return f.startsWith(ctx, next, last)
}

// startsWith checks that the tree of part is the start of the tree of whole.
func (f *Follower) startsWith(ctx context.Context, whole, part Checkpoint) error {
	root := whole.Root
	switch {
	case part.Size == 0:
		if empty, err := tlog.TreeHash(0, nil); err != nil || empty == part.Root {
			return err
		}
	case part.Size < whole.Size:
		err := authentic(ctx, f.Fetch, whole, func(r tlog.HashReader) (err error) {
			root, err = tlog.TreeHash(part.Size, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	if root != part.Root {
		return diag.New(diag.Refused, "log_fork", "the log %s has another history than before: its first %d entries differ", whole.Origin, part.Size)
	}
	return nil
}

// fresh checks the age of a checkpoint.
func (f *Follower) fresh(c Checkpoint) error {
	now, limit := time.Now, f.MaxAge
	if f.Now != nil {
		now = f.Now
	}
	if limit == 0 {
		limit = 24 * time.Hour
	}
	age := now().Sub(c.Time)
	if age > limit {
		return diag.New(diag.Refused, "log_frozen", "the log %s was signed %s ago, and may be at most %s old: newer entries may be held back",
			c.Origin, age.Round(time.Minute), limit)
	}
	if age < -ahead {
		return diag.New(diag.Refused, "log_frozen", "the log %s was signed %s from now: one of the clocks is wrong", c.Origin, (-age).Round(time.Minute))
	}
	return nil
}

// Check verifies p for the release expect, and that the tree it proves is the one that this
// follower sees: it asks for a newer checkpoint when p is newer than the last, or there is none.
func (f *Follower) Check(ctx context.Context, p Proof, expect Release) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.load(ctx)
	if err != nil {
		return err
	}
	if s.key != "" && p.Key != s.key {
		return diag.New(diag.Refused, "log_signature", "the proof for %s is of another log than the one that was pinned", diag.Printable(expect.Name))
	}
	proven, err := p.verify(expect)
	if err != nil {
		return err
	}
	if s.note == nil || proven.Size > s.checkpoint.Size {
		if s, err = f.update(ctx); err != nil {
			return err
		}
		if p.Key != s.key {
			return diag.New(diag.Refused, "log_signature", "the proof for %s is of another log than the registry's", diag.Printable(expect.Name))
		}
	}
	if proven.Size > s.checkpoint.Size {
		return diag.New(diag.Refused, "log_rollback", "the log %s has %d entries, and the proof for %s is of %d", proven.Origin, s.checkpoint.Size, expect.Name, proven.Size)
	}
	return f.startsWith(ctx, s.checkpoint, proven)
}
