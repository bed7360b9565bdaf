package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/spec/diag"
)

// offerCode gives agents the tools to search the directories of --path. end must be called when the server has ended.
// Without the group of these tools nothing is opened.
func (w *world) offerCode(ctx context.Context, c *cli.Context, o *mcp.Options) (end func(), err error) {
	if err := mcp.CheckGroups(o.Tools); err != nil {
		return nil, err
	}
	end = func() {}
	if len(o.Tools) > 0 && !slices.Contains(o.Tools, mcp.Code) {
		return end, nil
	}
	dirs := c.StringSlice("path")
	if len(dirs) == 0 {
		dirs = []string{w.searchedDir("")}
	}
	tools := &serve.Tools{Open: w.keepIndex}
	for _, dir := range dirs {
		dir = scope.Absolute(w.Cwd, dir)
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, diag.New(diag.Misuse, "not_a_directory", "--path: %s is no directory", w.Short(dir))
		}
		if err != nil {
			return nil, err
		}
		tools.Roots = append(tools.Roots, dir)
	}
	if url := c.String("service"); url != "" {
		if err := w.checkServiceURL(url); err != nil {
			return nil, err
		}
		client := &serve.Client{URL: url, Key: w.Getenv(serviceKey), Local: w.keepIndex, CacheDir: filepath.Join(w.indexDir(), "overlay")}
		tools.Open = client.Open
	}
	// Without it, searches are answered all the same.
	if f, err := serve.OpenFeedback(ctx, w.feedbackDir()); err == nil {
		tools.Feedback = f
		end = func() { f.Close() }
	}
	o.Code = tools
	return end, nil
}
