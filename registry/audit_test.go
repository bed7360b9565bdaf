package registry_test

import (
	"slices"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// Whatever changes what others see, or may do, is in the audit trail, also what no release is made of.
func TestEveryChangeIsAnEvent(t *testing.T) {
	f := open(t, meta.Policy{AcceptAny: true})
	ctx := t.Context()
	bob := caller("bob", "acme", auth.Admin)
	b := f.build("pdf", "1.0.0", "x")
	digest := b.Root.Digest.String()
	try := func(want string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		events, err := f.Events(ctx, root, meta.AuditQuery{Limit: 1})
		if err != nil || len(events) != 1 || events[0].Action+" "+events[0].Target != want {
			t.Errorf("the last event is %+v, %v; want %s", events, err, want)
		}
	}
	push := func(who registry.Caller, repo, reference string) func() error {
		return func() error { _, err := f.push(who, repo, reference, b); return err }
	}
	try("push acme/pdf@"+digest, push(bob, "acme/pdf", ""))
	try("push acme/pdf@"+digest, push(bob, "acme/pdf", "latest"))
	try("tag-delete acme/pdf", func() error { return f.DeleteTag(ctx, bob, "acme/pdf", "latest") })
	layer := blob.Sum(blob.SHA256, b.Blobs[0].Data)
	try("blob-delete acme/pdf@"+layer.String(), func() error { return f.DeleteBlob(ctx, bob, "acme/pdf", layer) })
	push(bob, "acme/pdf", "")() // the blob is there again
	try("delete acme/pdf@"+digest, func() error { return f.DeleteManifest(ctx, bob, "acme/pdf", digest) })
	try("push other/pdf@"+digest, push(root, "other/pdf", "")) // a draft
	try("publish other/pdf@1.0.0", push(root, "other/pdf", "1.0.0"))
	events, err := f.Events(ctx, root, meta.AuditQuery{Action: "push"})
	if err != nil || len(events) != 3 || !slices.ContainsFunc(events, func(e meta.Event) bool { return e.Account == "bob" }) {
		t.Errorf("pushes: %+v, %v", events, err)
	}
}
