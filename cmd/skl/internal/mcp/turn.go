package mcp

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/index/skillsearch"
)

// inTurn is s, one call at a time, of Search beside one of the others: requests are answered concurrently, and a scope is for one at a time.
func (s Skills) inTurn() Skills {
	search, read := make(turn, 1), make(turn, 1)
	out := Skills{
		Search: func(ctx context.Context, task string, limit int) (a skillsearch.Answer, err error) {
			err = search.take(ctx, func() error { a, err = s.Search(ctx, task, limit); return err })
			return a, err
		},
		Read: func(ctx context.Context, name, file string) (t inspect.Text, err error) {
			err = read.take(ctx, func() error { t, err = s.Read(ctx, name, file); return err })
			return t, err
		},
	}
	if s.Offer == nil {
		return out
	}
	out.Offers = func(ctx context.Context, after string, each func(inspect.Offer, error) bool) error {
		return read.take(ctx, func() error { return s.Offers(ctx, after, each) })
	}
	out.Offer = func(ctx context.Context, name string) (o inspect.Offer, err error) {
		err = read.take(ctx, func() error { o, err = s.Offer(ctx, name); return err })
		return o, err
	}
	return out
}

// A turn is held by one at a time.
type turn chan struct{}

// take calls do when it is its turn.
func (t turn) take(ctx context.Context, do func() error) error {
	select {
	case t <- struct{}{}:
		defer func() { <-t }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}
