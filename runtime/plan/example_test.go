package plan_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
)

// A skill is read, planned, and asked what a run of it could do.
func ExampleNew() {
	skill, err := tree.Load(fstest.MapFS{
		"SKILL.md": {Data: []byte(`---
name: tidy
description: Tidies notes. Use when asked to tidy.
---

## Tree

* FIND_NOTES << $ARGUMENTS >> notes
* IF << notes is empty
  * END There are no notes in $ARGUMENTS
* ASK << Tidy them? | Yes | No
* IF << Yes
  * FOR_EACH << note in notes
    * Shorten the note
`)},
		"references/ops.md": {Data: []byte("## FIND_NOTES << folder >> notes\n\nList the notes in the folder.\n")},
	}, "tidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.New(context.Background(), skill, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range p.Effects("inbox") {
		fmt.Printf("%-5s %-12s %s\n", e.Kind, e.Path, e.What)
	}
	// Output:
	// model 0>FIND_NOTES FIND_NOTES: List the notes in the folder.
	// ask   2            Tidy them?
	// model 3/0[*]/0     Shorten the note
}
