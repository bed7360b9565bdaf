package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func registryDoctorCommand() command {
	return command{name: "doctor", usage: "look at a registry as a client, or at its data", output: report.Diagnosis{}, example: "skl registry doctor --registry corp", run: runRegistryDoctor, flags: siteFlags()}
}

func runRegistryDoctor(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry doctor"); err != nil {
		return err
	}
	found, err := w.admin().Doctor(ctx, siteOf(c))
	if err != nil {
		return err
	}
	items := make([]inspect.Finding, len(found))
	for i, f := range found {
		items[i] = inspect.Finding(f)
	}
	return report.Doctor(items).Write(w.ui)
}
