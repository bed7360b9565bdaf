package apply

import (
	"strings"

	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/skill"
)

// gate says which packages a skill needs and are not here, with the commands that install them.
func (a *Applier) gate(wanted []skill.Dependency, dir string) string {
	missing := a.Scope.Packages(dir).Missing(wanted)
	if len(missing) == 0 {
		return ""
	}
	var commands []string
	for _, m := range missing {
		if c := needs.Install(m); c != "" {
			commands = append(commands, c)
		}
	}
	why := "it needs packages that are not here: " + needs.Names(missing)
	if len(commands) > 0 {
		why += "; to install them: " + strings.Join(commands, "    ")
	}
	return why
}
