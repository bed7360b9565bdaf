package scope

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// dockerFiles are texts of docker's config.json, and why they are refused; "" if they are not.
var dockerFiles = map[string]string{
	"":                                       "",
	" \n\t":                                  "",
	"null":                                   "",
	"{}":                                     "",
	`{"auths":null}`:                         "",
	`{"auths":{"a.example":null}}`:           "",
	`{"auths":{"a.example":{}}}`:             "",
	`{"credHelpers":null,"credsStore":null}`: "",
	`{"Auths":["other"],"other":[1]}`:        "",
	`[]`:                                     "it is not an object",
	`"secret"`:                               "it is not an object",
	`7`:                                      "it is not an object",
	`{"auths":[]}`:                           `"auths" is not an object`,
	`{"auths":{"a.example":"secret"}}`:       `the entry of a.example in "auths" is not an object`,
	`{"credHelpers":[]}`:                     `"credHelpers" is not an object`,
	`{"credHelpers":{"a.example":["secret"]}}`:       `the entry of a.example in "credHelpers" is not a string`,
	`{"credsStore":{}}`:                              `"credsStore" is not a string`,
	`{"auths":{},"auths":{}}`:                        "it has a key twice: auths",
	`{"auths":{"a.example":{},"a.example":{}}}`:      `"auths" has a key twice: a.example`,
	`{"auths":{"a.example":{"auth":"","auth":"x"}}}`: `the entry of a.example in "auths" has a key twice: auth`,
	"\xef\xbb\xbf{}":                                 "it begins with a byte order mark",
	`{"auths": "secret"`:                             "it is not JSON",
	`{} {}`:                                          "it is not JSON",
}

// TestDockerFile reads each text, and writes it with one credential more.
func TestDockerFile(t *testing.T) {
	for text, want := range dockerFiles {
		f, err := parseDockerFile([]byte(text))
		switch {
		case err != nil && err.Error() != want, err == nil && want != "":
			t.Errorf("%s: %v, not %q", text, err, want)
		case err == nil:
			written(t, text, f)
		}
	}
}

// written holds that f, which was read from text, keeps a credential, loses it again, and keeps everything else.
func written(t *testing.T, text string, f dockerFile) {
	t.Helper()
	const server = "https://new.example/skl"
	cred := auth.Credential{Username: "skl", Password: "a:b"}
	if err := f.put(server, cred); err != nil {
		t.Fatal(err)
	}
	now, err := f.bytes()
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	again, err := parseDockerFile(now)
	if err != nil {
		t.Fatalf("%q was written as %s: %v", text, now, err)
	}
	if got, err := again.get(server); err != nil || got != cred || again.marked(server) {
		t.Errorf("%q: the credential is %v, %v", text, got, err)
	}
	again.put(server, auth.EmptyCredential)
	if !again.marked(server) {
		t.Errorf("%q: an empty credential is no mark", text)
	}
	again.remove(server)
	if again.auths[server] != nil {
		t.Errorf("%q: the credential was not removed", text)
	}
	for name, value := range f.fields {
		if name != "auths" && !sameJSON(value, again.fields[name]) {
			t.Errorf("%q: %s was %s and is %s", text, name, value, again.fields[name])
		}
	}
	for key, entry := range f.auths {
		if key != server && !sameJSON(entry, again.auths[key]) {
			t.Errorf("%q: %s was %s and is %s", text, key, entry, again.auths[key])
		}
	}
}

// sameJSON compares without spaces and ways to escape.
func sameJSON(a, b json.RawMessage) bool {
	x, errA := json.MarshalIndent(a, "", "")
	y, errB := json.MarshalIndent(b, "", "")
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// TestDockerFileFinds looks hosts up as docker does, and finds no mark of another address at the host.
func TestDockerFileFinds(t *testing.T) {
	f, err := parseDockerFile([]byte(`{"auths":{"https://a.example/skl":{},"https://a.example/v1/":{"auth":"bWU6b25l"},"b.example":{"auth":"!"},"c.example":{"auth":7}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if cred, err := f.get("a.example"); err != nil || cred.Password != "one" {
		t.Errorf("a.example: %v, %v", cred, err)
	}
	for _, host := range []string{"b.example", "c.example"} {
		if cred, err := f.get(host); err == nil || cred != (auth.Credential{}) || strings.Contains(err.Error(), "!") {
			t.Errorf("%s: %v, %v", host, cred, err)
		}
	}
	f.remove("a.example")
	if cred, err := f.get("a.example"); err != nil || cred != (auth.Credential{}) || !f.marked("https://a.example/skl") {
		t.Errorf("removed: %v, %v", cred, err)
	}
}

// FuzzDockerFile holds that a file is refused or that everything in it survives a login and a logout.
func FuzzDockerFile(f *testing.F) {
	for text := range dockerFiles {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if file, err := parseDockerFile(text); err == nil {
			written(t, string(text), file)
		}
	})
}
