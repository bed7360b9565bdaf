package search

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/diag"
)

// ServiceKey is the variable that the key of the index service is in. Without it a service makes one for each start.
const ServiceKey = "SKL_INDEX_KEY"

// A ServeRequest says where the indexes of repositories are served.
type ServeRequest struct {
	Addr  string   // other than loopback needs a key in ServiceKey
	Hosts []string // names that a service on loopback answers to besides
	State string   // directory for the list of repositories, "" is that of the user's state

	Log slog.Handler // hears what may be wrong

	// Ready is called when the service listens. keyFile holds its key, "" where ServiceKey gave it.
	Ready func(addr, keyFile string) error
}

// Serve answers over HTTP until ctx ends.
func (s *Searcher) Serve(ctx context.Context, q ServeRequest) error {
	key := s.Scope.Getenv(ServiceKey)
	if err := serve.CheckAddr(q.Addr, key); err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "address_needs_key" {
			e.Hints = []string{ServiceKey + "=SECRET skl index serve --addr " + diag.Quote(q.Addr), "skl index serve"}
		}
		return err
	}
	l, err := net.Listen("tcp", q.Addr)
	if err != nil {
		return diag.New(diag.Failed, "cannot_listen", "cannot listen on %s: %w", q.Addr, err).Hint("add --addr 127.0.0.1:0 for a free port")
	}
	defer l.Close()
	state := s.Scope.Dirs.State
	if q.State != "" {
		state = scope.Absolute(s.Scope.Cwd, q.State)
	}
	made := ""
	if key == "" { // others on this machine reach loopback too
		key, made = newKey(), keyFile(state)
	}
	service, err := serve.NewService(ctx, serve.ServiceOptions{Open: s.keep, StateDir: state, Key: key, Hosts: q.Hosts, Version: s.Version, Logger: slog.New(q.Log)})
	if err != nil {
		return err
	}
	defer service.Close()
	if made != "" {
		forget, err := keepKey(state, serviceKey{l.Addr().String(), key})
		if err != nil {
			return err
		}
		defer forget()
	}
	if err := q.Ready(l.Addr().String(), made); err != nil {
		return err
	}
	return service.Serve(ctx, l)
}

// keep opens an index for a long-lived process, which answers models.
func (s *Searcher) keep(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
	without, err := s.withheld(ctx, root)
	if err != nil {
		return nil, err
	}
	options := s.indexOptions(directory{extra: without})
	options.Watch, options.Background, options.Progress, options.Prior = true, true, o.Progress, o.Prior
	x, err := index.Open(ctx, root, options)
	if err != nil {
		return nil, err // and not an interface that holds a nil pointer
	}
	return x, nil
}

// Tools are the tools of agents that search dirs, or the repository of the working directory. With service, the address of
// an index service, they ask it. end must be called when they are not used any more.
func (s *Searcher) Tools(ctx context.Context, dirs []string, service string) (tools *serve.Tools, end func(), err error) {
	tools, end = &serve.Tools{Open: s.keep}, func() {}
	if len(dirs) == 0 {
		dirs = []string{s.Dir("")}
		if closed := s.unnamed(Place{}); closed != nil { // the other tools are there all the same
			tools.Roots, tools.Open = dirs, func(context.Context, string, serve.Opening) (serve.Index, error) { return nil, closed }
			return tools, end, nil
		}
	}
	for _, dir := range dirs {
		dir = scope.Absolute(s.Scope.Cwd, dir)
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, nil, diag.New(diag.Misuse, "not_a_directory", "--path: %s is not a directory", s.Scope.Short(dir))
		}
		if err != nil {
			return nil, nil, err
		}
		tools.Roots = append(tools.Roots, dir)
	}
	if service != "" { // which records what is asked and expanded; here it would count twice
		if err := s.checkServiceURL(service); err != nil {
			return nil, nil, err
		}
		c, err := s.client(service, s.keep)
		if err != nil {
			return nil, nil, err
		}
		tools.Open = c.Open
		return tools, end, nil
	}
	// Without it, searches are answered all the same.
	if f, err := serve.OpenFeedback(ctx, s.feedbackDir()); err == nil {
		tools.Feedback = f
		end = func() { f.Close() }
	}
	return tools, end, nil
}

