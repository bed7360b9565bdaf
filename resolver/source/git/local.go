package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	objectcache "github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// A local is a repository on this machine, read in this process: no program runs, and of its configuration only what says how it
// is kept is obeyed. go-git's own way to open one links its signatures, diffs and servers, a megabyte that nobody here uses.
type local struct {
	store *filesystem.Storage
	own   string // the directory of the work tree's index and HEAD
	tree  string // the directory that .git lies in, "" for a bare repository
}

var (
	errNoRepository = errors.New("there is no git repository")
	errSHA256       = errors.New("the repository has SHA-256 ids")
)

// openLocal opens the repository of dir: dir itself if it is bare, or what its .git is or points to. With upwards,
// the directories above are tried too. The error is errNoRepository where there is none, and errSHA256 for ids that are not SHA-1.
func openLocal(dir string, upwards bool) (*local, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoRepository
	}
	own, tree := dir, ""
	for at := dir; ; at = filepath.Dir(at) {
		found, err := gitDir(at)
		if err != nil {
			return nil, err
		}
		if found != "" {
			own, tree = found, at
			break
		}
		if !upwards || at == filepath.Dir(at) {
			break
		}
	}
	var common billy.Filesystem // of a work tree that git worktree made
	text, err := readPointer(filepath.Join(own, "commondir"))
	switch {
	case err == nil && text != "":
		if !filepath.IsAbs(text) {
			text = filepath.Join(own, text)
		}
		common = osfs.New(text)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	l := &local{filesystem.NewStorage(dotgit.NewRepositoryFilesystem(osfs.New(own), common), objectcache.NewObjectLRUDefault()), own, tree}
	if _, err := l.store.Reference(plumbing.HEAD); errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, errNoRepository
	} else if err != nil {
		return nil, err
	}
	return l, l.readable()
}

// gitDir is where the .git of dir is or points to, "" if dir has none.
func gitDir(dir string) (string, error) {
	path := filepath.Join(dir, ".git")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		return path, nil
	}
	text, err := readPointer(path)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not begin with gitdir: ", path)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return to, nil
}

// readPointer reads a file that holds one path.
func readPointer(path string) (string, error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line), err
}

// readable fails for a repository that says that it is kept in a way which is not known here.
func (l *local) readable() error {
	config, err := l.store.Config()
	if err != nil {
		return err
	}
	switch v := config.Raw.Section("core").Option("repositoryformatversion"); v {
	case "", "0", "1":
	default:
		return fmt.Errorf("core.repositoryformatversion %q is not known", v)
	}
	for _, o := range config.Raw.Section("extensions").Options {
		value := strings.ToLower(o.Value)
		switch key := strings.ToLower(o.Key); {
		case key == "objectformat" && value == "sha256":
			return errSHA256
		case key == "objectformat" && value == "sha1", key == "refstorage" && value == "files":
		case key == "noop", key == "noop-v1", key == "preciousobjects", key == "partialclone", key == "worktreeconfig", key == "relativeworktrees":
		default:
			return fmt.Errorf("the extension %s = %s of the repository is not known", o.Key, o.Value)
		}
	}
	return nil
}

// object returns the content of an object of that kind, up to limit bytes.
func (l *local) object(kind plumbing.ObjectType, id plumbing.Hash, limit int64) ([]byte, error) {
	size, err := l.store.EncodedObjectSize(id)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, errTooLarge
	}
	o, err := l.store.EncodedObject(kind, id)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, size+1))
}

// peel follows tags, of tags too, to what they name; other objects are what they are.
func (l *local) peel(id plumbing.Hash) plumbing.Hash {
	for range 8 {
		data, err := l.object(plumbing.TagObject, id, 1<<20)
		if err != nil {
			break
		}
		line, _, _ := strings.Cut(string(data), "\n")
		to, ok := strings.CutPrefix(line, "object ")
		if !ok || !plumbing.IsHash(to) {
			break
		}
		id = plumbing.NewHash(to)
	}
	return id
}
