package apply

import (
	"context"

	"github.com/skl-project/skl/spec/diag"
)

// A RemoveRequest asks for skills to be removed with their links and lock entries.
type RemoveRequest struct {
	Names  []string
	Force  bool // local edits too, after a backup
	DryRun bool
}

// Remove takes skills out of skl.toml, skl.lock and the root. A name that is only a link loses the link.
func (a *Applier) Remove(ctx context.Context, r RemoveRequest) (Result, error) {
	f, end, err := a.Edit(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	var locked, unlinked []string
	for _, name := range r.Names {
		if _, ok := f.Manifest.Skill(name); !ok {
			linked, err := a.unlink(name, r.DryRun)
			if err != nil {
				return Result{}, err
			}
			if linked {
				unlinked = append(unlinked, name)
				continue
			}
		}
		locked = append(locked, name)
		if s, ok := f.Lock.Skill(name); ok && len(s.RequiredBy) > 0 {
			return Result{}, diag.New(diag.Misuse, "required", "%s is required by %v", name, s.RequiredBy).Hint("skl why %s", name)
		}
		if _, ok := f.Manifest.Skill(name); !ok {
			return Result{}, a.NotInManifest(name, f)
		}
		if err := f.Manifest.RemoveSkill(name); err != nil {
			return Result{}, err
		}
	}
	if len(locked) == 0 {
		return Result{Lock: f.Lock, LockState: "unchanged", DryRun: r.DryRun, Unlinked: unlinked}, nil
	}
	j := &job{Applier: a, files: f, dry: r.DryRun, force: r.Force}
	j.next = f.Lock.Clone()
	for _, name := range locked {
		j.next.Remove(name)
	}
	rest := *f // what stays is installed again where it is missing, so it has to be what skl.toml says
	rest.Lock = j.next
	if err := a.fresh(ctx, &rest); err != nil {
		return Result{}, err
	}
	result, err := j.finish(ctx)
	result.Unlinked = unlinked
	return result, err
}
