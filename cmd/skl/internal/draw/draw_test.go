package draw

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

var update = flag.Bool("update", false, "rewrite golden files")

func uses(pairs ...string) (out []roots.HostUse) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, roots.HostUse{Host: pairs[i], Use: pairs[i+1]})
	}
	return out
}

const untagged = "0.0.0-20261104093000-3f9c2ab1d0e4"

func records(hosts int) []roots.Record {
	all := []string{"claude-code", "codex", "github-copilot", "gemini-cli", "cursor"}[:hosts]
	of := func(use ...string) (out []roots.HostUse) {
		for i, h := range all {
			out = append(out, roots.HostUse{Host: h, Use: use[i%len(use)]})
		}
		return out
	}
	return []roots.Record{
		{Name: "pdf-forms", Version: "1.4.2", Source: "acme registry", Scope: "project", State: roots.Active, Description: "Fill, flatten and check PDF forms. Use when a form has fields or boxes.", Hosts: of("loads")},
		{Name: "release-notes", Version: "2.0.1", Source: "acme registry", Scope: "project", State: roots.Active, Description: "Write notes.", Hosts: of("listed", "loads"),
			Warnings: []roots.Warning{{Code: "W_HOST_DIVERGENCE", Message: "your own copy in ~/.claude runs instead"}}},
		{Name: "fuzz-triage", Version: untagged, Source: "github.com/acme/handbook", Scope: "project", State: roots.Active, Description: "Sort crashes\nby cause", Hosts: of("loads", "unread")},
		{Name: "tidy", Scope: "user", State: roots.Untrusted, Hosts: of("untrusted")},
	}
}

func size(n int64) string { return fmt.Sprintf("%d kB", (n+500)/1000) }

func short(path string) string { return strings.Replace(path, "/home/ana", "~", 1) }

func agentsOf(dir string) []string {
	if dir == ".claude/skills" {
		return []string{"Claude Code"}
	}
	return nil
}

