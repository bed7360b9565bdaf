package author

import (
	"path"
	"path/filepath"

	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
)

// together is the folder that all skills of a plan lie in. Skills of several folders are refused.
func (a *Author) together(all []placed) (string, error) {
	root := filepath.Dir(all[0].dir)
	if len(all) > author.MaxParts {
		return "", diag.New(diag.Unmet, author.CodeTooLarge, "%d skills would change, and %d are the most that do together", len(all), author.MaxParts)
	}
	for i := range all {
		if filepath.Dir(all[i].dir) != root {
			return "", diag.New(diag.Refused, author.CodePlan, "%s and %s do not lie in one folder, and what is changed together does", a.relative(all[0].dir), a.relative(all[i].dir)).
				Hint("make a plan for the skills of one folder")
		}
	}
	return root, nil
}

// carryAll writes the skills of a plan, all or none: in their order, so that what others need is there first.
func (a *Author) carryAll(all []placed) error {
	if len(all) == 1 {
		return a.carry(&all[0])
	}
	root, err := a.together(all)
	if err != nil {
		return err
	}
	var changes []author.Change
	for i := range all {
		p := &all[i]
		if p.IsNew() {
			if err := a.free(p.dir); err != nil {
				return err
			}
		}
		for _, c := range p.Changes() {
			c.Path = path.Join(filepath.Base(p.dir), c.Path)
			changes = append(changes, c)
		}
	}
	return a.Scope.EditFolder(root, changes)
}
