package prose

import (
	"strings"
	"testing"
)

// TestAnchors has links to headings lead to where these are after a conversion.
func TestAnchors(t *testing.T) {
	const src = "---\nname: s\ndescription: Does s. Use when asked for s.\n---\n\n# S\n\nSee [the table](#the-table), [more](#More-Deep) and [nothing](#nowhere).\n\n" +
		"## Steps\n\n1. Read the file, by [its table](#the-table).\n2. Write the summary.\n\n" +
		"## The table\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n### More *deep*\n\nSee [steps](#steps), [this](#more-deep) and [other](#the-other).\n\n```\n[code](#steps) and [code](a.md)\n```\n\nAnd [text](a.md).\n\n" +
		"## The other\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBack to [the table](#the-table).\n"
	conv, err := ToTree([]byte(src), "s", written{"SKILL.md": []byte(src)})
	if err != nil {
		t.Fatal(err)
	}
	all := string(conv.Source)
	for _, f := range conv.Files {
		all += "\n=== " + f.Name + "\n" + f.Text
	}
	for _, want := range []string{
		"See [the table](#the-table), [more](references/the-table.md#more-deep) and [nothing](#nowhere).",
		"by [its table](#the-table)",
		"See [steps](../SKILL.md#tree), [this](#more-deep) and [other](the-other.md#the-other).",
		"[code](#steps) and [code](a.md)\n",
		"And [text](../a.md).",
		"Back to [the table](the-table.md#the-table).",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %s in\n%s", want, all)
		}
	}
}
