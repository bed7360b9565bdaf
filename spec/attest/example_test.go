package attest_test

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/attest"
)

func Example() {
	key, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		panic(err)
	}
	release := attest.Subject{Name: "acme/pdf", Version: "1.4.2", Digest: "sha256:" + strings.Repeat("ab", 32)}
	statement, err := attest.NewSignature(release)
	if err != nil {
		panic(err)
	}
	bundle, err := attest.Sign(key, statement)
	if err != nil {
		panic(err)
	}

	verifier, err := attest.NewVerifier(attest.Trust{Keys: []attest.PublicKey{key.Public()}})
	if err != nil {
		panic(err)
	}
	fmt.Println(verifier.Verify([][]byte{bundle}, release).State)
	next := release
	next.Version = "1.5.0"
	fmt.Println(verifier.Verify([][]byte{bundle}, next).Err("acme/pdf@1.5.0"))
	// Output:
	// verified
	// the signature of acme/pdf@1.5.0 is refused: it is a statement about acme/pdf@1.4.2, not about acme/pdf@1.5.0
}
