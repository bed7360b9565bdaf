package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/install/hosts"
)

// TestExamples takes the examples of every page of the help, subcommands included. Each is shell that parses; the skl in it is
// a command that exists, with flags that the command takes.
func TestExamples(t *testing.T) {
	count := 0
	for _, e := range helpExamples(t) {
		calls, err := sklCalls(e.line)
		if err != nil || len(calls) == 0 {
			t.Errorf("skl %s --help: %q is no command of a shell: %v", e.command, e.line, err)
		}
		for _, args := range calls {
			count++
			if args[0] == "help" {
				if out, code := skl(t, args...); code != 0 {
					t.Errorf("skl %s: exit %d\n%s", strings.Join(args, " "), code, out)
				}
				continue
			}
			if out, code := skl(t, append(args, "--help")...); code != 0 || !strings.Contains(out, "\nUsage: skl ") {
				t.Errorf("skl %s --help: %q: exit %d\n%s", e.command, e.line, code, out)
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d examples were found", count)
	}
	t.Logf("%d calls of skl in examples", count)
}

// TestExamplesRun carries out each example that is one call of skl, without a network, in a project that has skills of the names
// that examples use. testdata/docs/examples.golden says which of them end with 0; the others need a server, a
// repository or a model, and are only parsed (TestExamples) or have scripts of their own.
func TestExamplesRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: examples are written for a POSIX shell")
	}
	dir := t.TempDir()
	for _, name := range []string{"pdf", "review", "release-notes", "my-skill", "skills/review"} {
		text := "---\nname: " + filepath.Base(name) + "\ndescription: Does a thing. Use when the user asks for it.\n---\n\n## Tree\n\n* bind mood = \"good\"\n* IF << mood is \"good\"\n  * END\n"
		write(t, filepath.Join(dir, "from", name, "SKILL.md"), text)
		write(t, filepath.Join(dir, "project", name, "SKILL.md"), text)
	}
	project := filepath.Join(dir, "project")
	write(t, filepath.Join(project, ".git", "HEAD"), "ref: refs/heads/main\n")
	env := map[string]string{"HOME": filepath.Join(dir, "home"), "SKL_OFFLINE": "1", "CI": "true"}
	run := func(args ...string) int {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var out bytes.Buffer
		return cli.Run(ctx, args, project, func(name string) string { return env[name] }, &out, &out)
	}
	for _, name := range []string{"pdf", "review", "release-notes"} {
		if code := run("install", "./"+name, "--host", "claude-code"); code != 0 {
			t.Fatalf("install %s: exit %d", name, code)
		}
	}
	ran, total := 0, 0
	var golden strings.Builder
	for _, e := range helpExamples(t) {
		total++
		calls, _ := sklCalls(e.line)
		verdict := "parsed"
		if len(calls) == 1 && strings.HasPrefix(e.line, "skl ") && !strings.ContainsAny(e.line, "|<>;&") && !strings.Contains(e.line, " /") &&
			!slices.Contains([]string{"serve", "quickstart", "mcp"}, calls[0][0]) && !slices.Contains(calls[0], "serve") && run(calls[0]...) == 0 {
			verdict = "ran"
			ran++
		}
		fmt.Fprintf(&golden, "%-7s %s\n", verdict, e.line)
	}
	t.Logf("%d of %d examples were run", ran, total)
	compareFile(t, filepath.Join("testdata", "docs", "examples.golden"), golden.String())
}

// A helpExample is a line below "Examples:" of a page.
type helpExample struct{ command, line string }

// skl runs one command line in this process, in an empty directory that is also the home.
func skl(t *testing.T, args ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	code := cli.Run(context.Background(), args, dir, func(name string) string { return map[string]string{"HOME": dir}[name] }, &out, &out)
	return out.String(), code
}

