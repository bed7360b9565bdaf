// Package lock reads and writes skl.lock: one release per skill, with
// everything that is needed to fetch the same bytes again and to prove it.
//
// The file is TOML: version = 1, then [[skill]] tables sorted by name. It holds
// no times and no absolute paths (a ref that the user wrote as one excepted).
// Fields that this version does not know survive a rewrite. A file of an
// unknown version, or one that cannot be read, is an error and is never
// replaced: [Parse] gives an error, and only a successfully parsed (or empty) Lock can
// be formatted.
//
// Errors are *diag.Error of class Failed with a place: lock_corrupt for a file that is
// not a lock, lock_conflict for the markers of a merge, lock_version for a file of
// another version.
package lock

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// Version is the format version this package reads and writes.
const Version = 1

// A Lock is the written form of a resolution.
type Lock struct {
	Skills []Skill // sorted by name; names are unique

	unknown string // top-level fields of later formats: sorted lines of TOML
}

// RefKind says what the version of a ref is.
type RefKind string

const (
	Range   RefKind = "range"   // of semantic versions
	Tag     RefKind = "tag"     // that is not a version
	Branch  RefKind = "branch"  // is followed by update
	Commit  RefKind = "commit"  // never moves
	Default RefKind = "default" // no version: the default branch is followed
)

// A Skill is one locked release.
type Skill struct {
	Name    string  // what it is called here, which is the name of its directory
	Skill   string  // its frontmatter name, where that is not Name
	Ref     string  // what was asked for, version included: "acme/pdf@^1.4"
	Source  string  // git, oci, registry, wellknown, marketplace, local, embedded, npm, go, r, pypi
	URL     string  // where Source fetches from: a clone URL, or a path relative to the manifest; "" for embedded
	Path    string  // directory of the skill inside the source, slash-separated; "" is its root
	RefKind RefKind // how the version in Ref is meant; "" for local

	Version  string // semantic version or pseudo-version, without "v"
	Commit   ref.Commit
	Manifest ref.Digest // of the OCI manifest
	Moved    string     // the commit or manifest that the release meant before, or the release before it: a person accepted that its tag moved
	Artifact ref.Digest // of the archive
	Tree     bundle.Digest
	Files    int
	Bytes    int64

	Root string // where skl.toml says that it is installed, as rootpath writes it; "" is the canonical root

	Requires    []string
	RequiredBy  []string
	Permissions []string
	Findings    []string // rules of an audit whose findings were accepted

	GeneratedFrom map[string]string // generated_from, as the bundle states it
	Unsigned      bool              // an unsigned release was accepted where a signature was wanted
	Signer        *Signer
	Log           *Log

	unknown, unknownSigner, unknownLog string // as in Lock; of the tables, their own

	at diag.Position // of the entry in the file that was read
}

// CodeDamaged is the code of an entry that is not whole, or contradicts itself: no skl wrote it.
const CodeDamaged = "E_LOCK_ENTRY"

// Damaged is the refusal of an entry that no skl wrote, with its place and the ways out. It says nothing of whoever
// published the release.
func (s Skill) Damaged(format string, args ...any) *diag.Error {
	return diag.New(diag.Refused, CodeDamaged, "the entry of %s is damaged: it "+format, append([]any{s.Name}, args...)...).At(s.at).
		Hint("git checkout -- %s", cmp.Or(s.at.File, "skl.lock")).
		Hint("or remove the entry, then: skl lock")
}

// Whole refuses, with [CodeDamaged], an entry that lacks what every entry of its source has.
func (s Skill) Whole() error {
	digested := s.Source == "oci" || s.Source == "registry"
	for _, field := range []struct {
		name  string
		lacks bool
	}{
		{"source", s.Source == ""},
		{"tree", s.Tree == ""},
		{"files", s.Files == 0},
		{"bytes", s.Bytes == 0},
		{"commit", s.Commit == "" && s.Source == "git"},
		{"manifest", s.Manifest == "" && digested},
		{"artifact", s.Artifact == "" && s.Source == "registry"},
	} {
		if field.lacks {
			return s.Damaged("has no %s", field.name)
		}
	}
	return nil
}

// Called is what s is called where it comes from.
func (s Skill) Called() string { return cmp.Or(s.Skill, s.Name) }

// SameRelease reports whether s and t say the same of where their bytes are: the place and all pins. Two folders, which have
// no pins, are the same release if they are one place. Two names of a registry are two places, also with the same bytes: each
// is signed, logged and blocked by itself.
//
//go:noinline
func (s Skill) SameRelease(t Skill) bool {
	return s.SamePlace(t) && s.Path == t.Path && s.Commit == t.Commit && s.Manifest == t.Manifest && s.Artifact == t.Artifact
}

