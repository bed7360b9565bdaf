package policy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, tier Tier, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text), tier.String()+".toml", tier)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// good is a subject that holds a strict rule of every kind.
func good() Subject {
	return Subject{
		Skill: "pdf", Version: "1.0.0", Names: []string{"pdf", "acme/pdf"}, Sure: []string{"pdf", "acme/pdf"},
		Addresses: []Address{{"registry:corp/acme/pdf", Machine}, {"https://skills.example.com/acme/pdf", Machine}}, Registry: "https://skills.example.com",
		Signature: Signature{Verified: true, Signer: "key SHA256:abc/d", Names: []string{"key:SHA256:abc/d"}},
		Released:  now.AddDate(0, 0, -4), Content: true, Licence: "MIT",
		Permissions: audit.Report{{Permission: audit.Permission{Kind: audit.Net, Arg: "api.example.com"}, Places: []audit.Place{{File: "run.sh", Line: 3}}}},
		Audited:     true, Level: "package",
	}
}

// TestConditions shows for each condition a skill that holds it and those that do not, with what is said.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		condition string
		change    func(*Subject) // of one that holds it
		want      string
	}{
		{`sources = ["registry:corp"]`, func(s *Subject) { s.Addresses = []Address{{"github:evil/pdf", Machine}} }, "it comes from github:evil/pdf; it may come from registry:corp"},
		{`sources = ["registry:corp"]`, func(s *Subject) { s.Addresses = nil }, "it comes from nowhere that is known; it may come from registry:corp"},
		{`sources = ["registry:corp"]`, func(s *Subject) { s.Addresses = []Address{{"registry:corp2/acme/pdf", Machine}} }, "it comes from registry:corp2/acme/pdf; it may come from registry:corp"},
		{`sources = ["registry:corp"]`, func(s *Subject) { s.Addresses[0].Of = User }, "what registry:corp/acme/pdf means is said by the user, which does not count for a rule of the machine"},
		{`registries = ["https://skills.example.com"]`, func(s *Subject) { s.Registry = "https://skills.example.com.evil.example" }, "it comes from the registry https://skills.example.com.evil.example"},
		{`registries = ["https://skills.example.com"]`, func(s *Subject) { s.Registry = "" }, "it comes from no registry"},
		{`signers = ["key:SHA256:abc/d"]`, func(s *Subject) { s.Signature.Names, s.Signature.Signer = []string{"key:SHA256:abc"}, "key SHA256:abc" }, "it is signed by key SHA256:abc; it may be signed by key:SHA256:abc/d"},
		{`signers = ["key:SHA256:abc/d"]`, func(s *Subject) { s.Signature = Signature{Reason: "no signature is attached"} }, "it has no verified signature: no signature is attached"},
		{`signers = ["key:SHA256:abc/d"]`, func(s *Subject) { s.Signature.Verified = false }, "it has no verified signature"},
		{`unsigned = "refuse"`, func(s *Subject) { s.Signature = Signature{Reason: "no signature is attached"} }, "it has no verified signature: no signature is attached"},
		{`level = "package"`, func(s *Subject) { s.Level = "user" }, "its level of trust is user; at least it has to be package"},
		{`level = "local"`, func(s *Subject) { s.Level = "" }, "its level of trust is not known"},
		{`min_age = "3d"`, func(s *Subject) { s.Released = now.Add(-71 * time.Hour) }, "it was released on 2026-11-22T13:00:00Z; it has to be as old as 3d, on 2026-11-25T13:00:00Z"},
		{`min_age = "3d"`, func(s *Subject) { s.Released = now.Add(time.Hour) }, "which is yet to come"},
		{`min_age = "3d"`, func(s *Subject) { s.Released, s.Unreleased = time.Time{}, "a folder has no time of release" }, "it is not known when it was released: a folder has no time of release"},
		{`licences = ["MIT", "Apache-2.0"]`, func(s *Subject) { s.Licence = "" }, "it names no licence; it has to be under MIT, Apache-2.0"},
		{`licences = ["MIT", "Apache-2.0"]`, func(s *Subject) { s.Licence = "MIT AND GPL-3.0-only" }, "its licence is MIT AND GPL-3.0-only"},
		{`licences = ["MIT", "Apache-2.0"]`, func(s *Subject) { s.Licence = "(MIT)" }, "its licence is (MIT)"},
		{`licences = ["MIT", "Apache-2.0"]`, func(s *Subject) { s.Content = false }, "its files are not on this machine"},
		{`max_severity = "medium"`, func(s *Subject) { s.Findings = []Finding{{"AUD-X", "high", audit.Place{File: "SKILL.md", Line: 9}}} }, "AUD-X finds something high in SKILL.md:9; findings may at most be medium"},
		{`max_severity = "medium"`, func(s *Subject) { s.Findings = []Finding{{"AUD-X", "unheard-of", audit.Place{}}} }, "AUD-X finds something"},
		{`max_severity = "critical"`, func(s *Subject) { s.Audited = false }, "its content was not audited"},
		{`forbid = ["run:curl", "env"]`, asking("run:curl"), "it asks for run:curl (f.sh:7); it may not ask for run:curl, env"},
		{`forbid = ["run:curl", "env"]`, asking("env:HOME"), "it asks for env:HOME"},
		{`forbid = ["env:AWS_*"]`, asking("env:*"), "it asks for env:*"},
		{`forbid = ["run:curl"]`, asking("dynamic-exec"), "it asks for dynamic-exec (f.sh:7), which may be run:curl"},
		{`forbid = ["tool"]`, asking("tool:Bash(git:*)"), "it asks for tool:Bash(git:*)"},
		{`hosts = ["*.example.com"]`, asking("net:evil.example"), "it asks for net:evil.example (f.sh:7); it may contact *.example.com"},
		{`hosts = ["*.example.com"]`, asking("net:*"), "it asks for net:*"},
		{`hosts = ["*.example.com"]`, asking("dynamic-exec"), "it asks for dynamic-exec"},
		{`hosts = ["*.example.com"]`, asking("net:example.com.evil.example"), "it asks for net:example.com.evil.example"},
		{`shadowing = "error"`, func(s *Subject) { s.Masks = []string{"pdf@user"} }, "other copies of that name differ from it: pdf@user"},
	} {
		f := parse(t, Machine, "[[rule]]\nid = \"r\"\n"+c.condition+"\n")
		p := &Policy{Files: []*File{f}}
		s := good()
		if all := p.Check([]Subject{s}, now); len(all) > 0 && !strings.Contains(c.condition, "local") {
			t.Errorf("%s refuses the good one: %s", c.condition, all[0].Why())
		}
		c.change(&s)
		all := p.Check([]Subject{s}, now)
		if len(all) != 1 {
			t.Errorf("%s: %d refusals", c.condition, len(all))
			continue
		}
		if got := all[0].Where.String() + ": " + all[0].Sentence(); !strings.HasPrefix(got, "machine.toml:3: rule r of the machine refuses pdf 1.0.0: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.condition, got, c.want)
		}
	}
}

