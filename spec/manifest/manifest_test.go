package manifest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

const digest = "tree-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// sample has an entry in each form and a comment in each place.
const sample = `# top
[skills]            # ours
pdf   = { ref = "acme/pdf", version = "^1.4" }   # forms
demo  = { ref = "git+https://git.example/demo.git//demo", branch = "main" }

# of the platform team
"odd name" = { ref = "./x" }
dot.ref = "acme/dot"
dot.tag = "stable"

[skills.brain]
# pinned since it broke
ref = 'github:acme/brain//skills/brain'
commit = '0123456789abcdef0123456789abcdef01234567'
hold = true
hold_reason = "breaks"
color = "blue" # not ours

[targets]
hosts = [
  "claude-code",  # everybody
  "codex",
]
links = "auto"

[namespace]
acme = "registry:corp"

[[ack]]
code = "W_TRUST_DOWNGRADE"
name = "pdf"
winner = "` + digest + `"
loser = "` + digest + `"
reason = "ours" # asked in March

[package]
name = "acme/pdf"
version = "1.4.2"
`

func parse(t testing.TB, src string) *Manifest {
	t.Helper()
	m, err := Parse([]byte(src), "skl.toml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse(t *testing.T) {
	m := parse(t, sample)
	want := []Skill{
		{Name: "pdf", Ref: "acme/pdf", Version: "^1.4"},
		{Name: "demo", Ref: "git+https://git.example/demo.git//demo", Branch: "main"},
		{Name: "odd name", Ref: "./x"},
		{Name: "dot", Ref: "acme/dot", Tag: "stable"},
		{Name: "brain", Ref: "github:acme/brain//skills/brain", Commit: "0123456789abcdef0123456789abcdef01234567", Hold: true, HoldReason: "breaks"},
	}
	if !reflect.DeepEqual(m.Skills, want) {
		t.Errorf("skills are\n%+v\nwant\n%+v", m.Skills, want)
	}
	if !slices.Equal(m.Targets.Hosts, []string{"claude-code", "codex"}) || m.Targets.Links != "auto" || m.Targets.Vendor != nil {
		t.Errorf("targets are %+v", m.Targets)
	}
	if !maps.Equal(m.Namespaces, map[string]string{"acme": "registry:corp"}) {
		t.Errorf("namespaces are %v", m.Namespaces)
	}
	if !slices.Equal(m.Acks, []Ack{{Code: "W_TRUST_DOWNGRADE", Name: "pdf", Winner: digest, Loser: digest, Reason: "ours"}}) || m.Package != (Package{"acme/pdf", "1.4.2"}) {
		t.Errorf("acks are %+v, package %+v", m.Acks, m.Package)
	}
	if len(m.Warnings) != 1 || m.Warnings[0].Line != 17 || m.Where("pdf").String() != "skl.toml:3:9" {
		t.Errorf("warnings are %+v, pdf is at %s", m.Warnings, m.Where("pdf"))
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, src, where, want string }{
		{"not TOML", "[skills\n", "skl.toml:1:8", "expected ']'"},
		{"twice", "[skills]\na.ref = \"o/a\"\na = 1\n", "skl.toml:3:1", "already defined in line 2"},
		{"only a ref", "[skills]\na = \"o/a@^1\"\n", "skl.toml:2:5", "not a table"},
		{"no ref", "[skills]\na = {}\n", "skl.toml:2:5", "has no ref"},
		{"bad ref", "[skills]\na = { ref = \"acme/pdf:1.4\" }\n", "skl.toml:2:13", "invalid reference"},
		{"version in the ref", "[skills]\na = { ref = \"o/a@^1\" }\n", "skl.toml:2:13", "key of its own"},
		{"bad range", "[skills]\na = { ref = \"o/a\", version = \"newest\" }\n", "skl.toml:2:30", "not a range"},
		{"two versions", "[skills]\na = { ref = \"o/a\", tag = \"x\", branch = \"y\" }\n", "skl.toml:2:5", "both tag and branch"},
		{"branch like an option", "[skills]\na = { ref = \"o/a\", branch = \"--x\" }\n", "skl.toml:2:29", "not a branch"},
		{"short commit", "[skills]\na = { ref = \"o/a\", commit = \"abc\" }\n", "skl.toml:2:29", "not a full commit"},
		{"name outside", "[skills]\n\"../a\" = { ref = \"o/a\" }\n", "skl.toml:2:10", "not a skill name"},
		{"hold that is text", "[skills]\na = { ref = \"o/a\", hold = \"yes\" }\n", "skl.toml:2:27", "not true or false"},
		{"unknown kind of link", "[targets]\nlinks = \"hard\"\n", "skl.toml:2:9", "one of auto"},
		{"hosts that are no list", "[targets]\nhosts = \"x\"\n", "skl.toml:2:9", "not a list"},
		{"a root further up", "[targets]\nroot = \"../x\"\n", "skl.toml:2:8", "cannot hold skills"},
		{"a root of git's", "[skills]\na = { ref = \"o/a\", root = \".git/hooks\" }\n", "skl.toml:2:27", "cannot hold skills"},
		{"a root that is an agent's", "[targets]\nroot = \".claude\"\n", "skl.toml:2:8", "starts with"},
		{"search paths that are no list", "[roots]\nbefore = \"x\"\n", "skl.toml:2:10", "not a list"},
		{"a search path further up", "[roots]\nafter = [\"a\", \"../x\"]\n", "skl.toml:2:15", "cannot hold skills"},
		{"binding without a kind", "[namespace]\nacme = \"corp\"\n", "skl.toml:2:8", "not registry:NAME"},
		{"ack without a name", "[[ack]]\ncode = \"W_X\"\n", "skl.toml:1:3", "needs code and name"},
		{"package without a namespace", "[package]\nname = \"pdf\"\n", "skl.toml:2:8", "not namespace/name"},
		{"package with a loose version", "[package]\nversion = \"1.4\"\n", "skl.toml:2:11", "not a semantic version"},
	}
	for _, tt := range tests {
		m, err := Parse([]byte(tt.src), "skl.toml")
		e, ok := err.(*diag.Error)
		if !ok || m != nil || e.Class != diag.Failed || e.Code != "manifest_invalid" || e.Where.String() != tt.where || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %v, want %q at %s", tt.name, err, tt.want, tt.where)
		}
	}
	_, err := Parse([]byte("[skills]\na = { ref = \"acme/pdf:1.4\" }\n"), "skl.toml")
	if e := err.(*diag.Error); len(e.Hints) != 1 || !strings.Contains(e.Hints[0], `"acme/pdf@1.4"`) {
		t.Errorf("the hint of a bad reference is lost: %q", e.Hints)
	}
}

