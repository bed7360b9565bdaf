package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// MaxConfig is the size of the largest registry.toml, in bytes.
const MaxConfig = 1 << 20

// A Config is registry.toml. The zero Config with a data directory is a registry on
// loopback. Relative paths are of the directory of the file.
type Config struct {
	Name     string   `toml:"name"` // what people call the registry
	URL      string   `toml:"url"`  // as clients reach it; "" takes what a request says
	Addr     string   `toml:"addr"` // to listen on; "" is DefaultAddr
	Data     string   `toml:"data"` // directory of everything that is kept
	Reserved []string `toml:"reserved"`
	Replica  string   `toml:"replica"` // name of this process among those that serve the same data; "" is the host's, with another port than the default
	// Drain is how long before its end it says that it is not ready, where others serve the same data. 0 means 5 s.
	Drain Duration `toml:"drain"`

	DB    DB    `toml:"db"`
	Blobs Blobs `toml:"blobs"`

	TLS struct {
		Cert  string `toml:"cert"`  // PEM file, with the chain
		Key   string `toml:"key"`   // PEM file
		Proxy bool   `toml:"proxy"` // somebody in front ends TLS and sets X-Forwarded-For
	} `toml:"tls"`

	Access struct {
		Anonymous *bool `toml:"anonymous"` // public namespaces are read without a token; nil means yes
		Open      bool  `toml:"open"`      // anybody reads, writes and deletes anything; on loopback only
		Metrics   bool  `toml:"metrics"`   // /metrics is shown to everybody; else to loopback and operators
		// Hosts are the names, "host" or "host:port", that are answered to on loopback, besides localhost, addresses of
		// loopback, and the host of URL.
		Hosts []string `toml:"hosts"`
	} `toml:"access"`

	Log struct {
		Origin string `toml:"origin"` // name of the transparency log; "" is made from url at first start
		Public bool   `toml:"public"` // its entries are shown to everybody; they name private skills
	} `toml:"log"`

	Limits Limits `toml:"limits"`

	// Policy is a policy.toml whose rules every release has to hold: see package policy. Conditions about its age and about other
	// copies are refused: nobody can judge them here.
	Policy string `toml:"policy"`

	Scan struct {
		Hold    content.Severity `toml:"hold"`    // findings of the audit from which on a release waits: low, medium, high, none; "" is high
		Command []string         `toml:"command"` // beside the audit: see ScanCommand
		Timeout Duration         `toml:"timeout"` // 0 means 1 min
	} `toml:"scan"`

	Publishers struct {
		Issuers []string `toml:"issuers"` // of identity tokens, besides GitHub and GitLab: URLs
		CA      string   `toml:"ca"`      // PEM file of an authority that theirs and the system's certificates may be of
	} `toml:"publishers"`

	Signatures struct {
		TrustedRoot string `toml:"trusted_root"` // JSON file; needed for keyless signatures
	} `toml:"signatures"`

	GC struct {
		Every Duration `toml:"every"` // 0 means 1 h
		Grace Duration `toml:"grace"` // what is younger is never removed; 0 means 24 h
	} `toml:"gc"`
}

// A DB says where the metadata is: in a PostgreSQL database, or by default in a file of the data directory.
type DB struct {
	URL         string `toml:"url"`         // postgres://user:password@host/database
	URLFile     string `toml:"url_file"`    // a file that holds URL, which is a secret
	Pooler      bool   `toml:"pooler"`      // it is the address of a pooler, such as PgBouncer, which pools transactions
	Connections int    `toml:"connections"` // for reading; 0 means twice the processors, 4 to 16
}

// address is the URL, or what its file holds.
func (d DB) address() (string, error) {
	if d.URLFile == "" {
		return d.URL, nil
	}
	text, err := os.ReadFile(d.URLFile)
	if err != nil {
		return "", invalid("", 0, 0, "db.url_file cannot be read: %w", err)
	}
	url := strings.TrimSpace(string(text))
	if !isPostgres(url) {
		return "", invalid(d.URLFile, 0, 0, "db.url_file holds no address that begins with postgres://")
	}
	return url, nil
}

