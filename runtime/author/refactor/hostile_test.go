package refactor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/spec/bundle"
)

// Skills that were made to cost time are compared in a time that their size explains.
func TestHostile(t *testing.T) {
	many := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	files := func(ops string) bundle.Memory {
		return bundle.Memory{"references/ops.md": {Data: []byte(ops)}}
	}
	withFiles := files(many(2000, func(i int) string { return fmt.Sprintf("## O_%d\n\nSee `references/all/`.\n\n", i) }))
	for i := range 1500 {
		withFiles[fmt.Sprintf("references/all/f%d.md", i)] = bundle.MemoryFile{Data: []byte(fmt.Sprintf("f%d.md f%d.md", (i+1)%1500, (i+7)%1500))}
	}
	for name, skill := range map[string]bundle.Memory{
		"a chain of calls": files(many(2000, func(i int) string { return fmt.Sprintf("## O_%d\n\n* O_%d\n  * O_%d\n\n", i, i, i+1) })),
		"a staircase":      files("## AA\n\n" + many(1000, func(i int) string { return strings.Repeat(" ", i) + "x\n" })),
		"titles":           files(many(2000, func(i int) string { return fmt.Sprintf("# O_%d\n", i) })),
		"faults":           files(many(2000, func(i int) string { return fmt.Sprintf("## O_%d\n\n* ELSE\n* ELSE\n", i) })),
		"names":            files("## AA\n\n* AA\n" + many(2000, func(i int) string { return fmt.Sprintf("  * Use `n%d` >> m%d\n", i, i) })),
		"directories":      files("## AA\n\n" + strings.Repeat("references/all/ references/ ", 30_000)),
		"files":            withFiles,
	} {
		t.Run(name, func(t *testing.T) {
			given := skills{}
			for _, name := range []string{"a", "b", "c"} {
				given[name] = bundle.Memory{"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: d\n---\n\n## Tree\n\n* AA\n")}}
				for file, f := range skill {
					given[name][file] = f
				}
			}
			start := time.Now()
			r, err := refactor.Find(given.systems(), 0)
			if err != nil {
				t.Fatal(err)
			}
			found := time.Since(start)
			_, err = refactor.Extract(given.systems(), r, "shared-lib")
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("Find and Extract took %v", took)
			} else {
				t.Logf("%d candidates, %d left, Find %v, all %v, %v", len(r.Candidates), len(r.Left), found, took, err)
			}
		})
	}
}
