package ship

import (
	"context"
	"net/http"

	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// identityVariable is where a job of GitLab, or of another CI, puts an identity token for the registry.
const identityVariable = "SKL_ID_TOKEN"

// byIdentity reports whether this job has an identity, and this machine no credential for the registry.
func (s *Shipper) byIdentity(ctx context.Context, to *destination) (bool, error) {
	getenv := s.Scope.Getenv
	if to.rest == nil || getenv(identityVariable) == "" && (getenv("ACTIONS_ID_TOKEN_REQUEST_URL") == "" || getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN") == "") {
		return false, nil
	}
	have, _, err := s.Scope.Credentials().Lookup(ctx, to.rest.URL())
	return err == nil && have.Secret == "", err
}

// trusted gets a short-lived token for what this job publishes, if it does so by its identity. The identity token is for the address of the registry that is spoken to: no other can use it.
func (s *Shipper) trusted(ctx context.Context, to *destination, namespace string) error {
	by, err := s.byIdentity(ctx, to)
	if !by || err != nil {
		return err
	}
	base, identity := to.rest.URL(), s.Scope.Getenv(identityVariable)
	if identity == "" {
		if identity, err = keyless.Ambient(ctx, s.Scope.Getenv, s.Scope.HTTP.HTTP(), base); err != nil {
			return err
		}
	}
	var token wire.Token
	err = to.rest.Call(ctx, http.MethodPost, wire.Exchange{Token: identity}, &token, "namespaces", namespace, "exchange")
	if e, ok := err.(*diag.Error); ok && e.Code == "identity_refused" {
		return e.Hint("a maintainer can look: skl registry publisher list %s", namespace)
	}
	if err != nil {
		return err
	}
	s.Scope.Tell.Note("publishing as %s, which this job's identity is trusted as", diag.Printable(token.Account))
	others := s.Scope.HTTP.Credential
	s.Scope.HTTP.Credential = func(ctx context.Context, at string) (origin.Credential, error) {
		if at == base {
			return origin.Credential{Secret: token.Text}, nil
		}
		return others(ctx, at)
	}
	return nil
}
