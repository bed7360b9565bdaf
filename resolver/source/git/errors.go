package git

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
)

// unsupported is the error of a rung that cannot do what is asked, where the
// next one may: the server lacks a capability, a program is not installed.
type unsupported struct{ why string }

func (e *unsupported) Error() string { return e.why }

// unreached says that a commit is not among what a rung could fetch.
type unreached struct {
	final bool // no other way would find it
}

func (e *unreached) Error() string { return "the server does not have this commit" }

// show is rawURL for people: without a user, which may be a token, except for ssh.
func show(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "the repository"
	}
	if u.Scheme == "ssh" {
		return u.Redacted()
	}
	u.User = nil
	return u.String()
}

func authError(rawURL string) *diag.Error {
	e := diag.New(diag.Failed, "git_auth", "%s asks for credentials or does not exist", show(rawURL))
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
	case u.Scheme == "ssh":
		e.Hint("try: ssh -T %s", strings.TrimPrefix(u.User.String()+"@"+u.Host, "@"))
	default:
		e.Hint("set %s, add the host to netrc, or configure a git credential helper", origin.VariableName(u))
		if u.Hostname() == "github.com" {
			e.Hint("GITHUB_TOKEN and GH_TOKEN are used for github.com, as is: gh auth setup-git")
		}
	}
	return e
}

func notFoundError(rawURL string) *diag.Error {
	e := diag.New(diag.Failed, "git_not_found", "there is no git repository at %s", show(rawURL))
	if strings.HasPrefix(rawURL, "http") {
		e.Hint("a private repository may look missing: check the spelling, then your credentials")
	}
	if dir, err := folderPath(rawURL); err == nil && strings.HasPrefix(rawURL, "file:") {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return e.Hint("a folder without git is written as its path: skl install %s", diag.Quote(dir))
		}
		for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
			if _, err := os.Stat(up); err == nil || up == filepath.Dir(up) {
				return e.Hint("the path starts at the root of this machine; what is there: ls %s", diag.Quote(up))
			}
		}
	}
	return e
}

func unreachableError(rawURL string, err error) *diag.Error {
	e := diag.New(diag.Failed, "network", "%s cannot be reached: %w", show(rawURL), cause(err))
	e.Retryable = true
	return e
}

// cause takes the method and URL off an error of net/http: the sentence has its own.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func offlineError(rawURL string) *diag.Error {
	return diag.New(diag.Failed, "offline", "%s is needed, and skl works offline", show(rawURL)).
		Hint("run the command again without --offline")
}

func commitError(rawURL string, commit plumbing.Hash) *diag.Error {
	return diag.New(diag.Refused, source.CodeCommit, "%s does not have commit %s", show(rawURL), commit).
		Hint("the history may have been rewritten; choose another version with: skl update")
}

func digestError(rawURL string, id plumbing.Hash) *diag.Error {
	return diag.New(diag.Refused, source.CodeDigest, "%s did not send the bytes of object %s, or sent others in its place", show(rawURL), id)
}

// explain turns what reading the repository at rawURL ended with into an error for people.
func explain(rawURL string, commit plumbing.Hash, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e
	}
	if _, ok := errors.AsType[*unreached](err); ok {
		return commitError(rawURL, commit)
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errTooLarge):
		return diag.New(diag.Refused, "git_too_large", "%s holds more than skl reads of one repository at once: %w", show(rawURL), err)
	case errors.As(err, &netErr):
		return unreachableError(rawURL, err)
	}
	e := diag.New(diag.Failed, "git_protocol", "reading %s: %w", show(rawURL), err)
	e.Retryable = errors.Is(err, errPack)
	return e
}
