// Package resolver turns what people ask for into releases: it finds the place
// a ref means, chooses one release there, and names the skills in it.
//
// It writes nothing and fetches no bundle; what it returns is a lock entry per
// skill, whose tree digest the caller fills in when it has fetched the bundle.
// The order of choice inside a git repository is tag, branch, full commit, range;
// without a version it is the highest stable version tag, and where there is
// none the default branch.
//
// A name (acme/pdf) belongs to the one place that owns its namespace: see [Resolver.Locate].
// There is no fall-through: a skill that the owner does not have does not exist.
package resolver

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A Resolver finds releases. Its fields are set before first use; its methods may
// be called concurrently.
type Resolver struct {
	Git   source.Source // for ref.Git
	Local source.Source // for ref.Local
	Typed source.Source // for ref.Local on a command line, whose errors show paths as they are typed; nil is Local
	Dir   string        // what relative refs of kind Local start from
	// Shown is a ref of a command line as it was typed; nil is the ref.
	Shown func(ref.Ref) ref.Ref
	OCI   source.Source // for ref.OCI; nil refuses such refs

	Embedded source.Source // for ref.Embedded; nil refuses such refs

	// Registry is for names that belong to a registry: refs of kind Name whose URL is the
	// registry's address. Nil refuses them.
	Registry source.Source

	// Binding says which place owns a namespace: "registry:NAME", "forge:NAME", "market:NAME", or ""
	// when nothing is recorded.
	Binding func(namespace string) string
	// RegistryURL is the address of a configured registry. Nil knows none.
	RegistryURL func(name string) (string, error)
	// DefaultRegistry is the name of the registry that is asked for namespaces nobody
	// owns; "" or nil is none.
	DefaultRegistry func() string
	// HasNamespace asks the registry at url whether it has a namespace. What is not a clear answer is an error.
	HasNamespace func(ctx context.Context, url, namespace string) (bool, error)
	// ForgeURL is the clone URL of a repository on a configured or well-known forge.
	ForgeURL func(forge, owner, repo string) (string, error)
	// Market is the ref of a marketplace that was added, ok=false if there is none. Its error is that of a name that means two.
	Market func(name string) (r ref.Ref, ok bool, err error)
	// Plugins reads marketplaces. Nil refuses market refs.
	Plugins PluginReader
	// Undecided says what becomes of a lock entry when nobody answers who owns its ref: nil lets it pass. known tells that Tags has seen
	// this project get the release by that ref. A nil func refuses it with the error that was met.
	Undecided func(w Named, known bool, err error) error

	// Tags remembers versions of git and OCI repositories. Nil asks the repository each time.
	Tags Tags
	// AskNoTags leaves what Tags does not know to Untagged, with a nil error.
	AskNoTags bool
	// Untagged says what becomes of a lock entry when its repository does not say what its version is: nil
	// lets it pass. A nil func refuses it with the error that was met.
	Untagged func(w Named, s lock.Skill, err error) error
}

// A Want asks for skills of one ref.
type Want struct {
	Ref  ref.Ref      // Version is what was asked for: a tag, branch, commit or range, or ""
	Kind lock.RefKind // how Version is meant; "" decides in the order of the package comment

	Where diag.Position        // of the manifest's entry; zero for what is typed, or needed by a release
	Retry func(ref.Ref) string // the command that asks for another version of what was typed, for hints; nil is skl install
}

// A Place is where a ref leads: a ref of kind Git, OCI, Local, Embedded, or Name with the URL of a registry,
// which says everything that a source needs, and what was learned on the way.
type Place struct {
	Ref     ref.Ref    // Git, OCI, Local, Embedded, or Name with the URL of a registry; Version as asked for
	Binding string     // the owner of the namespace, to be recorded on first use; "" if the ref says its place itself
	Word    string     // what owner/repo/WORD names: a skill, or else a directory
	Commit  ref.Commit // pinned by the place that pointed here; anything else is refused

	// A plugin's part of its repository: Has says whether the skill in a directory is
	// in it, Around whether skills are looked for in a directory, Near are the directories of all of them, where they are known by name.
	// Links lead to some of them, Passed to none. None is the error when there is none.
	Has, Around func(dir string) bool
	Near, Links []string
	Passed      []source.Passed
	None        func() error
	// Needs are the plugins that it needs. One of its own marketplace is there, in a version that fits, else that is the error.
	Needs func(ctx context.Context) ([]PluginNeed, error)
}

