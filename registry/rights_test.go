package registry_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// TestPrivateIsLikeMissing: whoever may not read a namespace is told the same of it as of one that does not exist,
// by every question.
func TestPrivateIsLikeMissing(t *testing.T) {
	f := open(t, meta.Policy{})
	b := f.build("pdf", "1.0.0", "one")
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", b); err != nil {
		t.Fatal(err)
	}
	r, err := f.Release(t.Context(), reader, "acme", "pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	layer, manifest := blob.Sum(blob.SHA256, b.Blobs[0].Data), r.Manifest
	upload := func(who registry.Caller, ns string) (string, error) {
		return f.StartUpload(t.Context(), who, ns+"/pdf")
	}
	mine, err := upload(publisher, "acme")
	if err != nil {
		t.Fatal(err)
	}
	questions := map[string]func(ctx context.Context, who registry.Caller, ns string) error{
		"blob size": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.StatBlob(ctx, who, ns+"/pdf", layer)
			return err
		},
		"blob": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.OpenBlob(ctx, who, ns+"/pdf", layer)
			return err
		},
		"manifest": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Manifest(ctx, who, ns+"/pdf", manifest)
			return err
		},
		"tag": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Manifest(ctx, who, ns+"/pdf", "1.0.0")
			return err
		},
		"tags": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Tags(ctx, who, ns+"/pdf", "", -1)
			return err
		},
		"referrers": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Referrers(ctx, who, ns+"/pdf", manifest, "")
			return err
		},
		"release": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Release(ctx, who, ns, "pdf", "1.0.0")
			return err
		},
		"releases": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Releases(ctx, who, ns, "pdf")
			return err
		},
		"skill": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Skill(ctx, who, ns, "pdf")
			return err
		},
		"skills": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Skills(ctx, who, ns, "", 10)
			return err
		},
		"namespace": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Namespace(ctx, who, ns)
			return err
		},
		"downloads": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Downloads(ctx, who, ns, "pdf", 7)
			return err
		},
		"grants": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Grants(ctx, who, ns)
			return err
		},
		"audit": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Events(ctx, who, meta.AuditQuery{Namespace: ns})
			return err
		},
		"grant": func(ctx context.Context, who registry.Caller, ns string) error {
			return f.Grant(ctx, who, meta.Grant{Account: "x", Namespace: ns, Role: "reader"})
		},
		"policy": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.UpdateNamespace(ctx, who, ns, func(*meta.Namespace) error { return nil })
			return err
		},
		"start upload": func(_ context.Context, who registry.Caller, ns string) error { _, err := upload(who, ns); return err },
		"go on": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.UploadOffset(ctx, who, ns+"/pdf", mine)
			return err
		},
		"push blob": func(ctx context.Context, who registry.Caller, ns string) error {
			return f.PutBlob(ctx, who, ns+"/pdf", layer, -1, bytes.NewReader(b.Blobs[0].Data))
		},
		"mount": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.MountBlob(ctx, who, ns+"/pdf", "", layer)
			return err
		},
		"push": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.PutManifest(ctx, who, ns+"/pdf", "1.0.0", b.Root.MediaType, b.Root.Data)
			return err
		},
		"publish": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Publish(ctx, who, ns, "pdf", "1.0.0", manifest)
			return err
		},
		"act": func(ctx context.Context, who registry.Caller, ns string) error {
			_, err := f.Act(ctx, who, ns, "pdf", "1.0.0", registry.Yank, "x")
			return err
		},
		"delete": func(ctx context.Context, who registry.Caller, ns string) error {
			return f.DeleteManifest(ctx, who, ns+"/pdf", manifest)
		},
		"delete tag": func(ctx context.Context, who registry.Caller, ns string) error {
			return f.DeleteTag(ctx, who, ns+"/pdf", "1.0.0")
		},
		"delete blob": func(ctx context.Context, who registry.Caller, ns string) error {
			return f.DeleteBlob(ctx, who, ns+"/pdf", layer)
		},
	}
	for name, ask := range questions {
		for _, who := range []registry.Caller{stranger, nobody} {
			there, missing := ask(t.Context(), who, "acme"), ask(t.Context(), who, "ghost")
			if there == nil || missing == nil {
				t.Errorf("%s by %q: %v, %v", name, who.Account, there, missing)
				continue
			}
			if strings.ReplaceAll(there.Error(), "acme", "ghost") != missing.Error() || code(there) != code(missing) {
				t.Errorf("%s by %q: of a private one %q (%s), of a missing one %q (%s)", name, who.Account, there, code(there), missing, code(missing))
			}
		}
	}
	// Where one may push, another's blob is not there to be mounted, from where it is or from anywhere.
	for _, from := range []string{"acme/pdf", "", "ghost/pdf", "acme/other"} {
		if mounted, err := f.MountBlob(t.Context(), stranger, "other/x", from, layer); mounted || err != nil {
			t.Errorf("mount from %q: %v %v", from, mounted, err)
		}
	}
	if _, err := f.StatBlob(t.Context(), stranger, "other/x", layer); code(err) != "unknown_blob" {
		t.Errorf("after that: %v", err)
	}
	f.clean()
}

