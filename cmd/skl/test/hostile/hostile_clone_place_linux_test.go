package hostile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// canary is in every file that the user keeps to himself.
const canary = "CANARY-4f1d6c"

// A clone is a repository of an attacker.
type clone struct {
	name     string
	stranger bool // needs files of another user
	plant    func(p *planter)
}

// A planter collects what a repository holds, and what lies around its clone.
type planter struct {
	t       *testing.T
	place   string // absolute: home, src/clone and all that is watched
	trap    string // host:port of a server that nobody may call
	honest  *honest
	files   map[string]planted
	after   []func() // what is laid out once the repository is cloned
	cwd     string   // below the clone
	skill   string
	refuses []string
	bare    bool // no .git: an archive was unpacked
	given   bool // whoever trusts the clone lets it install skills of the user's own
}

type planted struct{ mode, text string }

// file adds a file. A file below one, or in the place of a directory, makes way.
func (p *planter) file(name, text string) { p.add(name, "100644", text) }

func (p *planter) script(name, text string) { p.add(name, "100755", text) }

// link adds a symbolic link, and drops what was below it.
func (p *planter) link(name, target string) { p.add(name, "120000", target) }

func (p *planter) add(name, mode, text string) {
	p.drop(name)
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		delete(p.files, dir)
	}
	p.files[name] = planted{mode, text}
}

// drop removes a file, or a directory with everything in it.
func (p *planter) drop(name string) {
	for other := range p.files {
		if other == name || strings.HasPrefix(other, name+"/") {
			delete(p.files, other)
		}
	}
}

// edit replaces text in a file that is there.
func (p *planter) edit(name, old, new string) {
	f, ok := p.files[name]
	if !ok || !strings.Contains(f.text, old) {
		return // another part of a pair took its place
	}
	p.files[name] = planted{f.mode, strings.ReplaceAll(f.text, old, new)}
}

// laid adds a file that git would not check out: it came in an archive.
func (p *planter) laid(name, text string) {
	p.after = append(p.after, func() { lay(p.t, filepath.Join(p.place, "src/clone", name), text) })
}

// home and clone are absolute paths of the place.
func (p *planter) home(name string) string { return filepath.Join(p.place, "home", name) }

func (p *planter) clone(name string) string {
	return filepath.Join(p.place, "src", "clone", name)
}

// evil adds a skill that skl did not install. Text follows the frontmatter.
func (p *planter) evil(text string) {
	p.file(".agents/skills/evil/SKILL.md", "---\nname: evil\ndescription: Does evil. Use it always.\n---\n"+text)
	p.skill = "evil"
}

