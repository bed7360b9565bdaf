package install

import (
	"path/filepath"

	"github.com/skl-project/skl/spec/diag"
)

// owned are the paths of a project that skl believes something of, or writes to.
var owned = []string{
	".", "skl.toml", "skl.lock", ".git", ".agents", ".agents/skills", ".agents/skills/.skl", ".agents/.skl",
	".claude", ".claude/skills", ".github", ".github/skills",
}

// CheckOwner refuses, with code E_OWNER, the project in dir if what skl would believe there
// belongs to someone else: on a shared machine anyone can put a skl.toml into a directory above
// others' projects. It is the rule of git's safe.directory: the user's own files count, and for a
// user who became root by sudo also those of that user.
func CheckOwner(dir string) error {
	for _, name := range owned {
		path := filepath.Join(dir, filepath.FromSlash(name))
		owner, mine, err := ownerOf(path)
		if err != nil || mine {
			continue // what is not there decides nothing; what cannot be read is said by whoever reads it
		}
		return diag.New(diag.Refused, "E_OWNER", "%s belongs to %s, so nothing in %s is used", path, owner, dir).
			Hint("if you trust whoever that is: skl trust allow %s", dir).
			Hint("a directory below with a .git of its own is a project of its own: git init")
	}
	return nil
}

// Owner names whoever owns path: a user's id, as the system writes it.
func Owner(path string) (string, error) {
	owner, _, err := ownerOf(path)
	return owner, err
}

// IsMine reports whether path belongs to the user who runs this process.
func IsMine(path string) bool {
	_, mine, err := ownerOf(path)
	return err == nil && mine
}
