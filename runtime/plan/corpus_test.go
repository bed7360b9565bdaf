package plan_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/corpus"
)

// Trees start as they were published, but for those of testdata/corpus.txt, which say why not. Whatever they read of canopy-runtime comes with skl.
func TestCorpus(t *testing.T) {
	bundled := func(name string) (*tree.Skill, error) {
		fsys, err := fs.Sub(skills.FS(), name)
		if err != nil {
			return nil, err
		}
		return tree.Load(fsys, name)
	}
	var b strings.Builder
	trees, refused := 0, map[string]int{}
	dirs := corpus.Below(corpus.Files(t), corpus.IsEntry)
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		s, err := tree.Load(dirs[dir], path.Base(dir))
		if err != nil || s.Tree == nil || path.Base(dir) == "templates" {
			continue
		}
		trees++
		if _, err := plan.New(t.Context(), s, plan.Options{Find: bundled}); err != nil {
			refused[s.Name]++
			fmt.Fprintf(&b, "%s: %v\n", dir, err)
		}
	}
	t.Logf("%d trees, %v refused", trees, refused)
	for _, name := range []string{"canopy", "canopy-debug"} {
		if refused[name] > 0 {
			t.Errorf("%s does not start", name)
		}
	}
	const file = "testdata/corpus.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || b.String() != string(want) {
		t.Errorf("%s differs (%v); go test -run TestCorpus -update rewrites it. Now:\n%s", file, err, b.String())
	}
}
