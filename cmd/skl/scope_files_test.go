package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scopePackages are those that touch the files of a scope: skl.toml, skl.lock, roots, receipts and
// the files of agents. They do it through a within.Dir, which no link leads out of.
var scopePackages = []string{"../../install", "../../install/roots", "../../install/hosts", "internal/cli", "internal/scope", "internal/plan", "internal/trees", "internal/signature", "internal/apply", "internal/inspect", "internal/search",
	"internal/form", "internal/session", "internal/evaluate", "internal/ship",
	"internal/admin", "internal/account", "internal/author", "internal/packages", "internal/demo"}

// fileCalls are functions that take a path and follow the links in it.
var fileCalls = map[string][]string{
	"os": {
		"Open", "OpenFile", "Create", "ReadFile", "WriteFile", "ReadDir", "DirFS", "CopyFS", "Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll",
		"MkdirTemp", "CreateTemp", "Symlink", "Link", "Chmod", "Chown", "Chtimes", "Truncate", "OpenRoot", "Stat",
	},
	"durable":  {"WriteFile", "SyncDir", "ReadFile", "OpenFile", "DirFS"},
	"filepath": {"WalkDir", "Walk", "Glob"},
	"ioutil":   {"ReadFile", "WriteFile", "ReadDir"},
}

// TestScopeFiles holds that scopePackages call none of fileCalls, apart from functions that
// outsideScopes names, each for a reason.
func TestScopeFiles(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range scopePackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", dir, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, c := range callsIn(t, file, fileCalls) {
				key := strings.TrimPrefix(filepath.ToSlash(file), "../../") + " " + c.in
				if outsideScopes[key] == "" {
					t.Errorf("%s:%d: %s in %s: the files of a scope are reached through a within.Dir; "+
						"if this is none of them, name it in outsideScopes with the reason: %q", file, c.line, c.call, c.in, key)
				}
				used[key] = true
			}
		}
	}
	for key := range outsideScopes {
		if !used[key] {
			t.Errorf("outsideScopes names %q, which calls nothing of the kind", key)
		}
	}
}

type fileCall struct {
	in, call string
	line     int
}

// callsIn returns the uses of calls, names by package, in file, with the function or method that each stands in. The type of a
// pointer is no use.
func callsIn(t *testing.T, file string, calls map[string][]string) (found []fileCall) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		in := "package"
		if f, ok := decl.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if star, ok := n.(*ast.StarExpr); ok {
				_, isType := star.X.(*ast.SelectorExpr)
				return !isType
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(calls[pkg.Name], sel.Sel.Name) {
				found = append(found, fileCall{in, pkg.Name + "." + sel.Sel.Name, set.Position(sel.Pos()).Line})
			}
			return true
		})
	}
	return found
}

