package session

import (
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/diag"
)

// fits refuses a run whose arguments do not fit the skill's schema, or whose skill needs packages that are not here. What the
// skill asks for and a run does not do is said.
func (rs *Runs) fits(r *Runnable, args string) error {
	if _, err := r.Plan.Arguments(args); err != nil {
		return err
	}
	if r.Skill.Doc == nil || r.Skill.Doc.V1 == nil {
		return nil
	}
	v1 := r.Skill.Doc.V1
	if missing := rs.Scope.Packages(r.Dir).Missing(v1.LibraryDepends); len(missing) > 0 {
		return diag.New(diag.Unmet, "library_missing", "%s needs packages that are not here: %s", r.Name, needs.Names(missing)).
			Hint("install them, or name the directory that holds them in %s", needs.Variable(missing[0].Ecosystem))
	}
	for _, d := range v1.LibraryDepends {
		if d.Version != "" {
			rs.Scope.Tell.Warn("%s is here; whether its version fits %s is not checked", diag.Printable(d.Name), diag.Printable(d.Version))
		}
	}
	if v1.Attach {
		rs.Scope.Tell.Warn("attach has no effect: skl attaches no R packages, so scripts of %s have to do it by library()", r.Name)
	}
	return nil
}
