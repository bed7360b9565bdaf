package evaluate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/evaluate"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/check"
)

// bench has a skill that asks a model for a sentence, and an answer to it.
func bench(t *testing.T) (*scopetest.Bench, *session.Runs) {
	b := scopetest.New(t)
	b.Write("announce/SKILL.md", `---
name: announce
description: Announces a version. Use when asked to announce a release.
compatibility: `+check.CanonicalCompatibility+`
metadata:
  canopy-features: [interaction]
---

`+check.CanonicalGuard+`

Version: $ARGUMENTS

## Tree

* announce
  * Write one sentence that announces version $ARGUMENTS >> sentence

## Response: sentence
`)
	b.Write("answers.jsonl", `{"node":"SKILL.md#/0","value":{"sentence":"Version 2.0.0 is out."}}`+"\n")
	return b, &session.Runs{Scope: b.Scope(), Ask: scopetest.Nobody{}, Version: "test"}
}

// TestRecordAndRun records a case, replays it, and says how a changed skill differs, without a command line.
func TestRecordAndRun(t *testing.T) {
	ctx := context.Background()
	b, runs := bench(t)
	if _, err := evaluate.Run(ctx, runs, evaluate.Request{Skill: "./announce"}); !errors.Is(err, diag.Code("no_tests")) {
		t.Errorf("without tests: %v", err)
	}
	q := evaluate.RecordRequest{Skill: "./announce", Case: "first", Model: "replay:answers.jsonl", Arguments: "2.0.0"}
	if _, err := evaluate.Record(ctx, runs, q); !errors.Is(err, diag.Code("run_not_allowed")) {
		t.Errorf("nobody allowed it: %v", err)
	}
	q.Allow, q.DryRun = []string{"everything"}, true
	if _, err := evaluate.Record(ctx, runs, q); !errors.Is(err, diag.Code("invalid_allow")) {
		t.Errorf("a dry run of what --allow does not take: %v", err)
	}
	q.Allow, q.DryRun = []string{"run"}, true
	if _, err := evaluate.Record(ctx, runs, q); err != nil || b.Read("announce/tests/first/case.json") != "" {
		t.Errorf("a dry run: %v", err)
	}
	q.DryRun = false
	recorded, err := evaluate.Record(ctx, runs, q)
	if err != nil || recorded.Want.Status != "ok" || recorded.Want.Response["sentence"] != "Version 2.0.0 is out." {
		t.Fatalf("record: %+v, %v", recorded, err)
	}
	if _, err := evaluate.Record(ctx, runs, q); !errors.Is(err, diag.Code("exists")) {
		t.Errorf("twice: %v", err)
	}
	if _, err := evaluate.Run(ctx, runs, evaluate.Request{Skill: "./announce"}); !errors.Is(err, diag.Code("run_not_allowed")) {
		t.Errorf("nobody allowed the tests: %v", err)
	}
	seen := 0
	out, err := evaluate.Run(ctx, runs, evaluate.Request{Skill: "./announce", Allow: []string{"run"}, Each: func(evaluate.Row) { seen++ }})
	if err != nil || !out.OK || seen != 1 || out.Failed() != 0 {
		t.Errorf("run: %+v, %v", out, err)
	}

	file := "announce/tests/first/case.json"
	b.Write(file, strings.Replace(b.Read(file), "is out.", "is in.", 1))
	out, err = evaluate.Run(ctx, runs, evaluate.Request{Skill: "./announce", Allow: []string{"run"}})
	if err != nil || out.OK || out.Failed() != 1 || !strings.Contains(strings.Join(out.Cases[0].Diff, "\n"), `Version 2.0.0 is in.`) {
		t.Errorf("another outcome is wanted: %+v, %v", out, err)
	}
	if out, err = evaluate.Run(ctx, runs, evaluate.Request{Skill: "./announce", Allow: []string{"run"}, Update: true}); err != nil || !out.OK || !strings.Contains(b.Read(file), "is out.") {
		t.Errorf("update: %+v, %v\n%s", out, err, b.Read(file))
	}
}
