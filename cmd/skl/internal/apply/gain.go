package apply

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/lock"
)

// A Gain is an update that asks for more than was accepted of the version that is here.
type Gain struct {
	Name, From, To string
	Wishes         []Wish
	Files          func() ([]trees.FileDiff, error) // what differs between the two
}

// between is what differs between two releases of a skill.
func (a *Applier) between(ctx context.Context, old, next lock.Skill) ([]trees.FileDiff, error) {
	from, err := trees.Release(ctx, a.Scope, old)
	if err != nil {
		return nil, err
	}
	to, err := trees.Release(ctx, a.Scope, next)
	return trees.Diff(from, to), err
}
