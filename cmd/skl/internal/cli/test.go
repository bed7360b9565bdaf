package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// A skill's tests lie in its folder tests: a folder per recorded case, and scripts.
//
//	tests/CASE/case.json      a testCase: arguments, answers, what is expected
//	tests/CASE/model.jsonl    the recorded answers of the model (runtime/model/replay)
//	tests/CASE/work/          files that the run finds in its working directory
//	tests/NAME.sh             a check of its own: ends with 0
const (
	testsDir  = "tests"
	caseFile  = "case.json"
	modelFile = "model.jsonl"
	workDir   = "work"
)

// A testCase is one recorded run.
type testCase struct {
	Arguments string            `json:"arguments"`
	Answers   map[string]string `json:"answers,omitempty"`
	Allow     []string          `json:"allow,omitempty"`
	Want      testWant          `json:"want"`
}

// A testWant is what a run has to come to. Nodes are the visited nodes with their status, in canonical order.
type testWant struct {
	Status   run.Status        `json:"status"`
	Response map[string]any    `json:"response"`
	Nodes    []string          `json:"nodes"`
	Files    map[string]string `json:"files,omitempty"` // written below the working directory
}

type testResult struct {
	OK    bool      `json:"ok"`
	Skill string    `json:"skill"`
	Cases []testRow `json:"cases"`
}

type testRow struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Millis int64    `json:"ms"`
	Diff   []string `json:"diff"` // lines, "-" wanted and "+" got
}

func testCommand() command {
	return command{name: "test", args: "NAME|PATH", group: "Author", usage: "run a skill's recorded cases and its check scripts", output: testResult{}, complete: "skill",
		example: "skl test ./skills/review\nskl test ./skills/review --record first --model anthropic --arguments main.go\nskl test review --update",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "record", Usage: "run the skill and keep it as the case `CASE`"},
			&cli.StringFlag{Name: "arguments", Usage: "with --record: the value of $ARGUMENTS"},
			&cli.StringFlag{Name: "model", Usage: "with --record: who fills the leaves"},
			&cli.StringSliceFlag{Name: "answer", Usage: "with --record: `QUESTION=ANSWER` (repeatable)"},
			&cli.StringSliceFlag{Name: "allow", Usage: "with --record: allow `LIST`"},
			&cli.BoolFlag{Name: "update", Usage: "accept the current results as expected"},
			&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts are confined: auto, strict or off"},
			dryRunFlag(),
		},
		run: runTest}
}

func runTest(ctx context.Context, w *world, c *cli.Context) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	r, err := w.runs.Runnable(ctx, arg)
	if err != nil {
		return err
	}
	if err := w.runs.Bind(ctx, r); err != nil {
		return err
	}
	t := tester{w: w, c: c, Runnable: r}
	if name := c.String("record"); name != "" {
		return t.record(ctx, name)
	}
	names, scripts, err := t.find()
	if err != nil {
		return err
	}
	if len(names)+len(scripts) == 0 {
		return diag.New(diag.Misuse, "no_tests", "%s has no tests: there is no folder tests with cases or scripts", r.Name).Hint("skl test %s --record first --model MODEL", arg)
	}
	out := testResult{OK: true, Skill: r.Name, Cases: []testRow{}}
	for _, name := range append(names, scripts...) {
		began := time.Now()
		var diff []string
		switch {
		case c.Bool("dry-run"):
		case slices.Contains(scripts, name):
			diff, err = t.script(ctx, name)
		default:
			diff, err = t.check(ctx, name)
		}
		if err != nil {
			return err
		}
		row := testRow{Name: name, OK: len(diff) == 0, Millis: time.Since(began).Milliseconds(), Diff: append([]string{}, diff...)}
		out.OK = out.OK && row.OK
		out.Cases = append(out.Cases, row)
		t.print(row)
	}
	return t.finish(out)
}

// A tester runs the tests of one skill.
type tester struct {
	w *world
	c *cli.Context
	*session.Runnable
}

func (t tester) print(row testRow) {
	switch u := t.w.ui; {
	case u.JSON:
	case t.c.Bool("dry-run"):
		u.Print("%s", row.Name)
	case row.OK:
		u.Print("✓ %s  %d ms", row.Name, row.Millis)
	default:
		u.Print("✗ %s", row.Name)
		for _, line := range row.Diff {
			u.Print("    %s", line)
		}
	}
}

