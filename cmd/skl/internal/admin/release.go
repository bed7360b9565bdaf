package admin

import (
	"context"
	"errors"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A DecisionRequest asks for a decision about one release.
type DecisionRequest struct {
	Site    Site
	Release string // NAMESPACE/NAME@VERSION
	Action  string // approve, reject or quarantine
	Reason  string // approve needs none
	DryRun  bool
}

// Decide carries out a decision about a release. A dry run returns the state as it is.
func (a *Admin) Decide(ctx context.Context, r DecisionRequest) (Done, error) {
	namespace, name, version, err := exactRelease(r.Release)
	if err != nil {
		return Done{}, a.sayNamespace(ctx, r, err)
	}
	reason := strings.TrimSpace(r.Reason)
	if reason == "" && r.Action != "approve" {
		return Done{}, diag.New(diag.Misuse, "usage", "%s needs a reason", r.Action).Hint("add --reason TEXT")
	}
	return on(ctx, a, r.Site, func(s *site) (Done, error) {
		v, err := ship.Current(ctx, s.client, namespace, name, version)
		if err == nil && !r.DryRun {
			v, err = s.client.Act(ctx, namespace, name, version, wire.Action{Action: r.Action, Reason: reason})
		}
		out := s.done(r.Action, r.Release)
		out.State = v.State
		return out, err
	})
}

// sayNamespace is bad, or where a release without a version is in a namespace that does not exist, that.
func (a *Admin) sayNamespace(ctx context.Context, r DecisionRequest, bad error) error {
	namespace, _, ok := strings.Cut(r.Release, "/")
	if !ok || strings.Contains(r.Release, "@") || auth.CheckNamespace(namespace) != nil {
		return bad
	}
	_, err := on(ctx, a, r.Site, func(s *site) (Done, error) {
		_, err := s.client.Namespace(ctx, namespace)
		return Done{}, err
	})
	if errors.Is(err, diag.Code("unknown_namespace")) {
		return err
	}
	return bad
}

// exactRelease takes "acme/pdf@1.4.2" apart.
func exactRelease(text string) (namespace, name, version string, err error) {
	r, err := ref.Parse(text)
	if err != nil {
		return "", "", "", err
	}
	full, version, _ := strings.Cut(text, "@")
	namespace, name, ok := strings.Cut(full, "/")
	if _, bad := semver.StrictNewVersion(version); bad != nil || !ok || strings.Contains(name, "/") || r.Kind != ref.Name {
		return "", "", "", diag.New(diag.Misuse, "invalid_ref", "%q is not one release", text).Hint("write NAMESPACE/NAME@VERSION, as in acme/pdf@1.4.2")
	}
	return namespace, name, version, nil
}
