package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/skl-project/skl/install/durable"
)

// ErrNoWorkTree is that of a directory that is in no work tree of git. A bare repository is none, also one that somebody committed.
var ErrNoWorkTree = errors.New("it is in no work tree of git")

// maxWalked bounds the commits that are looked at for the last one of a folder.
const maxWalked = 200_000

// maxIndex bounds the index of git that is read, which is that of a million files.
const maxIndex = 256 << 20

// A WorkTree is a directory in the work tree of a repository on this machine. It is read in this process: whatever the repository's
// configuration and attributes say, no program runs. It may not be used concurrently.
type WorkTree struct {
	repo   *local
	dir    string
	inside string // dir relative to the top, with slashes; "." for the top
}

// OpenWorkTree opens the directory dir, an absolute path. The error wraps ErrNoWorkTree where there is no repository, and says
// what cannot be read of one that is there.
func OpenWorkTree(dir string) (*WorkTree, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	repo, err := openLocal(real, true)
	switch {
	case errors.Is(err, errNoRepository), err == nil && repo.tree == "":
		return nil, fmt.Errorf("%s: %w", dir, ErrNoWorkTree)
	case err != nil:
		return nil, err
	}
	inside, err := filepath.Rel(repo.tree, real)
	if err != nil {
		return nil, err
	}
	return &WorkTree{repo, real, filepath.ToSlash(inside)}, nil
}

// Origin is the address of the remote called origin as the repository's configuration says it, "" if there is none.
func (w *WorkTree) Origin() string {
	config, err := w.repo.store.Config()
	if err != nil || config.Remotes["origin"] == nil || len(config.Remotes["origin"].URLs) == 0 {
		return ""
	}
	return config.Remotes["origin"].URLs[0]
}

// LastCommit is the commit that HEAD has from the folder, as "git log -1 -- ." says it, and when it was made. id is "" if no commit has it.
func (w *WorkTree) LastCommit(ctx context.Context) (id string, when time.Time, err error) {
	at, err := w.head(ctx)
	if err != nil || at.IsZero() {
		return "", time.Time{}, err
	}
	shallow, err := w.repo.store.Shallow()
	if err != nil {
		return "", time.Time{}, err
	}
	here, when, err := w.treeOf(at)
	if err != nil || here.IsZero() {
		return "", time.Time{}, err
	}
walk:
	for range maxWalked {
		if err := ctx.Err(); err != nil {
			return "", time.Time{}, err
		}
		for n := 1; !slices.Contains(shallow, at); n++ {
			up, err := w.repo.parent(at, n)
			if errors.Is(err, plumbing.ErrReferenceNotFound) {
				break
			}
			if err != nil {
				return "", time.Time{}, err
			}
			there, made, err := w.treeOf(up)
			if err != nil {
				return "", time.Time{}, err
			}
			if there == here {
				at, when = up, made
				continue walk
			}
		}
		return at.String(), when, nil
	}
	return "", time.Time{}, fmt.Errorf("the last %d commits do not change %s", maxWalked, w.dir)
}

// head is the commit of HEAD, zero before the first one.
func (w *WorkTree) head(ctx context.Context) (plumbing.Hash, error) {
	at, err := w.repo.revision(ctx, "HEAD")
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	return at, err
}

// treeOf is the tree of the folder in a commit, zero if it has none, and when the commit was made.
func (w *WorkTree) treeOf(commit plumbing.Hash) (tree plumbing.Hash, when time.Time, err error) {
	data, err := w.repo.object(plumbing.CommitObject, commit, maxReadFile)
	if err != nil {
		return tree, when, fmt.Errorf("commit %s: %w", commit, err)
	}
	if tree, when, err = parseCommit(data); err != nil || w.inside == "." {
		return tree, when, err
	}
	for name := range strings.SplitSeq(w.inside, "/") {
		data, err := w.repo.object(plumbing.TreeObject, tree, maxReadFile)
		if err != nil {
			return plumbing.ZeroHash, when, fmt.Errorf("commit %s: %w", commit, err)
		}
		e, ok, err := inTree(data, name)
		if err != nil || !ok || e.mode&modeType != modeTree {
			return plumbing.ZeroHash, when, err
		}
		tree = e.id
	}
	return tree, when, nil
}

// A Kept is what a commit has at a path.
type Kept struct {
	Mode uint32 // 0o100644, 0o100755, 0o120000 for a link, 0o160000 for a submodule
	ID   plumbing.Hash
}

// Committed are the files of the folder in HEAD, by path relative to it. It is empty if HEAD has none.
func (w *WorkTree) Committed(ctx context.Context) (map[string]Kept, error) {
	out := map[string]Kept{}
	at, err := w.head(ctx)
	if err != nil || at.IsZero() {
		return out, err
	}
	tree, _, err := w.treeOf(at)
	if err != nil || tree.IsZero() {
		return out, err
	}
	return out, w.collect(ctx, tree, "", out)
}

// collect adds the files of a tree, which is at dir.
func (w *WorkTree) collect(ctx context.Context, tree plumbing.Hash, dir string, out map[string]Kept) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := w.repo.object(plumbing.TreeObject, tree, maxReadFile)
	if err != nil {
		return fmt.Errorf("tree %s: %w", tree, err)
	}
	for e, err := range treeEntries(data) {
		if err != nil {
			return fmt.Errorf("tree %s: %w", tree, err)
		}
		at := path.Join(dir, e.name)
		if e.mode&modeType != modeTree {
			out[at] = Kept{e.mode, e.id}
			continue
		}
		if strings.Count(at, "/") > maxDeep {
			return fmt.Errorf("tree %s is deeper than %d directories", tree, maxDeep)
		}
		if err := w.collect(ctx, e.id, at, out); err != nil {
			return err
		}
	}
	return nil
}

