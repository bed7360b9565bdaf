// Package evaluate runs the tests of a skill: recorded runs, which are replayed and compared, and scripts of its own.
package evaluate

import (
	"bytes"
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

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// A skill's tests lie in its folder tests: a folder per recorded case, and scripts.
//
//	tests/CASE/case.json      a Case: arguments, answers, what is expected
//	tests/CASE/model.jsonl    the recorded answers of the model (runtime/model/replay)
//	tests/CASE/work/          files that the run finds in its working directory
//	tests/NAME.sh             a check of its own: ends with 0
const (
	testsDir  = "tests"
	caseFile  = "case.json"
	modelFile = "model.jsonl"
	workDir   = "work"
)

// A Case is one recorded run. Allow are the effects and tools that the run had; what it names is not given by that, but has to be
// agreed to by whoever runs the case, as for any run. Nil limits nothing.
type Case struct {
	Arguments string            `json:"arguments"`
	Answers   map[string]string `json:"answers,omitempty"`
	Allow     []string          `json:"allow,omitzero"`
	Want      Want              `json:"want"`
}

// A Want is what a run has to come to. Nodes are the visited nodes with their status, in canonical order.
type Want struct {
	Status   run.Status        `json:"status"`
	Response map[string]any    `json:"response"`
	Nodes    []string          `json:"nodes"`
	Files    map[string]string `json:"files,omitempty"` // written below the working directory
}

// A Request says which tests are run, and how.
type Request struct {
	Skill   string   // a name or a folder
	Allow   []string // effects and tools that the tests may have, and "run"
	Update  bool     // what happens now becomes what is wanted
	Sandbox string   // auto, strict or off; "" is that of the configuration
	DryRun  bool     // list the tests only

	Each  func(Row)               // called after each test; nil calls nothing
	Again func(add string) string // the command line as it was typed, with flags added; nil where there was none
}

// A Result is what became of all tests.
type Result struct {
	OK    bool   `json:"ok"`
	Skill string `json:"skill"`
	Cases []Row  `json:"cases"`
}

// Failed is the number of tests that failed.
func (r Result) Failed() (n int) {
	for _, row := range r.Cases {
		if !row.OK {
			n++
		}
	}
	return n
}

// A Row is one test.
type Row struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Millis int64    `json:"ms"`
	Diff   []string `json:"diff"` // lines, "-" wanted and "+" got
}

// A tester runs the tests of one skill.
type tester struct {
	*session.Runs
	*session.Runnable
	sandbox string
	leave   session.Leave
}