func (t tester) finish(out testResult) error {
	if t.w.ui.JSON {
		if err := t.w.ui.Result(out); err != nil {
			return err
		}
	}
	failed := 0
	for _, row := range out.Cases {
		if !row.OK {
			failed++
		}
	}
	if t.c.Bool("dry-run") {
		return nil
	}
	t.w.ui.Note("%s, %d failed", diag.Count(len(out.Cases), "test"), failed)
	if failed > 0 {
		return unmet("tests_failed")
	}
	return nil
}

// find lists the cases and the scripts, sorted.
func (t tester) find() (cases, scripts []string, err error) {
	entries, err := fs.ReadDir(t.Files, testsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		switch ext := path.Ext(e.Name()); {
		case e.IsDir():
			if _, err := fs.Stat(t.Files, path.Join(testsDir, e.Name(), caseFile)); err == nil {
				cases = append(cases, e.Name())
			}
		case e.Type().IsRegular() && (ext == ".sh" || ext == ".py" || ext == ".js"):
			scripts = append(scripts, e.Name())
		}
	}
	return cases, scripts, err
}

// check runs one case and compares. With --update, what happened becomes what is wanted.
func (t tester) check(ctx context.Context, name string) ([]string, error) {
	dir := path.Join(testsDir, name)
	src, err := fs.ReadFile(t.Files, path.Join(dir, caseFile))
	if err != nil {
		return nil, err
	}
	var tc testCase
	if err := json.Unmarshal(src, &tc); err != nil {
		return nil, diag.New(diag.Failed, "test_invalid", "%s: %w", t.at(dir, caseFile), err)
	}
	answers, err := fs.ReadFile(t.Files, path.Join(dir, modelFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	recorded, err := replay.Parse(t.at(dir, modelFile), answers)
	if err != nil {
		return nil, err
	}
	got, err := t.run(ctx, dir, tc, model.Checked(replay.New("replay:"+name, recorded), -1))
	if err != nil {
		return nil, err
	}
	if t.c.Bool("update") {
		tc.Want = got
		return nil, t.write(dir, tc)
	}
	return diffWant(tc.Want, got), nil
}

// at names a file of the skill for messages.
func (t tester) at(dir, file string) string {
	return t.w.Short(filepath.Join(t.Dir, filepath.FromSlash(dir), file))
}

// run executes a case in a working directory of its own.
func (t tester) run(ctx context.Context, dir string, tc testCase, m model.Model) (testWant, error) {
	work, err := os.MkdirTemp("", "skl-test-")
	if err != nil {
		return testWant{}, err
	}
	defer os.RemoveAll(work)
	before := map[string]string{}
	if sub, err := fs.Sub(t.Files, path.Join(dir, workDir)); err == nil {
		if _, err := fs.Stat(sub, "."); err == nil {
			if err := os.CopyFS(work, sub); err != nil {
				return testWant{}, err
			}
			before = readAll(sub)
		}
	}
	tools, err := t.w.runs.Dispatcher(t.Runnable, work, append([]string{"filesystem", "external"}, tc.Allow...), t.w.runs.Confinement(t.c.String("sandbox")), nil)
	if err != nil {
		return testWant{}, err
	}
	defer tools.Close()
	answers := map[string]run.Answer{}
	for q, a := range tc.Answers {
		answers[q] = run.Answer{Text: a, How: "file"}
	}
	r := run.Runner{Model: m, Tools: tools, Answers: answers, KeepEvents: true}
	result, err := r.Run(ctx, t.Plan, tc.Arguments)
	if err != nil && ctx.Err() != nil {
		return testWant{}, ctx.Err()
	}
	want := testWant{Status: result.Status, Response: result.Response, Nodes: visited(result.Events), Files: map[string]string{}}
	for name, text := range readAll(scope.FilesIn(work)) {
		if before[name] != text {
			want.Files[name] = text
		}
	}
	return want, nil
}

// visited are the nodes of a run with their status: "2/0 ok IF << x".
func visited(events []run.Event) []string {
	out := []string{}
	for _, e := range events {
		if e.Kind == run.NodeDone {
			out = append(out, fmt.Sprintf("%s %s %s", e.Path, e.Status, e.Text))
		}
	}
	return out
}

// readAll reads the regular files below fsys, up to 1 MiB each.
func readAll(fsys fs.FS) map[string]string {
	out := map[string]string{}
	fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() <= 1<<20 {
			if text, err := fs.ReadFile(fsys, name); err == nil {
				out[name] = string(text)
			}
		}
		return nil
	})
	return out
}

