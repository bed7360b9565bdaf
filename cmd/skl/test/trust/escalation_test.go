package trust

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/testdata/long"
)

// TestEscalations generates updates, over every source, every command that can bring one in, and every kind of permission, and runs them
// where nobody can be asked. One that asks for more is refused with exit 4 and the words to accept, or held by --safe, and writes nothing;
// with these words it passes. One that asks for nothing more passes.
func TestEscalations(t *testing.T) {
	t.Parallel()
	long.Slow(t)
	rng := rand.New(rand.NewPCG(long.Seed(t, 7), 1))
	servers := startServers(t)
	for round := range long.Of(1, 3, 12) {
		for _, from := range sources {
			name := fmt.Sprintf("%s-%d", from.name, round)
			seed := rng.Uint64()
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				servers.update(t, from, "s"+strings.ReplaceAll(name, "_", "-"), rand.New(rand.NewPCG(seed, 2)))
			})
		}
	}
}

// A source is where a skill comes from.
type source struct {
	name   string
	ranged bool // its versions have ranges, so that an update can be within one and beyond it
	exact  bool // its references can name a version
	branch bool // a reference is a place that moves
}

var sources = []source{
	{name: "forge_tag", ranged: true, exact: true}, {name: "git_tag", ranged: true, exact: true}, {name: "git_branch", branch: true}, {name: "git_head", branch: true},
	{name: "oci", ranged: true, exact: true}, {name: "registry", ranged: true, exact: true}, {name: "market", branch: true}, {name: "local", branch: true}, {name: "archive", branch: true},
}

// Servers are what the sources of a test are on.
type servers struct {
	forge                 *harness.Forge
	oci, registry, secret string // hosts, and the token of the registry's admin
}

func startServers(t *testing.T) *servers {
	s := &servers{forge: harness.StartForge(t)}
	open := server.Config{}
	open.Access.Open = true
	s.oci, _ = harness.ServeRegistry(t, open)
	s.registry, s.secret = harness.ServeRegistry(t, server.Config{})
	p := harness.NewPlace(t)
	s.login(t, p)
	p.Must("registry", "namespace", "create", "acme", "--public")
	return s
}

func (s *servers) login(t *testing.T, p *harness.Place) {
	cmd := p.Command("login", "http://"+s.registry, "--token-stdin", "--name", "corp", "--default")
	cmd.Stdin = strings.NewReader(s.secret)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("skl login: %v\n%s", err, out)
	}
}

// A upstream is one skill at its source.
type upstream struct {
	*servers
	*harness.Place
	from source
	name string
	dir  string // the directory of the repositories of the forge
	repo string
	ref  string
}