// Run runs all tests of a skill, cases before scripts, once a person agreed to that.
func Run(ctx context.Context, runs *session.Runs, q Request) (Result, error) {
	r, err := runs.Bound(ctx, q.Skill)
	if err != nil {
		return Result{}, err
	}
	t := tester{Runs: runs, Runnable: r, sandbox: runs.Confinement(q.Sandbox)}
	names, scripts, err := t.find()
	if err != nil {
		return Result{}, err
	}
	if len(names)+len(scripts) == 0 {
		return Result{}, diag.New(diag.Misuse, "no_tests", "%s has no tests: there is no folder tests with cases or scripts", r.Name).Hint("skl test %s --record first --model MODEL", q.Skill)
	}
	cases := map[string]*testCase{}
	for _, name := range names {
		if cases[name], err = t.parse(name); err != nil {
			return Result{}, err
		}
	}
	if err := runs.CheckLimits(q.Allow, q.Sandbox); err != nil {
		return Result{}, err
	}
	if !q.DryRun {
		if t.leave, err = runs.Agree(r, session.Request{Allow: q.Allow, Sandbox: q.Sandbox, Tests: wants(names, cases, scripts), Again: q.Again}); err != nil {
			return Result{}, err
		}
	}
	out := Result{OK: true, Skill: r.Name, Cases: []Row{}}
	for _, name := range append(names, scripts...) {
		began := time.Now()
		var diff []string
		switch {
		case q.DryRun:
		case slices.Contains(scripts, name):
			diff, err = t.script(ctx, name)
		default:
			diff, err = t.check(ctx, name, *cases[name], q.Update)
		}
		if err != nil {
			return Result{}, err
		}
		row := Row{Name: name, OK: len(diff) == 0, Millis: time.Since(began).Milliseconds(), Diff: append([]string{}, diff...)}
		out.OK = out.OK && row.OK
		out.Cases = append(out.Cases, row)
		if q.Each != nil {
			q.Each(row)
		}
	}
	return out, nil
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

// A testCase is a case as it lies in the skill.
type testCase struct {
	Case
	effects []tool.Effect // that it wants
	model   model.Model   // answers as it was recorded
}

// parse reads a case, and runs nothing.
func (t tester) parse(name string) (*testCase, error) {
	dir := path.Join(testsDir, name)
	src, err := fs.ReadFile(t.Files, path.Join(dir, caseFile))
	if err != nil {
		return nil, err
	}
	var tc testCase
	if err := json.Unmarshal(src, &tc.Case); err != nil {
		return nil, diag.New(diag.Failed, "test_invalid", "%s: %w", t.at(dir, caseFile), err)
	}
	if tc.effects, err = session.EffectsOf(tc.Allow); err != nil {
		return nil, diag.New(diag.Failed, "test_invalid", "%s: %w", t.at(dir, caseFile), err)
	}
	if tc.Allow == nil {
		tc.effects = []tool.Effect{tool.Filesystem, tool.External}
	}
	answers, err := fs.ReadFile(t.Files, path.Join(dir, modelFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	recorded, err := replay.Parse(t.at(dir, modelFile), answers)
	tc.model = model.Checked(replay.New("replay:"+name, recorded), -1)
	return &tc, err
}

// wants are the effects that tests want: scripts are programs, a case wants what it names, or else to run programs and to change files.
func wants(names []string, cases map[string]*testCase, scripts []string) []session.Want {
	of := map[tool.Effect][]string{tool.External: slices.Clone(scripts)}
	for _, name := range names {
		for _, e := range cases[name].effects {
			of[e] = append(of[e], name)
		}
	}
	return session.WantsOf(of)
}

// check runs one case and compares. With update, what happened becomes what is wanted.
func (t tester) check(ctx context.Context, name string, tc testCase, update bool) ([]string, error) {
	dir := path.Join(testsDir, name)
	got, why, err := t.perform(ctx, dir, tc.Case, tc.model)
	switch {
	case err != nil:
		return nil, err
	case errors.Is(why, diag.Code(tool.CodeUnasked)):
		return lines(why), nil
	}
	if update {
		tc.Want = got
		return nil, t.write(dir, tc.Case)
	}
	diff := diffWant(tc.Want, got)
	if len(diff) > 0 && why != nil {
		diff = append(diff, lines(why)...)
	}
	return diff, nil
}

// at names a file of the skill for messages.
func (t tester) at(dir, file string) string {
	return t.Scope.Short(filepath.Join(t.Dir, filepath.FromSlash(dir), file))
}

// perform executes a case in a working directory of its own. why is what the run itself ended with.
func (t tester) perform(ctx context.Context, dir string, tc Case, m model.Model) (want Want, why, err error) {
	work, err := os.MkdirTemp("", "skl-test-")
	if err != nil {
		return Want{}, nil, err
	}
	defer os.RemoveAll(work)
	before := map[string]string{}
	if sub, err := fs.Sub(t.Files, path.Join(dir, workDir)); err == nil {
		if _, err := fs.Stat(sub, "."); err == nil {
			if err := os.CopyFS(work, sub); err != nil {
				return Want{}, nil, err
			}
			before = readAll(sub)
		}
	}
	tools, err := t.Dispatcher(t.Runnable, t.leave, session.Bounds{Work: work, Sandbox: t.sandbox, Limit: tc.Allow})
	if err != nil {
		return Want{}, nil, err
	}
	defer tools.Close()
	answers := map[string]run.Answer{}
	for q, a := range tc.Answers {
		answers[q] = run.Answer{Text: a, How: "file"}
	}
	r := run.Runner{Model: m, Tools: tools, Answers: answers, KeepEvents: true}
	result, why := r.Run(ctx, t.Plan, tc.Arguments)
	if why != nil && ctx.Err() != nil {
		return Want{}, nil, ctx.Err()
	}
	want = Want{Status: result.Status, Response: result.Response, Nodes: visited(result.Events), Files: map[string]string{}}
	for name, text := range readAll(scope.FilesIn(work)) {
		if before[name] != text {
			want.Files[name] = text
		}
	}
	return want, why, nil
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
func diffWant(want, got Want) []string {
	diff, add, remove := trees.Lines(string(pretty(want)), string(pretty(got)))
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
	tools, err := t.Dispatcher(t.Runnable, t.leave, session.Bounds{Work: work, Sandbox: t.sandbox})
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	result, _, denied := tools.Script(ctx, run.Script{Path: file, Text: string(text)})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch {
	case errors.Is(denied, diag.Code(tool.CodeUnasked)):
		return lines(denied), nil
	case denied == nil && !result.IsError:
		return nil, nil
	}
	return strings.Split(strings.TrimRight(result.Text, "\n"), "\n"), nil
}

// lines are an error and its hints.
func lines(err error) []string {
	out := []string{err.Error()}
	if e, ok := diag.Own(err); ok {
		out = append(out, e.Hints...)
	}
	return out
}

func (t tester) write(dir string, tc Case) error {
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
