package cli

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func auditTrailCommand() command {
	return command{name: "audit", usage: "list or export the audit trail: who did what, and when", output: admin.Audit{}, run: runAuditTrail,
		example: "skl registry audit --namespace acme --since 7d\nskl registry audit --export > audit.jsonl",
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "namespace", Usage: "only about `NAMESPACE` and what is in it"},
			&cli.StringFlag{Name: "account", Usage: "only by `ACCOUNT`"},
			&cli.StringFlag{Name: "action", Usage: "only `ACTION`: publish, approve, grant, token-create, sign-in and others"},
			&cli.StringFlag{Name: "since", Usage: "only since `TIME`: 24h, 7d or 2026-11-21"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most `N` events, the newest (with --export: all, unless it is given)"},
			&cli.BoolFlag{Name: "export", Usage: "print one JSON object a line, the oldest first"},
		}, siteFlags()...)}
}

func runAuditTrail(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 0 || c.Int("limit") < 1 {
		return diag.New(diag.Misuse, "usage", "write: skl registry audit --limit N")
	}
	since, err := admin.ParseSince(c.String("since"), time.Now())
	if err != nil {
		return err
	}
	r := admin.AuditRequest{Site: siteOf(c), Namespace: c.String("namespace"), Account: c.String("account"), Action: c.String("action"), Since: since, Limit: c.Int("limit")}
	if c.Bool("export") {
		if !c.IsSet("limit") {
			r.Limit = 0
		}
		n, err := w.admin().ExportAudit(ctx, r, func(e admin.Event) error { return w.ui.Stream(e) })
		if err == nil {
			w.ui.Note("%s", diag.Count(n, "event"))
		}
		return err
	}
	out, err := w.admin().Audit(ctx, r)
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, e := range out.Events {
			rows = append(rows, []string{e.At.Format(time.RFC3339), diag.Printable(e.Action), diag.Printable(briefDigests(e.Target)), report.OrDash(diag.Printable(e.Account)), report.OrDash(e.Remote), diag.Printable(briefDigests(string(e.Detail)))})
		}
		table(say, []string{"AT", "ACTION", "ON", "BY", "FROM", "DETAIL"}, rows, "there are no such events")
		if len(rows) == c.Int("limit") {
			say.Note("there may be more: add --limit N, or --export for all")
		}
	})
}

// briefDigests is text with the first 12 digits of each digest; --json has them whole.
func briefDigests(text string) string {
	parts := strings.Split(text, "sha256:")
	for i := range parts {
		if i > 0 && len(parts[i]) >= 64 {
			parts[i] = parts[i][:12] + "…" + parts[i][64:]
		}
	}
	return strings.Join(parts, "sha256:")
}
