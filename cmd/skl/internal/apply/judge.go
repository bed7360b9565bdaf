package apply

import (
	"context"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
)

// judge looks at a plan whose files are all here: whether rules allow it, a person agrees to what it asks for, and nothing is in its way.
func (j *job) judge(ctx context.Context, in *plan.Intent) (changes install.Changes, faults []fault, err error) {
	if err := j.prepare(ctx, in); err != nil {
		return changes, nil, err
	}
	if err := j.a.Signatures.BindAll(ctx, j.site.in.fetched, in.Lock.Skills); err != nil {
		return changes, nil, err
	}
	if !j.seen.said {
		j.seen.said = true
		if err := j.a.Signatures.SayUncompared(in.Lock.Skills); err != nil {
			return changes, nil, err
		}
	}
	for _, step := range []func(context.Context, *plan.Intent) ([]fault, error){j.obeyed, j.consented} {
		if faults, err = step(ctx, in); err != nil || len(faults) > 0 {
			return changes, faults, err
		}
	}
	if j.req.mode == locks {
		return changes, nil, nil
	}
	return j.fits(in)
}

// obeyed are the skills that the rules in force refuse. Where one cannot be held, the refusal of all that cannot is the error.
func (j *job) obeyed(ctx context.Context, in *plan.Intent) (faults []fault, err error) {
	if j.req.mode == removes {
		return nil, nil
	}
	held := j.held() // what stays as it is, is told already
	next := slices.DeleteFunc(slices.Clone(in.Lock.Skills), func(s lock.Skill) bool { return held[s.Name] })
	all, err := j.a.obey(ctx, j.site.in, next, j.site.have)
	if err != nil {
		return nil, err
	}
	var left []policy.Refusal
	for len(all) > 0 {
		name, n := all[0].Skill, 1
		for n < len(all) && all[n].Skill == name {
			n++
		}
		f := fault{Fault: plan.Fault{Name: name, Err: PolicyError(all[:n])}}
		old, here := j.files.Lock.Skill(name)
		next, _ := in.Lock.Skill(name)
		if j.spares(in, &f.Fault) && (j.req.mode == installs || j.req.safe && here && !old.SameRelease(next)) {
			faults = append(faults, f)
		} else {
			left = append(left, all[:n]...)
		}
		all = all[n:]
	}
	if len(left) > 0 {
		return nil, PolicyError(left)
	}
	return faults, nil
}

// wishes are what the skills of a plan ask for and nobody accepted yet.
func (j *job) wishes(in *plan.Intent) (out []Wish) {
	for _, s := range in.Lock.Skills {
		for _, w := range j.seen.wishes[in.Reading(s.Name)] {
			if !slices.Contains(j.req.agreed.Accept, w.Permission) {
				out = append(out, w)
			}
		}
	}
	return out
}

// consented asks for what skills wish for. What is not agreed to is a fault, or the error where the rest does not go on without.
func (j *job) consented(ctx context.Context, in *plan.Intent) (faults []fault, err error) {
	var all []Wish
	for _, s := range in.Lock.Skills {
		all = append(all, j.seen.wishes[in.Reading(s.Name)]...)
	}
	if err := checkAccept(j.req.agreed.Accept, all, j.site.in.asked); err != nil {
		return nil, err
	}
	groups := bySkill(j.wishes(in))
	if j.req.safe { // nobody is asked
		for _, mine := range groups {
			if old, here := j.files.Lock.Skill(mine[0].Skill); here {
				next, _ := in.Lock.Skill(old.Name)
				faults = append(faults, fault{Fault: plan.Fault{Name: old.Name, Err: escalation(mine, old.Version, next.Version, j.req.agreed.Accept)}, brief: true})
			}
		}
	}
	if j.req.dry && !j.a.Ask.CanAsk() {
		for _, mine := range groups { // as it would be where nobody is asked
			f := fault{Fault: plan.Fault{Name: mine[0].Skill, Err: j.unasked(in, mine)}}
			if j.req.mode == installs && j.spares(in, &f.Fault) {
				faults = append(faults, f)
			}
		}
	}
	if j.req.dry || len(faults) > 0 {
		return faults, nil
	}
	for _, mine := range groups {
		name := mine[0].Skill
		if key := in.Reading(name); !j.seen.yes[key] {
			f, err := j.agrees(ctx, in, mine)
			if err != nil {
				return nil, err
			}
			if f != nil {
				return []fault{*f}, nil
			}
			j.seen.yes[key] = true
		}
	}
	return nil, nil
}

