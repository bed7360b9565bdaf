package retrieval

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/glob"
)

// indexed is the index under test.
type indexed struct {
	t       testing.TB
	x       *index.Index
	latency []time.Duration
}

// openIndex indexes a directory.
func openIndex(t testing.TB, dir string) *indexed {
	t.Helper()
	x, err := index.Open(t.Context(), dir, index.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	s := &indexed{t: t, x: x}
	s.update()
	return s
}

func (s *indexed) update() {
	s.t.Helper()
	if _, err := s.x.Update(s.t.Context(), glob.Glob{}, false); err != nil {
		s.t.Fatal(err)
	}
}

func (s *indexed) ask(q question) (reply, bool) {
	s.t.Helper()
	compiled, err := q.params.Compile()
	if err != nil {
		s.t.Errorf("%s: %+v: %v", q.set, q.params, err)
		return reply{}, true
	}
	start := time.Now()
	result, err := s.x.Query(s.t.Context(), compiled)
	s.latency = append(s.latency, time.Since(start))
	if err != nil {
		s.t.Errorf("%s: %+v: %v", q.set, q.params, err)
		return reply{}, true
	}
	var out reply
	for _, h := range result.Handles {
		out.hits = append(out.hits, hit{h.FilePath, h.LineRange[0], h.LineRange[1], h.TokenCount})
	}
	for _, h := range result.RefHandles {
		out.hits = append(out.hits, hit{h.FilePath, h.LineRange[0], h.LineRange[1], chunk.Tokens([]byte(h.Preview))})
	}
	result.Generation = 1 << 52 // begins at random, and has more or fewer digits
	answer, err := json.Marshal(result)
	if err != nil {
		s.t.Fatal(err)
	}
	out.listing = chunk.Tokens(answer)
	return out, true
}

// evidence asks for a pack and says whether one of the handles that it suggests is right.
func (s *indexed) evidence(q question) (query.Pack, bool) {
	s.t.Helper()
	compiled, err := q.params.Compile()
	if err != nil {
		s.t.Fatalf("%s: %+v: %v", q.set, q.params, err)
	}
	pack, err := s.x.Evidence(s.t.Context(), compiled, rank.PackOptions{})
	if err != nil {
		s.t.Errorf("%s: evidence of %+v: %v", q.set, q.params, err)
		return pack, false
	}
	return pack, slices.ContainsFunc(pack.Handles, func(e query.Evidence) bool {
		return slices.Contains(pack.ExpandSuggestion, e.ID) && q.rightSpan(hit{e.FilePath, e.LineRange[0], e.LineRange[1], e.TokenCount})
	})
}

// percentile returns the p-th part of sorted durations.
func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[min(len(d)-1, int(p*float64(len(d))))]
}
