package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/gateway/wellknown"
	"github.com/skl-project/skl/testdata/long"
)

// clientTime bounds one call of a client.
const clientTime = 90 * time.Second

// runClient runs a client in dir with a home of its own. It sees no network but this machine.
func runClient(t *testing.T, program, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "TERM=dumb", "NO_COLOR=1", "CI=1", "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1",
		"PATH=" + filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH"), // the node it was installed with, if any
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", program, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// A watch is a server in front of another that notes what was asked for.
type watch struct {
	url   string
	mu    sync.Mutex
	paths []string
}

func newWatch(t *testing.T, h http.Handler) *watch {
	w := new(watch)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.paths = append(w.paths, r.URL.Path)
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	}))
	t.Cleanup(web.Close)
	w.url = web.URL
	return w
}

// asked is what was asked for until now.
func (w *watch) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.paths)
}

// stock publishes what the clients install and returns a token for the private namespace.
func stock(t *testing.T) (*site, string) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.namespace("secret", false)
	s.publish(s.admin, "acme/pdf@1.0.0", "scripts/run.py", "print(1)\n", "data/long name.txt", "spaces\n", "logo.png", "\x89PNG\x00\xff")
	s.publish(s.admin, "acme/pdf@1.1.0", "scripts/run.py", "print(2)\n", "data/long name.txt", "spaces\n", "logo.png", "\x89PNG\x00\xff")
	s.publish(s.admin, "acme/notes@1.0.0")
	s.publish(s.admin, "secret/plan@0.1.0", "more.md", "more\n")
	return s, s.token("secret", "reader")
}

// The npm client installs from both versions of the index, from the whole registry, and from a private namespace
// through a capability path, which it does not leave.
func TestNpmSkills(t *testing.T) {
	client := long.Agent(t, "SKL_TEST_SKILLS", "skills")
	s, token := stock(t)
	old := s.s.guard(func(string) (string, http.Handler) {
		return "wellknown", &wellknown.Handler{Registry: s.s.Registry, Caller: s.s.caller, Token: s.s.tokenCaller, LegacyOnly: true}
	})
	for _, tt := range []struct {
		what, path string
		h          http.Handler
		want       string // files
		asked      string // one of the paths that shows which way it went
	}{
		{"version 0.2", "/acme", s.s.Handler(),
			"notes/SKILL.md pdf/SKILL.md pdf/data/long name.txt pdf/logo.png pdf/scripts/run.py", "/acme/.well-known/agent-skills/pdf/1.1.0/pdf.zip"},
		{"version 0.1", "/acme", old,
			"notes/SKILL.md pdf/SKILL.md pdf/data/long name.txt pdf/logo.png pdf/scripts/run.py", "/acme/.well-known/skills/pdf/scripts/run.py"},
		{"the whole registry", "", s.s.Handler(),
			"notes/SKILL.md pdf/SKILL.md pdf/data/long name.txt pdf/logo.png pdf/scripts/run.py", "/acme/.well-known/agent-skills/pdf/1.1.0/pdf.zip"},
		{"capability path", "/t/" + token + "/secret", s.s.Handler(), "plan/SKILL.md plan/more.md", "/t/" + token + "/secret/.well-known/agent-skills/plan/0.1.0/plan.zip"},
		{"capability path, version 0.1", "/t/" + token + "/secret", old, "plan/SKILL.md plan/more.md", "/t/" + token + "/secret/.well-known/skills/plan/more.md"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWatch(t, tt.h)
			dir := t.TempDir()
			out := runClient(t, client, dir, "add", w.url+tt.path, "--skill", "*", "--agent", "claude-code", "--copy", "--yes")
			root := filepath.Join(dir, ".claude", "skills")
			if got := files(t, root); got != tt.want {
				t.Fatalf("installed %s, want %s\nasked for %v\n%s", got, tt.want, w.asked(), out)
			}
			if !slices.Contains(w.asked(), tt.asked) {
				t.Errorf("it did not ask for %s but for %v", tt.asked, w.asked())
			}
			if strings.Contains(tt.want, "pdf") {
				for name, want := range map[string]string{"scripts/run.py": "print(2)\n", "logo.png": "\x89PNG\x00\xff"} {
					if got, err := os.ReadFile(filepath.Join(root, "pdf", filepath.FromSlash(name))); err != nil || string(got) != want {
						t.Errorf("%s: %q %v", name, got, err)
					}
				}
			}
			for _, p := range w.asked() {
				if !strings.HasPrefix(p, tt.path) && !strings.HasSuffix(p, "/index.json") {
					t.Errorf("it left %s for %s", tt.path, p)
				}
			}
		})
	}
}

// files lists what is below dir, sorted.
func files(t *testing.T, dir string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// opencode reads the index of version 0.1 that its setting skills.urls names.
func TestOpencodeURLs(t *testing.T) {
	client := long.Agent(t, "SKL_TEST_OPENCODE", "opencode")
	s, token := stock(t)
	w := newWatch(t, s.s.Handler())
	for _, tt := range []struct{ path, want string }{
		{"/acme", "notes pdf"},
		{"/t/" + token + "/secret", "plan"},
	} {
		dir := t.TempDir()
		config, err := json.Marshal(map[string]any{"skills": map[string]any{"urls": []string{w.url + tt.path + "/.well-known/skills/"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "opencode.json"), config, 0o600); err != nil {
			t.Fatal(err)
		}
		var shown []struct{ Name, Location string }
		out := runClient(t, client, dir, "debug", "skill")
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var names []string
		for _, one := range shown {
			if one.Location != "<built-in>" {
				names = append(names, one.Name)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s: it shows %q, want %q; it asked for %v", tt.path, got, tt.want, w.asked())
		}
	}
}
