package serve

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/order"
)

// Limits of a plan.
const (
	maxSteps     = 3  // queries for one pack
	planLimit    = 12 // matches of a query that was added
	fusion       = 10 // weight of the first ranks against the later ones, see merge
	nameLength   = 4  // bytes of the shortest name that is followed
	enoughNew    = 2  // handles that a step has to add to be followed by another
	enoughChosen = 4  // handles that end a plan when its guidance says stop
)

// A Step is a query that was run for a pack.
type Step struct {
	Query string `json:"query"` // as an expression
	Added int    `json:"added"` // handles that the steps before did not give
}

// A Packer answers with evidence: an index, or several.
type Packer interface {
	Evidence(context.Context, query.Query, rank.PackOptions) (query.Pack, error)
}

// A Planned is a pack with the steps that led to it, if it took more than one.
type Planned struct {
	query.Pack
	Steps []Step `json:"steps,omitempty"`
}

// Evidence makes the pack that agents, HTTP and the command line get. If nothing has all words, it asks for any of them. With plan true it goes on by itself, for at most three queries, with
// the definition of the name that the handles suggest most.
//
// The guidance stays that of the question: that a name which was only guessed has a definition says nothing about the answer.
func Evidence(ctx context.Context, x Packer, in query.EvidenceParams) (Planned, error) {
	p, plan := in.Params, in.Plan
	q, o, err := in.Compile()
	if err != nil {
		return Planned{}, err
	}
	first, err := x.Evidence(ctx, q, o)
	if err != nil {
		return Planned{}, err
	}
	whole := Planned{Pack: first, Steps: []Step{{Query: written(q, p), Added: len(first.Handles)}}}
	steps := maxSteps
	if plan == nil || !*plan {
		steps = 1
		if len(first.Handles) == 0 {
			steps = 2
		}
	}
	asked := []query.Params{p}
	for len(whole.Steps) < steps && !enough(whole.Pack, o) {
		next, ok := follow(whole, asked)
		if !ok {
			break
		}
		asked = append(asked, next)
		q, err := next.Compile()
		if err != nil {
			break // a name that the language cannot hold; what was found stands
		}
		pack, err := x.Evidence(ctx, q, o)
		if err != nil {
			return Planned{}, err
		}
		added := merge(&whole.Pack, pack, o)
		whole.Steps = append(whole.Steps, Step{Query: written(q, next), Added: added})
	}
	if len(whole.Steps) == 1 {
		whole.Steps = nil
	}
	return whole, nil
}

// written is how a step is shown.
func written(q query.Query, p query.Params) string {
	return cmp.Or(p.Query, q.Text)
}

func enough(p query.Pack, o rank.PackOptions) bool {
	return p.Guidance.StopQuerying && len(p.Handles) >= min(cmp.Or(o.MaxHandles, 8), enoughChosen)
}

// follow chooses the next query of a plan.
func follow(whole Planned, asked []query.Params) (query.Params, bool) {
	p := asked[0]
	if len(whole.Handles) == 0 {
		words := strings.Fields(p.Pattern)
		if len(asked) > 1 || len(words) < 2 {
			return query.Params{}, false
		}
		next := p
		next.Pattern, next.Patterns, next.Match = "", words[:min(len(words), query.MaxPatterns)], "any"
		return next, true
	}
	if whole.Steps[len(whole.Steps)-1].Added < enoughNew {
		return query.Params{}, false
	}
	name := suggested(whole.Handles, asked)
	if name == "" {
		return query.Params{}, false
	}
	return query.Params{Symbol: name, Kind: "definition", Glob: p.Glob, Limit: planLimit}, true
}

// suggested is the name among the first eight handles that promises most: long enough, not asked for yet, and written
// like a name of code rather than a word.
func suggested(handles []query.Evidence, asked []query.Params) string {
	var said strings.Builder
	for _, p := range asked {
		said.WriteString(strings.ToLower(strings.Join(append([]string{p.Pattern, p.Symbol, p.Parent, p.Section, p.Literal, p.Query}, p.Patterns...), " ")))
		said.WriteByte(' ')
	}
	best, most := "", 0
	for i, h := range handles[:min(len(handles), 8)] {
		for _, name := range []string{h.Name, h.Parent} {
			if len(name) < nameLength || !isName(name) || strings.Contains(said.String(), strings.ToLower(name)) {
				continue
			}
			score := 9 - i
			if strings.IndexFunc(name, unicode.IsUpper) >= 0 {
				score += 2
			}
			if strings.Contains(name, "_") {
				score++
			}
			if score > most {
				best, most = name, score
			}
		}
	}
	return best
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return true
}

