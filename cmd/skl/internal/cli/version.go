package cli

import (
	"context"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
)

type versionResult struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // "" where a tag was installed by its version
	Modified bool   `json:"modified"` // built with changes that were not committed
	Sum      string `json:"sum"`      // of the module, "h1:…", where it was installed by its version
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func versionCommand() command {
	return command{name: "version", usage: "print the version", output: versionResult{}, alone: always, example: "skl version\nskl version --json",
		run: func(_ context.Context, w *world, _ *cli.Context) error { return printVersion(w.ui) }}
}

func printVersion(u *ui.UI) error {
	b := build.Current()
	out := versionResult{b.Version, b.Commit, b.Modified, b.Sum, runtime.Version(), runtime.GOOS, runtime.GOARCH}
	return report.Report{Result: out, Text: func(say *report.Text) {
		line := "skl " + b.Version + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
		if b.Commit != "" {
			line += ", commit " + b.Commit[:min(12, len(b.Commit))]
		}
		if b.Modified {
			line += " with changes"
		}
		say.Print("%s", line)
	}}.Write(u)
}
