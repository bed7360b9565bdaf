package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/solve"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Words for the one release of a place that has no versions to choose from.
const (
	idHere    = "(as it is)"
	idDefault = "(default branch)"
)

const mostRequired = 256 // skills besides those of skl.toml, which agents could not tell apart long before

// thisCommand is who asks for what is added.
const thisCommand = "this command"

// A graph is what a job knows of the skills that need each other.
//
// The solver's names are those of skl.toml, and for what is needed only, the place: "acme/tools/base", with the branch, tag or
// commit if it is pinned to one.
type graph struct {
	job      *job
	wants    map[string]resolver.Named  // of skl.toml, by name
	known    map[string][]resolver.Need // by name of the skill and id of the release
	unread   map[string]error           // by skill: why what it needs cannot be read
	lists    map[string]*candidates     // by the solver's name
	ids      map[string]string          // of the entries of the next lock, by name of the skill, where those are of a candidate
	bindings map[string]resolver.Place  // by namespace: those of needs that nothing binds yet
	told     map[string]bool
	because  string // why the last attempt to take what is preferred failed; "" if none did
	compared bool   // the entries of what is needed only were, with their places
}

// Candidates are the releases of one skill that the solver may choose from.
type candidates struct {
	name    string // of the skill
	ref     ref.Ref
	kind    lock.RefKind // of the version in ref, if it has one
	ids     []string     // newest first
	whole   bool         // there are no others
	wanted  bool         // skl.toml has it
	held    bool         // and holds it
	instead string       // of which release another one is taken, since that fits
	by      string       // who needs it: "top needs acme/tools/base@^1 (skl.toml:2:8)"
}

// lockedNeeds are the needs of a release whose files are nowhere here: what skl.lock says of it.
func (g *graph) lockedNeeds(s *lock.Skill) (all []resolver.Need) {
	for _, name := range s.Requires {
		n := resolver.Need{Name: name, File: "skl.lock"}
		if other, ok := g.job.files.Lock.Skill(name); ok {
			n.Want.Ref, _ = ref.Parse(resolver.Unranged(other)) // the lock was parsed
			if all = append(all, n); other.RefKind != lock.Range {
				all[len(all)-1].Want.Kind = other.RefKind
			}
		}
	}
	return all
}

// needs are those of the release that an entry is of, as far as they are known.
func (g *graph) needs(s *lock.Skill) []resolver.Need {
	if s == nil {
		return nil
	}
	return g.known[s.Name+"\x00"+g.id(s)]
}

// id names the release of an entry of the next lock.
func (g *graph) id(s *lock.Skill) string {
	if id := g.ids[s.Name]; id != "" {
		return id
	}
	if s.Version == "" {
		return idHere
	}
	return s.Version
}

// solve chooses among what is known, and asks places for their versions where that is not enough.
func (g *graph) solve(ctx context.Context, all []resolver.Named) ([]solve.Choice, error) {
	var wants []solve.Need
	for _, w := range all {
		s := g.job.entry(w.Name)
		if s == nil {
			continue // held back
		}
		list := g.lists[w.Name]
		if list == nil {
			list = &candidates{name: w.Name, ref: w.Ref.WithoutVersion(), wanted: true, ids: []string{g.id(s)}}
			g.lists[w.Name] = list
		}
		id := g.id(s)
		if !slices.Contains(list.ids, id) {
			list.ids = append([]string{id}, list.ids...)
		}
		n := solve.Need{Name: w.Name, Text: w.Ref.Version, Where: g.job.Short(w.Where.String())}
		if slices.Contains(g.job.added, w.Name) {
			n.Where = thisCommand
		}
		if c, err := semver.NewConstraint(w.Ref.Version); w.Kind == lock.Range && err == nil {
			n.Allows = func(version string) bool { return version == id || inRange(c, version) }
		}
		wants = append(wants, n)
	}
	choices, err := g.among(ctx, wants)
	if conflict, ok := errors.AsType[*solve.Conflict](err); ok {
		return nil, g.conflict(ctx, conflict, wants)
	}
	return choices, err
}

