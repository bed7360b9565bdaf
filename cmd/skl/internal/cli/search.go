package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/spec/diag"
)

func searchCommand() command {
	return command{name: "search", args: "WORDS…", group: "Skills", usage: "find skills, installed or on configured registries", output: search.Skills{},
		example: "skl search fill pdf forms\nskl search pdf --registry corp --limit 50 --json",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "registry", Usage: "ask the registry `NAME` of config.toml only"},
			&cli.BoolFlag{Name: "public", Usage: "search the bundled list of public repositories, too; nobody is asked"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N`"},
		},
		run: runSearch}
}

func runSearch(ctx context.Context, w *world, c *cli.Context) error {
	q := search.SkillsRequest{Words: strings.TrimSpace(strings.Join(c.Args().Slice(), " ")), Registry: c.String("registry"), Public: c.Bool("public")}
	switch limit := c.Int("limit"); {
	case q.Words == "":
		return diag.New(diag.Misuse, "usage", "search for what?").Hint("skl search fill pdf forms")
	case q.Public && q.Registry != "":
		return diag.New(diag.Misuse, "usage", "--public and --registry exclude each other").Hint("skl search --public %s", q.Words)
	case limit < 1 || limit > 100:
		return diag.New(diag.Misuse, "usage", "--limit is between 1 and 100")
	case c.IsSet("limit"):
		q.Limit = limit
	}
	out, err := w.search.Skills(ctx, q)
	if err != nil {
		return err
	}
	return report.Found(q.Words, out).Write(w.ui)
}