// An Opened is one release of a place.
type Opened struct {
	Want    Want
	Place   Place
	Release source.Release
	Kind    lock.RefKind

	src source.Source
	rs  *Resolver
}

// GitHub is the binding of a namespace that nothing else has.
const GitHub = "forge:github"

// Locate finds the place that r means, without asking it anything, marketplaces and the
// default registry excepted.
//
// A Name belongs to, in order: the recorded binding of its namespace, the default
// registry if it has the namespace, a marketplace of that name, GitHub. A default registry
// that gives no clear answer is an error: what it may have is not looked for elsewhere.
func (rs *Resolver) Locate(ctx context.Context, r ref.Ref) (Place, error) {
	switch r.Kind {
	case ref.Git, ref.Local, ref.Embedded:
		return Place{Ref: r}, nil
	case ref.OCI:
		return Place{Ref: r}, nil
	case ref.Forge:
		return rs.forge(r, r.Host, "")
	case ref.Market:
		return rs.market(ctx, r)
	}
	binding, err := rs.owner(ctx, r.Owner)
	if err != nil {
		return Place{}, err
	}
	kind, name, _ := strings.Cut(binding, ":")
	switch kind {
	case "registry":
		url, err := rs.registryURL(name)
		if err != nil {
			return Place{}, err
		}
		r.URL = url
		return Place{Ref: r, Binding: binding}, nil
	case "forge":
		return rs.forge(r, name, binding)
	case "market":
		p, err := rs.market(ctx, ref.Ref{Kind: ref.Market, Host: name, Owner: r.Repo, Path: r.Path, Version: r.Version})
		p.Binding = binding
		return p, err
	}
	return Place{}, diag.New(diag.Misuse, "unknown_binding", "namespace %q is bound to %q, which this skl does not know", r.Owner, binding).
		Hint("bindings are registry:NAME, forge:NAME or market:NAME, in skl.toml or config.toml under [namespace]")
}

// owner is the binding of a namespace, recorded or found.
func (rs *Resolver) owner(ctx context.Context, namespace string) (string, error) {
	if name := rs.Asked(namespace); name != "" {
		url, err := rs.registryURL(name)
		if err != nil {
			return "", err
		}
		has, err := rs.HasNamespace(ctx, url, namespace)
		if err != nil {
			return "", unanswered(err, name, namespace)
		}
		if has {
			return "registry:" + name, nil
		}
	}
	return rs.Recorded(namespace)
}

// Asked is the registry that is asked whether it has a namespace, since nothing binds that; "" is none.
func (rs *Resolver) Asked(namespace string) string {
	if rs.DefaultRegistry == nil || rs.HasNamespace == nil || rs.Binding(namespace) != "" {
		return ""
	}
	return rs.DefaultRegistry()
}

// Recorded is the binding of a namespace that no registry is asked for, or that the one of Asked does not have.
func (rs *Resolver) Recorded(namespace string) (string, error) {
	if binding := rs.Binding(namespace); binding != "" {
		return binding, nil
	}
	if _, ok, err := rs.Market(namespace); ok || err != nil {
		return "market:" + namespace, err
	}
	return GitHub, nil
}

func (rs *Resolver) registryURL(name string) (string, error) {
	if rs.Registry == nil || rs.RegistryURL == nil {
		return "", diag.New(diag.Misuse, "unknown_registry", "there is no registry %q", name)
	}
	return rs.RegistryURL(name)
}