// TestANamespaceStaysWhatItIs: else a version could be moved, or something served that was never logged.
func TestANamespaceStaysWhatItIs(t *testing.T) {
	f := open(t, meta.Policy{})
	set := func(name string, any bool) error {
		_, err := f.UpdateNamespace(t.Context(), root, name, func(n *meta.Namespace) error { n.Policy.AcceptAny = any; return nil })
		return err
	}
	for _, any := range []bool{true, false, true, false} {
		if err := set("acme", any); err != nil {
			t.Errorf("while it is empty: %v", err)
		}
	}
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "one")); err != nil {
		t.Fatal(err)
	}
	if err := set("acme", true); code(err) != "in_use" || registry.Status(err) != 409 {
		t.Errorf("with a release: %v", err)
	}
	if _, err := f.UpdateNamespace(t.Context(), root, "acme", func(n *meta.Namespace) error { n.Policy.ManualApproval = true; return nil }); err != nil {
		t.Errorf("another part of the policy: %v", err)
	}
	if err := set("other", true); err != nil {
		t.Fatal(err)
	}
	if err := f.PutBlob(t.Context(), stranger, "other", blob.Sum(blob.SHA256, nil), 0, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if err := set("other", false); code(err) != "in_use" {
		t.Errorf("with a blob: %v", err)
	}
}

