package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
)

type loginResult struct {
	URL     string `json:"url"`
	Kind    string `json:"kind"`              // skl: a registry of skills; oci: another one
	Account string `json:"account,omitempty"` // who the registry takes the token for
	Name    string `json:"name,omitempty"`    // in config.toml
	Default bool   `json:"default,omitempty"` // of config.toml
	Store   string `json:"store"`             // file or program that keeps the token
}

type logoutResult struct {
	URL     string `json:"url"`
	Removed bool   `json:"removed"` // there was a credential
	Store   string `json:"store"`
}

// maxToken bounds what is read as a token, in bytes.
const maxToken = 64 << 10

// loginUser goes with a token where docker wants a name. Registries of skills do not look at it.
const loginUser = "skl"

func loginCommand() command {
	return command{name: "login", args: "URL", group: "Trust", usage: "keep a token for a registry, where docker keeps its own (variables: skl help environment)", output: loginResult{},
		example: "skl login https://skills.example\nskl login https://skills.example --token-stdin --name corp --default < token\nskl login ghcr.io --username octocat --token-stdin < token",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "token-stdin", Usage: "read the token from standard input"},
			&cli.StringFlag{Name: "username", Aliases: []string{"u"}, Usage: "`NAME` that belongs to the token, if the registry wants one"},
			&cli.StringFlag{Name: "name", Usage: "call it registry `NAME` in config.toml (default: its host)"},
			&cli.BoolFlag{Name: "default", Usage: "make it the default registry"},
			dryRunFlag(),
		}, run: runLogin}
}

func logoutCommand() command {
	return command{name: "logout", args: "URL|NAME", usage: "forget the token for a registry", output: logoutResult{},
		example: "skl logout https://skills.example\nskl logout corp --forget",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "forget", Usage: "also remove the registry from config.toml"}, dryRunFlag()}, run: runLogout}
}

func runLogin(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "login takes one address").Hint("skl login https://skills.example")
	}
	base, err := w.address(c.Args().First())
	if err != nil {
		return err
	}
	if strings.Contains(c.String("username"), ":") {
		return diag.New(diag.Misuse, "usage", "a user name holds no colon")
	}
	if u, err := url.Parse(base); w.config.Origin(hostOf(base)).Insecure && (err != nil || !origin.Private(u)) {
		return diag.New(diag.Refused, "credential", "no token is sent to %s: plain http shows it to everybody on the way", base).
			Hint("use https, or name a variable for this host in config.toml: [origin.%q] token_env", hostOf(base))
	}
	token, err := w.askToken(base, c.Bool("token-stdin"))
	if err != nil {
		return err
	}
	out, err := w.greet(ctx, base, origin.Credential{User: cmp.Or(c.String("username"), loginUser), Secret: token})
	if err != nil {
		return err
	}
	if out.Kind == "oci" && (c.IsSet("name") || c.Bool("default")) {
		return diag.New(diag.Misuse, "usage", "%s is not a registry of skills, so it has no name in config.toml", base).Hint("skl login %s", base)
	}
	store, err := w.dockerStore()
	if err != nil {
		return err
	}
	out.Store = store.where(hostOf(base))
	if out.Kind == "skl" {
		if err := w.nameRegistry(c, &out, true); err != nil {
			return err
		}
	}
	if !c.Bool("dry-run") {
		cred := auth.Credential{Username: cmp.Or(c.String("username"), loginUser), Password: token}
		if err := store.put(ctx, hostOf(base), cred); err != nil {
			return err
		}
		if out.Kind == "skl" {
			if err := w.nameRegistry(c, &out, false); err != nil {
				return err
			}
		}
	}
	return w.printLogin(ctx, c, out)
}

