package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// sysgit is the rung of the installed git program, which knows the user's ssh
// configuration and credential helpers. It keeps a bare repository per URL in the
// cache and reads objects from it as they are: there is never a checkout, so
// no filter, attribute or hook takes part, and submodules are not looked at.
//
// Only https and ssh are allowed, whatever the user's configuration says or
// a server redirects to; http only for a loopback address.
type sysgit struct {
	program string   // path
	environ []string // from [Source]
	url     string
	cache   string // directory of all bare repositories
	lean    bool   // without blobs, for servers that can leave them out

	dir  string          // the bare repository, once made
	have map[string]bool // commits fetched by this value
}

// remote is the name under which the bare repository knows url.
const remote = "origin"

// config comes with every command and outranks files.
func (g *sysgit) config() []string {
	args := []string{
		"protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always",
		"core.hooksPath=" + os.DevNull, "core.askPass=", "credential.interactive=false",
		"submodule.recurse=false", "fetch.recurseSubmodules=false", "gc.auto=0", "maintenance.auto=false",
		"remote." + remote + ".url=" + g.url,
		// A server that says nothing ends as it does elsewhere: below one byte a second for 60 s.
		"http.lowSpeedLimit=1", "http.lowSpeedTime=60",
	}
	if u, err := url.Parse(g.url); err == nil && u.Scheme == "http" && origin.Loopback(u.Hostname()) {
		args = append(args, "protocol.http.allow=always")
	}
	return args
}

// env is the user's environment without what would lead git to another
// repository or let it ask a person. Variables that choose configuration, ssh
// and certificates stay.
func (g *sysgit) env() []string {
	var env []string
	for _, kv := range g.environ {
		key, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		switch {
		case key == "LC_ALL" || key == "LANGUAGE":
			continue
		case strings.HasPrefix(key, "GIT_SSL_"), strings.HasPrefix(key, "GIT_SSH"), strings.HasPrefix(key, "GIT_CONFIG_"),
			strings.HasPrefix(key, "GIT_HTTP_"), strings.HasPrefix(key, "GIT_PROXY_SSL_"), key == "GIT_EXEC_PATH":
		case strings.HasPrefix(key, "GIT_"):
			continue
		}
		env = append(env, kv)
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GIT_DIR="+g.dir)
}

// quietSSH keeps ssh from asking a person, unless the user has chosen a command for it.
func (g *sysgit) quietSSH(ctx context.Context) {
	if !strings.HasPrefix(g.url, "ssh:") {
		return
	}
	for _, kv := range g.environ {
		if strings.HasPrefix(kv, "GIT_SSH=") || strings.HasPrefix(kv, "GIT_SSH_COMMAND=") {
			return
		}
	}
	if out, err := g.run(ctx, "", "config", "--default=", "--get", "core.sshCommand"); err == nil && len(bytes.TrimSpace(out)) == 0 {
		g.environ = append(g.environ[:len(g.environ):len(g.environ)], "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4")
	}
}

// command is git with args in the bare repository.
func (g *sysgit) command(ctx context.Context, args ...string) *exec.Cmd {
	var full []string
	for _, c := range g.config() {
		full = append(full, "-c", c)
	}
	cmd := exec.CommandContext(ctx, g.program, append(full, args...)...)
	cmd.Dir = g.dir
	cmd.Env = g.env()
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run runs git and returns what it printed.
func (g *sysgit) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	cmd := g.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, g.explain(ctx, err, stderr.String())
	}
	return out, nil
}

