package auth_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
)

func TestToken(t *testing.T) {
	shape := regexp.MustCompile(`^skl_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 200 {
		text, id, hash := auth.NewToken()
		if !shape.MatchString(text) || len(text) != auth.TokenLength || seen[text] || seen[id] {
			t.Fatalf("NewToken = %q, %q", text, id)
		}
		seen[text], seen[id] = true, true
		if gotID, gotHash, err := auth.ParseToken(text); err != nil || gotID != id || !gotHash.Equal(hash) || hash.ID() != id {
			t.Errorf("ParseToken(%q) = %q, %v", text, gotID, err)
		}
		if strings.Contains(text, id) || len(id) != 12 {
			t.Errorf("the id %q of %q", id, text)
		}
	}
}

// Each letter that is changed, lost or doubled is found without a database.
func TestMistypedToken(t *testing.T) {
	text, _, _ := auth.NewToken()
	bad := []string{"", "skl_", text + "0", text[:len(text)-1], " " + text, text + "\n", strings.ToLower(text), strings.ToUpper(text),
		"sklb" + text[4:], "ghp_" + text[4:], "skl_" + strings.Repeat("z", 49), strings.Replace(text, text[10:11], "-", 1), strings.Replace(text, text[10:11], "é", 1)}
	for i := 4; i < len(text); i++ {
		other := byte('0')
		if text[i] == other {
			other = 'Z'
		}
		bad = append(bad, text[:i]+string(other)+text[i+1:])
		if i > 4 && text[i] != text[i-1] {
			bad = append(bad, text[:i-1]+text[i:i+1]+text[i-1:i]+text[i+1:])
		}
	}
	for _, s := range bad {
		id, hash, err := auth.ParseToken(s)
		if !errors.Is(err, diag.Code("invalid_token")) || id != "" || hash != (auth.Hash{}) {
			t.Errorf("ParseToken(%q) = %q, %v", s, id, err)
			continue
		}
		if len(s) > 10 && strings.Contains(fmt.Sprint(err), s) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

// The checksum is the one that the documentation promises to scanners.
func TestTokenChecksum(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text, _, _ := auth.NewToken()
	sum, n := crc32.ChecksumIEEE([]byte(text[:47])), uint32(0)
	for _, c := range text[47:] {
		n = n*62 + uint32(strings.IndexRune(digits, c))
	}
	if n != sum {
		t.Errorf("checksum of %s is %d, want %d", text, n, sum)
	}
}

// The log of requests hides whatever this package makes, wherever it stands in a path.
func TestTokensAreRedacted(t *testing.T) {
	token, _, _ := auth.NewToken()
	bearer := auth.NewBearerKey().Sign(auth.Bearer{Account: "alice", Expires: time.Now().Add(time.Minute)})
	for _, text := range []string{token, bearer} {
		if got := gate.Redact("/v2/" + text + "/x"); got != "/v2/REDACTED/x" {
			t.Errorf("Redact leaves %q", got)
		}
	}
}

func TestBearer(t *testing.T) {
	key, now := auth.NewBearerKey(), time.Now()
	scopes, err := auth.ParseScopes([]string{"repository:acme/pdf:pull,push"})
	if err != nil {
		t.Fatal(err)
	}
	text := key.Sign(auth.Bearer{Account: "alice", TokenID: "0123456789ab", Scopes: scopes, Expires: now.Add(auth.BearerLife)})
	if !strings.HasPrefix(text, "sklb_") || strings.ContainsAny(text, " \n\"") {
		t.Errorf("Sign = %q", text)
	}
	b, err := key.Verify(text, now)
	if err != nil || b.Account != "alice" || b.TokenID != "0123456789ab" || fmt.Sprint(b.Scopes) != fmt.Sprint(scopes) {
		t.Errorf("Verify = %+v, %v", b, err)
	}
	if b, err := key.Verify(key.Sign(auth.Bearer{Expires: now.Add(time.Minute)}), now); err != nil || b.Scopes == nil {
		t.Errorf("a bearer without scopes = %+v, %v; its scopes must not be nil, which means everything", b, err)
	}
	again, err := auth.ParseBearerKey(key.Secret())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Verify(text, now.Add(auth.BearerLife-2*time.Second)); err != nil {
		t.Errorf("by the stored key: %v", err)
	}
	for name, try := range map[string]func() (auth.Bearer, error){
		"expired":        func() (auth.Bearer, error) { return key.Verify(text, now.Add(auth.BearerLife+time.Second)) },
		"from far ahead": func() (auth.Bearer, error) { return key.Verify(text, now.Add(-time.Hour)) },
		"another key":    func() (auth.Bearer, error) { return auth.NewBearerKey().Verify(text, now) },
		"no key":         func() (auth.Bearer, error) { return auth.BearerKey{}.Verify(text, now) },
		"cut":            func() (auth.Bearer, error) { return key.Verify(text[:len(text)-1], now) },
		"no signature":   func() (auth.Bearer, error) { return key.Verify(text[:strings.IndexByte(text, '.')+1], now) },
		"other content":  func() (auth.Bearer, error) { return key.Verify(strings.Replace(text, "sklb_e", "sklb_f", 1), now) },
		"empty":          func() (auth.Bearer, error) { return key.Verify("", now) },
		"a token":        func() (auth.Bearer, error) { token, _, _ := auth.NewToken(); return key.Verify(token, now) },
	} {
		if b, err := try(); !errors.Is(err, diag.Code("unauthorized")) || b.Account != "" {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
	if _, err := auth.ParseBearerKey([]byte("short")); err == nil {
		t.Error("a short key was accepted")
	}
}

func TestChallenge(t *testing.T) {
	const want = `Bearer realm="https://r.example:5080/token",service="r.example:5080",scope="repository:acme/pdf:pull"`
	if got := auth.Challenge("https://r.example:5080", "repository:acme/pdf:pull"); got != want {
		t.Errorf("Challenge = %s", got)
	}
	if got := auth.Challenge("http://h\r\nX: y\"", "a\"b\\c"); got != `Bearer realm="http://hX: y/token",service="hX: y",scope="abc"` {
		t.Errorf("Challenge = %q", got)
	}
}

// Secrets are compared in constant time: the sources hold no other comparison of what could be one.
func TestConstantTime(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	constant := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (secret(n.X) || secret(n.Y)) {
					t.Errorf("%s compares a secret with %s", set.Position(n.Pos()), n.Op)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok {
					name := fmt.Sprint(f.X) + "." + f.Sel.Name
					switch {
					case name == "subtle.ConstantTimeCompare" || name == "hmac.Equal":
						constant++
					case (name == "bytes.Equal" || name == "slices.Equal" || name == "strings.EqualFold") && (secret(n.Args[0]) || secret(n.Args[1])):
						t.Errorf("%s compares a secret with %s", set.Position(n.Pos()), name)
					}
				}
			}
			return true
		})
	}
	if constant != 3 { // a token's text, a token's hash, a bearer's signature
		t.Errorf("%d comparisons in constant time, want 3", constant)
	}
}

// secret reports whether an expression is called like something that must not leak.
func secret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		switch e.Name {
		case "hash", "text", "password", "secret", "sent", "credentials", "signature":
			return true
		}
	case *ast.SelectorExpr:
		return e.Sel.Name == "Hash" || e.Sel.Name == "secret"
	case *ast.SliceExpr:
		return secret(e.X)
	}
	return false
}

// Law: what is accepted is what NewToken could have made: its prefix, its length, one spelling.
func FuzzParseToken(f *testing.F) {
	text, _, _ := auth.NewToken()
	f.Add(text)
	f.Add("skl_" + strings.Repeat("0", 49))
	f.Add("skl_" + strings.Repeat("z", 49))
	f.Fuzz(func(t *testing.T, s string) {
		id, hash, err := auth.ParseToken(s)
		if err != nil {
			if id != "" || hash != (auth.Hash{}) {
				t.Errorf("ParseToken(%q) = %q besides %v", s, id, err)
			}
			return
		}
		if len(s) != auth.TokenLength || !strings.HasPrefix(s, "skl_") || id != hash.ID() {
			t.Errorf("ParseToken(%q) = %q", s, id)
		}
		if _, _, err := auth.ParseToken(s[:4] + strings.ToLower(s[4:])); err == nil && s != s[:4]+strings.ToLower(s[4:]) {
			t.Errorf("%q has two spellings", s)
		}
	})
}

// Law: no text is a bearer that the key did not sign.
func FuzzBearer(f *testing.F) {
	key, now := auth.NewBearerKey(), time.Unix(1_800_000_000, 0)
	good := key.Sign(auth.Bearer{Account: "alice", Expires: now.Add(time.Minute)})
	f.Add(good)
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := key.Verify(s, now); err == nil && s != good {
			t.Errorf("%q is accepted: %+v", s, b)
		}
	})
}
