package apply

import (
	"context"
	"strings"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

// An AckRequest asks for a conflict between two copies of a skill, or for what its release asks for, to be taken as it is.
type AckRequest struct {
	Code, Name string // the code of a conflict, or permissions and rules of findings with commas between them
	Reason     string // for those who read skl.toml later
	DryRun     bool
}

// Acknowledge writes down that conflicts are wanted, by the digests of both copies, or what a release asks for, and returns what it wrote.
func (a *Applier) Acknowledge(ctx context.Context, r AckRequest) ([]manifest.Ack, error) {
	if r.Reason == "" {
		return nil, diag.New(diag.Misuse, "usage", "an acknowledgement needs a --reason for those who read skl.toml later").
			Hint("skl ack %s %s --reason WHY", diag.Quote(r.Code), diag.Quote(r.Name))
	}
	if err := checkReason(r.Reason); err != nil {
		return nil, err
	}
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return nil, err
	}
	defer end()
	acknowledge := a.acknowledgeConflict
	if first, _, _ := strings.Cut(r.Code, ","); couldBeAsked(first) {
		acknowledge = a.acknowledgeAsked
	}
	acks, err := acknowledge(ctx, f, r)
	if err != nil {
		return nil, err
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

// acknowledgeConflict makes the records of open conflicts of a skill.
func (a *Applier) acknowledgeConflict(ctx context.Context, _ *scope.Files, r AckRequest) ([]manifest.Ack, error) {
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
	by, today := a.Scope.Person(), time.Now().Format(time.DateOnly)
	for i := range acks {
		acks[i].By, acks[i].On = by, today
	}
	return acks, nil
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
