package apply

import (
	"context"
	"reflect"

	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// A Gain is an update that asks for more than was accepted of the version that is here.
type Gain struct {
	Name, From, To string
	Wishes         []Wish
	Files          func() ([]FileDiff, error) // what differs between the two
}

// gains asks, for each skill that is here in another version, whether it may have what it newly asks for. It keeps the
// version that is here where the answer is no, and returns the wishes that are still to be asked for.
func (j *job) gains(ctx context.Context, wishes []Wish) ([]Wish, error) {
	if j.Gained == nil || !j.Ask.CanAsk() {
		return wishes, nil
	}
	var left []Wish
	for _, mine := range bySkill(wishes) {
		name := mine[0].Skill
		old, here := j.files.Lock.Skill(name)
		next, _ := j.next.Skill(name)
		if !here {
			left = append(left, mine...)
			continue
		}
		yes, err := j.Gained(Gain{Name: name, From: old.Version, To: next.Version, Wishes: mine, Files: func() ([]FileDiff, error) { return j.between(ctx, old, next) }})
		if err != nil {
			return nil, err
		}
		if !yes {
			if err := j.keep(old); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// keep leaves a skill at the version that is here, and its entry of skl.toml as it was.
func (j *job) keep(old lock.Skill) error {
	j.kept = append(j.kept, Kept{old.Name, old.Version})
	return j.restore(old)
}

// restore is keep, which tells nobody.
func (j *job) restore(old lock.Skill) error {
	j.next.Set(old)
	was, err := manifest.Parse(j.files.ManifestText, j.files.ManifestPath)
	if err != nil {
		return err
	}
	entry, ok := was.Skill(old.Name)
	if now, same := j.files.Manifest.Skill(old.Name); !ok || same && reflect.DeepEqual(now, entry) {
		return nil
	}
	return j.files.Manifest.SetSkill(old.Name, entry)
}

// between is what differs between two releases of a skill.
func (j *job) between(ctx context.Context, old, next lock.Skill) ([]FileDiff, error) {
	from, err := j.ReleaseTree(ctx, old)
	if err != nil {
		return nil, err
	}
	to, err := j.ReleaseTree(ctx, next)
	return DiffTrees(from, to), err
}
