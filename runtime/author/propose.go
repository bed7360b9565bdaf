package author

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// maxNamed is how many findings an answer is told.
const maxNamed = 5

// Settle makes a draft that a model changed fit to be proposed: it adds what lint would miss, lays out what was laid out before, and refuses
// what breaks the skill: a [*Wrong] for the model. Files that the model did not change keep their bytes, but for features that are listed.
// The skill that the model was shown is in shown; nil for a new one.
func (m Mender) Settle(d *Draft, shown fs.FS) error {
	var before []diag.Finding
	if shown != nil {
		before = m.Lint(shown)
	}
	fresh := Mender{Mended: m.Mended, Lint: func(files fs.FS) []diag.Finding {
		return diag.Gained(before, m.Lint(files), func(f diag.Finding) string { return f.Rule })
	}}
	found, err := fresh.Mend(d)
	if err != nil {
		return err
	}
	if err := sameShape(d, shown); err != nil {
		return err
	}
	if err := formatAsBefore(d); err != nil {
		return err
	}
	var named []string
	for _, f := range found {
		if f.Severity != diag.SeverityInfo && !strings.HasPrefix(f.Rule, "AUD-") && len(named) < maxNamed { // a person decides what an audit finds
			named = append(named, f.Sentence())
		}
	}
	if len(named) > 0 {
		return wrong("the skill would not pass lint: %s", strings.Join(named, "; "))
	}
	if len(d.Changes()) == 0 {
		return wrong("the answer leaves every file as it is")
	}
	return nil
}

// sameShape refuses a skill that is no tree any more, or whose trees are written otherwise.
func sameShape(d *Draft, shown fs.FS) error {
	if shown == nil {
		return nil
	}
	was, err := tree.Load(shown, d.Name)
	if err != nil {
		return nil // it was broken
	}
	now, err := tree.Load(d.FS(), d.Name)
	switch {
	case err != nil:
		return wrong("the skill could not be read any more: %v", err)
	case was.Tree != nil && now.Tree == nil:
		return wrong("the skill would have no tree any more")
	case was.Tree == nil && now.Tree != nil:
		return wrong("the skill is prose, and would have a tree")
	case was.Tree != nil && was.Tree.Syntax != now.Tree.Syntax:
		return wrong("the tree would be written otherwise: keep the syntax that it has")
	}
	for _, op := range was.Ops {
		if other := now.Op(op.Name); other != nil && op.Tree != nil && other.Tree != nil && op.Tree.Syntax != other.Tree.Syntax {
			return wrong("the tree of %s would be written otherwise: keep the syntax that it has", op.Name)
		}
	}
	return nil
}

// formatAsBefore lays out the trees of files whose trees were laid out, and of new ones.
func formatAsBefore(d *Draft) error {
	if src, err := d.Read(skill.FileName); err == nil && !tree.HasTree(src) {
		return nil
	}
	files, err := TreeFiles(d.FS())
	if err != nil {
		return err
	}
	for _, c := range d.Changes() {
		if c.Now == nil || !slices.Contains(files, c.Path) {
			continue
		}
		if c.Was != nil {
			if text, _ := tree.Format(c.Was, c.Path); !bytes.Equal(text, c.Was) {
				continue
			}
		}
		if text, _ := tree.Format(c.Now, c.Path); !bytes.Equal(text, c.Now) {
			if err := d.Put(c.Path, text, c.Why); err != nil {
				return err
			}
		}
	}
	return nil
}
