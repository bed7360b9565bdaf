package form

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
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
	out := Formatted{Changed: []string{}, Findings: []diag.Finding{}}
	for _, dir := range dirs {
		if src, err := scope.ReadIn(dir, skill.FileName); err == nil && !tree.HasTree(src) {
			continue // agents read it as text, and its op files are documents
		}
		files, err := treeFiles(scope.FilesIn(dir))
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
	return scope.WriteIn(dir, name, text)
}

// treeFiles are the files of a skill that may hold trees: SKILL.md and the op files of both layouts.
func treeFiles(fsys fs.FS) ([]string, error) {
	var out []string
	for _, pattern := range []string{skill.FileName, "ops.md", "ops/*.md", "references/ops.md", "references/ops/*.md"} {
		found, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 && !strings.Contains(pattern, "*") { // Glob passes over what cannot be looked at
			if _, err := fs.Stat(fsys, pattern); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		for _, name := range found {
			if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() && !slices.Contains(out, path.Clean(name)) {
				out = append(out, path.Clean(name))
			}
		}
	}
	return out, nil
}
