package apply

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/solve"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// What a skill needs is written in its files, so a release is resolved, checked and fetched before it is known what else has to be
// there. A job therefore goes in rounds: the solver takes releases whose files are not known yet for such that need nothing, those that it
// chose are fetched, and it decides anew, until it chooses what is known. What is here is preferred, so that a place is asked for
// its versions only where it has to be: for a skill that is new, that is updated, or that is in a conflict.

// require completes the next lock by what its skills need, and fetches it. It returns what of it has to be accepted besides wishes,
// which are those of the rest. Have is extended by what is new.
func (j *job) require(ctx context.Context, in *installer, have map[string]install.Have, wishes []Wish) ([]Wish, error) {
	if j.graph == nil {
		j.graph = &graph{job: j, known: map[string][]resolver.Need{}, unread: map[string]error{}, lists: map[string]*candidates{}, ids: map[string]string{}, bindings: map[string]resolver.Place{}, told: map[string]bool{}}
	}
	for {
		all, err := resolver.Wants(j.files.Manifest)
		if err != nil {
			return nil, err
		}
		j.graph.wants = map[string]resolver.Named{}
		for _, w := range all {
			j.graph.wants[w.Name] = w
		}
		some, err := j.graph.read(in, have)
		if err != nil {
			return nil, err
		}
		if !some {
			resolver.Prune(all, j.next)
			return wishes, nil
		}
		changed, err := j.graph.round(ctx, all)
		if err != nil {
			if err := j.graph.holdBack(ctx, all, err); err != nil {
				return nil, err
			}
			continue
		}
		wishes = slices.DeleteFunc(wishes, func(w Wish) bool { return j.entry(w.Skill) == nil || slices.Contains(changed, w.Skill) })
		if len(changed) == 0 && j.ask != nil && !j.graph.compared { // what is needed only
			j.graph.compared = true
			deps, err := resolver.Required(all, j.next)
			if err != nil {
				return nil, err
			}
			n := len(j.anew)
			if err := j.compareOn(ctx, deps[len(all):]); err != nil {
				return nil, err
			}
			changed = j.anew[n:]
			only := &lock.Lock{}
			for _, w := range deps[len(all):] {
				s, _ := j.next.Skill(w.Name)
				only.Set(s)
			}
			found, err := j.Withdrawals(ctx, Glance, Releases(only, nil, nil))
			if err != nil {
				return nil, err
			}
			j.WarnBlocked(found)
		}
		if len(changed) == 0 {
			j.graph.tellInstead()
			if err := j.graph.bind(); err != nil {
				return nil, err
			}
			return wishes, j.rehome(ctx, in, have)
		}
		if err := j.rehome(ctx, in, have); err != nil {
			return nil, err
		}
		part := &lock.Lock{}
		for _, name := range changed {
			s, _ := j.next.Skill(name)
			part.Set(s)
		}
		more, err := in.Survey(ctx, part.Skills, j.files.Lock, false)
		if err != nil {
			return nil, err
		}
		for name, h := range more {
			have[name] = h
		}
		asked, err := j.prepare(ctx, in, have, part)
		if err != nil {
			return nil, err
		}
		for _, s := range part.Skills {
			j.next.Set(s)
		}
		wishes = append(wishes, asked...)
	}
}

// rehome takes in where skills of the next lock are installed that are there since others need them.
func (j *job) rehome(ctx context.Context, in *installer, have map[string]install.Have) error {
	homes := j.Site.Homes
	if err := j.SetRoots(j.files.Manifest, j.next, j.files.Lock); err != nil || maps.Equal(homes, j.Site.Homes) {
		return err
	}
	in.Site = j.Site
	now, err := in.Survey(ctx, j.next.Skills, j.files.Lock, false)
	if err == nil {
		clear(have)
		maps.Copy(have, now)
	}
	return err
}

// read takes in what the entries of the next lock say they need. It reports whether anything needs another, or is needed.
func (g *graph) read(in *installer, have map[string]install.Have) (some bool, err error) {
	for i := range g.job.next.Skills {
		s := &g.job.next.Skills[i]
		key := s.Name + "\x00" + g.id(s)
		if _, known := g.known[key]; !known {
			front, _, err := in.front(s, have[s.Name])
			if err != nil {
				return false, err
			}
			all, err := needsIn(front)
			if g.unread[s.Name] = err; err != nil {
				all = nil
			}
			if front.Text == nil { // it was edited, and its release is nowhere on this machine
				all = g.lockedNeeds(s)
			}
			g.known[key] = all
		}
		s.Requires = requiredNames(g.known[key], s.Name)
		_, wanted := g.wants[s.Name]
		some = some || len(s.Requires) > 0 || !wanted
	}
	return some, nil
}

