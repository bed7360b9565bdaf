package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	manage(&n.Policy, meta.Policy{})
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if err := g.need(who, auth.Operate, "*"); err != nil {
			return err
		}
		switch err := tx.CreateNamespace(ctx, n); {
		case errors.Is(err, meta.ErrExists):
			return diag.New(diag.Misuse, "namespace_exists", "there is a namespace %s already", n.Name)
		case err != nil:
			return err
		}
		if who.Account != "" && !who.Anonymous {
			if err := tx.PutGrant(ctx, meta.Grant{Account: who.Account, Namespace: n.Name, Role: string(auth.Admin), Created: n.Created}); err != nil {
				return err
			}
		}
		if err := g.allowNames(ctx, tx, who, meta.Namespace{}, n); err != nil {
			return err
		}
		return g.event(ctx, tx, who, "namespace-create", n.Name, n.Policy)
	})
}

// manage gives a namespace that becomes a managed one approval by a second person, unless it says how else releases are approved.
func manage(p *meta.Policy, before meta.Policy) {
	if p.Managed && !before.Managed && !p.ManualApproval {
		p.ManualApproval, p.SecondPerson = true, true
	}
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

// UpdateNamespace changes a namespace's policy or visibility. An admin of the namespace makes it stricter; to loosen what
// protects it takes an admin of the registry: see mayLoosen.
func (g *Registry) UpdateNamespace(ctx context.Context, who Caller, name string, change func(*meta.Namespace) error) (n meta.Namespace, err error) {
	err = g.updateNamespace(ctx, who, name, change, &n, nil)
	return n, err
}

// TryNamespace is UpdateNamespace that changes nothing.
func (g *Registry) TryNamespace(ctx context.Context, who Caller, name string, change func(*meta.Namespace) error) (n meta.Namespace, err error) {
	if err := g.updateNamespace(ctx, who, name, change, &n, errTried); !errors.Is(err, errTried) {
		return meta.Namespace{}, err
	}
	return n, nil
}

// errTried takes back what was only tried.
var errTried = errors.New("this was tried only")

// updateNamespace sets n to what the namespace is then. It ends with end, which nil keeps.
func (g *Registry) updateNamespace(ctx context.Context, who Caller, name string, change func(*meta.Namespace) error, n *meta.Namespace, end error) error {
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, name, auth.Manage)
		if err != nil {
			return err
		}
		*n = a.ns
		if err := change(n); err != nil {
			return err
		}
		n.Name, n.Created = a.ns.Name, a.ns.Created
		manage(&n.Policy, a.ns.Policy)
		if err := checkPolicy(n.Policy); err != nil {
			return err
		}
		if n.Policy.AcceptAny != a.ns.Policy.AcceptAny {
			if err := unused(ctx, tx, name); err != nil {
				return err
			}
		}
		if err := g.mayLoosen(ctx, tx, who, a.ns, *n); err != nil {
			return err
		}
		if err := tx.UpdateNamespace(ctx, *n); err != nil {
			return err
		}
		detail := map[string]any{"public": n.Public, "policy": n.Policy}
		if err := g.event(ctx, tx, who, "namespace-update", name, detail); err != nil {
			return err
		}
		if err := g.allowNames(ctx, tx, who, a.ns, *n); err != nil {
			return err
		}
		return cmp.Or(g.logSigners(ctx, tx, who, a.ns, *n), end)
	})
}

// unused refuses a namespace that holds something. Whether it is one of skills is decided before: else
// a published version could be moved, or something be served that was never logged.
func unused(ctx context.Context, tx *meta.Tx, namespace string) error {
	repos, err := tx.Repos(ctx, namespace+".", 1) // "/" follows "."
	if err != nil {
		return err
	}
	bare, err := tx.RepoExists(ctx, namespace)
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
	if err := g.need(who, auth.Audit, namespace); err != nil {
		return nil, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		if err := g.known(ctx, tx, who, namespace); err != nil {
			return err
		}
		list, err = tx.NamespaceGrants(ctx, namespace)
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
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error { return g.putGrant(ctx, tx, who, gr) })
}

func (g *Registry) putGrant(ctx context.Context, tx *meta.Tx, who Caller, gr meta.Grant) error {
	if err := g.mayGive(who, gr.Namespace, gr.Role); err != nil {
		return err
	}
	if err := g.known(ctx, tx, who, gr.Namespace); err != nil {
		return err
	}
	if err := checkTwin(ctx, tx, gr.Account); err != nil {
		return err
	}
	if err := tx.PutGrant(ctx, gr); err != nil {
		return err
	}
	return g.event(ctx, tx, who, "grant", gr.Namespace, map[string]string{"account": gr.Account, "role": gr.Role})
}

