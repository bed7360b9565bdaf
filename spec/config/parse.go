package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/rootpath"
)

// Parse reads src, the content of file, which is named in errors.
func Parse(src []byte, file string) (*Config, error) {
	r, err := tomledit.Open(src, file, code, MaxBytes)
	if err != nil {
		return nil, hinted(err)
	}
	out, failed := read(r)
	return out, hinted(failed)
}

// hinted is err with the way to the rules, unless it has a hint of its own.
func hinted(err error) error {
	if e, ok := diag.Own(err); ok && len(e.Hints) == 0 {
		return e.Hint("skl help guide configuration shows how config.toml is written")
	}
	return err
}

const code = "config_invalid"

// read makes a Config of what r reads.
func read(r *tomledit.Reader) (*Config, error) {
	p := parser{Reader: r, c: &Config{Registries: map[string]Registry{}, Namespaces: map[string]string{}, Forges: map[string]string{},
		Markets: map[string]string{}, Origins: map[string]Origin{}, Models: map[string]Model{}, MCP: map[string]MCP{}, file: r.File, doc: r.Doc}}
	for _, f := range r.Doc.Root.Fields {
		switch f.Key {
		case "registry":
			p.Table(f, p.registry)
		case "namespace":
			p.Table(f, p.namespace)
		case "forge":
			p.Table(f, p.forge)
		case "market":
			p.Table(f, p.market)
		case "origin":
			p.Table(f, p.origin)
		case "signer":
			p.signers(f)
		case "hosts":
			p.Table(f, p.hosts)
		case "roots":
			p.Table(f, p.roots)
		case "allow":
			p.allows(f)
		case "run":
			p.Table(f, p.runTable)
		case "model":
			p.Table(f, p.model)
		case "mcp":
			p.Table(f, p.mcp)
		case "organisation":
			p.organisation(f)
		default:
			p.Unknown(f, "registry", "namespace", "forge", "market", "origin", "signer", "hosts", "roots", "allow", "run", "model", "mcp", "organisation")
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	p.c.Warnings = p.Warnings
	return p.c, nil
}

// A parser puts what its Reader reads into c.
type parser struct {
	*tomledit.Reader
	c *Config
}

func (p *parser) registry(entry tomledit.Field) {
	var r Registry
	p.name(entry, "registry")
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "url":
			r.URL = p.url(f, "https", "http")
		case "default":
			r.Default = p.Truth(f)
		case "log":
			if r.Log = p.Text(f); strings.Count(r.Log, "+") < 2 {
				p.Fail(f.Value, "log is not the key of a log, NAME+HASH+KEY")
			}
		default:
			p.Unknown(f, "url", "default", "log")
		}
	})
	if r.URL == "" {
		p.Lacks(entry.Value, "registry %s has no url", entry.Key)
	}
	if name, _, ok := p.c.DefaultRegistry(); ok && r.Default {
		p.Fail(entry.Value, "registries %s and %s are both the default", name, entry.Key)
	}
	p.c.Registries[entry.Key] = r
}

func (p *parser) namespace(f tomledit.Field) {
	binding := p.Text(f)
	kind, name, _ := strings.Cut(binding, ":")
	if r, err := ref.Parse(f.Key + "/" + kind + "/" + name); err != nil || r.Kind != ref.Name || r.Owner != f.Key || kind == "" || name == "" {
		p.Fail(f.Value, "namespace %q is bound to %q, which is not registry:NAME, forge:NAME or market:NAME", f.Key, binding)
	}
	p.c.Namespaces[f.Key] = binding
}

func (p *parser) forge(entry tomledit.Field) {
	if r, err := ref.Parse(entry.Key + ":o/r"); err != nil || r.Kind != ref.Forge || r.Host != entry.Key {
		p.Fail(entry.Value, "%q cannot be the name of a forge: names use letters, digits and hyphens", entry.Key)
	}
	base := ""
	p.Table(entry, func(f tomledit.Field) {
		if f.Key == "url" {
			base = p.url(f, "https", "http", "ssh", "file")
		} else {
			p.Unknown(f, "url")
		}
	})
	if base == "" {
		p.Lacks(entry.Value, "forge %s has no url", entry.Key)
	}
	p.c.Forges[entry.Key] = base
}

func (p *parser) market(entry tomledit.Field) {
	text := ""
	p.name(entry, "market")
	p.Table(entry, func(f tomledit.Field) {
		if f.Key != "ref" {
			p.Unknown(f, "ref")
			return
		}
		text = p.Text(f)
		if r, err := ref.Parse(text); err != nil {
			p.Fail(f.Value, "%w", err)
		} else if r.Kind == ref.Market {
			p.Fail(f.Value, "ref %q of market %s is a marketplace itself", text, entry.Key)
		}
	})
	if text == "" {
		p.Lacks(entry.Value, "market %s has no ref", entry.Key)
	}
	p.c.Markets[entry.Key] = text
}

func (p *parser) origin(entry tomledit.Field) {
	var o Origin
	u, err := url.Parse("https://" + entry.Key)
	if err != nil || u.Host != entry.Key || u.Hostname() == "" {
		p.Fail(entry.Value, "origin %q is not a host or host:port", entry.Key)
	}
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "insecure":
			o.Insecure = p.Truth(f)
		case "ca":
			o.CA = p.Text(f)
		case "token_env":
			o.TokenEnv = p.variable(f)
		case "token_command":
			o.TokenCommand = p.command(f)
		default:
			p.Unknown(f, "insecure", "ca", "token_env", "token_command")
		}
	})
	key := originKey(entry.Key)
	if _, twice := p.c.Origins[key]; twice {
		p.Fail(entry.Value, "origin %s is configured twice", key)
	}
	p.c.Origins[key] = o
}

