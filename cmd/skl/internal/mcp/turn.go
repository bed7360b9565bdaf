package mcp

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/index/skillsearch"
)

// inTurn is s, one call at a time: requests are answered concurrently, and all of s share one scope, which is not for that.
func (s Skills) inTurn() Skills {
	turn := make(chan struct{}, 1)
	take := func(ctx context.Context) error {
		select {
		case turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	give := func() { <-turn }
	out := Skills{
		Search: func(ctx context.Context, task string, limit int) (skillsearch.Answer, error) {
			if err := take(ctx); err != nil {
				return skillsearch.Answer{}, err
			}
			defer give()
			return s.Search(ctx, task, limit)
		},
		Read: func(ctx context.Context, name, file string) (inspect.Text, error) {
			if err := take(ctx); err != nil {
				return inspect.Text{}, err
			}
			defer give()
			return s.Read(ctx, name, file)
		},
	}
	if s.Offer == nil {
		return out
	}
	out.Offers = func(ctx context.Context, after string, each func(inspect.Offer, error) bool) error {
		if err := take(ctx); err != nil {
			return err
		}
		defer give()
		return s.Offers(ctx, after, each)
	}
	out.Offer = func(ctx context.Context, name string) (inspect.Offer, error) {
		if err := take(ctx); err != nil {
			return inspect.Offer{}, err
		}
		defer give()
		return s.Offer(ctx, name)
	}
	return out
}
