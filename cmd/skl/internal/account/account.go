// Package account keeps the user's tokens for registries, where docker keeps its own but apart from those, and the names of registries in the
// user's configuration. A token is shown to the registry that it is for before it is kept, and to nobody else.
package account

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
)

// An Account logs in to registries and out of them.
type Account struct {
	Scope *scope.Scope
	// Secret asks a person for a token; its error is ask.ErrNobody where nobody can be asked.
	Secret func(prompt string) (string, error)
}

// maxToken bounds what is read as a token, in bytes.
const maxToken = 64 << 10

// loginUser goes with a token where docker wants a name. Registries of skills do not look at it.
const loginUser = "skl"

// A LoginRequest asks for a token to be kept.
type LoginRequest struct {
	Address string    // of the registry, as a person writes it, or its name
	Token   io.Reader // has the token; nil asks a person for it
	User    string    // that belongs to the token, if the registry wants one
	Name    string    // of the registry in the configuration; "" is its host
	Default bool      // make it the default registry
	DryRun  bool
}

// A Login is a registry that accepted a token.
type Login struct {
	URL     string `json:"url"`
	Kind    string `json:"kind"`              // skl: a registry of skills; oci: another one
	Account string `json:"account,omitempty"` // who the registry takes the token for
	Name    string `json:"name,omitempty"`    // in config.toml
	Default bool   `json:"default,omitempty"` // of config.toml
	Store   string `json:"store"`             // file or program that keeps the token, or the system's keyring
}

// Login shows a token to a registry, and keeps it if the registry accepts it.
func (a *Account) Login(ctx context.Context, r LoginRequest) (Login, error) {
	if r.Name != "" {
		if err := config.CheckName(r.Name, "registry"); err != nil {
			return Login{}, err
		}
	}
	base, err := a.Scope.Address(r.Address)
	if err != nil {
		return Login{}, err
	}
	if err := a.mayReceive(base, r); err != nil {
		return Login{}, err
	}
	token, err := a.token(base, r.Token)
	if err != nil {
		return Login{}, err
	}
	user := cmp.Or(r.User, loginUser)
	out, err := a.greet(ctx, base, origin.Credential{User: user, Secret: token})
	if err != nil {
		return Login{}, err
	}
	if out.Kind == "oci" && (r.Name != "" || r.Default) {
		return Login{}, diag.New(diag.Misuse, "usage", "%s is not a registry of skills, so it has no name in config.toml", base).Hint("skl login %s", base)
	}
	// Docker, oras and crane use other registries as well, and have to find what is kept for one.
	open, source := a.Scope.OwnStore, origin.OwnSource
	if out.Kind == "oci" {
		open, source = a.Scope.DockerStore, origin.DockerSource
	}
	store, err := open()
	if err != nil {
		return Login{}, err
	}
	if out.Store, err = store.Place(ctx, hostOf(base)); err != nil {
		return Login{}, err
	}
	out, edit, err := a.named(r, out)
	if err != nil {
		return Login{}, err
	}
	if err := a.edit(true, edit); err != nil { // before anything is kept
		return Login{}, err
	}
	if !r.DryRun {
		if out.Store, err = store.Put(ctx, hostOf(base), auth.Credential{Username: user, Password: token}); err != nil {
			return Login{}, err
		}
		if err := a.edit(false, edit); err != nil {
			return Login{}, err
		}
	}
	if _, from, err := a.Scope.Credentials().Lookup(ctx, base); err == nil && from != "" && from != source {
		a.Scope.Tell.Warn("skl uses the credential from %s for %s before the one that was stored", from, base)
	}
	return out, nil
}

// mayReceive refuses a server to which a token would go in the clear, and a user name that would be read as more.
func (a *Account) mayReceive(base string, r LoginRequest) error {
	if strings.Contains(r.User, ":") {
		return diag.New(diag.Misuse, "usage", "a user name holds no colon")
	}
	if u, err := url.Parse(base); a.Scope.Config.Origin(hostOf(base)).Insecure && (err != nil || !origin.Private(u)) {
		return diag.New(diag.Refused, "credential", "no token is sent to %s: plain http shows it to everybody on the way", base).
			Hint("use https, or name a variable for this host in config.toml: [origin.%q] token_env", hostOf(base))
	}
	return nil
}