// isPostgres does not look further: the driver does, and its errors hold no password.
func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// Blobs says where blobs are: in a bucket, or by default in the data directory.
type Blobs struct {
	URL   string `toml:"url"`   // s3://bucket/prefix?endpoint=URL&region=NAME&path_style=BOOL
	Cache int64  `toml:"cache"` // MiB of them that are kept in the data directory as well; 0 means 1024
	// Redirect has OCI clients read blobs of more than 1 MiB from the bucket, by addresses that everybody can use for 5 minutes.
	Redirect bool `toml:"redirect"`
}

// Limits are requests a minute, by token, or by address without one. 0 takes the default, -1 is without limit.
type Limits struct {
	Read     int `toml:"read"`
	Write    int `toml:"write"`
	Download int `toml:"download"`
	Failures int `toml:"failures"` // refused credentials of one address
	// Connections is how many one address has at once: behind a proxy, requests under way of one address that it names.
	Connections int `toml:"connections"`
}

// DefaultAddr is where a registry listens that was not told where.
const DefaultAddr = "127.0.0.1:5080"

// A Duration is written as "90s", "1h" or "720h".
type Duration time.Duration

// UnmarshalText accepts what time.ParseDuration does, if it is not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("invalid duration %q: use 90s, 15m or 24h", text)
	}
	*d = Duration(v)
	return nil
}

// or is d, or what stands for 0.
func (d Duration) or(otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}

// ParseConfig reads registry.toml. Unknown keys are errors, as are values that
// cannot be served; file names it in errors and is what relative paths are relative to.
// Its errors are *diag.Error of class Failed and code config_invalid, with their place.
func ParseConfig(text []byte, file string) (Config, error) {
	if len(text) > MaxConfig {
		return Config{}, invalid(file, 0, 0, "the file is larger than %d bytes", MaxConfig)
	}
	var c Config
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, place(err, file)
	}
	dir := filepath.Dir(file)
	for _, p := range []*string{&c.Data, &c.TLS.Cert, &c.TLS.Key, &c.Signatures.TrustedRoot, &c.Policy, &c.Publishers.CA, &c.DB.URLFile} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	if err := c.Check(); err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok {
			return Config{}, e.At(diag.Position{File: file})
		}
		return Config{}, err
	}
	return c, nil
}

// place turns an error of the decoder into one with line and column.
func place(err error, file string) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		first := strict.Errors[0]
		line, column := first.Position()
		key := strings.Join(first.Key(), ".")
		return invalid(file, line, column, "there is no key %s", key).Meant(spell.Nearest(key, configKeys(reflect.TypeFor[Config](), ""), 3)...)
	}
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := at.Position()
		return invalid(file, line, column, "%s", strings.TrimPrefix(at.Error(), "toml: "))
	}
	return invalid(file, 0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
}

// configKeys are the keys of registry.toml, those of tables with the table's name and a dot before them.
func configKeys(t reflect.Type, prefix string) (keys []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if name == "" || name == "-" {
			continue
		}
		keys = append(keys, prefix+name)
		kind := f.Type
		if kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct {
			keys = append(keys, configKeys(kind, prefix+name+".")...)
		}
	}
	return keys
}

func invalid(file string, line, column int, format string, args ...any) *diag.Error {
	e := diag.New(diag.Failed, "config_invalid", format, args...)
	if file != "" {
		e.At(diag.Position{File: file, Line: line, Column: column})
	}
	return e
}

