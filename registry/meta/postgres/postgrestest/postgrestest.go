// Package postgrestest starts a PostgreSQL server for tests: one for the process, on a free port of 127.0.0.1, with a directory of
// its own. It stops when the process ends, however that is. The environment variable SKL_TEST_POSTGRES names another, with
// a question mark in its address.
package postgrestest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/skl-project/skl/registry/registrytest/keep"
)

// errMissing says that PostgreSQL is not installed.
var errMissing = errors.New("PostgreSQL is not installed: there is no initdb in the PATH or below /usr/lib/postgresql")

// variable names a server that is there already.
const variable = "SKL_TEST_POSTGRES"

var shared struct {
	once sync.Once
	url  string
	err  error
}

// URL returns the address of an empty schema, which is dropped at the end of the test. Without PostgreSQL the test is
// skipped; with SKL_TEST_REQUIRE=all it fails.
func URL(t testing.TB) string {
	t.Helper()
	address, drop, err := Schema()
	usable(t, err)
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return address
}

// usable skips a test where PostgreSQL is missing, and fails it for another error.
func usable(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatalf("%v, and SKL_TEST_REQUIRE=all wants no test skipped", err)
		}
		t.Skip("skipped: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Available reports whether URL has a server.
func Available() bool {
	_, err := programs()
	return err == nil || os.Getenv(variable) != ""
}

// Schema is URL for what is no test.
func Schema() (address string, drop func() error, err error) {
	if err := start(); err != nil {
		return "", nil, err
	}
	schema := "test_" + strings.ToLower(rand.Text()[:12])
	return shared.url + "&search_path=" + schema, func() error { return run(shared.url, "DROP SCHEMA "+schema+" CASCADE") }, run(shared.url, "CREATE SCHEMA "+schema)
}

// start starts the shared server, if it does not run yet.
func start() error {
	shared.once.Do(func() {
		if shared.url = os.Getenv(variable); shared.url == "" {
			shared.url, shared.err = Start("-c", "fsync=off")
			os.Setenv(variable, shared.url) // for the processes that tests start
		}
	})
	return shared.err
}

// run executes statements on the database at an address.
func run(address, statements string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = db.ExecContext(ctx, statements)
	return err
}

// Start starts a server with further arguments, and returns the address of its database.
func Start(args ...string) (string, error) {
	bin, err := programs()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "skl-postgres-")
	if err != nil {
		return "", err
	}
	password := rand.Text()
	if err := prepare(bin, dir, password); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	port, _, _, err := serve(bin, dir, password, args...)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return address(password, port), nil
}

// address is that of the database of servers on these ports, with one password.
func address(password string, ports ...int) string {
	var hosts []string
	for _, port := range ports {
		hosts = append(hosts, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword("skl", password), Host: strings.Join(hosts, ","), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// programs returns the directory with PostgreSQL's programs.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // the others are where it is
			return filepath.Dir(path), nil
		}
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(all) == 0 {
		return "", errMissing
	}
	return filepath.Dir(slices.MaxFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })), nil
}

// prepare makes the data of a server in dir. PostgreSQL does not run as root.
func prepare(bin, dir, password string) error {
	if err := give(dir); err != nil {
		return err
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	if err := give(secret); err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "skl", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	cmd.Dir = dir
	as(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// serve starts the server on a free port. It stops when this process ends, or when end is called.
func serve(bin, dir, password string, args ...string) (port, pid int, end func() error, err error) {
	err = keep.OnFreePort(func(free int) error {
		cmd := exec.Command(filepath.Join(bin, "postgres"), append([]string{"-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(free),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"}, args...)...)
		as(cmd)
		end, err = keep.Start(cmd, "QUIT", dir, func(ended <-chan error) error { return answers(address(password, free), ended) })
		if err == nil {
			port, pid = free, cmd.Process.Pid
		}
		return err
	})
	return port, pid, end, err
}

// answers waits until the server at an address answers.
func answers(address string, ended <-chan error) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); ; {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-tick:
		case e := <-ended:
			return errors.Join(err, e)
		case <-ctx.Done():
			return err
		}
	}
}
