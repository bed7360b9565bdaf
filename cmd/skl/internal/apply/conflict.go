package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/solve"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

const (
	mostLines  = 12 // of a derivation that are shown
	mostTries  = 4  // wishes that are given up one by one, to see what helps
	mostPeeked = 16 // releases that are fetched to see that
)

// conflict is the error of needs that do not fit together: why, and what was found to help.
func (g *graph) conflict(ctx context.Context, c *solve.Conflict, wants []solve.Need) error {
	e := diag.New(diag.Unmet, "version_conflict", "no versions fit together: %s", headline(c))
	if e.Candidates = c.Lines; len(c.Lines) <= 3 {
		e.Candidates = nil // the sentence says it
	} else if n := len(c.Lines) - mostLines; n > 0 {
		e.Candidates = append(slices.Clone(c.Lines[:mostLines-2]), "… "+diag.Count(n+1, "step")+" later:", c.Lines[len(c.Lines)-1])
	}
	for _, way := range g.waysOut(ctx, c, wants) {
		e.Hint("%s", way)
	}
	if len(e.Hints) == 0 {
		last := c.Core[len(c.Core)-1].Need.Name
		for _, given := range c.Core {
			if given.Name != "" {
				last = given.Need.Name
			}
		}
		name := g.lists[last].name
		e.Hint("no other version of what skl.toml asks for helps; a %s of your own decides for all that need it: skl install ./%s", name, name)
	}
	return e
}

// headline is the first step of a derivation.
func headline(c *solve.Conflict) string {
	because, _, _ := strings.Cut(c.Lines[0], ": so ")
	return because
}

// waysOut are commands after which versions fit: each was solved for. A command widens a wish of skl.toml, or several, takes a skill out, or
// installs less than was asked for.
func (g *graph) waysOut(ctx context.Context, c *solve.Conflict, wants []solve.Need) (ways []string) {
	about := core(c, wants, nil)
	for _, given := range c.Core {
		way := given.Need.Name + " is held: skl update --unhold " + given.Need.Name
		if g.lists[given.Need.Name].held && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	left := mostPeeked
	for _, i := range about {
		if way := g.widened(ctx, wants, []int{i}, &left); way != "" {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		if way := g.widened(ctx, wants, about, &left); way != "" {
			ways = append(ways, way)
		}
	}
	for _, i := range about {
		if len(ways) > 1 {
			break
		}
		name := wants[i].Name
		without := slices.Delete(slices.Clone(wants), i, i+1)
		way := "skl remove " + name
		if slices.Contains(g.job.added, name) {
			way = g.command(without, nil, nil)
		}
		if _, _, ok := g.fits(ctx, without, &left); ok && way != "" {
			ways = append(ways, "to do without "+name+": "+way)
		}
	}
	return ways
}

// core are the wants that a conflict is about, after those that are known to be.
func core(c *solve.Conflict, wants []solve.Need, about []int) []int {
	for _, given := range c.Core {
		i := slices.IndexFunc(wants, func(w solve.Need) bool { return given.Name == "" && w.Name == given.Need.Name })
		if i >= 0 && len(about) < mostTries && !slices.Contains(about, i) {
			about = append(about, i)
		}
	}
	return about
}

// widened is the command that installs what fits if some wants may be of any version, and those that stand in the way then; "" if nothing does.
func (g *graph) widened(ctx context.Context, wants []solve.Need, some []int, left *int) string {
	alone := len(some) == 1
	for {
		wide := slices.Clone(wants)
		for _, i := range some {
			if w := g.wants[wants[i].Name]; w.Kind != lock.Range || g.lists[w.Name].held {
				return ""
			}
			wide[i].Allows = nil
		}
		choices, conflict, ok := g.fits(ctx, wide, left)
		if ok {
			return g.command(wants, some, choices)
		}
		more := some
		if conflict != nil && !alone {
			more = core(conflict, wants, slices.Clone(some))
		}
		if len(more) == len(some) {
			return ""
		}
		some = more
	}
}

// command installs what is added, and some wants in the version that was chosen, if they do not allow it; "" for nothing.
func (g *graph) command(wants []solve.Need, some []int, choices []solve.Choice) string {
	command := ""
	for i, w := range wants {
		r := g.wants[w.Name].Ref
		added := slices.Contains(g.job.added, w.Name)
		if slices.Contains(some, i) {
			c := choices[slices.IndexFunc(choices, func(c solve.Choice) bool { return c.Name == w.Name })]
			if w.Allows != nil && !w.Allows(c.Version) {
				added, r.Version = true, "^"+c.Version
			}
		}
		if added {
			command += " " + scope.Quote(r.String())
		}
	}
	if command != "" {
		command = "skl install" + command
	}
	return command
}

// fits solves for other wants. Releases that are not known are fetched to see what they need, as long as any are left to fetch; their files
// are read and not kept. Without a solution it returns why, if that is known.
func (g *graph) fits(ctx context.Context, wants []solve.Need, left *int) ([]solve.Choice, *solve.Conflict, bool) {
	for {
		choices, err := g.among(ctx, wants)
		conflict, _ := errors.AsType[*solve.Conflict](err)
		if err != nil || g.oneEach(choices) != nil {
			return nil, conflict, false
		}
		all := true
		for _, c := range choices {
			list := g.lists[c.Name]
			key := list.name + "\x00" + c.Version
			if _, known := g.known[key]; known {
				continue
			}
			if *left--; *left < 0 {
				return nil, nil, false
			}
			s, err := g.job.Resolver(g.job.files.Manifest).Choose(ctx, list.named(c.Version))
			if err != nil {
				return nil, nil, false
			}
			t, err := g.job.ReleaseTree(ctx, s)
			if err != nil {
				return nil, nil, false
			}
			front := Front{Text: t["SKILL.md"].Data, Sidecar: t.Sidecar(), Manifest: t[resolver.OwnManifest].Data, APM: t[resolver.APMManifest].Data}
			if g.known[key], err = needsIn(front); err != nil {
				return nil, nil, false
			}
			all = false
		}
		if all {
			return choices, nil, true
		}
	}
}