// unanswered says why nobody else was asked for a namespace.
func unanswered(err error, registry, namespace string) error {
	if e, ok := diag.Own(diag.Prefixed(err, "whether registry "+registry+" has namespace "+namespace+" is not known")); ok {
		return e.Hint("to say who owns it, in skl.toml or config.toml: [namespace] %s = \""+GitHub+"\"", namespace)
	}
	return err
}

func (rs *Resolver) forge(r ref.Ref, forge, binding string) (Place, error) {
	url, err := rs.ForgeURL(forge, r.Owner, r.Repo)
	if err != nil {
		return Place{}, err
	}
	if err := ref.CheckGitURL(url); err != nil {
		return Place{}, fmt.Errorf("forge %s: %w", forge, err)
	}
	place := Place{Ref: ref.Ref{Kind: ref.Git, URL: url, Path: r.Path, Skill: r.Skill, Version: r.Version}, Binding: binding}
	if r.Kind == ref.Name && r.Path != "" && !strings.Contains(r.Path, "/") {
		// owner/repo/skill: by name, or by path if no skill has that name.
		place.Ref.Path, place.Word = "", r.Path
	}
	return place, nil
}

// Open chooses the release of w.
func (rs *Resolver) Open(ctx context.Context, w Want) (*Opened, error) {
	place, err := rs.Locate(ctx, w.Ref)
	if err != nil {
		return nil, err
	}
	o := &Opened{Want: w, Place: place, src: rs.Git, rs: rs}
	switch place.Ref.Kind {
	case ref.Local:
		if o.src = rs.Local; rs.Typed != nil && w.Where.File == "" {
			o.src = rs.Typed
		}
	case ref.OCI:
		if o.src = rs.OCI; o.src == nil {
			return nil, diag.New(diag.Misuse, "invalid_ref", "%s: OCI references cannot be used here", w.Ref)
		}
	case ref.Embedded:
		if o.src = rs.Embedded; o.src == nil {
			return nil, diag.New(diag.Misuse, "invalid_ref", "%s: no skills come with this program", w.Ref)
		}
	case ref.Name:
		o.src = rs.Registry
	}
	if place.Ref.Digest != "" {
		// A digest decides, whatever tag stands beside it.
		o.Release, o.Kind = source.Release{Kind: source.Manifest, Manifest: place.Ref.Digest}, lock.Commit
		return o, nil
	}
	if place.Commit != "" {
		// It moves with the place that points here, not by itself.
		o.Release, o.Kind = source.Release{Kind: source.Commit, Commit: place.Commit}, lock.Default
		return o, nil
	}
	releases, err := o.src.Versions(ctx, place.Ref)
	if err != nil {
		return nil, err
	}
	if place.Ref.Kind == ref.OCI {
		o.Release, o.Kind, err = pickOCI(releases, w.Ref, w.Kind)
	} else {
		o.Release, o.Kind, err = pick(releases, o.wantedSkill(), w.Ref.Version, w.Kind)
	}
	if err != nil {
		again, err := o.meant(ctx, releases, err)
		if err != nil {
			return nil, o.naming(slashed(o.instead(err, releases), releases, w.Ref))
		}
		return again, nil
	}
	return o, nil
}

// Versions are the versions that the skill has at its place, newest first.
func (o *Opened) Versions(ctx context.Context) ([]string, error) {
	if o.src == nil || o.Place.Ref.Digest != "" || o.Place.Ref.Kind == ref.Local {
		return nil, nil
	}
	releases, err := o.src.Versions(ctx, o.Place.Ref)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range versionTags(releases, o.wantedSkill()) {
		if !slices.Contains(out, r.Version) {
			out = append(out, r.Version)
		}
	}
	order.Sort(out, func(a, b string) int { return compare(b, a) })
	return out, nil
}

