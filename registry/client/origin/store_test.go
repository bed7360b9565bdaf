package origin

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestLookup(t *testing.T) {
	netrc := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(netrc, []byte("machine git.example login me password pw\ndefault login d password d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := &Store{
		Getenv: env("SKL_TOKEN_GIT_EXAMPLE", "a", "SKL_TOKEN_GIT_EXAMPLE___8443", "b", "SKL_TOKEN", "c", "CORP", "d",
			"GH_TOKEN", "e", "CI_JOB_TOKEN", "f", "CI_SERVER_HOST", "gitlab.example"),
		Registry: "https://skills.example", TokenEnv: map[string]string{"corp.example": "CORP", "unset.example": "UNSET"},
		GitHubHosts: []string{"ghe.example", "127.0.0.1:8080"}, Netrc: netrc,
		Docker: func(_ context.Context, host string) (Credential, error) {
			if host == "oci.example" || host == "git.example:7443" || host == "git.example:8443" {
				return Credential{"docker", "g"}, nil
			}
			return Credential{}, nil
		},
	}
	tests := []struct {
		origin, source string
		want           Credential
	}{
		{"https://git.example", "SKL_TOKEN_GIT_EXAMPLE", Credential{"", "a"}},
		{"https://git.example:8443", "SKL_TOKEN_GIT_EXAMPLE___8443", Credential{"", "b"}},
		{"https://git.example:9443", "netrc", Credential{"me", "pw"}},
		{"https://git.example:7443", "docker credentials", Credential{"docker", "g"}},
		{"https://oci.example", "docker credentials", Credential{"docker", "g"}},
		{"https://skills.example", "SKL_TOKEN", Credential{"", "c"}},
		{"https://skills.example:8443", "", Credential{}},
		{"https://corp.example", "CORP", Credential{"", "d"}},
		{"https://corp.example:444", "", Credential{}},
		{"https://github.com", "GH_TOKEN", Credential{tokenUser, "e"}},
		{"https://ghe.example", "GH_TOKEN", Credential{tokenUser, "e"}},
		{"http://127.0.0.1:8080", "GH_TOKEN", Credential{tokenUser, "e"}},
		{"https://github.com:8443", "", Credential{}},
		{"https://github.com.evil.example", "", Credential{}},
		{"https://gist.github.com", "", Credential{}},
		{"https://gitlab.example", "CI_JOB_TOKEN", Credential{"gitlab-ci-token", "f"}},
		{"https://gitlab.example:8443", "", Credential{}},
		{"https://other.example", "", Credential{}},
	}
	for _, tt := range tests {
		got, source, err := all.Lookup(t.Context(), tt.origin)
		if err != nil || got.User != tt.want.User || got.Secret != tt.want.Secret || source != tt.source {
			t.Errorf("%s: user %q from %q, %v; want user %q from %q", tt.origin, got.User, source, err, tt.want.User, tt.source)
		}
		if got, _, err := (&Store{}).Lookup(t.Context(), tt.origin); got != (Credential{}) || err != nil {
			t.Errorf("%s: an empty store has %v, %v", tt.origin, got, err)
		}
	}
}

// TestVariableName holds that no two hosts share a variable, also those that did in earlier versions.
func TestVariableName(t *testing.T) {
	for origin, want := range map[string]string{
		"https://git.example": "GIT_EXAMPLE", "https://git.example:443": "GIT_EXAMPLE", "https://my-git.example:8443": "MY__GIT_EXAMPLE___8443",
		"https://xn--bcher-kva.example": "XN____BCHER__KVA_EXAMPLE", "http://127.0.0.1:5080": "127_0_0_1___5080", "http://localhost": "LOCALHOST___80",
		"https://a_b": "A_____5FB", "https://[::1]": "_____5B_____3A_____3A1_____5D",
	} {
		u, err := url.Parse(origin)
		if err != nil {
			t.Fatal(err)
		}
		if got := VariableName(u); got != "SKL_TOKEN_"+want {
			t.Errorf("%s: %s, want SKL_TOKEN_%s", origin, got, want)
		}
	}
	// Every host of up to six bytes over an alphabet that holds what the spelling uses.
	seen := map[string]string{}
	var all func(string)
	all = func(host string) {
		name := spelled(host)
		if other, ok := seen[name]; ok {
			t.Fatalf("%q and %q both have %s", host, other, name)
		}
		seen[name] = host
		if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Fatalf("%q: %s is not a name of a variable", host, name)
		}
		if len(host) == 6 {
			return
		}
		for _, c := range "a2d.-:_" {
			all(host + string(c))
		}
	}
	all("")
}

