package server

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/order"
)

// exposition is the media type of a page of metrics: https://prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
const exposition = "text/plain; version=0.0.4; charset=utf-8"

// maxScrapes is how many clients get a page of metrics at a time.
const maxScrapes = 4

// A family is the metrics of one name.
type family struct {
	name, kind, help string // kind: counter, gauge, summary or histogram
	samples          []sample
}

// A sample is one line: the name of its family, suffix, labels and value.
type sample struct {
	suffix, labels string
	value          float64
}

// one is a family of one sample without labels.
func one(name, kind, help string, value float64) family {
	return family{name, kind, help, []sample{{value: value}}}
}

// flag is 1 for yes.
func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// labels are names and values in turn, as they stand in a line.
func labels(pairs ...string) string {
	var lines []string
	for i := 0; i < len(pairs); i += 2 {
		lines = append(lines, pairs[i]+`="`+labelEscapes.Replace(pairs[i+1])+`"`)
	}
	return "{" + strings.Join(lines, ",") + "}"
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// expose is a page of what collect returns, in the order of names. Parameters name[] of the request, if any, choose families.
func expose(collect func() []family) http.Handler {
	scrapes := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case scrapes <- struct{}{}:
			defer func() { <-scrapes }()
		default:
			http.Error(w, fmt.Sprintf("%d clients read the metrics already, try again later", maxScrapes), http.StatusServiceUnavailable)
			return
		}
		families := collect()
		order.Sort(families, func(a, b family) int { return cmp.Compare(a.name, b.name) })
		var page []byte
		chosen := r.URL.Query()["name[]"]
		for _, f := range families {
			if len(chosen) == 0 || slices.Contains(chosen, f.name) {
				page = f.append(page)
			}
		}
		w.Header().Set("Content-Type", exposition)
		w.Header().Add("Vary", "Accept-Encoding")
		// A client that goes away while it is sent needs no metrics: errors of writing are left.
		if !wantsGzip(r.Header.Values("Accept-Encoding")) {
			_, _ = w.Write(page)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(page)
		_ = packed.Close()
	})
}

// wantsGzip says whether the headers Accept-Encoding of a request rate gzip above no encoding: RFC 9110, section 12.5.3.
// A coding that cannot be read counts as refused.
func wantsGzip(headers []string) bool {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		coding, parameter, _ := strings.Cut(part, ";")
		weight := 1.0
		if parameter = strings.TrimSpace(parameter); parameter != "" {
			name, value, _ := strings.Cut(parameter, "=")
			var err error
			if weight, err = strconv.ParseFloat(value, 64); err != nil || !strings.EqualFold(name, "q") {
				weight = 0
			}
		}
		weights[strings.ToLower(strings.TrimSpace(coding))] = weight
	}
	weight := func(coding string) float64 {
		if weight, ok := weights[coding]; ok {
			return weight
		}
		return weights["*"]
	}
	return weight("gzip") > 0 && weight("gzip") > weight("identity")
}

// append adds the lines of f to page.
func (f family) append(page []byte) []byte {
	if len(f.samples) == 0 {
		return page
	}
	page = fmt.Appendf(page, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, s := range f.samples {
		page = append(append(append(append(page, f.name...), s.suffix...), s.labels...), ' ')
		page = append(strconv.AppendFloat(page, s.value, 'g', -1, 64), '\n')
	}
	return page
}

// A counter counts by labels.
type counter struct {
	mu     sync.Mutex // guards values
	values map[string]float64
}

func (c *counter) add(labels string, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]float64{}
	}
	c.values[labels] += n
}

func (c *counter) family(name, help string) family {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := family{name: name, kind: "counter", help: help}
	for _, labels := range sortedKeys(c.values) {
		f.samples = append(f.samples, sample{labels: labels, value: c.values[labels]})
	}
	return f
}

// A histogram counts values by labels and by the first of bounds that they do not exceed.
type histogram struct {
	bounds []float64 // ascending

	mu     sync.Mutex // guards series
	series map[string]*observed
}

type observed struct {
	counts []int // by bound, and of what exceeds the last
	sum    float64
}

func (h *histogram) observe(labels string, value float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.series == nil {
		h.series = map[string]*observed{}
	}
	o := h.series[labels]
	if o == nil {
		o = &observed{counts: make([]int, len(h.bounds)+1)}
		h.series[labels] = o
	}
	i, _ := slices.BinarySearch(h.bounds, value)
	o.counts[i]++
	o.sum += value
}

func (h *histogram) family(name, help string) family {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := family{name: name, kind: "histogram", help: help}
	for _, labels := range sortedKeys(h.series) {
		o, below := h.series[labels], 0
		for i, n := range o.counts {
			bound := "+Inf"
			if i < len(h.bounds) {
				bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
			}
			below += n
			f.samples = append(f.samples, sample{"_bucket", strings.TrimSuffix(labels, "}") + `,le="` + bound + `"}`, float64(below)})
		}
		f.samples = append(f.samples, sample{"_sum", labels, o.sum}, sample{"_count", labels, float64(below)})
	}
	return f
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
