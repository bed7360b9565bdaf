package attest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/skl-project/skl/spec/diag"
)

// An Algorithm is a kind of signing key.
type Algorithm string

// Algorithms that [NewKey] makes.
const (
	ECDSA   Algorithm = "ecdsa-p256" // the default; what cosign makes
	Ed25519 Algorithm = "ed25519"
)

// Types of PEM blocks.
const (
	pemPublic       = "PUBLIC KEY"                     // PKIX
	pemPrivate      = "PRIVATE KEY"                    // PKCS #8
	pemSealed       = "ENCRYPTED SIGSTORE PRIVATE KEY" // PKCS #8 under scrypt and a secretbox, as cosign seals it
	pemSealedCosign = "ENCRYPTED COSIGN PRIVATE KEY"   // the same under its older name
	pemSealedPKCS8  = "ENCRYPTED PRIVATE KEY"          // PKCS #8's own encryption, not read here
	maxKeyFile      = 64 << 10
)

// A PublicKey verifies signatures. Only [ParsePublic] and [PrivateKey.Public]
// make one; the zero PublicKey is invalid. It may be used concurrently.
type PublicKey struct {
	key crypto.PublicKey
	der []byte // PKIX
}

// A PrivateKey signs. Only [NewKey] and [ParsePrivate] make one. It prints as
// its fingerprint, so that no log shows a secret. It may be used concurrently.
type PrivateKey struct {
	signer crypto.Signer
	public PublicKey
}

// NewKey makes a key of the given algorithm; "" means [ECDSA].
func NewKey(a Algorithm) (PrivateKey, error) {
	switch a {
	case ECDSA, "":
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return PrivateKey{}, err
		}
		return privateKey(k)
	case Ed25519:
		_, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return PrivateKey{}, err
		}
		return privateKey(k)
	}
	return PrivateKey{}, diag.New(diag.Misuse, "key_algorithm", "unknown key algorithm %q", diag.Printable(string(a))).
		Meant(string(ECDSA), string(Ed25519))
}

// ParsePrivate reads a private key: PKCS #8 in PEM, plain or sealed with
// passphrase. A plain key ignores the passphrase. Errors have the codes
// invalid_key, key_algorithm, and, for a wrong or missing passphrase of a
// sealed key, key_passphrase.
func ParsePrivate(text, passphrase []byte) (PrivateKey, error) {
	block, err := onePEM(text, "private")
	if err != nil {
		return PrivateKey{}, err
	}
	der := block.Bytes
	switch block.Type {
	case pemPrivate:
	case pemSealed, pemSealedCosign:
		if len(passphrase) == 0 {
			return PrivateKey{}, diag.New(diag.NeedsInput, "key_passphrase", "the private key is sealed with a passphrase")
		}
		if der, err = encrypted.Decrypt(block.Bytes, passphrase); err != nil {
			return PrivateKey{}, diag.New(diag.Failed, "key_passphrase", "the passphrase does not open the private key")
		}
	case pemPublic:
		return PrivateKey{}, diag.New(diag.Misuse, "invalid_key", "this is a public key; signing needs the private one")
	case pemSealedPKCS8:
		return PrivateKey{}, diag.New(diag.Failed, "invalid_key", "private keys in the encryption of PKCS #8 are not read").
			Hint("openssl pkcs8 -in FILE -out PLAIN")
	default:
		return PrivateKey{}, diag.New(diag.Failed, "invalid_key", "a PEM block %q is not a private key", diag.Printable(block.Type))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return PrivateKey{}, diag.New(diag.Failed, "invalid_key", "the private key is damaged").Hint("is the file complete?")
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return PrivateKey{}, diag.New(diag.Failed, "key_algorithm", "a private key of type %T cannot sign", parsed)
	}
	return privateKey(signer)
}

func privateKey(signer crypto.Signer) (PrivateKey, error) {
	public, err := publicKey(signer.Public())
	if err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{signer, public}, nil
}

// PEM is the key as text: PKCS #8, sealed when there is a passphrase.
func (k PrivateKey) PEM(passphrase []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.signer)
	if err != nil {
		return nil, err
	}
	if len(passphrase) == 0 {
		return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
	}
	sealed, err := encrypted.Encrypt(der, passphrase)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemSealed, Bytes: sealed}), nil
}

// Public is the half that others get.
func (k PrivateKey) Public() PublicKey { return k.public }

// String is the fingerprint of the public half.
func (k PrivateKey) String() string { return "private key " + k.public.Fingerprint() }

// GoString keeps %#v from printing the secret.
func (k PrivateKey) GoString() string { return k.String() }

// Sign signs message: ASN.1 over its SHA-256 (SHA-384 for P-384) with ECDSA,
// the message itself with Ed25519. Most callers want [Sign].
func (k PrivateKey) Sign(message []byte) ([]byte, error) {
	digest, hash := prehash(k.public.key, message)
	return k.signer.Sign(rand.Reader, digest, hash)
}

// ParsePublic reads a public key, PKIX in PEM: ECDSA P-256 or P-384, Ed25519,
// or RSA of 2048 to 4096 bits. Errors have the codes invalid_key and
// key_algorithm.
func ParsePublic(text []byte) (PublicKey, error) {
	block, err := onePEM(text, "public")
	if err != nil {
		return PublicKey{}, err
	}
	switch block.Type {
	case pemPublic:
	case pemPrivate, pemSealed, pemSealedCosign, pemSealedPKCS8:
		return PublicKey{}, diag.New(diag.Misuse, "invalid_key", "this is a private key; give others the public one only")
	default:
		return PublicKey{}, diag.New(diag.Failed, "invalid_key", "a PEM block %q is not a public key", diag.Printable(block.Type))
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, diag.New(diag.Failed, "invalid_key", "the public key is damaged").Hint("is the file complete?")
	}
	return publicKey(key)
}

func publicKey(key crypto.PublicKey) (PublicKey, error) {
	if !acceptable(key) {
		return PublicKey{}, diag.New(diag.Failed, "key_algorithm", "keys of type %T with this size are not accepted", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, err
	}
	return PublicKey{key, der}, nil
}

// PEM is the key as text.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: k.der})
}

// ID is the hint that bundles carry: base64 of the SHA-256 of the PKIX form.
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k.der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Fingerprint is what people compare and what the lock holds: "SHA256:" and the
// same sum in unpadded base64.
func (k PublicKey) Fingerprint() string {
	sum := sha256.Sum256(k.der)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Equal reports whether k and o are one key.
func (k PublicKey) Equal(o PublicKey) bool { return string(k.der) == string(o.der) }

// onePEM returns the only PEM block of text.
func onePEM(text []byte, what string) (*pem.Block, error) {
	if len(text) > maxKeyFile {
		return nil, diag.New(diag.Failed, "invalid_key", "a %s key file of %d bytes is too large", what, len(text))
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, diag.New(diag.Failed, "invalid_key", "the %s key is not in PEM form", what)
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, diag.New(diag.Failed, "invalid_key", "the file holds more than one key")
	}
	return block, nil
}

// acceptable reports whether signatures of key are worth checking.
func acceptable(key crypto.PublicKey) bool {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return k.Curve == elliptic.P256() || k.Curve == elliptic.P384()
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return bits >= 2048 && bits <= 4096
	}
	return false
}

// prehash is what a signer of key's kind gets for message.
func prehash(key crypto.PublicKey, message []byte) ([]byte, crypto.Hash) {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return message, 0
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P384() {
			sum := sha512.Sum384(message)
			return sum[:], crypto.SHA384
		}
	}
	sum := sha256.Sum256(message)
	return sum[:], crypto.SHA256
}
