package main

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// starts are the ways to start a program.
var starts = map[string][]string{
	"exec":    {"Command", "CommandContext", "Cmd"},
	"os":      {"StartProcess"},
	"syscall": {"Exec", "ForkExec", "StartProcess", "CreateProcess"},
	"unix":    {"Exec"},
	"windows": {"CreateProcess", "ShellExecute"},
}

// programs are all functions that start one: which, where, and why what a clone brings decides neither. git is started in bare
// repositories of skl's own alone: in any other directory configuration and attributes may name programs of somebody else.
var programs = map[string]string{
	"cmd/skl/internal/ui/pager.go Paged":                 "the pager that the user's environment names, where the user is; it reads what is shown from its standard input",
	"cmd/skl/internal/search/background.go goOn":         "skl itself, to go on with an index",
	"runtime/sandbox/internal/stage/stage_linux.go main": "the program that was consented to, once skl has confined itself",
	"registry/client/origin/store.go run":                "git credential, docker-credential-NAME and token commands of the user's configuration, in the program's own directory",
	"registry/server/scan.go ScanCommand":                "the scan command of registry.toml, with an archive of the registry's own",
	"resolver/source/git/sysgit.go command":              "git, in a bare repository that skl made in its cache, with hooks and protocols set by arguments",
	"runtime/model/mcp/child/child.go Run":               "the agent that the user chose as the model, in a private directory",
	"runtime/sandbox/confined_darwin.go package":         "the system's own sandbox, to see whether it works",
	"runtime/sandbox/confined_linux.go launch":           "skl itself, which confines itself before it becomes the program that was consented to",
	"runtime/sandbox/plain.go plain":                     "the program that was consented to, without a sandbox where the user said so",
	"runtime/tool/mcp.go transport":                      "an MCP server that was consented to",
}

// TestPrograms holds that nothing but programs starts a program.
func TestPrograms(t *testing.T) {
	used := map[string]bool{}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.ToSlash(strings.TrimPrefix(path, top+string(filepath.Separator))); {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || name == "cmd/skl/test" || strings.HasSuffix(name, "test") && name != top):
			return fs.SkipDir // what tests are made of
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		default:
			for _, c := range callsIn(t, path, starts) {
				key := name + " " + c.in
				if programs[key] == "" {
					t.Errorf("%s starts a program: name it in programs, with what decides which program it is and where it runs", key)
				}
				used[key] = true
			}
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range programs {
		if !used[key] {
			t.Errorf("programs names %q, which starts none", key)
		}
	}
}
