package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Terms say what becomes of a plan, and what is agreed to beforehand.
type Terms struct {
	Write  bool     // carry it out
	File   string   // write it to a file, which [Author.Apply] takes
	Accept []string // what it may let skills do besides, in the words of its permissions
	Allow  []string // codes of losses
}

// An Outcome is a plan, and what became of it.
type Outcome struct {
	OK    bool             `json:"ok"` // no error of lint is left, and nothing was refused
	Plan  *author.Plan     `json:"plan"`
	Diff  []trees.FileDiff `json:"diff"`
	Needs []string         `json:"needs"`           // of its permissions, those that were not accepted
	Wrote []string         `json:"wrote"`           // folders
	File  string           `json:"file,omitempty"`  // that the plan was written to
	Alike *refactor.Report `json:"alike,omitempty"` // what skills hold alike: candidates are what moves, or can; of a refactoring
}

// Clean reports whether no error of lint is left.
func (o *Outcome) Clean() bool { return len(o.Plan.Lint.Errors) == 0 }

// Moved are the files of the difference that moved with the same bytes: a new one with where it was, one that is gone with "". There are
// none in a plan for several skills, whose folders can have one name.
func (o *Outcome) Moved() map[string]string {
	moved := map[string]string{}
	if len(o.Plan.Skills) != 1 {
		return moved
	}
	for _, f := range o.Plan.Skills[0].Files {
		if f.From != "" {
			moved[f.Path], moved[f.From] = f.From, ""
		}
	}
	return moved
}

// AllNew reports whether the plan changes no skill that is there.
func (o *Outcome) AllNew() bool {
	return !slices.ContainsFunc(o.Plan.Skills, func(p author.Part) bool { return p.Base != "" })
}

// A placed draft is one with its folder.
type placed struct {
	*author.Draft
	dir string // without links
}

