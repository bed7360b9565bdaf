package lock

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// full is a lock with every field, and with fields that this version does not know.
const full = `version = 1
future = { since = 2027-01-01, list = [{ a = 1.50 }] }

[[skill]]
name = "notes"
ref = "./skills/notes"
source = "local"
url = "./skills/notes"
tree = "tree-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

[[skill]]
name = "pdf"
ref = "acme/pdf@^1.4"
source = "git"
url = "https://git.example/acme/skills.git"
path = "skills/pdf"
ref_kind = "range"
version = "1.4.2"
commit = "0123456789abcdef0123456789abcdef01234567"
manifest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
artifact = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
tree = "tree-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
files = 12
bytes = 59000
requires = ["notes", "ocr"]
required_by = ["report"]
permissions = ["exec:python3"]
generated_from = { package = "acmepdf", version = "2.0" }
unsigned = true
mirror = "https://mirror.example"

[skill.signer]
issuer = "https://issuer.example"
identity = "release@acme.example"
repository = "acme/skills"
ref = "refs/tags/v1.4.2"
runner = "hosted"
key = "ed25519:abc"
not_after = "2030"

[skill.log]
origin = "registry.example"
index = 7
entry = "{\"v\":1,\"name\":\"acme/pdf\"}"
checkpoint = "registry.example\n8\nAAAA\n\n— registry.example BBBB\n"
proof = ["aa", "bb"]
witness = ["w1"]
`

