// Package files finds the files of a repository that an index covers, and says when they change.
//
//   - Files that git would not track are left out: .gitignore files of every directory, .git/info/exclude and the user's
//     core.excludesFile, with git's semantics (gitignore(5)). A root inside a bigger repository also goes by the
//     .gitignore files above it, up to the repository's top; a repository inside the root goes by its own rules
//     alone. A directory without .git is walked by the .gitignore files in it.
//   - The root itself is always walked, even where a rule above it ignores it: somebody asked for it.
//   - Files whose names say that they hold keys or passwords are left out ([secrets.Named]), whatever .gitignore says, and counted.
//   - So are hard links that lead out of the tree: files with more names than the walk meets. A walk does not meet names in
//     directories that it does not enter. Windows does not say how many names a file has.
//   - Walker.Also brings back what the rules leave out.
//   - A file that git tracks although a rule ignores it is left out too: the index of git is not read. ripgrep does the same.
//   - .git, node_modules and other directories of tools are never entered (Skipped), nor is a directory that a
//     CACHEDIR.TAG marks as a cache. Hidden files are found.
//   - Symbolic links are not followed, and no link is a file; nor is a FIFO, a socket or a device.
//   - Files over MaxFileBytes are listed as too large. Names that are not UTF-8, or hold a newline or a NUL, are left out and counted.
//   - A directory that cannot be read, or whose path is too long for the system, is reported and does not end the
//     walk. One that disappears meanwhile is as if it had never been.
//   - Of a file of patterns the first MaxRuleBytes count. Of git's configuration core.excludesFile, core.ignoreCase
//     and includes are read, of those under a condition that of a folder (gitdir, gitdir/i). No program is run and nothing is written.
package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxFileBytes is the size of the largest file that is read as a whole and indexed.
const MaxFileBytes = 4 << 20

// MaxRuleBytes is how much is read of a file of patterns or of configuration.
const MaxRuleBytes = 256 << 10

// MaxChanges is the number of changed paths that a Watcher tells one by one.
const MaxChanges = 10_000

// ErrWatch is that of a system that cannot watch (more) directories.
var ErrWatch = errors.New("cannot watch for changes")

// A File is one that was found.
type File struct {
	Path  string // relative to the root, with slashes
	Stamp Stamp
}

// A Stamp changes when a file does, as far as a file system tells.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // nanoseconds since 1970, 0 where there is none
	Inode uint64
}

// StampOf returns the stamp of a file. CTime and Inode are 0 on Windows, and for an info that is not of the system's own.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{Size: info.Size(), MTime: info.ModTime().UnixNano()}
	s.CTime, s.Inode = identity(info)
	return s
}

// A Walker walks one repository. Configure its fields before the first call. It may be used concurrently.
type Walker struct {
	Root  string
	Extra []string // more patterns as in .gitignore of the root; they win over all others
	Also  []string // patterns as in .gitignore, of what is listed although it is ignored, secret or linked from elsewhere
	Marks string   // an existing directory outside the root, or one that is left out, for [Watcher.Sync]; absolute, without links

	// Getenv says where the user's git configuration is: HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL,
	// GIT_CONFIG_SYSTEM, GIT_CONFIG_NOSYSTEM. nil means os.Getenv.
	Getenv func(string) string

	watchable int // how many files and directories a Watcher may open, where it has to; 0 asks the system

	mu    sync.Mutex // guards known
	known *known     // what Ignored read last, nil before
}

// A List is what a walk found. Everything in it is sorted in byte order.
type List struct {
	Files      []File
	TooLarge   []File
	Odd        int      // names that were left out
	Ignored    int      // files and directories that rules of git, or Extra, leave out; what is in those directories is not counted
	Secret     []string // files that were left out for their names
	Linked     []string // files that were left out because they have other names outside
	Dirs       []string // that were entered, relative with slashes, "" for the root
	Unreadable []string // directories that were not entered, or not wholly listed, because of an error
}

// Walk lists the files, with at most 4 workers. It fails if the root cannot be read, with the cause from os (such as
// fs.ErrNotExist), or with the error of ctx.
func (w *Walker) Walk(ctx context.Context) (List, error) {
	r, err := w.rules()
	if err != nil {
		return List{}, err
	}
	return (&walk{rules: r}).run(ctx, "", r.outer)
}

