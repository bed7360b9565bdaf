package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func searchCommand() command {
	return command{name: "search", args: "WORDS…", group: "Skills", usage: "find skills, installed or on configured registries", output: search.Skills{},
		example: "skl search fill pdf forms\nskl search pdf --registry corp --limit 50 --json",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "registry", Usage: "ask the registry `NAME` of config.toml only"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N`"},
		},
		run: runSearch}
}

func runSearch(ctx context.Context, w *world, c *cli.Context) error {
	q := search.SkillsRequest{Words: strings.TrimSpace(strings.Join(c.Args().Slice(), " ")), Registry: c.String("registry")}
	switch limit := c.Int("limit"); {
	case q.Words == "":
		return diag.New(diag.Misuse, "usage", "search for what?").Hint("skl search fill pdf forms")
	case limit < 1 || limit > 100:
		return diag.New(diag.Misuse, "usage", "--limit is between 1 and 100")
	case c.IsSet("limit"):
		q.Limit = limit
	}
	out, err := w.search.Skills(ctx, q)
	return w.show(out, err, func() { w.printSearch(q.Words, out) })
}

func (w *world) printSearch(words string, out search.Skills) {
	if len(out.Skills) == 0 {
		w.ui.Print("nothing matches %q", words)
		if len(out.Asked) == 0 {
			w.ui.Hint("no registry is configured: skl login URL --default")
		}
		return
	}
	if w.ui.Screen {
		w.ui.Page(ui.Painted(draw.Search(w.ui.Look(), words, out)))
		return
	}
	if out.NoGoodMatch {
		w.ui.Print("no good match; the nearest are:")
	}
	rows := [][]string{{"NAME", "VERSION", "FROM", "DESCRIPTION", "WHY"}}
	for _, s := range out.Skills {
		rows = append(rows, []string{cmp.Or(s.Ref, s.Name), s.Version, s.From(false), cut(s.Description, 70), strings.Join(s.Why, "; ")})
	}
	w.ui.Rows(rows)
	if out.Total > len(out.Skills) {
		w.ui.Note("%d more: --limit", out.Total-len(out.Skills))
	}
	if i := slices.IndexFunc(out.Skills, func(s search.Skill) bool { return !s.Installed }); i >= 0 {
		w.ui.Hint("skl info %s    skl install %s", out.Skills[i].Ref, out.Skills[i].Ref)
	}
}
