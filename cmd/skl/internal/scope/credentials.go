package scope

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	short string // path as messages name it
	own   bool
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
	ring := keyring.Ring{Getenv: sc.Getenv, Waiting: func() { sc.Tell.Note("waiting for %s, which may have to be unlocked", keyring.Name) }}
	d := &dockerStore{path: path, short: sc.Short(path), ring: ring, tell: sc.Tell}
	_, err := d.read()
	if err != nil {
		return nil, err
	}
	return d, nil
}

// read reads docker's config.json.
func (d *dockerStore) read() (dockerFile, error) {
	file, err := readDockerFile(d.path)
	if err != nil {
		return dockerFile{}, diag.New(diag.Failed, "credential", "%s cannot be read as docker's configuration: %w", d.short, err).
			Hint("correct %s, or move it away", d.short)
	}
	return file, nil
}

// native is the store that a program keeps.
func native(program string) credentials.Store {
	return credentials.NewNativeStore(strings.TrimPrefix(program, helperPrefix))
}

// inRing reports whether the file says that the token of host is in the keyring.
func (d *dockerStore) inRing(file dockerFile, host string) bool {
	return d.own && file.marked(d.key(host))
}

// Place is the file, the program or the keyring that will keep a credential that is put for host.
func (d *dockerStore) Place(ctx context.Context, host string) (string, error) {
	file, err := d.read()
	if err != nil {
		return "", err
	}
	return d.place(ctx, file, host), nil
}

func (d *dockerStore) place(ctx context.Context, file dockerFile, host string) string {
	where := d.docker(file, host)
	if d.own && where == d.path && d.ring.There(ctx) {
		return keyring.Name
	}
	return where
}

// Kept are the places that have a credential for host now: a file or a program, the keyring, both or none. It asks the
// keyring whatever the file says, since the file may have been changed by hand, or written while the keyring was locked. A
// keyring that cannot say is a warning.
func (d *dockerStore) Kept(ctx context.Context, host string) (places []string, err error) {
	file, err := d.read()
	if err != nil {
		return nil, err
	}
	if d.inRing(file, host) {
		return []string{keyring.Name}, nil
	}
	have, err := d.outside(ctx, file, host)
	if err != nil {
		return nil, err
	}
	if have != (auth.Credential{}) {
		places = append(places, d.docker(file, host))
	}
	if !d.own {
		return places, nil
	}
	switch holds, err := d.ring.Holds(ctx, host); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		d.tell.Warn("a token of %s may still be in %s: %v", host, keyring.Name, err)
		d.tell.Hint("%s and run: skl logout %s", keyring.Opened(err), host)
	case holds:
		places = append(places, keyring.Name)
	}
	return places, nil
}

// Docker is the program or the file in which docker keeps the credential of host.
func (d *dockerStore) Docker(host string) string {
	file, _ := d.read() // what cannot be read was refused when the store was opened
	return d.docker(file, host)
}

func (d *dockerStore) docker(file dockerFile, host string) string {
	if name, _ := file.helper(host); name != "" {
		return name
	}
	return d.path
}

// Get is the credential of host, if there is one. The keyring is asked only if the file says that it is there.
func (d *dockerStore) Get(ctx context.Context, host string) (origin.Credential, error) {
	file, err := d.read()
	if err != nil {
		return origin.Credential{}, err
	}
	if d.inRing(file, host) {
		return d.fromRing(ctx, host)
	}
	cred, err := d.outside(ctx, file, host)
	switch {
	case err != nil:
		return origin.Credential{}, err
	case cred.RefreshToken != "":
		return origin.Credential{User: "<token>", Secret: cred.RefreshToken}, nil // docker's mark of an identity token
	case cred.AccessToken != "":
		return origin.Credential{Secret: cred.AccessToken}, nil
	}
	return origin.Credential{User: cred.Username, Secret: cred.Password}, nil
}

// outside is what a file or a program has for host.
func (d *dockerStore) outside(ctx context.Context, file dockerFile, host string) (cred auth.Credential, err error) {
	name, _ := file.helper(host)
	if name != "" {
		cred, err = native(name).Get(ctx, d.key(host))
	} else {
		cred, err = file.get(d.key(host))
	}
	if err != nil {
		return auth.Credential{}, d.failed(file, host, "read from")
	}
	return cred, nil
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
			Hint("%s, or set %s", keyring.Opened(err), origin.VariableName(&url.URL{Scheme: "https", Host: host}))
	}
	return origin.Credential{User: user, Secret: secret}, nil
}

