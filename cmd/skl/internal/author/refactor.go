package author

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// DefaultMin is how many skills hold something alike before it is listed, and CodeNothing the code of a list without anything that can move.
const (
	DefaultMin  = refactor.DefaultMin
	CodeNothing = refactor.CodeNothing
)

// Limits of a folder of skills that are compared, which all are in memory at once.
const (
	maxCompared = 1000
	maxBytes    = 256 << 20
)

// A RefactorRequest asks for what skills of a folder hold alike.
type RefactorRequest struct {
	Root string // the folder; "" is skills or .agents/skills of the working directory
	Min  int    // skills that have to hold something; 0 means [DefaultMin]
	Into string // name of the skill that they share then, which is there or new; "" compares only
}

// Refactor plans that ops which several skills hold alike are moved to one that they require. Without a name for it, or where nothing is
// alike, the outcome has a comparison and no change.
func (a *Author) Refactor(ctx context.Context, q RefactorRequest, terms Terms) (Outcome, error) {
	if err := q.check(terms); err != nil {
		return Outcome{}, err
	}
	p := &author.Plan{Op: author.Refactor}
	all, r, err := a.refactored(q, p)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	if len(all) == 0 {
		out, err = a.assess(p, nil)
	} else {
		out, err = a.finish(ctx, p, all, terms)
	}
	out.Alike = r
	return out, err
}

// refactored are the drafts of the skills that change, none without a name for the shared one or where nothing is alike, and what was compared.
func (a *Author) refactored(q RefactorRequest, p *author.Plan) (all []placed, r *refactor.Report, err error) {
	here, err := a.skillsIn(q.Root)
	if err != nil {
		return nil, nil, err
	}
	found, err := refactor.Find(here.files, q.Min)
	if err != nil {
		return nil, nil, err
	}
	if q.Into != "" && len(found.Candidates) > 0 {
		if all, err = a.extract(here, &found, q.Into); err != nil {
			return nil, nil, err
		}
	}
	p.Left = append(stays(&found), here.left...)
	return all, &found, nil
}

// check refuses a request that makes no sense.
func (q *RefactorRequest) check(terms Terms) error {
	if q.Into == "" {
		if terms.Write || terms.File != "" {
			return diag.New(diag.Misuse, "usage", "name the skill that takes what is shared: --into NAME")
		}
		return nil
	}
	if err := skill.CheckPublishName(q.Into); err != nil {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a skill: %w", q.Into, err).Hint("names are 1-64 of a-z, 0-9 and single hyphens")
	}
	return nil
}

// A folder of skills that are compared.
type folder struct {
	dir   string // without links
	files map[string]fs.FS
	left  []string // why others are not
}

