package registry_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/testdata/long"
)

// A fixture is a registry with the namespace acme, which bob administers.
type fixture struct {
	*registry.Registry
	t          testing.TB
	dir        string
	now        time.Time
	attachment attest.Attachment // what a test made and did not attach yet
}

var (
	root      = caller("root", "*", auth.Admin)
	publisher = caller("pat", "acme", auth.Publisher)
	chief     = caller("max", "acme", auth.Maintainer)
	reader    = caller("ria", "acme", auth.Reader)
	stranger  = caller("sam", "other", auth.Admin)
	nobody    = registry.Caller{Identity: auth.Identity{Anonymous: true}, Remote: "192.0.2.1"}
)

func caller(account, namespace string, role auth.Role) registry.Caller {
	return registry.Caller{Identity: auth.Identity{Account: account, Grants: []auth.Grant{{Namespace: namespace, Role: role}}}, Remote: "192.0.2.9"}
}

func open(t testing.TB, policy meta.Policy) *fixture {
	t.Helper()
	dir := metatest.Dir(t)
	ctx := t.Context()
	db, err := metatest.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	blobs := openBlobs(t, dir, db)
	key, err := tlog.NewKey("registry.example/log")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	f.Registry = &registry.Registry{Blobs: blobs, Meta: db, Key: key, Now: func() time.Time { return f.now }}
	if metatest.Postgres() {
		f.Remember()
	}
	for _, n := range []meta.Namespace{{Name: "acme", Policy: policy}, {Name: "other"}} {
		if err := f.CreateNamespace(ctx, root, n); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// openBlobs opens a store of blobs in dir, or in a bucket where that is what is tested.
func openBlobs(t testing.TB, dir string, db meta.Store) blob.Store {
	t.Helper()
	blobs, err := metatest.OpenBlobs(t.Context(), filepath.Join(dir, "blobs"), db)
	if err != nil {
		t.Fatal(err)
	}
	if remote, is := blobs.(*s3.Store); is {
		return outside{remote, t}
	}
	return blobs
}

// outside is a store that must not be asked in a transaction: it is elsewhere, and asks the metadata itself.
type outside struct {
	*s3.Store
	t testing.TB
}

func (o outside) check() {
	o.t.Helper()
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.Contains(f.Function, "meta/postgres.") || strings.Contains(f.Function, "meta/batch.") {
			o.t.Errorf("the store of blobs is asked in a transaction:\n%s", debug.Stack())
			return
		}
	}
}

func (o outside) Put(ctx context.Context, d blob.Digest, size int64, r io.Reader) error {
	o.check()
	return o.Store.Put(ctx, d, size, r)
}

func (o outside) Open(ctx context.Context, d blob.Digest) (blob.Content, error) {
	o.check()
	return o.Store.Open(ctx, d)
}

func (o outside) Stat(ctx context.Context, d blob.Digest) (int64, error) {
	o.check()
	return o.Store.Stat(ctx, d)
}

func (o outside) Check(ctx context.Context, d blob.Digest) error {
	o.check()
	return o.Store.Check(ctx, d)
}

func (o outside) Delete(ctx context.Context, d blob.Digest, unless time.Time) error {
	o.check()
	return o.Store.Delete(ctx, d, unless)
}

// skillOf is the files of a small skill.
func skillOf(name, body string) fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":       {Data: []byte("---\nname: " + name + "\ndescription: Says " + body + ". Use when a test asks for it.\nmetadata:\n  keywords: testing, words\n---\n\n# Say\n\n" + body + "\n"), Mode: 0o644},
		"scripts/run.sh": {Data: []byte("#!/bin/sh\necho " + body + "\n"), Mode: 0o755},
	}
}

