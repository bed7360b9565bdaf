package scope

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
)

// Credentials finds credentials where this user keeps them. Programs are only
// asked when a server wants a credential.
func (sc *Scope) Credentials() *origin.Store {
	s := &origin.Store{Getenv: sc.Getenv, TokenEnv: map[string]string{}, TokenCommand: map[string][]string{}, Environ: sc.Environ, Own: sc.ownCredential, Docker: sc.dockerCredential}
	s.Registry = sc.named
	if _, r, ok := sc.Config.DefaultRegistry(); ok {
		s.Registry = r.URL
	}
	for _, base := range slices.Concat(slices.Collect(maps.Values(sc.Config.Forges)), registryURLs(sc.Config)) {
		if u, err := url.Parse(base); err == nil && u.Host != "" {
			s.Hosts = append(s.Hosts, origin.Host(u))
		}
	}
	for host, o := range sc.Config.Origins {
		s.Hosts = append(s.Hosts, host)
		if o.TokenEnv != "" {
			s.TokenEnv[host] = o.TokenEnv
		}
		if len(o.TokenCommand) > 0 {
			s.TokenCommand[host] = o.TokenCommand
		}
	}
	if forge := sc.Config.Forges["github"]; forge != "" {
		if u, err := url.Parse(forge); err == nil {
			s.GitHubHosts = append(s.GitHubHosts, u.Host)
		}
	}
	switch path := sc.Getenv("NETRC"); {
	case path != "":
		s.Netrc = path
	case sc.Home != "":
		s.Netrc = filepath.Join(sc.Home, ".netrc")
	}
	if path, err := exec.LookPath("git"); err == nil {
		s.Git = path
	}
	slices.Sort(s.Hosts)
	return s
}

func registryURLs(c *config.Config) []string {
	var urls []string
	for _, r := range c.Registries {
		urls = append(urls, r.URL)
	}
	return urls
}

// Named says that a person names the registry at an address on the command line. SKL_TOKEN is for it, unless the
// configuration has a default registry: then it is for that alone.
func (sc *Scope) Named(base string) { sc.named = base }

// Explain adds to a refusal for want of a token why SKL_TOKEN was not shown to the registry at base.
func (sc *Scope) Explain(base string, err error) error {
	e, ok := errors.AsType[*diag.Error](err)
	_, r, other := sc.Config.DefaultRegistry()
	if u, bad := url.Parse(base); ok && other && bad == nil && r.URL != base && e.Code == "unauthorized" && sc.Getenv("SKL_TOKEN") != "" {
		e.Hint("SKL_TOKEN is for the default registry, %s; set %s for this one", r.URL, origin.VariableName(u))
	}
	return err
}

// A dockerStore is where docker keeps credentials: helper programs if its config.json names some,
// else that file. It is shared with docker, oras, crane and cosign.
//
// Logins of skl have keys of their own, so that docker login and crane auth login do not replace them. Both find them
// if they have nothing else for the host, as long as these are in the file.
type dockerStore struct {
	path  string
	own   bool
	store *credentials.DynamicStore
}

// OwnStore is the part of DockerStore that is skl's own.
//
//go:noinline
func (sc *Scope) OwnStore() (*dockerStore, error) {
	d, err := sc.DockerStore()
	if err == nil {
		d.own = true
	}
	return d, err
}

// DockerStore opens the place where docker keeps credentials.
func (sc *Scope) DockerStore() (*dockerStore, error) {
	path := sc.dockerPath()
	if path == "" {
		return nil, diag.New(diag.Failed, "no_home", "HOME is not set, so there is no place for credentials")
	}
	store, err := credentials.NewStore(path, credentials.StoreOptions{AllowPlaintextPut: true})
	if err != nil {
		// The error of a parser may quote what it reads.
		return nil, diag.New(diag.Failed, "credential", "%s cannot be read as docker's configuration", sc.Short(path))
	}
	return &dockerStore{path: path, store: store}, nil
}

// helper is the program that keeps the credential of host, "" for the file.
func (d *dockerStore) helper(host string) (name string, own bool) {
	var file struct {
		CredsStore  string            `json:"credsStore"`
		CredHelpers map[string]string `json:"credHelpers"`
	}
	if text, err := os.ReadFile(d.path); err == nil {
		json.Unmarshal(text, &file) // what is not as it should be was refused before
	}
	if name := file.CredHelpers[serverKey(host)]; name != "" {
		return "docker-credential-" + name, true
	}
	if file.CredsStore != "" {
		return "docker-credential-" + file.CredsStore, false
	}
	return "", false
}

