package registry

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/keyring/keyringtest"
	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/registry/server"
)

// A desktop is a place with a session bus.
type desktop struct {
	*harness.Place
	bus   *keyringtest.Bus
	token string
}

// skl runs the program as on a desktop. The token is its standard input.
func (d desktop) skl(status int, env string, args ...string) string {
	d.T.Helper()
	cmd := d.Command(args...)
	cmd.Env = append(append(cmd.Env, d.bus.Environ()...), "SKL_KEYRING=", env)
	cmd.Stdin = strings.NewReader(d.token)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		d.T.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		d.T.Fatalf("skl %s: exit %d, not %d\n%s", strings.Join(args, " "), got, status, out)
	}
	return string(out)
}

// docker is what docker's file has for a host, and what else it has.
func (d desktop) docker() (auths map[string]map[string]string, text string) {
	d.T.Helper()
	var file struct{ Auths map[string]map[string]string }
	data, err := os.ReadFile(filepath.Join(d.Home, ".docker", "config.json"))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		d.T.Fatal(err)
	}
	return file.Auths, string(data)
}

func (d desktop) wants(text string, parts ...string) {
	d.T.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			d.T.Errorf("%q is not in what was said:\n%s", part, text)
		}
	}
}

// TestKeyring logs in where there is a keyring, and where it is locked, off, emptied and gone. Each command is a process.
func TestKeyring(t *testing.T) {
	host, token := harness.ServeRegistry(t, server.Config{})
	d := desktop{harness.NewPlace(t), keyringtest.Start(t), token}
	harness.WriteFile(t, filepath.Join(d.Home, ".docker", "config.json"), `{"auths": {"other.example": {"auth": "bWU6b3RoZXI="}}, "HttpHeaders": {"A": "b"}}`)
	login := []string{"login", "http://" + host, "--name", "corp", "--default", "--token-stdin"}
	whoever := []string{"registry", "token", "list"} // needs the token

	d.wants(d.skl(0, "", append(login, "--dry-run")...), "would be kept in ~/.docker/config.json")
	d.wants(d.skl(0, "", login...), "the token is in ~/.docker/config.json")
	d.has("https://"+host+"/skl", true, true)

	d.bus.Keyring(true)
	d.wants(d.skl(0, "", append(login, "--dry-run")...), "would be kept in the system's keyring")
	d.has("https://"+host+"/skl", true, true)
	d.wants(d.skl(0, "", login...), "the token is in the system's keyring")
	d.has("https://"+host+"/skl", true, false)
	filepath.WalkDir(d.Home, func(path string, _ fs.DirEntry, _ error) error {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), token) {
			t.Errorf("the token is in %s", path)
		}
		return nil
	})
	d.skl(0, "", whoever...)
	d.wants(d.skl(0, "", "doctor"), "credential from skl login")

	d.wants(d.skl(1, "SKL_KEYRING=off", whoever...), "the token of "+host+" is in the system's keyring, and is not read: SKL_KEYRING is off", "hint: unset SKL_KEYRING, or set SKL_TOKEN_")
	d.wants(d.skl(1, "SKL_KEYRING=off", "logout", "corp"), "cannot be removed from the system's keyring: SKL_KEYRING is off", "hint: unset SKL_KEYRING and run: skl logout "+host)
	d.bus.End()
	d.wants(d.skl(1, "", whoever...), "the token of "+host+" is in the system's keyring, and is not read: ", "hint: unlock it, or set SKL_TOKEN_127_0_0_1___")
	d.skl(0, "SKL_TOKEN="+token, whoever...)
	d.wants(d.skl(1, "", "logout", "corp"), "cannot be removed from the system's keyring")
	d.has("https://"+host+"/skl", true, false)
	d.bus.Keyring(false)
	d.wants(d.skl(1, "", whoever...), "and is not read: it stays locked")
	d.wants(d.skl(0, "", login...), "the system's keyring does not take the token: it stays locked", "the token before this one is still in the system's keyring",
		"the token is in ~/.docker/config.json")
	d.has("https://"+host+"/skl", true, true)
	d.skl(0, "", whoever...)
	d.bus.End()
	d.bus.Keyring(true)

	var kept struct{ Store string }
	if err := json.Unmarshal([]byte(d.skl(0, "", append(login, "--json")...)), &kept); err != nil || kept.Store != "the system's keyring" {
		t.Errorf("as JSON: %+v, %v", kept, err)
	}
	d.wants(d.skl(0, "", "logout", "corp", "--dry-run"), "would be removed from the system's keyring")
	d.skl(0, "", whoever...)
	d.wants(d.skl(0, "", "logout", "corp"), "logged out of http://"+host)
	d.has("https://"+host+"/skl", false, false)
	d.wants(d.skl(0, "", "logout", "corp"), "there was no token for http://"+host)

	d.skl(0, "", login...)
	d.bus.Forget(host)
	d.wants(d.skl(1, "", whoever...), "the token of "+host+" is not in the system's keyring any more", "hint: skl login "+host)
	d.skl(0, "", "logout", "corp")
	d.has("https://"+host+"/skl", false, false)
	d.wants(d.skl(0, "SKL_KEYRING=off", login...), "the token is in ~/.docker/config.json")
	d.has("https://"+host+"/skl", true, true)
}

