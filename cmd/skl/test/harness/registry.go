package harness

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
)

// Registries are the registries that scripts have started, by work directory and name.
type Registries struct {
	mu   sync.Mutex
	open map[string]*registryProcess
}

type registryProcess struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// Command implements: registry start [NAME] [FLAGS…] | registry stop [NAME]. A registry is the real program in
// a process of its own, on a free port, with its data in $WORK/NAME; the name is "registry" unless it is
// given, and in capital letters starts the variables NAME_URL, NAME_HOST, NAME_DATA and NAME_TOKEN_FILE. The
// token itself is in ADMIN_TOKEN, or for another name in NAME_TOKEN.
func (r *Registries) Command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || args[0] != "start" && args[0] != "stop" {
		ts.Fatalf("usage: registry start|stop [NAME] [FLAGS…]")
	}
	name, flags := "registry", args[1:]
	if len(flags) > 0 && !strings.HasPrefix(flags[0], "-") {
		name, flags = flags[0], flags[1:]
	}
	key := filepath.Join(ts.Getenv("WORK"), name)
	if args[0] == "stop" {
		r.stop(ts, key)
		return
	}
	if !slices.Contains(flags, "--data") {
		flags = append(flags, "--data", key)
	}
	ready, p := r.start(ts, append([]string{"registry", "serve", "--addr", "127.0.0.1:0", "--json"}, flags...))
	r.mu.Lock()
	if r.open == nil {
		r.open = map[string]*registryProcess{}
	}
	r.open[key] = p
	r.mu.Unlock()
	ts.Defer(func() { r.stop(ts, key) })
	upper := strings.ToUpper(name)
	setenv(ts, upper+"_URL", ready.URL)
	setenv(ts, upper+"_HOST", ready.Addr)
	setenv(ts, upper+"_DATA", ready.Data)
	if ready.AdminTokenFile != "" {
		token, err := os.ReadFile(ready.AdminTokenFile)
		ts.Check(err)
		setenv(ts, upper+"_TOKEN_FILE", ready.AdminTokenFile)
		if name == "registry" {
			upper = "ADMIN"
		}
		setenv(ts, upper+"_TOKEN", strings.TrimSpace(string(token)))
	}
}

// ReadyLine is what "registry serve --json" prints.
type ReadyLine struct {
	Addr, URL, Data string
	AdminTokenFile  string `json:"admin_token_file"`
}

func (r *Registries) start(ts *testscript.TestScript, args []string, env ...string) (ReadyLine, *registryProcess) {
	skl, err := LookIn(ts.Getenv("PATH"), "skl")
	ts.Check(err)
	cmd := exec.Command(skl, args...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(GitEnv(filepath.Join(ts.Getenv("WORK"), "home")), "PATH="+ts.Getenv("PATH"), "TMPDIR="+ts.Getenv("TMPDIR"))
	for _, name := range bucketKeys {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(cmd.Env, env...)
	var stderr limitedLog
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- text
	}()
	p := &registryProcess{cmd: cmd, exited: make(chan struct{})}
	var ready ReadyLine
	select {
	case text := <-line:
		if err = json.Unmarshal([]byte(text), &ready); err == nil {
			go func() {
				cmd.Wait()
				close(p.exited)
			}()
			return ready, p
		}
	case <-time.After(30 * time.Second):
	}
	cmd.Process.Kill()
	cmd.Wait()
	ts.Fatalf("%s does not start: %v\n%s", strings.Join(args[:2], " "), err, stderr.String())
	return ready, nil
}

// stop ends the process that start began, by its id, and waits for it.
func (r *Registries) stop(ts *testscript.TestScript, key string) {
	r.mu.Lock()
	p := r.open[key]
	delete(r.open, key)
	r.mu.Unlock()
	if p == nil {
		return
	}
	if runtime.GOOS == "windows" || p.cmd.Process.Signal(os.Interrupt) != nil {
		p.cmd.Process.Kill()
	}
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.exited
		ts.Logf("it did not end by itself")
	}
}

// StartOCI implements: oci AUTH USER PASSWORD. It starts a registry of OCI artifacts that knows nothing of
// skills and asks for credentials by AUTH: basic, bearer, token, or open. It sets OCI_URL and OCI_HOST.
func StartOCI(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: oci AUTH USER PASSWORD")
	}
	r := &ocitest.Registry{Auth: ocitest.Auth(strings.TrimPrefix(args[0], "open")), User: args[1], Password: args[2]}
	server := httptest.NewServer(r)
	ts.Defer(server.Close)
	setenv(ts, "OCI_URL", server.URL)
	setenv(ts, "OCI_HOST", strings.TrimPrefix(server.URL, "http://"))
}

// LookIn finds a program in a PATH that is not this process's.
func LookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// limitedLog keeps the first 64 KiB of what a process says.
type limitedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *limitedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:min(len(p), 64<<10-l.text.Len())])
	return len(p), nil
}

func (l *limitedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// ServeRegistry runs a registry in this process, on a free port, and returns its host and admin token.
func ServeRegistry(t *testing.T, c server.Config) (host, token string) {
	t.Helper()
	c.Data, c.Addr = t.TempDir(), "127.0.0.1:0"
	s, err := server.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		web.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		web.Close()
		<-done
		s.Close()
	})
	return l.Addr().String(), s.AdminToken
}

// bucketKeys are what a registry finds the key of a bucket in.
var bucketKeys = []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}

// StartBucket implements: bucket. It sets BLOBS_URL to a place for blobs that holds nothing, on the S3 server at BLOBS_ENDPOINT.
func StartBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: bucket")
	}
	address, err := s3test.Place()
	ts.Check(err)
	setenv(ts, "BLOBS_URL", address)
	endpoint, err := s3test.Endpoint()
	ts.Check(err)
	setenv(ts, "BLOBS_ENDPOINT", endpoint)
	for _, name := range bucketKeys {
		setenv(ts, name, os.Getenv(name))
	}
}

// StartDatabase implements: database. It sets DATABASE_URL to the address of an empty PostgreSQL database.
func StartDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: database")
	}
	address, drop, err := postgrestest.Schema()
	ts.Check(err)
	ts.Defer(func() { ts.Check(drop()) })
	setenv(ts, "DATABASE_URL", address)
}
