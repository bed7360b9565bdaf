package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/spec/diag"
)

type runsResult struct {
	Runs   []session.Record `json:"runs"`
	Pruned []string         `json:"pruned,omitempty"`
}

func runsCommand() command {
	return command{name: "runs", group: "Run", usage: "list runs, or forget old ones", output: runsResult{},
		example: "skl runs\nskl runs list --limit 0\nskl runs prune --older 30d",
		sub: []command{
			{name: "list", usage: "list runs, newest first", output: runsResult{}, flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "show `N` runs; 0 is all"}}, run: runRuns},
			{name: "prune", usage: "forget runs that ended long ago", output: runsResult{},
				flags: []cli.Flag{&cli.StringFlag{Name: "older", Value: "30d", Usage: "forget runs older than `AGE`: 30d, 12h"}, &cli.BoolFlag{Name: "suspended", Usage: "also runs that wait for an answer"}, dryRunFlag()}, run: runPrune},
		},
		flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "show `N` runs; 0 is all"}},
		run:   runRuns}
}

func runRuns(_ context.Context, w *world, c *cli.Context) error {
	runs, err := w.runs.All()
	if n := c.Int("limit"); n > 0 && len(runs) > n {
		runs = runs[:n]
	}
	return w.show(runsResult{Runs: append([]session.Record{}, runs...)}, err, func(say *report.Text) {
		rows := [][]string{{"RUN", "SKILL", "STARTED", "MODEL", "STATUS", ""}}
		for _, r := range runs {
			rows = append(rows, []string{r.ID, r.Skill, r.Started.Local().Format("2006-01-02 15:04"), r.Model, r.State(), cmp.Or(r.Question, r.Leave)})
		}
		say.Rows(rows)
		if len(runs) == 0 {
			say.Note("nothing was run yet")
		}
	})
}

func runPrune(_ context.Context, w *world, c *cli.Context) error {
	age, err := parseAge(c.String("older"))
	if err != nil {
		return err
	}
	kept, pruned, err := w.runs.Prune(session.PruneRequest{Older: age, Suspended: c.Bool("suspended"), DryRun: c.Bool("dry-run")})
	return w.show(runsResult{append([]session.Record{}, kept...), append([]string{}, pruned...)}, err, func(say *report.Text) {
		for _, id := range pruned {
			say.Print("%s", id)
		}
		verb := map[bool]string{false: "forgotten", true: "would be forgotten"}[c.Bool("dry-run")]
		say.Note("%s %s, %d kept", diag.Count(len(pruned), "run"), verb, len(kept))
	})
}

// parseAge reads "30d", "12h", "45m".
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, diag.New(diag.Misuse, "usage", "%q is not an age", s).Hint("--older 30d")
}
