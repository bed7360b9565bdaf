package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func clientsCommand() command {
	return command{name: "clients", usage: "lines to paste for programs that use a registry", output: admin.Clients{}, run: runClients,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "for", Usage: "only for `PROGRAM`: " + strings.Join(admin.Programs(), ", ")},
			&cli.StringFlag{Name: "namespace", Usage: "for skills of `NAMESPACE`"},
			&cli.StringFlag{Name: "registry", Usage: "speak to registry `NAME|URL` (default: the default one of config.toml)"},
		}}
}

func runClients(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry clients --for PROGRAM"); err != nil {
		return err
	}
	only := c.String("for") != ""
	out, err := w.admin().Clients(ctx, admin.ClientsRequest{Site: siteOf(c), For: c.String("for"), Namespace: c.String("namespace")})
	return w.show(out, err, func(say *report.Text) {
		for i, h := range out.Clients {
			if !only && i > 0 {
				say.Print("")
			}
			if !only && h.Note != "" {
				say.Print("# %s: %s", h.For, h.Note)
			} else if !only {
				say.Print("# %s", h.For)
			}
			for _, line := range h.Lines {
				say.Print("%s", line)
			}
			if only && h.Note != "" {
				say.Note("%s", h.Note)
			}
		}
	})
}
