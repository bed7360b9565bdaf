package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/skillsearch/public"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/rootpath"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A picker makes edits of references.
type picker struct {
	a     *Applier
	files *scope.Files
	ask   *InstallRequest
	root  string // where what is picked goes, as skl.toml writes it; "" says nothing of it
	all   bool   // of the reference at hand: all skills that can be installed are wanted, and the others are held
	out   pickList
	names []string // that a hint may not give to another skill
}

// pickAll resolves refs, and makes edits of their skills.
func (a *Applier) pickAll(ctx context.Context, f *scope.Files, r InstallRequest, refs []ref.Ref, root string) (pickList, error) {
	p := &picker{a: a, files: f, ask: &r, root: root}
	if err := p.addNeeded(ctx, refs); err != nil {
		return pickList{}, err
	}
	for _, one := range refs {
		if err := p.take(ctx, one, r.Names); err != nil {
			return pickList{}, err
		}
	}
	if r.As != "" && len(p.out.edits) != 1 {
		return pickList{}, diag.New(diag.Misuse, "usage", "--as names one skill, and here are %d", len(p.out.edits)).Hint("name the one: skl install %s NAME --as %s", r.Refs[0], r.As)
	}
	return p.out, nil
}

// take takes in the skills of one reference: those with these names, if there are any.
func (p *picker) take(ctx context.Context, r ref.Ref, names []string) error {
	rs := p.a.Scope.Resolver(p.files.Manifest)
	picked, err := p.pick(ctx, rs, r, names)
	if err != nil {
		return p.a.missing(p.files.Manifest, r, err)
	}
	for i := range picked {
		e := &picked[i]
		if err := p.left(e.Skill.Name, e.Found.Path, p.add(ctx, rs, r, e)); err != nil {
			return err
		}
	}
	return nil
}

// left is err, nil if all skills that can be installed are wanted, and it is about this one alone: then it is held.
func (p *picker) left(name, path string, err error) error {
	if err == nil || !p.all || p.ask.Strict || !isJudgement(err) {
		return err
	}
	if !slices.ContainsFunc(p.out.held, func(h Held) bool { return h.Name == name && h.Why == err.Error() }) { // the same of another path
		p.out.held = append(p.out.held, troubled(name, path, err))
	}
	return nil
}

// add takes one skill in. One release that is found through several plugins is one.
func (p *picker) add(ctx context.Context, rs *resolver.Resolver, r ref.Ref, e *plan.Edit) error {
	if i := slices.IndexFunc(p.out.edits, func(o plan.Edit) bool { return o.Skill.Name == e.Skill.Name }); i >= 0 {
		other := &p.out.edits[i]
		if other.Found.SameBytes(*e.Found) {
			return nil
		}
		return diag.New(diag.Misuse, "same_name", "%s and %s both hold a skill called %q; one name means one skill", other.Skill.Ref, e.Skill.Ref, e.Skill.Name)
	}
	if other := p.folds(e.Skill.Name); other != "" {
		return diag.New(diag.Misuse, "same_name", "%s", bundle.OneName(other, e.Skill.Name)).
			Hint("install it by another name: skl install %s --as NAME", p.a.typed(byPath(r.WithoutVersion(), source.Found{Lock: *e.Found})))
	}
	old, _ := p.files.Lock.Skill(e.Skill.Name)
	now := *e.Found
	old.URL, now.URL = p.a.Scope.Config.Canonical(old.URL), p.a.Scope.Config.Canonical(now.URL) // one place, by whatever address
	moved, err := rs.Unmoved(ctx, old, now, r.Version)
	if err != nil {
		return err
	}
	e.Found.Moved = moved
	m := p.files.Manifest
	if have, ok := m.Skill(e.Skill.Name); ok && have.Ref != e.Skill.Ref {
		if same := old.URL == now.URL && old.RegistryName() == now.RegistryName() && old.Path == now.Path; !same && !p.ask.Agreed.Force {
			return diag.New(diag.Misuse, "same_name", "skl.toml has a skill called %q already, from %s", e.Skill.Name, have.Ref).At(m.Where(e.Skill.Name)).
				Hint("skl remove %s", e.Skill.Name).Hint("replace it: add --force")
		}
	}
	was, _ := m.Skill(e.Skill.Name)
	if was.Hold && !old.SameRelease(*e.Found) {
		return diag.New(diag.Unmet, "on_hold", "%s is held at %s: %s", e.Skill.Name, cmp.Or(old.Version, "what is here"), cmp.Or(was.HoldReason, "-")).
			At(m.Where(e.Skill.Name)).Hint("skl update --unhold %s", e.Skill.Name)
	}
	e.Skill.Hosts, e.Skill.Hold, e.Skill.HoldReason = was.Hosts, was.Hold, was.HoldReason
	switch {
	case p.root == "":
		e.Skill.Root = was.Root
	case p.root == cmp.Or(m.Targets.Root, rootpath.Write(p.a.Scope.Root, p.a.Scope.Project, p.a.Scope.Home)):
		e.Skill.Root = "" // where skills go anyway
	default:
		e.Skill.Root = p.root
	}
	p.out.edits = append(p.out.edits, *e)
	return nil
}

