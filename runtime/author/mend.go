package author

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// maxPasses is how often Mend looks again at what it mended.
const maxPasses = 10

// A Linter gives the findings of a skill.
type Linter func(files fs.FS) []diag.Finding

// A Mender does to a skill what needs no judgement.
type Mender struct {
	Lint   Linter
	Mended func(diag.Finding) // told of each fix that is made; nil is nobody
}

// Mend makes the fixes of lint, again until nothing changes, and gives the findings of the result.
func (m Mender) Mend(d *Draft) ([]diag.Finding, error) {
	found := m.Lint(d.FS())
	for pass := 0; len(skill.Fixes(found)) > 0 && pass < maxPasses; pass++ { // a fix can hide another below it
		changed, err := m.fix(d, found)
		if err != nil {
			return nil, err
		}
		if !changed {
			break
		}
		found = m.Lint(d.FS())
	}
	return found, nil
}

// MigrateAgent writes the Agent section of a skill as an op; why says that it cannot.
func MigrateAgent(d *Draft) (changed bool, why string, err error) {
	s, err := tree.Load(d.FS(), d.Name)
	if err != nil {
		return false, "", nil // lint says why
	}
	files, err := check.MigrateAgent(s)
	if err != nil {
		return false, diag.Printable(err.Error()), nil
	}
	for _, f := range files {
		if err := d.Put(f.File, []byte(f.New), "the Agent section is the old form of a subagent"); err != nil {
			return false, "", err
		}
	}
	return files != nil, "", nil
}

// fix makes the fixes that were found.
func (m Mender) fix(d *Draft, found []diag.Finding) (changed bool, err error) {
	var files []string
	byFile := map[string][]diag.Finding{}
	for _, f := range found {
		if f.Fix == nil {
			continue
		}
		if byFile[f.File] == nil {
			files = append(files, f.File)
		}
		byFile[f.File] = append(byFile[f.File], f)
	}
	for _, file := range files {
		src, err := d.Read(file)
		if err != nil && !(file == skill.FileName && errors.Is(err, fs.ErrNotExist)) { // SKILL.json alone says what it will hold
			return false, err
		}
		var why []string
		for _, f := range byFile[file] {
			if m.Mended != nil {
				m.Mended(f)
			}
			if note := f.Fix.Note + " [" + f.Rule + "]"; !slices.Contains(why, note) && len(why) < 8 {
				why = append(why, note)
			}
		}
		now := skill.Apply(src, skill.Fixes(byFile[file]))
		if bytes.Equal(now, src) {
			continue
		}
		if err := d.Put(file, now, strings.Join(why, "; ")); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// Format lays out the trees of a skill canonically; a file whose layout has errors stays.
func Format(d *Draft) (changed bool, err error) {
	if src, err := d.Read(skill.FileName); err == nil && !tree.HasTree(src) {
		return false, nil // agents read it as text, and its op files are documents
	}
	files, err := TreeFiles(d.FS())
	if err != nil {
		return false, err
	}
	for _, file := range files {
		src, err := d.Read(file)
		if err != nil {
			return false, err
		}
		text, _ := tree.Format(src, file)
		if bytes.Equal(text, src) {
			continue
		}
		if err := d.Put(file, text, "the canonical layout of its tree"); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// TreeFiles are the files of a skill that may hold trees: SKILL.md and the op files of both layouts.
func TreeFiles(fsys fs.FS) ([]string, error) {
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
