package scope

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// A Merged is what became of an entry that the two sides of a merge do not agree on.
type Merged struct {
	File  string `json:"file"`
	Entry string `json:"entry"` // of skl.toml a path: skills.pdf; of skl.lock a name
	From  string `json:"from"`  // ours, theirs, or anew: chosen as if nothing had been locked
	Value string `json:"value"` // the text, or the version; "" if the entry goes
	Not   string `json:"not"`   // what was not taken, and whose that is; "" if nothing
	Why   string `json:"why"`   // "" if the value says it
}

// String is the sentence that says it.
func (m Merged) String() string {
	text := fmt.Sprintf("%s: %s %s (%s)", m.File, diag.Printable(m.Entry), diag.Printable(m.Value), m.From)
	if m.Value == "" {
		text = fmt.Sprintf("%s: %s is removed (%s)", m.File, diag.Printable(m.Entry), m.From)
	}
	if m.Not != "" {
		text += ", not " + diag.Printable(m.Not)
	}
	if m.Why != "" {
		text += ": " + m.Why
	}
	return text
}

// LoadUnmerged is Load for "skl lock", which makes one file of the two sides of a merge: of skl.toml as [manifest.Merge] does, with pick, and
// of skl.lock as [resolver.Merge] does, where anew tells whose release is chosen anew. What both sides come from is in the markers, or
// else in the index of git. The texts of the Files are as read.
func (sc *Scope) LoadUnmerged(pick func(manifest.Clash) (manifest.Side, error), anew func(name string) bool) (*Files, error) {
	var merged []Merged
	f, err := sc.load(func(src []byte, file string) (*manifest.Manifest, error) {
		if conflict.Line(src) == 0 {
			return manifest.Parse(src, file)
		}
		sides, err := sc.sides(src, file)
		if err != nil {
			return nil, err
		}
		m, taken, told, err := manifest.Merge(sides, file, pick)
		for _, t := range taken {
			merged = append(merged, Merged{File: "skl.toml", Entry: t.Entry, From: string(t.From), Value: t.Text, Not: not(t.Other, other(t.From))})
		}
		if told != "" {
			sc.Tell.Warn("%s", told)
		}
		return m, err
	}, func(src []byte, file string, m *manifest.Manifest) (*lock.Lock, error) {
		if conflict.Line(src) == 0 {
			return lock.Parse(src, file)
		}
		sides, err := sc.sides(src, file)
		if err != nil {
			return nil, err
		}
		l, told, err := mergeLock(sides, file, m, anew)
		merged = append(merged, told...)
		return l, err
	})
	if err != nil {
		return nil, err
	}
	f.Merged = merged
	return f, nil
}

// sides are those of src, the content of file, with what both come from if anything here says that. Those of skl.lock, which nobody edits, are
// the files that git merged: it makes lines of one entry out of those of two wherever they do not clash.
func (sc *Scope) sides(src []byte, file string) (*conflict.Sides, error) {
	sides, err := conflict.Split(src, file)
	name := filepath.Base(file)
	if err != nil || sides.Base != nil && name != "skl.lock" {
		return sides, err
	}
	u, ok, err := sc.unmerged(name)
	switch {
	case err != nil:
		sc.Tell.Note("git does not know the common ancestor of %s: %s", file, err)
		return sides, nil
	case !ok:
		return sides, nil
	case name == "skl.lock" && u.Ours != nil && u.Theirs != nil:
		line := sides.Line
		sides = conflict.Between(u.Base, u.Ours, u.Theirs)
		sides.Line = line
		return sides, nil
	}
	if sides.Base = u.Base; sides.Base == nil {
		sides.Base = []byte{} // both added it
	}
	return sides, nil
}

// unmerged is what the index of git has of skl.toml or skl.lock in a merge. ok is false where it has none.
func (sc *Scope) unmerged(name string) (u git.Unmerged, ok bool, err error) {
	w, err := git.OpenWorkTree(sc.Base)
	switch {
	case errors.Is(err, git.ErrNoWorkTree):
		return u, false, nil
	case err != nil:
		return u, false, err
	}
	return w.Unmerged(name, max(manifest.MaxBytes, lock.MaxBytes))
}

func other(side manifest.Side) string {
	if side == manifest.Ours {
		return string(manifest.Theirs)
	}
	return string(manifest.Ours)
}

func not(text, whose string) string {
	if text == "" {
		return ""
	}
	return text + " (" + whose + ")"
}

func mergeLock(sides *conflict.Sides, file string, m *manifest.Manifest, anew func(string) bool) (*lock.Lock, []Merged, error) {
	base, ours, theirs, err := lock.ParseSides(sides, file)
	if err != nil {
		return nil, nil, err
	}
	wants, err := resolver.Wants(m)
	if err != nil {
		return nil, nil, err
	}
	l, entries, err := resolver.Merge(wants, base, ours, theirs, anew)
	if err != nil {
		return nil, nil, diag.Located(err, diag.Position{File: file, Line: sides.Line})
	}
	var told []Merged
	for _, e := range entries {
		t := Merged{File: "skl.lock", Entry: e.Name, From: "anew"}
		switch {
		case e.Took == nil && e.Ours != nil && e.Theirs != nil:
			t.Not = versionOf(e.Ours, "ours") + " or " + versionOf(e.Theirs, "theirs")
		case e.Took == nil:
			t.Not = versionOf(e.Ours, "ours") + versionOf(e.Theirs, "theirs")
		case e.Took == e.Ours:
			t.From, t.Value, t.Not = "ours", e.Ours.Version, versionOf(e.Theirs, "theirs")
		default:
			t.From, t.Value, t.Not = "theirs", e.Theirs.Version, versionOf(e.Ours, "ours")
		}
		if e.Barred {
			t.Why = "skl.toml does not allow that"
		}
		told = append(told, t)
	}
	return l, told, nil
}

func versionOf(s *lock.Skill, whose string) string {
	if s == nil {
		return ""
	}
	return not(cmp.Or(s.Version, "no version"), whose)
}