// merge adds the handles of pack to whole and returns how many were new. Scores of two questions cannot be compared, so the
// order is by ranks: each list gives 1/(fusion+rank), and the first list wins ties.
func merge(whole *query.Pack, pack query.Pack, o rank.PackOptions) (added int) {
	type ranked struct {
		query.Evidence
		weight float64
	}
	var all []ranked
	at := make(map[string]int)
	for _, list := range [][]query.Evidence{whole.Handles, pack.Handles} {
		for i, h := range list {
			w := 1 / float64(fusion+i)
			if n, ok := at[h.ID]; ok {
				all[n].weight += w
				continue
			}
			at[h.ID] = len(all)
			all = append(all, ranked{h, w})
		}
	}
	added = len(all) - len(whole.Handles)
	order.Stable(all, func(a, b ranked) int { return cmp.Compare(b.weight, a.weight) })
	most, perFile := cmp.Or(o.MaxHandles, 8), cmp.Or(o.MaxPerFile, 2)
	var chosen []query.Evidence
	count := make(map[string]int)
	for _, h := range all {
		if len(chosen) < most && count[h.FilePath] < perFile {
			chosen = append(chosen, h.Evidence)
			count[h.FilePath]++
		}
	}
	if len(whole.Handles) == 0 {
		whole.Guidance = pack.Guidance
	}
	suggestions := append(slices.Clone(whole.ExpandSuggestion), pack.ExpandSuggestion...)
	whole.TotalMatches = max(whole.TotalMatches, pack.TotalMatches, len(all))
	whole.Truncated = whole.Truncated || pack.Truncated || len(chosen) < len(all)
	whole.NotIndexed = max(whole.NotIndexed, pack.NotIndexed)
	whole.Note = cmp.Or(pack.Note, whole.Note)
	whole.Generation = max(whole.Generation, pack.Generation)
	whole.Handles = chosen
	settle(whole, suggestions)
	return added
}

// settle makes what a pack says of its handles true of the handles that it has. suggestions are ids, best first.
func settle(p *query.Pack, suggestions []string) {
	p.SelectedCount, p.SelectedTokens = len(p.Handles), 0
	p.Files = []query.PackFile{}
	at, have := make(map[string]int), make(map[string]bool)
	for _, h := range p.Handles {
		p.SelectedTokens += h.TokenCount
		have[h.ID] = true
		n, ok := at[h.FilePath]
		if !ok {
			n = len(p.Files)
			at[h.FilePath] = n
			p.Files = append(p.Files, query.PackFile{FilePath: h.FilePath})
		}
		p.Files[n].HandleIDs = append(p.Files[n].HandleIDs, h.ID)
		p.Files[n].TotalTokens += h.TokenCount
	}
	p.ExpandSuggestion = []string{}
	for _, id := range suggestions {
		if have[id] && len(p.ExpandSuggestion) < 6 && !slices.Contains(p.ExpandSuggestion, id) {
			p.ExpandSuggestion = append(p.ExpandSuggestion, id)
		}
	}
	if len(p.ExpandSuggestion) == 0 {
		for _, h := range p.Handles[:min(len(p.Handles), 6)] {
			p.ExpandSuggestion = append(p.ExpandSuggestion, h.ID)
		}
	}
	if p.Handles == nil {
		p.Handles = []query.Evidence{}
	}
	p.Guidance.SuggestedExpandCount = min(p.Guidance.SuggestedExpandCount, len(p.Handles))
}

// fitPack makes p an answer of at most tokens tokens: what scores are made of is left out, since it costs more than all the rest of a handle,
// and then handles go from the end.
func fitPack(p *Planned, tokens int) {
	p.Handles = slices.Clone(p.Handles) // a cache may have them
	for i := range p.Handles {
		p.Handles[i].Why = nil
	}
	for tokensOf(len(encode(p))) > tokens && len(p.Handles) > 1 {
		p.Handles = p.Handles[:len(p.Handles)-1]
		p.Truncated = true
		settle(&p.Pack, p.ExpandSuggestion)
	}
}
