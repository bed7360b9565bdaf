package resolver

import (
	"context"
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
// move, and so do tags of OCI that are no versions. What [Tags.Moved] accepts is not refused.
func (rs *Resolver) Unmoved(ctx context.Context, before, now lock.Skill, asked string) error {
	pinNow, release := identity(now), taggedOf(now, asked)
	if pinNow == "" {
		return nil
	}
	old, place := "", "here"
	if sameRelease(before, now) && identity(before) != "" && identity(before) != pinNow {
		old, place = identity(before), "in skl.lock"
	} else if rs.Tags != nil {
		old = rs.Tags.At(release)
	}
	if old == "" || old == pinNow || rs.stillTagged(ctx, now, old) {
		return nil
	}
	if rs.Tags != nil && rs.Tags.Moved(release, old, pinNow) {
		return nil
	}
	e := rs.movedError(ctx, now, old, pinNow, place)
	if before.Name != "" {
		return e.Hint("if its author says why: skl update %s --accept %s", now.Name, AcceptMoved)
	}
	return e.Hint("if its author says why: add --accept %s", AcceptMoved)
}

// sameRelease reports whether two entries name one release, whatever its bytes are.
func sameRelease(a, b lock.Skill) bool {
	if a.URL != b.URL || a.Source != b.Source || a.Name != b.Name {
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
