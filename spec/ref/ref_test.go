package ref

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Ref
	}{
		{"acme/pdf", Ref{Kind: Name, Owner: "acme", Repo: "pdf"}},
		{"acme/pdf@^1.4", Ref{Kind: Name, Owner: "acme", Repo: "pdf", Version: "^1.4"}},
		{"acme/pdf@>=1.4, <2", Ref{Kind: Name, Owner: "acme", Repo: "pdf", Version: ">=1.4, <2"}},
		{"obra/superpowers/brainstorming@v6.2.0", Ref{Kind: Name, Owner: "obra", Repo: "superpowers", Path: "brainstorming", Version: "v6.2.0"}},
		{"o/r/skills/group/x", Ref{Kind: Name, Owner: "o", Repo: "r", Path: "skills/group/x"}},
		{"o/r#x@main", Ref{Kind: Name, Owner: "o", Repo: "r", Skill: "x", Version: "main"}},
		{"github:o/r//skills/x@feature/y", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/x", Version: "feature/y"}},
		{"gitlab:g/sub/r", Ref{Kind: Forge, Host: "gitlab", Owner: "g/sub", Repo: "r"}},
		{"corp:team/tools//pdf", Ref{Kind: Forge, Host: "corp", Owner: "team", Repo: "tools", Path: "pdf"}},
		{"https://github.com/o/r", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"git@h.example:o/r.git", Ref{Kind: Git, URL: "ssh://git@h.example/o/r.git"}},
		{"git@h.example:g/s/r.git//p@v1", Ref{Kind: Git, URL: "ssh://git@h.example/g/s/r.git", Path: "p", Version: "v1"}},
		{"me@h.example:/srv/r#pdf", Ref{Kind: Git, URL: "ssh://me@h.example/srv/r", Skill: "pdf"}},
		{"ssh://git@h.example:2222/o/r.git", Ref{Kind: Git, URL: "ssh://git@h.example:2222/o/r.git"}},
		{"github.com/o/r", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"www.github.com/o/r.git@v1", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "v1"}},
		{"gitlab.com/o/r/pdf@v1", Ref{Kind: Forge, Host: "gitlab", Owner: "o", Repo: "r", Skill: "pdf", Version: "v1"}},
		{"github.com/o/r/skills/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf"}},
		{"github.com/o/r/tree/main/skills/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"git.corp.example/o/r", Ref{Kind: Git, URL: "https://git.corp.example/o/r.git"}},
		{"git.corp.example/o/r/pdf", Ref{Kind: Git, URL: "https://git.corp.example/o/r.git", Skill: "pdf"}},
		{"o/r.git", Ref{Kind: Name, Owner: "o", Repo: "r"}},
		{"o/r.git.git/pdf@v1", Ref{Kind: Name, Owner: "o", Repo: "r", Path: "pdf", Version: "v1"}},
		{"github.com/o/r/", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"github.com/o/r#readme", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://github.com/o/r#readme", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://github.com/o/r/tree/main/pdf#readme-ov-file", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "pdf", Version: "main"}},
		{"https://github.com/o/r#pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Skill: "pdf"}},
		{"http://www.github.com/o/r/tree/main/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "pdf", Version: "main"}},
		{"http://raw.githubusercontent.com/o/r/main/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "pdf", Version: "main"}},
		{"skills.sh/o/r/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Skill: "pdf"}},
		{"www.skills.sh/o/r", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"my.org/r", Ref{Kind: Name, Owner: "my.org", Repo: "r"}},
		{"https://skills.sh/o/r/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Skill: "pdf"}},
		{"https://www.skills.sh/o/r", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://raw.githubusercontent.com/o/r/main/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://raw.githubusercontent.com/o/r/refs/heads/main/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r/raw/main/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r/blob/main/skills/pdf/README.md?plain=1#L3", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r/blob/main/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "main"}},
		{"https://github.com/o/r/edit/main/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r/blame/main/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r?tab=readme-ov-file#readme", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://github.com/o/r/archive/refs/tags/v1.2.0.zip", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "v1.2.0"}},
		{"https://github.com/o/r/archive/refs/heads/feat/x.tar.gz", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "feat/x"}},
		{"https://codeload.github.com/o/r/zip/refs/heads/main", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "main"}},
		{"https://github.com/o/r/releases/tag/v1.2.0", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "v1.2.0"}},
		{"https://github.com/o/r/releases/latest", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://github.com/o/r/commit/0123abc", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Version: "0123abc"}},
		{"https://gitlab.com/g/s/r/-/archive/v1/r-v1.zip", Ref{Kind: Forge, Host: "gitlab", Owner: "g/s", Repo: "r", Version: "v1"}},
		{"https://gitlab.com/g/s/r/-/raw/main/x/SKILL.md?ref_type=heads", Ref{Kind: Forge, Host: "gitlab", Owner: "g/s", Repo: "r", Path: "x", Version: "main"}},
		{"https://codeberg.org/o/r/raw/branch/main/x/SKILL.md", Ref{Kind: Forge, Host: "codeberg", Owner: "o", Repo: "r", Path: "x", Version: "main"}},
		{"https://codeberg.org/o/r/archive/v1.zip", Ref{Kind: Forge, Host: "codeberg", Owner: "o", Repo: "r", Version: "v1"}},
		{"https://git.corp.example/o/r/raw/branch/main/x/SKILL.md", Ref{Kind: Git, URL: "https://git.corp.example/o/r.git", Path: "x", Version: "main"}},
		{"https://github.com/o/r.git", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r"}},
		{"https://github.com/o/r/tree/main/skills/pdf", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "main"}},
		{"https://github.com/o/r/blob/v1/skills/pdf/SKILL.md", Ref{Kind: Forge, Host: "github", Owner: "o", Repo: "r", Path: "skills/pdf", Version: "v1"}},
		{"https://gitlab.com/g/s/r/-/tree/main/x", Ref{Kind: Forge, Host: "gitlab", Owner: "g/s", Repo: "r", Path: "x", Version: "main"}},
		{"https://codeberg.org/o/r/src/branch/main/x", Ref{Kind: Forge, Host: "codeberg", Owner: "o", Repo: "r", Path: "x", Version: "main"}},
		{"https://git.corp.example/o/r/tree/main/x", Ref{Kind: Git, URL: "https://git.corp.example/o/r.git", Path: "x", Version: "main"}},
		{"https://git.corp.example/o/r.git", Ref{Kind: Git, URL: "https://git.corp.example/o/r.git"}},
		{"git+https://h/r.git//p/q@main", Ref{Kind: Git, URL: "https://h/r.git", Path: "p/q", Version: "main"}},
		{"git+ssh://me_2@h_1.example-x.org:2222/o/r.git", Ref{Kind: Git, URL: "ssh://me_2@h_1.example-x.org:2222/o/r.git"}},
		{"git+ssh://git@[fe80::1%25eth0]/o/r.git", Ref{Kind: Git, URL: "ssh://git@[fe80::1%25eth0]/o/r.git"}},
		{"git+ssh://git@h/o/r.git@v1", Ref{Kind: Git, URL: "ssh://git@h/o/r.git", Version: "v1"}},
		{"git+file:///srv/r.git//demo", Ref{Kind: Git, URL: "file:///srv/r.git", Path: "demo"}},
		{"git+http://127.0.0.1:8080/o/r.git#x@^1", Ref{Kind: Git, URL: "http://127.0.0.1:8080/o/r.git", Skill: "x", Version: "^1"}},
		{"oci://h.example/acme/pdf", Ref{Kind: OCI, Host: "h.example", Owner: "acme", Repo: "pdf"}},
		{"oci://localhost:5000/pdf:latest", Ref{Kind: OCI, Host: "localhost:5000", Repo: "pdf", Version: "latest"}},
		{"oci://[::1]:5000/a/b/c:1.4.2_b1", Ref{Kind: OCI, Host: "[::1]:5000", Owner: "a/b", Repo: "c", Version: "1.4.2_b1"}},
		{"oci://h/acme/pdf@^1.4", Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "pdf", Version: "^1.4"}},
		{"oci://h/acme/pdf@1.4.2", Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "pdf", Version: "1.4.2"}},
		{"oci://h/acme/pdf@" + digest, Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "pdf", Digest: digest}},
		{"oci://h/acme/pdf:1.4.2@" + digest, Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "pdf", Version: "1.4.2", Digest: digest}},
		{"oci://h/acme/set#pdf", Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "set", Skill: "pdf"}},
		{"oci://h/acme/set:1.0#pdf", Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "set", Skill: "pdf", Version: "1.0"}},
		{"oci://h:1/acme/set:1.0@" + digest + "#pdf", Ref{Kind: OCI, Host: "h:1", Owner: "acme", Repo: "set", Skill: "pdf", Version: "1.0", Digest: digest}},
		{"oci://h/acme/set#pdf@>=1, <2", Ref{Kind: OCI, Host: "h", Owner: "acme", Repo: "set", Skill: "pdf", Version: ">=1, <2"}},
		{"market:claude/superpowers/tdd", Ref{Kind: Market, Host: "claude", Owner: "superpowers", Path: "tdd"}},
		{"skl:canopy-runtime", Ref{Kind: Embedded, Skill: "canopy-runtime"}},
		{"skl:canopy@^1, <1.5", Ref{Kind: Embedded, Skill: "canopy", Version: "^1, <1.5"}},
		{"skl:canopy@1.0.0", Ref{Kind: Embedded, Skill: "canopy", Version: "1.0.0"}},
		{"skl:", Ref{Kind: Embedded}},
		{"skl:@^1", Ref{Kind: Embedded, Version: "^1"}},
		{"./dir//x/../y", Ref{Kind: Local, Path: "./dir/y"}},
		{"../../dir", Ref{Kind: Local, Path: "../../dir"}},
		{"/abs/dir", Ref{Kind: Local, Path: "/abs/dir"}},
		{"x.skill", Ref{Kind: Local, Path: "./x.skill"}},
		{"pack.tar.gz#pdf", Ref{Kind: Local, Path: "./pack.tar.gz", Skill: "pdf"}},
		{".", Ref{Kind: Local, Path: "."}},
		{`C:\x\y`, Ref{Kind: Local, Path: "C:/x/y"}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
		if tt.want.Kind == OCI && got.String() != strings.Replace(tt.in, "@1.4.2", ":1.4.2", 1) && tt.want.Skill == "" {
			t.Errorf("Parse(%q).String() = %q", tt.in, got)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("Parse(%q).String() = %q, which parses to %+v, %v", tt.in, got.String(), again, err)
		}
	}
}

