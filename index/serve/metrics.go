package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/order"
)

// Limits of what is counted by name.
const (
	topShown   = 20
	topCounted = 1000 // names; the rarest make room
	topBytes   = 200  // of a name
)

// Metrics count since the start of the service.
type Metrics struct {
	Queries           int                        `json:"queries"`
	QueryCacheHits    int                        `json:"query_cache_hits"`
	QueryCacheMisses  int                        `json:"query_cache_misses"`
	QueryCacheHitRate float64                    `json:"query_cache_hit_rate"`
	Expands           int                        `json:"expands"`
	IndexCacheHits    int                        `json:"index_cache_hits"`
	IndexCacheMisses  int                        `json:"index_cache_misses"`
	Reindexes         int                        `json:"reindexes"`
	AvgQueryMS        float64                    `json:"avg_query_ms"`
	AvgExpandMS       float64                    `json:"avg_expand_ms"`
	Errors            map[string]int             `json:"errors"` // by status
	UptimeSeconds     int64                      `json:"uptime_seconds"`
	TopSymbols        []Count                    `json:"top_symbols,omitempty"`
	TopPatterns       []Count                    `json:"top_patterns,omitempty"`
	TopExpandedFiles  []Count                    `json:"top_expanded_files,omitempty"`
	RequestsByRepo    map[string]int             `json:"requests_by_repo"`
	FeedbackByRepo    map[string]FeedbackMetrics `json:"feedback_by_repo,omitempty"` // of seven days
}

// A Count is how often something was asked for.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// metrics are the counters. The zero value counts from the first use. It may be used concurrently.
type metrics struct {
	mu         sync.Mutex
	began      time.Time
	m          Metrics
	queryTime  time.Duration
	expandTime time.Duration
	symbols    tally
	patterns   tally
	files      tally
}

// A tally counts names, of which it keeps a bounded number.
type tally map[string]int

func (t *tally) add(name string) {
	if name == "" {
		return
	}
	if len(name) > topBytes {
		name = strings.ToValidUTF8(name[:topBytes], "")
	}
	if *t == nil {
		*t = make(tally)
	}
	(*t)[name]++
	if len(*t) > topCounted {
		// Half of them at once, so that this is rare.
		for _, c := range t.top(len(*t))[topCounted/2:] {
			delete(*t, c.Name)
		}
	}
}

func (t *tally) top(n int) []Count {
	all := make([]Count, 0, len(*t))
	for name, count := range *t {
		all = append(all, Count{name, count})
	}
	order.Sort(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name)) })
	return all[:min(n, len(all))]
}

// with changes the counters.
func (s *metrics) with(f func(*Metrics)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m.Errors == nil {
		s.m.Errors, s.m.RequestsByRepo, s.began = make(map[string]int), make(map[string]int), time.Now()
	}
	f(&s.m)
}

func (s *metrics) request(repo string) {
	s.with(func(m *Metrics) { m.RequestsByRepo[repo]++ })
}

func (s *metrics) cache(hit bool) {
	s.with(func(m *Metrics) {
		if hit {
			m.QueryCacheHits++
		} else {
			m.QueryCacheMisses++
		}
	})
}

func (s *metrics) query(took time.Duration, p query.Params) {
	s.with(func(m *Metrics) {
		m.Queries++
		s.queryTime += took
		s.symbols.add(p.Symbol)
		for _, text := range append(slices.Clone(p.Patterns), p.Pattern, p.Literal, p.Regex) {
			s.patterns.add(text)
		}
	})
}

func (s *metrics) expand(took time.Duration, contents []query.Content) {
	s.with(func(m *Metrics) {
		m.Expands++
		s.expandTime += took
		for _, c := range contents {
			s.files.add(c.FilePath)
		}
	})
}

func (s *metrics) reindex() { s.with(func(m *Metrics) { m.Reindexes++ }) }

func (s *metrics) failure(status int) {
	s.with(func(m *Metrics) { m.Errors[strconv.Itoa(status)]++ })
}

