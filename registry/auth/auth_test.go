package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

// The permissions of each role, in full: whoever changes a line changes what people may do.
const table = `
	                  reader  publisher  maintainer  admin  auditor
	read              yes     yes        yes         yes    yes
	read-draft        -       -          yes         yes    yes
	push              -       yes        yes         yes    -
	publish           -       yes        yes         yes    -
	sign              -       yes        yes         yes    -
	yank              -       -          yes         yes    -
	deprecate         -       -          yes         yes    -
	approve           -       -          yes         yes    -
	block             -       -          -           yes    -
	delete            -       -          -           yes    -
	manage-namespace  -       -          -           yes    -
	tokens            -       -          -           yes    -
	audit             -       -          -           yes    yes
	operate           -       -          -           yes    -`

// rows calls each with every cell of the table.
func rows(t *testing.T, each func(action auth.Action, role auth.Role, allowed bool)) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	roles := strings.Fields(lines[0])
	if len(roles) != len(auth.Roles()) || len(lines)-1 != len(auth.Actions()) {
		t.Fatalf("the table has %d roles and %d actions, the package %d and %d", len(roles), len(lines)-1, len(auth.Roles()), len(auth.Actions()))
	}
	for i, line := range lines[1:] {
		cells := strings.Fields(line)
		if cells[0] != string(auth.Actions()[i]) {
			t.Fatalf("row %d is %s, want %s", i+1, cells[0], auth.Actions()[i])
		}
		for j, cell := range cells[1:] {
			each(auth.Action(cells[0]), auth.Role(roles[j]), cell == "yes")
		}
	}
}

func TestAllows(t *testing.T) {
	rows(t, func(action auth.Action, role auth.Role, allowed bool) {
		if got := auth.Allows(role, action); got != allowed {
			t.Errorf("Allows(%s, %s) = %v", role, action, got)
		}
	})
	for _, role := range append(auth.Roles(), "", "owner", "Admin") {
		if _, ok := auth.ParseRole(string(role)); ok != (auth.Allows(role, auth.Read)) {
			t.Errorf("ParseRole(%q) = %v", role, ok)
		}
		for _, action := range []auth.Action{"", "everything", "READ"} {
			if auth.Allows(role, action) {
				t.Errorf("Allows(%q, %q)", role, action)
			}
		}
	}
}

// The least role for an action allows it, and less than the others that do.
func TestLeast(t *testing.T) {
	for action, want := range map[auth.Action]auth.Role{auth.Read: auth.Reader, auth.ReadDraft: auth.Auditor, auth.Publish: auth.Publisher, auth.Sign: auth.Publisher,
		auth.Yank: auth.Maintainer, auth.Approve: auth.Maintainer, auth.Block: auth.Admin, auth.Delete: auth.Admin, auth.Manage: auth.Admin, auth.Audit: auth.Auditor} {
		if got := auth.Least(action); got != want {
			t.Errorf("%s takes %s, want %s", action, got, want)
		}
	}
	for _, action := range auth.Actions() {
		for _, role := range auth.Roles() {
			if least := auth.Least(action); !auth.Allows(least, action) || auth.Allows(role, action) && role != least && auth.Covers(least, role) {
				t.Errorf("%s: %s is not the least role, or not less than %s", action, least, role)
			}
		}
	}
}

// Every action × role × own, foreign, whole instance, nobody.
func TestMay(t *testing.T) {
	rows(t, func(action auth.Action, role auth.Role, allowed bool) {
		in := func(namespace string) auth.Identity {
			return auth.Identity{Account: "alice", Grants: []auth.Grant{{Namespace: namespace, Role: role}}}
		}
		own := allowed && action != auth.Operate // that needs a grant on the whole instance
		for _, q := range []struct {
			what string
			got  bool
			want bool
		}{
			{"own namespace", in("acme").May(action, "acme"), own},
			{"another namespace", in("acme").May(action, "other"), false},
			{"a longer name", in("acme").May(action, "acme-evil"), false},
			{"no namespace", in("acme").May(action, ""), false},
			{"no namespace, granted everywhere", in("*").May(action, ""), false},
			{"the instance", in("acme").May(action, "*"), false},
			{"any namespace, granted everywhere", in("*").May(action, "acme"), allowed},
			{"the instance, granted everywhere", in("*").May(action, "*"), allowed},
			{"nobody, with grants by mistake", auth.Identity{Anonymous: true, Grants: in("acme").Grants}.May(action, "acme"), false},
			{"nobody", auth.Identity{Anonymous: true}.May(action, "acme"), false},
			{"the zero identity", auth.Identity{}.May(action, "acme"), false},
			{"two grants", auth.Identity{Account: "a", Grants: []auth.Grant{{Namespace: "x", Role: auth.Admin}, {Namespace: "acme", Role: role}}}.May(action, "acme"), own},
		} {
			if q.got != q.want {
				t.Errorf("%s, %s, %s: %v", role, action, q.what, q.got)
			}
		}
	})
}