// An address that programs read in different ways is refused before any of them sees it, and the error says how to write it.
func TestOddAddresses(t *testing.T) {
	for _, host := range []string{"127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0X7F.0.0.1", "127.0.0.1.", "127.0.0.01", "10.0.0.0x1", "1.2.3.4.5", "256.0.0.1", "a.1"} {
		for _, in := range []string{"git@" + host + ":o/r", "ssh://git@" + host + "/o/r", "git+ssh://git@" + host + ":22/o/r.git", "git+https://" + host + "/o/r.git", "git+http://" + host + ":80/o/r.git", "oci://" + strings.ToLower(host) + ":5000/o/r"} {
			r, err := Parse(in)
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || r != (Ref{}) || e.Class != diag.Misuse || !strings.Contains(strings.ToLower(e.Message), `host "`+strings.ToLower(host)+`"`) || len(e.Hints) != 1 {
				t.Errorf("Parse(%q) = %+v, %v", in, r, err)
			}
		}
	}
	for _, in := range []string{"git@127.0.0.1:o/r", "git+ssh://git@[::1]/o/r", "git+ssh://git@192.0.2.1/o/r", "git@0x7f.example:o/r", "git@1.example:o/r", "oci://127.0.0.1:5000/o/r", "oci://[::1]:5000/o/r", "git+file:///127.1/r"} {
		if _, err := Parse(in); err != nil {
			t.Errorf("Parse(%q): %v", in, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "pdf", "-x/y", "--upload-pack=touch x", "o/-r", "o/r@", "o/r@-x", "o/r@a..b", "o/r@x.lock", "o/r@x:y",
		"o/r/../x", "o/r//x/..", "github:o/r//../x", "github:o", "o/r#", "o/r#a/b",
		"git+ext::sh -c touch% x", "ext::sh -c x/y", "git+https://h/r.git//a\x1b[2J", "git+ssh://-oProxyCommand=x/y",
		"git+ssh://git@h;id/r.git", "git+ssh://git@h`id`/r.git", "git+ssh://git@$(id)/r.git", "git+ssh://git@h&id/r.git", "git+ssh://git@h'x/r.git", "git+ssh://a;b@h/r.git", "git+ssh://$(id)@h/r.git",
		"git+ssh://git@h%20x/r.git", "git+ssh://git@h%24x/r.git", "git+ssh://git@хост/r.git", "git+https://gіthub.com/o/r.git", "git+ssh://git@[fe80::1%25$x]/r.git", "git+https://h!x/r.git",
		"git+ssh://-oProxyCommand=x@h/r", "-x@h:o/r", "git@-oProxyCommand=x:o/r", "ssh://-oProxyCommand=x/y", "ssh://u:p@h/r.git", "git@h::x", "git@h:o/r?x",
		"https://github.com/o/r/releases/download/v1/x.skill", "https://github.com/o/r/pull/3", "https://github.com/o/r/issues", "https://github.com/o/r/wiki/Home", "https://github.com/o/r?token=x", "https://skills.sh/o", "https://skills.sh/o/r/-x", "https://raw.githubusercontent.com/o",
		"https://h.example/x.tar.gz", "http://h.example/a/x.zip#pdf", "o/.git",
		"github.com/o/../r", "git.corp.example/-o/r", "https://skills.sh/docs/a/b/c", "git+https://u:p@h/r.git", "git+https://token@h/r.git", "git+ssh://u:p@h/r.git", "git+https://h", "git+https:///r.git",
		"git+file://host/r.git", "git+https://h/-r", "git+https://h/r.git?x=1", "git+git://h/r.git", "git+rsync://h/r",
		"oci://h", "oci://h/", "oci:h/x", "oci://H/x", "oci://h/X", "oci://h/a..b", "oci://h/a/../b", "oci://h/-a", "oci://h/a:", "oci://h/a@", "oci://h:/a", "oci://h:99999/a",
		"oci://u@h/a/b", "oci://h/a:^1", "oci://h/a:.x", "oci://h/a@sha256:abc", "oci://h/a@md5:" + digest[7:39], "oci://h/a:1@^2", "oci://h/a#", "oci://h/a#b/c", "oci://h/a?x=1", "oci://-h/a", "oci://h/a@" + digest + "@^1",
		"skl:a/b", "skl:a//b", "skl:-a", "skl:A", "skl:a--b", "skl:a#b", "skl:#b", "skl:a:1", "skl:a@", "skl:@", "skl:..", "skl:con", "skl:é", "skl:a@x:y", "skl:canopy.", "skl",
		"market:x", "market:x/y/z/w", "npm:a/b", "https://x.example/y", "a/b\u202ec", "acme/pdf:1.4",
	} {
		if r, err := Parse(in); err == nil || r != (Ref{}) {
			t.Errorf("Parse(%q) = %+v, %v; want an error and the zero Ref", in, r, err)
		} else if diag.ClassOf(err) != diag.Misuse {
			t.Errorf("Parse(%q): class %d, want misuse", in, diag.ClassOf(err))
		}
	}
}

func TestColonWhereAtBelongs(t *testing.T) {
	_, err := Parse("acme/pdf-forms:1.4")
	e, ok := err.(*diag.Error)
	if !ok || len(e.Hints) != 1 || !strings.Contains(e.Hints[0], `"acme/pdf-forms@1.4"`) {
		t.Errorf("error %v has no hint to acme/pdf-forms@1.4", err)
	}
}

// A form that is refused says the command that it is likely to mean, and that parses.
func TestRefusedFormsLead(t *testing.T) {
	for in, want := range map[string]string{
		"@anthropics/skills":                     "skl install anthropics/skills",
		"<https://github.com/anthropics/skills>": "skl install https://github.com/anthropics/skills",
		"`o/r`":                                  "skl install o/r",
		" o/r":                                   "skl install o/r",
		"anthropics/skills pdf":                  "skl install anthropics/skills pdf",
		"skl install anthropics/skills pdf":      "skl install anthropics/skills pdf",
		"https://github.com/anthropics":          "skl install anthropics/REPO",
		"github.com/anthropics":                  "skl install anthropics/REPO",
		"github:anthropics":                      "skl install anthropics/REPO",
		"https://github.com/orgs/anthropics/repositories": "skl install anthropics/REPO",
		"https://gitlab.com/g":                            "skl install gitlab:g/REPO",
		"https://github.com/o/r/releases":                 "skl install o/r",
		"https://github.com/o/r/issues/4":                 "skl install o/r",
		"https://github.com/o/r/security/policy":          "skl install o/r",
		"https://codeberg.org/o/r/issues/4":               "skl install codeberg:o/r",
		"https://gitlab.com/g/s/r/-/issues/4":             "skl install gitlab:g/s/r",
		"npm:@o/pdf@1":                                    "skl search pdf",
		"pypi:o/pdf":                                      "skl install OWNER/REPO",
		"go:github.com/o/r":                               "skl install github.com/o/r",
		"git+file://work/x@v1":                            "skl install git+file:///work/x@v1",
		"git+file:/work/x":                                "skl install git+file:///work/x",
		"file://work/x":                                   "skl install git+file:///work/x",
		"file:///work/x":                                  "skl install git+file:///work/x",
		"git://h.example/o/r.git":                         "skl install git+https://h.example/o/r.git",
	} {
		_, err := Parse(in)
		e, ok := err.(*diag.Error)
		if !ok || !slices.ContainsFunc(e.Hints, func(h string) bool { return strings.HasSuffix(h, want) }) {
			t.Errorf("Parse(%q): %v has no hint %q", in, err, want)
		}
	}
	for _, in := range []string{"-x/y", "<>", "@", "a b", "pdf", "@@"} {
		if e, ok := func() (*diag.Error, bool) { _, err := Parse(in); e, ok := err.(*diag.Error); return e, ok }(); !ok || len(e.Hints) != 0 {
			t.Errorf("Parse(%q): %v, want no hint", in, e)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"acme/pdf@^1", "github:o/r//p@x", "git+ssh://git@h/r.git//p@x", "./x#y", "market:a/b/c", "https://github.com/o/r/tree/main/x", `C:\a`,
		"oci://h:5000/a/b:1", "oci://h/a/b#x:1@" + digest, "oci://h/a@^1, <2", "oci://[::1]/a__b#c", "skl:a-b@^1", "skl:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			if r != (Ref{}) {
				t.Fatalf("Parse(%q) returns an error and %+v", s, r)
			}
			return
		}
		again, err := Parse(r.String())
		if err != nil || again != r {
			t.Fatalf("Parse(%q) = %+v; String %q parses to %+v, %v", s, r, r.String(), again, err)
		}
		for _, field := range []string{r.Host, r.Owner, r.Repo, r.URL, r.Skill, r.Version} {
			if strings.HasPrefix(field, "-") {
				t.Fatalf("Parse(%q): field %q looks like an option", s, field)
			}
		}
	})
}

func ExampleParse() {
	r, _ := Parse("https://github.com/obra/superpowers/tree/main/skills/brainstorming")
	println(r.String()) // github:obra/superpowers//skills/brainstorming@main
}
