package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

func removeCommand() command {
	return command{name: "remove", aliases: []string{"rm", "uninstall"}, args: "NAME…", group: "Skills", complete: "skill",
		usage: "remove skills with their links and lock entries", output: installResult{},
		example: "skl remove pdf\nskl remove pdf --dry-run",
		flags:   []cli.Flag{forceFlag(), dryRunFlag()},
		run:     runRemove}
}

func runRemove(ctx context.Context, w *world, c *cli.Context) error {
	names := c.Args().Slice()
	if len(names) == 0 {
		return diag.New(diag.Misuse, "usage", "skl remove needs the name of a skill").Hint("skl list")
	}
	dry := c.Bool("dry-run")
	f, end, err := w.edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	locked := names[:0:0]
	for _, name := range names {
		if _, ok := f.manifest.Skill(name); !ok {
			linked, err := w.unlink(name, dry)
			if err != nil {
				return err
			}
			if linked {
				w.ui.Note("%s was a link; its folder is left as it is", name)
				continue
			}
		}
		locked = append(locked, name)
		if s, ok := f.lock.Skill(name); ok && len(s.RequiredBy) > 0 {
			return diag.New(diag.Misuse, "required", "%s is required by %v", name, s.RequiredBy).Hint("skl why %s", name)
		}
		if _, ok := f.manifest.Skill(name); !ok {
			return w.notInManifest(name, f)
		}
		if err := f.manifest.RemoveSkill(name); err != nil {
			return err
		}
	}
	if len(locked) == 0 {
		if w.ui.JSON {
			return w.ui.Result(installResult{OK: true, Changes: []install.Change{}, Lock: "unchanged"})
		}
		return nil
	}
	j := &job{w: w, files: f, dry: dry, force: c.Bool("force")}
	j.next = f.lock.Clone()
	for _, name := range locked {
		j.next.Remove(name)
	}
	rest := *f // what stays is installed again where it is missing, so it has to be what skl.toml says
	rest.lock = j.next
	if err := w.fresh(ctx, &rest); err != nil {
		return err
	}
	return j.finish(ctx)
}

// notInManifest refuses a name that skl.toml does not have.
func (w *world) notInManifest(name string, f *files) error {
	var names []string
	for _, s := range f.manifest.Skills {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	e := diag.New(diag.Misuse, "unknown_skill", "%s has no skill called %q", w.short(f.manifestPath), name)
	if e.Candidates = spell.Nearest(name, names, 5); len(e.Candidates) == 0 {
		return e.Hint("skl list")
	}
	return e.Hint("did you mean %s?", e.Candidates[0])
}
