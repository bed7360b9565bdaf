package install

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Directories that skl made and that a removal leaves empty go too. Which ones it made is noted in the .gitignore of a root's
// .skl, which is committed with the receipts, so that every clone knows it. It is a claim of whoever wrote the project, and
// nothing that holds anything is ever removed by it.

const (
	// ignored keeps what is machine-local out of version control.
	ignored = "# receipts (*.json) are committed, the rest belongs to this machine\n/stage-*\n"
	// madeHere stands above the directories that skl made, one a line.
	madeHere = "# made by skl, and removed when nothing is left in them:\n"
	// maxNote bounds the file, in bytes.
	maxNote = 64 << 10
)

// notes are what lies beside receipts and holds nothing of a skill: the note, and the cache of an skl that kept it in the root.
var notes = []string{".gitignore", "stat.cache"}

func notePath(root string) string { return filepath.Join(root, ".skl", ".gitignore") }

// madeIn are the directories that skl made, below the base and slash-separated. known is false where no root says it.
func madeIn(s *Site) (dirs []string, known bool) {
	for _, root := range s.All() {
		data, err := s.Dir.ReadFile(notePath(root), maxNote)
		_, list, ok := bytes.Cut(data, []byte(madeHere))
		if err != nil || !ok {
			continue
		}
		known = true
		for _, line := range strings.Split(string(list), "\n") {
			if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, known
}

// noteState writes beside the receipts of roots what is not committed, and which directories t made.
func (t *Transaction) noteState(roots []string) error {
	s := &t.site
	for _, root := range roots {
		old, err := s.Dir.ReadFile(notePath(root), maxNote)
		text := string(old)
		switch {
		case err == nil:
		case s.Dir.Exists(notePath(root)):
			continue // someone else's
		default:
			text = ignored + madeHere
		}
		for _, dir := range t.j.Made {
			rel, err := filepath.Rel(s.Base, dir)
			line := "# " + filepath.ToSlash(rel) + "\n"
			if err != nil || !filepath.IsLocal(rel) || strings.Contains(rel, ".skl") || strings.ContainsAny(rel, "\r\n") || strings.Contains(text, line) {
				continue
			}
			if !strings.Contains(text, madeHere) {
				text += madeHere
			}
			text += line
		}
		if text == string(old) {
			continue
		}
		if err := t.ReplaceFile(notePath(root), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// left are the directories that t took something out of.
func (t *Transaction) left() (dirs []string) {
	for i := range t.j.Ops {
		if o := &t.j.Ops[i]; o.Staged == "" {
			dirs = append(dirs, filepath.Dir(o.Target))
		}
	}
	return dirs
}

// Tidy removes those of dirs, and of the directories above them, that are empty now and that skl made. Where nothing says which
// it made, it removes those that are called "skills", and none above them.
func Tidy(s *Site, dirs []string) {
	made, known := madeIn(s)
	for i := 0; i < len(dirs); i++ {
		up := filepath.Dir(dirs[i])
		rel, err := filepath.Rel(s.Base, up)
		if known && err == nil && rel != "." && filepath.IsLocal(rel) && !slices.Contains(dirs, up) {
			dirs = append(dirs, up)
		}
	}
	sort.Slice(dirs, func(i, j int) bool { return len(dirs[i]) > len(dirs[j]) }) // what is above comes later
	for _, dir := range slices.Compact(dirs) {
		rel, err := filepath.Rel(s.Base, dir)
		if err != nil || rel == "." || !filepath.IsLocal(rel) || !bare(s, dir) {
			continue
		}
		for _, own := range append(notes, "") {
			s.Dir.Remove(filepath.Join(dir, ".skl", own))
		}
		if known && slices.Contains(made, filepath.ToSlash(rel)) || !known && filepath.Base(dir) == "skills" {
			s.Dir.Remove(dir)
		}
	}
}

// bare reports whether dir is a directory, and holds nothing but notes of skl's own.
func bare(s *Site, dir string) bool {
	if !isDir(s.Dir, dir) {
		return false
	}
	entries, err := s.Dir.ReadDir(dir)
	if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != ".skl" {
		return false
	}
	own, err := s.Dir.ReadDir(filepath.Join(dir, ".skl"))
	return len(entries) == 0 || err == nil && !slices.ContainsFunc(own, func(e fs.DirEntry) bool { return !slices.Contains(notes, e.Name()) })
}