// client asks the service at address, and local for what is not committed.
func (s *Searcher) client(address string, local func(context.Context, string, serve.Opening) (serve.Index, error)) (*serve.Client, error) {
	key, err := s.serviceKey(address)
	if err != nil {
		return nil, diag.New(diag.Failed, "service_key", "the key of the service cannot be read from %s: %w", s.Scope.Short(keyFile(s.Scope.Dirs.State)), err).Hint("start the service anew, or put its key into %s", ServiceKey)
	}
	return &serve.Client{URL: address, Key: key, CacheDir: filepath.Join(s.IndexDir(), "overlay"), Dirty: s.dirty, Local: local}, nil
}

// dirtyLimit bounds the files of which the content is compared, in bytes.
const dirtyLimit = 4 << 20

// dirty is what is not committed below root. No program is run: the repository may have been somebody's who configured one.
func (s *Searcher) dirty(ctx context.Context, root string) ([]string, error) {
	w, err := git.OpenWorkTree(root)
	if errors.Is(err, git.ErrNoWorkTree) {
		return nil, nil
	}
	var found files.List
	if err == nil {
		found, err = (&files.Walker{Root: root, Getenv: s.Scope.Getenv}).Walk(ctx)
	}
	var changed []string
	if err == nil {
		paths := make([]string, len(found.Files))
		for i, f := range found.Files {
			paths[i] = f.Path
		}
		changed, err = w.Changed(ctx, paths, dirtyLimit)
	}
	if err != nil {
		return nil, diag.New(diag.Failed, "not_committed", "the uncommitted files of %s, which the service does not know, cannot be listed: %w", s.Scope.Short(root), err).
			Hint("without --service the files here are searched")
	}
	return changed, nil
}

// remote asks a service, and the files here for what is not committed.
func (s *Searcher) remote(ctx context.Context, address, dir string) (searched, error) {
	if err := s.checkServiceURL(address); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, diag.New(diag.Misuse, "not_found", "there is no directory %s", s.Scope.Short(dir))
	}
	c, err := s.client(address, func(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
		options := s.indexOptions(directory{})
		options.Progress = o.Progress
		x, err := index.Open(ctx, root, options)
		if err != nil {
			return nil, err
		}
		return x, nil
	})
	if err != nil {
		return nil, err
	}
	x, err := c.Open(ctx, real, serve.Opening{Progress: s.indexing})
	if err != nil {
		return nil, told(err)
	}
	return x, nil
}

// checkServiceURL refuses what no service can be at, and offline what is not on this machine.
func (s *Searcher) checkServiceURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return diag.New(diag.Misuse, "invalid_service_url", "%q is not the address of a service", text).Hint("--service http://%s", serve.DefaultAddr)
	}
	if s.Scope.Offline() && serve.CheckAddr(net.JoinHostPort(u.Hostname(), "0"), "") != nil {
		return diag.New(diag.Failed, "offline", "the service at %s is on another machine, and skl works offline", text).Hint("leave out --service")
	}
	return nil
}

// told makes an error of this program from the problem that a service tells. Other errors are returned as they are.
func told(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "service_unreachable" {
		if why, ok := errors.AsType[*url.Error](err); ok { // it names the address again
			before, _, _ := strings.Cut(e.Message, ": "+why.Op)
			e.Message = before + ": " + why.Err.Error()
		}
	}
	p, ok := errors.AsType[*serve.Problem](err)
	if !ok {
		return err
	}
	e := &diag.Error{Class: diag.Failed, Code: p.Code, Message: "the service says: " + p.Message, Err: p}
	if p.Code == "invalid_request" || p.Code == "invalid_repo" {
		e.Class = diag.Misuse
	}
	if p.Detail != "" {
		e.Code = p.Detail
	}
	switch {
	case p.Code == "unauthorized":
		e.Hint("put its key into %s; a service of yours on this machine is asked by the address that it prints", ServiceKey)
	case p.Hint != "":
		e.Hint("%s", p.Hint)
	}
	return e
}
