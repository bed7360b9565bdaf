package origin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// A Store finds the credential of an origin in the places where people keep them.
// The zero Store has none. A secret is never in an error or in what String methods print.
type Store struct {
	Getenv       func(string) string // nil means an empty environment
	Registry     string              // the origin that SKL_TOKEN is for; "" means that it is for none
	Hosts        []string            // "host" or "host:port" that the configuration names
	TokenEnv     map[string]string   // "host" or "host:port" → variable, from config.toml
	TokenCommand map[string][]string // "host" or "host:port" → program and arguments that print a token
	GitHubHosts  []string            // "host" or "host:port" of GitHub forges besides github.com
	// Own looks for what skl login keeps for "host" or "host:port", which the logins of other programs leave alone.
	// Nil means not to.
	Own func(ctx context.Context, host string) (Credential, error)
	// Docker looks for "host" or "host:port" where docker, crane and oras keep credentials. Nil means not to.
	Docker  func(ctx context.Context, host string) (Credential, error)
	Netrc   string   // path of a netrc file; "" means none
	Git     string   // path of git, to ask its credential helpers; "" means not to
	Environ []string // environment of the programs that are run
}

// Lookup finds the credential of origin, "https://host[:port]", and says where it
// was: "SKL_TOKEN_GIT_EXAMPLE", "netrc". The zero Credential means that there is none.
// The places are asked in the order of the methods below; the first that has one decides,
// and one that fails is an error with code credential, never passed over.
//
// A credential is for https or a loopback address. Over plain http elsewhere only what
// config.toml names for that very host is sent; any other that is found is an error.
func (s *Store) Lookup(ctx context.Context, origin string) (c Credential, source string, err error) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" || Of(u) != origin || strings.ContainsAny(u.Host, " \t\r\n\x00") {
		return Credential{}, "", diag.New(diag.Failed, "invalid_url", "an origin is https://host[:port]")
	}
	places := []func(context.Context, *url.URL) (Credential, string, error){
		s.variable, s.configured, s.github, s.gitlabJob, s.own, s.docker, s.netrc, s.helper,
	}
	private := Private(u)
	if !private && (s.TokenEnv[Host(u)] != "" || len(s.TokenCommand[Host(u)]) > 0) {
		places, private = places[1:2], true
	}
	for _, ask := range places {
		c, source, err := ask(ctx, u)
		if err == nil && c != (Credential{}) {
			err = c.check(source)
		}
		if err == nil && c != (Credential{}) && !private {
			err = failed("the credential from %s is not sent to %s: plain http shows it to everybody on the way", source, Of(u)).
				Hint("use https, or name the variable for this host in config.toml: [origin.%q] token_env", Host(u))
		}
		if err != nil {
			return Credential{}, "", err
		}
		if c != (Credential{}) {
			return c, source, nil
		}
	}
	return Credential{}, "", nil
}

// Private reports whether nobody between here and the server at u can read what is sent: it is
// spoken to over https, or it is this machine.
func Private(u *url.URL) bool { return u.Scheme == "https" || Loopback(u.Hostname()) }

// check refuses what could break out of a header.
func (c Credential) check(source string) error {
	for _, s := range []string{c.User, c.Secret} {
		for _, r := range s {
			if r <= ' ' || r > '~' {
				return failed("the credential from %s holds spaces or characters that are not ASCII", source)
			}
		}
	}
	return nil
}

func failed(format string, args ...any) *diag.Error {
	return diag.New(diag.Failed, "credential", format, args...)
}

func (s *Store) getenv(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return strings.TrimSpace(s.Getenv(name))
}

// variable is the variable that [VariableName] names, or SKL_TOKEN for the one registry it belongs to.
// A variable that was set for another host, by the spelling of earlier versions, is refused and not used.
func (s *Store) variable(_ context.Context, u *url.URL) (Credential, string, error) {
	name := VariableName(u)
	if token := s.getenv(name); token != "" {
		if other := s.namesake(u, name); other != "" {
			return Credential{}, "", failed("%s is for %s now, and %s, which the configuration names, was spelled the same before: it is sent to neither", name, Host(u), other).
				Hint("for %s set %s instead; %s keeps %s once that is set", other, spelled(other), Host(u), name)
		}
		return Credential{Secret: token}, name, nil
	}
	if token := s.getenv("SKL_TOKEN"); token != "" && s.Registry == Of(u) {
		return Credential{Secret: token}, "SKL_TOKEN", nil
	}
	return Credential{}, "", nil
}