// naming adds the ref to the sentence of an error that was made without knowing it.
func (o *Opened) naming(err error) error {
	r := o.Want.Ref.WithoutVersion()
	if o.Want.Where.File == "" && o.rs.Shown != nil {
		r = o.rs.Shown(r)
	}
	return diag.Prefixed(err, r.String())
}

// slashed adds to the error of a version that was not found the branch or tag whose name goes
// on in the path: a pasted URL does not say where the one ends and the other begins.
func slashed(err error, releases []source.Release, r ref.Ref) error {
	e, ok := diag.Own(err)
	if !ok || r.Kind != ref.Forge && r.Kind != ref.Git || r.Version == "" {
		return err
	}
	whole := r.Version + "/" + r.Path + "/"
	for _, release := range releases {
		if rest, ok := strings.CutPrefix(whole, release.Name+"/"); ok && release.Name != "" {
			r.Version, r.Path = release.Name, strings.TrimSuffix(rest, "/")
			e.Hints, e.Candidates = nil, nil
			return e.Hint("there is %q: skl install %s", release.Name, r)
		}
	}
	return err
}

// wantedSkill is the one skill that the ref itself names, "" if it names none or several.
func (o *Opened) wantedSkill() string {
	switch {
	case o.Place.Ref.Skill != "":
		return o.Place.Ref.Skill
	case o.Place.Word != "":
		return o.Place.Word
	case o.Place.Ref.Path != "":
		return o.Place.Ref.Path[strings.LastIndexByte(o.Place.Ref.Path, '/')+1:]
	}
	return ""
}

// Skills lists the skills of the release that the want means, best place first,
// one per name. With names it gives exactly those, in that order.
//
// Skills in agents' own directories and among tests are only offered if they are asked for
// by name or path, or if there is nothing else.
func (o *Opened) Skills(ctx context.Context, names []string) ([]source.Found, error) {
	asked := names
	if len(asked) == 0 {
		asked = given(o.Place.Ref.Skill, o.Place.Word)
	}
	r := o.Place.Ref
	near := asked
	if len(asked) == 0 {
		near = o.Place.Near
	}
	found, err := o.src.Skills(ctx, r, o.Release, near)
	if err != nil && o.Place.Commit != "" {
		err = pinned(err, o.Want.Ref)
	}
	if err != nil {
		return nil, o.uncommitted(ctx, err)
	}
	found = lockable(found)
	if o.Place.Has != nil {
		if found = within(found, o.Place.Has); len(found) == 0 && len(asked) > 0 {
			// The search for a name may have left the plugin's other skills out.
			if found, err = o.src.Skills(ctx, r, o.Release, o.Place.Near); err != nil {
				return nil, err
			}
			found = lockable(found)
			found = within(found, o.Place.Has)
		}
		if len(found) == 0 {
			return nil, o.Place.None()
		}
	}
	if len(asked) > 0 {
		picked, err := byName(found, asked)
		if err != nil && len(names) == 0 && len(asked) == 1 && o.Want.Ref.Kind == ref.Name {
			// owner/repo/word: no skill is called so; perhaps a directory is.
			below := r
			below.Path = asked[0]
			if found, perr := o.src.Skills(ctx, below, o.Release, nil); perr == nil && len(found) > 0 {
				return o.finish(oneEach(found)), nil
			}
		}
		if err != nil {
			return nil, o.naming(o.byPath(o.suggest(ctx, r, err, asked)))
		}
		return o.finish(picked), nil
	}
	if found = Offered(found, nil); len(found) == 0 {
		e := diag.New(diag.Misuse, source.CodeNoSkill, "there is no SKILL.md in it")
		o.passedHints(ctx, e, nil, nil)
		if !o.commitsHint(ctx, e) {
			e.Hint("a skill is a folder with a SKILL.md; name its path in the reference")
		}
		return nil, o.naming(e)
	}
	return o.finish(found), nil
}

