package git

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// maxReadFile bounds a file that is read alone, in bytes.
const maxReadFile = 8 << 20

// ReadDir returns the names in one directory of a commit, "" for the root, sorted; those of directories end in a slash. A path that
// is no directory there is an error that is [fs.ErrNotExist].
func (s *Source) ReadDir(ctx context.Context, rawURL string, commit ref.Commit, dir string) ([]string, error) {
	_, snap, err := s.open(ctx, rawURL, commit)
	if err != nil {
		return nil, err
	}
	id, ok, err := snap.tree(dir)
	if err != nil || !ok {
		return nil, errors.Join(err, &fs.PathError{Op: "read", Path: dir, Err: fs.ErrNotExist})
	}
	data, err := snap.treeData(id)
	if err != nil {
		return nil, err
	}
	var names []string
	for e, err := range treeEntries(data) {
		switch {
		case err != nil:
			return nil, explain(rawURL, snap.commit, err)
		case e.mode&modeType == modeTree:
			names = append(names, e.name+"/")
		default:
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ReadFile returns one regular file of a commit. A path that is no file there is an
// error that is [fs.ErrNotExist].
func (s *Source) ReadFile(ctx context.Context, rawURL string, commit ref.Commit, name string) ([]byte, error) {
	return s.readEntry(ctx, rawURL, commit, name, modeFile)
}

// readEntry returns the content of what lies at a path and is of that kind.
func (s *Source) readEntry(ctx context.Context, rawURL string, commit ref.Commit, name string, kind uint32) ([]byte, error) {
	repo, snap, err := s.open(ctx, rawURL, commit)
	if err != nil {
		return nil, err
	}
	dir := dirOf(name)
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
		if e.name != path.Base(name) || e.mode&modeType != kind {
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

// ReadLink returns the text of one link of a commit. A path that is no link there is an error that is [fs.ErrNotExist].
func (s *Source) ReadLink(ctx context.Context, rawURL string, commit ref.Commit, name string) (string, error) {
	text, err := s.readEntry(ctx, rawURL, commit, name, modeLink)
	return string(text), err
}
