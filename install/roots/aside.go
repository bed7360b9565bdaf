package roots

import "path/filepath"

// Aside is the directory for what belongs to root and that no agent may load:
// disabled skills, backups, half-finished copies. It lies beside root
// (.agents/.skl/skills for .agents/skills), because some agents search a root with all
// its hidden directories.
func Aside(root string) string {
	return filepath.Join(filepath.Dir(root), stateDir, filepath.Base(root))
}

// disabledIn is the directory of the disabled skills of root.
func disabledIn(root string) string {
	return filepath.Join(Aside(root), "disabled")
}

// RootOf is the root that a skill's folder belongs to: the directory above it, or, of a disabled skill, the one that it was taken out of.
func RootOf(folder string) string {
	above := filepath.Dir(folder)
	if aside := filepath.Dir(above); filepath.Base(above) == "disabled" && filepath.Base(filepath.Dir(aside)) == stateDir {
		return filepath.Join(filepath.Dir(filepath.Dir(aside)), filepath.Base(aside))
	}
	return above
}