// lockable marks the skills whose place no lock can name. Found is left as it is: a source may keep it.
func lockable(found []source.Found) []source.Found {
	marked := false
	for i := range found {
		err := lock.CheckPath(found[i].Lock.Path)
		if err == nil || found[i].Invalid != nil {
			continue
		}
		if !marked {
			found, marked = slices.Clone(found), true
		}
		found[i].Invalid = err
	}
	return found
}

// passedHints adds to e what is passed over and may be meant by asked; nil is anything.
func (o *Opened) passedHints(ctx context.Context, e *diag.Error, listed []source.Found, asked []string) {
	passed, _ := o.Passed(ctx, listed) // e is what is wrong
	left := 3
	for _, p := range passed {
		if left > 0 && (asked == nil || slices.Contains(asked, path.Base(p.Path)) || slices.Contains(asked, path.Base(path.Dir(p.Path)))) {
			e.Hint("passed over %s: %s", diag.Printable(p.Path), diag.Printable(p.Reason))
			left--
		}
	}
}

// Passed lists what looks like a skill at the want's place and is not among listed, which [Opened.Skills] gave without names:
// files that discovery passes over, and skills of agents' own directories and among tests.
func (o *Opened) Passed(ctx context.Context, listed []source.Found) ([]source.Passed, error) {
	src, ok := o.src.(source.Passer)
	if !ok {
		return nil, nil
	}
	out, err := src.Passed(ctx, o.Place.Ref, o.Release)
	if err != nil {
		return nil, err
	}
	all, err := o.src.Skills(ctx, o.Place.Ref, o.Release, nil)
	if err != nil {
		return nil, err
	}
	named := make(map[string]bool)
	for i := range listed {
		named[listed[i].Lock.Path] = true
		for k := range listed[i].Also {
			named[listed[i].Also[k].Lock.Path] = true
		}
	}
	for i := range all {
		if at := all[i].Lock.Path; !named[at] && all[i].Rank >= source.RankHidden {
			out = append(out, source.Passed{Path: path.Join(at, skill.FileName), Reason: "in an agent's own directory, or among tests or examples: name it to install it"})
		}
	}
	out = slices.DeleteFunc(source.Few(out, o.Place.Around), func(p source.Passed) bool {
		return slices.Contains(o.Place.Links, p.Path) || slices.ContainsFunc(o.Place.Passed, func(q source.Passed) bool { return q.Path == p.Path })
	})
	return append(out, o.Place.Passed...), nil
}

// pinned says of a commit that was refused that the marketplace behind r names it.
func pinned(err error, r ref.Ref) error {
	e, ok := diag.Own(err)
	if !ok || e.Code != source.CodeCommit {
		return err
	}
	e.Message = r.String() + ": " + e.Message + ", which the marketplace pins"
	e.Hints = nil
	return e.Hint("ask who keeps the marketplace: its pin is wrong, or the history was rewritten")
}

// suggest adds near names to the error of a name that was not found. The search
// for the name may have left the others out.
func (o *Opened) suggest(ctx context.Context, r ref.Ref, err error, asked []string) error {
	e, ok := diag.Own(err)
	if !ok || e.Code != source.CodeNoSuchSkill || len(e.Candidates) > 0 || o.Place.Has != nil {
		return err
	}
	all, lerr := o.src.Skills(ctx, r, o.Release, nil)
	if lerr != nil {
		return err
	}
	for _, name := range asked {
		if better, ok := missing(all, name).(*diag.Error); ok && better.Message == e.Message {
			e = better
		}
	}
	if len(e.Candidates) == 0 {
		o.passedHints(ctx, e, all, asked)
	}
	if len(all) == 0 {
		o.commitsHint(ctx, e)
	}
	if len(e.Candidates) == 0 && o.Want.Ref.Kind != ref.Market && o.Want.Ref.Kind != ref.Local {
		whole := o.Want.Ref
		whole.Path, whole.Skill = "", ""
		e.Hint("skl install -l %s lists what it holds", whole)
	}
	return e
}

