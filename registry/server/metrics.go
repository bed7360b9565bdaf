package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
)

// metrics are what /metrics shows.
type metrics struct {
	page     http.Handler
	requests counter
	seconds  histogram
	bytes    counter
	blobs    atomic.Int64 // measured now and then
	blobSize atomic.Int64
	gc       counter      // of runs and of what they removed
	replicas atomic.Int64 // that serve the same data
	gcLast   atomic.Int64 // end of the last run that succeeded, seconds since 1970
}

func newMetrics(s *Server) *metrics {
	m := &metrics{seconds: histogram{bounds: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}}}
	for _, what := range []string{"runs", "failures", "blobs", "bytes", "drafts", "links", "uploads"} {
		m.gc.add(labels("what", what), 0) // from the start, so that a rate can be taken
	}
	m.page = expose(func() []family {
		return slices.Concat(runtimeFamilies(), processFamilies(), s.certificateFamilies(), []family{
			m.requests.family("skl_registry_requests_total", "Requests, by protocol, method and status."),
			m.seconds.family("skl_registry_request_seconds", "How long requests took."),
			m.bytes.family("skl_registry_body_bytes_total", "Bytes of bodies, in and out."),
			one("skl_registry_blobs", "gauge", "Blobs in the store, as of the last gc or the start.", float64(m.blobs.Load())),
			one("skl_registry_blob_bytes", "gauge", "Bytes of blobs in the store, as of the last gc or the start.", float64(m.blobSize.Load())),
			m.gc.family("skl_registry_gc_total", "Garbage collection since the start: runs, failures, and how much it removed."),
			one("skl_registry_gc_last_seconds", "gauge", "When gc ended last, in seconds since 1970; 0 before the first run.", float64(m.gcLast.Load())),
			one("skl_registry_db_bytes", "gauge", "Size of the metadata store.", s.databaseSize()),
			{"skl_registry_info", "gauge", "The version of this process, and its name among those that serve the same data.", []sample{{labels: labels("replica", s.cfg.replica(), "version", cmp.Or(s.version, "unknown")), value: 1}}},
			one("skl_registry_replicas", "gauge", "Processes that serve this registry; 0 where only one can.", float64(m.replicas.Load())),
			one("skl_registry_connections", "gauge", "Connections that are open.", float64(s.gate.Open())),
			one("skl_registry_connections_closed_total", "counter", "Connections and requests that had to make room for others, or found none.", float64(s.gate.Closed())),
			one("skl_registry_log_entries", "gauge", "Entries of the transparency log.", s.logEntries()),
			one("skl_registry_log_read_only", "gauge", "1 while the log is not the one that was shown, so that the registry takes no changes.", flag(s.Registry.ReadOnly() != nil)),
		})
	})
	return m
}

// certificateFamilies are there only where this process ends TLS.
func (s *Server) certificateFamilies() []family {
	if s.pair == nil {
		return nil
	}
	cert := s.pair.current()
	if cert == nil {
		return nil
	}
	return []family{one("skl_registry_certificate_end_seconds", "gauge", "When the certificate in use ends, in seconds since 1970.", float64(cert.Leaf.NotAfter.Unix()))}
}

// databaseSize is -1 if the metadata store does not answer.
func (s *Server) databaseSize() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	size, err := s.Registry.Meta.Size(ctx)
	if err != nil {
		return -1
	}
	return float64(size)
}

// logEntries is -1 if the metadata store does not answer.
func (s *Server) logEntries() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var size int64
	if err := s.Registry.Meta.View(ctx, func(tx *meta.Tx) (err error) {
		size, err = tx.LogSize(ctx)
		return err
	}); err != nil {
		return -1
	}
	return float64(size)
}

// request counts one.
func (m *metrics) request(route, method string, status int, took time.Duration, in, out int64) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		method = "other" // a client must not make new series
	}
	m.requests.add(labels("method", method, "route", route, "status", strconv.Itoa(status)), 1)
	m.seconds.observe(labels("route", route), took.Seconds())
	m.bytes.add(labels("direction", "in", "route", route), float64(in))
	m.bytes.add(labels("direction", "out", "route", route), float64(out))
}

// collected counts a run of the garbage collection.
func (m *metrics) collected(r registry.GCReport, err error) {
	add := func(what string, n int64) { m.gc.add(labels("what", what), float64(n)) }
	add("runs", 1)
	if err != nil {
		add("failures", 1)
		return
	}
	m.gcLast.Store(time.Now().Unix())
	add("blobs", int64(r.Blobs))
	add("bytes", r.Bytes)
	add("drafts", int64(r.Drafts))
	add("links", int64(r.Links))
	add("uploads", int64(r.Uploads))
}

// measure walks over the blobs.
func (m *metrics) measure(ctx context.Context, g *registry.Registry) {
	count, size := int64(0), int64(0)
	for b, err := range g.Blobs.Blobs(ctx) {
		if err != nil {
			return
		}
		count++
		size += b.Size
	}
	m.blobs.Store(count)
	m.blobSize.Store(size)
}