// Put is alone among all skls of this user, and says where the credential is then. A file gets mode 0600. If the
// keyring does not take it, it is where docker keeps its own, and the user is told.
func (d *dockerStore) Put(ctx context.Context, host string, cred auth.Credential) (where string, err error) {
	file, err := d.read()
	if err != nil {
		return "", err
	}
	where = d.place(ctx, file, host)
	was := d.inRing(file, host)
	if where == keyring.Name {
		switch err := d.ring.Set(ctx, host, cred.Username+":"+cred.Password); {
		case err == nil:
			err = d.change(ctx, host, func(file *dockerFile) error { return file.put(d.key(host), auth.EmptyCredential) })
			if err != nil && !was {
				d.takeBack(ctx, host)
			}
			return where, err
		case ctx.Err() != nil:
			return "", ctx.Err()
		default:
			where = d.path
			d.tell.Warn("%s does not take the token: %v", keyring.Name, err)
		}
	}
	err = d.change(ctx, host, func(file *dockerFile) error {
		name, _ := file.helper(host)
		if name == "" {
			return file.put(d.key(host), cred)
		}
		if err := native(name).Put(ctx, d.key(host), cred); err != nil {
			return d.failed(*file, host, "written to")
		}
		if d.inRing(*file, host) {
			file.remove(d.key(host)) // the program keeps the new one
		}
		return nil
	})
	if err != nil || !was {
		return where, err
	}
	if err := d.ring.Remove(ctx, host); err != nil {
		d.tell.Warn("the token before this one is still in %s, as %s of skl: %v", keyring.Name, host, err)
		d.tell.Hint("%s and run: skl login %s, or skl logout %s", keyring.Opened(err), host, host)
	}
	return where, nil
}

// takeBack removes a token from the keyring that the file could not be made to point to. It does so after an interrupt, too.
func (d *dockerStore) takeBack(ctx context.Context, host string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := d.ring.Remove(ctx, host); err != nil {
		d.tell.Warn("the token is still in %s, as %s of skl: %v", keyring.Name, host, err)
		d.tell.Hint("%s and run: skl logout %s", keyring.Opened(err), host)
	}
}

// Remove takes the credential of host out of places, which Kept returned. It is alone among all skls of this user. The
// keyring is last: if it stays locked, no other place has a token any more.
func (d *dockerStore) Remove(ctx context.Context, host string, places []string) error {
	for _, place := range places {
		if place == keyring.Name {
			if err := d.ring.Remove(ctx, host); err != nil {
				return diag.New(diag.Failed, "credential", "the token of %s cannot be removed from %s: %v", host, keyring.Name, err).
					Hint("%s and run: skl logout %s; or revoke the token at the registry", keyring.Opened(err), host)
			}
		}
		err := d.change(ctx, host, func(file *dockerFile) error {
			name, _ := file.helper(host)
			if place == keyring.Name || name == "" {
				file.remove(d.key(host))
				return nil
			}
			if native(name).Delete(ctx, d.key(host)) != nil {
				return d.failed(*file, host, "removed from")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// change calls edit with docker's file as it is now, alone among all skls of this user, and writes the file if it changed.
func (d *dockerStore) change(ctx context.Context, host string, edit func(*dockerFile) error) error {
	dir := filepath.Dir(d.path)
	unwritten := func(err error) error {
		return diag.New(diag.Failed, "credential", "the credential of %s cannot be written to %s: %w", host, d.short, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritten(err)
	}
	end, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return unwritten(err)
	}
	defer end()
	file, err := d.read()
	if err != nil {
		return err
	}
	was, err := file.bytes()
	if err == nil {
		err = edit(&file)
	}
	if err != nil {
		return err
	}
	now, err := file.bytes()
	if err == nil && !bytes.Equal(was, now) {
		err = durable.WriteFile(d.path, now, 0o600)
	}
	if err != nil {
		return unwritten(err)
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

// failed says what went wrong without the words of whom it went wrong with: they may hold the secret.
func (d *dockerStore) failed(file dockerFile, host, doing string) error {
	name, alone := file.helper(host)
	if name == "" {
		return diag.New(diag.Failed, "credential", "the credential of %s cannot be %s %s", host, doing, d.short)
	}
	e := diag.New(diag.Failed, "credential", "the credential of %s cannot be %s %s", host, doing, name)
	if _, err := exec.LookPath(name); err != nil {
		entry := "credsStore"
		if alone {
			entry = serverKey(host) + " of credHelpers"
		}
		return e.Hint("install %s, or remove %s from %s", name, entry, d.short)
	}
	return e
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
	if err == nil {
		return cred, nil
	}
	file, rerr := d.read()
	if name, alone := file.helper(host); rerr == nil && name != "" && !alone && !d.inRing(file, host) {
		return origin.Credential{}, nil
	}
	return origin.Credential{}, err
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
