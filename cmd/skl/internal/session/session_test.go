package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/check"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

// person can be asked, or not, and says yes.
type person bool

func (p person) CanAsk() bool                 { return bool(p) }
func (p person) Confirm(string) (bool, error) { return bool(p), nil }
func (p person) Letters(string, []ask.Letter, string) (string, error) {
	return "y", map[bool]error{false: ask.ErrNobody}[bool(p)]
}
func (p person) Say(string) (string, error)       { return "", ask.ErrNobody }
func (p person) Choose(ask.Choice) ([]int, error) { return nil, ask.ErrNobody }

// bench has a skill that asks a model for a sentence and a person for leave.
func bench(t *testing.T, who person) *session.Runs {
	t.Helper()
	dir := t.TempDir()
	text := `---
name: announce
description: Announces a version. Use when asked to announce a release.
compatibility: ` + check.CanonicalCompatibility + `
metadata:
  canopy-features: [interaction]
---

` + check.CanonicalGuard + `

Version: $ARGUMENTS

## Tree

* announce
  * Write one sentence that announces version $ARGUMENTS >> sentence
  * ASK << Send it? | Yes | No
  * IF << No
    * END

## Rules

- Promise nothing.

## Response: sentence
`
	answer := `{"node":"SKILL.md#/0","value":{"sentence":"Version 2.0.0 is out."}}` + "\n"
	for path, text := range map[string]string{"announce/SKILL.md": text, "answers.jsonl": answer} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sc, err := scope.Open(scope.Options{Dir: dir, Scope: "user", Offline: true, UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": filepath.Join(dir, "home")}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return &session.Runs{Scope: sc, Ask: who, Version: "test"}
}

func bound(t *testing.T, runs *session.Runs) *session.Runnable {
	t.Helper()
	r, err := runs.Runnable(context.Background(), "./announce")
	if err == nil {
		err = runs.Bind(context.Background(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUseCases runs, suspends, resumes and replays a skill without a command line.
func TestUseCases(t *testing.T) {
	ctx := context.Background()
	runs := bench(t, false)
	r := bound(t, runs)

	_, err := runs.Start(ctx, r, session.Request{Args: "2.0.0", Model: "replay:answers.jsonl"})
	if !errors.Is(err, diag.Code("run_not_allowed")) {
		t.Fatalf("nobody allowed it: %v", err)
	}
	if list, err := runs.All(); err != nil || len(list) != 0 {
		t.Errorf("a refused run has a record: %v, %v", list, err)
	}
	ended, err := runs.Start(ctx, r, session.Request{Args: "2.0.0", Model: "replay:answers.jsonl", Allow: []string{"run"}})
	if err != nil || ended.Result.Status != run.Suspended || !strings.HasPrefix(ended.Record.Question, "Send it?") {
		t.Fatalf("it waits for an answer: %+v, %v", ended, err)
	}
	record, err := runs.Find("last")
	if err != nil || record.ID != ended.Result.Run {
		t.Fatalf("the last run: %+v, %v", record, err)
	}
	foreseen, preview, err := runs.Foresee(ctx, "last", session.Request{})
	if err != nil || foreseen.ID != record.ID || len(preview.Effects) == 0 {
		t.Errorf("what it could still do: %+v, %v", preview, err)
	}
	ended, err = runs.Resume(ctx, r, record, session.Request{Answers: map[string]run.Answer{"Send it?": {Text: "Yes", How: "flag"}}})
	if err != nil || ended.Result.Status != run.OK || ended.Result.Response["sentence"] != "Version 2.0.0 is out." {
		t.Fatalf("resumed: %+v, %v", ended.Result, err)
	}
	flipped, err := runs.Flip(ctx, record.ID, "1")
	if err != nil || flipped.Was != "Yes" || flipped.Instead != "No" || flipped.Stops != "" || flipped.Events[len(flipped.Events)-1].Status != run.Ended {
		t.Errorf("with the other answer: %+v, %v", flipped, err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	record, _ = runs.Find(record.ID)
	if err := runs.WriteProof(ctx, record, page); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "<b>Yes</b><td>you, with --answer") {
		t.Errorf("the page: %v\n%s", err, text)
	}
	again, err := runs.Start(ctx, r, session.Request{Args: "2.0.0", Model: "replay:" + record.ID})
	if err != nil || again.Result.Status != run.OK || again.Record.Replayed != record.ID {
		t.Errorf("replayed: %+v, %v", again, err)
	}
	if events, err := runs.RunEvents(record.ID); err != nil || len(events) == 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// TestDrive lets an agent fill the leaves of an installed skill: a path and an unknown name are refused, and the run that the
// agent drove is in the list.
func TestDrive(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	runs := bench(t, false)
	installed := filepath.Join(runs.Scope.Getenv("HOME"), ".agents", "skills", "announce")
	if err := os.CopyFS(installed, os.DirFS(filepath.Join(runs.Scope.Cwd, "announce"))); err != nil {
		t.Fatal(err)
	}
	d := drive.NewDriver("run-1")
	if _, err := runs.Drive(ctx, "./announce", "2.0.0", nil, "", d); !errors.Is(err, diag.Code("mcp_path")) {
		t.Errorf("a path: %v", err)
	}
	if _, err := runs.Drive(ctx, "announcer", "2.0.0", nil, "", d); !errors.Is(err, diag.Code("unknown_skill")) {
		t.Errorf("an unknown name: %v", err)
	}
	if list, err := runs.All(); err != nil || len(list) != 0 {
		t.Errorf("a refused run has a record: %v, %v", list, err)
	}

	type end struct {
		run.Result
		err error
	}
	ended := make(chan end, 1)
	go func() {
		result, err := runs.Drive(ctx, "announce", "2.0.0", nil, "", d)
		d.End()
		ended <- end{result, err}
	}()
	var kinds []string
	for {
		steps, err := d.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) == 0 {
			break
		}
		for _, step := range steps {
			kinds = append(kinds, step.Kind)
			answer := `{"sentence":"Version 2.0.0 is out."}`
			if step.Kind == drive.Question {
				answer = `"Yes"`
			}
			if err := d.Answer(step.ID, []byte(answer)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := <-ended
	if got.err != nil || got.Status != run.OK || got.Run != "run-1" || got.Response["sentence"] != "Version 2.0.0 is out." {
		t.Errorf("driven: %+v, %v", got.Result, got.err)
	}
	if strings.Join(kinds, " ") != "fill question" {
		t.Errorf("steps: %v", kinds)
	}
	if record, err := runs.Find("run-1"); err != nil || record.State() != string(run.OK) || record.Model != "mcp" {
		t.Errorf("its record: %+v, %v", record, err)
	}
}

// TestPerson puts the questions of a run to the person in front of it.
func TestPerson(t *testing.T) {
	runs := bench(t, true)
	asked := ""
	ended, err := runs.Start(context.Background(), bound(t, runs), session.Request{Args: "2.0.0", Model: "replay:answers.jsonl",
		Answer: func(question string, options []string) (string, error) { asked = question; return options[0], nil }})
	if err != nil || ended.Result.Status != run.OK || !strings.HasPrefix(asked, "Send it?") {
		t.Errorf("%+v, asked %q, %v", ended.Result, asked, err)
	}
}

// TestLook previews, draws, traces and forgets runs without a command line.
func TestLook(t *testing.T) {
	ctx := context.Background()
	runs := bench(t, false)
	r, err := runs.Ready(ctx, "./announce")
	if err != nil {
		t.Fatal(err)
	}
	preview, err := runs.Preview(r, session.Request{Args: "2.0.0"})
	if err != nil || preview.Skill != "announce" || preview.Digest != r.Plan.Digest {
		t.Errorf("preview: %+v, %v", preview, err)
	}
	if list, err := runs.All(); err != nil || len(list) != 0 {
		t.Errorf("a preview has a record: %v, %v", list, err)
	}
	if _, err := runs.Start(ctx, r, session.Request{Args: "2.0.0", Model: "replay:answers.jsonl", Allow: []string{"run"}}); err != nil {
		t.Fatal(err)
	}
	traced, err := runs.Traced("last", "")
	if err != nil || len(traced.Events) == 0 || traced.Record.State() != "suspended" {
		t.Errorf("traced: %+v, %v", traced, err)
	}
	if node, err := runs.Traced("last", "0"); err != nil || len(node.Events) == 0 || len(node.Events) >= len(traced.Events) {
		t.Errorf("a node: %d events, %v", len(node.Events), err)
	}
	if _, err := runs.Traced("last", "9/9"); !errors.Is(err, diag.Code("unknown_node")) {
		t.Errorf("a node that was not visited: %v", err)
	}
	plain, err := runs.Draw(ctx, "./announce", session.Drawing{Format: "svg", Ops: true})
	if err != nil || !strings.Contains(plain, "<svg") {
		t.Errorf("drawn: %.80s, %v", plain, err)
	}
	if coloured, err := runs.Draw(ctx, "./announce", session.Drawing{Format: "svg", Ops: true, Run: "last"}); err != nil || coloured == plain {
		t.Errorf("drawn with a run: %v", err)
	}
	if kept, pruned, err := runs.Prune(session.PruneRequest{}); err != nil || len(kept) != 1 || len(pruned) != 0 {
		t.Errorf("a run that waits is kept: %v, %v, %v", kept, pruned, err)
	}
	_, ended, err := runs.Continue(ctx, "last", session.Request{Answers: map[string]run.Answer{"Send it?": {Text: "Yes", How: "flag"}}})
	if err != nil || ended.Result.Status != run.OK {
		t.Errorf("continued: %+v, %v", ended.Result, err)
	}
	if _, _, err := runs.Continue(ctx, "last", session.Request{}); !errors.Is(err, diag.Code("run_done")) {
		t.Errorf("continued twice: %v", err)
	}
	if _, pruned, err := runs.Prune(session.PruneRequest{DryRun: true}); err != nil || len(pruned) != 1 {
		t.Errorf("a dry prune: %v, %v", pruned, err)
	}
	if _, pruned, err := runs.Prune(session.PruneRequest{}); err != nil || len(pruned) != 1 {
		t.Errorf("prune: %v, %v", pruned, err)
	}
	if list, err := runs.All(); err != nil || len(list) != 0 {
		t.Errorf("still there: %v, %v", list, err)
	}
}

// TestCheckLimits holds what is refused before there is a run.
func TestCheckLimits(t *testing.T) {
	runs := bench(t, false)
	for _, test := range []struct {
		allow []string
		how   string
		ok    bool
	}{{nil, "", true}, {[]string{"run", "filesystem"}, "strict", true}, {nil, "loose", false}, {[]string{"every thing"}, "", false}} {
		if err := runs.CheckLimits(test.allow, test.how); (err == nil) != test.ok || !test.ok && diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%q, %q: %v", test.allow, test.how, err)
		}
	}
}
