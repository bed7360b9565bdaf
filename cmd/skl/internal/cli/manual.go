package cli

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/man"
)

// Manual is the help as the pages of the manual want it. Releases call it; the program itself does not.
func Manual(version string, date time.Time) man.Manual {
	return man.Manual{
		Version: version, Date: date, Summary: "package manager for agent skills",
		Commands: manCommands(commands()), Global: manFlags(globalFlags()), Exit: exitCodes, Environment: environmentHelp,
	}
}

func manCommands(list []command) (out []man.Command) {
	for _, c := range list {
		if strings.HasPrefix(c.name, "__") {
			continue
		}
		m := man.Command{Name: c.name, Args: c.args, Usage: c.usage, Aliases: c.aliases, Flags: manFlags(c.flags), Sub: manCommands(c.sub)}
		for line := range strings.Lines(c.example) {
			m.Examples = append(m.Examples, strings.TrimSpace(line))
		}
		out = append(out, m)
	}
	return out
}

func manFlags(flags []cli.Flag) (out []man.Flag) {
	for _, f := range flags {
		names, value, usage := flagParts(f)
		out = append(out, man.Flag{Names: names, Value: value, Usage: usage})
	}
	return out
}
