package author

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// Bundled is the skill whose tree the operations are. It comes with skl, and it alone has these tools.
const Bundled = "skl:canopy"

// Files of a run, in its directory: what the tools keep for whoever started it.
const (
	planFile   = "plan.json"
	adviceFile = "advice.json"
)

// Tools are what the tree of [Bundled] calls, in a run whose directory is dir, and nothing for other skills: all but one only read, or
// write the plan of the run. What plans and applies is for the tree alone, and no model can call it.
func (a *Author) Tools(skill, dir string) []tool.Own {
	if skill != Bundled {
		return nil
	}
	t := &authoring{a, dir, filepath.Base(dir)}
	text := func(names ...string) json.RawMessage {
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = map[string]string{"type": "string"}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			panic("author: " + err.Error())
		}
		return schema
	}
	return []tool.Own{
		{Name: "skl_request", TreeOnly: true, Description: "Take a request for a change of a skill apart.", Schema: text("request"), Effect: tool.None, Do: t.request},
		{Name: "skl_help", TreeOnly: true, Description: "What can be done with skills.", Schema: text(), Effect: tool.None, Do: t.help},
		{Name: "skl_look", Description: "The files of a skill as the operation begins with them, each line with its anchor, and what lint finds; or one file, from a line on.", Schema: text("operation", "target_skill", "wish", "file", "from"), Effect: tool.None, Do: t.look},
		{Name: "skl_lint", Description: "What lint finds in a skill.", Schema: text("target_skill"), Effect: tool.None, Do: t.lint},
		{Name: "skl_propose", TreeOnly: true, Description: "Make a plan of an answer. Nothing of the skill changes.", Schema: text("operation", "target_skill"), Effect: tool.None, Do: t.propose},
		{Name: "skl_plan", TreeOnly: true, Description: "Make a plan of what code can do. Nothing of the skill changes.", Schema: text("operation", "target_skill", "wish"), Effect: tool.None, Do: t.propose},
		{Name: "skl_advice", TreeOnly: true, Description: "Check advice against the skill.", Schema: text("target_skill"), Effect: tool.None, Do: t.advice},
		{Name: "skl_apply", TreeOnly: true, Description: "Carry out the plan of this run.", Schema: text("plan", "adds", "losses"), Effect: tool.Filesystem, Do: t.apply},
	}
}

// authoring are the tools of one run.
type authoring struct {
	*Author
	dir string
	run string // "" outside of one
}

// An input is what tools of the tree get.
type input struct {
	Request   string          `json:"request"`
	Operation string          `json:"operation"`
	Skill     string          `json:"target_skill"`
	Wish      string          `json:"wish"`
	File      string          `json:"file"`
	From      json.RawMessage `json:"from"` // a number, or one in quotes
	Answer    json.RawMessage `json:"answer"`
	Plan      string          `json:"plan"`
	Adds      string          `json:"adds"`
	Losses    string          `json:"losses"`
}

func read(data json.RawMessage) (in input, err error) {
	if err = json.Unmarshal(data, &in); err != nil {
		err = diag.New(diag.Misuse, "usage", "the input is none: %w", err)
	}
	return in, err
}

// operations are what a request can ask for.
func operations() []string {
	return []string{"help", "activate", "validate", "advise", author.Scaffold, author.Create, author.Modify, author.Improve, author.Convert, author.Refactor}
}

var requestForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(plan) )?([a-z]+)(?: ("(?:[^"\\]|\\.)*"|[^\s":]+))?(?::(?s:(.*)))?$`)
})

// Request is what a run of [Bundled] is given for an operation. A plan alone asks nobody, and changes nothing.
func Request(planOnly bool, operation, skill, wish string) string {
	if strings.ContainsAny(skill, " \t\n\":\\") {
		quoted, err := json.Marshal(skill)
		if err != nil {
			panic("author: " + err.Error())
		}
		skill = string(quoted)
	}
	out := operation
	if planOnly {
		out = "plan " + out
	}
	if skill != "" {
		out += " " + skill
	}
	if wish != "" {
		out += ": " + wish
	}
	return out
}

// Alone reports whether code does alone what a run of [Bundled] is given.
func (*Author) Alone(skill, request string) bool {
	m := requestForm().FindStringSubmatch(strings.TrimSpace(request))
	if skill != Bundled || m == nil {
		return false
	}
	wish := strings.TrimSpace(m[4])
	switch m[2] {
	case "help", "validate", author.Scaffold, author.Refactor:
		return true
	case author.Improve:
		return wish == ""
	case author.Convert:
		return slices.Contains(Conversions(), wish)
	}
	return false
}

// asJSON is a value as the result of a tool.
func asJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.String(), err
}

func (t *authoring) request(_ context.Context, data json.RawMessage) (string, error) {
	in, err := read(data)
	if err != nil {
		return "", err
	}
	out := struct {
		Operation *string `json:"operation"`
		Skill     *string `json:"target_skill"`
		Wish      *string `json:"wish"`
		Mode      string  `json:"mode"`
	}{Mode: "ask"}
	if m := requestForm().FindStringSubmatch(strings.TrimSpace(in.Request)); m != nil && slices.Contains(operations(), m[2]) {
		skill, wish := m[3], strings.TrimSpace(m[4])
		if strings.HasPrefix(skill, `"`) && json.Unmarshal([]byte(skill), &skill) != nil {
			return asJSON(out)
		}
		if out.Operation, out.Wish = &m[2], &wish; skill != "" {
			out.Skill = &skill
		}
		if m[1] != "" {
			out.Mode = "plan"
		}
	}
	return asJSON(out)
}

