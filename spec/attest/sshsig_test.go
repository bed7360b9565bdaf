package attest_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/skl-project/skl/spec/attest"
)

// An sshForm is a signature in OpenSSH's format, whose parts may be what ssh-keygen would not write.
type sshForm struct {
	key       []byte // in wire form
	sign      func(data []byte) []byte
	namespace string
	hash      string // "sha256" hashes so, all others by SHA-512
	version   uint32
	rest      string // behind all
	options   string // of the line that allows it
}

func sshField(b []byte, fields ...[]byte) []byte {
	for _, f := range fields {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	return b
}

// armour is the signature over message.
func (f sshForm) armour(message []byte) string {
	sum := sha512.Sum512(message)
	hashed := sum[:]
	if f.hash == "sha256" {
		sum := sha256.Sum256(message)
		hashed = sum[:]
	}
	signature := f.sign(sshField([]byte("SSHSIG"), []byte(f.namespace), nil, []byte(f.hash), hashed))
	raw := sshField(binary.BigEndian.AppendUint32([]byte("SSHSIG"), f.version), f.key, []byte(f.namespace), nil, []byte(f.hash), signature)
	text := base64.StdEncoding.EncodeToString(append(raw, f.rest...))
	var lines strings.Builder
	for part := range slices.Chunk([]byte(text), 70) {
		lines.Write(append(part, '\n'))
	}
	return "-----BEGIN SSH SIGNATURE-----\n" + lines.String() + "-----END SSH SIGNATURE-----\n"
}

// sshKey is a form that an SSH key of ours signs, by one of its algorithms.
func sshKey(t testing.TB, key any, algorithm string) sshForm {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return sshForm{key: s.PublicKey().Marshal(), namespace: "git", hash: "sha512", version: 1, sign: func(data []byte) []byte {
		by, err := s.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, algorithm)
		if err != nil {
			t.Fatal(err)
		}
		return ssh.Marshal(by)
	}}
}

// securityKey is a form that a key as of a FIDO token signs, with its flags: 1 says that somebody touched it.
func securityKey(t testing.TB, flags byte) sshForm {
	t.Helper()
	const kind, app = "sk-ssh-ed25519@openssh.com", "ssh:"
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return sshForm{key: sshField(nil, []byte(kind), public, []byte(app)), namespace: "git", hash: "sha512", version: 1, sign: func(data []byte) []byte {
		about, sum := sha256.Sum256([]byte(app)), sha256.Sum256(data)
		end := []byte{flags, 0, 0, 0, 7}
		signed := slices.Concat(about[:], end, sum[:])
		return append(sshField(nil, []byte(kind), ed25519.Sign(private, signed)), end...)
	}}
}

// allow is the line of allowed signers that trusts the key of f.
func (f sshForm) allow() string {
	size := binary.BigEndian.Uint32(f.key)
	return "alice@example.com " + f.options + string(f.key[4:4+size]) + " " + base64.StdEncoding.EncodeToString(f.key)
}

const madeCommit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor T <t@example.com> 1700000000 +0000\ncommitter T <t@example.com> 1700000000 +0000\n"

// signedCommit is a commit with a header and its signature by f, which stands before the line of the header that begins with before.
func signedCommit(f sshForm, header, before string) []byte {
	payload := header + "\nmessage\n"
	at := strings.Index("\n"+payload, "\n"+before)
	return []byte(payload[:at] + "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(f.armour([]byte(payload)), "\n"), "\n", "\n ") + "\n" + payload[at:])
}

func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x-%d y\n", i)
	}
	return b.String()
}

func signedTag(f sshForm, header, message string) []byte {
	payload := header + "\n" + message
	return []byte(payload + f.armour([]byte(payload)))
}

