package resource_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree/resource"
)

// The laws of filling: unknown slots change nothing, and a value is written as it is and never read again.
func FuzzFill(f *testing.F) {
	for _, s := range []string{"<a> {a} <<a>> context.a $ARGUMENTS", "<<a> <a-b><<<a>>>{{a}}", "x: a", "ctx.a.b[0].c.d. `a` <a_b", "é<é>{é}"} {
		f.Add(s, "<a> {a} context.a $ARGUMENTS <<a>>")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		none := func(string) (string, bool) { return "", false }
		if got, unknown := resource.Fill(text, none); got != text || !slices.Equal(unknown, resource.Slots(text)) {
			t.Fatalf("Fill changed %q to %q, unknown %q", text, got, unknown)
		}
		if !strings.Contains(text, "$ARGUMENTS") {
			if got := resource.Interpolate(text, value, none); got != text {
				t.Fatalf("Interpolate changed %q to %q", text, got)
			}
		}
		// A mark that no form can hold stands for the value: replacing it afterwards must give the same text.
		const mark = "\x00"
		if strings.Contains(text, mark) {
			return
		}
		with := func(v string) func(string) (string, bool) {
			return func(string) (string, bool) { return v, true }
		}
		marked, _ := resource.Fill(text, with(mark))
		if got, unknown := resource.Fill(text, with(value)); got != strings.ReplaceAll(marked, mark, value) || unknown != nil {
			t.Fatalf("Fill(%q, %q) = %q, unknown %q", text, value, got, unknown)
		}
		marked = resource.Interpolate(text, mark, with(mark))
		if got := resource.Interpolate(text, value, with(value)); got != strings.ReplaceAll(marked, mark, value) {
			t.Fatalf("Interpolate(%q, %q) = %q", text, value, got)
		}
		marked, doubtful := resource.InterpolateEnd(text, mark, with(mark))
		if got, again := resource.InterpolateEnd(text, value, with(value)); got != strings.ReplaceAll(marked, mark, value) || doubtful != again {
			t.Fatalf("InterpolateEnd(%q, %q) = %q", text, value, got)
		}
		for _, known := range []func(string) bool{nil, func(string) bool { return true }} {
			for _, m := range resource.Mentions(text, known) {
				if m == "" || !strings.Contains(strings.ReplaceAll(text, "-", "_"), strings.ReplaceAll(m, "-", "_")) {
					t.Fatalf("%q does not mention %q", text, m)
				}
			}
		}
	})
}

// The law of sections: each name that is listed is found, and a section is a part of its file.
func FuzzSections(f *testing.F) {
	f.Add(script)
	f.Add("# A\n## B\r\n```\n# C\n")
	f.Fuzz(func(t *testing.T, src string) {
		flat := strings.ReplaceAll(src, "\r\n", "\n")
		sections := resource.ScriptSections(src)
		for _, name := range sections[:min(len(sections), 20)] {
			text, ok := resource.ScriptSection(src, name)
			if strings.Trim(name, "`\"' ") != name || strings.ContainsRune(src, '\r') {
				continue
			}
			if !ok || !strings.Contains(flat, text) {
				t.Fatalf("section %q of %q: %q %v", name, src, text, ok)
			}
		}
		lines := strings.Split(flat, "\n")
		for _, line := range lines[:min(len(lines), 20)] { // each look-up reads the whole file
			text, ok := resource.MarkdownSection(src, strings.TrimLeft(line, "# "))
			if !ok && text != "" || ok && !strings.ContainsRune(src, '\r') && !strings.Contains(flat, text) {
				t.Fatalf("section %q of %q: %q %v", line, src, text, ok)
			}
		}
	})
}

// The law of checklists: every item stands on the line that it names, and appending an item adds that one.
func FuzzChecklist(f *testing.F) {
	f.Add("# x\n- [ ] a\n  b\n  - c\n    d\n* [x] (halt) e\n```\n- [ ] f\n```\n")
	f.Fuzz(func(t *testing.T, src string) {
		c := resource.ParseChecklist(src)
		lines := strings.Split(src, "\n")
		for i, it := range c.Items {
			if it.Line < 1 || it.Line > len(lines) || i > 0 && it.Line <= c.Items[i-1].Line {
				t.Fatalf("item %q on line %d of %d", it.Text, it.Line, len(lines))
			}
			if l := lines[it.Line-1]; !strings.Contains(l, "[ ]") && !strings.Contains(l, "[x]") && !strings.Contains(l, "[X]") {
				t.Fatalf("line %d is %q, and no item", it.Line, l)
			}
			resource.ParseClaim(it.Text)
		}
		more := resource.ParseChecklist("- [ ] first\n" + src)
		if len(more.Items) != len(c.Items)+1 {
			t.Fatalf("%d items, one more before them makes %d", len(c.Items), len(more.Items))
		}
		b, understood := resource.ParseArguments(src, src)
		if !understood && !strings.Contains(src, "$ARGUMENTS") || len(b) > 0 && !strings.Contains(src, "$ARGUMENTS") {
			t.Fatalf("nothing is said of arguments in %q: %q %v", src, b, understood)
		}
	})
}

var sink int

func BenchmarkInterpolate(b *testing.B) {
	lookup := table(bound)
	for name, text := range map[string]string{
		"question": "Release {name} as context.version, with $ARGUMENTS?",
		"plain":    "All of the files are written, and nothing is left to be done by anybody here",
		"hostile":  strings.Repeat("<<{context.a.<", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				sink = len(resource.Interpolate(text, "fast", lookup))
			}
		})
	}
	text := strings.Repeat("read `context.version` of the name and <skill-name>\n", 100)
	b.Run("mentions", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			sink = len(resource.Mentions(text, func(n string) bool { return n == "name" }))
		}
	})
}
