package attest

import (
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/skl-project/skl/spec/diag"
)

const maxRoot = 4 << 20

// A TrustedRoot says which authorities issue certificates, give times and keep
// logs. [ParseRoot] makes it; it never changes and may be used concurrently.
type TrustedRoot struct {
	material *root.TrustedRoot
	verifier *verify.Verifier // demands what material lists
}

// ParseRoot reads a trusted_root.json of sigstore, version 0.1, at most 4 MiB. A
// root without an issuer, or with neither a log nor a timestamp authority, can
// verify nothing and is refused. Errors have the code invalid_trusted_root.
func ParseRoot(text []byte) (*TrustedRoot, error) {
	if len(text) > maxRoot {
		return nil, rootError("it has %d bytes", len(text))
	}
	file, err := root.NewTrustedRootProtobuf(text)
	if err != nil {
		return nil, rootError("it is not JSON of the expected shape")
	}
	material, err := root.NewTrustedRootFromProtobuf(file)
	if err != nil {
		return nil, rootError("%s", diag.Printable(err.Error()))
	}
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	logs, certLogs := len(material.RekorLogs()), len(material.CTLogs())
	if logs > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if certLogs > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	switch {
	case len(material.FulcioCertificateAuthorities()) == 0:
		return nil, rootError("it names no certificate authority")
	case logs+len(material.TimestampingAuthorities()) == 0:
		return nil, rootError("it names neither a transparency log nor a timestamp authority")
	case logs != len(file.GetTlogs()) || certLogs != len(file.GetCtlogs()): // the later one would silently count
		return nil, rootError("two logs have the same key ID")
	}
	for _, a := range material.TimestampingAuthorities() {
		if a, ok := a.(*root.SigstoreTimestampingAuthority); ok && a.Root == nil {
			return nil, rootError("%q has no root certificate", diag.Printable(a.URI))
		}
	}
	verifier, err := verify.NewVerifier(material, options...)
	if err != nil {
		return nil, rootError("%s", diag.Printable(err.Error()))
	}
	return &TrustedRoot{material, verifier}, nil
}

func rootError(format string, args ...any) error {
	return diag.New(diag.Failed, "invalid_trusted_root", "the trusted root cannot be used: "+format, args...)
}
