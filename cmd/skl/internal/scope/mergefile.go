package scope

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// MergeFile makes one file of two that both come from base, as "skl lock" does: skl.toml, skl.lock, or the receipt of a skill, which
// name, a path with slashes, tells. It has nothing but these bytes: what only the rest of the project, a source or a person can decide is an error, and its
// hint is the command that decides it. note is what a person should know, "" for nothing.
func MergeFile(name string, base, ours, theirs []byte) (merged []byte, note string, err error) {
	most := map[string]int{"skl.toml": manifest.MaxBytes, "skl.lock": lock.MaxBytes}[path.Base(name)]
	if most = cmp.Or(most, roots.MaxReceiptBytes); max(len(base), len(ours), len(theirs)) > most {
		return nil, "", diag.New(diag.Failed, "conflict_markers", "a side has more than %d bytes", most).At(diag.Position{File: name})
	}
	sides := conflict.Between(base, ours, theirs)
	switch dir, file := path.Split(name); {
	case file == "skl.toml":
		m, _, told, err := manifest.Merge(sides, name, func(c manifest.Clash) (manifest.Side, error) {
			return "", diag.New(diag.Unmet, manifest.CodeConflict, "both sides say something else of %s", diag.Printable(c.Entry)).At(diag.Position{File: name})
		})
		if err != nil {
			return nil, "", hinted(err, "skl lock")
		}
		return m.Bytes(), told, nil
	case file == "skl.lock":
		l, err := mergeLocks(sides, name)
		if err != nil {
			return nil, "", hinted(err, "skl lock")
		}
		return l.Format(), "", nil
	case strings.HasSuffix(dir, "/.skl/") && strings.HasSuffix(file, ".json"):
		r, err := mergeReceipts(ours, theirs)
		if err != nil {
			return nil, "", hinted(diag.Located(err, diag.Position{File: name}), "skl ci")
		}
		return r.Format(), "", nil
	}
	return nil, "", diag.New(diag.Misuse, "usage", "skl does not merge %s", diag.Printable(name))
}

// hinted is err with one hint, which is what to do after a merge.
func hinted(err error, hint string) error {
	e, ok := diag.Own(err)
	if !ok {
		return err
	}
	e.Hints = nil
	return e.Hint("%s", hint)
}

func mergeLocks(sides *conflict.Sides, name string) (*lock.Lock, error) {
	base, ours, theirs, err := lock.ParseSides(sides, name)
	if err != nil {
		return nil, err
	}
	l, _, err := resolver.MergeApart(base, ours, theirs)
	return l, diag.Located(err, diag.Position{File: name})
}

// mergeReceipts makes one of two that are of the same files. Those of two releases are nobody's: the files of both lie side by side then.
func mergeReceipts(ours, theirs []byte) (roots.Receipt, error) {
	r, err := roots.ParseReceipt(ours)
	if err != nil {
		return roots.Receipt{}, err
	}
	other, err := roots.ParseReceipt(theirs)
	if err != nil {
		return roots.Receipt{}, err
	}
	links := append(slices.Clone(r.Links), other.Links...)
	slices.Sort(links)
	r.Links = slices.Compact(links)
	other.Links = r.Links
	if string(r.Format()) != string(other.Format()) {
		return roots.Receipt{}, diag.New(diag.Unmet, roots.CodeConflict, "both sides changed the files of %s", diag.Printable(r.Name))
	}
	return r, nil
}
