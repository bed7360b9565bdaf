package account

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// greet shows the credential to the server at base, and to nobody else, and finds out what it is.
func (a *Account) greet(ctx context.Context, base string, cred origin.Credential) (Login, error) {
	out := Login{URL: base, Kind: "skl"}
	h := a.Scope.NewHTTP()
	h.Credential = func(_ context.Context, o string) (origin.Credential, error) {
		if o == base {
			return cred, nil
		}
		return origin.Credential{}, nil
	}
	r, err := client.New(h, base)
	if err != nil {
		return out, err
	}
	about, err := r.About(ctx)
	if err == nil && about.Software == "skl" {
		who, err := r.WhoAmI(ctx)
		if err == nil && who.Anonymous && !who.Open {
			err = unaccepted(base)
		}
		out.Account = who.Account
		return out, notLoggedIn(base, err)
	}
	if e, ok := errors.AsType[*diag.Error](err); ok && !slices.Contains([]string{"not_a_registry", "unauthorized", "denied", "not_found"}, e.Code) {
		return out, err
	}
	out.Kind = "oci"
	return out, ping(ctx, h, base)
}

// ping asks an OCI registry whether it accepts the credential of h.
func ping(ctx context.Context, h *origin.Client, base string) error {
	repo, err := ocihttp.Repository(h, hostOf(base), "skl/login")
	if err != nil {
		return err
	}
	reg := remote.Registry{RepositoryOptions: remote.RepositoryOptions{Client: repo.Client, PlainHTTP: strings.HasPrefix(base, "http://"),
		Reference: registry.Reference{Registry: hostOf(base)}}}
	err = reg.Ping(ctx)
	answer, ok := errors.AsType[*errcode.ErrorResponse](err)
	switch {
	case err == nil:
		return nil
	case ok && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return unaccepted(base)
	case ok && answer.StatusCode >= 500:
		return diag.New(diag.Failed, "http_status", "%s answers with status %d", base, answer.StatusCode)
	case ok, strings.Contains(err.Error(), "not found"):
		return diag.New(diag.Failed, "not_a_registry", "%s is neither a registry of skills nor one of OCI artifacts", base)
	}
	return notLoggedIn(base, err)
}

func unaccepted(base string) error {
	return diag.New(diag.Failed, "unauthorized", "%s does not accept this token", base)
}

// notLoggedIn is err without the advice to log in.
func notLoggedIn(base string, err error) error {
	e, ok := errors.AsType[*diag.Error](err)
	switch {
	case ok && (e.Code == "unauthorized" || e.Code == "denied"):
		return unaccepted(base)
	case ok:
		return e
	}
	return err
}
