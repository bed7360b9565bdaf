package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// How often readiness is looked at.
const (
	quickEvery = 2 * time.Second  // what costs little
	deepEvery  = 10 * time.Second // structure of the database, and every entry of the log; longer if it takes long
	deepShare  = 50               // times as long as it took
	deepWait   = 3 * time.Second  // for an answer; it goes on behind it
	probeBytes = 1 << 20          // that have to find space on the disk
	maxSkew    = 30 * time.Second // of the clocks of this process and of the database
)

// readiness is what /readyz knows. Its checks run when somebody asks, and not more often than is said above.
type readiness struct {
	mu     sync.Mutex // guards what follows; held while the quick checks run
	quick  []string   // what is wrong
	looked time.Time

	deep    sync.Mutex // guards what follows
	found   []string
	next    time.Time
	running chan struct{} // closed when the deep check ends; nil if none runs
}

// readyz says whether the registry can do its work, and if not what keeps it from that. It goes by the disk, the database
// and the log. That the process lives is what /healthz says.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		plain(w, http.StatusServiceUnavailable, "ends\n")
		return
	}
	problems := append(s.ready.checkQuick(r.Context(), s), s.ready.checkDeep(r.Context(), s)...)
	if len(problems) == 0 {
		plain(w, http.StatusOK, "ok\n")
		return
	}
	plain(w, http.StatusServiceUnavailable, strings.Join(problems, "\n")+"\n")
}

func (c *readiness) checkQuick(ctx context.Context, s *Server) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < quickEvery {
		return c.quick
	}
	ctx = context.WithoutCancel(ctx) // the next one gets this answer too
	c.quick = nil
	for _, check := range []struct {
		what string
		err  error
	}{{"disk", s.probeDisk()}, {"database", s.probeDatabase(ctx)}, {"clock", s.probeClock(ctx)}, {"log", s.probeLog(ctx)}, {"blobs", s.probeBlobs(ctx)}} {
		if check.err != nil {
			s.logger.ErrorContext(ctx, "not ready", "part", check.what, "error", check.err)
			c.quick = append(c.quick, check.what+": "+notReady(check.err))
		}
	}
	c.looked = time.Now()
	return c.quick
}

// notReady is err for everybody: without paths.
func notReady(err error) string {
	if e, ok := errors.AsType[*diag.Error](err); ok && (strings.HasPrefix(e.Code, "log_") || e.Code == "clock_skew" || e.Code == meta.CodeFrozen || e.Code == meta.CodeNewer) {
		return e.Message
	}
	switch {
	case errors.Is(err, blob.ErrFull):
		return "no space left"
	case errors.Is(err, diag.Code("corrupt")):
		return "damaged"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return "cannot be used; the log of the registry says why"
	}
	return "does not answer; the log of the registry says why"
}

// probeDisk writes as much as a small release needs.
func (s *Server) probeDisk() (err error) {
	f, err := os.CreateTemp(s.path("tmp"), "ready-*")
	if err != nil {
		return blob.Full(err)
	}
	defer os.Remove(f.Name())
	noise := make([]byte, probeBytes)
	for i := range noise {
		noise[i] = byte(i * 31) // no hole, where a disk makes holes of zeros
	}
	_, err = f.Write(noise)
	return blob.Full(errors.Join(err, f.Sync(), f.Close()))
}

// probeBlobs asks a store of blobs that is elsewhere.
func (s *Server) probeBlobs(ctx context.Context) error {
	remote, ok := s.Registry.Blobs.(blob.Remote)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deepWait)
	defer cancel()
	return remote.Probe(ctx)
}

func (s *Server) probeDatabase(ctx context.Context) error {
	if _, err := s.generation(ctx); err != nil {
		return err
	}
	var f meta.Freeze
	err := s.Registry.Meta.View(ctx, func(tx *meta.Tx) error {
		_, err := tx.Schema(ctx)
		if err == nil {
			f, err = tx.Frozen(ctx)
		}
		return err
	})
	switch {
	case errors.Is(err, meta.ErrNotFound):
		return nil
	case err == nil && f.State == meta.Moved: // a proxy finds who serves it now
		err = diag.New(diag.Failed, meta.CodeFrozen, "%s", f.Text())
	}
	return err
}

