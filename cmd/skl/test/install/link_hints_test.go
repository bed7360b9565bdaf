package install

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/testdata/long"
)

// A mess is a project with an installed skill of which something is in the way or gone.
type mess struct {
	name    string
	links   string   // of [targets]
	user    bool     // in the scope of the user
	make    string   // shell commands, in the base directory
	only    []string // commands that see it; nil: check, status and doctor
	healthy bool     // nothing is wrong
}

var messes = []mess{
	{name: "nothing wrong", make: ":", healthy: true},
	{name: "link missing", make: "rm .claude/skills/pdf"},
	{name: "folder of links missing", make: "rm -r .claude/skills"},
	{name: "foreign folder", make: "rm .claude/skills/pdf; mkdir .claude/skills/pdf; echo mine >.claude/skills/pdf/SKILL.md"},
	{name: "foreign folder, empty", make: "rm .claude/skills/pdf; mkdir .claude/skills/pdf"},
	{name: "foreign file", make: "rm .claude/skills/pdf; echo mine >.claude/skills/pdf"},
	{name: "empty file", make: "rm .claude/skills/pdf; : >.claude/skills/pdf"},
	{name: "text of the link", make: "rm .claude/skills/pdf; printf ../../.agents/skills/pdf >.claude/skills/pdf"},
	{name: "dangling link", make: "ln -sfn ../../nowhere .claude/skills/pdf"},
	{name: "link to elsewhere", make: "mkdir elsewhere; ln -sfn ../../elsewhere .claude/skills/pdf"},
	{name: "link to itself", make: "ln -sfn pdf .claude/skills/pdf"},
	{name: "link out of the project", make: "ln -sfn /nowhere/pdf .claude/skills/pdf"},
	{name: "file for a folder of links", make: "rm -r .claude/skills; echo mine >.claude/skills"},
	{name: "file for the agent's folder", make: "rm -r .claude; echo mine >.claude"},
	{name: "dangling link for a folder of links", make: "rm -r .claude/skills; ln -s ../nowhere .claude/skills"},
	{name: "link of a skill that is gone", make: "ln -s ../../.agents/skills/gone .claude/skills/gone", only: []string{"doctor"}},
	{name: "skill missing", make: "rm -r .agents/skills/pdf"},
	{name: "file for the skill", make: "rm -r .agents/skills/pdf; echo mine >.agents/skills/pdf"},
	{name: "link for the skill", make: "mkdir elsewhere; rm -r .agents/skills/pdf; ln -s ../../elsewhere .agents/skills/pdf"},
	{name: "dangling link for the skill", make: "rm -r .agents/skills/pdf; ln -s ../../nowhere .agents/skills/pdf"},
	{name: "empty folder for the skill", make: "rm -r .agents/skills/pdf; mkdir .agents/skills/pdf"},
	{name: "root missing", make: "rm -r .agents"},
	{name: "file for the root", make: "rm -r .agents/skills; echo mine >.agents/skills"},
	{name: "dangling link for the root", make: "rm -r .agents/skills; ln -s ../nowhere .agents/skills"},
	{name: "receipt missing", make: "rm .agents/skills/.skl/pdf.json"},
	{name: "receipt damaged", make: "echo mine >.agents/skills/.skl/pdf.json"},
	{name: "receipt of another skill", make: "sed -i s/pdf/ocr/ .agents/skills/.skl/pdf.json"},
	{name: "file for the receipts", make: "rm -r .agents/skills/.skl; echo mine >.agents/skills/.skl"},
	{name: "copy missing", links: "copy", make: "rm -r .claude/skills/pdf"},
	{name: "copy edited", links: "copy", make: "echo mine >>.claude/skills/pdf/SKILL.md"},
	{name: "copy with other line endings", links: "copy", make: `sed -i 's/$/\r/' .claude/skills/pdf/SKILL.md`},
	{name: "copy without a receipt", links: "copy", make: "rm .claude/skills/.skl/pdf.json"},
	{name: "link for a copy", links: "copy", make: "rm -r .claude/skills/pdf; ln -s ../../.agents/skills/pdf .claude/skills/pdf"},
	{name: "foreign folder for a copy", links: "copy", make: "rm -r .claude/skills/pdf .claude/skills/.skl; mkdir .claude/skills/pdf; echo mine >.claude/skills/pdf/other"},
	{name: "foreign file for a copy", links: "copy", make: "rm -r .claude/skills/pdf; echo mine >.claude/skills/pdf"},
	{name: "link of the user missing", user: true, make: "rm .claude/skills/pdf"},
	{name: "foreign folder of the user", user: true, make: "rm .claude/skills/pdf; mkdir .claude/skills/pdf"},
}

// A way is one thing that a hint says to do.
var way = regexp.MustCompile(`move (\S+) away|skl [a-z]+(?: (?:--[a-z]+(?: (?:user|project|claude-code))?|pdf\b))*`)