// explain reads git's words; LC_ALL=C makes them the same everywhere.
func (g *sysgit) explain(ctx context.Context, err error, stderr string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(stderr, w) {
				return true
			}
		}
		return false
	}
	switch {
	case says("not our ref", "unadvertised object", "couldn't find remote ref", "not valid"):
		return &unreached{}
	case says("Authentication failed", "could not read Username", "could not read Password", "terminal prompts disabled",
		"Permission denied", "Host key verification failed", "error: 403", "error: 401"):
		return authError(g.url)
	case says("not found", "does not exist", "does not appear to be a git repository"):
		return notFoundError(g.url)
	case says("Could not resolve host", "Connection refused", "unable to access", "timed out", "Connection reset"):
		return unreachableError(g.url, errors.New(lastLine(stderr))).
			Hint("check the spelling, and whether this machine is connected; add --offline to use the cache")
	case says("unable to fork", "cannot run ssh", "ssh: not found", "ssh: No such file"):
		return diag.New(diag.Failed, "git_failed", "reading %s needs ssh, which is not installed", show(g.url)).Hint("install it, or use the https address of the repository")
	case says("unknown option", "unknown switch"):
		return &unsupported{"the installed git is too old"}
	}
	return diag.New(diag.Failed, "git_failed", "git cannot read %s: %s", show(g.url), lastLine(stderr+"\n"+err.Error()))
}

// lastLine is the last line that says what went wrong. What ssh says is the cause of what git says behind it.
func lastLine(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "ssh: ") {
			last = line
			break
		}
		if strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:") || last == "" {
			last = line
		}
	}
	return diag.Printable(last)
}

// open makes the bare repository.
func (g *sysgit) open(ctx context.Context) error {
	if g.dir != "" {
		return nil
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(g.url)))[:40]
	if !g.lean {
		name += "-whole"
	}
	dir := filepath.Join(g.cache, name+".git")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer unlock()
	g.dir = dir
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		if _, err := g.run(ctx, "", "init", "--quiet", "--bare", "--template=", "--object-format=sha1"); err != nil {
			g.dir = ""
			return err
		}
	}
	g.quietSSH(ctx)
	return nil
}

func (g *sysgit) refs(ctx context.Context) ([]advert, error) {
	if err := g.open(ctx); err != nil {
		return nil, err
	}
	out, err := g.run(ctx, "", "ls-remote", "--symref", "--end-of-options", remote, "HEAD", "refs/heads/*", "refs/tags/*")
	if err != nil {
		return nil, err
	}
	var refs []advert
	symref := ""
	for _, line := range strings.Split(string(out), "\n") {
		id, name, _ := strings.Cut(line, "\t")
		if to, ok := strings.CutPrefix(id, "ref: "); ok && name == "HEAD" {
			symref = to
			continue
		}
		if len(id) == sha256.Size*2 {
			return nil, objectFormatError(g.url, "sha256")
		}
		peeled, last := strings.CutSuffix(name, "^{}")
		switch {
		case !plumbing.IsHash(id):
		case last && len(refs) > 0 && refs[len(refs)-1].name == peeled:
			refs[len(refs)-1].tag, refs[len(refs)-1].id = refs[len(refs)-1].id, plumbing.NewHash(id)
		case wanted(name):
			refs = append(refs, advert{name: name, id: plumbing.NewHash(id)})
		}
	}
	if len(refs) > 0 && refs[0].name == "HEAD" {
		refs[0].symref = symref
	}
	return refs, nil
}

// fetch brings commit into the bare repository: alone if the server gives it
// so, else with all branches and tags.
func (g *sysgit) fetch(ctx context.Context, commit plumbing.Hash) error {
	if err := g.open(ctx); err != nil || g.have[commit.String()] {
		return err
	}
	unlock, err := durable.Lock(ctx, g.dir, nil)
	if err != nil {
		return err
	}
	defer unlock()
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"}
	if g.lean {
		args = append(args, "--filter=blob:none")
	}
	args = args[:len(args):len(args)]
	_, err = g.run(ctx, "", append(args, "--depth=1", "--end-of-options", remote, commit.String())...)
	if _, ok := errors.AsType[*unreached](err); ok {
		_, err = g.run(ctx, "", append(args, "--depth=2147483647", "--end-of-options", remote,
			"+refs/heads/*:refs/skl/heads/*", "+refs/tags/*:refs/skl/tags/*")...)
	}
	if err == nil {
		if g.have == nil {
			g.have = make(map[string]bool)
		}
		g.have[commit.String()] = true
	}
	return err
}

