package oci_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/oci/peertest"
	"github.com/skl-project/skl/testdata/long"
)

// A client runs a foreign client with a home of its own, so that no credentials of the
// machine are used or changed.
type client struct {
	t       *testing.T
	program string
	home    string
}

func newClient(t *testing.T, pkg string) client {
	return client{t, peertest.Program(t, pkg), t.TempDir()}
}

func (c client) try(args ...string) (string, error) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), c.program, args...)
	command.WaitDelay = 10 * time.Second
	command.Dir = c.home
	command.Env = append(os.Environ(), "HOME="+c.home, "DOCKER_CONFIG="+filepath.Join(c.home, "docker"), "NO_PROXY=127.0.0.1")
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String() + problems.String(), err
	}
	return strings.TrimSpace(out.String()), nil
}

func (c client) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", filepath.Base(c.program), args, err, out)
	}
	return out
}

// write makes a file in the client's directory.
func (c client) write(name, content string) string {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.home, name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// image lets crane make an image of one layer and push it.
func (c client) image(reference string) {
	c.t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "hello.txt", Mode: 0o644, Size: 5}), second(w.Write([]byte("hello"))), w.Close()); err != nil {
		c.t.Fatal(err)
	}
	c.run("append", "--insecure", "-f", c.write("layer.tar", layer.String()), "-t", reference)
}

func second(_ int, err error) error { return err }

// TestCrane pushes and pulls with crane, and copies to a foreign registry and back.
func TestCrane(t *testing.T) {
	long.Only(t)
	s, foreign := openSite(t), peertest.StartDistribution(t)
	crane := newClient(t, peertest.Crane)
	crane.image(s.host() + "/lib/hello:1.0")
	digest := crane.run("digest", "--insecure", s.host()+"/lib/hello:1.0")
	crane.run("copy", "--insecure", s.host()+"/lib/hello:1.0", foreign+"/copied/hello:1.0")
	crane.run("copy", "--insecure", foreign+"/copied/hello:1.0", s.host()+"/back/hello:2.0")
	crane.run("tag", "--insecure", s.host()+"/back/hello:2.0", "latest")
	if got := crane.run("digest", "--insecure", s.host()+"/back/hello:latest"); got != digest {
		t.Errorf("%s came back as %s", digest, got)
	}
	if got := crane.run("ls", "--insecure", s.host()+"/back/hello"); got != "2.0\nlatest" {
		t.Errorf("tags %q", got)
	}
	crane.run("pull", "--insecure", s.host()+"/back/hello:2.0", "out.tar")
	crane.run("validate", "--insecure", "--remote", s.host()+"/back/hello:2.0")
	crane.run("delete", "--insecure", s.host()+"/back/hello@"+digest)
	if out, err := crane.try("digest", "--insecure", s.host()+"/back/hello:2.0"); err == nil {
		t.Errorf("still there after delete: %s", out)
	}
}

// TestOras pushes, attaches, discovers and copies with referrers, to a foreign registry and
// back. That one knows no referrers API: the library keeps a tag there, and attaches anew on the way back.
func TestOras(t *testing.T) {
	long.Only(t)
	s, foreign := openSite(t), peertest.StartDistribution(t)
	oras := newClient(t, peertest.Oras)
	ours, theirs, back := s.host()+"/lib/note:1.0", foreign+"/lib/note:1.0", s.host()+"/back/note:1.0"
	digest := oras.run("-type", "application/vnd.example.note", "push", ours, oras.write("note.txt", "a note"))
	signature := oras.run("-type", "application/vnd.example.signature", "attach", ours, oras.write("signature.txt", "signed"))
	about := oras.run("-type", "application/vnd.example.about", "attach", s.host()+"/lib/note@"+signature, oras.write("about.txt", "about the signature"))
	found := "application/vnd.example.signature " + signature
	if got := oras.run("discover", ours); got != found {
		t.Errorf("discovered %q, want %q", got, found)
	}
	oras.run("-r", "copy", ours, theirs)
	oras.run("-r", "copy", theirs, back)
	for _, reference := range []string{theirs, back} {
		if got := oras.run("discover", reference); got != found {
			t.Errorf("%s: discovered %q, want %q", reference, got, found)
		}
	}
	if got, want := oras.run("discover", s.host()+"/back/note@"+signature), "application/vnd.example.about "+about; got != want {
		t.Errorf("what is attached to the attachment came back as %q, want %q", got, want)
	}
	oras.run("pull", s.host()+"/back/note@"+digest, filepath.Join(oras.home, "pulled"))
	if got, err := os.ReadFile(filepath.Join(oras.home, "pulled", "note.txt")); string(got) != "a note" {
		t.Errorf("pulled %q, %v", got, err)
	}
	if got := oras.run("tags", s.host()+"/back/note"); got != "1.0" {
		t.Errorf("tags %q", got)
	}
}

// TestClientsLogIn uses both clients with a token for a password: the docker flow, and what a
// token may not do.
func TestClientsLogIn(t *testing.T) {
	s := newSite(t)
	crane, oras := newClient(t, peertest.Crane), newClient(t, peertest.Oras)
	token := s.tokens["acme publisher"]
	image := s.host() + "/acme/hello:1.0"

	crane.run("auth", "login", "-u", "anybody", "-p", token, s.host())
	var config struct {
		Auths map[string]any `json:"auths"`
	}
	if text, err := os.ReadFile(filepath.Join(crane.home, "docker", "config.json")); err != nil || json.Unmarshal(text, &config) != nil || len(config.Auths) != 1 {
		t.Fatalf("crane did not log in: %v", err)
	}
	crane.image(image)
	crane.run("copy", "--insecure", image, s.host()+"/acme/other-name:1.0") // mounts
	crane.run("validate", "--insecure", "--remote", s.host()+"/acme/other-name:1.0")
	if out, err := crane.try("copy", "--insecure", image, s.host()+"/other/hello:1.0"); err == nil || !strings.Contains(out, "NAME_UNKNOWN") {
		t.Errorf("crane pushed to another's namespace: %v: %s", err, out)
	}

	note := s.host() + "/acme/note:1.0"
	oras.write("note.txt", "a note")
	login := []string{"-user", "x", "-password", token}
	run := func(args ...string) string { return oras.run(append(login, args...)...) }
	run("push", note, "note.txt")
	attached := run("attach", note, "note.txt")
	run("-r", "copy", note, s.host()+"/acme/copied-note:1.0")
	if got := run("discover", s.host()+"/acme/copied-note:1.0"); !strings.HasSuffix(got, attached) {
		t.Errorf("discovered %q, want %s", got, attached)
	}
	for _, with := range [][]string{nil, {"-user", "x", "-password", s.tokens["other admin"]}, {"-user", "x", "-password", token + "x"}} {
		if out, err := oras.try(append(with, "discover", note)...); err == nil {
			t.Errorf("with %q oras reads a private repository: %s", with, out)
		}
		if out, err := oras.try(append(with, "push", note, "note.txt")...); err == nil {
			t.Errorf("with %q oras pushes to it: %s", with, out)
		}
	}
	// Public content needs no login.
	admin := []string{"-user", "x", "-password", s.tokens["* admin"]}
	oras.run(append(admin, "push", s.host()+"/commons/note:1.0", "note.txt")...)
	oras.run("pull", s.host()+"/commons/note:1.0", filepath.Join(oras.home, "pulled"))
	stranger := newClient(t, peertest.Crane)
	stranger.run("manifest", "--insecure", s.host()+"/commons/note:1.0")
	if out, err := stranger.try("manifest", "--insecure", image); err == nil {
		t.Errorf("crane reads a private repository: %s", out)
	}
}
