package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/testdata/long"
)

// A failing context ends when it was asked so many times; the metadata store asks before each statement.
type failing struct {
	context.Context
	left atomic.Int64
}

func (f *failing) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// broken is a store whose commits can fail after all statements were right.
type broken struct {
	meta.Store
	fail atomic.Bool
}

var errCommit = errors.New("injected: no commit")

func (b *broken) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	return b.Store.Update(ctx, func(tx *meta.Tx) error {
		err := fn(tx)
		if err == nil && b.fail.Load() {
			err = errCommit
		}
		return err
	})
}

// hidden checks that readers see nothing of acme/pdf@1.0.0, and that the log has n entries.
func (f *fixture) hidden(b *oci.Built, n int) {
	f.t.Helper()
	ctx := f.t.Context()
	_, rerr := f.Release(ctx, reader, "acme", "pdf", "1.0.0")
	_, terr := f.Manifest(ctx, reader, "acme/pdf", "1.0.0")
	_, merr := f.Manifest(ctx, reader, "acme/pdf", b.Root.Digest.String())
	_, berr := f.StatBlob(ctx, reader, "acme/pdf", blob.Sum(blob.SHA256, b.Blobs[0].Data))
	_, oerr := f.OpenBlob(ctx, reader, "acme/pdf", blob.Sum(blob.SHA256, b.Blobs[0].Data))
	_, serr := f.Skill(ctx, reader, "acme", "pdf")
	found, ferr := f.Search(ctx, reader, meta.Search{Text: "testing"})
	if code(rerr) != "unknown_version" || code(terr) != "unknown_manifest" || code(merr) != "unknown_manifest" || code(berr) != "unknown_blob" ||
		code(oerr) != "unknown_blob" || code(serr) != "unknown_skill" || found.Total != 0 || ferr != nil {
		f.t.Errorf("release %v, tag %v, manifest %v, blob %v %v, skill %v, %d found %v", rerr, terr, merr, berr, oerr, serr, found.Total, ferr)
	}
	if log := f.logged(ctx); len(log) != n {
		f.t.Errorf("log = %q, want %d entries", log, n)
	}
	f.clean()
}

// TestNothingIsVisibleWithoutItsLogEntry lets each way to publish fail before each of its statements, at the
// commit, and because of the log. What failed is invisible and not logged; the same again succeeds.
func TestNothingIsVisibleWithoutItsLogEntry(t *testing.T) {
	long.Slow(t)
	key, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		policy meta.Policy
		stage  func(f *fixture, b *oci.Built) error                      // what comes before
		do     func(ctx context.Context, f *fixture, b *oci.Built) error // makes it visible
		logged int                                                       // entries, when it succeeded
	}{
		{"a tag", meta.Policy{}, (*fixture).stage, func(ctx context.Context, f *fixture, b *oci.Built) error {
			_, err := f.PutManifest(ctx, publisher, "acme/pdf", "1.0.0", b.Root.MediaType, b.Root.Data)
			return err
		}, 1},
		{"by digest", meta.Policy{}, (*fixture).stage, func(ctx context.Context, f *fixture, b *oci.Built) error {
			_, err := f.Publish(ctx, publisher, "acme", "pdf", "1.0.0", b.Root.Digest.String())
			return err
		}, 1},
		{"an archive", meta.Policy{}, nil, func(ctx context.Context, f *fixture, _ *oci.Built) error {
			var zip bytes.Buffer
			if _, err := bundle.PackZip(&zip, skillOf("pdf", "one")); err != nil {
				return err
			}
			_, err := f.PublishArchive(ctx, publisher, "acme", "pdf", "1.0.0", bytes.NewReader(zip.Bytes()), int64(zip.Len()))
			return err
		}, 1},
		{"an approval", meta.Policy{ManualApproval: true}, func(f *fixture, b *oci.Built) error {
			_, err := f.push(publisher, "acme/pdf", "1.0.0", b)
			return err
		}, func(ctx context.Context, f *fixture, _ *oci.Built) error {
			_, err := f.Act(ctx, chief, "acme", "pdf", "1.0.0", registry.Approve, "")
			return err
		}, 2},
		{"a signature", meta.Policy{RequireSignature: true, Signers: []meta.Signer{{Key: string(key.Public().PEM())}}}, func(f *fixture, b *oci.Built) error {
			if _, err := f.push(publisher, "acme/pdf", "1.0.0", b); err != nil {
				return err
			}
			a := f.signature("acme/pdf", "1.0.0", key, b)
			for _, content := range [][]byte{a.Config, a.Layer} {
				if err := f.PutBlob(f.t.Context(), publisher, "acme/pdf", blob.Sum(blob.SHA256, content), -1, bytes.NewReader(content)); err != nil {
					return err
				}
			}
			f.attachment = a
			return nil
		}, func(ctx context.Context, f *fixture, b *oci.Built) error {
			a := f.attachment
			_, err := f.PutManifest(ctx, publisher, "acme/pdf", a.ManifestDescriptor.Digest.String(), a.ManifestDescriptor.MediaType, a.Manifest)
			return err
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, tt.policy)
			store := &broken{Store: f.Meta}
			f.Meta = store
			b := f.build("pdf", "1.0.0", "one")
			if tt.stage != nil {
				if err := tt.stage(f, b); err != nil {
					t.Fatal(err)
				}
			}
			start := len(f.logged(t.Context()))
			f.hidden(b, start)

			store.fail.Store(true)
			if err := tt.do(t.Context(), f, b); !errors.Is(err, errCommit) {
				t.Errorf("a failed commit: %v", err)
			}
			store.fail.Store(false)
			f.hidden(b, start)

			steps := int64(0)
			for ; ; steps++ {
				ctx := &failing{Context: t.Context()}
				ctx.left.Store(steps)
				if err := tt.do(ctx, f, b); err == nil {
					break
				}
				if _, err := f.Release(t.Context(), reader, "acme", "pdf", "1.0.0"); err == nil {
					break // it was the answer that failed
				}
				f.hidden(b, start)
				if t.Failed() {
					t.Fatalf("after a failure at step %d", steps)
				}
			}
			if steps < 10 {
				t.Errorf("only %d steps can fail", steps)
			}
			if r, err := f.Release(t.Context(), reader, "acme", "pdf", "1.0.0"); err != nil || r.LogIndex < 0 {
				t.Errorf("in the end: %+v %v", r, err)
			}
			if got := f.logged(t.Context()); len(got) != start+tt.logged {
				t.Errorf("log = %q", got)
			}
			f.clean()
			t.Logf("failed at each of %d steps", steps)
		})
	}
}

