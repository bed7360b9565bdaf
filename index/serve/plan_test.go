package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// pack makes a pack of handles written as "file:Name".
func pack(band string, stop bool, handles ...string) query.Pack {
	p := query.Pack{TotalMatches: len(handles), Guidance: rank.Guidance{ConfidenceBand: band, StopQuerying: stop, Confidence: map[string]float64{"low": 0.2, "medium": 0.5, "high": 0.9}[band], SuggestedExpandCount: 3}}
	for _, h := range handles {
		file, name, _ := strings.Cut(h, ":")
		p.Handles = append(p.Handles, query.Evidence{ID: h, FilePath: file, Name: name, TokenCount: 10})
	}
	settle(&p, nil)
	return p
}

func TestPlan(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		name    string
		ask     query.Params
		plan    *bool
		packs   []query.Pack
		asked   string // the texts of the queries
		handles string
		band    string
	}{
		{name: "a good pack is enough", ask: query.Params{Pattern: "pool"}, packs: []query.Pack{pack("high", true, "a:poolGet")},
			asked: "pool", handles: "a:poolGet", band: "high"},
		{name: "a poor pack is followed by the name that it suggests, and stays poor", ask: query.Params{Pattern: "wait pool"}, plan: &yes,
			packs: []query.Pack{pack("low", false, "a:get", "b:acquireSlot"), pack("high", true, "c:acquireSlot")},
			asked: "wait pool | acquireSlot", handles: "a:get c:acquireSlot b:acquireSlot", band: "low"},
		{name: "names that were asked for are not followed", ask: query.Params{Pattern: "acquireSlot"},
			packs: []query.Pack{pack("low", false, "a:acquireSlot", "b:Slot")}, asked: "acquireSlot", handles: "a:acquireSlot b:Slot", band: "low"},
		{name: "no more than three", ask: query.Params{Pattern: "x y"}, plan: &yes,
			packs: []query.Pack{pack("low", false, "a:firstName", "b:other"), pack("low", false, "c:secondName", "d:thirdName"), pack("low", false, "e:more", "f:again"), pack("low", false, "g:never")},
			asked: "x y | firstName | secondName", handles: "a:firstName e:more c:secondName f:again b:other d:thirdName", band: "low"},
		{name: "a step that adds little is the last", ask: query.Params{Pattern: "x y"}, plan: &yes,
			packs: []query.Pack{pack("low", false, "a:firstName", "b:other"), pack("low", false, "c:secondName", "a:firstName"), pack("low", false, "e:more")},
			asked: "x y | firstName", handles: "a:firstName c:secondName b:other", band: "low"},
		{name: "without a plan only nothing is followed", ask: query.Params{Pattern: "x y"}, plan: &no,
			packs: []query.Pack{pack("low", false), pack("low", false, "a:firstName", "b:secondName")}, asked: "x y | x y", handles: "a:firstName b:secondName", band: "low"},
		{name: "nobody asked for a plan", ask: query.Params{Pattern: "wait pool"},
			packs: []query.Pack{pack("low", false, "a:get", "b:acquireSlot"), pack("high", true, "c:acquireSlot")}, asked: "wait pool", handles: "a:get b:acquireSlot", band: "low"},
		{name: "without a plan a poor pack stays", ask: query.Params{Pattern: "x y"}, plan: &no,
			packs: []query.Pack{pack("low", false, "a:firstName", "b:secondName")}, asked: "x y", handles: "a:firstName b:secondName", band: "low"},
		{name: "one word has no other words", ask: query.Params{Pattern: "x"}, plan: &yes, packs: []query.Pack{pack("low", false)}, asked: "x", band: "low"},
		{name: "a plan goes on after a fair pack", ask: query.Params{Pattern: "x"}, plan: &yes,
			packs: []query.Pack{pack("medium", false, "a:firstName", "b:other"), pack("high", true, "c:firstName")}, asked: "x | firstName", handles: "a:firstName c:firstName b:other", band: "medium"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{packs: test.packs}
			got, err := Evidence(t.Context(), f, query.EvidenceParams{Params: test.ask, Plan: test.plan})
			if err != nil {
				t.Fatal(err)
			}
			var asked, handles []string
			for _, q := range f.asked {
				asked = append(asked, q.Text)
			}
			for _, h := range got.Handles {
				handles = append(handles, h.ID)
			}
			if a, h := strings.Join(asked, " | "), strings.Join(handles, " "); a != test.asked || h != test.handles || got.Guidance.ConfidenceBand != test.band {
				t.Errorf("asked %q, got %q, %s", a, h, got.Guidance.ConfidenceBand)
			}
			if n := len(got.Steps); n != len(asked) && (n != 0 || len(asked) != 1) {
				t.Errorf("%d steps for %d queries", n, len(asked))
			}
			if got.SelectedCount != len(got.Handles) || got.SelectedTokens != 10*len(got.Handles) || len(got.ExpandSuggestion) > 6 || got.Guidance.SuggestedExpandCount > len(got.Handles) {
				t.Errorf("the pack does not agree with itself: %+v", got)
			}
			for _, id := range got.ExpandSuggestion {
				if !slices.Contains(handles, id) {
					t.Errorf("%s is suggested and not there", id)
				}
			}
		})
	}
}

