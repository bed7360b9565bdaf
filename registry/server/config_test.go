package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// full is a configuration that says everything.
func full() Config {
	yes := false
	c := Config{Name: `Acme "Skills"`, URL: "https://skills.example", Addr: "127.0.0.1:8443", Data: "/var/lib/skl", Reserved: []string{"acme-internal", "x"}}
	c.TLS.Cert, c.TLS.Key = "/etc/skl/tls.crt", "/etc/skl/tls.key"
	c.Access.Anonymous, c.Access.Metrics = &yes, true
	c.Log.Origin, c.Log.Public = "log.example", true
	c.Limits = Limits{Read: 100, Write: -1, Download: 7, Failures: 3}
	c.Scan.Command, c.Scan.Timeout = []string{"/usr/bin/scan", `C:\x "y"`}, Duration(90*time.Second)
	c.Signatures.TrustedRoot = "/etc/skl/root.json"
	c.GC.Every, c.GC.Grace = Duration(10*time.Minute), Duration(48*time.Hour)
	return c
}

// A configuration written by Template is read back by ParseConfig as it was.
func TestTemplateRoundTrip(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the paths here are not absolute on Windows")
	}
	for what, c := range map[string]Config{"empty": {}, "full": full(), "proxy": func() (c Config) { c.TLS.Proxy, c.Addr = true, ":80"; return }()} {
		text := Template(c)
		got, err := ParseConfig(text, "/etc/skl/registry.toml")
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v\n%s", what, err, got, c, text)
		}
	}
	// Its comments are what holds without them: taking the sign away gives a file that is read.
	text := string(Template(Config{}))
	for _, key := range []string{"addr", "read", "grace", "anonymous"} {
		if _, err := ParseConfig([]byte(strings.Replace(text, "# "+key+" =", key+" =", 1)), "registry.toml"); err != nil {
			t.Errorf("with %s: %v", key, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct{ what, text, want string }{
		{"unknown key", "name = \"x\"\nnmae = \"y\"\n", "registry.toml:2:1: there is no key nmae"},
		{"unknown key of a table", "[tls]\ncertificate = \"y\"\n", "registry.toml:2:1: there is no key tls.certificate"},
		{"no TOML", "name = \n", "registry.toml:1:"},
		{"another kind", "name = 3\n", "registry.toml:1:"},
		{"length of time", "[gc]\nevery = \"soon\"\n", "registry.toml"},
		{"negative time", "[gc]\nevery = \"-1h\"\n", "registry.toml"},
		{"URL with a path", `url = "https://x.example/skills"`, "registry.toml: url has no path"},
		{"two URLs", `url = "https://a.example,https://b.example"`, "registry.toml: url is one address"},
		{"URL with a user", `url = "https://u:p@x.example"`, "registry.toml: url is what clients are told"},
		{"address without port", `addr = "127.0.0.1"`, "registry.toml: addr is an address and a port"},
		{"half a certificate", "[tls]\ncert = \"x\"\n", "registry.toml: tls needs both"},
		{"proxy and certificate", "[tls]\ncert = \"x\"\nkey = \"y\"\nproxy = true\n", "registry.toml: tls is either"},
		{"open to all", "addr = \":80\"\n[tls]\nproxy = true\n[access]\nopen = true\n", "registry.toml: an open registry"},
		{"plain to all", `addr = ":80"`, "registry.toml: listening on :80 needs TLS"},
		{"limit", "[limits]\nread = -2\n", "registry.toml: limits.read"},
		{"too large", "# " + strings.Repeat("x", MaxConfig), "registry.toml: the file is larger"},
	} {
		_, err := ParseConfig([]byte(tt.text), "registry.toml")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s…", tt.what, err, tt.want)
		}
		var e *diag.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %T is not for users", tt.what, err)
		}
	}
}

// Paths are relative to the file.
func TestConfigPaths(t *testing.T) {
	dir := t.TempDir()
	c, err := ParseConfig([]byte("data = \"data\"\n[signatures]\ntrusted_root = \"root.json\"\n"), filepath.Join(dir, "registry.toml"))
	if err != nil || c.Data != filepath.Join(dir, "data") || c.Signatures.TrustedRoot != filepath.Join(dir, "root.json") {
		t.Errorf("%v %+v", err, c)
	}
}

