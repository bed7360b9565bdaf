package process

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

const npmVersion = "1.4.2-rc.1"

// nodePlatform is this machine's as npm names it, "" if there is no package for it.
var nodePlatform = map[string]string{"linux/amd64": "linux-x64", "linux/arm64": "linux-arm64", "darwin/amd64": "darwin-x64", "darwin/arm64": "darwin-arm64"}[runtime.GOOS+"/"+runtime.GOARCH]

// TestNpm builds the npm packages, installs them from a registry that serves these tarballs and nothing else, and calls
// skl as npm's users do.
func TestNpm(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	npm, err := exec.LookPath("npm")
	if err != nil || nodePlatform == "" {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("npm is not installed, or there is no package for this machine")
		}
		t.Skip("skipped: npm is not installed, or there is no package for this machine")
	}
	tarballs := npmPackages(t)
	registry := npmRegistry(t, tarballs)
	dir := t.TempDir()
	// call runs a program in the project, with what it prints.
	call := func(name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = dir, npmEnv(dir, registry)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(name string, args ...string) string {
		t.Helper()
		out, err := call(name, args...)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return out
	}
	harness.WriteFile(t, filepath.Join(dir, "package.json"), `{"private":true}`)
	must(npm, "install", "--ignore-scripts", "@skl-project/skl")
	launcher := filepath.Join(dir, "node_modules", "@skl-project", "skl", "bin", "skl.js")

	t.Run("one platform", func(t *testing.T) {
		installed, err := filepath.Glob(filepath.Join(dir, "node_modules", "@skl-project", "*"))
		if want := []string{filepath.Dir(filepath.Dir(launcher)), filepath.Dir(filepath.Dir(launcher)) + "-" + nodePlatform}; err != nil || !slices.Equal(installed, want) {
			t.Errorf("npm installed %q, want %q", installed, want)
		}
	})
	t.Run("npx", func(t *testing.T) {
		if out := must("npx", "--no-install", "skl", "version"); !strings.HasPrefix(out, "skl ") || !strings.Contains(out, runtime.GOOS+"/"+runtime.GOARCH) {
			t.Errorf("npx skl version: %q", out)
		}
	})
	t.Run("exit status", func(t *testing.T) {
		out, err := call("npx", "--no-install", "skl", "lnit", "--json")
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 2 || !strings.Contains(out, `"unknown_command"`) {
			t.Errorf("npx skl lnit: %v, want exit 2\n%s", err, out)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		if out, err := call("node", launcher, "help", "two words", "*"); err == nil || !strings.Contains(out, `unknown command "two words"`) {
			t.Errorf("an argument with a space: %v\n%s", err, out)
		}
	})
	t.Run("input", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "node", launcher, "mcp")
		cmd.Dir, cmd.Env = dir, npmEnv(dir, registry)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.WriteString(stdin, `{"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n")
		answer, err := bufio.NewReader(stdout).ReadString('\n')
		stdin.Close() // the end of the input is the end of skl mcp
		if ended := cmd.Wait(); err != nil || ended != nil || !strings.Contains(answer, `"id":7`) {
			t.Errorf("skl mcp: %v, %v\n%s", err, ended, answer)
		}
	})
	t.Run("offline", func(t *testing.T) { npmOffline(t, npm, tarballs) })
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) { npmSignals(t, launcher, dir, registry, signal) })
	}
	t.Run("not installed", func(t *testing.T) {
		program := filepath.Dir(filepath.Dir(launcher)) + "-" + nodePlatform
		if err := os.Rename(program, program+".gone"); err != nil {
			t.Fatal(err)
		}
		out, err := call("node", launcher, "version")
		if err == nil || !strings.Contains(out, "skl: the package @skl-project/skl-"+nodePlatform+" is not installed") ||
			!strings.Contains(out, "skl: hint: npm install --include=optional @skl-project/skl@"+npmVersion) {
			t.Errorf("without the package of the platform: %v\n%s", err, out)
		}
	})
	t.Run("unknown platform", func(t *testing.T) {
		script := "Object.defineProperty(process, 'platform', {value: 'aix'}); require(process.argv[1])"
		out, err := call("node", "-e", script, launcher)
		if err == nil || !strings.Contains(out, "skl: there is no program for aix-") || !strings.Contains(out, "linux-arm64") || !strings.Contains(out, "skl: hint: go install ") {
			t.Errorf("on another platform: %v\n%s", err, out)
		}
	})
}

// npmOffline installs the two tarballs that a machine without a network would be given.
func npmOffline(t *testing.T, npm string, tarballs map[string]string) {
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "package.json"), `{"private":true}`)
	for _, args := range [][]string{
		{npm, "install", "--offline", tarballs["@skl-project/skl"], tarballs["@skl-project/skl-"+nodePlatform]},
		{"npx", "--no-install", "skl", "version"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, npmEnv(dir, "http://127.0.0.1:1")
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "npx" && !strings.HasPrefix(string(out), "skl ") {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func npmEnv(home, registry string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "npm_config_registry=" + registry, "npm_config_audit=false",
		"npm_config_fund=false", "npm_config_update_notifier=false", "npm_config_cache=" + filepath.Join(home, ".npm")}
}

// npmPackages builds the packages and returns their files by name. The program of this platform is this test, which answers to
// "skl"; those of others are a few bytes.
func npmPackages(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	tool, other := filepath.Join(dir, "npm"), filepath.Join(dir, "other")
	goTool(t, "build", "-o", tool, "./npm")
	harness.WriteFile(t, other, "not for this machine")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	build := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"-version", npmVersion, "-out", dir, "-license", filepath.Join(harness.Repository, "LICENSE")}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		file := strings.TrimSpace(string(out))
		packages[npmManifest(t, file).Name] = file
	}
	build()
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			program := other
			if system == runtime.GOOS && arch == runtime.GOARCH {
				program = self
			}
			build("-platform", system+"/"+arch, "-binary", program)
		}
	}
	if len(packages) != 7 {
		t.Fatalf("%d packages were built: %v", len(packages), packages)
	}
	return packages
}

// goTool runs the go command in the module of the release's programs.
func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"-C", filepath.Join(harness.Repository, "testdata", "release")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

type npmPackage struct {
	Name, Version        string
	OS, CPU              []string
	Bin                  map[string]string
	OptionalDependencies map[string]string
	Scripts              map[string]string
}

// npmManifest reads package.json of a tarball. No package has scripts, and each has the licence.
func npmManifest(t *testing.T, file string) (m npmPackage) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	small, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for r := tar.NewReader(small); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if strings.HasPrefix(h.Name, "package/bin/") && h.Mode != 0o755 {
			t.Errorf("%s: %s has mode %o", file, h.Name, h.Mode)
		}
		if h.Name == "package/package.json" {
			if err := json.NewDecoder(r).Decode(&m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m.Version != npmVersion || m.Scripts != nil || !slices.Contains(names, "package/LICENSE") {
		t.Errorf("%s: version %q, scripts %v, files %v", file, m.Version, m.Scripts, names)
	}
	return m
}

// npmRegistry serves the packages as npm's registry does, and answers 404 to everything else.
func npmRegistry(t *testing.T, packages map[string]string) string {
	t.Helper()
	server := httptest.NewServer(nil)
	t.Cleanup(server.Close)
	documents := map[string][]byte{}
	for name, file := range packages {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, sum := npmManifest(t, file), sha512.Sum512(data)
		documents["/"+filepath.Base(file)] = data
		version := map[string]any{"name": name, "version": m.Version, "os": m.OS, "cpu": m.CPU, "bin": m.Bin, "optionalDependencies": m.OptionalDependencies,
			"dist": map[string]string{"tarball": server.URL + "/" + filepath.Base(file), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}
		documents["/"+name], err = json.Marshal(map[string]any{"name": name, "dist-tags": map[string]string{"latest": m.Version}, "versions": map[string]any{m.Version: version}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	})
	return server.URL
}

// npmSignals sends signal to the launcher alone, while skl waits for a server that does not answer: the program gets it, and its
// status is the launcher's.
func npmSignals(t *testing.T, launcher, dir, registry string, signal os.Signal) {
	asked, left := make(chan bool, 16), make(chan bool, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- true
		<-r.Context().Done() // the program is gone
		left <- true
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	wait := func(what string, c chan bool) {
		select {
		case <-c:
		case <-time.After(30 * time.Second):
			t.Fatalf("30 s, and %s", what)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", launcher, "install", "git+"+server.URL+"/skills.git", "--all")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, npmEnv(dir, registry), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait("skl has not asked the server", asked)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	wait("skl has not gone away", left)
	err := cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 || !strings.Contains(stderr.String(), "skl: interrupted") {
		t.Errorf("%s: exit %d (%v), want 130\n%s", signal, got, err, stderr.String())
	}
}