// screens are all that this package draws, on made-up results.
func screens() map[string]func(screen.Look) string {
	added := func(n int) (out []Added) {
		for i := range n {
			out = append(out, Added{Name: fmt.Sprintf("skill-%d", i), Version: untagged, Source: "acme/handbook", Files: 12, Bytes: 59_000, Signed: "unsigned", Root: ".agents/skills", Links: []string{".claude/skills"}})
		}
		return out
	}
	commit := []string{"skl.toml", "skl.lock", ".agents"}
	checked := inspect.Checked{Checks: []inspect.CheckItem{{Check: "lock", OK: true}, {Check: "files", Detail: []string{"release-notes: SKILL.md +1 -0 since it was installed, and another file that has a long name is missing"}, Mend: []string{"skl diff release-notes"}},
		{Check: "conflicts", Detail: []string{"ocr-scan: Claude Code runs ~/.claude/skills/ocr-scan", "pdf: two copies"}, Mend: []string{"skl list --shadowed"}}, {Check: "signatures", OK: true}, {Check: "policy", OK: true}}}
	doctor := []inspect.Finding{{Area: "git", Level: "ok", Detail: "2.47"}, {Area: "login", Level: "note", Detail: "github.com: no credential, public repositories only", Mend: "gh auth login, or set GH_TOKEN"},
		{Area: "link", Level: "problem", Detail: ".claude/skills/pdf-forms points nowhere", Mend: "skl doctor --fix"}}
	findings := []diag.Finding{{File: "skills/pdf-forms/SKILL.md", Line: 2, Column: 7, Rule: "SPEC-NAME-DIR", Severity: diag.SeverityError, Message: "the folder is called pdf-forms"},
		{File: "skills/pdf-forms/SKILL.md", Line: 4, Column: 14, Rule: "PKG-LINK", Severity: diag.SeverityWarning, Message: "no such file; did you mean references/fields.md?", Fix: &diag.Fix{Note: "write references/fields.md"}},
		{File: "skills/pdf-forms/other.md", Rule: "PKG-SIZE", Severity: diag.SeverityError, Message: "too large"}}
	read := func(file string) []string {
		if strings.HasSuffix(file, "SKILL.md") {
			return []string{"---", "name: pdf-form", "---", "See [fields](reference/fields.md)."}
		}
		return nil
	}
	copies := []roots.Record{
		{Name: "release-notes", Path: "/home/ana/work/.agents/skills/release-notes", Source: "acme registry", Version: "2.0.1", State: roots.Active, Scope: "project", Digest: "a", Hosts: uses("claude-code", "listed", "codex", "loads")},
		{Name: "release-notes", Path: "/home/ana/.claude/skills/release-notes", State: roots.Shadowed, Scope: "user", Digest: "b", Hosts: uses("claude-code", "loads", "codex", "unread")},
		{Name: "alone", Path: "/x", State: roots.Active}}
	return map[string]func(screen.Look) string{
		"install-one": func(k screen.Look) string {
			return After(k, added(1), Sequel{[]string{"Gemini CLI does not read skill-0"}, "agents see it from their next start", commit, "skl remove skill-0"}, agentsOf, size)
		},
		"install-many": func(k screen.Look) string {
			return After(k, added(77), Sequel{nil, "agents see it from their next start", commit, "skl remove --from acme/skills"}, agentsOf, size)
		},
		"before-one": func(k screen.Look) string {
			one := added(1)
			one[0].Asks = []string{"runs commands when an agent loads it; runs git"}
			return Before(k, one, size)
		},
		"before-many": func(k screen.Look) string {
			many := added(77)
			many[3].Asks = []string{"runs commands when an agent loads it; runs git"}
			return Before(k, many, size)
		},
		"held": func(k screen.Look) string {
			return Held(k, []apply.Held{{Name: "proxy-notes", Code: "load_commands", Why: "runs 2 commands when an agent loads it", Hints: []string{"accept that: add --accept load-command"}},
				{Path: "skills/a/very/long/path/of/a/skill", Code: "E_NO_DESCRIPTION", Why: "its SKILL.md has no description"}})
		},
		"requests": func(k screen.Look) string {
			var b strings.Builder
			h := NewLog(slog.LevelInfo, func() screen.Look { return k }, func(text string) { b.WriteString(text) })
			at := time.Date(2026, 11, 4, 18, 36, 3, 0, time.UTC)
			for _, attrs := range [][]slog.Attr{
				{slog.String("method", "PUT"), slog.String("path", "/v2/acme/pdf-forms/manifests/1.5.0"), slog.Int("status", 201), slog.Int64("out", 61_000), slog.Duration("took", 12*time.Millisecond), slog.String("account", "ana")},
				{slog.String("method", "GET"), slog.String("path", "/v2/a/very/long/path/of/blobs/that/goes/on/and/on/sha256:0000000000000000000000000000000000000000000000000000"), slog.Int("status", 404), slog.Int64("out", 12), slog.Duration("took", time.Millisecond), slog.String("account", "")},
			} {
				r := slog.NewRecord(at, slog.LevelInfo, "request", 0)
				r.AddAttrs(attrs...)
				h.Handle(context.Background(), r)
			}
			r := slog.NewRecord(at, slog.LevelWarn, "a scan failed\x1b[2J", 0)
			r.AddAttrs(slog.String("name", "acme/pdf"))
			h.WithAttrs([]slog.Attr{slog.String("part", "scan")}).Handle(context.Background(), r)
			return b.String()
		},
		"update": func(k screen.Look) string {
			return Update(k, Updated{Name: "ocr-scan", From: "1.4.2", To: "1.5.0", Content: "3 files +41 -6, ", Asks: []string{"+ net:api.ocr.example  scripts/ocr.py:12", "+ env:OCR_KEY  scripts/ocr.py:9", "- write:."}}) +
				Update(k, Updated{Name: "release-notes", From: "2.0.1", To: untagged, Content: "text only"}) +
				Next(k, Sequel{nil, "agents see it from their next start", []string{"skl.toml", "skl.lock"}, "skl install acme/ocr-scan@1.4.2 acme/release-notes@2.0.1"})
		},
		"list":       func(k screen.Look) string { return List(k, records(1)) },
		"list-three": func(k screen.Look) string { return List(k, records(3)) },
		"list-five":  func(k screen.Look) string { return List(k, records(5)) },
		"shadowed":   func(k screen.Look) string { return Shadowed(k, copies, short) },
		"info": func(k screen.Look) string {
			return Info(k, inspect.Skill{Name: "pdf-forms", Version: "1.4.2", Source: "acme registry", Description: "Fill, flatten and check PDF forms. Use when a form has fields or boxes.", Files: 12, Bytes: 59_000,
				Scripts: []string{"a.py", "b.py"}, AllowedTools: []string{"python3"}, Signed: "release@acme.example", Costs: inspect.Costs{Always: 96, Used: 2140}, Agents: []inspect.Agent{{Name: "Claude Code", Takes: true}, {Name: "Codex"}, {Name: "Gemini CLI"}}, Needs: []string{"pdf-text"}, Versions: []string{"2.0.0-rc.1", "1.4.2", "1.4.1", "1.4.0-rc.1", "1.3.0", "1.2.0"}, LoadCommands: []string{"git status"}, License: "Apache-2.0", URL: "https://git.acme.example/a/very/long/way/to/the/repository/of/forms.git", Commit: "3f9c2ab1d0e4"}, size(59_000), short)
		},
		"suspended": func(k screen.Look) string {
			return Suspended(k, Waiting{Skill: "relnotes", Question: "Publish these notes?", Done: 5, Of: 7, Tokens: 4123, Next: "skl resume last --answer 'Publish these notes?=Publish'"})
		},
		"gained": func(k screen.Look) string {
			return Gained(k, apply.Gain{Name: "ocr-scan", From: "1.4.2", To: "1.5.0", Wishes: []apply.Wish{{Skill: "ocr-scan", Permission: "load-command", Lines: []string{"SKILL.md:12  !`git status`", "SKILL.md:14  !`curl https://api.ocr.example/v1/with/a/long/address/that/goes/on`"}}}})
		},
		"search": func(k screen.Look) string {
			return Search(k, "pdf form fields", search.Skills{Total: 1310, Skills: []search.Skill{{Name: "pdf-forms", Ref: "acme/pdf-forms", Version: "1.4.2", Registry: "acme", Installed: true, Description: "Fill, flatten and check PDF forms. Use when a form has fields"},
				{Name: "pdf-extract", Ref: "acme/pdf-extract", Version: "0.3.0", Registry: "acme", Description: "Read text and tables out of PDF pages"}}})
		},
		"outdated": func(k screen.Look) string {
			return Outdated(k, []apply.Outdated{{Name: "ocr-scan", Locked: "1.4.2", Wanted: "1.5.0", Latest: "2.0.0", Ref: "acme/ocr-scan"}, {Name: "release-notes", Locked: "2.0.1", Wanted: "2.0.1", Latest: "3.0.0", Ref: "acme/release-notes"},
				{Name: "tidy-csv", Locked: "0.9.0", Wanted: "0.9.1", Latest: "0.9.1", Ref: "acme/tidy-csv", Held: "breaks import"},
				{Name: "old-rules", Locked: "1.0.0", Ref: "acme/old-rules", Gone: "since 1.2.0"},
				{Name: "new-rules", Locked: "1.0.0", Wanted: "1.1.0", Ref: "acme/new-rules", Gone: "since 2.0.0"},
				{Name: "fuzz", Locked: "1.0.0", Ref: "acme/fuzz", Troubles: apply.Troubles{Moved: "fuzz 1.0.0 moved in https://git.example/acme/fuzz.git: it was 3f9c2ab1d0e4 in skl.lock, and is 7d41e09bd0e4", Hints: []string{"if its author says why: skl update fuzz --accept moved"}}}}, 31)
		},
		"diff": func(k screen.Look) string {
			return Diff(k, inspect.Diff{Name: "ocr-scan", From: "1.4.2", To: "1.5.0", Files: []trees.FileDiff{{Path: "scripts/ocr.py", Change: "changed", Add: 2, Remove: 1, Text: "@@ -9,1 +9,2 @@\n-key = None\n+key = os.environ[\"OCR_KEY\"]\n+urlopen(\"https://api.ocr.example/v1/with/a/long/address/that/goes/on/and/on/for/ever\")\n"}}}, false)
		},
		"check": func(k screen.Look) string {
			return Check(k, checked)
		},
		"check-off": func(k screen.Look) string {
			off := inspect.CheckItem{Check: "off", OK: true, Detail: []string{"pdf-forms: codex is told not to load it, in ~/.codex/config.toml: skills.config, name = \"pdf-forms\""}}
			return Check(k, inspect.Checked{OK: true, Checks: []inspect.CheckItem{{Check: "lock", OK: true}, off, {Check: "audit", OK: true}}})
		},
		"list-off": func(k screen.Look) string {
			off := records(3)[:1]
			off[0].Hosts = []roots.HostUse{{Host: "claude-code", Use: "off"}, {Host: "codex", Use: "loads", Unclear: []string{"/home/ana/.codex/config.toml"}}}
			off[0].Warnings = []roots.Warning{{Code: "W_OFF", Message: "claude-code is told not to load it, in .claude/settings.json:3: skillOverrides"}}
			return List(k, off)
		},
		"doctor": func(k screen.Look) string { return Doctor(k, doctor) },
		"lint":   func(k screen.Look) string { return Lint(k, findings, 1, 1, "skl lint --fix", read) },
		"publish": func(k screen.Look) string {
			return Publish(k, Publishing{Name: "acme/pdf-forms", Version: "1.5.0", To: "registry.acme.example", Size: "61 kB", Files: 12, Signer: "release@acme.example", Entry: 1205, State: "waits", Reason: "acme wants a second maintainer",
				Next: "skl registry approve acme/pdf-forms@1.5.0"})
		},
	}
}