// namesake is a host of the configuration, other than that of u, for which earlier versions read the
// variable name and which has no variable of its own yet.
func (s *Store) namesake(u *url.URL, name string) string {
	for _, host := range s.Hosts {
		if host = strings.ToLower(host); host != hostOf(u) && formerly(host) == name && s.getenv(spelled(host)) == "" {
			return host
		}
	}
	return ""
}

// Formerly is the variable that earlier versions of skl read for u, if it is set and the one that
// [VariableName] says is not. It is never used: two hosts may share it.
func (s *Store) Formerly(u *url.URL) string {
	if name := formerly(Host(u)); name != VariableName(u) && s.getenv(name) != "" && s.getenv(VariableName(u)) == "" {
		return name
	}
	return ""
}

// VariableName is the variable that holds the token for the origin of u: SKL_TOKEN_GIT_EXAMPLE for
// https://git.example, SKL_TOKEN_MY__GIT_EXAMPLE___8443 for https://my-git.example:8443. Letters and digits
// stand for themselves in upper case, "_" for a dot, "__" for each hyphen, "___" for the colon before a port
// that is not 443. Any other byte, and all bytes of a row of different ones, are "_____" with two
// hexadecimal digits. No two hosts or ports have the same variable.
func VariableName(u *url.URL) string { return spelled(hostOf(u)) }

// hostOf is the host of u, with the port unless it is 443.
func hostOf(u *url.URL) string {
	if u.Scheme == "http" && u.Port() == "" {
		return strings.ToLower(u.Host) + ":80"
	}
	return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// spelled is VariableName for "host" or "host:port", in lower case. Rows of underscores tell what they
// stand for by their length: 1 is a dot, an even number hyphens, 3 a colon, 5 one byte in hexadecimal.
func spelled(host string) string {
	var b strings.Builder
	b.WriteString("SKL_TOKEN_")
	for i := 0; i < len(host); {
		j := i
		for j < len(host) && !alphanumeric(host[j]) {
			j++
		}
		switch row := host[i:j]; {
		case row == "":
			b.WriteString(strings.ToUpper(host[i : i+1]))
			j++
		case row == ".":
			b.WriteString("_")
		case row == ":":
			b.WriteString("___")
		case strings.Trim(row, "-") == "":
			b.WriteString(strings.Repeat("__", len(row)))
		default:
			for _, c := range []byte(row) {
				fmt.Fprintf(&b, "_____%02X", c)
			}
		}
		i = j
	}
	return b.String()
}

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// formerly is how earlier versions of skl spelled the variable of "host" or "host:port".
func formerly(host string) string {
	return "SKL_TOKEN_" + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(strings.Trim(host, "[]")))
}

// configured is what config.toml says for this host.
func (s *Store) configured(ctx context.Context, u *url.URL) (Credential, string, error) {
	host := Host(u)
	if name := s.TokenEnv[host]; name != "" {
		token := s.getenv(name)
		if token == "" {
			return Credential{}, "", failed("the variable %s, which config.toml names for %s, is not set", name, host)
		}
		return Credential{Secret: token}, name, nil
	}
	command := s.TokenCommand[host]
	if len(command) == 0 {
		return Credential{}, "", nil
	}
	out, err := s.run(ctx, "", command[0], command[1:]...)
	if err != nil {
		return Credential{}, "", failed("token_command of %s: %s", host, reason(err))
	}
	token := strings.TrimSpace(string(out))
	if token == "" {
		return Credential{}, "", failed("token_command of %s prints nothing", host)
	}
	return Credential{Secret: token}, "token_command", nil
}

// github is GH_TOKEN or GITHUB_TOKEN, for github.com and the configured GitHub hosts.
func (s *Store) github(_ context.Context, u *url.URL) (Credential, string, error) {
	if host := Host(u); Of(u) != "https://github.com" && !slices.Contains(s.GitHubHosts, host) {
		return Credential{}, "", nil
	}
	for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN"} {
		if token := s.getenv(name); token != "" {
			return Credential{User: tokenUser, Secret: token}, name, nil
		}
	}
	return Credential{}, "", nil
}

