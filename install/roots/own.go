package roots

import "path/filepath"

// Project is [FindProject], which takes the skl.toml in a skill's own folder for what it is: it says what
// the skill is published as and needs, and came with the skill. Such a folder is part of
// the project around it; a skill that was installed is never a project.
func Project(cwd, home string) (dir, evidence string) {
	dir, evidence = FindProject(cwd, home)
	if evidence != "skl.toml" || !isSkill(dir) || exists(filepath.Join(dir, ".git")) {
		return dir, evidence
	}
	if outer, by := Project(filepath.Dir(dir), home); outer != "" || hasReceipt(dir) {
		return outer, by
	}
	return dir, evidence
}

// hasReceipt reports whether dir is a copy in a root, which has a receipt.
func hasReceipt(dir string) bool {
	return exists(receiptOf(filepath.Dir(dir), filepath.Base(dir)))
}
