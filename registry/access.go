package registry

import (
	"context"
	"errors"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// An access is what a caller may do in one repository.
type access struct {
	ns    meta.Namespace
	read  bool // what is served
	draft bool // what is not yet, or not any more, listed; the repository's own blobs
}

// access finds the namespace of repo and what who may read in it. A namespace that
// who may not read and one that does not exist are the same: the zero access.
func (g *Registry) access(ctx context.Context, tx reader, who Caller, repo string) (access, error) {
	name, _, _ := strings.Cut(repo, "/")
	if g.Open {
		return access{ns: meta.Namespace{Name: name, Public: true, Policy: meta.Policy{AcceptAny: true}}, read: true, draft: true}, nil
	}
	ns, err := tx.Namespace(ctx, name)
	if errors.Is(err, meta.ErrNotFound) {
		return access{}, nil
	}
	if err != nil {
		return access{}, err
	}
	a := access{ns: ns, read: who.Sees(repo, ns.Public), draft: who.May(auth.ReadDraft, repo) || who.May(auth.Push, repo)}
	if !a.read {
		return access{}, nil
	}
	return a, nil
}

// readable is access for somebody who wants to read; the error names what, a
// repository, skill or namespace.
func (g *Registry) readable(ctx context.Context, tx reader, who Caller, repo, code, what string) (access, error) {
	a, err := g.access(ctx, tx, who, repo)
	switch {
	case err != nil || a.read:
	case code == "unknown_namespace" && !who.Anonymous:
		name, _, _ := strings.Cut(repo, "/")
		err = g.noNamespace(who, name)
	default:
		err = g.unknown(who, code, "%s", what)
	}
	return a, err
}

// writable is access for somebody who wants to do something that changes.
func (g *Registry) writable(ctx context.Context, tx *meta.Tx, who Caller, repo string, do auth.Action) (access, error) {
	a, err := g.access(ctx, tx, who, repo)
	if err != nil || g.Open && auth.Opened(do) {
		return a, err
	}
	name, _, _ := strings.Cut(repo, "/")
	switch {
	case a.read && who.May(do, repo):
		return a, nil
	case who.Anonymous:
		return access{}, unauthorized()
	case !a.read:
		return access{}, g.noNamespace(who, name)
	}
	return access{}, Denied(who, do, name)
}

// noNamespace says that who can do nothing in a namespace, in the same words whether it is missing or private. Only who
// may read everything is told that it does not exist.
func (g *Registry) noNamespace(who Caller, name string) error {
	if who.Granted(auth.Read, auth.Everywhere) { // a bearer is for one repository, its account not
		return diag.New(diag.Misuse, "unknown_namespace", "there is no namespace %s", diag.Printable(name)).Hint("skl registry namespace create %s", diag.Printable(name))
	}
	return diag.New(diag.Misuse, "unknown_namespace", "there is no namespace %s that %s may read", diag.Printable(name), diag.Printable(who.Account)).
		Hint("an admin of the registry can create it: skl registry namespace create %s", diag.Printable(name))
}

// known refuses a namespace that does not exist, "*" always does. The caller has looked at who's rights there.
func (g *Registry) known(ctx context.Context, tx *meta.Tx, who Caller, name string) error {
	if name == auth.Everywhere {
		return nil
	}
	_, err := tx.Namespace(ctx, name)
	if errors.Is(err, meta.ErrNotFound) {
		return g.noNamespace(who, name)
	}
	return err
}

// unknown says that something is not there. Somebody who did not say who they are is
// told to, whether it exists or not, unless the registry is open.
func (g *Registry) unknown(who Caller, code, format string, args ...any) error {
	if who.Anonymous && !g.Open {
		return unauthorized()
	}
	return diag.New(diag.Misuse, code, "there is no "+format, args...)
}

func unauthorized() error {
	return diag.New(diag.Failed, "unauthorized", "this needs a token").Hint("skl login URL")
}

// need refuses who may not do something in a namespace, "*" for the registry as a whole.
func (g *Registry) need(who Caller, do auth.Action, namespace string) error {
	switch {
	case g.Open && auth.Opened(do) || who.May(do, namespace):
		return nil
	case who.Anonymous:
		return unauthorized()
	}
	return Denied(who, do, namespace)
}

// Denied says that the role of who does not let them do something in a namespace, "*" for the registry as a whole, and
// names the least role that does.
func Denied(who Caller, do auth.Action, namespace string) *diag.Error {
	if namespace == auth.Everywhere {
		return lacksRole(who, do, namespace, diag.New(diag.Refused, "denied", "%s may not %s on this registry", who.Account, do))
	}
	return lacksRole(who, do, namespace, diag.New(diag.Refused, "denied", "%s may not %s in namespace %s", who.Account, do, diag.Printable(namespace)))
}

// lacksRole adds to e the command that gives who the least role for do. An account has one role in a namespace, so
// the hint says which one it loses, if the new one does not cover it.
func lacksRole(who Caller, do auth.Action, namespace string, e *diag.Error) *diag.Error {
	role, of := auth.Least(do), diag.Printable(namespace)
	if namespace == auth.Everywhere {
		if of = "the registry"; role == auth.Admin { // nobody is made that for one thing
			return e.Hint("an admin of the registry can do it")
		}
	}
	instead := ""
	for _, g := range who.Grants {
		if g.Namespace == namespace && !auth.Covers(role, g.Role) {
			instead = ", in place of " + string(g.Role)
		}
	}
	return e.Hint("an admin of %s can grant it%s: skl registry namespace grant %s %s %s", of, instead, diag.Quote(diag.Printable(namespace)), diag.Printable(who.Account), role)
}

// visibleNamespaces are the namespaces who may read, nil for all.
func (g *Registry) visibleNamespaces(ctx context.Context, tx *meta.Tx, who Caller) ([]string, error) {
	if g.Open || who.May(auth.Read, "*") {
		return nil, nil
	}
	names := []string{}
	for after := ""; ; {
		page, err := tx.Namespaces(ctx, after, 1000)
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			if who.Sees(n.Name, n.Public) {
				names = append(names, n.Name)
			}
			after = n.Name
		}
		if len(page) < 1000 {
			return names, nil
		}
	}
}

