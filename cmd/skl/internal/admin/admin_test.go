package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

// A bench is a directory with a home of its own, and a token for every registry that is asked.
type bench struct {
	t          *testing.T
	dir, token string
}

func (b *bench) admin() *admin.Admin {
	b.t.Helper()
	env := map[string]string{"HOME": filepath.Join(b.dir, "home"), "SKL_TOKEN": b.token}
	sc, err := scope.Open(scope.Options{Dir: b.dir, Scope: "user", UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {}, Getenv: func(name string) string { return env[name] }})
	if err != nil {
		b.t.Fatal(err)
	}
	return &admin.Admin{Scope: sc}
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	path = filepath.Join(b.dir, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// serve runs a registry until stop is called or the test ends.
func (b *bench) serve(r admin.ServeRequest) (s admin.Serving, stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan admin.Serving, 1), make(chan error, 1)
	r.Addr, r.Log = "127.0.0.1:0", slog.DiscardHandler
	r.Ready = func(s admin.Serving) error {
		ready <- s
		return nil
	}
	go func() { done <- b.admin().Serve(ctx, r) }()
	select {
	case s = <-ready:
	case err := <-done:
		b.t.Fatalf("it does not serve: %v", err)
	}
	ended := false
	stop = func() {
		if cancel(); !ended {
			ended = true
			if err := <-done; err != nil {
				b.t.Errorf("the server ended with %v", err)
			}
		}
	}
	b.t.Cleanup(stop)
	return s, stop
}

// TestUseCases administers a registry over the network from its first start to a mirror, and then its data, without a
// command line.
func TestUseCases(t *testing.T) {
	b := &bench{t: t, dir: t.TempDir()}
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	serving, stop := b.serve(admin.ServeRequest{Data: "data"})
	text, err := os.ReadFile(serving.AdminTokenFile)
	must(err)
	if b.token = strings.TrimSpace(string(text)); b.token != serving.AdminToken {
		t.Errorf("the file does not have the token")
	}
	b.write("home/.config/skl/config.toml", fmt.Sprintf("[registry.corp]\nurl = %q\ndefault = true\n", serving.URL))
	a, at := b.admin(), admin.Site{}

	if dry, err := a.CreateNamespace(ctx, admin.NamespaceRequest{Name: "acme", DryRun: true}); err != nil || dry.Namespaces[0].Name != "acme" {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	if list, err := a.Namespaces(ctx, at); err != nil || len(list.Namespaces) != 0 {
		t.Errorf("a dry run left %+v, %v", list, err)
	}
	if _, err := a.CreateNamespace(ctx, admin.NamespaceRequest{Name: "acme", Approval: "manual"}); err != nil {
		t.Fatal(err)
	}
	if set, err := a.SetNamespace(ctx, admin.NamespaceRequest{Name: "acme", Public: true}); err != nil || !set.Namespaces[0].Public || !set.Namespaces[0].Policy.ManualApproval {
		t.Errorf("set: %+v, %v", set, err)
	}
	if none, err := a.SetNamespace(ctx, admin.NamespaceRequest{Name: "acme", Public: true, Private: true}); diag.ClassOf(err) != diag.Misuse || none.Namespaces != nil {
		t.Errorf("public and private: %+v, %v", none, err)
	}

	_, err = a.Grant(ctx, admin.GrantRequest{Namespace: "acme", Account: "alice", Role: "reader"})
	must(err)
	grants, err := a.Grants(ctx, at, "acme")
	if !slices.ContainsFunc(grants.Grants, hasAccount("alice")) || err != nil {
		t.Errorf("granted: %+v, %v", grants, err)
	}
	_, err = a.Ungrant(ctx, admin.GrantRequest{Namespace: "acme", Account: "alice"})
	must(err)
	if grants, err = a.Grants(ctx, at, "acme"); slices.ContainsFunc(grants.Grants, hasAccount("alice")) || err != nil {
		t.Errorf("taken away: %+v, %v", grants, err)
	}

	made, err := a.CreateToken(ctx, admin.TokenRequest{Namespace: "acme", Account: "ci", Role: "reader", Age: time.Hour})
	must(err)
	state := func() string {
		list, err := a.Tokens(ctx, at)
		must(err)
		for _, token := range list.Tokens {
			if token.ID == made.ID {
				return admin.TokenState(token)
			}
		}
		return "missing"
	}
	if got := state(); made.Text == "" || got != "valid" {
		t.Errorf("a new token is %s", got)
	}
	_, err = a.RevokeToken(ctx, admin.RevokeRequest{ID: made.ID})
	if must(err); state() != "revoked" {
		t.Errorf("a revoked token is %s", state())
	}

	onReleases(t, b, a)
	healthy(t, a, at)
	stop()
	onData(t, b)
}

// onReleases decides about a release, mirrors it and reads about it in the log.
func onReleases(t *testing.T, b *bench, a *admin.Admin) {
	ctx, at := context.Background(), admin.Site{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := attest.NewKey(attest.Ed25519)
	must(err)
	b.write("k.pub", string(key.Public().PEM()))
	signers, err := a.Signers(ctx, admin.SignerRequest{Namespace: "acme", Key: "k.pub"})
	if err != nil || len(signers.Namespaces[0].Policy.Signers) != 1 || admin.SignerName(signers.Namespaces[0].Policy.Signers[0]) != key.Public().Fingerprint() {
		t.Errorf("signers: %+v, %v", signers, err)
	}

	b.write("pdf/SKILL.md", "---\nname: pdf\ndescription: Fills PDF forms. Use when asked for a form.\nlicense: MIT\n---\n# PDF\n")
	_, err = (&ship.Shipper{Scope: a.Scope}).Publish(ctx, ship.PublishRequest{Dir: "pdf", Name: "acme/pdf@1.0.0"})
	must(err)
	if held, err := a.Decide(ctx, admin.DecisionRequest{Release: "acme/pdf@1.0.0", Action: "approve", DryRun: true}); err != nil || held.State != "quarantined" {
		t.Errorf("before a decision: %+v, %v", held, err)
	}
	if seen, err := a.Decide(ctx, admin.DecisionRequest{Release: "acme/pdf@1.0.0", Action: "approve"}); err != nil || seen.State != "approved" {
		t.Errorf("approved: %+v, %v", seen, err)
	}
	if _, err := a.Decide(ctx, admin.DecisionRequest{Release: "acme/pdf@1.0.0", Action: "reject"}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a refusal without a reason: %v", err)
	}

	_, err = a.CreateNamespace(ctx, admin.NamespaceRequest{Name: "copy"})
	must(err)
	mirror := func(dry bool) string {
		out, err := a.Mirror(ctx, admin.MirrorRequest{From: "corp", Namespace: "acme", Into: "copy", DryRun: dry})
		must(err)
		if len(out.Releases) != 1 || !out.OK || out.First != nil {
			t.Fatalf("mirrored: %+v", out)
		}
		return out.Releases[0].Name + " " + out.Releases[0].Result
	}
	for _, want := range []struct {
		dry    bool
		result string
	}{{true, "would copy"}, {false, "copied"}, {false, "there"}} {
		if got := mirror(want.dry); got != "copy/pdf@1.0.0 "+want.result {
			t.Errorf("mirror says %s, not %s", got, want.result)
		}
	}

	if log, err := a.VerifyLog(ctx, at); err != nil || log.Checked != "entries" || log.Size == 0 {
		t.Errorf("the log: %+v, %v", log, err)
	}
	if log, err := a.ReadLog(ctx, admin.LogRequest{About: "copy", Limit: 5}); err != nil || len(log.Entries) == 0 || !strings.HasPrefix(log.Entries[0].Name, "copy/") {
		t.Errorf("its entries: %+v, %v", log, err)
	}
	if lines, err := a.Clients(ctx, admin.ClientsRequest{For: "skl", Namespace: "acme"}); err != nil || len(lines.Clients) != 1 || !slices.Contains(lines.Clients[0].Lines, "skl install acme/pdf") {
		t.Errorf("clients: %+v, %v", lines, err)
	}
}

func hasAccount(name string) func(wire.Grant) bool {
	return func(g wire.Grant) bool { return g.Account == name }
}

func healthy(t *testing.T, a *admin.Admin, at admin.Site) {
	t.Helper()
	found, err := a.Doctor(context.Background(), at)
	for _, f := range found {
		if f.Level == "problem" {
			t.Errorf("%s: %s", f.Area, f.Detail)
		}
	}
	if err != nil || len(found) < 3 {
		t.Errorf("%+v, %v", found, err)
	}
}

// onData does what needs the data itself, and no server.
func onData(t *testing.T, b *bench) {
	a, ctx, at := b.admin(), context.Background(), admin.Site{Data: "data"}
	healthy(t, a, at)
	if list, err := a.Namespaces(ctx, at); err != nil || len(list.Namespaces) != 2 || !list.On.Local {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := a.Namespaces(ctx, admin.Site{Data: "data", Registry: "corp"}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("two ways to name a registry: %v", err)
	}
	if queue, err := a.Queue(ctx, admin.QueueRequest{Site: at}); err != nil || queue.Waiting == nil {
		t.Errorf("the queue: %+v, %v", queue, err)
	}
	publishers, err := a.AddPublisher(ctx, admin.PublisherRequest{Site: at, Namespace: "acme", GitHub: "acme/skills", Ref: "refs/tags/*"})
	if err != nil || admin.BoundTo(publishers.Publishers[0]) != "https://token.actions.githubusercontent.com ref=refs/tags/* repository=acme/skills" {
		t.Fatalf("a publisher: %+v, %v", publishers, err)
	}
	id := publishers.Publishers[0].ID
	if _, err := a.RemovePublisher(ctx, at, "acme", id, true); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if _, err := a.RemovePublisher(ctx, at, "acme", id, false); err != nil {
		t.Error(err)
	}
	if left, err := a.Publishers(ctx, at, "acme"); err != nil || left.Publishers == nil || len(left.Publishers) != 0 {
		t.Errorf("publishers: %+v, %v", left, err)
	}
	warning := admin.AdvisoryRequest{Site: at, Skill: "acme/pdf@1.0.0", New: admin.NewAdvisory{Severity: "low", Summary: "prints too much", ID: "ACME-1"}}
	advisories, err := a.AddAdvisory(ctx, warning)
	if err != nil || len(advisories.Advisories) != 1 || advisories.Advisories[0].Affected[0].Versions[0] != "1.0.0" {
		t.Errorf("an advisory: %+v, %v", advisories, err)
	}
	if _, err := a.WithdrawAdvisory(ctx, at, "acme", "ACME-1", "a mistake", false); err != nil {
		t.Error(err)
	}
	if list, err := a.Advisories(ctx, at, "acme"); err != nil || len(list.Advisories) != 1 || list.Advisories[0].Withdrawn.IsZero() {
		t.Errorf("advisories: %+v, %v", list, err)
	}
	trail, err := a.Audit(ctx, admin.AuditRequest{Site: at, Namespace: "acme"})
	if err != nil || len(trail.Events) < 3 || trail.Events[0].ID < trail.Events[1].ID {
		t.Errorf("the audit trail: %+v, %v", trail, err)
	}
	var first []int64
	n, err := a.ExportAudit(ctx, admin.AuditRequest{Site: at, Namespace: "acme"}, func(e wire.Event) error {
		first = append(first, e.ID)
		return nil
	})
	if err != nil || n != len(trail.Events) || !slices.IsSorted(first) {
		t.Errorf("exported %d events in the order %v, %v", n, first, err)
	}
	if out, err := a.Fsck(ctx, "data"); err != nil || !out.OK || out.Releases != 2 {
		t.Errorf("fsck: %+v, %v", out, err)
	}
	if out, err := a.GC(ctx, admin.GCRequest{Data: "data", Grace: time.Hour}); err != nil || out.Blobs != 0 {
		t.Errorf("gc: %+v, %v", out, err)
	}
	if _, err := a.Backup(ctx, admin.BackupRequest{Data: "data", Dir: "data/backup"}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a backup in the data: %v", err)
	}
	saved, err := a.Backup(ctx, admin.BackupRequest{Data: "data", Dir: "backup"})
	if err != nil || saved.Blobs == 0 || saved.New != saved.Blobs {
		t.Fatalf("backup: %+v, %v", saved, err)
	}
	back, err := a.Restore(ctx, admin.RestoreRequest{Dir: "backup", Data: "again"})
	if err != nil || !back.Found.OK || back.Blobs != saved.Blobs || back.Log != saved.Log {
		t.Errorf("restore: %+v, %v", back, err)
	}

	move := admin.MigrateRequest{Data: "again", To: "moved", DryRun: true}
	if out, err := a.Migrate(ctx, move); err != nil || out.Log != saved.Log {
		t.Errorf("dry run of a move: %+v, %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "new.toml"), []byte("data = \"moved\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	move = admin.MigrateRequest{Data: "again", Config: "new.toml"}
	if out, err := a.Migrate(ctx, move); err != nil || !out.OK || out.Releases != 2 || out.Blobs != saved.Blobs || out.Bucket || out.Database {
		t.Errorf("move: %+v, %v", out, err)
	}
	if _, err := a.Stay(ctx, "again"); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("what was moved stays: %v", err)
	}
	if out, err := a.Stay(ctx, "moved"); err != nil || !out.OK {
		t.Errorf("what was not moved does not stay: %+v, %v", out, err)
	}

	if out, err := a.MigrateSchema(ctx, admin.MigrateRequest{Data: "moved"}); err != nil || out.Schema == nil || out.Schema.Now != out.Schema.Known || out.Dir != filepath.Join(b.dir, "moved") {
		t.Errorf("the schema: %+v, %v", out, err)
	}

	err = filepath.WalkDir(filepath.Join(b.dir, "again", "blobs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("damaged"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := a.Scrub(ctx, "again"); err != nil || out.OK || len(out.Problems) == 0 {
		t.Errorf("scrub of damaged blobs: %+v, %v", out, err)
	}
}

// TestInit prepares a registry, and serves it by the file that was written.
func TestInit(t *testing.T) {
	b := &bench{t: t, dir: t.TempDir()}
	r := admin.InitRequest{URL: "https://skills.example", TLS: "proxy", Data: filepath.Join(b.dir, "data"), DryRun: true}
	if out, err := b.admin().Init(r); err != nil || len(out.Files) != 1 || scope.Exists(out.Files[0].Path) {
		t.Fatalf("a dry run: %+v, %v", out, err)
	}
	if out, err := b.admin().Init(admin.InitRequest{URL: r.URL, TLS: "proxy", Systemd: true, DryRun: true}); err != nil || len(out.Files) != 2 || scope.Exists(out.Files[1].Path) {
		t.Errorf("a dry run, with a unit: %+v, %v", out, err)
	}
	r.DryRun = false
	out, err := b.admin().Init(r)
	if err != nil || !scope.Exists(out.Files[0].Path) {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := b.admin().Init(r); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("files that were there: %v", err)
	}
	s, _ := b.serve(admin.ServeRequest{Config: "registry.toml"})
	if s.URL != r.URL || s.Data != r.Data {
		t.Errorf("serving %+v", s)
	}
	if s.Shown(); scope.Exists(s.AdminTokenFile) {
		t.Error("the token is still in its file")
	}
	if err := b.admin().Serve(context.Background(), admin.ServeRequest{Database: "mysql://db", Log: slog.DiscardHandler}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("another database: %v", err)
	}
}
