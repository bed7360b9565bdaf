// Package plan decides what skl.toml and skl.lock become of an install, an update, a removal or a lock. It opens no file and asks nobody: what it
// would have to know it names as questions, and whoever answers them plans again, with what was found out so far. A skill that the rest can do
// without is held: it stays as it is, and everything else is planned as if it had not been asked for.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// A Base is what a request starts from, and what the configuration says.
type Base struct {
	Manifest []byte // skl.toml as it is; nil if there is none
	Path     string // of it, for messages
	Lock     *lock.Lock

	Bound  func(namespace string) bool                   // the configuration says who owns a namespace; nil: of none
	Market func(name string) (text string, ok bool)      // what skl.toml records of a marketplace that the configuration names; nil: of none
	Check  func(by, from string, n *resolver.Need) error // refuses what a skill that comes from somewhere needs; nil refuses nothing
	Place  func(position diag.Position) (text string)    // a place in a file as people read it; nil: as it is
}

// A Request is what a command asks for. Nothing changes it.
type Request struct {
	Edits    []Edit                 // of skl.toml; each name once
	Renews   func(name string) bool // whose release is chosen anew; nil: nobody's
	Dropped  bool                   // what its place holds no longer stays
	Compares bool                   // it is asked whether what stays still is what its tags mean
	Stays    bool                   // no release is chosen: what skl.lock does not have as skl.toml says stays as it is
}

// An Edit is what a request changes of skl.toml under one name.
type Edit struct {
	Skill  manifest.Skill
	Remove bool        // Skill.Name goes
	Found  *lock.Skill // the release that was picked with it; nil: none was
	Asked  bool        // a person asked for its version, and not for the newest

	Namespace, Binding string // who owns the namespace of its reference, to be recorded; "" for none
	Market             string // the marketplace that it is from, to be recorded; "" for none
}

// Rename makes name what the skill is called here, and records what it calls itself.
func (e *Edit) Rename(name string) {
	if name == e.Skill.Name {
		return
	}
	e.Skill.Name, e.Skill.Skill = name, e.Found.Called()
	e.Found.Name, e.Found.Skill = name, e.Found.Called()
}

// Held are the names of skills that stay as they are.
type Held map[string]bool

// An Intent is what skl.toml and skl.lock are to be.
type Intent struct {
	Manifest *manifest.Manifest
	Lock     *lock.Lock
	Added    []string // names of the edits that are in it
	Anew     []string // names of the entries that were chosen anew, and not kept
	Gone     []Gone   // entries that stay although their place holds them no longer
	Notes    []string // what a person may not expect
	Unsure   []string // names of held entries of which nobody could say whether they are what their references mean: nothing of them is fetched or written

	needs    map[string][]resolver.Need
	readings map[string]string
}

// A Gone is an entry whose place holds the skill no longer.
type Gone struct{ Name, Version, Since string }

// Chosen reports whether the entry of a name was chosen anew.
func (in *Intent) Chosen(name string) bool { return slices.Contains(in.Anew, name) }

// Entry is the entry of a name, nil if there is none.
func (in *Intent) Entry(name string) *lock.Skill { return entryIn(in.Lock, name) }

// Needs are what the release of a name says it needs, as far as that is known.
func (in *Intent) Needs(name string) []resolver.Need { return in.needs[name] }

// Reading is the key of the reading of a name, by which its entry was completed; "" if that was not read.
func (in *Intent) Reading(name string) string { return in.readings[name] }