// among solves for wants. Of what is in a conflict all versions are asked for, before it is one.
func (g *graph) among(ctx context.Context, wants []solve.Need) ([]solve.Choice, error) {
	for {
		choices, err := solve.Solve(ctx, g.universe(), wants, solve.Options{First: g.first, Last: isPrerelease})
		conflict, ok := errors.AsType[*solve.Conflict](err)
		if !ok {
			return choices, err
		}
		wider := false
		g.because = headline(conflict)
		for _, given := range conflict.Core {
			for _, name := range []string{given.Name, given.Need.Name} {
				if list := g.lists[name]; list != nil && !list.whole {
					wider = true
					if err := g.list(ctx, list); err != nil {
						return nil, err
					}
				}
			}
		}
		if !wider {
			return nil, err
		}
	}
}

// inRange reports whether a version is in a range, as [resolver.Pick] has it.
func inRange(c *semver.Constraints, version string) bool {
	v, err := semver.StrictNewVersion(version)
	return err == nil && c.Check(v)
}

func isPrerelease(version string) bool {
	v, err := semver.StrictNewVersion(version)
	return err == nil && v.Prerelease() != ""
}

// first is the release that is taken if it can be: the one that is chosen or locked.
func (g *graph) first(name string) string {
	list := g.lists[name]
	if s := g.job.entry(list.name); s != nil && (list.wanted || s.Ref == list.text()) {
		return g.id(s)
	}
	if old, ok := g.job.files.Lock.Skill(list.name); ok && !g.renews(list.name) && of(old, list) {
		return old.Version
	}
	return ""
}

// list asks the place of a list for all its versions.
func (g *graph) list(ctx context.Context, list *candidates) error {
	list.whole = true
	want := resolver.Want{Ref: list.ref, Kind: list.kind}
	if list.wanted {
		w := g.wants[list.name]
		entry, _ := g.job.files.Manifest.Skill(list.name)
		if list.held = entry.Hold; entry.Hold || !g.ranged(list.name) {
			return nil // it is what it is
		}
		want.Ref.Version, want.Kind = w.Ref.Version, w.Kind
	} else if list.ref.Version != "" || list.ref.Digest != "" {
		list.ids = []string{cmp.Or(list.ref.Version, string(list.ref.Digest))}
		return nil
	}
	o, err := g.job.Resolver(g.job.files.Manifest).Open(ctx, want)
	var versions []string
	if err == nil {
		versions, err = o.Versions(ctx)
	}
	if err != nil {
		if old, ok := g.job.files.Lock.Skill(list.name); ok && g.job.update && of(old, list) && diag.ClassOf(err) != diag.Refused && ctx.Err() == nil {
			g.job.held = append(g.job.held, troubled(list.name, old.Path, err))
			list.ids = []string{old.Version}
			return nil
		}
		if list.by != "" {
			err = diag.Prefixed(err, list.by)
		}
		return err
	}
	if ns := list.ref.Namespace(); ns != "" && o.Place.Binding != "" {
		g.bindings[ns] = o.Place
	}
	if len(versions) == 0 && !list.wanted {
		list.ids = []string{idDefault}
		return nil
	}
	for _, id := range list.ids {
		if !slices.Contains(versions, id) {
			versions = append(versions, id)
		}
	}
	list.ids = versions
	return nil
}

// tellInstead says which skills of skl.toml are not of the release that they would be of alone.
func (g *graph) tellInstead() {
	for i := range g.job.next.Skills {
		s := &g.job.next.Skills[i]
		if list := g.lists[s.Name]; list != nil && list.wanted && list.instead != "" && list.instead != g.id(s) {
			g.job.Tell.Note("%s %s is taken, and not %s: %s", s.Name, g.id(s), list.instead, g.because)
			list.instead = ""
		}
	}
}