// folds is the name of another skill that is wanted which some file systems take for name; "" if there is none.
func (p *picker) folds(name string) string {
	key := bundle.Fold(name)
	for _, s := range p.files.Manifest.Skills {
		if s.Name != name && bundle.Fold(s.Name) == key {
			return s.Name
		}
	}
	for i := range p.out.edits {
		if s := p.out.edits[i].Skill.Name; s != name && bundle.Fold(s) == key {
			return s
		}
	}
	return ""
}

// pick resolves one ref and chooses its skills: the ones that are named, all of them, the only
// one, or those a person picks.
func (p *picker) pick(ctx context.Context, rs *resolver.Resolver, r ref.Ref, names []string) ([]plan.Edit, error) {
	o, err := rs.Open(ctx, p.want(ctx, rs, r, names))
	if err != nil {
		return nil, err
	}
	offered, err := o.Skills(ctx, names)
	if err != nil {
		return nil, err
	}
	p.offer(offered)
	found, err := p.chosen(ctx, rs, o, r, names, offered)
	if err != nil {
		return nil, err
	}
	// A person who picks several of a list, or takes a plugin, wants those of them that can be had.
	p.all = p.ask.All || len(names) == 0 && p.ask.As == "" && len(found) > 1
	p.out.all = p.out.all || p.all
	var out []plan.Edit
	for _, f := range found {
		same := sameName(offered, f)
		if err := p.fit(f, r, same); err != nil {
			if f.Invalid != nil && !p.all {
				return nil, err
			}
			if err := p.left(f.Lock.Name, f.Lock.Path, err); err != nil {
				return nil, err
			}
			continue
		}
		for _, other := range f.Also {
			why := ""
			if other.Invalid != nil {
				why = ", which cannot be read: " + diag.Brief(diag.Printable(other.Invalid.Error()), 200)
			}
			p.a.Scope.Tell.Note("%s: took %s, not %s%s", f.Lock.Name, f.Lock.Path, other.Lock.Path, why)
		}
		e := selected(o, f, len(found), p.ask.Pin, same != nil || p.ask.As != "" || f.Broken() != nil)
		if p.ask.As != "" {
			e.Rename(p.ask.As)
		}
		out = append(out, e)
	}
	return out, nil
}

// want asks for what was typed. A commit that is locked is not a word that may be wrong: if it is not there, its repository changed.
func (p *picker) want(ctx context.Context, rs *resolver.Resolver, r ref.Ref, names []string) resolver.Want {
	w := resolver.Want{Ref: r, Retry: func(r ref.Ref) string {
		words := append([]string{"skl", "install", p.a.typed(r).String()}, names...)
		if len(words) == 3 && !p.ask.All && holdsSeveral(ctx, rs, r) {
			return "skl install -l " + diag.Quote(words[2]) // which to take was not typed
		}
		if p.ask.All {
			words = append(words, "--all")
		}
		if p.ask.As != "" {
			words = append(words, "--as", p.ask.As)
		}
		return diag.Words(words)
	}}
	if slices.ContainsFunc(p.files.Lock.Skills, func(s lock.Skill) bool { return s.Commit != "" && string(s.Commit) == r.Version }) {
		w.Kind = lock.Commit
	}
	return w
}

// holdsSeveral reports whether an install of r has to be told which skills of it are wanted.
func holdsSeveral(ctx context.Context, rs *resolver.Resolver, r ref.Ref) bool {
	o, err := rs.Open(ctx, resolver.Want{Ref: r})
	if err != nil || r.Kind == ref.Market {
		return false
	}
	found, err := o.Skills(ctx, nil)
	return err == nil && len(found) > 1
}