func asking(text string) func(*Subject) {
	return func(s *Subject) {
		p, ok := audit.Parse(text)
		if !ok {
			panic(text)
		}
		s.Permissions = audit.Report{{Permission: p, Places: []audit.Place{{File: "f.sh", Line: 7}}}}
	}
}

// TestAbout shows what a rule is about, in any spelling.
func TestAbout(t *testing.T) {
	for _, c := range []struct {
		about string
		want  bool
	}{
		{``, true}, {`skills = ["pdf"]`, true}, {`skills = ["acme/*"]`, true}, {`skills = ["ACME/*"]`, true}, {`skills = ["*"]`, true}, {`skills = ["pd"]`, false},
		{`skills = ["acme"]`, false}, {`skills = ["other/*", "p*"]`, true}, {`from = ["registry:corp"]`, true}, {`from = ["registry"]`, true}, {`from = ["Registry:CORP/Acme"]`, true},
		{`from = ["registry:cor"]`, false}, {`from = ["github:*"]`, false}, {`from = ["https://skills.example.com"]`, true}, {"skills = [\"pdf\"]\nfrom = [\"local\"]", false},
	} {
		s := prepared(ptr(good()))
		f := parse(t, Project, "[[rule]]\nid = \"r\"\nunsigned = \"refuse\"\n"+c.about+"\n")
		if got := f.Rules[0].about(&s); got != c.want {
			t.Errorf("%s: %v", c.about, got)
		}
	}
}

func ptr[T any](v T) *T { return &v }

const strict = "[[rule]]\nid = \"r\"\nsources = []\n"

func except(rule, skills, until string) string {
	return fmt.Sprintf("[[exception]]\nrule = %q\nskills = [%q]\nuntil = %s\nreason = \"why\"\nby = \"who\"\n", rule, skills, until)
}

