// Package source is the border between the resolver and the places skills
// come from. Each place is a package below this one; they never import each
// other, and a place that only points elsewhere (a marketplace) answers with refs.
package source

import (
	"context"
	"time"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A Source tells the resolver what exists at one kind of place, and fetches it.
// It is all that the resolver knows of the outside world. Methods may be called
// concurrently, to overlap network delays; none of them runs anything that
// came from the place.
type Source interface {
	// Versions lists what can be chosen from at r's place, whatever version r asks for:
	// in git, tags and branches. A place without versions (a folder) has one Release.
	Versions(ctx context.Context, r ref.Ref) ([]Release, error)

	// Skills lists the skills of one release, below r.Path if it has one. With
	// names it may leave out skills that have none of these names.
	// A skill whose frontmatter cannot be read is listed with Invalid set.
	Skills(ctx context.Context, r ref.Ref, at Release, names []string) ([]Found, error)

	// Fetch streams the bundle that s names to sink. It checks what only it can
	// (the commit, the archive digest); the caller checks the tree.
	Fetch(ctx context.Context, s lock.Skill, sink bundle.Sink) error
}

// A Tagger is a Source where versions are tags, which can move.
type Tagger interface {
	// Tagged lists the pins (commits, manifests) that s.Version stands for at r's place now. It is empty if there is no
	// such version. Of a version that the release says itself, it is the pin of s, or nothing.
	Tagged(ctx context.Context, r ref.Ref, s lock.Skill) ([]string, error)
}

// An Abbreviator is a Source that finds commits by the first digits of their ids.
type Abbreviator interface {
	Commits(ctx context.Context, r ref.Ref, prefix string) ([]ref.Commit, error)
}

// A Dater is a Source that knows when a pin (a commit, a manifest) was made. The time is what its author says.
type Dater interface {
	Made(ctx context.Context, url, pin string) (time.Time, error)
}

// A Passer is a Source with places in which files named SKILL.md can lie that are no skills to skl.
type Passer interface {
	// Passed lists the files and links below r.Path in a release that look like skills and are passed over, sorted by path.
	Passed(ctx context.Context, r ref.Ref, at Release) ([]Passed, error)
}

// A Passed is what looks like a skill in a release and is none to skl.
type Passed struct {
	Path   string `json:"path"` // slash path of a file, link or directory
	Reason string `json:"reason"`
}

// A Release is one thing a ref can resolve to.
type Release struct {
	Kind     Kind
	Name     string     // tag or branch name; "" for a commit
	Skill    string     // set for a tag of one skill: name-v1.2.3
	Version  string     // semantic version of a version tag, without "v"; pseudo-version once opened
	Commit   ref.Commit // in git; of the commit a tag points to, peeled
	Manifest ref.Digest // in OCI, where a digest was asked for
	Default  bool       // the branch HEAD points to
}

// Kind is what a Release is at its place.
type Kind string

const (
	Tag      Kind = "tag"
	Branch   Kind = "branch"
	Commit   Kind = "commit"
	Manifest Kind = "manifest"
	Folder   Kind = "folder"
)

// A Found is one skill of a release.
type Found struct {
	Lock        lock.Skill // Name, Source, URL, Path, Version, Commit, Artifact are filled; Ref and RefKind are the resolver's
	Description string
	Plugin      string  // the plugin that groups it, when a plugin manifest says so
	Also        []Found // others of its name, at places that count less; only the resolver fills it
	Rank        int     // how good its place is: see Discover
	Invalid     error   // why it cannot be installed, if it cannot
}

// Place says how good the place of a skill is among those of its name: less is better. One that cannot be read comes after those that can, but
// for agents' own directories and fixtures.
func (f *Found) Place() int {
	if f.Invalid != nil && f.Rank < RankHidden {
		return 2*RankHidden - 1
	}
	return 2 * f.Rank
}

// Broken is one of its name that would be taken, at a better place, if it could be read; nil if there is none.
func (f *Found) Broken() *Found {
	for i := range f.Also {
		if other := &f.Also[i]; other.Invalid != nil && other.Rank < f.Rank {
			return other
		}
	}
	return nil
}