func FuzzVariableName(f *testing.F) {
	f.Add("a-b.c", "a.b-c")
	f.Add("a..2eb", "a-.b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a, b = strings.ToLower(a), strings.ToLower(b); a != b && spelled(a) == spelled(b) {
			t.Errorf("%q and %q both have %s", a, b, spelled(a))
		}
	})
}

// TestNeighbour holds that a token does not go to a host that was spelled like its own before.
func TestNeighbour(t *testing.T) {
	set := env("SKL_TOKEN_CORP_GIT_EXAMPLE", "s3cret", "SKL_TOKEN_PORT_EXAMPLE_8443", "s3cret")
	for _, origin := range []string{"https://corp-git.example", "https://corp_git.example", "https://corp.git-example", "https://corp.git:example", "https://port.example:8443"} {
		if u, err := url.Parse(origin); err != nil {
			continue
		} else if c, from, err := (&Store{Getenv: set}).Lookup(t.Context(), origin); c != (Credential{}) || err != nil {
			t.Errorf("%s gets a token from %q, %v", origin, from, err)
		} else if (&Store{Getenv: set}).Formerly(u) == "" {
			t.Errorf("%s: nothing says that its variable is spelled differently now", origin)
		}
	}
	c, _, err := (&Store{Getenv: set, Hosts: []string{"corp.git.example"}}).Lookup(t.Context(), "https://corp.git.example")
	if err != nil || c.Secret != "s3cret" {
		t.Errorf("the host whose variable it is: %v", err)
	}
	// The configuration knows corp-git.example, whose variable it was before.
	c, _, err = (&Store{Getenv: set, Hosts: []string{"corp-git.example"}}).Lookup(t.Context(), "https://corp.git.example")
	if e, ok := errors.AsType[*diag.Error](err); !ok || c != (Credential{}) || !strings.Contains(strings.Join(e.Hints, " "), "SKL_TOKEN_CORP__GIT_EXAMPLE") {
		t.Errorf("the neighbour of a configured host: %v, %v", c, err)
	}
}