// onlyShows are ways that change nothing.
var onlyShows = regexp.MustCompile(`^skl (diff|list|verify)`)

// Whatever is wrong with a link, what check, status and doctor say to do about it puts it right: each hint is carried out, in a
// fresh copy of the mess, and then nothing is wrong any more.
func TestLinkHintsHeal(t *testing.T) {
	for at, m := range messes {
		if at%long.Of(10, 3, 1) != 0 {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			commands := m.only
			if commands == nil {
				commands = []string{"check", "status", "doctor"}
			}
			for _, command := range commands {
				d := makeMess(t, m)
				code, out, hints := d.look(command)
				if m.healthy {
					if code != 0 || len(hints) > 0 {
						t.Errorf("%s: exit %d, %q\n%s", command, code, hints, out)
					}
					continue
				}
				if code == 0 || len(hints) == 0 {
					t.Errorf("%s: exit %d, and no hint:\n%s", command, code, out)
					continue
				}
				healing := 0
				for i, hint := range hints {
					for j, alternative := range strings.Split(hint, ", or ") {
						if strings.TrimPrefix(alternative, "or ") == "restore it from version control" {
							continue
						}
						steps := way.FindAllStringSubmatch(alternative, -1)
						if len(steps) == 0 {
							t.Errorf("%s: %q says nothing to do", command, hint)
							continue
						}
						if onlyShows.MatchString(steps[0][0]) && len(steps) == 1 {
							continue
						}
						healing++
						d := makeMess(t, m)
						_, _, hints := d.look(command)
						done := d.follow(way.FindAllStringSubmatch(strings.Split(hints[i], ", or ")[j], -1))
						for _, after := range []string{"check", "doctor"} {
							if code, out, _ := d.look(after); code != 0 {
								t.Errorf("%s: after %q %s is exit %d:\n%s%s", command, alternative, after, code, done, out)
							}
						}
					}
				}
				if healing == 0 {
					t.Errorf("%s: none of %q mends it:\n%s", command, hints, out)
				}
			}
		})
	}
}

// A linkDesk is a project and a home in which a skill was installed.
type linkDesk struct {
	t             *testing.T
	home, project string
	user          bool
}

func (d *linkDesk) skl(args ...string) (code int, out string) {
	var b bytes.Buffer
	env := []string{"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "SKL_INDEX_BACKGROUND=off", "SKL_OFFLINE=1"}
	if d.user {
		args = append([]string{"--scope", "user"}, args...)
	}
	code = cli.Run(d.t.Context(), args, cli.Process{Dir: d.project, Environ: env, Stdout: &b, Stderr: &b})
	return code, b.String()
}

func makeMess(t *testing.T, m mess) *linkDesk {
	t.Helper()
	dir := t.TempDir()
	d := &linkDesk{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), user: m.user}
	base := d.project
	if m.user {
		base = d.home
	}
	mustShell(t, dir, "mkdir -p home project/.git source/pdf; printf -- '---\nname: pdf\ndescription: Fills forms.\n---\n# PDF\n' >source/pdf/SKILL.md")
	if m.links != "" {
		mustShell(t, dir, fmt.Sprintf("printf '[targets]\nlinks = \"%s\"\n' >project/skl.toml", m.links))
	}
	if code, out := d.skl("install", filepath.Join(dir, "source", "pdf"), "--host", "claude-code"); code != 0 {
		t.Fatalf("install: exit %d\n%s", code, out)
	}
	mustShell(t, base, m.make)
	return d
}

// look runs a command, and gives its hints.
func (d *linkDesk) look(command string) (code int, out string, hints []string) {
	code, out = d.skl(command)
	for line := range strings.Lines(out) {
		if hint, ok := strings.CutPrefix(strings.TrimSpace(line), "skl: hint: "); ok {
			hints = append(hints, hint)
		}
	}
	return code, out, hints
}

// follow does what the steps of a hint say.
func (d *linkDesk) follow(steps [][]string) (done string) {
	for i, s := range steps {
		if s[1] != "" {
			from := s[1]
			if rest, ok := strings.CutPrefix(from, "~/"); ok {
				from = filepath.Join(d.home, rest)
			} else if !filepath.IsAbs(from) {
				from = filepath.Join(d.project, from)
			}
			if err := os.Rename(from, filepath.Join(d.t.TempDir(), fmt.Sprint(i))); err != nil {
				d.t.Errorf("moving away: %v", err)
			}
			continue
		}
		args := strings.Fields(s[0])[1:]
		code, out := d.skl(args...)
		done += fmt.Sprintf("$ %s\n%s", s[0], out)
		if code != 0 && args[0] == "install" {
			d.t.Errorf("%s: exit %d\n%s", s[0], code, out)
		}
	}
	return done
}

func mustShell(t *testing.T, dir, commands string) {
	t.Helper()
	c := exec.Command("sh", "-ec", commands)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
}
