package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/spell"
)

// A RemoveRequest asks for skills to be removed with their links and lock entries.
type RemoveRequest struct {
	Names  []string
	From   *ref.Ref // instead of Names: all skills of this repository, folder or plugin; its version does not matter
	All    bool     // instead of Names: all skills of skl.toml
	Force  bool     // local edits too, after a backup
	DryRun bool
}

// Remove takes skills out of skl.toml, skl.lock and the root. A name that is only a link loses the link.
func (a *Applier) Remove(ctx context.Context, r RemoveRequest) (Result, error) {
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	if r.Names, err = a.meant(r, f); err != nil {
		return Result{}, err
	}
	stay, err := stillRequired(f, r.Names)
	if err != nil {
		return Result{}, err
	}
	var locked, unlinked []string
	var edits []plan.Edit
	for _, name := range r.Names {
		if _, ok := f.Manifest.Skill(name); !ok {
			linked, err := a.unlink(name, r.DryRun)
			if err != nil {
				return Result{}, err
			}
			if linked {
				unlinked = append(unlinked, name)
				continue
			}
		}
		_, wanted := f.Manifest.Skill(name)
		switch needs := stay[name]; {
		case len(needs) > 0 && (!wanted || !a.requiredFrom(f.Lock, needs, name)):
			return Result{}, diag.New(diag.Misuse, "required", "%s is required by %s", name, strings.Join(needs, ", ")).Hint("skl why %s", name)
		case len(needs) > 0:
			a.Scope.Tell.Note("%s goes from skl.toml, and stays installed: %s requires it", name, strings.Join(needs, ", "))
		case !wanted:
			return Result{}, a.Scope.NotInManifest(name, f)
		}
		locked = append(locked, name)
		if wanted {
			edits = append(edits, plan.Edit{Skill: manifest.Skill{Name: name}, Remove: true})
		}
	}
	if len(locked) == 0 {
		return Result{Lock: f.Lock, LockState: "unchanged", DryRun: r.DryRun, Unlinked: unlinked}, nil
	}
	// Remaining skills are installed again where they are missing; those that differ from skl.toml are left as they
	// are.
	if stale, err := scope.StaleNames(f); err != nil {
		return Result{}, err
	} else if stale = slices.DeleteFunc(stale, func(name string) bool { return slices.Contains(locked, name) }); len(stale) > 0 {
		a.Scope.Tell.Warn("left as it is: %s", a.stale(f, stale))
	}
	result, err := a.newJob(f, &request{mode: removes, dry: r.DryRun, agreed: Agreed{Force: r.Force}, plan: plan.Request{Edits: edits, Stays: true}}).run(ctx)
	result.Unlinked = unlinked
	return result, err
}

// stillRequired are, by name, what requires a skill of f that stays when others are removed.
func stillRequired(f *scope.Files, without []string) (map[string][]string, error) {
	wants, err := resolver.Wants(f.Manifest)
	if err != nil {
		return nil, err
	}
	wants = slices.DeleteFunc(wants, func(w resolver.Named) bool { return slices.Contains(without, w.Name) })
	rest := f.Lock.Clone()
	resolver.Prune(wants, rest)
	return resolver.RequiredBy(rest), nil
}

// meant are the names that a request is about.
func (a *Applier) meant(r RemoveRequest, f *scope.Files) ([]string, error) {
	if r.From == nil && !r.All {
		return r.Names, nil
	}
	from := ref.Ref{}
	if r.From != nil {
		from = a.Rebase(*r.From)
	}
	var names, refs []string
	for _, s := range f.Manifest.Skills {
		m, err := ref.Parse(s.Ref)
		if refs = append(refs, s.Ref); r.All || err == nil && a.comesFrom(m, from, f) {
			names = append(names, s.Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, nil
	case r.All:
		return nil, diag.New(diag.Misuse, "unknown_skill", "%s names no skills", a.Scope.Short(f.ManifestPath)).Hint("skl list")
	}
	return nil, diag.New(diag.Misuse, "unknown_skill", "no skill of %s is from %s", a.Scope.Short(f.ManifestPath), r.From).Meant(spell.Nearest(r.From.String(), refs, 3)...).Hint("skl list --fields name,source")
}

// Origin is what [RemoveRequest.From] takes to be about the skills of names and no others of l: "" where nothing is.
func Origin(l *lock.Lock, names []string) string {
	first, _ := l.Skill(names[0])
	from, err := ref.Parse(first.Ref)
	if err != nil {
		return ""
	}
	from.Path, from.Skill, from.Version, from.Digest = "", "", "", ""
	text := from.String()
	if same, err := ref.Parse(text); err != nil || same != from {
		return ""
	}
	for i := range l.Skills {
		m, err := ref.Parse(l.Skills[i].Ref)
		m.Path, m.Skill, m.Version, m.Digest = "", "", "", ""
		if (err == nil && m == from) != slices.Contains(names, l.Skills[i].Name) {
			return ""
		}
	}
	return text
}

// comesFrom reports whether the skill of the ref m is what from names, or lies in it. A name of a namespace that is bound to
// a forge is that forge's.
func (a *Applier) comesFrom(m, from ref.Ref, f *scope.Files) bool {
	for _, r := range []*ref.Ref{&m, &from} {
		bound := a.Scope.Binding(f.Manifest, r.Owner)
		if forge, ok := strings.CutPrefix(bound, "forge:"); ok && r.Kind == ref.Name {
			r.Kind, r.Host = ref.Forge, forge
		}
	}
	below := from.Path == "" || m.Path == from.Path || strings.HasPrefix(m.Path, strings.TrimSuffix(from.Path, "/")+"/")
	return m.Kind == from.Kind && m.Host == from.Host && m.Owner == from.Owner && m.Repo == from.Repo && m.URL == from.URL && below &&
		(from.Skill == "" || m.Skill == from.Skill) && (from.Digest == "" || m.Digest == from.Digest)
}
