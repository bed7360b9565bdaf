package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

func scanNamespace(r row) (n Namespace, err error) {
	var public int64
	err = r.Scan(&n.Name, &public, decoder{&n.Policy}, stamp{&n.Created})
	n.Public = public != 0
	return n, err
}

// Namespace returns the namespace of that name.
//
//go:noinline
func (tx *Tx) Namespace(ctx context.Context, name string) (Namespace, error) {
	return one(ctx, tx, scanNamespace, `SELECT name, public, policy, created FROM namespaces WHERE name = $1`, name)
}

// Namespaces lists namespaces by name, private ones too.
func (tx *Tx) Namespaces(ctx context.Context, after string, limit int) ([]Namespace, error) {
	return list(ctx, tx, scanNamespace, `SELECT name, public, policy, created FROM namespaces WHERE name > $1 ORDER BY name LIMIT $2`, after, bound(limit))
}

// CreateNamespace adds n. Its error is ErrExists if the name is taken.
func (tx *Tx) CreateNamespace(ctx context.Context, n Namespace) error {
	return tx.insert(ctx, `INSERT INTO namespaces (name, public, accept_any, policy, created) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		n.Name, flag(n.Public), flag(n.Policy.AcceptAny), encode(n.Policy, false), micros(n.Created))
}

// UpdateNamespace changes who may read n.Name, and its policy. Created stays.
func (tx *Tx) UpdateNamespace(ctx context.Context, n Namespace) error {
	return tx.change(ctx, `UPDATE namespaces SET public = $2, accept_any = $3, policy = $4 WHERE name = $1`,
		n.Name, flag(n.Public), flag(n.Policy.AcceptAny), encode(n.Policy, false))
}

func scanGrant(r row) (g Grant, err error) {
	err = r.Scan(&g.Account, &g.Namespace, &g.Role, stamp{&g.Created})
	return g, err
}

// Grants lists what account was granted, by namespace.
//
//go:noinline
func (tx *Tx) Grants(ctx context.Context, account string) ([]Grant, error) {
	return list(ctx, tx, scanGrant, `SELECT account, namespace, role, created FROM grants WHERE account = $1 ORDER BY namespace`, account)
}

// NamespaceGrants lists who was granted what in namespace, by account. Grants for "*" are not among them.
//
//go:noinline
func (tx *Tx) NamespaceGrants(ctx context.Context, namespace string) ([]Grant, error) {
	return list(ctx, tx, scanGrant, `SELECT account, namespace, role, created FROM grants WHERE namespace = $1 ORDER BY account`, namespace)
}

// PutGrant gives g.Account the role g.Role in g.Namespace, instead of the one it had there.
func (tx *Tx) PutGrant(ctx context.Context, g Grant) error {
	_, err := tx.exec(ctx, `INSERT INTO grants (account, namespace, role, created) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account, namespace) DO UPDATE SET role = excluded.role, created = excluded.created`,
		g.Account, g.Namespace, g.Role, micros(g.Created))
	return err
}

// DeleteGrant takes the role of account in namespace back. ErrNotFound if it has none.
//
//go:noinline
func (tx *Tx) DeleteGrant(ctx context.Context, account, namespace string) error {
	return tx.change(ctx, `DELETE FROM grants WHERE account = $1 AND namespace = $2`, account, namespace)
}

const tokenColumns = `t.id, t.hash, t.account, t.namespace, t.role, t.created, t.expires, t.revoked, t.last_used`

func (t *Token) columns() []any {
	return []any{&t.ID, &t.Hash, &t.Account, &t.Namespace, &t.Role, stamp{&t.Created}, stamp{&t.Expires}, stamp{&t.Revoked}, stamp{&t.LastUsed}}
}

func scanToken(r row) (t Token, err error) {
	err = r.Scan(t.columns()...)
	return t, err
}

// Token returns the token of that id, also one that expired or was revoked.
//
//go:noinline
func (tx *Tx) Token(ctx context.Context, id string) (Token, error) {
	return one(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM tokens t WHERE t.id = $1`, id)
}