var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Each screen at each width, with and without colours and Unicode: nothing is wider than the terminal but commands to copy,
// and colour changes no character.
func TestScreensAsDrawn(t *testing.T) {
	for name, draw := range screens() {
		var b strings.Builder
		for _, k := range []screen.Look{{Width: 80}, {Width: 80, Signs: screen.ASCII}, {Width: 120}, {Width: 60}, {Width: 40}, {Width: 80, Color: true}} {
			text := draw(k)
			fmt.Fprintf(&b, "%d columns%s%s\n%s\n", k.Width, map[bool]string{true: ", colours"}[k.Color], map[screen.Signs]string{screen.ASCII: ", ASCII"}[k.Signs], strings.ReplaceAll(text, "\x1b", "^"))
			painted := k
			painted.Color = true
			bare := sequences.ReplaceAllString(draw(painted), "")
			if !k.Color && bare != text {
				t.Errorf("%s: colours change\n%sto\n%s", name, text, bare)
			}
			for line := range strings.Lines(bare) {
				line = strings.TrimSuffix(line, "\n")
				if command := strings.Contains(line, "skl ") || strings.Contains(line, "git add"); screen.Width(line) >= k.Width && !command {
					t.Errorf("%s at %d columns: %q is %d wide", name, k.Width, line, screen.Width(line))
				}
			}
			if k.Signs == screen.ASCII && strings.ContainsAny(text, "✓✗▸▾◌→…·") {
				t.Errorf("%s without Unicode:\n%s", name, text)
			}
		}
		file := filepath.Join("testdata", name+".txt")
		if *update {
			os.MkdirAll("testdata", 0o755)
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s:\n%swant\n%s", name, b.String(), want)
		}
	}
}

