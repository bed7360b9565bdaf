package roots

import "path/filepath"

// Aside is the directory for what belongs to root and that no agent may load:
// disabled skills, backups, half-finished copies. It lies beside root
// (.agents/.skl/skills for .agents/skills), because some agents search a root with all
// its hidden directories.
func Aside(root string) string {
	return filepath.Join(filepath.Dir(root), stateDir, filepath.Base(root))
}

// disabledRel is the directory of disabled skills as a slash path relative to root.
func disabledRel(root string) string {
	return "../" + stateDir + "/" + filepath.Base(root) + "/disabled"
}
