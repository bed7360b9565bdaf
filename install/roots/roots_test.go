package roots

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The JSON of a listing is a contract: names and order of fields, and which are
// null or empty lists.
func TestListingJSON(t *testing.T) {
	w, _, _ := installed(t)
	w.cfg.Hosts = []string{"codex"}
	w.skill("H/.agents/skills", "pdf", "b")
	l := w.discover()
	var got strings.Builder
	enc := json.NewEncoder(&got)
	enc.SetIndent("", " ")
	for _, v := range []any{l.Roots[2], l.Skills[0], l.Skills[1]} {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/listing.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(got.String(), w.dir, "DIR")
	for i, r := range l.Skills {
		text = strings.ReplaceAll(text, r.Digest, fmt.Sprint("DIGEST", i))
	}
	if text != string(want) {
		t.Errorf("listing is\n%s\nwant\n%s", text, want)
	}
	whole, err := json.Marshal(Listing{Roots: []Root{}, Skills: []Record{}, Budgets: []HostBudget{}})
	if err != nil || string(whole) != `{"roots":[],"skills":[],"budgets":[]}` {
		t.Errorf("an empty listing is %s, %v", whole, err)
	}
}

func TestListingOfNothing(t *testing.T) {
	l, err := Discover(context.Background(), Config{})
	if err != nil || l.Roots == nil || l.Skills == nil || len(l.Roots)+len(l.Skills)+len(l.Warnings) > 0 {
		t.Errorf("Discover without roots: %+v, %v", l, err)
	}
}

func TestRootsInOrder(t *testing.T) {
	w := newWorld(t)
	w.cfg.Hosts = []string{"windsurf", "cursor"}
	w.cfg.ExtraRoots = []string{"more"}
	w.cfg.Cwd = w.path("P")
	w.cfg.UserSearch = Search{Before: []string{w.path("H/first")}, Own: []string{w.path("H/data"), w.path("H/.claude/skills")}, After: []string{w.path("srv")}}
	w.cfg.ProjectSearch = Search{Before: []string{w.path("P/first")}, Own: []string{w.path("P/vendor"), w.path("P/.claude/skills")}, After: []string{w.path("P/last"), w.path("P/first")}}
	w.cfg.System = fstest.MapFS{}
	var got []string
	for _, r := range w.discover().Roots {
		got = append(got, fmt.Sprintf("%d %s %s %s", r.Priority, w.short(r.ID), r.TrustCeiling, r.Host))
	}
	want := []string{
		"0 managed:E managed ", "100 session:P/more local ",
		"200 project:first project ", "201 project project ", "202 project:vendor project ", "203 project:.corteza/skills project ",
		"204 project:.claude/skills project claude-code",
		"205 project:.github/skills project github-copilot", "206 project:.cursor/skills project cursor", "207 project:.codex/skills project cursor",
		"208 project:.windsurf/skills project windsurf", "209 project:last project ",
		"300 user:~/first user ", "301 user user ", "302 user:~/data user ", "303 user:~/.local/share/R/corteza/skills user corteza",
		"304 user:~/.claude/skills user claude-code", "305 user:~/.cursor/skills user cursor",
		"306 user:~/.codex/skills user cursor", "307 user:~/.codeium/windsurf/skills user windsurf", "308 user:srv user ",
		"500 managed managed ", "600 system managed ",
	}
	for i, r := range got {
		got[i] = strings.Replace(r, "session:"+filepath.ToSlash(w.dir)+"/", "session:", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("roots\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestRootStates(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	w.mkdir(w.path("P/.claude"))
	w.write(w.path("P/.claude/skills"), []byte("a file"))
	states := make(map[string]string)
	for _, r := range w.discover().Roots {
		states[r.ID] = r.State
	}
	for id, want := range map[string]string{"project": RootOK, "project:.claude/skills": RootUnreadable, "project:.github/skills": RootMissing, "user": RootMissing} {
		if states[id] != want {
			t.Errorf("root %s is %q, want %q", id, states[id], want)
		}
	}
}

func TestRootWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions hold neither for root nor on Windows")
	}
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	if err := os.Chmod(w.path("P/.agents/skills"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.path("P/.agents/skills"), 0o755)
	l := w.discover()
	i := slices.IndexFunc(l.Roots, func(r Root) bool { return r.ID == "project" })
	if l.Roots[i].State != RootUnreadable || len(l.Skills) != 0 {
		t.Errorf("root is %s with %d skills", l.Roots[i].State, len(l.Skills))
	}
}

// Remarks about roots are not in the JSON.
func TestWarningsAboutRoots(t *testing.T) {
	w := newWorld(t)
	root := "P/.agents/skills"
	w.skill(root, "pdf", "a")
	w.write(w.path(root+"/SKILL.md"), skillText("skills", "a"))
	for i := range maxDirs + 1 {
		w.mkdir(w.path(fmt.Sprintf("%s/empty/%d", root, i)))
	}
	l := w.discover()
	var got []string
	for _, warning := range l.Warnings {
		got = append(got, warning.Code)
		if !strings.Contains(warning.Message, w.path(root)) {
			t.Errorf("%q does not name the root", warning.Message)
		}
	}
	if !slices.Equal(got, []string{"W_ROOT_SKILL", "W_TRUNCATED"}) || len(l.Skills) != 1 {
		t.Errorf("warnings %q and %d skills", got, len(l.Skills))
	}
}

// A checkout without links turns a linked skill into a small file.
func TestLinkThatBecameAFile(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	w.mkdir(w.path("P/.claude/skills"))
	w.write(w.path("P/.claude/skills/pdf"), []byte("../../.agents/skills/pdf"))
	r := w.discover().Skills[0]
	if codes(r) != "E_LINK" || !strings.Contains(r.Warnings[0].Message, ".claude/skills/pdf") {
		t.Errorf("listed with %v", r.Warnings)
	}
}

func TestTooLargeToCompare(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	f, err := os.Create(w.path("P/.agents/skills/pdf/model.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(maxTreeBytes + 1); err != nil {
		t.Fatal(err)
	}
	if r := w.discover().Skills[0]; codes(r) != "W_TRUNCATED" || r.Digest != "" || r.Description != "Does a." {
		t.Errorf("listed as %+v", r)
	}
}

func TestTrustIsCapped(t *testing.T) {
	w := newWorld(t)
	front := "!name:x;description:x;skill_format:corteza.skill/v1"
	w.skill("H/.agents/skills", "a", front)
	w.skill("H/.agents/skills", "b", front+";trust:project")
	w.skill("H/.agents/skills", "c", front+";trust:managed")
	var got []string
	for _, r := range w.discover().Skills {
		got = append(got, r.Trust)
	}
	if !slices.Equal(got, []string{"user", "project", "user"}) {
		t.Errorf("trust is %q; what is declared lowers the root's ceiling, never raises it", got)
	}
}

func TestSigned(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a+acme+kim")
	w.skill("P/.agents/skills", "tdd", "b+acme")
	w.skill("P/.agents/skills", "own", "c")
	show := func() string {
		var out []string
		for _, r := range w.discover().Skills {
			if r.Signature == nil {
				out = append(out, r.Name+" null")
			} else {
				out = append(out, r.Name+" "+r.Signature.State+" "+r.Signature.Signer)
			}
		}
		return strings.Join(out, ", ")
	}
	if got := show(); got != "own null, pdf skipped kim, tdd unsigned " {
		t.Errorf("without a verdict: %s", got)
	}
	w.cfg.Signed = func(name string, r Receipt) Signature {
		if r.Name != name || r.URL != "https://git.example/acme.git" {
			t.Errorf("asked about %s with %+v", name, r)
		}
		return Signature{"failed", "kim", ""}
	}
	if got := show(); got != "own null, pdf failed kim, tdd failed kim" {
		t.Errorf("with a verdict: %s", got)
	}
}

func TestLookup(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	w.skill("P/.claude/skills", "pdf", "b")
	w.skill("P/.claude/skills", "tdd", "c")
	w.skill("H/.agents/skills", "pdf", "d")
	l := w.discover()
	for name, want := range map[string]string{
		"pdf":                            "pdf@project pdf@project:.claude/skills/pdf pdf@user",
		"PDF":                            "pdf@project pdf@project:.claude/skills/pdf pdf@user",
		"pdf@project":                    "pdf@project",
		"pdf@project:.claude/skills/pdf": "pdf@project:.claude/skills/pdf",
		"tdd@project":                    "tdd@project:.claude/skills/tdd",
		"tdd@user":                       "",
		"none":                           "",
	} {
		var got []string
		for _, r := range l.Lookup(name) {
			got = append(got, r.Qualified)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Lookup(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFindProject(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"H/.git", "H/work/repo/.git", "H/work/repo/a/b", "H/work/mono/.git", "H/work/mono/part/deep", "H/tree", "H/loose", "O/x"} {
		w.mkdir(w.path(dir))
	}
	w.write(w.path("H/work/mono/part/skl.toml"), nil)
	w.write(w.path("H/tree/.git"), []byte("gitdir: elsewhere\n"))
	w.mkdir(w.path("H/work/repo/a/skl.toml")) // a directory of that name is nothing
	w.write(w.path("H/skl.toml"), nil)
	for cwd, want := range map[string]string{
		"H/work/repo/a/b":       "H/work/repo .git",
		"H/work/repo":           "H/work/repo .git",
		"H/work/mono/part/deep": "H/work/mono/part skl.toml",
		"H/work/mono":           "H/work/mono .git",
		"H/tree":                "H/tree .git",
		"H/loose":               "", // the home directory is a repository, and user scope
		"H":                     "",
	} {
		dir, evidence := FindProject(w.path(cwd), w.path("H"))
		got := strings.TrimSpace(strings.TrimPrefix(filepath.ToSlash(dir), filepath.ToSlash(w.dir)+"/") + " " + evidence)
		if got != want {
			t.Errorf("FindProject(%s) = %q, want %q", cwd, got, want)
		}
	}
}

// A project above the home directory does not make the user's skills its own.
func TestProjectAboveHome(t *testing.T) {
	w := newWorld(t)
	w.skill("P/home/.agents/skills", "pdf", "a")
	w.cfg.Home, w.cfg.Cwd, w.cfg.ProjectTrusted = w.path("P/home"), w.path("P/home/work"), false
	w.mkdir(w.cfg.Cwd)
	if r := w.discover().Skills[0]; r.Qualified != "pdf@user" || r.State != Active {
		t.Errorf("%s is %s", r.Qualified, r.State)
	}
}

func TestDiscoverIsCancelled(t *testing.T) {
	w := newWorld(t)
	w.skill("P/.agents/skills", "pdf", "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := Discover(ctx, w.cfg); err == nil || l.Skills != nil {
		t.Errorf("after cancel: %+v, %v", l, err)
	}
}

func ExampleDiscover() {
	dir, _ := os.MkdirTemp("", "roots")
	defer os.RemoveAll(dir)
	for path, does := range map[string]string{"project/.agents/skills/pdf": "Fills forms.", "home/.claude/skills/pdf": "Fills PDF forms."} {
		skill := filepath.Join(dir, filepath.FromSlash(path))
		os.MkdirAll(skill, 0o755)
		os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: pdf\ndescription: "+does+"\n---\n"), 0o644)
	}
	l, err := Discover(context.Background(), Config{
		Project: filepath.Join(dir, "project"), ProjectTrusted: true, Home: filepath.Join(dir, "home"),
		Hosts: []string{"claude-code", "codex"},
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range l.Skills {
		fmt.Println(r.Qualified, r.State, r.Hosts[0].Use, r.Hosts[1].Use)
	}
	// Output:
	// pdf@project active unread loads
	// pdf@user:~/.claude/skills/pdf shadowed loads unread
}

// Every code in the sources is explained, and every explained one is used.
func TestCodes(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "codes.go" {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"([EW]_[A-Z_]+)"`).FindAllStringSubmatch(string(src), -1) {
			used[m[1]] = true
		}
	}
	delete(used, "E_TOO_LARGE") // an error of Check, not of a listing
	var known []string
	for _, c := range Codes() {
		known = append(known, c.Code)
	}
	if want := slices.Sorted(maps.Keys(used)); !slices.Equal(known, want) {
		t.Errorf("Codes has\n  %q\nthe sources use\n  %q", known, want)
	}
}
