package resolver

import (
	"context"
	"net/url"
	"path/filepath"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// instead adds to the error of a version that nothing matches what to type, or to change, to get the newest one.
func (o *Opened) instead(err error, releases []source.Release) error {
	e, ok := diag.Own(err)
	if !ok || e.Code != source.CodeNoVersion || len(e.Candidates) > 0 {
		return err // the near names are hinted at
	}
	last, ok := newest(releases, o.wantedSkill())
	w := o.Want
	switch {
	case w.Where.File != "" && ok:
		return e.Hint("write version = \"^%s\" in %s, then: skl lock", last.Version, w.Where)
	case w.Where.File != "":
		return e.Hint("change what is asked for in %s, then: skl lock", w.Where)
	case w.Kind != "" && ok: // what a release needs, which its author decides
		return e.Hint("the newest version is %s", last.Version)
	case w.Kind != "":
		return e
	}
	r := w.Ref.WithoutVersion()
	switch {
	case ok && r.Kind == ref.OCI:
		r.Version = last.Name
	case ok:
		r.Version = last.Version
	}
	return e.Hint("%s", w.retry(r))
}

// retry is the command that asks for r in place of what was typed.
func (w *Want) retry(r ref.Ref) string {
	if w.Retry != nil {
		return w.Retry(r)
	}
	return "skl install " + diag.Quote(r.String())
}

// commitsHint adds to the error of a folder without skills, as bare repositories are, that the commits of the repository there hold
// some, and reports whether they do.
func (o *Opened) commitsHint(ctx context.Context, e *diag.Error) bool {
	at := o.Place.Ref
	if at.Kind != ref.Local || o.rs.Git == nil || o.Want.Where.File != "" {
		return false
	}
	dir := filepath.FromSlash(at.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.rs.Dir, dir)
	}
	url := (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	r, err := ref.Parse("git+" + url)
	if err != nil || r.URL != url {
		return false // what stands in its path means something in a reference
	}
	there, err := o.rs.Open(ctx, Want{Ref: r})
	if err != nil {
		return false
	}
	if found, err := there.Skills(ctx, nil); err != nil || len(found) == 0 {
		return false
	}
	e.Hint("the commits of the repository there: %s", o.Want.retry(r))
	return true
}

// uncommitted is err of reading the release. A commit that is not there, and that somebody typed or wrote in a manifest, is a
// version that nothing matches; of a locked one, the history may have changed.
func (o *Opened) uncommitted(ctx context.Context, err error) error {
	e, ok := diag.Own(err)
	if !ok || o.Kind != lock.Commit || o.Place.Commit != "" || e.Code != source.CodeCommit && e.Code != source.CodeNoVersion {
		return err
	}
	typed := o.Want.Kind == "" && o.Want.Where.File == ""
	if !typed && o.Want.Where.File == "" {
		return err
	}
	releases, lerr := o.src.Versions(ctx, o.Place.Ref)
	if lerr != nil {
		return err
	}
	code, class := e.Code, e.Class
	e.Code, e.Hints = source.CodeNoVersion, nil
	err = o.instead(e, releases)
	if e, ok := diag.Own(err); ok {
		if e.Class = diag.Misuse; !typed {
			e.Code, e.Class = code, class
		}
		return e
	}
	return err
}