// maxDeep bounds the directories of a tree.
const maxDeep = 256

// BlobID is the id that git gives to the content of a file, or to the text of a link.
func BlobID(data []byte) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, data) }

// Changed returns which paths below the folder differ from HEAD, sorted: files that were changed, added, staged or removed. found are the
// files that are there and not ignored. Submodules are not looked at, nor files over limit bytes whose times differ.
func (w *WorkTree) Changed(ctx context.Context, found []string, limit int64) ([]string, error) {
	idx, err := w.repo.store.Index()
	if err != nil {
		return nil, err
	}
	prefix := ""
	if w.inside != "." {
		prefix = w.inside + "/"
	}
	written := int64(0) // when the index was; a file of that time may have changed once more
	if st, err := os.Stat(filepath.Join(w.repo.own, "index")); err == nil {
		written = st.ModTime().UnixNano()
	}
	changed, tracked := map[string]bool{}, map[string]*index.Entry{}
	for _, e := range idx.Entries {
		if e.Mode == filemode.Submodule {
			continue
		}
		rel, ok := strings.CutPrefix(e.Name, prefix)
		if !ok || !filepath.IsLocal(filepath.FromSlash(rel)) {
			continue
		}
		tracked[rel] = e
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.SkipWorktree { // a sparse checkout left it out
			continue
		}
		if e.Stage != 0 || differs(filepath.Join(w.dir, filepath.FromSlash(rel)), e, written, limit) {
			changed[rel] = true
		}
	}
	for _, p := range found {
		if tracked[p] == nil {
			changed[p] = true
		}
	}
	if err := w.staged(ctx, idx, tracked, changed); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(changed))
	for p := range changed {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

// differs reports whether a file is not what its entry says. A file of the same size and times is.
func differs(file string, e *index.Entry, written, limit int64) bool {
	st, err := os.Lstat(file)
	if err != nil {
		return true
	}
	isLink := e.Mode == filemode.Symlink
	if (st.Mode()&fs.ModeSymlink != 0) != isLink || !isLink && !st.Mode().IsRegular() {
		return true
	}
	if durable.HasModes && !isLink && (st.Mode()&0o100 != 0) != (e.Mode == filemode.Executable) {
		return true
	}
	at := st.ModTime()
	sameTime := at.Equal(e.ModifiedAt) || e.ModifiedAt.Nanosecond() == 0 && at.Unix() == e.ModifiedAt.Unix()
	if sameTime && uint32(st.Size()) == e.Size && at.UnixNano() < written {
		return false
	}
	if st.Size() > limit {
		return !sameTime || uint32(st.Size()) != e.Size
	}
	var data []byte
	if isLink {
		text, readErr := os.Readlink(file)
		data, err = []byte(filepath.ToSlash(text)), readErr
	} else {
		data, err = durable.ReadFile(file)
	}
	return err != nil || BlobID(data) != e.Hash
}

// An Unmerged is what git's index has of a file that a merge left to a person; nil where a side has no such file.
type Unmerged struct{ Base, Ours, Theirs []byte }

// Unmerged returns what the index has of a file in the folder, each text of up to limit bytes, as "git show :1:./name" and so on say it.
// ok is false where the index has no such merge of it.
func (w *WorkTree) Unmerged(name string, limit int64) (u Unmerged, ok bool, err error) {
	st, err := os.Stat(filepath.Join(w.repo.own, "index"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return u, false, nil
	case err != nil:
		return u, false, err
	case !st.Mode().IsRegular() || st.Size() > maxIndex:
		return u, false, fmt.Errorf("the index of git is not a file of up to %d bytes", maxIndex)
	}
	idx, err := w.repo.store.Index()
	if err != nil {
		return u, false, fmt.Errorf("reading the index of git: %w", err)
	}
	at := path.Join(w.inside, name)
	for _, e := range idx.Entries {
		if e.Name != at || e.Stage == 0 {
			continue
		}
		text := map[index.Stage]*[]byte{index.AncestorMode: &u.Base, index.OurMode: &u.Ours, index.TheirMode: &u.Theirs}[e.Stage]
		data, err := w.repo.object(plumbing.BlobObject, e.Hash, limit)
		if err != nil {
			return Unmerged{}, false, fmt.Errorf("%s in the index of git: %w", name, err)
		}
		*text, ok = append([]byte{}, data...), true
	}
	return u, ok, nil
}

// staged adds what the index has otherwise than HEAD.
func (w *WorkTree) staged(ctx context.Context, idx *index.Index, tracked map[string]*index.Entry, changed map[string]bool) error {
	at, err := w.head(ctx)
	if err != nil {
		return err
	}
	if !at.IsZero() && w.isWhole(idx, at) {
		return nil
	}
	head, err := w.Committed(ctx)
	if err != nil {
		return err
	}
	for rel, e := range tracked {
		if k, ok := head[rel]; !ok || k.ID != e.Hash || k.Mode != uint32(e.Mode) {
			changed[rel] = true
		}
	}
	for rel, k := range head {
		if tracked[rel] == nil && k.Mode != modeModule {
			changed[rel] = true
		}
	}
	return nil
}

// isWhole reports whether the index says of itself that it is the tree of a commit, as after one, so that no tree has to be read.
func (w *WorkTree) isWhole(idx *index.Index, commit plumbing.Hash) bool {
	if idx.Cache == nil || len(idx.Cache.Entries) == 0 || idx.Cache.Entries[0].Path != "" {
		return false
	}
	data, err := w.repo.object(plumbing.CommitObject, commit, maxReadFile)
	if err != nil {
		return false
	}
	tree, _, err := parseCommit(data)
	return err == nil && tree == idx.Cache.Entries[0].Hash
}