// at begins a skill, in a place where the source is known.
func (s *servers) at(t *testing.T, from source, name string) *upstream {
	u := &upstream{servers: s, Place: harness.NewPlace(t), from: from, name: name, dir: t.TempDir()}
	u.repo = filepath.Join(u.dir, "acme", "tools.git")
	if err := errorsOf(os.MkdirAll(filepath.Dir(u.repo), 0o755), os.Rename(gittest.Init(t, "tools"), u.repo)); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("%s/%x", s.forge.URL, u.dir)
	harness.WriteFile(t, filepath.Join(u.Home, ".config", "skl", "config.toml"), "[forge.github]\nurl = \""+url+"\"\n")
	git := "git+" + url + "/acme/tools.git//skills/" + name
	switch from.name {
	case "forge_tag":
		u.ref = "acme/tools/" + name
	case "git_tag", "git_head":
		u.ref = git
	case "git_branch":
		u.ref = git + "@main"
	case "oci":
		u.ref = "oci://" + s.oci + "/acme/" + name
	case "registry":
		s.login(t, u.Place)
		u.ref = "acme/" + name
	case "market":
		u.ref = "market:city/forms/" + name
	case "local":
		u.ref = "./vendor/" + name
	case "archive":
		u.ref = "./" + name + ".tar.gz"
	}
	return u
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// publish makes files the version of the skill at its source.
func (u *upstream) publish(t *testing.T, files gittest.Files, version string) {
	t.Helper()
	below := func(top string) gittest.Files {
		out := gittest.Files{}
		for path, text := range files {
			out[top+path] = text
		}
		return out
	}
	folder := func(dir string) string {
		for path, text := range files {
			file := harness.WriteFile(t, filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(path, "*"))), text)
			if strings.HasSuffix(path, "*") {
				if err := os.Chmod(file, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		return dir
	}
	switch u.from.name {
	case "forge_tag", "git_tag":
		gittest.Git(t, u.repo, "tag", "v"+version, gittest.Commit(t, u.repo, below("skills/"+u.name+"/")))
	case "git_branch", "git_head":
		gittest.Commit(t, u.repo, below("skills/"+u.name+"/"))
	case "market":
		all := below("plugins/forms/skills/" + u.name + "/")
		all[".claude-plugin/marketplace.json"] = `{"name": "city", "owner": {"name": "City"}, "plugins": [{"name": "forms", "source": "./plugins/forms"}]}`
		first := gittest.Git(t, u.repo, "for-each-ref") == ""
		if gittest.Commit(t, u.repo, all); first {
			u.Must("source", "add", "market", "acme/tools")
		}
	case "local":
		folder(filepath.Join(u.Project, "vendor", u.name))
	case "oci":
		u.Must("publish", folder(t.TempDir()), "acme/"+u.name+"@"+version, "--to", "oci://"+u.oci)
	case "registry":
		u.Must("publish", folder(t.TempDir()), "acme/"+u.name+"@"+version)
	case "archive":
		file := filepath.Join(u.Project, u.name+".tar.gz")
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		u.Must("pack", folder(filepath.Join(t.TempDir(), u.name)), "-o", file)
	}
}

// A gain is something that a release does: files, by which its skill asks for more.
type gain struct {
	kind  string
	files gittest.Files
	front string // of SKILL.md
	body  string
}

// gains have one for each kind of permission that an update needs consent for.
var gains = []gain{
	{kind: "net", files: gittest.Files{"scripts/net.py": "import requests\nrequests.get('https://a.example/v1')\n"}},
	{kind: "env", files: gittest.Files{"scripts/env.py": "import os\nprint(os.environ['A_TOKEN'])\n"}},
	{kind: "run", files: gittest.Files{"scripts/deep/er/run.sh*": "#!/bin/sh\nrsync a b\n"}},
	{kind: "read", files: gittest.Files{"scripts/read.py": "import os\nprint(open(os.path.expanduser('~/.netrc')).read())\n"}},
	{kind: "write", files: gittest.Files{"scripts/write.sh": "#!/bin/sh\necho x >> ~/.profile\n"}},
	{kind: "package", files: gittest.Files{"scripts/pkg.sh": "#!/bin/sh\nnpm install -g left-pad\n"}},
	{kind: "hook", files: gittest.Files{"hooks/hooks.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gh gist create x"}]}]}}`}},
	{kind: "mcp", files: gittest.Files{".mcp.json": `{"mcpServers": {"far": {"type": "http", "url": "https://mcp.example/v1"}}}`}},
	{kind: "dynamic", files: gittest.Files{"scripts/dyn.py": "import sys\nexec(sys.argv[1])\n"}},
	{kind: "unread", files: gittest.Files{"scripts/a.rb": "puts 1\n"}},
	{kind: "shebang", files: gittest.Files{"bin/tool*": "#!/usr/bin/env python3\nimport urllib.request\nurllib.request.urlopen('https://b.example')\n"}},
	{kind: "make", files: gittest.Files{"Makefile": "all:\n\tcurl -s https://m.example\n"}},
	{kind: "agent", front: "context: fork\n"},
	{kind: "tools", front: "allowed-tools: Bash(git:*)\n"},
	{kind: "fenced", body: "\n```sh\ncurl https://c.example/v1\n```\n"},
	{kind: "load", body: "\n!`git status`\n"},
	{kind: "reference", files: gittest.Files{"references/more.md": "# More\n\n```sh\nwget https://d.example\n```\n"}},
	{kind: "odd name", files: gittest.Files{"scripts/ä b.PY": "import requests\nrequests.get('https://e.example/v1')\n"}},
}

// release is the files of a skill that does all of these.
func release(name, text string, does []gain) gittest.Files {
	front, body, files := "", "", gittest.Files{}
	for _, g := range does {
		front, body = front+g.front, body+g.body
		maps.Copy(files, g.files)
	}
	files["SKILL.md"] = "---\nname: " + name + "\ndescription: " + text + "\n" + front + "---\n# It\n" + body
	return files
}

// asks computes what files ask for.
func asks(files gittest.Files) audit.Report {
	var list []audit.File
	for path, text := range files {
		list = append(list, audit.File{Path: strings.TrimSuffix(path, "*"), Data: []byte(text), Executable: strings.HasSuffix(path, "*")})
	}
	return audit.Read(list)
}

// A way brings a newer release in.
type way struct {
	name  string
	fits  func(source) bool // nil fits all
	does  func(u *upstream) []string
	env   string // a variable besides the usual ones
	undo  bool   // what was done before the command is taken back after the refusal
	safe  bool   // the skill is held, exit 3
	dry   bool   // nothing changes in the end
	locks bool   // skl.lock alone changes in the end
}

