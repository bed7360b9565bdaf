package check

import (
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// agent checks the legacy section "## Agent".
func (c *checker) agent() {
	a, s := c.skill.Agent, c.skill
	if a == nil {
		return
	}
	c.report(AgentLegacy, a.Pos, "the Agent section is the old form: define an op with the marker > **Subagent.** and call it in bold, which skl lint --fix does")
	if nodes := s.Tree.Nodes; len(nodes) == 0 || nodes[0].Kind != tree.Explore && nodes[0].Name != tree.Explore.String() {
		at := a.Pos
		if len(nodes) > 0 {
			at = nodes[0].Pos
		}
		c.report(AgentFirst, at, "the skill has an Agent section: the first step is EXPLORE >> context")
	}
	if a.Shape == tree.ShapeC && s.Op(a.Op) == nil {
		c.unknown(a.Op, a.Pos)
	}
	if strings.Contains(a.Text, "**explore**") || a.Named {
		c.contractFile(AgentSchema, a.Pos, a.Schema, "the output contract of the Agent section", true)
	}
	c.agentText(a)
}

func (c *checker) agentText(a *tree.Agent) {
	arrows, numbered, table := 0, false, false
	for _, line := range strings.Split(a.Text, "\n") {
		text := strings.TrimSpace(line)
		if strings.Contains(blank(text, "`"), "→") || strings.Contains(text, "=>") {
			arrows++
		}
		table = table || isDelimiter(text)
		numbered = numbered || isItem(text) && strings.IndexByte("-*+", text[0]) < 0
	}
	plain := blank(a.Text, "`")
	switch {
	case table:
		c.report(AgentData, a.Pos, "the Agent section holds a table: move it to a file of constants")
	case numbered:
		c.report(AgentData, a.Pos, "the Agent section holds a numbered list: write sub-tasks, or an op")
	case arrows > 1:
		c.report(AgentData, a.Pos, "the Agent section holds a mapping: move it to a file of constants")
	case strings.Contains(plain, "e.g. \"") || strings.Contains(plain, "such as \""):
		c.report(AgentData, a.Pos, "the Agent section holds quoted examples: move them to a file of constants")
	}
	lower := strings.ToLower(a.Text)
	for _, stock := range [...]string{"do not inline-read", "return json only", "return only json", "only return json", "single json object"} {
		if strings.Contains(lower, stock) {
			c.report(AgentStock, a.Pos, "the Agent section says \""+stock+"\", which the runtime sees to")
			break
		}
	}
	if a.Shape != tree.ShapeA {
		return
	}
	text, _, _ := strings.Cut(plain, "Output contract:")
	if sentences(text) > 1 {
		c.report(AgentConcerns, a.Pos, "the Agent section does several things in one paragraph: list them below \"Sub-tasks:\", or execute an op")
	}
}