// round solves once and puts what was chosen into the next lock. It returns the names of those that have to be fetched.
func (g *graph) round(ctx context.Context, all []resolver.Named) (changed []string, err error) {
	choices, err := g.solve(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := g.oneEach(choices); err != nil {
		return nil, err
	}
	base, keep := &lock.Lock{}, map[string]bool{}
	var choose []resolver.Named
	for _, c := range choices {
		list := g.lists[c.Name]
		keep[list.name] = true
		if s := g.job.entry(list.name); s != nil && g.is(s, list, c.Version) {
			continue
		}
		if old, ok := g.job.files.Lock.Skill(list.name); ok && of(old, list) {
			base.Set(old)
		}
		if s := g.job.entry(list.name); s != nil && list.wanted && list.instead == "" {
			list.instead = g.id(s)
		}
		choose = append(choose, list.named(c.Version))
		g.ids[list.name] = c.Version
	}
	for _, s := range slices.Clone(g.job.next.Skills) {
		if !keep[s.Name] {
			g.job.next.Remove(s.Name)
			delete(g.ids, s.Name)
			g.job.anew = slices.DeleteFunc(g.job.anew, func(name string) bool { return name == s.Name })
		}
	}
	if len(choose) > 0 {
		var mu sync.Mutex
		next, err := g.job.rules(ctx, &mu).Relock(ctx, choose, base, g.renews)
		if err != nil {
			return nil, g.whose(choices, choose, err)
		}
		for _, s := range next.Skills {
			list := g.listOf(choices, s.Name)
			old, had := base.Skill(s.Name)
			if !had || g.renews(s.Name) || !old.SameRelease(s) {
				g.job.anew = append(g.job.anew, s.Name)
			}
			s.Ref, s.Root = list.text(), ""
			if w, ok := g.wants[s.Name]; ok {
				s.Ref, s.Root = w.Ref.String(), w.Root
			}
			g.job.next.Set(s)
			changed = append(changed, s.Name)
		}
	}
	resolver.Settle(all, g.job.next)
	return changed, nil
}

// holdBack drops, of an install of all skills that can be installed, those that cannot be by what they need, each for itself, and leaves those of
// an update as they are. Without one the error stays.
func (g *graph) holdBack(ctx context.Context, all []resolver.Named, err error) error {
	names := g.job.suspects()
	return g.job.sortOut(ctx, err, func(name string) error {
		if _, wanted := g.wants[name]; !wanted {
			return nil
		}
		_, err := g.solve(ctx, slices.DeleteFunc(slices.Clone(all), func(w resolver.Named) bool {
			return w.Name != name && slices.Contains(names, w.Name)
		}))
		return err
	})
}

// renews reports whether the release of a skill is chosen anew, though one is locked.
func (g *graph) renews(name string) bool { return g.job.upgrade != nil && g.job.upgrade(name) }

// is reports whether an entry of the next lock is the release id of a list.
func (g *graph) is(s *lock.Skill, list *candidates, id string) bool {
	return g.id(s) == id && (list.wanted || s.Ref == list.text())
}

// of reports whether a locked entry is of the place of a list.
func of(s lock.Skill, list *candidates) bool {
	return list.wanted || resolver.Unranged(s) == list.text()
}

// text is the ref that the lock has for what is needed only.
func (c *candidates) text() string { return c.ref.String() }

// named asks for one release of a list.
func (c *candidates) named(id string) resolver.Named {
	n := resolver.Named{Name: c.name, Want: resolver.Want{Ref: c.ref, Kind: c.kind}}
	if c.wanted || c.ref.Version == "" && c.ref.Digest == "" && id != idDefault {
		n.Ref.Version, n.Kind = "="+id, lock.Range
	}
	return n
}

// listOf is the list of the choice of one name.
func (g *graph) listOf(choices []solve.Choice, name string) *candidates {
	for _, c := range choices {
		if list := g.lists[c.Name]; list.name == name {
			return list
		}
	}
	return nil
}

// whose adds to the error of choosing several releases who needs the one, where that is known.
func (g *graph) whose(choices []solve.Choice, choose []resolver.Named, err error) error {
	if len(choose) == 1 {
		if list := g.listOf(choices, choose[0].Name); list.by != "" {
			return diag.Prefixed(err, list.by)
		}
	}
	return err
}

// oneEach refuses that one name is taken from two places.
func (g *graph) oneEach(choices []solve.Choice) error {
	seen := map[string]*candidates{}
	for _, c := range choices {
		list := g.lists[c.Name]
		if other := seen[list.name]; other != nil {
			return diag.New(diag.Unmet, "same_name", "%s, and %s: one name means one skill", other.by, list.by).
				Hint("to take one of them for both: skl install %s", scope.Quote(other.text())).
				Hint("or: skl install %s", scope.Quote(list.text()))
		}
		seen[list.name] = list
	}
	return nil
}