// signers reads [[signer]].
func (p *parser) signers(f tomledit.Field) {
	if f.Value.Kind != tomledit.Array {
		p.Fail(f.Value, "signer is %s, not a list of tables: write [[signer]]", f.Value.Kind)
	}
	for i := range f.Value.Items {
		item := tomledit.Field{Key: "signer", Value: f.Value.Items[i]}
		p.signer(item)
	}
}

func (p *parser) signer(entry tomledit.Field) {
	s := Signer{File: p.File}
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "namespace":
			s.Namespace = p.Text(f)
		case "key":
			s.Key = p.Text(f)
		case "issuer":
			s.Issuer = p.Text(f)
		case "identity":
			s.Identity = p.Text(f)
		case "trusted_root":
			s.TrustedRoot = p.Text(f)
		case "allowed_signers":
			s.Allowed = p.Text(f)
		case "oms":
			s.OMS = p.Text(f)
		case "required":
			s.Required = p.Truth(f)
		default:
			p.Unknown(f, "namespace", "key", "issuer", "identity", "trusted_root", "allowed_signers", "oms", "required")
		}
	})
	identity := s.Issuer != "" || s.TrustedRoot != "" || s.Identity != "" && s.Allowed == "" && s.OMS == ""
	switch {
	case s.Namespace == "":
		p.Lacks(entry.Value, "the signer has no namespace; \"*\" is all")
	case s.Allowed != "" && (s.OMS != "" || s.Key != "" || identity), s.OMS != "" && (s.Key != "" || identity):
		p.Fail(entry.Value, "the signer of %s has more than one of key, issuer, allowed_signers and oms; write one signer for each", s.Namespace)
	case s.Allowed != "", s.OMS != "":
	case s.Key == "" && !identity:
		p.Lacks(entry.Value, "the signer of %s has neither a key nor an issuer and identity, and neither allowed_signers nor oms", s.Namespace)
	case s.Key != "" && identity:
		p.Fail(entry.Value, "the signer of %s has a key and an identity; write two of them", s.Namespace)
	case identity && (s.Issuer == "" || s.Identity == "" || s.TrustedRoot == ""):
		p.Lacks(entry.Value, "the signer of %s needs issuer, identity and trusted_root", s.Namespace)
	}
	p.c.Signers = append(p.c.Signers, s)
}

// command is a list of strings, or one string that is split at spaces.
func (p *parser) command(f tomledit.Field) []string {
	args, ok := f.Value.Strings()
	if f.Value.Kind == tomledit.String {
		args, ok = strings.Fields(f.Value.Text), true
	}
	if !ok || len(args) == 0 || args[0] == "" {
		p.Fail(f.Value, "%s is not a program and its arguments", f.Key)
	}
	return args
}

// roots reads search paths, which depend on no directory that skl is started in.
func (p *parser) roots(f tomledit.Field) {
	p.Search(f, &p.c.Before, &p.c.After)
	for _, item := range f.Value.Items {
		if item.Kind == tomledit.String && rootpath.IsLocal(item.Str()) {
			p.Fail(item, "%q is not an absolute path and does not start with ~/", item.Str())
		}
	}
}

func (p *parser) hosts(f tomledit.Field) {
	if f.Key != "enabled" {
		p.Unknown(f, "enabled")
		return
	}
	p.c.Hosts = append([]string{}, p.Texts(f)...)
}

// name checks a key that names a registry or marketplace.
func (p *parser) name(entry tomledit.Field, what string) {
	if err := CheckName(entry.Key, what); err != nil {
		p.Fail(entry.Value, "%v", err)
	}
}

// CheckName refuses a name that nothing in config.toml can have. In the error it is called what: a registry, or a market.
func CheckName(name, what string) error {
	if r, err := ref.Parse("market:" + name + "/x"); err != nil || r.Host != name {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a %s: names use letters, digits, \".\", \"_\" and \"-\"", name, what)
	}
	return nil
}

// url is an absolute URL without credentials, query and fragment; a final slash is dropped.
func (p *parser) url(f tomledit.Field, schemes ...string) string {
	s := p.Text(f)
	u, err := url.Parse(s)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || (u.Host == "") != (u.Scheme == "file") || u.Opaque != "":
		p.Fail(f.Value, "url %q is not an address that starts with %s://", s, strings.Join(schemes, ":// or "))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		p.Fail(f.Value, "url %q holds a query or a fragment", s)
	case u.User != nil && (u.Scheme != "ssh" || strings.Contains(u.User.String(), ":")):
		p.Fail(f.Value, "url holds a user or password; use token_env, token_command, netrc or a credential helper")
	}
	return strings.TrimRight(s, "/")
}

// forgeNames are the built-in and configured forges, sorted.
func (c *Config) forgeNames() []string {
	names := append(slices.Collect(maps.Keys(c.Forges)), "codeberg", "github", "gitlab")
	slices.Sort(names)
	return slices.Compact(names)
}
