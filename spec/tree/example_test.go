package tree_test

import (
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
)

func ExampleLoad() {
	files := fstest.MapFS{
		"SKILL.md": {Data: []byte(`---
name: hello
description: Greets somebody.
---

## Tree

* hello
  * ASK << Who is it? >> name
  * GREET << name | tone="warm" >> greeting
  * IF << greeting is empty
    * END Nothing to say.
`)},
		"references/ops.md": {Data: []byte("## GREET << name | tone >> greeting\n\nGreet `name` in the tone.\n")},
	}
	skill, err := tree.Load(files, "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	tree.Walk(skill.Tree.Nodes, func(n *tree.Node) bool {
		fmt.Printf("%s line %d: %s\n", n.ID, n.Pos.Line, n.Kind)
		return true
	})
	call := skill.Tree.Nodes[1]
	fmt.Println(call.Name, call.Args[1].Name, call.Outs[0].Name, skill.Op(call.Name).Pos.File)
	// Output:
	// SKILL.md#/0 line 9: ASK
	// SKILL.md#/1 line 10: call
	// SKILL.md#/2 line 11: IF
	// SKILL.md#/2/0 line 12: END
	// GREET tone greeting references/ops.md
}

func ExampleFormat() {
	src := "## Tree\n\n-   hello\n    -  GREET<<name|tone=\"warm\">>greeting\n"
	out, _ := tree.Format([]byte(src), "SKILL.md")
	fmt.Print(strings.TrimPrefix(string(out), "## Tree\n\n"))
	// Output:
	// - hello
	//   - GREET << name | tone="warm" >> greeting
}
