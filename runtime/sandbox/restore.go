package sandbox

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/order"
)

const (
	maxAside  = 32 << 20 // bytes of a planted file that is kept
	maxRounds = 4        // what was hidden is seen when the directory above it can be read again
)

// A kept file is what is needed to put it back.
type kept struct {
	data []byte // of a regular file
	link string // of a link, its text
}

// lead notes how path is reached: what is between p.dir and it.
func (p *picture) lead(path string) {
	if p.dir == "" {
		return
	}
	if home, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		p.homes[path] = home
	}
	for at := filepath.Dir(path); len(at) > len(p.dir); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			p.bare[at] = errors.Is(err, fs.ErrNotExist)
		case info.IsDir():
			p.above[at] = kept{}
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(at); err == nil {
				p.above[at] = kept{link: target}
			}
		}
	}
}

// restore puts back what changed below p.dir, as far as the picture has it, and keeps what is there instead in a new directory,
// aside, which is "" if there was nothing. Everything is done through p.dir, so that no link that a program planted leads
// out of it; where the directory above a path is not the one that it was, nothing is done.
//
// found is what changed that nobody saw before, in directories that could not be read.
func (p *picture) restore() (found []string, aside string) {
	if real, err := filepath.EvalSymlinks(p.dir); err != nil || real != p.real {
		return nil, ""
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, ""
	}
	defer root.Close()
	away := func(rel string) bool {
		if aside == "" {
			if aside, err = os.MkdirTemp(p.aside, "skl-planted-"); err != nil {
				return false
			}
		}
		return setAside(root, rel, filepath.Join(aside, rel)) == nil && root.RemoveAll(rel) == nil
	}
	for _, path := range slices.SortedFunc(maps.Keys(p.above), deeperLast) {
		rel, err := filepath.Rel(p.dir, path)
		if err != nil {
			continue
		}
		was := p.above[path]
		now, err := root.Lstat(rel)
		isLink := err == nil && now.Mode()&fs.ModeSymlink != 0
		if err == nil && was.link == "" && !now.IsDir() {
			if away(rel) {
				root.Mkdir(rel, 0o755)
			}
		}
		if target, _ := root.Readlink(rel); was.link != "" && (!isLink || target != was.link) {
			if err != nil || away(rel) {
				root.Symlink(was.link, rel)
			}
		}
	}
	for range maxRounds {
		changed := p.changes()
		if len(changed) == 0 {
			break
		}
		found = append(found, changed...)
		order.Sort(changed, deeperLast)
		for _, path := range changed {
			p.mend(root, path, away)
			p.clear(root, path)
		}
	}
	return found, aside
}

// clear removes the directories above path that came with it, unless they hold something else.
func (p *picture) clear(root *os.Root, path string) {
	for at := filepath.Dir(path); p.bare[at]; at = filepath.Dir(at) {
		rel, err := filepath.Rel(p.dir, at)
		if info, lerr := root.Lstat(rel); err != nil || lerr != nil || !info.IsDir() || root.Remove(rel) != nil { // a directory that is not empty stays
			return
		}
	}
}

// deeperLast orders paths so that what is above comes first.
func deeperLast(a, b string) int {
	const sep = string(filepath.Separator)
	return cmp.Or(strings.Count(a, sep)-strings.Count(b, sep), strings.Compare(a, b))
}

// mend makes path what it was. away sets aside what is there.
func (p *picture) mend(root *os.Root, path string, away func(rel string) bool) {
	rel, err := filepath.Rel(p.dir, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." || !p.inPlace(path) {
		return
	}
	was, had := p.entries[path]
	if had && !p.has(path, was) {
		return // too large to have been kept
	}
	now, err := root.Lstat(rel)
	switch {
	case err == nil && had && was.mode.IsDir() && now.IsDir():
		root.Chmod(rel, was.mode.Perm())
		return
	case err == nil:
		if !away(rel) {
			return
		}
	case !errors.Is(err, fs.ErrNotExist):
		return
	}
	if had {
		p.putBack(root, rel, path, was)
	}
}

// has reports whether the picture has what is needed to put path back.
func (p *picture) has(path string, e entry) bool {
	_, ok := p.kept[path]
	return ok || e.mode.IsDir()
}

// inPlace reports whether the directory above the watched place that holds path is still the one that it was, or is gone.
func (p *picture) inPlace(path string) bool {
	for top, home := range p.homes {
		if top != path && !strings.HasPrefix(path, top+string(filepath.Separator)) {
			continue
		}
		now, err := filepath.EvalSymlinks(filepath.Dir(top))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && now != home {
			return false
		}
		if _, lerr := os.Lstat(filepath.Dir(top)); err != nil && lerr == nil {
			return false // a link to nowhere
		}
	}
	return true
}

// putBack makes what was at path.
func (p *picture) putBack(root *os.Root, rel, path string, was entry) {
	if root.MkdirAll(filepath.Dir(rel), 0o755) != nil {
		return
	}
	k := p.kept[path]
	switch {
	case was.mode.IsDir():
		if root.Mkdir(rel, 0o700) != nil {
			return
		}
	case was.mode&fs.ModeSymlink != 0:
		root.Symlink(k.link, rel)
		return
	default:
		f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return
		}
		_, err = f.Write(k.data)
		if errors.Join(err, f.Close()) != nil {
			return
		}
	}
	root.Chmod(rel, was.mode.Perm())
}

// setAside copies what is at rel to a place outside: files up to maxAside, the texts of links, and no other kinds.
func setAside(root *os.Root, rel, to string) error {
	info, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		root.Chmod(rel, 0o700) // it may not be readable
		d, err := root.Open(rel)
		if err != nil {
			return err
		}
		names, err := d.Readdirnames(maxEntries)
		d.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		for _, name := range names {
			if err := setAside(root, filepath.Join(rel, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(rel)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	root.Chmod(rel, 0o600)
	from, err := root.OpenFile(rel, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(from, maxAside+1))
	if err == nil && n > maxAside {
		err = errors.New("it is too large to be kept")
	}
	return errors.Join(err, f.Close())
}
