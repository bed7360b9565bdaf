package sandbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/runtime/sandbox/internal/stage"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

const maxFollowed = 40 // links on the way to one protected path

// ChangeTime is the time of the last change of a file or of what is known about it, in nanoseconds.
func ChangeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// A pin is a mount point in the making.
type pin struct {
	stage.Pin
	absent bool // a placeholder has to be made first
}

// plan decides how the mounts of tier 1 keep what j.Protect names, and makes the placeholders. It returns the paths
// that mounts cannot keep, because their directory is not there, and the links, which not every kernel pins.
//
// A mount point cannot be renamed, replaced or removed, but the directory above it can. So every directory on the
// way down from a tree that the program may write is one too.
func (s *shield) plan(j *job) (open, links []string, err error) {
	m := mounts{pins: map[string]pin{}}
	for _, dir := range j.Write {
		m.roots = append(m.roots, realOf(dir))
	}
	if !j.ReadOnly {
		m.roots = append(m.roots, realOf(j.Dir))
	}
	for _, path := range j.Protect {
		if err := m.add(path); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range m.sorted() {
		if p.absent {
			placed, err := place(p.Path)
			if errors.Is(err, errNobody) {
				m.open = append(m.open, p.Path)
				continue
			}
			if err != nil {
				return nil, nil, diag.New(diag.Failed, "sandbox_start", "keeping %s from being made: %w", p.Path, err)
			}
			if placed != nil {
				s.placed = append(s.placed, placed)
			}
		}
		s.pins = append(s.pins, p)
	}
	return m.open, m.links, nil
}

func realOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// mounts collects pins.
type mounts struct {
	roots []string // trees that may be written, without links
	pins  map[string]pin
	open  []string
	links []string
}

// add walks to path and pins what it meets.
func (m *mounts) add(path string) error {
	at, links := "/", 0
	for rest := strings.Split(filepath.Clean(path), "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(rest) == 0:
			m.pin(stage.Seal, next, true)
			return nil
		case err != nil:
			m.open = append(m.open, path) // also where a file is in the place of a directory
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxFollowed {
				m.open = append(m.open, path)
				return nil
			}
			target, err := os.Readlink(next)
			if err != nil {
				return diag.New(diag.Failed, "sandbox_start", "protecting %s: %w", path, err)
			}
			m.pin(stage.Link, next, false)
			if m.root(next) != "" {
				m.links = append(m.links, next)
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		case len(rest) == 0:
			m.pin(stage.Seal, next, info.IsDir() && IsPlaceholder(info))
		default:
			at = next
		}
	}
	return nil
}

// root is the outermost writable tree that holds path, "" if there is none.
func (m *mounts) root(path string) string {
	best := ""
	for _, root := range m.roots {
		if (below(root, path) || root == path) && (best == "" || len(root) < len(best)) {
			best = root
		}
	}
	return best
}

func below(dir, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") && path != dir
}

// pin adds path, and holds the directories above it that the program could move.
func (m *mounts) pin(kind stage.PinKind, path string, absent bool) {
	root := m.root(path)
	if root == "" {
		return
	}
	if have, ok := m.pins[path]; !ok || kind > have.Kind {
		m.pins[path] = pin{stage.Pin{Kind: kind, Path: path}, absent}
	}
	for dir := path; dir != root; {
		dir = filepath.Dir(dir)
		if _, ok := m.pins[dir]; !ok && dir != "/" {
			m.pins[dir] = pin{Pin: stage.Pin{Kind: stage.Hold, Path: dir}}
		}
	}
}

// sorted is the pins from the top down, without those that a sealed directory covers.
func (m *mounts) sorted() []pin {
	var all, out []pin
	for _, p := range m.pins {
		all = append(all, p)
	}
	order.Sort(all, func(a, b pin) int {
		return cmp.Or(strings.Count(a.Path, "/")-strings.Count(b.Path, "/"), strings.Compare(a.Path, b.Path))
	})
	for _, p := range all {
		covered := false
		for dir := filepath.Dir(p.Path); dir != "/" && !covered; dir = filepath.Dir(dir) {
			above, ok := m.pins[dir]
			covered = ok && above.Kind == stage.Seal
		}
		if !covered {
			out = append(out, p)
		}
	}
	return out
}

// A placeholder is an empty directory where nothing may be made: a mount needs something to be mounted on. Whoever
// uses it holds a shared lock on it, so that the last one removes it, also one that a killed process left behind.
// Removing cannot destroy anything, since it is a directory that has to be empty.
type placeholder struct {
	path string
	dir  *os.File
}

// errNobody says that the program could not make anything there either.
var errNobody = errors.New("the directory cannot be written")

// place makes or joins the placeholder at path. It returns nil where somebody just made something else.
func place(path string) (*placeholder, error) {
	for range 100 {
		err := os.Mkdir(path, 0o555|fs.ModeSticky)
		switch {
		case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrNotExist):
			return nil, errNobody
		case err != nil && !errors.Is(err, fs.ErrExist):
			return nil, err
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // its last user removed it
		}
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		p := &placeholder{path: path, dir: os.NewFile(uintptr(fd), path)}
		info, err := p.dir.Stat()
		if err == nil && !IsPlaceholder(info) {
			p.dir.Close()
			return nil, nil
		}
		if err == nil {
			err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
		}
		if err == nil && p.current() {
			return p, nil
		}
		p.dir.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		time.Sleep(time.Millisecond) // it is being removed
	}
	return nil, errors.New("it is being made and removed all the time")
}

// current reports whether the path still leads to the directory that is open.
func (p *placeholder) current() bool {
	here, err := os.Lstat(p.path)
	if err != nil {
		return false
	}
	mine, err := p.dir.Stat()
	return err == nil && os.SameFile(here, mine)
}

// remove takes the placeholder away unless somebody else uses it. It says false if something else is there now.
func (p *placeholder) remove() bool {
	defer func() {
		_ = unix.Flock(int(p.dir.Fd()), unix.LOCK_UN) // closing alone leaves the lock to a program that is being started just then
		p.dir.Close()
	}()
	if !p.current() {
		_, err := os.Lstat(p.path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if unix.Flock(int(p.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return true
	}
	err := unix.Rmdir(p.path)
	return err == nil || errors.Is(err, unix.ENOENT)
}
