package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Issuers of identity tokens that everybody knows.
const (
	GitHub = "https://token.actions.githubusercontent.com"
	GitLab = "https://gitlab.com"
)

// Bounds of publishers.
const (
	maxPublishers = 100              // of a namespace
	maxClaims     = 20               // of a publisher
	publishLife   = 15 * time.Minute // of a token that an identity token was exchanged for
)

// identities are the claims that name a repository, and the numbers that stay its own when the name goes to somebody else. One of the first has to be bound
// where the issuer has them.
func identities(issuer string) (name string, pinned []string) {
	switch issuer {
	case GitHub:
		return "repository", []string{"repository_id", "repository_owner_id"}
	case GitLab:
		return "project_path", []string{"project_id", "namespace_id"}
	}
	return "", []string{"repository_id", "repository_owner_id", "project_id", "namespace_id"}
}

// Publishers lists who publish to a namespace with identity tokens.
func (g *Registry) Publishers(ctx context.Context, who Caller, namespace string) (list []meta.Publisher, err error) {
	if err := g.need(who, auth.Audit, namespace); err != nil {
		return nil, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		if err := g.known(ctx, tx, who, namespace); err != nil {
			return err
		}
		ns, err := tx.Namespace(ctx, namespace)
		list = ns.Policy.Publishers
		return err
	})
	return list, err
}

// checkPublisher completes p, and refuses one that anybody could be.
func (g *Registry) checkPublisher(namespace string, p *meta.Publisher) error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "invalid_request", format, args...)
	}
	if g.Issuers == nil || !slices.Contains(g.Issuers.Trusted, p.Issuer) {
		return bad("this registry trusts no issuer %s of identity tokens", diag.Brief(p.Issuer, 200)).(*diag.Error).
			Hint("whoever runs the registry can add it to issuers in [publishers] of registry.toml")
	}
	if len(p.Claims) == 0 || len(p.Claims) > maxClaims {
		return bad("a publisher is bound to at least one claim, and at most %d", maxClaims)
	}
	for name, value := range p.Claims {
		if name == "" || len(name) > 100 || len(value) > 500 || value == "" || diag.Printable(name+value) != name+value {
			return bad("%q = %q cannot be a claim", diag.Brief(name, 100), diag.Brief(value, 100))
		}
	}
	name, _ := identities(p.Issuer)
	if bound := p.Claims[name]; name != "" && (bound == "" || strings.HasPrefix(bound, "*")) {
		return bad("a publisher of %s is bound to a %s, as in OWNER/NAME", p.Issuer, name)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(p.Claims)), func(v string) bool { return strings.Trim(v, "*") != "" }) {
		return bad("a publisher that every token of %s is cannot be trusted", p.Issuer)
	}
	text, err := json.Marshal([]any{p.Issuer, p.Claims}) // of a map: sorted
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	p.ID, p.Pinned, p.Created = hex.EncodeToString(sum[:])[:12], nil, g.now()
	label := p.ID
	if u, err := url.Parse(p.Issuer); err == nil && u.Host != "" {
		label = u.Host + ":" + p.ID
	}
	switch bound := p.Claims[name]; {
	case bound == "" || strings.Contains(bound, "*"):
	case p.Issuer == GitHub:
		label = "github:" + bound
	case p.Issuer == GitLab:
		label = "gitlab:" + bound
	}
	if p.Account = namespace + "/" + label; len(p.Account) > 100 {
		p.Account = namespace + "/" + p.ID
	}
	return nil
}

// AddPublisher lets a job of a CI publish to a namespace. Its account is a publisher there, and belongs to who: they are no second person.
func (g *Registry) AddPublisher(ctx context.Context, who Caller, namespace string, p meta.Publisher) (meta.Publisher, error) {
	if err := g.checkPublisher(namespace, &p); err != nil {
		return meta.Publisher{}, err
	}
	err := g.changePublishers(ctx, who, namespace, "publisher-add", func(tx *meta.Tx, who Caller, ns *meta.Namespace) (meta.Publisher, error) {
		all := &ns.Policy.Publishers
		if i := slices.IndexFunc(*all, func(o meta.Publisher) bool { return o.ID == p.ID }); i >= 0 {
			return p, diag.New(diag.Misuse, "in_use", "%s is a publisher of %s already", (*all)[i].Account, namespace)
		}
		if len(*all) >= maxPublishers {
			return p, diag.New(diag.Misuse, "invalid_request", "a namespace has at most %d publishers", maxPublishers)
		}
		if err := tx.CreateAccount(ctx, p.Account, who.Account, p.Created); err != nil && !errors.Is(err, meta.ErrExists) {
			return p, err
		}
		*all = append(*all, p)
		if err := g.event(ctx, tx, who, "publisher-add", namespace, p); err != nil {
			return p, err
		}
		return p, tx.PutGrant(ctx, meta.Grant{Account: p.Account, Namespace: namespace, Role: string(auth.Publisher), Created: p.Created})
	})
	return p, err
}