// Where is the file or program that keeps the credential of host.
func (d *dockerStore) Where(host string) string {
	if name, _ := d.helper(host); name != "" {
		return name
	}
	return d.path
}

func (d *dockerStore) Get(ctx context.Context, host string) (origin.Credential, error) {
	cred, err := d.of(host, d.store).Get(ctx, d.key(host))
	if err != nil {
		return origin.Credential{}, d.failed(host, "read from")
	}
	switch {
	case cred.RefreshToken != "":
		return origin.Credential{User: "<token>", Secret: cred.RefreshToken}, nil // docker's mark of an identity token
	case cred.AccessToken != "":
		return origin.Credential{Secret: cred.AccessToken}, nil
	}
	return origin.Credential{User: cred.Username, Secret: cred.Password}, nil
}

// Put is alone among all skls of this user. The file gets mode 0600.
func (d *dockerStore) Put(ctx context.Context, host string, cred auth.Credential) error {
	return d.alone(ctx, host, func(store credentials.Store) error { return store.Put(ctx, d.key(host), cred) })
}

func (d *dockerStore) Remove(ctx context.Context, host string) error {
	return d.alone(ctx, host, func(store credentials.Store) error { return store.Delete(ctx, d.key(host)) })
}

func (d *dockerStore) alone(ctx context.Context, host string, change func(credentials.Store) error) error {
	dir := filepath.Dir(d.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	end, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer end()
	store, err := credentials.NewStore(d.path, credentials.StoreOptions{AllowPlaintextPut: true}) // as it is now
	if err == nil {
		err = change(d.of(host, store))
	}
	if err != nil {
		return d.failed(host, "written to")
	}
	return nil
}

// key is how a credential of host is called.
func (d *dockerStore) key(host string) string {
	if d.own {
		return "https://" + host + "/skl"
	}
	return serverKey(host)
}

// of is the store that keeps the credential of host: a program that is configured for this host keeps skl's own, too.
func (d *dockerStore) of(host string, all *credentials.DynamicStore) credentials.Store {
	if name, alone := d.helper(host); d.own && alone {
		return credentials.NewNativeStore(strings.TrimPrefix(name, "docker-credential-"))
	}
	return all
}

// failed says what went wrong without the words of whom it went wrong with: they may hold the secret.
func (d *dockerStore) failed(host, doing string) error {
	return diag.New(diag.Failed, "credential", "the credential of %s cannot be %s %s", host, doing, d.Where(host))
}

// dockerCredential and ownCredential are what a Store asks. A program that keeps everything and does not answer knows nothing.
//
//go:noinline
func (sc *Scope) dockerCredential(ctx context.Context, host string) (origin.Credential, error) {
	return sc.kept(ctx, host, sc.DockerStore)
}

//go:noinline
func (sc *Scope) ownCredential(ctx context.Context, host string) (origin.Credential, error) {
	return sc.kept(ctx, host, sc.OwnStore)
}

func (sc *Scope) kept(ctx context.Context, host string, open func() (*dockerStore, error)) (origin.Credential, error) {
	if path := sc.dockerPath(); path == "" {
		return origin.Credential{}, nil
	} else if _, err := os.Stat(path); err != nil {
		return origin.Credential{}, nil
	}
	d, err := open()
	if err != nil {
		return origin.Credential{}, err
	}
	cred, err := d.Get(ctx, host)
	if name, own := d.helper(host); err != nil && name != "" && !own {
		return origin.Credential{}, nil
	}
	return cred, err
}

// dockerPath is docker's config.json, "" if there is no home for one.
func (sc *Scope) dockerPath() string {
	dir := sc.Getenv("DOCKER_CONFIG")
	switch {
	case dir != "":
		dir = Absolute(sc.WorkingDir, dir)
	case sc.Home != "":
		dir = filepath.Join(sc.Home, ".docker")
	default:
		return ""
	}
	path := filepath.Join(dir, "config.json")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real // which is replaced, and not the link to it
	}
	return path
}

// serverKey is how docker calls the host.
func serverKey(host string) string { return credentials.ServerAddressFromRegistry(host) }
