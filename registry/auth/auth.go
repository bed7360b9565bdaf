// Package auth says who may do what in a registry: tokens and their text, short-lived
// bearers for docker clients, roles, limits, and rules for names. It keeps nothing: tokens and
// grants are rows of the caller's database, and come in through a func.
//
//   - A token is 256 random bits; the registry stores its SHA-256 and compares in constant time.
//     A slow hash would add nothing: there is no guessing 256 bits.
//   - A bearer holds no rights. It names a token, which is looked up at each request, so a
//     revocation works at once; and it names the repositories for which it was asked, whole names.
//     It buys nothing: the token endpoint takes tokens only, so no bearer becomes a longer or wider one.
//   - An action that no role allows is denied. A role holds in one namespace, or, as the grant "*", in all of
//     the instance.
//   - All credentials that are wrong get the same answer, whatever is wrong with them, except to who
//     shows a token that was right once.
package auth

import (
	"slices"
	"strings"
	"time"
)

// A Role is what an account is in a namespace.
type Role string

const (
	Reader     Role = "reader"
	Publisher  Role = "publisher"
	Maintainer Role = "maintainer"
	Admin      Role = "admin"
	Auditor    Role = "auditor" // sees everything, changes nothing
)

// Roles lists all roles.
func Roles() []Role { return []Role{Reader, Publisher, Maintainer, Admin, Auditor} }

// ParseRole returns the role called s.
func ParseRole(s string) (Role, bool) {
	r := Role(s)
	return r, slices.Contains(Roles(), r)
}

// An Action is something that a role allows.
type Action string

const (
	Read      Action = "read"             // releases that are visible
	ReadDraft Action = "read-draft"       // releases of others that are not visible: drafts, quarantined, rejected
	Push      Action = "push"             // blobs and manifests
	Publish   Action = "publish"          // a release
	Sign      Action = "sign"             // attach signatures and attestations
	Yank      Action = "yank"             // and undo it
	Deprecate Action = "deprecate"        // and undo it
	Approve   Action = "approve"          // approve, reject, quarantine
	Block     Action = "block"            // and undo it
	Delete    Action = "delete"           // manifests, tags, blobs
	Manage    Action = "manage-namespace" // grants, signers, policy
	Tokens    Action = "tokens"           // of others, for this namespace
	Audit     Action = "audit"            // read the audit log
	Operate   Action = "operate"          // gc, backup, creating namespaces: only with a grant on "*"
)

// Actions lists all actions.
func Actions() []Action {
	return []Action{Read, ReadDraft, Push, Publish, Sign, Yank, Deprecate, Approve, Block, Delete, Manage, Tokens, Audit, Operate}
}

// Allows reports whether role may do action where it holds.
func Allows(role Role, action Action) bool {
	switch role {
	case Reader:
		return action == Read
	case Publisher:
		return action == Read || action == Push || action == Publish || action == Sign
	case Maintainer:
		return Allows(Publisher, action) || action == ReadDraft || action == Yank || action == Deprecate || action == Approve
	case Admin:
		return slices.Contains(Actions(), action)
	case Auditor:
		return action == Read || action == ReadDraft || action == Audit
	}
	return false
}

// Least is the role that allows action and the fewest others.
func Least(action Action) Role {
	least, fewest := Admin, len(Actions()) // an admin may do everything
	for _, role := range Roles() {
		n := 0
		for _, do := range Actions() {
			if Allows(role, do) {
				n++
			}
		}
		if Allows(role, action) && n < fewest {
			least, fewest = role, n
		}
	}
	return least
}

// Everywhere is the namespace of a grant that holds in the whole instance.
const Everywhere = "*"

// A Grant is a role in a namespace, or Everywhere.
type Grant struct {
	Namespace string `json:"namespace"`
	Role      Role   `json:"role"`
}

