package check

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// CanonicalGuard is the blockquote that a new skill starts with. It stops agents
// that cannot run a tree; a runtime does not show it to a model.
const CanonicalGuard = "> **Runtime required.** The section `## Tree` below is a program. It must be run by a runtime for Canopy trees, " +
	"such as `skl run`, which does so by itself and can ignore this notice, or by an agent that follows the skill canopy-runtime.\n" +
	">\n" +
	"> **Look for the runtime.** An agent has it when `canopy-runtime/SKILL.md` exists beside the directory of this skill, in `.agents/skills`, " +
	"`.claude/skills` or `.github/skills`, or when `CLAUDE.md` or `.github/copilot-instructions.md` holds the lines between `canopy-runtime-begin` and `canopy-runtime-end`.\n" +
	">\n" +
	"> **If there is none,** stop here and install one first; the field `compatibility` above says where to get it.\n" +
	">\n" +
	"> Without a runtime, do not act on the tree and do not guess what its steps mean.\n"

// CanonicalCompatibility is the text of compatibility for a skill with a tree. It
// can stand in YAML without quotes.
const CanonicalCompatibility = "Needs a runtime for Canopy trees. Run the skill with skl, or give the agent the skill canopy-runtime, " +
	"which any installer of agent skills can fetch. Both are found at github.com/skl-project/skl."

// WrittenCompatibility are the texts that skl wrote as compatibility of a skill with a tree, the present one first. They stand beside
// what else compatibility says.
func WrittenCompatibility() []string {
	return []string{
		CanonicalCompatibility,
		"Needs a runtime for Canopy trees. Either run it with skl, or give the agent the skill canopy-runtime from " +
			"github.com/kostiantyn-matsebora/canopy, with any installer of agent skills or by copying its directory.",
	}
}

func (c *checker) guard() {
	s, f := c.skill, c.source(c.skill.File)
	if f == nil {
		return
	}
	first := c.bodyLine()
	if s.Guard == nil {
		if lo, hi := c.otherGuard(f, first); hi > 0 {
			c.report(OldGuard, tree.Pos{File: s.File, Line: lo, Column: 1}, "the guard does not start with **Runtime required.**").Fix = f.guardAt(lo, hi)
			return
		}
		nl := f.newline()
		at := f.offset(first)
		text := strings.ReplaceAll(CanonicalGuard, "\n", nl) + nl
		if at > 0 && f.text[at-1] != '\n' {
			text = nl + text
		}
		c.report(NoGuard, tree.Pos{File: s.File, Line: first}, "no guard stops agents that have no runtime").
			Fix = &diag.Fix{Note: "insert a guard", Start: at, End: at, Text: text}
		return
	}
	g := s.Guard
	if g.Title == "Runtime required:" {
		c.report(OldGuard, g.Pos, "the guard starts with **Runtime required:** instead of **Runtime required.**").Fix = f.guardAt(g.Pos.Line, g.Last)
	}
	if at := f.firstBlock(first); at < g.Pos.Line {
		// The text above the guard moves below it in one splice.
		start, from, end := f.offset(at), f.offset(g.Pos.Line), f.offset(g.Last+1)
		nl := f.newline()
		moved := strings.TrimRight(f.text[from:end], "\r\n") + nl + nl + strings.TrimRight(f.text[start:from], " \t\r\n") + nl
		c.report(LateGuard, g.Pos, "the guard is not the first thing in the body: an agent without a runtime reads what stands before it").
			Fix = &diag.Fix{Note: "move the guard up", Start: start, End: end, Text: moved}
	}
	if !strings.Contains(strings.ToLower(g.Text), "canopy-runtime") {
		c.report(WeakGuard, g.Pos, "the guard does not name canopy-runtime").Fix = f.guardAt(g.Pos.Line, g.Last)
	}
}

// bodyLine is the line behind the frontmatter.
func (c *checker) bodyLine() int {
	if c.skill.Doc == nil {
		return 1
	}
	return max(c.skill.Doc.BodyLine, 1)
}

// otherGuard finds a blockquote above the first section that speaks of the runtime
// in other words than a guard does.
func (c *checker) otherGuard(f *source, first int) (lo, hi int) {
	kinds := f.kinds(first)
	for n := first; n <= f.lines(); n++ {
		if line, _ := f.line(n); kinds[n] == headLine && strings.HasPrefix(line, "## ") {
			break
		} else if kinds[n] != quoteLine {
			continue
		}
		lo = n
		for n < f.lines() && kinds[n+1] == quoteLine {
			n++
		}
		if strings.Contains(f.text[f.offset(lo):f.offset(n+1)], "canopy-runtime") {
			return lo, n
		}
	}
	return 0, 0
}

// firstBlock is the first line of the body that is neither empty, a comment, a
// rule nor the title of the page.
func (f *source) firstBlock(first int) int {
	kinds := f.kinds(first)
	for n := first; n <= f.lines(); n++ {
		switch kinds[n] {
		case emptyLine, hiddenLine, ruleLine:
			continue
		case headLine:
			if line, _ := f.line(n); strings.HasPrefix(line, "# ") {
				continue
			}
		}
		return n
	}
	return f.lines()
}

// guardAt is the fix that writes the canonical guard in place of lines lo to hi.
func (f *source) guardAt(lo, hi int) *diag.Fix {
	nl := f.newline()
	text := strings.ReplaceAll(CanonicalGuard, "\n", nl)
	return &diag.Fix{Note: "write the guard in its present form", Start: f.offset(lo), End: f.offset(hi + 1), Text: text}
}
