package apply_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/diag"
)

// TestAcknowledge takes a conflict as it is, between an installed skill and a copy that its agent prefers, and trusts
// projects, without a command line.
func TestAcknowledge(t *testing.T) {
	b, ctx := newBench(t), context.Background()
	b.skill("pdf", "# PDF\n")
	if _, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src/pdf"), Hosts: []string{"claude-code"}}); err != nil {
		t.Fatal(err)
	}
	r := apply.AckRequest{Code: "W_TRUST_DOWNGRADE", Name: "pdf", Reason: "my way"}
	if acks, err := b.applier().Acknowledge(ctx, r); !errors.Is(err, diag.Code("no_conflict")) || acks != nil {
		t.Errorf("no conflict: %v, %v", acks, err)
	}
	mine := filepath.Join(b.home, ".claude/skills/pdf")
	err := os.MkdirAll(mine, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(mine, "SKILL.md"), []byte("---\nname: pdf\ndescription: My own way.\n---\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	manifest := func() string {
		text, err := os.ReadFile(filepath.Join(b.project, "skl.toml"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := manifest()
	r.DryRun = true
	if acks, err := b.applier().Acknowledge(ctx, r); err != nil || len(acks) != 1 || manifest() != before {
		t.Fatalf("a dry run: %+v, %v", acks, err)
	}
	r.DryRun = false
	acks, err := b.applier().Acknowledge(ctx, r)
	if err != nil || len(acks) != 1 || !strings.Contains(manifest(), acks[0].Winner) || !strings.Contains(manifest(), `reason = "my way"`) {
		t.Fatalf("%+v, %v:\n%s", acks, err, manifest())
	}
	if _, err := b.applier().Acknowledge(ctx, r); !errors.Is(err, diag.Code("no_conflict")) {
		t.Errorf("a conflict that is acknowledged is open: %v", err)
	}
	r.Reason = ""
	if _, err := b.applier().Acknowledge(ctx, r); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("without a reason: %v", err)
	}

	sc := b.applier().Scope
	if plan, err := sc.Decide("", false, true); err != nil || plan.Trusted || plan.Dir != sc.Project {
		t.Errorf("a dry run: %+v, %v", plan, err)
	}
	for _, allow := range []bool{false, true} {
		if _, err := sc.Decide("", allow, false); err != nil {
			t.Fatal(err)
		}
		if list, err := sc.Decisions(); err != nil || len(list) != 1 || list[0].Trusted != allow {
			t.Errorf("decided %t: %+v, %v", allow, list, err)
		}
	}
	if _, err := sc.Decide("missing", true, false); !errors.Is(err, diag.Code("no_such_directory")) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
