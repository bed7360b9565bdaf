package demo

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/spec/tree/check"
)

// writeTree writes a small skill with a tree, and what a model once answered to its leaves.
func writeTree(dir, answers string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := `---
name: announce
description: Announces a version. Use when asked to announce a release.
compatibility: ` + check.CanonicalCompatibility + `
metadata:
  canopy-features: [interaction]
---

` + check.CanonicalGuard + `

Version: $ARGUMENTS

## Tree

* announce
  * IF << $ARGUMENTS is not a valid semver
    * END Not a version: $ARGUMENTS
  * Write one sentence that announces version $ARGUMENTS >> sentence
  * SHOW_PLAN >> sentence
  * ASK << Send it? | Yes | No
  * IF << No
    * END

## Rules

- Promise nothing.

## Response: sentence
`
	answer := `{"node":"SKILL.md#/1","value":{"sentence":"Version 2.0.0 leaves out what only developers notice."}}` + "\n"
	return errors.Join(os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644), os.WriteFile(answers, []byte(answer), 0o644))
}

// writeSkill writes a small skill as it is in its first or second version.
func writeSkill(dir string, version int) error {
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o755); err != nil {
		return err
	}
	script := "#!/bin/sh\n# Lists the commits since the last tag.\nexec git log --oneline \"$(git describe --tags --abbrev=0)..HEAD\"\n"
	if err := os.WriteFile(filepath.Join(dir, "scripts", "commits.sh"), []byte(script), 0o755); err != nil {
		return err
	}
	body := "1. Run scripts/commits.sh.\n2. Group the commits by what a user notices.\n"
	if version > 1 {
		body += "3. Leave out what only developers notice.\n4. Put breaking changes first.\n"
	}
	text := "---\nname: release-notes\ndescription: Writes release notes from git history. Use when the user asks for a changelog or release notes.\n---\n\n# Release notes\n\n" + body
	return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644)
}