// diffWant says how two outcomes differ, as lines.
func diffWant(want, got testWant) []string {
	diff, add, remove := apply.LineDiff(string(pretty(want)), string(pretty(got)))
	if add+remove == 0 {
		return nil
	}
	var out []string
	for line := range strings.Lines(diff) {
		if line[0] != ' ' {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return out
}

// script runs a check of the skill's own, confined, in an empty working directory. It passes if it ends with 0.
func (t tester) script(ctx context.Context, name string) ([]string, error) {
	file := path.Join(testsDir, name)
	text, err := fs.ReadFile(t.Files, file)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "skl-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tools, err := t.w.runs.Dispatcher(t.Runnable, work, []string{"filesystem", "external"}, t.w.runs.Confinement(t.c.String("sandbox")), nil)
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	result, ok := tools.Script(ctx, run.Script{Path: file, Text: string(text)})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if ok && !result.IsError {
		return nil, nil
	}
	return strings.Split(strings.TrimRight(result.Text, "\n"), "\n"), nil
}

// record runs the skill with a model and keeps the run as a case.
func (t tester) record(ctx context.Context, name string) error {
	if strings.HasPrefix(t.Dir, "skl:") {
		return diag.New(diag.Misuse, "embedded", "%s comes with skl and cannot be changed", t.Name)
	}
	if name != path.Base(name) || strings.HasPrefix(name, ".") {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a case", name)
	}
	dir := path.Join(testsDir, name)
	full := filepath.Join(t.Dir, filepath.FromSlash(dir))
	if scope.Exists(filepath.Join(full, caseFile)) {
		return diag.New(diag.Misuse, "exists", "%s exists already", t.w.Short(full)).Hint("skl test %s --update takes what happens now as wanted", t.w.Short(t.Dir))
	}
	allow := splitList(t.c.StringSlice("allow"))
	if err := t.w.runs.MayRun(t.Runnable, allow); err != nil {
		return err
	}
	spec, err := t.w.runs.ChooseModel(t.c.String("model"))
	if err != nil {
		return err
	}
	m, err := t.w.runs.OpenModel(spec)
	if err != nil {
		return err
	}
	tc := testCase{Arguments: t.c.String("arguments"), Answers: map[string]string{}, Allow: slices.DeleteFunc(allow, func(s string) bool { return s == session.AllowRun })}
	for _, a := range t.c.StringSlice("answer") {
		q, answer, _ := strings.Cut(a, "=")
		tc.Answers[strings.TrimSpace(q)] = strings.TrimSpace(answer)
	}
	if t.c.Bool("dry-run") {
		t.w.ui.Note("would record %s (--dry-run)", t.w.Short(full))
		return nil
	}
	scratch, err := os.MkdirTemp("", "skl-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	recorder, err := replay.Create(filepath.Join(scratch, modelFile))
	if err != nil {
		return err
	}
	tc.Want, err = t.run(ctx, dir, tc, replay.Record(m, recorder))
	if err := errors.Join(err, recorder.Close()); err != nil {
		return err
	}
	answers, err := os.ReadFile(filepath.Join(scratch, modelFile))
	if err != nil {
		return err
	}
	if err := errors.Join(scope.WriteIn(t.Dir, path.Join(filepath.ToSlash(dir), modelFile), answers), t.write(dir, tc)); err != nil {
		return err
	}
	if t.w.ui.JSON {
		return t.w.ui.Result(testResult{OK: true, Skill: t.Name, Cases: []testRow{{Name: name, OK: true, Diff: []string{}}}})
	}
	t.w.ui.Print("%s  %s, %s", t.w.Short(full), cmp.Or(tc.Want.Status, "failed"), diag.Count(len(tc.Want.Nodes), "node"))
	t.w.ui.Hint("skl test %s", t.w.Short(t.Dir))
	return nil
}

func (t tester) write(dir string, tc testCase) error {
	return scope.WriteIn(t.Dir, path.Join(filepath.ToSlash(dir), caseFile), pretty(tc))
}

// pretty is v as JSON for people: indented, maps in the order of their keys, operators as they are written.
func pretty(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // values of this file hold nothing that JSON lacks
	}
	return b.Bytes()
}
