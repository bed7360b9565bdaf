package admin

import (
	"context"

	"github.com/skl-project/skl/registry/client/wire"
)

// A Waiting is a release that waits.
type Waiting = wire.Waiting

// A Queue is what waits on a registry, the oldest first.
type Queue struct {
	Waiting []wire.Waiting `json:"waiting"`
}

// A QueueRequest asks for what waits.
type QueueRequest struct {
	Site      Site
	Namespace string // "" is all whose drafts the caller sees
}

// Queue lists the releases that wait for a signature or a decision.
func (a *Admin) Queue(ctx context.Context, r QueueRequest) (Queue, error) {
	return on(ctx, a, r.Site, func(s *site) (Queue, error) {
		list, err := s.client.Queue(ctx, r.Namespace)
		return Queue{append([]wire.Waiting{}, list...)}, err
	})
}
