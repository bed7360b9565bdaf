package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Candidate for an evidence pack.
type Candidate struct {
	Path       string
	Start, End int // bytes
	FirstLine  int
	LastLine   int
	Kind       string
	Tokens     int
	Score      Score
	Recent     bool // expanded lately: suggested last
	Overlaps   bool // with what was expanded lately: chosen last
}

// PackOptions bound an evidence pack. Values beyond a bound mean the bound.
type PackOptions struct {
	MaxHandles int // 0 means 8; 1 to 64
	MaxPerFile int // 0 means 2; 1 to 8
	MaxTokens  int // of all handles together; 0 for no limit
}

// Enough is the confidence from which on another question is not worth its time: nearly 9 of 10 such packs answer.
const Enough = 0.70

// maxSuggested handles are suggested.
const maxSuggested = 6

// A Guidance tells an agent how to go on. Confidence is the probability that one of the suggested handles answers,
// calibrated by index/retrieval.
type Guidance struct {
	StopQuerying         bool    `json:"stop_querying"`
	RecommendedAction    string  `json:"recommended_action"` // "expand_then_answer" or "refine_query"
	SuggestedExpandCount int     `json:"suggested_expand_count"`
	MaxAdditionalQueries int     `json:"max_additional_queries"`
	Confidence           float64 `json:"confidence"`
	ConfidenceBand       string  `json:"confidence_band"` // "low" below 0.35, "high" from 0.70, else "medium"
	Rationale            string  `json:"rationale"`
	NextStep             string  `json:"next_step"`

	Observed Observed `json:"-"` // what Confidence was made of
}

// Pack chooses candidates for a question and says how to go on. chosen and suggested hold indexes of candidates, best first; suggested
// has at most 6 of the chosen. total is the number of all matches, truncated says that the candidates are not all of them.
//
// The order of candidates does not matter: those with an equal score come by fewer tokens, then path, then start. What
// overlaps with what was expanded lately comes after all others. Of two candidates of a file that overlap, such as
// a class and its method, the worse is taken only if there is room in the end. A candidate that exceeds MaxTokens is
// passed over for a smaller one. Candidates that score 0 or less are never chosen before others, but they are chosen:
// a literal search has no scores.
func Pack(q Question, candidates []Candidate, total int, truncated bool, o PackOptions) (chosen, suggested []int, g Guidance) {
	handles, perFile := bounded(o.MaxHandles, 8, 64), bounded(o.MaxPerFile, 2, 8)
	order := make([]int, len(candidates))
	for i := range order {
		order[i] = i
	}
	better := func(a, b int) int { return compare(&candidates[a], &candidates[b], a, b) }
	slices.SortFunc(order, better)

	taken := make([]bool, len(candidates))
	files := map[string]int{}
	tokens := 0
	for _, late := range []bool{false, true} {
		for _, i := range order {
			c := &candidates[i]
			cost := max(0, c.Tokens)
			if len(chosen) == handles {
				break
			}
			if taken[i] || files[c.Path] >= perFile || o.MaxTokens > 0 && cost > o.MaxTokens-tokens {
				continue
			}
			if !late && slices.ContainsFunc(chosen, func(j int) bool { return c.overlaps(&candidates[j]) }) {
				continue
			}
			chosen, taken[i] = append(chosen, i), true
			files[c.Path]++
			tokens += cost
		}
	}
	slices.SortFunc(chosen, better)

	for _, recent := range []bool{false, true} {
		for _, i := range chosen {
			if candidates[i].Recent == recent && len(suggested) < maxSuggested {
				suggested = append(suggested, i)
			}
		}
	}
	return chosen, suggested, guide(q, candidates, chosen, len(suggested), total, truncated)
}

func bounded(n, usual, most int) int {
	if n == 0 {
		n = usual
	}
	return max(1, min(n, most))
}

// compare orders candidates, the better first.
func compare(a, b *Candidate, i, j int) int {
	if a.Overlaps != b.Overlaps {
		if b.Overlaps {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Score.Value, a.Score.Value), cmp.Compare(a.Tokens, b.Tokens), cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Kind, b.Kind), cmp.Compare(i, j))
}

func (c *Candidate) overlaps(d *Candidate) bool {
	return c.Path == d.Path && c.Start < d.End && d.Start < c.End
}

// guide decides how to go on.
func guide(q Question, candidates []Candidate, chosen []int, suggested, total int, truncated bool) Guidance {
	if len(chosen) == 0 {
		g := Guidance{RecommendedAction: "refine_query", MaxAdditionalQueries: 2, ConfidenceBand: "low"}
		if len(candidates) > 0 || total > 0 {
			g.Rationale = "There are matches, but none fits the limits of this pack."
			g.NextStep = "Raise the limit of tokens, or ask for a smaller piece by its name."
		} else {
			g.Rationale = "Nothing matches."
			g.NextStep = "Ask again with other words, the name of a symbol, or without the glob."
		}
		return g
	}
	best := make([]Candidate, len(chosen))
	files := map[string]bool{}
	for i, c := range chosen {
		best[i] = candidates[c]
		files[best[i].Path] = true
	}
	x := Observe(q, best, total)
	p := DefaultCalibration().Probability(x)
	g := Guidance{Confidence: p, ConfidenceBand: Band(p), StopQuerying: p >= Enough, Observed: x}
	switch {
	case p >= Enough:
		g.SuggestedExpandCount = 2
	case p >= 0.5:
		g.SuggestedExpandCount = 3
	default:
		g.SuggestedExpandCount = 4
	}
	g.SuggestedExpandCount = max(1, min(g.SuggestedExpandCount, suggested))
	g.Rationale = rationale(&best[0], len(chosen), len(files), total, truncated)
	if g.StopQuerying {
		g.RecommendedAction = "expand_then_answer"
		g.NextStep = fmt.Sprintf("Expand the first %d suggested handles, then answer.", g.SuggestedExpandCount)
		if g.SuggestedExpandCount == 1 {
			g.NextStep = "Expand the first suggested handle, then answer."
		}
		return g
	}
	g.RecommendedAction = "refine_query"
	g.MaxAdditionalQueries = 1
	g.NextStep = "Ask once more with the name of a symbol, a narrower glob or rarer words; if that finds nothing better, expand the first handles."
	return g
}

// Sentence is the next step within a line of a message.
func (g Guidance) Sentence() string {
	return strings.ToLower(g.NextStep[:min(1, len(g.NextStep))]) + strings.TrimSuffix(g.NextStep[min(1, len(g.NextStep)):], ".")
}

// Band names the range that a confidence is in.
func Band(confidence float64) string {
	switch {
	case confidence < 0.35:
		return "low"
	case confidence < Enough:
		return "medium"
	}
	return "high"
}

func rationale(top *Candidate, handles, files, total int, truncated bool) string {
	how := "shares few words with the question"
	switch {
	case top.Score.Exact >= 0.8:
		how = "has the name that was asked for"
	case top.Score.Exact > 0:
		how = "has a name that was asked for"
	case top.Score.Coverage >= 0.8:
		how = "has nearly all words of the question"
	case top.Score.Coverage >= 0.4:
		how = "has some words of the question"
	case top.Score.Value <= 0:
		how = "matches"
	}
	more := ""
	if truncated {
		more = ", and there are more than were ranked"
	}
	return fmt.Sprintf("The best of %s in %s %s; %s in all%s.", count(handles, "handle"), count(files, "file"), how, count(max(total, handles), "match"), more)
}

// count returns "1 handle", "2 handles".
func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "match":
		return fmt.Sprintf("%d matches", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
