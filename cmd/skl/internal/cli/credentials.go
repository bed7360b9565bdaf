package cli

import (
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/config"
)

// credentials finds credentials where this user keeps them. Programs are only
// asked when a server wants a credential.
func (w *world) credentials() *origin.Store {
	s := &origin.Store{Getenv: w.env.getenv, TokenEnv: map[string]string{}, TokenCommand: map[string][]string{}, Environ: os.Environ(), Docker: w.dockerCredential}
	if _, r, ok := w.config.DefaultRegistry(); ok {
		s.Registry = r.URL
	}
	for _, base := range slices.Concat(slices.Collect(maps.Values(w.config.Forges)), registryURLs(w.config)) {
		if u, err := url.Parse(base); err == nil && u.Host != "" {
			s.Hosts = append(s.Hosts, origin.Host(u))
		}
	}
	for host, o := range w.config.Origins {
		s.Hosts = append(s.Hosts, host)
		if o.TokenEnv != "" {
			s.TokenEnv[host] = o.TokenEnv
		}
		if len(o.TokenCommand) > 0 {
			s.TokenCommand[host] = o.TokenCommand
		}
	}
	if forge := w.config.Forges["github"]; forge != "" {
		if u, err := url.Parse(forge); err == nil {
			s.GitHubHosts = append(s.GitHubHosts, u.Host)
		}
	}
	switch path := w.env.getenv("NETRC"); {
	case path != "":
		s.Netrc = path
	case w.home != "":
		s.Netrc = filepath.Join(w.home, ".netrc")
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
