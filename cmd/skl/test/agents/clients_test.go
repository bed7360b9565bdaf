package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/testdata/long"
)

// A client is a real agent program that lists the skills it loads. It needs no account for that.
type client struct {
	host    string // its id in skl
	program string
	args    []string
	cache   string // it unpacks itself there
}

// clientTime bounds one call of a client.
const clientTime = 4 * time.Minute

// clients finds the agent programs: npm packages opencode-ai and @github/copilot.
func clients(t *testing.T) []client {
	gittest.Need(t)
	cache := t.TempDir()
	var found []client
	for _, c := range []struct{ variable, host, name, args string }{
		{"SKL_TEST_OPENCODE", "opencode", "opencode", "debug skill"},
		{"SKL_TEST_COPILOT", "github-copilot", "copilot", "skill list --json"},
	} {
		found = append(found, client{c.host, long.Agent(t, c.variable, c.name), strings.Fields(c.args), cache})
	}
	return found
}

// list returns the directories of the skills that the client shows when it is started in
// dir, by name, without its own. The client sees no credentials and no network.
func (c client) list(home, dir string) (map[string][]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9",
		"COPILOT_CACHE_HOME=" + c.cache, "COPILOT_AUTO_UPDATE=false",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	cmd.WaitDelay = time.Second // a child that outlives it keeps its output open
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %v\n%s", c.program, strings.Join(c.args, " "), err, stderr.Bytes())
	}
	var shown []struct{ Name, Path, Source, Location string }
	if err := json.Unmarshal(stdout.Bytes(), &shown); err != nil {
		return nil, fmt.Errorf("%s: %v\n%s", c.program, err, stdout.Bytes())
	}
	out := make(map[string][]string)
	for _, s := range shown {
		if s.Source == "builtin" || s.Location == "<built-in>" {
			continue
		}
		if s.Path == "" {
			s.Path = filepath.Dir(s.Location) // opencode names the file
		}
		real, err := filepath.EvalSymlinks(s.Path)
		if err != nil {
			return nil, err
		}
		out[s.Name] = append(out[s.Name], real)
	}
	return out, nil
}