// offer notes the names that are there.
func (p *picker) offer(all []source.Found) {
	for _, f := range all {
		p.names = append(p.names, f.Lock.Name)
	}
}

// chosen are the skills of one reference that are wanted.
func (p *picker) chosen(ctx context.Context, rs *resolver.Resolver, o *resolver.Opened, r ref.Ref, names []string, offered []source.Found) ([]source.Found, error) {
	switch {
	case len(names) > 0:
	case p.ask.All || o.Want.Ref.Kind == ref.Market:
		passed, err := p.a.passed(ctx, o, offered)
		p.out.passed = append(p.out.passed, passed...)
		return offered, err
	case len(offered) > 1:
		passed := p.a.alsoThere(ctx, o, offered)
		found, err := p.a.ChooseSkills(p.a.typed(r), offered, passed, p.ask.As != "")
		if e, ok := errors.AsType[*Ambiguous](err); ok {
			e.Found = p.holdings(ctx, rs, o, r, offered)
		}
		return found, err
	}
	if len(names) == 0 && len(offered) == 1 && (o.Place.Ref.Path == "" || offered[0].Lock.Path != o.Place.Ref.Path) {
		p.out.passed = p.a.alsoThere(ctx, o, offered)
	}
	return offered, nil
}

// fit refuses a skill that cannot be installed, as it is found. same is why its name does not say which of several it is.
func (p *picker) fit(f source.Found, r ref.Ref, same error) error {
	where := cmp.Or(f.Lock.Path, p.a.typed(r).String()) // a bundle that is one skill has no path in it
	switch {
	case f.Invalid != nil && p.all:
		return invalidSkill(f, where)
	case f.Invalid != nil:
		return fmt.Errorf("%s: %w", where, f.Invalid)
	case p.ask.As != "" && diag.Printable(f.Lock.Name) == f.Lock.Name:
		return nil // its own name, and which of several it is, does not matter
	case same != nil && p.all:
		return same
	}
	err := checkName(f, where, fmt.Sprintf("skl install %s", p.a.typed(byPath(r, f))), p.taken)
	if e, ok := diag.Own(err); ok && len(e.Hints) > 0 {
		p.names = append(p.names, e.Hints[0][strings.LastIndex(e.Hints[0], " ")+1:])
	}
	return err
}

// invalidSkill is the error of a skill that cannot be read, where others of its place can be.
func invalidSkill(f source.Found, where string) error {
	e, ok := errors.AsType[*diag.Error](f.Invalid)
	if !ok {
		return diag.New(diag.Misuse, "invalid_skill", "%s: %w", where, f.Invalid)
	}
	return fmt.Errorf("%s: %w", where, e)
}

// checkName refuses names by which a skill cannot be installed; line is the command that installs this one, and taken tells the names that
// another one cannot be given.
func checkName(f source.Found, where, line string, taken func(string) bool) error {
	err := source.CheckName(f.Lock.Name)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		err = errors.New(e.Message)
	}
	e := diag.New(diag.Refused, "E_NAME_PATH", "%s: %w", where, err)
	if diag.Printable(f.Lock.Name) != f.Lock.Name {
		return e // skl.toml and skl.lock could not say which one it is
	}
	as := skill.Respell(f.Lock.Name)
	for n, first := 2, as; as != "" && taken(as); n++ {
		as = fmt.Sprintf("%s-%d", first[:min(len(first), skill.MaxNameLength-6)], n)
	}
	return e.Hint("install it by another name: %s --as %s", line, cmp.Or(as, "NAME"))
}

// taken reports whether a name is that of a skill that is here, or may come by the same command, or was given to another in a hint.
func (p *picker) taken(name string) bool {
	if _, ok := p.files.Manifest.Skill(name); ok {
		return true
	}
	return slices.Contains(p.names, name)
}

