package ship

import (
	"context"
	"errors"
	"strings"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A Changed is a release whose state was changed, or a name of which all were.
type Changed struct {
	Name     string           `json:"name"`
	Version  string           `json:"version,omitempty"` // "" is all of Versions
	State    string           `json:"state"`
	Reason   string           `json:"reason"`
	Versions []ChangedVersion `json:"versions,omitempty"` // highest first; those that it did not concern are left out
}

// A ChangedVersion is one release of a name of which all were changed.
type ChangedVersion struct {
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// Current is the record of a release of which the state is about to change. What is blocked in a public namespace
// is told to nobody before the token is asked for: of that only the state is known.
func Current(ctx context.Context, rest *client.Client, namespace, name, version string) (wire.Version, error) {
	v, err := rest.Version(ctx, namespace, name, version)
	if errors.Is(err, diag.Code("blocked")) {
		return wire.Version{Namespace: namespace, Name: name, Version: version, State: wire.Blocked}, nil
	}
	return v, KnownNamespace(ctx, rest, namespace, err)
}

// KnownNamespace is err, or where that says that something is unknown, that already its namespace is.
func KnownNamespace(ctx context.Context, rest *client.Client, namespace string, err error) error {
	if !errors.Is(err, diag.Code("unknown_version")) && !errors.Is(err, diag.Code("unknown_skill")) {
		return err
	}
	if _, missing := rest.Namespace(ctx, namespace); errors.Is(missing, diag.Code("unknown_namespace")) {
		return missing
	}
	return err
}

// An ActRequest asks for another state of a release.
type ActRequest struct {
	Ref    string // NS/NAME@VERSION, or an OCI ref; NS/NAME is all its versions, to deprecate or undeprecate
	To     string // registry of a name; "" is the owner of the namespace
	Action string // yank, unyank, block, unblock, deprecate, undeprecate
	Reason string
	DryRun bool
}

// Act changes the state of a release. A dry run returns the state as it is.
func (s *Shipper) Act(ctx context.Context, r ActRequest) (Changed, error) {
	out, to, err := s.act(ctx, r)
	if err != nil && to != nil {
		err = s.Scope.Explain(to.shown, err)
	}
	return out, err
}

func (s *Shipper) act(ctx context.Context, r ActRequest) (Changed, *destination, error) {
	if name, err := ref.Parse(r.Ref); err == nil && name.Kind == ref.Name && name.Path == "" && name.Version == "" && strings.HasSuffix(r.Action, "deprecate") {
		return s.actOnAll(ctx, r, name)
	}
	to, t, version, err := s.published(ctx, r.Ref, r.To)
	if err != nil {
		return Changed{}, nil, err
	}
	if to.rest == nil {
		return Changed{}, nil, diag.New(diag.Misuse, "invalid_ref", "%s is on a plain OCI registry, which has no states", r.Ref)
	}
	namespace, name, _ := strings.Cut(t.Repo, "/")
	v, err := Current(ctx, to.rest, namespace, name, version)
	if err == nil && !r.DryRun {
		v, err = to.rest.Act(ctx, namespace, name, version, wire.Action{Action: r.Action, Reason: r.Reason})
	}
	return Changed{Name: t.Repo, Version: version, State: v.State, Reason: v.Reason}, to, err
}

// actOnAll deprecates all versions of a name that are offered, or takes that back for all that are deprecated. One that fails
// ends it; what was changed before stays, and a second try goes on from there.
func (s *Shipper) actOnAll(ctx context.Context, r ActRequest, name ref.Ref) (Changed, *destination, error) {
	place, named := r.To, r.To != ""
	if !named {
		var err error
		if place, err = s.ownerRegistry(ctx, name); err != nil {
			return Changed{}, nil, err
		}
	}
	to, err := s.destination(ctx, place, named)
	if err != nil {
		return Changed{}, nil, err
	}
	out := Changed{Name: name.Owner + "/" + name.Repo, State: wire.Deprecated, Reason: r.Reason}
	if r.Action == "undeprecate" {
		out.State = wire.Approved
	}
	if to.rest == nil {
		return Changed{}, to, diag.New(diag.Misuse, "invalid_ref", "%s is on a plain OCI registry, which has no states", r.Ref)
	}
	all, err := to.rest.Versions(ctx, name.Owner, name.Repo)
	if err != nil {
		return Changed{}, to, KnownNamespace(ctx, to.rest, name.Owner, err)
	}
	for _, v := range all {
		if v.State != wire.Deprecated && (v.State != wire.Approved || r.Action == "undeprecate") {
			continue
		}
		one := ChangedVersion{v.Version, v.State, v.Reason}
		if !r.DryRun {
			done, err := to.rest.Act(ctx, name.Owner, name.Repo, v.Version, wire.Action{Action: r.Action, Reason: r.Reason})
			if err != nil {
				return Changed{}, to, err
			}
			one.State, one.Reason = done.State, done.Reason
		}
		out.Versions = append(out.Versions, one)
	}
	if len(out.Versions) == 0 {
		return Changed{}, to, diag.New(diag.Misuse, "wrong_state", "%s has no version to %s", out.Name, r.Action)
	}
	return out, to, nil
}
