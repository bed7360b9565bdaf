package author

import (
	"context"
	"fmt"
	"strings"

	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// Improve plans what code can mend in a skill: the fixes of lint, the present form of old sections, the layout of trees. What it cannot is
// in the plan's list of what is left, and for [Author.ImproveByModel].
func (a *Author) Improve(ctx context.Context, name string, terms Terms) (Outcome, error) {
	return a.ImproveWith(ctx, name, Wanted{}, terms)
}

// Wanted are parts of [Author.ImproveWith] that a person asks for.
type Wanted struct {
	Layout    bool // move files of the old layout to their places
	Contracts bool // write contracts for ops that have none
}

// ImproveWith is Improve with parts that change more than what is wrong.
func (a *Author) ImproveWith(ctx context.Context, name string, want Wanted, terms Terms) (Outcome, error) {
	p := &author.Plan{Op: author.Improve}
	d, err := a.improved(name, want, p)
	if err != nil {
		return Outcome{}, err
	}
	return a.finish(ctx, p, []placed{d}, terms)
}

// improved is a draft with what is wanted and all that code can mend; the plan has what is left.
func (a *Author) improved(name string, want Wanted, p *author.Plan) (placed, error) {
	d, err := a.draftOf(name)
	if err != nil {
		return d, err
	}
	if p.Left, err = want.make(d.Draft); err != nil {
		return d, err
	}
	return d, a.mend(&d, p)
}

// mend does what code can to a draft, and adds to the plan what is left.
func (a *Author) mend(d *placed, p *author.Plan) error {
	_, why, err := author.MigrateAgent(d.Draft)
	if err != nil {
		return err
	}
	if why != "" {
		p.Left = append(p.Left, why)
	}
	lint := a.linter(d.dir)
	found, err := author.Mender{Lint: lint}.Mend(d.Draft)
	if err != nil {
		return err
	}
	changed, err := author.Format(d.Draft)
	if err != nil {
		return err
	}
	if changed {
		found = lint(d.FS())
	}
	for _, f := range found {
		if f.Severity != diag.SeverityInfo {
			p.Left = append(p.Left, diag.Printable(f.Sentence()+" ["+f.Rule+"]"))
		}
	}
	return nil
}

// make does what is wanted, and says what is left.
func (w Wanted) make(d *author.Draft) (left []string, err error) {
	if w.Layout {
		_, left, err = author.Layout(d)
	}
	if w.Contracts && err == nil {
		var more []string
		more, err = author.Contracts(d)
		left = append(left, more...)
	}
	return left, err
}

// A ScaffoldRequest asks for the frame of a skill with a tree.
type ScaffoldRequest struct {
	Name   string
	Syntax string // list or box
}

// Scaffold plans a new skill with a tree that shows a plan, asks and calls an op.
func (a *Author) Scaffold(ctx context.Context, q ScaffoldRequest, terms Terms) (Outcome, error) {
	d, err := a.scaffolded(q)
	if err != nil {
		return Outcome{}, err
	}
	return a.finish(ctx, &author.Plan{Op: author.Scaffold}, []placed{d}, terms)
}

// scaffolded is the draft of a frame.
func (a *Author) scaffolded(q ScaffoldRequest) (placed, error) {
	d, err := a.newDraft(q.Name)
	if err != nil {
		return d, err
	}
	text, err := scaffold(q.Name, q.Syntax)
	if err != nil {
		return d, err
	}
	for file, text := range map[string]string{skill.FileName: text, "references/ops.md": scaffoldOps} {
		if err := d.Put(file, []byte(text), ""); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Syntaxes are the ways to write a tree.
func Syntaxes() []string { return []string{"list", "box"} }

// scaffold is a SKILL.md with a tree in one of the syntaxes.
func scaffold(name, syntax string) (string, error) {
	text := treeStarter(name)
	text = strings.Replace(text, "  * Say in one sentence what should be done about $ARGUMENTS >> plan\n", "  * MAKE_PLAN << $ARGUMENTS >> plan\n", 1)
	switch syntax {
	case "", "list":
		return text, nil
	case "box":
	default:
		return "", diag.New(diag.Misuse, "usage", "--syntax %q is not one", syntax).Meant(Syntaxes()...)
	}
	head, rest, _ := strings.Cut(text, "## Tree\n\n")
	list, tail, _ := strings.Cut(rest, "\n\n## ")
	t, found := tree.ParseTree(list+"\n", skill.FileName, 1, name, func(string) bool { return true })
	if diag.Worst(found) == diag.SeverityError {
		return "", fmt.Errorf("the frame of a skill is no tree: %s", found[0].Message)
	}
	t.Syntax, t.Fenced = tree.BoxSyntax, true
	return head + "## Tree\n\n" + strings.TrimRight(tree.Print(t), "\n") + "\n\n## " + tail, nil
}

// scaffoldOps is a file of ops with one to begin with.
const scaffoldOps = `# Ops

## MAKE_PLAN << request >> plan

Say in one sentence what should be done about the ` + "`request`" + `, and which files it touches. Change nothing.
`
