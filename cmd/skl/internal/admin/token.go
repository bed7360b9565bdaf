package admin

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// DefaultRole is the role of a token for which none is asked.
const DefaultRole = string(auth.Reader)

// A TokenRequest asks for a token.
type TokenRequest struct {
	Site      Site
	Account   string // that it acts as; "" is the caller's
	Namespace string // "*" is all of them
	Role      string
	Age       time.Duration // until it ends; 0 is never
	Capped    bool          // end it no later than the token that asks: Age is a default, not what a person asked for
	DryRun    bool
}

// A Token is a new token, with its text. A dry run leaves it empty.
type Token struct {
	wire.Token
	On   Place `json:"-"`
	Done Done  `json:"-"`
}

// CreateToken creates a token. Its text is stored nowhere.
func (a *Admin) CreateToken(ctx context.Context, r TokenRequest) (Token, error) {
	want := wire.NewToken{Account: r.Account, Namespace: r.Namespace, Role: r.Role}
	if want.Namespace == "" {
		return Token{}, diag.New(diag.Misuse, "usage", "a token is for a namespace").Hint("add --namespace NAMESPACE, or --namespace \"*\" for all")
	}
	if err := checkRole(want.Role); err != nil {
		return Token{}, err
	}
	if r.Age > 0 {
		want.Expires = time.Now().Add(r.Age).UTC().Truncate(time.Second)
	}
	return on(ctx, a, r.Site, func(s *site) (Token, error) {
		if want.Account == "" && s.at.Local {
			want.Account = "admin"
		}
		var err error
		if r.Capped && !s.at.Local {
			if want.Expires, err = capExpiry(ctx, s.client, want.Expires); err != nil {
				return Token{}, err
			}
		}
		out := Token{On: s.at, Done: s.done("token-create", want.Namespace)}
		if !r.DryRun {
			out.Token, err = s.client.CreateToken(ctx, want)
		}
		return out, err
	})
}

// capExpiry is expires, or the end of the token that the client uses where that is sooner.
func capExpiry(ctx context.Context, c *client.Client, expires time.Time) (time.Time, error) {
	who, err := c.WhoAmI(ctx)
	if err != nil || who.TokenID == "" {
		return expires, err
	}
	list, err := c.Tokens(ctx)
	if err != nil {
		return expires, err
	}
	for _, t := range list {
		if t.ID == who.TokenID && !t.Expires.IsZero() && t.Expires.Before(expires) {
			return t.Expires, nil
		}
	}
	return expires, nil
}

// ParseLifetime reads "90d", "12h" or "never", which is 0.
func ParseLifetime(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	if age, ok := duration(text); ok && age > 0 {
		return age, nil
	}
	return 0, diag.New(diag.Misuse, "usage", "--expires: invalid duration %q: use 12h, 90d or never", text)
}

// duration reads what time.ParseDuration does, and whole days up to a hundred years.
func duration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0 && n <= 36500
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// A Tokens is a list of tokens without their text, by account and age.
type Tokens struct {
	Tokens []wire.Token `json:"tokens"`
}

// Tokens lists the tokens that the caller may see.
func (a *Admin) Tokens(ctx context.Context, at Site) (Tokens, error) {
	return on(ctx, a, at, func(s *site) (Tokens, error) {
		list, err := s.client.Tokens(ctx)
		list = append([]wire.Token{}, list...)
		order.Stable(list, func(a, b wire.Token) int {
			return cmp.Or(strings.Compare(a.Account, b.Account), a.Created.Compare(b.Created))
		})
		return Tokens{list}, err
	})
}

// TokenState is valid, revoked or expired.
func TokenState(t wire.Token) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Expires.IsZero() && t.Expires.Before(time.Now()):
		return "expired"
	}
	return "valid"
}

// A RevokeRequest asks for the end of a token.
type RevokeRequest struct {
	Site   Site
	ID     string
	DryRun bool
}

// RevokeToken ends a token at once.
func (a *Admin) RevokeToken(ctx context.Context, r RevokeRequest) (Done, error) {
	if _, _, err := auth.ParseToken(r.ID); err == nil {
		return Done{}, diag.New(diag.Misuse, "usage", "that is a token itself, not its id; it may be in your shell's history now").Hint("skl registry token list")
	}
	return on(ctx, a, r.Site, func(s *site) (Done, error) {
		if r.DryRun {
			return s.done("token-revoke", r.ID), nil
		}
		return s.done("token-revoke", r.ID), s.client.RevokeToken(ctx, r.ID)
	})
}
