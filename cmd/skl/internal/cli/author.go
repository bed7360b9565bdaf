package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

func (w *world) author() *author.Author {
	return &author.Author{Scope: w.scope, Runs: w.runs, Model: w.runs.PickModel}
}

func newCommand() command {
	return command{name: "new", args: "NAME", group: "Author", usage: "start a skill that passes lint", output: author.Started{},
		example: "skl new release-notes\nskl new review --tree",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "tree", Usage: "a skill with a tree, for skl run"}, dryRunFlag()},
		run:     runNew}
}

func runNew(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.author().Start(author.StartRequest{Name: name, Tree: c.Bool("tree"), DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s", w.scope.Short(filepath.Join(out.Path, skill.FileName)))
		try := "skl install ./%s"
		if c.Bool("tree") {
			try = "skl run ./%s --dry-run"
		}
		say.Hint("edit it, then: skl lint %s    "+try, w.scope.Short(out.Path), w.scope.Short(out.Path))
	})
}

func digestCommand() command {
	return command{name: "digest", args: "DIR", group: "Trust", usage: "print the tree digest of a folder", output: author.Digest{}, complete: "dir",
		example: "skl digest skills/pdf",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			dir, err := oneFolder(c)
			if err != nil {
				return err
			}
			out, err := w.author().Digest(dir)
			return w.show(out, err, func(say *report.Text) {
				say.Print("%s", out.Digest)
				say.Detail("%s, %s", diag.Count(out.Files, "file"), diag.Size(out.Bytes))
			})
		}}
}

// oneFolder is the one argument of digest and pack.
func oneFolder(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", diag.New(diag.Misuse, "usage", "name one folder with a SKILL.md")
	}
	return c.Args().First(), nil
}

func packCommand() command {
	return command{name: "pack", args: "DIR -o FILE", group: "Author", usage: "write a reproducible archive (.tar.gz, .skill or .zip)", output: author.Packed{}, complete: "dir",
		example: "skl pack skills/pdf -o pdf.tar.gz",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FILE`"},
			&cli.StringSliceFlag{Name: "include", Usage: "pack `FILE` of the folder although git ignores it or its name says that it holds secrets; repeatable"},
			dryRunFlag(),
		},
		run: runPack}
}

func runPack(_ context.Context, w *world, c *cli.Context) error {
	file := c.String("output")
	if file == "" {
		return diag.New(diag.Misuse, "usage", "skl pack needs -o FILE").Hint("skl pack DIR -o NAME.tar.gz")
	}
	dir, err := oneFolder(c)
	if err != nil {
		return err
	}
	out, err := w.author().Pack(author.PackRequest{Folder: dir, File: file, Include: c.StringSlice("include"), DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s  %s, %s, %s", w.scope.Short(out.File), diag.Count(out.Files, "file"), diag.Size(out.Bytes), out.Digest)
	})
}
