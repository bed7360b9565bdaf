package install

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/spec/lock"
)

// A corpus is one repository of the shared data, served by a forge, and a place
// whose github: leads there.
type corpus struct {
	*harness.Place
	bare string
	name string // owner/repo
}

func newCorpus(t *testing.T, bundle, name string) *corpus {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: it takes seconds")
	}
	if harness.Shared() == "" {
		t.Skip("skipped: shared/data is not beside the repository")
	}
	forge, dir := harness.StartForge(t), t.TempDir()
	c := &corpus{harness.NewPlace(t), filepath.Join(dir, filepath.FromSlash(name)+".git"), name}
	if out, err := exec.Command("git", "clone", "-q", "--bare", filepath.Join(harness.Shared(), bundle), c.bare).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	config := fmt.Sprintf("[forge.github]\nurl = \"%s/%x\"\n", forge.URL, dir)
	path := filepath.Join(c.Home, ".config", "skl", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

// fresh makes the project one in which nothing was installed. The store stays.
func (c *corpus) fresh() {
	c.T.Helper()
	for _, name := range []string{".agents", "skl.toml", "skl.lock"} {
		if err := os.RemoveAll(filepath.Join(c.Project, name)); err != nil {
			c.T.Fatal(err)
		}
	}
}

func (c *corpus) git(args ...string) string {
	c.T.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = c.bare, harness.GitEnv(c.bare)
	out, err := cmd.Output()
	if err != nil {
		c.T.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// A blob is a file of a commit: its mode, and the id that git gives its bytes.
type blob struct{ mode, id string }

// commit is the files of a commit.
func (c *corpus) commit(rev string) map[string]blob {
	c.T.Helper()
	out := map[string]blob{}
	for line := range strings.SplitSeq(c.git("ls-tree", "-r", "-z", rev), "\x00") {
		if meta, path, ok := strings.Cut(line, "\t"); ok {
			f := strings.Fields(meta)
			out[path] = blob{f[0], f[2]}
		}
	}
	return out
}

// same compares an installed skill with the files of a commit below dir: names,
// bytes, executable bits and links.
func (c *corpus) same(files map[string]blob, dir, name string) {
	c.T.Helper()
	want, got := map[string]blob{}, map[string]blob{}
	for path, b := range files {
		if rel, ok := strings.CutPrefix(path, dir+"/"); ok || dir == "" {
			want[rel] = b
		}
	}
	root := filepath.Join(c.Project, ".agents", "skills", name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		got[filepath.ToSlash(rel)], err = onDisk(path)
		return err
	})
	if err != nil {
		c.T.Fatal(err)
	}
	for path, b := range want {
		if got[path] != b {
			c.T.Errorf("%s/%s: installed %v, committed %v", name, path, got[path], b)
		}
	}
	if len(got) != len(want) || len(want) == 0 {
		c.T.Errorf("%s: %d files installed, %d committed below %s", name, len(got), len(want), dir)
	}
}

// onDisk is the blob that git would make of a file.
func onDisk(path string) (blob, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return blob{}, err
	}
	var data []byte
	b := blob{mode: "100644"}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		text, err := os.Readlink(path)
		if err != nil {
			return blob{}, err
		}
		b.mode, data = "120000", []byte(text)
	default:
		if data, err = os.ReadFile(path); err != nil {
			return blob{}, err
		}
		if info.Mode()&0o111 != 0 {
			b.mode = "100755"
		}
	}
	b.id = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
	return b, nil
}

