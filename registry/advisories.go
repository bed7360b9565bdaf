package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// maxAdvisories bounds those of one registry.
const maxAdvisories = 10_000

// severities of advisories.
var severities = []string{"low", "medium", "high", "critical"}

// constraint is what an advisory says of versions, nil for nothing.
func constraint(a meta.Advisory) (*semver.Constraints, error) {
	if a.Versions == "" {
		return nil, nil
	}
	c, err := semver.NewConstraint(a.Versions)
	if err == nil {
		c.IncludePrerelease = true
	}
	return c, err
}

// checkAdvisory refuses what cannot be an advisory about a skill.
func checkAdvisory(a meta.Advisory) error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "invalid_request", format, args...)
	}
	switch {
	case !slices.Contains(severities, a.Severity):
		return bad("the severity of an advisory is %s, not %q", strings.Join(severities, ", "), diag.Brief(a.Severity, 40))
	case a.Summary == "" || len(a.Summary) > maxReason || diag.Printable(a.Summary) != a.Summary:
		return bad("the summary of an advisory is a line of text of at most %d bytes", maxReason)
	case a.Versions == "" && len(a.Digests) == 0:
		return bad("an advisory says which versions or digests it is about")
	case len(a.Digests) > 100 || len(a.Versions) > 500:
		return bad("an advisory is about at most 100 digests")
	case len(a.ID) > 64 || strings.Trim(a.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return bad("%q cannot be the id of an advisory: it has letters, digits and hyphens", diag.Brief(a.ID, 64))
	}
	if _, err := constraint(a); err != nil {
		return bad("%q does not name versions: %w", a.Versions, err)
	}
	if _, err := semver.StrictNewVersion(a.Fixed); a.Fixed != "" && err != nil {
		return bad("%q is not a semantic version", diag.Brief(a.Fixed, 40))
	}
	return nil
}

// affected are the releases of the advisory's skill that it is about.
func affected(ctx context.Context, tx *meta.Tx, a meta.Advisory) (list []meta.Release, err error) {
	versions, err := constraint(a)
	if err != nil {
		return nil, err
	}
	all, err := tx.Releases(ctx, a.Namespace, a.Name)
	for _, r := range all {
		v, verr := semver.StrictNewVersion(r.Version)
		if versions != nil && verr == nil && versions.Check(v) || slices.Contains(a.Digests, r.Manifest) || slices.Contains(a.Digests, r.Tree) || slices.Contains(a.Digests, r.Artifact) {
			list = append(list, r)
		}
	}
	return list, err
}

// AddAdvisory publishes an advisory about a skill, in the log and the feed. One without an id gets the next of the registry. An advisory that is
// about no release is refused.
func (g *Registry) AddAdvisory(ctx context.Context, who Caller, a meta.Advisory) (meta.Advisory, error) {
	if err := checkAdvisory(a); err != nil {
		return meta.Advisory{}, err
	}
	a.Published = g.now()
	a.Modified = a.Published
	err := g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, a.Namespace+"/"+a.Name, auth.Deprecate); err != nil {
			return err
		}
		about, err := affected(ctx, tx, a)
		if err != nil {
			return err
		}
		if len(about) == 0 {
			return diag.New(diag.Misuse, "unknown_version", "%s/%s has no release that this advisory is about", a.Namespace, a.Name)
		}
		have, err := tx.Advisories(ctx, "")
		if err != nil {
			return err
		}
		if len(have) >= maxAdvisories {
			return diag.New(diag.Refused, "denied", "the registry has %d advisories, which is the limit", len(have))
		}
		if a.ID == "" {
			a.ID = fmt.Sprintf("SKL-%d-%04d", a.Published.Year(), len(have)+1)
		}
		if err := tx.PutAdvisory(ctx, a, true); errors.Is(err, meta.ErrExists) {
			return diag.New(diag.Misuse, "in_use", "there is an advisory %s already", a.ID)
		} else if err != nil {
			return err
		}
		if err := g.event(ctx, tx, who, "advisory-add", a.Namespace+"/"+a.Name, a); err != nil {
			return err
		}
		return g.logAdvisory(ctx, tx, who, tlog.Advise, a, a.Summary)
	})
	return a, err
}

