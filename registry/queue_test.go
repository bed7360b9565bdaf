package registry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// Names may be alike within a namespace; between owners a near one needs an admin of the registry, who is named in the audit trail.
func TestNearNamesAreOfOtherOwners(t *testing.T) {
	f := open(t, meta.Policy{})
	ctx := t.Context()
	both := registry.Caller{Identity: auth.Identity{Account: "bea", Grants: []auth.Grant{{Namespace: "acme", Role: auth.Admin}, {Namespace: "other", Role: auth.Admin}}}}
	for _, name := range []string{"pdf-forms", "pdf-form", "pdf-f0rms"} {
		if _, err := f.push(publisher, "acme/"+name, "1.0.0", f.build(name, "1.0.0", "x")); err != nil {
			t.Errorf("acme/%s: %v", name, err)
		}
	}
	near := func(who registry.Caller) string {
		_, err := f.push(who, "other/pdfforms", "1.0.0", f.build("pdfforms", "1.0.0", "x"))
		return code(err)
	}
	if got := near(both); got != "near_name" {
		t.Errorf("near to what the publisher may read: %s", got)
	}
	allow := func(who registry.Caller, names ...string) string {
		_, err := f.UpdateNamespace(ctx, who, "other", func(n *meta.Namespace) error { n.Policy.NearNames = names; return nil })
		return code(err)
	}
	if got := allow(both, "pdfforms"); got != "denied" {
		t.Errorf("an admin of the namespace allows it: %s", got)
	}
	if got := allow(root, "pdfforms"); got != "<nil>" {
		t.Errorf("an admin of the registry allows it: %s", got)
	}
	if got := near(both); got != "<nil>" {
		t.Errorf("allowed: %s", got)
	}
	events, err := f.Events(ctx, root, meta.AuditQuery{Namespace: "other", Action: "near-name-allow"})
	if err != nil || len(events) != 1 || events[0].Account != "root" || events[0].Target != "other/pdfforms" {
		t.Errorf("events = %+v, %v", events, err)
	}
	if got := allow(both); got != "<nil>" { // taking it back is no privilege
		t.Errorf("an admin of the namespace gives it back: %s", got)
	}
}