// paths is the directories of the skills that references hold, in their order.
func (c *corpus) paths(refs []string) (dirs []string) {
	c.T.Helper()
	args := slices.Concat([]string{"install", "--list", "--json"}, refs)
	out, err := c.Command(args...).Output()
	if err != nil {
		c.T.Fatalf("skl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var listed struct{ Skills []struct{ Path string } }
	if err := json.Unmarshal(out, &listed); err != nil {
		c.T.Fatalf("skl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, s := range listed.Skills {
		dirs = append(dirs, s.Path)
	}
	return dirs
}

// all installs every skill of a ref and compares each with its commit.
func (c *corpus) all(ref, rev, accept string) (n int) {
	c.T.Helper()
	files := c.commit(rev)
	id := strings.TrimSpace(c.git("rev-parse", rev+"^{commit}"))
	c.Must("install", ref, "--all", "--accept", accept)
	for _, s := range c.locked() {
		if string(s.Commit) != id {
			c.T.Errorf("%s is of commit %q, want %s", s.Name, s.Commit, id)
		}
		c.same(files, s.Path, s.Name)
		n++
	}
	return n
}

// locked is the skills of the project's lock.
func (c *corpus) locked() []lock.Skill {
	c.T.Helper()
	src, err := os.ReadFile(filepath.Join(c.Project, "skl.lock"))
	if err != nil {
		c.T.Fatal(err)
	}
	l, err := lock.Parse(src, "skl.lock")
	if err != nil {
		c.T.Fatal(err)
	}
	return l.Skills
}

// Every skill of a repository of 400 is its commit's blobs, and a second machine with the
// same lock gets the same.
func TestCorpusAll(t *testing.T) {
	t.Parallel()
	c := newCorpus(t, "awesome-copilot.bundle", "github/awesome-copilot")
	// One skill writes instructions for later sessions, and says so.
	if n := c.all(c.name, "main", "load-command,AUD-AGENT-CONFIG"); n < 400 {
		t.Errorf("%d skills, want 400 or more", n)
	}
	before, err := os.ReadFile(filepath.Join(c.Project, "skl.lock"))
	if err != nil {
		t.Fatal(err)
	}
	other := harness.NewPlace(t)
	config := filepath.Join(".config", "skl", "config.toml") // what github: means here is the machine's to say, not the lock's
	text, err := os.ReadFile(filepath.Join(c.Home, config))
	if err == nil {
		err = os.MkdirAll(filepath.Join(other.Home, filepath.Dir(config)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(other.Home, config), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"skl.toml", "skl.lock"} {
		data, err := os.ReadFile(filepath.Join(c.Project, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(other.Project, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	other.Must("ci")
	if again, err := os.ReadFile(filepath.Join(other.Project, "skl.lock")); err != nil || string(again) != string(before) {
		t.Errorf("ci changed the lock, %v", err)
	}
	other.Must("verify")
}

// Every skill of every tagged version of a repository is its commit's blobs.
func TestCorpusVersions(t *testing.T) {
	t.Parallel()
	c := newCorpus(t, "superpowers.bundle", "obra/superpowers")
	tags := strings.Fields(c.git("tag"))
	if len(tags) != 33 {
		t.Fatalf("%d tags, want 33", len(tags))
	}
	for _, tag := range tags {
		c.fresh()
		if n := c.all(c.name+"@"+tag, tag, "load-command"); n == 0 {
			t.Errorf("%s has no skills", tag)
		}
	}
}

// Of the 92 plugins beside a real marketplace 64 name skills, which resolve to exactly those
// of its repository; of the others skl says that they have none, and writes nothing.
func TestCorpusPlugins(t *testing.T) {
	t.Parallel()
	c := newCorpus(t, "awesome-copilot.bundle", "github/awesome-copilot")
	var market struct {
		Plugins []struct {
			Name   string
			Source any
		}
	}
	if err := json.Unmarshal([]byte(c.git("cat-file", "blob", "main:.github/plugin/marketplace.json")), &market); err != nil {
		t.Fatal(err)
	}
	c.Must("source", "add", "market", c.name)
	files := c.commit("main")
	var refs []string
	var named [][]string
	without := 0
	for _, p := range market.Plugins {
		dir, ok := p.Source.(string)
		if !ok {
			continue // in another repository
		}
		ref := "market:awesome-copilot/" + p.Name
		if skills := c.named(files, dir); len(skills) > 0 {
			refs, named = append(refs, ref), append(named, skills)
			continue
		}
		without++
		if status, out := c.Skl("install", ref); status != 2 || !strings.Contains(out, "plugin "+p.Name+" has no skills") {
			t.Errorf("%s: exit %d\n%s", p.Name, status, out)
		}
	}
	if len(refs) != 64 || without != 28 {
		t.Errorf("%d plugins with skills and %d without, want 64 and 28", len(refs), without)
	}
	found := c.paths(refs)
	for i, want := range named {
		n := min(len(want), len(found))
		if got := slices.Sorted(slices.Values(found[:n])); !slices.Equal(got, want) {
			t.Fatalf("%s: found %q, its manifest names %q", refs[i], got, want)
		}
		found = found[n:]
	}
	if len(found) > 0 {
		t.Errorf("skills that no manifest names: %q", found)
	}
	if _, err := os.Lstat(filepath.Join(c.Project, "skl.toml")); err == nil {
		t.Error("a refusal or a listing wrote skl.toml")
	}
	c.Must(slices.Concat([]string{"install", "--accept", "load-command"}, refs)...)
	for _, s := range c.locked() {
		c.same(files, s.Path, s.Name)
	}
	if n := len(c.locked()); n != len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(named...))))) {
		t.Errorf("%d skills are locked", n)
	}
	c.Must("ci")
}

// named is the directories that a plugin's manifest names, sorted.
func (c *corpus) named(files map[string]blob, dir string) []string {
	c.T.Helper()
	path := dir + "/.github/plugin/plugin.json"
	for _, other := range []string{dir + "/plugin.json", dir + "/.claude-plugin/plugin.json"} {
		if _, ok := files[other]; ok {
			path = other
		}
	}
	var manifest struct {
		Extensions map[string]struct{ Skills []string }
	}
	if err := json.Unmarshal([]byte(c.git("cat-file", "blob", "main:"+path)), &manifest); err != nil {
		c.T.Fatalf("%s: %v", path, err)
	}
	var out []string
	for _, dir := range manifest.Extensions["com.github.awesome-copilot"].Skills {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(dir, "./"), "/"))
	}
	slices.Sort(out)
	return out
}