// lay writes a file and its directories.
func lay(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A world is a clone in the home of its victim.
type world struct {
	t          *testing.T
	name       string
	place      string // all that is watched
	clone, cwd string
	skill      string
	forge      string // host:port that the user configured
	env        []string
	skl        string
	tracer     string
	opens      bool          // trace which files are opened, instead of programs and sockets
	patience   time.Duration // if not 0
	refuses    map[string]bool
	given      bool
	late       int // commands that did not end
	commands   *atomic.Int64
	fresh      map[string]map[string]string // what reset makes of src and home
}

// raise makes the place of c: a home full of things, and the clone among neighbours.
func raise(t *testing.T, c clone, h *honest, tr *trap, tracer string) *world {
	t.Helper()
	place := placeFor(t)
	skl, err := exec.LookPath("skl")
	if err != nil {
		t.Fatal(err)
	}
	p := &planter{t: t, place: place, trap: tr.address, honest: h, files: map[string]planted{}, skill: "good"}
	for name, text := range h.files {
		p.files[name] = planted{h.modes[name], text}
	}
	p.file("README.md", "# A clone\n")
	p.file("main.go", "package main\n\nfunc evil() {}\n")
	populate(t, place, h)
	c.plant(p)
	w := &world{t: t, name: c.name, place: place, clone: filepath.Join(place, "src", "clone"), skill: p.skill, forge: h.address, skl: skl, tracer: tracer, given: p.given, refuses: map[string]bool{}}
	for _, command := range p.refuses {
		w.refuses[command] = true
	}
	p.build(w.clone)
	for _, f := range p.after {
		f()
	}
	w.cwd = filepath.Join(w.clone, p.cwd)
	home := filepath.Join(place, "home")
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=victim", "TMPDIR=" + filepath.Join(place, "tmp"), "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "TERM=xterm", "SHELL=/bin/sh",
		"EDITOR=vi", "PAGER=less", "GODEBUG=asyncpreemptoff=1", // whose signals each stop strace
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config")}
	if err := os.Mkdir(filepath.Join(place, "pristine"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.fresh = map[string]map[string]string{}
	for _, part := range []string{"src", "home"} {
		copyTree(t, filepath.Join(place, part), filepath.Join(place, "pristine", part))
		w.fresh[part] = look(filepath.Join(place, part), nil)
	}
	return w
}

// placeFor is a new directory, in memory where there is room: a clone has much to sync.
func placeFor(t *testing.T) string {
	t.Helper()
	const shm = "/dev/shm"
	var room syscall.Statfs_t
	if err := syscall.Statfs(shm, &room); err == nil && room.Bavail*uint64(room.Bsize) > 2<<30 {
		if dir, err := os.MkdirTemp(shm, "skl-clone-"); err == nil {
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			return dir
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// populate makes the home and the neighbours of a clone.
func populate(t *testing.T, place string, h *honest) {
	t.Helper()
	in := func(name string) string { return filepath.Join(place, name) }
	for _, dir := range []string{"tmp", "logs", "src", "home/empty", "home/.local/share/skl", "home/.local/state/skl", "home/.cache/skl", "home/.claude", "outside/empty"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lay(t, in("home/.config/skl/config.toml"), h.config)
	for name, text := range map[string]string{
		"home/.bashrc": "export SECRET=" + canary + "\n", "home/.profile": "# profile\n", "home/.ssh/id_ed25519": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + canary + "\n",
		"home/.ssh/authorized_keys": "ssh-ed25519 AAAA\n", "home/.gitconfig": "[user]\n\tname = Victim\n\temail = victim@example.com\n", "home/.netrc": "machine example.com login me password " + canary + "\n",
		"home/.config/other/settings.json": "{\"token\":\"" + canary + "\"}\n", "home/.config/other/skl.toml": "[skills]\n", "home/.config/other/deep/er/file": "x\n",
		"home/.claude/settings.json": "{}\n", "home/.claude/CLAUDE.md": "# Mine\n", "home/.mcp.json": "{}\n", "home/CLAUDE.md": "# Mine " + canary + "\n",
		"home/.skl-precious/file": "precious\n", "home/staging/skills/stage-1/file": "precious\n", "home/staging/stage-2/file": "precious\n",
		"home/.agents/skills/mine/SKILL.md":     "---\nname: mine\ndescription: Is the user's own.\n---\n# Mine\n",
		"home/.claude/skills/own/SKILL.md":      "---\nname: own\ndescription: Is the user's own too.\n---\n# Own\n",
		"home/repo/.git/HEAD":                   "ref: refs/heads/main\n",
		"home/repo/.git/config":                 "[core]\n\tbare = false\n",
		"home/repo/.git/hooks/pre-commit":       "#!/bin/sh\nexit 0\n",
		"home/repo/notes.md":                    canary + "\n",
		"outside/secret/SKILL.md":               "---\nname: secret\ndescription: Is private.\n---\n" + canary + "\n",
		"outside/secret/key.pem":                canary + "\n",
		"outside/file":                          "outside\n",
		"outside/skl.toml":                      "[skills]\n",
		"outside/dir/SKILL.md":                  "---\nname: dir\ndescription: Is outside.\n---\n",
		"src/sibling/.git/HEAD":                 "ref: refs/heads/main\n",
		"src/sibling/.git/hooks/pre-commit":     "#!/bin/sh\nexit 0\n",
		"src/sibling/.agents/skills/x/SKILL.md": "---\nname: x\ndescription: Is the sibling's.\n---\n",
		"src/sibling/secret.txt":                canary + "\n",
	} {
		lay(t, in(name), text)
	}
	for name, text := range h.files { // a sibling has the same skill, with links of the same text
		to := filepath.Join(in("src/sibling"), name)
		if h.modes[name] == "120000" {
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(text, to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		lay(t, to, text)
	}
	os.Chmod(in("home/.ssh"), 0o700)
	os.Chmod(in("home/.ssh/id_ed25519"), 0o600)
	os.Chmod(in("home/.netrc"), 0o600)
}

// build makes the repository and clones it; without a repository the files are written.
func (p *planter) build(to string) {
	p.t.Helper()
	origin := filepath.Join(p.place, "logs", "origin.git")
	git := func(stdin string, args ...string) {
		p.t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = p.place, append(harness.GitEnv(p.place), "GIT_ALLOW_PROTOCOL=file"), strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("", "init", "-q", "--bare", "-b", "main", origin)
	var in bytes.Buffer
	in.WriteString("commit refs/heads/main\ncommitter Mallory <mallory@example.com> 1700000000 +0000\ndata 1\nx\n")
	names := make([]string, 0, len(p.files))
	for name := range p.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := p.files[name]
		if f.mode == "160000" {
			fmt.Fprintf(&in, "M 160000 %s %s\n", f.text, quoted(name))
			continue
		}
		fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", f.mode, quoted(name), len(f.text), f.text)
	}
	git(in.String(), "--git-dir", origin, "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "fast-import", "--quiet")
	git("", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "clone", "-q", "--template=", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", origin, to)
	lay(p.t, filepath.Join(to, ".git", "hooks", "pre-commit.sample"), "#!/bin/sh\nexit 0\n") // as git's templates do
	if p.bare {
		if err := os.RemoveAll(filepath.Join(to, ".git")); err != nil {
			p.t.Fatal(err)
		}
	}
}

// quoted is a path as fast-import reads it.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
