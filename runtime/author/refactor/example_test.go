package refactor_test

import (
	"fmt"
	"io/fs"

	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/spec/bundle"
)

func Example() {
	skills := map[string]fs.FS{}
	for _, name := range []string{"hello", "mail", "welcome"} {
		skills[name] = bundle.Memory{
			"SKILL.md":          {Data: []byte("---\nname: " + name + "\ndescription: Greets.\n---\n\n## Tree\n\n* GREET << \"you\"\n")},
			"references/ops.md": {Data: []byte("## GREET << name\n\nSay hello to `name`.\n")},
		}
	}
	report, err := refactor.Find(skills, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	extraction, err := refactor.Extract(skills, report, "greetings")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, op := range extraction.Moved {
		fmt.Println(op.Name, "of", op.Skills)
	}
	fmt.Printf("%s", extraction.Changes["mail"]["SKILL.md"].Now)
	// Output:
	// GREET of [hello mail welcome]
	// ---
	// name: mail
	// description: Greets.
	// metadata:
	//   skl-requires: greetings
	// ---
	//
	// ## Tree
	//
	// * GREET << "you"
}
