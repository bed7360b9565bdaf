package apply

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// LockAt reads skl.lock as it is in a revision of the project's own repository.
func (a *Applier) LockAt(ctx context.Context, f *scope.Files, rev string) (*lock.Lock, error) {
	src, err := git.ReadRevision(ctx, a.Base, rev, "skl.lock")
	if err != nil {
		return nil, err
	}
	if src == nil {
		return &lock.Lock{}, nil
	}
	return lock.Parse(src, rev+":"+filepath.Base(f.LockPath))
}

// CompareLocks lists what differs, and what of it is a lower trust. An entry that was added has to have a signer where
// config.toml requires one, as one that changed has.
func (a *Applier) CompareLocks(old, now *lock.Lock) ([]LockDiff, error) {
	out := []LockDiff{}
	for _, s := range now.Skills {
		was, ok := old.Skill(s.Name)
		if ok && lock.Equal(was, s) {
			continue
		}
		d := LockDiff{Name: s.Name, Change: "changed", From: was.Version, To: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}}
		if !ok {
			d.Change, d.From = "added", ""
		}
		for _, p := range s.Permissions {
			if !slices.Contains(was.Permissions, p) {
				d.Permissions = append(d.Permissions, "+ "+p)
			}
		}
		for _, p := range was.Permissions {
			if !slices.Contains(s.Permissions, p) {
				d.Permissions = append(d.Permissions, "- "+p)
			}
		}
		t, err := a.trustFor(namespaceOf(s))
		if err != nil {
			return nil, err
		}
		switch {
		case ok && was.Signer != nil && s.Signer == nil:
			d.Downgrade = "was signed, is not"
		case ok && was.Signer != nil && !continues(*was.Signer, *s.Signer):
			d.Downgrade = "another signer"
		case s.Unsigned && !was.Unsigned:
			d.Downgrade = "unsigned was accepted"
		case t.required && s.Signer == nil && !s.Unsigned && s.Source != "embedded":
			d.Downgrade = "config.toml requires a signature, and there is none"
		case ok && was.Log != nil && s.Log == nil && was.Source == s.Source:
			d.Downgrade = "was proven to be in the log of its registry, is not"
		case ok && (was.URL != s.URL || was.Source != s.Source):
			d.Downgrade = "another source: " + was.URL + " → " + s.URL
		case ok && was.Version == s.Version && !sameContent(was, s) && !strings.HasPrefix(s.Version, "0.0.0-") && s.Source != "local":
			d.Downgrade = "the same version, other content"
		}
		out = append(out, d)
	}
	for _, s := range old.Skills {
		if _, ok := now.Skill(s.Name); !ok {
			out = append(out, LockDiff{Name: s.Name, Change: "removed", From: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}})
		}
	}
	return out, nil
}

// continues reports whether a release that next signed may follow one that old signed.
func continues(old, next lock.Signer) bool {
	same, _ := attest.Same(old, next)
	return same
}

// sameContent reports whether two entries pin the same bytes.
func sameContent(a, b lock.Skill) bool {
	return a.Commit == b.Commit && a.Manifest == b.Manifest && a.Artifact == b.Artifact && a.Tree == b.Tree
}

// A LockDiff is one skill of a comparison of two locks.
type LockDiff struct {
	Name        string   `json:"name"`
	Change      string   `json:"change"` // added, removed, changed
	From        string   `json:"from,omitempty"`
	To          string   `json:"to,omitempty"`
	Source      string   `json:"source"`
	Digest      string   `json:"digest"`
	Permissions []string `json:"permissions"` // "+ name" and "- name"
	Downgrade   string   `json:"downgrade,omitempty"`
}

// A FileTree is the content of a bundle in memory.
type FileTree map[string]treeFile

// ReadTree reads all files of a skill.
func ReadTree(fsys fs.FS) (FileTree, error) {
	t := treeSink{}
	guard := bundle.NewGuard(t, bundle.InstallLimits)
	guard.NoSkillMD = true // a person may have removed it
	if err := bundle.FromFS(fsys, guard); err != nil {
		return nil, err
	}
	_, err := guard.Close()
	return FileTree(t), err
}

// treeSink collects a tree. It is fed through a Guard, which bounds it.
type treeSink FileTree

