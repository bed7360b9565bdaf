package install

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// LinkState is what lies at the place of a link.
type LinkState int

const (
	LinkMissing LinkState = iota
	LinkOurs              // leads to the skill, or is a copy of it as skl made it
	LinkStale             // skl's own, but not as it should be: it can be replaced without a loss
	LinkEdited            // a copy that skl made and someone edited
	LinkForeign           // anything else
	LinkHome              // no place of its own: by another name it is where the skill itself is
)

// A Place is where an agent looks for a skill that is installed: a link to it, or a copy of it.
type Place struct {
	Name  string
	Path  string // absolute
	State LinkState
	Fault Fault         // "" if nothing is wrong
	Why   string        // the fault in words: "is missing"
	Above string        // what keeps the place from being there: something above Path that is not a directory; "" if nothing does
	Copy  bool          // a copy is there, or was
	Tree  bundle.Digest // of a copy that is there; "" if it cannot be a bundle
	Edits []string      // how a copy differs from what skl put there, as in Have
	Drift string        // the same in a word: see [roots.Drift.State]

	Residue int // files beside a copy that pass: see roots.Drift
}

// A Fault is what is wrong with a Place.
type Fault string

const (
	FaultMissing    Fault = "missing"
	FaultForeign    Fault = "foreign"    // someone else's: a directory, a link that leads elsewhere
	FaultText       Fault = "text"       // a file with the text of the link, as a checkout without links leaves it
	FaultEdited     Fault = "edited"     // a copy that someone edited
	FaultDamaged    Fault = "damaged"    // a copy that lacks what git does not carry
	FaultResidue    Fault = "residue"    // a copy beside whose files lie compiled Python and the like
	FaultRelease    Fault = "release"    // a copy of another release
	FaultUnrecorded Fault = "unrecorded" // a copy without a receipt
	FaultAstray     Fault = "astray"     // a link that leads nowhere, or to another skill of the root
	FaultAbsolute   Fault = "absolute"   // a link of a project with an absolute path
	FaultKind       Fault = "kind"       // a link where skl.toml wants a copy, or the other way round
)

// Mendable reports whether an install puts the place right without a loss.
func (p Place) Mendable() bool { return p.State == LinkMissing || p.State == LinkStale }

// fault notes what is wrong with p.
func (p *Place) fault(state LinkState, f Fault, why string) { p.State, p.Fault, p.Why = state, f, why }

// At is what lies at the place, or keeps it from being there.
func (p *Place) At() string { return cmp.Or(p.Above, p.Path) }