// selected is the edit that takes one found skill; with path it is the one in its directory.
func selected(o *resolver.Opened, f source.Found, of int, pin, path bool) plan.Edit {
	asked := o.Want.Ref
	version, kind := resolver.Written(o.Kind, asked.Version, f.Lock.Version, f.Lock.Commit, pin)
	if pin && asked.Kind == ref.OCI && kind != lock.Range {
		// A tag can move; the digest is part of the ref.
		asked.Digest, version, kind = f.Lock.Manifest, "", ""
	}
	if o.Place.Commit != "" || asked.Digest != "" || asked.Kind == ref.Local {
		version, kind = "", ""
	}
	r := narrow(asked.WithoutVersion(), f, of)
	if path {
		r = byPath(asked.WithoutVersion(), f)
	}
	entry := manifest.Skill{Name: f.Lock.Name, Ref: r.String()}
	switch kind {
	case lock.Range:
		entry.Version = version
	case lock.Tag:
		entry.Tag = version
	case lock.Branch:
		entry.Branch = version
	case lock.Commit:
		entry.Commit = ref.Commit(version)
	}
	want := r
	want.Version = version
	f.Lock.Ref = want.String()
	f.Lock.RefKind = o.Kind
	if kind != "" {
		f.Lock.RefKind = kind
	}
	e := plan.Edit{Skill: entry, Found: &f.Lock, Asked: asked.Version != "", Namespace: want.Namespace(), Binding: o.Place.Binding}
	if market, bound := strings.CutPrefix(o.Place.Binding, "market:"); bound {
		e.Market = market
	} else if want.Kind == ref.Market {
		e.Market = want.Host
	}
	return e
}

// byPath makes r name the skill in the directory of f.
func byPath(r ref.Ref, f source.Found) ref.Ref {
	switch {
	case f.Lock.Path == "" || r.Kind == ref.Market || r.Kind == ref.Embedded:
		return narrow(r, f, 1)
	case r.Kind == ref.Local:
		r.Path = strings.TrimSuffix(r.Path, "/") + "/" + f.Lock.Path
	default:
		r.Path = f.Lock.Path
	}
	r.Skill = ""
	return r
}

// narrow makes r name the one skill f of its place.
func narrow(r ref.Ref, f source.Found, of int) ref.Ref {
	last := r.Path[strings.LastIndexByte(r.Path, '/')+1:]
	if f.Lock.Path == "" || of == 1 && (last == f.Lock.Name || r.Skill == f.Lock.Name || r.Path != "" && r.Path == f.Lock.Path) {
		return r
	}
	switch {
	case r.Kind == ref.Name && r.Path == "", r.Kind == ref.Market && r.Path == "":
		r.Path = f.Lock.Name
	case r.Kind == ref.Name && !strings.Contains(r.Path, "/"):
		r.Path = f.Lock.Path
	default:
		r.Skill = f.Lock.Name
	}
	return r
}

// An Ambiguous error is that of a reference that holds several skills, where nobody could be asked which are wanted.
type Ambiguous struct {
	Err    *diag.Error
	Found  []Holding
	Passed []source.Passed
}

func (e *Ambiguous) Error() string { return e.Err.Error() }
func (e *Ambiguous) Unwrap() error { return e.Err }

// ChooseSkills asks which of several skills are wanted, with one a single one; where nobody can be asked it lists them (exit 2).
func (a *Applier) ChooseSkills(r ref.Ref, found []source.Found, passed []source.Passed, one bool) ([]source.Found, error) {
	picked, err := a.Ask.Choose(a.skillChoice(r, found, passed))
	if err == nil {
		out := make([]source.Found, len(picked))
		for i, n := range picked {
			out[i] = found[n]
		}
		return out, nil
	}
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	e := diag.New(diag.Misuse, "ambiguous_ref", "%s holds %d skills; name the ones you want", r, len(found)).
		Hint("skl install %s %s", r, found[0].Lock.Name)
	if !one {
		e = e.Hint("skl install %s --all", r)
	}
	all := &Ambiguous{Err: e, Passed: passed}
	for i := range found {
		all.Found = append(all.Found, Holding{Found: found[i]})
	}
	return nil, all
}

