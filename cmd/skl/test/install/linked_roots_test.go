package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/testdata/long"
)

// folders are what people make links of, and to: directories of agents, roots, and places of skills.
var folders = []string{
	".agents", ".agents/skills", ".claude", ".claude/skills", ".github", ".github/skills", "tools", "tools/skills", "skills",
	".agents/skills/pdf", ".agents/skills/ocr", ".claude/skills/pdf", ".claude/skills/ocr", "tools/skills/ocr", "skills/pdf",
}

// No command removes the last copy of anything, however somebody links directories to each other: a skill that was not asked to be
// removed stays somewhere, and so does every text that somebody wrote.
func TestLinkedRoots(t *testing.T) {
	for seed := range uint64(long.Of(15, 80, 3000)) {
		if !linkedRoots(t, seed, nil) {
			break
		}
	}
}

// These were lost once.
func TestLinkedRootsOnce(t *testing.T) {
	for _, steps := range []string{
		"rm -rf .claude/skills; ln -s ../.agents/skills .claude/skills",
		"rm -rf .claude; ln -s .agents .claude",
		"rm -rf .claude/skills; mv .agents/skills .claude/skills; ln -s ../.claude/skills .agents/skills",
		"rm -rf .claude; mv .agents .claude; ln -s .claude .agents",
		"rm -rf .claude/skills/pdf; mv .agents/skills/pdf .claude/skills/pdf; ln -s ../../.claude/skills/pdf .agents/skills/pdf",
	} {
		for seed := range uint64(long.Of(4, 8, 40)) {
			linkedRoots(t, seed, &steps)
		}
	}
}

// linkedRoots is one case: an install, links made by hand (made, or some by chance), and commands.
func linkedRoots(t *testing.T, seed uint64, made *string) bool {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	dir := t.TempDir()
	d := &linkDesk{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), user: rng.IntN(4) == 0}
	base := d.project
	if d.user {
		base = d.home
	}
	mustShell(t, dir, "mkdir -p home project/.git")
	for _, name := range []string{"pdf", "ocr"} {
		mustShell(t, dir, fmt.Sprintf("mkdir -p source/%[1]s; printf -- '---\nname: %[1]s\ndescription: Reads %[1]s.\n---\n# %[1]s\n' >source/%[1]s/SKILL.md", name))
	}
	if rng.IntN(3) == 0 {
		mustShell(t, dir, "printf '[targets]\nlinks = \"copy\"\n' >project/skl.toml")
	}
	var log []string
	skl := func(args ...string) string {
		code, out := d.skl(args...)
		log = append(log, fmt.Sprintf("$ skl %s  # exit %d\n%s", strings.Join(args, " "), code, out))
		return out
	}
	source := func(name string) string { return filepath.Join(dir, "source", name) }
	skl("install", source("pdf"), "--host", "claude-code", "--host", "github-copilot")
	if rng.IntN(3) == 0 && !d.user {
		skl("install", source("ocr"), "--root", "tools/skills", "--host", "claude-code")
	} else {
		skl("install", source("ocr"), "--host", "claude-code")
	}
	texts := 0
	for range 1 + rng.IntN(3) {
		step := ""
		switch x, y := folders[rng.IntN(len(folders))], folders[rng.IntN(len(folders))]; {
		case made != nil:
			step, made = *made, nil
		case rng.IntN(5) == 0: // somebody writes something
			texts++
			step = fmt.Sprintf("echo 'text %d of somebody' >>%s/SKILL.md", texts, x)
		case x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/"):
			continue
		default:
			text, _ := filepath.Rel(filepath.Dir(x), y)
			step = []string{
				fmt.Sprintf("rm -rf %s; mkdir -p %s; ln -s %s %s", x, filepath.Dir(x), text, x),
				fmt.Sprintf("test -e %s && test ! -L %[1]s && rm -rf %[2]s; mkdir -p %[3]s; mv %[1]s %[2]s && ln -s %[4]s %[1]s", x, y, filepath.Dir(y), text),
				fmt.Sprintf("test -d %s && mkdir -p %s && cp -an %[1]s/. %[2]s/ && rm -rf %[1]s && ln -s %[3]s %[1]s", x, y, text),
			}[rng.IntN(3)]
		}
		mustShell(t, base, "("+step+") >/dev/null 2>&1 || :")
		log = append(log, "$ "+step)
	}
	for range 1 + rng.IntN(3) {
		args := [][]string{
			{"ci"}, {"install"}, {"install", "--force"}, {"update"}, {"update", "--force"}, {"doctor", "--fix"}, {"remove", "ocr"}, {"remove", "ocr", "--force"},
			{"disable", "pdf"}, {"enable", "pdf"}, {"install", source("pdf")}, {"install", source("ocr"), "--root", ".claude/skills"}, {"ci"}, {"install"},
		}[rng.IntN(14)]
		before := kept(t, base)
		skl(args...)
		after := kept(t, base)
		for _, have := range before {
			asked := args[0] == "remove" && have == "# "+args[1]
			if !asked && !slices.Contains(after, have) {
				t.Errorf("seed %d: %q is nowhere any more\n%s", seed, have, strings.Join(log, "\n"))
				return false
			}
		}
	}
	return true
}

// kept are the texts that lie below dir and are nowhere else: the headings of skills, and what somebody wrote.
func kept(t *testing.T, dir string) (lines []string) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for line := range bytes.Lines(data) {
			if s := strings.TrimSpace(string(line)); strings.HasPrefix(s, "# pdf") || strings.HasPrefix(s, "# ocr") || strings.HasPrefix(s, "text ") {
				lines = append(lines, s)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
