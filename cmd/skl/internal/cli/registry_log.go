package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func registryLogCommand() command {
	return command{name: "log", usage: "check and read the transparency log", output: admin.Log{},
		sub: []command{
			{name: "verify", usage: "recompute the log from its entries", example: "skl registry log verify", run: verifyLog, flags: siteFlags()},
			{name: "show", args: "[NAMESPACE[/NAME]]", usage: "the entries, newest first", example: "skl registry log show acme/pdf --limit 5", run: showLog,
				flags: append([]cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N` entries"}}, siteFlags()...)},
		}}
}

func verifyLog(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry log verify"); err != nil {
		return err
	}
	out, err := w.admin().VerifyLog(ctx, siteOf(c))
	return w.show(out, err, func(say *report.Text) {
		found := "is whole"
		if out.Checked == "head" {
			found = "continues what was seen before"
		}
		say.Print("the log of %s %s: %s, signed %s", out.Origin, found, diag.Count(int(out.Size), "record"), out.Time.Format(time.RFC3339))
		if out.Checked == "head" {
			say.Note("its entries are for those who may read the audit trail, so they were not recomputed")
		}
	})
}

func showLog(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 || c.Int("limit") < 1 {
		return diag.New(diag.Misuse, "usage", "write: skl registry log show [NAMESPACE[/NAME]] --limit N")
	}
	out, err := w.admin().ReadLog(ctx, admin.LogRequest{Site: siteOf(c), About: c.Args().First(), Limit: c.Int("limit")})
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, e := range out.Entries {
			name := e.Name
			if e.Version != "" {
				name += "@" + e.Version
			}
			rows = append(rows, []string{strconv.FormatInt(e.Index, 10), e.At, e.Action, name, whose(e), report.OrDash(e.Signer), why(e)})
		}
		table(say, []string{"ENTRY", "AT", "ACTION", "RELEASE", "BY", "SIGNER", "REASON"}, rows, "there are no entries")
	})
}

// why is the reason of an entry, and what was accepted by it.
func why(e admin.LogEntry) string {
	if e.Accepted == "" {
		return e.Reason
	}
	return strings.TrimPrefix(e.Reason+"; accepted "+e.Accepted, "; ")
}

// whose is who did what an entry says, and on whose behalf or with whose consent.
func whose(e admin.LogEntry) string {
	switch {
	case e.Approver != "":
		return e.By + ", approved by " + e.Approver
	case e.Publisher != "":
		return e.By + ", published by " + e.Publisher
	}
	return e.By
}
