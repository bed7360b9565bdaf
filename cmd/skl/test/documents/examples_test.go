package documents

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/testdata/long"
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

// TestExamplesRun carries out the examples of the help and compares what they print. The pages testdata/examples/*.md show
// each example once, in console blocks as the guides have them (see TestDocs) that may also change directory, and beside each page is the script that prepares what its
// examples find: repositories on a forge, a registry, a model that answers by a script. With -update, the pages get the new output.
// testdata/examples/not_run.table lists the examples that no test can run, each with the reason; it has no others.
func TestExamplesRun(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: examples are written for a POSIX shell")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("bash is not installed")
		}
		t.Skip("skipped: bash is not installed")
	}
	d := &docs{dir: filepath.Join("testdata", "examples"), pages: map[string]*docPage{}}
	paths, err := filepath.Glob(filepath.Join(d.dir, "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d pages: %v", len(paths), err)
	}
	for _, path := range paths {
		d.read(t, strings.TrimSuffix(filepath.Base(path), ".md"), path)
	}
	d.examplesOnce(t)
	d.run(t)
	if excused, _ := d.finish(t); len(excused) > 0 {
		t.Errorf("examples that are not run belong in not_run.table:\n%s", strings.Join(excused, "\n"))
	}
}

// examplesOnce wants each example to be a command of one page or a line of not_run.table, and every one of these to be an example.
func (d *docs) examplesOnce(t *testing.T) {
	where := map[string]string{}
	put := func(line, place string) {
		if was := where[line]; was != "" {
			t.Errorf("%s: %q is in %s too", place, line, was)
		}
		where[line] = place
	}
	for _, name := range d.names {
		for _, b := range d.pages[name].blocks {
			for _, step := range b.steps() {
				if strings.HasPrefix(step.command, "cd ") {
					continue
				}
				put(exitComment.ReplaceAllString(step.command, ""), fmt.Sprintf("%s:%d", d.pages[name].path, b.line))
			}
		}
	}
	path := filepath.Join(d.dir, "not_run.table")
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	excused := 0
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		example, reason, ok := strings.Cut(line, " :: ")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Errorf("%s: %q: want EXAMPLE :: REASON", path, line)
		}
		put(strings.TrimRight(example, " "), path)
		excused++
	}
	examples := map[string]bool{}
	for _, e := range helpExamples(t) {
		examples[e.line] = true
		if where[e.line] == "" {
			t.Errorf("skl %s --help: no page of %s runs %q, and %s does not say why", e.command, d.dir, e.line, path)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(where)) {
		if !examples[line] {
			t.Errorf("%s: %q is not an example of the help", where[line], line)
		}
	}
	t.Logf("%d examples, %d of them not run", len(examples), excused)
}

// A helpExample is a line below "Examples:" of a page.
type helpExample struct{ command, line string }

// skl runs one command line in this process, in an empty directory that is also the home.
func skl(t *testing.T, args ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	code := cli.Run(context.Background(), args, cli.Process{Dir: dir, Environ: []string{"HOME=" + dir}, Stdout: &out, Stderr: &out})
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
	pages := map[string]string{"README.md": filepath.Join(harness.Repository, "README.md"), "CONTRIBUTING.md": filepath.Join(harness.Repository, "CONTRIBUTING.md")}
	for _, name := range guide.Names() {
		pages[name] = filepath.Join("..", "..", "internal", "guide", name+".md")
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
		filepath.Join(harness.Repository, "README.md"):                 fmt.Sprintf("| agents | %d |", n),
		filepath.Join("..", "..", "internal", "guide", "shadowing.md"): fmt.Sprintf("skl knows where %d agents read skills", n),
	} {
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q (%v)", path, want, err)
		}
	}
}
