package inspect_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

func open(b *scopetest.Bench) *inspect.Inspector {
	return &inspect.Inspector{Applier: apply.New(b.Scope(), scopetest.Nobody{}), Version: "test"}
}

// installed is a project with the skill pdf, installed from a folder of its own.
func installed(t *testing.T) *scopetest.Bench {
	t.Helper()
	b := scopetest.New(t)
	b.Skill("src", "pdf", "# PDF\n")
	r, err := ref.Parse("./src/pdf")
	if err == nil {
		_, err = open(b).Applier.Install(context.Background(), apply.InstallRequest{Refs: []ref.Ref{r}, Hosts: []string{"claude-code"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCopies lists, finds, reads and moves the copies of a project without a command line.
func TestCopies(t *testing.T) {
	ctx, b := context.Background(), installed(t)
	l, err := open(b).List(ctx, inspect.ListRequest{})
	if err != nil || len(l.Skills) != 1 || l.Skills[0].Name != "pdf" || l.Skills[0].State != "active" {
		t.Fatalf("list: %+v, %v", l.Skills, err)
	}
	if all, err := open(b).List(ctx, inspect.ListRequest{All: true}); err != nil || len(all.Skills) < 2 {
		t.Errorf("list all: %d, %v", len(all.Skills), err)
	}
	at := filepath.Join(b.Project, ".agents/skills/pdf")
	if won, err := open(b).Which(ctx, "pdf", nil); err != nil || won.Path != at {
		t.Errorf("which: %+v, %v", won, err)
	}
	info, err := open(b).Info(ctx, "./src/pdf")
	if err != nil || info.Name != "pdf" || info.Files != 1 || info.Digest != l.Skills[0].Digest {
		t.Errorf("info: %+v, %v", info, err)
	}
	text, err := open(b).Read(ctx, "pdf", "")
	if err != nil || !strings.HasSuffix(string(text.Data), "# PDF\n") || !strings.Contains(text.Prompt(), "Skill directory: "+at+"\n") {
		t.Errorf("read: %+v, %v", text, err)
	}
	if _, err := open(b).Read(ctx, "pdf", "no.md"); !errors.Is(err, diag.Code("no_such_file")) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := open(b).ReadActive(ctx, "./src/pdf", ""); !errors.Is(err, diag.Code("mcp_path")) {
		t.Errorf("agents read by name: %v", err)
	}

	moved, err := open(b).Move(ctx, inspect.MoveRequest{Name: "pdf", DryRun: true})
	if err != nil || moved.From != at || b.Read(".agents/skills/pdf/SKILL.md") == "" {
		t.Errorf("a dry move: %+v, %v", moved, err)
	}
	if _, err = open(b).Move(ctx, inspect.MoveRequest{Name: "pdf"}); err != nil || b.Read(".agents/skills/pdf/SKILL.md") != "" {
		t.Errorf("move: %v", err)
	}
	if _, err := open(b).ReadActive(ctx, "pdf", ""); !errors.Is(err, diag.Code("not_active")) {
		t.Errorf("a disabled skill is not read: %v", err)
	}
	if _, err = open(b).Move(ctx, inspect.MoveRequest{Name: "pdf", Back: true}); err != nil || b.Read(".agents/skills/pdf/SKILL.md") == "" {
		t.Errorf("back: %v", err)
	}
}

// TestChecks compares manifest, lock, disk and agents without a command line.
func TestChecks(t *testing.T) {
	ctx, b := context.Background(), installed(t)
	commit(t, b.Project)
	checks := func() (bad []string) {
		t.Helper()
		out, err := open(b).Check(ctx, "HEAD", false)
		if err != nil || out.Refused != "" {
			t.Fatalf("check: %+v, %v", out, err)
		}
		for _, c := range out.Checks {
			if !c.OK {
				bad = append(bad, c.Check)
			}
		}
		if out.OK != (len(bad) == 0) || len(out.Findings()) < len(bad) {
			t.Errorf("check: %+v", out)
		}
		return bad
	}
	if bad := checks(); bad != nil {
		t.Errorf("at first: %q", bad)
	}
	if s, err := open(b).Status(ctx); err != nil || !s.OK || s.Skills != 1 || !s.Trusted {
		t.Errorf("status: %+v, %v", s, err)
	}
	if d, err := open(b).Diff(ctx, "pdf", ""); err != nil || len(d.Files) != 0 {
		t.Errorf("diff: %+v, %v", d, err)
	}
	b.Write(".agents/skills/pdf/SKILL.md", b.Read("src/pdf/SKILL.md")+"An edit.\n")
	if bad := checks(); !slices.Equal(bad, []string{"verify"}) {
		t.Errorf("after an edit: %q", bad)
	}
	if s, err := open(b).Status(ctx); err != nil || s.OK || !slices.Equal(s.Drift, []string{"pdf"}) {
		t.Errorf("status after an edit: %+v, %v", s, err)
	}
	if d, err := open(b).Diff(ctx, "pdf", ""); err != nil || len(d.Files) != 1 || d.Files[0].Add != 1 || d.Files[0].Remove != 0 {
		t.Errorf("diff after an edit: %+v, %v", d, err)
	}
	if err := os.Remove(filepath.Join(b.Project, "skl.lock")); err != nil {
		t.Fatal(err)
	}
	if bad := checks(); !slices.Contains(bad, "lock") {
		t.Errorf("without a lock: %q", bad)
	}
	if d, err := open(b).DiffLocks(ctx, "HEAD"); err != nil || !d.OK || len(d.Skills) != 1 || d.Skills[0].Change != "removed" {
		t.Errorf("locks: %+v, %v", d, err)
	}
}

// TestDoctor finds a link that leads nowhere, and removes it if that is asked for. Where it leads to a skill of skl.lock, it is the
// skill that is missing: an install puts both right, and the link stays.
func TestDoctor(t *testing.T) {
	ctx, b := context.Background(), installed(t)
	link, gone := filepath.Join(b.Project, ".claude/skills/pdf"), filepath.Join(b.Project, ".claude/skills/gone")
	if err := os.Symlink("../../.agents/skills/gone", gone); err != nil {
		t.Fatal(err)
	}
	problems := func(area string, fix bool) (out []string) {
		t.Helper()
		found, err := open(b).Doctor(ctx, fix)
		if err != nil || len(found) == 0 {
			t.Fatalf("%+v, %v", found, err)
		}
		for _, f := range found {
			if f.Level == "problem" && f.Area == area {
				out = append(out, f.Mend)
			}
		}
		return out
	}
	if got := problems("link", false); !slices.Equal(got, []string{"skl doctor --fix"}) {
		t.Errorf("at first: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(b.Project, ".agents/skills/pdf")); err != nil {
		t.Fatal(err)
	}
	if got := problems("skill", false); !slices.Equal(got, []string{"skl install"}) {
		t.Errorf("without the skill: %q", got)
	}
	if got := problems("skill", true); got != nil {
		t.Errorf("put back: %q", got)
	}
	if got := problems("link", false); got != nil {
		t.Errorf("mended: %q", got)
	}
	if _, err := os.Lstat(gone); err == nil {
		t.Error("the link is still there")
	}
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the link of the skill: %v", err)
	}
}

// commit makes the folder a repository with all its files.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git is needed: %v\n%s", err, out)
		}
	}
}