func (t *authoring) help(context.Context, json.RawMessage) (string, error) {
	return asJSON(map[string]string{"summary": `create NAME: WISH       a new skill             skl author create NAME --from WISH
scaffold NAME           the frame of one        skl author scaffold NAME
modify SKILL: WISH      change a skill          skl author modify SKILL WISH
improve SKILL           mend what code can      skl author improve SKILL
improve SKILL: WISH     and a model the rest    skl author improve SKILL --model MODEL
advise SKILL: QUESTION  advice, no change       skl author advise SKILL QUESTION
refactor NAME           share what is alike     skl author refactor --into NAME
convert SKILL: FORM     a tree, or prose        skl convert SKILL --to tree
convert SKILL: tree …   and a model the rest    skl convert SKILL --to tree --model MODEL
validate SKILL          what lint finds         skl lint SKILL
activate                for agents without skl  skl activate
help                    this list`})
}

func (t *authoring) look(_ context.Context, data json.RawMessage) (string, error) {
	in, err := read(data)
	if err != nil {
		return "", err
	}
	from, err := strconv.Atoi(strings.Trim(string(in.From), `"`))
	if err != nil {
		from = 1
	}
	out, err := t.Look(Looking{in.Operation, in.Skill, in.Wish, in.File, from})
	if err != nil {
		return "", err
	}
	return asJSON(out)
}

// Looking says what of a skill is looked at.
type Looking struct {
	Operation string // what comes of it; "" is modify
	Skill     string
	Wish      string // of a conversion, which begins with the form
	File      string // one file, from a line on; "" is all
	From      int
}

// A View is what a model works on.
type View struct {
	Material string `json:"material"` // files, each line behind its anchor, and what lint finds
	Left     string `json:"left"`     // of an improvement, what code cannot do, a line each
}

// Look gives the files of a skill as an operation begins with them: those of an improvement and of a conversion have what code does already.
func (a *Author) Look(q Looking) (View, error) {
	p := &author.Plan{}
	d, err := a.begun(q.Operation, q.Skill, q.Wish, p)
	if err == nil {
		err = a.plannable(a.relative(d.dir))
	}
	if err != nil {
		return View{}, err
	}
	if q.File != "" {
		text, err := author.Shown(d.Draft, q.File, q.From)
		return View{Material: text}, err
	}
	text, err := author.Material(d.Draft)
	if err != nil {
		return View{}, err
	}
	out := View{text, strings.Join(p.Left, "\n")}
	if q.Operation == author.Improve {
		out.Material += "=== left\n" + diag.Clip(out.Left, 20<<10) + "\n"
		return out, nil
	}
	if found := a.sentences(&d, 30); found != "" {
		out.Material += "=== findings of lint\n" + found
	}
	for i, loss := range p.Losses {
		if i == 0 {
			out.Material += "=== lost by the conversion\n"
		}
		out.Material += loss.Code + " " + diag.Printable(loss.String()) + "\n"
	}
	return out, nil
}

// begun is the draft that an operation on a skill starts from. The plan gets what is left and lost by then.
func (a *Author) begun(op, name, wish string, p *author.Plan) (placed, error) {
	switch op {
	case author.Improve:
		return a.improved(name, Wanted{}, p)
	case author.Convert:
		to, _, _ := strings.Cut(strings.TrimSpace(wish), " ")
		return a.converted(name, strings.TrimRight(to, ",:;."), p)
	}
	return a.draftOf(name)
}

// named is what a tool gets, and the skill that it names.
func (a *Author) named(data json.RawMessage) (in input, d placed, err error) {
	if in, err = read(data); err == nil {
		d, err = a.draftOf(in.Skill)
	}
	return in, d, err
}

