package faulttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// readyz asks until the answer has the status and holds all words, and then looks that healthz still says that it lives.
func (c *client) readyz(t *testing.T, status int, words ...string) {
	t.Helper()
	var a answer
	for end := time.Now().Add(40 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		var err error
		if a, err = c.do(t.Context(), "GET", "/readyz", nil); err != nil {
			t.Fatal(err)
		}
		ok := a.status == status
		for _, w := range words {
			ok = ok && strings.Contains(string(a.body), w)
		}
		if ok {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("readyz: %d %q, want %d with %q", a.status, a.body, status, words)
		}
	}
	t.Logf("readyz: %d %q", a.status, a.body)
	if a, err := c.do(t.Context(), "GET", "/healthz", nil); err != nil || a.status != 200 {
		t.Errorf("healthz: %v %d", err, a.status)
	}
}

// A full disk is said by readyz, and that there is space again.
func TestReadyFullDisk(t *testing.T) {
	long.Slow(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("skipped: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	p := launch(t, setup{Data: filepath.Join(disk, "data")})
	admin := newClient(p.URL, p.Admin)
	admin.readyz(t, 200, "ok")
	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 4<<10))
	}
	ballast.Close()
	admin.readyz(t, 503, "disk: no space left\n")
	os.Remove(ballast.Name())
	admin.readyz(t, 200, "ok")
}

// A database that is damaged behind the registry's back is said by readyz, though what is asked often can still be read.
func TestReadyDamagedDatabase(t *testing.T) {
	metatest.OnlyFile(t)
	long.Slow(t)
	data := metatest.Dir(t)
	p := launch(t, setup{Data: data})
	admin := newClient(p.URL, p.Admin)
	publisher, _ := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		if a, err := publisher.publish(t.Context(), newRelease("pdf", version, 100), byTag); err != nil || a.status != 201 {
			t.Fatalf("publish: %d %s %v", a.status, a.body, err)
		}
	}
	p.stop() // all pages are in meta.db then
	file := filepath.Join(data, "meta.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p = launch(t, setup{Data: data})
	admin = newClient(p.URL, admin.token)
	admin.readyz(t, 200, "ok")
	damaged := bytes.Clone(whole)
	for at := len(damaged) - 4096; at < len(damaged); at++ { // the last page
		damaged[at] ^= 0x5a
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(damaged[len(damaged)-4096:], int64(len(damaged)-4096)); err != nil {
		t.Fatal(err)
	}
	admin.readyz(t, 503, "database: damaged")
}

// A log that lost its last entries is said by readyz, also if the registry was restarted meanwhile; so is one that was changed.
func TestReadyCutLog(t *testing.T) {
	long.Slow(t)
	data := metatest.Dir(t)
	p := launch(t, setup{Data: data})
	admin := newClient(p.URL, p.Admin)
	publisher, _ := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		if a, err := publisher.publish(t.Context(), newRelease("pdf", version, 100), byTag); err != nil || a.status != 201 {
			t.Fatalf("publish: %d %s %v", a.status, a.body, err)
		}
	}
	time.Sleep(2100 * time.Millisecond) // the answer before has to be older than it is kept
	admin.readyz(t, 200, "ok")
	p.stop()
	change := func(statements ...string) {
		t.Helper()
		db := metatest.SQL(t, data)
		for _, s := range statements {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	change("CREATE TABLE kept AS SELECT * FROM log_records WHERE id = 2", "DELETE FROM log_records WHERE id = 2")
	p = launch(t, setup{Data: data})
	admin = newClient(p.URL, admin.token)
	admin.readyz(t, 503, "log: it was cut: it has 2 entries, and 3 were signed")
	p.stop()
	change("INSERT INTO log_records SELECT * FROM kept", "DROP TABLE kept")
	p = launch(t, setup{Data: data})
	admin = newClient(p.URL, admin.token)
	admin.readyz(t, 200, "ok")
	db := metatest.SQL(t, data)
	var record []byte
	if err := db.QueryRow("SELECT record FROM log_records WHERE id = 0").Scan(&record); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE log_records SET record = $1 WHERE id = 0", bytes.ReplaceAll(record, []byte("1.0.0"), []byte("6.6.6"))); err != nil {
		t.Fatal(err)
	}
	admin.readyz(t, 503, "log: entry 0 of the log ")
}
