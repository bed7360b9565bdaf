// Package peertest gives tests the programs of others that skl has to get along with: the
// conformance suite of the OCI distribution specification, the clients crane and oras, the
// registry of the distribution project, and an S3 server. Their versions are fixed in testdata/peers/go.mod.
//
// A program is built once, into the user's cache directory, and built again when that module
// changes. Where it cannot be built, for want of the modules and a network, the test is
// skipped; with SKL_TEST_REQUIRE=all in the environment it fails.
package peertest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/install/durable"
)

// The programs, and the packages they are built from.
const (
	Conformance  = "github.com/opencontainers/distribution-spec/conformance"
	Crane        = "github.com/google/go-containerregistry/cmd/crane"
	Distribution = "github.com/distribution/distribution/v3/cmd/registry"
	Oras         = "github.com/skl-project/skl/testdata/peers/oras"
	Gateway      = "github.com/versity/versitygw/cmd/versitygw" // an S3 server
)

// Program returns the path of the executable built from the package.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	path, err := Build(pkg)
	if err != nil {
		Skip(t, fmt.Sprintf("%s cannot be built here: %v", filepath.Base(pkg), err))
	}
	return path
}

// Skip skips the test, or fails it with SKL_TEST_REQUIRE=all in the environment.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Fatalf("%s, and SKL_TEST_REQUIRE=all wants no test skipped", why)
	}
	t.Skipf("skipped: %s", why)
}

// buildTime is how long the slowest build may take on a slow machine without a build cache.
const buildTime = 8 * time.Minute

// built holds, by package, what a build in this process came to: a failed one is not tried again.
var built sync.Map // of func() (string, error)

// Build is Program for what is no test.
func Build(pkg string) (string, error) {
	once, _ := built.LoadOrStore(pkg, sync.OnceValues(func() (string, error) { return buildOnce(pkg) }))
	return once.(func() (string, error))()
}

func buildOnce(pkg string) (string, error) {
	dir, err := module()
	if err != nil {
		return "", err
	}
	key, err := keyOf(dir)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, "skl-peers", key)
	name := filepath.Base(pkg)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	program := filepath.Join(target, name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	unlock, err := durable.Lock(ctx, target, nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil // another process was first
	}
	fresh := program + ".new"
	defer os.Remove(fresh)
	command := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-buildvcs=false", "-o", fresh, pkg)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return program, os.Rename(fresh, program)
}

// module finds testdata/peers above the working directory, which is that of a test's package.
func module() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		peers := filepath.Join(dir, "testdata", "peers")
		if _, err := os.Stat(filepath.Join(peers, "go.mod")); err == nil {
			return peers, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("there is no testdata/peers above the package")
		}
		dir = filepath.Dir(dir)
	}
}

// keyOf changes with everything the programs are built from.
func keyOf(dir string) (string, error) {
	h := sha256.New()
	io.WriteString(h, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("oras", "main.go")} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(content)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// StartDistribution runs the registry of the distribution project on an empty directory and
// returns its host and port. It ends with the test.
func StartDistribution(t testing.TB) string {
	t.Helper()
	program := Program(t, Distribution)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, formatter: text, accesslog: {disabled: true}}\n"+
		"storage:\n  filesystem: {rootdirectory: %q}\n  delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:0\"}\n", filepath.Join(dir, "data"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	logs, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			if _, after, found := strings.Cut(lines.Text(), "listening on "); found {
				host, _, _ := strings.Cut(after, `"`)
				select {
				case address <- host:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() {
		command.Process.Kill()
		<-ended
		command.Wait()
	})
	select {
	case host := <-address:
		return host
	case <-ended:
		t.Fatal("the registry of the distribution project ended at once")
	case <-time.After(time.Minute):
		t.Fatal("the registry of the distribution project does not listen")
	}
	return ""
}