// RemovePublisher takes that back. What it has not published yet it cannot any more.
func (g *Registry) RemovePublisher(ctx context.Context, who Caller, namespace, id string) error {
	return g.changePublishers(ctx, who, namespace, "publisher-remove", func(tx *meta.Tx, who Caller, ns *meta.Namespace) (p meta.Publisher, err error) {
		all := ns.Policy.Publishers
		i := slices.IndexFunc(all, func(o meta.Publisher) bool { return o.ID == id })
		if i < 0 {
			return p, g.unknown(who, "unknown_account", "publisher %s of %s", diag.Brief(id, 40), namespace)
		}
		p = all[i]
		if err := g.event(ctx, tx, who, "publisher-remove", namespace, p); err != nil {
			return p, err
		}
		ns.Policy.Publishers = slices.Delete(all, i, i+1)
		if slices.ContainsFunc(ns.Policy.Publishers, func(o meta.Publisher) bool { return o.Account == p.Account }) {
			return p, nil
		}
		if err = tx.DeleteGrant(ctx, p.Account, namespace); errors.Is(err, meta.ErrNotFound) {
			err = nil
		}
		return p, err
	})
}

// changePublishers is a change of the publishers of a namespace, which the log keeps.
func (g *Registry) changePublishers(ctx context.Context, who Caller, namespace, action string, change func(*meta.Tx, Caller, *meta.Namespace) (meta.Publisher, error)) error {
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, namespace, auth.Manage)
		if err != nil {
			return err
		}
		p, err := change(tx, who, &a.ns)
		if err != nil {
			return err
		}
		if err := tx.UpdateNamespace(ctx, a.ns); err != nil {
			return err
		}
		_, err = g.append(ctx, tx, tlog.Record{Action: tlog.Grant, Name: namespace, By: who.Account, Reason: action + " " + p.Account + " " + p.ID, At: tlog.At(g.now())})
		return err
	})
}

// Exchange gives a short-lived token of a publisher for an identity token that is for audience, the address of this registry. It is given once
// for each. Its errors have the code auth.CodeIdentity and say what is wrong; whether there is a namespace they do not say.
func (g *Registry) Exchange(ctx context.Context, remote, namespace, identity, audience string) (text string, t meta.Token, err error) {
	refused := func(format string, args ...any) error {
		return diag.New(diag.Refused, auth.CodeIdentity, "the identity token is refused: "+format, args...)
	}
	if g.Issuers == nil || g.Open {
		return "", t, refused("this registry takes none")
	}
	if audience == "" {
		return "", t, refused("this registry does not know its own address; whoever runs it has to set url in registry.toml")
	}
	id, err := auth.ParseIdentity(identity)
	if err != nil {
		return "", t, err
	}
	unbound := refused("no publisher of namespace %s is bound to %s", diag.Brief(namespace, 80), diag.Brief(id.Issuer, 200))
	// Nobody makes the registry ask an issuer that no publisher of the namespace has.
	bound := func(tx *meta.Tx) (ns meta.Namespace, err error) {
		ns, err = tx.Namespace(ctx, namespace)
		if errors.Is(err, meta.ErrNotFound) || err == nil && !slices.ContainsFunc(ns.Policy.Publishers, func(p meta.Publisher) bool { return p.Issuer == id.Issuer }) {
			err = unbound
		}
		return ns, err
	}
	if err := g.view(ctx, func(tx *meta.Tx) error {
		_, err := bound(tx)
		return err
	}); err != nil {
		return "", t, err
	}
	claims, until, err := g.Issuers.Verify(ctx, id, audience)
	if err != nil {
		return "", t, err
	}
	now := g.now()
	err = g.update(ctx, func(tx *meta.Tx) error {
		ns, err := bound(tx)
		if err != nil {
			return err
		}
		i, why := matching(ns.Policy.Publishers, id.Issuer, claims)
		if i < 0 {
			return refused("%s", why)
		}
		p := &ns.Policy.Publishers[i]
		if err := tx.Use(ctx, id.Once(), until, now); errors.Is(err, meta.ErrExists) {
			return refused("it was used before, and is good for once")
		} else if err != nil {
			return err
		}
		if p.Pinned == nil {
			p.Pinned = pins(p.Issuer, claims)
			if err := tx.UpdateNamespace(ctx, ns); err != nil {
				return err
			}
		}
		if err := tx.ForgetTokens(ctx, p.Account, now.Add(-identityKept)); err != nil {
			return err
		}
		var hash auth.Hash
		var name string
		text, name, hash = auth.NewToken()
		t = meta.Token{ID: name, Hash: hash[:], Account: p.Account, Namespace: namespace, Role: string(auth.Publisher), Created: now, Expires: now.Add(publishLife)}
		if err := tx.CreateToken(ctx, t); err != nil {
			return err
		}
		detail := map[string]string{"id": name, "publisher": p.ID}
		for _, claim := range []string{"sub", "repository", "project_path", "ref", "sha", "workflow_ref", "ci_config_ref_uri", "environment", "event_name", "run_id", "pipeline_id", "actor"} {
			if v := claims[claim]; v != "" {
				detail[claim] = diag.Clip(v, 300)
			}
		}
		who := Caller{Identity: auth.Identity{Account: p.Account, TokenID: name}, Remote: remote}
		return g.event(ctx, tx, who, "token-exchange", namespace, detail)
	})
	if err != nil {
		return "", meta.Token{}, err
	}
	return text, t, nil
}

