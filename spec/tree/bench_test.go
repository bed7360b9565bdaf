package tree_test

import (
	"runtime"
	"strings"
	"testing"

	"time"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/growth"
	"github.com/skl-project/skl/testdata/long"
)

// bigTree is a tree of n nodes of all kinds, as people write them.
func bigTree(n int, box bool) string {
	lines := []string{
		"IF << context.mode == \"fast\" AND target is not empty", "  EDIT_TAG << context.files | severity=\"high\" | limit=10 >> findings",
		"  Read `assets/constants/levels.md` → § matching `aspect`", "  FOR_EACH << finding in critical findings",
		"    print the finding with its file, line and a suggested fix as a snippet", "    SHOW_PLAN >> version | files to update | action: \"push\"",
		"  END Nothing to do — everything is up to date already.", "ELSE", "  ASK << Proceed with the changes? | Yes | Adjust plan | No",
		"  bind target = first token of $ARGUMENTS",
	}
	var b strings.Builder
	for i := range n {
		text := strings.TrimLeft(lines[i%len(lines)], " ")
		depth := (len(lines[i%len(lines)]) - len(text)) / 2
		if box {
			b.WriteString(strings.Repeat("│   ", depth) + "├── " + text + "\n")
		} else {
			b.WriteString(strings.Repeat("  ", depth) + "* " + text + "\n")
		}
	}
	return b.String()
}

// How fast is a tree of 10,000 nodes read?
func BenchmarkParseTree(b *testing.B) {
	for _, box := range []bool{false, true} {
		src := bigTree(10_000, box)
		b.Run(map[bool]string{false: "list", true: "box"}[box], func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if t, findings := tree.ParseTree(src, "SKILL.md", 1, "demo", nil); t == nil || len(findings) > 0 {
					b.Fatal(findings)
				}
			}
		})
	}
}

func BenchmarkPrint(b *testing.B) {
	src := bigTree(10_000, false)
	t, _ := tree.ParseTree(src, "SKILL.md", 1, "demo", nil)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		tree.Print(t)
	}
}

func BenchmarkFormat(b *testing.B) {
	src := []byte("## Tree\n" + bigTree(10_000, true))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		tree.Format(src, "SKILL.md")
	}
}

// Inputs made to be slow take no more than a time that grows with their length.
func TestHostileInput(t *testing.T) {
	long.Slow(t)
	n := tree.MaxFileBytes / 2
	fill := func(s string, size int) string { return strings.Repeat(s, size/len(s)) }
	inputs := map[string]func(size int) string{
		"open brackets":     func(n int) string { return "* OP << " + fill("([{", n) },
		"closing brackets":  func(n int) string { return "* OP << " + fill("(", n/2) + fill("]", n/2) },
		"quotes":            func(n int) string { return "* OP << " + fill("'a\"`", n) },
		"apostrophes":       func(n int) string { return "* OP << " + fill(" 'a", n) },
		"bars":              func(n int) string { return "* OP << " + fill("a|", n) },
		"bars and quotes":   func(n int) string { return "* OP << " + fill("\"a\"|", n) },
		"inputs":            func(n int) string { return "* OP " + fill("<< ", n) + ">> a" },
		"inputs in prose":   func(n int) string { return "* op " + fill("<<", n) + ">> a" },
		"outputs":           func(n int) string { return "* op " + fill(">> a", n) },
		"interpolations":    func(n int) string { return "* op " + fill("<<a>>", n) + ">> a" },
		"arrows":            func(n int) string { return "* a" + fill("←", n) },
		"spaced arrows":     func(n int) string { return "* a" + fill("(a ← ", n) },
		"dashes":            func(n int) string { return "* IF << a" + fill(" — →", n) },
		"backslashes":       func(n int) string { return "* " + fill("\\`", n) },
		"nested lists":      func(n int) string { return "* OP << " + fill("[", n/2) + fill("]", n/2) },
		"groups":            func(n int) string { return "* OP >> {" + fill("a,", n) + "}" },
		"continuation":      func(n int) string { return "* a\n" + fill("  b\n", n) },
		"columns":           func(n int) string { return "* a\n" + fill(" ", n) + "* b\n" },
		"rails":             func(n int) string { return "├── a\n" + fill("│", n) + "├── b\n" },
		"fences":            func(n int) string { return "* a\n" + fill("```\n", n) },
		"blank lines":       func(n int) string { return "* a\n" + fill("\n", n) + "* b\n" },
		"comments":          func(n int) string { return "* a\n" + fill("<!--\n", n) },
		"roots":             func(n int) string { return fill("a\n", n) + "├── a\n" },
		"plan":              func(n int) string { return "* SHOW_PLAN >> " + fill("a: b|", n) },
		"asks":              func(n int) string { return "* ASK q " + fill("<<a>> ", n) + "<< b" },
		"empty bullets":     func(n int) string { return fill("*\n", n) + "* a" },
		"headings":          func(n int) string { return fill("# OP\n", n) },
		"headings in depth": func(n int) string { return fill("# OP\n###### OQ\n", n) },
		"markers":           func(n int) string { return "# OP\n> **Subagent.**\n> Inputs:\n" + fill("> - `a` — b\n", n) },
		"tools":             func(n int) string { return "# OP\n> **Tool.** `a`\n" + fill("> **Tool.** `b\n", n) },
		"quote":             func(n int) string { return "# OP\n> **Subagent.**\n> Inputs:\n> - `a` — b\n" + fill(">    c\n", n) },
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			// 16 times the input is 16 times the work, and 256 times if that is quadratic.
			small, large := growth.Times(n/16, 16, 80, 0, func(n int) { read(input(n)) })
			if large > 80*max(small, time.Millisecond) && large > 300*time.Millisecond {
				t.Errorf("%v for %d KiB, %v for %d KiB", small, n/16>>10, large, n>>10)
			}
		})
	}
}

// read parses, prints and formats src in all places where it may stand.
func read(src string) {
	parsed, _ := tree.ParseTree(src, "f", 1, "demo", nil)
	tree.Print(parsed)
	tree.Format([]byte("## Tree\n"+src), "SKILL.md")
	tree.Load(mapFS(map[string]string{"SKILL.md": front + "## Agent\n" + src[:len(src)/2] + "\n## Tree\n* a\n## Rules\n" + src[:len(src)/4], "ops.md": "## OP\n" + src}), "demo")
}

// The memory of a tree grows with its nodes.
func TestMemory(t *testing.T) {
	size := func(n int) float64 {
		src := bigTree(n, false)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		parsed, _ := tree.ParseTree(src, "SKILL.md", 1, "demo", nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(parsed)
		return float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
	}
	small, large := size(2_000), size(20_000)
	t.Logf("%.0f and %.0f bytes for each node", small, large)
	if large > 2*small || large > 2048 {
		t.Errorf("%.0f bytes for each of 2,000 nodes, %.0f of 20,000", small, large)
	}
}
