package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
	"github.com/skl-project/skl/spec/diag"
)

// serve starts a server for handle and returns a Client for it, and the requests it got as "METHOD path?query".
func serve(t *testing.T, handle http.HandlerFunc) (*Client, *requests) {
	t.Helper()
	log := &requests{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(r.Method + " " + r.URL.RequestURI())
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := New(&origin.Client{}, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(_ context.Context, d time.Duration) error {
		log.add("wait " + d.String())
		return nil
	}
	return c, log
}

type requests struct {
	mu   sync.Mutex
	list []string
}

func (r *requests) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
}

// take returns what came so far, one a line, and forgets it.
func (r *requests) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.list, "\n")
	r.list = nil
	return s
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	if _, ok := v.(wire.Problem); ok {
		w.Header().Set("Content-Type", wire.MediaProblem)
	}
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func TestNewRefuses(t *testing.T) {
	for _, base := range []string{"", "skills.example", "ftp://skills.example", "https://u:p@skills.example", "https://skills.example/path",
		"https://skills.example?x=1", "https://skills.example#x", "https://"} {
		if _, err := New(&origin.Client{}, base); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("New(%q) gives %v, want a refusal", base, err)
		}
	}
	c, err := New(&origin.Client{}, "https://Skills.Example:443/")
	if err != nil || c.URL() != "https://skills.example" || c.Host() != "skills.example" {
		t.Errorf("%v, %v: want the plain address", c, err)
	}
}

// A refusal keeps the registry's code; its class follows from the status. What does not come from a
// registry is called so.
func TestProblems(t *testing.T) {
	problem := func(status int, code string) (int, any) {
		return status, wire.Problem{Code: code, Status: status, Detail: "a sentence\x1b[2J\nsecond line", Hints: []string{"skl info x", "", "evil\x1b[31m"}}
	}
	tests := []struct {
		name      string
		status    int
		body      any
		class     diag.Class
		code      string
		retryable bool
		hint      string
	}{
		{name: "unauthorized", class: diag.Failed, code: "unauthorized", hint: "skl login http"},
		{name: "denied", status: 403, class: diag.Failed, code: "denied", hint: "skl info x"},
		{name: "denied, and nothing else said", status: 403, body: wire.Problem{Code: "denied", Status: 403, Detail: "x"}, class: diag.Failed, code: "denied", hint: "skl login http"},
		{name: "signature wanted", status: 403, class: diag.Refused, code: "signature_required", hint: "skl info x"},
		{name: "unknown", status: 404, class: diag.Misuse, code: "unknown_skill", hint: "skl info x"},
		{name: "version exists", status: 409, class: diag.Refused, code: "version_exists"},
		{name: "near name", status: 409, class: diag.Refused, code: "near_name"},
		{name: "namespace exists", status: 409, class: diag.Misuse, code: "namespace_exists"},
		{name: "blocked", status: 410, class: diag.Refused, code: "blocked"},
		{name: "too large", status: 413, class: diag.Failed, code: "too_large"},
		{name: "invalid bundle", status: 400, class: diag.Refused, code: "invalid_bundle"},
		{name: "invalid request", status: 400, class: diag.Misuse, code: "invalid_request"},
		{name: "rate limited", status: 429, class: diag.Failed, code: "rate_limited", retryable: true},
		{name: "no space", status: 507, class: diag.Failed, code: "no_space"},
		{name: "bug", status: 500, class: diag.Failed, code: "internal", retryable: true},
		{name: "page of another server", status: 404, body: "<html>", class: diag.Failed, code: "not_a_registry"},
		{name: "proxy", status: 502, body: "<html>", class: diag.Failed, code: "http_status", retryable: true},
		{name: "basic auth of a proxy", status: 401, body: "no", class: diag.Failed, code: "unauthorized", hint: "skl login"},
		{name: "a code that is none", status: 409, body: wire.Problem{Code: "a b\n", Detail: "x"}, class: diag.Failed, code: "not_a_registry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				status, body := tt.status, tt.body
				if status == 0 {
					status = 401
				}
				if body == nil {
					status, body = problem(status, tt.code)
				}
				answer(w, status, body)
			})
			_, err := c.Skill(t.Context(), "acme", "pdf")
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Class != tt.class || e.Code != tt.code || e.Retryable != tt.retryable {
				t.Fatalf("got %#v, want class %d, code %s, retryable %v", err, tt.class, tt.code, tt.retryable)
			}
			if !strings.Contains(e.Message, "127.0.0.1") || strings.ContainsAny(e.Message+strings.Join(e.Hints, ""), "\x1b\n") {
				t.Errorf("message %q, hints %q: want the registry named, and one visible line", e.Message, e.Hints)
			}
			if tt.hint != "" && (len(e.Hints) == 0 || !strings.HasPrefix(e.Hints[0], tt.hint)) {
				t.Errorf("hints %q, want %q", e.Hints, tt.hint)
			}
		})
	}
}

