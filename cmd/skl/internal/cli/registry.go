package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func registryCommand() command {
	return command{name: "registry", group: "Sites", usage: "run a registry of skills, and administer one", output: admin.Done{},
		example: `skl registry serve
skl registry init --url https://skills.example --tls proxy --systemd
skl registry namespace create acme --public
skl registry token create --name ci --namespace acme --role publisher --expires 90d
skl registry approve acme/pdf@1.4.2
skl registry quarantine acme/pdf@1.4.2 --reason 'looks odd'
skl registry reject acme/pdf@1.5.0 --reason 'asks for too much'
skl registry clients --for npx
skl registry backup /srv/backup --data /var/lib/skl-registry`,
		sub: []command{
			serveRegistryCommand(), initRegistryCommand(),
			tokenCommand(), namespaceCommand(), publisherCommand(), advisoryCommand(),
			actCommand("approve", "approve a quarantined release, or one that was rejected by mistake", "approved"),
			actCommand("reject", "refuse a release that waits", "rejected"),
			actCommand("quarantine", "hold a release back for a decision", "quarantined"),
			queueCommand(), auditTrailCommand(),
			mirrorCommand(), clientsCommand(), registryLogCommand(),
			gcCommand(), fsckCommand(), scrubCommand(), backupCommand(), restoreCommand(), migrateCommand(), registryDoctorCommand(),
		}}
}

// siteFlags say which registry a subcommand speaks to.
func siteFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "registry", Usage: "speak to registry `NAME|URL` (default: the default one of config.toml)"},
		&cli.StringFlag{Name: "data", Usage: "work on the data in `DIR` directly, without a server and without a token"},
	}
}

// dataFlag is for what needs the data itself.
func dataFlag() cli.Flag {
	return &cli.StringFlag{Name: "data", Usage: "the registry keeps its data in `DIR` (default: where registry serve does)"}
}

// siteOf is the registry that siteFlags name.
func siteOf(c *cli.Context) admin.Site {
	return admin.Site{Registry: c.String("registry"), Data: c.String("data")}
}

func (w *world) admin() *admin.Admin { return &admin.Admin{Scope: w.scope} }

// did prints that a subcommand did something, or with --dry-run would have.
func (w *world) did(c *cli.Context, out admin.Done, err error, format string, args ...any) error {
	return w.show(out, err, func(say *report.Text) {
		say.Print(format, args...)
		dryNote(say, c)
	})
}

// dryNote says of a dry run that it was one.
func dryNote(say *report.Text, c *cli.Context) {
	if c.Bool("dry-run") {
		say.Note("nothing was changed (--dry-run)")
	}
}

// words wants exactly n arguments; form shows them.
func words(c *cli.Context, n int, form string) ([]string, error) {
	if c.Args().Len() != n {
		return nil, diag.New(diag.Misuse, "usage", "write: skl %s", form)
	}
	return c.Args().Slice(), nil
}

// table prints rows below a header, and note where there are none.
func table(say *report.Text, header []string, rows [][]string, note string) {
	say.Rows(append([][]string{header}, rows...))
	if len(rows) == 0 && note != "" {
		say.Note("%s", note)
	}
}