// The file of the container image is one.
func TestDeployedConfig(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../deploy/registry.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := ParseConfig(text, "/etc/skl/registry.toml"); err != nil || !c.TLS.Proxy {
		t.Errorf("%v %+v", err, c)
	}
}

// Every configuration that is read can be written and is then the same.
func FuzzConfig(f *testing.F) {
	f.Add(string(Template(full())))
	f.Add(string(Template(Config{})))
	f.Add("[gc]\nevery = \"1h\"\n[limits]\nread = 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig([]byte(text), "/etc/registry.toml")
		if err != nil {
			if !reflect.DeepEqual(c, Config{}) {
				t.Errorf("an error and %+v", c)
			}
			return
		}
		again, err := ParseConfig(Template(c), "/etc/registry.toml")
		normal(&c)
		normal(&again)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%v\n%+v\nwant\n%+v", err, again, c)
		}
	})
}

// normal makes equal what means the same.
func normal(c *Config) {
	if c.Access.Anonymous != nil && *c.Access.Anonymous {
		c.Access.Anonymous = nil
	}
	if len(c.Reserved) == 0 {
		c.Reserved = nil
	}
	if len(c.Scan.Command) == 0 {
		c.Scan.Command = nil
	}
}

// A scanner's status decides, and one that fails lets nothing pass.
func TestScanCommand(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the scanners here are shell scripts")
	}
	for _, tt := range []struct {
		what, script string
		want         registry.Verdict
		code         string
	}{
		{"passes", `exit 0`, registry.Verdict{}, ""},
		{"quarantines", `echo "looks odd"; echo more; exit 3`, registry.Verdict{Quarantine: true, Reason: "looks odd"}, ""},
		{"refuses", `echo malware; exit 4`, registry.Verdict{Refuse: true, Reason: "malware"}, ""},
		{"sees the archive and the name", `test -s "$1" && test "$SKL_SCAN_NAME@$SKL_SCAN_VERSION" = acme/pdf@1.0.0`, registry.Verdict{}, ""},
		{"fails", `exit 1`, registry.Verdict{}, "unavailable"},
		{"is killed", `kill -9 $$`, registry.Verdict{}, "unavailable"},
		{"takes too long", `sleep 10`, registry.Verdict{}, "unavailable"},
		{"says a lot", `head -c 1000000 /dev/zero; exit 4`, registry.Verdict{Refuse: true}, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			dir := t.TempDir()
			limit := time.Minute
			if tt.what == "takes too long" {
				limit = 100 * time.Millisecond
			}
			scan := ScanCommand([]string{"/bin/sh", "-c", tt.script, "scan"}, limit, dir)
			got, err := scan(t.Context(), registry.Candidate{Release: meta.Release{Namespace: "acme", Name: "pdf", Version: "1.0.0"}, Zip: []byte("zip")})
			if got.Refuse != tt.want.Refuse || got.Quarantine != tt.want.Quarantine || tt.want.Reason != "" && got.Reason != tt.want.Reason {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("%v, want %q", err, tt.code)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A release that the scanner holds back or refuses is not seen by readers.
func TestScanDecides(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the scanner here is a shell script")
	}
	s := newSite(t, func(c *Config) {
		c.Scan.Command = []string{"/bin/sh", "-c", `case $SKL_SCAN_NAME in */bad) echo malware; exit 4;; */odd) echo strange; exit 3;; esac`, "scan"}
	})
	s.namespace("acme", true)
	s.publish(s.admin, "acme/good@1.0.0")
	if v := s.publish(s.admin, "acme/odd@1.0.0"); v.State != "quarantined" || v.Reason != "strange" || v.Log != nil {
		t.Errorf("%+v", v)
	}
	if r := s.do(s.admin, "PUT", "/api/v1/skills/acme/bad/versions/1.0.0", archive(t, "bad")); r.status != 403 || !bytes.Contains(r.body, []byte("malware")) {
		t.Errorf("%d %s", r.status, r.body)
	}
	reader := s.token("acme", "reader")
	for name, want := range map[string]int{"good": 200, "odd": 404, "bad": 404} {
		if r := s.do(reader, "GET", "/api/v1/skills/acme/"+name+"/versions/1.0.0", nil); r.status != want {
			t.Errorf("%s: %d, want %d", name, r.status, want)
		}
	}
}
