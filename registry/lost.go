package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// A database that went back lacks releases that the log says were published, and what was decided about others. Its log has the entries again,
// and the registry goes by them: what was taken back stays so, and a version that was published is never another.

// settingLost begins the keys of settings that keep, for a release which was lost, the last entry of the log about it.
const settingLost = "lost "

// goBy does with a database what a record says that was appended to its log again: it gives a release that was served the state that it had, and
// keeps the record of one that was lost.
func (g *Registry) goBy(ctx context.Context, tx *meta.Tx, rec tlog.Record) (lost, changed bool, err error) {
	step, changes := transitions(Action(rec.Action))
	if !changes && rec.Action != tlog.Publish {
		return false, false, nil
	}
	namespace, name, _ := cutRepo(rec.Name)
	r, err := tx.Release(ctx, namespace, name, rec.Version)
	switch {
	case errors.Is(err, meta.ErrNotFound):
		text, err := rec.Format()
		if err == nil {
			err = tx.PutSetting(ctx, settingLost+rec.Name+"@"+rec.Version, text)
		}
		return rec.Action == tlog.Publish, false, err
	case err != nil || !changes || r.Manifest != rec.Manifest || !slices.Contains(step.from, r.State):
		return false, false, err
	case r.LogIndex < 0 && step.to != meta.Blocked: // what was never served waits for somebody
		return false, false, nil
	}
	again := r.WasReason
	step.apply(&r)
	r.Reason, r.Updated = rec.Reason, g.now()
	if Action(rec.Action) == Unblock && again != "" {
		r.Reason = again
	}
	return false, true, restate(ctx, tx, r)
}

// asItWas refuses a release that is published in place of one which was lost, if it is another or if that was blocked, and returns it
// in quarantine if that was.
func asItWas(ctx context.Context, tx *meta.Tx, r meta.Release) (meta.Release, error) {
	what := r.Repo() + "@" + r.Version
	text, err := tx.Setting(ctx, settingLost+what)
	if errors.Is(err, meta.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	rec, err := tlog.ParseRecord(text)
	if err != nil {
		return r, err
	}
	switch step, _ := transitions(Action(rec.Action)); {
	case rec.Manifest != r.Manifest:
		return r, diag.New(diag.Misuse, "version_exists", "%s was published with the manifest %s, and then lost by the registry; versions do not change", what, rec.Manifest).
			Hint("publish what it was, or another version")
	case step.to == meta.Blocked:
		return r, gone(what, rec.Reason)
	case step.to == meta.Quarantined:
		r.State, r.Reason = meta.Quarantined, rec.Reason
	}
	return r, nil
}
