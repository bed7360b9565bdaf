package tool

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/sandbox"
)

// Programs are kept from spots in directories below the working directory as well. Which there are is looked up before a program
// runs; what it adds is found by looking again, and set aside. Directories whose time of change is the same are not read again.

const (
	maxDirs    = 100_000 // directories that are looked into
	maxNested  = 300     // spots that mounts keep; the others are put back afterwards
	maxGits    = 256     // directories of git
	freshAfter = 50 * time.Millisecond
)

// packages are directories that package managers fill. What is in them is code of others that runs when the project is built or
// started, and is full of files of their authors' own agents and services: nobody works in there.
var packages = strings.Fields("node_modules bower_components site-packages dist-packages .venv venv .tox .nox Pods")

// A nest is what is known of the directories below the working directory.
type nest struct {
	mu   sync.Mutex
	dirs map[string]*looked // by path below the working directory, "." for itself
	told bool               // that there is too much
}

// looked is a directory when it was read.
type looked struct {
	changed int64 // its time of change then; 0: not known
	dirs    []string
	spots   []string // names
	git     []string // which of gitParts are there: with all of them it is a directory of git
}

// A sight is what was found at one time, by path below the working directory.
type sight struct {
	spots map[string]bool
	gits  map[string]bool     // directories of git
	parts map[string][]string // by directory: which of gitParts it has, if it has any
}

// survey finds the spots and directories of git that there are now.
func (c *core) survey() sight {
	c.nest.mu.Lock()
	defer c.nest.mu.Unlock()
	s := sight{spots: map[string]bool{}, gits: map[string]bool{}, parts: map[string][]string{}}
	known := make(map[string]*looked, len(c.nest.dirs))
	for queue := []string{"."}; len(queue) > 0; {
		rel := queue[0]
		queue = queue[1:]
		if len(known) >= maxDirs {
			break
		}
		l := c.lookInto(rel, c.nest.dirs[rel])
		if l == nil {
			continue
		}
		known[rel] = l
		if len(l.git) > 0 {
			s.parts[rel] = l.git
		}
		if len(l.git) == len(gitParts) {
			s.gits[rel] = true
			continue
		}
		for _, name := range l.spots {
			at := path.Join(rel, name)
			if info, err := c.work.root.Lstat(at); err == nil && isDotGit(name) && info.IsDir() {
				s.gits[at] = true
			} else if err == nil && !sandbox.IsPlaceholder(info) {
				s.spots[at] = true
			}
		}
		for _, name := range l.dirs {
			queue = append(queue, path.Join(rel, name))
		}
	}
	c.nest.dirs = known
	return s
}

// lookInto reads a directory unless it is as it was known. nil: there is none.
func (c *core) lookInto(rel string, was *looked) *looked {
	info, err := os.Lstat(c.inWork(rel)) // a link above can lead elsewhere, and then nothing more comes of it than a name
	if err != nil || !info.IsDir() {
		return nil
	}
	changed := sandbox.ChangeTime(info)
	if was != nil && was.changed != 0 && was.changed == changed {
		return was
	}
	if time.Since(time.Unix(0, changed)) < freshAfter {
		changed = 0 // it may change again within one tick of the clock
	}
	l := &looked{changed: changed}
	entries, err := c.list(rel, info)
	if err != nil {
		l.changed = 0
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case isDotGit(name), c.marks.ends(rel, name):
			l.spots = append(l.spots, name)
		case e.IsDir() && !slices.Contains(packages, name):
			l.dirs = append(l.dirs, name)
		}
		if isGitPart(name) {
			l.git = append(l.git, name)
		}
	}
	return l
}

// list reads a directory, also one that a program made unreadable. It waits for nothing that was put in its place.
func (c *core) list(rel string, info fs.FileInfo) ([]fs.DirEntry, error) {
	open := func() (*os.File, error) { return os.OpenFile(c.inWork(rel), os.O_RDONLY|nonblock, 0) }
	d, err := open()
	if err != nil {
		if c.work.root.Chmod(rel, info.Mode().Perm()|0o500) != nil {
			return nil, err
		}
		if d, err = open(); err != nil {
			return nil, err
		}
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// guardNested adds what lies in directories below, and returns how what a program adds there is found.
func (c *core) guardNested(protect, watch []string) (_, _ []string, planted func() []string) {
	before := c.survey()
	for i, rel := range slices.SortedFunc(maps.Keys(before.spots), shallowFirst) {
		if i < maxNested {
			protect = append(protect, c.inWork(rel))
		} else {
			watch = append(watch, c.inWork(rel))
		}
	}
	left := maxGits
	for _, rel := range slices.SortedFunc(maps.Keys(before.gits), shallowFirst) {
		if rel != ".git" { // which is seen to on its own
			protect, watch = gitPaths(protect, watch, c.inWork(rel), &left)
		}
	}
	return protect, watch, func() []string { return c.added(before) }
}

// added are the paths of spots that were not there before, and of what makes a directory of git or says what git runs in it.
func (c *core) added(before sight) (paths []string) {
	now := c.survey()
	for rel := range now.spots {
		if !before.spots[rel] {
			paths = append(paths, c.inWork(rel))
		}
	}
	left := maxGits
	for _, rel := range slices.SortedFunc(maps.Keys(now.gits), shallowFirst) {
		if before.gits[rel] || rel == ".git" {
			continue
		}
		protect, watch := gitPaths(nil, nil, c.inWork(rel), &left)
		for _, at := range slices.Concat(protect, watch) {
			if isThere(at) {
				paths = append(paths, at)
			}
		}
		for _, name := range now.parts[rel] { // without .git in its name
			if !slices.Contains(before.parts[rel], name) {
				paths = append(paths, filepath.Join(c.inWork(rel), name))
			}
		}
	}
	return paths
}

// shallowFirst orders paths so that what is above comes first.
func shallowFirst(a, b string) int {
	return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
}

// tooMany says once that not all directories are looked into.
func (c *core) tooMany() bool {
	c.nest.mu.Lock()
	defer c.nest.mu.Unlock()
	if len(c.nest.dirs) < maxDirs || c.nest.told {
		return false
	}
	c.nest.told = true
	return true
}