func (f *fixture) build(name, version, body string) *oci.Built {
	f.t.Helper()
	b, err := oci.Build(oci.Input{Files: skillOf(name, body), Version: version})
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// push stages a built skill as an OCI client does, and returns what the manifest push said.
func (f *fixture) push(who registry.Caller, repo, reference string, b *oci.Built) (registry.Pushed, error) {
	f.t.Helper()
	for _, content := range b.Blobs {
		d := blob.Sum(blob.SHA256, content.Data)
		if err := f.PutBlob(f.t.Context(), who, repo, d, content.Size, bytes.NewReader(content.Data)); err != nil {
			return registry.Pushed{}, err
		}
	}
	if reference == "" {
		reference = b.Root.Digest.String()
	}
	return f.PutManifest(f.t.Context(), who, repo, reference, b.Root.MediaType, b.Root.Data)
}

func code(err error) string {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func (f *fixture) logged(ctx context.Context) []string {
	f.t.Helper()
	var actions []string
	err := f.Meta.View(f.t.Context(), func(tx *meta.Tx) error {
		n, err := tx.LogSize(ctx)
		if err != nil {
			return err
		}
		records, err := tx.LogRecords(ctx, 0, n)
		for _, text := range records {
			r, err := tlog.ParseRecord(text)
			if err != nil {
				return err
			}
			actions = append(actions, string(r.Action)+" "+r.Name+"@"+r.Version)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return actions
}

func (f *fixture) clean() {
	f.t.Helper()
	report, err := f.Fsck(f.t.Context())
	if err != nil || len(report.Problems) > 0 {
		f.t.Errorf("fsck: %v %+v", err, report.Problems)
	}
}

func TestPublishByTagIsVisibleLoggedAndProved(t *testing.T) {
	f := open(t, meta.Policy{})
	ctx := t.Context()
	b := f.build("pdf", "1.4.2", "one")
	p, err := f.push(publisher, "acme/pdf", "1.4.2", b)
	if err != nil || !p.Created || p.State != meta.Approved {
		t.Fatalf("push = %+v, %v", p, err)
	}
	if got := f.logged(ctx); !slices.Equal(got, []string{"publish acme/pdf@1.4.2"}) {
		t.Errorf("log = %q", got)
	}
	r, err := f.Release(ctx, reader, "acme", "pdf", "1.4.2")
	if err != nil {
		t.Fatal(err)
	}
	if r.Tree != string(b.Summary.Tree) || r.Manifest != b.Root.Digest.String() || r.Description != "Says one. Use when a test asks for it." ||
		!slices.Equal(r.Keywords, []string{"testing", "words"}) || len(r.Files) != 2 || !r.Files[1].Executable {
		t.Errorf("release = %+v", r)
	}
	proof, err := f.LogProof(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := proof.Verify(tlog.Release{Name: "acme/pdf", Version: "1.4.2", Manifest: r.Manifest, Tree: r.Tree}); err != nil {
		t.Errorf("proof: %v", err)
	}
	m, err := f.Manifest(ctx, reader, "acme/pdf", "1.4.2")
	if err != nil || !bytes.Equal(m.Bytes, b.Root.Data) {
		t.Errorf("manifest: %v", err)
	}
	content, err := f.OpenBlob(ctx, reader, "acme/pdf", blob.Sum(blob.SHA256, b.Blobs[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	content.Close()
	z, err := f.OpenZip(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if archive, err := zip.NewReader(z, z.Size()); err != nil || len(archive.File) != 2 || archive.File[0].Name != "SKILL.md" {
		t.Errorf("zip: %v", err)
	}
	f.CountPull(m)
	f.CountDownload("acme", "pdf", "1.4.2")
	if err := f.FlushDownloads(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := f.Release(ctx, reader, "acme", "pdf", "1.4.2"); err != nil || r.Downloads != 2 {
		t.Errorf("%d downloads, %v; a pull and a download are 2", r.Downloads, err)
	}
	if found, err := f.Search(ctx, reader, meta.Search{Text: "testing"}); err != nil || found.Total != 1 {
		t.Errorf("search = %+v, %v", found, err)
	}
	f.clean()
}

func TestNothingIsReachableBeforeItIsPublished(t *testing.T) {
	f := open(t, meta.Policy{})
	ctx := t.Context()
	b := f.build("pdf", "1.0.0", "draft")
	if p, err := f.push(publisher, "acme/pdf", "", b); err != nil || p.State != meta.Draft {
		t.Fatalf("push by digest = %+v, %v", p, err)
	}
	digest, layer := b.Root.Digest.String(), blob.Sum(blob.SHA256, b.Blobs[0].Data)
	for name, who := range map[string]registry.Caller{"reader": reader, "stranger": stranger} {
		_, err := f.Manifest(ctx, who, "acme/pdf", digest)
		_, berr := f.StatBlob(ctx, who, "acme/pdf", layer)
		_, terr := f.Tags(ctx, who, "acme/pdf", "", -1)
		_, serr := f.Skill(ctx, who, "acme", "pdf")
		if code(err) != "unknown_manifest" || code(berr) != "unknown_blob" || code(terr) != "not_found" || code(serr) != "unknown_skill" {
			t.Errorf("%s: manifest %v, blob %v, tags %v, skill %v", name, err, berr, terr, serr)
		}
	}
	if _, err := f.Manifest(ctx, nobody, "acme/pdf", digest); code(err) != "unauthorized" {
		t.Errorf("anonymous: %v", err)
	}
	if _, err := f.Manifest(ctx, publisher, "acme/pdf", digest); err != nil {
		t.Errorf("its publisher: %v", err)
	}
	if mounted, err := f.MountBlob(ctx, stranger, "other/x", "acme/pdf", layer); mounted || err != nil {
		t.Errorf("a stranger mounted it: %v %v", mounted, err)
	}
	done, err := f.Publish(ctx, publisher, "acme", "pdf", "1.0.0", digest)
	if err != nil || !done.Created || done.Proof == nil {
		t.Fatalf("publish = %+v, %v", done, err)
	}
	if _, err := f.Manifest(ctx, reader, "acme/pdf", "1.0.0"); err != nil {
		t.Errorf("after publish: %v", err)
	}
	if _, err := f.StatBlob(ctx, reader, "acme/pdf", layer); err != nil {
		t.Errorf("after publish: %v", err)
	}
	f.clean()
}

func TestVersionsDoNotChange(t *testing.T) {
	f := open(t, meta.Policy{})
	ctx := t.Context()
	first, second := f.build("pdf", "1.0.0", "one"), f.build("pdf", "1.0.0", "two")
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", first); err != nil {
		t.Fatal(err)
	}
	if p, err := f.push(publisher, "acme/pdf", "1.0.0", first); err != nil || p.Created {
		t.Errorf("the same again = %+v, %v", p, err)
	}
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", second); code(err) != "version_exists" {
		t.Errorf("another manifest: %v", err)
	}
	if _, err := f.Publish(ctx, publisher, "acme", "pdf", "1.0.0", first.Root.Digest.String()); code(err) != "version_exists" {
		t.Errorf("REST, the same: %v", err)
	}
	if _, err := f.push(publisher, "acme/pdf", "", f.build("pdf", "", "three")); err != nil {
		t.Fatal(err)
	}
	three := f.build("pdf", "", "three").Root.Digest.String()
	if _, err := f.Publish(ctx, publisher, "acme", "pdf", "3.0.0", three); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Publish(ctx, publisher, "acme", "pdf", "4.0.0", three); code(err) != "version_exists" {
		t.Errorf("one manifest under two versions: %v", err)
	}
	for what, err := range map[string]error{
		"manifest": f.DeleteManifest(ctx, root, "acme/pdf", first.Root.Digest.String()),
		"tag":      f.DeleteTag(ctx, root, "acme/pdf", "1.0.0"),
	} {
		if code(err) != "denied" {
			t.Errorf("deleting the %s: %v", what, err)
		}
	}
	if n := len(f.logged(ctx)); n != 2 {
		t.Errorf("%d log entries, want 2", n)
	}
	f.clean()
}

func TestStates(t *testing.T) {
	f := open(t, meta.Policy{ManualApproval: true})
	ctx := t.Context()
	b := f.build("pdf", "1.0.0", "one")
	p, err := f.push(publisher, "acme/pdf", "1.0.0", b)
	if err != nil || p.State != meta.Quarantined {
		t.Fatalf("push = %+v, %v", p, err)
	}
	layer := blob.Sum(blob.SHA256, b.Blobs[0].Data)
	seen := func() string {
		m, err := f.Manifest(ctx, reader, "acme/pdf", "1.0.0")
		_, berr := f.StatBlob(ctx, reader, "acme/pdf", layer)
		s, serr := f.Skill(ctx, reader, "acme", "pdf")
		word := func(err error, ok string) string {
			if err != nil {
				return code(err)
			}
			return ok
		}
		return strings.Join([]string{word(err, "served "+m.Warning), word(berr, "blob"), word(serr, "listed "+string(s.State))}, ", ")
	}
	steps := []struct {
		who    registry.Caller
		action registry.Action
		reason string
		want   string // error code, or what a reader sees then
	}{
		{publisher, registry.Approve, "", "denied"},
		{reader, registry.Yank, "x", "denied"},
		{nobody, registry.Yank, "x", "unauthorized"},
		{chief, registry.Yank, "broken", "wrong_state"},
		{chief, registry.Approve, "", "served , blob, listed approved"},
		{chief, registry.Deprecate, "", "invalid_request"},
		{chief, registry.Deprecate, "use pdf2", "served deprecated: use pdf2, blob, listed deprecated"},
		{chief, registry.Undeprecate, "", "served , blob, listed approved"},
		{chief, registry.Yank, "loses pages", "served yanked: loses pages, blob, unknown_skill"},
		{chief, registry.Yank, "again", "wrong_state"},
		{chief, registry.Unyank, "", "served , blob, listed approved"},
		{chief, registry.Quarantine, "a report", "unknown_manifest, unknown_blob, unknown_skill"},
		{chief, registry.Approve, "", "served , blob, listed approved"},
		{chief, registry.Block, "malware", "denied"},
		{root, registry.Block, "malware", "blocked, blocked, unknown_skill"},
		{root, registry.Approve, "", "wrong_state"},
		{chief, registry.Unblock, "", "denied"},
		{publisher, registry.Unblock, "", "denied"},
		{nobody, registry.Unblock, "", "unauthorized"},
		{root, registry.Unblock, "a false alarm", "served , blob, listed approved"},
		{root, registry.Unblock, "", "wrong_state"},
		// A release that was served once can only be rejected by a caller who may block it, however it came into
		// quarantine.
		{chief, registry.Yank, "slow", "served yanked: slow, blob, unknown_skill"},
		{chief, registry.Quarantine, "a report", "unknown_manifest, unknown_blob, unknown_skill"},
		{chief, registry.Reject, "x", "denied"},
		{root, registry.Reject, "malware", "blocked, blocked, unknown_skill"},
		{chief, registry.Unblock, "", "denied"},
		{root, registry.Unblock, "", "unknown_manifest, unknown_blob, unknown_skill"},
		{chief, registry.Approve, "", "served , blob, listed approved"},
		{chief, registry.Deprecate, "use pdf2", "served deprecated: use pdf2, blob, listed deprecated"},
		{root, registry.Block, "malware", "blocked, blocked, unknown_skill"},
		{root, registry.Unblock, "no malware", "served deprecated: use pdf2, blob, listed deprecated"},
	}
	for _, s := range steps {
		_, err := f.Act(ctx, s.who, "acme", "pdf", "1.0.0", s.action, s.reason)
		got := ""
		if err != nil {
			got = code(err)
		} else {
			got = seen()
		}
		if got != s.want {
			t.Errorf("%s by %s: %s, want %s", s.action, s.who.Account, got, s.want)
		}
	}
	want := []string{"approve", "publish", "deprecate", "undeprecate", "yank", "unyank", "quarantine", "approve", "block", "unblock",
		"yank", "quarantine", "reject", "unblock", "approve", "deprecate", "block", "unblock"}
	for i, line := range f.logged(ctx) {
		if action, _, _ := strings.Cut(line, " "); i >= len(want) || action != want[i] {
			t.Errorf("log entry %d = %s, want %v", i, line, want)
		}
	}
	f.clean()
}

func TestRefusals(t *testing.T) {
	f := open(t, meta.Policy{})
	good := f.build("pdf", "1.0.0", "one")
	bad := func(files fstest.MapFS) *oci.Built {
		b, err := oci.Build(oci.Input{Files: files, Version: "1.0.0"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	extra := skillOf("pdf", "x")
	extra["CON.md"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	image := &oci.Built{Blobs: good.Blobs, Root: good.Root}
	image.Root.Data = []byte(`{"schemaVersion":2,"mediaType":"` + v1.MediaTypeImageManifest + `","artifactType":"application/spdx+json","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"` +
		good.Blobs[1].Digest.String() + `","size":2},"layers":[]}`)
	for _, tt := range []struct {
		name, repo, tag string
		who             registry.Caller
		b               *oci.Built
		want            string
	}{
		{"another name", "acme/other", "1.0.0", publisher, good, "invalid_bundle"},
		{"another version", "acme/pdf", "2.0.0", publisher, good, "invalid_bundle"},
		{"no version", "acme/pdf", "latest", publisher, good, "invalid_version"},
		{"a leading v", "acme/pdf", "v1.0.0", publisher, good, "invalid_version"},
		{"no namespace", "pdf", "1.0.0", root, good, "unknown_namespace"},
		{"three levels", "acme/pdf/x", "1.0.0", publisher, good, "invalid_name"},
		{"a reserved name", "acme/skills", "1.0.0", publisher, bad(skillOf("skills", "x")), "name_reserved"},
		{"not portable", "acme/pdf", "1.0.0", publisher, bad(extra), "invalid_bundle"},
		{"not a skill", "acme/pdf", "1.0.0", publisher, image, "not_a_skill"},
		{"a reader", "acme/pdf", "1.0.0", reader, good, "denied"},
		{"a stranger", "acme/pdf", "1.0.0", stranger, good, "unknown_namespace"},
		{"anonymous", "acme/pdf", "1.0.0", nobody, good, "unauthorized"},
	} {
		if _, err := f.push(tt.who, tt.repo, tt.tag, tt.b); code(err) != tt.want {
			t.Errorf("%s: %v, want code %s", tt.name, err, tt.want)
		}
	}
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", good); err != nil {
		t.Fatal(err)
	}
	if got := f.logged(t.Context()); len(got) != 1 {
		t.Errorf("log = %q", got)
	}
	f.clean()
}

// signature is one by key, ready to be attached to a manifest.
func (f *fixture) signature(repo, version string, key attest.PrivateKey, b *oci.Built) attest.Attachment {
	f.t.Helper()
	st, err := attest.NewSignature(attest.Subject{Name: repo, Version: version, Digest: b.Root.Digest.String()})
	if err != nil {
		f.t.Fatal(err)
	}
	bundle, err := attest.Sign(key, st)
	if err != nil {
		f.t.Fatal(err)
	}
	a, err := attest.Attach(bundle, b.Root.Descriptor, f.now)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// sign attaches a signature by key to a manifest.
func (f *fixture) sign(who registry.Caller, repo, version string, key attest.PrivateKey, b *oci.Built) (registry.Pushed, error) {
	f.t.Helper()
	a := f.signature(repo, version, key, b)
	for _, content := range [][]byte{a.Config, a.Layer} {
		if err := f.PutBlob(f.t.Context(), who, repo, blob.Sum(blob.SHA256, content), int64(len(content)), bytes.NewReader(content)); err != nil {
			return registry.Pushed{}, err
		}
	}
	return f.PutManifest(f.t.Context(), who, repo, a.ManifestDescriptor.Digest.String(), a.ManifestDescriptor.MediaType, a.Manifest)
}

func TestRequiredSignature(t *testing.T) {
	right, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := attest.NewKey(attest.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, meta.Policy{RequireSignature: true, Signers: []meta.Signer{{Key: string(right.Public().PEM())}}})
	ctx := t.Context()

	// A plain client pushes the tag first and the signature later.
	b := f.build("pdf", "1.0.0", "one")
	if p, err := f.push(publisher, "acme/pdf", "1.0.0", b); err != nil || p.State != meta.Draft {
		t.Fatalf("push = %+v, %v", p, err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "1.0.0", wrong, b); err != nil || p.State != meta.Draft {
		t.Fatalf("a foreign signature = %+v, %v", p, err)
	}
	if _, err := f.Manifest(ctx, reader, "acme/pdf", "1.0.0"); code(err) != "unknown_manifest" {
		t.Errorf("before it is signed: %v", err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "1.0.0", right, b); err != nil || p.State != meta.Approved {
		t.Fatalf("the right signature = %+v, %v", p, err)
	}
	r, err := f.Release(ctx, reader, "acme", "pdf", "1.0.0")
	if err != nil || !r.Signed || !strings.Contains(string(r.Signer), right.Public().Fingerprint()) {
		t.Errorf("release: %s, %v", r.Signer, err)
	}
	if list, err := f.Referrers(ctx, reader, "acme/pdf", r.Manifest, oci.SigstoreBundle); err != nil || len(list) != 2 {
		t.Errorf("%d referrers, %v", len(list), err)
	}

	// skl stages by digest, signs, and publishes.
	b = f.build("pdf", "1.1.0", "two")
	if _, err := f.push(publisher, "acme/pdf", "", b); err != nil {
		t.Fatal(err)
	}
	if _, err := f.sign(publisher, "acme/pdf", "1.1.0", right, b); err != nil {
		t.Fatal(err)
	}
	if done, err := f.Publish(ctx, publisher, "acme", "pdf", "1.1.0", b.Root.Digest.String()); err != nil || done.Release.State != meta.Approved {
		t.Errorf("publish = %+v, %v", done.Release.State, err)
	}

	// A signature of another version does not count.
	b = f.build("pdf", "1.2.0", "three")
	if _, err := f.push(publisher, "acme/pdf", "1.2.0", b); err != nil {
		t.Fatal(err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "1.1.0", right, b); err != nil || p.State != meta.Draft {
		t.Errorf("a replayed statement = %+v, %v", p, err)
	}
	f.clean()
}

func TestImageOfAVersion(t *testing.T) {
	f := open(t, meta.Policy{})
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "one")); err != nil {
		t.Fatal(err)
	}
	image := func(body string) *oci.Built {
		b, err := oci.BuildImage(oci.Input{Files: skillOf("pdf", body), Version: "1.0.0"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	push := func(b *oci.Built) (registry.Pushed, error) {
		for _, content := range b.Blobs {
			if err := f.PutBlob(t.Context(), publisher, "acme/pdf", blob.Sum(blob.SHA256, content.Data), content.Size, bytes.NewReader(content.Data)); err != nil {
				return registry.Pushed{}, err
			}
		}
		for _, m := range b.Manifests {
			if _, err := f.PutManifest(t.Context(), publisher, "acme/pdf", m.Digest.String(), m.MediaType, m.Data); err != nil {
				return registry.Pushed{}, err
			}
		}
		return f.PutManifest(t.Context(), publisher, "acme/pdf", "1.0.0-image", b.Root.MediaType, b.Root.Data)
	}
	if _, err := push(image("other files")); code(err) != "invalid_bundle" {
		t.Errorf("an image of other files: %v", err)
	}
	b := image("one")
	if p, err := push(b); err != nil || p.State != meta.Approved {
		t.Fatalf("image = %+v, %v", p, err)
	}
	for _, reference := range []string{"1.0.0-image", b.Manifests[1].Digest.String()} {
		if _, err := f.Manifest(t.Context(), reader, "acme/pdf", reference); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
	}
	if _, err := f.Act(t.Context(), root, "acme", "pdf", "1.0.0", registry.Block, "malware"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Manifest(t.Context(), reader, "acme/pdf", b.Manifests[0].Digest.String()); code(err) != "blocked" {
		t.Errorf("the image of a blocked release: %v", err)
	}
	f.clean()
}

// TestOneOfManyPublishesWins: of 100 concurrent publishes of one version exactly one is
// created, the others are told that it exists, and the log has one entry.
func TestOneOfManyPublishesWins(t *testing.T) {
	long.Slow(t)
	f := open(t, meta.Policy{})
	const clients = 100
	manifests := make([]string, clients)
	for i := range manifests {
		b := f.build("pdf", "1.0.0", fmt.Sprint("body ", i))
		if _, err := f.push(publisher, "acme/pdf", "", b); err != nil {
			t.Fatal(err)
		}
		manifests[i] = b.Root.Digest.String()
	}
	var wg sync.WaitGroup
	results := make([]error, clients)
	for i := range clients {
		wg.Go(func() {
			_, results[i] = f.Publish(context.Background(), publisher, "acme", "pdf", "1.0.0", manifests[i])
		})
	}
	wg.Wait()
	created, exists := 0, 0
	for _, err := range results {
		switch {
		case err == nil:
			created++
		case code(err) == "version_exists" && registry.Status(err) == 409:
			exists++
		default:
			t.Error(err)
		}
	}
	if created != 1 || exists != clients-1 {
		t.Errorf("%d were created and %d refused", created, exists)
	}
	if got := f.logged(t.Context()); len(got) != 1 {
		t.Errorf("log = %q", got)
	}
	f.clean()
}
