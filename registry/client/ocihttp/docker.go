package ocihttp

import (
	"context"
	"errors"
	"net/url"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// A Docker is the configuration file of docker, which most programs that talk to OCI registries share:
// "auths", "credHelpers" and "credsStore". The programs that it names are run when a registry asks for a login.
// Its errors have the code credential and hold no secret.
type Docker struct{ store credentials.Store }

// OpenDocker reads the file at path; where there is none it is empty. With plaintext, a login of
// a registry that has no helper is written into the file, which docker does as well.
func OpenDocker(path string, plaintext bool) (*Docker, error) {
	store, err := credentials.NewStore(path, credentials.StoreOptions{AllowPlaintextPut: plaintext})
	if err != nil {
		return nil, diag.New(diag.Failed, "credential", "docker's configuration file cannot be read").
			Hint("check %s", path)
	}
	return &Docker{store}, nil
}

// Lookup finds the credential of origin, "https://host[:port]"; the zero Credential means that there is none.
func (d *Docker) Lookup(ctx context.Context, of string) (origin.Credential, error) {
	key, err := dockerKey(of)
	if err != nil {
		return origin.Credential{}, err
	}
	c, err := d.store.Get(ctx, key)
	switch {
	case err != nil:
		return origin.Credential{}, failed("docker's credentials for %s cannot be read", key)
	case c.RefreshToken != "":
		return origin.Credential{User: identityUser, Secret: c.RefreshToken}, nil
	case c.AccessToken != "":
		return origin.Credential{Secret: c.AccessToken}, nil
	case c.Password == "":
		return origin.Credential{}, nil
	}
	return origin.Credential{User: c.Username, Secret: c.Password}, nil
}

// Save stores the credential of origin where docker would: with the helper that is configured, else in the file.
func (d *Docker) Save(ctx context.Context, of string, c origin.Credential) error {
	key, err := dockerKey(of)
	if err != nil {
		return err
	}
	to := auth.Credential{Username: c.User, Password: c.Secret}
	switch c.User {
	case "":
		to.Username = tokenUser
	case identityUser:
		to = auth.Credential{RefreshToken: c.Secret}
	}
	err = d.store.Put(ctx, key, to)
	if errors.Is(err, credentials.ErrPlaintextPutDisabled) {
		return diag.New(diag.Failed, "credential", "docker has no credential helper, so the login would be written to its file in plain text").
			Hint("configure a helper: credsStore in docker's config.json")
	}
	if err != nil {
		return failed("docker's credentials for %s cannot be written", key)
	}
	return nil
}

// Delete forgets the credential of origin; that there is none is no error.
func (d *Docker) Delete(ctx context.Context, of string) error {
	key, err := dockerKey(of)
	if err != nil {
		return err
	}
	if err := d.store.Delete(ctx, key); err != nil {
		return failed("docker's credentials for %s cannot be removed", key)
	}
	return nil
}

func failed(format string, args ...any) error {
	return diag.New(diag.Failed, "credential", format, args...)
}

// dockerKey is what docker calls a registry: its host, except for docker's own.
func dockerKey(o string) (string, error) {
	u, err := url.Parse(o)
	if err != nil || u.Hostname() == "" || origin.Of(u) != o {
		return "", diag.New(diag.Failed, "invalid_url", "an origin is https://host[:port]")
	}
	return credentials.ServerAddressFromHostname(u.Host), nil
}
