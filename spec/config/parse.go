package config

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
)

// Parse reads src, the content of file, which is named in errors.
func Parse(src []byte, file string) (*Config, error) {
	if len(src) > MaxBytes {
		return nil, diag.New(diag.Failed, "config_invalid", "the file has more than %d bytes", MaxBytes).At(diag.Position{File: file})
	}
	doc, err := tomledit.Parse(src)
	if err != nil {
		where := diag.Position{File: file}
		if e, ok := errors.AsType[*tomledit.Error](err); ok {
			where.Line, where.Column = e.Line, e.Column
			err = errors.New(e.Message)
		}
		return nil, diag.New(diag.Failed, "config_invalid", "%w", err).At(where)
	}
	return read(doc, file)
}

// read makes a Config of doc.
func read(doc *tomledit.Doc, file string) (*Config, error) {
	p := parser{c: &Config{Registries: map[string]Registry{}, Namespaces: map[string]string{}, Forges: map[string]string{},
		Markets: map[string]string{}, Origins: map[string]Origin{}, Models: map[string]Model{}, MCP: map[string]MCP{}, file: file, doc: doc}}
	for _, f := range doc.Root.Fields {
		switch f.Key {
		case "registry":
			p.table(f, p.registry)
		case "namespace":
			p.table(f, p.namespace)
		case "forge":
			p.table(f, p.forge)
		case "market":
			p.table(f, p.market)
		case "origin":
			p.table(f, p.origin)
		case "signer":
			p.signers(f)
		case "hosts":
			p.table(f, p.hosts)
		case "run":
			p.table(f, p.runTable)
		case "model":
			p.table(f, p.model)
		case "mcp":
			p.table(f, p.mcp)
		default:
			p.unknown(f)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.c, nil
}

// A parser keeps the first error; what it reads after that is not used.
type parser struct {
	c   *Config
	err *diag.Error
}

func (p *parser) at(v *tomledit.Value) diag.Position {
	line, column := p.c.doc.Position(v.Offset)
	return diag.Position{File: p.c.file, Line: line, Column: column}
}

func (p *parser) fail(at *tomledit.Value, format string, args ...any) {
	if p.err == nil {
		p.err = diag.New(diag.Failed, "config_invalid", format, args...).At(p.at(at))
	}
}

func (p *parser) unknown(f tomledit.Field) {
	where := p.at(f.Value)
	p.c.Warnings = append(p.c.Warnings, diag.Finding{File: where.File, Line: where.Line, Column: where.Column,
		Rule: "unknown_key", Severity: diag.SeverityWarning, Message: "key " + tomledit.QuoteKey(f.Key) + " is not known and has no effect"})
}

func (p *parser) table(f tomledit.Field, each func(tomledit.Field)) {
	if f.Value.Kind != tomledit.Table {
		p.fail(f.Value, "%s is %s, not a table", f.Key, f.Value.Kind)
	}
	for _, f := range f.Value.Fields {
		each(f)
	}
}

// str is the string of f, which is one line of visible text.
func (p *parser) str(f tomledit.Field) string {
	switch {
	case f.Value.Kind != tomledit.String:
		p.fail(f.Value, "%s is %s, not a string", f.Key, f.Value.Kind)
	case diag.Printable(f.Value.Text) != f.Value.Text:
		p.fail(f.Value, "%s holds control or invisible characters", f.Key)
	}
	return f.Value.Text
}

func (p *parser) boolean(f tomledit.Field) bool {
	if f.Value.Kind != tomledit.Bool {
		p.fail(f.Value, "%s is %s, not true or false", f.Key, f.Value.Kind)
	}
	return f.Value.Text == "true"
}

func (p *parser) registry(entry tomledit.Field) {
	var r Registry
	p.name(entry, "registry")
	p.table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "url":
			r.URL = p.url(f, "https", "http")
		case "default":
			r.Default = p.boolean(f)
		case "log":
			if r.Log = p.str(f); strings.Count(r.Log, "+") < 2 {
				p.fail(f.Value, "log is not the key of a log, NAME+HASH+KEY")
			}
		default:
			p.unknown(f)
		}
	})
	if r.URL == "" {
		p.fail(entry.Value, "registry %s has no url", entry.Key)
	}
	if name, _, ok := p.c.DefaultRegistry(); ok && r.Default {
		p.fail(entry.Value, "registries %s and %s are both the default", name, entry.Key)
	}
	p.c.Registries[entry.Key] = r
}

func (p *parser) namespace(f tomledit.Field) {
	binding := p.str(f)
	kind, name, _ := strings.Cut(binding, ":")
	if r, err := ref.Parse(f.Key + "/" + kind + "/" + name); err != nil || r.Kind != ref.Name || r.Owner != f.Key || kind == "" || name == "" {
		p.fail(f.Value, "namespace %q is bound to %q, which is not registry:NAME, forge:NAME or market:NAME", f.Key, binding)
	}
	p.c.Namespaces[f.Key] = binding
}

