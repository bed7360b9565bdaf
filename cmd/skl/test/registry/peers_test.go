package registry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/registry/oci/peertest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/testdata/long"
)

// A peer is a foreign client with a home of its own.
type peer struct {
	t       *testing.T
	program string
	home    string
}

func (p peer) run(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir = p.home
	cmd.Env = append(os.Environ(), "HOME="+p.home, "DOCKER_CONFIG="+p.home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%s %q: %v\n%s%s", filepath.Base(p.program), args, err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String())
}

var treeOf = regexp.MustCompile(`tree-sha256:[0-9a-f]{64}`)

// One signed release makes the round of the registries: skl publishes it to the registry of the
// distribution project, oras copies it with its signature to an open registry of ours, crane copies it on, and
// oras with a token into a namespace of a closed one. skl installs it from each, the same tree, and
// verifies the signature wherever it came along.
func TestOneReleaseAcrossRegistries(t *testing.T) {
	long.Only(t)
	foreign := peertest.StartDistribution(t)
	crane := peer{t, peertest.Program(t, peertest.Crane), t.TempDir()}
	oras := peer{t, peertest.Program(t, peertest.Oras), t.TempDir()}
	ours, _ := harness.ServeRegistry(t, openConfig())
	closed, token := harness.ServeRegistry(t, server.Config{})

	author := harness.NewPlace(t)
	harness.WriteFile(t, filepath.Join(author.Project, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Reads and fills PDF forms. Use when the user has one.\n---\n\n# PDF\n\nRead it.\n")
	harness.WriteFile(t, filepath.Join(author.Project, "pdf", "scripts", "fill.py"), "print('fill')\n")
	author.Must("key", "new", "-o", "release.key")
	author.Must("publish", "pdf", "acme/pdf@1.4.2", "--to", "oci://"+foreign, "--sign", "release.key", "--image")

	tree := ""
	install := func(from, namespace string, signed bool) {
		t.Helper()
		p := harness.NewPlace(t)
		config := fmt.Sprintf("[[signer]]\nnamespace = %q\nkey = %q\nrequired = %v\n", namespace, filepath.Join(author.Project, "release.key.pub"), signed)
		if signed {
			harness.WriteFile(t, filepath.Join(p.Home, ".config", "skl", "config.toml"), config)
		}
		if namespace == "acme" {
			config += fmt.Sprintf("[registry.ours]\nurl = %q\ndefault = true\n[origin.%q]\ntoken_env = \"OURS\"\n", "http://"+closed, closed)
			harness.WriteFile(t, filepath.Join(p.Home, ".config", "skl", "config.toml"), config)
			t.Setenv("OURS", token)
		}
		cmd := p.Command("install", from, "--host", "claude-code", "--json")
		cmd.Env = append(cmd.Env, "OURS="+token)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("install %s: %v\n%s", from, err, out)
		}
		if signed && !bytes.Contains(out, []byte(`"signer": "SHA256:`)) {
			t.Errorf("install %s is not signed:\n%s", from, out)
		}
		got := treeOf.FindString(string(out))
		if tree == "" {
			tree = got
		}
		if got != tree || got == "" {
			t.Errorf("install %s: tree %s, want %s", from, got, tree)
		}
		p.Must("verify", "--offline")
	}
	install("oci://"+foreign+"/acme/pdf:1.4.2", foreign+"/acme", true)
	install("oci://"+foreign+"/acme/pdf:1.4.2-image", foreign+"/acme", true)

	oras.run("-r", "copy", foreign+"/acme/pdf:1.4.2", ours+"/acme/pdf:1.4.2")
	install("oci://"+ours+"/acme/pdf:1.4.2", ours+"/acme", true)

	crane.run("copy", "--insecure", ours+"/acme/pdf:1.4.2", foreign+"/copies/acme/pdf:1.4.2")
	install("oci://"+foreign+"/copies/acme/pdf:1.4.2", foreign+"/copies/acme", false)
	oras.run("-r", "copy", ours+"/acme/pdf:1.4.2", foreign+"/mirror/acme/pdf:1.4.2")
	install("oci://"+foreign+"/mirror/acme/pdf:1.4.2", foreign+"/mirror/acme", true)

	admin := harness.NewPlace(t)
	harness.WriteFile(t, filepath.Join(admin.Home, ".config", "skl", "config.toml"), fmt.Sprintf("[registry.ours]\nurl = %q\ndefault = true\n[origin.%q]\ntoken_env = \"OURS\"\n", "http://"+closed, closed))
	cmd := admin.Command("registry", "namespace", "create", "acme", "--public")
	cmd.Env = append(cmd.Env, "OURS="+token)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	oras.run("-r", "-user", "any", "-password", token, "copy", ours+"/acme/pdf:1.4.2", closed+"/acme/pdf:1.4.2")
	install("acme/pdf@1.4.2", "acme", true)
}

// openConfig is a registry that anybody may write to.
func openConfig() (c server.Config) {
	c.Access.Open = true
	return c
}