// A signature by a trusted key in a form that git and OpenSSH never write is refused for that very reason, and git
// accepts nothing less than skl does.
func TestSSHForms(t *testing.T) {
	r := newSignedRepo(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	alice := sshKey(t, private, ssh.KeyAlgoED25519)
	with := func(change func(f *sshForm)) sshForm {
		f := alice
		change(&f)
		return f
	}
	token, idle := securityKey(t, 1), securityKey(t, 0)
	_, authority, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := ssh.NewSignerFromKey(authority)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.ParsePublicKey(alice.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := &ssh.Certificate{Key: public, CertType: ssh.UserCert, ValidPrincipals: []string{"alice@example.com"}, ValidBefore: ssh.CertTimeInfinity}
	if err := certificate.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	certified := with(func(f *sshForm) { f.key = certificate.Marshal() })

	plain := func(f sshForm) []byte { return signedCommit(f, madeCommit, "\n") }
	plain0 := func(f sshForm) []byte {
		return signedCommit(f, strings.ReplaceAll(madeCommit, " 1700000000 +0000", ""), "\n")
	}
	const id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	head := "object " + strings.Repeat("1", 40) + "\ntype commit\ntag v1.0.0\ntagger T <t@example.com> 1700000000 +0000\n"
	for _, test := range []struct {
		name   string
		kind   string
		object []byte
		by     sshForm
		code   attest.Code
		why    string
	}{
		{"Ed25519", "commit", plain(alice), alice, "", ""},
		{"SHA-256", "commit", plain(with(func(f *sshForm) { f.hash = "sha256" })), alice, "", ""},
		{"RSA with SHA-512", "commit", plain(sshKey(t, long, ssh.KeyAlgoRSASHA512)), sshKey(t, long, ssh.KeyAlgoRSASHA512), "", ""},
		{"RSA with SHA-256", "commit", plain(sshKey(t, long, ssh.KeyAlgoRSASHA256)), sshKey(t, long, ssh.KeyAlgoRSASHA256), "", ""},
		{"token", "commit", plain(token), token, "", ""},
		{"signature first", "commit", signedCommit(alice, madeCommit, "author"), alice, "", ""},
		{"other headers", "commit", signedCommit(alice, madeCommit+"encoding latin-1\nHG:extra a\n b\n", "\n"), alice, "", ""},
		{"tag", "tag", signedTag(alice, head, "one\n"), alice, "", ""},

		{"RSA with SHA-1", "commit", plain(sshKey(t, long, ssh.KeyAlgoRSA)), sshKey(t, long, ssh.KeyAlgoRSA), attest.WrongKey, "algorithm"},
		{"token that nobody touched", "commit", plain(idle), idle, attest.WrongKey, "nobody touched"},
		{"certificate", "commit", plain(certified), alice, attest.WrongKey, "SSH certificate"},
		{"another hash", "commit", plain(with(func(f *sshForm) { f.hash = "sha384" })), alice, attest.Malformed, `"sha384"`},
		{"for files", "commit", plain(with(func(f *sshForm) { f.namespace = "file" })), alice, attest.WrongPredicate, `"file"`},
		{"for almost git", "commit", plain(with(func(f *sshForm) { f.namespace = "git\x00" })), alice, attest.WrongPredicate, "not for git"},
		{"for nothing", "commit", plain(with(func(f *sshForm) { f.namespace = "" })), alice, attest.WrongPredicate, `""`},
		{"version 2", "commit", plain(with(func(f *sshForm) { f.version = 2 })), alice, attest.Malformed, "version 1"},
		{"bytes behind", "commit", plain(with(func(f *sshForm) { f.rest = "x" })), alice, attest.Malformed, "follows"},
		{"bytes behind the inner signature", "commit", plain(with(func(f *sshForm) { f.sign = func(b []byte) []byte { return append(alice.sign(b), 'x') } })), alice, attest.Malformed, "follows"},
		{"of another algorithm", "commit", plain(with(func(f *sshForm) {
			f.sign = func(b []byte) []byte {
				return bytes.Replace(alice.sign(b), []byte(ssh.KeyAlgoED25519), []byte("ssh-ed25518"), 1)
			}
		})), alice, attest.WrongKey, "algorithm"},

		{"no time, key valid always", "commit", plain0(alice), alice, "", ""},
		{"no time, key valid for a time", "commit", plain0(alice), with(func(f *sshForm) { f.options = `valid-after="20200101Z" ` }), attest.NoTimestamp, "no time"},
		{"two thousand headers", "commit", signedCommit(alice, madeCommit+manyHeaders(2000), "\n"), alice, attest.Malformed, "too many headers"},
		{"two trees", "commit", signedCommit(alice, "tree "+id+"\n"+madeCommit, "\n"), alice, attest.Malformed, `"tree" twice`},
		{"two committers", "commit", signedCommit(alice, madeCommit+"committer T <t@example.com> 1 +0000\n", "\n"), alice, attest.Malformed, `"committer" twice`},
		{"two signatures", "commit", bytes.Replace(plain(alice), []byte("gpgsig "), []byte("gpgsig x\nencoding y\ngpgsig "), 1), alice, attest.Malformed, `"gpgsig" twice`},
		{"SHA-256 signature, too", "commit", signedCommit(alice, madeCommit+"gpgsig-sha256 x\n", "\n"), alice, attest.Malformed, "second signature"},
		{"commit with a tag", "commit", signedCommit(alice, madeCommit+"tag v1\n", "\n"), alice, attest.Malformed, "as git writes one"},
		{"tree not first", "commit", signedCommit(alice, "author T <t@example.com> 1700000000 +0000\ntree "+id+"\ncommitter T <t@example.com> 1700000000 +0000\n", "committer"), alice, attest.Malformed, "as git writes one"},
		{"zero byte in the header", "commit", signedCommit(alice, madeCommit+"note a\x00b\n", "\n"), alice, attest.Malformed, "no header"},
		{"line that goes on from nothing", "commit", append([]byte(" x\n"), plain(alice)...), alice, attest.Malformed, "or none"},
		{"armour that goes on", "commit", bytes.Replace(plain(alice), []byte("END SSH SIGNATURE-----\n"), []byte("END SSH SIGNATURE-----\n x\n"), 1), alice, attest.Malformed, "not armoured"},
		{"header behind the signature", "commit", bytes.Replace(plain(alice), []byte("END SSH SIGNATURE-----\n"), []byte("END SSH SIGNATURE-----\nparent "+id+"\n"), 1), alice, attest.BadSignature, ""},
		{"text behind the message", "commit", append(plain(alice), "more\n"...), alice, attest.BadSignature, ""},

		{"tag of a tree", "tag", signedTag(alice, strings.Replace(head, "type commit", "type tree", 1), "one\n"), alice, attest.WrongDigest, "names the tree"},
		{"tag with a signature in its header", "tag", signedTag(alice, head+"gpgsig x\n", "one\n"), alice, attest.Malformed, "as git writes one"},
		{"tag with two objects", "tag", signedTag(alice, "object "+id+"\n"+head, "one\n"), alice, attest.Malformed, `"object" twice`},
		{"tag with two names", "tag", signedTag(alice, head+"tag v2.0.0\n", "one\n"), alice, attest.Malformed, `"tag" twice`},
		{"tag with a signature of GPG in its message", "tag", signedTag(alice, head, "one\n-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----\n"), alice, attest.Malformed, "more than one"},
		{"tag with text behind its signature", "tag", append(signedTag(alice, head, "one\n"), "more\n"...), alice, attest.Malformed, "not armoured"},
		{"tag with X.509", "tag", []byte(head + "\none\n-----BEGIN SIGNED MESSAGE-----\nx\n-----END SIGNED MESSAGE-----\n"), alice, attest.NotChecked, "X.509"},
		{"commit with GPG", "commit", bytes.ReplaceAll(plain(alice), []byte(" SSH SIGNATURE"), []byte(" PGP SIGNATURE")), alice, attest.NotChecked, "GPG"},
		{"commit with what nobody knows", "commit", bytes.ReplaceAll(plain(alice), []byte(" SSH SIGNATURE"), []byte(" ODD SIGNATURE")), alice, attest.Malformed, "not armoured"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(r.dir, "object")
			if err := os.WriteFile(file, test.object, 0o600); err != nil {
				t.Fatal(err)
			}
			is := r.git("hash-object", "--literally", "-t", test.kind, "-w", file)
			subject := attest.Subject{Digest: attest.GitDigest + is}
			if test.kind == "tag" {
				subject = attest.Subject{Version: "1.0.0", Digest: attest.GitDigest + strings.Repeat("1", 40), Tags: []string{"v1.0.0"}}
			}
			trust := attest.Trust{SSH: allowed(t, test.by.allow())}
			got := verifier(t, trust).Verify([][]byte{gitEvidence(t, test.kind, test.object)}, subject)
			if got.Code != test.code || got.State != stateOf(test.code) || !strings.Contains(got.Reason, test.why) {
				t.Errorf("%s %q: %s", got.State, got.Code, got.Reason)
			}
			signers := filepath.Join(r.dir, "signers")
			if err := os.WriteFile(signers, []byte(test.by.allow()+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := r.run("git", "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-"+test.kind, is)
			if err != nil && got.State == attest.Verified {
				t.Errorf("git refuses it: %s", out)
			}
			if err == nil && got.State != attest.Verified {
				t.Logf("git accepts what skl refuses: %s", got.Reason)
			}
		})
	}
}
