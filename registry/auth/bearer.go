package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// BearerPrefix starts the text of a bearer.
const BearerPrefix = "sklb_"

// BearerLife is for how long a bearer is good.
const BearerLife = 5 * time.Minute

const (
	maxBearer = 4 << 10 // bytes of text
	maxScopes = 32
)

// A Bearer is what a docker client gets for its credentials, and shows for a few minutes.
type Bearer struct {
	Account string    `json:"a,omitempty"`
	TokenID string    `json:"t,omitempty"` // empty for nobody
	Scopes  []Scope   `json:"s"`
	Expires time.Time `json:"-"`

	Seconds int64 `json:"e"` // Expires, since 1970
}

// A BearerKey signs bearers with HMAC-SHA-256. Instances that share a database share the key; who changes it ends
// all bearers. The zero BearerKey refuses all.
type BearerKey struct{ secret []byte }

// NewBearerKey makes a key. Its Secret is what is stored.
func NewBearerKey() BearerKey {
	secret := make([]byte, 32)
	rand.Read(secret)
	return BearerKey{secret}
}

// ParseBearerKey reads what Secret gave.
func ParseBearerKey(secret []byte) (BearerKey, error) {
	if len(secret) != 32 {
		return BearerKey{}, diag.New(diag.Failed, "bearer_key", "the key for bearers has %d bytes instead of 32", len(secret))
	}
	return BearerKey{slices.Clone(secret)}, nil
}

// Secret is 32 bytes.
func (k BearerKey) Secret() []byte { return slices.Clone(k.secret) }

// Sign is the text of b: "sklb_", the fields, ".", the signature.
func (k BearerKey) Sign(b Bearer) string {
	if len(k.secret) == 0 {
		panic("auth: Sign with the zero BearerKey")
	}
	b.Seconds = b.Expires.Unix()
	if b.Scopes == nil {
		b.Scopes = []Scope{}
	}
	fields, err := json.Marshal(b)
	if err != nil {
		panic(err) // cannot be: strings and numbers
	}
	body := BearerPrefix + base64.RawURLEncoding.EncodeToString(fields)
	return body + "." + base64.RawURLEncoding.EncodeToString(k.mac(body))
}

// Verify checks signature and time and returns what was signed; its Scopes are not nil. All its errors are
// the same *diag.Error with the code unauthorized.
func (k BearerKey) Verify(text string, now time.Time) (Bearer, error) {
	body, signature, ok := strings.Cut(text, ".")
	encoded, isBearer := strings.CutPrefix(body, BearerPrefix)
	sent, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if !ok || !isBearer || err != nil || len(text) > maxBearer || len(k.secret) == 0 || !hmac.Equal(sent, k.mac(body)) {
		return Bearer{}, unauthorized()
	}
	fields, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return Bearer{}, unauthorized()
	}
	var b Bearer
	if err := json.Unmarshal(fields, &b); err != nil {
		return Bearer{}, unauthorized()
	}
	b.Expires = time.Unix(b.Seconds, 0)
	if !now.Before(b.Expires) || b.Expires.Sub(now) > BearerLife+time.Minute {
		return Bearer{}, unauthorized()
	}
	if b.Scopes == nil {
		b.Scopes = []Scope{}
	}
	return b, nil
}

func (k BearerKey) mac(body string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(body))
	return h.Sum(nil)
}

// A Scope is what a client asks a bearer for: actions in one repository.
type Scope struct {
	Repository string   `json:"r"` // "namespace/name"
	Actions    []string `json:"a"` // pull, push, delete, *
}

// CatalogScope is what clients ask for to list the repositories of a registry.
const CatalogScope = "registry:catalog:*"

// catalogs stands for the list of repositories in a scope: it is no name of one.
const catalogs = "registry:catalog"

func (s Scope) catalog() bool { return s.Repository == catalogs }

// Catalogs reports whether a bearer was asked for [CatalogScope].
func (id Identity) Catalogs() bool { return slices.ContainsFunc(id.Scopes, Scope.catalog) }

// String is the form in a challenge: "repository:acme/pdf:pull,push".
func (s Scope) String() string {
	return "repository:" + s.Repository + ":" + strings.Join(s.Actions, ",")
}

// ParseScopes reads the scope parameters of a token request, each of which may hold several, separated by spaces.
// The result is not nil, has one scope for each repository, and at most 32.
//
// Other resources than repositories and [CatalogScope], and other actions than pull, push, delete and *, are left out, as the
// distribution specification wants. A repository that could not be one is an error with the code invalid_name: a
// name that is nearly right would give a bearer that is good for nothing, and say nothing.
func ParseScopes(params []string) ([]Scope, error) {
	scopes, size := []Scope{}, 0
	for _, param := range params {
		if len(param) > maxBearer {
			return nil, diag.New(diag.Misuse, "invalid_request", "a scope has at most %d bytes", maxBearer)
		}
		for text := range strings.FieldsSeq(param) {
			if more, ok := strings.CutPrefix(text, CatalogScope); ok && more == "" {
				if len(scopes) < maxScopes && !slices.ContainsFunc(scopes, Scope.catalog) {
					scopes = append(scopes, Scope{catalogs, []string{"*"}})
				}
				continue
			}
			rest, ok := strings.CutPrefix(text, "repository:")
			if !ok {
				continue
			}
			colon := strings.LastIndexByte(rest, ':')
			if colon < 0 {
				return nil, diag.New(diag.Misuse, "invalid_request", "scope %q names no actions", diag.Printable(text))
			}
			repository := rest[:colon]
			if err := CheckRepository(repository); err != nil {
				return nil, err
			}
			i := slices.IndexFunc(scopes, func(s Scope) bool { return s.Repository == repository })
			if i < 0 {
				if size += len(repository); len(scopes) == maxScopes || size > maxBearer/4 {
					return nil, diag.New(diag.Misuse, "invalid_request", "a bearer is for at most %d repositories, and %d bytes of their names", maxScopes, maxBearer/4)
				}
				i, scopes = len(scopes), append(scopes, Scope{Repository: repository, Actions: []string{}})
			}
			for _, action := range strings.Split(rest[colon+1:], ",") {
				if slices.Contains([]string{"pull", "push", "delete", "*"}, action) && !slices.Contains(scopes[i].Actions, action) {
					scopes[i].Actions = append(scopes[i].Actions, action)
				}
			}
		}
	}
	return slices.DeleteFunc(scopes, func(s Scope) bool { return len(s.Actions) == 0 }), nil
}

// Challenge is the WWW-Authenticate header that sends an OCI client to the token endpoint of the registry at base,
// "https://host[:port]". Scope may be empty.
func Challenge(base string, scope string) string {
	_, host, _ := strings.Cut(base, "://")
	header := `Bearer realm="` + quotable(base) + TokenPath + `",service="` + quotable(host) + `"`
	if scope != "" {
		header += `,scope="` + quotable(scope) + `"`
	}
	return header
}

// BasicChallenge is the header for clients that know no token endpoint.
const BasicChallenge = `Basic realm="skl", charset="UTF-8"`

// quotable drops what would end a quoted string or a header.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r > '~' {
			return -1
		}
		return r
	}, s)
}
