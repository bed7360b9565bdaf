package auth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// CodeIdentity is the code of an identity token that is refused.
const CodeIdentity = "identity_refused"

// Bounds of identity tokens and of the keys of their issuers.
const (
	maxIdentity   = 16 << 10         // bytes of a token
	clockSkew     = 30 * time.Second // between an issuer and here
	identityLife  = 24 * time.Hour   // from now until a token expires, at most
	keysLast      = time.Hour        // before the keys of an issuer are asked for again
	keysAgain     = 5 * time.Second  // before they are because of a key that is not known
	maxIssuerKeys = 100
)

// An Issuers verifies identity tokens (OpenID Connect, RS256 and ES256) of the issuers it is told to trust. Set its fields before first use; its methods may
// be called concurrently.
//
//   - The keys are those that the issuer's discovery document names. They are asked for again after an hour, and sooner for a key that
//     is not known, so that an issuer may rotate them. A token is verified with the keys of its own issuer alone.
//   - The algorithm is that of the key, never what a token says: "none" and algorithms with a shared secret are refused.
//   - A token is for one audience, and within its time.
type Issuers struct {
	Trusted []string // URLs, compared as they are
	// Fetch reads a document of an issuer, of bounded size.
	Fetch func(ctx context.Context, issuer, address string) ([]byte, error)
	Now   func() time.Time // nil means time.Now

	mu   sync.Mutex // guards sets
	sets map[string]*keySet
}

// A keySet is the keys of one issuer.
type keySet struct {
	mu   sync.Mutex // guards what follows, and is held while they are asked for
	keys map[string]publicKey
	at   time.Time
}

// A publicKey verifies one algorithm.
type publicKey struct {
	alg string
	key crypto.PublicKey
}

// An IdentityToken is one that was parsed, and not verified yet.
type IdentityToken struct {
	Issuer string

	alg, kid  string
	signed    string
	signature []byte
	claims    map[string]json.RawMessage
}

// Claims are what an issuer says, as text. Lists and objects are left out.
type Claims map[string]string

//go:noinline
func refuse(format string, args ...any) *diag.Error {
	return diag.New(diag.Refused, CodeIdentity, "the identity token is refused: "+format, args...)
}

// ParseIdentity takes a token apart. Nothing of it is to be believed.
func ParseIdentity(text string) (IdentityToken, error) {
	parts := strings.Split(text, ".")
	if len(text) > maxIdentity || len(parts) != 3 {
		return IdentityToken{}, refuse("it is not a signed JSON Web Token")
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return IdentityToken{}, refuse("it is damaged")
		}
	}
	var head map[string]json.RawMessage
	t := IdentityToken{signed: parts[0] + "." + parts[1], signature: raw[2]}
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &t.claims) != nil || head == nil || t.claims == nil {
		return IdentityToken{}, refuse("it is damaged")
	}
	t.alg, t.kid, t.Issuer = text1(head["alg"]), text1(head["kid"]), text1(t.claims["iss"])
	switch {
	case head["crit"] != nil:
		return IdentityToken{}, refuse("it needs extensions that are not known here")
	case t.alg != "RS256" && t.alg != "ES256":
		return IdentityToken{}, refuse("its algorithm is %q, and RS256 and ES256 are accepted", diag.Brief(t.alg, 40))
	case t.Issuer == "":
		return IdentityToken{}, refuse("it does not say who issued it")
	}
	return t, nil
}

// text1 is a JSON string, "" for anything else.
func text1(raw json.RawMessage) (s string) {
	json.Unmarshal(raw, &s)
	return s
}

// Once names the token among all, however its signature is written.
func (t IdentityToken) Once() string {
	_, payload, _ := strings.Cut(t.signed, ".")
	sum := sha256.Sum256([]byte(t.Issuer + "\n" + cmp.Or(text1(t.claims["jti"]), payload)))
	return hex.EncodeToString(sum[:])
}