// A refusal does not tell a publisher of names in a namespace that they may not read.
func TestNearNamesTellNothingOfPrivateOnes(t *testing.T) {
	f := open(t, meta.Policy{})
	if _, err := f.push(publisher, "acme/pdf-forms", "1.0.0", f.build("pdf-forms", "1.0.0", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.push(stranger, "other/pdf-form", "1.0.0", f.build("pdf-form", "1.0.0", "x")); err != nil {
		t.Errorf("near to a name in a private namespace: %v", err)
	}
	if _, err := f.UpdateNamespace(t.Context(), root, "acme", func(n *meta.Namespace) error { n.Public = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := f.push(stranger, "other/pdfforms", "1.0.0", f.build("pdfforms", "1.0.0", "x")); code(err) != "near_name" {
		t.Errorf("near to a name in a public namespace: %v", err)
	}
}

// names of what waits, with what for.
func (f *fixture) waits(who registry.Caller, namespace string) (list []string) {
	f.t.Helper()
	all, err := f.Queue(f.t.Context(), who, namespace, time.Time{}, "", 100)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, w := range all {
		mine := ""
		if w.Yours {
			mine = " yours"
		}
		list = append(list, w.Repo()+"@"+w.Version+" "+w.For+mine)
	}
	return list
}

func TestQueueIsOldestFirstAndForThoseWhoSeeDrafts(t *testing.T) {
	f := open(t, meta.Policy{ManualApproval: true})
	ctx := t.Context()
	for _, name := range []string{"second", "first", "third"} {
		if _, err := f.push(publisher, "acme/"+name+"-one", "1.0.0", f.build(name+"-one", "1.0.0", name)); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Minute)
	}
	if got := f.waits(chief, ""); !slices.Equal(got, []string{"acme/second-one@1.0.0 decision yours", "acme/first-one@1.0.0 decision yours", "acme/third-one@1.0.0 decision yours"}) {
		t.Errorf("queue = %q", got)
	}
	if got := f.waits(publisher, "acme"); len(got) != 3 || got[0] != "acme/second-one@1.0.0 decision" {
		t.Errorf("a publisher sees %q", got)
	}
	for _, who := range []registry.Caller{reader, stranger} {
		if got := f.waits(who, ""); len(got) != 0 {
			t.Errorf("%s sees %q", who.Account, got)
		}
	}
	_, private := f.Queue(ctx, stranger, "acme", time.Time{}, "", 10)
	_, missing := f.Queue(ctx, stranger, "acmee", time.Time{}, "", 10)
	if code(private) != "unknown_namespace" || code(missing) != "unknown_namespace" {
		t.Errorf("private: %v, missing: %v", private, missing)
	}
	if _, err := f.Queue(ctx, nobody, "", time.Time{}, "", 10); code(err) != "unauthorized" {
		t.Errorf("nobody: %v", err)
	}
	if _, err := f.Act(ctx, chief, "acme", "first-one", "1.0.0", registry.Approve, ""); err != nil {
		t.Fatal(err)
	}
	page, err := f.Queue(ctx, chief, "", time.Time{}, "", 1)
	if err != nil || len(page) != 1 {
		t.Fatalf("page = %v, %v", page, err)
	}
	if page, err = f.Queue(ctx, chief, "", page[0].Updated, page[0].Repo()+"@"+page[0].Version, 10); err != nil || len(page) != 1 || page[0].Name != "third-one" {
		t.Errorf("second page = %+v, %v", page, err)
	}
}

// Where the namespace wants two persons, none of those approves who published, nor an account that one of them made.
func TestSecondPerson(t *testing.T) {
	f := open(t, meta.Policy{SecondPerson: true})
	ctx := t.Context()
	bob := caller("bob", "acme", auth.Admin)
	if _, _, err := f.CreateToken(ctx, bob, "bobs-other-hat", "acme", "maintainer", time.Time{}); err != nil {
		t.Fatal(err)
	}
	hat := caller("bobs-other-hat", "acme", auth.Maintainer)
	p, err := f.push(bob, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "x"))
	if err != nil || p.State != meta.Quarantined {
		t.Fatalf("push = %+v, %v: where a second person is wanted, releases wait", p, err)
	}
	for _, who := range []registry.Caller{bob, hat} {
		if _, err := f.Act(ctx, who, "acme", "pdf", "1.0.0", registry.Approve, ""); code(err) != "second_person" {
			t.Errorf("%s approves: %v", who.Account, err)
		}
		if got := f.waits(who, ""); !slices.Equal(got, []string{"acme/pdf@1.0.0 second-person"}) {
			t.Errorf("%s sees %q", who.Account, got)
		}
	}
	if got := f.waits(chief, ""); !slices.Equal(got, []string{"acme/pdf@1.0.0 second-person yours"}) {
		t.Errorf("max sees %q", got)
	}
	if _, err := f.push(chief, "acme/xls", "1.0.0", f.build("xls", "1.0.0", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Act(ctx, hat, "acme", "xls", "1.0.0", registry.Approve, ""); err != nil {
		t.Errorf("another account approves: %v", err)
	}
	if r, err := f.Act(ctx, chief, "acme", "pdf", "1.0.0", registry.Approve, ""); err != nil || r.State != meta.Approved {
		t.Errorf("max approves: %+v, %v", r.State, err)
	}
	if got := f.logged(ctx); !slices.Equal(got, []string{"approve acme/xls@1.0.0", "publish acme/xls@1.0.0", "approve acme/pdf@1.0.0", "publish acme/pdf@1.0.0"}) {
		t.Errorf("log = %q", got)
	}
}

// A reject by mistake is taken back by whoever may approve, as long as nobody was served; a block by an admin only.
func TestRetractingARejectOrABlock(t *testing.T) {
	f := open(t, meta.Policy{ManualApproval: true})
	ctx := t.Context()
	bob := caller("bob", "acme", auth.Admin)
	act := func(who registry.Caller, a registry.Action) (string, meta.State) {
		r, err := f.Act(ctx, who, "acme", "pdf", "1.0.0", a, "a reason")
		return code(err), r.State
	}
	want := func(who registry.Caller, a registry.Action, code string, state meta.State) {
		t.Helper()
		if got, at := act(who, a); got != code || at != state {
			t.Errorf("%s %s: %s, %s; want %s, %s", who.Account, a, got, at, code, state)
		}
	}
	const ok = "<nil>"
	if _, err := f.push(publisher, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "x")); err != nil {
		t.Fatal(err)
	}
	want(chief, registry.Reject, ok, meta.Blocked)
	want(publisher, registry.Approve, "denied", "")
	want(publisher, registry.Unblock, "denied", "")
	want(chief, registry.Unblock, ok, meta.Quarantined)
	want(bob, registry.Block, ok, meta.Blocked)
	want(chief, registry.Unblock, "denied", "")
	want(chief, registry.Approve, "wrong_state", "")
	want(bob, registry.Approve, "wrong_state", "")
	want(bob, registry.Unblock, ok, meta.Quarantined)
	want(chief, registry.Reject, ok, meta.Blocked)
	want(chief, registry.Approve, ok, meta.Approved) // in one step
	want(chief, registry.Quarantine, ok, meta.Quarantined)
	want(bob, registry.Reject, ok, meta.Blocked)
	want(chief, registry.Approve, "denied", "") // it was served once
	want(bob, registry.Approve, ok, meta.Approved)
	if got := f.logged(ctx); !slices.Equal(got, []string{"reject acme/pdf@1.0.0", "unblock acme/pdf@1.0.0", "block acme/pdf@1.0.0", "unblock acme/pdf@1.0.0", "reject acme/pdf@1.0.0",
		"approve acme/pdf@1.0.0", "publish acme/pdf@1.0.0", "quarantine acme/pdf@1.0.0", "reject acme/pdf@1.0.0", "approve acme/pdf@1.0.0"}) {
		t.Errorf("log = %q", got)
	}
	if events, err := f.Events(ctx, root, meta.AuditQuery{Namespace: "acme", Action: "approve"}); err != nil || len(events) != 2 || events[0].Account != "bob" {
		t.Errorf("events = %+v, %v", events, err)
	}
	f.clean()
}

// A caller without rights in a namespace is told the same of a private one as of one that does not exist; only callers
// who read everything learn which it is, and how to create it.
func TestMissingNamespaces(t *testing.T) {
	f := open(t, meta.Policy{})
	ctx := t.Context()
	try := func(who registry.Caller, namespace string) map[string]error {
		_, push := f.push(who, namespace+"/pdf", "1.0.0", f.build("pdf", "1.0.0", "x"))
		_, act := f.Act(ctx, who, namespace, "pdf", "1.0.0", registry.Yank, "x")
		_, change := f.UpdateNamespace(ctx, who, namespace, func(*meta.Namespace) error { return nil })
		_, queue := f.Queue(ctx, who, namespace, time.Time{}, "", 1)
		_, read := f.Namespace(ctx, who, namespace)
		_, list := f.Skills(ctx, who, namespace, "", 1)
		return map[string]error{"read": read, "list": list, "push": push, "yank": act, "set": change, "queue": queue}
	}
	private, missing := try(stranger, "acme"), try(stranger, "zzzz")
	for what, err := range missing {
		if code(err) != "unknown_namespace" || code(private[what]) != "unknown_namespace" {
			t.Errorf("%s: missing %v, private %v", what, err, private[what])
		}
	}
	for what, err := range try(root, "zzzz") {
		if e, ok := err.(*diag.Error); !ok || e.Code != "unknown_namespace" || !slices.Equal(e.Hints, []string{"skl registry namespace create zzzz"}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.Grants(ctx, root, "zzzz"); code(err) != "unknown_namespace" {
		t.Errorf("grants: %v", err)
	}
	if _, err := f.Events(ctx, root, meta.AuditQuery{Namespace: "zzzz"}); code(err) != "unknown_namespace" {
		t.Errorf("audit: %v", err)
	}
	if err := f.Ungrant(ctx, root, "pat", "zzzz"); code(err) != "unknown_namespace" {
		t.Errorf("ungrant: %v", err)
	}
	if err := f.Grant(ctx, root, meta.Grant{Account: "pat", Namespace: "zzzz", Role: "reader"}); code(err) != "unknown_namespace" {
		t.Errorf("grant: %v", err)
	}
	if _, err := f.push(reader, "acme/pdf", "1.0.0", f.build("pdf", "1.0.0", "x")); code(err) != "denied" {
		t.Errorf("a reader: %v", err)
	}
}
