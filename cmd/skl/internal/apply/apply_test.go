package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A bench is a project of its own with a folder of skills beside it.
type bench struct {
	t                  *testing.T
	dir, home, project string
	told               *told
	answers            answers
}

// told collects what a use case says beside its result.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) say(kind, format string, args []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, kind+": "+fmt.Sprintf(format, args...))
}
func (l *told) Note(format string, args ...any)   { l.say("note", format, args) }
func (l *told) Detail(format string, args ...any) { l.say("detail", format, args) }
func (l *told) Warn(format string, args ...any)   { l.say("warning", format, args) }
func (l *told) Hint(format string, args ...any)   { l.say("hint", format, args) }

// answers is a person who says yes, or nobody.
type answers struct{ nobody, no bool }

func (a answers) CanAsk() bool { return !a.nobody }
func (a answers) Confirm(string) (bool, error) {
	if a.nobody {
		return false, ask.ErrNobody
	}
	return !a.no, nil
}
func (a answers) Letters(string, []ask.Letter, string) (string, error) {
	return map[bool]string{false: "y", true: "n"}[a.no], map[bool]error{true: ask.ErrNobody}[a.nobody]
}
func (a answers) Say(string) (string, error) { return "", nil }

func (a answers) Choose(c ask.Choice) (all []int, err error) {
	options := c.Options
	if a.nobody {
		return nil, ask.ErrNobody
	}
	for i := range options {
		all = append(all, i)
	}
	return all, nil
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: t.TempDir(), told: &told{}, answers: answers{nobody: true}}
	b.home, b.project = filepath.Join(b.dir, "home"), filepath.Join(b.dir, "project")
	for _, dir := range []string{b.home, filepath.Join(b.project, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// skill writes a skill below the project's src folder.
func (b *bench) skill(name, body string) {
	b.t.Helper()
	dir := filepath.Join(b.project, "src", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	text := "---\nname: " + name + "\ndescription: Does " + name + ". Use when asked.\n---\n" + body
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// applier opens the project anew, as each command does.
func (b *bench) applier() *apply.Applier {
	b.t.Helper()
	sc, err := scope.Open(scope.Options{Dir: b.project, Offline: true, UserAgent: "skl/test", Tell: b.told, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": b.home}[name] }})
	if err != nil {
		b.t.Fatal(err)
	}
	return apply.New(sc, b.answers)
}

func (b *bench) refs(texts ...string) (out []ref.Ref) {
	b.t.Helper()
	for _, text := range texts {
		r, err := ref.Parse(text)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// actions are the changes of a result, "add pdf".
func actions(r apply.Result) (out []string) {
	for _, c := range r.Changes.List {
		out = append(out, string(c.Action)+" "+c.Name)
	}
	return out
}

// TestUseCases walks a project from its first install to an empty root, without a command line.
func TestUseCases(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	b.skill("pdf", "# PDF\n")
	b.skill("ocr", "# OCR\n")
	installed := func(name string) bool {
		_, err := os.Stat(filepath.Join(b.project, ".agents/skills", name, "SKILL.md"))
		return err == nil
	}

	plan, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src/pdf"), Hosts: []string{"claude-code"}, DryRun: true})
	if err != nil || !slices.Equal(actions(plan), []string{"add pdf"}) || installed("pdf") {
		t.Fatalf("a plan: %v, %v", actions(plan), err)
	}
	result, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src/pdf", "./src/ocr"), Hosts: []string{"claude-code"}})
	if err != nil || len(result.Changes.List) != 2 || result.LockState != "changed" || !installed("pdf") || !installed("ocr") {
		t.Fatalf("install: %v, %v", actions(result), err)
	}
	if got := b.applier().SignedWord(result.Changes.List[0], result.Lock); got != "unsigned" {
		t.Errorf("signed: %q", got)
	}
	if result, err = b.applier().Frozen(ctx, apply.FrozenRequest{}); err != nil || result.Changes.Any() || result.LockState != "unchanged" {
		t.Errorf("frozen: %v, %v", actions(result), err)
	}
	found, _, err := b.applier().Holdings(ctx, b.refs("./src")[0])
	if err != nil || len(found) != 2 {
		t.Errorf("holdings: %v, %v", found, err)
	}
	why, err := b.applier().Why("pdf")
	if err != nil || why.Asked != "./src/pdf" || why.Locked.Name != "pdf" {
		t.Errorf("why: %+v, %v", why, err)
	}
	if _, err := b.applier().Why("missing"); !errors.Is(err, diag.Code("unknown_skill")) {
		t.Errorf("why of nothing: %v", err)
	}
	checked, err := b.applier().Verify(ctx, nil, false)
	if err != nil || !checked.OK || len(checked.Skills) != 2 {
		t.Errorf("verify: %+v, %v", checked, err)
	}
	if list, of, err := b.applier().Outdated(ctx, nil); err != nil || of != 2 || len(list) != 0 {
		t.Errorf("outdated: %v of %d, %v", list, of, err)
	}

	if err := b.applier().Hold(ctx, apply.HoldRequest{Name: "ocr", Hold: true}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a hold without a reason: %v", err)
	}
	if err := b.applier().Hold(ctx, apply.HoldRequest{Name: "ocr", Hold: true, Reason: "waiting"}); err != nil {
		t.Error(err)
	}
	b.skill("pdf", "# PDF, once more\n")
	if result, err = b.applier().Lock(ctx, apply.LockRequest{Upgrade: []string{"pdf"}, DryRun: true}); err != nil || result.Changes.Any() {
		t.Errorf("lock: %v, %v", actions(result), err)
	}
	if result, err = b.applier().Update(ctx, apply.UpdateRequest{}); err != nil || !slices.Contains(actions(result), "update pdf") {
		t.Errorf("update: %v, %v", actions(result), err)
	}
	if !slices.Contains(b.told.lines, "note: ocr is held: waiting") {
		t.Errorf("that a skill is held is not told: %q", b.told.lines)
	}

	if result, err = b.applier().Remove(ctx, apply.RemoveRequest{Names: []string{"pdf"}}); err != nil || installed("pdf") || !installed("ocr") {
		t.Errorf("remove: %v, %v", actions(result), err)
	}
	linked, err := b.applier().Link(ctx, apply.LinkRequest{Ref: b.refs("./src/pdf")[0]})
	if err != nil || linked.Name != "pdf" || !installed("pdf") {
		t.Errorf("link: %+v, %v", linked, err)
	}
	if result, err = b.applier().Remove(ctx, apply.RemoveRequest{Names: []string{"pdf"}}); err != nil || !slices.Equal(result.Unlinked, []string{"pdf"}) || installed("pdf") {
		t.Errorf("remove of a link: %+v, %v", result.Unlinked, err)
	}
}

// TestQuestions are decisions that a use case leaves to whoever calls it.
func TestQuestions(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		name    string
		answers answers
		accept  []string
		code    string // of the refusal, "" for none
	}{
		{"nobody", answers{nobody: true}, nil, "load_commands"},
		{"no", answers{no: true}, nil, "load_commands"},
		{"yes", answers{}, nil, ""},
		{"accepted before", answers{nobody: true}, []string{"load-command"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.skill("loud", "State: !`git status`\n")
			b.answers = test.answers
			result, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src/loud"), Agreed: apply.Agreed{Accept: test.accept}})
			if test.code == "" {
				if err != nil || !slices.Equal(actions(result), []string{"add loud"}) {
					t.Errorf("%v, %v", actions(result), err)
				}
				return
			}
			if !errors.Is(err, diag.Code(test.code)) || diag.ClassOf(err) != diag.Refused {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(b.project, "skl.lock")); err == nil {
				t.Error("something was written")
			}
		})
	}
	b := newBench(t)
	b.skill("one", "# One\n")
	b.skill("two", "# Two\n")
	_, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src")})
	if several, ok := errors.AsType[*apply.Ambiguous](err); !ok || len(several.Found) != 2 || !strings.Contains(err.Error(), "holds 2 skills") {
		t.Errorf("several skills and nobody to ask: %v", err)
	}
	b.answers = answers{}
	if result, err := b.applier().Install(ctx, apply.InstallRequest{Refs: b.refs("./src"), Hosts: []string{"codex"}}); err != nil || len(result.Changes.List) != 2 {
		t.Errorf("several skills, all chosen: %v, %v", actions(result), err)
	}
}
