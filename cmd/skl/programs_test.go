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

// listens are the ways to listen at an address.
var listens = map[string][]string{
	"net":  {"Listen", "ListenTCP", "ListenUDP", "ListenUnix", "ListenUnixgram", "ListenPacket", "ListenIP", "ListenMulticastUDP", "ListenConfig"},
	"http": {"ListenAndServe", "ListenAndServeTLS"},
	"tls":  {"Listen"},
}

// addresses are all functions that listen: where, and who is answered.
var addresses = map[string]string{
	"cmd/skl/internal/admin/admin.go openLocal":   "a command on a registry's own data, on loopback while it runs: who has a secret that was drawn for it",
	"cmd/skl/internal/search/service.go Serve":    "skl index serve, at --addr: who has the key, and no page elsewhere",
	"registry/server/serve.go Listen":             "skl registry serve, at the address of registry.toml: tokens, and no page elsewhere",
	"runtime/model/mcp/child/tools.go Serve":      "the tools of one request, on loopback while an agent answers it: who has a path that was drawn for it",
	"runtime/sandbox/confined_darwin.go confined": "the proxy of one program, on loopback while it runs: nobody reaches more than the hosts that were consented to",
}

// TestPrograms holds that nothing but programs starts a program.
func TestPrograms(t *testing.T) { onlyThese(t, starts, programs, "starts a program") }

// TestAddresses holds that nothing but addresses listens.
func TestAddresses(t *testing.T) { onlyThese(t, listens, addresses, "listens") }

// onlyThese holds that the functions of the program that call one of calls are those of known, each with a reason.
func onlyThese(t *testing.T, calls map[string][]string, known map[string]string, does string) {
	t.Helper()
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
			for _, c := range callsIn(t, path, calls) {
				key := name + " " + c.in
				if known[key] == "" {
					t.Errorf("%s %s: name it in the table, with what decides which one and for whom", key, does)
				}
				used[key] = true
			}
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range known {
		if !used[key] {
			t.Errorf("the table names %q, which %s no more", key, does)
		}
	}
}