// oneWord refuses single words where a reference is meant, with what they could mean.
func (a *Applier) oneWord(words []string, f *scope.Files) error {
	var names []string
	for _, s := range f.Lock.Skills {
		names = append(names, s.Ref)
	}
	if words[0] == "" {
		return diag.New(diag.Misuse, "invalid_ref", "invalid reference \"\": it is empty").Hint("skl install OWNER/REPO, or skl install alone for what skl.toml names")
	}
	e := diag.New(diag.Misuse, "invalid_ref", "%q is one word, and a reference is owner/name, a URL or ./path", words[0])
	e.Candidates = spell.Nearest(words[0], names, 5)
	if s, ok := f.Lock.Skill(words[0]); ok {
		e.Candidates = slices.Insert(slices.DeleteFunc(e.Candidates, func(c string) bool { return c == s.Ref }), 0, s.Ref)
		return e.Hint("it is installed; skl update %s chooses a newer release", words[0])
	}
	for _, k := range public.Named(words[0]) {
		if c := k.Exact(); !slices.Contains(e.Candidates, c) {
			e.Candidates = append(e.Candidates, c)
		}
	}
	return e.Hint("skl search %s", diag.Words(words[:1])).Hint("skl install OWNER/REPO %s", words[0])
}

// NoCopy refuses the name of a copy that is here where a reference is meant: NAME@SCOPE:PATH looks like the address of a git
// repository.
func NoCopy(arg string) error {
	if !roots.IsQualified(arg) {
		return nil
	}
	name, rest, _ := strings.Cut(arg, "@")
	where, at, _ := strings.Cut(rest, ":")
	e := diag.New(diag.Misuse, "invalid_ref", "%q names a copy of %s, as skl list shows it, and a reference says where to fetch one", diag.Printable(arg), diag.Printable(name)).
		Hint("the copies that are here: skl list --all")
	if at == "" {
		return e
	}
	if strings.HasPrefix(at, "/") || strings.HasPrefix(at, "~/") {
		return e.Hint("to install the skill in that folder: skl install %s", at)
	}
	return e.Hint("to install the skill in that folder: skl install ./%s", at).
		Hint("for a repository on a host called %s: skl install ssh://%s@%s/%s", where, name, where, at)
}

// NoFileURL refuses file:///path, which a person types, with what can be installed from there: of a bare repository its commits alone.
func NoFileURL(arg string) error {
	path, ok := strings.CutPrefix(arg, "file://")
	if !ok {
		return nil
	}
	if !scope.Exists(path) {
		return ref.FileURL(arg, true, true)
	}
	bare := scope.Exists(filepath.Join(path, "HEAD")) && scope.Exists(filepath.Join(path, "objects"))
	return ref.FileURL(arg, bare || scope.Exists(filepath.Join(path, ".git")), !bare)
}

// missing is err of opening r; where its repository does not exist, with the near ones that skl.toml and the configuration
// name, and where to search.
func (a *Applier) missing(m *manifest.Manifest, r ref.Ref, err error) error {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Code != "git_not_found" || r.Kind != ref.Name && r.Kind != ref.Forge {
		return err
	}
	var known []string
	add := func(text string) {
		if k, err := ref.Parse(text); err == nil && k.Owner != "" && k.Repo != "" {
			known = append(known, k.Owner+"/"+k.Repo)
		}
	}
	for _, s := range m.Skills {
		add(s.Ref)
	}
	for _, markets := range []map[string]string{m.Markets, a.Scope.Config.Markets} {
		for _, text := range markets {
			add(text)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	wanted := r.Owner + "/" + r.Repo
	if near := spell.Nearest(wanted, slices.DeleteFunc(known, func(k string) bool { return k == wanted }), 3); len(near) > 0 {
		e = e.Meant(near...).Hint("did you mean %s?", near[0])
	}
	return e.Hint("skl search %s", strings.Join(strings.FieldsFunc(r.Repo, func(c rune) bool { return c == '-' || c == '_' || c == '.' }), " "))
}

// Rebase makes a local ref, which a person writes from the working directory,
// relative to the manifest.
func (a *Applier) Rebase(r ref.Ref) ref.Ref {
	if r.Kind != ref.Local {
		return r
	}
	rel, err := filepath.Rel(a.Scope.Base, scope.Absolute(a.Scope.Cwd, filepath.FromSlash(r.Path)))
	if err != nil {
		return r
	}
	text := filepath.ToSlash(rel)
	if text != "." && !strings.HasPrefix(text, "../") && text != ".." {
		text = "./" + text
	}
	if moved, err := ref.Parse(text); err == nil {
		moved.Skill = r.Skill
		return moved
	}
	return r
}

// typed takes Rebase back: it is r as the person types it.
func (a *Applier) typed(r ref.Ref) ref.Ref { return a.Scope.TypedRef(r) }