// skillsIn are the skills directly below a folder. Links are not followed, and installed copies are not changed.
func (a *Author) skillsIn(name string) (folder, error) {
	dir := scope.Absolute(a.Scope.Cwd, name)
	if name == "" {
		var err error
		if dir, err = a.ownSkills(); err != nil {
			return folder{}, err
		}
		name = a.Scope.Short(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return folder{}, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder", diag.Printable(name)).Hint("name a folder with skills: skl author refactor DIR")
	}
	if real, err = a.inProject(dir, real, name); err != nil {
		return folder{}, err
	}
	if err := a.Scope.TakeBack(real); err != nil {
		return folder{}, err
	}
	entries, err := within.Anywhere().ReadDir(real)
	if err != nil {
		return folder{}, err
	}
	out := folder{dir: real, files: map[string]fs.FS{}}
	for _, e := range entries {
		at := filepath.Join(real, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || !scope.Exists(filepath.Join(at, skill.FileName)):
		case e.Type()&fs.ModeSymlink != 0:
			out.left = append(out.left, diag.Printable(e.Name())+" is a link, and links are not followed")
		case a.Scope.InstalledCopy(at) != nil:
			out.left = append(out.left, diag.Printable(e.Name())+" is an installed copy, which the next update replaces")
		default:
			out.files[e.Name()] = scope.FilesIn(at)
		}
	}
	if len(out.files) > maxCompared {
		return folder{}, diag.New(diag.Unmet, author.CodeTooLarge, "%s holds %d skills, and %d are the most that are compared", diag.Printable(name), len(out.files), maxCompared)
	}
	if err := fits(out.files); err != nil {
		return folder{}, err
	}
	if len(out.files)+len(out.left) == 0 {
		return folder{}, diag.New(diag.Misuse, "no_skill", "there is no skill directly below %s", diag.Printable(name)).Hint("name the folder that the folders of the skills lie in")
	}
	slices.Sort(out.left)
	return out, nil
}

// fits refuses skills that are too large together.
func fits(skills map[string]fs.FS) error {
	left := int64(maxBytes)
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		err := fs.WalkDir(skills[name], ".", func(_ string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // why it cannot be read is found when it is
			}
			info, err := e.Info()
			if err == nil {
				left -= info.Size()
			}
			if left < 0 {
				return diag.New(diag.Unmet, author.CodeTooLarge, "the skills have more than %s together, which is the most that is compared", diag.Size(maxBytes))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// extract makes drafts of what moves. The report has that as its candidates afterwards.
func (a *Author) extract(here folder, r *refactor.Report, into string) ([]placed, error) {
	dir := filepath.Join(here.dir, into)
	_, there := here.files[into]
	if !there {
		if err := a.Scope.InstalledCopy(dir); err != nil {
			return nil, err
		}
		if err := a.free(dir); err != nil {
			return nil, err
		}
	}
	e, err := refactor.Extract(here.files, *r, into)
	if err != nil {
		return nil, err
	}
	r.Candidates, r.Conflicts, r.Left = e.Moved, append(r.Conflicts, e.Conflicts...), append(r.Left, e.Left...)
	var all []placed
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Changes)), func(name string) bool { return name == into })
	if _, changes := e.Changes[into]; changes {
		names = slices.Insert(names, 0, into) // the others need it
	}
	for _, name := range names {
		d := author.New(name)
		if name != into || there {
			d = author.Over(name, here.files[name])
		}
		if err := put(d, e.Changes[name], into); err != nil {
			return nil, err
		}
		all = append(all, placed{d, filepath.Join(here.dir, name)})
	}
	return all, nil
}

// put makes changes in a draft of the skill that they are for.
func put(d *author.Draft, changes map[string]refactor.Change, into string) error {
	for _, file := range slices.Sorted(maps.Keys(changes)) {
		c, err := changes[file], error(nil)
		switch {
		case c.Now == nil:
			err = d.Remove(file, "moves to "+into)
		case c.Was == nil && c.Executable:
			err = d.PutExecutable(file, c.Now, "moves here")
		case d.Name == into:
			err = d.Put(file, c.Now, "takes what other skills shared")
		default:
			err = d.Put(file, c.Now, "ops move to "+into)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range d.Changes() {
		if was := changes[c.Path].Was; (was == nil) != (c.Was == nil) || !bytes.Equal(was, c.Was) {
			return diag.New(diag.Unmet, author.CodeChanged, "%s of %s changed while it was read", c.Path, d.Name).Hint("run it again")
		}
	}
	return nil
}

// stays are sentences about what is alike and does not move.
func stays(r *refactor.Report) (out []string) {
	say := func(format string, args ...any) { out = append(out, diag.Brief(fmt.Sprintf(format, args...), 400)) }
	for _, c := range r.Conflicts {
		var all []string
		for _, m := range c.Meanings {
			if c.Kind == refactor.OneBody {
				all = append(all, m.Name+" in "+places(m.Places))
			} else {
				all = append(all, places(m.Places))
			}
		}
		if c.Kind == refactor.OneBody {
			say("%s have one body: choose a name", strings.Join(all, " and "))
		} else {
			say("%s means one thing in %s: none is merged with another", c.Name, strings.Join(all, ", another in "))
		}
	}
	for _, l := range r.Left {
		say("%s in %s stays: %s", l.Name, places(l.Places), l.Reason)
	}
	for _, u := range r.Unread {
		say("%s was not compared: %s", u.Skill, u.Reason)
	}
	return out
}

// places are where something is, the first few in full.
func places(all []refactor.Place) string {
	const most = 4
	var out []string
	for _, p := range all[:min(len(all), most)] {
		at := p.Skill + "/" + p.File
		if p.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, p.Line)
		}
		out = append(out, at)
	}
	if n := len(all) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}
