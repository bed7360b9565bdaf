// Package scratch makes private directories in the temporary directory, and removes those that a killed process left there.
//
// Each is below one of skl's own, which holds a mark besides and is held by a lock on itself, which ends with the process however it ends.
// The first New of a process sweeps what this user's killed processes left: a directory without the mark is not skl's, whatever it is called. Where directories cannot be locked (Windows), what is older than a day is swept.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// kinds are the words after "skl-" in the names of directories.
var kinds = []string{"claude", "copilot", "sandbox", "script", "undone"}

// mark is the file beside a directory that says whose it is, with markText in it.
const (
	mark     = "skl-scratch"
	markText = "Left by a skl that was killed. The next one removes it.\n"
	inner    = "d"
)

var swept sync.Once

// New makes a directory for a purpose, one of kinds, that only this user can read. Its path has no links. remove
// removes it with all that is in it, also what was made unreadable. It may be used concurrently.
func New(kind string) (path string, remove func(), err error) {
	if !slices.Contains(kinds, kind) {
		panic("scratch: " + kind + " would not be swept")
	}
	swept.Do(sweep)
	for range 100 {
		dir, err := os.MkdirTemp("", "skl-"+kind+"-")
		if err != nil {
			return "", nil, err
		}
		held, err := hold(dir)
		if errors.Is(err, errTaken) {
			continue // another process swept it before it was locked
		}
		if err != nil {
			os.Remove(dir)
			return "", nil, err
		}
		path := filepath.Join(dir, inner)
		if err := errors.Join(os.WriteFile(filepath.Join(dir, mark), []byte(markText), 0o600), os.Mkdir(path, 0o700)); err != nil {
			Remove(dir)
			held.Close()
			return "", nil, err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return path, func() { Remove(dir); held.Close() }, nil
	}
	return "", nil, fmt.Errorf("making a directory in %s: others remove it", os.TempDir())
}

// errTaken is that of a directory which another process holds or has removed.
var errTaken = errors.New("the directory is taken")

// sweep removes what killed processes left. What cannot be removed stays, and the next process tries again.
func sweep() {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "skl-")
		if !ok || !e.IsDir() || !slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(rest, kind+"-") }) {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		if free := abandoned(path); free != nil {
			if marked(path) {
				Remove(path)
			}
			free()
		}
	}
}

// marked reports whether dir holds what New makes and nothing else.
func marked(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	found := false
	for _, e := range entries {
		switch {
		case e.Name() == mark && e.Type().IsRegular():
			info, err := e.Info()
			found = err == nil && info.Size() == int64(len(markText))
		case e.Name() != inner || !e.IsDir():
			return false
		}
	}
	if !found {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, mark))
	return err == nil && string(text) == markText
}

// Remove removes a directory with all that is in it, also directories whose owner may not read or write them.
func Remove(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}
