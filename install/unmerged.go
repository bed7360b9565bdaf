package install

import (
	"crypto/sha256"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// unmerged is what lies at the place of a skill whose receipt holds the markers of a merge, as err says. Both sides of the receipt say
// what skl installed: each file is as one of them has it, or holds the text of both between markers, or all files are those of the lock. Anything else
// is an edit, as ever. ok is false for any other error, and where the sides are no receipts.
func (in *Installer) unmerged(err error, old *lock.Lock) (name string, h Have, ok bool) {
	e, isOwn := diag.Own(err)
	if !isOwn || e.Code != roots.CodeConflict {
		return "", Have{}, false
	}
	if name, ok = in.receiptName(e.Where.File); !ok {
		return "", Have{}, false
	}
	ours, theirs, err := roots.UnmergedReceipt(in.Home(name), name)
	if err != nil {
		return "", Have{}, false
	}
	h = Have{Managed: true, Receipt: ours, Unmerged: true}
	h.Path, h.Disabled = in.Place(name)
	if h.Present = in.exists(h.Path); !h.Present {
		return name, h, true
	}
	mine, its, err := in.driftOfBoth(h.Path, name, ours, theirs)
	if err != nil {
		return "", Have{}, false
	}
	var locked bundle.Digest
	if old != nil {
		s, _ := old.Skill(name)
		locked = s.Tree
	}
	switch {
	case !mine.Any():
	case !its.Any():
		h.Receipt = theirs
	case locked != "" && mine.Tree == locked:
		h.Damaged = []string{"the files are those of the lock"}
	default:
		if h.Edits = in.editsOfBoth(h.Path, ours, theirs, mine, its); h.Edits == nil {
			h.Damaged = mine.List()
		}
	}
	return name, h, true
}

// driftOfBoth is how what lies at path differs from each of two receipts.
func (s Site) driftOfBoth(path, name string, ours, theirs roots.Receipt) (mine, its roots.Drift, err error) {
	if mine, err = s.compares().Check(filepath.Dir(path), name, ours); err == nil {
		its, err = s.compares().Check(filepath.Dir(path), name, theirs)
	}
	return mine, its, err
}

// unmergedCopy judges the copy at p.Path where the receipt beside it, which err is about, holds the markers of a merge: what either side installed, or git made of the two, is
// made anew. ok is false for any other error, and where the sides are no receipts of a copy.
func (in *Installer) unmergedCopy(p *Place, err error) (ok bool) {
	if !errors.Is(err, diag.Code(roots.CodeConflict)) {
		return false
	}
	ours, theirs, err := roots.UnmergedReceipt(filepath.Dir(p.Path), p.Name)
	if err != nil || ours.CopyOf == "" || theirs.CopyOf == "" {
		return false
	}
	mine, its, err := in.driftOfBoth(p.Path, p.Name, ours, theirs)
	if err != nil {
		return false
	}
	p.Copy, p.Tree = true, mine.Tree
	if edits := in.editsOfBoth(p.Path, ours, theirs, mine, its); mine.Any() && its.Any() && edits != nil {
		p.Edits, p.Drift = edits, mine.State()
		p.fault(LinkEdited, FaultEdited, "is a copy that was edited: "+strings.Join(edits, ", "))
		return true
	}
	p.fault(LinkStale, FaultDamaged, "is a copy of the two sides of a merge")
	return true
}

// editsOfBoth are the differences from both receipts, nil if there are none.
func (in *Installer) editsOfBoth(dir string, ours, theirs roots.Receipt, mine, its roots.Drift) (edits []string) {
	if mine.Forged || its.Forged {
		return mine.List()
	}
	both := its.Paths()
	kept := mine
	for _, list := range []*[]string{&kept.Added, &kept.Changed, &kept.Missing, &kept.Mode} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(p string) bool {
			return !both[p] || in.holdsBoth(filepath.Join(dir, filepath.FromSlash(p)), ours.Files[p], theirs.Files[p])
		})
	}
	if !kept.Edited() {
		return nil
	}
	return kept.List()
}

// maxMerged bounds a file with the markers of a merge that is compared, in bytes.
const maxMerged = 16 << 20

// holdsBoth reports whether the file at path is what git made of two that were installed, with markers between them.
func (in *Installer) holdsBoth(path string, ours, theirs roots.File) bool {
	data, err := in.Dir.ReadFile(path, maxMerged)
	if err != nil {
		return false
	}
	sides, err := conflict.Split(data, path)
	return err == nil && sides.Line > 0 && sha256.Sum256(sides.Ours) == ours.SHA256 && sha256.Sum256(sides.Theirs) == theirs.SHA256
}
