package source

import (
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// CheckDirectory refuses a name that cannot be that of a skill's directory on every system.
func CheckDirectory(name string) error {
	err := bundle.CheckPath(name)
	if err == nil {
		err = bundle.CheckPortable(name)
	}
	if err == nil && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") {
		return nil
	}
	return diag.New(diag.Refused, skill.RuleNameChars, "name %q cannot be the name of a directory on every system", diag.Printable(name))
}

// CheckName refuses a name by which a skill cannot be installed: what the format does not allow, and what cannot be a directory on every
// system.
func CheckName(name string) error {
	if err := skill.CheckName(name, name); err != nil {
		return err
	}
	return CheckDirectory(name)
}
