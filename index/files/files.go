// Package files finds the files of a repository that an index covers, and says when they change.
//
//   - What git would not track is left out: .gitignore files of every directory, .git/info/exclude and the user's
//     core.excludesFile, with git's semantics; a directory without .git is walked by the .gitignore files in it.
//   - .git, node_modules and other directories of tools are never entered (Skipped). Symbolic links are not followed, and no link is a file.
//     Hidden files are found.
//   - Files over MaxFileBytes are listed as too large. Names that are not UTF-8, or hold a newline or a NUL, are left out and counted.
package files

import (
	"context"
	"errors"
	"io/fs"
)

// MaxFileBytes is the size of the largest file that is read.
const MaxFileBytes = 4 << 20

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

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp { panic("not written") }

// A Walker walks one repository. Configure its fields before the first call. It may be used concurrently.
type Walker struct {
	Root  string
	Extra []string // more patterns as in .gitignore
}

// A List is what a walk found.
type List struct {
	Files    []File // sorted by path in byte order
	TooLarge []File
	Odd      int      // names that were left out
	Dirs     []string // that were entered, relative with slashes, "" for the root
}

// Walk lists the files, with several workers.
func (w *Walker) Walk(ctx context.Context) (List, error) { panic("not written") }

// Ignored says whether a path is left out. dir says that it is a directory.
func (w *Walker) Ignored(path string, dir bool) bool { panic("not written") }

// A Watcher tells of changes below a root.
type Watcher struct{}

// Watch starts watching the directories of w. Its error is [ErrWatch] where the system has no more watches.
func (w *Walker) Watch(ctx context.Context) (*Watcher, error) { panic("not written") }

// Changes takes the paths that changed since the last call, sorted. all says that events were lost or that too much changed: everything may have.
func (w *Watcher) Changes() (paths []string, all bool) { panic("not written") }

// Wait returns when there are changes, or with the error of ctx.
func (w *Watcher) Wait(ctx context.Context) error { panic("not written") }

// Close ends it.
func (w *Watcher) Close() error { panic("not written") }
