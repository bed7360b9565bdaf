package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Universe OWNER/REPO FILE: publishes the releases that FILE lists, one a line: the name of a skill, its version, and what it needs as
// NAME@RANGE of the same repository, or as a ref with a range. Each has a tag of its own, name-v1.2.0.
func (f *Forge) Universe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: universe OWNER/REPO FILE")
	}
	dir := filepath.Join(ts.Getenv("WORK"), "universe", filepath.FromSlash(args[0]))
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 {
			ts.Fatalf("%s: %q is not NAME VERSION NEEDS…", args[1], line)
		}
		name, version := words[0], words[1]
		at := filepath.Join(dir, "skills", name)
		ts.Check(os.MkdirAll(at, 0o777))
		needs := "[skills]\n"
		for _, need := range words[2:] {
			other, asked, _ := strings.Cut(need, "@")
			short := other[strings.LastIndexByte(other, '/')+1:]
			if short == other {
				other = args[0] + "/" + other
			}
			key := "version"
			if branch, ok := strings.CutPrefix(asked, "branch="); ok {
				key, asked = "branch", branch
			}
			needs += fmt.Sprintf("%s = { ref = %q", short, other)
			if asked != "" {
				needs += fmt.Sprintf(", %s = %q", key, strings.ReplaceAll(asked, ",", " "))
			}
			needs += " }\n"
		}
		ts.Check(os.WriteFile(filepath.Join(at, "skl.toml"), []byte(needs), 0o666))
		if len(words) == 2 {
			ts.Check(os.Remove(filepath.Join(at, "skl.toml")))
		}
		ts.Check(os.WriteFile(filepath.Join(at, "SKILL.md"), fmt.Appendf(nil, "---\nname: %s\ndescription: Does %s %s.\n---\n# It\n", name, name, version), 0o666))
		f.Publish(ts, false, []string{dir, args[0], name + "-v" + version})
	}
}

// follow N: runs what the Nth hint of the last command says, which has to work.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 1 {
		fmt.Sscan(args[0], &n)
	}
	if neg || n < 1 {
		ts.Fatalf("usage: follow N")
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		hint, ok := strings.CutPrefix(line, "skl: hint: ")
		if !ok {
			continue
		}
		if n--; n == 0 {
			command := hint[strings.Index(hint, "skl "):]
			ts.Check(ts.Exec("sh", "-c", "exec "+command))
			return
		}
	}
	ts.Fatalf("there is no such hint")
}
