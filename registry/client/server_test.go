package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A shop is a running registry with its operator's client.
type shop struct {
	t testing.TB
	*client.Client
	oci *client.OCI
}

// open starts a registry with the public namespace acme.
func open(t testing.TB) *shop {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	reg, err := server.Open(t.Context(), server.Config{Data: metatest.Dir(t), URL: url, Limits: server.Limits{Read: -1, Write: -1, Download: -1, Failures: -1}})
	if err != nil {
		t.Fatal(err)
	}
	hs := &httptest.Server{Listener: ln, Config: &http.Server{Handler: reg.Handler()}}
	hs.Start()
	t.Cleanup(func() { hs.Close(); reg.Close() })
	s := &shop{t: t}
	s.Client, s.oci = s.as(url, reg.AdminToken)
	if _, err := s.CreateNamespace(t.Context(), wire.NewNamespace{Name: "acme", Public: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// as are the clients of somebody with a token, "" for none.
func (s *shop) as(url, token string) (*client.Client, *client.OCI) {
	s.t.Helper()
	h := &origin.Client{Credential: func(context.Context, string) (origin.Credential, error) { return origin.Credential{Secret: token}, nil }}
	c, err := client.New(h, url)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, client.NewOCI(h)
}

func (s *shop) target(name string) client.Target {
	return client.Target{Host: s.Host(), Repo: "acme/" + name}
}

func input(name, version string) oci.Input {
	return oci.Input{Version: version, Created: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Files: fstest.MapFS{
		"SKILL.md": {Data: fmt.Appendf(nil, "---\nname: %s\ndescription: Reads files, as of %s.\nkeywords: [reading]\n---\nRead them.\n", name, version)},
	}}
}

func build(t testing.TB, name, version string) *oci.Built {
	t.Helper()
	b, err := oci.Build(input(name, version))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// signature signs a build as acme/name@version and makes it a referrer.
func signature(t testing.TB, key attest.PrivateKey, b *oci.Built, name, version string) client.Image {
	t.Helper()
	st, err := attest.NewSignature(attest.Subject{Name: "acme/" + name, Version: version, Digest: b.Root.Digest.String()})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := attest.Sign(key, st)
	if err != nil {
		t.Fatal(err)
	}
	a, err := attest.Attach(bundle, b.Root.Descriptor, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return client.ManifestImage(a.Manifest, a.Config, a.Layer)
}

func (s *shop) publish(name, version string, referrers ...client.Image) wire.Version {
	s.t.Helper()
	b := build(s.t, name, version)
	pushed, err := s.oci.Push(s.t.Context(), s.target(name), client.ImageOf(b), referrers...)
	if err != nil {
		s.t.Fatal(err)
	}
	v, created, err := s.Publish(s.t.Context(), "acme", name, version, wire.PublishRequest{Manifest: pushed.Manifest})
	if err != nil || !created {
		s.t.Fatalf("publish: created %v, %v", created, err)
	}
	return v
}

func isCode(err error, class diag.Class, code string) bool {
	return diag.ClassOf(err) == class && errors.Is(err, diag.Code(code))
}

// A release is invisible until it is published; its signatures come with it.
func TestPublishWithSignature(t *testing.T) {
	s := open(t)
	key, err := attest.NewKey("")
	if err != nil {
		t.Fatal(err)
	}
	b := build(t, "pdf", "1.0.0")
	pushed, err := s.oci.Push(t.Context(), s.target("pdf"), client.ImageOf(b), signature(t, key, b, "pdf", "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	anonymous, pull := s.as(s.URL(), "")
	if _, err := pull.Manifest(t.Context(), s.target("pdf"), pushed.Manifest); err == nil {
		t.Error("a draft is served to everybody")
	}
	if _, err := s.oci.Manifest(t.Context(), s.target("pdf"), pushed.Manifest); err != nil {
		t.Errorf("a draft is not served to its publisher: %v", err)
	}
	v, created, err := s.Publish(t.Context(), "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest})
	if err != nil || !created || v.State != wire.Approved || !v.Signed || v.Log == nil || v.Tree != string(b.Summary.Tree) {
		t.Fatalf("publish gives %+v, %v, %v", v, created, err)
	}
	v, err = anonymous.Version(t.Context(), "acme", "pdf", "1.0.0")
	if err != nil || len(v.Signatures) != 1 || v.Log == nil {
		t.Fatalf("record %+v, %v; want it with its signature and proof", v, err)
	}
	if _, created, err := s.Publish(t.Context(), "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest}); created || err != nil {
		t.Errorf("the same again: created %v, %v", created, err)
	}
	other := build(t, "pdf", "1.0.1")
	pushed, err = s.oci.Push(t.Context(), s.target("pdf"), client.ImageOf(other))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Publish(t.Context(), "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest}); err == nil || diag.ClassOf(err) == diag.Failed {
		t.Errorf("another manifest as the same version gives %v", err)
	}
	// By plain OCI it is the tag that publishes.
	if err := s.oci.Tag(t.Context(), s.target("pdf"), other.Root, "1.0.1"); err != nil {
		t.Fatal(err)
	}
	if err := s.oci.Tag(t.Context(), s.target("pdf"), b.Root, "1.0.1"); !isCode(err, diag.Refused, "version_exists") {
		t.Errorf("moving a tag gives %v, want version_exists", err)
	}
}

// Of many who publish one version at once one succeeds, and the rest are told so.
func TestConcurrentPublish(t *testing.T) {
	s := open(t)
	const n = 20
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for i := range n {
		in := input("pdf", "1.0.0")
		in.Annotations = map[string]string{"who": fmt.Sprint(i)}
		b, err := oci.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			pushed, err := s.oci.Push(t.Context(), s.target("pdf"), client.ImageOf(b))
			created := false
			if err == nil {
				_, created, err = s.Publish(t.Context(), "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest})
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case created:
				counts["created"]++
			case isCode(err, diag.Refused, "version_exists"):
				counts["refused"]++
			default:
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if counts["created"] != 1 || counts["refused"] != n-1 {
		t.Errorf("%v, want one created", counts)
	}
}

// Everything that an operator and a publisher do goes through the client.
func TestAdministration(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	about, err := s.About(ctx)
	if err != nil || about.Software != "skl" || about.Log == "" {
		t.Errorf("about %+v, %v", about, err)
	}
	for i := range 120 {
		_, err := s.CreateNamespace(ctx, wire.NewNamespace{Name: fmt.Sprintf("team%03d", i)})
		must(err)
	}
	namespaces, err := s.Namespaces(ctx)
	if err != nil || len(namespaces) != 121 {
		t.Errorf("%d namespaces, %v", len(namespaces), err)
	}
	if _, err := s.CreateNamespace(ctx, wire.NewNamespace{Name: "acme"}); !isCode(err, diag.Misuse, "namespace_exists") {
		t.Errorf("a second acme gives %v", err)
	}
	public := false
	n, err := s.UpdateNamespace(ctx, "acme", wire.NamespaceChange{Public: &public, Policy: &wire.Policy{ManualApproval: true}})
	if err != nil || n.Public || !n.Policy.ManualApproval {
		t.Errorf("changed namespace %+v, %v", n, err)
	}
	must(s.Grant(ctx, "acme", wire.Grant{Account: "ann", Role: "publisher"}))
	grants, err := s.Grants(ctx, "acme")
	if err != nil || !slices.ContainsFunc(grants, func(g wire.Grant) bool { return g.Account == "ann" && g.Role == "publisher" }) {
		t.Errorf("grants %+v, %v", grants, err)
	}
	token, err := s.CreateToken(ctx, wire.NewToken{Account: "ann", Namespace: "acme", Role: "publisher", Expires: time.Now().Add(time.Hour)})
	if err != nil || !strings.HasPrefix(token.Text, "skl_") {
		t.Fatalf("token %+v, %v", token, err)
	}
	ann, push := s.as(s.URL(), token.Text)
	who, err := ann.WhoAmI(ctx)
	if err != nil || who.Account != "ann" || who.Anonymous {
		t.Errorf("who %+v, %v", who, err)
	}
	b := build(t, "pdf", "1.0.0")
	pushed, err := push.Push(ctx, s.target("pdf"), client.ImageOf(b))
	must(err)
	v, _, err := ann.Publish(ctx, "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest})
	if err != nil || v.State != wire.Quarantined {
		t.Errorf("published %+v, %v; want it in quarantine", v, err)
	}
	if _, err := ann.Act(ctx, "acme", "pdf", "1.0.0", wire.Action{Action: "approve"}); !isCode(err, diag.Failed, "denied") {
		t.Errorf("a publisher approves: %v", err)
	}
	v, err = s.Act(ctx, "acme", "pdf", "1.0.0", wire.Action{Action: "approve", Reason: "read it"})
	if err != nil || v.State != wire.Approved {
		t.Errorf("approved %+v, %v", v, err)
	}
	skill, err := ann.Skill(ctx, "acme", "pdf")
	if err != nil || skill.Latest != "1.0.0" {
		t.Errorf("skill %+v, %v", skill, err)
	}
	files, err := ann.Files(ctx, "acme", "pdf", "1.0.0")
	if err != nil || len(files) != 1 || files[0].Path != "SKILL.md" {
		t.Errorf("files %+v, %v", files, err)
	}
	text, err := ann.File(ctx, "acme", "pdf", "1.0.0", "SKILL.md")
	if err != nil || !strings.Contains(string(text), "name: pdf") {
		t.Errorf("file %q, %v", text, err)
	}
	found, err := ann.Search(ctx, client.Query{Text: "read", Namespace: "acme"})
	if err != nil || found.Total != 1 || found.Items[0].Name != "pdf" {
		t.Errorf("search %+v, %v", found, err)
	}
	if _, err := ann.Downloads(ctx, "acme", "pdf"); err != nil {
		t.Error(err)
	}
	if _, err := ann.Act(ctx, "acme", "pdf", "1.0.0", wire.Action{Action: "yank", Reason: "oops"}); err != nil && !isCode(err, diag.Failed, "denied") {
		t.Error(err)
	}
	events, err := s.Audit(ctx, client.AuditQuery{Namespace: "acme"})
	if err != nil || len(events) == 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
	tokens, err := s.Tokens(ctx)
	if err != nil || !slices.ContainsFunc(tokens, func(x wire.Token) bool { return x.ID == token.ID && x.Text == "" }) {
		t.Errorf("tokens %+v, %v", tokens, err)
	}
	must(s.RevokeToken(ctx, token.ID))
	must(s.Ungrant(ctx, "acme", "ann"))
	if _, err := ann.WhoAmI(ctx); !isCode(err, diag.Failed, "unauthorized") {
		t.Errorf("with a revoked token: %v", err)
	}
}

// A namespace is copied with its signatures, digests and states; a second run sends nothing, and what
// is different at the destination is reported and does not stop the rest.
func TestMirror(t *testing.T) {
	from, to := open(t), open(t)
	ctx := t.Context()
	key, err := attest.NewKey("")
	if err != nil {
		t.Fatal(err)
	}
	signed := build(t, "pdf", "1.0.0")
	from.publish("pdf", "1.0.0", signature(t, key, signed, "pdf", "1.0.0"))
	image, err := oci.BuildImage(input("pdf", "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.oci.Push(ctx, from.target("pdf"), client.ImageOf(image)); err != nil {
		t.Fatal(err)
	}
	if err := from.oci.Tag(ctx, from.target("pdf"), image.Root, "1.0.0-image"); err != nil {
		t.Fatal(err)
	}
	from.publish("spreadsheet", "0.1.0")
	from.publish("pdf", "1.1.0")
	from.publish("pdf", "1.2.0")
	for version, a := range map[string]wire.Action{"1.1.0": {Action: "yank", Reason: "wrong"}, "1.2.0": {Action: "deprecate", Reason: "use spreadsheet"}} {
		if _, err := from.Act(ctx, "acme", "pdf", version, a); err != nil {
			t.Fatal(err)
		}
	}
	from.publish("evil", "1.0.0")
	if _, err := from.Act(ctx, "acme", "evil", "1.0.0", wire.Action{Action: "block", Reason: "malware"}); err != nil {
		t.Fatal(err)
	}
	run := func(items []client.Copying) (report []string, err error) {
		m := client.Mirror{From: from.oci, To: to.oci, Client: to.Client, Origin: from.URL(), Report: func(c client.Copied) {
			line := fmt.Sprintf("%s@%s created=%v referrers=%d", c.Name, c.Version, c.Created, c.Referrers)
			if c.Err != nil {
				line = fmt.Sprintf("%s@%s %v", c.Name, c.Version, errors.Is(c.Err, diag.Code("version_exists")))
			}
			report = append(report, line)
		}}
		err = m.Run(ctx, items)
		return report, err
	}
	items, err := from.Releases(ctx, "acme", "")
	if err != nil {
		t.Fatal(err)
	}
	report, err := run(items)
	want := []string{"pdf@1.0.0 created=true referrers=1", "spreadsheet@0.1.0 created=true referrers=0", "pdf@1.1.0 created=true referrers=0", "pdf@1.2.0 created=true referrers=0"}
	if err != nil || !slices.Equal(report, want) {
		t.Fatalf("report\n%s\n%v", strings.Join(report, "\n"), err)
	}
	for _, item := range items {
		a, err := from.Version(ctx, "acme", item.Name, item.Version)
		if err != nil {
			t.Fatal(err)
		}
		b, err := to.Version(ctx, "acme", item.Name, item.Version)
		if err != nil {
			t.Fatal(err)
		}
		if a.Manifest != b.Manifest || a.Tree != b.Tree || a.State != b.State || a.Reason != b.Reason || len(a.Signatures) != len(b.Signatures) {
			t.Errorf("%s@%s became\n%+v\nof\n%+v", item.Name, item.Version, b, a)
		}
	}
	if m, err := to.oci.Resolve(ctx, to.target("pdf"), "1.0.0-image"); err != nil || m.Digest != image.Root.Digest {
		t.Errorf("the mountable form: %v, %v", m.Digest, err)
	}
	report, err = run(items)
	for i := range want {
		want[i] = strings.Replace(want[i], "true", "false", 1)
	}
	if err != nil || !slices.Equal(report, want) {
		t.Errorf("a second run reports\n%s\n%v", strings.Join(report, "\n"), err)
	}
	// The destination goes its own way with one version.
	to.publish("spreadsheet", "0.2.0")
	in := input("spreadsheet", "0.2.0")
	in.Annotations = map[string]string{"other": "yes"}
	b, err := oci.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.oci.Push(ctx, from.target("spreadsheet"), client.ImageOf(b)); err != nil {
		t.Fatal(err)
	}
	if err := from.oci.Tag(ctx, from.target("spreadsheet"), b.Root, "0.2.0"); err != nil {
		t.Fatal(err)
	}
	from.publish("pdf", "2.0.0")
	if items, err = from.Releases(ctx, "acme", ""); err != nil {
		t.Fatal(err)
	}
	report, err = run(items)
	if !isCode(err, diag.Failed, "version_exists") && !errors.Is(err, diag.Code("version_exists")) || len(report) != 6 || report[4] != "spreadsheet@0.2.0 true" || report[5] != "pdf@2.0.0 created=true referrers=0" {
		t.Errorf("report\n%s\n%v", strings.Join(report, "\n"), err)
	}
}

// An archive can be published without speaking OCI.
func TestPublishArchive(t *testing.T) {
	s := open(t)
	b := build(t, "pdf", "1.0.0")
	v, created, err := s.PublishArchive(t.Context(), "acme", "pdf", "1.0.0", wire.MediaGzip, b.Blobs[0].Data)
	if err != nil || !created || v.Tree != string(b.Summary.Tree) {
		t.Errorf("got %+v, %v, %v; want tree %s", v, created, err, b.Summary.Tree)
	}
	if _, _, err := s.PublishArchive(t.Context(), "acme", "pdf", "1.0.1", wire.MediaZip, []byte("no archive")); err == nil {
		t.Error("garbage was published")
	}
}
