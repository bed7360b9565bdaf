package author

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/packages"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A FreshRequest asks how skills that were made of packages stand to these.
type FreshRequest struct {
	Skills  []string // folders, or names of installed skills; none are all that are found here
	From    string   // the package to compare with, as in [SkillifyRequest]; "" is the installed one that the stamp names
	Version string   // of skl
}

// A Fresh is how one skill stands to its package.
type Fresh struct {
	Name      string `json:"name"`
	Path      string `json:"path"`
	Ecosystem string `json:"ecosystem"`
	Package   string `json:"package"`
	ByHand    bool   `json:"by_hand"` // its stamp says that a person edited it
	skillify.Freshness
	Why     string `json:"why,omitempty"`     // of a state that could not be found out whole, and what a lock says besides
	NotHere bool   `json:"not_here"`          // the package is not installed; a lock may name it
	Lost    bool   `json:"lost"`              // what was made cannot be told from what a person changed
	Copy    bool   `json:"copy"`              // an installed copy, which is not updated: what it comes from is
	Against string `json:"against,omitempty"` // the package that was named to compare with
}

// Types of what is compared and merged.
type (
	APIDiff = skillify.APIDiff
	Place   = skillify.Place
	Mention = skillify.Mention
)

// Words is the state for people.
func (f *Fresh) Words() string {
	words := map[string]string{skillify.Current: "current", skillify.Unreadable: "cannot be compared", skillify.Missing: "the package is not here", skillify.Broken: "names what is gone", skillify.Moved: "another version", skillify.Source: "same version, other files",
		skillify.OtherForm: "skl makes it otherwise now", skillify.Edited: "edited"}[f.State]
	if f.Drift != "" {
		words += " (" + f.Drift + ")"
	}
	if f.ByHand {
		words += ", edited by hand"
	}
	return words
}

// Updatable reports whether an update could make it hold.
func (f *Fresh) Updatable() bool {
	return !f.Holds() && !f.NotHere && !f.Copy && f.State != skillify.Unreadable
}

// Mend is the command that brings the skill, at a path as a person reads it, to its package. One that is older than what the skill was made of
// is named in it: without that an update refuses it.
func (f *Fresh) Mend(at string) string {
	from := f.Against
	if from == "" && f.Drift == "older" {
		from = f.Ecosystem + ":" + f.Package
	}
	return packages.Update(at, len(f.Edited) > 0, from)
}

// Holds reports whether there is nothing to do.
func (f *Fresh) Holds() bool { return f.State == skillify.Current }

