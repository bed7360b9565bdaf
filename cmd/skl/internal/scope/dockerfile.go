package scope

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// A dockerFile is docker's config.json, with everything in it that skl does not know. The zero value is a file that is not
// there. An entry of auths without a member is a mark: the credential is elsewhere.
type dockerFile struct {
	fields     map[string]json.RawMessage // of the whole file, auths as it was read
	auths      map[string]json.RawMessage // each an object
	credsStore string
	helpers    map[string]string // credHelpers
}

// A dockerAuth is an entry of auths.
type dockerAuth struct {
	Auth          string `json:"auth,omitempty"`
	IdentityToken string `json:"identitytoken,omitempty"`
	RegistryToken string `json:"registrytoken,omitempty"`
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
}

// readDockerFile reads docker's config.json. One that is not there is empty.
func readDockerFile(path string) (dockerFile, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dockerFile{}, err
	}
	return parseDockerFile(text)
}

// parseDockerFile reads the text of docker's config.json. Nothing and null are empty, here and in each field. Anything else
// of another type is an error, and so is a key that is there twice: one of the two would be lost when the file is written.
// Errors quote no value: it may be a secret.
func parseDockerFile(text []byte) (f dockerFile, err error) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return dockerFile{}, errors.New("it begins with a byte order mark")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return dockerFile{}, nil
	}
	if !json.Valid(text) {
		return dockerFile{}, errors.New("it is not JSON")
	}
	if f.fields, err = jsonObject(text, "it"); err != nil {
		return dockerFile{}, err
	}
	if f.auths, err = jsonObject(f.fields["auths"], `"auths"`); err != nil {
		return dockerFile{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(f.auths)) {
		switch _, err := jsonObject(f.auths[key], "the entry of "+key+` in "auths"`); {
		case err != nil:
			return dockerFile{}, err
		case string(f.auths[key]) == "null":
			delete(f.auths, key)
		}
	}
	if text, ok := f.fields["credsStore"]; ok && json.Unmarshal(text, &f.credsStore) != nil {
		return dockerFile{}, errors.New(`"credsStore" is not a string`)
	}
	helpers, err := jsonObject(f.fields["credHelpers"], `"credHelpers"`)
	if err != nil {
		return dockerFile{}, err
	}
	f.helpers = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(helpers)) {
		var name string
		if json.Unmarshal(helpers[key], &name) != nil {
			return dockerFile{}, errors.New("the entry of " + key + ` in "credHelpers" is not a string`)
		}
		f.helpers[key] = name
	}
	return f, nil
}

// jsonObject are the members of a JSON object. Nothing and null have none. An error says what is none.
func jsonObject(text json.RawMessage, what string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	first, err := d.Token()
	if err == io.EOF || err == nil && first == nil {
		return nil, nil
	}
	if err != nil || first != json.Delim('{') {
		return nil, errors.New(what + " is not an object")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err == nil && ok {
			err = d.Decode(&value)
		}
		if err != nil || !ok {
			return nil, errors.New(what + " is not an object")
		}
		if _, twice := members[name]; twice {
			return nil, errors.New(what + " has a key twice: " + name)
		}
		members[name] = value
	}
	return members, nil
}

// helperPrefix begins the names of the programs that keep credentials for docker.
const helperPrefix = "docker-credential-"

// helper is the program that keeps the credential of host, "" for the file. It is alone if it is named for this host.
func (f dockerFile) helper(host string) (name string, alone bool) {
	if name := f.helpers[serverKey(host)]; name != "" {
		return helperPrefix + name, true
	}
	if f.credsStore != "" {
		return helperPrefix + f.credsStore, false
	}
	return "", false
}

// find is the entry of auths for a server. As docker does it, a bare host finds an address at this host, too.
func (f dockerFile) find(server string) (key string, ok bool) {
	if _, ok := f.auths[server]; ok {
		return server, true
	}
	for _, key := range slices.Sorted(maps.Keys(f.auths)) {
		if host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(key, "http://"), "https://"), "/"); host == server && !f.marked(key) {
			return key, true
		}
	}
	return "", false
}

// marked reports whether the entry with a key is a mark.
func (f dockerFile) marked(key string) bool {
	text, ok := f.auths[key]
	members, err := jsonObject(text, key)
	return ok && err == nil && len(members) == 0
}

// get is the credential for a server.
func (f dockerFile) get(server string) (auth.Credential, error) {
	key, ok := f.find(server)
	if !ok {
		return auth.EmptyCredential, nil
	}
	var entry dockerAuth
	if json.Unmarshal(f.auths[key], &entry) != nil {
		return auth.EmptyCredential, errors.New("its entry has a member that is not a string")
	}
	cred := auth.Credential{Username: entry.Username, Password: entry.Password, RefreshToken: entry.IdentityToken, AccessToken: entry.RegistryToken}
	if entry.Auth == "" {
		return cred, nil
	}
	text, err := base64.StdEncoding.DecodeString(entry.Auth)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok {
		return auth.EmptyCredential, errors.New("its entry is not USER:PASSWORD in base64")
	}
	cred.Username, cred.Password = user, password
	return cred, nil
}

// put sets the credential for a server. An empty one is a mark.
func (f *dockerFile) put(server string, cred auth.Credential) error {
	entry := dockerAuth{IdentityToken: cred.RefreshToken, RegistryToken: cred.AccessToken}
	if cred.Username != "" || cred.Password != "" {
		entry.Auth = base64.StdEncoding.EncodeToString([]byte(cred.Username + ":" + cred.Password))
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if f.auths == nil {
		f.auths = map[string]json.RawMessage{}
	}
	f.auths[server] = text
	return nil
}

// remove takes out the credential for a server.
func (f *dockerFile) remove(server string) {
	key, _ := f.find(server)
	delete(f.auths, key)
}

// bytes are the text of the file.
func (f dockerFile) bytes() ([]byte, error) {
	fields := map[string]json.RawMessage{}
	maps.Copy(fields, f.fields)
	if f.auths != nil || fields["auths"] != nil {
		auths, err := json.Marshal(f.auths)
		if err != nil {
			return nil, err
		}
		fields["auths"] = auths
	}
	return json.MarshalIndent(fields, "", "\t")
}
