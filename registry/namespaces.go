package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// CreateNamespace makes a namespace and its creator, if that is an account, its admin.
func (g *Registry) CreateNamespace(ctx context.Context, who Caller, n meta.Namespace) error {
	if err := auth.CheckNamespace(n.Name); err != nil {
		return err
	}
	if err := checkPolicy(n.Policy); err != nil {
		return err
	}
	if err := g.need(who, auth.Operate, "*"); err != nil {
		return err
	}
	n.Created = g.now()
	return g.update(ctx, func(tx *meta.Tx) error {
		switch err := tx.CreateNamespace(n); {
		case errors.Is(err, meta.ErrExists):
			return diag.New(diag.Misuse, "namespace_exists", "there is a namespace %s already", n.Name)
		case err != nil:
			return err
		}
		if who.Account != "" && !who.Anonymous {
			if err := tx.PutGrant(meta.Grant{Account: who.Account, Namespace: n.Name, Role: string(auth.Admin), Created: n.Created}); err != nil {
				return err
			}
		}
		return g.event(tx, who, "namespace-create", n.Name, n.Policy)
	})
}

// checkPolicy refuses signers that could never sign, or that anybody could be.
func checkPolicy(p meta.Policy) error {
	for _, s := range p.Signers {
		bad := diag.New(diag.Misuse, "invalid_request", "a signer has either a key, or an issuer and an identity")
		switch {
		case s.Key != "" && (s.Issuer != "" || s.Identity != ""):
			return bad
		case s.Key != "":
			if _, err := attest.ParsePublic([]byte(s.Key)); err != nil {
				return diag.New(diag.Misuse, "invalid_request", "the signer's key: %w", err)
			}
		case s.Issuer == "" || s.Identity == "":
			return bad
		}
	}
	if p.RequireSignature && len(p.Signers) == 0 {
		return diag.New(diag.Misuse, "invalid_request", "signatures cannot be required before it is known who signs").
			Hint("skl registry namespace signer NAMESPACE --key FILE")
	}
	return nil
}

// UpdateNamespace changes a namespace's policy or visibility.
func (g *Registry) UpdateNamespace(ctx context.Context, who Caller, name string, change func(*meta.Namespace) error) (n meta.Namespace, err error) {
	err = g.update(ctx, func(tx *meta.Tx) error {
		a, err := g.writable(tx, who, name, auth.Manage)
		if err != nil {
			return err
		}
		n = a.ns
		if err := change(&n); err != nil {
			return err
		}
		n.Name, n.Created = a.ns.Name, a.ns.Created
		if err := checkPolicy(n.Policy); err != nil {
			return err
		}
		if n.Policy.AcceptAny != a.ns.Policy.AcceptAny {
			if err := unused(tx, name); err != nil {
				return err
			}
		}
		if err := tx.UpdateNamespace(n); err != nil {
			return err
		}
		detail := map[string]any{"public": n.Public, "policy": n.Policy}
		if err := g.event(tx, who, "namespace-update", name, detail); err != nil {
			return err
		}
		return g.logSigners(ctx, tx, who, a.ns, n)
	})
	return n, err
}

// unused refuses a namespace that holds something. Whether it is one of skills is decided before: else
// a published version could be moved, or something be served that was never logged.
func unused(tx *meta.Tx, namespace string) error {
	repos, err := tx.Repos(namespace+".", 1) // "/" follows "."
	if err != nil {
		return err
	}
	bare, err := tx.RepoExists(namespace)
	if err != nil {
		return err
	}
	if bare || len(repos) > 0 && strings.HasPrefix(repos[0], namespace+"/") {
		return diag.New(diag.Refused, "in_use", "%s holds artifacts already, so it stays what it is: a namespace of skills, or of any artifacts", namespace).
			Hint("skl registry namespace create OTHER")
	}
	return nil
}