// skillAt is the folder of a skill that a person names: a folder, or the name of an installed one, or of one in skills; of one that was installed from a folder
// here, the folder. A link of a project that leads out of it is refused.
func (a *Author) skillAt(name, hint string) (string, error) {
	dir := scope.Absolute(a.Scope.Cwd, name)
	if filepath.Base(dir) == skill.FileName {
		dir = filepath.Dir(dir)
	}
	if !scope.Exists(dir) && !strings.ContainsAny(name, `/\`) {
		if at, err := a.installedAt(name); err == nil {
			dir = at
		} else if at := filepath.Join(a.Scope.Cwd, "skills", name); scope.Exists(filepath.Join(at, skill.FileName)) { // where new puts it
			dir = at
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", diag.New(diag.Misuse, "no_such_directory", "%s is neither a folder nor an installed skill", diag.Printable(name)).Hint("%s", hint)
	}
	if real, err = a.inProject(dir, real, name); err != nil {
		return "", err
	}
	return real, a.Scope.TakeBack(real)
}

// inProject is real, where the links of dir lead. A link of a project that leads out of it is refused.
func (a *Author) inProject(dir, real, name string) (string, error) {
	cwd, err := filepath.EvalSymlinks(a.Scope.Cwd)
	if err != nil {
		return "", err
	}
	linked, err := a.Scope.LinkedFolders()
	if err != nil {
		return "", err
	}
	if scope.Below(a.Scope.Cwd, dir) && !scope.Below(cwd, real) && linked[dir] != real { // the person made that link
		return "", diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s is a link that leads out of the project; it is not read", diag.Printable(name)).Hint("name the folder that it leads to")
	}
	return real, nil
}

// draftOf is a draft of a skill that is there, and is no installed copy.
func (a *Author) draftOf(name string) (placed, error) {
	if name == "" {
		return placed{}, diag.New(diag.Misuse, "usage", "name one skill: its folder").Hint("skl list")
	}
	dir, err := a.skillAt(name, "skl list")
	if err != nil {
		return placed{}, err
	}
	switch _, err := within.Anywhere().Lstat(filepath.Join(dir, skill.FileName)); {
	case errors.Is(err, fs.ErrPermission):
		return placed{}, err
	case err != nil:
		return placed{}, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s", diag.Printable(name)).Hint("skl new NAME starts a skill")
	}
	if err := a.Scope.InstalledCopy(dir); err != nil {
		return placed{}, err
	}
	return placed{author.Over(filepath.Base(dir), scope.FilesIn(dir)), dir}, nil
}

// newPlace is where a new skill goes: skills or .agents/skills if the working directory has one, else beside.
func (a *Author) newPlace(name string) (dir string, err error) {
	if err := skill.CheckPublishName(name); err != nil {
		return "", diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a skill: %w", name, err).Hint("names are 1-64 of a-z, 0-9 and single hyphens")
	}
	parent, err := a.ownSkills()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(parent, name)
	return dir, a.free(dir)
}

// ownSkills is skills or .agents/skills if the working directory has one, else the working directory.
func (a *Author) ownSkills() (string, error) {
	here, err := within.Open(a.Scope.Cwd) // a folder called skills may be a link that came with a clone
	if err != nil {
		return "", err
	}
	defer here.Close()
	for _, parent := range []string{"skills", filepath.Join(".agents", "skills")} {
		info, err := here.Stat(filepath.Join(a.Scope.Cwd, parent))
		if errors.Is(err, diag.Code("E_ROOT_ESCAPE")) {
			return "", err
		}
		if err == nil && info.IsDir() {
			return filepath.Join(a.Scope.Cwd, parent), nil
		}
	}
	return a.Scope.Cwd, nil
}

// free refuses a folder that is there.
func (a *Author) free(dir string) error {
	if _, err := within.Anywhere().Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	e := diag.New(diag.Misuse, "exists", "%s exists already", a.Scope.Short(dir))
	if scope.Exists(filepath.Join(dir, skill.FileName)) {
		return e.Hint("skl lint %s", a.Scope.Short(dir))
	}
	return e.Hint("choose another name, or move it away")
}

// finish makes a plan of drafts, and carries it out or keeps it as the terms say.
func (a *Author) finish(ctx context.Context, p *author.Plan, all []placed, terms Terms) (Outcome, error) {
	if err := a.checkTerms(terms); err != nil {
		return Outcome{}, err
	}
	if len(all) > 1 {
		if _, err := a.together(all); err != nil {
			return Outcome{}, err
		}
	}
	out, err := a.assess(p, all)
	if err != nil {
		return Outcome{}, err
	}
	return a.conclude(ctx, out, all, terms)
}

// conclude carries out a plan that was assessed, or keeps it, as the terms say.
func (a *Author) conclude(ctx context.Context, out Outcome, all []placed, terms Terms) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	out.Needs = slices.DeleteFunc(out.Needs, func(s string) bool { return slices.Contains(terms.Accept, s) })
	if len(out.Diff) == 0 || !terms.Write && terms.File == "" {
		return out, nil
	}
	if terms.File != "" {
		return out, a.keepPlan(&out, terms.File)
	}
	if err := refused(&out, terms); err != nil {
		return out, err
	}
	if err := a.carryAll(all); err != nil {
		return out, err
	}
	for i := range all {
		out.Wrote = append(out.Wrote, all[i].dir)
	}
	return out, nil
}

// checkTerms refuses terms that cannot be kept, before anything else happens: a model costs.
func (a *Author) checkTerms(terms Terms) error {
	for _, code := range terms.Allow {
		if !slices.Contains(skill.LossCodes(), code) {
			return diag.New(diag.Misuse, "usage", "--allow-loss %q is not the code of a loss", code).Meant(skill.LossCodes()...)
		}
	}
	if terms.Write && terms.File != "" {
		return diag.New(diag.Misuse, "usage", "-w carries the plan out, --plan keeps it for later: choose one")
	}
	if at := scope.Absolute(a.Scope.Cwd, terms.File); terms.File != "" && scope.Exists(at) {
		return diag.New(diag.Misuse, "exists", "%s exists already", a.Scope.Short(at)).Hint("choose another name, or remove it")
	}
	return nil
}

// plannable refuses a skill that no plan in a file can name.
func (a *Author) plannable(skill string) error {
	if filepath.IsAbs(filepath.FromSlash(skill)) {
		return diag.New(diag.Misuse, author.CodePath, "%s is not below the working directory, and plans are for what is", skill).Hint("go there: cd %s; there it is ./%s", diag.Quote(filepath.Dir(filepath.FromSlash(skill))), diag.Quote(path.Base(skill)))
	}
	return nil
}

// refused is why a plan is not carried out though it was asked for: all that has to be agreed to, at once.
func refused(o *Outcome, terms Terms) error {
	var why, flags []string
	code := "loss_refused"
	if len(o.Needs) > 0 {
		code = "permission_added"
		why = append(why, "the change adds "+diag.Printable(strings.Join(o.Needs, ", ")))
		flags = append(flags, "--accept "+diag.Quote(strings.Join(o.Needs, ",")))
	}
	for _, loss := range o.Plan.Losses {
		if flag := "--allow-loss " + loss.Code; loss.Severity == diag.SeverityError && !slices.Contains(terms.Allow, loss.Code) {
			why = append(why, loss.Code+": "+loss.Text)
			if !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	if len(why) == 0 {
		return nil
	}
	return diag.New(diag.Refused, code, "%s", strings.Join(why, "; ")).Hint("look at the difference, then, if it is meant, add: %s", strings.Join(flags, " "))
}

// keepPlan writes the plan to a file that is not there.
func (a *Author) keepPlan(o *Outcome, file string) error {
	for _, part := range o.Plan.Skills {
		if err := a.plannable(part.Skill); err != nil {
			return err
		}
	}
	at := scope.Absolute(a.Scope.Cwd, file)
	for _, part := range o.Plan.Skills {
		dir := scope.Absolute(a.Scope.Cwd, filepath.FromSlash(part.Skill))
		if scope.Below(scope.Resolved(dir), scope.Resolved(filepath.Dir(at))) { // it would not be what the plan was made of
			return diag.New(diag.Misuse, "inside_folder", "%s would be a file of %s, which the plan is for", a.Scope.Short(at), diag.Printable(part.Skill)).Hint("name a file outside of it: --plan FILE")
		}
	}
	text := o.Plan.Encode()
	if _, err := author.Parse(text); err != nil { // a name that no plan may have, or too many skills
		return err
	}
	to, err := a.Scope.WriterTo(filepath.Dir(at))
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.WriteFile(at, text, 0o600); err != nil {
		return install.NotWritable(err, at)
	}
	o.File = at
	return nil
}

// carry writes one skill: a new folder whole, the files of another all or none.
func (a *Author) carry(p *placed) error {
	if !p.IsNew() {
		return a.Scope.EditFolder(p.dir, p.Changes())
	}
	if err := a.free(p.dir); err != nil {
		return err
	}
	var files []skillify.File
	for _, c := range p.Changes() {
		files = append(files, skillify.File{Path: c.Path, Data: c.Now, Executable: c.Executable})
	}
	at, err := a.Scope.PlaceFor(filepath.Dir(p.dir))
	if err != nil {
		return err
	}
	defer at.Close()
	return install.NotWritable(writeFolder(at, p.dir, files), p.dir)
}

// maxPlanFile bounds the file of a plan, in bytes.
const maxPlanFile = 64 << 20

// Apply carries out a plan that was kept. Nothing that it says is believed but the bytes: what they ask for and what is lost is computed anew.
func (a *Author) Apply(ctx context.Context, file string, terms Terms) (Outcome, error) {
	at := scope.Absolute(a.Scope.Cwd, file)
	data, err := within.Anywhere().ReadFile(at, maxPlanFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, diag.New(diag.Misuse, "no_plan", "there is no file %s", file).Hint("make one by --plan FILE, which each operation on a skill has")
	}
	if err != nil {
		return Outcome{}, err
	}
	p, err := author.Parse(data)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", a.Scope.Short(at), err)
	}
	p.Left, p.Questions = nil, nil // sentences of a file are nobody's
	return a.applyPlan(ctx, p, terms)
}

// applyPlan carries out a plan that somebody wrote.
func (a *Author) applyPlan(ctx context.Context, p *author.Plan, terms Terms) (Outcome, error) {
	if err := a.checkTerms(terms); err != nil {
		return Outcome{}, err
	}
	for i := range p.Skills {
		if err := a.Scope.TakeBack(scope.Absolute(a.Scope.Cwd, filepath.FromSlash(p.Skills[i].Skill))); err != nil {
			return Outcome{}, err
		}
	}
	all, err := a.drafts(p)
	if err != nil {
		return Outcome{}, err
	}
	want, whole, errorsAfter := slices.Clone(p.Skills), p.Whole, p.Lint.After.Errors
	out, err := a.finish(ctx, p, all, Terms{Accept: terms.Accept})
	if err != nil {
		return Outcome{}, err
	}
	for i := range want {
		switch now := out.Plan.Skills[i]; {
		case now.Base != want[i].Base:
			return Outcome{}, diag.New(diag.Unmet, author.CodeChanged, "%s is not what the plan was made of", diag.Printable(want[i].Skill)).Hint("make the plan anew")
		case now.Result != want[i].Result:
			return Outcome{}, diag.New(diag.Unmet, author.CodeChanged, "the plan was changed after it was made: what it does to %s does not give what it names", diag.Printable(want[i].Skill)).Hint("make the plan anew")
		}
	}
	if whole != out.Plan.Whole {
		return Outcome{}, diag.New(diag.Unmet, author.CodeChanged, "the plan was changed after it was made: it is not for the same skills any more").Hint("make the plan anew")
	}
	if now := out.Plan.Lint.After.Errors; now > errorsAfter { // a part of it is missing, or what it counts on is not here
		return Outcome{}, diag.New(diag.Unmet, author.CodeChanged, "%s of lint would be left, and the plan says that it leaves %d", diag.Count(now, "error"), errorsAfter).Hint("make the plan anew")
	}
	out, err = a.conclude(ctx, out, all, terms)
	if e, ok := diag.Own(err); ok && e.Code == author.CodeChanged {
		e.Hints = []string{"make the plan anew"}
	}
	return out, err
}

// drafts are those that a plan makes. Of what is not as it was, a skill that changed is told before one that is there.
func (a *Author) drafts(p *author.Plan) (all []placed, err error) {
	all = make([]placed, len(p.Skills))
	for _, isNew := range []bool{false, true} {
		for i := range p.Skills {
			if (p.Skills[i].Base == "") != isNew {
				continue
			}
			if all[i], err = a.applied(&p.Skills[i]); err != nil && len(all) > 1 {
				err = fmt.Errorf("%s: %w", diag.Printable(p.Skills[i].Skill), err)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// applied is the draft that a part of a plan makes.
func (a *Author) applied(part *author.Part) (placed, error) {
	name := filepath.FromSlash(part.Skill)
	if part.Base != "" {
		p, err := a.draftOf("." + string(filepath.Separator) + name)
		if errors.Is(err, diag.Code("no_such_directory")) {
			err = diag.New(diag.Unmet, author.CodeChanged, "there is no %s here, which the plan changes", diag.Printable(part.Skill)).Hint("carry it out where it was made: skl -C DIR author apply PLAN")
		}
		if err == nil {
			err = part.Apply(p.Draft)
		}
		return p, err
	}
	cwd, err := filepath.EvalSymlinks(a.Scope.Cwd)
	if err != nil {
		return placed{}, err
	}
	p := placed{author.New(path.Base(part.Skill)), filepath.Join(cwd, name)}
	if err := skill.CheckPublishName(p.Name); err != nil {
		return placed{}, diag.New(diag.Refused, author.CodePlan, "%q cannot be the name of a skill: %w", diag.Printable(p.Name), err)
	}
	if err := a.free(p.dir); err != nil {
		return placed{}, err
	}
	return p, part.Apply(p.Draft)
}

// linter gives the findings of a skill in a folder.
func (a *Author) linter(dir string) author.Linter {
	return (&form.Linter{Scope: a.Scope}).Findings(dir, skill.LintOptions{})
}

// treesOf are the files of a draft before and after.
func treesOf(p *placed) (was, now trees.Tree, base, result bundle.Digest, err error) {
	was = trees.Tree{}
	if !p.IsNew() {
		if was, base, err = trees.ReadSum(p.Before()); err != nil {
			return nil, nil, "", "", err
		}
	}
	now, result, err = trees.ReadSum(p.FS())
	return was, now, base, result, err
}