// RegistryName is what a skill of a registry is called there, namespace/name; "" for any other.
func (s Skill) RegistryName() string {
	if r, err := ref.Parse(s.Ref); err == nil && s.Source == "registry" && r.Kind == ref.Name {
		return r.Owner + "/" + r.Repo
	}
	return ""
}

// SamePlace reports whether s and t are of one repository, or of one name of a registry, which has many.
func (s Skill) SamePlace(t Skill) bool {
	return s.Source == t.Source && s.URL == t.URL && s.RegistryName() == t.RegistryName()
}

// SameBytes reports whether s and t are pinned to the same bytes: one place, and the same commit or manifest there. What has
// neither, such as a folder, may have changed in between.
func (s Skill) SameBytes(t Skill) bool {
	return (s.Commit != "" || s.Manifest != "") && s.URL == t.URL && s.RegistryName() == t.RegistryName() && s.Path == t.Path && s.Commit == t.Commit && s.Manifest == t.Manifest
}

// A Signer is the identity a release was signed by. Kind is the kind of signature; "" is a statement about its manifest.
type Signer struct {
	Kind, Issuer, Identity, Repository, Ref, Runner, Key string
}

// A Log is an inclusion proof in a registry's transparency log. It proves by itself,
// without a network, that Entry was in the log whose key is Origin when Checkpoint was signed.
type Log struct {
	Origin     string // verifier key of the log
	Index      int64  // of Entry
	Entry      string // the log's record of the release, one line
	Checkpoint string // signed note with the size and root of the log
	Proof      []string
}

// Skill returns the entry of name.
//
//go:noinline
func (l *Lock) Skill(name string) (Skill, bool) {
	if i, ok := l.find(name); ok {
		return l.Skills[i], true
	}
	return Skill{}, false
}

func (l *Lock) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l.Skills, name, func(s Skill, name string) int { return strings.Compare(s.Name, name) })
}

// Set adds s, or replaces the entry of its name. Fields of the old entry that
// this version does not know are kept; those about a signer or a log entry only
// while that signer or entry is the same. Requires, RequiredBy, Permissions and Findings are
// stored sorted and without repetitions.
func (l *Lock) Set(s Skill) {
	s = clone(s)
	i, found := l.find(s.Name)
	if !found {
		l.Skills = slices.Insert(l.Skills, i, s)
		return
	}
	old := l.Skills[i]
	s.at = old.at
	if s.unknown == "" {
		s.unknown = old.unknown
	}
	if s.unknownSigner == "" && s.Signer != nil && reflect.DeepEqual(s.Signer, old.Signer) {
		s.unknownSigner = old.unknownSigner
	}
	if s.unknownLog == "" && s.Log != nil && reflect.DeepEqual(s.Log, old.Log) {
		s.unknownLog = old.unknownLog
	}
	l.Skills[i] = s
}

// Remove deletes the entry of name and says whether there was one.
func (l *Lock) Remove(name string) bool {
	i, found := l.find(name)
	if found {
		l.Skills = slices.Delete(l.Skills, i, i+1)
	}
	return found
}

// Clone returns a Lock that shares nothing with l.
func (l *Lock) Clone() *Lock {
	c := &Lock{unknown: l.unknown, Skills: make([]Skill, len(l.Skills))}
	for i, s := range l.Skills {
		c.Skills[i] = clone(s)
	}
	return c
}

// Equal reports whether a and b say the same in all that this version knows.
// The order of Requires, RequiredBy, Permissions and Findings does not matter, nor whether a list is empty or nil.
func Equal(a, b Skill) bool {
	a, b = clone(a), clone(b)
	for _, s := range []*Skill{&a, &b} {
		s.unknown, s.unknownSigner, s.unknownLog, s.at = "", "", "", diag.Position{}
	}
	return reflect.DeepEqual(a, b)
}

// clone returns a deep copy in the form that is written: lists sorted, nothing empty but not nil.
func clone(s Skill) Skill {
	s.Requires, s.RequiredBy, s.Permissions, s.Findings = set(s.Requires), set(s.RequiredBy), set(s.Permissions), set(s.Findings)
	if len(s.GeneratedFrom) == 0 {
		s.GeneratedFrom = nil
	}
	s.GeneratedFrom = maps.Clone(s.GeneratedFrom)
	if s.Signer != nil {
		signer := *s.Signer
		s.Signer = &signer
	}
	if s.Log != nil {
		log := *s.Log
		log.Proof = slices.Clone(log.Proof)
		if len(log.Proof) == 0 {
			log.Proof = nil
		}
		s.Log = &log
	}
	return s
}

func set(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