var ways = []way{
	{name: "update", does: words("update")},
	{name: "update in CI", does: words("update"), env: "CI=true"},
	{name: "install again in CI", does: func(u *upstream) []string { return []string{"install", u.ref} }, env: "CI=true"},
	{name: "update NAME", does: func(u *upstream) []string { return []string{"update", u.name} }},
	{name: "update -y", does: words("update", "-y")},
	{name: "update --json", does: words("update", "--json")},
	{name: "update --force", does: words("update", "--force")},
	{name: "update --latest", does: words("update", "--latest", "-y")},
	{name: "update --dry-run", does: words("update", "--dry-run"), dry: true},
	{name: "update --safe", does: words("update", "--safe"), safe: true},
	{name: "install again", does: func(u *upstream) []string { return []string{"install", u.ref} }},
	{name: "install again -y", does: func(u *upstream) []string { return []string{"install", u.ref, "-y", "--force"} }},
	{name: "install newer", fits: func(s source) bool { return s.exact }, does: func(u *upstream) []string { return []string{"install", u.newer("1.1.0")} }},
	{name: "install newer --dry-run", fits: func(s source) bool { return s.exact }, does: func(u *upstream) []string { return []string{"install", u.newer("1.1.0"), "--dry-run"} }, dry: true},
	{name: "lock --upgrade", does: func(u *upstream) []string { return []string{"lock", "--upgrade", u.name} }, locks: true},
	{name: "lock --upgrade --dry-run", does: func(u *upstream) []string { return []string{"lock", "--upgrade", u.name, "--dry-run"} }, dry: true},
	{name: "skl.toml edited", fits: func(s source) bool { return s.ranged }, undo: true, does: func(u *upstream) []string { u.edit("skl.toml", "^1.0.0", "^1.1"); return []string{"install"} }},
	{name: "skl.toml edited, lock", fits: func(s source) bool { return s.ranged }, undo: true, locks: true, does: func(u *upstream) []string { u.edit("skl.toml", "^1.0.0", "^1.1"); return []string{"lock"} }},
	{name: "skl.lock edited", undo: true, does: func(u *upstream) []string {
		u.edit("skl.lock", "\npermissions = [", "\npermissions = [\"net:a.example\", \"dynamic-exec\", \"run:curl\", ") // where it has any
		return []string{"update"}
	}},
	{name: "skl.lock gone", undo: true, does: func(u *upstream) []string { u.remove("skl.lock"); return []string{"install"} }},
	{name: "skl.lock gone, lock", undo: true, locks: true, does: func(u *upstream) []string { u.remove("skl.lock"); return []string{"lock"} }},
}

func words(args ...string) func(*upstream) []string {
	return func(*upstream) []string { return slices.Clone(args) }
}

// newer is the reference with a version.
func (u *upstream) newer(version string) string {
	if u.from.name == "oci" {
		return u.ref + ":" + version
	}
	return u.ref + "@" + version
}

func (u *upstream) path(name string) string {
	return filepath.Join(u.Project, filepath.FromSlash(name))
}

func (u *upstream) read(name string) string {
	text, err := os.ReadFile(u.path(name))
	if err != nil {
		u.T.Fatal(err)
	}
	return string(text)
}

func (u *upstream) write(name, text string) {
	if err := os.WriteFile(u.path(name), []byte(text), 0o644); err != nil {
		u.T.Fatal(err)
	}
}

func (u *upstream) edit(name, old, text string) {
	u.write(name, strings.Replace(u.read(name), old, text, 1))
}

func (u *upstream) remove(name string) {
	if err := os.Remove(u.path(name)); err != nil {
		u.T.Fatal(err)
	}
}

