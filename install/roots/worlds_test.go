package roots

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// TestWorlds builds each world of testdata/worlds.txt and compares what is found.
func TestWorlds(t *testing.T) {
	data, err := os.ReadFile("testdata/worlds.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(data), "\n\n")
	for _, block := range blocks[1:] { // the first explains the notation
		if strings.HasPrefix(block, "#\n") || !strings.Contains(block, "\n>") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
		t.Run(name, func(t *testing.T) { runWorld(t, block) })
	}
}

func runWorld(t *testing.T, block string) {
	if runtime.GOOS == "windows" && strings.Contains(block, "=->") {
		t.Skip("links need a privilege on Windows")
	}
	w := newWorld(t)
	var want []string
	var acks []string
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || word == "#":
		case word == ">":
			want = append(want, rest)
		case word == "hosts":
			w.cfg.Hosts = strings.Fields(rest)
		case word == "untrusted":
			w.cfg.ProjectTrusted = false
		case word == "cwd":
			w.cfg.Cwd = filepath.Join(w.cfg.Project, rest)
		case word == "gate":
			w.cfg.Gate = func(needs []skill.Dependency, _ string) string {
				return map[bool]string{true: "a package is missing"}[len(needs) == 1 && needs[0].Name == rest && needs[0].Ecosystem == "r"]
			}
		case word == "ack":
			acks = append(acks, rest)
		default:
			dir, skills, ok := strings.Cut(line, ": ")
			if !ok {
				t.Fatalf("cannot read %q", line)
			}
			w.fill(dir, skills)
		}
	}
	for _, ack := range acks {
		w.ack(strings.Fields(ack))
	}
	if got := w.show(); !slices.Equal(got, want) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// A world is a set of roots in a temporary directory.
type world struct {
	t      *testing.T
	dir    string
	cfg    Config
	system fstest.MapFS
}

func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, system: fstest.MapFS{}}
	w.cfg = Config{
		Project: filepath.Join(dir, "P"), Home: filepath.Join(dir, "H"), ProjectTrusted: true,
		ManagedDir: filepath.Join(dir, "M"), EnforcedDir: filepath.Join(dir, "E"), ExtraRoots: []string{filepath.Join(dir, "X")},
	}
	return w
}

func (w *world) path(p string) string { return filepath.Join(w.dir, filepath.FromSlash(p)) }

// fill makes the skills of one line of the notation.
func (w *world) fill(dir, skills string) {
	for word := range strings.FieldsSeq(skills) {
		name, content, ok := strings.Cut(word, "=")
		if !ok {
			w.t.Fatalf("%s: cannot read %q", dir, word)
		}
		if dir == "S" {
			w.system[name+"/SKILL.md"] = &fstest.MapFile{Data: skillText(name, content)}
			w.cfg.System = w.system
			continue
		}
		w.skill(dir, name, content)
	}
}

func (w *world) skill(root, name, content string) {
	dir := w.path(root + "/" + name)
	if target, ok := strings.CutPrefix(content, "->"); ok {
		for word, real := range map[string]string{"OUTSIDE": "O", "PROJECT": "P", "HOME": "H"} {
			if rest, ok := strings.CutPrefix(target, word); ok {
				target = w.path(real) + rest
			}
		}
		w.mkdir(filepath.Dir(dir))
		if err := os.Symlink(filepath.FromSlash(target), dir); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.mkdir(dir)
	content, receipt, installed := strings.Cut(content, "+")
	source, signer, _ := strings.Cut(receipt, "+")
	inName := name[strings.LastIndexByte(name, '/')+1:]
	if c, other, ok := strings.Cut(content, ":"); ok && content[0] != '!' {
		content, inName = c, other
	}
	w.write(filepath.Join(dir, skillFile), skillText(inName, content))
	if installed {
		r := receiptFor(w.t, w.path(root), name)
		r.Source, r.URL, r.Version = "git", "https://git.example/"+source+".git", "1.4.2"
		if signer != "" {
			r.Signer = &lock.Signer{Identity: signer}
		}
		w.mkdir(w.path(root + "/.skl"))
		w.write(ReceiptPath(w.path(root), name), r.Format())
	}
}

func skillText(name, content string) []byte {
	if front, ok := strings.CutPrefix(content, "!"); ok {
		front = strings.ReplaceAll(strings.ReplaceAll(front, ";", "\n"), ":", ": ")
		return []byte("---\n" + front + "\n---\n")
	}
	return []byte("---\nname: " + name + "\ndescription: Does " + content + ".\n---\n\nDo " + content + ".\n")
}

// receiptFor returns the receipt of what is in root/name now.
func receiptFor(t testing.TB, root, name string) Receipt {
	t.Helper()
	found, err := new(scanner).scanTree(filepath.Join(root, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Receipt{Name: name, Tree: found.tree(), Files: make(map[string]File)}
	for _, e := range found.entries {
		r.Files[e.Path] = File{e.Size, e.SHA256, e.Kind}
	}
	return r
}

func (w *world) mkdir(dir string) {
	w.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path string, data []byte) {
	w.t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) discover() Listing {
	w.t.Helper()
	l, err := Discover(context.Background(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// ack acknowledges CODE NAME WINNER LOSER by the digests of the last two.
func (w *world) ack(f []string) {
	winner, loser := w.discover().Lookup(f[2]), w.discover().Lookup(f[3])
	if len(winner) != 1 || len(loser) != 1 {
		w.t.Fatalf("ack %q names %d and %d copies", f, len(winner), len(loser))
	}
	w.cfg.Acks = append(w.cfg.Acks, Ack{f[0], f[1], bundle.Digest(winner[0].Digest), bundle.Digest(loser[0].Digest)})
}

// show writes the listing in the notation.
func (w *world) show() []string {
	l := w.discover()
	var lines []string
	for _, r := range l.Roots {
		if r.State != RootOK && r.State != RootMissing {
			lines = append(lines, "root "+r.ID+" "+r.State)
		}
	}
	for _, r := range l.Skills {
		words := []string{w.short(r.Qualified), r.State}
		for _, h := range r.Hosts {
			words = append(words, h.Host+":"+h.Use)
		}
		for _, warning := range r.Warnings {
			words = append(words, warning.Code)
		}
		if r.ShadowedBy != nil {
			words = append(words, "by", w.short(*r.ShadowedBy))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// short takes the temporary directory out of a qualified name.
func (w *world) short(q string) string {
	return strings.ReplaceAll(q, filepath.ToSlash(w.dir)+"/", "")
}
