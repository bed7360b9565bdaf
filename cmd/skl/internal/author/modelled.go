package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A Run says how the tree of an operation is run.
type Run struct {
	session.Request        // model, budget, and who follows it
	Skill           string // its folder; of a new one, its name
	Wish            string
}

// Create plans a new skill that does what the wish says, by the design of a model.
func (a *Author) Create(ctx context.Context, q Run, terms Terms) (Outcome, error) {
	if _, err := a.newPlace(q.Skill); err != nil {
		return Outcome{}, err
	}
	return a.planned(ctx, author.Create, q, terms)
}

// Modify plans a change of a skill by the edits of a model.
func (a *Author) Modify(ctx context.Context, q Run, terms Terms) (Outcome, error) {
	d, err := a.draftOf(q.Skill)
	if err != nil {
		return Outcome{}, err
	}
	return a.plannedOn(ctx, author.Modify, &d, q, terms)
}

// Wishes of operations that begin with what code does.
const (
	wishImprove = "mend what is left, and nothing else"
	wishConvert = ", then write what its steps say in words as nodes: conditions, choices, loops, questions and ends. Keep every sentence"
)

// ImproveByModel is Improve, and a model mends what is left. Where nothing is, none is asked.
func (a *Author) ImproveByModel(ctx context.Context, q Run, terms Terms) (Outcome, error) {
	p := &author.Plan{Op: author.Improve}
	d, err := a.improved(q.Skill, Wanted{}, p)
	if err != nil {
		return Outcome{}, err
	}
	if len(p.Left) == 0 {
		return a.finish(ctx, p, []placed{d}, terms)
	}
	q.Wish = wishImprove
	return a.plannedOn(ctx, author.Improve, &d, q, terms)
}

// ConvertByModel is Convert to a tree, and a model makes nodes of what is left in words.
func (a *Author) ConvertByModel(ctx context.Context, q Run, to string, terms Terms) (Outcome, error) {
	if to != "tree" {
		return Outcome{}, diag.New(diag.Misuse, "usage", "a model helps with --to tree; to %s code converts alone", diag.Quote(to))
	}
	d, err := a.converted(q.Skill, to, &author.Plan{Op: author.Convert})
	if err != nil {
		return Outcome{}, err
	}
	q.Wish = to + wishConvert
	return a.plannedOn(ctx, author.Convert, &d, q, terms)
}

// plannedOn is planned for a skill that is there.
func (a *Author) plannedOn(ctx context.Context, op string, d *placed, q Run, terms Terms) (Outcome, error) {
	if err := a.plannable(a.relative(d.dir)); err != nil {
		return Outcome{}, err
	}
	return a.planned(ctx, op, q, terms)
}

// planned runs the tree up to its plan, and finishes that.
func (a *Author) planned(ctx context.Context, op string, q Run, terms Terms) (Outcome, error) {
	if err := a.checkTerms(terms); err != nil {
		return Outcome{}, err
	}
	ended, err := a.walk(ctx, op, q)
	if err != nil {
		return Outcome{}, err
	}
	p, err := keptPlan(a.Runs.RunDir(ended.Record.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, noAnswer(&ended)
	}
	if err != nil {
		return Outcome{}, err
	}
	p.Model, p.Run = diag.Head(diag.Printable(ended.Record.Model), 100), ended.Record.ID
	all, err := a.drafts(p)
	if err != nil {
		return Outcome{}, err
	}
	return a.finish(ctx, p, all, terms)
}

// walk runs the tree of an operation.
func (a *Author) walk(ctx context.Context, op string, q Run) (session.Ended, error) {
	if strings.TrimSpace(q.Wish) == "" {
		return session.Ended{}, diag.New(diag.Misuse, "usage", "say what is wanted")
	}
	r, err := a.Runs.Ready(ctx, Bundled)
	if err != nil {
		return session.Ended{}, err
	}
	q.Args, q.Request.Allow = Request(true, op, q.Skill, q.Wish), []string{session.AllowRun, "filesystem"}
	ended, err := a.Runs.Start(ctx, r, q.Request)
	return ended, ofOperation(err, op, ended.Record.ID)
}

// ofOperation is the error of a run as that of an operation: which step of the tree it was is of no use to who did not write that.
func ofOperation(err error, op, id string) error {
	e, ok := diag.Own(err)
	if !ok {
		return err
	}
	out := *e
	out.Where = diag.Position{}
	if at, what, _ := strings.Cut(e.Message, ": "); strings.HasPrefix(at, "references/ops.md:") || strings.HasPrefix(at, skill.FileName+":") {
		out.Message = what
	}
	switch {
	case e.Code == "model_none":
		command := "skl author " + op
		if op == author.Convert {
			command = "skl convert"
		}
		out.Message = command + " needs a model: none is configured, and nobody can be asked"
	case id != "":
		out.Hints = append(slices.Clone(e.Hints), "skl trace "+id)
	}
	return &out
}

// noAnswer is the error of a run that made no plan.
func noAnswer(ended *session.Ended) error {
	if ended.Result.Status == run.Suspended {
		return diag.New(diag.NeedsInput, model.CodeNoAnswer, "there is no plan yet: %s", diag.Printable(ended.Result.Message)).Hint("give it more, or leave --budget out").Hint("skl trace %s", ended.Record.ID)
	}
	if asks, _ := ended.Result.Bindings["asks"].(string); asks != "" {
		return diag.New(diag.NeedsInput, "model_asks", "the model asks before it changes anything: %s", strings.Join(strings.Fields(asks), " ")).Hint("say it with the wish")
	}
	why, _ := ended.Result.Bindings["wrong"].(string)
	if why == "" {
		why = ended.Result.Message
	}
	return diag.New(diag.Failed, model.CodeBadAnswer, "%s gave no answer that holds: %s", diag.Printable(ended.Record.Model), diag.Brief(diag.Printable(why), 500)).
		Hint("skl trace %s", ended.Record.ID)
}

// An Advised is advice about a skill.
type Advised struct {
	Skill string `json:"skill"`
	*author.Advice
	Model string `json:"model"`
	Run   string `json:"run"`
}

// Advise has a model answer a question about a skill. Nothing changes.
func (a *Author) Advise(ctx context.Context, q Run) (Advised, error) {
	d, err := a.draftOf(q.Skill)
	if err != nil {
		return Advised{}, err
	}
	ended, err := a.walk(ctx, "advise", q)
	if err != nil {
		return Advised{}, err
	}
	text, err := within.Anywhere().ReadFile(filepath.Join(a.Runs.RunDir(ended.Record.ID), adviceFile), model.MaxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return Advised{}, noAnswer(&ended)
	}
	if err != nil {
		return Advised{}, err
	}
	out := Advised{Skill: a.relative(d.dir), Model: diag.Head(diag.Printable(ended.Record.Model), 100), Run: ended.Record.ID}
	if err := json.Unmarshal(text, &out.Advice); err != nil {
		return Advised{}, fmt.Errorf("the advice of run %s: %w", ended.Record.ID, err)
	}
	return out, nil
}