func TestSees(t *testing.T) {
	reader := auth.Identity{Account: "a", Grants: []auth.Grant{{Namespace: "acme", Role: auth.Reader}}}
	for _, q := range []struct {
		what      string
		id        auth.Identity
		namespace string
		public    bool
		want      bool
	}{
		{"nobody, public", auth.Identity{Anonymous: true}, "acme", true, true},
		{"nobody, private", auth.Identity{Anonymous: true}, "acme", false, false},
		{"a reader, private", reader, "acme", false, true},
		{"a reader elsewhere, private", reader, "other", false, false},
		{"a reader elsewhere, public", reader, "other", true, true},
		{"the zero identity, public", auth.Identity{}, "acme", true, false},
		{"open, private", auth.Identity{Anonymous: true, Open: true}, "acme", false, true},
	} {
		if got := q.id.Sees(q.namespace, q.public); got != q.want {
			t.Errorf("%s: %v", q.what, got)
		}
	}
}

// A narrowed token may do exactly what both the token's grant and one of the account's allow, but
// for drafts that a maintainer and an auditor both see.
func TestNarrow(t *testing.T) {
	spaces := []string{"*", "acme", "other"}
	may := func(g auth.Grant, action auth.Action, in string) bool {
		return auth.Identity{Account: "a", Grants: []auth.Grant{g}}.May(action, in)
	}
	for _, tokenRole := range append(auth.Roles(), "nonsense") {
		for _, accountRole := range append(auth.Roles(), "nonsense") {
			for i := range 9 {
				token, account := auth.Grant{Namespace: spaces[i/3], Role: tokenRole}, auth.Grant{Namespace: spaces[i%3], Role: accountRole}
				id := auth.Identity{Account: "a", Grants: auth.Narrow(token, []auth.Grant{account})}
				for _, action := range auth.Actions() {
					for _, in := range spaces {
						want := may(token, action, in) && may(account, action, in)
						got := id.May(action, in)
						if action == auth.ReadDraft && !got && tokenRole != accountRole {
							continue
						}
						if got != want {
							t.Errorf("token %v of an account with %v: %s in %s is %v", token, account, action, in, got)
						}
					}
				}
			}
		}
	}
	if got := auth.Narrow(auth.Grant{Namespace: "*", Role: auth.Admin}, nil); len(got) != 0 {
		t.Errorf("of an account without grants: %v", got)
	}
}

// An open registry gives away artifacts, and nothing else.
func TestOpen(t *testing.T) {
	open := auth.Identity{Anonymous: true, Open: true}
	for _, action := range auth.Actions() {
		want := map[auth.Action]bool{auth.Read: true, auth.ReadDraft: true, auth.Push: true, auth.Publish: true, auth.Sign: true,
			auth.Yank: true, auth.Deprecate: true, auth.Delete: true}[action]
		if got := open.May(action, "acme"); got != want {
			t.Errorf("open, %s: %v", action, got)
		}
	}
}

