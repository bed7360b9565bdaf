package roots

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCacheIsFreshUntilSomethingChanges(t *testing.T) {
	edits := []struct {
		name string
		edit func(w *world, root string)
	}{
		{"same size and time, other bytes", func(w *world, root string) {
			path := filepath.Join(root, "pdf", skillFile)
			info, _ := os.Stat(path)
			w.write(path, skillText("pdf", "b"))
			os.Chtimes(path, info.ModTime(), info.ModTime())
		}},
		{"a new file", func(w *world, root string) { w.write(filepath.Join(root, "pdf", "scripts", "x"), nil) }},
		{"a file less", func(w *world, root string) { os.Remove(filepath.Join(root, "pdf", "scripts", "dos.txt")) }},
		{"other mode", func(w *world, root string) { os.Chmod(filepath.Join(root, "pdf", "scripts", "run.sh"), 0o600) }},
		{"an edited receipt", func(w *world, root string) { w.write(ReceiptPath(root, "pdf"), []byte("{}")) }},
		{"no receipt", func(w *world, root string) { os.Remove(ReceiptPath(root, "pdf")) }},
		{"no skill", func(w *world, root string) { os.RemoveAll(filepath.Join(root, "pdf")) }},
	}
	for _, tt := range edits {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (tt.name == "other mode" || strings.HasPrefix(tt.name, "same size")) {
				t.Skip("Windows gives neither mode nor change time")
			}
			w, root, _ := installed(t)
			if LoadCache(root).Fresh(root, "pdf") {
				t.Fatal("fresh without a cache")
			}
			if err := WriteCache(root); err != nil {
				t.Fatal(err)
			}
			if !LoadCache(root).Fresh(root, "pdf") {
				t.Fatal("not fresh after WriteCache")
			}
			tt.edit(w, root)
			if LoadCache(root).Fresh(root, "pdf") {
				t.Error("still fresh")
			}
		})
	}
}

// With a cache the listing is the same, and the files are not read.
func TestListingFromTheCache(t *testing.T) {
	w, root, _ := installed(t)
	w.skill("P/.agents/skills", "loose", "b")
	w.skill("P/.agents/skills", "group/deep", "c")
	w.skill("P/.agents/skills", "broken", "!name:x")
	w.skill("P/.agents/.skl/skills/disabled", "off", "d")
	cold := w.discover()
	if err := WriteCache(root); err != nil {
		t.Fatal(err)
	}
	c := LoadCache(root)
	if got, want := len(c.skills), len(cold.Skills); got != want {
		t.Errorf("the cache knows %d skills, want %d", got, want)
	}
	for name, k := range c.skills {
		k.description = "from the cache"
		c.skills[name] = k
	}
	w.write(filepath.Join(root, stateDir, cacheFile), c.format())
	warm := w.discover()
	for i := range warm.Skills {
		if warm.Skills[i].Description != "from the cache" {
			t.Errorf("%s was read again", warm.Skills[i].Qualified)
		}
		warm.Skills[i].Description = cold.Skills[i].Description
	}
	a, _ := json.MarshalIndent(warm, "", " ")
	b, _ := json.MarshalIndent(cold, "", " ")
	if string(a) != string(b) {
		t.Errorf("from the cache\n%s\nwithout it\n%s", a, b)
	}
}

// A stamp as young as the cache may hide a change within one tick of the clock.
func TestCacheDistrustsYoungStamps(t *testing.T) {
	_, root, _ := installed(t)
	if err := WriteCache(root); err != nil {
		t.Fatal(err)
	}
	c := LoadCache(root)
	st, err := statPath(filepath.Join(root, "pdf", skillFile))
	if err != nil {
		t.Fatal(err)
	}
	c.written = st.ctime + int64(clockTick/2)
	if c.Fresh(root, "pdf") {
		t.Error("fresh, though the file is half a tick older than the cache")
	}
}

func TestWriteCacheKeepsWhatIsFresh(t *testing.T) {
	w, root, _ := installed(t)
	if err := WriteCache(root); err != nil {
		t.Fatal(err)
	}
	w.skill("P/.agents/skills", "new", "b")
	if err := WriteCache(root); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := WriteCache(root); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(LoadCache(root).skills)); !slices.Equal(names, []string{"new", "pdf"}) {
		t.Errorf("the cache knows %q", names)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("with nothing to read it took %v", took)
	}
}

func TestWriteCacheFollowsNoLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	w.mkdir(w.path("O"))
	if err := os.Symlink(w.path("O"), w.path("P/.agents/skills/.skl")); err != nil {
		t.Fatal(err)
	}
	if err := WriteCache(w.path("P/.agents/skills")); err == nil {
		t.Error("a .skl that links elsewhere was written to")
	}
	if exists(w.path("O/" + cacheFile)) {
		t.Error("the cache was written outside the root")
	}
}

// A damaged cache is no cache; an accepted one survives a rewrite.
func FuzzCache(f *testing.F) {
	c := Cache{written: 5, skills: map[string]cached{"pdf": {
		finding: finding{name: "pdf", tree: tree0, nested: []string{"x"}, notes: []Warning{{"E_EOL", "m"}}, generatedFrom: map[string]string{"a": "b"}},
		stamps:  []stamped{{"", stamp{0, 1, 2, 3}}, {"SKILL.md", stamp{10, -1, 2, 3}}},
	}}}
	f.Add(c.format())
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := parseCache(data)
		if again := parseCache(c.format()); !reflect.DeepEqual(again.skills, c.skills) && len(c.skills) > 0 || again.written != c.written {
			t.Fatalf("%+v is written and read as %+v", c, again)
		}
	})
}

func TestParseCacheRefusesDamage(t *testing.T) {
	good := Cache{written: 5, skills: map[string]cached{"pdf": {finding: finding{name: "pdf"}}}}.format()
	if len(parseCache(good).skills) != 1 {
		t.Fatal("a good cache is not read")
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		if c := parseCache(bad); c.skills != nil {
			t.Errorf("byte %d changed, and the cache is read", i)
		}
		if c := parseCache(good[:i]); c.skills != nil {
			t.Errorf("cut at %d, and the cache is read", i)
		}
	}
}
