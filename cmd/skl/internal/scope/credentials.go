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

	"github.com/skl-project/skl/cmd/skl/internal/keyring"
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
// Logins of skl have keys of their own, so that docker login and crane auth login do not replace them. Where there is a
// keyring and no helper, their tokens are in the keyring, and the file has an empty entry, as docker writes one for what
// a helper keeps. Otherwise both programs find them if they have nothing else for the host.
type dockerStore struct {
	path  string
	own   bool
	store *credentials.DynamicStore
	ring  keyring.Ring
	tell  Teller
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
	ring := keyring.Ring{Getenv: sc.Getenv, Waiting: func() { sc.Tell.Note("waiting for %s, which may have to be unlocked", keyring.Name) }}
	return &dockerStore{path: path, store: store, ring: ring, tell: sc.Tell}, nil
}

// A dockerFile is what is looked at in docker's config.json.
type dockerFile struct {
	Auths       map[string]map[string]any `json:"auths"`
	CredsStore  string                    `json:"credsStore"`
	CredHelpers map[string]string         `json:"credHelpers"`
}

func (d *dockerStore) file() (file dockerFile) {
	if text, err := os.ReadFile(d.path); err == nil {
		json.Unmarshal(text, &file) // what is not as it should be was refused before
	}
	return file
}

// helper is the program that keeps the credential of host, "" for the file.
func (d *dockerStore) helper(host string) (name string, own bool) {
	file := d.file()
	if name := file.CredHelpers[serverKey(host)]; name != "" {
		return "docker-credential-" + name, true
	}
	if file.CredsStore != "" {
		return "docker-credential-" + file.CredsStore, false
	}
	return "", false
}

// inRing reports whether the token of host is in the keyring.
func (d *dockerStore) inRing(host string) bool {
	entry, ok := d.file().Auths[d.key(host)]
	return d.own && ok && len(entry) == 0
}

// Where is what keeps the credential of host: a file, a program or the keyring.
func (d *dockerStore) Where(host string) string {
	if d.inRing(host) {
		return keyring.Name
	}
	return d.docker(host)
}

// docker is the program or the file in which docker keeps the credential of host.
func (d *dockerStore) docker(host string) string {
	if name, _ := d.helper(host); name != "" {
		return name
	}
	return d.path
}

// Place is what will keep a credential that is put for host.
func (d *dockerStore) Place(ctx context.Context, host string) string {
	where := d.docker(host)
	if d.own && where == d.path && d.ring.There(ctx) {
		return keyring.Name
	}
	return where
}

// Has reports whether there is a credential for host. It does not ask the keyring.
func (d *dockerStore) Has(ctx context.Context, host string) (bool, error) {
	if d.inRing(host) {
		return true, nil
	}
	have, err := d.Get(ctx, host)
	return have != (origin.Credential{}), err
}

func (d *dockerStore) Get(ctx context.Context, host string) (origin.Credential, error) {
	if d.inRing(host) {
		return d.fromRing(ctx, host)
	}
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

// fromRing reads what Put kept.
func (d *dockerStore) fromRing(ctx context.Context, host string) (origin.Credential, error) {
	kept, err := d.ring.Get(ctx, host)
	user, secret, ok := strings.Cut(kept, ":")
	switch {
	case ctx.Err() != nil:
		return origin.Credential{}, ctx.Err()
	case errors.Is(err, keyring.ErrMissing), err == nil && !ok:
		return origin.Credential{}, diag.New(diag.Failed, "credential", "the token of %s is not in %s any more", host, keyring.Name).
			Hint("skl login %s", host)
	case err != nil:
		return origin.Credential{}, diag.New(diag.Failed, "credential", "the token of %s is in %s, and is not read: %v", host, keyring.Name, err).
			Hint("unlock it, or set %s", origin.VariableName(&url.URL{Scheme: "https", Host: host}))
	}
	return origin.Credential{User: user, Secret: secret}, nil
}

// Put is alone among all skls of this user, and says where the credential is then. A file gets mode 0600. If the
// keyring does not take it, it is where docker keeps its own, and the user is told.
func (d *dockerStore) Put(ctx context.Context, host string, cred auth.Credential) (where string, err error) {
	was := d.inRing(host)
	where = d.Place(ctx, host)
	if where == keyring.Name {
		switch err := d.ring.Set(ctx, host, cred.Username+":"+cred.Password); {
		case err == nil:
			if err = d.mark(ctx, host); err != nil && !was {
				err = errors.Join(err, d.ring.Remove(ctx, host)) // nobody would look for it
			}
			return where, err
		case ctx.Err() != nil:
			return "", ctx.Err()
		default:
			where = d.path
			d.tell.Warn("%s does not take the token: %v", keyring.Name, err)
		}
	}
	if err := d.alone(ctx, host, func(store, _ credentials.Store) error { return store.Put(ctx, d.key(host), cred) }); err != nil || !was {
		return where, err
	}
	if err := d.ring.Remove(ctx, host); err != nil {
		d.tell.Warn("the token before this one is still in %s, as %s of skl: %v", keyring.Name, host, err)
	}
	if !d.inRing(host) {
		return where, nil
	}
	return where, d.unmark(ctx, host) // a program keeps the new one
}

// Remove is alone among all skls of this user.
func (d *dockerStore) Remove(ctx context.Context, host string) error {
	if !d.inRing(host) {
		return d.alone(ctx, host, func(store, _ credentials.Store) error { return store.Delete(ctx, d.key(host)) })
	}
	if err := d.ring.Remove(ctx, host); err != nil {
		return diag.New(diag.Failed, "credential", "the token of %s cannot be removed from %s: %v", host, keyring.Name, err).
			Hint("unlock it, or revoke the token at the registry")
	}
	return d.unmark(ctx, host)
}

// mark and unmark say in the file that the token of host is in the keyring, and that it is not.
func (d *dockerStore) mark(ctx context.Context, host string) error {
	return d.alone(ctx, host, func(_, file credentials.Store) error { return file.Put(ctx, d.key(host), auth.EmptyCredential) })
}

func (d *dockerStore) unmark(ctx context.Context, host string) error {
	return d.alone(ctx, host, func(_, file credentials.Store) error { return file.Delete(ctx, d.key(host)) })
}

// alone calls change with the store that keeps the credential of host, and with the file.
func (d *dockerStore) alone(ctx context.Context, host string, change func(store, file credentials.Store) error) error {
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
		var file *credentials.FileStore
		if file, err = credentials.NewFileStore(d.path); err == nil {
			err = change(d.of(host, store), file)
		}
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
	return diag.New(diag.Failed, "credential", "the credential of %s cannot be %s %s", host, doing, d.docker(host))
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
	if name, own := d.helper(host); err != nil && name != "" && !own && !d.inRing(host) {
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