// probeClock compares the clock of this process with that of the database, where others go by that too. The registry goes by the database's,
// but what this machine signs for the bucket, and its certificates, go by its own.
func (s *Server) probeClock(ctx context.Context) error {
	if s.clock == nil {
		return nil
	}
	if err := s.clock.Set(ctx); err != nil {
		return nil // the probe of the database says it
	}
	return clockError(s.clock.Ahead())
}

// clockError refuses a clock that is more than maxSkew ahead of the database's, or behind it.
func clockError(off time.Duration) error {
	side := "ahead of"
	if off < 0 {
		off, side = -off, "behind"
	}
	if off <= maxSkew {
		return nil
	}
	return diag.New(diag.Failed, "clock_skew", "%s %s that of the database", off.Round(time.Second), side)
}

// headFile keeps the newest head of the log that was signed, beside the database: a log that was cut shows.
func (s *Server) headFile() string { return s.path("log.head") }

// probeLog compares the log with what was signed before, and remembers what is signed now: in the directory, or where it is shared with the
// blobs.
func (s *Server) probeLog(ctx context.Context) error {
	s.heads.Lock()
	defer s.heads.Unlock()
	if s.shared {
		if err := s.Registry.CompareLog(ctx); err != nil {
			return err
		}
	}
	note, err := s.Registry.Checkpoint(ctx)
	if err != nil || s.shared {
		return err
	}
	now, err := tlog.OpenCheckpoint(note, s.Registry.Key.Public())
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.headFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return durable.WriteFile(s.headFile(), note, 0o600)
	case err != nil:
		return err
	}
	before, err := tlog.OpenCheckpoint(text, s.Registry.Key.Public())
	switch {
	case err != nil:
		return err
	case now.Size == before.Size && now.Root == before.Root:
		return nil
	}
	if _, err := s.Registry.LogContinues(ctx, before); err != nil {
		return err
	}
	if err := durable.WriteFile(s.headFile(), note, 0o600); err != nil && !errors.Is(blob.Full(err), blob.ErrFull) {
		return err // a full disk is said by the probe of the disk
	}
	return nil
}

// checkDeep is what the last deep check found. It starts another when one is due, and waits for it a little.
func (c *readiness) checkDeep(ctx context.Context, s *Server) []string {
	c.deep.Lock()
	if c.running == nil && time.Now().After(c.next) {
		c.running = make(chan struct{})
		s.checks.Go(func() { c.lookDeep(ctx, s) })
	}
	running := c.running
	c.deep.Unlock()
	if running != nil {
		select {
		case <-running:
		case <-time.After(deepWait):
		case <-ctx.Done():
		}
	}
	c.deep.Lock()
	defer c.deep.Unlock()
	return c.found
}

// lookDeep outlives the request that began it, and ends with the server.
func (c *readiness) lookDeep(ctx context.Context, s *Server) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	var found []string
	type check struct {
		what string
		do   func(context.Context) error
	}
	checks := []check{{"log", s.Registry.VerifyLog}}
	if s.ownMeta { // another one has its own checks, and may be large
		checks = append(checks, check{"database", s.Registry.Meta.Check})
	}
	reached := true
	for _, check := range checks {
		err := check.do(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		s.logger.Error("not ready", "part", check.what, "error", err)
		if errors.Is(err, diag.Code("unavailable")) { // the quick check says so for as long as that lasts; nothing was found
			reached = false
			continue
		}
		found = append(found, check.what+": "+notReady(err))
	}
	next := max(deepEvery, deepShare*time.Since(began))
	if !reached {
		next = quickEvery
	}
	c.deep.Lock()
	defer c.deep.Unlock()
	c.found, c.next = found, time.Now().Add(next)
	close(c.running)
	c.running = nil
}
