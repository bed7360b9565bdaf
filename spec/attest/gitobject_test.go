package attest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/attest"
)

// A signedRepo is a repository that git and ssh-keygen made.
type signedRepo struct {
	t   testing.TB
	dir string
}

func newSignedRepo(t testing.TB) *signedRepo {
	t.Helper()
	for _, program := range []string{"git", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("SKL_TEST_REQUIRE") == "all" {
				t.Fatalf("%s is not installed, and SKL_TEST_REQUIRE=all wants no test skipped", program)
			}
			t.Skipf("skipped: %s is not installed", program)
		}
	}
	r := &signedRepo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main", ".")
	return r
}

func (r *signedRepo) run(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GNUPGHOME=" + filepath.Join(r.dir, "gnupg"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		out = stderr.Bytes()
	}
	return out, err
}

func (r *signedRepo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run("git", args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// key makes an SSH key and returns TYPE BASE64 of its public half.
func (r *signedRepo) key(name string, args ...string) string {
	r.t.Helper()
	if out, err := r.run("ssh-keygen", append([]string{"-q", "-N", "", "-C", "", "-f", name}, args...)...); err != nil {
		r.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, name+".pub"))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// signed runs git with what makes it sign with a key.
func (r *signedRepo) signed(key string, args ...string) {
	r.t.Helper()
	r.git(append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + filepath.Join(r.dir, key)}, args...)...)
}

// commit makes a commit and returns its id; with a key it is signed.
func (r *signedRepo) commit(key, message string) string {
	r.t.Helper()
	if key == "" {
		r.git("commit", "-q", "--allow-empty", "-m", message)
	} else {
		r.signed(key, "commit", "-q", "--allow-empty", "-S", "-m", message)
	}
	return r.git("rev-parse", "HEAD")
}

func (r *signedRepo) object(kind, name string) []byte {
	r.t.Helper()
	out, err := r.run("git", "cat-file", kind, name)
	if err != nil {
		r.t.Fatalf("git cat-file: %v\n%s", err, out)
	}
	return out
}

func (r *signedRepo) evidence(kind, name string) []byte {
	r.t.Helper()
	return gitEvidence(r.t, kind, r.object(kind, name))
}

