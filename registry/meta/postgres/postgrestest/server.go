package postgrestest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A Server is one of a test alone: it can have another that stands by, and it can fail. It ends with the test.
type Server struct {
	bin, dir, password string
	port, pid          int
	end                func() error
	db                 *sql.DB
}

// NewServer starts a server that is durable against its own end, not against that of the machine. Without PostgreSQL the test is skipped;
// with SKL_TEST_REQUIRE=all it fails.
func NewServer(t testing.TB) *Server {
	t.Helper()
	bin, err := programs()
	usable(t, err)
	s := &Server{bin: bin, password: rand.Text()}
	s.dir = s.directory(t)
	if err := prepare(bin, s.dir, s.password); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return s
}

// directory makes one that whoever runs PostgreSQL may write to.
func (s *Server) directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "skl-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := give(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *Server) start(t testing.TB) {
	t.Helper()
	var err error
	if s.port, s.pid, s.end, err = serve(s.bin, s.dir, s.password, "-c", "fsync=off"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end() }) // it may have ended before
	if s.db, err = sql.Open("pgx", Address(s)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
}

// Port is where s listens, on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Address is that of the database on servers of which one takes updates: clients look for it.
func Address(servers ...*Server) string {
	var ports []int
	for _, s := range servers {
		ports = append(ports, s.port)
	}
	return address(servers[0].password, ports...)
}

// Standby starts a server that copies s, and goes on to copy it. Its commits do not wait for that.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	o := &Server{bin: s.bin, password: s.password}
	o.dir = o.directory(t)
	copied := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-D", filepath.Join(o.dir, "data"), "-d", Address(s), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	copied.Dir = o.dir
	as(copied)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	o.start(t)
	s.Await(t, "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
	return o
}

// Together has commits of s wait until its standby has them.
func (s *Server) Together(t testing.TB) {
	t.Helper()
	s.set(t, "synchronous_standby_names", "*")
	s.Await(t, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
}

// Apart has s, which stands by, hear nothing more of the one that it copies.
func (s *Server) Apart(t testing.TB) {
	t.Helper()
	s.set(t, "primary_conninfo", "")
	s.Await(t, "SELECT count(*) = 0 FROM pg_stat_wal_receiver")
}

// set changes a setting while s runs.
func (s *Server) set(t testing.TB, name, value string) {
	t.Helper()
	for _, statement := range []string{fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value), "SELECT pg_reload_conf()"} {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Promote has s, which stands by, take updates from now on.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Await(t, "SELECT pg_promote()")
}

// Await asks a question until it is answered with true.
func (s *Server) Await(t testing.TB, question string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var yes bool
		err := s.db.QueryRowContext(t.Context(), question).Scan(&yes)
		if yes {
			return
		}
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%s: %t, %v", question, yes, err)
		}
	}
}

// Kill ends all processes of s at once, as when its machine is switched off.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := s.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := kill(s.pid, func() (pids []int, err error) {
		rows, err := c.QueryContext(ctx, "SELECT pid FROM pg_stat_activity")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var pid int
			if err := rows.Scan(&pid); err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
		return pids, rows.Err()
	}); err != nil {
		t.Fatal(err)
	}
	s.end()
}
