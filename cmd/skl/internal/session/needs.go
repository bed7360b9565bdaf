package session

import (
	"maps"
	"slices"

	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// CodeNoQuestion is the error of an answer, given beforehand, that no question of the skill can take.
const CodeNoQuestion = "run_no_question"

// answerable refuses answers that were given beforehand and that no question of a run of r can take.
func answerable(r *Runnable, answers map[string]run.Answer) error {
	for _, key := range slices.Sorted(maps.Keys(answers)) {
		if r.Plan.Asks(key) {
			continue
		}
		shown := diag.Clip(diag.Printable(key), 80)
		var questions []string
		for _, q := range r.Plan.Questions() {
			questions = append(questions, diag.Clip(diag.Printable(q), 120))
		}
		if len(questions) == 0 {
			return diag.New(diag.Misuse, CodeNoQuestion, "%s asks nothing that takes the answer for %q", r.Name, shown)
		}
		return diag.New(diag.Misuse, CodeNoQuestion, "no question of %s begins with %q, or has that id", r.Name, shown).Meant(questions[:min(len(questions), maxQuestions)]...)
	}
	return nil
}

const maxQuestions = 20 // that are listed

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