// Local matches come first, and matches of the service in files that are not committed are left out.
func TestMerge(t *testing.T) {
	h := func(file, id, source string) query.Handle {
		return query.Handle{ID: id, FilePath: file, Source: source, TokenCount: 5}
	}
	there := query.Result{Handles: []query.Handle{h("a", "1", "service"), h("b", "2", "service"), h("c", "3", "service")}, TotalMatches: 9, Truncated: true, Relaxed: true}
	here := query.Result{Handles: []query.Handle{h("b", "9", "local")}, TotalMatches: 1}
	got := mergeResults(here, there, map[string]bool{"b": true, "gone": true}, query.Query{Limit: 16})
	var ids []string
	for _, h := range got.Handles {
		ids = append(ids, h.ID)
	}
	if !slices.Equal(ids, []string{"9", "1", "3"}) || got.TotalMatches != 9 || !got.Truncated || got.TotalTokens != 15 || got.Relaxed {
		t.Errorf("got %+v", got)
	}
	if got := mergeResults(here, there, map[string]bool{"b": true}, query.Query{Limit: 2}); len(got.Handles) != 2 || !got.Truncated {
		t.Errorf("got %+v", got)
	}
	if got := mergeResults(query.Result{}, query.Result{Handles: there.Handles[:1], TotalMatches: 1}, map[string]bool{"a": true}, query.Query{Limit: 2}); len(got.Handles) != 0 || got.TotalMatches != 0 || got.Truncated {
		t.Errorf("got %+v", got)
	}
	p := mergePacks(pack("low", false, "b:x"), pack("high", true, "b:y", "a:z", "a:w", "a:v"), map[string]bool{"b": true}, rank.PackOptions{MaxPerFile: 2})
	if p.SelectedCount != 3 || p.Handles[0].ID != "b:x" || p.ExpandSuggestion[0] != "b:x" || p.Guidance.ConfidenceBand != "high" || !p.Truncated {
		t.Errorf("got %+v", p)
	}
	p = mergePacks(pack("low", false, "b:x"), pack("high", true, "b:y"), map[string]bool{"b": true}, rank.PackOptions{})
	if p.SelectedCount != 1 || p.Guidance.ConfidenceBand != "low" {
		t.Errorf("guidance of handles that are left out: %+v", p)
	}
	if p = mergePacks(query.Pack{}, pack("high", true, "b:y"), map[string]bool{"b": true}, rank.PackOptions{}); len(p.Handles) != 0 || p.Guidance.StopQuerying || p.Guidance.SuggestedExpandCount != 0 {
		t.Errorf("nothing is left: %+v", p.Guidance)
	}
}