// outsideScopes are the functions that touch files of no scope, or that keep out of links in another way.
var outsideScopes = map[string]string{
	"internal/cli/mergedriver.go mergeDriver":        "the files that git made for a merge, of no scope",
	"internal/cli/mergedriver.go readSide":           "the files that git made for a merge, of no scope",
	"internal/scope/organisation.go organisationKey": "a file that the configuration names",
	"internal/scope/policy.go Policy":                "the policies of the machine and of the user",
	"internal/apply/policyreport.go TestPolicy":      "a file that a person names",
	"install/links.go leadsAstray":                   "where a link leads, of which only is asked whether it is there",
	"internal/inspect/audit.go auditTargets":         "a folder that a person names",
	"internal/inspect/audit.go skillFolders":         "a folder that a person names",
	"internal/ship/policy.go SignPolicy":             "a file that a person names, and the one beside it",
	"internal/session/shell_unix.go loginSession":    "what the system says of a process",
	"internal/scope/state.go ReadState":              "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/state.go ChangeState":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/trust.go Decide":                 "a folder that the user names, of which only is asked whether it is one",
	"internal/scope/dirs.go MkdirPrivate":            "the user's own state, configuration and caches, whose links are the user's",
	"install/roots/cache.go write":                   "the user's own state, configuration and caches, whose links are the user's",
	"install/roots/cache.go writeTo":                 "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/tags.go sight":                   "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/cache.go CleanCache":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/cache.go CollectGarbage":        "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/embedded.go unpack":             "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/key.go keepKey":                 "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/search.go skillRoots":           "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/feedback.go Feedback":           "the user's own state, configuration and caches, whose links are the user's",
	"internal/search/feedback.go prior":              "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/credentials.go change":           "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/credentials.go kept":             "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/dockerfile.go readDockerFile":    "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/proof.go checkProof":           "the file that a person names for a page",
	"internal/session/proof.go journalDigest":        "the journal of a run, in the state directory",
	"internal/session/proof.go WriteProof":           "the file that a person names for a page",
	"internal/session/record.go All":                 "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/trace.go jsonlFile":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/record.go readRun":             "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/trace.go RunEvents":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/record.go Prune":               "the user's own state, configuration and caches, whose links are the user's",
	"internal/session/record.go writeRun":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/signature/trust.go believe":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/signature/recheck.go keepSignatures":   "the user's own state, configuration and caches, whose links are the user's",
	"internal/signature/recheck.go keptSignatures":   "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/config.go EditConfig":            "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/sources.go NewHTTP":              "the user's own state, configuration and caches, whose links are the user's",
	"internal/scope/config.go readConfig":            "the user's own state, configuration and caches, whose links are the user's",
	"install/roots/roots.go env":                     "the files of agents in the user's own directories, whose links are the user's",
	"internal/cli/graph.go runGraph":                 "a file that the user names on the command line",
	"internal/form/form.go dirs":                     "a file that the user names on the command line",
	"internal/search/service.go Tools":               "a file that the user names on the command line",
	"internal/cli/run.go request":                    "a file that the user names on the command line",
	"internal/cli/runflags.go answers":               "a file that the user names on the command line",
	"internal/ship/sign.go identityToken":            "a file that the user names on the command line",
	"internal/ship/sign.go keylessSigner":            "a file that the user names on the command line",
	"internal/ship/sign.go PrivateKey":               "a file that the user names on the command line",
	"internal/scope/scope.go Open":                   "a file that the user names on the command line",
	"internal/evaluate/record.go record":             "a new directory of skl's own making",
	"internal/evaluate/evaluate.go perform":          "a new directory of skl's own making",
	"internal/evaluate/evaluate.go script":           "a new directory of skl's own making",
	"internal/scope/hosts.go canLink":                "a new directory of skl's own making",
	"internal/ship/draft.go draft":                   "confined by an os.Root",
	"internal/scope/market.go ReadDir":               "confined by an os.Root",
	"internal/scope/market.go ReadFile":              "confined by an os.Root",
	"internal/scope/market.go ReadLink":              "confined by an os.Root",
	"internal/form/form.go hasOtherManifest":         "asks whether something is there, and reads nothing of it",
	"internal/form/form.go skillsBelow":              "asks whether something is there, and reads nothing of it",
	"internal/scope/hosts.go HostEnv":                "asks whether something is there, and reads nothing of it",
	"install/machine_unix.go makeMachine":            "the administrator's directory, which only administrators can change",
	"install/roots/expand.go examine":                "the search of roots: it resolves each link and follows none that leaves the project",
	"install/roots/scan.go walk":                     "the search of roots: it resolves each link and follows none that leaves the project",
	"install/roots/search.go lookAside":              "the search of roots: it resolves each link and follows none that leaves the project",
	"install/roots/search.go search":                 "the search of roots: it resolves each link and follows none that leaves the project",
	"install/roots/inspect.go Receipts":              "behind checkState, which refuses a .skl that is a link",
	"install/roots/stat_windows.go readFile":         "opens no link: see stat_unix.go",
	"internal/packages/made.go MadeHere":             "the user's cache",
	"internal/packages/made.go NoteMade":             "the user's cache",
	"internal/packages/packages.go Open":             "a package that a person names: an installed one, a folder or an archive",
	"internal/packages/packages.go unpacked":         "an archive that a person names",
	"internal/author/summarize.go keepSummary":       "the user's cache",
	"internal/author/summarize.go summarize":         "the user's cache",
	"internal/author/author.go writeArchive":         "a file that the user names on the command line",
	"internal/ship/key.go ShowKey":                   "a file that the user names on the command line",
	"internal/ship/key.go writeNew":                  "a file that the user names on the command line",
	"internal/admin/signer.go signer":                "a file that the user names on the command line",
	"internal/ship/shipper.go statement":             "a file that the user names on the command line",
	"internal/admin/data.go Backup":                  "the data of a registry, which its administrator names",
	"internal/admin/doctor.go data":                  "the data of a registry, which its administrator names",
	"internal/admin/init.go placeFile":               "the data of a registry, which its administrator names",
	"internal/admin/serve.go keepAdminToken":         "the data of a registry, which its administrator names",
	"internal/admin/serve.go configFile":             "the data of a registry, which its administrator names",
	"internal/admin/serve.go Shown":                  "the data of a registry, which its administrator names",
	"internal/demo/demo.go believe":                  "a new directory of skl's own making",
	"internal/demo/demo.go New":                      "a new directory of skl's own making",
	"internal/demo/demo.go Remove":                   "a new directory of skl's own making",
	"internal/demo/demo.go Planned":                  "a directory that would be of skl's own making",
	"internal/demo/skills.go writeSkill":             "a new directory of skl's own making",
	"internal/demo/skills.go writeTree":              "a new directory of skl's own making",
	"internal/demo/demo.go prepare":                  "a new directory of skl's own making",
	"internal/author/author.go open":                 "confined by an os.Root",
}