func parse(t *testing.T, src string) *Lock {
	t.Helper()
	l, err := Parse([]byte(src), "skl.lock")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryFieldSurvives(t *testing.T) {
	if got := string(parse(t, full).Format()); got != full {
		t.Errorf("Format(Parse(x)) is\n%s\nwant\n%s", got, full)
	}
}

// Whatever the order and spelling of a file, its canonical form is the same.
func TestFormatIsCanonical(t *testing.T) {
	const messy = `# written by hand
version=1
[[skill]]
commit = '0123456789abcdef0123456789abcdef01234567'
name = 'b'
requires = ['z', 'a', 'z']
signer = { key = 'k' }
[[skill]]
  name = "a"
  files = 1_000
  version = ""
`
	const want = `version = 1

[[skill]]
name = "a"
files = 1000

[[skill]]
name = "b"
commit = "0123456789abcdef0123456789abcdef01234567"
requires = ["a", "z"]

[skill.signer]
key = "k"
`
	if got := string(parse(t, messy).Format()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	const v = "version = 1\n[[skill]]\nname = \"a\"\n"
	tests := []struct{ name, src, code, where string }{
		{"empty file", "", "lock_corrupt", "skl.lock:1:1"},
		{"not TOML", "version = 1\n{", "lock_corrupt", "skl.lock:2:1"},
		{"merge conflict", "version = 1\n<<<<<<< ours\n", "lock_conflict", "skl.lock:2"},
		{"later version, whatever it holds", "version = 2\nskill = 7\n", "lock_version", "skl.lock:1:11"},
		{"no name", "version = 1\n[[skill]]\nref = \"x\"\n", "lock_corrupt", "skl.lock:2:3"},
		{"two of a name", v + "[[skill]]\nname = \"a\"\n", "lock_corrupt", "skl.lock:4:3"},
		{"name with a slash", "version = 1\n[[skill]]\nname = \"a/b\"\n", "lock_corrupt", "skl.lock:3:8"},
		{"name of the roots' own directory", "version = 1\n[[skill]]\nname = \".skl\"\n", "lock_corrupt", "skl.lock:3:8"},
		{"name with an escape sequence", "version = 1\n[[skill]]\nname = \"a\\u001b[2J\"\n", "lock_corrupt", "skl.lock:3:8"},
		{"name like an option", "version = 1\n[[skill]]\nname = \"-a\"\n", "lock_corrupt", "skl.lock:3:8"},
		{"path outside", v + "path = \"a/../../b\"\n", "lock_corrupt", "skl.lock:4:8"},
		{"absolute path", v + "path = \"/etc\"\n", "lock_corrupt", "skl.lock:4:8"},
		{"drive", v + "path = \"C:/x\"\n", "lock_corrupt", "skl.lock:4:8"},
		{"short commit", v + "commit = \"abc\"\n", "lock_corrupt", "skl.lock:4:10"},
		{"upper-case commit", v + "commit = \"" + strings.Repeat("A", 40) + "\"\n", "lock_corrupt", "skl.lock:4:10"},
		{"checkpoint with an escape sequence", v + "log = { checkpoint = \"a\\u001b[2J\\nb\" }\n", "lock_corrupt", "skl.lock:4:22"},
		{"tree of another kind", v + "tree = \"sha256:" + strings.Repeat("a", 64) + "\"\n", "lock_corrupt", "skl.lock:4:8"},
		{"short artifact", v + "artifact = \"sha256:aa\"\n", "lock_corrupt", "skl.lock:4:12"},
		{"url like an option", v + "url = \"--upload-pack=x\"\n", "lock_corrupt", "skl.lock:4:7"},
		{"negative size", v + "bytes = -1\n", "lock_corrupt", "skl.lock:4:9"},
		{"size that is not a number", v + "bytes = \"1\"\n", "lock_corrupt", "skl.lock:4:9"},
		{"signer that is no table", v + "signer = 1\n", "lock_corrupt", "skl.lock:4:10"},
		{"requires that is not a list", v + "requires = \"a\"\n", "lock_corrupt", "skl.lock:4:12"},
		{"skill that is a list of numbers", "version = 1\nskill = [1]\n", "lock_corrupt", "skl.lock:2:10"},
	}
	for _, tt := range tests {
		l, err := Parse([]byte(tt.src), "skl.lock")
		e, ok := err.(*diag.Error)
		if !ok || l != nil || e.Class != diag.Failed || e.Code != tt.code || e.Where.String() != tt.where || len(e.Hints) == 0 {
			t.Errorf("%s: %v (%+v), want %s at %s", tt.name, err, e, tt.code, tt.where)
		}
	}
}

// An entry that lacks what every entry of its source has is named with its place, and with nobody to blame.
func TestWhole(t *testing.T) {
	l := parse(t, full)
	whole, _ := l.Skill("pdf")
	whole.Source, whole.Signer = "registry", nil
	for _, test := range []struct {
		lacks  string
		change func(*Skill)
	}{
		{"", func(*Skill) {}},
		{"source", func(s *Skill) { s.Source = "" }},
		{"tree", func(s *Skill) { s.Tree = "" }},
		{"files", func(s *Skill) { s.Files = 0 }},
		{"bytes", func(s *Skill) { s.Bytes = 0 }},
		{"manifest", func(s *Skill) { s.Manifest = "" }},
		{"manifest", func(s *Skill) { s.Source, s.Manifest = "oci", "" }},
		{"artifact", func(s *Skill) { s.Artifact = "" }},
		{"commit", func(s *Skill) { s.Source, s.Commit = "git", "" }},
		{"", func(s *Skill) { s.Commit = "" }},
		{"", func(s *Skill) { s.Source, s.Artifact = "oci", "" }},
	} {
		s := whole
		test.change(&s)
		err := s.Whole()
		if test.lacks == "" {
			if err != nil {
				t.Errorf("a whole entry of %s: %v", s.Source, err)
			}
			continue
		}
		e, ok := diag.Own(err)
		if !ok || e.Code != CodeDamaged || e.Class != diag.Refused || e.Where.String() != "skl.lock:11" || e.Message != "the entry of pdf is damaged: it has no "+test.lacks {
			t.Errorf("without %s: %v (%+v)", test.lacks, err, e)
		}
	}
}

func TestSetKeepsUnknownFields(t *testing.T) {
	l := parse(t, full)
	old, _ := l.Skill("pdf")
	l.Set(Skill{Name: "pdf", Version: "1.5.0", Signer: old.Signer, Log: &Log{Origin: "registry.example", Index: 8}})
	got := string(l.Format())
	for text, want := range map[string]bool{
		"future = ": true, "mirror = ": true,
		"not_after = ": true,  // the signer is the same
		"witness = ":   false, // it was about another log entry
	} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q in the lock is %v, want %v:\n%s", text, !want, want, got)
		}
	}
}