func entryIn(l *lock.Lock, name string) *lock.Skill {
	for i := range l.Skills {
		if s := &l.Skills[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// A Fault is why there is no such plan.
type Fault struct {
	Name  string // of the skill that it is about; "" if it is about several
	Err   error
	Entry bool // the entry of skl.lock is not what its reference means, so that it cannot stay either
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// Of returns what base is to become, if what is held stays as it is. Where facts do not suffice, questions are what has to be found
// out first; where something cannot be, faults say why, in the order of skl.toml. The Intent is as far as it got then; it is nil where skl.toml cannot be
// edited so.
func Of(ctx context.Context, base *Base, r *Request, facts *Facts, held Held) (*Intent, *Questions, []Fault) {
	p := &planner{base: base, request: r, facts: facts, held: held, out: &Intent{needs: map[string][]resolver.Need{}, readings: map[string]string{}}, ask: &Questions{}, ids: map[string]string{}, lists: map[string]*candidates{}}
	if err := p.manifest(); err != nil {
		return nil, nil, []Fault{{Err: err}}
	}
	for _, step := range []func(context.Context){p.entries, p.compare, p.read, p.complete, p.compare, p.finish} {
		if step(ctx); p.stuck() {
			return p.out, p.ask, p.faults
		}
	}
	return p.out, p.ask, nil
}

// A planner is one attempt.
type planner struct {
	base    *Base
	request *Request
	facts   *Facts
	held    Held
	out     *Intent
	ask     *Questions
	faults  []Fault

	wants []resolver.Named       // of skl.toml
	ids   map[string]string      // the release of an entry, by name, where it has no version
	lists map[string]*candidates // by the solver's name
}

// stuck reports whether there is nothing more to plan.
func (p *planner) stuck() bool { return len(p.faults) > 0 || p.ask.Any() }

func (p *planner) fault(name string, err error) {
	p.faults = append(p.faults, Fault{Name: name, Err: err})
}

// renews reports whether the release of a name is chosen anew, though one is locked.
func (p *planner) renews(name string) bool {
	return p.request.Renews != nil && p.request.Renews(name) && !p.held[name]
}

// manifest makes the edits.
func (p *planner) manifest() (err error) {
	m := manifest.New()
	if p.base.Manifest != nil {
		if m, err = manifest.Parse(p.base.Manifest, p.base.Path); err != nil {
			return err
		}
	}
	p.out.Manifest = m
	for i := range p.request.Edits {
		e := &p.request.Edits[i]
		if p.held[e.Skill.Name] {
			continue
		}
		if e.Remove {
			err = m.RemoveSkill(e.Skill.Name)
		} else {
			err = p.edit(e)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Skill.Name, err)
		}
	}
	if h := p.facts.Hosts; h != nil && !slices.Equal(h, m.Targets.Hosts) {
		if err := m.SetHosts(h); err != nil {
			return err
		}
	}
	p.wants, err = resolver.Wants(m)
	return err
}

// edit sets one entry, and what goes with it.
func (p *planner) edit(e *Edit) error {
	p.out.Added = append(p.out.Added, e.Skill.Name)
	if err := p.out.Manifest.SetSkill(e.Skill.Name, e.Skill); err != nil {
		return err
	}
	if err := p.bind(e.Namespace, e.Binding); err != nil {
		return err
	}
	return p.market(e.Market)
}

// bind records who owns a namespace, if nothing says it.
func (p *planner) bind(namespace, binding string) error {
	m := p.out.Manifest
	if namespace == "" || binding == "" || m.Namespaces[namespace] != "" || p.base.Bound != nil && p.base.Bound(namespace) {
		return nil
	}
	return m.SetNamespace(namespace, binding)
}

// market records where a marketplace is, if the configuration alone says it.
func (p *planner) market(name string) error {
	if name == "" || p.base.Market == nil {
		return nil
	}
	if _, written := p.out.Manifest.Markets[name]; written {
		return nil
	}
	text, ok := p.base.Market(name)
	if !ok {
		return nil
	}
	return p.out.Manifest.SetMarket(name, text)
}

// entries takes in the releases of what skl.toml asks for.
func (p *planner) entries(context.Context) {
	p.out.Lock = p.base.Lock.Clone()
	for _, s := range p.base.Lock.Skills {
		if !slices.ContainsFunc(p.wants, func(w resolver.Named) bool { return w.Name == s.Name }) {
			p.out.Lock.Remove(s.Name)
		}
	}
	for _, w := range p.wants {
		old, had := p.base.Lock.Skill(w.Name)
		if e := p.picked(w.Name); e != nil {
			if err := resolver.Down(old, *e.Found); err != nil && had && !e.Asked {
				p.fault(w.Name, err)
			}
			p.take(w, *e.Found, true)
			continue
		}
		kept := had && resolver.Keeps(old, w)
		if p.request.Stays && !kept {
			if had {
				p.keep(w, old)
			}
			continue
		}
		c := newChoice(w, w.Name, p.renews(w.Name) || !kept)
		is, known := p.answered(c)
		switch {
		case !known:
		case is.Err != nil && (is.Entry || !p.held[w.Name]):
			p.faults = append(p.faults, Fault{w.Name, is.Err, is.Entry})
		case is.Err != nil && !kept: // held, and there is nothing that could stay as it is
			if had {
				p.keep(w, old)
			}
		case is.Err != nil:
			p.keep(w, old)
		default: // what is held stays, whatever its place answers
			if is.Gone != "" {
				p.out.Gone = append(p.out.Gone, Gone{w.Name, old.Version, is.Gone})
			}
			p.take(w, is.Skill, c.Renew && is.Gone == "")
		}
	}
}

// keep leaves an entry as it is, unseen.
func (p *planner) keep(w resolver.Named, old lock.Skill) {
	p.out.Unsure = append(p.out.Unsure, w.Name)
	p.out.Lock.Set(old)
	p.out.needs[w.Name] = LockedNeeds(p.base.Lock, &old)
}

// answered is the release that a choice means, if that is known; else it is asked for.
func (p *planner) answered(c Choice) (is resolver.Release, known bool) {
	if is, known = p.facts.Releases[c.Key]; !known {
		p.ask.Choose = append(p.ask.Choose, c)
	}
	return is, known
}

// picked is the edit by which a person picked a release under a name, nil if none was.
func (p *planner) picked(name string) *Edit {
	for i := range p.request.Edits {
		if e := &p.request.Edits[i]; e.Skill.Name == name && e.Found != nil && !p.held[name] {
			return e
		}
	}
	return nil
}

// take puts the release of what skl.toml asks for into the lock.
func (p *planner) take(w resolver.Named, s lock.Skill, anew bool) {
	if old, ok := p.base.Lock.Skill(w.Name); ok && anew && old.SameBytes(s) {
		s.Tree, s.Files, s.Bytes, s.Permissions = old.Tree, old.Files, old.Bytes, old.Permissions
		if old.Version == s.Version {
			s.Moved = cmp.Or(s.Moved, old.Moved)
		}
	}
	s.Root = w.Root
	if p.out.Lock.Set(s); anew {
		p.out.Anew = append(p.out.Anew, w.Name)
	}
}

// compare takes in what the tags of kept entries mean now.
func (p *planner) compare(context.Context) {
	if !p.request.Compares {
		return
	}
	all, err := resolver.Required(p.wants, p.out.Lock)
	if err != nil {
		p.fault("", err)
		return
	}
	for _, w := range all {
		s := entryIn(p.out.Lock, w.Name)
		if s == nil || p.out.Chosen(w.Name) || p.held[w.Name] {
			continue
		}
		now, known := p.facts.Compared[w.Name]
		switch {
		case !known:
			p.ask.Compare = append(p.ask.Compare, Comparison{w, *s})
		case now != nil:
			root := s.Root
			*s = *now
			s.Root = root
			p.out.Anew = append(p.out.Anew, w.Name)
		}
	}
}

// read takes in what the files of the entries say.
func (p *planner) read(context.Context) {
	for i := range p.out.Lock.Skills {
		s := &p.out.Lock.Skills[i]
		if slices.Contains(p.out.Unsure, s.Name) {
			continue
		}
		r := Reading{Skill: *s, Anew: p.out.Chosen(s.Name), Held: p.held[s.Name], ID: p.id(s)}
		is, known := p.facts.Read[r.Key()]
		p.out.readings[s.Name] = r.Key()
		switch {
		case !known:
			p.ask.Read = append(p.ask.Read, r)
		case is.Err != nil:
			p.faults = append(p.faults, Fault{s.Name, is.Err, !r.Anew})
		default:
			was := *s
			*s = is.Skill
			s.Ref, s.RefKind, s.Root, s.Moved, s.RequiredBy = was.Ref, was.RefKind, was.Root, was.Moved, was.RequiredBy
			p.out.needs[s.Name] = p.facts.Needs[release(s.Name, r.ID)]
			s.Requires = Names(p.out.needs[s.Name], s.Name)
		}
	}
}

// finish notes who requires whom, and takes out what nothing leads to.
func (p *planner) finish(context.Context) {
	p.met()
	resolver.Prune(p.wants, p.out.Lock)
}

// met notes in the entries what they need by its name alone, where skl.toml or what others need leads to it: it is known who needs it, and installed
// by nobody for that.
func (p *planner) met() {
	reached := resolver.Reached(p.wants, p.out.Lock)
	for i := range p.out.Lock.Skills {
		s := &p.out.Lock.Skills[i]
		for _, n := range p.out.needs[s.Name] {
			if !n.Placed() && n.Name != s.Name && reached[n.Name] {
				s.Requires = append(s.Requires, n.Name)
			}
		}
		slices.Sort(s.Requires)
	}
}