func (w *world) printLogin(ctx context.Context, c *cli.Context, out loginResult) error {
	if _, from, err := w.credentials().Lookup(ctx, out.URL); err == nil && from != "" && from != dockerSource {
		w.ui.Warn("skl uses the credential from %s for %s before the one that was stored", from, out.URL)
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	switch {
	case c.Bool("dry-run"):
		w.ui.Print("%s accepts the token; it would be kept in %s", out.URL, w.short(out.Store))
	case out.Account != "":
		w.ui.Print("logged in to %s as %s; the token is in %s", out.URL, out.Account, w.short(out.Store))
	default:
		w.ui.Print("logged in to %s; the token is in %s", out.URL, w.short(out.Store))
	}
	if out.Name != "" {
		w.ui.Note("%s is registry %s in config.toml%s", out.URL, out.Name, map[bool]string{true: ", the default one"}[out.Default])
		if !out.Default {
			w.ui.Hint("names like acme/pdf are looked up there after: skl login %s --default", out.URL)
		}
	}
	return nil
}

// address is what a person calls a server, as an origin. Loopback addresses, and hosts that the
// configuration lists as insecure, are spoken to over plain http, unless the text says otherwise.
func (w *world) address(text string) (string, error) {
	if r, ok := w.config.Registries[text]; ok {
		return r.URL, nil
	}
	if strings.Contains(text, "@") {
		return "", diag.New(diag.Misuse, "invalid_url", "the address of a registry holds no user or password").Hint("skl login URL --token-stdin < FILE")
	}
	text = strings.TrimPrefix(text, "oci://")
	if !strings.Contains(text, "://") {
		scheme := "https://"
		if host, _, _ := strings.Cut(text, "/"); w.config.Origin(host).Insecure || origin.Loopback(host) {
			scheme = "http://"
		}
		text = scheme + text
	}
	r, err := client.New(nil, text)
	if err != nil {
		return "", err
	}
	return r.URL(), nil
}

// hostOf is the host of an origin, as docker and OCI references name it.
func hostOf(base string) string {
	_, host, _ := strings.Cut(base, "://")
	return host
}

// askToken reads the token from standard input, or asks for it.
func (w *world) askToken(base string, stdin bool) (string, error) {
	if stdin {
		text, err := io.ReadAll(io.LimitReader(w.env.stdin, maxToken+1))
		if err != nil {
			return "", err
		}
		token := strings.TrimSpace(string(text))
		if token == "" || len(text) > maxToken || strings.ContainsAny(token, " \t\r\n") {
			return "", diag.New(diag.Misuse, "no_token", "standard input is not one token").Hint("skl login %s --token-stdin < FILE", base)
		}
		return token, nil
	}
	token, err := w.ui.Secret("token for " + base)
	if errors.Is(err, ui.ErrNoTerminal) || err == nil && token == "" {
		return "", diag.New(diag.NeedsInput, "no_token", "a token for %s is needed, and nobody can be asked", base).Hint("skl login %s --token-stdin < FILE", base)
	}
	return token, err
}

// greet shows the credential to the server at base, and to nobody else, and finds out what it is.
func (w *world) greet(ctx context.Context, base string, cred origin.Credential) (loginResult, error) {
	out := loginResult{URL: base, Kind: "skl"}
	h := w.newHTTP()
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

// nameRegistry notes a registry of skills in config.toml; a dry run only finds out whether it can.
func (w *world) nameRegistry(c *cli.Context, out *loginResult, dry bool) error {
	out.Name = c.String("name")
	for _, name := range slices.Sorted(maps.Keys(w.config.Registries)) {
		if w.config.Registries[name].URL == out.URL && out.Name == "" {
			out.Name = name
		}
	}
	if out.Name == "" {
		out.Name = strings.NewReplacer("[", "", "]", "", ":", "-").Replace(hostOf(out.URL))
	}
	have, ok := w.config.Registries[out.Name]
	if ok && have.URL != out.URL {
		return diag.New(diag.Misuse, "exists", "there is a registry %q already, at %s", out.Name, have.URL).Hint("add --name OTHER")
	}
	out.Default = have.Default || c.Bool("default")
	if ok && out.Default == have.Default {
		return nil
	}
	return w.editConfig(dry, func(cfg *config.Config) error { return cfg.SetRegistry(out.Name, out.URL, c.Bool("default")) })
}

func runLogout(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "logout takes one address or name").Hint("skl logout URL")
	}
	base, err := w.address(c.Args().First())
	if err != nil {
		return err
	}
	store, err := w.dockerStore()
	if err != nil {
		return err
	}
	out := logoutResult{URL: base, Store: store.where(hostOf(base))}
	have, err := store.get(ctx, hostOf(base))
	if err != nil {
		return err
	}
	if out.Removed = have != (origin.Credential{}); out.Removed && !c.Bool("dry-run") {
		if err := store.remove(ctx, hostOf(base)); err != nil {
			return err
		}
	}
	if c.Bool("forget") {
		for _, name := range slices.Sorted(maps.Keys(w.config.Registries)) {
			if w.config.Registries[name].URL == base {
				if err := w.editConfig(c.Bool("dry-run"), func(cfg *config.Config) error { return cfg.RemoveRegistry(name) }); err != nil {
					return err
				}
			}
		}
	}
	if !c.Bool("dry-run") {
		if _, from, err := w.credentials().Lookup(ctx, base); err == nil && from != "" {
			w.ui.Warn("there is still a credential for %s, from %s", base, from)
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	switch {
	case !out.Removed:
		w.ui.Print("there was no token for %s in %s", base, w.short(out.Store))
	case c.Bool("dry-run"):
		w.ui.Print("the token for %s would be removed from %s", base, w.short(out.Store))
	default:
		w.ui.Print("logged out of %s", base)
	}
	return nil
}

// dockerSource is how a Store calls what comes from a dockerStore.
const dockerSource = "docker credentials"

// A dockerStore is where docker keeps credentials: helper programs if its config.json names some,
// else that file. It is shared with docker, oras, crane and cosign.
type dockerStore struct {
	path  string
	store *credentials.DynamicStore
}

// dockerPath is docker's config.json, "" if there is no home for one.
func (w *world) dockerPath() string {
	dir := w.env.getenv("DOCKER_CONFIG")
	switch {
	case dir != "":
		dir = absolute(w.env.cwd, dir)
	case w.home != "":
		dir = filepath.Join(w.home, ".docker")
	default:
		return ""
	}
	path := filepath.Join(dir, "config.json")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real // which is replaced, and not the link to it
	}
	return path
}

func (w *world) dockerStore() (*dockerStore, error) {
	path := w.dockerPath()
	if path == "" {
		return nil, diag.New(diag.Failed, "no_home", "HOME is not set, so there is no place for credentials")
	}
	store, err := credentials.NewStore(path, credentials.StoreOptions{AllowPlaintextPut: true})
	if err != nil {
		// The error of a parser may quote what it reads.
		return nil, diag.New(diag.Failed, "credential", "%s cannot be read as docker's configuration", w.short(path))
	}
	return &dockerStore{path, store}, nil
}

// serverKey is how docker calls the host.
func serverKey(host string) string { return credentials.ServerAddressFromRegistry(host) }

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

// where is the file or program that keeps the credential of host.
func (d *dockerStore) where(host string) string {
	if name, _ := d.helper(host); name != "" {
		return name
	}
	return d.path
}

func (d *dockerStore) get(ctx context.Context, host string) (origin.Credential, error) {
	cred, err := d.store.Get(ctx, serverKey(host))
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

// put is alone among all skls of this user. The file gets mode 0600.
func (d *dockerStore) put(ctx context.Context, host string, cred auth.Credential) error {
	return d.alone(ctx, host, func(store *credentials.DynamicStore) error { return store.Put(ctx, serverKey(host), cred) })
}

func (d *dockerStore) remove(ctx context.Context, host string) error {
	return d.alone(ctx, host, func(store *credentials.DynamicStore) error { return store.Delete(ctx, serverKey(host)) })
}

func (d *dockerStore) alone(ctx context.Context, host string, change func(*credentials.DynamicStore) error) error {
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
		err = change(store)
	}
	if err != nil {
		return d.failed(host, "written to")
	}
	return nil
}

// failed says what went wrong without the words of whom it went wrong with: they may hold the secret.
func (d *dockerStore) failed(host, doing string) error {
	return diag.New(diag.Failed, "credential", "the credential of %s cannot be %s %s", host, doing, d.where(host))
}

// dockerCredential is what a Store asks. A program that keeps everything and does not answer knows nothing.
func (w *world) dockerCredential(ctx context.Context, host string) (origin.Credential, error) {
	if path := w.dockerPath(); path == "" {
		return origin.Credential{}, nil
	} else if _, err := os.Stat(path); err != nil {
		return origin.Credential{}, nil
	}
	d, err := w.dockerStore()
	if err != nil {
		return origin.Credential{}, err
	}
	cred, err := d.get(ctx, host)
	if name, own := d.helper(host); err != nil && name != "" && !own {
		return origin.Credential{}, nil
	}
	return cred, err
}