// Freshness compares skills with their packages. Nothing is changed, and nothing of a package runs.
func (a *Author) Freshness(ctx context.Context, q FreshRequest) ([]Fresh, error) {
	if q.From != "" && len(q.Skills) != 1 {
		return nil, diag.New(diag.Misuse, "usage", "--from is the package of one skill; name the skill").Hint("skl skillify --check SKILL --from DIR")
	}
	var all []*madeSkill
	if len(q.Skills) == 0 {
		found, err := a.madeSkills(ctx)
		if err != nil {
			return nil, err
		}
		all = found
	}
	for _, name := range q.Skills {
		m, err := a.openMade(name)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	out := []Fresh{}
	for _, m := range all {
		if m.fresh.State != skillify.Unreadable {
			switch _, err := a.compare(ctx, m, q.From, q.Version, Prose{}); {
			case err != nil && (len(q.Skills) > 0 || ctx.Err() != nil):
				return nil, err
			case err != nil: // of one of many
				m.fresh.State, m.fresh.Why = skillify.Unreadable, err.Error()
			}
		}
		out = append(out, m.fresh)
	}
	return out, nil
}

// maxGone is how many places NamesGone has of one skill.
const maxGone = 10

// NamesGone are the places at which the skill in a folder names what the package that it was made of does not have any more; none of one that was
// made of nothing, or that cannot be compared.
func (a *Author) NamesGone(ctx context.Context, dir, version string) (out []string) {
	m, err := a.readMade(dir)
	if err != nil || m == nil {
		return nil
	}
	if _, err := a.compare(ctx, m, "", version, Prose{}); err != nil || m.fresh.State != skillify.Broken {
		return nil
	}
	for i, b := range m.fresh.Broken {
		if i == maxGone {
			return append(out, diag.Count(len(m.fresh.Broken)-i, "more place")+" that skl skillify --check names")
		}
		out = append(out, diag.Printable(diag.Position{File: b.File, Line: b.Line}.String()+" names "+b.Symbol+", which "+m.origin.Package+" does not have"))
	}
	return out
}

// A madeSkill is a folder with a skill that was made of a package.
type madeSkill struct {
	dir    string // without links
	name   string
	files  map[string][]byte // regular files
	kinds  map[string]bundle.Kind
	origin skill.Origin
	byHand bool
	copied string         // where its merge lies while that has conflicts
	base   *skillify.Base // nil where nothing is left of it
	lost   error          // why
	fresh  Fresh
}

// openMade reads the skill that a person names: a folder, or the name of an installed one; of one that was installed from a folder here, the folder.
func (a *Author) openMade(name string) (*madeSkill, error) {
	real, err := a.skillAt(name, "skl skillify --check")
	if err != nil {
		return nil, err
	}
	m, err := a.readMade(real)
	if err == nil && m == nil {
		err = diag.New(diag.Unmet, "not_made", "%s does not say that it was made of a package", a.Scope.Short(real)).Hint("skl skillify PACKAGE makes one")
	}
	return m, err
}

// installedAt is where the skill of a name comes from if that is a folder here, else its copy.
func (a *Author) installedAt(name string) (string, error) {
	f, err := a.Scope.Load()
	if err != nil {
		return "", err
	}
	if s, ok := f.Lock.Skill(name); ok && s.Source == "local" {
		if dir := filepath.Join(scope.Absolute(a.Scope.Base, filepath.FromSlash(s.URL)), filepath.FromSlash(s.Path)); scope.Exists(filepath.Join(dir, skill.FileName)) {
			return dir, nil
		}
	}
	dir, _ := a.Scope.Site.Place(name)
	if !scope.Exists(dir) {
		return "", fs.ErrNotExist
	}
	return dir, nil
}

// readMade reads a folder; nil if it has no stamp.
func (a *Author) readMade(dir string) (*madeSkill, error) {
	all, err := trees.Read(scope.FilesIn(dir))
	if err != nil {
		return nil, err
	}
	doc, err := skill.ReadWith(all[skill.FileName].Data, all.Sidecar())
	if _, was := all[skillify.IndexName]; err != nil && was { // it was made, and whoever asks is told
		return nil, err
	}
	if err != nil || all[skill.FileName].Kind == bundle.Link {
		return nil, nil
	}
	o, byHand := skillify.Stamp(doc)
	if o == nil {
		return nil, nil
	}
	m := &madeSkill{dir: dir, name: cmp.Or(doc.Name, filepath.Base(dir)), files: map[string][]byte{}, kinds: map[string]bundle.Kind{}, origin: *o, byHand: byHand}
	m.origin.Ecosystem = cmp.Or(o.Ecosystem, "r")
	for name, f := range all {
		m.kinds[name] = f.Kind
		if f.Kind != bundle.Link {
			m.files[name] = f.Data
		}
	}
	m.base, m.lost = a.baseOf(m)
	m.fresh = Fresh{Name: m.name, Path: dir, Ecosystem: m.origin.Ecosystem, Package: m.origin.Package, ByHand: byHand,
		Freshness: blank(m.origin.Version), Copy: a.Scope.InstalledCopy(dir) != nil}
	return m, nil
}

// blank is a comparison that found nothing.
func blank(from string) skillify.Freshness {
	return skillify.Freshness{From: from, API: skillify.API(&skillify.Index{}, &skillify.Index{}), Files: []string{}, Edited: []skillify.Place{}, Broken: []skillify.Mention{}}
}

// unreadable is a folder that may hold a skill that was made, and cannot be read.
func unreadable(dir string, err error) *madeSkill {
	f := Fresh{Name: filepath.Base(dir), Path: dir, Freshness: blank(""), Why: err.Error()}
	f.State = skillify.Unreadable
	return &madeSkill{dir: dir, name: f.Name, fresh: f}
}

// madeSkills are the skills here that were made of packages: those that agents see, and those in the folder skills. Of copies of one folder
// only the folder counts.
func (a *Author) madeSkills(ctx context.Context) (out []*madeSkill, err error) {
	l, err := a.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	dirs := map[string]bool{}
	for _, r := range l.Skills {
		if filepath.IsAbs(r.Path) && r.CopyOf == "" {
			if _, err := scope.FilesOf(r); err != nil {
				a.Scope.Tell.Warn("%s is not compared: %s", a.Scope.Short(r.Path), diag.Printable(err.Error()))
				continue
			}
			at, err := a.installedAt(r.Name)
			if err != nil || r.Source == "" {
				at = r.Path
			}
			dirs[at] = true
		}
	}
	here, err := within.Open(a.Scope.Cwd)
	if err != nil {
		return nil, err
	}
	defer here.Close()
	entries, err := here.ReadDir(filepath.Join(a.Scope.Cwd, "skills"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Scope.Tell.Warn("%s is not looked into: %s", a.Scope.Short(filepath.Join(a.Scope.Cwd, "skills")), diag.Printable(err.Error()))
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs[filepath.Join(a.Scope.Cwd, "skills", e.Name())] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		m, err := a.readMade(dir)
		if err != nil {
			m = unreadable(dir, err)
		}
		if m != nil {
			out = append(out, m)
		}
	}
	return out, ctx.Err()
}

// compare fills in how a skill stands to its package, and returns what is made of that now; nil if it is not here.
func (a *Author) compare(ctx context.Context, m *madeSkill, from, version string, prose Prose) (*skillify.Skill, error) {
	m.fresh.Against = from
	src, err := packages.Open(a.Scope, cmp.Or(from, m.origin.Ecosystem+":"+m.origin.Package))
	if from == "" && errors.Is(err, diag.Code("no_package")) {
		m.fresh.State, m.fresh.Why, m.fresh.NotHere = skillify.Missing, err.Error(), true
		m.byLock(packages.Locked(a.Scope, m.origin.Ecosystem, m.origin.Package))
		if m.base != nil {
			m.fresh.Edited = append(m.fresh.Edited, m.base.Index.Edited(m.files)...)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now, p, _, err := a.made(ctx, src, skillify.Options{Version: version, TopLevel: strings.HasSuffix(m.origin.Recipe, "+top")}, prose)
	if err != nil {
		return nil, err
	}
	if p.Name != m.origin.Package || p.Ecosystem != m.origin.Ecosystem {
		return nil, diag.New(diag.Misuse, "other_package", "%s was made of %s %s, and this is %s %s", a.Scope.Short(m.dir), m.origin.Ecosystem, diag.Printable(m.origin.Package), p.Ecosystem, diag.Printable(p.Name)).
			Hint("name the folder of another skill, or make one: skl skillify %s", diag.Quote(cmp.Or(from, p.Ecosystem+":"+p.Name)))
	}
	if m.base == nil {
		m.fresh.To, m.fresh.Drift = p.Version, skillify.Drift(p.Ecosystem, m.origin.Version, p.Version)
		m.fresh.State, m.fresh.Why, m.fresh.Lost = skillify.Edited, m.lost.Error(), true
		if m.fresh.Drift != "" {
			m.fresh.State = skillify.Moved
		}
		return now, nil
	}
	m.fresh.Why = src.Beside(p.Version)
	m.fresh.Freshness, err = skillify.Compare(m.base.Index, m.origin, m.byHand, m.files, now)
	return now, err
}

// byLock compares with what the lock of a project says of a package that is not installed.
func (m *madeSkill) byLock(l needs.Locked) {
	f := &m.fresh
	if l.Version == "" {
		return
	}
	f.To, f.Drift, f.State = l.Version, skillify.Drift(m.origin.Ecosystem, m.origin.Version, l.Version), skillify.Current
	f.Why = l.File + " names " + diag.Printable(l.Version) + "; the package is not installed, so its files are not compared"
	switch {
	case f.Drift != "":
		f.State = skillify.Moved
	case l.Integrity != "" && m.origin.Integrity == l.Integrity:
		f.Why = ""
	case l.Integrity != "" && m.origin.Integrity != "":
		f.State, f.Why = skillify.Source, l.File+" names other bytes of that version"
	}
}

// baseDir is where what was made with a stamp is kept.
func (a *Author) baseDir(o skill.Origin) string {
	return packages.MadeDir(a.Scope, o.Map())
}

// baseOf is what was made before a person edited it: from the cache, else what its index says.
func (a *Author) baseOf(m *madeSkill) (*skillify.Base, error) {
	if kept, err := trees.Read(scope.FilesIn(a.baseDir(m.origin))); err == nil {
		files := map[string][]byte{}
		for name, f := range kept {
			files[name] = f.Data
		}
		x, err := skillify.ReadIndex(files[skillify.IndexName])
		if err == nil && len(x.Edited(files)) == 0 && x.Package == m.origin.Package && x.Version == m.origin.Version {
			return &skillify.Base{Index: x, Files: files}, nil
		}
	}
	data, ok := m.files[skillify.IndexName]
	if !ok {
		return nil, errors.New(skillify.IndexName + " is not there: what a person changed cannot be told")
	}
	x, err := skillify.ReadIndex(data)
	if err != nil {
		return nil, err
	}
	return &skillify.Base{Index: x}, nil
}

// keepBase keeps what was made, so that what a person changes of it can be merged by lines. Without it only whole sections are compared.
func (a *Author) keepBase(s *skillify.Skill) {
	dir := a.baseDir(s.Origin)
	if scope.Exists(dir) {
		return
	}
	at, err := a.Scope.PlaceFor(filepath.Dir(dir))
	if err == nil {
		defer at.Close()
		err = writeFolder(at, dir, s.Files)
	}
	if err == nil {
		err = packages.NoteMade(a.Scope, s.Origin.Map())
	}
	if err != nil && !scope.Exists(dir) {
		a.Scope.Tell.Note("what was made is not kept for a later merge: %s", diag.Printable(err.Error()))
	}
}
