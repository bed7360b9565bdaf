package registry

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// A besieged is skl registry serve in a process of its own, with few descriptors.
type besieged struct {
	addr, token string
	process     *os.Process
	stderr      *output
}

// output is what a program has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// besiege starts a registry that may have so many descriptors open, with further lines of registry.toml.
func besiege(t *testing.T, files int, config string) besieged {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	skl := filepath.Join(dir, "skl")
	if err := os.Symlink(exe, skl); err != nil { // testscript.Main goes by the name
		t.Fatal(err)
	}
	file := filepath.Join(dir, "registry.toml")
	if err := os.WriteFile(file, []byte("data = \"data\"\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" registry serve --config "$1" --addr 127.0.0.1:0 --json`, files), skl, file)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	stderr := new(output)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGKILL)
		<-ended
	})
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	go func() { cmd.Wait(); close(ended) }()
	var ready struct {
		Addr string `json:"addr"`
		File string `json:"admin_token_file"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("the registry did not start: %v: %s", err, stderr)
	}
	token, err := os.ReadFile(ready.File)
	if err != nil {
		t.Fatal(err)
	}
	return besieged{ready.Addr, strings.TrimSpace(string(token)), cmd.Process, stderr}
}

// ask sends a request as the admin and returns its status.
func (b besieged) ask(t *testing.T, method, path, media string, body []byte) int {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+b.addr+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("Content-Type", media)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// An attack is what one connection sends at first, and then a byte of again and again.
type attack struct {
	name  string
	begin string // ADDR and TOKEN are filled in
	drip  string // each second; "" sends nothing, and reads nothing
}

// run holds n connections open until ctx ends, from as many addresses of loopback. What is closed is opened anew.
func (a attack) run(ctx context.Context, b besieged, n, sources int) (opened func() int64, wait func()) {
	var count atomic.Int64
	var all sync.WaitGroup
	begin := strings.NewReplacer("ADDR", b.addr, "TOKEN", b.token).Replace(a.begin)
	for i := range n {
		from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(i%sources/250), byte(1+i%sources%250))}
		all.Go(func() {
			for ctx.Err() == nil {
				a.hold(ctx, net.Dialer{LocalAddr: from, Timeout: time.Second}, b.addr, begin, &count)
				select {
				case <-ctx.Done():
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
	}
	return count.Load, all.Wait
}

func (a attack) hold(ctx context.Context, d net.Dialer, addr, begin string, count *atomic.Int64) {
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	count.Add(1)
	if a.drip == "" {
		c.(*net.TCPConn).SetReadBuffer(4096)
	}
	if _, err := io.WriteString(c, begin); err != nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if a.drip == "" {
			if err := alive(c); err != nil {
				return
			}
		} else if _, err := io.WriteString(c, a.drip); err != nil {
			return
		}
	}
}

// alive asks the kernel whether the connection was reset, without taking what was sent.
func alive(c net.Conn) (err error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	raw.Control(func(fd uintptr) {
		code, gerr := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		if gerr != nil || code != 0 {
			err = syscall.Errno(code)
		}
	})
	return err
}

// health measures /healthz, each time over a new connection.
func (b besieged) health(t *testing.T, times int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range times {
		began := time.Now()
		err := func() error {
			c, err := net.DialTimeout("tcp", b.addr, long.Hang)
			if err != nil {
				return err
			}
			defer c.Close()
			c.SetDeadline(began.Add(long.Hang))
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			head := make([]byte, 15)
			if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 200 OK" {
				return fmt.Errorf("%q %v", head, err)
			}
			return nil
		}()
		took = append(took, time.Since(began))
		if err != nil {
			t.Errorf("/healthz after %v: %v", time.Since(began), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(took)
	return took
}

// Three thousand slow connections leave /healthz alone, with 256 descriptors: slow headers and bodies, bodies that lie about
// their length, answers that nobody reads, with and without a token, from one address and from many.
func TestSlowloris(t *testing.T) {
	long.Slow(t)
	b := besiege(t, 256, "")
	if got := b.ask(t, "POST", "/api/v1/namespaces", "application/json", []byte(`{"name":"acme","public":true}`)); got != 201 {
		t.Fatalf("namespace: %d", got)
	}
	big := make([]byte, 8<<20)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(big))
	if got := b.ask(t, "POST", "/v2/acme/big/blobs/uploads/?digest="+digest, "application/octet-stream", big); got != 201 {
		t.Fatalf("blob: %d", got)
	}
	head := " HTTP/1.1\r\nHost: ADDR\r\n"
	token := "Authorization: Bearer TOKEN\r\n"
	attacks := []attack{
		{"headers", "GET /" + head + "X-Slow: ", "a"},
		{"nothing", "", ""},
		{"a body for healthz", "POST /healthz" + head + "Content-Length: 1000000\r\n\r\n", "a"},
		{"a push without token", "POST /v2/acme/pdf/blobs/uploads/?digest=" + digest + head + "Content-Length: 1000000\r\n\r\n", "a"},
		{"a push with a token", "POST /v2/acme/pdf/blobs/uploads/?digest=" + digest + head + token + "Content-Length: 1000000\r\n\r\n", "a"},
		{"a manifest without end", "PUT /v2/acme/pdf/manifests/1.0.0" + head + token + "Content-Type: application/vnd.oci.image.manifest.v1+json\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n"},
		{"a publish", "PUT /api/v1/skills/acme/pdf/versions/1.0.0" + head + token + "Content-Type: application/zip\r\nContent-Length: 1000000\r\n\r\n", "a"},
		{"JSON", "POST /api/v1/tokens" + head + token + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", " "},
		{"a GET with a body", "GET /api/v1/skills" + head + "Content-Length: 1000\r\n\r\n", "a"},
		{"credentials", "POST /token" + head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n", "a"},
		{"answers that nobody reads", "GET /v2/acme/big/blobs/" + digest + head + token + "\r\n", ""},
	}
	if !long.All() {
		attacks = []attack{attacks[0], attacks[3], attacks[10]}
	}
	before := b.health(t, 40)
	t.Logf("before: median %v, worst %v", before[len(before)/2], before[len(before)-1])
	for i, a := range attacks {
		sources := []int{3000, 1}[i%2]
		t.Run(a.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			opened, wait := a.run(ctx, b, 3000, sources)
			defer wait()
			defer cancel()
			time.Sleep(2 * time.Second)
			took := b.health(t, 100)
			t.Logf("%d connections from %d addresses: median %v, 95%% %v, worst %v", opened(), sources, took[50], took[95], took[99])
			if bound := long.Within(100*time.Millisecond + before[len(before)/2]); took[50] > bound {
				t.Errorf("/healthz takes %v, which is more than %v", took[50], bound)
			}
		})
	}
	if got := b.ask(t, "GET", "/api/v1/skills", "", nil); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
}

// SIGHUP reads the certificate anew, and ends nothing; one that is broken leaves the one from before.
func TestHangupReloads(t *testing.T) {
	long.Slow(t)
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	pair := web.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := besiege(t, 256, fmt.Sprintf("[tls]\ncert = %q\nkey = %q\n", filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")))
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(b.stderr.String(), "cannot be used"); time.Sleep(20 * time.Millisecond) {
		if err := b.process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("after SIGHUP: %s", b.stderr)
		}
	}
	resp, err := web.Client().Get("https://" + b.addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("healthz: %d", resp.StatusCode)
	}
}
