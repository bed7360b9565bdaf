package registry

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// Repositories lists the repositories behind after that who may read, by name: those with a manifest that is listed, and for whoever
// sees drafts also those that hold nothing else. A bearer has to be asked for [auth.CatalogScope].
func (g *Registry) Repositories(ctx context.Context, who Caller, after string, limit int) (list []string, err error) {
	switch {
	case g.Open:
	case who.Scopes != nil && !who.Catalogs():
		return nil, diag.New(diag.Failed, "unauthorized", "this token was not asked for %s", auth.CatalogScope)
	case who.Anonymous && who.Scopes == nil:
		return nil, unauthorized() // as a ping: clients ask without a token first
	}
	who.Scopes = nil
	err = g.view(ctx, func(tx *meta.Tx) error {
		list = list[:0]
		seen := map[string]access{}
		for at := after; len(list) < limit; {
			page, err := tx.Repos(ctx, at, 200)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, repo := range page {
				at = repo
				name, _, _ := strings.Cut(repo, "/")
				a, ok := seen[name]
				if !ok {
					if a, err = g.access(ctx, tx, who, repo); err != nil {
						return err
					}
					seen[name] = a
				}
				if !a.read {
					at = name + "/\xff" // nothing of this namespace is shown
					if repo > at {
						at = repo
					}
					break
				}
				if len(list) >= limit {
					break
				}
				if !a.draft && !a.ns.Policy.AcceptAny {
					tags, err := tx.Tags(ctx, repo, "", 1, false)
					if err != nil {
						return err
					}
					if len(tags) == 0 {
						continue
					}
				}
				list = append(list, repo)
			}
		}
		return nil
	})
	return list, err
}

// SignedIn notes in the audit trail that who signed in: showed a token to find out who it is of, or to have a bearer for it. It is noted
// once an hour for each token.
func (g *Registry) SignedIn(ctx context.Context, who Caller) error {
	if who.TokenID == "" || who.Scopes != nil {
		return nil
	}
	hour := g.now().Unix() / 3600
	if last, ok := g.signed.Load(who.TokenID); ok && last == hour {
		return nil
	}
	err := g.update(ctx, func(tx *meta.Tx) error {
		t, err := tx.Token(ctx, who.TokenID)
		if err != nil || !t.LastUsed.IsZero() && t.LastUsed.Unix()/3600 >= hour {
			return err
		}
		if err := tx.TouchToken(ctx, t.ID, g.now()); err != nil {
			return err
		}
		return g.event(ctx, tx, who, "sign-in", t.Namespace, map[string]string{"id": t.ID})
	})
	if err == nil {
		g.signed.Store(who.TokenID, hour)
	}
	return err
}
