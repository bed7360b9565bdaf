package apply

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
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

// codeTrouble is the code of a trouble of one skill that has no code of its own.
const codeTrouble = "failed"

// troubled is held for an error.
func troubled(name, path string, err error) Held {
	h := Held{Name: name, Path: path, Code: codeTrouble, Why: err.Error(), Hints: []string{}, err: err}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		h.Code, h.Hints = e.Code, append(h.Hints, e.Hints...)
	}
	return h
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

// A holding is why a skill stays as it is.
type holding struct {
	name string
	told Held // what is told of it, unless the following says it
	kept bool // a person said so
	edit bool // it has local edits

	beside bool // the command was not about it: a warning tells it
}

// A fault is one of a plan, or what came of carrying it out.
type fault struct {
	plan.Fault
	kept, edit bool // as in holding
	brief      bool // the first of its hints is enough
	planned    bool // it is of a plan, before anything was looked at
}

// held are the names of what is held, for a plan.
func (j *job) held() plan.Held {
	out := plan.Held{}
	for i := range j.holdings {
		out[j.holdings[i].name] = true
	}
	return out
}

// heldList is what is told of what is held, of an update sorted by name.
func (j *job) heldList() []Held {
	out := slices.Clone(j.picked.held)
	for i := range j.holdings {
		if h := &j.holdings[i]; !h.kept && !h.edit && !h.beside {
			out = append(out, h.told)
		}
	}
	if j.req.mode == updates {
		sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name }) // slices.SortFunc is 15 kB of program for each large type
	}
	return out
}

// hold holds what faults are about. Where the rest cannot go on without, or nothing is known of what a fault is about and no skill is behind it, the
// fault is the error of the command.
func (j *job) hold(ctx context.Context, in *plan.Intent, faults []fault) error {
	var left *fault
	for i := range faults {
		f := &faults[i]
		if f.kept || f.edit || j.spares(in, &f.Fault) {
			j.holdOne(ctx, f)
		} else if f.planned && !j.held()[f.Name] && j.req.rests(j.base, in, &f.Fault) {
			j.holdOne(ctx, f)
			j.holdings[len(j.holdings)-1].beside = j.req.beside(f.Name)
		} else if left == nil {
			left = f
		}
	}
	switch {
	case left == nil:
		return nil
	case in == nil || ctx.Err() != nil || left.Entry || slices.Contains(j.req.suspects(in), left.Name):
		return j.explained(ctx, left.Err)
	}
	found, err := j.blame(ctx, in)
	if err == nil && !found {
		err = j.explained(ctx, left.Err)
	}
	return err
}

// spares is that of the request for what is not held yet: what is, stays as it is already.
func (j *job) spares(in *plan.Intent, f *plan.Fault) bool {
	return in != nil && !j.held()[f.Name] && j.req.spares(j.base, in, f)
}

// holdOne holds the skill of a fault.
func (j *job) holdOne(ctx context.Context, f *fault) {
	path := ""
	if s, ok := j.base.Lock.Skill(f.Name); ok && j.req.mode == updates {
		path = s.Path
	} else if e := j.editOf(f.Name); e != nil && e.Found != nil {
		path = e.Found.Path
	}
	h := holding{name: f.Name, kept: f.kept, edit: f.edit}
	if !f.kept && !f.edit {
		h.told = troubled(f.Name, path, j.explained(ctx, f.Err))
		if f.brief && len(h.told.Hints) > 1 {
			h.told.Hints = h.told.Hints[:1]
		}
	}
	j.holdings = append(j.holdings, h)
}

// editOf is the edit of a name, nil if there is none.
func (j *job) editOf(name string) *plan.Edit {
	for i := range j.req.plan.Edits {
		if e := &j.req.plan.Edits[i]; e.Skill.Name == name {
			return e
		}
	}
	return nil
}

// blame holds the suspects that have faults alone, without the other ones. None is behind what is wrong without any of them.
func (j *job) blame(ctx context.Context, in *plan.Intent) (found bool, err error) {
	suspects := slices.Clone(j.req.suspects(in))
	others := j.held()
	for _, name := range suspects {
		others[name] = true
	}
	if _, faults, err := j.settle(ctx, others); err != nil || len(faults) > 0 {
		return false, err
	}
	for _, name := range suspects {
		delete(others, name)
		alone, faults, err := j.settle(ctx, others)
		others[name] = true
		if err != nil {
			return false, err
		}
		for i := range faults {
			f := fault{Fault: faults[i]}
			if f.Name = name; !j.spares(alone, &f.Fault) {
				continue
			}
			j.holdOne(ctx, &f)
			found = true
			break
		}
	}
	return found, nil
}

// onlyHeld is the error of the one skill that stays as it is, if there was no other to update, or to install: then it is that of the command.
func (j *job) onlyHeld(in *plan.Intent) error {
	all := j.heldList()
	switch {
	case len(all) != 1:
		return nil
	case j.req.mode == updates && !j.req.safe && len(j.req.named) != 1 && len(in.Anew)+len(in.Gone) == 0:
		return all[0].err
	case !j.req.all && (j.req.mode == installs || j.req.mode == locks) && len(in.Manifest.Skills) == 1:
		return all[0].err
	}
	return nil
}

// allHeld is the result where nothing is left to install. The error of one skill alone is that of the command: there is no
// rest that it should not stop.
func (j *job) allHeld() (Result, error) {
	all := j.heldList()
	if len(all) == 1 {
		return Result{}, all[0].err
	}
	return Result{Lock: j.files.Lock, LockState: "unchanged", DryRun: j.req.dry, All: true, Stays: Stays{Held: all}, Remarks: Remarks{Passed: j.picked.passed}}, nil
}