func (p *parser) forge(entry tomledit.Field) {
	if r, err := ref.Parse(entry.Key + ":o/r"); err != nil || r.Kind != ref.Forge || r.Host != entry.Key {
		p.fail(entry.Value, "%q cannot be the name of a forge: names use letters, digits and hyphens", entry.Key)
	}
	base := ""
	p.table(entry, func(f tomledit.Field) {
		if f.Key == "url" {
			base = p.url(f, "https", "http", "ssh", "file")
		} else {
			p.unknown(f)
		}
	})
	if base == "" {
		p.fail(entry.Value, "forge %s has no url", entry.Key)
	}
	p.c.Forges[entry.Key] = base
}

func (p *parser) market(entry tomledit.Field) {
	text := ""
	p.name(entry, "market")
	p.table(entry, func(f tomledit.Field) {
		if f.Key != "ref" {
			p.unknown(f)
			return
		}
		text = p.str(f)
		if r, err := ref.Parse(text); err != nil {
			p.fail(f.Value, "%w", err)
		} else if r.Kind == ref.Market {
			p.fail(f.Value, "ref %q of market %s is a marketplace itself", text, entry.Key)
		}
	})
	if text == "" {
		p.fail(entry.Value, "market %s has no ref", entry.Key)
	}
	p.c.Markets[entry.Key] = text
}

func (p *parser) origin(entry tomledit.Field) {
	var o Origin
	u, err := url.Parse("https://" + entry.Key)
	if err != nil || u.Host != entry.Key || u.Hostname() == "" {
		p.fail(entry.Value, "origin %q is not a host or host:port", entry.Key)
	}
	p.table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "insecure":
			o.Insecure = p.boolean(f)
		case "ca":
			o.CA = p.str(f)
		case "token_env":
			o.TokenEnv = p.variable(f)
		case "token_command":
			o.TokenCommand = p.command(f)
		default:
			p.unknown(f)
		}
	})
	key := originKey(entry.Key)
	if _, twice := p.c.Origins[key]; twice {
		p.fail(entry.Value, "origin %s is configured twice", key)
	}
	p.c.Origins[key] = o
}

// signers reads [[signer]].
func (p *parser) signers(f tomledit.Field) {
	if f.Value.Kind != tomledit.Array {
		p.fail(f.Value, "signer is %s, not a list of tables: write [[signer]]", f.Value.Kind)
	}
	for i := range f.Value.Items {
		item := tomledit.Field{Key: "signer", Value: f.Value.Items[i]}
		p.signer(item)
	}
}

func (p *parser) signer(entry tomledit.Field) {
	var s Signer
	p.table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "namespace":
			s.Namespace = p.str(f)
		case "key":
			s.Key = p.str(f)
		case "issuer":
			s.Issuer = p.str(f)
		case "identity":
			s.Identity = p.str(f)
		case "trusted_root":
			s.TrustedRoot = p.str(f)
		case "required":
			s.Required = p.boolean(f)
		default:
			p.unknown(f)
		}
	})
	identity := s.Issuer != "" || s.Identity != "" || s.TrustedRoot != ""
	switch {
	case s.Namespace == "":
		p.fail(entry.Value, "the signer has no namespace; \"*\" is all")
	case s.Key == "" && !identity:
		p.fail(entry.Value, "the signer of %s has neither a key nor an issuer and identity", s.Namespace)
	case s.Key != "" && identity:
		p.fail(entry.Value, "the signer of %s has a key and an identity; write two of them", s.Namespace)
	case identity && (s.Issuer == "" || s.Identity == "" || s.TrustedRoot == ""):
		p.fail(entry.Value, "the signer of %s needs issuer, identity and trusted_root", s.Namespace)
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
		p.fail(f.Value, "%s is not a program and its arguments", f.Key)
	}
	return args
}

func (p *parser) hosts(f tomledit.Field) {
	if f.Key != "enabled" {
		p.unknown(f)
		return
	}
	p.c.Hosts = append([]string{}, p.strings(f)...)
}

// name checks a key that names a registry or marketplace.
func (p *parser) name(entry tomledit.Field, what string) {
	if r, err := ref.Parse("market:" + entry.Key + "/x"); err != nil || r.Host != entry.Key {
		p.fail(entry.Value, "%q cannot be the name of a %s: names use letters, digits, \".\", \"_\" and \"-\"", entry.Key, what)
	}
}

// url is an absolute URL without credentials, query and fragment; a final slash is dropped.
func (p *parser) url(f tomledit.Field, schemes ...string) string {
	s := p.str(f)
	u, err := url.Parse(s)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || (u.Host == "") != (u.Scheme == "file") || u.Opaque != "":
		p.fail(f.Value, "url %q is not an address that starts with %s://", s, strings.Join(schemes, ":// or "))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		p.fail(f.Value, "url %q holds a query or a fragment", s)
	case u.User != nil && (u.Scheme != "ssh" || strings.Contains(u.User.String(), ":")):
		p.fail(f.Value, "url holds a user or password; use token_env, token_command, netrc or a credential helper")
	}
	return strings.TrimRight(s, "/")
}

// forgeNames are the built-in and configured forges, sorted.
func (c *Config) forgeNames() []string {
	names := append(slices.Collect(maps.Keys(c.Forges)), "codeberg", "github", "gitlab")
	slices.Sort(names)
	return slices.Compact(names)
}
