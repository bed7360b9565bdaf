package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A Held is a skill that an install of all skills of a reference leaves out.
type Held struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"` // in its source
	Code  string   `json:"code"` // of the error that it would be alone
	Why   string   `json:"why"`
	Hints []string `json:"hints"`

	err error
}

// IsMoved reports whether an update held h since its tags mean other bytes than they did.
func (h Held) IsMoved() bool { return h.Code == resolver.CodeMoved }

// allHeld is the result where nothing is left to install. The error of one skill alone is that of the command: there is no
// rest that it should not stop.
func (j *job) allHeld() (Result, error) {
	if len(j.held) == 1 {
		return Result{}, j.held[0].err
	}
	return Result{Lock: j.files.Lock, LockState: "unchanged", DryRun: j.dry, Held: j.held}, nil
}

// held makes a Held of the error that a skill would be. What is no judgement of the skill, such as a network that fails, stays an
// error.
func held(name, path string, err error) (Held, error) {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Retryable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Held{}, err
	}
	return Held{Name: name, Path: path, Code: e.Code, Why: err.Error(), Hints: append([]string{}, e.Hints...), err: err}, nil
}

// spare turns the error of one skill into one that is held, where all skills that can be installed are wanted.
func (j *job) spare(name, path string, err error) error {
	if err == nil || !j.holdBack {
		return err
	}
	h, err := held(name, path, err)
	if slices.ContainsFunc(j.held, func(have Held) bool { return have.Name == h.Name && have.Why == h.Why }) {
		return err // the same of another path
	}
	if err == nil {
		j.held = append(j.held, h)
	}
	return err
}

// drop takes a skill that was added out of the manifest and the lock again, or back to what it was there.
func (j *job) drop(name string, err error) error {
	s, _ := j.next.Skill(name)
	if err := j.spare(name, s.Path, err); err != nil {
		return err
	}
	j.added = slices.DeleteFunc(j.added, func(n string) bool { return n == name })
	j.anew = slices.DeleteFunc(j.anew, func(n string) bool { return n == name })
	j.picked = slices.DeleteFunc(j.picked, func(s selection) bool { return s.entry.Name == name })
	if old, ok := j.files.Lock.Skill(name); ok {
		j.next.Set(old)
	} else {
		j.next.Remove(name)
	}
	if old, ok := j.before[name]; ok {
		return j.files.Manifest.SetSkill(name, old)
	}
	return j.files.Manifest.RemoveSkill(name)
}

// sift looks for the skills that are behind err, the error of preparing all of them, and holds them.
func (j *job) sift(ctx context.Context, in *install.Installer, have map[string]install.Have, err error) error {
	if err == nil || !j.holdBack || ctx.Err() != nil {
		return err
	}
	found := false
	for _, name := range slices.Clone(j.added) {
		s, _ := j.next.Skill(name)
		one := &lock.Lock{Skills: []lock.Skill{s}}
		serr := j.checkSignatures(ctx, one, j.files.Lock, signatureOptions{j.unsigned, j.accept, true, j.lockOnly, j.chosen})
		if serr == nil {
			serr = in.Materialise(ctx, one.Skills, have, j.dry)
		}
		if serr == nil {
			continue
		}
		if err := j.drop(name, serr); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return err
	}
	return nil
}

// holdConflicts holds the added skills that something is in the way of.
func (j *job) holdConflicts(c install.Changes) (any bool, err error) {
	for _, conflict := range c.Conflicts {
		if !j.holdBack || !slices.Contains(j.added, conflict.Name) {
			continue
		}
		conflict.Path = j.Short(conflict.Path)
		if err := j.drop(conflict.Name, conflict.Err()); err != nil {
			return any, err
		}
		any = true
	}
	return any, nil
}

// sameName refuses the skills of one name that lie at several paths of one release.
func sameName(found []source.Found, f source.Found) error {
	var paths []string
	for _, other := range found {
		if other.Lock.Name == f.Lock.Name {
			paths = append(paths, other.Lock.Path)
		}
	}
	if len(paths) < 2 {
		return nil
	}
	return diag.New(diag.Misuse, source.CodeAmbiguous, "%d skills are called %q: %s", len(paths), f.Lock.Name, strings.Join(paths, ", "))
}

// prepare checks signatures and fetches what is missing; what has to be accepted is returned.
func (j *job) prepare(ctx context.Context, in *installer, have map[string]install.Have) ([]Wish, error) {
	if err := j.checkSignatures(ctx, j.next, j.files.Lock, signatureOptions{j.unsigned, j.accept, j.dry, j.lockOnly, j.chosen}); err != nil {
		return nil, err
	}
	if err := j.Prefetch(ctx, in.Installer, j.next.Skills, have); err != nil {
		return nil, err
	}
	return j.materialise(ctx, in, j.next.Skills, have, j.dry, j.chosen)
}

// consentEach is consent, where skills that are not accepted are held.
func (j *job) consentEach(wishes []Wish) error {
	if !j.holdBack {
		return j.consent(wishes)
	}
	for _, w := range wishes {
		err := j.consent([]Wish{w})
		if err == nil {
			continue
		}
		if !slices.Contains(j.added, w.Skill) {
			return err
		}
		if err := j.drop(w.Skill, err); err != nil {
			return fmt.Errorf("%s: %w", w.Skill, err)
		}
	}
	return nil
}
