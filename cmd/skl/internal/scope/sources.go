package scope

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/embedded"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/local"
	"github.com/skl-project/skl/resolver/source/oci"
	"github.com/skl-project/skl/resolver/source/registry"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// wire gives the sources what they need of the process.
func (sc *Scope) wire() {
	sc.HTTP = sc.NewHTTP()
	sc.Git = &git.Source{HTTP: sc.HTTP, CacheDir: sc.Dirs.Cache, Offline: sc.Offline(), Environ: sc.Environ, Progress: sc.Progress, Reach: sc.Config.Reach}
	sc.tags = &tags{path: filepath.Join(sc.Dirs.State, "tags.json"), sighted: filepath.Join(sc.Dirs.Cache, "moves.json"), project: sc.Base, warn: sc.Tell.Warn}
	sc.Local, sc.typed = &local.Source{Dir: sc.Base}, &local.Source{Dir: sc.Base, Show: sc.TypedPath}
	sc.embedded = &embedded.Source{FS: skills.FS()}
	sc.OCI = &oci.Source{Client: sc.HTTP, CacheDir: sc.Dirs.Cache, Progress: sc.Progress, Warn: func(place, text string) { sc.Tell.Warn("%s: %s", place, text) }}
	sc.Registry = &registry.Source{HTTP: sc.HTTP, Cache: sc.Dirs.Cache, State: sc.Dirs.State, LogKey: sc.configuredLog, Progress: sc.Progress, Warn: func(text string) { sc.Tell.Warn("%s", text) }}
}

// configuredLog is the configured key of the log of the registry at an address.
func (sc *Scope) configuredLog(url string) string {
	for _, r := range sc.Config.Registries {
		if c, err := client.New(nil, r.URL); err == nil && c.URL() == url && r.Log != "" {
			return r.Log
		}
	}
	return ""
}

// NewHTTP is a client by the configuration.
func (sc *Scope) NewHTTP() *origin.Client {
	c := &origin.Client{Offline: sc.Offline(), UserAgent: sc.options.UserAgent, Getenv: sc.Getenv, Insecure: map[string]bool{}, CAs: map[string][]byte{}}
	c.Credential = func(ctx context.Context, o string) (origin.Credential, error) {
		cred, _, err := sc.Credentials().Lookup(ctx, o)
		return cred, err
	}
	c.Known = map[string]bool{}
	for _, r := range sc.Config.Registries {
		if u, err := url.Parse(r.URL); err == nil {
			c.Known[origin.Host(u)] = true
		}
	}
	for _, address := range sc.Config.Forges {
		if u, err := url.Parse(address); err == nil {
			c.Known[origin.Host(u)] = true
		}
	}
	for host, o := range sc.Config.Origins {
		c.Insecure[host], c.Known[host] = o.Insecure, true
		if o.CA != "" {
			if pem, err := os.ReadFile(o.CA); err == nil {
				c.CAs[host] = pem
			}
		}
	}
	return c
}

// Fetch sends a locked release to its source.
func (sc *Scope) Fetch(ctx context.Context, s lock.Skill, sink bundle.Sink) error {
	src, err := sc.sourceOf(s)
	if err == nil {
		err = sc.vouched(s)
	}
	if err != nil {
		return err
	}
	return src.Fetch(ctx, s, sink)
}

func (sc *Scope) sourceOf(s lock.Skill) (source.Source, error) {
	switch s.Source {
	case "git":
		return sc.Git, nil
	case "local":
		return sc.Local, nil
	case "oci":
		return sc.OCI, nil
	case "registry":
		return sc.Registry, nil
	case "embedded":
		return sc.embedded, nil
	}
	return nil, diag.New(diag.Failed, "unknown_source", "%s: this skl cannot fetch from source %q", s.Name, s.Source)
}

// Prefetch loads what many releases need in few requests.
func (sc *Scope) Prefetch(ctx context.Context, in *install.Installer, want []lock.Skill, have map[string]install.Have) error {
	var fromGit []lock.Skill
	for _, s := range want {
		if s.Source == "git" && in.Missing(s, have) && sc.vouched(s) == nil {
			fromGit = append(fromGit, s)
		}
	}
	if len(fromGit) < 2 {
		return nil
	}
	return sc.Git.Prefetch(ctx, fromGit)
}

// Binding is what owns a namespace by the configuration, else by a manifest, such as "registry:corp"; "" where neither says it.
func (sc *Scope) Binding(m *manifest.Manifest, ns string) string {
	return cmp.Or(sc.Config.Namespaces[ns], m.Namespaces[ns])
}

// Resolver finds releases for the scope's manifest.
func (sc *Scope) Resolver(m *manifest.Manifest) *resolver.Resolver {
	binding := func(ns string) string { return sc.Binding(m, ns) }
	return &resolver.Resolver{
		Git: sc.Git, Local: sc.Local, Typed: sc.typed, Dir: sc.Base, Shown: sc.TypedRef, OCI: sc.OCI, Registry: sc.Registry, Embedded: sc.embedded, Plugins: plugins(sc.plugin),
		RegistryURL:     sc.RegistryURL,
		DefaultRegistry: func() string { name, _, _ := sc.Config.DefaultRegistry(); return name },
		HasNamespace:    sc.Registry.HasNamespace,
		ForgeURL:        sc.Config.ForgeURL,
		Market:          func(name string) (ref.Ref, bool, error) { return sc.Market(m, name) },
		Undecided: func(want resolver.Named, known bool, err error) error {
			return sc.undecided(want, binding(want.Ref.Owner) != "", known, err)
		},
		Tags:     sc.tags,
		Untagged: sc.untagged,
		Binding:  binding,
	}
}

// RegistryURL is the address of a configured registry.
func (sc *Scope) RegistryURL(name string) (string, error) {
	r, ok := sc.Config.Registries[name]
	if !ok {
		return "", diag.New(diag.Misuse, "unknown_registry", "there is no registry %q", name).
			Meant(slices.Sorted(maps.Keys(sc.Config.Registries))...).Hint("skl login URL --name %s", name)
	}
	return r.URL, nil
}

// HasRegistry reports whether the configuration names the registry at url. What a lock or a receipt of a project names is not asked for that.
func (sc *Scope) HasRegistry(url string) bool {
	for _, r := range sc.Config.Registries {
		if c, err := client.New(nil, r.URL); err == nil && c.URL() == url {
			return true
		}
	}
	return false
}

// RegistryAt is the address of the registry of the configuration at a host, as OCI references name it; "" if there is none.
func (sc *Scope) RegistryAt(host string) string {
	for _, r := range sc.Config.Registries {
		c, err := client.New(nil, r.URL)
		if err != nil {
			continue
		}
		if there, err := client.New(nil, c.Base.Scheme+"://"+host); err == nil && there.URL() == c.URL() {
			return c.URL()
		}
	}
	return ""
}
