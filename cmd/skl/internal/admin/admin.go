// Package admin administers registries of skills, over the network or through the data of one on this machine: start,
// serve and examine one; its namespaces, tokens and signers; decisions about releases; mirrors, backups and the log. Each
// use case takes a small request, opens the registry that it names, and closes it.
package admin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

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

// An Admin administers registries with the credentials and the configuration of a scope.
type Admin struct{ Scope *scope.Scope }

// A Site names a registry in one of two ways. The zero Site is the default registry of the configuration.
type Site struct {
	Registry string // name or URL
	Data     string // the directory of its data, which is worked on without a server and without a token
}

// A Place is the registry on which something was done.
type Place struct {
	Name  string // as messages call it: its address, or its data directory
	URL   string
	Local bool // its data was worked on
}

// A Done is a change of a registry that has no other form.
type Done struct {
	OK       bool   `json:"ok"`
	Registry string `json:"registry,omitempty"` // its address, or its data directory
	Action   string `json:"action,omitempty"`
	Target   string `json:"target,omitempty"`
	State    string `json:"state,omitempty"` // of a release, after the action
}

// A site is an open registry.
type site struct {
	client *client.Client
	at     Place
	logKey string // verifier key of the log; empty over the network
	close  func()
}

// done says that an action was carried out, or in a dry run could be.
func (s *site) done(action, target string) Done {
	return Done{OK: true, Registry: s.at.Name, Action: action, Target: target}
}

// open opens the registry that at names. The caller closes it.
func (a *Admin) open(ctx context.Context, at Site) (*site, error) {
	if at.Data != "" {
		if at.Registry != "" {
			return nil, diag.New(diag.Misuse, "usage", "--registry and --data are two ways to name a registry")
		}
		return a.openLocal(ctx, scope.Absolute(a.Scope.Cwd, at.Data))
	}
	r, err := a.remote(at.Registry)
	if err != nil {
		return nil, err
	}
	if at.Registry != "" {
		a.Scope.Named(r.URL())
	}
	return &site{client: r, at: Place{Name: r.URL(), URL: r.URL()}, close: func() {}}, nil
}

// remote is the registry of a name or address.
func (a *Admin) remote(name string) (*client.Client, error) {
	base, err := a.Scope.SiteURL(name)
	if err != nil {
		return nil, err
	}
	return client.New(a.Scope.HTTP, base)
}

// dataDir is the directory that a person names, or the one that Serve takes by itself.
func (a *Admin) dataDir(named string) string {
	if named != "" {
		return scope.Absolute(a.Scope.Cwd, named)
	}
	return filepath.Join(a.Scope.Dirs.Data, "registry")
}

// openData opens data that is there, and creates none.
func (a *Admin) openData(ctx context.Context, dir string) (*server.Server, error) {
	if err := a.hasData(dir); err != nil {
		return nil, err
	}
	s, err := server.OpenData(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err := keepAdminToken(s, dir); err != nil { // there is a new one if there was none, as after serve --open
		s.Close()
		return nil, err
	}
	return s, nil
}

// openAlone is openData for what would hurt those who push to a process that serves the data, wherever that is.
func (a *Admin) openAlone(ctx context.Context, dir string) (*server.Server, error) {
	s, err := a.openData(ctx, dir)
	if err != nil {
		return nil, err
	}
	serving, err := s.Serving(ctx)
	if err == nil && len(serving) > 0 {
		err = diag.New(diag.Failed, "data_in_use", "the registry of %s is served by %s", a.Scope.Short(dir), diag.Printable(strings.Join(serving, ", ")))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// beside opens data without the lock of its server, for reading and for backups.
func (a *Admin) beside(ctx context.Context, dir string) (*server.Server, error) {
	if err := a.hasData(dir); err != nil {
		return nil, err
	}
	return server.Attach(ctx, dir)
}

func (a *Admin) hasData(dir string) error {
	if !server.HasData(dir) {
		return diag.New(diag.Misuse, "no_registry_data", "%s does not hold the data of a registry", a.Scope.Short(dir)).
			Hint("--data DIR names the directory that skl registry serve was given")
	}
	return nil
}

// openLocal serves the API of the data in dir to this process alone: on loopback, behind a secret of its
// own, until it is closed. So there is one way to do things, and one audit trail.
func (a *Admin) openLocal(ctx context.Context, dir string) (*site, error) {
	s, err := a.openData(ctx, dir)
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "data_in_use" {
		e.Hint("stop that server, or speak to it: --registry URL in place of --data")
	}
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		s.Close()
		return nil, err
	}
	secret := rand.Text()
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: ownAPI(s.Registry, secret)}
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
	return &site{client: r, at: Place{Name: a.Scope.Short(dir), URL: r.URL(), Local: true}, logKey: s.Registry.Key.Public(), close: func() {
		web.Close()
		<-done
		s.Close()
	}}, nil
}

// ownAPI is the API of g for whoever knows the secret.
func ownAPI(g *registry.Registry, secret string) http.Handler {
	local := registry.Caller{Identity: auth.Identity{Account: registry.Local, Grants: []auth.Grant{{Namespace: "*", Role: auth.Admin}}}, Remote: "local"}
	handler := api.New(api.Handler{Registry: g, PublicLog: true, About: wire.About{Software: "skl", Log: g.Key.Public(), Features: []string{}},
		Challenge: func(*http.Request) string { return "Bearer" },
		Caller: func(r *http.Request) (registry.Caller, error) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
				return registry.Caller{}, diag.New(diag.Failed, "unauthorized", "this port belongs to another process")
			}
			return local, nil
		}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := origin.Accept(r); err != nil {
			api.WriteProblem(w, api.Problem(err))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// on carries out do on the registry that at names. An error leaves no result.
func on[T any](ctx context.Context, a *Admin, at Site, do func(*site) (T, error)) (T, error) {
	var none T
	s, err := a.open(ctx, at)
	if err != nil {
		return none, err
	}
	defer s.close()
	out, err := do(s)
	if err != nil {
		return none, a.Scope.Explain(s.at.URL, err)
	}
	return out, nil
}