// A busy registry is waited for once. A cut answer is asked for again only if that changes nothing there.
func TestRetries(t *testing.T) {
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "{")
		panic(http.ErrAbortHandler)
	}
	busy := func(status int, after string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			answer(w, status, wire.Problem{Code: "rate_limited", Detail: "slow down"})
		}
	}
	fine := func(w http.ResponseWriter) { answer(w, 200, wire.WhoAmI{Account: "ann"}) }
	get := func(c *Client) error { _, err := c.WhoAmI(t.Context()); return err }
	post := func(c *Client) error {
		_, err := c.CreateToken(t.Context(), wire.NewToken{Namespace: "acme", Role: "reader"})
		return err
	}
	tests := []struct {
		name    string
		call    func(*Client) error
		answers []func(http.ResponseWriter)
		log     string // requests and waits, GET and POST without their path
		code    string
	}{
		{"429 with a time", get, []func(http.ResponseWriter){busy(429, "7"), fine}, "GET, wait 7s, GET", ""},
		{"429 without one", get, []func(http.ResponseWriter){busy(429, ""), fine}, "GET, wait 1s, GET", ""},
		{"429 twice", get, []func(http.ResponseWriter){busy(429, "1"), busy(429, "1")}, "GET, wait 1s, GET", "rate_limited"},
		{"429 for an hour", get, []func(http.ResponseWriter){busy(429, "3600")}, "GET", "rate_limited"},
		{"429 to a POST", post, []func(http.ResponseWriter){busy(429, "2"), fine}, "POST, wait 2s, POST", ""},
		{"503 to a GET", get, []func(http.ResponseWriter){busy(503, "3"), fine}, "GET, wait 3s, GET", ""},
		{"503 to a POST", post, []func(http.ResponseWriter){busy(503, "3")}, "POST", "rate_limited"},
		{"a cut answer to a GET", get, []func(http.ResponseWriter){cut, cut, fine}, "GET, wait 200ms, GET, wait 400ms, GET", ""},
		{"always cut", get, []func(http.ResponseWriter){cut, cut, cut}, "GET, wait 200ms, GET, wait 400ms, GET", "network"},
		{"a cut answer to a POST", post, []func(http.ResponseWriter){cut}, "POST", "network"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32 // the handler of a cut answer may still be ending while the next one runs
			c, log := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tt.answers[asked.Add(1)-1](w)
			})
			err := tt.call(c)
			got := strings.NewReplacer(" /api/v1/whoami", "", " /api/v1/tokens", "", "\n", ", ").Replace(log.take())
			if got != tt.log {
				t.Errorf("exchange %q, want %q", got, tt.log)
			}
			if (err == nil) != (tt.code == "") || err != nil && !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("error %v, want %q", err, tt.code)
			}
		})
	}
}

// A record that was kept is used when the registry says that it still holds; damage on disk is not believed.
func TestRecordsAreAskedForWithTheirETag(t *testing.T) {
	state := "approved"
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		etag := `"` + state + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		answer(w, 200, wire.Version{Namespace: "acme", Name: "pdf", Version: "1.0.0", State: state, Reason: r.Header.Get("If-None-Match")})
	})
	c.Cache = filepath.Join(t.TempDir(), "registry")
	ask := func(want, condition string) {
		t.Helper()
		v, err := c.Version(t.Context(), "acme", "pdf", "1.0.0")
		if err != nil || v.State != want || v.Reason != condition {
			t.Errorf("got %q after asking with %q, %v; want %q with %q", v.State, v.Reason, err, want, condition)
		}
	}
	ask("approved", "")
	ask("approved", "") // the kept body, whose request had no condition
	state = "yanked"
	ask("yanked", `"approved"`)
	filepath.WalkDir(c.Cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, _ := d.Info()
			if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
				t.Errorf("%s has mode %v: records may be private", path, info.Mode())
			}
			text, _ := os.ReadFile(path)
			err = os.WriteFile(path, []byte(strings.Replace(string(text), "yanked\",", "approved\",", 1)), 0o600)
		}
		return err
	})
	ask("yanked", "")
}

