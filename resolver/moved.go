package resolver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

const (
	// CodeMoved is the code of a release that had other bytes before.
	CodeMoved = "E_MOVED"
	// AcceptMoved is the word by which a person accepts such a release.
	AcceptMoved = "moved"
)

// Unmoved refuses now, a release that was chosen for asked, when the same release had another commit or manifest before: in
// the lock, where before is its entry (zero if there is none), or when this machine last saw it. Its error is of class
// Refused and code E_MOVED. A version means the same bytes for ever, and a tag that is asked for means one commit; branches
// move, and so do tags of OCI that are no versions. Where now is another release than before, the tags of before have to be where they
// were. What [Tags.Moved] accepts is not refused; moved is then what the tag named before, for the lock.
func (rs *Resolver) Unmoved(ctx context.Context, before, now lock.Skill, asked string) (moved string, err error) {
	pinNow, release := identity(now), taggedOf(now, asked)
	if pinNow == "" {
		return "", nil
	}
	if before.Name != "" && !sameRelease(before, now) {
		if moved, err = rs.unmovedSince(ctx, before, now); err != nil {
			return "", err
		}
	}
	old, place := "", "here"
	switch {
	case sameRelease(before, now) && identity(before) != "" && identity(before) != pinNow:
		old, place = identity(before), "in skl.lock"
	case rs.Tags != nil && sameRelease(before, now) && rs.Tags.Here(release) == "": // the project had it so from the start
		if known := rs.Tags.At(release); known != "" && known != pinNow && !rs.stillTagged(ctx, now, known) {
			rs.Tags.Elsewhere(release, known, pinNow)
		}
	case rs.Tags != nil:
		old = rs.Tags.At(release)
	}
	if old == "" || old == pinNow || rs.stillTagged(ctx, now, old) {
		if rs.Tags != nil {
			rs.Tags.Use(release, pinNow)
		}
		return moved, nil
	}
	if rs.Tags != nil && rs.Tags.Moved(release, old, pinNow) {
		return old, nil
	}
	e := rs.movedError(ctx, now, old, pinNow, place)
	if before.Name != "" {
		return "", e.Hint("if its author says why: skl update %s --accept %s", now.Name, AcceptMoved)
	}
	return "", e.Hint("if its author says why: add --accept %s", AcceptMoved)
}

// unmovedSince refuses to go from before to another release of its place, if the tags of before are not where they were: whoever
// moves tags could add one. A tag that is gone says nothing.
func (rs *Resolver) unmovedSince(ctx context.Context, before, now lock.Skill) (moved string, err error) {
	old := identity(before)
	tagger, ok := rs.sourceOf(before).(source.Tagger)
	if old == "" || !ok || !before.SamePlace(now) || before.RefKind != lock.Range && before.RefKind != lock.Tag {
		return "", nil
	}
	place := ref.Ref{Kind: ref.Git, URL: before.URL}
	if before.Source == "oci" {
		r, err := ref.Parse(before.URL)
		if err != nil {
			return "", nil
		}
		place = r
	}
	if before.RefKind == lock.Tag {
		place.Version = afterVersion(before.Ref)
	}
	tags, err := tagger.Tagged(ctx, place, before)
	if err != nil || len(tags) == 0 || slices.Contains(tags, old) {
		return "", nil // the place was asked for the new release a moment ago: what it does not say now, it does not know
	}
	if rs.Tags != nil && rs.Tags.Moved(taggedOf(before, place.Version), old, tags[0]) {
		return old, nil
	}
	return "", rs.movedError(ctx, before, old, tags[0], "in skl.lock").Hint("if its author says why: skl update %s --accept %s", before.Name, AcceptMoved)
}

// Compare asks the place of s, an entry that w keeps, for the release of s again. It refuses one that moved, as [Resolver.Unmoved]
// does; where a person accepts that, it returns the same version as it is now. Nil is an entry that stays: what is no version and no
// tag is not asked for, and what is gone or withdrawn says nothing here.
func (rs *Resolver) Compare(ctx context.Context, w *Named, s *lock.Skill) (*lock.Skill, error) {
	pin := identity(*s)
	if pin == "" || s.RefKind != lock.Range && s.RefKind != lock.Tag {
		return nil, nil
	}
	same := *w
	if s.RefKind == lock.Range {
		same.Ref.Version, same.Kind = "="+s.Version, lock.Range
	}
	now, err := rs.Choose(ctx, same)
	if Dropped(err) || errors.Is(err, diag.Code(source.CodeNoVersion)) || errors.Is(err, diag.Code(source.CodeNoRelease)) {
		return nil, nil
	}
	if err != nil || identity(now) == pin || rs.stillTagged(ctx, *s, pin) {
		return nil, err
	}
	now.Ref, now.RefKind, now.Root, now.RequiredBy = s.Ref, s.RefKind, s.Root, s.RequiredBy
	if now.Moved, err = rs.Unmoved(ctx, *s, now, w.Ref.Version); err != nil {
		return nil, diag.Located(err, w.Where)
	}
	return &now, nil
}

// sameRelease reports whether two entries name one release, whatever its bytes are.
func sameRelease(a, b lock.Skill) bool {
	if !a.SamePlace(b) || a.Called() != b.Called() {
		return false
	}
	ofTag := a.Source == "git" && a.RefKind == lock.Tag && b.RefKind == lock.Tag && a.Ref == b.Ref
	return ofTag || a.Version == b.Version
}

// stillTagged reports whether a place has several tags for the version of s, and one of them is at pin.
func (rs *Resolver) stillTagged(ctx context.Context, s lock.Skill, pin string) bool {
	if s.RefKind != lock.Range {
		return false
	}
	place := ref.Ref{Kind: ref.Git, URL: s.URL}
	if s.Source == "oci" {
		r, err := ref.Parse(s.URL)
		if err != nil {
			return false
		}
		place = r
	}
	tagger, ok := rs.sourceOf(s).(source.Tagger)
	if !ok {
		return false
	}
	now, err := tagger.Tagged(ctx, place, s)
	return err == nil && slices.Contains(now, pin)
}

func (rs *Resolver) sourceOf(s lock.Skill) source.Source {
	switch s.Source {
	case "git":
		return rs.Git
	case "oci":
		return rs.OCI
	}
	return rs.Registry
}

func (rs *Resolver) movedError(ctx context.Context, s lock.Skill, before, now, where string) *diag.Error {
	what := s.Version
	if s.RefKind == lock.Tag && pseudo.MatchString(s.Version) {
		what = afterVersion(s.Ref)
	}
	return diag.New(diag.Refused, CodeMoved, "%s %s moved in %s: it was %s %s, and is %s", s.Name, diag.Printable(what), diag.Printable(s.URL),
		rs.dated(ctx, s, before), where, rs.dated(ctx, s, now))
}

// dated is a pin of s with the time at which it was made, as far as its place knows.
func (rs *Resolver) dated(ctx context.Context, s lock.Skill, pin string) string {
	when := "time unknown"
	if d, ok := rs.sourceOf(s).(source.Dater); ok {
		if t, err := d.Made(ctx, s.URL, pin); err == nil && !t.IsZero() {
			when = t.UTC().Format(time.RFC3339)
		}
	}
	return diag.Printable(pin) + " (" + when + ")"
}