// helpExamples are the examples of all pages. The commands are those that completion knows.
func helpExamples(t *testing.T) (out []helpExample) {
	t.Helper()
	var visit func(path []string)
	visit = func(path []string) {
		words := append(slices.Clone(path), "--help")
		if slices.Equal(path, []string{"help"}) {
			words = []string{"help", "help"} // "skl help --help" is the first page
		}
		page, code := skl(t, words...)
		if code != 0 {
			t.Fatalf("skl %s --help: exit %d\n%s", strings.Join(path, " "), code, page)
		}
		if _, examples, ok := strings.Cut(page, "\nExamples:\n"); ok {
			for line := range strings.Lines(examples) {
				if line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "  "); indented {
					out = append(out, helpExample{strings.Join(path, " "), line})
				}
			}
		}
		if len(path) > 0 && !strings.Contains(page, "\nUsage: skl "+strings.Join(path, " ")) {
			t.Errorf("skl %s --help shows another page:\n%s", strings.Join(path, " "), page)
		}
		below, _ := skl(t, append([]string{"__complete", "--"}, append(slices.Clone(path), "")...)...)
		head, _, _ := strings.Cut(page, "\nExamples:\n")
		for name := range strings.FieldsSeq(below) {
			if len(path) == 0 || strings.Contains(head, "\n  skl "+strings.Join(path, " ")+" "+name) {
				visit(append(slices.Clone(path), name))
			}
		}
	}
	visit(nil)
	return out
}

// sklCalls are the arguments of each call of skl in a line of shell.
func sklCalls(line string) (out [][]string, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "skl" {
			return true
		}
		var args []string
		for _, word := range call.Args[1:] {
			var text strings.Builder
			syntax.Walk(word, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.Lit:
					text.WriteString(n.Value)
				case *syntax.SglQuoted:
					text.WriteString(n.Value)
				}
				return true
			})
			args = append(args, text.String())
		}
		if len(args) == 0 {
			err = fmt.Errorf("skl without a command")
			return false
		}
		// "skl a    skl b" on one line are two.
		for len(args) > 0 {
			next := slices.Index(args, "skl")
			if next < 0 {
				next = len(args)
			}
			out = append(out, args[:next])
			args = args[min(next+1, len(args)):]
		}
		return true
	})
	return out, err
}

// TestInlineCommands wants each command in the prose of README.md and the guides to be one that skl knows, with flags that it takes.
func TestInlineCommands(t *testing.T) {
	pages := map[string]string{"README.md": filepath.Join(repository, "README.md"), "CONTRIBUTING.md": filepath.Join(repository, "CONTRIBUTING.md")}
	for _, name := range guide.Names() {
		pages[name] = filepath.Join("internal", "guide", name+".md")
	}
	inline := regexp.MustCompile("`(skl [a-z][^`]*)`")
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	count := 0
	for name, path := range pages {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		prose := strings.Join(strings.Fields(fenced.ReplaceAllString(string(data), "")), " ")
		for _, m := range inline.FindAllStringSubmatch(prose, -1) {
			line := strings.NewReplacer("[", "", "]", "", "…", "X", "URL", "https://skills.example").Replace(m[1])
			calls, err := sklCalls(line)
			if err != nil || len(calls) == 0 {
				t.Errorf("%s: %q is no command: %v", name, m[1], err)
			}
			for _, args := range calls {
				count++
				if args[0] != "help" {
					args = append(args, "--help")
				}
				if out, code := skl(t, args...); code != 0 || args[0] != "help" && !strings.Contains(out, "\nUsage: skl ") {
					t.Errorf("%s: `%s`: exit %d\n%s", name, m[1], code, out)
				}
			}
		}
	}
	if t.Logf("%d commands in prose", count); count < 60 {
		t.Errorf("only %d commands were found in prose", count)
	}
}

// TestNumberOfAgents compares the pages that name it with the table of agents.
func TestNumberOfAgents(t *testing.T) {
	n := len(hosts.All())
	for path, want := range map[string]string{
		filepath.Join(repository, "README.md"):             fmt.Sprintf("| agents | %d |", n),
		filepath.Join("internal", "guide", "shadowing.md"): fmt.Sprintf("skl knows where %d agents read skills", n),
	} {
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q (%v)", path, want, err)
		}
	}
}
