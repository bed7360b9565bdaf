package cli

import (
	"bytes"
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

func lockCommand() command {
	return command{name: "lock", usage: "write skl.lock from skl.toml, and nothing else", output: installResult{},
		example: "skl lock\nskl lock --upgrade pdf\nskl lock            # after a merge conflict in skl.lock",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "upgrade", Usage: "choose the newest release of `NAME` again (repeatable)"},
			acceptFlag(), dryRunFlag(),
		},
		run: runLock}
}

func runLock(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl lock takes no arguments").Hint("skl lock --upgrade %s", c.Args().First())
	}
	dry := c.Bool("dry-run")
	end, err := w.begin(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	f, err := w.loadConflicted()
	if err != nil {
		return err
	}
	if err := w.checkLocal(f); err != nil {
		return err
	}
	upgrade := c.StringSlice("upgrade")
	for _, name := range upgrade {
		if _, ok := f.manifest.Skill(name); !ok {
			return w.notInManifest(name, f)
		}
	}
	j := &job{w: w, files: f, dry: dry, lockOnly: true, accept: accepted(c)}
	if err := j.relock(ctx, func(name string) bool { return contains(upgrade, name) }); err != nil {
		return err
	}
	return j.finish(ctx)
}

// loadConflicted is load for "skl lock", which makes a new lock out of one with
// merge conflict markers: both sides' entries are kept where they agree with the manifest.
func (w *world) loadConflicted() (*files, error) {
	f, err := w.load()
	if err == nil || f == nil {
		return f, err
	}
	if !errors.Is(err, diag.Code("lock_conflict")) {
		return nil, err
	}
	f.lock = &lock.Lock{}
	for _, side := range sides(f.lockText) {
		if l, err := lock.Parse(side, f.lockPath); err == nil {
			for _, s := range l.Skills {
				f.lock.Set(s)
			}
		}
	}
	return f, nil
}

// sides takes a file with merge conflict markers apart into the two files that were merged.
func sides(text []byte) [2][]byte {
	var out [2]bytes.Buffer
	side := -1 // both
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte("<<<<<<<")):
			side = 0
		case bytes.HasPrefix(line, []byte("|||||||")):
			side = 2 // the common ancestor: neither
		case bytes.HasPrefix(line, []byte("=======")) && side >= 0:
			side = 1
		case bytes.HasPrefix(line, []byte(">>>>>>>")):
			side = -1
		default:
			for i := range out {
				if side == -1 || side == i {
					out[i].Write(line)
				}
			}
		}
	}
	return [2][]byte{out[0].Bytes(), out[1].Bytes()}
}

func (w *world) writeLockFile(f *files, text []byte) error {
	return w.here.Dir.WriteFile(f.lockPath, text, 0o644)
}