// Check refuses what cannot be served, or must not.
func (c Config) Check() error {
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if strings.Contains(c.URL, "@") {
			return invalid("", 0, 0, "url is what clients are told, so it holds no user and no password")
		}
		if strings.ContainsAny(c.URL, ", ") {
			return invalid("", 0, 0, "url is one address; other names that clients use are access.hosts")
		}
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return invalid("", 0, 0, "url is http:// or https:// and a host, not %q", diag.Printable(c.URL))
		}
		if path.Clean("/"+u.Path) != "/" {
			return invalid("", 0, 0, "url has no path: OCI clients find a registry at the root of a host only")
		}
	}
	switch {
	case c.DB.URL != "" && c.DB.URLFile != "":
		return invalid("", 0, 0, "db takes either url or url_file")
	case c.DB.URL != "" && !isPostgres(c.DB.URL):
		return invalid("", 0, 0, "db.url begins with postgres://")
	case c.DB.Connections < 0:
		return invalid("", 0, 0, "db.connections is a number, or 0 for the default")
	case c.Blobs.Cache < 0 || c.Blobs.Cache > 1<<30:
		return invalid("", 0, 0, "blobs.cache is a number of MiB, or 0 for the default")
	}
	if _, _, err := net.SplitHostPort(c.addr()); err != nil {
		return invalid("", 0, 0, "addr is an address and a port, as in %q", DefaultAddr)
	}
	for _, name := range c.Access.Hosts {
		if u, err := url.Parse("http://" + name); err != nil || u.Host != name || u.Hostname() == "" || strings.Contains(name, "*") {
			return invalid("", 0, 0, "access.hosts are names, or names and ports, not %q", diag.Printable(name))
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return invalid("", 0, 0, "tls needs both cert and key")
	}
	if c.TLS.Cert != "" && c.TLS.Proxy {
		return invalid("", 0, 0, "tls is either cert and key, or proxy")
	}
	if err := c.mayListen(c.addr()); err != nil {
		return err
	}
	for name, n := range map[string]int{"read": c.Limits.Read, "write": c.Limits.Write, "download": c.Limits.Download, "failures": c.Limits.Failures} {
		if n < -1 {
			return invalid("", 0, 0, "limits.%s is a number of requests a minute, or -1 for no limit", name)
		}
	}
	if !slices.Contains([]content.Severity{"", content.Low, content.Medium, content.High, registry.HoldNone}, c.Scan.Hold) {
		return invalid("", 0, 0, "scan.hold is low, medium, high or none, not %q", diag.Printable(string(c.Scan.Hold)))
	}
	for _, issuer := range c.Publishers.Issuers {
		u, err := url.Parse(issuer)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !origin.Loopback(u.Host)) {
			return invalid("", 0, 0, "publishers.issuers are https:// addresses, not %q", diag.Printable(issuer))
		}
	}
	if c.Limits.Connections < -1 {
		return invalid("", 0, 0, "limits.connections is how many one address has at once, or -1 for no limit")
	}
	return nil
}

// replica is the name of this process to others: the host's, and its port where another than the default tells processes of one host apart.
func (c Config) replica() string {
	if c.Replica != "" {
		return c.Replica
	}
	name, _ := os.Hostname() // "" is a name as well: each has a random part
	_, usual, _ := net.SplitHostPort(DefaultAddr)
	if _, port, err := net.SplitHostPort(c.addr()); err == nil && port != usual && port != "0" {
		return net.JoinHostPort(name, port)
	}
	return name
}

func (c Config) addr() string {
	if c.Addr == "" {
		return DefaultAddr
	}
	return c.Addr
}

// names are what the server may be called on loopback besides the addresses of loopback.
func (c Config) names() []string {
	names := slices.Clone(c.Access.Hosts)
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		names = append(names, u.Host)
		if u.Port() == "" {
			names = append(names, u.Hostname())
		}
	}
	return names
}

// anonymous reports whether public namespaces are read without a token.
func (c Config) anonymous() bool { return c.Access.Anonymous == nil || *c.Access.Anonymous }

// mayListen refuses an address that others reach, if what goes over it is not encrypted
// or anybody may do anything.
func (c Config) mayListen(addr string) error {
	if origin.Loopback(addr) {
		return nil
	}
	if c.Access.Open {
		return diag.New(diag.Refused, "open_not_local", "an open registry listens on a loopback address only, not on %s", addr).Hint("skl registry serve --open --addr %s", DefaultAddr)
	}
	if c.TLS.Cert == "" && !c.TLS.Proxy {
		return diag.New(diag.Refused, "tls_needed", "listening on %s needs TLS: tokens would cross the network in the clear", addr).
			Hint("set cert and key in [tls], or proxy = true if something in front ends TLS")
	}
	return nil
}
