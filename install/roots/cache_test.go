package roots

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
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
			if w.caches().Load(root).Fresh(root, "pdf") {
				t.Fatal("fresh without a cache")
			}
			if err := w.update(root); err != nil {
				t.Fatal(err)
			}
			if !w.caches().Load(root).Fresh(root, "pdf") {
				t.Fatal("not fresh after WriteCache")
			}
			tt.edit(w, root)
			if w.caches().Load(root).Fresh(root, "pdf") {
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
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	c := w.caches().Load(root)
	if got, want := len(c.skills), len(cold.Skills); got != want {
		t.Errorf("the cache knows %d skills, want %d", got, want)
	}
	for name, k := range c.skills {
		k.description = "from the cache"
		c.skills[name] = k
	}
	w.write(w.caches().file(root), c.format())
	w.cfg.Caches = w.caches()
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

// The contents of a root are kept in a cache, and read again when they change. Nothing is written to any root.
func TestRootIsCached(t *testing.T) {
	w := newWorld(t)
	w.cfg.ProjectTrusted = false // what it holds is cached all the same
	w.fill("H/.claude/skills", "pdf=a csv=b")
	w.fill("P/.agents/skills", "other=c")
	before := w.files()
	cold := w.discover()
	if got := w.files(); !slices.Equal(got, before) {
		t.Errorf("without caches it left %q, was %q", got, before)
	}
	w.cfg.Caches = w.caches()
	root := w.path("H/.claude/skills")
	file := w.caches().file(root)
	time.Sleep(clockTick + time.Millisecond)
	if got := w.discover(); !reflect.DeepEqual(describe(got), describe(cold)) {
		t.Errorf("with caches found %q, want %q", describe(got), describe(cold))
	}
	after := slices.DeleteFunc(w.files(), func(p string) bool { return strings.HasPrefix(p, "cache") })
	if !slices.Equal(after, before) {
		t.Errorf("with caches the roots hold %q, was %q", after, before)
	}
	if files, _ := os.ReadDir(w.path("cache/stat")); len(files) != 2 {
		t.Errorf("%d caches, want one for each root with skills", len(files))
	}

	c := w.caches().load(root)
	for name, k := range c.skills {
		k.description = "from the cache"
		c.skills[name] = k
	}
	w.write(file, c.format())
	if got, want := describe(w.discover()), []string{"csv from the cache", "pdf from the cache"}; !slices.Equal(got[:1], want[:1]) || !slices.Contains(got, want[1]) {
		t.Errorf("found %q, want %q in it", got, want)
	}
	if got := w.caches().load(root); !reflect.DeepEqual(got, c) {
		t.Error("a cache was written though nothing changed")
	}

	path := filepath.Join(root, "pdf", skillFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	at := info.ModTime()
	if runtime.GOOS == "windows" {
		at = at.Add(-time.Hour) // there is no change time
	}
	w.write(path, []byte(strings.Replace(string(skillText("pdf", "a")), "description: ", "description: n", 1)))
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if got := describe(w.discover()); slices.Contains(got, "pdf from the cache") || !slices.Contains(got, "csv from the cache") {
		t.Errorf("after an edit of pdf found %q", got)
	}
	time.Sleep(clockTick + time.Millisecond)
	w.discover()
	if c := w.caches().load(root); len(c.skills) != 2 || !c.Fresh(root, "pdf") {
		t.Errorf("after a tick the cache knows %q", slices.Sorted(maps.Keys(c.skills)))
	}

	if err := os.RemoveAll(filepath.Join(root, "pdf")); err != nil {
		t.Fatal(err)
	}
	w.discover()
	if names := slices.Sorted(maps.Keys(w.caches().load(root).skills)); !slices.Equal(names, []string{"csv"}) {
		t.Errorf("after pdf was removed the cache knows %q", names)
	}
	w.write(file, []byte("damaged"))
	if got := describe(w.discover()); !slices.Equal(got, describe(w.discover())) || slices.Contains(got, "csv from the cache") {
		t.Errorf("with a damaged cache found %q", got)
	}
	if c := w.caches().load(root); len(c.skills) != 1 {
		t.Error("a damaged cache was not replaced")
	}
}

// Files too young to trust are not kept, and a cache that cannot be written is not an error.
func TestCacheOfYoungFiles(t *testing.T) {
	w := newWorld(t)
	w.fill("X", "pdf=a")
	w.cfg.Caches = w.caches()
	future := time.Now().Add(time.Hour)
	d := &discovery{cfg: w.cfg}
	p := &place{real: w.path("X"), Root: Root{Path: w.path("X")}}
	k := inspect(new(scanner), p.Path, "pdf", w.path("X/pdf"), nil)
	d.records = []*Record{{place: p, spots: []spot{{p, "pdf"}}}}
	d.caches, d.found = map[*place]Cache{p: {}}, map[*place][]candidate{p: {{rel: "pdf"}}}
	d.keep(p, k.youngest()+int64(clockTick), []*cached{&k})
	if exists(w.path("cache")) {
		t.Error("a young skill was kept")
	}
	d.keep(p, future.UnixNano(), []*cached{&k})
	if !exists(w.caches().file(p.real)) {
		t.Error("an old skill was not kept")
	}
	w.cfg.Caches = CachesIn(w.path("file"))
	w.write(w.path("file"), nil)
	time.Sleep(clockTick + time.Millisecond)
	if l := w.discover(); len(l.Skills) != 1 || len(l.Warnings) > 0 {
		t.Errorf("with a cache directory that is a file found %+v", l)
	}
}

func describe(l Listing) []string {
	var all []string
	for _, r := range l.Skills {
		all = append(all, r.Name+" "+r.Description)
	}
	return all
}

// files lists everything in the world with its time.
func (w *world) files() []string {
	var all []string
	err := filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == w.dir {
			return err
		}
		info, err := e.Info()
		if err == nil {
			rel, _ := filepath.Rel(w.dir, path)
			all = append(all, rel+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A stamp as young as the cache may hide a change within one tick of the clock.
func TestCacheDistrustsYoungStamps(t *testing.T) {
	w, root, _ := installed(t)
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	c := w.caches().Load(root)
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
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	w.skill("P/.agents/skills", "new", "b")
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(w.caches().Load(root).skills)); !slices.Equal(names, []string{"new", "pdf"}) {
		t.Errorf("the cache knows %q", names)
	}
	if took := time.Since(start); took > long.Within(5*time.Second) {
		t.Errorf("with nothing to read it took %v", took)
	}
}

func (w *world) caches() Caches { return CachesIn(w.path("cache")) }

// update brings the cache of root up to date once everything that was just written is older than a tick.
func (w *world) update(root string) error {
	time.Sleep(2 * clockTick)
	return w.caches().Update(root)
}

// Files written within the last tick are not remembered: they could change again without a trace.
func TestWriteCacheLeavesOutYoungStamps(t *testing.T) {
	_, root, _ := installed(t)
	c := Cache{skills: map[string]cached{}}
	list := []candidate{{rel: "pdf", real: filepath.Join(root, "pdf")}}
	time.Sleep(2 * clockTick)
	if c.read(root, list); !c.Fresh(root, "pdf") {
		t.Error("what is older than two ticks is not remembered")
	}
	if err := os.Chmod(filepath.Join(root, "pdf", skillFile), 0o600); err != nil || runtime.GOOS == "windows" {
		t.Skip("no change time: ", err)
	}
	c = Cache{skills: map[string]cached{}}
	if c.read(root, list); len(c.skills) != 0 {
		t.Error("what has just changed is remembered")
	}
}

// A file in a root or a project is never taken for a cache, nor is one that another user, or a link, put in its place.
func TestForeignCache(t *testing.T) {
	w, root, r := installed(t)
	w.cfg.Caches = w.caches()
	edited := skillText("pdf", "edited")
	w.write(filepath.Join(root, "pdf", skillFile), edited)
	if err := w.update(root); err != nil {
		t.Fatal(err)
	}
	forged := w.caches().Load(root)
	k := forged.skills["pdf"]
	k.finding = finding{name: "pdf", tree: string(r.Tree), receiptTree: string(r.Tree), description: "forged", source: "acme/pdf"}
	shows := func(c Cache) bool {
		t.Helper()
		d, err := Look{Known: c}.Check(root, "pdf", r)
		if err != nil {
			t.Fatal(err)
		}
		return !d.Any()
	}
	k.stamps = nil
	bare := Cache{written: time.Now().Add(time.Hour).UnixNano(), skills: map[string]cached{"pdf": k}}
	if shows(bare) {
		t.Error("an entry without stamps is believed")
	}
	if got := parseCache(bare.format()); got.Fresh(root, "pdf") {
		t.Error("an entry without stamps is fresh")
	}
	k.stamps = forged.skills["pdf"].stamps
	k.receiptAt = forged.skills["pdf"].receiptAt
	whole := Cache{written: forged.written, skills: map[string]cached{"pdf": k}}
	if !shows(whole) {
		t.Fatal("the entry with stamps would not be believed from our own cache")
	}
	file := w.caches().file(root)
	if err := os.RemoveAll(w.path("cache")); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{
		filepath.Join(root, stateDir, "stat.cache"), filepath.Join(root, stateDir, filepath.Base(file)), filepath.Join(root, "stat", filepath.Base(file)),
		w.path("P/.skl/stat.cache"), w.path("P/stat/" + filepath.Base(file)), w.path("P/.cache/skl/stat/" + filepath.Base(file)),
	} {
		w.mkdir(filepath.Dir(place))
		w.write(place, whole.format())
	}
	for _, l := range []Listing{w.discover(), w.discover()} {
		if got := describe(l); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "forged") }) {
			t.Errorf("a cache below the project is believed: %q", got)
		}
	}
	if shows(w.caches().Load(root)) {
		t.Error("a cache below the project hides an edit")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.RemoveAll(w.path("cache")); err != nil {
		t.Fatal(err)
	}
	w.write(w.path("elsewhere"), whole.format())
	w.mkdir(filepath.Dir(file))
	if err := os.Symlink(w.path("elsewhere"), file); err != nil {
		t.Fatal(err)
	}
	if shows(w.caches().Load(root)) {
		t.Error("a link in the place of the cache is followed")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.write(file, whole.format())
	if !shows(w.caches().Load(root)) {
		t.Fatal("our own cache is not read")
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(file, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if shows(w.caches().Load(root)) {
		t.Error("a cache of another user is believed")
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