// TestExceptions shows which exception counts for which rule: of its own file or of a weaker one, until its last day, for skills by
// names that the user's bindings vouch for.
func TestExceptions(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []*File
		want  int
	}{
		{"of its own file", []*File{parse(t, User, strict+except("r", "pdf", "2026-11-25"))}, 0},
		{"of a stronger file", []*File{parse(t, Machine, except("r", "acme/*", "2027-01-01")), parse(t, Project, strict)}, 0},
		{"of a weaker file", []*File{parse(t, Machine, strict), parse(t, User, except("r", "pdf", "2027-01-01")), parse(t, Project, except("r", "pdf", "2027-01-01"))}, 1},
		{"of another file that is as strong", []*File{parse(t, Organisation, strict), parse(t, Organisation, except("r", "pdf", "2027-01-01"))}, 1},
		{"for another rule", []*File{parse(t, User, strict+except("q", "pdf", "2027-01-01"))}, 1},
		{"for another skill", []*File{parse(t, User, strict+except("r", "ocr", "2027-01-01"))}, 1},
		{"for a name of which it is not known whose it is", []*File{parse(t, User, strict+except("r", "evil/pdf", "2027-01-01"))}, 1},
		{"that has expired", []*File{parse(t, User, strict+except("r", "pdf", "2026-11-24"))}, 1},
		{"for one of two rules with that id", []*File{parse(t, Machine, strict), parse(t, User, strict+except("r", "pdf", "2027-01-01"))}, 1},
	} {
		s := good()
		s.Names = append(s.Names, "evil/pdf")
		p := &Policy{Files: c.files}
		all := p.Check([]Subject{s}, now)
		if len(all) != c.want {
			t.Errorf("an exception %s: %d refusals, want %d", c.name, len(all), c.want)
		}
		if c.name == "that has expired" && !strings.Contains(all[0].Sentence(), "its exception has expired: user.toml:4, until 2026-11-24, by who: why") {
			t.Error(all[0].Sentence())
		}
	}
}

