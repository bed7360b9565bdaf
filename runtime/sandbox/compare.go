package sandbox

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/order"
)

// Bounds of a comparison. A larger file is known by its size and times, and what follows the last entry is not known.
const (
	maxEntries = 20_000
	maxHashed  = 1 << 20  // bytes of one file
	allHashed  = 32 << 20 // bytes of all
	maxChanged = 100      // paths that are reported
)

// A picture is what was at some paths at one time. Directories are in it with all that is below them, links with
// what they lead to, unless they are not those of an earlier picture.
type picture struct {
	paths   []string
	links   []string // of these, the text alone
	planted []string // they were not there
	entries map[string]entry
	hashed  int64
	full    bool // there was more than maxEntries

	real  string            // dir without links
	dir   string            // below it things can be put back; "": nothing can
	kept  map[string]kept   // what can be put back, by path
	above map[string]kept   // the directories between dir and paths, and links in their place
	aside string            // the directory for what is there instead
	homes map[string]string // the directory above each of paths, without links
	bare  map[string]bool   // the directories between dir and paths that were not there
}

// An entry is what has to be the same for a file to be unchanged.
type entry struct {
	mode    fs.FileMode
	size    int64
	sum     [sha256.Size]byte // of a small file, or of the text of a link
	written time.Time         // of a file that is too large to be read
	changed int64             // the same, by the clock that no program can set; 0 where there is none
}

// takePicture looks at paths and links; was is what they are compared with afterwards, nil at first.
func takePicture(dir string, paths, links []string, was *picture) *picture {
	p := &picture{paths: paths, links: links, entries: map[string]entry{}, dir: dir, kept: map[string]kept{}, above: map[string]kept{}, homes: map[string]string{}, bare: map[string]bool{}}
	if dir != "" {
		p.real, _ = filepath.EvalSymlinks(dir)
	}
	for _, path := range links {
		if info, err := os.Lstat(path); err == nil {
			p.entries[path] = p.look(path, info)
		}
	}
	for _, path := range paths {
		tops := []string{path}
		if end, ok := strings.CutPrefix(filepath.Base(path), "*"); ok {
			tops = Ending(filepath.Dir(path), end)
		} else {
			p.lead(path)
		}
		for _, top := range tops {
			p.add(top)
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 && (was == nil || was.entries[path] == p.entries[path]) {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				p.add(real)
			}
		}
	}
	return p
}

func (p *picture) add(top string) {
	filepath.WalkDir(top, func(path string, d fs.DirEntry, _ error) error {
		if d == nil {
			return nil // it is not there
		}
		if _, known := p.entries[path]; known {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if len(p.entries) >= maxEntries {
			p.full = true
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil || IsPlaceholder(info) {
			return nil
		}
		p.entries[path] = p.look(path, info)
		return nil
	})
}

// Ending are the paths in a directory whose names end so.
func Ending(dir, end string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), end) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func (p *picture) look(path string, info fs.FileInfo) entry {
	e := entry{mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		e.sum = sha256.Sum256([]byte(target))
		p.kept[path] = kept{link: target}
	case info.Mode().IsRegular():
		e.size = info.Size()
		data, ok := []byte(nil), false
		if e.size <= maxHashed && p.hashed+e.size <= allHashed {
			data, ok = readSmall(path)
		}
		if !ok {
			e.written, e.changed = info.ModTime(), ChangeTime(info)
			break
		}
		e.sum = sha256.Sum256(data)
		p.hashed += e.size
		if p.dir != "" {
			p.kept[path] = kept{data: data}
		}
	}
	return e
}

// readSmall reads no more than maxHashed bytes and one, and nothing that could make it wait.
func readSmall(path string) ([]byte, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHashed+1))
	return data, err == nil
}

// changes compares with the present. It names files, and directories only where they came or went themselves; at most
// maxChanged, sorted.
func (p *picture) changes() []string {
	now := takePicture("", p.paths, p.links, p)
	var out []string
	for _, path := range p.planted {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	for path, e := range p.entries {
		if then, ok := now.entries[path]; ok && then != e || !ok && !now.full {
			out = append(out, path)
		}
	}
	if !p.full {
		for path := range now.entries {
			// what a planted link leads to outside did not come with it
			if _, ok := p.entries[path]; !ok && (p.dir == "" || strings.HasPrefix(path, strings.TrimSuffix(p.dir, string(filepath.Separator))+string(filepath.Separator))) {
				out = append(out, path)
			}
		}
	}
	return out
}

// sorted is list in order, each path once.
func sorted(list []string) []string {
	order.Sort(list, func(a, b string) int { return bytes.Compare([]byte(a), []byte(b)) })
	list = slices.Compact(list)
	return slices.Clip(list[:min(len(list), maxChanged)])
}

// IsPlaceholder recognises the directories that stand where nothing may be made. Their mode is one that nobody gives
// to a directory by accident: sticky, and written by none.
func IsPlaceholder(info fs.FileInfo) bool {
	return info.IsDir() && info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&0o222 == 0
}

// A shield is what Protect and Watch mean in one run.
type shield struct {
	pins    []pin
	placed  []*placeholder
	before  *picture        // nil: nothing is compared
	planted func() []string // nil: nobody looks for more
}

// raise prepares the protection of j, and the picture of what cannot be protected in its tier. The caller drops it
// when the program has ended.
func raise(j *job) (*shield, error) {
	s := &shield{}
	if j.Off || len(j.Protect)+len(j.Watch) == 0 && j.Planted == nil {
		return s, nil
	}
	if j.ReadOnly && len(j.Write) == 0 && j.report.Tier.atLeast(Tier2) {
		return s, nil // it can write nowhere
	}
	compare, links := slices.Clone(j.Watch), []string(nil)
	switch j.report.Tier {
	case Tier1:
		open, pinned, err := s.plan(j)
		if err != nil {
			s.drop()
			return nil, err
		}
		compare, links = append(compare, open...), pinned
	case Seatbelt:
		for _, path := range j.Protect { // a directory that is made under another name and moved brings its content along
			if _, err := os.Lstat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
				compare = append(compare, path)
			}
		}
	default:
		compare = append(compare, j.Protect...)
	}
	if s.planted = j.Planted; len(compare)+len(links) > 0 || s.planted != nil {
		s.before = takePicture(j.Dir, compare, links, nil)
		s.before.aside = j.Aside
	}
	return s, nil
}

// A difference is what changed in spite of a shield.
type difference struct {
	changed  []string
	restored []string // of changed, what is as it was again
	aside    string   // the directory with what was there instead
}

// drop ends the protection, and puts back what has changed in spite of it. Further calls do nothing.
func (s *shield) drop() difference {
	var d difference
	for _, p := range s.placed {
		if !p.remove() {
			d.changed = append(d.changed, p.path)
		}
	}
	if s.before != nil {
		if s.planted != nil {
			s.before.planted = s.planted()
		}
		if changed := s.before.changes(); len(changed) > 0 {
			var found []string
			found, d.aside = s.before.restore()
			changed = append(changed, found...)
			d.changed = append(d.changed, changed...)
			still := s.before.changes()
			for _, path := range changed {
				if !slices.Contains(still, path) {
					d.restored = append(d.restored, path)
				}
			}
		}
	}
	s.placed, s.before, s.planted = nil, nil, nil
	d.changed, d.restored = sorted(d.changed), sorted(d.restored)
	return d
}
