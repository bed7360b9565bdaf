package source

import "context"

type limitKey struct{}

// WithLimit is ctx for fetches that are given up after about so many bytes of content, though an install would go on.
func WithLimit(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, limitKey{}, bytes)
}

// Limit is the limit of ctx, at most usual.
func Limit(ctx context.Context, usual int64) int64 {
	if bytes, ok := ctx.Value(limitKey{}).(int64); ok {
		return min(bytes, usual)
	}
	return usual
}