// checkSkillName accepts namespace and name of a skill.
func (g *Registry) checkSkillName(namespace, name string) error {
	if err := auth.CheckNamespace(namespace); err != nil {
		return err
	}
	if err := auth.CheckSkill(name); err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "name_reserved" {
			return err
		}
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a skill: %w", name, err)
	}
	for _, r := range g.Reserved {
		if skill.NameKey(r) == skill.NameKey(name) {
			return diag.New(diag.Refused, "name_reserved", "%q is a reserved name on this registry", name)
		}
	}
	return nil
}

// view is Meta.View with errors for users.
func (g *Registry) view(ctx context.Context, fn func(*meta.Tx) error) error {
	return g.reading(ctx, func() error { return Explain(g.Meta.View(ctx, fn)) })
}

func (g *Registry) update(ctx context.Context, fn func(*meta.Tx) error) error {
	return g.reading(ctx, func() error { return Explain(g.Meta.Update(ctx, fn)) })
}

// change is update of something that who asked for. A request may have been under way for long, with its rights
// looked at before its body: so the caller's token and grants are read again in the transaction that counts,
// and fn decides by what they are then. A token that was revoked or expired meanwhile is refused with
// code unauthorized. A caller without a token has no rights that could be taken back.
//
//go:noinline
func (g *Registry) change(ctx context.Context, who Caller, fn func(*meta.Tx, Caller) error) error {
	return g.update(ctx, func(tx *meta.Tx) error {
		now, err := g.current(ctx, tx, who)
		if err != nil {
			return err
		}
		return fn(tx, now)
	})
}

// current is who with the grants of this moment.
func (g *Registry) current(ctx context.Context, tx *meta.Tx, who Caller) (Caller, error) {
	if who.TokenID == "" {
		return who, nil
	}
	stored, err := storedToken(ctx, tx, who.TokenID)
	switch {
	case errors.Is(err, meta.ErrNotFound), err == nil && stored.Account != who.Account:
		return Caller{}, diag.New(diag.Refused, "unauthorized", "there is no token %s any more", who.TokenID)
	case err != nil:
		return Caller{}, err
	}
	if err := stored.Usable(g.now()); err != nil {
		return Caller{}, err
	}
	who.Grants, who.Expires = stored.Grants, stored.Expires
	return who, nil
}

// storedToken is a token as it is kept, with what it is good for at this moment.
func storedToken(ctx context.Context, tx reader, id string) (auth.Stored, error) {
	t, grants, err := tx.TokenGrants(ctx, id)
	if err != nil {
		return auth.Stored{}, err
	}
	return auth.Stored{ID: t.ID, Hash: auth.Hash(t.Hash), Account: t.Account, Expires: t.Expires, Revoked: !t.Revoked.IsZero(),
		Grants: effective(t, grants)}, nil
}

// effective is what a token is good for, while its account has these grants: what it was made for, and
// never more than its account may.
func effective(t meta.Token, grants []meta.Grant) []auth.Grant {
	account := make([]auth.Grant, len(grants))
	for i, gr := range grants {
		account[i] = auth.Grant{Namespace: gr.Namespace, Role: auth.Role(gr.Role)}
	}
	return auth.Narrow(auth.Grant{Namespace: t.Namespace, Role: auth.Role(t.Role)}, account)
}
