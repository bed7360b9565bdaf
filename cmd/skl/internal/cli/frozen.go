package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
)

func ciCommand() command {
	return command{name: "ci", group: "Team", usage: "install exactly what skl.lock says, or nothing", output: installResult{},
		example: "skl ci\nskl ci --offline",
		flags:   []cli.Flag{hostFlag("install for the agent `HOST` only"), unsignedFlag(), dryRunFlag()},
		run:     runFrozen}
}

// runFrozen installs the lock and nothing else. It refuses before anything is
// written to a root: a lock that does not cover the manifest, and local edits,
// with exit 3; bytes that are not what is locked with exit 4.
func runFrozen(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl ci takes no arguments; it installs what skl.lock says")
	}
	dry := c.Bool("dry-run")
	if dry {
		if err := w.settled(); err != nil {
			return err
		}
	}
	f, err := w.load()
	if err != nil {
		return err
	}
	if !f.hasLock {
		return diag.New(diag.Unmet, "no_lock", "there is no %s", w.short(f.lockPath)).Hint("skl install")
	}
	if err := w.fresh(ctx, f); err != nil {
		return err
	}
	if err := w.checkLocal(f); err != nil {
		return err
	}
	if !dry {
		end, err := w.begin(ctx, false)
		if err != nil {
			return err
		}
		defer end()
		if w.changed(f) { // an interrupted install was settled, or another skl was at work
			if f, err = w.load(); err != nil {
				return err
			}
			if err := errors.Join(w.fresh(ctx, f), w.checkLocal(f)); err != nil {
				return err
			}
		}
	}
	hostIDs := f.manifest.Targets.Hosts
	if flagged := c.StringSlice("host"); len(flagged) > 0 {
		hostIDs = flagged
	}
	in, err := w.installer(hostIDs, f.manifest.Targets.Links)
	if err != nil {
		return err
	}
	have, err := in.Survey(ctx, f.lock.Skills, f.lock, true)
	if err != nil {
		return err
	}
	changes := install.Diff(w.root, f.lock.Skills, have, install.Options{Prune: true, Links: in.Links, Copy: in.Copy})
	if err := w.conflicts(changes); err != nil {
		return err
	}
	if err := edited(changes); err != nil {
		return err
	}
	if err := w.checkLocked(ctx, f.lock.Skills, checking{keep: !dry, allowUnsigned: c.Bool("allow-unsigned")}); err != nil {
		return err
	}
	if err := w.prefetch(ctx, in, f.lock.Skills, have); err != nil {
		return err
	}
	if _, err := w.materialise(ctx, in, f.lock.Skills, have, dry, func(string) bool { return false }); err != nil {
		return err
	}
	j := &job{w: w, files: f, next: f.lock, dry: dry, frozen: true}
	return j.carryOut(ctx, in, changes)
}

// fresh refuses a lock that does not follow from the manifest, and one whose entries are not of the sources that
// own their refs.
func (w *world) fresh(ctx context.Context, f *files) error {
	stale, err := staleNames(f)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		return diag.New(diag.Unmet, "stale_lock", "%s does not follow from %s: %s", w.short(f.lockPath), w.short(f.manifestPath), strings.Join(stale, ", ")).
			Hint("skl lock")
	}
	return w.agree(ctx, f)
}

// edited refuses skills with local edits, all of them in one sentence.
func edited(c install.Changes) error {
	var names []string
	for _, change := range c.List {
		if change.Action == install.Held {
			names = append(names, change.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return diag.New(diag.Unmet, "local_edits", "%s with local edits: %s", ui.Count(len(names), "skill"), strings.Join(names, ", ")).
		Hint("skl diff %s", names[0]).Hint("skl install --force replaces them, after a backup")
}