// gitlabJob is CI_JOB_TOKEN, for the server that runs the job.
func (s *Store) gitlabJob(_ context.Context, u *url.URL) (Credential, string, error) {
	token, host := s.getenv("CI_JOB_TOKEN"), strings.ToLower(s.getenv("CI_SERVER_HOST"))
	if token == "" || host == "" {
		return Credential{}, "", nil
	}
	server := &url.URL{Scheme: u.Scheme, Host: host}
	if port := s.getenv("CI_SERVER_PORT"); port != "" {
		server.Host += ":" + port
	}
	if Of(server) != Of(u) {
		return Credential{}, "", nil
	}
	return Credential{User: "gitlab-ci-token", Secret: token}, "CI_JOB_TOKEN", nil
}

// Sources of credentials that are kept for a host, as Lookup names them.
const (
	OwnSource    = "skl login"
	DockerSource = "docker credentials"
)

// own is what skl login keeps for the host.
func (s *Store) own(ctx context.Context, u *url.URL) (Credential, string, error) {
	if s.Own == nil {
		return Credential{}, "", nil
	}
	c, err := s.Own(ctx, Host(u))
	return c, OwnSource, err
}

// docker is what docker keeps for the host.
func (s *Store) docker(ctx context.Context, u *url.URL) (Credential, string, error) {
	if s.Docker == nil {
		return Credential{}, "", nil
	}
	c, err := s.Docker(ctx, Host(u))
	return c, DockerSource, err
}

// netrc is the entry of the host in the netrc file.
func (s *Store) netrc(_ context.Context, u *url.URL) (Credential, string, error) {
	if s.Netrc == "" {
		return Credential{}, "", nil
	}
	text, err := os.ReadFile(s.Netrc)
	if errors.Is(err, fs.ErrNotExist) {
		return Credential{}, "", nil
	}
	if err != nil {
		return Credential{}, "", failed("reading the netrc file: %s", reason(err))
	}
	return netrcFor(text, u), "netrc", nil
}

// helper asks git's credential helpers, if git is configured with any. Git runs beside its
// own program and not in the working directory, so that no repository can name a helper.
func (s *Store) helper(ctx context.Context, u *url.URL) (Credential, string, error) {
	if s.Git == "" {
		return Credential{}, "", nil
	}
	out, err := s.run(ctx, "", s.Git, "config", "--get-regexp", `^credential\.`)
	if err != nil || !hasHelper(string(out)) {
		return Credential{}, "", nil // git exits with 1 when nothing is configured
	}
	out, err = s.run(ctx, "protocol="+u.Scheme+"\nhost="+Host(u)+"\n\n", s.Git, "credential", "fill")
	if err != nil {
		return Credential{}, "", nil // no helper knows the host, and nobody may be asked
	}
	var c Credential
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "username":
			c.User = value
		case "password":
			c.Secret = value
		}
	}
	if c.Secret == "" {
		return Credential{}, "", nil
	}
	return c, "git credential helper", nil
}

// hasHelper reads lines of "credential.helper store" or "credential.https://h.helper x";
// an empty value takes earlier ones back.
func hasHelper(lines string) bool {
	has := false
	for line := range strings.Lines(lines) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasSuffix(key, ".helper") {
			has = has && key != "credential.helper" || value != ""
		}
	}
	return has
}

// Bounds of the programs that are run.
const (
	runFor   = 2 * time.Minute // a helper may wait for a person to touch a key
	maxPrint = 64 << 10        // bytes
)

// run starts a program without a shell and returns what it prints.
func (s *Store) run(ctx context.Context, stdin, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runFor)
	defer cancel()
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	var out limited
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = slices.DeleteFunc(slices.Clone(s.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") || strings.HasPrefix(kv, "GIT_COMMON_DIR=")
	})
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

// limited keeps at most maxPrint bytes and drops the rest.
type limited struct{ kept bytes.Buffer }

// Write implements [io.Writer]; it never fails.
func (l *limited) Write(p []byte) (int, error) {
	l.kept.Write(p[:min(len(p), maxPrint-l.kept.Len())])
	return len(p), nil
}

// reason is err without the arguments, paths and output it may hold.
func reason(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ProcessState.String()
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
