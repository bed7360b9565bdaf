package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// loosened names what protects a namespace before, and not after. To remove one of several signers, to make a namespace private
// and to keep drafts for another time undo nothing: they let nothing through that was held back.
func loosened(before, after meta.Namespace) (list []string) {
	b, a := before.Policy, after.Policy
	newSigner := slices.ContainsFunc(a.Signers, func(s meta.Signer) bool { return !slices.Contains(b.Signers, s) })
	add := func(what string, is bool) {
		if is {
			list = append(list, what)
		}
	}
	add("approval by a second person ends", b.SecondPerson && !a.SecondPerson)
	add("releases are seen without approval", (b.ManualApproval || b.SecondPerson) && !a.ManualApproval && !a.SecondPerson)
	add("unsigned releases are taken", b.RequireSignature && !a.RequireSignature)
	add("another signer is trusted", b.RequireSignature && newSigner)
	add("any artifact is taken, unchecked", !b.AcceptAny && a.AcceptAny)
	add("it is managed no more", b.Managed && !a.Managed)
	add("anybody reads it", !before.Public && after.Public)
	return list
}

// mayLoosen refuses to undo what protects a namespace from its own admins, unless who administers the registry: else the one who is
// kept from publishing alone could end that alone. It goes into the audit trail and the log, as what was lost there is not seen in a release.
func (g *Registry) mayLoosen(ctx context.Context, tx *meta.Tx, who Caller, before, after meta.Namespace) error {
	lost := loosened(before, after)
	if len(lost) == 0 {
		return nil
	}
	text := strings.Join(lost, ", ")
	if !who.May(auth.Manage, auth.Everywhere) {
		return diag.New(diag.Refused, "denied", "%s may not loosen the rules of namespace %s (%s): that takes an admin of the registry", diag.Printable(who.Account), after.Name, text).
			Hint("an admin of the registry can do it, with the same command")
	}
	if err := g.event(ctx, tx, who, "namespace-loosen", after.Name, map[string][]string{"lost": lost}); err != nil {
		return err
	}
	_, err := g.append(ctx, tx, tlog.Record{Action: tlog.Loosen, Name: after.Name, By: who.Account, Reason: text, At: tlog.At(g.now())})
	return err
}
