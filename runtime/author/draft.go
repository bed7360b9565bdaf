// Package author plans changes of skills. A plan holds every byte that shall be written, before anything is: it is shown, agreed to, and
// carried out as it was shown, or not at all.
//
//   - A Draft is a skill with changes in memory. Nothing here writes to a disk, runs a program or asks a model.
//   - Mend does what code alone can do: the fixes of lint, the canonical layout, the present form of old sections.
//   - Assess says what a draft changes besides its bytes: findings, permissions, sentences that are gone.
//   - A Plan is a draft in a file. Whoever reads one believes nothing of it: its paths are checked, and what it asks for is computed anew.
package author

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// Limits of a draft.
const (
	MaxFile    = 1 << 20 // bytes of a file that is written
	MaxChanges = 512     // files that change
)

// Codes of errors.
const (
	CodePath      = "path_outside"   // a path that is none of a file in a skill
	CodeIrregular = "irregular_file" // a link, a device, or a file that is no text
	CodeTooLarge  = "too_large"
	CodeChanged   = "changed_meanwhile" // the skill is not what the plan was made of
	CodePlan      = "invalid_plan"
)

// A Draft is a skill with changes. It is not for concurrent use.
type Draft struct {
	Name    string // of its folder
	below   fs.FS  // the files as they are
	isNew   bool
	changes map[string]*Change
}

// A Change is one file of a skill before and after.
type Change struct {
	Path     string
	Was, Now []byte // nil: it is not there
	Why      string

	Executable bool // of the file that stays or comes
}

// New is a draft of a skill that is not there.
func New(name string) *Draft {
	return &Draft{Name: name, below: bundle.Memory{}, isNew: true, changes: map[string]*Change{}}
}

// Over is a draft of the skill in fsys, whose folder has the name. It reads files when they are asked for.
func Over(name string, fsys fs.FS) *Draft {
	return &Draft{Name: name, below: fsys, changes: map[string]*Change{}}
}

// IsNew reports whether the skill is not there.
func (d *Draft) IsNew() bool { return d.isNew }

// Read is a file as it shall be.
func (d *Draft) Read(name string) ([]byte, error) { return fs.ReadFile(d.FS(), name) }

// Put writes a file. Refused are paths that no bundle may have, what is there and is no regular file, and files that are too large.
func (d *Draft) Put(name string, data []byte, why string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if len(data) > MaxFile {
		return diag.New(diag.Refused, CodeTooLarge, "%s would have %s, and %s is the most that is written", name, diag.Size(int64(len(data))), diag.Size(MaxFile))
	}
	if data == nil {
		data = []byte{}
	}
	return d.set(name, data, why)
}

// PutExecutable is Put of a new file that can be executed. One that is there stays as it is in that.
func (d *Draft) PutExecutable(name string, data []byte, why string) error {
	err := d.Put(name, data, why)
	if c := d.changes[name]; err == nil && c.Was == nil {
		c.Executable = true
	}
	return err
}

// Remove takes a file away.
func (d *Draft) Remove(name, why string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if _, err := fs.Stat(d.FS(), name); err != nil {
		return diag.New(diag.Refused, CodePath, "there is no file %s", name)
	}
	return d.set(name, nil, why)
}

// Move gives a file another path, with its bytes and its executable bit. Nothing may be there.
func (d *Draft) Move(from, to, why string) error {
	data, err := d.Read(from)
	if err != nil {
		return err
	}
	info, err := fs.Lstat(d.FS(), from)
	if err != nil {
		return err
	}
	if _, err := fs.Lstat(d.FS(), to); !errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.Refused, CodePath, "there is something at %s already", to)
	}
	if err := d.Put(to, data, why); err != nil {
		return err
	}
	d.changes[to].Executable = info.Mode()&0o111 != 0
	return d.Remove(from, why)
}

func checkPath(name string) error {
	if err := bundle.CheckPath(name); err != nil {
		return diag.New(diag.Refused, CodePath, "%q is no path of a file in a skill: %w", diag.Clip(name, 200), err)
	}
	return nil
}

func (d *Draft) set(name string, now []byte, why string) error {
	c := d.changes[name]
	if c == nil {
		was, executable, err := d.regular(name)
		if err != nil {
			return err
		}
		if len(d.changes) == MaxChanges {
			return diag.New(diag.Refused, CodeTooLarge, "more than %d files would change", MaxChanges)
		}
		if err := bundle.CheckPortable(name); was == nil && err != nil {
			return diag.New(diag.Refused, CodePath, "%q is no path of a new file: %w", diag.Clip(name, 200), err)
		}
		c = &Change{Path: name, Was: was, Executable: executable}
	}
	for other, o := range d.changes {
		if now != nil && o.Now != nil && (strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")) {
			return diag.New(diag.Refused, CodePath, "%s and %s cannot both be files", name, other)
		}
	}
	c.Now, c.Why = now, why
	d.changes[name] = c
	return nil
}

// regular is what is there by a name, nil if nothing is. Folders on the way to it are no links.
func (d *Draft) regular(name string) (data []byte, executable bool, err error) {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if info, err := fs.Lstat(d.below, up); err == nil && !info.IsDir() {
			return nil, false, diag.New(diag.Refused, CodeIrregular, "%s is no folder", up)
		}
	}
	info, err := fs.Lstat(d.below, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, diag.New(diag.Refused, CodeIrregular, "%s is a link or no regular file, which is not changed", name)
	}
	data, err = fs.ReadFile(d.below, name)
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode()&0o111 != 0, err
}

// Changes are the files that differ, by path.
func (d *Draft) Changes() []Change {
	out := []Change{}
	for _, name := range slices.Sorted(maps.Keys(d.changes)) {
		if c := d.changes[name]; (c.Was == nil) != (c.Now == nil) || !bytes.Equal(c.Was, c.Now) {
			out = append(out, *c)
		}
	}
	return out
}

// Before are the files as they are, FS as they shall be now.
func (d *Draft) Before() fs.FS { return d.below }

// FS are the files as they shall be now.
func (d *Draft) FS() fs.FS {
	o := bundle.Overlay{Below: d.below, Files: bundle.Memory{}, Gone: map[string]bool{}}
	for name, c := range d.changes {
		if c.Now == nil {
			o.Gone[name] = true
		} else {
			o.Files[name] = bundle.MemoryFile{Data: c.Now, Executable: c.Executable}
		}
	}
	return o
}