// FirstToken makes an administrator and a token for them if there is no token at all. Text is "" if there is one. Of many processes that
// start at once, one gets a text.
func (g *Registry) FirstToken(ctx context.Context, who Caller, account string) (text string, err error) {
	none := false
	look := func(tx *meta.Tx) error {
		have, err := tx.Tokens(ctx, "", "", 1)
		none = len(have) == 0
		return err
	}
	if err := g.view(ctx, look); err != nil || !none {
		return "", err
	}
	err = g.update(ctx, func(tx *meta.Tx) error {
		text = ""
		if err := look(tx); err != nil || !none { // another process was first
			return err
		}
		now := g.now()
		if err := g.putGrant(ctx, tx, who, meta.Grant{Account: account, Namespace: "*", Role: string(auth.Admin), Created: now}); err != nil {
			return err
		}
		made, id, hash := auth.NewToken()
		text = made
		return g.putToken(ctx, tx, who, meta.Token{ID: id, Hash: hash[:], Account: account, Namespace: "*", Role: string(auth.Admin), Created: now})
	})
	if err != nil {
		return "", err
	}
	return text, nil
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

// Accounts that no person has: of commands on the data itself, of the server, and of nobody. Those of the first two administer the registry.
const (
	Local  = "local"
	System = "system"
	nobody = "anonymous"
)

var ofMachine = []string{Local, System}

// checkAccount accepts the names of accounts: at most 100 letters and digits of ASCII, with . _ @ + and - between them, and none that
// looks like one that the audit trail has for others.
func checkAccount(name string) error {
	if lower := strings.ToLower(name); slices.Contains(ofMachine, lower) || lower == nobody {
		return diag.New(diag.Misuse, "invalid_name", "%q is an account of the registry itself; use another name", name)
	}
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }
	good := name != "" && len(name) <= 100 && letter(name[0]) && letter(name[len(name)-1])
	for i := 0; good && i < len(name); i++ {
		good = letter(name[i]) || strings.IndexByte("._@+-", name[i]) >= 0
	}
	if !good {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of an account", diag.Printable(name)).
			Hint("an account is named by letters and digits of ASCII, with . _ @ + or - between them")
	}
	return nil
}

// checkTwin refuses to make an account that people would take for another one: ADMIN beside admin. Two that are there already stay.
func checkTwin(ctx context.Context, tx *meta.Tx, account string) error {
	twin, err := tx.Twin(ctx, account)
	if errors.Is(err, meta.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return diag.New(diag.Misuse, "near_name", "the account %s differs from %s by case alone", account, diag.Printable(twin)).
		Hint("if they are the same, write %s; if not, use another name", diag.Printable(twin))
}

// Ungrant takes an account's role away.
func (g *Registry) Ungrant(ctx context.Context, who Caller, account, namespace string) error {
	if err := g.need(who, auth.Manage, namespace); err != nil {
		return err
	}
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if err := g.need(who, auth.Manage, namespace); err != nil {
			return err
		}
		if err := g.known(ctx, tx, who, namespace); err != nil {
			return err
		}
		err := tx.DeleteGrant(ctx, account, namespace)
		if errors.Is(err, meta.ErrNotFound) {
			return g.unknown(who, "unknown_grant", "role of %s in %s", account, namespace)
		}
		if err != nil {
			return err
		}
		return g.event(ctx, tx, who, "ungrant", namespace, map[string]string{"account": account})
	})
}

// CreateToken returns the token's text, which is not stored. Nobody gives more than they have:
//
//   - It takes an admin of the namespace to make a token for it, and one of the instance for "*".
//   - The token is for their own account, or for one that they made: an account that is not known yet becomes
//     theirs. For all others it takes an admin of the instance, as the account's name goes into the log.
//   - A token that expires makes none that lives longer.
//   - No other token becomes good for more by it: see holdRole.
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
	err = g.change(ctx, who, func(tx *meta.Tx, who Caller) error { return g.putToken(ctx, tx, who, t) })
	if err != nil {
		return "", meta.Token{}, err
	}
	return text, t, nil
}

func (g *Registry) putToken(ctx context.Context, tx *meta.Tx, who Caller, t meta.Token) error {
	if err := g.mayGive(who, t.Namespace, t.Role); err != nil {
		return err
	}
	if end := who.Expires; !end.IsZero() && (t.Expires.IsZero() || t.Expires.After(end)) {
		return diag.New(diag.Refused, "denied", "the token that asks for another expires on %s, and the other may not outlive it: name an earlier end with --expires", end.UTC().Format(time.DateOnly)).
			Hint("ask with a token that lives longer")
	}
	if err := g.known(ctx, tx, who, t.Namespace); err != nil {
		return err
	}
	if err := checkTwin(ctx, tx, t.Account); err != nil {
		return err
	}
	if err := g.ownAccount(ctx, tx, who, t.Account, t.Created); err != nil {
		return err
	}
	if err := g.holdRole(ctx, tx, t.Account, t.Namespace, t.Role, t.Created); err != nil {
		return err
	}
	if err := tx.CreateToken(ctx, t); err != nil {
		return err
	}
	return g.event(ctx, tx, who, "token-create", t.Namespace, map[string]string{"account": t.Account, "role": t.Role, "id": t.ID})
}

