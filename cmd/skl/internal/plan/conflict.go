package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/skl-project/skl/resolver/solve"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

const (
	mostLines = 12 // of a derivation that are shown
	mostTries = 4  // wishes that are given up one by one, to see what helps
)

// A Conflict is the fault of needs that do not fit together.
type Conflict struct {
	*solve.Conflict
	planner *planner
	wants   []solve.Need
}

// Unwrap is what it says without a way out.
func (c *Conflict) Unwrap() error { return c.sentence() }

func (c *Conflict) Error() string { return c.sentence().Message }

// sentence is what it says.
func (c *Conflict) sentence() *diag.Error {
	e := diag.New(diag.Unmet, "version_conflict", "no versions fit together: %s", headline(c.Conflict))
	if e.Candidates = c.Lines; len(c.Lines) <= 3 {
		e.Candidates = nil // the sentence says it
	} else if n := len(c.Lines) - mostLines; n > 0 {
		e.Candidates = append(slices.Clone(c.Lines[:mostLines-2]), "… "+diag.Count(n+1, "step")+" later:", c.Lines[len(c.Lines)-1])
	}
	return e
}

// Answer finds out what questions ask for and adds it to the facts; it reports false if it cannot, or will not go on.
type Answer func(context.Context, *Intent, *Questions) bool

// Explain is why, and what was found to help: answer is asked for what has to be known for that.
func (c *Conflict) Explain(ctx context.Context, answer Answer) error {
	e := c.sentence()
	for _, way := range c.waysOut(ctx, answer) {
		e.Hint("%s", way)
	}
	if len(e.Hints) == 0 {
		last := c.Core[len(c.Core)-1].Need.Name
		for _, given := range c.Core {
			if given.Name != "" {
				last = given.Need.Name
			}
		}
		name := c.planner.lists[last].name
		e.Hint("no other version of what skl.toml asks for helps; a %s of your own decides for all that need it: make one in ./%s, then: skl install ./%s", name, name, name)
	}
	return e
}

// waysOut are commands after which versions fit: each was solved for. A command widens a wish of skl.toml, or several, takes a skill out, or
// installs less than was asked for.
func (c *Conflict) waysOut(ctx context.Context, answer Answer) (ways []string) {
	p := c.planner
	about := core(c.Conflict, c.wants, nil)
	for _, given := range c.Core {
		way := given.Need.Name + " is held: skl update --unhold " + given.Need.Name
		if p.lists[given.Need.Name].hold && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for _, i := range about {
		if way := c.widened(ctx, []int{i}, answer); way != "" {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		if way := c.widened(ctx, about, answer); way != "" {
			ways = append(ways, way)
		}
	}
	for _, i := range about {
		if len(ways) > 1 {
			break
		}
		name := c.wants[i].Name
		without := slices.Delete(slices.Clone(c.wants), i, i+1)
		way := "skl remove " + name
		if slices.Contains(p.out.Added, name) {
			way = c.command(without, nil, nil)
		}
		if _, _, ok := c.fits(ctx, without, answer); ok && way != "" {
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
func (c *Conflict) widened(ctx context.Context, some []int, answer Answer) string {
	alone := len(some) == 1
	for {
		wide := slices.Clone(c.wants)
		for _, i := range some {
			if w := c.planner.want(wide[i].Name); w.Kind != lock.Range || c.planner.lists[w.Name].hold {
				return ""
			}
			wide[i].Allows = nil
		}
		choices, conflict, ok := c.fits(ctx, wide, answer)
		if ok {
			return c.command(c.wants, some, choices)
		}
		more := some
		if conflict != nil && !alone {
			more = core(conflict, c.wants, slices.Clone(some))
		}
		if len(more) == len(some) {
			return ""
		}
		some = more
	}
}

// command installs what is added, and some wants in the version that was chosen, if they do not allow it; "" for nothing.
func (c *Conflict) command(wants []solve.Need, some []int, choices []solve.Choice) string {
	command := ""
	for i, w := range wants {
		r := c.planner.want(w.Name).Ref
		added := slices.Contains(c.planner.out.Added, w.Name)
		if slices.Contains(some, i) {
			is := choices[slices.IndexFunc(choices, func(c solve.Choice) bool { return c.Name == w.Name })]
			if w.Allows != nil && !w.Allows(is.Version) {
				added, r.Version = true, "^"+is.Version
			}
		}
		if added {
			command += " " + diag.Quote(r.String())
		}
	}
	if command != "" {
		command = "skl install" + command
	}
	return command
}

// fits solves for other wants. What releases need that are not known is asked for.
func (c *Conflict) fits(ctx context.Context, wants []solve.Need, answer Answer) ([]solve.Choice, *solve.Conflict, bool) {
	p := c.planner
	for {
		p.ask = &Questions{}
		choices, err := p.among(ctx, wants)
		conflict, _ := errors.AsType[*solve.Conflict](err)
		if err != nil && err != errAsk || err == nil && p.oneEach(choices) != nil {
			return nil, conflict, false
		}
		if err == nil && !p.peek(choices) {
			return nil, nil, false
		}
		if !p.ask.Any() {
			return choices, nil, true
		}
		if !answer(ctx, p.out, p.ask) {
			return nil, nil, false
		}
	}
}

// peek asks what chosen releases need that are not known. It reports false where that cannot be found out.
func (p *planner) peek(choices []solve.Choice) bool {
	for _, is := range choices {
		list := p.lists[is.Name]
		if _, known := p.facts.Needs[release(list.name, is.Version)]; known {
			continue
		}
		got, known := p.answered(list.choice(is.Version, true))
		switch {
		case !known:
		case got.Err == nil:
			p.ask.Read = append(p.ask.Read, Reading{Skill: got.Skill, ID: is.Version, Anew: true})
		default:
			return false
		}
	}
	return true
}
