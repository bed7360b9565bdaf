package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds of connections.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
	stallTime   = time.Minute      // without a byte that moves
	drainTime   = 30 * time.Second // for running requests at shutdown
	leaveTime   = 5 * time.Second  // between the end of readiness and that of new connections
	askTime     = 2 * time.Second  // for the question whether others serve too
	flushEvery  = 10 * time.Second // of download counts
	beatEvery   = 10 * time.Second // of being there, for those that serve the same data
)

// Listen opens the address of the configuration, after a look at its certificate.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	if err := s.loadPair(); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", s.cfg.addr())
}

// Serve serves l, with TLS if there is a certificate, until ctx is done, then lets running requests end, at most 30 s, and
// returns nil. Where others serve the same data, /readyz is 503 for some time before that. It refuses a listener that others reach
// without TLS: code tls_needed. While it runs it collects garbage and writes download counts.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.cfg.mayListen(l.Addr().String()); err != nil {
		l.Close()
		return err
	}
	if err := s.loadPair(); err != nil {
		l.Close()
		return err
	}
	serving := s.gate.Listener(l)
	if s.pair != nil {
		serving = tls.NewListener(serving, &tls.Config{GetCertificate: s.pair.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ConnState:         s.gate.State,
		ConnContext:       s.gate.Context,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100, SendPingTimeout: stallTime, WriteByteTimeout: stallTime},
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug), // handshakes of scanners
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var background sync.WaitGroup
	background.Go(func() { s.background(work) })
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(serving) }()
	s.logger.Info("serving", "addr", l.Addr().String(), "open", s.cfg.Access.Open)
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.leave(ctx)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		if err = server.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
			s.logger.Warn("some requests were cut off at shutdown")
			err = server.Close()
		}
		cancel()
		<-failed
	}
	stop()
	background.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// leave has what sends requests here send them to others, where there are others.
func (s *Server) leave(ctx context.Context) {
	if !s.shared {
		return
	}
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if n, err := s.Registry.Beat(ask); err == nil && n == 1 {
		return
	}
	s.draining.Store(true)
	wait := s.cfg.Drain.or(leaveTime)
	s.logger.InfoContext(ctx, "ends, and does not say that it is ready any more", "wait", wait.String())
	time.Sleep(wait)
}

// beat says to others that serve the same data that this one does too, and shares the limits with them.
func (s *Server) beat(ctx context.Context) {
	if !s.shared {
		return
	}
	if err := s.clock.Set(ctx); err != nil && ctx.Err() == nil {
		s.logger.Warn("the time of the database is not known; it goes on from what it was", "error", err)
	}
	n, err := s.Registry.Beat(ctx)
	if errors.Is(err, diag.Code(meta.CodeNewer)) {
		p := api.Problem(err)
		if s.outdated.Swap(&p) == nil {
			s.logger.Error("nothing is served any more", "error", err)
		}
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			s.logger.Warn("the other replicas do not hear of this one", "error", err)
		}
		return
	}
	s.outdated.Store(nil)
	s.metrics.replicas.Store(int64(n))
	s.access.byAddress.Share(n)
	s.access.byToken.Share(n)
}

// followLog compares the log with what was signed of it.
func (s *Server) followLog(ctx context.Context) {
	if err := s.probeLog(ctx); err != nil && ctx.Err() == nil {
		s.logger.Error("the log is not the one that was signed, or nobody knows", "error", err)
	}
}

// background does what has to be done now and then, until ctx is done.
func (s *Server) background(ctx context.Context) {
	flush, gc := time.NewTicker(flushEvery), time.NewTicker(s.cfg.GC.Every.or(time.Hour))
	defer flush.Stop()
	defer gc.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	s.metrics.measure(ctx, s.Registry)
	if s.beat(ctx); s.shared {
		s.followLog(ctx) // before others see what this one believes
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	debug.FreeOSMemory() // garbage of the initialisers of a program that can do much more than serve
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			if err := s.Registry.FlushDownloads(ctx); err != nil && ctx.Err() == nil {
				s.logger.Warn("download counts are not written; they are kept", "error", err)
			}
			s.followLog(ctx)
		case <-beat.C:
			s.beat(ctx)
		case <-look.C:
			s.lookAtPair()
		case <-gc.C:
			report, err := s.Registry.GC(ctx, registry.GCOptions{Grace: s.cfg.GC.Grace.or(24 * time.Hour)})
			if errors.Is(err, diag.Code("lease_held")) {
				s.logger.Info("gc is done by another replica")
				continue
			}
			s.metrics.collected(report, err)
			if err != nil && ctx.Err() == nil {
				s.logger.Error("gc failed", "error", err)
			} else {
				s.logger.Info("gc", "drafts", report.Drafts, "links", report.Links, "blobs", report.Blobs, "bytes", report.Bytes, "uploads", report.Uploads)
			}
			s.metrics.measure(ctx, s.Registry)
		}
	}
}
