package apply

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/packages"
	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// A Derivation is an update of a skill that was made from a package, or of one that a person derived from such a skill.
type Derivation struct {
	Name string `json:"name"`
	From string `json:"from"` // "derived from r pensar 0.6.1": what the copy says that is here; "" if nothing
	To   string `json:"to"`   // and the release

	// Files is what the update takes away of a copy whose derived_from says that a person edited it, and what it puts there.
	Files []trees.FileDiff `json:"files,omitempty"`
}

// origin is what a skill says that it was made from, nil if nothing; byHand says that a person edited it since.
func origin(front Front) (o *skill.Origin, byHand bool) {
	doc, err := skill.ReadWith(front.Text, front.Sidecar)
	if err != nil {
		return nil, false
	}
	return skillify.Stamp(doc)
}

// originWords say it for people.
func originWords(o *skill.Origin, byHand bool) string {
	if o == nil {
		return ""
	}
	words := map[bool]string{false: "made from ", true: "derived from "}[byHand]
	return diag.Printable(words + strings.TrimSpace(o.Ecosystem+" "+o.Package) + " " + o.Version)
}

// derivations compares what the skills that an update replaces say that they come from with what comes. A copy that a person derived is
// shown as a difference before it goes.
func (j *job) derivations(ctx context.Context, in *plan.Intent, changes install.Changes) (out []Derivation, err error) {
	for i := range changes.List {
		c := &changes.List[i]
		h := j.site.have[c.Name]
		if c.Action != install.Update || !h.Present || c.Before() == c.Digest && h.Edits == nil {
			continue
		}
		front, err := frontOf(h.Path)
		if err != nil {
			continue // it holds nothing that could be read
		}
		was, byHand := origin(front)
		next, _ := in.Lock.Skill(c.Name)
		to, ok := j.site.in.peeked.frontOf(&next)
		if !ok {
			if to, _, err = skillFront(j.site.in.Installer, next, install.Have{}); err != nil {
				return nil, err
			}
		}
		now, stays := origin(to)
		d := Derivation{Name: c.Name, From: originWords(was, byHand), To: originWords(now, stays)}
		if byHand {
			if d.Files, err = j.a.replaced(ctx, h.Path, next); err != nil {
				return nil, err
			}
		}
		if d.From == d.To && len(d.Files) == 0 {
			continue
		}
		j.a.tellDerivation(&d)
		out = append(out, d)
	}
	return out, nil
}

// replaced is how the copy at dir differs from the release s.
func (a *Applier) replaced(ctx context.Context, dir string, s lock.Skill) ([]trees.FileDiff, error) {
	from, err := trees.Read(scope.FilesIn(dir))
	if err != nil {
		return nil, err
	}
	to, err := trees.Release(ctx, a.Scope, s)
	return trees.Diff(from, to), err
}

func (a *Applier) tellDerivation(d *Derivation) {
	if d.From != d.To {
		a.Scope.Tell.Note("%s: was %s, is %s", d.Name, orNone(d.From), orNone(d.To))
	}
	if len(d.Files) == 0 {
		return
	}
	a.Scope.Tell.Warn("%s was edited by hand (derived_from); the update replaces this:", d.Name)
	for i := range d.Files {
		f := &d.Files[i]
		a.Scope.Tell.Note("%s %s +%d -%d", f.Change, diag.Printable(f.Path), f.Add, f.Remove)
		for line := range strings.Lines(f.Text) {
			a.Scope.Tell.Note("%s", diag.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// A Behind is a skill that was made of a package which moved on.
type Behind struct {
	Why  string // for people; "" if it did not, or if nothing is known of that
	Mend string // the command that brings it there, "" if that is for who published it
}

// SourceChanged compares the package that an installed skill was made of with the one that is on this machine, or else the one that a lock
// names there: the versions, and with files also what the package is made of, which reads all of it.
func SourceChanged(a *Applier, s *lock.Skill, files bool) (b Behind) {
	dir, _ := a.Scope.Site.Place(s.Name)
	front, err := frontOf(dir)
	if err != nil {
		return Behind{}
	}
	o, byHand := origin(front)
	if o == nil {
		return Behind{}
	}
	eco := cmp.Or(o.Ecosystem, "r")
	was, want := strings.TrimPrefix(o.Version, "v"), skill.Dependency{Name: o.Package, Ecosystem: eco}
	is, locked := a.Scope.Packages(dir).Version(want), a.Scope.Packages(dir).Locked(want)
	switch {
	case is == "" && locked.Version == "":
		return Behind{}
	case is != "" && is != was:
		b.Why = originWords(o, byHand) + ", and " + diag.Printable(is) + " is here"
	case locked.Version != "" && locked.Version != was:
		b.Why = originWords(o, byHand) + ", and " + locked.File + " names " + diag.Printable(locked.Version)
	case is == "" && o.Integrity != "" && locked.Integrity != "" && o.Integrity != locked.Integrity:
		b.Why = originWords(o, byHand) + ", and " + locked.File + " names other bytes of that version"
	case is == "":
		return Behind{}
	case files && otherFiles(a, o, eco):
		b.Why = originWords(o, byHand) + ", and that version has other files here"
	default:
		return Behind{}
	}
	if is == "" || is == was && b.Why != "" && locked.Version != was {
		return b // what is named is not here to be read
	}
	b.Mend = mendSource(a, s, o, byHand, is)
	return b
}

// mendSource is the command that brings a skill to the version is of its package, "" if that is for who published it. Where the folder that it
// was installed from is there already, the installed copy is what is left.
func mendSource(a *Applier, s *lock.Skill, o *skill.Origin, byHand bool, is string) string {
	dir, _ := a.Scope.Site.Place(s.Name)
	info, err := os.Lstat(dir)
	if linked := err == nil && info.Mode()&fs.ModeSymlink != 0; !linked {
		from := filepath.Join(scope.Absolute(a.Scope.Base, filepath.FromSlash(s.URL)), filepath.FromSlash(s.Path))
		if s.Source != "local" || !scope.Exists(filepath.Join(from, skill.FileName)) {
			return ""
		}
		if front, err := frontOf(from); err == nil {
			there, edited := origin(front)
			if there == nil || there.Package != o.Package {
				return "skl update " + diag.Quote(s.Name)
			}
			moved := there.Version != o.Version || there.SourceHash != o.SourceHash
			if moved && strings.TrimPrefix(there.Version, "v") == is && !otherFiles(a, there, cmp.Or(there.Ecosystem, "r")) {
				return "skl update " + diag.Quote(s.Name)
			}
			o, byHand = there, edited
		}
	}
	eco, from := cmp.Or(o.Ecosystem, "r"), ""
	if skillify.Drift(eco, o.Version, is) == "older" { // which only a person chooses
		from = eco + ":" + o.Package
	}
	return packages.Update(s.Name, byHand, from)
}

// otherFiles reports whether the package that is here is made of other files than the one of a stamp.
func otherFiles(a *Applier, o *skill.Origin, eco string) bool {
	if o.Generator != skillify.Generator || o.SourceHash == "" { // who counted otherwise
		return false
	}
	src, err := packages.Open(a.Scope, eco+":"+o.Package)
	if err != nil {
		return false
	}
	p, err := src.Read()
	return err == nil && p.SourceHash() != o.SourceHash
}
