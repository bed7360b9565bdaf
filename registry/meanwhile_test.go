package registry_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/testdata/long"
)

// token makes a token and returns who shows it, as a request has it when it begins.
func (f *fixture) token(by registry.Caller, account, namespace string, role auth.Role, expires time.Time) (registry.Caller, error) {
	f.t.Helper()
	_, made, err := f.CreateToken(f.t.Context(), by, account, namespace, string(role), expires)
	if err != nil {
		return registry.Caller{}, err
	}
	return f.shown(made.ID), nil
}

func (f *fixture) shown(id string) registry.Caller {
	f.t.Helper()
	stored, err := f.LookupToken(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return registry.Caller{Identity: auth.Identity{Account: stored.Account, TokenID: stored.ID, Grants: stored.Grants, Expires: stored.Expires}}
}

// A body calls meanwhile after its first half was read.
type body struct {
	content   []byte
	at        int
	meanwhile func()
}

func (b *body) Read(p []byte) (int, error) {
	half := len(b.content) / 2
	switch {
	case b.at == len(b.content):
		return 0, io.EOF
	case b.at < half:
		n := copy(p, b.content[b.at:half])
		b.at += n
		return n, nil
	case b.meanwhile != nil:
		b.meanwhile()
		b.meanwhile = nil
	}
	n := copy(p, b.content[b.at:])
	b.at += n
	return n, nil
}

// TestRightsAreLookedAtAgain: whoever lost the right while a request was under way is refused, and nothing of it
// is there. The request has passed authentication before.
func TestRightsAreLookedAtAgain(t *testing.T) {
	long.Slow(t)
	meanwhile := map[string]struct {
		code string
		do   func(f *fixture, who registry.Caller) error
	}{
		"revoked": {"unauthorized", func(f *fixture, who registry.Caller) error { return f.RevokeToken(f.t.Context(), root, who.TokenID) }},
		"expired": {"unauthorized", func(f *fixture, who registry.Caller) error { f.now = f.now.Add(2 * time.Hour); return nil }},
		"no role any more": {"unknown_namespace", func(f *fixture, who registry.Caller) error {
			return f.Ungrant(f.t.Context(), root, who.Account, "acme")
		}},
		"a reader now": {"denied", func(f *fixture, who registry.Caller) error {
			return f.Grant(f.t.Context(), root, meta.Grant{Account: who.Account, Namespace: "acme", Role: "reader"})
		}},
	}
	content := bytes.Repeat([]byte("bytes "), 1<<10)
	d := blob.Sum(blob.SHA256, content)
	uploads := map[string]func(ctx context.Context, f *fixture, who registry.Caller, r *body) error{
		"one body": func(ctx context.Context, f *fixture, who registry.Caller, r *body) error {
			return f.PutBlob(ctx, who, "acme/pdf", d, int64(len(content)), r)
		},
		"session, closed with the body": func(ctx context.Context, f *fixture, who registry.Caller, r *body) error {
			id, err := f.StartUpload(ctx, who, "acme/pdf")
			if err != nil {
				return err
			}
			return f.FinishUpload(ctx, who, "acme/pdf", id, -1, int64(len(content)), r, d)
		},
		"session, a part": func(ctx context.Context, f *fixture, who registry.Caller, r *body) error {
			id, err := f.StartUpload(ctx, who, "acme/pdf")
			if err != nil {
				return err
			}
			_, err = f.AppendUpload(ctx, who, "acme/pdf", id, -1, r)
			if n, _ := f.UploadOffset(ctx, publisher, "acme/pdf", id); n != 0 {
				f.t.Errorf("the session has %d bytes", n)
			}
			return err
		},
		"session, the last part": func(ctx context.Context, f *fixture, who registry.Caller, r *body) error {
			id, err := f.StartUpload(ctx, who, "acme/pdf")
			if err != nil {
				return err
			}
			if _, err := f.AppendUpload(ctx, who, "acme/pdf", id, 0, bytes.NewReader(content[:100])); err != nil {
				return err
			}
			r.content = content[100:]
			return f.FinishUpload(ctx, who, "acme/pdf", id, 100, int64(len(content)-100), r, d)
		},
		"session, closed without a body": func(ctx context.Context, f *fixture, who registry.Caller, r *body) error {
			id, err := f.StartUpload(ctx, who, "acme/pdf")
			if err != nil {
				return err
			}
			if _, err := f.AppendUpload(ctx, who, "acme/pdf", id, 0, bytes.NewReader(content)); err != nil {
				return err
			}
			r.meanwhile()
			return f.FinishUpload(ctx, who, "acme/pdf", id, -1, 0, bytes.NewReader(nil), d)
		},
	}
	for what, m := range meanwhile {
		for name, upload := range uploads {
			t.Run(name+", "+what, func(t *testing.T) {
				f := open(t, meta.Policy{})
				who, err := f.token(root, "ci", "acme", auth.Publisher, f.now.Add(time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				r := &body{content: content, meanwhile: func() {
					if err := m.do(f, who); err != nil {
						t.Fatal(err)
					}
				}}
				if err := upload(t.Context(), f, who, r); code(err) != m.code {
					t.Errorf("%v, want %s", err, m.code)
				}
				if _, err := f.StatBlob(t.Context(), publisher, "acme/pdf", d); code(err) != "unknown_blob" {
					t.Errorf("the blob: %v", err)
				}
				f.clean()
			})
		}
	}
	// A change with a body is decided after the body was read: the roles of who may have changed while it arrived.
	type change func(ctx context.Context, f *fixture, who registry.Caller) error
	changes := map[string]change{
		"grant": func(ctx context.Context, f *fixture, who registry.Caller) error {
			return f.Grant(ctx, who, meta.Grant{Account: "eve", Namespace: "acme", Role: "admin"})
		},
		"ungrant": func(ctx context.Context, f *fixture, who registry.Caller) error {
			return f.Ungrant(ctx, who, "pat", "acme")
		},
		"token": func(ctx context.Context, f *fixture, who registry.Caller) error {
			_, _, err := f.CreateToken(ctx, who, "eve", "acme", "admin", f.now.Add(time.Minute))
			return err
		},
		"policy": func(ctx context.Context, f *fixture, who registry.Caller) error {
			_, err := f.UpdateNamespace(ctx, who, "acme", func(n *meta.Namespace) error { n.Policy.ManualApproval = true; return nil })
			return err
		},
		"yank": func(ctx context.Context, f *fixture, who registry.Caller) error {
			_, err := f.Act(ctx, who, "acme", "pdf", "1.0.0", registry.Yank, "x")
			return err
		},
		"draft": func(ctx context.Context, f *fixture, who registry.Caller) error {
			b := f.build("pdf", "1.0.0", "one")
			_, err := f.PutManifest(ctx, who, "acme/pdf", b.Root.Digest.String(), b.Root.MediaType, b.Root.Data)
			return err
		},
		"publish by tag": func(ctx context.Context, f *fixture, who registry.Caller) error {
			b := f.build("pdf", "2.0.0", "one")
			_, err := f.PutManifest(ctx, who, "acme/pdf", "2.0.0", b.Root.MediaType, b.Root.Data)
			return err
		},
		"publish": func(ctx context.Context, f *fixture, who registry.Caller) error {
			_, err := f.Publish(ctx, who, "acme", "pdf", "3.0.0", f.build("pdf", "3.0.0", "three").Root.Digest.String())
			return err
		},
		"publish an archive": func(ctx context.Context, f *fixture, who registry.Caller) error {
			var text bytes.Buffer
			w := zip.NewWriter(&text)
			if err := w.AddFS(skillOf("pdf", "four")); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			_, err := f.PublishArchive(ctx, who, "acme", "pdf", "4.0.0", bytes.NewReader(text.Bytes()), int64(text.Len()))
			return err
		},
		"mount": func(ctx context.Context, f *fixture, who registry.Caller) error {
			_, err := f.MountBlob(ctx, who, "acme/x", "acme/pdf", blob.Sum(blob.SHA256, f.build("pdf", "1.0.0", "one").Blobs[0].Data))
			return err
		},
	}
	for what, m := range meanwhile {
		for name, change := range changes {
			t.Run(name+", "+what, func(t *testing.T) {
				f := open(t, meta.Policy{})
				if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "one")); err != nil {
					t.Fatal(err)
				}
				for _, b := range []string{"2.0.0 one", "3.0.0 three"} { // their bytes are there
					var version, text string
					fmt.Sscan(b, &version, &text)
					if _, err := f.push(publisher, "acme/pdf", "", f.build("pdf", version, text)); err != nil {
						t.Fatal(err)
					}
				}
				if err := f.Grant(t.Context(), root, meta.Grant{Account: "pat", Namespace: "acme", Role: "publisher"}); err != nil {
					t.Fatal(err)
				}
				who, err := f.token(root, "ci", "acme", auth.Admin, f.now.Add(time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				if err := m.do(f, who); err != nil {
					t.Fatal(err)
				}
				before := f.logged(t.Context())
				want := m.code
				if want == "unknown_namespace" && slices.Contains([]string{"grant", "ungrant", "token"}, name) {
					want = "denied" // who manages a namespace is asked for first, the same for one that is missing
				}
				if err := change(t.Context(), f, who); code(err) != want {
					t.Errorf("%v, want %s", err, want)
				}
				if after := f.logged(t.Context()); len(after) != len(before) {
					t.Errorf("logged %q", after[len(before):])
				}
				for _, version := range []string{"2.0.0", "3.0.0", "4.0.0"} {
					if _, err := f.Release(t.Context(), root, "acme", "pdf", version); code(err) != "unknown_version" {
						t.Errorf("%s: %v", version, err)
					}
				}
				// The same is done for whoever has the right: the request itself is sound.
				f.now = f.now.Add(-2 * time.Hour)
				sound, err := f.token(root, "other", "acme", auth.Admin, time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				if err := change(t.Context(), f, sound); err != nil {
					t.Errorf("with the right: %v", err)
				}
			})
		}
	}
}