// identityKept is how long tokens of publishers are kept after they expired, for who reads the audit trail.
const identityKept = 24 * time.Hour

// pins are the numbers that claims have.
func pins(issuer string, claims auth.Claims) map[string]string {
	out := map[string]string{}
	_, names := identities(issuer)
	for _, name := range names {
		if claims[name] != "" {
			out[name] = claims[name]
		}
	}
	return out
}

// matching is the first publisher of an issuer that the claims are those of; below 0 there is none, and why says what is the matter with the last of them.
func matching(all []meta.Publisher, issuer string, claims auth.Claims) (found int, why string) {
	for i, p := range all {
		if p.Issuer != issuer {
			continue
		}
		if why = mismatch(p, claims); why == "" {
			return i, ""
		}
	}
	return -1, why
}

// mismatch says why claims are not those of p; "" if they are. It tells what they say, and nothing that p wants.
func mismatch(p meta.Publisher, claims auth.Claims) string {
	for _, name := range slices.Sorted(maps.Keys(p.Claims)) {
		switch have, ok := claims[name]; {
		case !ok:
			return "it has no claim " + name + ", to which the publisher is bound"
		case strings.ContainsFunc(have, unicode.IsControl):
			return "its " + name + " holds a control character"
		case !wild(p.Claims[name], have):
			return "its " + name + " is " + diag.Brief(have, 200) + ", which is not that of the publisher"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Pinned)) {
		if claims[name] != p.Pinned[name] {
			return "its " + name + " is " + diag.Brief(claims[name], 80) + ", which is not that of the first use: the name has another owner now, or the publisher was moved"
		}
	}
	return proposed(p, claims)
}

// proposed says that claims are of a job for changes that somebody proposes, who may be anybody, unless p is bound to such jobs by name.
func proposed(p meta.Publisher, claims auth.Claims) string {
	for _, c := range []struct{ name, prefix string }{
		{"event_name", "pull_request"}, {"pipeline_source", "merge_request_event"}, {"pipeline_source", "external_pull_request_event"},
		{"ref", "refs/pull/"}, {"ref_path", "refs/merge-requests/"}, {"ref", "refs/merge-requests/"},
	} {
		bound := p.Claims[c.name]
		if strings.HasPrefix(claims[c.name], c.prefix) && (bound == "" || strings.HasPrefix(bound, "*")) {
			return "its " + c.name + " is " + diag.Brief(claims[c.name], 200) + ": a job for a pull request, also for one of a fork, does not publish unless the publisher is bound to that by name"
		}
	}
	if claims["head_ref"] != "" && p.Claims["event_name"] == "" {
		return "its head_ref is " + diag.Brief(claims["head_ref"], 200) + ": a job for a pull request does not publish unless the publisher is bound to its event_name"
	}
	return ""
}

// wild reports whether s is pattern, in which "*" is any text.
func wild(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) || len(s) < len(parts[0])+len(parts[last]) || !strings.HasSuffix(s, parts[last]) {
		return false
	}
	s = s[len(parts[0]) : len(s)-len(parts[last])]
	for _, part := range parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}