// Grants lists who has which role in a namespace.
func (g *Registry) Grants(ctx context.Context, who Caller, namespace string) (list []meta.Grant, err error) {
	if !who.May(auth.Audit, namespace) {
		if err := g.need(who, auth.Manage, namespace); err != nil {
			return nil, err
		}
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		list, err = tx.NamespaceGrants(namespace)
		return err
	})
	return list, err
}

// Grant gives an account a role.
func (g *Registry) Grant(ctx context.Context, who Caller, gr meta.Grant) error {
	if err := g.mayGive(who, gr.Namespace, gr.Role); err != nil {
		return err
	}
	if err := checkAccount(gr.Account); err != nil {
		return err
	}
	gr.Created = g.now()
	return g.update(ctx, func(tx *meta.Tx) error {
		if gr.Namespace != "*" {
			if _, err := tx.Namespace(gr.Namespace); errors.Is(err, meta.ErrNotFound) {
				return g.unknown(who, "unknown_namespace", "namespace %s", gr.Namespace)
			} else if err != nil {
				return err
			}
		}
		if err := tx.PutGrant(gr); err != nil {
			return err
		}
		return g.event(tx, who, "grant", gr.Namespace, map[string]string{"account": gr.Account, "role": gr.Role})
	})
}

// mayGive refuses who gives a role that they do not have themselves.
func (g *Registry) mayGive(who Caller, namespace, role string) error {
	if _, ok := auth.ParseRole(role); !ok {
		e := diag.New(diag.Misuse, "invalid_request", "there is no role %q", diag.Printable(role))
		for _, r := range auth.Roles() {
			e.Candidates = append(e.Candidates, string(r))
		}
		return e
	}
	return g.need(who, auth.Manage, namespace)
}

// checkAccount accepts the names of accounts: what a person could have typed, in one line.
func checkAccount(name string) error {
	if name == "" || len(name) > 100 || diag.Printable(name) != name || name[0] == ' ' {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of an account", diag.Printable(name))
	}
	return nil
}

// Ungrant takes an account's role away.
func (g *Registry) Ungrant(ctx context.Context, who Caller, account, namespace string) error {
	if err := g.need(who, auth.Manage, namespace); err != nil {
		return err
	}
	return g.update(ctx, func(tx *meta.Tx) error {
		err := tx.DeleteGrant(account, namespace)
		if errors.Is(err, meta.ErrNotFound) {
			return g.unknown(who, "unknown_grant", "role of %s in %s", account, namespace)
		}
		if err != nil {
			return err
		}
		return g.event(tx, who, "ungrant", namespace, map[string]string{"account": account})
	})
}

// CreateToken returns the token's text, which is not stored. Nobody gives more than they
// have: an admin of a namespace makes tokens for it, anybody a weaker one of their own account.
func (g *Registry) CreateToken(ctx context.Context, who Caller, account, namespace, role string, expires time.Time) (text string, t meta.Token, err error) {
	if err := g.mayGive(who, namespace, role); err != nil {
		return "", t, err
	}
	if err := checkAccount(account); err != nil {
		return "", t, err
	}
	now := g.now()
	if !expires.IsZero() && !expires.After(now) {
		return "", t, diag.New(diag.Misuse, "invalid_request", "the token would have expired already")
	}
	text, id, hash := auth.NewToken()
	t = meta.Token{ID: id, Hash: hash[:], Account: account, Namespace: namespace, Role: role, Created: now, Expires: expires}
	err = g.update(ctx, func(tx *meta.Tx) error {
		if namespace != "*" {
			if _, err := tx.Namespace(namespace); errors.Is(err, meta.ErrNotFound) {
				return g.unknown(who, "unknown_namespace", "namespace %s", namespace)
			} else if err != nil {
				return err
			}
		}
		if err := g.accountIsFree(tx, who, account, namespace); err != nil {
			return err
		}
		if err := g.holdRole(tx, account, namespace, role, now); err != nil {
			return err
		}
		if err := tx.CreateToken(t); err != nil {
			return err
		}
		return g.event(tx, who, "token-create", namespace, map[string]string{"account": account, "role": role, "id": id})
	})
	if err != nil {
		return "", meta.Token{}, err
	}
	return text, t, nil
}