// Each edit replaces these lines of the sample, and no other byte.
func TestEdits(t *testing.T) {
	tests := []struct {
		name     string
		edit     func(*Manifest) error
		old, new string
	}{
		{"inline: a value", setTo("pdf", Skill{Ref: "acme/pdf", Version: "^2"}), `version = "^1.4" }   #`, `version = "^2" }   #`},
		{"inline: another kind of version", setTo("pdf", Skill{Ref: "acme/pdf", Branch: "main"}), `, version = "^1.4" }`, `, branch = "main" }`},
		{"inline: a new key", setTo("demo", Skill{Ref: "git+https://git.example/demo.git//demo", Branch: "main", Hold: true}), `"main" }`, `"main", hold = true }`},
		{"table: hold ends", setTo("brain", Skill{Ref: "github:acme/brain//skills/brain", Commit: ref.Commit(strings.Repeat("0", 40))}),
			"'0123456789abcdef0123456789abcdef01234567'\nhold = true\nhold_reason = \"breaks\"\n", "\"" + strings.Repeat("0", 40) + "\"\n"},
		{"dotted", setTo("dot", Skill{Ref: "acme/dot", Version: "^1"}), `dot.tag = "stable"`, `dot.version = "^1"`},
		{"new", setTo("new", Skill{Ref: "o/new", Version: "^1"}), "\"stable\"\n", "\"stable\"\nnew = { ref = \"o/new\", version = \"^1\" }\n"},
		{"new, quoted", setTo("a.b", Skill{Ref: "o/r"}), "\"stable\"\n", "\"stable\"\n\"a.b\" = { ref = \"o/r\" }\n"},
		{"removed: inline", removal("demo"), "demo  = { ref = \"git+https://git.example/demo.git//demo\", branch = \"main\" }\n", ""},
		{"removed: dotted", removal("dot"), "dot.ref = \"acme/dot\"\ndot.tag = \"stable\"\n", ""},
		{"removed: table", removal("brain"), sample[strings.Index(sample, "[skills.brain]"):strings.Index(sample, "\n[targets]")], "# pinned since it broke\n"},
		{"hosts: one more", func(m *Manifest) error { return m.SetHosts([]string{"claude-code", "codex", "opencode"}) }, "\"codex\",\n", "\"codex\",\n  \"opencode\",\n"},
		{"hosts: one less", func(m *Manifest) error { return m.SetHosts([]string{"claude-code"}) }, "  \"codex\",\n", ""},
		{"links", func(m *Manifest) error { return m.SetLinks("copy") }, `links = "auto"`, `links = "copy"`},
		{"vendor", func(m *Manifest) error { return m.SetVendor(false) }, "links = \"auto\"\n", "links = \"auto\"\nvendor = false\n"},
		{"namespace", func(m *Manifest) error { return m.SetNamespace("obra", "forge:github") }, "\"registry:corp\"\n", "\"registry:corp\"\nobra = \"forge:github\"\n"},
		{"namespace removed", func(m *Manifest) error { return m.SetNamespace("acme", "") }, "acme = \"registry:corp\"\n", ""},
		{"ack: another reason", func(m *Manifest) error {
			return m.AddAck(Ack{Code: "W_TRUST_DOWNGRADE", Name: "pdf", Winner: digest, Loser: digest, Reason: "theirs"})
		}, `"ours" #`, `"theirs" #`},
		{"ack: removed", func(m *Manifest) error {
			return m.RemoveAck(Ack{Code: "W_TRUST_DOWNGRADE", Name: "pdf", Winner: digest, Loser: digest})
		},
			sample[strings.Index(sample, "[[ack]]"):strings.Index(sample, "[package]")], ""},
		{"ack: somebody else", func(m *Manifest) error {
			return m.AddAck(Ack{Code: "W_TRUST_DOWNGRADE", Name: "pdf", Winner: digest, Loser: digest, By: "kim <kim@acme.example>", On: "2027-01-31"})
		}, `reason = "ours" # asked in March` + "\n", `reason = "" # asked in March` + "\nby = \"kim <kim@acme.example>\"\non = 2027-01-31\n"},
		{"ack: new", func(m *Manifest) error { return m.AddAck(Ack{Code: "W_X", Name: "demo", Reason: "a \"b\""}) },
			"\"1.4.2\"\n", "\"1.4.2\"\n\n[[ack]]\ncode = \"W_X\"\nname = \"demo\"\nreason = \"a \\\"b\\\"\"\n"},
	}
	for _, ending := range []string{"\n", "\r\n"} {
		for _, tt := range tests {
			m := parse(t, strings.ReplaceAll(sample, "\n", ending))
			if err := tt.edit(m); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if strings.Count(sample, tt.old) != 1 {
				t.Fatalf("%s: %q is not in the sample once", tt.name, tt.old)
			}
			want := strings.Replace(sample, tt.old, tt.new, 1)
			want = strings.ReplaceAll(want, "\n", ending)
			if strings.HasPrefix(tt.name, "ack: removed") || strings.HasPrefix(tt.name, "removed: table") {
				want = squeeze(want, ending) // a blank line goes with a section
				if got := squeeze(string(m.Bytes()), ending); got != want {
					t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
				}
				continue
			}
			if got := string(m.Bytes()); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
			}
		}
	}
}

