package form

import (
	"bytes"
	"path/filepath"
	"strings"

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

// Format lays out trees canonically, and touches nothing else. Nothing is written before all is read.
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
	changes := map[string][]author.Change{}
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
			change, err := l.formatFile(&out, dir, name)
			if err != nil {
				return Formatted{}, err
			}
			changes[dir] = append(changes[dir], change...)
		}
	}
	var wrote []string
	for _, dir := range dirs {
		if len(changes[dir]) == 0 || q.Check || q.DryRun {
			continue
		}
		if err := l.Scope.EditFolder(dir, changes[dir]); err != nil {
			if len(wrote) > 0 {
				l.Scope.Tell.Warn("laid out before that: %s", strings.Join(wrote, ", "))
			}
			return Formatted{}, err
		}
		wrote = append(wrote, l.Scope.Short(dir))
		delete(changes, dir)
	}
	out.OK = len(out.Findings) == 0 && !(q.Check && len(out.Changed) > 0)
	return out, nil
}

// formatFile lays out the trees of one file and notes in out what comes of it.
func (l *Linter) formatFile(out *Formatted, dir, name string) ([]author.Change, error) {
	full := l.Scope.Short(filepath.Join(dir, filepath.FromSlash(name)))
	src, err := scope.ReadIn(dir, name)
	if err != nil {
		return nil, err
	}
	text, findings := tree.Format(src, name)
	for _, f := range findings {
		f.File = filepath.ToSlash(full)
		out.Findings = append(out.Findings, f)
	}
	if bytes.Equal(text, src) {
		return nil, nil
	}
	out.Changed = append(out.Changed, full)
	return []author.Change{{Path: name, Was: src, Now: text}}, nil
}
