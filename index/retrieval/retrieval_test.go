package retrieval

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/testdata/long"
)

var (
	update = flag.Bool("update", false, "rewrite testdata/results.json")
	missed = flag.String("misses", "", "file to write the questions to whose answer was not found")
)

// A results file holds what was measured, of the part and of all.
type resultsFile struct {
	Part results `json:"part"`
	Full results `json:"full"`
}

// results are of the judging half.
type results struct {
	Inputs     map[string]string           `json:"inputs"` // corpus → version
	Sets       map[string]map[string]score `json:"sets"`   // set → system → score
	Confidence map[string]reliability      `json:"confidence"`
	Gates      map[string]float64          `json:"gates"`
}

// A bench collects outcomes.
type bench struct {
	t        *testing.T
	judge    bool // the half
	full     bool
	results  results
	outcomes map[string]map[string][]outcome // set → system → of each question, in order
	claims   map[string][]claim              // family of sets, and "all"
	samples  []rank.Sample                   // of all claims
	latency  []time.Duration
	misses   *strings.Builder
}

func newBench(t *testing.T, judge, full bool) *bench {
	return &bench{t: t, judge: judge, full: full, outcomes: map[string]map[string][]outcome{}, claims: map[string][]claim{}, misses: new(strings.Builder),
		results: results{Inputs: map[string]string{}, Sets: map[string]map[string]score{}, Confidence: map[string]reliability{}, Gates: map[string]float64{}}}
}

// merge adds what another bench collected.
func (b *bench) merge(sub *bench) {
	maps.Copy(b.results.Inputs, sub.results.Inputs)
	maps.Copy(b.outcomes, sub.outcomes) // no set is of two corpora
	for family, claims := range sub.claims {
		b.claims[family] = append(b.claims[family], claims...)
	}
	b.samples = append(b.samples, sub.samples...)
	b.latency = append(b.latency, sub.latency...)
	b.misses.WriteString(sub.misses.String())
}

// half keeps the questions that belong to the bench's half.
func (b *bench) half(questions []question) []question {
	return filter(questions, func(q question) bool { return judging(q.group) == b.judge })
}

// A run asks questions about one corpus.
func (b *bench) run(systems []system, x *indexed, questions []question, suffix string) {
	b.t.Helper()
	systems = append(slices.Clone(systems), system{name: "skl", ask: x.ask})
	replies := make([][]*outcome, len(systems))
	skl := make([]reply, len(questions))
	var wg sync.WaitGroup
	for i, s := range systems {
		replies[i] = make([]*outcome, len(questions))
		wg.Go(func() {
			for j, q := range questions {
				if q.none || !b.suits(s.name, q.set) {
					continue
				}
				if r, ok := s.ask(q); ok {
					o := judge(q, r)
					replies[i][j] = &o
					if s.name == "skl" {
						skl[j] = r
					}
				}
			}
		})
	}
	wg.Wait()
	for j, q := range questions {
		for i, s := range systems {
			if o := replies[i][j]; o != nil {
				set := q.set + suffix
				if b.outcomes[set] == nil {
					b.outcomes[set] = map[string][]outcome{}
				}
				b.outcomes[set][s.name] = append(b.outcomes[set][s.name], *o)
			}
		}
		if own := replies[len(systems)-1][j]; own != nil && *missed != "" && own.span[2] < 1 {
			b.miss(x, q, suffix, systems, replies, j)
		}
		if asksEvidence(q.set) {
			pack, right := x.evidence(q)
			c := claim{pack.Guidance.Confidence, right}
			b.claims["all"] = append(b.claims["all"], c)
			b.claims[q.set[:2]] = append(b.claims[q.set[:2]], c)
			b.samples = append(b.samples, rank.Sample{X: pack.Guidance.Observed, Answered: right})
		}
	}
	if tags := slices.IndexFunc(systems, func(s system) bool { return s.name == "ctags" }); tags >= 0 {
		for _, q := range questions {
			if strings.HasPrefix(q.set, "S1") {
				all := b.outcomes[q.set+suffix]
				all["reading"] = append(all["reading"], outcome{tokens: systems[tags].reading(q)})
			}
		}
	}
	b.latency = append(b.latency, x.latency...)
	x.latency = nil
}

// suits says whether a system is asked the questions of a set. Where the gates do not need it, the part leaves out those that take their time.
func (b *bench) suits(system, set string) bool {
	switch set[:2] {
	case "S3":
		return b.full || system == "skl" || system == "bm25"
	case "S2":
		return system == "skl" || system == "ripgrep"
	case "S7":
		return system == "skl"
	case "S4":
		return system != "ctags" && system != "reference"
	}
	return true
}

// asksEvidence says whether the confidence of packs is measured on a set.
func asksEvidence(set string) bool {
	switch set[:2] {
	case "S2", "S4", "S7":
		return false
	}
	return true
}