// ask lists with all clients at once.
func ask(t *testing.T, all []client, home, dir string) []map[string][]string {
	t.Helper()
	shown := make([]map[string][]string, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			var err error
			if shown[i], err = c.list(home, dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return shown
}

// The agents list what skl says they load, and where copies differ they list the copy that
// "skl list" names. The steps of a row are separated by ";": "skl" and its
// arguments, with LIB for a repository with the skills s00 and s01, or "put DIR NAME", which writes a
// copy of another content. P is the project, H the home. The wanted copies are NAME=ROOT; ROOT|ROOT is
// one of them, a different one each time.
func TestClientsAgree(t *testing.T) {
	all := clients(t)
	lib := harness.Library(t, 2)
	const hostFlags = " --host claude-code --host github-copilot --host opencode"
	for _, tt := range []struct{ what, cwd, steps, opencode, copilot string }{
		{"into a project", "P",
			"skl install LIB --all" + hostFlags,
			"s00=P/.agents/skills s01=P/.agents/skills", "s00=P/.agents/skills s01=P/.agents/skills"},
		{"into a project that uses .github/skills", "P",
			"put P/.github/skills own; skl install LIB --all" + hostFlags,
			"s00=P/.agents/skills s01=P/.agents/skills", "own=P/.github/skills s00=P/.agents/skills s01=P/.agents/skills"},
		{"into the user's", "P",
			"skl install -g LIB --all" + hostFlags,
			"s00=H/.agents/skills s01=H/.agents/skills", "s00=H/.agents/skills s01=H/.agents/skills"},
		{"from a directory of the project", "P/sub",
			"skl install LIB --all" + hostFlags,
			"s00=P/.agents/skills s01=P/.agents/skills", "s00=P/.agents/skills s01=P/.agents/skills"},
		{"another version is the user's", "P",
			"skl install -g LIB@1.0.0 s00" + hostFlags + "; skl install LIB@2.0.0 --all" + hostFlags,
			"s00=P/.agents/skills|H/.agents/skills s01=P/.agents/skills", "s00=P/.agents/skills s01=P/.agents/skills"},
		{"a copy in .github/skills hides the installed one from Copilot alone", "P",
			"skl install LIB --all" + hostFlags + "; put P/.github/skills s00",
			"s00=P/.agents/skills s01=P/.agents/skills", "s00=P/.github/skills s01=P/.agents/skills"},
		{"a copy in .opencode/skills competes in opencode alone", "P",
			"skl install LIB --all" + hostFlags + "; put P/.opencode/skills s00",
			"s00=P/.agents/skills|P/.opencode/skills s01=P/.agents/skills", "s00=P/.agents/skills s01=P/.agents/skills"},
		{"a copy in ~/.copilot/skills hides the user's", "P",
			"skl install -g LIB --all" + hostFlags + "; put H/.copilot/skills s00",
			"s00=H/.agents/skills s01=H/.agents/skills", "s00=H/.copilot/skills s01=H/.agents/skills"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := harness.NewPlace(t)
			gittest.Git(t, p.Project, "init", "-q")
			at := strings.NewReplacer("P/", p.Project+"/", "H/", p.Home+"/")
			dir := filepath.FromSlash(strings.TrimSuffix(at.Replace(tt.cwd+"/"), "/"))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for step := range strings.SplitSeq(tt.steps, ";") {
				words := strings.Fields(strings.Replace(step, "LIB", lib, 1))
				if words[0] == "put" {
					put(t, filepath.FromSlash(at.Replace(words[1])), words[2])
					continue
				}
				p.Must(words[1:]...)
			}
			listing := listingOf(p, dir)
			shown := ask(t, all, p.Home, dir)
			for i, want := range []string{tt.opencode, tt.copilot} {
				sameCopies(t, all[i].host, shown[i], at.Replace(want))
				agree(t, all[i].host, shown[i], listing)
			}
		})
	}
}

// put writes a skill of that name that nothing else is identical with.
func put(t *testing.T, root, name string) {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	doc := fmt.Sprintf("---\nname: %s\ndescription: Written by hand.\n---\n%s\n", name, filepath.Base(filepath.Dir(root)))
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listingOf is all that skl knows, seen from dir.
func listingOf(p *harness.Place, dir string) roots.Listing {
	p.T.Helper()
	cmd := p.Command("list", "--all", "--json", "--host", "claude-code", "--host", "github-copilot", "--host", "opencode")
	cmd.Dir = dir
	out, err := cmd.Output()
	var l roots.Listing
	if err == nil {
		err = json.Unmarshal(out, &l)
	}
	if err != nil {
		p.T.Fatalf("skl list --json: %v\n%s", err, out)
	}
	return l
}

// sameCopies compares what a client shows with the wanted copies.
func sameCopies(t *testing.T, host string, shown map[string][]string, want string) {
	t.Helper()
	names := map[string]bool{}
	for field := range strings.FieldsSeq(want) {
		name, dirs, _ := strings.Cut(field, "=")
		names[name] = true
		var allowed []string
		for dir := range strings.SplitSeq(dirs, "|") {
			if real, err := filepath.EvalSymlinks(filepath.Join(filepath.FromSlash(dir), name)); err == nil {
				allowed = append(allowed, real)
			}
		}
		if len(shown[name]) != 1 || !slices.Contains(allowed, shown[name][0]) {
			t.Errorf("%s shows %s from %q, want one of %q", host, name, shown[name], allowed)
		}
	}
	for name, dirs := range shown {
		if !names[name] {
			t.Errorf("%s also shows %s from %q", host, name, dirs)
		}
	}
}

// agree compares what a client shows with what skl says that it does with each copy.
func agree(t *testing.T, host string, shown map[string][]string, l roots.Listing) {
	t.Helper()
	expected := map[string][]string{} // directories that may be the one it shows
	for _, r := range l.Skills {
		for _, h := range r.Hosts {
			if h.Host == host && slices.Contains([]string{hosts.Loads, hosts.Listed, hosts.Unstable}, h.Use) {
				expected[r.Name] = append(expected[r.Name], r.Path)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(expected)); !slices.Equal(got, want) {
		t.Errorf("%s shows %q, skl list says %q", host, got, want)
	}
	for name, dirs := range shown {
		for _, dir := range dirs {
			if !slices.Contains(expected[name], dir) {
				t.Errorf("%s shows %s from %s, skl list says %q", host, name, dir, expected[name])
			}
		}
	}
}

// Files put away by skl are shown by no agent: disabled skills, backups of local edits, and leftovers of a killed
// install.
func TestClientsSeeNothingPutAway(t *testing.T) {
	all := clients(t)
	lib := harness.Library(t, 2)
	many := harness.Library(t, 50)
	for _, tt := range []struct {
		what string
		do   func(p *harness.Place)
		want string // names that are still shown
	}{
		{"disabled", func(p *harness.Place) {
			p.Must("install", lib, "--all", "--host", "claude-code", "--host", "github-copilot", "--host", "opencode")
			p.Must("disable", "s00")
		}, "s01"},
		{"backup", func(p *harness.Place) {
			p.Must("install", lib, "--all", "--host", "claude-code", "--host", "github-copilot", "--host", "opencode")
			put(p.T, filepath.Join(p.Project, ".agents", "skills"), "s00")
			p.Must("install", "--force")
		}, "s00 s01"},
		{"prepared", func(p *harness.Place) { killWhilePreparing(p, many) }, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := harness.NewPlace(t)
			gittest.Git(t, p.Project, "init", "-q")
			tt.do(p)
			for i, shown := range ask(t, all, p.Home, p.Project) {
				for _, name := range slices.Sorted(maps.Keys(shown)) {
					for _, dir := range shown[name] {
						if filepath.Dir(dir) != filepath.Join(p.Project, ".agents", "skills") {
							t.Errorf("%s shows %s", all[i].host, dir)
						}
					}
				}
				if names := strings.Join(slices.Sorted(maps.Keys(shown)), " "); names != tt.want {
					t.Errorf("%s shows %q, want %q", all[i].host, cmp.Or(names, "nothing"), cmp.Or(tt.want, "nothing"))
				}
			}
		})
	}
}

// killWhilePreparing kills an install of all skills of the repository url after it wrote the
// first of them somewhere, and before any is in its place.
func killWhilePreparing(p *harness.Place, url string) {
	for range 20 {
		if err := os.RemoveAll(filepath.Join(p.Project, ".agents")); err != nil {
			p.T.Fatal(err)
		}
		cmd := p.Command("install", url, "--all", "--host", "opencode")
		if err := cmd.Start(); err != nil {
			p.T.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
				if prepared(p.Project) {
					cmd.Process.Kill()
					<-done
					running = false
				}
			}
		}
		if in, _ := filepath.Glob(filepath.Join(p.Project, ".agents", "skills", "s*")); len(in) == 0 && prepared(p.Project) {
			return
		}
	}
	gittest.Skip(p.T, "the install was always faster than the test")
}

// prepared reports whether there is a SKILL.md anywhere in the project.
func prepared(project string) (found bool) {
	filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "SKILL.md" {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
