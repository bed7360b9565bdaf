package prose_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/prose"
)

const messy = `---
name: demo
description: Does it.
argument-hint: FILE
user-invocable: false
disable-model-invocation: false
---

# Demo

| key | value |
|---|---|
| a | b |

## Usage

Run [it](scripts/run.sh), or look [there](https://example.com/a).

` + "```sh\nmake all\n```" + `

## Agent

Looks around.

## Steps

1. Read ` + "`references/none.md`" + `
2. EXPLORE the folder
3. Run it:
   ` + "```sh\n   make\n   ```" + `

## Role

Whoever asks.
`

// The result of a conversion has no errors, and what moved is in files that were free.
func TestToTree(t *testing.T) {
	files := fstest.MapFS{"references/usage.md": {Data: []byte("mine")}}
	got, err := prose.ToTree([]byte(messy), "demo", files)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(got.Source)
	for _, f := range got.Files {
		b.WriteString("---- " + f.Name + "\n" + f.Text)
		if files[f.Name] != nil {
			t.Errorf("%s was there", f.Name)
		}
		files[f.Name] = &fstest.MapFile{Data: []byte(f.Text)}
	}
	golden(t, "testdata/totree.golden", b.String()+"----\n"+strings.Join(got.Losses, "\n")+"\n")
	files["SKILL.md"] = &fstest.MapFile{Data: got.Source}
	s, err := tree.Load(files, "demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Check(s) {
		if f.Severity == diag.SeverityError {
			t.Errorf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Message)
		}
	}
	if again, err := prose.ToTree([]byte(messy), "demo", fstest.MapFS{"references/usage.md": {Data: []byte("mine")}}); err != nil ||
		string(again.Source) != string(got.Source) || !slices.Equal(again.Files, got.Files) {
		t.Errorf("a second conversion differs: %v", err)
	}
}

// A fence that nothing closes does not hide the sections that a tree needs.
func TestToTreeOpenFence(t *testing.T) {
	got, err := prose.ToTree([]byte(head+"## Steps\n\n1. one\n2. two\n\n## More\n\n```md\n````\ntext\n"), "demo", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: got.Source}, got.Files[0].Name: {Data: []byte(got.Files[0].Text)}}, "demo")
	if err != nil || diag.Worst(check.Check(s)) == diag.SeverityError {
		t.Errorf("%v\n%s", err, got.Source)
	}
}

// Hostile text converts, or is refused, in time that grows with its length.
func FuzzToTree(f *testing.F) {
	f.Add("## Steps\n\n1. If x, do y, or z: a\n2. For each a of b, ask c?\n\n## Agent\n\n```\n")
	f.Add("# Rules\n\n- Ask the user which?\n- b\n\n### Role\n\n|a|\n|--|\n{\n")
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 1<<13 {
			return
		}
		got, err := prose.ToTree([]byte(head+body), "demo", fstest.MapFS{})
		if err != nil {
			return
		}
		if s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: got.Source}}, "demo"); err == nil && s.Tree == nil {
			t.Fatalf("no tree in %q", got.Source)
		}
	})
}

// BenchmarkToTree converts a skill of 200 steps, each with code.
func BenchmarkToTree(b *testing.B) {
	src := []byte(messy + strings.Repeat("1. If the build fails, fix it\n\n   ```sh\n   make\n   ```\n", 200))
	for b.Loop() {
		if _, err := prose.ToTree(src, "demo", fstest.MapFS{}); err != nil {
			b.Fatal(err)
		}
	}
}
