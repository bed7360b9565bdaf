package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// link makes a skill's own folder the installed copy while its author works on it.
func (w *world) link(ctx context.Context, c *cli.Context, refs []ref.Ref) error {
	if len(refs) != 1 || refs[0].Kind != ref.Local {
		return diag.New(diag.Misuse, "usage", "--link takes one local folder").Hint("skl install --link DIR")
	}
	out, err := w.apply.Link(ctx, apply.LinkRequest{Ref: refs[0], As: c.String("as"), Hosts: namesIn(c, "host"), Accept: accepted(c), DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		if c.Bool("dry-run") {
			say.Print("would link %s → %s", w.scope.Short(out.Path), w.scope.Short(out.To))
			say.Note("nothing was changed (--dry-run)")
			return
		}
		say.Print("%s %s → %s", screen.Done, w.scope.Short(out.Path), w.scope.Short(out.To))
		say.Hint("skl remove %s takes the link away and leaves the folder", out.Name)
	})
}
