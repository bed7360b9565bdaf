package rank

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// candidates reads one candidate per line: path start-end tokens value, then "recent" or "overlaps".
func candidates(t *testing.T, text string) []Candidate {
	t.Helper()
	var all []Candidate
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		var c Candidate
		if _, err := fmt.Sscanf(strings.Join(f[:4], " "), "%s %d-%d %d %g", &c.Path, &c.Start, &c.End, &c.Tokens, &c.Score.Value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.Recent, c.Overlaps = slices.Contains(f, "recent"), slices.Contains(f, "overlaps")
		all = append(all, c)
	}
	return all
}

func TestPack(t *testing.T) {
	const five = `
		a.go 0-9    10 0.5
		a.go 10-19  10 0.9
		a.go 20-29  10 0.8
		b.go 0-9    50 0.7
		c.go 0-9    10 0.6
	`
	for _, c := range []struct {
		name, candidates  string
		options           PackOptions
		chosen, suggested []int
	}{
		{"best first, two of a file", five, PackOptions{}, []int{1, 2, 3, 4}, []int{1, 2, 3, 4}},
		{"one of a file", five, PackOptions{MaxPerFile: 1}, []int{1, 3, 4}, []int{1, 3, 4}},
		{"few handles", five, PackOptions{MaxHandles: 2}, []int{1, 2}, []int{1, 2}},
		{"what costs too much is passed over", five, PackOptions{MaxTokens: 30}, []int{1, 2, 4}, []int{1, 2, 4}},
		{"nothing fits", five, PackOptions{MaxTokens: 5}, nil, nil},
		{"limits out of range", five, PackOptions{MaxHandles: -1, MaxPerFile: 99}, []int{1}, []int{1}},
		{"expanded lately is suggested last", `
			a.go 0-9 10 0.9 recent
			b.go 0-9 10 0.8
		`, PackOptions{}, []int{0, 1}, []int{1, 0}},
		{"overlap with expanded text is chosen last", `
			a.go 0-9 10 0.9 overlaps
			b.go 0-9 10 0.1
		`, PackOptions{MaxHandles: 1}, []int{1}, []int{1}},
		{"a class after its method if there is room", `
			a.go 0-99 90 0.8
			a.go 10-19 10 0.9
			b.go 0-9 10 0.1
		`, PackOptions{}, []int{1, 0, 2}, []int{1, 0, 2}},
		{"and not if there is none", `
			a.go 0-99 90 0.8
			a.go 10-19 10 0.9
			b.go 0-9 10 0.1
		`, PackOptions{MaxHandles: 2}, []int{1, 2}, []int{1, 2}},
		{"ties by tokens, path, start", `
			b.go 0-9 10 0.5
			a.go 10-19 10 0.5
			a.go 0-9 10 0.5
			c.go 0-9 9 0.5
		`, PackOptions{}, []int{3, 2, 1, 0}, []int{3, 2, 1, 0}},
		{"six are suggested", `
			a 0-9 1 9
			b 0-9 1 8
			c 0-9 1 7
			d 0-9 1 6
			e 0-9 1 5
			f 0-9 1 4
			g 0-9 1 3
			h 0-9 1 2
			i 0-9 1 1
		`, PackOptions{}, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 1, 2, 3, 4, 5}},
		{"matches without scores", "a 0-9 5 0\nb 0-9 4 0", PackOptions{}, []int{1, 0}, []int{1, 0}},
		{"nothing", "", PackOptions{}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := candidates(t, c.candidates)
			chosen, suggested, g := Pack(Question{}, all, len(all), false, c.options)
			if !slices.Equal(chosen, c.chosen) || !slices.Equal(suggested, c.suggested) {
				t.Errorf("chosen %v, suggested %v; want %v, %v", chosen, suggested, c.chosen, c.suggested)
			}
			if g.SuggestedExpandCount > len(suggested) {
				t.Errorf("%d of %d are to be expanded", g.SuggestedExpandCount, len(suggested))
			}
		})
	}
}

