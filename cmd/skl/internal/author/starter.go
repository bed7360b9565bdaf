package author

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/tree/check"
)

// starter is a skill that passes lint.
func starter(name string) string {
	title := strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
	return fmt.Sprintf(`---
name: %s
description: Say what this skill does. Use when the user asks for it; name the words they would use.
---

# %s

## When to use

Name the situation in one or two sentences.

## Steps

1. Say what to do first, and with which files or tools.
2. Say how to check that it worked.
`, name, title)
}

// treeStarter is a skill that asks before it does something.
func treeStarter(name string) string {
	return fmt.Sprintf(`---
name: %s
description: Say what this skill does. Use when the user asks for it; name the words they would use.
compatibility: %s
metadata:
  canopy-features: [interaction]
---

%s
Topic: $ARGUMENTS

## Tree

* %s
  * Say in one sentence what should be done about $ARGUMENTS >> plan
  * SHOW_PLAN >> plan
  * ASK << Proceed? | Yes | No
  * IF << No
    * END
  * Do what `+"`plan`"+` says, and say what changed >> summary

## Rules

- Change nothing that the plan does not name.

## Response: summary
`, name, check.CanonicalCompatibility, check.CanonicalGuard, name)
}
