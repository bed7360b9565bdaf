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
		{"a bundle", sign(t, attesttest.Key(t, ""), pdf()), "mediaType"},
		{"nobody issues", edit(t, good, nil, "certificateAuthorities"), "names no certificate authority"},
		{"nobody tells the time", s.TrustedRootOf(false, false, true), "neither a transparency log nor a timestamp authority"},
		{"damaged certificate", edit(t, good, "AAAA", "certificateAuthorities", "0", "certChain", "certificates", "0", "rawBytes"), "is damaged"},
		{"no root certificate", edit(t, good, []any{}, "certificateAuthorities", "0", "certChain", "certificates"), "no root certificate"},
		{"log without ID", edit(t, good, nil, "tlogs", "0", "logId"), "no key ID"},
		{"log without a start", edit(t, good, nil, "tlogs", "0", "publicKey", "validFor"), "from when"},
		{"log with another hash", edit(t, good, "SHA2_512", "tlogs", "0", "hashAlgorithm"), "hashes with"},
		{"log with a damaged key", edit(t, good, "AAAA", "tlogs", "0", "publicKey", "rawBytes"), "cannot be used"},
		{"one log twice", edit(t, good, func(v any) any { return append(v.([]any), v.([]any)[0]) }, "tlogs"), "two logs"},
		{"huge", make([]byte, 5<<20), "bytes"},
	} {
		r, err := attest.ParseRoot(test.text)
		if r != nil || !errors.Is(err, diag.Code("bad_trusted_root")) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
