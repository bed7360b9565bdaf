package postgrestest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/skl-project/skl/registry/registrytest/keep"
)

// poolerVariable holds the port of the PgBouncer that another process started.
const poolerVariable = "SKL_TEST_POOLER_PORT"

var pooler pool

// A pool is a PgBouncer with databases, which are used again: to make one takes long.
type pool struct {
	once sync.Once
	port int
	err  error

	mu    sync.Mutex // guards what follows
	spare []string
}

// database returns an empty database.
func (p *pool) database() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.spare); n > 0 {
		name, p.spare = p.spare[n-1], p.spare[:n-1]
		return name, nil
	}
	name = "test_" + strings.ToLower(rand.Text()[:12])
	return name, run(shared.url, "CREATE DATABASE "+name)
}

// empty empties a database for the next one.
func (p *pool) empty(name string) error {
	err := run(strings.Replace(shared.url, "/postgres?", "/"+name+"?", 1), "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.spare = append(p.spare, name)
	}
	return err
}

// PooledURL returns the address of an empty database behind PgBouncer, which gives each transaction any of a few connections. It is emptied at
// the end of the test, for the next one. Without PgBouncer or PostgreSQL the test is skipped; with SKL_TEST_REQUIRE=all it fails.
func PooledURL(t testing.TB) string {
	t.Helper()
	usable(t, start())
	pooler.once.Do(func() {
		if pooler.port, pooler.err = strconv.Atoi(os.Getenv(poolerVariable)); pooler.err != nil {
			var server *pgx.ConnConfig
			if server, pooler.err = pgx.ParseConfig(shared.url); pooler.err == nil {
				pooler.port, _, pooler.err = startPooler(server.Host, int(server.Port), server.User, server.Password)
			}
			if pooler.err == nil {
				os.Setenv(poolerVariable, strconv.Itoa(pooler.port)) // for the processes that tests start
			}
		}
	})
	usable(t, pooler.err)
	name, err := pooler.database()
	usable(t, err)
	t.Cleanup(func() {
		if err := pooler.empty(name); err != nil {
			t.Error(err)
		}
	})
	return pooledAddress(pooler.port, name)
}

// Pooled is the address of the database of s by way of a PgBouncer that reaches it on a port of this machine.
func (s *Server) Pooled(t testing.TB, port int) string {
	t.Helper()
	own, end, err := startPooler("127.0.0.1", port, "skl", s.password)
	usable(t, err)
	t.Cleanup(func() { end() })
	return pooledAddress(own, "postgres")
}

func pooledAddress(port int, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("skl"), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

// startPooler starts PgBouncer before a server, and returns its port. It ends with this process, or when end is called.
func startPooler(host string, server int, user, password string) (port int, end func() error, err error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) {
			return 0, nil, fmt.Errorf("%w: there is no pgbouncer in the PATH", errMissing)
		}
	}
	dir, err := os.MkdirTemp("", "skl-pgbouncer-")
	if err != nil {
		return 0, nil, err
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	err = keep.OnFreePort(func(free int) error {
		text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_idle_timeout = 5
server_login_retry = 0
`, host, server, user, password, free)
		err := os.WriteFile(file, []byte(text), 0o600)
		for _, path := range []string{dir, file} {
			err = errors.Join(err, give(path))
		}
		if err != nil {
			return err
		}
		cmd := exec.Command(program, file)
		as(cmd)
		port = free
		end, err = keep.Start(cmd, "TERM", dir, func(ended <-chan error) error {
			return answers(pooledAddress(free, "postgres")+"&default_query_exec_mode=exec", ended)
		})
		return err
	})
	if err != nil {
		return 0, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return port, end, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
