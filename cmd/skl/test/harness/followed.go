package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
)

// followed are the hints that were carried out already, in a script each once for a command that gives it.
var followed sync.Map

// unfollowed are hints that cannot be carried out where they are given, and why.
var unfollowed = map[string]string{
	" --rerun ":               "a step that took too long would take as long again",
	"quickstart":              "the hints of its parts are for the project that it made",
	"another maintainer of ":  "somebody else is to type it",
	"skl init --merge-driver": "it sets up who calls the command that gives it",
}

// followHints carries out each command that a hint names, in a copy of the script's directory. It fails if that is a usage error, or if
// the copy is the same afterwards and so is what the command says that gave the hint: then it leads nowhere.
func followHints(ts *testscript.TestScript, args []string, status int, said string) {
	if slices.Contains(args, "--dry-run") || runtime.GOOS == "windows" {
		return // what the hint is about was not made, or a directory whose files are open cannot be put aside
	}
	for line := range strings.Lines(said) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(line), "skl: hint: ")
		if !ok {
			continue
		}
		for _, next := range stepsOf(hint) {
			by := slices.ContainsFunc(slices.Collect(maps.Keys(unfollowed)), func(s string) bool { return strings.Contains(hint, s) || args[0] == s })
			if by || next.stdin || byHand.MatchString(next.after) || placeholder(next.args) || serves(ts, next.args) {
				continue
			}
			key := ts.Name() + ": " + masked(commandOf(args)) + " → " + masked(hint) + " → " + commandOf(next.args)
			if _, seen := followed.LoadOrStore(key, true); seen {
				continue
			}
			if why := follow1(ts, args, next, status, said); why != "" {
				ts.Fatalf("the hint %q leads nowhere: skl %s: %s", hint, strings.Join(next.args, " "), why)
			}
		}
	}
}

// home is a word as a shell expands it.
func home(ts *testscript.TestScript, word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		return ts.Getenv("HOME") + "/" + rest
	}
	return strings.Replace(word, "$HOME", ts.Getenv("HOME"), 1)
}

// follow1 carries out one command in a copy of the script's directory that takes its place meanwhile, since much is kept by absolute path.
func follow1(ts *testscript.TestScript, args []string, next step, status int, said string) (why string) {
	work := ts.Getenv("WORK")
	kept := work + ".kept"
	ts.Check(os.Rename(work, kept))
	defer func() {
		exec.Command("chmod", "-R", "u+w", work).Run() // the store is read-only
		ts.Check(os.RemoveAll(work))
		ts.Check(os.Rename(kept, work))
	}()
	if out, err := exec.Command("cp", "-a", kept, work).CombinedOutput(); err != nil {
		ts.Fatalf("cp: %v: %s", err, out)
	}
	leads := status != 0 && status != 2 && !readsOnly(next.args) // somewhere else than to text
	var before []string
	if leads {
		before = Listing(work, contentOf)
	}
	if at := removes.FindStringSubmatch(next.after); at != nil {
		ts.Check(os.Remove(ts.MkAbs(at[1])))
	}
	for i, a := range next.args {
		next.args[i] = home(ts, a)
	}
	code, text := quietly(ts, next.args)
	if code == 2 && !inFile.MatchString(firstError(text)) {
		return "misuse: " + text
	}
	if !leads || !slices.Equal(before, Listing(work, contentOf)) {
		return ""
	}
	again, after := quietly(ts, args)
	if again == status && after == said && (code == 0 || firstError(text) == firstError(said)) {
		return fmt.Sprintf("exit %d: %s\nand then as before: %s", code, text, after)
	}
	return ""
}

var (
	removes = regexp.MustCompile(`rm (\S+) && $`)
	inFile  = regexp.MustCompile(`^skl: \S+:\d+`) // what is wrong stands in a file, not on the command line
)

// firstError is what a command says first is wrong.
func firstError(said string) string {
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "skl: warning: ") && !strings.HasPrefix(line, "skl: hint: ") {
			return line
		}
	}
	return ""
}

func contentOf(path string) string {
	if strings.Contains(path, "/cache/") {
		return ""
	}
	text, _ := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func quietly(ts *testscript.TestScript, args []string) (int, string) {
	var out, said bytes.Buffer
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	status := cli.Run(ctx, args, cli.Process{Dir: ts.MkAbs("."), Environ: Environ(ts), Stdout: locked{&mu, &out}, Stderr: locked{&mu, &said}})
	return status, said.String()
}

var capitals = regexp.MustCompile(`(?:^|[/@:=|])[A-Z]+(?:$|[/@|])|…`)

// placeholder reports whether a command has a word that a person is to replace.
func placeholder(args []string) bool { return slices.ContainsFunc(args, capitals.MatchString) }

// byHand is how a hint ends that says first what to do without skl.
var byHand = regexp.MustCompile(`then: *$|curl .*&& $`)

// serves reports whether a command ends when it is stopped only, or changes or asks a server that the script started: of that there is no copy.
func serves(ts *testscript.TestScript, args []string) bool {
	switch args[0] {
	case "mcp", "login", "logout", "publish", "sign", "attest", "yank", "deprecate":
		return true
	case "registry":
		return !readsOnly(args)
	case "run", "resume":
		return ts.Getenv("MODEL_URL") != ""
	}
	return slices.Contains(args, "serve")
}

var values = regexp.MustCompile(`[0-9a-f]{7,}|\d+|/\S*`)

func masked(text string) string { return values.ReplaceAllString(text, "#") }

func commandOf(args []string) string { return strings.Join(commandWords(args), " ") }

// commandWords are the words of a command line that are no values: the command, its subcommand and the flags.
func commandWords(args []string) (out []string) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") || i == 0 || i == 1 && subcommands[args[0]] {
			name, _, _ := strings.Cut(a, "=")
			out = append(out, name)
		}
	}
	return out
}

var subcommands = map[string]bool{"trust": true, "registry": true, "policy": true, "key": true, "source": true, "cache": true, "index": true, "runs": true, "help": true}

// readsOnly reports whether a command only looks.
func readsOnly(args []string) bool {
	words := commandWords(args)
	switch words[0] {
	case "list", "which", "why", "info", "read", "diff", "status", "outdated", "help", "search", "trace", "graph", "schema", "verify", "check", "lint", "audit", "query", "evidence", "expand", "version", "digest", "doctor":
		return !slices.Contains(words, "--fix")
	case "runs", "policy", "trust", "source", "cache", "index", "registry", "key":
		return len(words) == 1 || slices.Contains([]string{"explain", "show", "list", "test", "dir", "status", "doctor", "audit", "queue", "clients", "log"}, words[1])
	}
	return slices.Contains(words, "--dry-run") || slices.Contains(words, "--list") || slices.Contains(words, "-l")
}
