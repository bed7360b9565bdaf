package check

import (
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// tools checks the definitions that have the marker of a tool, or one out of its place.
func (c *checker) tools() {
	for i := range c.bodies {
		op := c.bodies[i].op
		if op == nil {
			continue
		}
		c.strayTool(op)
		if !op.CallsTool() {
			continue
		}
		name := diag.Clip(op.Name, 60)
		if op.Subagent {
			c.report(TwoMarkers, op.ToolPos, name+" is marked as a subagent and as the call of a tool: which one is meant is not sure, so remove one")
		}
		switch {
		case op.Tool == "":
			c.report(ToolMissing, op.ToolPos, "the marker of "+name+" names no tool: write > **Tool.** `name`, with the backticks")
		case !tree.IsToolName(op.Tool):
			c.report(ToolName, op.ToolPos, "a tool cannot be called "+strconv.Quote(diag.Clip(op.Tool, 80))+": letters, digits, _, - and ., at most 64, such as server__tool")
		}
		if op.Tree != nil {
			c.report(ToolTree, tree.Pos{File: op.Pos.File, Line: op.Tree.First, Column: 1}, name+" is the call of a tool, and nothing would run its steps: say in words what to do where the tool is not there")
		}
	}
}

// strayTool looks for markers of a tool that stand where the parser takes none, or that are nearly one.
func (c *checker) strayTool(op *tree.Op) {
	f := c.source(op.Pos.File)
	if f == nil {
		return
	}
	kinds := f.kinds(1)
	for n := op.Pos.Line + 1; n <= min(op.Last, f.lines()); n++ {
		if kinds[n] != quoteLine || op.CallsTool() && n == op.ToolPos.Line {
			continue
		}
		line, _ := f.line(n)
		text := strings.TrimLeft(line, "> \t")
		at := tree.Pos{File: op.Pos.File, Line: n, Column: 1}
		if _, exact := tree.MarkedAs(text, "Tool"); exact {
			message := "the marker of a tool is not in its place: that is the first thing below the heading"
			if op.CallsTool() {
				message = diag.Clip(op.Name, 60) + " has a second marker of a tool: an op calls one"
			}
			c.report(ToolMissing, at, message)
			return
		}
		if rest, ok := cutFold(strings.TrimLeft(text, "*_"), "tool"); ok && !op.CallsTool() && strings.HasPrefix(strings.TrimLeft(rest, ".:*_ "), "`") {
			c.report(MarkerForm, at, "the blockquote is not a marker: that of a tool starts with > **Tool.**")
			return
		}
	}
}