func TestVersion(t *testing.T) {
	for in, want := range map[string]string{untagged: "3f9c2ab1 (4 Nov 2026)", "1.4.2": "1.4.2", "0.0.0-x": "0.0.0-x", "": "", "0.0.0-20269904093000-3f9c2ab1d0e4": "0.0.0-20269904093000-3f9c2ab1d0e4"} {
		if got := screen.Version(in); got != want {
			t.Errorf("screen.Version(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFrom(t *testing.T) {
	for _, c := range []struct{ source, url, want string }{
		{"git", "https://github.com/acme/handbook.git", "github.com/acme/handbook"},
		{"git", "ssh://git@git.example:2222/acme/handbook.git", "git.example:2222/acme/handbook"},
		{"git", "file:///srv/forge/acme/tools.git", "/srv/forge/acme/tools"},
		{"git", "https://git.example/a@b/c", "git.example/a@b/c"},
		{"oci", "oci://registry.example/acme/pdf", "registry.example/acme/pdf"},
		{"registry", "https://registry.example/", "registry registry.example"},
		{"embedded", "", "skl itself"},
		{"local", "", "a folder"},
		{"npm", "", "npm"},
		{"", "", ""},
	} {
		if got := From(c.source, c.url); got != c.want {
			t.Errorf("From(%q, %q) = %q, want %q", c.source, c.url, got, c.want)
		}
	}
}