// TokenGrants returns the token of that id and its account's grants by namespace, in one query.
func (tx *Tx) TokenGrants(ctx context.Context, id string) (Token, []Grant, error) {
	var t Token
	var grants []Grant
	found := false
	err := tx.each(ctx, func(r row) error {
		found = true
		var namespace, role *string
		var created *int64
		if err := r.Scan(append(t.columns(), &namespace, &role, &created)...); err != nil || namespace == nil {
			return err
		}
		g := Grant{Account: t.Account, Namespace: *namespace, Role: *role}
		grants = append(grants, g)
		return stamp{&grants[len(grants)-1].Created}.Scan(*created)
	}, `SELECT `+tokenColumns+`, g.namespace, g.role, g.created FROM tokens t LEFT JOIN grants g ON g.account = t.account WHERE t.id = $1 ORDER BY g.namespace`, id)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return Token{}, nil, err
	}
	return t, grants, nil
}

// Tokens lists the tokens for namespace by id; namespace "" is all tokens.
func (tx *Tx) Tokens(ctx context.Context, namespace string, after string, limit int) ([]Token, error) {
	if namespace == "" {
		return list(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM tokens t WHERE t.id > $1 ORDER BY t.id LIMIT $2`, after, bound(limit))
	}
	return list(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM tokens t WHERE t.namespace = $1 AND t.id > $2 ORDER BY t.id LIMIT $3`, namespace, after, bound(limit))
}

// AccountTokens lists all tokens of account by id, also those that expired or were revoked.
//
//go:noinline
func (tx *Tx) AccountTokens(ctx context.Context, account string) ([]Token, error) {
	return list(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM tokens t WHERE t.account = $1 ORDER BY t.id`, account)
}

// AccountOwner returns the account that made account. ErrNotFound if none did.
//
//go:noinline
func (tx *Tx) AccountOwner(ctx context.Context, account string) (string, error) {
	return one(ctx, tx, column[string], `SELECT owner FROM accounts WHERE name = $1`, account)
}

// CreateAccount notes that owner made account. Its error is ErrExists if it was made before.
func (tx *Tx) CreateAccount(ctx context.Context, account, owner string, at time.Time) error {
	return tx.insert(ctx, `INSERT INTO accounts (name, owner, created) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, account, owner, micros(at))
}

// Twin returns an account whose name differs from account in nothing but the case of letters. ErrNotFound if there is none, or if
// account has a role, a token or an owner itself: what is there may stay. Names are in ASCII.
func (tx *Tx) Twin(ctx context.Context, account string) (string, error) {
	_, err := one(ctx, tx, column[string], `SELECT account FROM grants WHERE account = $1
		UNION SELECT account FROM tokens WHERE account = $1 UNION SELECT name FROM accounts WHERE name = $1`, account)
	if err == nil {
		return "", ErrNotFound
	}
	if !errors.Is(err, ErrNotFound) {
		return "", err
	}
	// All of them are read, which nobody notices: a new account is rare.
	return one(ctx, tx, column[string], `SELECT MIN(name) FROM (SELECT account AS name FROM grants
		UNION SELECT account FROM tokens UNION SELECT name FROM accounts) taken WHERE lower(name) = $1 GROUP BY lower(name)`, strings.ToLower(account))
}

// CreateToken adds t. Its error is ErrExists if the id is taken.
func (tx *Tx) CreateToken(ctx context.Context, t Token) error {
	return tx.insert(ctx, `INSERT INTO tokens (id, hash, account, namespace, role, created, expires, revoked, last_used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		t.ID, notNil(t.Hash), t.Account, t.Namespace, t.Role, micros(t.Created), micros(t.Expires), micros(t.Revoked), micros(t.LastUsed))
}

// RevokeToken notes that the token was revoked at the time at. The first such time stays.
func (tx *Tx) RevokeToken(ctx context.Context, id string, at time.Time) error {
	return tx.change(ctx, `UPDATE tokens SET revoked = CASE WHEN revoked = 0 THEN $2 ELSE revoked END WHERE id = $1`, id, micros(at))
}

// TouchToken notes that the token was used, to the hour; so it writes at most once an hour.
// It is no error if there is no such token.
func (tx *Tx) TouchToken(ctx context.Context, id string, at time.Time) error {
	_, err := tx.exec(ctx, `UPDATE tokens SET last_used = $2 WHERE id = $1 AND last_used < $2`, id, micros(at.UTC().Truncate(time.Hour)))
	return err
}

func scanEvent(r row) (e Event, err error) {
	err = r.Scan(&e.ID, stamp{&e.At}, &e.Account, &e.Token, &e.Remote, &e.Action, &e.Target, &e.Detail)
	return e, err
}

// AddEvent adds e to the audit trail. Its ID is given here, greater than that of all events before.
func (tx *Tx) AddEvent(ctx context.Context, e Event) error {
	namespace, _, _ := strings.Cut(e.Target, "/")
	_, err := tx.exec(ctx, `INSERT INTO events (at, account, token, remote, action, namespace, target, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		micros(e.At), e.Account, e.Token, e.Remote, e.Action, namespace, e.Target, e.Detail)
	return err
}

// LastEvent returns the newest event about target that is one of these actions. ErrNotFound if there is none.
func (tx *Tx) LastEvent(ctx context.Context, target string, actions ...string) (Event, error) {
	namespace, _, _ := strings.Cut(target, "/")
	query := `SELECT id, at, account, token, remote, action, target, detail FROM events WHERE namespace = $1 AND target = $2 AND action IN (`
	args := []any{namespace, target}
	for i, a := range actions {
		if i > 0 {
			query += ", "
		}
		args = append(args, a)
		query += fmt.Sprintf("$%d", len(args))
	}
	return one(ctx, tx, scanEvent, query+`) ORDER BY id DESC LIMIT 1`, args...)
}

// Events lists the events that q selects, newest first. The limit 0 means 100.
func (tx *Tx) Events(ctx context.Context, q AuditQuery) ([]Event, error) {
	query := `SELECT id, at, account, token, remote, action, target, detail FROM events WHERE id < $1`
	before := q.Before
	if before <= 0 {
		before = 1<<63 - 1
	}
	args := []any{before, cmp.Or(max(q.Limit, 0), 100)}
	for _, c := range []struct{ name, value string }{{"namespace", q.Namespace}, {"account", q.Account}, {"action", q.Action}} {
		if c.value != "" {
			args = append(args, c.value)
			query += fmt.Sprintf(" AND %s = $%d", c.name, len(args))
		}
	}
	return list(ctx, tx, scanEvent, query+` ORDER BY id DESC LIMIT $2`, args...)
}

// EventsFrom lists events, the oldest first, from one on.
func (tx *Tx) EventsFrom(ctx context.Context, id int64, limit int) ([]Event, error) {
	return list(ctx, tx, scanEvent, `SELECT id, at, account, token, remote, action, target, detail FROM events WHERE id >= $1 ORDER BY id LIMIT $2`, id, limit)
}

// Use notes that something that is good for once was used, until it would be worth nothing anyhow. Its error is ErrExists if it was
// used before. What is over at now is forgotten.
func (tx *Tx) Use(ctx context.Context, id string, until, now time.Time) error {
	if _, err := tx.exec(ctx, `DELETE FROM used WHERE until < $1`, micros(now)); err != nil {
		return err
	}
	return tx.insert(ctx, `INSERT INTO used (id, until) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, micros(until))
}

// ForgetTokens removes the tokens of account that expired before a time.
func (tx *Tx) ForgetTokens(ctx context.Context, account string, before time.Time) error {
	_, err := tx.exec(ctx, `DELETE FROM tokens WHERE account = $1 AND expires > 0 AND expires < $2`, account, micros(before))
	return err
}
