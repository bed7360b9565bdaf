// Skl installs, locks and inspects agent-skill bundles. See README.md.
package main

import (
	"os"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
)

func main() { os.Exit(cli.Main()) }