// TestParseRefuses holds what is no policy: a mistake never leaves a rule out.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[[rules]]\nid = \"r\"\n", "p.toml:1:3: key rules is not known; did you mean rule?"},
		{"[rule]\nid = \"r\"\n", "rule is a table, not a list of tables: write [[rule]]"},
		{"[[rule]]\nid = \"r\"\nunsinged = \"refuse\"\n", "p.toml:3:12: key unsinged is not known; did you mean unsigned?"},
		{"[[rule]]\nid = \"r\"\nlicenses = [\"MIT\"]\n", "key licenses is not known; did you mean licences?"},
		{"[[rule]]\nunsigned = \"refuse\"\n", "the rule has no id"},
		{"[[rule]]\nid = \"r\"\n", "the rule r says nothing"},
		{"[[rule]]\nid = \"r\"\nunsigned = \"refuse\"\n[[rule]]\nid = \"r\"\nunsigned = \"refuse\"\n", "p.toml:4:3: there are two rules with the id r"},
		{"[[rule]]\nid = \"r\"\nunsigned = \"allow\"\n", "unsigned is \"allow\", and can be refuse"},
		{"[[rule]]\nid = \"r\"\nunsigned = true\n", "unsigned is true or false, not a string"},
		{"[[rule]]\nid = \"r\"\nmin_age = \"3 days\"\n", "invalid duration \"3 days\""},
		{"[[rule]]\nid = \"r\"\nmin_age = \"99999999w\"\n", "invalid duration"},
		{"[[rule]]\nid = \"r\"\nskills = []\nunsigned = \"refuse\"\n", "skills is empty"},
		{"[[rule]]\nid = \"r\"\nforbid = []\n", "forbid is empty"},
		{"[[rule]]\nid = \"r\"\nforbid = [\"netwrok\"]\n", "\"netwrok\" is not a permission"},
		{"[[rule]]\nid = \"r\"\nforbid = [\"allow:Read\"]\n", "is not a permission"},
		{"[[rule]]\nid = \"r\"\nsources = [\"github:acme/[a-z]\"]\n", "only * and ** stand for other characters"},
		{"[[rule]]\nid = \"r\"\nsources = \"registry:corp\"\n", "sources is not a list of strings"},
		{"[[rule]]\nid = \"r\"\nlicences = [\"GPL v3\"]\n", "is not the SPDX id"},
		{"[[rule]]\nid = \"r\"\nlevel = \"high\"\n", "level is \"high\", and can be local, project"},
		{"[[exception]]\nrule = \"r\"\nskills = [\"x\"]\nreason = \"a\"\nby = \"b\"\n", "the exception has no until"},
		{"[[exception]]\nrule = \"r\"\nskills = [\"x\"]\nuntil = \"2027-01-01\"\nreason = \"a\"\nby = \"b\"\n", "until is not a day"},
		{"[[exception]]\nrule = \"r\"\nskills = [\"x\"]\nuntil = 2027-01-01\nreason = \" \"\nby = \"b\"\n", "the exception has no reason"},
		{"[[exception]]\nrule = \"r\"\nuntil = 2027-01-01\nreason = \"a\"\nby = \"b\"\n", "the exception has no skills"},
		{"[organisation]\nurl = \"https://x\"\nkey = \"k\"\n", "table [organisation] is not known"},
		{"a = [", "p.toml:1"},
		{strings.Repeat("#", MaxBytes+1), "more than"},
	} {
		_, err := Parse([]byte(c.text), "p.toml", Project)
		if err == nil || !strings.Contains(err.Error(), c.want) || diag.ClassOf(err) != diag.Refused {
			t.Errorf("%.80q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzParse holds that a file that is taken judges without a panic, and that what it refuses has a line of it.
func FuzzParse(f *testing.F) {
	f.Add("[[rule]]\nid = \"r\"\nskills = [\"acme/*\", \"pdf\"]\nfrom = [\"**\"]\nsources = [\"registry:corp\"]\nforbid = [\"network\", \"run:curl\"]\nhosts = [\"*.x\"]\nlicences = [\"MIT\"]\nmin_age = \"3d\"\nlevel = \"user\"\n")
	f.Add(strict + except("r", "pdf", "2027-01-01"))
	f.Add("expires = 2027-01-01\nserial = 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text), "p.toml", Machine)
		if err != nil {
			if file != nil {
				t.Error("an error and a file")
			}
			return
		}
		p := &Policy{Files: []*File{file}}
		p.Needs()
		for _, r := range p.Check([]Subject{good(), {Skill: "x"}}, now) {
			if r.Where.Line < 1 || r.Where.Line > strings.Count(text, "\n")+1 || r.Found == "" || r.Wants == "" {
				t.Errorf("%+v", r)
			}
		}
		explained := p.Explain(ptr(good()), now)
		if len(explained) != len(file.Rules) {
			t.Errorf("%d of %d rules are explained", len(explained), len(file.Rules))
		}
	})
}

// FuzzPattern compares patterns with regular expressions.
func FuzzPattern(f *testing.F) {
	f.Add("github:acme/*", "github:acme/tools//skills/pdf")
	f.Add("a**b*c", "axx/yybzzc/d")
	f.Add("local", "local:./x")
	f.Fuzz(func(t *testing.T, text, s string) {
		p, err := newPattern(text, false)
		if err != nil || len(s) > 200 || strings.Contains(s, "\n") {
			return
		}
		expression := strings.NewReplacer(`\*\*`, `(?s:.*)`, `\*`, `[^/]*`).Replace(regexp.QuoteMeta(p.text))
		ends := "(?:/(?s:.*))?$"
		if !p.colon {
			ends = "(?:[/:](?s:.*))?$"
		}
		if want := regexp.MustCompile("^(?:" + expression + ")$").MatchString(s); p.whole(s) != want {
			t.Errorf("%q whole %q: %v", text, s, !want)
		}
		if want := regexp.MustCompile("^(?:" + expression + ")" + ends).MatchString(s); p.begins(s) != want {
			t.Errorf("%q begins %q: %v", text, s, !want)
		}
	})
}

// BenchmarkCheck asks how long 1,000 skills take by 200 rules.
func BenchmarkCheck(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "[[rule]]\nid = \"r%d\"\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&text, "skills = [\"team%d/*\", \"*-internal\"]\n", i)
		}
		text.WriteString("sources = [\"registry:other\", \"github:*/tools\", \"registry:corp\"]\nlicences = [\"MIT\"]\nforbid = [\"run:curl\", \"env:AWS_*\"]\nhosts = [\"*.example.com\"]\nmin_age = \"3d\"\nsigners = [\"https://github.com/*/x\", \"key:SHA256:abc/d\"]\n")
	}
	p := &Policy{Files: []*File{parse(b, Machine, text.String())}}
	skills := make([]Subject, 1000)
	for i := range skills {
		skills[i] = good()
	}
	for b.Loop() {
		if all := p.Check(skills, now); len(all) > 0 {
			b.Fatal(all[0].Sentence())
		}
	}
}
