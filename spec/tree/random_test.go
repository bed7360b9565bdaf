package tree_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/long"
)

// words are what random lines are made of: all that has a meaning somewhere.
var words = []string{"IF", "ELSE_IF", "ELSE", "SWITCH", "CASE", "DEFAULT", "FOR_EACH", "PARALLEL", "BREAK", "END", "ASK", "SHOW_PLAN",
	"EXPLORE", "VERIFY_EXPECTED", "OP", "**OP**", "**IF**", "**EXPLORE**", "README", "Read", "bind", "Set", "to", "in", "x", "context.x", "demo",
	"<<", ">>", "|", "=", "<<a.b>>", "<<", ">>", "|", "\\<", "\\>", "\\|", "\\`", "\\*", "\\_", "\\\\", "\\", "`", "\"", "'", "(", ")", "[", "]", "{", "}",
	",", "←", "—", "→", "-", "*", "+", "§", "├──", "└──", "│", "#", "##", "```", "~~~", "<!--", "-->", "---", "`a/b.md`", "\"q\"", "[a, b]", "{a, b}",
	"$ARGUMENTS", "don't", "true", "1.5", "for", "section", ":", "é", "\xff", "\u00a0", "\t", "  "}

func randomSource(r *rand.Rand) string {
	var b strings.Builder
	box := r.IntN(3)
	if r.IntN(2) == 0 {
		b.WriteString("```\n")
	}
	for range 1 + r.IntN(12) {
		b.WriteString(strings.Repeat(" ", r.IntN(4)*2))
		switch {
		case r.IntN(12) == 0:
		case box == 0 || box == 2 && r.IntN(2) == 0:
			b.WriteString([]string{"├── ", "└── ", "│   ├── ", "│   ", ""}[r.IntN(5)])
		default:
			b.WriteString([]string{"* ", "* ", "- ", "", "+\t"}[r.IntN(5)])
		}
		for range r.IntN(7) {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		b.WriteString([]string{"\n", "\r\n", "\n\n"}[r.IntN(3)])
	}
	return b.String()
}

// Any input is a tree or none, and what is printed of it is the same tree again.
func TestRandomTrees(t *testing.T) {
	long.Slow(t)
	seed := uint64(4)
	r := rand.New(rand.NewPCG(seed, seed))
	trees := 0
	for range 40_000 {
		src, owner := randomSource(r), []string{"demo", "OP"}[r.IntN(2)]
		first, _ := tree.ParseTree(src, "f", 1, owner, isOp)
		printed := tree.Print(first)
		second, _ := tree.ParseTree(printed, "f", 1, owner, isOp)
		if first != nil {
			trees++
		}
		if !tree.Equal(first, second) || tree.Print(second) != printed {
			t.Fatalf("%q\nis printed\n%s\nwhich is\n%s\nnot\n%s", src, printed, dump(second), dump(first))
		}
	}
	if trees < 20_000 {
		t.Errorf("only %d of the inputs are trees", trees)
	}
}

// Formatting is done after once, whatever the file holds.
func TestRandomFormat(t *testing.T) {
	long.Slow(t)
	r := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		src := "intro\n\n## Tree\n" + randomSource(r) + "\n## Rules\n- a"
		file := "SKILL.md"
		if r.IntN(2) == 0 {
			src, file = "# T\n\n## OP << a\n"+randomSource(r)+"\n## TWO\n"+randomSource(r), "references/ops.md"
		}
		once, _ := tree.Format([]byte(src), file)
		twice, _ := tree.Format(once, file)
		if string(once) != string(twice) {
			t.Fatalf("%q\nis formatted\n%q\nand then\n%q", src, once, twice)
		}
	}
}
