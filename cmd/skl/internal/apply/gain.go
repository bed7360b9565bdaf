package apply

import (
	"context"

	"github.com/skl-project/skl/spec/lock"
)

// A Gain is an update that asks for more than was accepted of the version that is here.
type Gain struct {
	Name, From, To string
	Wishes         []Wish
	Files          func() ([]FileDiff, error) // what differs between the two
}

// between is what differs between two releases of a skill.
func (a *Applier) between(ctx context.Context, old, next lock.Skill) ([]FileDiff, error) {
	from, err := a.ReleaseTree(ctx, old)
	if err != nil {
		return nil, err
	}
	to, err := a.ReleaseTree(ctx, next)
	return DiffTrees(from, to), err
}