func (t treeSink) File(path string, executable bool, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	kind := bundle.Plain
	if executable {
		kind = bundle.Executable
	}
	t[path] = treeFile{kind, data}
	return err
}

func (t treeSink) Link(path, target string) error {
	t[path] = treeFile{bundle.Link, []byte(target)}
	return nil
}

// DiffTrees lists the files that differ, sorted by path.
func DiffTrees(from, to FileTree) []FileDiff {
	var paths []string
	for p := range from {
		paths = append(paths, p)
	}
	for p := range to {
		if _, ok := from[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	out := []FileDiff{}
	for _, p := range paths {
		a, inFrom := from[p]
		b, inTo := to[p]
		d := FileDiff{Path: p, Change: "changed"}
		switch {
		case inFrom != inTo && bundle.Residue(p):
			continue // left out where a folder is read
		case !inFrom:
			d.Change = "added"
		case !inTo:
			d.Change = "removed"
		case string(a.Data) == string(b.Data) && a.Kind == b.Kind:
			continue
		case string(a.Data) == string(b.Data):
			d.Change = "mode"
		}
		d.Text, d.Add, d.Remove = LineDiff(string(a.Data), string(b.Data))
		out = append(out, d)
	}
	return out
}

// LineDiff is a diff by lines with three lines of context. Binary files have no text.
func LineDiff(a, b string) (text string, add, remove int) {
	if strings.ContainsRune(a, 0) || strings.ContainsRune(b, 0) || len(a)+len(b) > 4<<20 {
		return "", 0, 0
	}
	dmp := diffmatchpatch.New()
	ra, rb, lines := dmp.DiffLinesToRunes(a, b)
	var out strings.Builder
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(ra, rb, false), lines)
	for i, d := range diffs {
		list := strings.SplitAfter(d.Text, "\n")
		if list[len(list)-1] == "" {
			list = list[:len(list)-1]
		}
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			add += len(list)
		case diffmatchpatch.DiffDelete:
			remove += len(list)
		case diffmatchpatch.DiffEqual:
			list = context3(list, i == 0, i == len(diffs)-1)
		}
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffEqual: " "}[d.Type]
		for _, line := range list {
			fmt.Fprintf(&out, "%s%s\n", mark, strings.TrimSuffix(line, "\n"))
		}
	}
	return out.String(), add, remove
}

// context3 keeps three lines at the ends of an unchanged run that touch a change.
func context3(list []string, first, last bool) []string {
	const n = 3
	switch {
	case first && last:
		return nil
	case first && len(list) > n:
		return list[len(list)-n:]
	case last && len(list) > n:
		return list[:n]
	case !first && !last && len(list) > 2*n:
		return slices.Concat(list[:n], []string{"…"}, list[len(list)-n:])
	}
	return list
}

// A FileDiff is how one file differs.
type FileDiff struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode
	Add    int    `json:"add"`    // lines
	Remove int    `json:"remove"`
	Text   string `json:"text,omitempty"` // lines with "+", "-" and " "
}

// ReleaseTree reads a release from the store, or fetches it into memory.
func (a *Applier) ReleaseTree(ctx context.Context, s lock.Skill) (FileTree, error) {
	if st := a.Store(); s.Tree != "" && st.Has(s.Tree) {
		return ReadTree(st.FS(s.Tree))
	}
	t := treeSink{}
	guard := bundle.NewGuard(t, bundle.InstallLimits)
	if err := a.Fetch(ctx, s, guard); err != nil {
		return nil, err
	}
	_, err := guard.Close()
	return FileTree(t), err
}

// AtVersion chooses another release of a skill.
func (a *Applier) AtVersion(ctx context.Context, f *scope.Files, name, version string) (lock.Skill, error) {
	all, err := scope.Wants(f.Manifest)
	if err != nil {
		return lock.Skill{}, err
	}
	i := slices.IndexFunc(all, func(n resolver.Named) bool { return n.Name == name })
	if i < 0 {
		return lock.Skill{}, a.NotInManifest(name, f)
	}
	want := all[i]
	r, err := ref.Parse(want.Ref.WithoutVersion().String() + "@" + version)
	if err != nil {
		return lock.Skill{}, err
	}
	want.Ref, want.Kind = r, ""
	return a.Resolver(f.Manifest).Choose(ctx, want)
}

type treeFile struct {
	Kind bundle.Kind
	Data []byte
}
