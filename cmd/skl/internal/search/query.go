package search

import (
	"context"
	"slices"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/spec/diag"
)

// A Question is what Query and Files look for.
type Question struct {
	Place
	query.Params
	MaxTokens int // of the answer, 0 for no limit
}

// An Answer is what was found for a Question.
type Answer struct {
	query.Result
	Query   query.Query   // as it was understood
	Cut     bool          // MaxTokens left something out
	LeftOut query.LeftOut // what was not searched, where that matters

	Indexing bool // what the answer does not cover is being read now
}

// Query answers with handles, the best first.
func (s *Searcher) Query(ctx context.Context, q Question) (Answer, error) {
	compiled, err := q.Compile()
	if err != nil {
		return Answer{}, err
	}
	x, err := s.open(ctx, q.Place)
	if err != nil {
		return Answer{}, err
	}
	defer x.Close()
	whole, err := x.Query(ctx, compiled)
	if err != nil {
		return Answer{}, told(err)
	}
	r := whole.Within(q.MaxTokens)
	cut := len(r.Handles)+len(r.RefHandles) < len(whole.Handles)+len(whole.RefHandles) || r.ExpandedCount < whole.ExpandedCount
	going := s.goOn(ctx, x, q.Place, whole.NotIndexed > 0 || whole.Behind)
	return Answer{r, compiled, cut, leftOut(x, q.Params, r.TotalMatches > 0), going}, nil
}

// leftOut is what x did not search, where an answer is complete otherwise, or empty.
func leftOut(x searched, p query.Params, found bool) query.LeftOut {
	if l, ok := x.(interface{ LeftOut() query.LeftOut }); ok && (!found || p.Literal+p.Regex != "") {
		return l.LeftOut()
	}
	return query.LeftOut{}
}

// A Files is the paths of all files that match a Question.
type Files struct {
	Files []string `json:"files"`

	Query   query.Query   `json:"-"`
	LeftOut query.LeftOut `json:"-"`
}

// Files lists the files that match, and looks at no limit of q. A service cannot do that.
func (s *Searcher) Files(ctx context.Context, q Question) (Files, error) {
	compiled, err := q.Compile()
	if err != nil {
		return Files{}, err
	}
	if q.Service != "" {
		return Files{}, diag.New(diag.Misuse, "usage", "a service does not list files").Hint("leave out --files or --service")
	}
	x, err := s.open(ctx, q.Place)
	if err != nil {
		return Files{}, err
	}
	defer x.Close()
	list, err := x.(interface {
		Files(context.Context, query.Query) ([]string, error)
	}).Files(ctx, compiled)
	if err != nil {
		return Files{}, err
	}
	return Files{append([]string{}, list...), compiled, leftOut(x, q.Params, false)}, nil
}

// An EvidenceQuestion asks for the few handles that answer it.
type EvidenceQuestion struct {
	Place
	query.EvidenceParams
}

// An Evidence is the answer to an EvidenceQuestion.
type Evidence struct {
	query.Pack
	Query   query.Query
	LeftOut query.LeftOut

	Indexing bool // what the answer does not cover is being read now
}

// Evidence chooses the handles that answer a question, and says whether to search on.
func (s *Searcher) Evidence(ctx context.Context, q EvidenceQuestion) (Evidence, error) {
	compiled, _, err := q.EvidenceParams.Compile()
	if err != nil {
		return Evidence{}, err
	}
	x, err := s.open(ctx, q.Place)
	if err != nil {
		return Evidence{}, err
	}
	defer x.Close()
	p, err := serve.Evidence(ctx, x, q.EvidenceParams)
	if err != nil {
		return Evidence{}, told(err)
	}
	going := s.goOn(ctx, x, q.Place, p.NotIndexed > 0 || p.Behind)
	return Evidence{p.Pack, compiled, leftOut(x, q.Params, len(p.Handles) > 0), going}, nil
}

// Expand returns the text behind handles, and an error for each that stands for nothing. Handles that maxTokens left out
// are none of these.
func (s *Searcher) Expand(ctx context.Context, p Place, handles []string, maxTokens int) (e query.Expansion, lost []error, err error) {
	var ids []string
	for _, arg := range handles {
		id, err := query.ParseID(arg)
		if err != nil {
			return query.Expansion{}, nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	x, err := s.open(ctx, p)
	if err != nil {
		return query.Expansion{}, nil, err
	}
	defer x.Close()
	if e, err = x.Expand(ctx, ids, maxTokens); err != nil {
		return query.Expansion{}, nil, told(err)
	}
	if len(e.Contents)+len(e.FailedIDs) == 0 && !e.Truncated {
		for _, id := range ids { // there is no root that could have them
			e.FailedIDs = append(e.FailedIDs, query.Failure{HandleID: id, Code: "handle_not_found"})
		}
	}
	return e, s.lost(p, e.FailedIDs), nil
}

func (s *Searcher) lost(p Place, failed []query.Failure) (lost []error) {
	for _, f := range failed {
		switch f.Code {
		case "max_tokens":
		case "handle_not_found":
			where := "the skills"
			if !p.Skills {
				where = s.Scope.Short(s.Dir(p.Path))
			}
			if where == "." {
				where = "this directory"
			}
			lost = append(lost, diag.New(diag.Failed, "handle_not_found", "no part of a file in %s has the handle %s now", where, f.HandleID).Hint("skl query%s WORDS", p.Flags()))
		default:
			lost = append(lost, diag.New(diag.Failed, f.Code, "%s: %s", f.HandleID, f.Message).Hint("skl query%s WORDS", p.Flags()))
		}
	}
	return lost
}