// WithdrawAdvisory takes an advisory back, for a reason. It stays in the feed, marked.
func (g *Registry) WithdrawAdvisory(ctx context.Context, who Caller, namespace, id, reason string) (a meta.Advisory, err error) {
	if reason = strings.TrimSpace(reason); reason == "" || len(reason) > maxReason {
		return a, diag.New(diag.Misuse, "invalid_request", "withdrawing an advisory needs a reason of at most %d bytes", maxReason)
	}
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, namespace, auth.Deprecate); err != nil {
			return err
		}
		have, err := tx.Advisories(ctx, namespace)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(have, func(a meta.Advisory) bool { return a.ID == id })
		if i < 0 {
			return g.unknown(who, "not_found", "advisory %s in namespace %s", diag.Brief(id, 64), namespace)
		}
		if a = have[i]; !a.Withdrawn.IsZero() {
			return diag.New(diag.Misuse, "wrong_state", "%s is withdrawn already", a.ID)
		}
		a.Withdrawn, a.Reason = g.now(), reason
		a.Modified = a.Withdrawn
		if err := tx.PutAdvisory(ctx, a, false); err != nil {
			return err
		}
		if err := g.event(ctx, tx, who, "advisory-withdraw", a.Namespace+"/"+a.Name, a); err != nil {
			return err
		}
		return g.logAdvisory(ctx, tx, who, tlog.Unadvise, a, reason)
	})
	return a, err
}

func (g *Registry) logAdvisory(ctx context.Context, tx *meta.Tx, who Caller, action tlog.Action, a meta.Advisory, text string) error {
	_, err := g.append(ctx, tx, tlog.Record{Action: action, Name: a.Namespace + "/" + a.Name, By: who.Account, Reason: a.ID + " " + a.Severity + ": " + text, At: tlog.At(g.now())})
	return err
}

// Advisories lists those of a namespace, as OSV has them.
func (g *Registry) Advisories(ctx context.Context, who Caller, namespace string) (list []wire.Advisory, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		if _, err := g.readable(ctx, tx, who, namespace, "unknown_namespace", "namespace "+namespace); err != nil {
			return err
		}
		all, err := tx.Advisories(ctx, namespace)
		for _, a := range all {
			one, oerr := osv(ctx, tx, a, true)
			list, err = append(list, one), errors.Join(err, oerr)
		}
		return err
	})
	return list, err
}

// osv is an advisory as it is served: where the namespace is private, nothing but its id, severity and times, and what only finds it who knows the release.
func osv(ctx context.Context, tx *meta.Tx, a meta.Advisory, public bool) (wire.Advisory, error) {
	out := wire.Advisory{Schema: "1.7.0", ID: a.ID, Published: a.Published.UTC(), Modified: a.Modified.UTC(), Withdrawn: a.Withdrawn}
	out.Own.Severity, out.Own.Of = a.Severity, []string{}
	about, err := affected(ctx, tx, a)
	versions := []string{}
	for _, r := range about {
		if r.LogIndex >= 0 { // it was served
			out.Own.Of = append(out.Own.Of, wire.StateOf(r.Repo(), r.Manifest))
			versions = append(versions, r.Version)
		}
	}
	if public {
		out.Summary, out.Own.Fixed, out.Own.Versions, out.Own.Digests, out.Own.Reason = a.Summary, a.Fixed, a.Versions, a.Digests, a.Reason
		out.Affected = []wire.Affected{{Package: wire.Package{Ecosystem: "skl", Name: a.Namespace + "/" + a.Name}, Versions: versions}}
	}
	return out, err
}
