package server

import (
	"fmt"
	"strconv"
	"strings"
)

// Template writes c as a commented registry.toml. What c does not say stands there as a comment
// with its default. ParseConfig reads it back as c.
func Template(c Config) []byte {
	t := new(template)
	t.b.WriteString("# A registry of skills. Start it with: skl registry serve --config registry.toml\n# Lines that begin with # show what holds without them.\n\n")
	t.text("name", c.Name, "Skills", "its name for people")
	t.text("url", c.URL, "https://skills.example", "as clients reach it; behind a proxy it must be set")
	t.text("addr", c.Addr, DefaultAddr, "to listen on; other addresses than loopback need TLS")
	t.text("data", c.Data, "/var/lib/skl-registry", "the directory of everything that is kept; back it up with: skl registry backup")
	t.text("policy", c.Policy, "policy.toml", "rules that every release has to hold, as in: skl policy init")
	t.text("replica", c.Replica, "skills-1", "name of this process among those that serve the same data; the host's by default, with its port if that is not 5080")
	t.span("drain", c.Drain, "5s", "how long before its end it says that it is not ready, where others serve the same data")
	t.list("reserved", c.Reserved, "names that nobody can publish, besides the built-in ones")

	t.table("db", "The metadata is in a file of the data directory, or in a PostgreSQL database of version 13 or later.")
	t.text("url", c.DB.URL, "postgres://skl:password@host/skl?sslmode=verify-full", "")
	t.text("url_file", c.DB.URLFile, "db.url", "a file that holds the url instead")
	t.flag("pooler", c.DB.Pooler, false, "the url is that of a pooler, which pools transactions")
	t.number("connections", c.DB.Connections, 8)

	t.table("blobs", "Blobs are in the data directory, or in a bucket of a store that speaks S3, with the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
	t.text("url", c.Blobs.URL, "s3://bucket/prefix?endpoint=https://s3.example&region=us-east-1", "it needs the metadata in PostgreSQL")
	t.number("cache", int(c.Blobs.Cache), 1024)
	t.flag("redirect", c.Blobs.Redirect, false, "clients read blobs of more than 1 MiB from the bucket, by addresses that anybody can use for 5 minutes")

	t.table("tls", "Either a certificate and its key, or a proxy in front that ends TLS and sets X-Forwarded-For.")
	t.text("cert", c.TLS.Cert, "tls.crt", "")
	t.text("key", c.TLS.Key, "tls.key", "")
	t.flag("proxy", c.TLS.Proxy, false, "")

	t.table("access", "")
	t.flag("anonymous", c.anonymous(), true, "namespaces that are public are read without a token")
	t.flag("open", c.Access.Open, false, "anybody reads, writes and deletes anything; for trying it out, on loopback only")
	t.list("hosts", c.Access.Hosts, "names besides that of url that are answered to on a loopback address")
	t.flag("metrics", c.Access.Metrics, false, "/metrics is shown to everybody, not only to this machine and to operators")

	t.table("log", "The transparency log. Its origin is fixed at the first start.")
	t.text("origin", c.Log.Origin, "skills.example", "")
	t.flag("public", c.Log.Public, false, "show its entries to everybody; they name the skills of private namespaces")

	t.table("limits", "Requests a minute, of one token, or of one address without token. 0 is the default, -1 no limit.")
	t.number("read", c.Limits.Read, DefaultLimits().Read)
	t.number("write", c.Limits.Write, DefaultLimits().Write)
	t.number("download", c.Limits.Download, DefaultLimits().Download)
	t.number("failures", c.Limits.Failures, DefaultLimits().Failures)
	t.b.WriteString("# Connections of one address at once; with proxy = true, requests under way of one address that the proxy names.\n")
	t.number("connections", c.Limits.Connections, DefaultLimits().Connections)

	t.table("scan", "Every release is audited. Content that is certain to be malicious is refused; a release with findings of this severity waits for a\n# decision. A program can judge it beside that: it gets the path of its zip archive as last\n# argument. Status 0 lets it pass, 3 holds it in quarantine, 4 refuses it; its first line of output says why.")
	t.text("hold", string(c.Scan.Hold), "high", "low, medium, high or none")
	t.list("command", c.Scan.Command, "")
	t.span("timeout", c.Scan.Timeout, "1m0s", "")

	t.table("publishers", "Issuers that may vouch for jobs of a CI that publish without a stored secret, besides GitHub and gitlab.com.")
	t.list("issuers", c.Publishers.Issuers, "")
	t.text("ca", c.Publishers.CA, "ca.pem", "of their certificates, if that is not one of the system's")

	t.table("signatures", "")
	t.text("trusted_root", c.Signatures.TrustedRoot, "trusted_root.json", "of the authorities whose keyless signatures count")

	t.table("gc", "")
	t.span("every", c.GC.Every, "1h0m0s", "")
	t.span("grace", c.GC.Grace, "24h0m0s", "younger content is never removed")
	return []byte(t.b.String())
}

// A template writes keys, as comments when they have no value.
type template struct{ b strings.Builder }

func (t *template) line(set bool, key, value, what string) {
	if !set {
		t.b.WriteString("# ")
	}
	fmt.Fprintf(&t.b, "%s = %s", key, value)
	if what != "" {
		t.b.WriteString("  # " + what)
	}
	t.b.WriteString("\n")
}

func (t *template) table(name, what string) {
	t.b.WriteString("\n")
	if what != "" {
		t.b.WriteString("# " + what + "\n")
	}
	t.b.WriteString("[" + name + "]\n")
}

func (t *template) text(key, value, otherwise, what string) {
	if value == "" {
		t.line(false, key, quote(otherwise), what)
		return
	}
	t.line(true, key, quote(value), what)
}

func (t *template) list(key string, values []string, what string) {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	t.line(len(values) > 0, key, "["+strings.Join(quoted, ", ")+"]", what)
}

func (t *template) flag(key string, value, otherwise bool, what string) {
	t.line(value != otherwise, key, strconv.FormatBool(value), what)
}

func (t *template) number(key string, value, otherwise int) {
	if value == 0 {
		t.line(false, key, strconv.Itoa(otherwise), "")
		return
	}
	t.line(true, key, strconv.Itoa(value), "")
}

func (t *template) span(key string, value Duration, otherwise, what string) {
	if value == 0 {
		t.line(false, key, quote(otherwise), what)
		return
	}
	t.line(true, key, quote(value.or(0).String()), what)
}

// quote is s as a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