// bind records who owns the namespaces of what is installed because something needs it.
func (g *graph) bind() error {
	m := g.job.files.Manifest
	for i := range g.job.next.Skills {
		r, err := ref.Parse(g.job.next.Skills[i].Ref)
		if err != nil {
			return err
		}
		ns := r.Namespace()
		if place, ok := g.bindings[ns]; ok && m.Namespaces[ns] == "" && g.job.Config.Namespaces[ns] == "" {
			if err := m.SetNamespace(ns, place.Binding); err != nil {
				return err
			}
			if market, ok := strings.CutPrefix(place.Binding, "market:"); ok {
				if err := g.job.RecordMarket(m, market); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A universe is the [solve.Source] of a graph. An interface that held the graph itself would keep every exported method of a job in
// the program.
type universe struct {
	versions func(name string) []string
	needs    func(ctx context.Context, name, id string) ([]solve.Need, error)
}

func (u universe) Versions(_ context.Context, name string) ([]string, error) {
	return u.versions(name), nil
}

func (u universe) Needs(ctx context.Context, name, id string) ([]solve.Need, error) {
	return u.needs(ctx, name, id)
}

func (g *graph) universe() universe {
	return universe{needs: g.needed, versions: func(name string) []string {
		if list := g.lists[name]; list != nil {
			return list.ids
		}
		return nil
	}}
}

// needed is what a release needs, in the solver's words. One whose files are not known is taken for one that needs nothing.
func (g *graph) needed(ctx context.Context, name, id string) ([]solve.Need, error) {
	by := g.lists[name]
	var out []solve.Need
	for _, n := range g.known[by.name+"\x00"+id] {
		if !n.Placed() || n.Name == by.name {
			continue
		}
		key, err := g.place(ctx, by.name, &n)
		if err != nil {
			return nil, err
		}
		s := solve.Need{Name: key, Text: n.Want.Ref.Version}
		if _, wanted := g.wants[n.Name]; wanted && (n.Pinned() || !g.ranged(n.Name)) {
			s.Text = "" // the project's skl.toml decides
		} else if c := n.Range(); c != nil {
			s.Allows = func(version string) bool { return inRange(c, version) }
		}
		out = append(out, s)
	}
	return out, nil
}

// place is the solver's name of what a skill needs. The first time, the place is asked for its versions, unless one is locked.
func (g *graph) place(ctx context.Context, by string, n *resolver.Need) (string, error) {
	text := by + " needs " + n.Want.Ref.String() + " (" + n.File + ")"
	if w, wanted := g.wants[n.Name]; wanted {
		if other := w.Ref.WithoutVersion().String() != n.Want.Ref.WithoutVersion().String(); (other || n.Range() != nil && !g.ranged(n.Name)) && !g.told[text] && (g.job.chosen(by) || g.job.chosen(n.Name)) {
			g.told[text] = true
			at := w.Ref
			if other {
				at = at.WithoutVersion()
			}
			g.job.Tell.Note("%s; skl.toml takes %s from %s", text, n.Name, at)
		}
		return n.Name, nil
	}
	if err := g.job.CheckNeed(by, g.from(by), n); err != nil {
		return "", err
	}
	if len(g.lists)-len(g.wants) >= mostRequired {
		return "", diag.New(diag.Failed, "too_large", "%s, which is one of more than %d skills that others need", text, mostRequired).
			Hint("skl why %s", by)
	}
	list := &candidates{name: n.Name, ref: n.Want.Ref.WithoutVersion(), by: text}
	if n.Pinned() {
		list.ref, list.kind = n.Want.Ref, n.Want.Kind
	}
	key := list.text()
	if n.Name != nameOf(list.ref) {
		key += " as " + n.Name
	}
	if g.lists[key] != nil {
		return key, nil
	}
	if old, ok := g.job.files.Lock.Skill(n.Name); ok && !g.renews(n.Name) && of(old, list) && list.ref.Version == "" && list.ref.Digest == "" && old.RefKind == lock.Range {
		list.ids = []string{old.Version}
	} else if err := g.list(ctx, list); err != nil {
		return "", err
	}
	g.lists[key] = list
	return key, nil
}

// from is the URL that a skill comes from; "" for a folder.
func (g *graph) from(name string) string {
	if s := g.job.entry(name); s != nil {
		if s.Source == "local" || s.Source == "embedded" {
			return ""
		}
		return s.URL
	}
	for _, list := range g.lists {
		if list.name == name && list.ref.URL != "" {
			return list.ref.URL
		}
	}
	return name // no URL: of the same place is nothing
}

// ranged reports whether skl.toml asks for a skill by its versions, and not for a folder, a branch or the like.
func (g *graph) ranged(name string) bool {
	s := g.job.entry(name)
	return s != nil && s.RefKind == lock.Range
}

// nameOf is what the skill of a ref is called, if it is called as the last part of it.
func nameOf(r ref.Ref) string {
	text := strings.TrimSuffix(r.WithoutVersion().String(), "/")
	return text[strings.LastIndexAny(text, "/#:")+1:]
}