func TestSetAndRemove(t *testing.T) {
	l := &Lock{}
	for _, name := range []string{"c", "a", "b", "a"} {
		l.Set(Skill{Name: name, Requires: []string{"y", "x", "y"}})
	}
	if !l.Remove("b") || l.Remove("b") {
		t.Error("b is not removed exactly once")
	}
	const want = "version = 1\n\n[[skill]]\nname = \"a\"\nrequires = [\"x\", \"y\"]\n\n[[skill]]\nname = \"c\"\nrequires = [\"x\", \"y\"]\n"
	if got := string(l.Format()); got != want {
		t.Errorf("got %q", got)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	l := parse(t, full)
	c := l.Clone()
	s := &c.Skills[1]
	s.Signer.Key, s.Log.Proof[0], s.Requires[0], s.GeneratedFrom["package"] = "x", "x", "x", "x"
	c.Remove("notes")
	if got := string(l.Format()); got != full {
		t.Errorf("changing a clone changes the original:\n%s", got)
	}
}

func TestEqual(t *testing.T) {
	base := Skill{Name: "a", Requires: []string{"x", "y"}, Signer: &Signer{Key: "k"}}
	same := Skill{Name: "a", Requires: []string{"y", "x"}, Signer: &Signer{Key: "k"}, RequiredBy: []string{}, unknown: "z = 1\n"}
	if !Equal(base, same) {
		t.Error("order, empty lists and unknown fields make a difference")
	}
	for _, other := range []Skill{{Name: "b"}, {Name: "a", Requires: []string{"x"}, Signer: base.Signer}, {Name: "a", Requires: base.Requires}} {
		if Equal(base, other) {
			t.Errorf("%+v equals %+v", base, other)
		}
	}
}

// For every file that is accepted, the canonical form parses to itself, and no entry names a path outside: of the
// root by its name, of its source by its path.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("version = 1\n[[skill]]\nname = \"../a\"\n"))
	f.Add([]byte("version = 1\n[[skill]]\nname = \"a\"\npath = \"../../x\"\n"))
	f.Add([]byte("version = 1\n[x.y]\nz.w = [[1]]\n[[skill]]\nname = \"a\"\nlog.index = 1\nlog.q.r = 'x'\n[[skill.new]]\na = 1\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		l, err := Parse(src, "skl.lock")
		if err != nil {
			if l != nil {
				t.Fatal("an error and a lock")
			}
			return
		}
		for _, s := range l.Skills {
			if !filepath.IsLocal(s.Name) || filepath.Base(s.Name) != s.Name || s.Path != "" && !filepath.IsLocal(filepath.FromSlash(s.Path)) {
				t.Fatalf("%q names %q, path %q", src, s.Name, s.Path)
			}
		}
		once := l.Format()
		again, err := Parse(once, "skl.lock")
		if err != nil {
			t.Fatalf("%q becomes %q: %v", src, once, err)
		}
		if twice := again.Format(); !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, then %q", src, once, twice)
		}
		for i, s := range l.Skills {
			if !Equal(s, again.Skills[i]) {
				t.Fatalf("%+v becomes %+v", s, again.Skills[i])
			}
		}
	})
}

func large(n int) *Lock {
	l := &Lock{}
	for i := range n {
		l.Skills = append(l.Skills, Skill{
			Name: fmt.Sprintf("skill-%05d", i), Ref: fmt.Sprintf("acme/skills/skill-%05d@^1.4", i), Source: "git",
			URL: "https://git.example/acme/skills.git", Path: fmt.Sprintf("skills/skill-%05d", i), RefKind: Range, Version: "1.4.2",
			Commit: ref.Commit(fmt.Sprintf("%040x", i)), Tree: bundle.Digest(fmt.Sprintf("tree-sha256:%064x", i)), Files: 12, Bytes: 59000,
			Permissions: []string{"exec:python3", "write:project"},
		})
	}
	return l
}

