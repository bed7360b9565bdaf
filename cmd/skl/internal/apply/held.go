package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A Held is a skill that an install of all skills of a reference leaves out, or that an update leaves as it is.
type Held struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"` // in its source
	Code  string   `json:"code"` // of the error that it would be alone
	Why   string   `json:"why"`
	Hints []string `json:"hints"`

	err error
}

// allHeld is the result where nothing is left to install. The error of one skill alone is that of the command: there is no
// rest that it should not stop.
func (j *job) allHeld() (Result, error) {
	if len(j.held) == 1 {
		return Result{}, j.held[0].err
	}
	return Result{Lock: j.files.Lock, LockState: "unchanged", DryRun: j.dry, All: true, Held: j.held, Passed: j.passedOver}, nil
}

// held makes a Held of the error that a skill would be. What is no judgement of the skill, such as a network that fails, stays an
// error.
func held(name, path string, err error) (Held, error) {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Retryable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Held{}, err
	}
	return troubled(name, path, err), nil
}

// troubled is held for any error.
func troubled(name, path string, err error) Held {
	h := Held{Name: name, Path: path, Code: codeTrouble, Why: err.Error(), Hints: []string{}, err: err}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		h.Code, h.Hints = e.Code, append(h.Hints, e.Hints...)
	}
	return h
}

// codeTrouble is the code of a trouble of one skill that has no code of its own.
const codeTrouble = "failed"

// setAside leaves, of an update, the skill of a name as it is, where its release alone is in trouble. What a person can accept stops an
// update unless it is to be safe, and so does what was asked for by name.
func (j *job) setAside(name string, err error) error {
	old, here := j.files.Lock.Skill(name)
	code := troubled("", "", err).Code
	acceptable := slices.Contains([]string{CodeSignerChanged, "signature_no_signature", "signature_no_trust", CodeEscalation, codeContentHigh}, code)
	if !here || !j.hold && (!j.spareGone || acceptable) {
		return err
	}
	j.held = append(j.held, troubled(name, old.Path, err))
	sort.Slice(j.held, func(a, b int) bool { return j.held[a].Name < j.held[b].Name })
	j.anew = slices.DeleteFunc(j.anew, func(n string) bool { return n == name })
	return j.restore(old)
}

// onlyHeld is the error of the first skill that an update left as it is, if there was no other to update: then it is that of the command.
func (j *job) onlyHeld() error {
	if j.hold || !j.spareGone || len(j.held) == 0 || len(j.anew)+len(j.gone) > 0 {
		return nil
	}
	return j.held[0].err
}

// isHeld reports whether an update leaves the skill of a name as it is.
func (j *job) isHeld(name string) bool {
	return j.update && slices.ContainsFunc(j.held, func(h Held) bool { return h.Name == name })
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

// suspects are the names of the skills one of which may be why a job fails, and that it can go on without.
func (j *job) suspects() []string {
	if j.update {
		return slices.Clone(j.anew)
	}
	return slices.Clone(j.added)
}

// sortOut holds the suspects that fail alone as well, where others can do without them. Without one, and where nothing may be held, err stays.
func (j *job) sortOut(ctx context.Context, err error, alone func(name string) error) error {
	if err == nil || !j.holdBack && !j.update || ctx.Err() != nil {
		return err
	}
	leave := j.drop
	if j.update {
		leave = j.setAside
	}
	found := false
	for _, name := range j.suspects() {
		serr := alone(name)
		if serr == nil {
			continue
		}
		if err := leave(name, serr); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return err
	}
	return nil
}

// sift looks for the skills that are behind err, the error of preparing all of them, and holds them.
func (j *job) sift(ctx context.Context, in *installer, have map[string]install.Have, err error) error {
	if err == nil {
		return nil
	}
	err = j.sortOut(ctx, err, func(name string) error {
		s, _ := j.next.Skill(name)
		one := &lock.Lock{Skills: []lock.Skill{s}}
		err := j.checkSignatures(ctx, one, j.files.Lock, signatureOptions{j.unsigned, j.accept, true, j.lockOnly, j.chosen, j.isHeld})
		if err == nil {
			_, err = j.materialise(ctx, in, one.Skills, j.files.Lock, have, j.dry, j.chosen)
		}
		return err
	})
	if err != nil {
		return err
	}
	return j.onlyHeld()
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
func (j *job) prepare(ctx context.Context, in *installer, have map[string]install.Have, l *lock.Lock) ([]Wish, error) {
	if err := j.checkSignatures(ctx, l, j.files.Lock, signatureOptions{j.unsigned, j.accept, j.dry, j.lockOnly, j.chosen, j.isHeld}); err != nil {
		return nil, err
	}
	if err := j.Prefetch(ctx, in.Installer, l.Skills, have); err != nil {
		return nil, err
	}
	return j.materialise(ctx, in, l.Skills, j.files.Lock, have, j.dry, j.chosen)
}

// consentEach is consent, where skills that are not accepted are held.
func (j *job) consentEach(wishes []Wish) error {
	if !j.holdBack {
		return j.consent(wishes)
	}
	for _, mine := range bySkill(wishes) {
		w := mine[0]
		err := j.consent(mine)
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