// holdRole gives the account the role of its new token, unless it has that much already: a token
// is never good for more than its account.
func (g *Registry) holdRole(tx *meta.Tx, account, namespace, role string, now time.Time) error {
	grants, err := tx.Grants(account)
	if err != nil {
		return err
	}
	want := auth.Role(role)
	for _, have := range grants {
		if have.Namespace != namespace && have.Namespace != auth.Everywhere {
			continue
		}
		switch {
		case auth.Covers(auth.Role(have.Role), want):
			return nil
		case have.Namespace == namespace && !auth.Covers(want, auth.Role(have.Role)):
			return diag.New(diag.Misuse, "wrong_state", "%s is %s in %s, which does not go together with a token as %s; use another name", diag.Printable(account), have.Role, namespace, role)
		}
	}
	return tx.PutGrant(meta.Grant{Account: account, Namespace: namespace, Role: role, Created: now})
}

// accountIsFree refuses a token in the name of an account that has roles where who may not
// give any: the token would have them too.
func (g *Registry) accountIsFree(tx *meta.Tx, who Caller, account, namespace string) error {
	grants, err := tx.Grants(account)
	if err != nil {
		return err
	}
	for _, gr := range grants {
		if g.need(who, auth.Manage, gr.Namespace) != nil {
			return diag.New(diag.Refused, "denied", "account %s has roles outside of %s; use another name", diag.Printable(account), namespace)
		}
	}
	return nil
}

// Tokens lists the tokens of the namespaces that who manages, without their secrets.
func (g *Registry) Tokens(ctx context.Context, who Caller, after string, limit int) (list []meta.Token, err error) {
	if who.Anonymous && !g.Open {
		return nil, unauthorized()
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		list = list[:0]
		for len(list) < limit {
			page, err := tx.Tokens("", after, 1000)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, t := range page {
				after = t.ID
				if len(list) < limit && (t.Account == who.Account || g.need(who, auth.Manage, t.Namespace) == nil) {
					list = append(list, t)
				}
			}
		}
		return nil
	})
	return list, err
}

// RevokeToken ends a token at once.
func (g *Registry) RevokeToken(ctx context.Context, who Caller, id string) error {
	return g.update(ctx, func(tx *meta.Tx) error {
		t, err := tx.Token(id)
		mine := err == nil && (t.Account == who.Account && !who.Anonymous || g.need(who, auth.Manage, t.Namespace) == nil)
		if errors.Is(err, meta.ErrNotFound) || err == nil && !mine {
			return g.unknown(who, "unknown_token", "token %s", diag.Printable(id))
		}
		if err != nil {
			return err
		}
		if err := tx.RevokeToken(id, g.now()); err != nil {
			return err
		}
		return g.event(tx, who, "token-revoke", t.Namespace, map[string]string{"account": t.Account, "id": id})
	})
}

// LookupToken is what auth.Authenticator asks. A token is good for what it was made for, and
// never for more than its account may now.
func (g *Registry) LookupToken(ctx context.Context, id string) (stored auth.Stored, err error) {
	err = g.Meta.View(ctx, func(tx *meta.Tx) error {
		t, grants, err := tx.TokenGrants(id)
		if errors.Is(err, meta.ErrNotFound) {
			return fmt.Errorf("%w: %w", auth.ErrUnknown, err)
		}
		if err != nil {
			return err
		}
		account := make([]auth.Grant, len(grants))
		for i, gr := range grants {
			account[i] = auth.Grant{Namespace: gr.Namespace, Role: auth.Role(gr.Role)}
		}
		stored = auth.Stored{ID: t.ID, Hash: auth.Hash(t.Hash), Account: t.Account, Expires: t.Expires, Revoked: !t.Revoked.IsZero(),
			Grants: auth.Narrow(auth.Grant{Namespace: t.Namespace, Role: auth.Role(t.Role)}, account)}
		return nil
	})
	return stored, err
}