// TestInTheClear holds that plain http carries no credential but what config.toml names for that host.
func TestInTheClear(t *testing.T) {
	netrc := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(netrc, []byte("machine netrc.example login me password s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Store{
		Getenv: env("SKL_TOKEN_HOST_EXAMPLE___80", "s3cret", "SKL_TOKEN_127_0_0_1___80", "here", "SKL_TOKEN", "s3cret", "GH_TOKEN", "s3cret", "CI_JOB_TOKEN", "s3cret",
			"CI_SERVER_HOST", "gitlab.example", "CORP", "named", "SKL_TOKEN_CORP_EXAMPLE___80", "s3cret"),
		Registry: "http://skills.example", GitHubHosts: []string{"ghe.example"}, Netrc: netrc, TokenEnv: map[string]string{"corp.example": "CORP"},
		Docker: func(_ context.Context, host string) (Credential, error) {
			if host == "docker.example" {
				return Credential{"docker", "s3cret"}, nil
			}
			return Credential{}, nil
		},
	}
	for _, host := range []string{"host.example", "skills.example", "ghe.example", "gitlab.example", "netrc.example", "docker.example"} {
		c, _, err := s.Lookup(t.Context(), "http://"+host)
		if c != (Credential{}) || !errors.Is(err, diag.Code("credential")) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("http://%s: %v, %v", host, c, err)
		}
	}
	for origin, want := range map[string]string{"http://corp.example": "named", "http://127.0.0.1": "here", "http://nobody.example": ""} {
		if c, _, err := s.Lookup(t.Context(), origin); err != nil || c.Secret != want {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

func TestLookupFails(t *testing.T) {
	tests := []struct {
		name, origin string
		s            Store
	}{
		{"no origin", "git.example", Store{}},
		{"a path", "https://git.example/x", Store{}},
		{"a line break", "https://git.example\nhost=evil.example", Store{}},
		{"a token that breaks out of its header", "https://a.example", Store{Getenv: env("SKL_TOKEN_A_EXAMPLE", "s3cret\nX: y")}},
		{"a variable that is not set", "https://a.example", Store{TokenEnv: map[string]string{"a.example": "UNSET"}}},
		{"a program that is not there", "https://a.example", Store{TokenCommand: map[string][]string{"a.example": {"./absent", "s3cret"}}}},
		{"a netrc that is a directory", "https://a.example", Store{Netrc: t.TempDir()}},
	}
	for _, tt := range tests {
		got, source, err := tt.s.Lookup(t.Context(), tt.origin)
		if got != (Credential{}) || source != "" || !errors.Is(err, diag.Code("credential")) && !errors.Is(err, diag.Code("invalid_url")) {
			t.Errorf("%s: %v %q %v", tt.name, got, source, err)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v shows the secret", tt.name, err)
		}
	}
}

func script(t *testing.T, name, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell script")
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTokenCommand(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	command := script(t, "token", `echo "$1" >> "`+ran+`"; [ "$1" = fail ] && { echo s3cret; exit 3; }; echo "t-$1"`)
	s := &Store{TokenCommand: map[string][]string{"a.example": {command, "a b; exit"}, "b.example": {command, "fail"}}}
	if c, source, err := s.Lookup(t.Context(), "https://a.example"); err == nil || c != (Credential{}) || source != "" {
		t.Errorf("a token with spaces: %v, %v", c, err)
	}
	s.TokenCommand["a.example"][1] = "x;y"
	if c, source, err := s.Lookup(t.Context(), "https://a.example"); err != nil || c.Secret != "t-x;y" || source != "token_command" {
		t.Errorf("%q from %q, %v", c.Secret, source, err)
	}
	if _, _, err := s.Lookup(t.Context(), "https://b.example"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a command that fails: %v", err)
	}
	before, _ := os.ReadFile(ran)
	s.Lookup(t.Context(), "https://c.example")
	if after, _ := os.ReadFile(ran); string(after) != string(before) {
		t.Error("a command was run for another origin")
	}
}

// Helpers run only when the user's git names one, and never because a repository does.
func TestGitHelper(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("SKL_TEST_REQUIRE") != "" {
			t.Fatal("git is required")
		}
		t.Skip("git is not installed")
	}
	helper := script(t, "helper", `cat > "$HOME/asked"; [ "$1" = get ] && grep -q host=git.example "$HOME/asked" && printf 'username=me\npassword=pw\n'`)
	home, repo := t.TempDir(), t.TempDir()
	s := &Store{Git: git, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + filepath.Join(repo, ".git")}}
	if out, err := exec.Command(git, "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	if out, err := exec.Command(git, "-C", repo, "config", "credential.helper", helper).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	t.Chdir(repo)
	if c, _, err := s.Lookup(t.Context(), "https://git.example"); c != (Credential{}) || err != nil {
		t.Errorf("without a helper of the user: %v, %v", c, err)
	}
	if _, err := os.Stat(filepath.Join(home, "asked")); err == nil {
		t.Error("the repository's helper was run")
	}
	config := "[credential]\n\thelper = \"" + helper + "\"\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, source, err := s.Lookup(t.Context(), "https://git.example"); err != nil || c.User != "me" || c.Secret != "pw" || source != "git credential helper" {
		t.Errorf("user %q from %q, %v", c.User, source, err)
	}
	if c, _, err := s.Lookup(t.Context(), "https://other.example"); c != (Credential{}) || err != nil {
		t.Errorf("a host the helper does not know: %v, %v", c, err)
	}
}

func TestNetrc(t *testing.T) {
	const text = `# comment
machine one.example login a password b account c
machine two.example
	login "a b"
	password "q\"x"
macdef init
machine macro.example login evil password evil

machine three.example:8443 login p password q
machine empty.example login only
default login d password d
`
	for origin, want := range map[string]Credential{
		"https://one.example": {"a", "b"}, "https://ONE.example:444": {"a", "b"}, "http://one.example": {"a", "b"}, "http://one.example:81": {},
		"https://two.example": {"a b", `q"x`}, "https://macro.example": {}, "https://three.example": {}, "https://three.example:8443": {"p", "q"},
		"http://three.example:8443": {"p", "q"}, "https://empty.example": {}, "https://default": {}, "https://x.one.example": {},
	} {
		u, _ := url.Parse(origin)
		if got := netrcFor([]byte(text), u); got.User != want.User || got.Secret != want.Secret {
			t.Errorf("%s: user %q, want %q", origin, got.User, want.User)
		}
	}
}

// An entry that is appended is found, unless the text before leaves something open.
func FuzzNetrc(f *testing.F) {
	f.Add("machine a login b password c\n")
	f.Add("macdef x\n\n# y\ndefault \"a\\")
	f.Fuzz(func(t *testing.T, text string) {
		u := &url.URL{Scheme: "https", Host: "only-here.example"}
		if strings.Contains(strings.ToLower(text), "only-here") {
			return
		}
		if c := netrcFor([]byte(text), u); c != (Credential{}) {
			t.Fatalf("%q has a credential for a host it does not name", text)
		}
		text += "\n\n\nmachine only-here.example login u password p\n"
		if c := netrcFor([]byte(text), u); c.User != "u" || c.Secret != "p" {
			t.Fatalf("%q: the last entry is not found", text)
		}
	})
}
