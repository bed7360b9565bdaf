package registry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/attest"
)

// Protection of a namespace from its own admins is lifted by an admin of the registry alone, who is named in the log;
// anybody may put it back.
func TestLooseningTakesAnAdminOfTheRegistry(t *testing.T) {
	var pem []string
	for range 2 {
		key, err := attest.NewKey("")
		if err != nil {
			t.Fatal(err)
		}
		pem = append(pem, string(key.Public().PEM()))
	}
	one, two := meta.Signer{Key: pem[0]}, meta.Signer{Key: pem[1]}
	wild := meta.Signer{Issuer: "https://issuer.example", Identity: ".*"}
	bob := caller("bob", "acme", auth.Admin)
	for _, c := range []struct {
		name          string
		strict, loose meta.Policy
		public        bool // the loose one
	}{
		{name: "a second person", strict: meta.Policy{SecondPerson: true, ManualApproval: true}, loose: meta.Policy{ManualApproval: true}},
		{name: "a second person, by the flag alone", strict: meta.Policy{SecondPerson: true}},
		{name: "approval", strict: meta.Policy{ManualApproval: true}},
		{name: "signatures", strict: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one}}, loose: meta.Policy{Signers: []meta.Signer{one}}},
		{name: "one more signer", strict: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one}}, loose: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one, two}}},
		{name: "another signer", strict: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one}}, loose: meta.Policy{RequireSignature: true, Signers: []meta.Signer{two}}},
		{name: "an identity that anybody has", strict: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one}}, loose: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one, wild}}},
		{name: "any artifact", loose: meta.Policy{AcceptAny: true}},
		{name: "its readers", public: true},
		{name: "approval for signatures", strict: meta.Policy{ManualApproval: true}, loose: meta.Policy{RequireSignature: true, Signers: []meta.Signer{one}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := open(t, c.strict)
			ctx := t.Context()
			set := func(who registry.Caller, p meta.Policy, public bool) string {
				_, err := f.UpdateNamespace(ctx, who, "acme", func(n *meta.Namespace) error { n.Policy, n.Public = p, public; return nil })
				return code(err)
			}
			before, err := f.Namespace(ctx, root, "acme")
			if err != nil {
				t.Fatal(err)
			}
			if got := set(bob, c.loose, c.public); got != "denied" {
				t.Errorf("an admin of the namespace: %s", got)
			}
			after, err := f.Namespace(ctx, root, "acme")
			if err != nil || after.Public != before.Public || after.Policy.SecondPerson != c.strict.SecondPerson || !slices.Equal(after.Policy.Signers, c.strict.Signers) {
				t.Errorf("after the refusal: %+v, %v", after, err)
			}
			if got := f.logged(ctx); len(got) != 0 {
				t.Errorf("the refusal is logged: %q", got)
			}
			if got := set(root, c.loose, c.public); got != "<nil>" {
				t.Errorf("an admin of the registry: %s", got)
			}
			events, err := f.Events(ctx, root, meta.AuditQuery{Namespace: "acme", Action: "namespace-loosen"})
			if err != nil || len(events) != 1 || events[0].Account != "root" || events[0].Target != "acme" {
				t.Errorf("events = %+v, %v", events, err)
			}
			if got := f.logged(ctx); len(got) == 0 || !strings.HasPrefix(got[0], "loosen acme") {
				t.Errorf("log = %q", got)
			}
			if c.name == "approval for signatures" || c.name == "another signer" {
				return // the way back undoes something too
			}
			if got := set(bob, c.strict, false); got != "<nil>" {
				t.Errorf("an admin of the namespace makes it strict again: %s", got)
			}
		})
	}
}

// Accounts made by the same admin of a namespace count as one person. Accounts made by an admin of the registry, or by
// the person who works on its data, count separately.
func TestTwoAccountsOfOneMakerAreOnePerson(t *testing.T) {
	f := open(t, meta.Policy{SecondPerson: true})
	ctx := t.Context()
	if err := f.Grant(ctx, root, meta.Grant{Account: "ruth", Namespace: "*", Role: "admin"}); err != nil {
		t.Fatal(err)
	}
	ruth, local := caller("ruth", "*", auth.Admin), caller(registry.Local, "*", auth.Admin)
	bob := caller("bob", "acme", auth.Admin)
	for n, c := range []struct {
		maker registry.Caller
		want  string
	}{{bob, "second_person"}, {ruth, "<nil>"}, {local, "<nil>"}} {
		x, y, name := c.maker.Account+"-x", c.maker.Account+"-y", []string{"alpha", "bravo", "charlie"}[n]
		for account, role := range map[string]string{x: "publisher", y: "maintainer"} {
			if _, _, err := f.CreateToken(ctx, c.maker, account, "acme", role, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.push(caller(x, "acme", auth.Publisher), "acme/"+name, "1.0.0", f.build(name, "1.0.0", "x")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Act(ctx, caller(y, "acme", auth.Maintainer), "acme", name, "1.0.0", registry.Approve, ""); code(err) != c.want {
			t.Errorf("%s made both: %v, want %s", c.maker.Account, err, c.want)
		}
	}
	// None of them is called like those who work on the data, or like nobody.
	for _, name := range []string{registry.Local, registry.System, "anonymous"} {
		if _, _, err := f.CreateToken(ctx, bob, name, "acme", "reader", time.Time{}); code(err) != "invalid_name" {
			t.Errorf("a token for %s: %v", name, err)
		}
		if err := f.Grant(ctx, root, meta.Grant{Account: name, Namespace: "acme", Role: "reader"}); code(err) != "invalid_name" {
			t.Errorf("a role for %s: %v", name, err)
		}
	}
}
