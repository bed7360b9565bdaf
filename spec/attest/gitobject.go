package attest

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pjbgf/sha1cd"
	"golang.org/x/crypto/ssh"

	"github.com/skl-project/skl/spec/diag"
)

const (
	pgpBegin     = "-----BEGIN PGP "           // SIGNATURE, or MESSAGE
	x509Begin    = "-----BEGIN SIGNED MESSAGE" // of S/MIME
	maxGitObject = 512 << 10

	maxGitHeaders = 1000 // each is compared with all others

	// GitDigest begins the digest of a [Subject] that is a commit: "gitCommit:" and 40 hex digits.
	GitDigest = "gitCommit:"
)

// A gitEvidence is a signed object of git as it is kept with other signatures.
type gitEvidence struct {
	Kind   string `json:"git"` // "commit", "tag"
	Object []byte `json:"object"`
}

// GitEvidence is a commit or an annotated tag as a bundle for [Verifier.Verify], nil if nobody signed it. The object is
// what git cat-file prints of it.
func GitEvidence(kind string, object []byte) ([]byte, error) {
	if !strings.Contains(string(object), "-----BEGIN ") && !strings.Contains(string(object), "\ngpgsig") {
		return nil, nil
	}
	return json.Marshal(gitEvidence{kind, object})
}

// A gitObject is a commit or a tag with its signature.
type gitObject struct {
	id        string // of the whole object, by SHA-1 with collision detection
	about     string // of a tag: the id of what it names
	what      string // of a tag: the type of that
	name      string // of a tag
	at        time.Time
	payload   []byte // what is signed
	signature string
}

// parseGitObject reads an object. It refuses what git would not write, and what different readers of it would see
// differently: a header twice, a second signature, bytes behind one.
func parseGitObject(kind string, object []byte) (*gitObject, *refusal) {
	if len(object) > maxGitObject {
		return nil, refuse(Malformed, "it has %d bytes, more than %d", len(object), maxGitObject)
	}
	sum, collision := sha1cd.Sum([]byte(kind + " " + strconv.Itoa(len(object)) + "\x00" + string(object)))
	if collision {
		return nil, malformed("it was made so that other content has its id, too")
	}
	o := &gitObject{id: hex.EncodeToString(sum[:])}
	head, message, ok := strings.Cut(string(object), "\n\n")
	if !ok || strings.Contains(head, "\x00") {
		return nil, malformed("it has no header as git writes one")
	}
	var payload, signature []byte
	var keys []string
	into := &payload
	for _, line := range strings.SplitAfter(head+"\n", "\n") {
		if line == "" {
			break
		}
		key, value, _ := strings.Cut(line, " ")
		if key == "" && len(keys) > 0 { // the line goes on
			if into == &signature {
				line = value
			}
			*into = append(*into, line...)
			continue
		}
		if key == "" || slices.Contains(keys, key) && key != "parent" && key != "mergetag" {
			return nil, refuse(Malformed, "it has the header %q twice, or none", diag.Printable(key))
		}
		if keys = append(keys, key); len(keys) > maxGitHeaders {
			return nil, malformed("it has too many headers")
		}
		into = &payload
		text := strings.TrimSuffix(value, "\n")
		switch key {
		case "gpgsig":
			into, line = &signature, value
		case "gpgsig-sha256":
			return nil, malformed("it has a second signature, over SHA-256")
		case "object":
			o.about = text
		case "type":
			o.what = text
		case "tag":
			o.name = text
		case "committer", "tagger":
			o.at = gitTime(text)
		}
		*into = append(*into, line...)
	}
	has := func(key string) bool { return slices.Contains(keys, key) }
	switch {
	case kind == "commit" && keys[0] == "tree" && has("committer") && !has("tag"):
		if o.payload, o.signature = append(append(payload, '\n'), message...), string(signature); o.signature == "" {
			return nil, malformed("the commit has no signature")
		}
	case kind == "tag" && keys[0] == "object" && o.what != "" && o.name != "" && !has("gpgsig"):
		at := armourIn(message)
		if at < 0 {
			return nil, malformed("the tag has no signature")
		}
		if armourIn(message[at+1:]) >= 0 {
			return nil, malformed("the tag has more than one signature")
		}
		end := len(object) - len(message) + at
		o.payload, o.signature = object[:end], message[at:]
	default:
		return nil, refuse(Malformed, "it is not a %s as git writes one", kind)
	}
	return o, nil
}