// byPath adds to the error of a name that several skills have how one of them is written.
func (o *Opened) byPath(err error) error {
	e, ok := diag.Own(err)
	if !ok || e.Code != source.CodeAmbiguous || o.Want.Ref.Kind == ref.Market {
		return err
	}
	r := o.Want.Ref
	r.Skill, r.Path = "", e.Candidates[0]
	if r.Kind == ref.Local {
		r.Path = strings.TrimSuffix(o.Want.Ref.Path, "/") + "/" + e.Candidates[0]
	}
	return e.Hint("name one by its path: skl install %s", r)
}

// given is the first of words that is not empty, if there is one.
func given(words ...string) []string {
	for _, w := range words {
		if w != "" {
			return []string{w}
		}
	}
	return nil
}

// finish fills in what only the resolver knows.
func (o *Opened) finish(found []source.Found) []source.Found {
	for i := range found {
		found[i].Lock.RefKind = o.Kind
	}
	o.rs.saw(found, o.Place.Ref.Version)
	return found
}

// byName picks the skill of each name from the best place it is found in; what counts less is in its Also.
func byName(found []source.Found, names []string) ([]source.Found, error) {
	var picked []source.Found
	for _, name := range names {
		var of []source.Found
		for _, f := range found {
			if f.Lock.Name == name {
				of = append(of, f)
			}
		}
		if len(of) == 0 {
			return nil, missing(found, name)
		}
		best := slices.MinFunc(of, func(a, b source.Found) int { return a.Place() - b.Place() })
		var paths []string
		for _, f := range of {
			if f.Place() == best.Place() {
				paths = append(paths, f.Lock.Path)
			} else {
				best.Also = append(slices.Clip(best.Also), f)
			}
		}
		if len(paths) > 1 {
			return nil, diag.New(diag.Misuse, source.CodeAmbiguous, "%d skills are called %q", len(paths), name).Meant(paths...)
		}
		picked = append(picked, best)
	}
	return picked, nil
}

func missing(found []source.Found, name string) error {
	e := diag.New(diag.Misuse, source.CodeNoSuchSkill, "it has no skill called %q", name)
	var names []string
	for _, f := range oneEach(slices.Clone(found)) {
		names = append(names, f.Lock.Name)
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if e.Candidates = spell.Nearest(name, names, 5); len(e.Candidates) > 0 {
		return e.Hint("did you mean %s?", e.Candidates[0])
	}
	return e
}

// Offered are the skills of a plugin among found, which are all of its repository, or all of them for a nil has: what
// [Opened.Skills] gives without names.
func Offered(found []source.Found, has func(dir string) bool) []source.Found {
	return oneEach(within(found, has))
}

// within are those of found that are in a plugin, of which has knows the directories; nil is no plugin.
func within(found []source.Found, has func(dir string) bool) (out []source.Found) {
	for i := range found {
		if has == nil || has(found[i].Lock.Path) {
			out = append(out, found[i])
		}
	}
	return out
}

// oneEach keeps the best of each name, all of them where several places count the same, and leaves out agents' directories and
// fixtures if there is anything else. The order is that of found. What counts less is in Also of the first of its name.
func oneEach(found []source.Found) []source.Found {
	best := map[string]int{}
	visible := false
	for _, f := range found {
		if r, ok := best[f.Lock.Name]; !ok || f.Place() < r {
			best[f.Lock.Name] = f.Place()
		}
		visible = visible || f.Rank < source.RankHidden
	}
	var out []source.Found
	first := map[string]int{}
	for _, f := range found {
		if f.Place() != best[f.Lock.Name] || visible && f.Rank >= source.RankHidden {
			continue
		}
		if _, ok := first[f.Lock.Name]; !ok {
			first[f.Lock.Name] = len(out)
		}
		out = append(out, f)
	}
	for _, f := range found {
		if i, ok := first[f.Lock.Name]; ok && f.Place() != best[f.Lock.Name] {
			out[i].Also = append(out[i].Also, f)
		}
	}
	return out
}
