package registry_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/oci"
)

// gc collects at once what is older than an hour, or its namespace's time for drafts.
func (f *fixture) gc() registry.GCReport {
	f.t.Helper()
	report, err := f.GC(f.t.Context(), registry.GCOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.clean()
	return report
}

// blobs counts what is stored.
func (f *fixture) blobs() (n int) {
	f.t.Helper()
	for _, err := range f.Blobs.Blobs(f.t.Context()) {
		if err != nil {
			f.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestDraftsGo(t *testing.T) {
	key, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, meta.Policy{RequireSignature: true, Signers: []meta.Signer{{Key: string(key.Public().PEM())}}, KeepDrafts: 3})
	f.now = time.Now()
	ctx := t.Context()
	push := func(version, tag, body string) *oci.Built {
		t.Helper()
		b := f.build("pdf", version, body)
		if p, err := f.push(publisher, "acme/pdf", tag, b); err != nil || p.State != meta.Draft {
			t.Fatalf("push of %s = %+v, %v", version, p, err)
		}
		return b
	}
	plain, waiting := push("0.1.0", "", "one"), push("1.0.0", "1.0.0", "two")
	again, signed := push("0.2.0", "", "three"), push("2.0.0", "2.0.0", "four")
	if _, err := f.sign(publisher, "acme/pdf", "1.0.0", wrong, waiting); err != nil {
		t.Fatal(err)
	}
	image, err := oci.BuildImage(oci.Input{Files: skillOf("pdf", "five"), Version: "0.3.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range image.Blobs {
		if err := f.PutBlob(ctx, publisher, "acme/pdf", blob.Sum(blob.SHA256, content.Data), content.Size, bytes.NewReader(content.Data)); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range append(image.Manifests, image.Root) {
		if _, err := f.PutManifest(ctx, publisher, "acme/pdf", m.Digest.String(), m.MediaType, m.Data); err != nil {
			t.Fatal(err)
		}
	}

	f.now = f.now.Add(48 * time.Hour)
	if report := f.gc(); report.Drafts != 0 || report.Blobs != 0 {
		t.Errorf("before their time: %+v", report)
	}
	// A draft that is touched again stays: pushed once more, or with one more signature.
	if _, err := f.push(publisher, "acme/pdf", "", again); err != nil {
		t.Fatal(err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "2.0.0", wrong, signed); err != nil || p.State != meta.Draft {
		t.Fatalf("sign = %+v %v", p, err)
	}
	f.now = f.now.Add(48 * time.Hour)
	dry, err := f.GC(ctx, registry.GCOptions{DryRun: true})
	if err != nil || dry.Drafts == 0 {
		t.Errorf("dry run: %+v %v", dry, err)
	}
	// A manifest, a release that waits with its signature and its report, an index with its entries.
	if report, want := f.gc(), 1+3+1+len(image.Manifests); report.Drafts != want || report.Blobs == 0 {
		t.Errorf("%+v, want %d drafts", report, want)
	}
	gone := map[string]bool{plain.Root.Digest.String(): true, waiting.Root.Digest.String(): true, image.Root.Digest.String(): true, image.Manifests[0].Digest.String(): true,
		again.Root.Digest.String(): false, signed.Root.Digest.String(): false}
	for digest, want := range gone {
		if _, err := f.Manifest(ctx, publisher, "acme/pdf", digest); (code(err) == "unknown_manifest") != want {
			t.Errorf("%s: %v", digest, err)
		}
	}
	if _, err := f.Release(ctx, publisher, "acme", "pdf", "1.0.0"); code(err) != "unknown_version" {
		t.Errorf("the release that waited: %v", err)
	}
	// Nobody saw the version, so it is free.
	next := push("1.0.0", "1.0.0", "another body")
	if p, err := f.sign(publisher, "acme/pdf", "1.0.0", key, next); err != nil || p.State != meta.Approved {
		t.Errorf("the version again = %+v, %v", p, err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "2.0.0", key, signed); err != nil || p.State != meta.Approved {
		t.Errorf("what stayed = %+v, %v", p, err)
	}
	f.now = f.now.Add(1000 * time.Hour)
	f.gc()
	for _, r := range []string{"1.0.0", "2.0.0"} {
		if _, err := f.Manifest(ctx, reader, "acme/pdf", r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	f.clean()
}

// TestWhatIsToldToBeThereStays: a client that asks and does not push again has the whole grace to name the blob.
func TestWhatIsToldToBeThereStays(t *testing.T) {
	for _, grace := range []time.Duration{0, 2 * time.Second, 24 * time.Hour} {
		f := open(t, meta.Policy{})
		f.Grace = grace
		f.now = time.Now()
		content := []byte("a layer")
		d := blob.Sum(blob.SHA256, content)
		if err := f.PutBlob(t.Context(), publisher, "acme/pdf", d, -1, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if grace == 0 {
			grace = time.Hour
		}
		for range 5 {
			f.now = f.now.Add(grace * 7 / 10)
			f.gc()
			if _, err := f.StatBlob(t.Context(), publisher, "acme/pdf", d); err != nil {
				t.Errorf("grace %s: %v", grace, err)
			}
		}
		f.now = f.now.Add(grace * 11 / 10)
		if report := f.gc(); report.Blobs != 1 || f.blobs() != 0 {
			t.Errorf("grace %s: %+v", grace, report)
		}
	}
}

// meanwhile is a store that does something else before a blob arrives.
type meanwhile struct {
	blob.Store
	do func()
}

func (m *meanwhile) Stat(ctx context.Context, d blob.Digest) (int64, error) {
	m.do()
	return m.Store.Stat(ctx, d)
}

// TestBackupBesideTheServer: a backup by another process keeps the server's gc from removing what the
// copy of the database names.
func TestBackupBesideTheServer(t *testing.T) {
	metatest.OnlyFiles(t)
	f := open(t, meta.Policy{})
	f.now = time.Now()
	ctx := t.Context()
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "one")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "c", "d"} { // in no manifest, and older than the grace when the backup is under way
		if err := f.PutBlob(ctx, publisher, "acme/pdf", blob.Sum(blob.SHA256, []byte(text)), -1, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	all := f.blobs()
	db, err := metatest.Open(ctx, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	blobs, err := fs.Open(filepath.Join(f.dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	beside := &registry.Registry{Blobs: blobs, Meta: db, Key: f.Key, Now: func() time.Time { return f.now }}
	dir := t.TempDir()
	to, err := fs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(90 * time.Minute)
	copied, err := beside.Backup(ctx, filepath.Join(dir, "meta.db"), &meanwhile{to, func() {
		f.gc()
		f.now = f.now.Add(40 * time.Minute) // a long backup renews its hold
	}}, nil)
	if err != nil || copied.Blobs != all {
		t.Fatalf("%+v %v, want %d blobs", copied, err, all)
	}
	if f.gc(); f.blobs() != all-4 {
		t.Errorf("after the backup %d of %d blobs are left", f.blobs(), all)
	}
	// Blobs held by a backup that crashed are released after a while.
	if err := beside.Meta.Update(ctx, func(tx *meta.Tx) error {
		return tx.PutSetting(ctx, "hold_blobs", f.now.Add(time.Hour).AppendFormat(nil, time.RFC3339Nano))
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.PutBlob(ctx, publisher, "acme/pdf", blob.Sum(blob.SHA256, []byte("e")), -1, strings.NewReader("e")); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(59 * time.Minute)
	f.gc()
	f.now = f.now.Add(2 * time.Minute)
	if f.blobs() != all-3 {
		t.Error("the hold did not hold")
	}
	if f.gc(); f.blobs() != all-4 {
		t.Error("the hold did not end")
	}
}

func TestUploadsThatCannotGoOn(t *testing.T) {
	f := open(t, meta.Policy{})
	store := &broken{Store: f.Meta}
	f.Meta = store
	ctx := t.Context()
	start := func() string {
		t.Helper()
		id, err := f.StartUpload(ctx, publisher, "acme/pdf")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	add := func(id string, offset int64, text string) error {
		_, err := f.AppendUpload(ctx, publisher, "acme/pdf", id, offset, strings.NewReader(text))
		return err
	}
	whole := blob.Sum(blob.SHA256, []byte("onetwo"))

	// The bytes are lost: between commit and note, by a crash.
	id := start()
	if err := add(id, 0, "one"); err != nil {
		t.Fatal(err)
	}
	if err := f.Blobs.Abort(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := add(id, 3, "two"); code(err) != "unknown_upload" {
		t.Errorf("lost bytes: %v", err)
	}
	id = start()
	if err := add(id, 0, "onetwo"); err != nil {
		t.Fatal(err)
	}
	if err := f.Blobs.Abort(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := f.FinishUpload(ctx, publisher, "acme/pdf", id, -1, 0, strings.NewReader(""), whole); code(err) != "unknown_upload" {
		t.Errorf("lost bytes at the end: %v", err)
	}

	// The bytes are stored, and how many cannot be noted.
	id = start()
	store.fail.Store(true)
	if err := add(id, 0, "one"); !errors.Is(err, errCommit) {
		t.Errorf("no note: %v", err)
	}
	store.fail.Store(false)
	if err := add(id, 0, "one"); err != nil {
		t.Errorf("once more: %v", err)
	}
	store.fail.Store(true)
	if err := add(id, 3, "two"); !errors.Is(err, errCommit) {
		t.Errorf("no second note: %v", err)
	}
	store.fail.Store(false)
	if err := add(id, 3, "two"); code(err) != "unknown_upload" {
		t.Errorf("after that: %v", err)
	}

	// A client that does not wait for the answer may go on.
	id = start()
	left, cancel := context.WithCancel(ctx)
	if _, err := f.AppendUpload(left, publisher, "acme/pdf", id, 0, &leaving{strings.NewReader("one"), cancel}); err == nil {
		if n, err := f.UploadOffset(ctx, publisher, "acme/pdf", id); err != nil || n != 3 {
			t.Errorf("offset %d, %v", n, err)
		}
		if err := f.FinishUpload(ctx, publisher, "acme/pdf", id, 3, 3, strings.NewReader("two"), whole); err != nil {
			t.Error(err)
		}
	} else if err := add(id, 0, "one"); err != nil {
		t.Errorf("after %v nobody can go on", err)
	}
	for u, err := range f.Blobs.Uploads(ctx) {
		if err != nil || u.ID != id {
			t.Errorf("%+v is left, %v", u, err)
		}
	}
}

// leaving cancels a request when all is read.
type leaving struct {
	*strings.Reader
	cancel func()
}

func (l *leaving) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.cancel()
	}
	return n, err
}

// standstill is a store after whose Put, when that is the one that was asked for, the process stands still while others collect garbage.
type standstill struct {
	blob.Store
	puts int // until then
	rest func()
}

func (s *standstill) Put(ctx context.Context, d blob.Digest, size int64, r io.Reader) error {
	err := s.Store.Put(ctx, d, size, r)
	if s.puts--; s.puts == 0 {
		s.rest()
	}
	return err
}

// remote is a standstill of a store that is elsewhere.
type remote struct {
	blob.Remote
	*standstill
}

func (r remote) Put(ctx context.Context, d blob.Digest, size int64, body io.Reader) error {
	return r.standstill.Put(ctx, d, size, body)
}

// TestStandstill: a process that stands still for longer than the grace, wherever in a publish, has lost what it stored. It stores that
// again, or refuses; it acknowledges nothing that is not there.
func TestStandstill(t *testing.T) {
	archive := func(f *fixture, version string) error {
		var text bytes.Buffer
		w := zip.NewWriter(&text)
		if err := errors.Join(w.AddFS(skillOf("pdf", "of "+version)), w.Close()); err != nil {
			t.Fatal(err)
		}
		_, err := f.PublishArchive(t.Context(), publisher, "acme", "pdf", version, bytes.NewReader(text.Bytes()), int64(text.Len()))
		return err
	}
	pushed := func(f *fixture, version string) error {
		_, err := f.push(publisher, "acme/pdf", version, f.build("pdf", version, "of "+version))
		return err
	}
	draft := func(f *fixture, version string) error {
		b := f.build("pdf", version, "of "+version)
		if _, err := f.push(publisher, "acme/pdf", "", b); err != nil {
			return err
		}
		_, err := f.Publish(t.Context(), publisher, "acme", "pdf", version, b.Root.Digest.String())
		return err
	}
	for name, c := range map[string]struct {
		publish func(*fixture, string) error
		refuses []string
	}{
		"an archive": {archive, nil},
		"a push":     {pushed, []string{"unavailable", "blob_missing"}}, // the client has what is missing
		"a draft":    {draft, []string{"unavailable", "blob_missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, meta.Policy{})
			f.now = time.Now()
			still := &standstill{Store: f.Blobs, rest: func() {
				f.now = f.now.Add(2 * time.Hour)
				f.gc()
			}}
			plain := f.Blobs
			if elsewhere, is := plain.(blob.Remote); is {
				f.Blobs = remote{elsewhere, still}
			} else {
				f.Blobs = still
			}
			published := 0
			for n, more := 1, true; more; n++ {
				still.puts = n
				version := fmt.Sprintf("1.0.%d", n)
				err := c.publish(f, version)
				more = still.puts <= 0 // else there is no such Put
				if slices.Contains(c.refuses, code(err)) {
					err = c.publish(f, version)
				}
				if err != nil {
					t.Errorf("standing still after %d: %v", n, err)
				}
				published++
				f.clean()
			}
			if published < 5 {
				t.Errorf("%d releases: there are more times to stand still", published)
			}
			f.now = f.now.Add(2 * time.Hour)
			f.gc()
			if releases := f.logged(t.Context()); len(releases) != published {
				t.Errorf("%q, want %d", releases, published)
			}
		})
	}
}

// lingering is a store that takes its time for the first removal.
type lingering struct {
	blob.Store
	before func()
}

func (l *lingering) Delete(ctx context.Context, d blob.Digest, unless time.Time) error {
	l.before()
	return l.Store.Delete(ctx, d, unless)
}

// age makes the files below dir older.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			then := time.Now().Add(-by)
			err = os.Chtimes(path, then, then)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestNeededWhileItGoes: a publish that wakes up while gc removes what it had stored finds it there for good, or stores it again.
func TestNeededWhileItGoes(t *testing.T) {
	metatest.OnlyFiles(t)
	f := open(t, meta.Policy{})
	f.now = time.Now()
	b := f.build("pdf", "1.0.0", "one")
	if _, err := f.push(publisher, "acme/pdf", "", b); err != nil {
		t.Fatal(err)
	}
	plain, asleep, wake, published := f.Blobs, make(chan bool), make(chan bool), make(chan error, 1)
	f.Blobs = &standstill{Store: plain, puts: 4, rest: func() { // the archive and the report are stored
		age(t, filepath.Join(f.dir, "blobs"), 2*time.Hour) // what it stores again later is new
		close(asleep)
		<-wake
	}}
	go func() {
		_, err := f.Publish(t.Context(), publisher, "acme", "pdf", "1.0.0", b.Root.Digest.String())
		published <- err
	}()
	select {
	case <-asleep:
	case err := <-published:
		t.Fatalf("published before it stood still: %v", err)
	}
	var once sync.Once
	collector := &registry.Registry{Meta: f.Meta, Key: f.Key, Now: func() time.Time { return f.now }, Blobs: &lingering{plain, func() {
		once.Do(func() {
			close(wake)
			select {
			case err := <-published:
				published <- err
			case <-time.After(200 * time.Millisecond):
			}
		})
	}}}
	if _, err := collector.GC(t.Context(), registry.GCOptions{}); err != nil {
		t.Error(err)
	}
	once.Do(func() {
		t.Error("gc found nothing to remove")
		close(wake)
	})
	if err := <-published; err != nil {
		t.Error(err)
	}
	f.clean()
}