// miss describes a question whose answer is not among the first ten.
func (b *bench) miss(x *indexed, q question, suffix string, systems []system, replies [][]*outcome, j int) {
	fmt.Fprintf(b.misses, "\n%s%s: %s\n  asked %s\n", q.set, suffix, q.text, mustJSON(q.params))
	for _, p := range q.truth[:min(len(q.truth), 4)] {
		fmt.Fprintf(b.misses, "  truth %s:%d-%d\n", p.path, p.first, p.last)
	}
	for i, s := range systems {
		if o := replies[i][j]; o != nil {
			fmt.Fprintf(b.misses, "  %s: file %.2f, span %.2f, mrr %.2f, all %.2f\n", s.name, o.file[2], o.span[2], o.mrr, o.complete)
		}
	}
	compiled, err := q.params.Compile()
	if err != nil {
		return
	}
	result, err := x.x.Query(b.t.Context(), compiled)
	if err != nil {
		return
	}
	fmt.Fprintf(b.misses, "  %d handles of %d, relaxed %v, truncated %v %s\n", len(result.Handles), result.TotalMatches, result.Relaxed, result.Truncated, result.Note)
	for i, h := range result.Handles {
		right := ""
		if q.rightSpan(hit{h.FilePath, h.LineRange[0], h.LineRange[1], h.TokenCount}) {
			right = " <-- right"
		} else if i >= 6 {
			continue
		}
		fmt.Fprintf(b.misses, "    %2d %.3f %s:%d-%d %s %s.%s%s\n", i+1, h.Score, h.FilePath, h.LineRange[0], h.LineRange[1], h.NodeType, h.Parent, h.Name, right)
	}
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// sum makes the results of the outcomes.
func (b *bench) sum() {
	for set, systems := range b.outcomes {
		b.results.Sets[set] = map[string]score{}
		for name, outcomes := range systems {
			b.results.Sets[set][name] = summarise(outcomes)
		}
	}
	for family, claims := range b.claims {
		b.results.Confidence[family] = reliable(claims)
	}
}

// log prints the results as a table.
func (b *bench) log() {
	for _, set := range slices.Sorted(maps.Keys(b.results.Sets)) {
		for _, name := range slices.Sorted(maps.Keys(b.results.Sets[set])) {
			b.t.Logf("%-14s %-9s %v", set, name, b.results.Sets[set][name])
		}
	}
	for _, family := range slices.Sorted(maps.Keys(b.results.Confidence)) {
		r := b.results.Confidence[family]
		b.t.Logf("confidence %-4s n %4d  Brier %.4f (of the mean %.4f)  said %.3f  right %.3f", family, r.Claims, r.Brier, r.Base, r.Mean, r.Right)
	}
	for _, bin := range b.results.Confidence["all"].Bins {
		b.t.Logf("  said %.1f: n %4d  mean %.3f  right %.3f", bin.From, bin.Claims, bin.Mean, bin.Right)
	}
	for _, g := range slices.Sorted(maps.Keys(b.results.Gates)) {
		b.t.Logf("gate %-40s %.4f", g, b.results.Gates[g])
	}
	b.t.Logf("latency of %d queries: p50 %v, p99 %v", len(b.latency), percentile(b.latency, 0.5), percentile(b.latency, 0.99))
}

// A gate is a bound that the index must keep, from the issue that it was built for.
type gate struct {
	name  string
	value float64
	least float64 // 0 with most set
	most  float64
}

// gates computes what must hold.
func (b *bench) gates() []gate {
	var out []gate
	var skl, reading float64
	described := map[string][]outcome{} // of all S3
	for _, set := range slices.Sorted(maps.Keys(b.outcomes)) {
		systems := b.outcomes[set]
		own := systems["skl"]
		switch set[:2] {
		case "S1":
			best := bestOf(systems)
			if strings.HasPrefix(set, "S1 half") { // what people half remember may mean something else: to be better is enough
				of := map[string][]outcome{"skl": own, "bm25": systems[best]}
				out = append(out, gate{set + ": recall relative to " + best, ratio(of, func(o outcome) float64 { return o.span[2] }), 1, 0})
			} else {
				lost := 0
				for i, o := range systems[best] {
					if o.span[2] > own[i].span[2] {
						lost++
					}
				}
				out = append(out, gate{set + ": lost to " + best, float64(lost), 0, 0})
			}
			if !strings.HasPrefix(set, "S1 half") {
				for _, o := range own {
					skl += float64(o.tokens)
				}
				for _, o := range systems["reading"] {
					reading += float64(o.tokens)
				}
			}
		case "S7":
			incomplete := 0
			for _, o := range own {
				if o.complete < 1 || o.precise < 1 {
					incomplete++
				}
			}
			out = append(out, gate{set + ": not the same files", float64(incomplete), 0, 0})
		case "S3":
			if set != "S3 strict" { // whose questions are those of S3 sentence
				b.t.Logf("%s: mrr relative to bm25 %.4f", set, ratio(systems, func(o outcome) float64 { return o.mrr }))
				described["skl"] = append(described["skl"], own...)
				described["bm25"] = append(described["bm25"], systems["bm25"]...)
			}
		case "S4":
			out = append(out, gate{set + ": recall relative to bm25", ratio(systems, func(o outcome) float64 { return o.file[2] }), 1.15, 0})
		}
	}
	if len(described) > 0 {
		out = append(out, gate{"S3: mrr relative to bm25", ratio(described, func(o outcome) float64 { return o.mrr }), 1.25, 0})
	}
	if reading > 0 {
		out = append(out, gate{"S1: tokens relative to reading", round(skl / reading), 0, 0.2})
	}
	return out
}

// bestOf returns the baseline that finds most.
func bestOf(systems map[string][]outcome) string {
	best, most := "", -1.0
	for _, name := range slices.Sorted(maps.Keys(systems)) {
		sum := 0.0
		for _, o := range systems[name] {
			sum += o.span[2]
		}
		if name != "skl" && name != "reading" && sum > most {
			best, most = name, sum
		}
	}
	return best
}

func ratio(systems map[string][]outcome, f func(outcome) float64) float64 {
	var own, base float64
	for i, o := range systems["bm25"] {
		own += f(systems["skl"][i])
		base += f(o)
	}
	return round(own / max(base, 1e-9))
}

// check compares the results with those that were recorded, and with the gates.
func (b *bench) check() {
	b.t.Helper()
	for _, g := range b.gates() {
		b.results.Gates[g.name] = g.value
		if g.least > 0 && g.value < g.least {
			b.t.Errorf("%s is %.4f, want at least %v", g.name, g.value, g.least)
		} else if g.least == 0 && g.value > g.most {
			b.t.Errorf("%s is %.4f, want at most %v", g.name, g.value, g.most)
		}
	}
	b.log()
	if *missed != "" {
		if err := os.WriteFile(*missed, []byte(b.misses.String()), 0o644); err != nil {
			b.t.Error(err)
		}
	}
	name := filepath.Join("testdata", "results.json")
	var file resultsFile
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil && !*update {
		b.t.Fatal(err)
	}
	recorded := &file.Part
	if b.full {
		recorded = &file.Full
	}
	if *update {
		*recorded = b.results
		data, err := json.MarshalIndent(file, "", "\t")
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(name, append(compact(data), '\n'), 0o644); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	b.compare(*recorded)
}

// compact puts lists of numbers on one line.
func compact(data []byte) []byte {
	var out []byte
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '[' && data[i+1] == '\n' && !strings.Contains(string(data[i:min(len(data), i+12)]), "{"):
			depth++
			out = append(out, c)
		case c == ']' && depth > 0:
			depth--
			out = append(out, c)
		case depth > 0 && (c == '\n' || c == '\t'):
		case depth > 0 && c == ',':
			out = append(out, ", "...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// compare fails the test for sets whose results changed although their input did not.
func (b *bench) compare(recorded results) {
	b.t.Helper()
	same := map[string]bool{}
	for name, version := range recorded.Inputs {
		same[name] = b.results.Inputs[name] == version
		if !same[name] {
			b.t.Logf("%s is %q and not %q: its results are not compared", name, b.results.Inputs[name], version)
		}
	}
	for set, systems := range b.results.Sets {
		if !same[inputOf(set)] {
			continue
		}
		for name, got := range systems {
			if want := recorded.Sets[set][name]; !reflect.DeepEqual(got, want) {
				b.t.Errorf("%s of %s changed (run with -update if that is wanted)\n got %v\nwant %v", set, name, got, want)
			}
		}
	}
	if same["go"] && reflect.DeepEqual(b.results.Inputs, recorded.Inputs) && !reflect.DeepEqual(b.results.Confidence, recorded.Confidence) {
		b.t.Errorf("confidence changed (run with -update if that is wanted)\n got %+v\nwant %+v", b.results.Confidence, recorded.Confidence)
	}
}

// inputOf names the input that a set is made of.
func inputOf(set string) string {
	switch {
	case strings.Contains(set, "modules"):
		return "modules"
	case strings.Contains(set, "python"):
		return "python"
	case strings.HasPrefix(set, "S4"):
		return "zoekt"
	}
	return "go"
}

// Does the index find what people and agents ask for, better than what they have without it?
func TestRetrieval(t *testing.T) {
	if racing {
		t.Skip("skipped: takes many minutes under the race detector")
	}
	long.Only(t)
	full := os.Getenv("SKL_TEST_RETRIEVAL") == "full"
	b := newBench(t, true, full)
	b.measure()
	b.check()
}
