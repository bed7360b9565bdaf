package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/mcp"
)

// offerCode gives agents the tools to search the directories of --path. end must be called when the server has ended.
// Without the group of these tools nothing is opened.
func (w *world) offerCode(ctx context.Context, c *cli.Context, o *mcp.Options) (end func(), err error) {
	if err := mcp.CheckGroups(o.Tools); err != nil {
		return nil, err
	}
	if len(o.Tools) > 0 && !slices.Contains(o.Tools, mcp.Code) {
		return func() {}, nil
	}
	o.Code, end, err = w.search.Tools(ctx, c.StringSlice("path"), c.String("service"))
	return end, err
}
