package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// A server serves the repositories of a directory over smart HTTP and counts what it sends.
type server struct {
	url   string
	names []string // of the skills in the repository
	sizes map[string]int
	sent  atomic.Int64 // bytes written to connections, headers included
}

// serve starts the server with the repository of the shared data, once. It
// reports whether there is one.
func (b *bench) serve() bool {
	if b.server != nil {
		return b.server.url != ""
	}
	b.server = &server{}
	bundle := sharedData(repository + ".bundle")
	if bundle == "" {
		fmt.Fprintln(os.Stderr, "bench: shared/data is not beside the repository: fewer rows")
		return false
	}
	root := filepath.Join(b.dir, "served")
	check(os.Mkdir(root, 0o755))
	bare := filepath.Join(root, repository+".git")
	b.prepare(b.dir, root, "git", "clone", "-q", "--bare", bundle, bare)
	b.server.sizes = map[string]int{}
	for line := range strings.Lines(b.prepare(b.dir, bare, "git", "ls-tree", "-r", "-l", "HEAD", "skills/")) {
		fields := strings.Fields(line)
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[4], "skills/"), "/")
		size := 0
		fmt.Sscan(fields[3], &size)
		b.server.sizes[name] += size
		if path.Base(fields[4]) == "SKILL.md" && strings.Count(fields[4], "/") == 2 {
			b.server.names = append(b.server.names, name)
		}
	}
	backend := filepath.Join(b.prepare(b.dir, b.dir, "git", "--exec-path"), "git-http-backend")
	handler := &cgi.Handler{Path: backend, Root: "/", Stderr: io.Discard, Env: append(environ(b.dir),
		"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=uploadpack.allowFilter", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_1=true")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go http.Serve(counted{l, &b.server.sent}, handler)
	b.server.url = "http://" + l.Addr().String()
	return true
}

func (b *bench) skillNames() []string { return b.server.names }

// middleSkill is the skill in the middle by size of those of at least 40 kB.
func (b *bench) middleSkill() string {
	large := slices.DeleteFunc(slices.Clone(b.server.names), func(name string) bool { return b.server.sizes[name] < 40_000 })
	slices.SortFunc(large, func(x, y string) int { return b.server.sizes[x] - b.server.sizes[y] })
	return large[len(large)/2]
}

// sharedData is the path of a file in shared/data beside one of the ancestors of
// the working directory, "" if there is none.
func sharedData(file string) string {
	dir, err := os.Getwd()
	for ; err == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		p := filepath.Join(filepath.Dir(dir), "shared", "data", file)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// counted counts the bytes that are written to its connections.
type counted struct {
	net.Listener
	n *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{c, l.n}, nil
}

type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.n.Add(int64(n))
	return n, err
}