// How long does reading a lock of a thousand skills take?
func BenchmarkParse(b *testing.B) {
	src := large(1000).Format()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := Parse(src, "skl.lock"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	l := large(1000)
	for b.Loop() {
		l.Format()
	}
}

func ExampleLock_Set() {
	l := &Lock{}
	l.Set(Skill{Name: "pdf", Ref: "acme/pdf@^1.4", Source: "git", URL: "https://git.example/acme/pdf.git", RefKind: Range, Version: "1.4.2"})
	fmt.Print(string(l.Format()))
	// Output:
	// version = 1
	//
	// [[skill]]
	// name = "pdf"
	// ref = "acme/pdf@^1.4"
	// source = "git"
	// url = "https://git.example/acme/pdf.git"
	// ref_kind = "range"
	// version = "1.4.2"
}

// A signed note keeps its line feeds and its dash: the signature covers every byte.
func TestCheckpointSurvivesByteForByte(t *testing.T) {
	const note = "registry.example/log\n8\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\ntime 2026-11-21T10:30:00Z\n\n— registry.example/log Az3grl\n"
	l := &Lock{}
	l.Set(Skill{Name: "pdf", Log: &Log{Origin: "registry.example/log+0a1b2c3d+AAAA", Entry: `{"v":1,"reason":"<a> & \"b\""}`, Checkpoint: note}})
	again := parse(t, string(l.Format()))
	if !Equal(l.Skills[0], again.Skills[0]) {
		t.Errorf("the log became %+v", again.Skills[0].Log)
	}
}

func TestSame(t *testing.T) {
	folder := Skill{Name: "pdf", Source: "local", URL: "skills", Path: "pdf"}
	git := Skill{Name: "pdf", Source: "git", URL: "https://git.example/pdf.git", Path: "pdf", Commit: "c1"}
	oci := Skill{Name: "pdf", Source: "oci", URL: "oci://host/pdf", Manifest: "m1", Artifact: "a1"}
	with := func(s Skill, change func(*Skill)) Skill { change(&s); return s }
	for _, test := range []struct {
		name           string
		a, b           Skill
		release, bytes bool
	}{
		{"a folder", folder, folder, true, false},
		{"another folder", folder, with(folder, func(s *Skill) { s.Path = "other" }), false, false},
		{"a commit", git, with(git, func(s *Skill) { s.Version, s.Ref, s.Tree = "1.0.0", "acme/pdf", "tree-sha256:x" }), true, true},
		{"another commit", git, with(git, func(s *Skill) { s.Commit = "c2" }), false, false},
		{"another repository", git, with(git, func(s *Skill) { s.URL = "https://git.example/fork.git" }), false, false},
		{"another skill of it", git, with(git, func(s *Skill) { s.Path = "ocr" }), false, false},
		{"a pin and none", git, with(git, func(s *Skill) { s.Commit = "" }), false, false},
		{"a manifest", oci, oci, true, true},
		{"another manifest", oci, with(oci, func(s *Skill) { s.Manifest = "m2" }), false, false},
		{"an older lock, without the artifact", oci, with(oci, func(s *Skill) { s.Artifact = "" }), false, true},
		{"another kind of source", git, with(git, func(s *Skill) { s.Source = "marketplace" }), false, true},
	} {
		for _, p := range [][2]Skill{{test.a, test.b}, {test.b, test.a}} {
			if release, bytes := p[0].SameRelease(p[1]), p[0].SameBytes(p[1]); release != test.release || bytes != test.bytes {
				t.Errorf("%s: release %v, bytes %v", test.name, release, bytes)
			}
		}
	}
}
