package form

import (
	"bytes"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// A FormatRequest says whose trees are laid out.
type FormatRequest struct {
	Paths  []string // as in a LintRequest
	Check  bool     // files that are not laid out do not hold; nothing is written
	DryRun bool
}

// A Formatted is what was, or would be, changed.
type Formatted struct {
	OK       bool           `json:"ok"`
	Changed  []string       `json:"changed"`
	Findings []diag.Finding `json:"findings"`
}

// Format lays out trees canonically, and touches nothing else.
func (l *Linter) Format(q FormatRequest) (Formatted, error) {
	dirs, err := l.dirs(q.Paths)
	if err != nil {
		return Formatted{}, err
	}
	var copies map[string]bool
	if !q.Check {
		if copies, err = l.copies(q.Paths, dirs); err != nil {
			return Formatted{}, err
		}
	}
	out := Formatted{Changed: []string{}, Findings: []diag.Finding{}}
	for _, dir := range dirs {
		if copies[dir] {
			continue
		}
		if src, err := scope.ReadIn(dir, skill.FileName); err == nil && !tree.HasTree(src) {
			continue // agents read it as text, and its op files are documents
		}
		files, err := author.TreeFiles(scope.FilesIn(dir))
		if err != nil {
			return Formatted{}, err
		}
		for _, name := range files {
			if err := l.formatFile(&out, dir, name, q.Check || q.DryRun); err != nil {
				return Formatted{}, err
			}
		}
	}
	out.OK = len(out.Findings) == 0 && !(q.Check && len(out.Changed) > 0)
	return out, nil
}

// formatFile lays out the trees of one file and notes in out what came of it.
func (l *Linter) formatFile(out *Formatted, dir, name string, dry bool) error {
	full := l.Scope.Short(filepath.Join(dir, filepath.FromSlash(name)))
	src, err := scope.ReadIn(dir, name)
	if err != nil {
		return err
	}
	text, findings := tree.Format(src, name)
	for _, f := range findings {
		f.File = filepath.ToSlash(full)
		out.Findings = append(out.Findings, f)
	}
	if bytes.Equal(text, src) {
		return nil
	}
	out.Changed = append(out.Changed, full)
	if dry {
		return nil
	}
	return l.Scope.EditFolder(dir, []author.Change{{Path: name, Was: src, Now: text}})
}
