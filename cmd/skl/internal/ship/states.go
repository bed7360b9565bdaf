package ship

import (
	"context"
	"errors"
	"strings"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// actResult is what became of a release.
// A Changed is a release whose state was changed.
type Changed struct {
	Name    string `json:"name"`
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
	return v, err
}

// An ActRequest asks for another state of a release.
type ActRequest struct {
	Ref    string // NS/NAME@VERSION, or an OCI ref
	To     string // registry of a name; "" is the owner of the namespace
	Action string // yank, unyank, block, unblock, deprecate, undeprecate
	Reason string
	DryRun bool
}

// Act changes the state of a release. A dry run returns the state as it is.
func (s *Shipper) Act(ctx context.Context, r ActRequest) (Changed, error) {
	to, t, version, err := s.published(ctx, r.Ref, r.To)
	if err != nil {
		return Changed{}, err
	}
	if to.rest == nil {
		return Changed{}, diag.New(diag.Misuse, "invalid_ref", "%s is on a plain OCI registry, which has no states", r.Ref)
	}
	namespace, name, _ := strings.Cut(t.Repo, "/")
	v, err := Current(ctx, to.rest, namespace, name, version)
	if err == nil && !r.DryRun {
		v, err = to.rest.Act(ctx, namespace, name, version, wire.Action{Action: r.Action, Reason: r.Reason})
	}
	return Changed{t.Repo, version, v.State, v.Reason}, err
}
