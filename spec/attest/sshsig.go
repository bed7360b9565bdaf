package attest

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/skl-project/skl/spec/diag"
)

const (
	sshBegin = "-----BEGIN SSH SIGNATURE-----"
	sshEnd   = "-----END SSH SIGNATURE-----"
	sshMagic = "SSHSIG"

	maxSSHSig = 64 << 10 // bytes of armour

	// gitNamespace is what git signs for. A signature that the same key made for files, or for mail, is none of a commit.
	gitNamespace = "git"
)

// An sshSig is a signature in OpenSSH's format (PROTOCOL.sshsig), not yet verified.
type sshSig struct {
	key       ssh.PublicKey
	namespace string
	hash      string // "sha256", "sha512"
	signature ssh.Signature
}

// parseSSHSig reads an armoured signature. It refuses certificates in place of a key, RSA keys
// below 2048 bits, RSA signatures over SHA-1, those of a token that nobody touched, and anything behind what it reads.
func parseSSHSig(armour string) (*sshSig, *refusal) {
	if len(armour) > maxSSHSig {
		return nil, refuse(Malformed, "its signature has %d bytes, more than %d", len(armour), maxSSHSig)
	}
	text, begun := strings.CutPrefix(strings.TrimSpace(armour), sshBegin)
	text, ended := strings.CutSuffix(text, sshEnd)
	if !begun || !ended {
		return nil, malformed("its SSH signature is not armoured")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n", ""))
	if err != nil {
		return nil, malformed("its SSH signature is not base64")
	}
	rest, ok := bytes.CutPrefix(raw, []byte(sshMagic))
	if !ok || len(rest) < 4 || binary.BigEndian.Uint32(rest) != 1 {
		return nil, malformed("its SSH signature is not of version 1")
	}
	rest = rest[4:]
	var field [5][]byte // key, namespace, reserved, hash, signature
	for i := range field {
		if field[i], rest, ok = sshString(rest); !ok {
			return nil, malformed("its SSH signature is cut off")
		}
	}
	if len(rest) > 0 {
		return nil, malformed("something follows its SSH signature")
	}
	key, err := ssh.ParsePublicKey(field[0])
	if err != nil {
		return nil, malformed("the key of its SSH signature cannot be read")
	}
	s := &sshSig{key: key, namespace: string(field[1]), hash: string(field[3])}
	format, blob, ok := sshString(field[4])
	if ok {
		s.signature.Format = string(format)
		s.signature.Blob, s.signature.Rest, ok = sshString(blob)
	}
	switch {
	case !ok:
		return nil, malformed("its SSH signature is cut off")
	case strings.Contains(key.Type(), "-cert-"):
		return nil, refuse(WrongKey, "it is signed with an SSH certificate, and only plain keys are trusted")
	case s.hash != "sha256" && s.hash != "sha512":
		return nil, refuse(Malformed, "its SSH signature is over a hash %q", diag.Printable(s.hash))
	case !sshAcceptable(key, s.signature.Format):
		return nil, refuse(WrongKey, "SSH keys of type %s with this size or signature algorithm are not accepted", diag.Printable(key.Type()))
	}
	end := s.signature.Rest
	switch token := strings.HasPrefix(key.Type(), "sk-"); {
	case !token && len(end) > 0:
		return nil, malformed("something follows its SSH signature")
	case token && (len(end) != 5 || end[0]&1 == 0): // flags and a counter; bit 0 says that somebody was there
		return nil, refuse(WrongKey, "its SSH key is on a token that nobody touched to sign it")
	}
	return s, nil
}

// sshString splits a string with its length off b.
//
//go:noinline
func sshString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if b = b[4:]; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// sshAcceptable reports whether signatures of key in this format are worth checking.
func sshAcceptable(key ssh.PublicKey, format string) bool {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
		return format == key.Type()
	case ssh.KeyAlgoRSA:
		held, ok := key.(ssh.CryptoPublicKey)
		if !ok {
			return false
		}
		k, ok := held.CryptoPublicKey().(*rsa.PublicKey)
		return ok && k.N.BitLen() >= 2048 && k.N.BitLen() <= 16384 && (format == ssh.KeyAlgoRSASHA256 || format == ssh.KeyAlgoRSASHA512)
	}
	return false
}

// covers reports whether s is a signature of its key over message.
func (s *sshSig) covers(message []byte) bool {
	sum := sha512.Sum512(message)
	hashed := sum[:]
	if s.hash == "sha256" {
		sum := sha256.Sum256(message)
		hashed = sum[:]
	}
	signed := []byte(sshMagic)
	for _, field := range [][]byte{[]byte(s.namespace), nil, []byte(s.hash), hashed} {
		signed = append(binary.BigEndian.AppendUint32(signed, uint32(len(field))), field...)
	}
	return s.key.Verify(signed, &s.signature) == nil
}
