package check_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// Each form of the Agent section becomes an op, byte for byte as written in testdata/migrate, or is refused for the reason there.
func TestMigrateAgent(t *testing.T) {
	for _, name := range []string{"sentence", "tasks", "op", "in_files", "windows", "refused_schema", "refused_inputs", "refused_second", "refused_taken", "refused_called"} {
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile("testdata/migrate/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			files, want, why := fstest.MapFS{}, map[string]string{}, ""
			for _, f := range a.Files {
				text := string(f.Data)
				if name == "windows" {
					text = strings.ReplaceAll(text, "\n", "\r\n")
				}
				switch file, isWant := strings.CutPrefix(f.Name, "want/"); {
				case f.Name == "why":
					why = strings.TrimSpace(string(f.Data))
				case isWant:
					want[file] = text
				default:
					files[f.Name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			out, err := check.MigrateAgent(load(t, files))
			if why != "" {
				if err == nil || !strings.Contains(err.Error(), why) || out != nil {
					t.Errorf("%v, want %q", err, why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, r := range out {
				got[r.File] = r.New
				files[r.File] = &fstest.MapFile{Data: []byte(r.New)}
			}
			for _, file := range slices.Sorted(maps.Keys(want)) {
				if got[file] != want[file] {
					t.Errorf("%s:\n%s", file, got[file])
				}
			}
			if len(got) != len(want) {
				t.Errorf("it writes %v", slices.Sorted(maps.Keys(got)))
			}
			if again, err := check.MigrateAgent(load(t, files)); again != nil || err != nil {
				t.Errorf("the second time: %v %v", again, err)
			}
		})
	}
}

// The Agent section of every skill of the corpus becomes an op that says the same, or a reason is given; a crash after the first of two
// files leaves a skill that is migrated as the whole would have been.
func TestMigrateCorpus(t *testing.T) {
	migrated, refused := 0, map[string]int{}
	for name, s := range published(t) {
		out, err := check.MigrateAgent(s)
		switch {
		case err != nil:
			e, _ := diag.Own(err)
			refused[e.Message]++
			continue
		case out == nil:
			if s.Agent != nil && s.Tree != nil {
				t.Errorf("%s: nothing, and no reason", name)
			}
			continue
		}
		migrated++
		half, err := tree.Load(check.Rewritten(s.FS, out[:1]), s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := check.MigrateAgent(half); len(out) == 2 && (err != nil || len(rest) != 1 || rest[0].New != out[1].New) {
			t.Errorf("%s: after a crash: %v %v", name, rest, err)
		}
		whole, err := tree.Load(check.Rewritten(s.FS, out), s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := check.MigrateAgent(whole); again != nil || err != nil {
			t.Errorf("%s: the second time: %v %v", name, again, err)
		}
	}
	t.Logf("%d migrated; %v", migrated, refused)
	if migrated == 0 {
		t.Error("no skill was migrated")
	}
}
