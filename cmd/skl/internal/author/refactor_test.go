package author_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	plans "github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/corpus"
)

// alike puts skills that share an op with a script below the folder skills of dir.
func alike(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(dir, "skills", name)
		put(t, filepath.Join(at, "SKILL.md"), "---\nname: "+name+"\ndescription: Counts for "+name+". Use when "+name+" has to be counted.\n---\n\n## Tree\n\n* "+name+
			"\n  * COUNT << $ARGUMENTS >> n\n  * Say what `n` means to "+name+" >> summary\n\n## Rules\n\n- Change nothing else.\n\n## Response: summary\n")
		put(t, filepath.Join(at, "references/ops.md"), "## COUNT << name >> n\n\nRun `scripts/count.sh` on the `name`, and keep what it prints.\n")
		put(t, filepath.Join(at, "scripts/count.sh"), "#!/bin/sh\ncurl -s https://example.com/list | wc -l\n")
		if err := os.Chmod(filepath.Join(at, "scripts/count.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// held is all that lies below a directory: modes, links and texts by path.
func held(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(data)
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = info.Mode().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRefactor compares three skills, plans and writes without a command line: the digests of the plan are those of what is written.
func TestRefactor(t *testing.T) {
	dir := project(t)
	a := open(t, dir)
	alike(t, dir, "a", "b", "c")
	before := held(t, dir)
	listed, err := a.Refactor(t.Context(), author.RefactorRequest{}, author.Terms{})
	if err != nil || len(listed.Alike.Candidates) != 1 || len(listed.Diff) != 0 || len(listed.Plan.Skills) != 0 {
		t.Fatalf("%+v, %v", listed, err)
	}
	shown, err := a.Refactor(t.Context(), author.RefactorRequest{Root: "skills", Into: "shared"}, author.Terms{})
	if err != nil || len(shown.Plan.Skills) != 4 || len(shown.Plan.Losses) != 0 || len(shown.Needs) != 0 || shown.Plan.Lint.After.Errors > shown.Plan.Lint.Before.Errors {
		t.Fatalf("%+v, %v", shown.Plan, err)
	}
	if !reflect.DeepEqual(before, held(t, dir)) {
		t.Error("a plan changed something")
	}
	kept := filepath.Join(t.TempDir(), "plan.json")
	if _, err := a.Refactor(t.Context(), author.RefactorRequest{Root: "skills", Into: "shared"}, author.Terms{File: kept}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	short, err := plans.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	short.Skills = slices.DeleteFunc(short.Skills, func(p plans.Part) bool { return p.Skill == "skills/c" })
	put(t, kept, string(short.Encode()))
	if _, err := a.Apply(t.Context(), kept, author.Terms{Write: true}); codeOf(err) != "changed_meanwhile" || !reflect.DeepEqual(before, held(t, dir)) {
		t.Errorf("a plan without one of its skills: %v", err)
	}
	out, err := a.Refactor(t.Context(), author.RefactorRequest{Into: "shared"}, author.Terms{Write: true})
	if err != nil || !reflect.DeepEqual(out.Plan, shown.Plan) || len(out.Wrote) != 4 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, part := range out.Plan.Skills {
		if now, err := a.Digest(part.Skill); err != nil || now.Digest != string(part.Result) {
			t.Errorf("%s is %s and not %s: %v", part.Skill, now.Digest, part.Result, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "skills/shared/scripts/count.sh"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("the script that moved: %v, %v", info, err)
	}
	again, err := a.Refactor(t.Context(), author.RefactorRequest{Into: "more", Min: 2}, author.Terms{Write: true})
	if err != nil || len(again.Alike.Candidates) != 0 || len(again.Wrote) != 0 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}

// TestRefactorTooMuch has a folder that a clone can bring cheaply: files that are large, and skills that are many.
func TestRefactorTooMuch(t *testing.T) {
	dir := project(t)
	alike(t, dir, "a", "b", "c")
	for i := range 5 {
		large := filepath.Join(dir, fmt.Sprintf("skills/large-%d/x.bin", i))
		put(t, filepath.Join(filepath.Dir(large), "SKILL.md"), "---\nname: large\n---\n")
		put(t, large, "")
		if err := os.Truncate(large, 60<<20); err != nil {
			t.Skip("skipped: ", err)
		}
	}
	if out, err := open(t, dir).Refactor(t.Context(), author.RefactorRequest{}, author.Terms{}); !errors.Is(err, diag.Code("too_large")) || out.Plan != nil {
		t.Errorf("300 MiB: %v", err)
	}
	many := project(t)
	for i := range 1001 {
		put(t, filepath.Join(many, fmt.Sprintf("skills/s%d/SKILL.md", i)), "")
	}
	if _, err := open(t, many).Refactor(t.Context(), author.RefactorRequest{}, author.Terms{}); !errors.Is(err, diag.Code("too_large")) {
		t.Errorf("1001 skills: %v", err)
	}
}

// A meddler is a context that does something when it is asked whether it goes on, which is after the plan is made and before it is written.
type meddler struct {
	context.Context
	do func()
}

func (m *meddler) Err() error {
	if m.do != nil {
		m.do()
	}
	return nil
}

// TestRefactorAllOrNone lets a write fail after it has begun, at several places: all skills are as they were, and nothing else is left.
func TestRefactorAllOrNone(t *testing.T) {
	for name, meddle := range map[string]func(t *testing.T, root string){
		"the last skill changed":   func(t *testing.T, root string) { put(t, filepath.Join(root, "c/SKILL.md"), "Other text.\n") },
		"a file that goes changed": func(t *testing.T, root string) { put(t, filepath.Join(root, "b/scripts/count.sh"), "true\n") },
		"the last skill is gone": func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, "c/SKILL.md")); err != nil {
				t.Fatal(err)
			}
		},
		"the new skill is there": func(t *testing.T, root string) { put(t, filepath.Join(root, "shared/SKILL.md"), "Mine.\n") },
		"a file is where a folder should be": func(t *testing.T, root string) {
			put(t, filepath.Join(root, "shared"), "Mine.\n")
		},
		"a folder is a link": func(t *testing.T, root string) {
			moved := filepath.Join(filepath.Dir(root), "moved")
			if err := errors.Join(os.Rename(filepath.Join(root, "c"), moved), os.Symlink(moved, filepath.Join(root, "c"))); err != nil {
				t.Skip("skipped: no links here")
			}
		},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kept %v", name, kept), func(t *testing.T) {
				dir := project(t)
				a := open(t, dir)
				alike(t, dir, "a", "b", "c")
				var then map[string]string
				ctx := &meddler{Context: t.Context()}
				meddled := func() {
					ctx.do = nil
					meddle(t, filepath.Join(dir, "skills"))
					then = held(t, dir)
				}
				var err error
				if kept {
					if _, err := a.Refactor(ctx, author.RefactorRequest{Into: "shared"}, author.Terms{File: "p.json"}); err != nil {
						t.Fatal(err)
					}
					n := 0
					ctx.do = func() { // the plan is made anew first, and carried out then
						if n++; n == 2 {
							meddled()
						}
					}
					_, err = a.Apply(ctx, "p.json", author.Terms{Write: true})
				} else {
					ctx.do = meddled
					_, err = a.Refactor(ctx, author.RefactorRequest{Into: "shared"}, author.Terms{Write: true})
				}
				if err == nil || then == nil {
					t.Fatalf("it was not refused: %v", err)
				}
				if now := held(t, dir); !reflect.DeepEqual(then, now) {
					t.Errorf("%v\nchanged\n%v\nto\n%v", err, then, now)
				}
			})
		}
	}
}

// TestRefactorLost moves a rule to a new skill: it is lost for a skill that does not require that one.
func TestRefactorLost(t *testing.T) {
	const rule = "- Never send the report to anybody else.\n"
	head := func(name, more string) string {
		return "---\nname: " + name + "\ndescription: Sends reports. Use when a report has to be sent.\n" + more + "---\n\n## Rules\n\n"
	}
	for requires, want := range map[string]int{"": 1, "metadata:\n  skl-requires: fresh\n": 0} {
		dir := project(t)
		put(t, filepath.Join(dir, "skills/report/SKILL.md"), head("report", "")+rule)
		now, fresh := head("report", requires), head("fresh", "")+rule
		parts := []plans.Part{
			{Skill: "skills/fresh", Files: []plans.File{{Path: "SKILL.md", Change: plans.NewFile, Text: &fresh}}},
			{Skill: "skills/report", Base: "is there", Files: []plans.File{{Path: "SKILL.md", Change: plans.Edited, Was: plans.Sum([]byte(head("report", "") + rule)), Text: &now}}},
		}
		keep(t, dir, parts)
		out, err := open(t, dir).Apply(t.Context(), "p.json", author.Terms{})
		if err != nil || len(out.Plan.Losses) != want {
			t.Errorf("%q: %v, %v", requires, out.Plan, err)
		}
		_, err = open(t, dir).Apply(t.Context(), "p.json", author.Terms{Write: true})
		if errors.Is(err, diag.Code("loss_refused")) != (want > 0) {
			t.Errorf("%q, carried out: %v", requires, err)
		}
	}
}

// keep writes a plan of parts to p.json, with the digests that they have. A part of a skill that is there has some Base.
func keep(t *testing.T, dir string, parts []plans.Part) {
	t.Helper()
	p := plans.Plan{V: 1, Op: plans.Refactor}
	for _, part := range parts {
		d := plans.New(path.Base(part.Skill))
		if part.Base != "" {
			d = plans.Over(path.Base(part.Skill), scope.FilesIn(filepath.Join(dir, filepath.FromSlash(part.Skill))))
		}
		if err := part.Apply(d); err != nil {
			t.Fatal(err)
		}
		var err error
		if _, part.Result, err = trees.ReadSum(d.FS()); part.Base != "" && err == nil {
			_, part.Base, err = trees.ReadSum(d.Before())
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Skills = append(p.Skills, part)
	}
	p.Whole = p.Sum()
	put(t, filepath.Join(dir, "p.json"), string(p.Encode()))
}

// TestPlansReach has plans that would hide what they add: in a new skill that another one requires then, or by a skill that has it already.
func TestPlansReach(t *testing.T) {
	text := func(name, requires string) string {
		return "---\nname: " + name + "\ndescription: Counts. Use when it has to be counted.\n" + requires + "---\n\nCount what there is.\n"
	}
	const requires, script = "metadata:\n  skl-requires: fresh\n", "#!/bin/sh\ncurl -s https://evil.example/list\n"
	added := func(name, text string) plans.File {
		return plans.File{Path: name, Change: plans.NewFile, Text: &text}
	}
	edited := func(name, was, now string) plans.File {
		return plans.File{Path: name, Change: plans.Edited, Was: plans.Sum([]byte(was)), Text: &now}
	}
	fresh := plans.Part{Skill: "skills/fresh", Files: []plans.File{added("SKILL.md", text("fresh", "")), added("scripts/x.sh", script)}}
	part := func(name string, files ...plans.File) plans.Part {
		return plans.Part{Skill: "skills/" + name, Base: "is there", Files: files}
	}
	moves := part("has", edited("SKILL.md", text("has", ""), text("has", requires)), plans.File{Path: "scripts/x.sh", Change: plans.Deleted, Was: plans.Sum([]byte(script))})
	for name, c := range map[string]struct {
		parts []plans.Part
		asks  bool
	}{
		"what moves to a skill that is required":            {[]plans.Part{fresh, moves}, false},
		"a new skill that none requires":                    {[]plans.Part{fresh, part("plain", edited("SKILL.md", text("plain", ""), text("plain", "")+"More.\n"))}, true},
		"a skill that requires one that does more":          {[]plans.Part{fresh, part("plain", edited("SKILL.md", text("plain", ""), text("plain", requires)))}, true},
		"one that requires it beside another that had it":   {[]plans.Part{fresh, moves, part("plain", edited("SKILL.md", text("plain", ""), text("plain", requires)))}, true},
		"a skill that has it beside one that gets the same": {[]plans.Part{part("has", edited("SKILL.md", text("has", ""), text("has", "")+"More.\n")), part("plain", added("scripts/x.sh", script))}, true},
	} {
		dir := project(t)
		put(t, filepath.Join(dir, "skills/has/SKILL.md"), text("has", ""))
		put(t, filepath.Join(dir, "skills/has/scripts/x.sh"), script)
		put(t, filepath.Join(dir, "skills/plain/SKILL.md"), text("plain", ""))
		keep(t, dir, c.parts)
		out, err := open(t, dir).Apply(t.Context(), "p.json", author.Terms{})
		if err != nil || slices.Contains(out.Needs, "url:evil.example") != c.asks {
			t.Errorf("%s: %q, %v", name, out.Needs, err)
		}
		_, err = open(t, dir).Apply(t.Context(), "p.json", author.Terms{Write: true, Allow: skill.LossCodes()})
		if errors.Is(err, diag.Code("permission_added")) != c.asks || !c.asks && err != nil {
			t.Errorf("%s, carried out: %v", name, err)
		}
	}
}

// TestRefactorPublished refactors each state of published skills, written: every skill loads and has no more errors than before, and a second
// time nothing is alike.
func TestRefactorPublished(t *testing.T) {
	files := corpus.Files(t)
	dir := project(t)
	roots := map[string]bool{}
	for at, below := range corpus.Below(files, func(name string) bool { return path.Base(name) == "SKILL.md" }) {
		repository, rest, _ := strings.Cut(at, "/")
		commit, _, _ := strings.Cut(rest, "/")
		for _, place := range []string{path.Join(repository, commit, path.Base(at)), path.Join(repository, "all", path.Base(at)+"-"+commit)} {
			roots[path.Dir(place)] = true
			for name, f := range below {
				put(t, filepath.Join(dir, filepath.FromSlash(path.Join(place, name))), string(f.Data))
			}
		}
	}
	a := open(t, dir)
	moved, changed, before, after := 0, 0, 0, 0
	for root := range roots {
		out, err := a.Refactor(t.Context(), author.RefactorRequest{Root: root, Min: 2, Into: "shared-ops"}, author.Terms{Write: true})
		if err != nil {
			t.Errorf("%s: %v", root, err)
			continue
		}
		moved += len(out.Alike.Candidates)
		changed += len(out.Wrote)
		before, after = before+out.Plan.Lint.Before.Errors, after+out.Plan.Lint.After.Errors
		if l := out.Plan.Lint; l.After.Errors > l.Before.Errors {
			t.Errorf("%s: %d errors before, %d after", root, l.Before.Errors, l.After.Errors)
		}
		for _, at := range out.Wrote {
			if _, err := tree.Load(scope.FilesIn(at), ""); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		again, err := a.Refactor(t.Context(), author.RefactorRequest{Root: root, Min: 2}, author.Terms{})
		if err != nil || len(again.Alike.Candidates) > 0 {
			t.Errorf("%s: a second time: %+v, %v", root, again.Alike, err)
		}
	}
	t.Logf("%d folders, %d ops moved, %d skills written, with %d errors before and %d after", len(roots), moved, changed, before, after)
	if moved == 0 {
		t.Error("nothing moved")
	}
}
