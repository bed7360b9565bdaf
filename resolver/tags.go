package resolver

import (
	"cmp"
	"context"
	"slices"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Tags remembers which commit or manifest a release was, as this machine saw it in a git or OCI repository. The pin in
// a lock is compared with it, or else with the repository. Its methods may be called concurrently.
type Tags interface {
	// At returns the pin of a release that this project uses, else the one that it had when it was last seen, "" if it never was.
	At(release Tagged) string
	// Here returns the pin of a release that this project uses, "" if it is not known to use it.
	Here(release Tagged) string
	// Seen notes the pin that the place of a release says. Another one than it had when it was first seen is not noted.
	Seen(release Tagged, pin string)
	// Use notes the pin by which this project uses a release, if none is noted.
	Use(release Tagged, pin string)
	// Moved reports whether a person accepts that a release has another pin than before, and records that.
	Moved(release Tagged, before, now string) bool
	// Elsewhere tells that a project has a release as its place has it, while this machine knows it as before.
	Elsewhere(release Tagged, before, now string)
}

// Tagged is a release that a tag names.
type Tagged struct {
	URL, Name, Version string
	Tag                string // as the ref asks for it; "" if it asks for a range
}

func taggedOf(s lock.Skill, asked string) Tagged {
	t := Tagged{URL: s.URL, Name: cmp.Or(s.RegistryName(), s.Called()), Version: s.Version}
	if s.RefKind == lock.Tag {
		t.Tag = asked
	}
	return t
}

// identity is pin, of every source where a version means the same bytes for ever.
func identity(s lock.Skill) string {
	if s.Source == "registry" {
		return string(s.Manifest)
	}
	return pin(s)
}

// pin is what fixes the release of s where a tag names it, "" elsewhere: a version that is made of a
// commit is that commit's, unless a tag was asked for.
func pin(s lock.Skill) string {
	switch {
	case s.Version == "":
		return ""
	case s.Source == "git" && (s.RefKind == lock.Tag || !pseudo.MatchString(s.Version)):
		return string(s.Commit)
	case s.Source == "oci":
		return string(s.Manifest)
	}
	return ""
}

// saw notes where the versions of found were seen, when asked was asked for.
func (rs *Resolver) saw(found []source.Found, asked string) {
	if rs.Tags == nil {
		return
	}
	for _, f := range found {
		if identity(f.Lock) != "" {
			rs.Tags.Seen(taggedOf(f.Lock, asked), identity(f.Lock))
		}
	}
}

// agreeTag compares the version and pin of s with the tags of its place, which it asks, unless they are known.
func (rs *Resolver) agreeTag(ctx context.Context, p Place, w Named, s lock.Skill) error {
	have, release := pin(s), taggedOf(s, p.Ref.Version)
	if have == "" {
		return nil
	}
	if rs.Tags != nil && rs.Tags.At(release) == have {
		rs.Tags.Use(release, have)
		return nil
	}
	if rs.AskNoTags {
		return rs.untagged(w, s, nil)
	}
	var src source.Source = rs.Git
	if s.Source == "oci" {
		src = rs.OCI
	}
	tagger, ok := src.(source.Tagger)
	if !ok {
		return nil
	}
	now, err := tagger.Tagged(ctx, p.Ref, s)
	if err != nil {
		return rs.untagged(w, s, err)
	}
	if slices.Contains(now, have) {
		if rs.Tags == nil {
			return nil
		}
		before := rs.Tags.At(release)
		switch {
		case before == "" || slices.Contains(now, before):
		case rs.Tags.Here(release) == "":
			rs.Tags.Elsewhere(release, before, have)
		case !rs.Tags.Moved(release, before, have):
			e := rs.movedError(ctx, s, before, have, "here")
			if s.Moved == before {
				e.Hint("skl.lock says that somebody accepted that: git log -p skl.lock")
			}
			return e.Hint("if its author says why: skl update %s --accept %s", s.Name, AcceptMoved)
		}
		rs.Tags.Seen(release, have)
		rs.Tags.Use(release, have)
		return nil
	}
	e := diag.New(diag.Refused, CodeSource, "skl.lock has %s %s, and %s has no such version", s.Name, diag.Printable(s.Version), diag.Printable(s.URL))
	if len(now) > 0 {
		e = diag.New(diag.Refused, CodeSource, "skl.lock has %s %s as %s, and in %s it is %s", s.Name, diag.Printable(s.Version), rs.dated(ctx, s, have), diag.Printable(s.URL), rs.dated(ctx, s, now[0]))
	}
	return e.Hint("see who changed it: git diff skl.lock").Hint("if its tag moved or is gone: skl lock --upgrade %s --accept %s", s.Name, AcceptMoved)
}

// untagged asks who uses the resolver what becomes of an entry whose tag was not compared.
func (rs *Resolver) untagged(w Named, s lock.Skill, err error) error {
	if rs.Untagged == nil || err != nil && diag.ClassOf(err) == diag.Refused {
		return err
	}
	return rs.Untagged(w, s, err)
}
