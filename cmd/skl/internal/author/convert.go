package author

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Conversions are the forms between which a plan converts.
func Conversions() []string { return []string{"tree", "prose"} }

// Convert plans a skill in another form: a tree, or prose. What is lost is in the plan.
func (a *Author) Convert(ctx context.Context, name, to string, terms Terms) (Outcome, error) {
	p := &author.Plan{Op: author.Convert}
	d, err := a.converted(name, to, p)
	if err != nil {
		return Outcome{}, err
	}
	return a.finish(ctx, p, []placed{d}, terms)
}

// converted is the draft of a skill in another form. Its losses are in the plan.
func (a *Author) converted(name, to string, p *author.Plan) (placed, error) {
	if to != "tree" && to != "prose" {
		return placed{}, diag.New(diag.Misuse, "usage", "a plan converts to a tree or to prose, not to %q", to).Meant(Conversions()...)
	}
	d, err := a.draftOf(name)
	if err != nil {
		return d, err
	}
	losses, err := form.ConvertDraft(d.Draft, d.dir, to)
	p.Losses = append([]skill.Loss{}, losses...)
	return d, err
}