func (g *sysgit) objects(ctx context.Context, commit plumbing.Hash, to *objectSet) error {
	if err := g.fetch(ctx, commit); err != nil {
		return err
	}
	cat, err := g.cat(ctx)
	if err != nil {
		return err
	}
	defer cat.close()
	data, err := cat.read(commit, plumbing.CommitObject, to)
	if errors.Is(err, errMissing) {
		return &unreached{final: true} // all branches and tags are here
	} else if err != nil {
		return err
	}
	root, _, err := parseCommit(data)
	if err != nil {
		return err
	}
	return addTrees(root, to, func(id plumbing.Hash) ([]byte, error) {
		return cat.read(id, plumbing.TreeObject, to)
	})
}

func (g *sysgit) blobs(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash, to *objectSet) error {
	if err := g.fetch(ctx, commit); err != nil {
		return err
	}
	if g.lean {
		// One request for all; without it git would ask for each file on its own.
		var wants strings.Builder
		for _, id := range ids {
			fmt.Fprintln(&wants, id)
		}
		_, err := g.run(ctx, wants.String(), "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--recurse-submodules=no", "--filter=blob:none", "--stdin", "--end-of-options", remote)
		if _, ok := errors.AsType[*unreached](err); ok {
			return &unsupported{"the server gives no single files"}
		} else if err != nil {
			return err
		}
	}
	cat, err := g.cat(ctx)
	if err != nil {
		return err
	}
	defer cat.close()
	for _, id := range ids {
		if _, err := cat.read(id, plumbing.BlobObject, to); err != nil && !errors.Is(err, errMissing) {
			return err
		}
	}
	return nil
}

func (g *sysgit) tag(ctx context.Context, id plumbing.Hash, to *objectSet) error {
	if err := g.fetch(ctx, id); err != nil {
		return err
	}
	cat, err := g.cat(ctx)
	if err != nil {
		return err
	}
	defer cat.close()
	_, err = cat.read(id, plumbing.TagObject, to)
	return err
}

var errMissing = errors.New("object is missing")

// catFile is a running "git cat-file --batch".
type catFile struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr tail
	fail   func(err error, stderr string) error
}

func (g *sysgit) cat(ctx context.Context) (*catFile, error) {
	c := &catFile{cmd: g.command(ctx, "cat-file", "--batch")}
	c.fail = func(err error, stderr string) error { return g.explain(ctx, err, stderr) }
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 64<<10)
	return c, c.cmd.Start()
}

func (c *catFile) close() {
	c.in.Close()
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
}

// read adds the object id to set and returns its content.
func (c *catFile) read(id plumbing.Hash, kind plumbing.ObjectType, set *objectSet) ([]byte, error) {
	if _, err := fmt.Fprintln(c.in, id); err != nil {
		return nil, c.fail(err, c.stderr.String())
	}
	head, err := c.out.ReadString('\n')
	if err != nil {
		c.cmd.Wait() // its words are complete now
		return nil, c.fail(err, c.stderr.String())
	}
	fields := strings.Fields(head)
	if len(fields) == 2 && fields[1] == "missing" {
		return nil, errMissing
	}
	if len(fields) != 3 || fields[1] != kind.String() {
		return nil, fmt.Errorf("git has %q in place of a %s", diag.Printable(strings.TrimSpace(head)), kind)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || !set.room(size) {
		return nil, errTooLarge
	}
	data := make([]byte, size+1) // a newline follows
	if _, err := io.ReadFull(c.out, data); err != nil {
		return nil, c.fail(err, c.stderr.String())
	}
	_, err = set.add(kind, data[:size:size])
	return data[:size:size], err
}

// tail keeps the last 16 KiB of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 16<<10 {
		t.b = append(t.b[:0], t.b[len(t.b)-16<<10:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
