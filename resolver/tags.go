package resolver

import (
	"context"
	"slices"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Tags remembers which commit or manifest the version of a skill was, as this machine saw it in a git or OCI repository.
// What a lock says of that is compared with it, or else with the repository. Its methods may be called concurrently.
type Tags interface {
	// At is the pin of s.Version of s.Name in s.URL when it was last seen, "" if it never was.
	At(s lock.Skill) string
	// Seen notes that this version has a pin.
	Seen(s lock.Skill, pin string)
}

// pin is what fixes the release of s where its version is a tag, "" elsewhere: a version that is made of a
// commit is that commit's.
func pin(s lock.Skill) string {
	switch {
	case s.Version == "":
		return ""
	case s.Source == "git" && !pseudo.MatchString(s.Version):
		return s.Commit
	case s.Source == "oci":
		return s.Manifest
	}
	return ""
}

// saw notes where the versions of found were seen.
func (rs *Resolver) saw(found []source.Found) {
	if rs.Tags == nil {
		return
	}
	for _, f := range found {
		if pin(f.Lock) != "" {
			rs.Tags.Seen(f.Lock, pin(f.Lock))
		}
	}
}

// agreeTag compares the version and pin of s with the tags of its place, which it asks, unless they are known.
func (rs *Resolver) agreeTag(ctx context.Context, p Place, w Named, s lock.Skill) error {
	have := pin(s)
	if have == "" || rs.Tags != nil && rs.Tags.At(s) == have {
		return nil
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
	if err != nil && rs.Untagged != nil && diag.ClassOf(err) != diag.Refused {
		return rs.Untagged(w, s, err)
	} else if err != nil {
		return err
	}
	if slices.Contains(now, have) {
		if rs.Tags != nil {
			rs.Tags.Seen(s, have)
		}
		return nil
	}
	e := diag.New(diag.Refused, CodeSource, "skl.lock has %s %s, and %s has no such version", s.Name, diag.Printable(s.Version), diag.Printable(s.URL))
	if len(now) > 0 {
		e = diag.New(diag.Refused, CodeSource, "skl.lock has %s %s as %s, and in %s it is %s", s.Name, diag.Printable(s.Version), diag.Printable(have), diag.Printable(s.URL), now[0])
	}
	return e.Hint("see who changed it: git diff skl.lock").Hint("if its tag moved or is gone: skl lock --upgrade %s", s.Name)
}
