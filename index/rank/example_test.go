package rank_test

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/index/rank"
)

func ExampleTerms() {
	rank.Terms([]byte("func (s *HTTPServer) parseQueries()"), func(term []byte) { fmt.Printf("%s ", term) })
	// Output: func s httpserv http serv parsequeri parse queri
}

func ExampleScorer() {
	s := rank.New(rank.Ask("where are queries parsed?"), rank.Corpus{})
	for _, d := range []rank.Document{
		{Name: "parseQuery", Path: "url/query.go", Kind: "function", Tokens: 80},
		{Name: "writeQuery", Path: "url/query.go", Kind: "function", Tokens: 80},
	} {
		score := s.Score(d)
		var why []string
		for _, p := range score.Parts {
			why = append(why, p.Name)
		}
		fmt.Println(d.Name, score.Coverage > 0.8, score.Matched, strings.Join(why, " "))
	}
	// Output:
	// parseQuery true [queri parse] name path cover exact kind size
	// writeQuery false [queri] name path cover kind size
}

func ExamplePack() {
	candidates := []rank.Candidate{
		{Path: "url/query.go", Kind: "function", Start: 0, End: 300, FirstLine: 1, LastLine: 12, Tokens: 80, Score: rank.Score{Value: 3.1, Coverage: 1, Known: 1, Rest: 1, Rarest: 4, Exact: 1,
			Matched: []string{"parsequeri", "pars", "queri"}, Parts: []rank.Part{{Name: "name", Value: 0.7}, {Name: "near", Value: 0.2}, {Name: "match", Value: 2.2}}}},
		{Path: "url/query.go", Start: 400, End: 700, Tokens: 80, Score: rank.Score{Value: 0.3, Coverage: 0.3}},
	}
	chosen, suggested, guidance := rank.Pack(rank.Ask("parseQuery"), candidates, 2, false, rank.PackOptions{MaxPerFile: 1})
	fmt.Println(chosen, suggested, guidance.ConfidenceBand)
	fmt.Println(guidance.NextStep)
	// Output:
	// [0] [0] high
	// Expand the first suggested handle, then answer.
}
