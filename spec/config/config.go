// Package config reads config.toml: where registries, forges and marketplaces are,
// who owns a namespace, and how to talk to a server.
//
//	[registry.NAME]        url, default, log
//	[namespace]            acme = "registry:NAME"
//	[forge.NAME]           url; a repository is cloned from <url>/<owner>/<repo>.git
//	[market.NAME]          ref
//	[origin."host:port"]   insecure, ca, token_env, token_command
//	[[signer]]             namespace, key or issuer and identity, trusted_root, or allowed_signers, or oms; required
//	[hosts]                enabled
//	[roots]                before, after
//	[[allow]]              skill, digest, what
//	[run]                  model, sandbox, trace, hosts
//	[model.NAME]           kind, base_url, key_env, model, api
//	[mcp.NAME]             command or url, env, key_env
//	[organisation]         url, key, max_age
//
// There are two such files, of the machine and of the user; [Merge] combines them.
// A project has none: nothing that comes with content can name a server to send a
// token to, or a command to run. Keys that are not known are kept and reported as warnings.
//
// Errors are *diag.Error of class Failed and code config_invalid, with file, line and column.
package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
)

// MaxBytes is the largest config.toml that is read.
const MaxBytes = 1 << 20

// A Config is one config.toml, or two merged. The zero Config is an empty one.
type Config struct {
	Registries map[string]Registry
	Namespaces map[string]string // namespace → "registry:NAME", "forge:NAME" or "market:NAME"
	Forges     map[string]string // name → URL without a final slash
	Markets    map[string]string // name → ref of the repository that holds the marketplace
	Origins    map[string]Origin // "host", or "host:port" for other ports than 443 → how to talk to it
	Signers    []Signer          // in the order of the files
	Hosts      []string          // enabled agent hosts; nil when the file does not say
	Before     []string          // roots that are searched before the user's own, in order, as rootpath writes them
	After      []string          // and after them
	Allows     []Allow           // in the order of the files
	Run        Run
	Models     map[string]Model // by the name that --model takes
	MCP        map[string]MCP   // by namespace
	Warnings   []diag.Finding   // keys that are not known

	Organisations []Organisation // of the machine's file, then of the user's: all count

	file string
	doc  *tomledit.Doc
}

// A Registry is a server of skl's own kind.
type Registry struct {
	URL     string // without a final slash
	Default bool   // asked for namespaces nobody else owns; at most one
	Log     string // verifier key of its transparency log; "" trusts the one that is seen first
}

// A Signer may sign the releases of a namespace. It is a key, or an identity that an
// issuer vouches for.
type Signer struct {
	Namespace   string // "acme" of a registry, "ghcr.io/acme" of an OCI registry, or "*"
	Key         string // path of a PEM file with the public key
	Issuer      string // URL of the OpenID issuer
	Identity    string // pattern that the whole identity has to match
	TrustedRoot string // path of a trusted_root.json; needed with Issuer
	OMS         string // path of PEM files of keys or authorities who sign the files of a skill, in skill.oms.sig; Identity narrows the subject of a certificate
	Allowed     string // path of an allowed-signers file: the SSH keys that sign commits and tags of git; Identity narrows its principals
	Required    bool   // releases without a good signature are refused
	File        string // that says so; paths are relative to it
}

// Wants reports whether s is about the namespace called name, or "*".
func (s Signer) Wants(name string) bool { return s.Namespace == "*" || s.Namespace == name }

// An Origin says how to talk to one server.
type Origin struct {
	Insecure     bool     // plain http is accepted
	CA           string   // path of a PEM file with certificates to trust besides the system's
	TokenEnv     string   // variable that holds a token for this server only
	TokenCommand []string // program and arguments that print one; run without a shell
}

// Merge combines the machine's file with the user's; either may be nil. Each
// named table and each key is the user's if the user has it, as a whole: a user's
// [origin."h"] does not inherit the machine's token. Signers, organisations and consents of both count, and search paths of both, the user's first. If the user has a default
// registry, the machine's is none. The result cannot be edited.
func Merge(machine, user *Config) *Config {
	c := &Config{Registries: map[string]Registry{}, Namespaces: map[string]string{}, Forges: map[string]string{},
		Markets: map[string]string{}, Origins: map[string]Origin{}, Models: map[string]Model{}, MCP: map[string]MCP{}}
	for _, from := range []*Config{machine, user} {
		if from == nil {
			continue
		}
		if _, _, ok := from.DefaultRegistry(); ok {
			for name, r := range c.Registries {
				c.Registries[name] = Registry{URL: r.URL, Log: r.Log}
			}
		}
		maps.Copy(c.Registries, from.Registries)
		maps.Copy(c.Namespaces, from.Namespaces)
		maps.Copy(c.Forges, from.Forges)
		maps.Copy(c.Markets, from.Markets)
		maps.Copy(c.Origins, from.Origins)
		maps.Copy(c.Models, from.Models)
		maps.Copy(c.MCP, from.MCP)
		c.Run = c.Run.over(from.Run)
		c.Signers = append(c.Signers, from.Signers...)
		c.Organisations = append(c.Organisations, from.Organisations...)
		if from.Hosts != nil {
			c.Hosts = from.Hosts
		}
		c.Allows = append(c.Allows, from.Allows...)
		c.Before, c.After = slices.Concat(from.Before, c.Before), slices.Concat(from.After, c.After)
		c.Warnings = append(c.Warnings, from.Warnings...)
	}
	return c
}

