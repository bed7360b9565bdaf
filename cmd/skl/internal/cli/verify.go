package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
)

func verifyCommand() command {
	return command{name: "verify", args: "[NAME…]", group: "Trust", usage: "re-hash installed skills and compare them with skl.lock", output: apply.Verification{}, complete: "skill",
		example: "skl verify\nskl verify pdf\nskl verify -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			out, err := w.apply.Verify(ctx, c.Args().Slice(), false)
			if err != nil {
				return err
			}
			return w.desk.Verify(out).Write(w.ui)
		}}
}
