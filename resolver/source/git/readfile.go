package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	gogitrepo "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	gogitobject "github.com/go-git/go-git/v5/plumbing/object"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// maxReadFile bounds a file that is read alone, in bytes.
const maxReadFile = 8 << 20

// ReadFile returns one regular file of a commit. A path that is no file there is an
// error that is [fs.ErrNotExist].
func (s *Source) ReadFile(ctx context.Context, rawURL string, commit ref.Commit, name string) ([]byte, error) {
	repo, snap, err := s.open(ctx, rawURL, commit)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	missing := &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	id, ok, err := snap.tree(dir)
	if err != nil || !ok {
		return nil, errors.Join(err, missing)
	}
	data, err := snap.treeData(id)
	if err != nil {
		return nil, err
	}
	for e, err := range treeEntries(data) {
		if err != nil {
			return nil, explain(rawURL, snap.commit, err)
		}
		if e.name != path.Base(name) || e.mode&modeType != 0o100000 {
			continue
		}
		found, err := repo.load(ctx, snap, []plumbing.Hash{e.id})
		if err == nil && len(found[e.id]) > maxReadFile {
			err = diag.New(diag.Failed, source.CodeTooLarge, "%s in %s is larger than %d bytes", name, show(rawURL), maxReadFile)
		}
		return found[e.id], err
	}
	return nil, missing
}

// ReadRevision returns a file as it is in a revision (a branch, tag, commit or
// anything that git rev-parse knows) of the repository that dir, an absolute path, is in. The
// file's name is relative to dir. Nil without an error means that the revision has no such file.
// No program is run.
func ReadRevision(_ context.Context, dir, rev, name string) ([]byte, error) {
	repo, err := gogitrepo.PlainOpenWithOptions(dir, &gogitrepo.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_repository", "%s is not in a git repository: %w", dir, err)
	}
	id, err := repo.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		return nil, diag.New(diag.Misuse, "unknown_revision", "the repository has no revision %q", diag.Printable(rev)).Hint("git fetch, or name another --base")
	}
	commit, err := repo.CommitObject(*id)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(tree.Filesystem.Root(), dir)
	if err != nil {
		return nil, err
	}
	file, err := commit.File(path.Join(filepath.ToSlash(inside), name))
	if errors.Is(err, gogitobject.ErrFileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	}
	text, err := file.Contents()
	return []byte(text), err
}
