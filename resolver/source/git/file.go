package git

import (
	"context"
	"errors"
	"io"
	"net/url"
	"runtime"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// folder is the only rung of file URLs: a repository on this machine, bare or
// with a work tree, opened in this process. No program runs and no configuration of it is obeyed.
type folder struct {
	url  string
	repo *local // once opened
}

// folderPath is the path that a file URL names.
func folderPath(fileURL string) (string, error) {
	return pathOf(fileURL, runtime.GOOS == "windows")
}

// pathOf is folderPath on this system or that. On Windows it takes what people write there: backslashes, a drive in the
// place of the host, and a host, which makes a UNC path.
func pathOf(fileURL string, windows bool) (string, error) {
	if windows {
		fileURL = strings.ReplaceAll(fileURL, `\`, "/")
	}
	u, err := url.Parse(fileURL)
	if err != nil {
		return "", err
	}
	if !windows {
		return u.Path, nil
	}
	host, p := u.Host, u.Path
	switch drive := strings.TrimPrefix(p, "/"); {
	case len(host) == 2 && host[1] == ':': // file://C:/x
		p = host + p
	case host != "" && !strings.EqualFold(host, "localhost"): // file://server/share/x
		p = "//" + host + p
	case strings.HasPrefix(p, "///"): // file://///server/share
		p = p[1:]
	case len(drive) > 1 && drive[1] == ':': // file:///C:/x
		p = drive
	}
	return strings.ReplaceAll(p, "/", `\`), nil
}

func (f *folder) open() error {
	if f.repo != nil {
		return nil
	}
	dir, err := folderPath(f.url)
	if err != nil {
		return err
	}
	f.repo, err = openLocal(dir, false)
	switch {
	case errors.Is(err, errNoRepository):
		return notFoundError(f.url)
	case errors.Is(err, errSHA256):
		return objectFormatError(f.url, "sha256")
	}
	return err
}

func (f *folder) refs(ctx context.Context) ([]advert, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	var refs []advert
	if head, err := f.repo.store.Reference(plumbing.HEAD); err == nil {
		a := advert{name: "HEAD", id: head.Hash(), symref: head.Target().String()}
		if target, err := storer.ResolveReference(f.repo.store, plumbing.HEAD); err == nil {
			a.id = target.Hash()
		}
		refs = append(refs, a)
	}
	all, err := f.repo.store.IterReferences()
	if err != nil {
		return nil, err
	}
	err = all.ForEach(func(r *plumbing.Reference) error {
		name := r.Name().String()
		if name == "HEAD" || r.Type() != plumbing.HashReference || !wanted(name) {
			return ctx.Err()
		}
		a := advert{name: name, id: f.repo.peel(r.Hash())}
		if a.id != r.Hash() {
			a.tag = r.Hash()
		}
		refs = append(refs, a)
		return ctx.Err()
	})
	return refs, err
}

// read adds one object to set.
func (f *folder) read(id plumbing.Hash, kind plumbing.ObjectType, set *objectSet) ([]byte, error) {
	size, err := f.repo.store.EncodedObjectSize(id)
	if err != nil {
		return nil, err
	}
	if !set.room(size) {
		return nil, errTooLarge
	}
	o, err := f.repo.store.EncodedObject(kind, id)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, err
	}
	_, err = set.add(kind, data)
	return data, err
}

func (f *folder) objects(ctx context.Context, commit plumbing.Hash, to *objectSet) error {
	if err := f.open(); err != nil {
		return err
	}
	data, err := f.read(commit, plumbing.CommitObject, to)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return &unreached{final: true}
	} else if err != nil {
		return err
	}
	root, _, err := parseCommit(data)
	if err != nil {
		return err
	}
	return addTrees(root, to, func(id plumbing.Hash) ([]byte, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return f.read(id, plumbing.TreeObject, to)
	})
}

func (f *folder) blobs(ctx context.Context, _ plumbing.Hash, ids []plumbing.Hash, to *objectSet) error {
	if err := f.open(); err != nil {
		return err
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := f.read(id, plumbing.BlobObject, to); err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) {
			return err
		}
	}
	return nil
}

func (f *folder) tag(ctx context.Context, id plumbing.Hash, to *objectSet) error {
	if err := f.open(); err != nil {
		return err
	}
	_, err := f.read(id, plumbing.TagObject, to)
	return err
}
