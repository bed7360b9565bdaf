package apply

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

// An AckRequest asks for a conflict between two copies of a skill to be taken as it is.
type AckRequest struct {
	Code, Name string
	Reason     string // for those who read skl.toml later
	DryRun     bool
}

// Acknowledge writes down that conflicts are wanted, by the digests of both copies, and returns what it wrote.
func (a *Applier) Acknowledge(ctx context.Context, r AckRequest) ([]manifest.Ack, error) {
	if r.Reason == "" {
		return nil, diag.New(diag.Misuse, "usage", "an acknowledgement needs a --reason for those who read skl.toml later").
			Hint("skl ack %s %s --reason WHY", r.Code, r.Name)
	}
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return nil, err
	}
	defer end()
	l, err := a.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	found, err := scope.Copies(l, r.Name)
	if err != nil {
		return nil, err
	}
	acks := acksFor(found, r.Code, r.Reason)
	if len(acks) == 0 {
		return nil, diag.New(diag.Misuse, "no_conflict", "%s has no open conflict %s", r.Name, r.Code).Hint("skl list --shadowed")
	}
	for _, ack := range acks {
		if err := f.Manifest.AddAck(ack); err != nil {
			return nil, err
		}
	}
	if r.DryRun {
		return acks, nil
	}
	return acks, a.Scope.WriteManifest(f)
}

// acksFor makes the acknowledgements that silence a code of these copies.
func acksFor(found []roots.Record, code, reason string) []manifest.Ack {
	var acks []manifest.Ack
	for _, r := range found {
		for _, a := range r.Open() {
			if a.Code == code {
				acks = append(acks, manifest.Ack{Code: a.Code, Name: a.Name, Winner: string(a.Winner), Loser: string(a.Loser), Reason: reason})
			}
		}
	}
	return acks
}