// has compares docker's file with whether it has an entry, and the entry a token. What was in it before stays.
func (d desktop) has(key string, entry, token bool) {
	d.T.Helper()
	auths, text := d.docker()
	if got, ok := auths[key]; ok != entry || (got["auth"] != "") != token {
		d.T.Errorf("the file has an entry %v with a token %v, not %v, %v\n%s", ok, got["auth"] != "", entry, token, text)
	}
	d.wants(text, "bWU6b3RoZXI=", "HttpHeaders")
}

// TestKeyringLogout logs out of a registry whose token is in the keyring while docker's file does not say so.
func TestKeyringLogout(t *testing.T) {
	host, token := harness.ServeRegistry(t, server.Config{})
	d := desktop{harness.NewPlace(t), keyringtest.Start(t), token}
	file := filepath.Join(d.Home, ".docker", "config.json")
	login := []string{"login", "http://" + host, "--name", "corp", "--token-stdin"}
	gone := func() {
		t.Helper()
		if d.bus.Holds(host) {
			t.Error("the keyring still has the token")
		}
		d.wants(d.skl(0, "", "logout", "corp"), "there was no token for http://"+host+" in ~/.docker/config.json")
	}
	d.wants(d.skl(0, "", "logout", "http://"+host), "there was no token") // nobody keeps secrets
	d.bus.Keyring(true)

	// The keyring is locked, and takes neither the next token nor the way out of it.
	d.skl(0, "", login...)
	d.bus.End()
	d.bus.Keyring(false)
	d.wants(d.skl(0, "", login...), "the token before this one is still in the system's keyring", "hint: unlock it and run: skl login "+host)
	d.wants(d.skl(0, "", "logout", "corp", "--dry-run"), "would be removed from ~/.docker/config.json and from the system's keyring")
	d.wants(d.skl(1, "", "logout", "corp"), "the token of "+host+" cannot be removed from the system's keyring: it stays locked", "hint: unlock it and run: skl logout "+host)
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), host) {
		t.Errorf("the file still has a token: %v\n%s", err, text)
	}
	d.bus.End()
	d.bus.Keyring(true)
	d.wants(d.skl(0, "", "logout", "corp"), "logged out of http://"+host)
	gone()

	// Docker's file is emptied by hand.
	d.skl(0, "", login...)
	harness.WriteFile(t, file, "")
	d.wants(d.skl(0, "", "logout", "corp"), "logged out of http://"+host)
	gone()

	// The keyring is off in between.
	d.skl(0, "", login...)
	d.wants(d.skl(0, "SKL_KEYRING=off", login...), "the token before this one is still in the system's keyring", "hint: unset SKL_KEYRING")
	d.skl(0, "SKL_KEYRING=off", "logout", "corp")
	d.wants(d.skl(0, "", "logout", "corp"), "logged out of http://"+host)
	gone()

	// A file that cannot be written, or is not docker's, leaves nothing in the keyring.
	d.wants(d.skl(1, "DOCKER_CONFIG=/proc/skl", login...), "cannot be written to /proc/skl/config.json: ")
	gone()
	harness.WriteFile(t, file, "[]")
	d.wants(d.skl(1, "", login...), "~/.docker/config.json cannot be read as docker's configuration: it is not an object")
	if text, err := os.ReadFile(file); err != nil || string(text) != "[]" || d.bus.Holds(host) {
		t.Errorf("refused, and something was kept: %s, %v", text, err)
	}
	harness.WriteFile(t, file, "null")
	d.wants(d.skl(0, "", login...), "the token is in the system's keyring")
	d.skl(0, "", "logout", "corp")
	gone()

	// Nothing is known of a locked keyring in which nothing is found.
	d.bus.End()
	d.bus.Keyring(false)
	d.wants(d.skl(0, "", "logout", "corp"), "a token of "+host+" may still be in the system's keyring: it is locked", "hint: unlock it and run: skl logout "+host, "there was no token")
}