// Narrow is what a token may do that was made for one grant, while its account holds these: never more than
// either. A token for reading does not become one for writing because its owner may write, and a grant that
// the owner lost is lost to the token.
func Narrow(token Grant, account []Grant) []Grant {
	var out []Grant
	for _, g := range account {
		both := Grant{Namespace: token.Namespace}
		switch {
		case token.Namespace == Everywhere:
			both.Namespace = g.Namespace
		case g.Namespace != Everywhere && g.Namespace != token.Namespace:
			continue
		}
		switch {
		case Covers(g.Role, token.Role):
			both.Role = token.Role
		case Covers(token.Role, g.Role):
			both.Role = g.Role
		default:
			both.Role = Reader // what maintainer and auditor share, and a little less
		}
		if Allows(both.Role, Read) && !slices.Contains(out, both) {
			out = append(out, both)
		}
	}
	return out
}

// Covers reports whether a may do all that b may.
func Covers(a, b Role) bool {
	return !slices.ContainsFunc(Actions(), func(do Action) bool { return Allows(b, do) && !Allows(a, do) })
}

// An Identity is who asks. The zero Identity may do nothing.
type Identity struct {
	Account   string // empty when Anonymous
	TokenID   string // of the token that was shown; empty when Anonymous
	Anonymous bool   // nobody: reads public namespaces
	Open      bool   // anybody may read, write and delete artifacts: a registry for trying out
	Grants    []Grant
	Expires   time.Time // of the token; zero means never

	// Scopes limit what a bearer is good for: it was asked for these repositories only. Nil,
	// as for a token itself, limits nothing.
	Scopes []Scope
}

// May reports whether the grants, and the scopes if there are any, allow action at where: a repository
// ("namespace/name"), a namespace, or Everywhere for what concerns the whole instance. Grants hold in the whole
// namespace, scopes in exactly the repository they name.
// Reading a public namespace is a question for [Identity.Sees].
func (id Identity) May(action Action, where string) bool {
	return id.Granted(action, where) && id.inScope(action, where)
}

// Granted is May without the scopes. Where it is true and May is false, another bearer would do: the
// answer is a challenge (401), not a refusal (403).
func (id Identity) Granted(action Action, where string) bool {
	namespace, _, _ := strings.Cut(where, "/")
	if namespace == "" {
		return false
	}
	if id.Open && Opened(action) {
		return true
	}
	if id.Anonymous {
		return false
	}
	return slices.ContainsFunc(id.Grants, func(g Grant) bool {
		here := g.Namespace == Everywhere || g.Namespace == namespace && action != Operate
		return here && Allows(g.Role, action)
	})
}

// Sees reports whether the visible releases at where, a namespace or a repository, can be read: its
// namespace is public, or the grants allow it.
func (id Identity) Sees(where string, public bool) bool {
	known := id.Anonymous || id.Open || id.Account != ""
	return known && public || id.May(Read, where)
}

// Holds reports whether the grants allow all that role allows in namespace: who makes a token, or ends
// one, needs that much. A bearer holds nothing.
func (id Identity) Holds(role Role, namespace string) bool {
	return id.Scopes == nil && !id.Anonymous && slices.ContainsFunc(id.Grants, func(g Grant) bool {
		return (g.Namespace == Everywhere || g.Namespace == namespace) && Covers(g.Role, role)
	})
}

// Opened reports whether an open registry lets anybody do action: what concerns artifacts. Accounts, tokens,
// grants and policies are not open, for they outlast the trying out.
func Opened(action Action) bool {
	switch action {
	case Read, ReadDraft, Push, Publish, Sign, Yank, Deprecate, Delete:
		return true
	}
	return false
}

func (id Identity) inScope(action Action, where string) bool {
	if id.Scopes == nil {
		return true
	}
	var verb string
	switch action {
	case Read, ReadDraft:
		verb = "pull"
	case Push, Publish, Sign:
		verb = "push"
	case Delete:
		verb = "delete"
	default:
		return false // a bearer is for the OCI protocol alone
	}
	return slices.ContainsFunc(id.Scopes, func(s Scope) bool {
		return s.Repository == where && (slices.Contains(s.Actions, verb) || slices.Contains(s.Actions, "*"))
	})
}