// No name can lead to another path of the registry.
func TestNamesAreOneElementOfAPath(t *testing.T) {
	c, log := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, wire.Skill{}) })
	for _, name := range []string{"..", ".", ""} {
		if _, err := c.Skill(t.Context(), "acme", name); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("name %q gives %v, want a refusal", name, err)
		}
	}
	if _, err := c.Skill(t.Context(), "acme", "a/b?c#d%"); err != nil {
		t.Error(err)
	}
	if got, want := log.take(), "GET /api/v1/skills/acme/a%2Fb%3Fc%23d%25"; got != want {
		t.Errorf("requests %q, want only %q", got, want)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	tests := []struct {
		name   string
		handle http.HandlerFunc
		code   string
	}{
		{"endless body", func(w http.ResponseWriter, r *http.Request) {
			for range 20 {
				w.Write(make([]byte, 1<<20))
			}
		}, "too_large"},
		{"endless list", func(w http.ResponseWriter, r *http.Request) {
			answer(w, 200, wire.Page[wire.Token]{Items: []wire.Token{{}}, Next: "again"})
		}, "not_a_registry"},
		{"empty pages", func(w http.ResponseWriter, r *http.Request) {
			answer(w, 200, wire.Page[wire.Token]{Next: "x" + r.URL.Query().Get("cursor")})
		}, "not_a_registry"},
		{"something else", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, "not_a_registry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, tt.handle)
			if _, err := c.Tokens(t.Context()); !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("got %v, want %s", err, tt.code)
			}
		})
	}
}

// The record of something else than what was asked for is refused.
func TestVersionIsTheOneAskedFor(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, wire.Version{Namespace: "acme", Name: "pdf", Version: "2.0.0"})
	})
	if _, err := c.Version(t.Context(), "acme", "pdf", "1.0.0"); diag.ClassOf(err) != diag.Refused {
		t.Errorf("got %v, want a refusal", err)
	}
}

// A publish whose answer is lost succeeded if the version is there with the same manifest.
func TestPublishIsIdempotent(t *testing.T) {
	const mine = "sha256:aa"
	tests := []struct {
		name, has string
		put       http.HandlerFunc
		created   bool
		code      string
	}{
		{"new", mine, func(w http.ResponseWriter, r *http.Request) {
			answer(w, 201, wire.Version{Namespace: "acme", Name: "pdf", Version: "1.0.0", Manifest: mine})
		}, true, ""},
		{"answer lost", mine, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, ""},
		{"lost, and not done", "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "network"},
		{"the same is there", mine, exists, false, ""},
		{"another is there", "sha256:bb", exists, false, "version_exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPut:
					tt.put(w, r)
				case tt.has == "":
					answer(w, 404, wire.Problem{Code: "unknown_version", Detail: "no"})
				default:
					answer(w, 200, wire.Version{Namespace: "acme", Name: "pdf", Version: "1.0.0", Manifest: tt.has})
				}
			})
			v, created, err := c.Publish(t.Context(), "acme", "pdf", "1.0.0", wire.PublishRequest{Manifest: mine})
			if created != tt.created || (err == nil) != (tt.code == "") || err != nil && !errors.Is(err, diag.Code(tt.code)) || err == nil && v.Manifest != mine {
				t.Errorf("got %+v, created %v, %v; want created %v, error %q", v, created, err, tt.created, tt.code)
			}
		})
	}
}

func exists(w http.ResponseWriter, r *http.Request) {
	answer(w, 409, wire.Problem{Code: "version_exists", Detail: "acme/pdf@1.0.0 exists"})
}

// Only a clear no means that a registry has not a namespace.
func TestHasNamespace(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   any
		want   string
	}{
		{200, wire.Namespace{Name: "acme"}, "true <nil>"},
		{404, wire.Problem{Code: "unknown_namespace", Detail: "no"}, "false <nil>"},
		{400, wire.Problem{Code: "invalid_name", Detail: "no"}, "false <nil>"},
		{401, wire.Problem{Code: "unauthorized", Detail: "who"}, "error"},
		{403, wire.Problem{Code: "denied", Detail: "no"}, "error"},
		{404, "<html>", "error"},
		{500, wire.Problem{Code: "internal", Detail: "no"}, "error"},
	} {
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, tt.status, tt.body) })
		has, err := c.HasNamespace(t.Context(), "acme")
		got := fmt.Sprint(has, err)
		if err != nil {
			got = "error"
		}
		if got != tt.want || has && err != nil {
			t.Errorf("%d %v: %v %v, want %s", tt.status, tt.body, has, err, tt.want)
		}
	}
}

func FuzzProblem(f *testing.F) {
	f.Add(404, `{"code":"unknown_skill","detail":"there is no such skill","hints":["skl search"]}`)
	f.Add(410, `{"code":"blocked","detail":"\u001b[2Jx"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		c, err := New(&origin.Client{}, "https://skills.example")
		if err != nil {
			t.Fatal(err)
		}
		err = c.problem(status, http.Header{"Content-Type": {wire.MediaProblem}}, []byte(body), c.URL()+"/api/v1/x?y")
		e, ok := err.(*diag.Error)
		if !ok || e.Class == 0 || !isCode(e.Code) || diag.Printable(e.Message) != e.Message || len(e.Hints) > maxHints {
			t.Errorf("%d %q gives %#v", status, body, err)
		}
	})
}

// credential knows the one of a test registry.
func credential(r *ocitest.Registry) func(context.Context, string) (origin.Credential, error) {
	return func(context.Context, string) (origin.Credential, error) {
		return origin.Credential{User: r.User, Secret: r.Password}, nil
	}
}
