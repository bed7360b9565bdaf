package attest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/diag"
)

func TestRootsThatAreRefused(t *testing.T) {
	s := attesttest.New(t)
	good := s.TrustedRoot()
	for _, test := range []struct {
		name string
		text []byte
		says string
	}{
		{"no JSON", []byte("x"), "not JSON"},
		{"a bundle", sign(t, attesttest.Key(t, ""), pdf()), "not JSON of the expected shape"},
		{"nobody issues", edit(t, good, nil, "certificateAuthorities"), "names no certificate authority"},
		{"nobody tells the time", s.TrustedRootOf(false, false, true), "neither a transparency log nor a timestamp authority"},
		{"damaged certificate", edit(t, good, "AAAA", "certificateAuthorities", "0", "certChain", "certificates", "0", "rawBytes"), "malformed certificate"},
		{"no root certificate", edit(t, good, []any{}, "certificateAuthorities", "0", "certChain", "certificates"), "chain is empty"},
		{"other version", edit(t, good, "application/vnd.dev.sigstore.trustedroot+json;version=0.9", "mediaType"), "media type"},
		{"timestamp authority without a root", edit(t, good, func(v any) any { return v.([]any)[:1] }, "timestampAuthorities", "0", "certChain", "certificates"), "no root certificate"},
		{"log without ID", edit(t, good, nil, "tlogs", "0", "logId"), "missing log ID"},
		{"log without a start", edit(t, good, nil, "tlogs", "0", "publicKey", "validFor"), "missing public key validity"},
		{"log with another hash", edit(t, good, "SHA2_512", "tlogs", "0", "hashAlgorithm"), "hash algorithm"},
		{"log with a damaged key", edit(t, good, "AAAA", "tlogs", "0", "publicKey", "rawBytes"), "parse public key"},
		{"one log twice", edit(t, good, func(v any) any { return append(v.([]any), v.([]any)[0]) }, "tlogs"), "two logs"},
		{"huge", make([]byte, 5<<20), "bytes"},
	} {
		r, err := attest.ParseRoot(test.text)
		if r != nil || !errors.Is(err, diag.Code("invalid_trusted_root")) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
