package attest

import (
	"strings"
	"testing"
	"time"
)

// Whatever is accepted as a line of allowed signers means one thing: it is read the same without its comment, and says a key of a known type.
func FuzzAllowedSigners(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqyTKsxfuoEvlLCjmJ9hXOIFuQTIYaJcmAy8IKWGXvH"
	f.Add("a@b " + key)
	f.Add(`"a b",!c namespaces="git,!file",valid-after="20200101Z",valid-before="202501011200" ` + key + " comment")
	f.Add("a@b cert-authority " + key)
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\r\n") {
			return
		}
		all, err := ParseAllowedSigners([]byte(line))
		if (len(all) == 1) != (err == nil) {
			t.Fatalf("%q: %v, %v", line, all, err)
		}
		if err != nil {
			return
		}
		s := all[0]
		again, err := ParseAllowedSigners([]byte("# a comment\n\n" + line + " more\n"))
		if err != nil || again[0].Fingerprint != s.Fingerprint || again[0].Principals != s.Principals || again[0].Authority != s.Authority ||
			!again[0].After.Equal(s.After) || !again[0].Before.Equal(s.Before) || strings.Join(again[0].Namespaces, ",") != strings.Join(s.Namespaces, ",") {
			t.Errorf("%q: %+v, %+v, %v", line, s, again, err)
		}
		if s.Authority && !strings.Contains(strings.ToLower(line), "cert-authority") || s.Authority && s.refuses(gitNamespace, time.Unix(1, 0)) == nil {
			t.Errorf("%q: an authority: %v", line, s.Authority)
		}
	})
}

// The parts read from an armoured signature are the parts that are verified: armoured again, they are read the same.
func FuzzSSHSig(f *testing.F) {
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----")
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgmrJMqzF+6gS+UsKOYn2Fc4gW5BMhholyYDLwgpYZe8cAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END SSH SIGNATURE-----")
	f.Fuzz(func(t *testing.T, armour string) {
		s, no := parseSSHSig(armour)
		if (s == nil) == (no == nil) || no != nil && (no.code == "" || no.reason == "") {
			t.Fatalf("%v, %v", s, no)
		}
		if no != nil {
			return
		}
		if s.hash != "sha256" && s.hash != "sha512" || !sshKeyType(s.key.Type()) || strings.Contains(s.signature.Format, "cert") {
			t.Errorf("%+v", s)
		}
		if s.covers([]byte(armour)) {
			t.Errorf("%q signs itself", armour)
		}
	})
}

// An object that is accepted holds what is signed, without its signature, and has the id of all its bytes.
func FuzzGitParse(f *testing.F) {
	f.Add(true, "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor T <t> 1 +0000\ncommitter T <t> 1 +0000\ngpgsig a\n b\n\nm\n")
	f.Add(true, "tree 4b\nparent 1\nparent 2\ngpgsig a\nmergetag b\n c\nmergetag d\ncommitter T <t> 99 +0000\n\n\nm")
	f.Add(false, "object 1\ntype commit\ntag v1\ntagger T <t> 1 +0000\n\nm\n-----BEGIN SSH SIGNATURE-----\nx\n")
	f.Fuzz(func(t *testing.T, isCommit bool, text string) {
		kind := "tag"
		if isCommit {
			kind = "commit"
		}
		o, no := parseGitObject(kind, []byte(text))
		if (o == nil) == (no == nil) || no != nil && (no.code == "" || no.reason == "") {
			t.Fatalf("%v, %v", o, no)
		}
		if no != nil {
			return
		}
		if o.signature == "" || len(o.id) != 40 {
			t.Errorf("%+v", o)
		}
		if !isCommit {
			if string(o.payload)+o.signature != text {
				t.Errorf("%q and %q are not the tag", o.payload, o.signature)
			}
			return
		}
		inside := "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(o.signature, "\n"), "\n", "\n ") + "\n"
		if at := strings.Index("\n"+text, "\n"+inside); at < 0 || text[:at]+text[at+len(inside):] != string(o.payload) {
			t.Errorf("%q without %q is not %q", text, inside, o.payload)
		}
	})
}
