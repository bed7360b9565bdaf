// Package trees holds the files of skills in memory, bounded, to compare them and to see what they ask for.
package trees

import (
	"context"
	"io"
	"io/fs"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// A Tree is the content of a bundle in memory.
type Tree map[string]File

// Read reads all files of a skill.
func Read(fsys fs.FS) (Tree, error) {
	t, _, err := ReadSum(fsys)
	return t, err
}

// ReadIn is Read of at most so much.
func ReadIn(fsys fs.FS, limits bundle.Limits) (Tree, error) {
	t, _, err := readSum(fsys, limits)
	return t, err
}

// ReadSum is Read, with the digest of the files.
func ReadSum(fsys fs.FS) (Tree, bundle.Digest, error) { return readSum(fsys, bundle.InstallLimits) }

func readSum(fsys fs.FS, limits bundle.Limits) (Tree, bundle.Digest, error) {
	t := sink{}
	guard := bundle.NewGuard(t, limits)
	guard.NoSkillMD = true // a person may have removed it
	if err := bundle.FromFS(fsys, guard); err != nil {
		return nil, "", err
	}
	sum, err := guard.Close()
	return Tree(t), sum.Tree, err
}

// sink collects a tree. It is fed through a Guard, which bounds it.
type sink Tree

func (t sink) File(path string, executable bool, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	kind := bundle.Plain
	if executable {
		kind = bundle.Executable
	}
	t[path] = File{kind, data}
	return err
}

func (t sink) Link(path, target string) error {
	t[path] = File{bundle.Link, []byte(target)}
	return nil
}

// A File is one of a tree: of a link, Data is where it leads.
type File struct {
	Kind bundle.Kind
	Data []byte
}

// Release reads a release from the store, or fetches it into memory.
//
//go:noinline
func Release(ctx context.Context, sc *scope.Scope, s lock.Skill) (Tree, error) {
	return ReleaseIn(ctx, sc, s, bundle.InstallLimits)
}

// ReleaseIn is Release of at most so much, if it is fetched.
func ReleaseIn(ctx context.Context, sc *scope.Scope, s lock.Skill, limits bundle.Limits) (Tree, error) {
	if st := sc.Store(); s.Tree != "" && st.Has(s.Tree) {
		return Read(st.FS(s.Tree))
	}
	t := sink{}
	guard := bundle.NewGuard(t, limits)
	if err := sc.Fetch(ctx, s, guard); err != nil {
		return nil, err
	}
	_, err := guard.Close()
	return Tree(t), err
}

// Asks computes what a release asks for.
func (t Tree) Asks() audit.Report { return audit.Read(t.AuditFiles()) }

// AuditFiles are its files for an audit, those that links lead to under the names of the links as well.
func (t Tree) AuditFiles() []audit.File {
	files, links := make([]audit.File, 0, len(t)), map[string]string{}
	for path, f := range t {
		if f.Kind == bundle.Link {
			links[path] = string(f.Data)
		} else {
			files = append(files, audit.File{Path: path, Data: f.Data, Executable: f.Kind == bundle.Executable})
		}
	}
	return audit.Linked(files, links)
}

// Findings is what an audit of the files finds.
func (t Tree) Findings() []content.Finding { return content.Scan(t.AuditFiles()).Findings }

// Sidecar is the SKILL.json among files, nil if there is none.
func (t Tree) Sidecar() []byte {
	if f, ok := t[skill.SidecarName]; ok && f.Kind != bundle.Link {
		return append([]byte{}, f.Data...)
	}
	return nil
}