// armourIn is where the first line is that begins a signature, -1 if none does.
//
//go:noinline
func armourIn(text string) int {
	at := -1
	for _, begin := range []string{sshBegin, pgpBegin, x509Begin} {
		if strings.HasPrefix(text, begin) {
			return 0
		}
		if i := strings.Index(text, "\n"+begin); i >= 0 && (at < 0 || i+1 < at) {
			at = i + 1
		}
	}
	return at
}

// gitTime is the time of NAME <MAIL> SECONDS ZONE, zero if it cannot be read.
func gitTime(value string) time.Time {
	fields := strings.Fields(value[strings.LastIndexByte(value, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	sec, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || sec <= 0 || sec > 1<<40 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// gitSigned verifies a commit or tag for out against the allowed signers.
func (v *Verifier) gitSigned(out *Verdict, e *gitEvidence, subject *Subject) *refusal {
	commit, ok := strings.CutPrefix(subject.Digest, GitDigest)
	switch {
	case len(v.ssh) == 0:
		return refuse(WrongKey, "it is a signed %s of git, and no SSH key is trusted for those", diag.Printable(e.Kind))
	case e.Kind != "commit" && e.Kind != "tag":
		return malformed("it is not a commit or tag")
	case !ok:
		return refuse(WrongDigest, "it is a %s of git, and the release is not", e.Kind)
	}
	o, no := parseGitObject(e.Kind, e.Object)
	if no != nil {
		return no
	}
	for _, other := range [][2]string{{pgpBegin, "GPG"}, {x509Begin, "X.509"}} {
		if strings.HasPrefix(o.signature, other[0]) {
			return refuse(NotChecked, "its %s is signed with %s, which skl does not verify; signatures by SSH keys are (git config gpg.format ssh)", e.Kind, other[1])
		}
	}
	s, no := parseSSHSig(o.signature)
	if no != nil {
		return no
	}
	signer, no := v.sshSigner(s, o.at)
	if no != nil {
		return no
	}
	if !s.covers(o.payload) {
		return refuse(BadSignature, "its content was changed after signing, or another key signed it")
	}
	switch {
	case s.namespace != gitNamespace:
		return refuse(WrongPredicate, "its signature was made for %q and not for git", diag.Printable(s.namespace))
	case e.Kind == "commit" && o.id != commit:
		return refuse(WrongDigest, "it is the commit %s, not %s", o.id, commit)
	case e.Kind == "tag" && (o.what != "commit" || o.about != commit):
		return refuse(WrongDigest, "the tag %s names the %s %s, not the commit %s", diag.Printable(o.name), diag.Printable(o.what), diag.Printable(o.about), commit)
	case e.Kind == "tag" && !slices.Contains(subject.Tags, o.name):
		return refuse(Replayed, "it is the tag %s, not one of %s", diag.Printable(o.name), release(subject.Name, subject.Version))
	}
	out.Signer, out.At = signer, o.at
	return nil
}

// sshSigner finds the allowed signer whose key is on s. Of several lines with the key one has to let it sign; else the
// first says why not.
func (v *Verifier) sshSigner(s *sshSig, at time.Time) (Signer, *refusal) {
	key := string(s.key.Marshal())
	var first *refusal
	for i := range v.ssh {
		a := &v.ssh[i]
		if string(a.key) != key {
			continue
		}
		no := a.refuses(gitNamespace, at)
		if no == nil && a.trusted != nil && !a.trusted.MatchString(a.Principals) {
			no = refuse(WrongIdentity, "its key %s is that of %s, who is not trusted", a.Fingerprint, a.Principals)
		}
		if no == nil {
			return Signer{Kind: "ssh", Identity: a.Principals, Key: a.Fingerprint}, nil
		}
		if first == nil {
			first = no
		}
	}
	if first == nil {
		first = refuse(WrongKey, "it is signed with the SSH key %s, which is not trusted", ssh.FingerprintSHA256(s.key))
	}
	return Signer{}, first
}
