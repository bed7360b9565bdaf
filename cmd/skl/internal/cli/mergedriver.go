package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// mergeDriver is the command that git runs for files with the attribute merge=skl (gitattributes(5), "Defining a custom merge driver"):
// three files, of which the second becomes what was merged, and the path that all are of. What skl cannot decide has the markers of a
// merge, and the status is 1. It needs no configuration, so that a broken one stops no merge.
func mergeDriver(e env, u *ui.UI) *cli.Command {
	return &cli.Command{Name: "__merge-driver", ArgsUsage: "BASE OURS THEIRS PATH", Hidden: true, HideHelpCommand: true, OnUsageError: usageErrorOf("__merge-driver"),
		Action: func(c *cli.Context) error {
			if c.NArg() != 4 {
				return diag.New(diag.Misuse, "usage", "git runs this command, with BASE OURS THEIRS PATH").Hint("skl init --merge-driver")
			}
			var files [3]string
			var texts [3][]byte
			for i := range files {
				var err error
				if files[i] = c.Args().Get(i); !filepath.IsAbs(files[i]) {
					files[i] = filepath.Join(e.cwd, files[i])
				}
				if texts[i], err = readSide(files[i]); err != nil {
					return diag.New(givesUp, "failed", "%w", err)
				}
			}
			merged, note, failed := scope.MergeFile(c.Args().Get(3), texts[0], texts[1], texts[2])
			if failed != nil {
				merged = conflict.Between(texts[0], texts[1], texts[2]).Marked()
			}
			if note != "" {
				u.Warn("%s", note)
			}
			if err := os.WriteFile(files[1], merged, 0o644); err != nil {
				return diag.New(givesUp, "failed", "%w", err)
			}
			if own, ok := diag.Own(failed); ok {
				own.Class = diag.Failed
			}
			return failed
		}}
}

// givesUp is the exit status with which git gives up the whole merge: it takes those up to 128 for a conflict, whose file is as the driver
// left it.
const givesUp diag.Class = 129

// readSide reads one of the files that git wrote for a merge, of at most as many bytes as any of skl's own may have.
func readSide(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, lock.MaxBytes+1))
	if err == nil && len(data) > lock.MaxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, lock.MaxBytes)
	}
	return data, err
}