// holdRole gives the account the role of its new token, unless it has that much already: a token
// is never good for more than its account. The role is refused if an older token of the account would become
// good for more by it: that is done by a grant, which says so, and not by a request for another token.
func (g *Registry) holdRole(ctx context.Context, tx *meta.Tx, account, namespace, role string, now time.Time) error {
	grants, err := tx.Grants(ctx, account)
	if err != nil {
		return err
	}
	want, next := auth.Role(role), []meta.Grant{{Account: account, Namespace: namespace, Role: role, Created: now}}
	for _, have := range grants {
		here := have.Namespace == namespace
		switch {
		case (here || have.Namespace == auth.Everywhere) && auth.Covers(auth.Role(have.Role), want):
			return nil
		case here && !auth.Covers(want, auth.Role(have.Role)):
			return diag.New(diag.Misuse, "wrong_state", "%s is %s in %s, which does not go together with a token as %s; use another name", diag.Printable(account), have.Role, namespace, role)
		case !here:
			next = append(next, have)
		}
	}
	tokens, err := tx.AccountTokens(ctx, account)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if !t.Revoked.IsZero() || !t.Expires.IsZero() && !now.Before(t.Expires) {
			continue
		}
		before := auth.Identity{Account: account, Grants: effective(t, grants)}
		for _, after := range effective(t, next) {
			if !before.Holds(after.Role, after.Namespace) {
				return diag.New(diag.Misuse, "wrong_state", "the token %s of %s would become %s in %s by this; use another name", t.ID, diag.Printable(account), after.Role, after.Namespace).
					Hint("skl registry namespace grant %s %s %s", namespace, diag.Printable(account), role)
			}
		}
	}
	return tx.PutGrant(ctx, next[0])
}

// ownAccount refuses a token in the name of an account that is not who's: neither themselves, nor one that they made.
// A name that nobody has becomes theirs. An admin of the instance makes tokens for everybody.
func (g *Registry) ownAccount(ctx context.Context, tx *meta.Tx, who Caller, account string, now time.Time) error {
	foreign := diag.New(diag.Refused, "denied", "the account %s is not yours; use another name", diag.Printable(account)).
		Hint("an admin of the registry makes tokens for every account")
	owner, err := tx.AccountOwner(ctx, account)
	switch {
	case err == nil && owner != who.Account && account != who.Account && !who.May(auth.Manage, auth.Everywhere):
		return foreign
	case err == nil || account == who.Account:
		return nil
	case !errors.Is(err, meta.ErrNotFound):
		return err
	}
	grants, err := tx.Grants(ctx, account)
	if err != nil {
		return err
	}
	tokens, err := tx.AccountTokens(ctx, account)
	if err != nil {
		return err
	}
	switch {
	case len(grants) == 0 && len(tokens) == 0:
		return tx.CreateAccount(ctx, account, who.Account, now)
	case who.May(auth.Manage, auth.Everywhere):
		return nil
	}
	return foreign
}

// mine reports whether who may see a token in lists, and end it: the very token, one of the same account that is
// good for no more than the one that asks, or one of a namespace that who manages.
func (g *Registry) mine(who Caller, t meta.Token) bool {
	switch {
	case who.Anonymous || who.Scopes != nil:
		return false
	case t.ID == who.TokenID, t.Account == who.Account && who.Holds(auth.Role(t.Role), t.Namespace):
		return true
	}
	return who.May(auth.Manage, t.Namespace)
}

// Tokens lists the tokens that are who's own, and those of the namespaces that who manages, without their secrets.
func (g *Registry) Tokens(ctx context.Context, who Caller, after string, limit int) (list []meta.Token, err error) {
	if who.Anonymous && !g.Open {
		return nil, unauthorized()
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		list = list[:0]
		for len(list) < limit {
			page, err := tx.Tokens(ctx, "", after, 1000)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, t := range page {
				after = t.ID
				if len(list) < limit && g.mine(who, t) {
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
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		t, err := tx.Token(ctx, id)
		if errors.Is(err, meta.ErrNotFound) || err == nil && !g.mine(who, t) {
			return g.unknown(who, "unknown_token", "token %s", diag.Printable(id))
		}
		if err != nil {
			return err
		}
		if err := tx.RevokeToken(ctx, id, g.now()); err != nil {
			return err
		}
		return g.event(ctx, tx, who, "token-revoke", t.Namespace, map[string]string{"account": t.Account, "id": id})
	})
}

// LookupToken is what auth.Authenticator asks. A token is good for what it was made for, and
// never for more than its account may now.
func (g *Registry) LookupToken(ctx context.Context, id string) (stored auth.Stored, err error) {
	err = g.recall(ctx, func(tx reader) error {
		stored, err = storedToken(ctx, tx, id)
		if errors.Is(err, meta.ErrNotFound) {
			return fmt.Errorf("%w: %w", auth.ErrUnknown, err)
		}
		return err
	})
	return stored, err
}