func TestGuidance(t *testing.T) {
	exact := Score{Value: 3.2, Coverage: 1, Known: 1, Rest: 1, Rarest: 5, Exact: 1, Matched: []string{"parset", "pars", "tabl"}, Parts: []Part{{"name", 0.6}, {"body", 0.1}, {"near", 0.19}, {"exact", 0.42}, {"match", 2}}}
	alike := Score{Value: 2.6, Coverage: 0.7, Known: 0.7, Rest: 0.7, Rarest: 4, Matched: []string{"tabl"}, Parts: []Part{{"name", 0.3}, {"match", 1.9}}}
	weak := Score{Value: 0.1, Coverage: 0.1, Unknown: 0.5, Known: 0.2}
	many := func(s Score, n int) (all []Candidate) {
		for i := range n {
			all = append(all, Candidate{Path: fmt.Sprintf("d%d/f", i), Kind: "function", FirstLine: 1, LastLine: 20, Tokens: 10, Score: s})
		}
		return all
	}
	for _, c := range []struct {
		name                  string
		candidates            []Candidate
		total                 int
		truncated, stop       bool
		action, band          string
		expand, more          int
		rationale, next, deny string
	}{
		{"nothing matches", nil, 0, false, false, "refine_query", "low", 0, 2, "Nothing matches.", "other words", "xpand"},
		{"nothing fits", nil, 7, false, false, "refine_query", "low", 0, 2, "none fits", "limit", "xpand"},
		{"the one that was named", append(many(exact, 1), many(alike, 3)...), 4, false, true, "expand_then_answer", "high", 2, 0, "has the name that was asked for", "first 2 suggested handles", "Ask"},
		{"a single match", many(exact, 1), 1, false, true, "expand_then_answer", "high", 1, 0, "1 handle in 1 file", "first suggested handle,", "Ask"},
		{"many that share few words", many(weak, 8), 500, true, false, "refine_query", "low", 4, 1, "few words with the question; 500 matches in all, and there are more", "Ask once more", "then answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, g := Pack(Ask("parseTable"), c.candidates, c.total, c.truncated, PackOptions{})
			if g.StopQuerying != c.stop || g.RecommendedAction != c.action || g.ConfidenceBand != c.band || g.SuggestedExpandCount != c.expand || g.MaxAdditionalQueries != c.more {
				t.Errorf("%+v", g)
			}
			if !strings.Contains(g.Rationale, c.rationale) || !strings.Contains(g.NextStep, c.next) || strings.Contains(g.NextStep, c.deny) {
				t.Errorf("%q, %q", g.Rationale, g.NextStep)
			}
		})
	}
	for p, want := range map[float64]string{0: "low", 0.34: "low", 0.35: "medium", 0.69: "medium", 0.7: "high", 1: "high"} {
		if got := Band(p); got != want {
			t.Errorf("%v is %s", p, got)
		}
	}
}

func TestPackLaws(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		all := make([]Candidate, r.Intn(30))
		for i := range all {
			start := r.Intn(100)
			all[i] = Candidate{Path: string(rune('a' + r.Intn(5))), Start: start, End: start + r.Intn(20), Tokens: r.Intn(50), Recent: r.Intn(4) == 0, Overlaps: r.Intn(4) == 0,
				Score: Score{Value: float64(r.Intn(6)) / 4, Coverage: r.Float64(), Exact: r.Float64()}}
		}
		o := PackOptions{MaxHandles: r.Intn(9), MaxPerFile: r.Intn(4), MaxTokens: r.Intn(2) * 100}
		chosen, suggested, g := Pack(Question{}, all, len(all), r.Intn(2) == 0, o)

		files, tokens := map[string]int{}, 0
		for i, c := range chosen {
			tokens += all[c].Tokens
			if files[all[c].Path]++; files[all[c].Path] > bounded(o.MaxPerFile, 2, 8) || slices.Contains(chosen[:i], c) {
				t.Fatalf("chosen %v of %+v with %+v", chosen, all, o)
			}
		}
		if len(chosen) > bounded(o.MaxHandles, 8, 64) || o.MaxTokens > 0 && tokens > o.MaxTokens {
			t.Fatalf("chosen %v of %+v with %+v", chosen, all, o)
		}
		for _, s := range suggested {
			if !slices.Contains(chosen, s) {
				t.Fatalf("%d is suggested, but not chosen", s)
			}
		}
		if g.StopQuerying != (g.RecommendedAction == "expand_then_answer") || g.StopQuerying && len(chosen) == 0 || len(chosen) > 0 && g.SuggestedExpandCount < 1 ||
			g.Confidence < 0 || g.Confidence > 1 || g.ConfidenceBand != Band(g.Confidence) {
			t.Fatalf("%+v", g)
		}

		// The order does not matter, as far as candidates differ.
		perm := r.Perm(len(all))
		mixed := make([]Candidate, len(all))
		for i, p := range perm {
			mixed[p] = all[i]
		}
		again, _, _ := Pack(Question{}, mixed, len(all), false, o)
		if len(again) != len(chosen) {
			t.Fatalf("chosen %v, of another order %v", chosen, again)
		}
		for i := range again {
			a, b := mixed[again[i]], all[chosen[i]]
			a.Recent, b.Recent, a.Score, b.Score = false, false, Score{Value: a.Score.Value}, Score{Value: b.Score.Value}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("chosen %+v, of another order %+v", b, a)
			}
		}
	}
}

func BenchmarkPack(b *testing.B) {
	all := make([]Candidate, 200)
	for i := range all {
		all[i] = Candidate{Path: fmt.Sprintf("dir/file%d.go", i%50), Start: i, End: i + 1, Tokens: 100, Score: Score{Value: float64(i*7%100) / 50}}
	}
	for b.Loop() {
		Pack(Question{}, all, 1000, true, PackOptions{})
	}
}