func squeeze(s, ending string) string { return strings.ReplaceAll(s, ending+ending, ending) }

func setTo(name string, s Skill) func(*Manifest) error {
	return func(m *Manifest) error { return m.SetSkill(name, s) }
}

func removal(name string) func(*Manifest) error {
	return func(m *Manifest) error { return m.RemoveSkill(name) }
}

func TestEditsThatChangeNothing(t *testing.T) {
	m := parse(t, sample)
	for _, s := range m.Skills {
		if err := m.SetSkill(s.Name, s); err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{
		m.RemoveSkill("absent"), m.SetHosts([]string{"claude-code", "codex"}), m.SetLinks("auto"),
		m.SetNamespace("acme", "registry:corp"), m.SetNamespace("absent", ""), m.AddAck(m.Acks[0]), m.RemoveAck(Ack{Code: "W_X"}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if string(m.Bytes()) != sample {
		t.Errorf("the file changed:\n%s", m.Bytes())
	}
}

func TestEditRefused(t *testing.T) {
	m := parse(t, sample)
	before := *m
	for name, err := range map[string]error{
		"bad ref":       m.SetSkill("pdf", Skill{Ref: "pdf"}),
		"no ref":        m.SetSkill("pdf", Skill{}),
		"two versions":  m.SetSkill("pdf", Skill{Ref: "o/r", Version: "^1", Tag: "x"}),
		"name outside":  m.SetSkill("..", Skill{Ref: "o/r"}),
		"links":         m.SetLinks("hard"),
		"bad namespace": m.SetNamespace("a/b", "registry:x"),
		"empty ack":     m.AddAck(Ack{}),
	} {
		if diag.ClassOf(err) != diag.Failed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if string(m.Bytes()) != sample || !reflect.DeepEqual(m.Skills, before.Skills) {
		t.Error("a refused edit changed the manifest")
	}
}

// After any edit of any file, the manifest is what it was with that edit,
// comments on lines of their own stay, and reading the file again gives the same. No name of a skill that
// is accepted leads out of a root.
func FuzzEdit(f *testing.F) {
	f.Add(sample, uint64(0))
	f.Add(strings.ReplaceAll(sample, "\n", "\r\n"), uint64(1))
	f.Add("skills = { a.ref = 'o/a', b = { ref = 'o/b',\n# c\ntag = 'x' } }\n[[ack]]\ncode = 'c'\nname = 'a'", uint64(2))
	f.Add("[skills]\n'../a' = { ref = 'o/a' }\n'' = { ref = 'o/b' }", uint64(4))
	f.Add("[skills.a]\nref = 'o/a'\n[skills.b]\nref = 'o/b'", uint64(3))
	f.Fuzz(func(t *testing.T, src string, seed uint64) {
		m, err := Parse([]byte(src), "skl.toml")
		if err != nil {
			return
		}
		for _, s := range m.Skills {
			if !filepath.IsLocal(s.Name) || filepath.Base(s.Name) != s.Name {
				t.Fatalf("%q names %q", src, s.Name)
			}
		}
		rnd := rand.New(rand.NewPCG(seed, 7))
		want := model{m}.copy()
		name := []string{"a", "b", "pdf", "brain", "dot", "x.y"}[rnd.IntN(6)]
		switch rnd.IntN(5) {
		case 0:
			s := Skill{name, "o/r", []string{"", "PDF", "ce:review"}[rnd.IntN(3)], "", "", "", "", [][]string{nil, {}, {"codex", "claude-code"}}[rnd.IntN(3)], []string{"", ".claude/skills", "vendor/skills"}[rnd.IntN(3)], rnd.IntN(2) == 0, []string{"", "why"}[rnd.IntN(2)]}
			*[]*string{&s.Version, &s.Branch, &s.Tag}[rnd.IntN(3)] = "1.2"
			err = m.SetSkill(name, s)
			if i := slices.IndexFunc(want.Skills, func(s Skill) bool { return s.Name == name }); i >= 0 {
				want.Skills[i] = s
			} else {
				want.Skills = append(want.Skills, s)
			}
		case 1:
			err = m.RemoveSkill(name)
			want.Skills = slices.DeleteFunc(want.Skills, func(s Skill) bool { return s.Name == name })
		case 2:
			hosts := []string{"a", "codex", "b"}[:rnd.IntN(4)]
			err = m.SetHosts(hosts)
			want.Targets.Hosts = hosts
		case 3:
			err = m.SetNamespace(name, "forge:github")
			want.Namespaces[name] = "forge:github"
		case 4:
			a := Ack{Code: "c", Name: name, Winner: "w", Version: "1.2.0", By: "a <b@c>", On: "2027-01-31", Reason: "r"}
			err = m.AddAck(a)
			if i := slices.IndexFunc(want.Acks, a.same); i >= 0 {
				want.Acks[i] = a
			} else {
				want.Acks = append(want.Acks, a)
			}
		}
		if err != nil {
			if string(m.Bytes()) != src {
				t.Fatalf("%q: refused with %v, but changed to %q", src, err, m.Bytes())
			}
			return
		}
		again, err := Parse(m.Bytes(), "skl.toml")
		if err != nil {
			t.Fatalf("%q becomes %q: %v", src, m.Bytes(), err)
		}
		if g, w := (model{again}).String(), want.String(); g != w {
			t.Fatalf("%q becomes %q:\n%s\nwant\n%s", src, m.Bytes(), g, w)
		}
	})
}

// model is what a manifest says, apart from its bytes.
type model struct{ *Manifest }

func (m model) copy() model {
	return model{&Manifest{Skills: slices.Clone(m.Skills), Targets: m.Targets, Namespaces: maps.Clone(m.Namespaces),
		Acks: slices.Clone(m.Acks), Package: m.Package}}
}

// String ignores the order of skills: a new one follows the last line of [skills],
// which may stand before a [skills.name].
func (m model) String() string {
	skills := append([]Skill{}, m.Skills...)
	slices.SortFunc(skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return fmt.Sprintf("%#v %q %q %#v %#v", skills, append([]string{}, m.Targets.Hosts...), m.Namespaces, append([]Ack{}, m.Acks...), m.Package)
}

func ExampleManifest_SetSkill() {
	m := New()
	m.SetSkill("pdf", Skill{Ref: "acme/pdf", Version: "^1.4"})
	m.SetHosts([]string{"claude-code"})
	fmt.Print(string(m.Bytes()))
	// Output:
	// # Skills of this project: "skl install REF" adds one here.
	// # Commit this file together with skl.lock.
	//
	// [skills]
	// pdf = { ref = "acme/pdf", version = "^1.4" }
	//
	// [targets]
	// hosts = ["claude-code"]
}
