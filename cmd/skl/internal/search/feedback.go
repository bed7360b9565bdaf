package search

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/spec/order"
)

// A Feedback says which answers about a directory were expanded, and what follows for the ranking.
type Feedback struct {
	Root    string                `json:"root"`
	Metrics serve.FeedbackMetrics `json:"metrics"`
	Priors  []Prior               `json:"priors"`
}

// A Prior says how much more or less often than the mean handles of a group are expanded.
type Prior struct {
	Group string  `json:"group"` // a type of node, or a glob
	Value float64 `json:"value"` // -1 to 1
}

func (s *Searcher) feedbackDir() string { return serviceDir(s.Scope.Dirs.State) }

// Feedback reads what was recorded of the searches of agents in the last days, 1 to 30.
func (s *Searcher) Feedback(ctx context.Context, path string, days int) (Feedback, error) {
	root := s.Dir(path)
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	out := Feedback{Root: root, Priors: []Prior{}}
	if _, err := os.Stat(s.feedbackDir()); err != nil {
		return out, nil
	}
	f, err := serve.OpenFeedback(ctx, s.feedbackDir())
	if err != nil {
		return Feedback{}, err
	}
	defer f.Close()
	if out.Metrics, err = f.Metrics(ctx, root, days); err != nil {
		return Feedback{}, err
	}
	known, err := f.Priors(ctx, root, time.Now())
	if err != nil {
		return Feedback{}, err
	}
	for _, m := range []map[string]float64{known.Types, known.Globs} {
		for g, v := range m {
			out.Priors = append(out.Priors, Prior{g, v})
		}
	}
	order.Sort(out.Priors, func(a, b Prior) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Group, b.Group)) })
	return out, nil
}

// prior is what agents' searches of a directory say of a handle, nil if nothing is recorded. Answers are right without it.
func (s *Searcher) prior(ctx context.Context, dir string) func(nodeType, path string) float64 {
	if _, err := os.Stat(filepath.Join(s.feedbackDir(), "feedback.db")); err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	f, err := serve.OpenFeedback(ctx, s.feedbackDir())
	if err != nil {
		return nil
	}
	defer f.Close()
	p, err := f.Priors(ctx, dir, time.Now())
	if err != nil || len(p.Types)+len(p.Globs) == 0 {
		return nil
	}
	return p.Of
}
