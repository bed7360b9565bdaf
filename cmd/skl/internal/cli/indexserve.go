package cli

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/memory"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/spec/diag"
)

func indexServeCommand() command {
	return command{name: "serve", memory: memory.Server, usage: "serve the indexes of repositories over HTTP", output: indexServeResult{},
		example: "skl index serve\n" + search.ServiceKey + "=SECRET skl index serve --addr 0.0.0.0:3000",
		flags: []cli.Flag{&cli.StringFlag{Name: "addr", Value: serve.DefaultAddr, Usage: "listen on `ADDR`; other than loopback needs a key in " + search.ServiceKey},
			&cli.StringSliceFlag{Name: "allow-host", Usage: "on loopback, answer to `NAME` too, as behind a proxy (repeatable)"},
			&cli.StringFlag{Name: "state", Usage: "keep the list of repositories in `DIR` (default: skl's state directory)"}},
		run: runIndexServe}
}

func indexFeedbackCommand() command {
	return command{name: "feedback", usage: "show which answers were expanded, and their effect on ranking", output: search.Feedback{},
		example: "skl index feedback --days 30",
		flags: []cli.Flag{&cli.StringFlag{Name: "path", Usage: "of `DIR` (default: the repository of the working directory)"},
			&cli.IntFlag{Name: "days", Value: 7, Usage: "over the last `N` days"}},
		run: runIndexFeedback}
}

type indexServeResult struct {
	Addr    string `json:"addr"`
	URL     string `json:"url"`
	KeyFile string `json:"key_file,omitempty"` // JSON with addr and key; "" where the environment gave the key
}

func runIndexServe(ctx context.Context, w *world, c *cli.Context) error {
	return w.search.Serve(ctx, search.ServeRequest{Addr: c.String("addr"), Hosts: c.StringSlice("allow-host"), State: c.String("state"), Log: w.logHandler(), Ready: func(addr, keyFile string) error {
		out := indexServeResult{addr, "http://" + addr, keyFile}
		return report.Report{Result: out, Streamed: true, Text: func(say *report.Text) {
			say.Print("serving indexes at %s", out.URL)
			if keyFile != "" {
				say.Note("its key, for X-Api-Key, is in %s; skl finds it there", w.scope.Short(keyFile))
			}
			say.Hint("skl query --service %s WORDS", out.URL)
		}}.Write(w.ui)
	}})
}

func runIndexFeedback(ctx context.Context, w *world, c *cli.Context) error {
	days := c.Int("days")
	if days < 1 || days > 30 {
		return diag.New(diag.Misuse, "usage", "--days is between 1 and 30")
	}
	out, err := w.search.Feedback(ctx, c.String("path"), days)
	return w.show(out, err, func(say *report.Text) {
		m := out.Metrics
		if m.SampleCount == 0 {
			say.Print("no search of %s was recorded in the last %d days", w.scope.Short(out.Root), days)
			say.Note("only searches of agents are recorded, by skl mcp and skl index serve")
			return
		}
		say.Print("%d searches in %d days: %.0f %% of the handles were expanded, %.0f tokens each; %.0f %% of the searches had one of the first %d right",
			m.SampleCount, days, 100*m.HandleExpandAcceptRate, m.AvgTokensPerExpand, 100*m.GlobHitRateAtK, m.K)
		rows := [][]string{{"GROUP", "PRIOR"}}
		for _, p := range out.Priors {
			rows = append(rows, []string{p.Group, strconv.FormatFloat(p.Value, 'f', 2, 64)})
		}
		say.Rows(rows)
	})
}