// TestPolicyChangesDoNotGetLost: of many changes at once each sees the one before.
func TestPolicyChangesDoNotGetLost(t *testing.T) {
	f := open(t, meta.Policy{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := f.UpdateNamespace(context.Background(), root, "acme", func(n *meta.Namespace) error { n.Policy.KeepDrafts++; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n, err := f.Namespace(t.Context(), root, "acme"); err != nil || n.Policy.KeepDrafts != 50 {
		t.Errorf("%+v %v", n.Policy, err)
	}
}

// TestNoWayAroundARequiredSignature: neither an approval nor an index shows what is not signed.
func TestNoWayAroundARequiredSignature(t *testing.T) {
	key, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, meta.Policy{RequireSignature: true, Signers: []meta.Signer{{Key: string(key.Public().PEM())}}})
	ctx := t.Context()
	f.Scan = func(context.Context, registry.Candidate) (registry.Verdict, error) {
		return registry.Verdict{Quarantine: true, Reason: "looks odd"}, nil
	}
	b := f.build("pdf", "1.0.0", "one")
	if p, err := f.push(publisher, "acme/pdf", "1.0.0", b); err != nil || p.State != meta.Quarantined {
		t.Fatalf("push = %+v, %v", p, err)
	}
	if _, err := f.Act(ctx, chief, "acme", "pdf", "1.0.0", registry.Approve, ""); code(err) != "signature_required" {
		t.Errorf("approval of what is not signed: %v", err)
	}
	if _, err := f.sign(publisher, "acme/pdf", "1.0.0", key, b); err != nil {
		t.Fatal(err)
	}
	if r, err := f.Act(ctx, chief, "acme", "pdf", "1.0.0", registry.Approve, ""); err != nil || r.State != meta.Approved || !r.Signed || len(r.Signer) == 0 {
		t.Errorf("approval of what is signed: %+v %v", r, err)
	}

	f.Scan = nil
	image, err := oci.BuildImage(oci.Input{Files: skillOf("pdf", "two"), Version: ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range image.Blobs {
		if err := f.PutBlob(ctx, publisher, "acme/pdf", blob.Sum(blob.SHA256, content.Data), content.Size, bytes.NewReader(content.Data)); err != nil {
			t.Fatal(err)
		}
	}
	entry := image.Manifests[0]
	if p, err := f.PutManifest(ctx, publisher, "acme/pdf", "2.0.0", entry.MediaType, entry.Data); err != nil || p.State != meta.Draft {
		t.Fatalf("entry = %+v, %v", p, err)
	}
	for _, m := range append(image.Manifests[1:], image.Root) {
		if _, err := f.PutManifest(ctx, publisher, "acme/pdf", m.Digest.String(), m.MediaType, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.sign(publisher, "acme/pdf", "3.0.0", key, image); err != nil {
		t.Fatal(err)
	}
	done, err := f.Publish(ctx, publisher, "acme", "pdf", "3.0.0", image.Root.Digest.String())
	if err != nil || done.Release.State != meta.Approved {
		t.Fatalf("index = %s, %v", done.Release.State, err)
	}
	for _, reference := range []string{"2.0.0", entry.Digest.String()} {
		if _, err := f.Manifest(ctx, reader, "acme/pdf", reference); code(err) != "unknown_manifest" {
			t.Errorf("an unsigned release, as the entry of a signed index, by %s: %v", reference, err)
		}
	}
	if _, err := f.Manifest(ctx, reader, "acme/pdf", image.Manifests[1].Digest.String()); err != nil {
		t.Errorf("another entry: %v", err)
	}
	f.clean()
}

// TestSignedLater: a signature that comes after the publication is shown with the release.
func TestSignedLater(t *testing.T) {
	key, err := attest.NewKey(attest.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, meta.Policy{Signers: []meta.Signer{{Key: string(key.Public().PEM())}}})
	b := f.build("pdf", "1.0.0", "one")
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", b); err != nil {
		t.Fatal(err)
	}
	if p, err := f.sign(publisher, "acme/pdf", "1.0.0", key, b); err != nil || p.State != meta.Approved {
		t.Fatalf("sign = %+v, %v", p, err)
	}
	r, err := f.Release(t.Context(), reader, "acme", "pdf", "1.0.0")
	if err != nil || !r.Signed || !strings.Contains(string(r.Signer), key.Public().Fingerprint()) {
		t.Errorf("release: %v %s %v", r.Signed, r.Signer, err)
	}
	if list, err := f.Signatures(t.Context(), reader, r); err != nil || len(list) != 1 {
		t.Errorf("%d signatures, %v", len(list), err)
	}
	yes := true
	if found, err := f.Search(t.Context(), reader, meta.Search{Signed: &yes}); err != nil || found.Total != 1 {
		t.Errorf("search: %+v %v", found, err)
	}
	if got := f.logged(t.Context()); len(got) != 1 {
		t.Errorf("log = %q", got)
	}
	f.clean()
}

// An account that differs from another by case alone is not made: neither by a token nor by a role. Two that are there
// already go on working.
func TestAccountsThatDifferByCase(t *testing.T) {
	f := open(t, meta.Policy{})
	token := func(name string) error {
		_, _, err := f.CreateToken(t.Context(), root, name, "acme", "reader", time.Time{})
		return err
	}
	grant := func(name string) error {
		return f.Grant(t.Context(), root, meta.Grant{Account: name, Namespace: "acme", Role: "reader"})
	}
	if err := errors.Join(token("bob"), grant("Carla")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Bob", "BOB", "carla", "CARLA"} {
		for what, give := range map[string]func(string) error{"token": token, "role": grant} {
			if err := give(name); !errors.Is(err, diag.Code("near_name")) || registry.Status(err) != 409 {
				t.Errorf("a %s for %s: %v", what, name, err)
			}
		}
	}
	grants, err := f.Grants(t.Context(), root, "acme")
	for _, gr := range grants {
		if gr.Account != "bob" && gr.Account != "Carla" && gr.Account != "root" {
			t.Errorf("%s has a role", gr.Account)
		}
	}
	old := meta.Grant{Account: "BOB", Namespace: "acme", Role: "reader"}
	if err := errors.Join(err, f.Meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutGrant(t.Context(), old) })); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(token("bob"), token("BOB"), grant("bob"), grant("BOB")); err != nil {
		t.Errorf("accounts that were there: %v", err)
	}
}

// Accounts are named by what everybody can type and tell apart; none looks like those of the registry itself.
func TestAccountNames(t *testing.T) {
	f := open(t, meta.Policy{})
	token := func(name string) error {
		_, _, err := f.CreateToken(t.Context(), root, name, "acme", "reader", time.Time{})
		return err
	}
	for _, name := range []string{"a", "ann", "ann.lee", "ann@example.org", "ci-bot_2", "Bea", "x+y", strings.Repeat("a", 100)} {
		if err := token(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", " ", "ann ", " ann", "an n", "аnn", "ann\u200d", "an\u200dn", "ann\u3164", "ａnn", "ann\n", "ann\x1b[2J", "-ann", "ann.", "a/b", "a:b", `a"b`, "local", "Local", "SYSTEM", "anonymous", "Anonymous", strings.Repeat("a", 101)} {
		if err := token(name); !errors.Is(err, diag.Code("invalid_name")) {
			t.Errorf("%q: %v", name, err)
		}
		if err := f.Grant(t.Context(), root, meta.Grant{Account: name, Namespace: "acme", Role: "reader"}); !errors.Is(err, diag.Code("invalid_name")) {
			t.Errorf("a grant for %q: %v", name, err)
		}
	}
}
