package chunk_test

import (
	"fmt"

	"github.com/skl-project/skl/index/chunk"
)

func ExampleSplit() {
	o := chunk.Split("docs/use.md", []byte("# Use\n\nRun it.\n\n## Options\n\nThere are none.\n"))
	for _, p := range o.Pieces {
		n := o.Nodes[p.Node]
		fmt.Printf("%s %q of lines %d-%d\n", n.Type, n.Name, p.FirstLine, p.LastLine)
	}
	// Output:
	// chunk "" of lines 1-3
	// section "Options" of lines 5-7
}