// time is a claim that is a time; false if it is none.
func (t IdentityToken) time(claim string) (time.Time, bool) {
	var seconds float64
	if json.Unmarshal(t.claims[claim], &seconds) != nil || t.claims[claim] == nil || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// Verify returns what a trusted issuer says in t, which is for this audience, and when that ends. Its errors have the code
// [CodeIdentity] and say what is wrong, or come from Fetch.
func (i *Issuers) Verify(ctx context.Context, t IdentityToken, audience string) (Claims, time.Time, error) {
	if !slices.Contains(i.Trusted, t.Issuer) {
		return nil, time.Time{}, refuse("this registry trusts no issuer %s", diag.Brief(t.Issuer, 200))
	}
	now := time.Now()
	if i.Now != nil {
		now = i.Now()
	}
	key, err := i.key(ctx, t, now)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !key.verifies(t) {
		return nil, time.Time{}, refuse("its signature is not that of its issuer's key")
	}
	ends, ok := t.time("exp")
	begins, later := t.time("nbf")
	if issued, ok := t.time("iat"); ok && issued.After(begins) {
		begins, later = issued, true
	}
	switch {
	case !ok:
		return nil, ends, refuse("it does not say when it expires")
	case !now.Before(ends.Add(clockSkew)):
		return nil, ends, refuse("it expired at %s", ends.UTC().Format(time.RFC3339))
	case ends.Sub(now) > identityLife:
		return nil, ends, refuse("it is good until %s, which is longer than a day", ends.UTC().Format(time.RFC3339))
	case later && begins.After(now.Add(clockSkew)):
		return nil, ends, refuse("it is not valid before %s", begins.UTC().Format(time.RFC3339))
	}
	var many []string
	if one := text1(t.claims["aud"]); one != "" {
		many = []string{one}
	} else {
		json.Unmarshal(t.claims["aud"], &many)
	}
	if !slices.Contains(many, audience) {
		return nil, ends, refuse("it is for %s, and this registry is %s", diag.Brief(strings.Join(many, ", "), 200), audience)
	}
	out := Claims{}
	for name, raw := range t.claims {
		switch raw[0] {
		case '"':
			out[name] = text1(raw)
		case '{', '[', 'n': // n is null
		default:
			out[name] = string(raw)
		}
	}
	return out, ends.Add(clockSkew), nil
}

// key is the one that t names among those of its issuer.
func (i *Issuers) key(ctx context.Context, t IdentityToken, now time.Time) (publicKey, error) {
	i.mu.Lock()
	if i.sets == nil {
		i.sets = map[string]*keySet{}
	}
	set := i.sets[t.Issuer]
	if set == nil {
		set = &keySet{}
		i.sets[t.Issuer] = set
	}
	i.mu.Unlock()
	set.mu.Lock()
	defer set.mu.Unlock()
	key, known := set.keys[t.kid]
	age := now.Sub(set.at)
	if age >= keysLast || age < 0 || !known && age >= keysAgain {
		keys, err := i.fetch(ctx, t.Issuer)
		if err != nil {
			return publicKey{}, err
		}
		set.keys, set.at = keys, now
		key, known = keys[t.kid]
	}
	switch {
	case !known:
		return publicKey{}, refuse("%s has no key %q", t.Issuer, diag.Brief(t.kid, 80))
	case key.alg != t.alg:
		return publicKey{}, refuse("its algorithm is %s, and its issuer's key is for %s", t.alg, key.alg)
	}
	return key, nil
}

// fetch asks an issuer for its keys.
func (i *Issuers) fetch(ctx context.Context, issuer string) (map[string]publicKey, error) {
	text, err := i.Fetch(ctx, issuer, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, unreachable(issuer, err)
	}
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &about); err != nil || about.Issuer != issuer {
		return nil, refuse("the discovery document of %s is that of another issuer, %q", issuer, diag.Brief(about.Issuer, 200))
	}
	if u, err := url.Parse(about.Keys); err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(issuer, "http://") {
		return nil, refuse("the discovery document of %s names no keys", issuer)
	}
	if text, err = i.Fetch(ctx, issuer, about.Keys); err != nil {
		return nil, unreachable(issuer, err)
	}
	return parseKeys(text)
}

func unreachable(issuer string, err error) error {
	e := diag.New(diag.Failed, "unavailable", "the keys of %s cannot be had now: %w", issuer, err)
	e.Retryable = true
	return e
}

// parseKeys reads a JSON Web Key Set. Keys for other purposes and algorithms are left out.
func parseKeys(text []byte) (map[string]publicKey, error) {
	var set struct {
		Keys []struct {
			Kty, Kid, Use, Alg, Crv, N, E, X, Y string
		} `json:"keys"`
	}
	if json.Unmarshal(text, &set) != nil || len(set.Keys) > maxIssuerKeys {
		return nil, refuse("the keys of its issuer cannot be read")
	}
	number := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
		if err != nil {
			return nil
		}
		return b
	}
	out := map[string]publicKey{}
	for _, k := range set.Keys {
		var key publicKey
		switch k.Kty {
		case "RSA":
			n, e := new(big.Int).SetBytes(number(k.N)), new(big.Int).SetBytes(number(k.E))
			if bits := n.BitLen(); bits >= 2048 && bits <= 8192 && e.IsInt64() && e.Int64() >= 3 && e.Int64() < 1<<31 && e.Bit(0) == 1 {
				key = publicKey{"RS256", &rsa.PublicKey{N: n, E: int(e.Int64())}}
			}
		case "EC":
			x, y := number(k.X), number(k.Y)
			if k.Crv == "P-256" && len(x) == 32 && len(y) == 32 {
				if p, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y)); err == nil {
					key = publicKey{"ES256", p}
				}
			}
		}
		if _, twice := out[k.Kid]; twice {
			return nil, refuse("its issuer has two keys %s", strconv.Quote(diag.Brief(k.Kid, 80)))
		}
		if key.key != nil && (k.Use == "" || k.Use == "sig") && (k.Alg == "" || k.Alg == key.alg) {
			out[k.Kid] = key
		}
	}
	return out, nil
}

func (k publicKey) verifies(t IdentityToken) bool {
	sum := sha256.Sum256([]byte(t.signed))
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature) == nil
	case *ecdsa.PublicKey:
		if len(t.signature) != 64 {
			return false
		}
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(t.signature[:32]), new(big.Int).SetBytes(t.signature[32:]))
	}
	return false
}
