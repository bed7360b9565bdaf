package scope

import (
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// SiteURL is the address of a registry by name or address; "" is the default one.
func (sc *Scope) SiteURL(text string) (string, error) {
	switch {
	case text == "":
		if _, r, ok := sc.Config.DefaultRegistry(); ok {
			return r.URL, nil
		}
		return "", diag.New(diag.Misuse, "no_registry", "no registry is named, and config.toml has no default one").
			Meant(slices.Sorted(maps.Keys(sc.Config.Registries))...).Hint("skl login URL --default, or add --registry NAME|URL")
	case sc.Config.Registries[text].URL == "" && !strings.ContainsAny(text, ".:") && text != "localhost":
		return sc.RegistryURL(text)
	}
	return sc.Address(text)
}

// Address is what a person calls a server, as an origin. Loopback addresses, and hosts that the
// configuration lists as insecure, are spoken to over plain http, unless the text says otherwise.
func (sc *Scope) Address(text string) (string, error) {
	if r, ok := sc.Config.Registries[text]; ok {
		return r.URL, nil
	}
	if strings.Contains(text, "@") {
		return "", diag.New(diag.Misuse, "invalid_url", "the address of a registry holds no user or password").Hint("skl login URL --token-stdin < FILE")
	}
	text = strings.TrimPrefix(text, "oci://")
	if !strings.Contains(text, "://") {
		scheme := "https://"
		if host, _, _ := strings.Cut(text, "/"); sc.Config.Origin(host).Insecure || origin.Loopback(host) {
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