// sentences are the findings in a skill, a line each, at most so many.
func (a *Author) sentences(d *placed, most int) string {
	var b strings.Builder
	for i, f := range a.linter(d.dir)(d.FS()) {
		if i == most {
			b.WriteString("and more: skl lint lists them\n")
			break
		}
		fmt.Fprintf(&b, "%s [%s] %s\n", f.Severity, f.Rule, diag.Printable(f.Sentence()))
	}
	return b.String()
}

func (t *authoring) lint(_ context.Context, data json.RawMessage) (string, error) {
	_, d, err := t.named(data)
	if err != nil {
		return "", err
	}
	found := t.sentences(&d, 200)
	if found == "" {
		found = "lint finds nothing in " + t.Scope.Short(d.dir)
	}
	return asJSON(map[string]string{"summary": found})
}

// A Proposal is a plan as whoever wants it is told of it.
type Proposal struct {
	Plan       string `json:"plan"` // the digest of its file, by which it is applied
	Difference string `json:"difference"`
	Adds       string `json:"adds"`   // what the skill may do besides, in the words of --accept
	Losses     string `json:"losses"` // sentences that are nowhere any more
	Wrong      string `json:"wrong"`  // why there is no plan; "" if there is one, or the model asks
	Asks       string `json:"asks"`   // what the model wants to know before it changes anything, a line each
}

func (t *authoring) propose(ctx context.Context, data json.RawMessage) (string, error) {
	in, err := read(data)
	if err != nil {
		return "", err
	}
	out, err := t.proposal(ctx, in)
	if err != nil {
		return "", err
	}
	return asJSON(out)
}

// proposal makes a plan of an operation, with the answer of a model where it needs one, and keeps it in the directory.
func (t *authoring) proposal(ctx context.Context, in input) (Proposal, error) {
	p := &author.Plan{Op: in.Operation}
	all := make([]placed, 1)
	var err error
	switch in.Operation {
	case author.Create:
		all[0], err = t.designed(in, p)
	case author.Modify:
		all[0], err = t.edited(in, p)
	case author.Scaffold:
		all[0], err = t.scaffolded(ScaffoldRequest{Name: in.Skill})
	case author.Improve, author.Convert:
		if in.Answer == nil {
			all[0], err = t.begun(in.Operation, in.Skill, in.Wish, p)
		} else {
			all[0], err = t.edited(in, p)
		}
	case author.Refactor:
		q := RefactorRequest{Into: in.Skill}
		if err = q.check(Terms{}); err == nil {
			all, _, err = t.refactored(q, p)
		}
	default:
		return Proposal{Wrong: "this is not done by a plan here: skl " + diag.Printable(in.Operation) + " --help"}, nil
	}
	if why := (*author.Wrong)(nil); errors.As(err, &why) {
		return Proposal{Wrong: why.Why}, nil
	}
	if why := (*author.Asks)(nil); errors.As(err, &why) {
		return Proposal{Asks: diag.Clip(diag.Printable(why.Error()), 4<<10)}, nil
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Proposal{}, err
	}
	return t.proposed(p, all, in.Wish)
}

// designed is the draft of a new skill that the design of a model makes.
func (a *Author) designed(in input, p *author.Plan) (placed, error) {
	x, err := author.ParseDesign(in.Answer)
	if err != nil {
		return placed{}, err
	}
	d, err := a.newDraft(in.Skill)
	if err != nil {
		return d, err
	}
	p.Questions = x.Questions
	if err := x.Apply(d.Draft, "list"); err != nil {
		return d, err
	}
	return d, author.Mender{Lint: a.linter(d.dir)}.Settle(d.Draft, nil)
}

// edited is the draft that the edits of a model make of what an operation begins with. Where code did something, they can be none.
func (a *Author) edited(in input, p *author.Plan) (placed, error) {
	e, err := author.ParseEdits(in.Answer)
	if err != nil {
		return placed{}, err
	}
	d, err := a.begun(in.Operation, in.Skill, in.Wish, p)
	if err != nil {
		return d, err
	}
	p.Questions = e.Questions
	if e.Empty() && len(d.Changes()) > 0 {
		return d, nil
	}
	shown := d.FS()
	if err := e.Apply(d.Draft); err != nil {
		return d, err
	}
	if err := (author.Mender{Lint: a.linter(d.dir)}).Settle(d.Draft, shown); err != nil || in.Operation != author.Improve {
		return d, err
	}
	p.Left = nil
	return d, a.mend(&d, p)
}