// A bearer does what it was asked for, and never more than its token.
func TestScopes(t *testing.T) {
	admin := []auth.Grant{{Namespace: "*", Role: auth.Admin}}
	reader := []auth.Grant{{Namespace: "acme", Role: auth.Reader}}
	for _, q := range []struct {
		grants []auth.Grant
		scope  string
		may    string // in acme/pdf
	}{
		{admin, "", ""},
		{admin, "repository:acme/pdf:pull", "read read-draft"},
		{admin, "repository:acme/pdf:pull,push", "read read-draft push publish sign"},
		{admin, "repository:acme/pdf:delete", "delete"},
		{admin, "repository:acme/pdf:*", "read read-draft push publish sign delete"},
		{admin, "repository:other/pdf:*", ""},
		{admin, "repository:acme-evil/pdf:*", ""},
		{admin, "repository:other/pdf:* repository:acme/x/y:pull", ""},
		{admin, "repository:acme/pdf/x:*", ""},
		{admin, "repository:acme/pd:*", ""},
		{admin, "repository:acme/pdf-2:*", ""},
		{admin, "repository:acme:*", ""},
		{admin, "repository:acme/pdf:pull repository:acme/pdf:delete", "read read-draft delete"},
		{reader, "repository:acme/pdf:*", "read"},
		{nil, "repository:acme/pdf:*", ""},
	} {
		scopes, err := auth.ParseScopes([]string{q.scope})
		if err != nil {
			t.Fatal(err)
		}
		id := auth.Identity{Account: "a", Grants: q.grants, Scopes: scopes}
		var may []string
		for _, action := range auth.Actions() {
			if id.May(action, "acme/pdf") {
				may = append(may, string(action))
			}
		}
		if got := strings.Join(may, " "); got != q.may {
			t.Errorf("%v with %q may %q, want %q", q.grants, q.scope, got, q.may)
		}
		// Granted tells actions that another bearer could do apart from those that none of these grants allows.
		if got, want := id.Granted(auth.Read, "acme/pdf"), q.grants != nil; got != want {
			t.Errorf("%v with %q: Granted = %v", q.grants, q.scope, got)
		}
	}
}

func TestParseScopes(t *testing.T) {
	many, long := "", ""
	for i := range 33 {
		many += fmt.Sprintf("repository:a/b%d:pull ", i)
		long += "repository:a/" + strings.Repeat("b", 100) + fmt.Sprint(i) + ":pull "
	}
	for in, want := range map[string]string{
		"":                         "[]",
		"repository:acme/pdf:pull": "[repository:acme/pdf:pull]",
		"repository:acme/pdf:push,pull,push,rm repository:a:*":   "[repository:acme/pdf:push,pull repository:a:*]",
		"repository:a/b:pull repository:c:* repository:a/b:push": "[repository:a/b:pull,push repository:c:*]",
		"registry:catalog:*":                       "[repository:registry:catalog:*]", // the list of repositories: no repository is called so
		"registry:catalog:pull":                    "[]",
		"repository(plugin):acme/pdf:pull":         "[]",
		"repository:acme/pdf:":                     "[]",
		"repository:acme/pdf:fly":                  "[]",
		strings.Repeat("repository:a/b:pull ", 99): "[repository:a/b:pull]",
		// These are refused: what they name is not a repository, or more than a bearer can hold.
		"repository:acme/pdf":            "invalid_request",
		"repository::pull":               "invalid_name",
		"repository:host:5000/pdf:pull":  "invalid_name",
		"repository:ACME/pdf:pull":       "invalid_name",
		"repository:a\"b:pull":           "invalid_name",
		"repository:acme/:pull":          "invalid_name",
		"repository:/acme/pdf:pull":      "invalid_name",
		"repository:acme//pdf:pull":      "invalid_name",
		"repository:acme/../other:pull":  "invalid_name",
		"repository:acme/*:pull":         "invalid_name",
		"repository:acme/pdf%2fx:pull":   "invalid_name",
		"repository:acme/pdf\u200b:pull": "invalid_name",
		many:                             "invalid_request",
		long:                             "invalid_request",
		strings.Repeat("x", 5000):        "invalid_request",
	} {
		got, err := auth.ParseScopes([]string{in})
		if err != nil {
			if e, ok := errors.AsType[*diag.Error](err); !ok || e.Code != want || got != nil {
				t.Errorf("ParseScopes(%.60q) = %v, %v, want %s", in, got, err, want)
			}
			continue
		}
		if fmt.Sprint(got) != want || got == nil {
			t.Errorf("ParseScopes(%.60q) = %v, want %s", in, got, want)
		}
	}
	// The largest that is accepted is verified, too.
	most := strings.Repeat("a", 31)
	text := ""
	for i := range 32 {
		text += fmt.Sprintf("repository:%s%d:pull,push,delete,* ", most[:29], i)
	}
	scopes, err := auth.ParseScopes([]string{text})
	if err != nil || len(scopes) != 32 {
		t.Fatalf("%d scopes, %v", len(scopes), err)
	}
	key, now := auth.NewBearerKey(), time.Now()
	if _, err := key.Verify(key.Sign(auth.Bearer{Account: strings.Repeat("é", 50), TokenID: "0123456789ab", Scopes: scopes, Expires: now.Add(time.Minute)}), now); err != nil {
		t.Error(err)
	}
}
