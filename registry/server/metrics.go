package server

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
)

// metrics are what /metrics shows.
type metrics struct {
	page     http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	blobs    atomic.Int64 // measured now and then
	blobSize atomic.Int64
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skl_registry_requests_total", Help: "Requests, by protocol, method and status."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "skl_registry_request_seconds", Help: "How long requests took.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}}, []string{"route"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skl_registry_body_bytes_total", Help: "Bytes of bodies, in and out."}, []string{"route", "direction"}),
	}
	own := prometheus.NewRegistry()
	gauge := func(name, help string, value func() float64) {
		own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	own.MustRegister(m.requests, m.seconds, m.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge("skl_registry_blobs", "Blobs in the store, as of the last gc.", func() float64 { return float64(m.blobs.Load()) })
	gauge("skl_registry_blob_bytes", "Bytes of blobs in the store, as of the last gc.", func() float64 { return float64(m.blobSize.Load()) })
	gauge("skl_registry_db_bytes", "Size of the metadata store.", func() float64 {
		total := int64(0)
		for _, name := range []string{"meta.db", "meta.db-wal"} {
			if info, err := os.Stat(s.path(name)); err == nil {
				total += info.Size()
			}
		}
		return float64(total)
	})
	gauge("skl_registry_log_entries", "Entries of the transparency log.", func() float64 {
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
	})
	m.page = promhttp.HandlerFor(own, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// request counts one.
func (m *metrics) request(route, method string, status int, took time.Duration, in, out int64) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		method = "other" // a client must not make new series
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
	m.bytes.WithLabelValues(route, "in").Add(float64(in))
	m.bytes.WithLabelValues(route, "out").Add(float64(out))
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