// newDraft is a draft of a skill that is not there.
func (a *Author) newDraft(name string) (placed, error) {
	dir, err := a.newPlace(name)
	return placed{author.New(name), dir}, err
}

// proposed keeps a plan, and tells of it and of the wish that it is for.
func (t *authoring) proposed(p *author.Plan, all []placed, wish string) (Proposal, error) {
	p.Run = t.run
	out, err := t.assess(p, all)
	if err != nil {
		return Proposal{}, err
	}
	for _, part := range p.Skills {
		if err := t.plannable(part.Skill); err != nil {
			return Proposal{}, err
		}
	}
	if len(out.Diff) == 0 {
		return Proposal{Wrong: strings.TrimSpace("there is nothing to change\n" + strings.Join(p.Left, "\n"))}, nil
	}
	text := p.Encode()
	if err := within.Anywhere().WriteFile(filepath.Join(t.dir, planFile), text, 0o600); err != nil {
		return Proposal{}, err
	}
	var head strings.Builder // whose folder it is and what is wanted, which a model may have chosen
	for _, part := range p.Skills {
		fmt.Fprintf(&head, "%s %s\n", p.Op, diag.Printable(part.Skill))
	}
	if wish != "" {
		fmt.Fprintf(&head, "wish: %s\n", diag.Brief(wish, 400))
	}
	var losses []string
	for _, loss := range p.Losses {
		losses = append(losses, loss.Code+" "+loss.Text)
	}
	return Proposal{Plan: author.Sum(text), Difference: diag.Clip(head.String()+unified(out.Diff), 100<<10), Adds: strings.Join(out.Needs, ","), Losses: diag.Clip(strings.Join(losses, "\n"), 20<<10)}, nil
}

// unified are differences as one text.
func unified(diff []trees.FileDiff) string {
	var b strings.Builder
	for _, f := range diff {
		fmt.Fprintf(&b, "%s %s +%d -%d\n%s", f.Change, f.Path, f.Add, f.Remove, f.Text)
	}
	return b.String()
}

// keptPlan is the plan that is kept in dir. It is refused unless it has the digest that was shown, if one was.
func keptPlan(dir string, shown ...string) (*author.Plan, error) {
	data, err := within.Anywhere().ReadFile(filepath.Join(dir, planFile), maxPlanFile)
	if err != nil {
		return nil, err
	}
	if len(shown) > 0 && author.Sum(data) != shown[0] {
		return nil, diag.New(diag.Refused, author.CodePlan, "the plan that is kept is not the one that was shown").Hint("make the plan again, and agree to what it shows then")
	}
	return author.Parse(data)
}

func (t *authoring) apply(ctx context.Context, data json.RawMessage) (string, error) {
	in, err := read(data)
	if err != nil {
		return "", err
	}
	out, err := t.carryOut(ctx, in.Plan, strings.Split(in.Adds, ","))
	if err != nil {
		return "", err
	}
	summary := ""
	for _, dir := range out.Wrote {
		summary += "changed " + t.Scope.Short(dir) + "\n"
	}
	return asJSON(map[string]string{"summary": strings.TrimSpace(summary + strings.Join(out.Plan.Left, "\n"))})
}

// carryOut carries out the plan that was shown, with the losses that were shown with it.
func (t *authoring) carryOut(ctx context.Context, digest string, accept []string) (Outcome, error) {
	p, err := keptPlan(t.dir, digest)
	if err != nil {
		return Outcome{}, err
	}
	terms := Terms{Write: true, Accept: accept}
	for _, loss := range p.Losses {
		terms.Allow = append(terms.Allow, loss.Code)
	}
	return t.applyPlan(ctx, p, terms)
}

func (t *authoring) advice(_ context.Context, data json.RawMessage) (string, error) {
	in, d, err := t.named(data)
	if err != nil {
		return "", err
	}
	type told struct {
		Summary string `json:"summary"`
		Wrong   string `json:"wrong"`
	}
	x, err := author.ParseAdvice(in.Answer, d.Draft)
	if why := (*author.Wrong)(nil); errors.As(err, &why) {
		return asJSON(told{Wrong: why.Why})
	}
	if err != nil {
		return "", err
	}
	text, err := asJSON(x)
	if err != nil {
		return "", err
	}
	if err := within.Anywhere().WriteFile(filepath.Join(t.dir, adviceFile), []byte(text), 0o600); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range x.Rows {
		fmt.Fprintf(&b, "%s: %s (%s). %s\n", diag.Position{File: r.File, Line: r.Line}, r.What, r.Action, r.Why)
	}
	return asJSON(told{Summary: b.String() + x.Approach})
}
