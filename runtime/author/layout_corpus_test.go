package author_test

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/testdata/corpus"
)

// withTrees are the skills of the corpus that have a tree, by their folder.
func withTrees(tb testing.TB) map[string]fstest.MapFS {
	out := map[string]fstest.MapFS{}
	for dir, fsys := range corpus.Below(corpus.Files(tb), corpus.IsEntry) {
		if s, err := tree.Load(fsys, path.Base(dir)); err == nil && s.Tree != nil {
			out[dir] = fsys
		}
	}
	return out
}

// counts are how many errors and warnings lint finds, and whether the skill can be run.
func counts(tb testing.TB, fsys fs.FS, name string) (errors, warnings int, runs bool) {
	tb.Helper()
	s, err := tree.Load(fsys, name)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range check.Check(s) {
		switch f.Severity {
		case diag.SeverityError:
			errors++
		case diag.SeverityWarning:
			warnings++
		}
	}
	_, err = plan.New(tb.Context(), s, plan.Options{})
	return errors, warnings, err == nil
}

// contents are the bytes of all files, sorted, with every path in them as one letter: moving a file changes nothing else.
func contents(tb testing.TB, fsys fs.FS) []string {
	tb.Helper()
	var out []string
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		words := strings.FieldsFunc(string(data), func(r rune) bool { return r == ' ' || r == '\n' || r == '`' || r == '(' || r == ')' || r == '"' })
		for i, word := range words {
			if strings.Contains(word, "/") || strings.Contains(word, "ops.md") {
				words[i] = "PATH"
			}
		}
		out = append(out, strings.Join(words, " "))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// Every skill of the corpus runs after its layout changed if it did before, lint finds no more, no text is lost, and a second time nothing moves.
func TestLayoutOfCorpus(t *testing.T) {
	skills := withTrees(t)
	moved, stay, old, whole := 0, 0, 0, 0
	for _, dir := range slices.Sorted(maps.Keys(skills)) {
		name := path.Base(dir)
		d := author.Over(name, skills[dir])
		moves, left, err := author.Layout(d)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if moved, stay = moved+len(moves), stay+len(left); len(moves)+len(left) > 0 {
			old++
			if len(left) == 0 {
				whole++
			}
		}
		if testing.Verbose() {
			for _, l := range left {
				t.Logf("%s: %s", dir, l)
			}
		}
		errors, warnings, runs := counts(t, d.Before(), name)
		errorsNow, warningsNow, runsNow := counts(t, d.FS(), name)
		if errorsNow > errors || warningsNow > warnings || runs && !runsNow {
			t.Errorf("%s: %d errors, %d warnings, runs %t; were %d, %d, %t", dir, errorsNow, warningsNow, runsNow, errors, warnings, runs)
		}
		if before, after := contents(t, d.Before()), contents(t, d.FS()); !slices.Equal(before, after) {
			t.Errorf("%s: the files hold something else", dir)
		}
		if lost, err := author.Lost(d); err != nil || len(lost) > 0 {
			t.Errorf("%s: lost %v %v", dir, lost, err)
		}
		again := author.Over(name, d.FS())
		if moves, leftNow, err := author.Layout(again); err != nil || len(moves) > 0 || len(again.Changes()) > 0 || len(leftNow) > len(left) {
			t.Errorf("%s: a second time: %v %v %v", dir, moves, leftNow, err)
		}
	}
	if moved == 0 {
		t.Error("nothing moved")
	}
	t.Logf("%d skills, %d of the old layout, %d of them whole: %d files moved, %d stay", len(skills), old, whole, moved, stay)
}

// Every skill of the corpus whose ops get contracts runs if it did before, lint finds no more, and a second time nothing changes.
func TestContractsOfCorpus(t *testing.T) {
	skills := withTrees(t)
	schemas, stay := 0, 0
	for _, dir := range slices.Sorted(maps.Keys(skills)) {
		name := path.Base(dir)
		d := author.Over(name, skills[dir])
		left, err := author.Contracts(d)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if stay += len(left); testing.Verbose() {
			for _, l := range left {
				t.Logf("%s: %s", dir, l)
			}
		}
		for _, c := range d.Changes() {
			if c.Was == nil {
				schemas++
			}
		}
		errors, warnings, runs := counts(t, d.Before(), name)
		errorsNow, warningsNow, runsNow := counts(t, d.FS(), name)
		if errorsNow > errors || warningsNow > warnings || runs && !runsNow {
			t.Errorf("%s: %d errors, %d warnings, runs %t; were %d, %d, %t", dir, errorsNow, warningsNow, runsNow, errors, warnings, runs)
		}
		again := author.Over(name, d.FS())
		if _, err := author.Contracts(again); err != nil || len(again.Changes()) > 0 {
			t.Errorf("%s: a second time: %v %v", dir, again.Changes(), err)
		}
	}
	if schemas == 0 {
		t.Error("no schema is written")
	}
	t.Logf("%d skills: %d schemas, %d ops left", len(skills), schemas, stay)
}
