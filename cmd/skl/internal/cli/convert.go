package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

type convertResult struct {
	Path   string   `json:"path"`
	To     string   `json:"to"`
	Diff   string   `json:"diff"`
	Losses []string `json:"losses"` // what a person should look at
	Wrote  string   `json:"wrote,omitempty"`
}

func convertCommand() command {
	return command{name: "convert", args: "PATH", group: "Author", usage: "write a skill in another form, and report the losses", output: convertResult{}, complete: "dir",
		example: "skl convert ./review --to prose\nskl convert ./review --to tree -w\nskl convert ./review --to v1 -o ./review-v1",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FORM`: tree, prose, v1 (corteza.skill/v1 at top level) or base (in metadata, which every validator accepts)"},
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "change the file"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the whole skill to the folder `DIR`"},
			dryRunFlag(),
		},
		run: runConvert}
}

func runConvert(_ context.Context, w *world, c *cli.Context) error {
	dirs, err := w.skillDirs(c.Args().Slice())
	if err != nil {
		return err
	}
	if c.Args().Len() != 1 || len(dirs) != 1 {
		return diag.New(diag.Misuse, "usage", "convert takes one folder with a SKILL.md").Hint("skl convert ./review --to prose")
	}
	dir := dirs[0]
	src, err := scope.ReadIn(dir, skill.FileName)
	if err != nil {
		return err
	}
	out := convertResult{Path: dir, To: c.String("to"), Losses: []string{}}
	text, losses, err := convert(dir, src, out.To)
	if err != nil {
		return err
	}
	out.Losses = append(out.Losses, losses...)
	out.Diff, _, _ = apply.LineDiff(string(src), string(text))
	if !c.Bool("dry-run") {
		if out.Wrote, err = w.writeConverted(dir, text, c.Bool("write"), c.String("output")); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Raw([]byte(printableLines(out.Diff)))
	for _, loss := range out.Losses {
		w.ui.Note("look at: %s", loss)
	}
	switch {
	case out.Wrote != "":
		w.ui.Note("wrote %s, %s", w.Short(out.Wrote), diag.Count(len(out.Losses), "remark"))
	default:
		w.ui.Hint("-w changes the file, -o DIR writes a copy")
	}
	return nil
}

// convert is the text of SKILL.md in another form.
func convert(dir string, src []byte, to string) (text []byte, losses []string, err error) {
	switch to {
	case "prose":
		s, err := tree.Load(scope.FilesIn(dir), filepath.Base(dir))
		if err != nil {
			return nil, nil, err
		}
		return prose.Convert(s)
	case "tree":
		return prose.FromProse(src, filepath.Base(dir))
	case "v1":
		text, err = skill.ToTopLevel(src)
	case "base":
		text, err = skill.ToPortable(src)
	default:
		err = diag.New(diag.Misuse, "usage", "--to %q is no form of a skill", to).Meant("tree", "prose", "v1", "base")
	}
	return text, nil, err
}

// writeConverted changes the file itself, or writes a copy of the skill with it.
func (w *world) writeConverted(dir string, text []byte, write bool, output string) (string, error) {
	file := filepath.Join(dir, skill.FileName)
	switch {
	case output != "":
		target := scope.Absolute(w.Cwd, output)
		if scope.Exists(target) {
			return "", diag.New(diag.Misuse, "exists", "%s exists already", output)
		}
		if err := os.CopyFS(target, scope.FilesIn(dir)); err != nil {
			return "", err
		}
		file = filepath.Join(target, skill.FileName)
	case !write:
		return "", nil
	}
	return file, scope.WriteIn(filepath.Dir(file), skill.FileName, text)
}

// printableLines makes each line safe for a terminal.
func printableLines(text string) string {
	var out []byte
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out = append(out, diag.Printable(line)...)
		out = append(out, '\n')
	}
	return string(out)
}
