package blob_test

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/spec/diag"
)

func TestParseDigest(t *testing.T) {
	a64, a128 := strings.Repeat("a", 64), strings.Repeat("0", 128)
	for s, ok := range map[string]bool{
		"sha256:" + a64:                         true,
		"sha512:" + a128:                        true,
		"":                                      false,
		a64:                                     false,
		"sha256":                                false,
		"sha256:":                               false,
		"sha256:" + a64[1:]:                     false,
		"sha256:" + a64 + "a":                   false,
		"sha512:" + a64:                         false,
		"sha256:" + a128:                        false,
		"SHA256:" + a64:                         false,
		"sha256:" + strings.ToUpper(a64):        false,
		"sha256:" + a64[:30] + "../" + a64[33:]: false,
		"sha256:" + a64[:63] + "g":              false,
		"sha384:" + strings.Repeat("a", 96):     false,
		"md5:" + a64[:32]:                       false,
		" sha256:" + a64:                        false,
	} {
		d, err := blob.ParseDigest(s)
		if ok != (err == nil) || ok && d.String() != s || !ok && !d.IsZero() {
			t.Errorf("ParseDigest(%q) = %v, %v", s, d, err)
		}
		if !ok && !errors.Is(err, diag.Code("invalid_digest")) {
			t.Errorf("ParseDigest(%q): %v has another code", s, err)
		}
	}
}

// The state of a hash can be kept while an upload waits for its next piece.
func TestHashState(t *testing.T) {
	for _, algorithm := range []string{blob.SHA256, blob.SHA512} {
		d := blob.Sum(algorithm, []byte("hello world"))
		h := d.Hash()
		h.Write([]byte("hello "))
		state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		h = d.Hash()
		if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		h.Write([]byte("world"))
		if blob.Finish(algorithm, h) != d || !d.Matches(h) || !d.Names([]byte("hello world")) || d.Names([]byte("hello")) {
			t.Errorf("%s: the restored hash gives %v", algorithm, blob.Finish(algorithm, h))
		}
	}
	if d := blob.Finish(blob.SHA512, sha256.New()); !d.IsZero() {
		t.Errorf("a hash of another algorithm gives %v", d)
	}
}

func TestDigestJSON(t *testing.T) {
	d := blob.Sum(blob.SHA256, nil)
	text, err := json.Marshal(map[string]blob.Digest{"a": d, "b": {}})
	if err != nil || string(text) != fmt.Sprintf(`{"a":%q,"b":""}`, d) {
		t.Errorf("%s, %v", text, err)
	}
	var back map[string]blob.Digest
	if err := json.Unmarshal(text, &back); err != nil || back["a"] != d || !back["b"].IsZero() {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"sha256:../x"}`), &back); err == nil {
		t.Error("a malformed digest was accepted")
	}
}

// Law: what is accepted prints as it was, and its parts are what a path can hold.
func FuzzParseDigest(f *testing.F) {
	f.Add("sha256:" + strings.Repeat("a", 64))
	f.Add("sha512:" + strings.Repeat("0", 128))
	f.Add("sha256:../../x")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := blob.ParseDigest(s)
		if err != nil {
			return
		}
		if d.String() != s || d.Algorithm()+":"+d.Hex() != s || strings.ContainsAny(d.Hex(), "./\\:") {
			t.Errorf("ParseDigest(%q) = %q, %q, %q", s, d, d.Algorithm(), d.Hex())
		}
		if 2*d.Hash().Size() != len(d.Hex()) {
			t.Errorf("%q has a hash of %d bytes", s, d.Hash().Size())
		}
	})
}
