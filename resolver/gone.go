package resolver

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Dropped reports whether err says that a place, which answered, no longer holds a skill: there is no skill of that name or
// path, or no such plugin. A place that does not answer, or a version that is gone, is another matter.
func Dropped(err error) bool {
	e, ok := diag.Own(err)
	return ok && slices.Contains([]string{source.CodeNoSuchSkill, source.CodeNoSkill, source.CodePath, "unknown_plugin"}, e.Code)
}

// Withdrawn is what err says if it is that the registry of have took back every release that could take its place, else "".
func Withdrawn(have lock.Skill, err error) string {
	if e, ok := diag.Own(err); ok && have.Source == "registry" && e.Code == source.CodeNoRelease {
		return e.Message
	}
	return ""
}

// GoneSince says since when the place of w has no longer held the skill of have, its entry in a lock: "since 1.2.0", the first
// version without it, or "at 3f2a7c1d9e00 (2026-01-31)", the commit that was looked at, where versions do not tell.
func (rs *Resolver) GoneSince(ctx context.Context, w Named, have lock.Skill) (string, error) {
	o, err := rs.Open(ctx, w.Want)
	if err != nil {
		return "", err
	}
	if o.Kind == lock.Range {
		return rs.goneSinceVersion(ctx, o, w, have)
	}
	if o.Release.Commit == "" {
		return "now", nil
	}
	at := "at " + o.Release.Commit.Short()
	if d, ok := o.src.(source.Dater); ok {
		if t, err := d.Made(ctx, o.Place.Ref.URL, string(o.Release.Commit)); err == nil {
			at += " (" + t.Format(time.DateOnly) + ")"
		}
	}
	return at, nil
}

// goneSinceVersion looks for the first version after the locked one that lacks the skill, among those up to the chosen one. It
// asks for the logarithm of their number, and so believes that a skill that was dropped did not come back.
func (rs *Resolver) goneSinceVersion(ctx context.Context, o *Opened, w Named, have lock.Skill) (string, error) {
	releases, err := o.src.Versions(ctx, o.Place.Ref)
	if err != nil {
		return "", err
	}
	between := slices.DeleteFunc(slices.Clone(versionTags(releases, o.wantedSkill())), func(r source.Release) bool {
		v, err := semver.StrictNewVersion(r.Version)
		return err != nil || compare(r.Version, have.Version) <= 0 || compare(r.Version, o.Release.Version) > 0 ||
			v.Prerelease() != "" && r.Version != o.Release.Version
	})
	sort.Slice(between, func(i, j int) bool { return compare(between[i].Version, between[j].Version) < 0 })
	var asking error
	first := sort.Search(len(between), func(i int) bool {
		at := *o
		at.Release = between[i]
		_, err := at.Skills(ctx, []string{w.Called()})
		if err != nil && !Dropped(err) && asking == nil {
			asking = err
		}
		return err != nil
	})
	switch {
	case asking != nil:
		return "", asking
	case first == len(between):
		return "since " + o.Release.Version, nil
	}
	return "since " + between[first].Version, nil
}
