package run_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// A run that needs an answer is suspended; its journal and the answer finish it.
func ExampleRunner_Resume() {
	skill, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte(`---
name: bump
description: Bumps a version. Use when asked to release.
---

## Tree

* bind next = "2.0.0"
* ASK << Release <next>? | Yes | No
* IF << Yes
  * bind released = next
`)}}, "bump")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.New(context.Background(), skill, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	journal := &run.Memory{}
	r := run.Runner{Journal: journal}
	result, err := r.Run(context.Background(), p, "")
	fmt.Println(result.Status, result.Pending.Question, result.Pending.Options, err)

	r.Answers = map[string]run.Answer{"Release": {Text: "yes"}}
	result, err = r.Resume(context.Background(), p, journal.Records())
	fmt.Println(result.Status, result.Bindings["released"], err)
	// Output:
	// suspended Release 2.0.0? [Yes No] <nil>
	// ok 2.0.0 <nil>
}
