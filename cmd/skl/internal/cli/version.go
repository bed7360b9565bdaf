package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version is that of the next release; a build from a checkout adds the commit.
const version = "0.1.0-dev"

type versionResult struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand() command {
	return command{name: "version", usage: "print the version", output: versionResult{}, example: "skl version\nskl version --json",
		run: func(_ context.Context, w *world, _ *cli.Context) error {
			out := versionResult{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						out.Commit = s.Value
					}
				}
			}
			if w.ui.JSON {
				return w.ui.Result(out)
			}
			w.ui.Print("skl %s %s/%s %s", out.Version, out.OS, out.Arch, out.Go)
			return nil
		}}
}