// Places looks at every place where agents should find the skills of receipts: those of in.Links, and those that a
// receipt lists. Skills that are disabled have none, and of one that is not there only copies count. Every copy is read.
func (in *Installer) Places(receipts []roots.Receipt) ([]Place, error) {
	var out []Place
	for _, r := range receipts {
		at, off := in.Place(r.Name)
		if off {
			continue
		}
		here := in.Dir.Exists(at)
		for _, path := range in.paths(r.Name, r) {
			p, err := in.look(path, r.Name, r)
			if err != nil {
				return nil, err
			}
			if p.State == LinkHome {
				continue
			}
			if here || p.Copy && p.State != LinkMissing {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// LinkDirs are the directories that get a link to the skill of a name.
func (in *Installer) LinkDirs(name string) []string {
	if links, ok := in.LinksFor[name]; ok {
		return links
	}
	if home := in.Home(name); home != in.Root {
		return in.LinksOf[home]
	}
	return in.Links
}

// paths are the places of LinkDirs for a skill, then the others that its receipt lists, each by one name.
func (in *Installer) paths(name string, r roots.Receipt) []string {
	var paths []string
	for _, dir := range in.LinkDirs(name) {
		paths = append(paths, join(dir, name))
	}
	for _, rel := range r.Links {
		path := filepath.Join(in.Base, filepath.FromSlash(rel))
		if !slices.ContainsFunc(paths, func(known string) bool { return samePlace(known, path) }) {
			paths = append(paths, path)
		}
	}
	return paths
}

// samePlace reports whether a and b are one directory entry: a link at the end is not followed, those above are.
func samePlace(a, b string) bool {
	return a == b || filepath.Base(a) == filepath.Base(b) && within.Same(filepath.Dir(a), filepath.Dir(b))
}

// isHome reports whether path is where the skill itself is: its place in its root by another name, or what somebody's link at that
// place leads to.
func (s Site) isHome(path, name string) bool {
	home := join(s.Home(name), name)
	if samePlace(path, home) {
		return true
	}
	info, err := s.Dir.Lstat(home)
	return err == nil && info.Mode()&fs.ModeSymlink != 0 && samePlace(path, real(home)) && !s.movesFrom(path, name)
}

// movesFrom reports whether the skill was installed at path before its root changed, so that the link at its new place is skl's own.
func (s Site) movesFrom(path, name string) bool {
	dir := filepath.Dir(path)
	if !slices.Contains(s.All(), dir) {
		return false
	}
	r, err := roots.ReadReceipt(dir, name)
	return err == nil && r.CopyOf == ""
}

// maxLinkText bounds the text of a link, in bytes.
const maxLinkText = 4096

// look tells what lies at path, where a link to the skill belongs, or a copy of it. r is the receipt of the skill.
func (in *Installer) look(path, name string, r roots.Receipt) (Place, error) {
	p := Place{Name: name, Path: path}
	if in.isHome(path, name) {
		p.State = LinkHome
		return p, nil
	}
	info, err := in.Dir.Lstat(path)
	if err != nil {
		p.Above = inTheWay(&in.Site, filepath.Dir(path))
	}
	switch {
	case p.Above != "" && in.isLinkText(p.Above, in.Home(name)):
		p.fault(LinkForeign, FaultForeign, "is a text file that holds what a link should be: this checkout made no links")
	case p.Above != "":
		p.fault(LinkForeign, FaultForeign, "is not a directory, so "+name+" cannot be found there")
	case errors.Is(err, fs.ErrNotExist):
		own, err := roots.ReadReceipt(filepath.Dir(path), name)
		p.fault(LinkMissing, FaultMissing, "is missing")
		p.Copy = err == nil && own.CopyOf != ""
	case err != nil:
		p.fault(LinkForeign, FaultForeign, "cannot be read: "+err.Error())
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0: // a junction is irregular
		text, err := in.Dir.Readlink(path)
		switch {
		case err == nil && Target(path, text) != Target(path, join(in.Home(name), name)) && slices.Contains(in.LinkDirs(name), filepath.Dir(path)) && in.leadsAstray(path, text):
			p.fault(LinkStale, FaultAstray, "is a link that leads to "+diag.Brief(diag.Printable(text), 200)+", not to "+name)
		case err != nil || Target(path, text) != Target(path, join(in.Home(name), name)):
			p.fault(LinkForeign, FaultForeign, "is a link that leads elsewhere")
		case in.Exact && in.Copy:
			p.fault(LinkStale, FaultKind, "is a link where skl.toml wants a copy")
		case filepath.IsAbs(text) && !in.Junction && info.Mode()&fs.ModeSymlink != 0 && in.Dir.Path() != "":
			p.fault(LinkStale, FaultAbsolute, "is a link with an absolute path, which leads nowhere in another clone")
		default:
			p.State = LinkOurs
		}
	case info.Mode().IsRegular() && in.isLinkText(path, join(in.Home(name), name)):
		p.fault(LinkStale, FaultText, "is a text file that holds what the link should be")
	case !info.IsDir():
		p.fault(LinkForeign, FaultForeign, "is not a link that skl made")
	default:
		err := in.lookAtCopy(&p, r)
		return p, err
	}
	return p, nil
}

// leadsAstray reports whether the link text at path leads nowhere, or to a place directly below one of the roots of the
// installation: nothing is lost with such a link.
func (in *Installer) leadsAstray(path, text string) bool {
	at := Target(path, text)
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return slices.ContainsFunc(in.All(), func(root string) bool { return filepath.Dir(at) == real(root) })
}

// isLinkText reports whether the file at path holds the text of a link to target, as a checkout without links leaves it.
func (in *Installer) isLinkText(path, target string) bool {
	data, err := in.Dir.ReadFile(path, maxLinkText)
	text := strings.TrimSpace(string(data))
	return err == nil && text != "" && !strings.ContainsAny(text, "\n\x00") && Target(path, filepath.FromSlash(text)) == Target(path, target)
}

// lookAtCopy judges the directory at p.Path. It is skl's copy if it has a receipt that says so. One without, which was made
// by an skl that wrote none, is known by the links of r, or by its content where those cannot say it.
func (in *Installer) lookAtCopy(p *Place, r roots.Receipt) error {
	own, err := roots.ReadReceipt(filepath.Dir(p.Path), p.Name)
	if in.unmergedCopy(p, err) {
		return nil
	}
	has := err == nil && own.CopyOf != ""
	if !has {
		own = r
	}
	rel, err := filepath.Rel(in.Base, p.Path)
	inBase := err == nil && filepath.IsLocal(rel)
	recorded := inBase && slices.Contains(r.Links, filepath.ToSlash(rel))
	if r.Tree == "" || !has && inBase && !recorded {
		p.fault(LinkForeign, FaultForeign, "is a directory that skl did not install")
		return nil
	}
	d, err := in.compares().Check(filepath.Dir(p.Path), p.Name, own)
	if err != nil {
		return err
	}
	p.Copy, p.Tree, p.Residue, p.Edits, p.Drift = true, d.Tree, len(d.Passed), d.List(), d.State()
	switch {
	case (d.Edited() || len(d.Missing) > 0) && !has && !recorded:
		*p = Place{Name: p.Name, Path: p.Path}
		p.fault(LinkForeign, FaultForeign, "is a directory that skl did not install")
	case d.Edited():
		p.fault(LinkEdited, FaultEdited, "is a copy that was edited: "+strings.Join(p.Edits, ", "))
	case own.Tree != r.Tree:
		p.fault(LinkStale, FaultRelease, "is a copy of another release")
	case len(d.Residue) > 0:
		p.fault(LinkStale, FaultResidue, "is a copy with files that its release does not have: "+strings.Join(p.Edits, ", "))
	case d.Any():
		p.fault(LinkStale, FaultDamaged, "is a copy that a checkout changed: "+strings.Join(p.Edits, ", "))
	case !has:
		p.fault(LinkStale, FaultUnrecorded, "is a copy without a receipt")
	case in.Exact && !in.Copy:
		p.fault(LinkStale, FaultKind, "is a copy where skl.toml wants a link")
	default:
		p.State = LinkOurs
	}
	return nil
}

// Target is what a link at path with this text leads to. The directories above are followed, the
// last element is not: it may be a link of its own.
func Target(path, text string) string {
	if !filepath.IsAbs(text) {
		text = filepath.Join(real(filepath.Dir(path)), text)
	}
	return filepath.Join(real(filepath.Dir(text)), filepath.Base(text))
}

// LinkText is the text of a link at path that leads to target: relative to where path really is, which a link
// above it may have moved.
func LinkText(path, target string) string {
	text, err := filepath.Rel(real(filepath.Dir(path)), Target(path, target))
	if err != nil {
		return target
	}
	return text
}

// real is dir with links followed as far as it exists.
func real(dir string) string {
	if resolved, err := within.Resolve(dir); err == nil {
		return resolved
	}
	return dir
}

// planLink adds the link or the copy at one place to the transaction. What someone edited there is kept in the backups.
func (in *Installer) planLink(ctx context.Context, t *Transaction, c Change, link string, report *Report) error {
	if slices.Contains(c.plan.keepLinks, link) {
		if err := in.keep(t, c.Name, link, report); err != nil {
			return err
		}
	}
	own := roots.ReceiptPath(filepath.Dir(link), c.Name)
	if !in.Copy {
		if in.Dir.Exists(own) && in.isCopyReceipt(link, c.Name) {
			t.Remove(own)
		}
		if in.Junction {
			return t.ReplaceJunction(link, join(in.Home(c.Name), c.Name))
		}
		return t.ReplaceLink(link, LinkText(link, join(in.Home(c.Name), c.Name)))
	}
	var sum bundle.Summary
	err := t.stageAt(link, func(path string) (err error) {
		sum, _, err = in.copyOut(ctx, c.want, path)
		return err
	})
	if err != nil {
		return err
	}
	return t.ReplaceFile(own, in.copyReceipt(c, sum).Format(), 0o644)
}

// dropCopies adds what becomes of other copies of a skill that is removed: those that were put aside go with it, edited ones
// to the backups.
func (in *Installer) dropCopies(t *Transaction, c Change, report *Report) error {
	for _, path := range in.paths(c.Name, c.have.Receipt) {
		if in.isHome(path, c.Name) {
			continue
		}
		aside := filepath.Join(roots.Aside(filepath.Dir(path)), disabled, c.Name)
		if c.have.Disabled && in.Dir.Exists(aside) && in.allows(aside) {
			t.Remove(aside)
			if in.isCopyReceipt(path, c.Name) {
				t.Remove(roots.ReceiptPath(filepath.Dir(path), c.Name))
			}
		}
	}
	for _, path := range c.plan.keepLinks {
		if err := in.keep(t, c.Name, path, report); err != nil {
			return err
		}
		if in.isCopyReceipt(path, c.Name) {
			t.Remove(roots.ReceiptPath(filepath.Dir(path), c.Name))
		}
	}
	return nil
}

// isCopyReceipt reports whether the receipt beside link says that a copy is there.
func (in *Installer) isCopyReceipt(link, name string) bool {
	r, err := roots.ReadReceipt(filepath.Dir(link), name)
	if errors.Is(err, diag.Code(roots.CodeConflict)) {
		r, _, err = roots.UnmergedReceipt(filepath.Dir(link), name)
	}
	return err == nil && r.CopyOf != ""
}

// isSkill reports whether agents may find a skill in dir. A SKILL.md that is there and cannot be opened counts.
func (in *Installer) isSkill(dir string) bool {
	path := filepath.Join(dir, "SKILL.md")
	data, err := in.Dir.ReadFile(path, bundle.InstallLimits.Bytes)
	if err != nil {
		return in.Dir.Exists(path)
	}
	_, err = skill.Read(data)
	return err == nil
}

// copyReceipt is the receipt of a copy: that of the skill, with what it is a copy of.
func (in *Installer) copyReceipt(c Change, sum bundle.Summary) roots.Receipt {
	r := in.receipt(c, sum)
	r.Links, r.Files = nil, files(sum)
	if rel, err := filepath.Rel(in.Base, join(in.Home(c.Name), c.Name)); err == nil && filepath.IsLocal(rel) {
		r.CopyOf = filepath.ToSlash(rel)
	} else {
		r.CopyOf = filepath.Base(in.Home(c.Name)) + "/" + c.Name
	}
	return r
}

// dropLink adds the removal of one of skl's links or copies to the transaction, with the receipt of a copy.
func (in *Installer) dropLink(t *Transaction, name, link string) {
	if in.Dir.Exists(link) {
		t.Remove(link)
	}
	if own := roots.ReceiptPath(filepath.Dir(link), name); in.Dir.Exists(own) && in.isCopyReceipt(link, name) {
		t.Remove(own)
	}
}