// DefaultRegistry is the registry that is asked for namespaces nobody else owns.
func (c *Config) DefaultRegistry() (name string, r Registry, ok bool) {
	for name, r := range c.Registries {
		if r.Default {
			return name, r, true
		}
	}
	return "", Registry{}, false
}

// wellKnown are the forges that need no configuration, by their own addresses.
var wellKnown = map[string]string{"github": "https://github.com", "gitlab": "https://gitlab.com", "codeberg": "https://codeberg.org"}

// ForgeURL is the canonical clone URL of a repository: on github, gitlab and codeberg their own, whatever address is
// configured for them (see [Config.Reach]), so that it means the same for everybody; else that of the configured forge.
// Its error has code unknown_forge and names the forges there are.
func (c *Config) ForgeURL(name, owner, repo string) (string, error) {
	base, ok := wellKnown[name]
	if !ok {
		base, ok = c.Forges[name]
	}
	if !ok {
		return "", diag.New(diag.Misuse, "unknown_forge", "there is no forge %q", name).
			Meant(c.forgeNames()...).Hint("add [forge.%s] with url = %q to config.toml", tomledit.QuoteKey(name), "https://…")
	}
	return base + "/" + owner + "/" + repo + ".git", nil
}

// Reach is where a clone URL is fetched from here: that of a repository on github, gitlab or codeberg is at the address
// that is configured for the forge, if one is; every other is itself.
func (c *Config) Reach(cloneURL string) string {
	for name, own := range wellKnown {
		base, ok := c.Forges[name]
		if rest, on := below(cloneURL, own); ok && on {
			return base + rest
		}
	}
	return cloneURL
}

// Canonical is the clone URL that [Config.Reach] leads to cloneURL, or else cloneURL.
func (c *Config) Canonical(cloneURL string) string {
	for name, own := range wellKnown {
		base, ok := c.Forges[name]
		if rest, on := below(cloneURL, base); ok && on {
			return own + rest
		}
	}
	return cloneURL
}

// below gives what follows base in a URL, from the slash on. The case of the scheme and of the host does not matter.
func below(url, base string) (rest string, ok bool) {
	if len(url) <= len(base) || url[len(base)] != '/' || !strings.EqualFold(url[:len(base)], base) {
		return "", false
	}
	return url[len(base):], true
}

// Origin says how to talk to the server at host, a URL's host with its port. The
// zero Origin is the rule for servers that are not configured.
func (c *Config) Origin(host string) Origin { return c.Origins[originKey(host)] }

func originKey(host string) string { return strings.TrimSuffix(strings.ToLower(host), ":443") }

// Bytes is the file, empty for a merged Config. The caller must not change it.
func (c *Config) Bytes() []byte {
	if c.doc == nil {
		return nil
	}
	return c.doc.Bytes()
}

// SetMarket adds a marketplace, or points one elsewhere.
func (c *Config) SetMarket(name, ref string) error {
	if c.Markets[name] == ref && ref != "" {
		return nil
	}
	return c.edit(func(doc *tomledit.Doc) error {
		return doc.Set([]string{"market", name, "ref"}, tomledit.Quote(ref))
	})
}

// RemoveMarket removes a marketplace, if there is one of that name.
func (c *Config) RemoveMarket(name string) error {
	return c.edit(func(doc *tomledit.Doc) error {
		_, err := doc.Delete([]string{"market", name})
		return err
	})
}

// edit runs change on a copy and takes the result if it is a config.
// An error leaves c as it was.
func (c *Config) edit(change func(*tomledit.Doc) error) error {
	if c.doc == nil {
		return diag.New(diag.Failed, "config_invalid", "a merged configuration cannot be edited")
	}
	doc := *c.doc
	if err := change(&doc); err != nil {
		return diag.New(diag.Failed, "config_invalid", "%w", err).At(diag.Position{File: c.file})
	}
	next, err := read(tomledit.NewReader(&doc, c.file, code))
	if err != nil {
		return err
	}
	*c = *next
	return nil
}