// metricsNow is what the counters say.
func (s *Service) metricsNow(known bool) Metrics {
	var out Metrics
	s.metrics.with(func(m *Metrics) {
		out = *m
		out.Errors, out.RequestsByRepo = maps.Clone(m.Errors), maps.Clone(m.RequestsByRepo)
		if n := m.QueryCacheHits + m.QueryCacheMisses; n > 0 {
			out.QueryCacheHitRate = float64(m.QueryCacheHits) / float64(n)
		}
		out.AvgQueryMS = milliseconds(s.metrics.queryTime) / float64(max(m.Queries, 1))
		out.AvgExpandMS = milliseconds(s.metrics.expandTime) / float64(max(m.Expands, 1))
		out.UptimeSeconds = int64(time.Since(s.metrics.began).Seconds())
		if known {
			out.TopSymbols, out.TopPatterns, out.TopExpandedFiles = s.metrics.symbols.top(topShown), s.metrics.patterns.top(topShown), s.metrics.files.top(topShown)
		}
	})
	s.indexes.mu.Lock()
	out.IndexCacheHits, out.IndexCacheMisses = s.indexes.hits, s.indexes.misses
	s.indexes.mu.Unlock()
	return out
}

// showMetrics answers GET /metrics.
func (s *Service) showMetrics(c call) (any, error) {
	m := s.metricsNow(c.known)
	if c.known {
		m.FeedbackByRepo = make(map[string]FeedbackMetrics)
		for _, r := range s.repos.all() {
			if one, err := s.feedback.Metrics(c.Context(), r.RepoRoot, 7); err == nil && one.SampleCount > 0 {
				m.FeedbackByRepo[r.RepoID] = one
			}
		}
	}
	if c.URL.Query().Get("format") == "prometheus" || wantsText(c.Header.Get("Accept")) {
		return page{"text/plain; version=0.0.4; charset=utf-8", m.prometheus()}, nil
	}
	return m, nil
}

// wantsText says whether a client accepts a type of Prometheus before JSON: the text format may stand behind others that it prefers.
func wantsText(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.TrimSpace(media) {
		case "text/plain", "application/openmetrics-text":
			return true
		case "application/json":
			return false
		}
	}
	return false
}

// prometheus writes the text format 0.0.4.
func (m Metrics) prometheus() string {
	var b strings.Builder
	metric := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP skl_index_%s %s\n# TYPE skl_index_%s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, value float64) {
		metric(name, kind, help)
		fmt.Fprintf(&b, "skl_index_%s %s\n", name, strconv.FormatFloat(value, 'g', -1, 64))
	}
	one("queries_total", "counter", "Queries and evidence packs.", float64(m.Queries))
	one("query_cache_hits_total", "counter", "Answers from the cache.", float64(m.QueryCacheHits))
	one("query_cache_misses_total", "counter", "Answers that were made.", float64(m.QueryCacheMisses))
	one("query_seconds_total", "counter", "Time spent on queries.", m.AvgQueryMS*float64(m.Queries)/1000)
	one("expands_total", "counter", "Expansions.", float64(m.Expands))
	one("expand_seconds_total", "counter", "Time spent on expansions.", m.AvgExpandMS*float64(m.Expands)/1000)
	one("reindexes_total", "counter", "Reindexes that were started.", float64(m.Reindexes))
	one("uptime_seconds", "gauge", "Since the first request.", float64(m.UptimeSeconds))
	metric("errors_total", "counter", "Errors, by status.")
	for _, status := range slices.Sorted(maps.Keys(m.Errors)) {
		fmt.Fprintf(&b, "skl_index_errors_total{status=%q} %d\n", status, m.Errors[status])
	}
	metric("requests_total", "counter", "Requests, by repository.")
	for _, repo := range slices.Sorted(maps.Keys(m.RequestsByRepo)) {
		fmt.Fprintf(&b, "skl_index_requests_total{repo=%q} %d\n", repo, m.RequestsByRepo[repo])
	}
	return b.String()
}