// agrees asks a person about one skill. The fault is that the answer is no, where the rest goes on.
func (j *job) agrees(ctx context.Context, in *plan.Intent, mine []Wish) (*fault, error) {
	name := mine[0].Skill
	old, here := j.files.Lock.Skill(name)
	next, _ := in.Lock.Skill(name)
	if here && j.a.Gained != nil && j.a.Ask.CanAsk() {
		yes, err := j.a.Gained(Gain{Name: name, From: old.Version, To: next.Version, Wishes: mine, Files: func() ([]trees.FileDiff, error) { return j.a.between(ctx, old, next) }})
		if err == nil && !yes {
			return &fault{Fault: plan.Fault{Name: name}, kept: true}, nil
		}
		return nil, err
	}
	err := j.a.consent(mine, old.Version, next.Version, j.req.agreed.Accept)
	if f := (&fault{Fault: plan.Fault{Name: name, Err: err}}); err != nil && j.req.mode == installs && j.spares(in, &f.Fault) {
		return f, nil
	}
	return nil, err
}

// unasked is the refusal of a skill for what it asks for, where nobody can be asked.
func (j *job) unasked(in *plan.Intent, mine []Wish) error {
	old, _ := j.files.Lock.Skill(mine[0].Skill)
	next, _ := in.Lock.Skill(mine[0].Skill)
	return refusal(mine, old.Version, next.Version, j.req.agreed.Accept)
}

// fits compares a plan with what is there.
func (j *job) fits(in *plan.Intent) (changes install.Changes, faults []fault, err error) {
	for name := range j.held() {
		if h, ok := j.site.have[name]; ok {
			old, _ := j.files.Lock.Skill(name)
			h.Permissions = old.Permissions
			j.site.have[name] = h
		}
	}
	changes = j.site.in.Diff(in.Lock.Skills, j.site.have, install.Options{Force: j.req.agreed.Force, Hold: j.req.safe, Prune: true})
	// Skills that nobody can vouch for stay as they are, and so do those in skl.toml without an entry: they are held.
	unsure := func(name string) bool {
		_, named := in.Manifest.Skill(name)
		return slices.Contains(in.Unsure, name) || named && in.Entry(name) == nil
	}
	changes.List = slices.DeleteFunc(changes.List, func(c install.Change) bool { return unsure(c.Name) })
	changes.Conflicts = slices.DeleteFunc(changes.Conflicts, func(c install.Conflict) bool { return unsure(c.Name) })
	for _, c := range changes.Conflicts {
		c.Path = j.a.Scope.Short(c.Path)
		f := fault{Fault: plan.Fault{Name: c.Name, Err: c.Err()}}
		if j.req.mode == installs && j.spares(in, &f.Fault) && !slices.ContainsFunc(faults, func(f fault) bool { return f.Name == c.Name }) {
			faults = append(faults, f)
		}
	}
	for _, c := range changes.List {
		old, ok := j.files.Lock.Skill(c.Name)
		if next, _ := in.Lock.Skill(c.Name); ok && c.Action == install.Held && !lock.Equal(old, next) && j.req.safe && !j.held()[c.Name] {
			faults = append(faults, fault{Fault: plan.Fault{Name: c.Name}, edit: true})
		}
	}
	return changes, faults, nil
}