// token reads one token from a file, or asks for it.
func (a *Account) token(base string, from io.Reader) (string, error) {
	if from != nil {
		text, err := io.ReadAll(io.LimitReader(from, maxToken+1))
		if err != nil {
			return "", err
		}
		token := strings.TrimSpace(string(text))
		if token == "" || len(text) > maxToken || strings.ContainsAny(token, " \t\r\n") {
			return "", diag.New(diag.Misuse, "no_token", "standard input is not one token").Hint("skl login %s --token-stdin < FILE", base)
		}
		return token, nil
	}
	token, err := a.Secret("token for " + base)
	if errors.Is(err, ask.ErrNobody) || err == nil && token == "" {
		return "", diag.New(diag.NeedsInput, "no_token", "a token for %s is needed, and nobody can be asked", base).Hint("skl login %s --token-stdin < FILE", base)
	}
	return token, err
}

// named returns out with the name of a registry of skills, and what is to be changed in the configuration for it; nil if
// nothing is.
func (a *Account) named(r LoginRequest, out Login) (Login, func(*config.Config) error, error) {
	if out.Kind != "skl" {
		return out, nil, nil
	}
	out.Name = r.Name
	if names := a.namesOf(out.URL); out.Name == "" && len(names) > 0 {
		out.Name = names[0]
	}
	if out.Name == "" {
		out.Name = strings.NewReplacer("[", "", "]", "", ":", "-").Replace(hostOf(out.URL))
	}
	have, ok := a.Scope.Config.Registries[out.Name]
	if ok && have.URL != out.URL {
		return Login{}, nil, diag.New(diag.Misuse, "exists", "there is a registry %q already, at %s", out.Name, have.URL).Hint("add --name OTHER")
	}
	out.Default = have.Default || r.Default
	if ok && out.Default == have.Default {
		return out, nil, nil
	}
	return out, func(cfg *config.Config) error { return cfg.SetRegistry(out.Name, out.URL, r.Default) }, nil
}

// edit changes the configuration; a dry run only finds out whether it can. A nil change is none.
func (a *Account) edit(dry bool, change func(*config.Config) error) error {
	if change == nil {
		return nil
	}
	return a.Scope.EditConfig(dry, change)
}

// namesOf are the names that the configuration has for the registry at an address, sorted.
func (a *Account) namesOf(base string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Scope.Config.Registries)) {
		if a.Scope.Config.Registries[name].URL == base {
			names = append(names, name)
		}
	}
	return names
}

// A LogoutRequest asks for a token to be forgotten.
type LogoutRequest struct {
	Address string // of the registry, or its name
	Forget  bool   // also its names in the configuration
	DryRun  bool
}

// A Logout is a registry for which no token is kept.
type Logout struct {
	URL     string `json:"url"`
	Removed bool   `json:"removed"` // there was a credential
	Store   string `json:"store"`
	Also    string `json:"also,omitempty"` // second place that had one: the system's keyring
}

// Logout forgets the token for a registry, in docker's file and in the system's keyring.
func (a *Account) Logout(ctx context.Context, r LogoutRequest) (Logout, error) {
	base, err := a.Scope.Address(r.Address)
	if err != nil {
		return Logout{}, err
	}
	store, err := a.Scope.OwnStore()
	if err != nil {
		return Logout{}, err
	}
	places, err := store.Kept(ctx, hostOf(base))
	if err == nil && len(places) == 0 { // what docker, or an earlier skl, keeps for it
		if store, err = a.Scope.DockerStore(); err == nil {
			places, err = store.Kept(ctx, hostOf(base))
		}
	}
	if err != nil {
		return Logout{}, err
	}
	out := Logout{URL: base, Removed: len(places) > 0, Store: store.Docker(hostOf(base))}
	if out.Removed {
		out.Store = places[0]
	}
	if len(places) > 1 {
		out.Also = places[1]
	}
	if !r.DryRun {
		if err := store.Remove(ctx, hostOf(base), places); err != nil {
			return Logout{}, err
		}
	}
	if r.Forget {
		for _, name := range a.namesOf(base) {
			if err := a.Scope.EditConfig(r.DryRun, func(cfg *config.Config) error { return cfg.RemoveRegistry(name) }); err != nil {
				return Logout{}, err
			}
		}
	}
	if !r.DryRun {
		if _, from, err := a.Scope.Credentials().Lookup(ctx, base); err == nil && from != "" {
			a.Scope.Tell.Warn("there is still a credential for %s, from %s", base, from)
		}
	}
	return out, nil
}

// hostOf is the host of an origin, as docker and OCI references name it.
func hostOf(base string) string {
	_, host, _ := strings.Cut(base, "://")
	return host
}
