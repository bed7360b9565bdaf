package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
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
func (j *job) wishes(in *plan.Intent) []Wish {
	return slices.DeleteFunc(j.due(in), func(w Wish) bool { return slices.Contains(j.req.agreed.Accept, w.Permission) })
}

// due are what the skills of a plan ask for and has to be accepted.
func (j *job) due(in *plan.Intent) (out []Wish) {
	wanted := wanted(in.Manifest, in.Lock, j.isHere)
	for _, s := range in.Lock.Skills {
		for _, w := range j.seen.wishes[in.Reading(s.Name)] {
			if w.Fresh && wanted[s.Name] {
				continue
			}
			if !wanted[s.Name] && !j.isHere(s.Name) {
				w.By = strings.Join(s.RequiredBy, ", ")
			}
			out = append(out, w)
		}
	}
	return out
}

// isHere reports whether a skill was here before: it is locked or installed.
func (j *job) isHere(name string) bool {
	_, locked := j.files.Lock.Skill(name)
	return locked || j.site.have[name].Managed
}

// version is that of a skill that is here, "" if it has none; of one that had another name before, with that.
func (j *job) version(name string) string {
	if was := j.site.in.renamed[name]; was != "" {
		return was
	}
	if s, locked := j.files.Lock.Skill(name); locked {
		return s.Version
	}
	return j.site.have[name].Receipt.Version
}

// wanted are the skills that are not here before and that a person asks for: those of skl.toml, and what these need. Other new ones come with
// the update of a skill that needed none of them before.
func wanted(m *manifest.Manifest, next *lock.Lock, here func(name string) bool) map[string]bool {
	out := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		s, ok := next.Skill(name)
		if !ok || out[name] || here(name) {
			return
		}
		out[name] = true
		for _, need := range s.Requires {
			visit(need)
		}
	}
	for i := range m.Skills {
		visit(m.Skills[i].Name)
	}
	return out
}

// bringing are the skills that are here and whose newer releases bring in a skill that is not.
func (j *job) bringing(in *plan.Intent, name string) (out []string) {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		s := in.Entry(name)
		if s == nil || seen[name] {
			return
		}
		seen[name] = true
		for _, by := range s.RequiredBy {
			if !j.isHere(by) {
				visit(by)
			} else if !slices.Contains(out, by) {
				out = append(out, by)
			}
		}
	}
	visit(name)
	return out
}

// consented asks for what skills wish for. What is not agreed to is a fault, or the error where the rest does not go on without.
func (j *job) consented(ctx context.Context, in *plan.Intent) (faults []fault, err error) {
	if err := checkAccept(j.req.agreed.Accept, j.due(in), j.site.in.asked); err != nil {
		return nil, err
	}
	groups := bySkill(j.wishes(in))
	if j.req.safe { // nobody is asked
		for _, mine := range groups {
			stay := []string{mine[0].Skill}
			if _, locked := j.files.Lock.Skill(stay[0]); !locked {
				stay = j.bringing(in, stay[0])
			}
			next, _ := in.Lock.Skill(mine[0].Skill)
			for _, name := range stay {
				faults = append(faults, fault{Fault: plan.Fault{Name: name, Err: escalation(mine, j.version(next.Name), next.Version, j.req.agreed.Accept)}, brief: true})
			}
		}
	}
	if j.req.dry && j.req.mode == locks && len(groups) > 0 && !j.a.Ask.CanAsk() {
		return nil, j.unasked(in, groups[0])
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
			if err := j.askWhy(name); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// askWhy asks a person who agreed to what a skill asks for why, unless the command line says it.
func (j *job) askWhy(name string) error {
	if j.req.agreed.Reason != "" || !j.a.Ask.CanAsk() {
		return nil
	}
	why, err := j.a.Ask.Say("why? skl.toml keeps it for those who read it later; Enter for none")
	if err != nil {
		return err
	}
	j.seen.why[name] = diag.Printable(strings.TrimSpace(why))
	return nil
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
	err := j.a.consent(mine, j.version(name), next.Version, j.req.agreed.Accept)
	if f := (&fault{Fault: plan.Fault{Name: name, Err: err}}); err != nil && j.req.mode == installs && j.spares(in, &f.Fault) {
		return f, nil
	}
	return nil, err
}

// unasked is the refusal of a skill for what it asks for, where nobody can be asked.
func (j *job) unasked(in *plan.Intent, mine []Wish) error {
	next, _ := in.Lock.Skill(mine[0].Skill)
	return refusal(mine, j.version(next.Name), next.Version, j.req.agreed.Accept)
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