func gitEvidence(t testing.TB, kind string, object []byte) []byte {
	t.Helper()
	e, err := attest.GitEvidence(kind, object)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func allowed(t testing.TB, lines ...string) []attest.SSHSigners {
	t.Helper()
	a, err := attest.ParseAllowedSigners([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return []attest.SSHSigners{{Allowed: a}}
}

// SSH signatures made by git are verified as git verifies them, and each refusal has its own reason.
func TestGitSignatures(t *testing.T) {
	r := newSignedRepo(t)
	alice, mallory := r.key("alice", "-t", "ed25519"), r.key("mallory", "-t", "ed25519")
	ecdsa, rsa := r.key("ecdsa", "-t", "ecdsa"), r.key("rsa", "-t", "rsa", "-b", "2048")
	weak := r.key("weak", "-t", "rsa", "-b", "1024")
	first := r.commit("alice", "first")
	r.signed("alice", "tag", "-s", "-m", "one", "v1.0.0")
	byECDSA := r.commit("ecdsa", "by ecdsa")
	byRSA := r.commit("rsa", "by rsa")
	byWeak := r.commit("weak", "by a weak key")
	byMallory := r.commit("mallory", "by another key")
	bare := r.commit("", "unsigned")
	r.signed("alice", "tag", "-s", "-m", "two", "v2.0.0")
	r.git("tag", "-a", "-m", "nobody's", "v2.0.1")
	r.signed("alice", "tag", "-s", "-m", "of a tag", "nested", "v2.0.0")
	r.signed("alice", "tag", "-s", "-m", "of a tree", "tree", "HEAD^{tree}")

	commit, tag := r.object("commit", first), r.object("tag", "v2.0.0")
	edited := func(object []byte, old, new string) []byte {
		if !bytes.Contains(object, []byte(old)) {
			t.Fatalf("no %q in %s", old, object)
		}
		return bytes.Replace(object, []byte(old), []byte(new), 1)
	}
	forFiles := func() []byte {
		// The same bytes, signed by the same key for another use than git's.
		text := string(commit)
		begin, end := strings.Index(text, "gpgsig "), strings.Index(text, "-----END SSH SIGNATURE-----\n")+len("-----END SSH SIGNATURE-----\n")
		payload := text[:begin] + text[end:]
		file := filepath.Join(r.dir, "payload")
		if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := r.run("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", "alice", file); err != nil {
			t.Fatalf("%s", out)
		}
		armour, err := os.ReadFile(file + ".sig")
		if err != nil {
			t.Fatal(err)
		}
		return []byte(text[:begin] + "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(string(armour), "\n"), "\n", "\n ") + "\n" + text[end:])
	}()

	a := "alice@example.com "
	plain := allowed(t, a+alice)
	one := attest.Subject{Version: "1.0.0", Digest: attest.GitDigest + first, Tags: []string{"1.0.0", "v1.0.0"}}
	two := attest.Subject{Version: "2.0.0", Digest: attest.GitDigest + bare, Tags: []string{"2.0.0", "v2.0.0"}}
	at := func(id string) attest.Subject { return attest.Subject{Digest: attest.GitDigest + id} }
	for _, test := range []struct {
		name     string
		trust    []attest.SSHSigners
		evidence []byte
		subject  attest.Subject
		code     attest.Code
	}{
		{"commit", plain, r.evidence("commit", first), one, ""},
		{"commit by ECDSA", allowed(t, a+ecdsa), r.evidence("commit", byECDSA), at(byECDSA), ""},
		{"commit by RSA", allowed(t, a+rsa), r.evidence("commit", byRSA), at(byRSA), ""},
		{"tag", plain, r.evidence("tag", "v2.0.0"), two, ""},
		{"for git alone", allowed(t, a+`namespaces="git" `+alice), r.evidence("commit", first), one, ""},
		{"valid then", allowed(t, a+`valid-after="20231101Z",valid-before="20231201Z" `+alice), r.evidence("commit", first), one, ""},
		{"second line", allowed(t, a+`valid-before="20200101Z" `+alice, a+alice), r.evidence("commit", first), one, ""},
		{"its principal", []attest.SSHSigners{{Allowed: plain[0].Allowed, Pattern: `.*@example\.com`}}, r.evidence("commit", first), one, ""},

		{"wrong key", plain, r.evidence("commit", byMallory), at(byMallory), attest.WrongKey},
		{"no SSH key", nil, r.evidence("commit", first), one, attest.WrongKey},
		{"weak key", allowed(t, a+weak), r.evidence("commit", byWeak), at(byWeak), attest.WrongKey},
		{"authority", allowed(t, a+"cert-authority "+alice), r.evidence("commit", first), one, attest.WrongKey},
		{"wrong identity", []attest.SSHSigners{{Allowed: plain[0].Allowed, Pattern: `bob@example\.com`}}, r.evidence("commit", first), one, attest.WrongIdentity},
		{"part of an identity", []attest.SSHSigners{{Allowed: plain[0].Allowed, Pattern: `alice`}}, r.evidence("commit", first), one, attest.WrongIdentity},
		{"not for git", allowed(t, a+`namespaces="file,!git" `+alice), r.evidence("commit", first), one, attest.WrongPredicate},
		{"made for files", plain, gitEvidence(t, "commit", forFiles), one, attest.WrongPredicate},
		{"expired", allowed(t, a+`valid-before="20231101" `+alice), r.evidence("commit", first), one, attest.Expired},
		{"not yet valid", allowed(t, a+`valid-after="20231201" `+alice), r.evidence("commit", first), one, attest.Expired},
		{"wrong digest", plain, r.evidence("commit", first), at(bare), attest.WrongDigest},
		{"not of git", plain, r.evidence("commit", first), pdf(), attest.WrongDigest},
		{"tag of another commit", plain, r.evidence("tag", "v1.0.0"), two, attest.WrongDigest},
		{"replayed tag", plain, r.evidence("tag", "v2.0.0"), attest.Subject{Version: "3.0.0", Digest: two.Digest, Tags: []string{"3.0.0", "v3.0.0"}}, attest.Replayed},
		{"tag of a version-less release", plain, r.evidence("tag", "v2.0.0"), at(bare), attest.Replayed},
		{"tag of a tag", plain, r.evidence("tag", "nested"), attest.Subject{Digest: two.Digest, Tags: []string{"nested"}}, attest.WrongDigest},
		{"tag of a tree", plain, r.evidence("tag", "tree"), attest.Subject{Digest: two.Digest, Tags: []string{"tree"}}, attest.WrongDigest},
		{"changed commit", plain, gitEvidence(t, "commit", edited(commit, "first", "other")), one, attest.BadSignature},
		{"changed tag", plain, gitEvidence(t, "tag", edited(tag, "v2.0.0", "v3.0.0")), two, attest.BadSignature},
		{"signature of another commit", plain, gitEvidence(t, "commit", edited(r.object("commit", byMallory), signatureIn(r.object("commit", byMallory)), signatureIn(commit))), at(byMallory), attest.BadSignature},
		{"header twice", plain, gitEvidence(t, "commit", edited(commit, "committer ", "committer Eve <e@example.com> 1 +0000\ncommitter ")), one, attest.Malformed},
		{"second signature", plain, gitEvidence(t, "tag", append(bytes.Clone(tag), tag[bytes.Index(tag, []byte("-----BEGIN")):]...)), two, attest.Malformed},
		{"commit called a tag", plain, gitEvidence(t, "tag", commit), one, attest.Malformed},
		{"blob", plain, gitEvidence(t, "blob", commit), one, attest.Malformed},
		{"cut armour", plain, gitEvidence(t, "commit", edited(commit, "\n -----END SSH SIGNATURE-----", "")), one, attest.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			trust := attest.Trust{SSH: test.trust, Keys: []attest.PublicKey{fixedKey(t).Public()}}
			got := verifier(t, trust).Verify([][]byte{test.evidence}, test.subject)
			if got.Code != test.code || got.State != stateOf(test.code) || got.Reason == "" && test.code != "" {
				t.Fatalf("%s %q: %s", got.State, got.Code, got.Reason)
			}
			if got.State == attest.Verified && (got.Signer.Kind != "ssh" || got.Signer.Identity != "alice@example.com" || got.At.Unix() != 1700000000) {
				t.Errorf("%+v at %s", got.Signer, got.At)
			}
		})
	}
	for name, object := range map[string][]byte{"commit": r.object("commit", bare), "tag": r.object("tag", "v2.0.1")} {
		if e := gitEvidence(t, name, object); e != nil {
			t.Errorf("%s that nobody signed: %s", name, e)
		}
	}

	// git itself says the same.
	file := filepath.Join(r.dir, "signers")
	for _, test := range []struct {
		line string
		args []string
	}{
		{a + alice, []string{"verify-commit", first}},
		{a + alice, []string{"verify-tag", "v2.0.0"}},
		{a + alice, []string{"verify-commit", byMallory}},
		{a + mallory, []string{"verify-commit", first}},
		{a + `namespaces="file" ` + alice, []string{"verify-commit", first}},
		{a + `valid-before="20231101" ` + alice, []string{"verify-commit", first}},
		{a + `valid-after="20231101" ` + alice, []string{"verify-commit", first}},
		{a + "cert-authority " + alice, []string{"verify-commit", first}},
	} {
		if err := os.WriteFile(file, []byte(test.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := r.run("git", append([]string{"-c", "gpg.ssh.allowedSignersFile=" + file}, test.args...)...)
		kind := strings.TrimPrefix(test.args[0], "verify-")
		subject := two
		if kind == "commit" {
			subject = at(test.args[1])
		}
		got := verifier(t, attest.Trust{SSH: allowed(t, test.line)}).Verify([][]byte{r.evidence(kind, test.args[1])}, subject)
		if (err == nil) != (got.State == attest.Verified) {
			t.Errorf("%s %v: git says %v, skl %s %s", test.line, test.args, err, got.State, got.Reason)
		}
	}
}

// stateOf is the verdict on a single bundle with that code.
func stateOf(c attest.Code) attest.State {
	switch c {
	case "":
		return attest.Verified
	case attest.NotChecked:
		return attest.Unsigned
	}
	return attest.Failed
}

// signatureIn is the signature of a commit as it stands in its header.
func signatureIn(object []byte) string {
	text := string(object)
	return text[strings.Index(text, "gpgsig "):strings.Index(text, "-----END SSH SIGNATURE-----")]
}

// A line of allowed signers that is not understood as a whole refuses the file: what it says could narrow what the key may do.
func TestAllowedSigners(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqyTKsxfuoEvlLCjmJ9hXOIFuQTIYaJcmAy8IKWGXvH"
	for _, line := range []string{
		"a@b " + key, "a@b,*@c  " + key + " a comment", `"a b" ` + key, "# nothing\n\na@b " + key, "a@b NAMESPACES=\"git\" " + key,
		`a@b cert-authority,namespaces="git,file",valid-after="20200101",valid-before="202501011200Z" ` + key,
	} {
		if all, err := attest.ParseAllowedSigners([]byte(line)); err != nil || len(all) != 1 {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		"", "# nothing", key, "a@b", "a@b ssh-ed25519", "a@b ssh-ed25519 AAAA", "a@b ssh-rsa " + strings.Fields(key)[1], "a@b " + key[:40],
		"a@b no-touch " + key, `a@b namespaces="" ` + key, `a@b namespaces="git",namespaces="git" ` + key, `a@b valid-after="today" ` + key,
		`a@b valid-after="20300101",valid-before="20200101" ` + key, `a@b namespaces="git", ` + key, `a@b namespaces="git ` + key,
		"a\x1b[2J@b " + key, "a@b cert-authority=yes " + key, `a@b namespaces="g[it" ` + key,
	} {
		if all, err := attest.ParseAllowedSigners([]byte(line)); err == nil || all != nil {
			t.Errorf("%q is accepted: %v", line, all)
		}
	}
}

// No object of git counts as signed by a key that did not sign it.
func FuzzGitObject(f *testing.F) {
	r := newSignedRepo(f)
	alice := r.key("alice", "-t", "ed25519")
	id := r.commit("alice", "first")
	r.signed("alice", "tag", "-s", "-m", "one", "v1.0.0")
	f.Add(true, r.object("commit", id))
	f.Add(false, r.object("tag", "v1.0.0"))
	f.Add(true, bytes.Replace(r.object("commit", id), []byte("gpgsig"), []byte("gpgsig-sha256"), 1))
	commit, tag := string(r.object("commit", id)), string(r.object("tag", "v1.0.0"))
	v := verifier(f, attest.Trust{SSH: allowed(f, "alice "+alice)})
	subject := attest.Subject{Digest: attest.GitDigest + id, Tags: []string{"v1.0.0"}}
	f.Fuzz(func(t *testing.T, isCommit bool, object []byte) {
		kind := "tag"
		if isCommit {
			kind = "commit"
		}
		e, err := attest.GitEvidence(kind, object)
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return
		}
		got := v.Verify([][]byte{e}, subject)
		if got.State != attest.Verified {
			if got.Code == "" || got.Reason == "" {
				t.Errorf("%+v", got)
			}
		} else if isCommit && string(object) != commit || !isCommit && strings.TrimSpace(string(object)) != strings.TrimSpace(tag) && !sameTag(string(object), tag) {
			t.Errorf("verified %q", object)
		}
	})
}

// sameTag reports whether two tags have the same text before their signature, which may be spelled in several ways.
func sameTag(a, b string) bool {
	before := func(s string) string { head, _, _ := strings.Cut(s, "-----BEGIN"); return head }
	return before(a) == before(b)
}

// No armoured signature and no line of allowed signers makes the verifier panic.
func FuzzSSH(f *testing.F) {
	f.Add("a@b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqyTKsxfuoEvlLCjmJ9hXOIFuQTIYaJcmAy8IKWGXvH", "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----")
	f.Add(`a@b,!c namespaces="git",valid-after="20200101Z" ssh-ed25519 AAAA`, "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg\n-----END SSH SIGNATURE-----")
	f.Fuzz(func(t *testing.T, line, armour string) {
		all, err := attest.ParseAllowedSigners([]byte(line))
		if (all == nil) == (err == nil) {
			t.Fatalf("%v, error %v", all, err)
		}
		object, _ := json.Marshal(map[string]any{"git": "tag", "object": []byte("object 0000000000000000000000000000000000000000\ntype commit\ntag v1\ntagger T <t@example.com> 1 +0000\n\nm\n" + armour)})
		v := verifier(t, attest.Trust{SSH: []attest.SSHSigners{{Allowed: all}}, Keys: []attest.PublicKey{fixedKey(t).Public()}})
		if got := v.Verify([][]byte{object}, attest.Subject{Digest: attest.GitDigest + strings.Repeat("0", 40), Tags: []string{"v1"}}); got.State == attest.Verified {
			t.Errorf("verified %q by %q", armour, line)
		}
	})
}