// state is every file of the project, and of the home what is neither a cache, nor the store, nor what is remembered of logs. A command that
// ends well, as one that holds a skill, may remember in the home what it saw at the source.
func (u *upstream) state(endsWell bool) string {
	var out []string
	aside := []string{" .cache/", " .local/share/skl/store/", " .local/state/skl/log"}
	if endsWell {
		aside = append(aside, " .local/state/skl/")
	}
	for _, dir := range []string{u.Project, u.Home} {
		for _, line := range harness.Listing(dir, func(path string) string {
			text, _ := os.ReadFile(path)
			return fmt.Sprintf(" %x", sha256.Sum256(text))
		}) {
			if !strings.HasPrefix(line, "d") && !slices.ContainsFunc(aside, func(s string) bool { return strings.Contains(line, s) }) {
				out = append(out, line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// update is one generated update.
func (s *servers) update(t *testing.T, from source, name string, rng *rand.Rand) {
	u := s.at(t, from, name)
	mixed := slices.Clone(gains)
	rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	had := rng.IntN(3)
	more := 1 + rng.IntN(3)
	before := slices.DeleteFunc(slices.Clone(mixed[:had]), func(g gain) bool { return g.kind == "load" }) // which a first install asks about
	old, same, next := release(name, "First.", before), release(name, "Second.", before), release(name, "Third.", mixed[:had+more])
	was, is := asks(old), asks(next)
	var wants []string
	for _, c := range audit.Compare(was.Granted(is), is.Set()) {
		if c.Escalates {
			wants = append(wants, c.Permission.String())
		}
	}
	if len(wants) == 0 {
		t.Fatalf("the generator made an update from %v to %v that asks for nothing", was.Set().Texts(), is.Set().Texts())
	}
	t.Logf("%s asks for %s, and then also for %s", u.ref, was.Set().Texts(), wants)

	u.publish(t, old, "1.0.0")
	u.Must("install", u.ref)
	u.publish(t, same, "1.0.1")
	u.Must("update") // what asks for no more passes
	u.holds(t, same)
	u.publish(t, next, "1.1.0")

	fitting := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.fits != nil && !w.fits(from) })
	rng.Shuffle(len(fitting), func(i, j int) { fitting[i], fitting[j] = fitting[j], fitting[i] })
	fitting = fitting[:min(len(fitting), long.Of(1, 4, len(fitting)))]
	for i, w := range fitting {
		accept := u.refused(t, w, wants, asks(next))
		if i+1 == len(fitting) {
			u.accepted(t, w, accept, next)
		}
	}
}

// refused runs a command that brings in more, which is refused or held, and writes nothing. It returns the words to accept.
func (u *upstream) refused(t *testing.T, w way, wants []string, is audit.Report) string {
	t.Helper()
	whole := map[string]string{"skl.toml": u.read("skl.toml"), "skl.lock": u.read("skl.lock")}
	args := w.does(u)
	before := u.state(w.safe)
	status, out := u.run(w, args)
	if want := map[bool]int{false: 4, true: 3}[w.safe]; status != want {
		t.Fatalf("%s: skl %s: exit %d, want %d\n%s", w.name, strings.Join(args, " "), status, want, out)
	}
	if after := u.state(w.safe); after != before {
		t.Fatalf("%s: skl %s wrote something:\n%s\nbefore:\n%s\nafter:\n%s", w.name, strings.Join(args, " "), out, before, after)
	}
	accept := harness.Accepts(out)
	said := strings.Split(accept, ",")
	for _, p := range said {
		if !slices.Contains(wants, p) {
			t.Errorf("%s: the hint is to accept %s, which is not asked for\n%s", w.name, p, out)
		}
	}
	for _, p := range wants {
		if load := is.At(audit.Permission{Kind: audit.Load}); !slices.Contains(said, p) && load == nil { // else the commands are shown as they are
			t.Errorf("%s: the hint does not say to accept %s\n%s", w.name, p, out)
		}
	}
	if w.undo {
		for name, text := range whole {
			u.write(name, text)
		}
	}
	return accept
}

// run is Skl with the variable of a way.
func (u *upstream) run(w way, args []string) (status int, output string) {
	cmd := u.Command(args...)
	if w.env != "" {
		cmd.Env = append(cmd.Env, w.env)
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		u.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// accepted runs the command again with the words of its hint.
func (u *upstream) accepted(t *testing.T, w way, words string, next gittest.Files) {
	t.Helper()
	args := append(w.does(u), "--accept", words)
	before := u.state(true)
	if status, out := u.run(w, args); status != 0 {
		t.Fatalf("%s: skl %s: exit %d\n%s", w.name, strings.Join(args, " "), status, out)
	}
	switch {
	case w.dry:
		if u.state(true) != before {
			t.Errorf("%s: skl %s wrote something", w.name, strings.Join(args, " "))
		}
		return
	case w.locks:
		u.Must("ci") // which brings in what was accepted
	}
	u.holds(t, next)
	u.Must("ci")
}

// holds fails unless the installed skill is these files.
func (u *upstream) holds(t *testing.T, files gittest.Files) {
	t.Helper()
	for path, text := range files {
		got, err := os.ReadFile(u.path(".agents/skills/" + u.name + "/" + strings.TrimSuffix(path, "*")))
		if err != nil || !bytes.Equal(got, []byte(text)) {
			t.Fatalf("%s is not installed: %v", path, err)
		}
	}
}
