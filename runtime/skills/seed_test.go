package skills

import (
	"strings"
	"testing"
)

// The pages for agents without skl say what to do where products differ.
func TestHostPages(t *testing.T) {
	for page, says := range map[string][]string{
		"canopy-runtime/SKILL.md": {
			"Claude Code reads `references/runtime-claude.md`, GitHub Copilot reads `references/runtime-copilot.md`.",
			"the first of `.agents/skills`, `.claude/skills`, `.github/skills` that holds `canopy-runtime/SKILL.md`",
			"Read `references/ops/core.md`, always.",
			"the other files of `references/ops/` that `metadata.canopy-features` of the skill names, and no others",
			"When the skill has no such key, read all of them.",
			"`references/ops.md` of the skill, a file of `references/ops/` of the skill, then the old places `ops.md` and `ops/`; then the ops of skills that it depends on; then the primitives. Nobody can define a primitive anew.",
		},
		"canopy-runtime/references/runtime-claude.md": {
			"`<skills-root>/NAME/SKILL.md`", "those in `.claude/skills`", "A skill is called as `/NAME arguments`, or by asking to follow its SKILL.md.",
			"one use of the tool Task",
			"Give no other bindings, and no part of the tree.",
			"one use of Task for each child that has its own context, all in a single message",
			"Results come in any order. Bind each to the name at its call.",
			"A subagent that fails is an outcome of its child. Go on with the others.",
			"Do the same when a step in natural language asks for several subagents at once.",
		},
		"canopy-runtime/references/runtime-copilot.md": {
			"`<skills-root>/NAME/SKILL.md`", "those in `.github/skills` and `.agents/skills`", "A skill is called as `/NAME arguments`, or by asking to follow its SKILL.md.",
			"goes the first of these ways that is open: 1. fleet mode or autopilot", "2. a custom agent that the step names with `@NAME`;", "3. the built-in subagents (`runSubagent`); this is the usual way, all children at the same time;",
			"4. here, one after another. Take it only when the third is really switched off, and only after asking", "with Yes and No. At No, stop.",
			"On ways 1 to 3 a child that fails stops no other", "On way 4 the first failure stops the block and the skill.",
			"Every call in bold, every child of a parallel block with its own context, and the old Agent section",
		},
	} {
		text := strings.Join(strings.Fields(read(t, page)), " ")
		for _, want := range says {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", page, want)
			}
		}
	}
}

// The skill that writes others knows all that it is asked for, shows a plan before it writes, and needs the runtime.
func TestOperations(t *testing.T) {
	text := read(t, "canopy/SKILL.md")
	for _, operation := range []string{"create", "modify", "scaffold", "validate", "improve", "advise", "refactor", "convert", "activate", "help"} {
		if !strings.Contains(text, "\n    * CASE << \""+operation+"\"\n") {
			t.Errorf("canopy has no branch for %s", operation)
		}
	}
	if !strings.Contains(text, "\n* Write nothing before the plan was shown and accepted.\n") {
		t.Error("canopy may write before its plan was accepted")
	}
	for _, name := range []string{"canopy", "canopy-debug"} {
		if text := read(t, name+"/SKILL.md"); !strings.Contains(text, "\n> **Runtime required.**") || !strings.Contains(text, "compatibility: Needs a runtime for Canopy trees.") || !strings.Contains(text, "canopy-runtime") {
			t.Errorf("%s does not say that it needs canopy-runtime", name)
		}
	}
}