// Ignored says whether a path is left out. dir says that it is a directory. path is relative to the root, with
// slashes, and need not exist; "" and "." are the root. Rules that changed since the last call are read anew.
func (w *Walker) Ignored(path string, dir bool) bool {
	if path == "" || path == "." {
		return false
	}
	if !fs.ValidPath(path) || odd(path) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || !w.known.current() {
		r, err := w.rules()
		if err != nil {
			return true
		}
		w.known = &known{rules: r, dirs: map[string]*knownDir{}}
	}
	return w.known.ignored(path, dir)
}

// rules reads what holds for the whole walk.
func (w *Walker) rules() (*rules, error) {
	root, err := filepath.Abs(w.Root)
	if err != nil {
		return nil, err
	}
	getenv := w.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	r := &rules{root: root, getenv: getenv}
	if len(w.Also) > 0 {
		r.also = parseList(strings.Join(w.Also, "\n"), false)
	}
	if len(w.Extra) > 0 {
		r.extra = parseList(strings.Join(w.Extra, "\n"), false)
	}
	r.findOuter()
	return r, nil
}

// Directory is the pattern that means the directory at path, relative to the root with slashes, and no other.
func Directory(path string) string {
	var b strings.Builder
	for _, r := range "/" + path + "/" {
		if strings.ContainsRune(`\*?[]!# `, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Skipped says that a directory of this name is never entered: tools keep their own things there.
func Skipped(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj",
		"node_modules",
		"__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache":
		return true
	}
	return false
}

// odd says that a name cannot be told in an answer.
func odd(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= utf8.RuneSelf {
			return !utf8.ValidString(name[i:]) || strings.ContainsAny(name[i:], "\n\x00")
		} else if c == '\n' || c == 0 {
			return true
		}
	}
	return false
}

// known is what Ignored keeps between calls.
type known struct {
	rules *rules
	dirs  map[string]*knownDir // by path; emptied when it has maxKnownDirs
}

const maxKnownDirs = 4096

// A knownDir is one directory above a path that Ignored was asked about.
type knownDir struct {
	stamps [3]Stamp // of .gitignore, .git and CACHEDIR.TAG; zero where there is none
	parent *scope
	scope  *scope
	skip   bool
}

// current says that the files behind k.rules have not changed.
func (k *known) current() bool {
	for _, in := range k.rules.inputs {
		if stampAt(in.path, os.Stat) != in.stamp {
			return false
		}
	}
	return true
}

func (k *known) ignored(path string, dir bool) bool {
	s, skip := k.enter("", k.rules.outer)
	for i := 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		up := path[:i]
		if k.rules.ignored(s, up, up[strings.LastIndexByte(up, '/')+1:], true) {
			return true
		}
		if s, skip = k.enter(up, s); skip {
			return true
		}
	}
	if k.rules.ignored(s, path, path[strings.LastIndexByte(path, '/')+1:], dir) {
		return true
	}
	if dir {
		_, skip = k.enter(path, s)
	}
	return skip
}

// enter returns the rules that hold in the directory rel. skip says that it is not walked.
func (k *known) enter(rel string, parent *scope) (s *scope, skip bool) {
	abs := k.rules.abs(rel)
	if rel != "" {
		if info, err := os.Lstat(abs); err == nil && !info.IsDir() {
			return parent, true
		}
	}
	var stamps [3]Stamp
	for i, name := range governing {
		stamps[i] = stampAt(abs+string(filepath.Separator)+name, os.Lstat)
	}
	if d := k.dirs[rel]; d != nil && d.stamps == stamps && d.parent == parent {
		return d.scope, d.skip
	}
	if len(k.dirs) >= maxKnownDirs {
		clear(k.dirs)
	}
	has := func(i int) bool { return stamps[i] != Stamp{} }
	s, skip = k.rules.enter(rel, parent, has(0), has(1), has(2))
	k.dirs[strings.Clone(rel)] = &knownDir{stamps: stamps, parent: parent, scope: s, skip: skip}
	return s, skip
}

// governing are the names whose appearance, change or removal changes what is ignored.
var governing = [3]string{".gitignore", ".git", "CACHEDIR.TAG"}

func governs(name string) bool { return slices.Contains(governing[:], name) }

func stampAt(path string, stat func(string) (fs.FileInfo, error)) Stamp {
	info, err := stat(path)
	if err != nil {
		return Stamp{}
	}
	return StampOf(info)
}
