package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/testdata/long"
)

// TestDiskFull fills the disk of a registry. Publishes are refused with 507, reading goes on, also after
// a crash and a restart; when there is space again, all works, and nothing was damaged.
func TestDiskFull(t *testing.T) {
	long.Slow(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=20m"); err != nil {
		t.Skipf("skipped: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	s := setup{Data: filepath.Join(disk, "data"), Fsck: true}
	p := launch(t, s)
	admin := newClient(p.URL, p.Admin)
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var acked, refused []*release
	n := 0
	fill := func(size int) {
		for range 40 {
			n++
			r := newRelease("pdf", fmt.Sprintf("1.0.%d", n), size)
			a, err := publisher.publish(t.Context(), r, mode(n%int(modes)))
			switch {
			case err != nil:
				t.Fatalf("%s: %v", r, err)
			case a.status == 201:
				acked = append(acked, r)
				continue
			case a.status != 507:
				t.Fatalf("%s by way %d: %d %s, want 507", r, n%int(modes), a.status, a.body)
			}
			refused = append(refused, r)
			if len(refused)%int(modes) == 0 {
				return // refused in each way
			}
		}
		t.Fatal("the disk does not get full")
	}
	for _, size := range []int{1 << 20, 100 << 10, 8 << 10} {
		fill(size)
	}
	// The rest of the disk is filled, so that not a byte can be written.
	rest, err := os.Create(filepath.Join(disk, "rest"))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64 << 10, 4 << 10} {
		for err = nil; err == nil; {
			_, err = rest.Write(make([]byte, size))
		}
	}
	rest.Close()
	fill(100)

	check := func(when string) {
		t.Helper()
		log := newLog()
		if err := log.follow(t.Context(), admin); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for _, r := range acked {
			if err := whole(t.Context(), reader, r, log); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		for _, r := range refused {
			if err := absent(t.Context(), reader, r, log); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	check("full")
	restart := func() {
		t.Helper()
		p.kill()
		p = launch(t, s)
		if len(p.Fsck.Problems) > 0 {
			t.Errorf("fsck: %+v", p.Fsck.Problems)
		}
		admin, publisher, reader = newClient(p.URL, admin.token), newClient(p.URL, publisher.token), newClient(p.URL, reader.token)
	}
	restart()
	check("full, after a restart")
	fill(100)

	os.Remove(ballast)
	os.Remove(rest.Name())
	for _, r := range refused {
		if a, err := publisher.publish(t.Context(), r, byTag); err != nil || a.status != 201 {
			t.Fatalf("there is space again: %s: %d %s %v", r, a.status, a.body, err)
		}
	}
	again := len(refused)
	acked, refused = append(acked, refused...), nil
	check("with space again")
	s.Every, s.Grace = 100*time.Millisecond, 500*time.Millisecond
	restart()
	check("at the end")
	// Sessions whose last piece found no space wait for it until gc takes them for abandoned.
	staging := filepath.Join(s.Data, "blobs", "staging")
	for end := time.Now().Add(long.Hang); len(files(t, staging)) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if left := files(t, staging); len(left) > 0 {
		t.Errorf("staging holds %v", left)
	}
	if left := files(t, filepath.Join(s.Data, "tmp")); len(left) > 0 {
		t.Errorf("tmp holds %v", left)
	}
	t.Logf("%d releases, of them %d refused at first", len(acked), again)
}
