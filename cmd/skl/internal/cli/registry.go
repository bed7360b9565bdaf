package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

func registryCommand() command {
	return command{name: "registry", group: "Sites", usage: "run a registry of skills, and administer one", output: registryResult{},
		example: `skl registry serve
skl registry init --url https://skills.example --tls proxy --systemd
skl registry namespace create acme --public
skl registry token create --name ci --namespace acme --role publisher --expires 90d
skl registry approve acme/pdf@1.4.2
skl registry clients --for npx
skl registry backup /srv/backup --data /var/lib/skl-registry`,
		sub: []command{
			serveRegistryCommand(), initRegistryCommand(),
			tokenCommand(), namespaceCommand(),
			actCommand("approve", "approve a quarantined release", "approved"),
			actCommand("reject", "refuse a release that waits, for good", "rejected"),
			actCommand("quarantine", "hold a release back for a decision", "quarantined"),
			mirrorCommand(), clientsCommand(), registryLogCommand(),
			gcCommand(), fsckCommand(), scrubCommand(), backupCommand(), restoreCommand(), registryDoctorCommand(),
		}}
}

// A registryResult is what a subcommand prints that has no form of its own: what it changed.
type registryResult struct {
	OK       bool   `json:"ok"`
	Registry string `json:"registry,omitempty"` // its address, or its data directory
	Action   string `json:"action,omitempty"`
	Target   string `json:"target,omitempty"`
	State    string `json:"state,omitempty"` // of a release, after the action
}

// siteFlags say which registry a subcommand speaks to.
func siteFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "registry", Usage: "speak to registry `NAME|URL` (default: the default one of config.toml)"},
		&cli.StringFlag{Name: "data", Usage: "work on the data in `DIR` directly, without a server and without a token"},
	}
}

// dataFlag is for what needs the data itself.
func dataFlag() cli.Flag {
	return &cli.StringFlag{Name: "data", Usage: "the registry keeps its data in `DIR` (default: where registry serve does)"}
}

// A site is a registry that a command talks to: over the network, or through its own data.
type site struct {
	*client.Client
	name  string         // as messages call it
	data  *server.Server // nil over the network
	close func()
}

// site opens the registry that the flags name. The caller closes it.
func (w *world) site(ctx context.Context, c *cli.Context) (*site, error) {
	if dir := c.String("data"); dir != "" {
		if c.String("registry") != "" {
			return nil, diag.New(diag.Misuse, "usage", "--registry and --data are two ways to name a registry")
		}
		return w.dataSite(ctx, scope.Absolute(w.Cwd, dir))
	}
	base, err := w.SiteURL(c.String("registry"))
	if err != nil {
		return nil, err
	}
	r, err := client.New(w.HTTP, base)
	if err != nil {
		return nil, err
	}
	return &site{Client: r, name: r.URL(), close: func() {}}, nil
}

// defaultData is where registry serve keeps its data unless it is told.
func (w *world) defaultData() string { return filepath.Join(w.Dirs.Data, "registry") }

// openData opens data that is there, and makes none.
func (w *world) openData(ctx context.Context, dir string) (*server.Server, error) {
	if err := w.hasData(dir); err != nil {
		return nil, err
	}
	s, err := server.Open(ctx, server.Config{Data: dir})
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "data_in_use" {
		e.Hint("stop that server, or speak to it: --registry URL in place of --data")
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.keepAdminToken(s, dir); err != nil { // one is made if there was none, as after serve --open
		s.Close()
		return nil, err
	}
	return s, nil
}

func (w *world) hasData(dir string) error {
	if info, err := os.Stat(filepath.Join(dir, "meta.db")); err != nil || !info.Mode().IsRegular() {
		return diag.New(diag.Misuse, "no_registry_data", "%s does not hold the data of a registry", w.Short(dir)).
			Hint("--data DIR names the directory that skl registry serve was given")
	}
	return nil
}

// dataSite serves the API of the data in dir to this process alone: on loopback, behind a secret of its
// own, for the length of the command. So there is one way to do things, and one audit trail.
func (w *world) dataSite(ctx context.Context, dir string) (*site, error) {
	s, err := w.openData(ctx, dir)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		s.Close()
		return nil, err
	}
	secret := rand.Text()
	local := registry.Caller{Identity: auth.Identity{Account: "local", Grants: []auth.Grant{{Namespace: "*", Role: auth.Admin}}}, Remote: "local"}
	handler := api.New(api.Handler{Registry: s.Registry, PublicLog: true, About: wire.About{Software: "skl", Log: s.Registry.Key.Public(), Features: []string{}},
		Challenge: func(*http.Request) string { return "Bearer" },
		Caller: func(r *http.Request) (registry.Caller, error) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
				return registry.Caller{}, diag.New(diag.Failed, "unauthorized", "this port belongs to another process")
			}
			return local, nil
		}})
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := origin.Accept(r); err != nil {
			api.WriteProblem(w, api.Problem(err))
			return
		}
		handler.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		web.Serve(l)
	}()
	base := "http://" + l.Addr().String()
	h := &origin.Client{Credential: func(_ context.Context, o string) (origin.Credential, error) {
		if o == base {
			return origin.Credential{Secret: secret}, nil
		}
		return origin.Credential{}, nil
	}}
	r := &client.Client{HTTP: h, Base: &url.URL{Scheme: "http", Host: l.Addr().String()}}
	return &site{Client: r, name: w.Short(dir), data: s, close: func() {
		web.Close()
		<-done
		s.Close()
	}}, nil
}

// did prints that a subcommand did something, or with --dry-run would have.
func (w *world) did(c *cli.Context, s *site, action, target, format string, args ...any) error {
	if w.ui.JSON {
		return w.ui.Result(registryResult{OK: true, Registry: s.name, Action: action, Target: target})
	}
	w.ui.Print(format, args...)
	if c.Bool("dry-run") {
		w.ui.Note("nothing was changed (--dry-run)")
	}
	return nil
}

// words wants exactly n arguments; form shows them.
func words(c *cli.Context, n int, form string) ([]string, error) {
	if c.Args().Len() != n {
		return nil, diag.New(diag.Misuse, "usage", "write: skl %s", form)
	}
	return c.Args().Slice(), nil
}
