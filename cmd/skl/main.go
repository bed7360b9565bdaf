// Skl installs, locks and inspects agent-skill bundles. See README.md.
package main

import (
	"os"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	_ "github.com/skl-project/skl/cmd/skl/internal/memory" // a start without collecting garbage
	"github.com/skl-project/skl/runtime/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(cli.Main())
}