// stage pushes b by digest.
func (f *fixture) stage(b *oci.Built) error {
	_, err := f.push(publisher, "acme/pdf", "", b)
	return err
}

// TestABrokenLogRefuses: where the log cannot take an entry, nothing is published.
func TestABrokenLogRefuses(t *testing.T) {
	f := open(t, meta.Policy{})
	// One record without its hashes, so that the next cannot be appended.
	if err := f.Meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.AppendLog(t.Context(), 0, []byte("{}"), 1000, nil) }); err != nil {
		t.Fatal(err)
	}
	b := f.build("pdf", "1.0.0", "one")
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", b); err == nil {
		t.Error("it was published")
	}
	if _, err := f.Manifest(t.Context(), reader, "acme/pdf", "1.0.0"); code(err) != "unknown_manifest" {
		t.Errorf("and is visible: %v", err)
	}
	if _, err := f.Release(t.Context(), publisher, "acme", "pdf", "1.0.0"); code(err) != "unknown_version" {
		t.Errorf("and is there: %v", err)
	}
	report, err := f.Fsck(t.Context())
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Code != "log" {
		t.Errorf("fsck: %v %+v", err, report.Problems)
	}
}

// TestFsckFindsWhatIsNotAsLogged damages the database in ways that no crash does.
func TestFsckFindsWhatIsNotAsLogged(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		damage     func(tx *meta.Tx, r meta.Release) error
	}{
		{"a release without an entry", "unlogged", func(tx *meta.Tx, r meta.Release) error {
			r.LogIndex = -1
			return tx.UpdateRelease(t.Context(), r)
		}},
		{"an entry without a release", "lost_release", func(tx *meta.Tx, r meta.Release) error {
			return tx.DeleteRelease(t.Context(), r.Namespace, r.Name, r.Version)
		}},
		{"another state", "corrupt_manifest", func(tx *meta.Tx, r meta.Release) error {
			return tx.SetManifestState(t.Context(), r.Repo(), r.Manifest, meta.Draft)
		}},
		{"no manifest", "corrupt_manifest", func(tx *meta.Tx, r meta.Release) error { return tx.DeleteManifest(t.Context(), r.Repo(), r.Manifest) }},
	} {
		f := open(t, meta.Policy{})
		if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "one")); err != nil {
			t.Fatal(err)
		}
		r, err := f.Release(t.Context(), reader, "acme", "pdf", "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Meta.Update(t.Context(), func(tx *meta.Tx) error { return tt.damage(tx, r) }); err != nil {
			t.Fatal(err)
		}
		report, err := f.Fsck(t.Context())
		found := fmt.Sprintf("%+v", report.Problems)
		if err != nil || len(report.Problems) == 0 || report.Problems[0].Code != tt.want {
			t.Errorf("%s: %v %s", tt.name, err, found)
		}
	}
}
