package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// A Runnable is a skill that can be run: which copy, how far it is trusted, what it means.
type Runnable struct {
	Name   string
	As     string // how a command names it: its name, or for a folder a path
	Dir    string // "skl:NAME" if embedded
	trust  string
	scope  string   // of the root that it was found in; "" for a folder
	masks  []string // other copies of its name that differ, as they are called
	passed []string // copies of its name in a project without trust, which it replaces
	weaker string   // why it runs though another copy stands before it
	Files  fs.FS
	Skill  *tree.Skill
	Plan   *plan.Plan
}

// Runnable finds the skill that arg means: the first active copy of a name, the copy that NAME@SCOPE or NAME@SCOPE:PATH names, or a
// folder with a SKILL.md.
func (rs *Runs) Runnable(ctx context.Context, arg string) (*Runnable, error) {
	if name, _, ok := strings.Cut(arg, "@"); ok && ref.IsWord(name) && !scope.Exists(filepath.Join(scope.Absolute(rs.Scope.Cwd, arg), skill.FileName)) {
		return rs.runnableNamed(ctx, arg)
	}
	if !ref.IsWord(arg) && !strings.HasPrefix(arg, "skl:") {
		return rs.runnableAt(arg)
	}
	r, err := rs.runnableNamed(ctx, arg)
	if errors.Is(err, diag.Code("unknown_skill")) && scope.Exists(filepath.Join(scope.Absolute(rs.Scope.Cwd, arg), skill.FileName)) {
		return rs.runnableAt(arg)
	}
	return r, err
}

// Bound is Runnable and Bind.
func (rs *Runs) Bound(ctx context.Context, arg string) (*Runnable, error) {
	r, err := rs.Runnable(ctx, arg)
	if err != nil {
		return nil, err
	}
	return r, rs.Bind(ctx, r)
}

// Ready is Bound for a skill that a person runs: it refuses one that is for agents only.
func (rs *Runs) Ready(ctx context.Context, arg string) (*Runnable, error) {
	r, err := rs.Bound(ctx, arg)
	if err == nil && len(r.masks) > 0 {
		rs.Scope.Tell.Note("%s is the copy in %s, which masks others that differ: %s", r.Name, rs.Scope.Short(r.Dir), diag.Brief(strings.Join(r.masks, ", "), 300))
	}
	if err == nil {
		rs.sayPassed(r)
	}
	if err == nil && r.weaker != "" {
		rs.Scope.Tell.Warn("%s: %s", r.Name, diag.Printable(r.weaker))
	}
	if err == nil && !r.Skill.Doc.Invocation.ByUser() {
		err = diag.New(diag.Refused, "invocation", "%s says model_invocation: %s, so people do not run it", r.Name, r.Skill.Doc.Invocation)
	}
	if err == nil && r.Skill.Doc.V1 != nil && r.Skill.Doc.V1.NoUserArgs {
		err = diag.New(diag.Refused, "invocation", "the arguments of %s cannot be read, so people cannot run it: their words would not be checked", r.Name).Hint("skl lint %s", r.As)
	}
	if err == nil {
		for _, text := range r.remarks(rs.Scope) {
			rs.Scope.Tell.Warn("%s", text)
		}
	}
	return r, err
}

// sayPassed says that r stands for a copy in a project that is not trusted.
func (rs *Runs) sayPassed(r *Runnable) {
	if len(r.passed) == 0 {
		return
	}
	here := "the copy in " + rs.Scope.Short(r.Dir)
	if strings.HasPrefix(r.Dir, "skl:") {
		here = "the copy that comes with skl"
	}
	rs.Scope.Tell.Warn("%s is %s, and not %s, which lies in a project that is not trusted", r.Name, here, diag.Brief(strings.Join(r.passed, ", "), 300))
	rs.Scope.Tell.Hint("skl trust allow")
}

// remarks say what of the frontmatter does not count as it is written: keys that have no effect, and limits that were not understood.
func (r *Runnable) remarks(sc *scope.Scope) (out []string) {
	doc := r.Skill.Doc
	if len(doc.Idle) > 0 {
		out = append(out, diag.Printable(fmt.Sprintf("%s: %s; skl convert %s --to v1 adds it", r.Name, skill.IdleText(doc.Idle), diag.Quote(sc.Short(r.Dir)))))
	}
	for _, text := range doc.Doubts() {
		out = append(out, diag.Printable(r.Name+": "+text))
	}
	return out
}

// sayDrift says that an installed copy is not what was installed.
func (rs *Runs) sayDrift(ctx context.Context, r *Runnable) {
	if !filepath.IsAbs(r.Dir) {
		return // it comes with skl
	}
	root := filepath.Dir(r.Dir)
	receipt, err := roots.ReadReceipt(root, filepath.Base(r.Dir))
	if err != nil {
		return // no receipt; one that is damaged is for verify to say
	}
	drifts, err := roots.Look{Own: rs.Scope.Own(r.scope)}.CheckAll(ctx, root, []roots.Receipt{receipt})
	switch {
	case err != nil:
		rs.Scope.Tell.Warn("%s could not be compared with what was installed: %s", r.Name, diag.Clip(err.Error(), 200))
	case len(drifts) == 1 && drifts[0].Any():
		rs.Scope.Tell.Warn("%s differs from what was installed: %s", r.Name, diag.Brief(diag.Printable(strings.Join(drifts[0].List(), ", ")), 200))
	}
}

// runnableAt is the skill in a folder.
func (rs *Runs) runnableAt(path string) (*Runnable, error) {
	dir := scope.Absolute(rs.Scope.Cwd, path)
	if filepath.Base(dir) == skill.FileName {
		dir = filepath.Dir(dir)
	}
	if !scope.Exists(filepath.Join(dir, skill.FileName)) {
		return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s", path).Hint("skl list")
	}
	r := &Runnable{As: diag.Quote(path), Dir: dir, Files: scope.FilesIn(dir), trust: "local"}
	return r, r.read(rs)
}

// runnableNamed is the active copy of an installed skill, and nothing else that a name could mean, such as a folder that
// somebody made here. "skl:NAME" is the copy that comes with skl, NAME@SCOPE that of a scope, also where another one masks it.
func (rs *Runs) runnableNamed(ctx context.Context, name string) (*Runnable, error) {
	l, err := rs.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	found, err := scope.Copies(l, strings.TrimPrefix(name, "skl:"))
	if err != nil {
		return nil, err
	}
	qualified := strings.Contains(name, "@")
	i := slices.IndexFunc(found, func(r roots.Record) bool {
		return r.Path == name || (r.State == roots.Active || qualified && r.State == roots.Shadowed) && !strings.HasPrefix(name, "skl:")
	})
	if i < 0 {
		return nil, notActive(found[0])
	}
	r := &Runnable{Dir: found[i].Path, trust: found[i].Trust, scope: found[i].Scope}
	if qualified {
		r.As = diag.Quote(found[i].Qualified)
	}
	for _, w := range found[i].Warnings {
		if w.Code == "W_WEAKER_USED" {
			r.weaker = w.Message
		}
	}
	for _, other := range found {
		switch {
		case qualified || strings.HasPrefix(name, "skl:"):
		case other.State == roots.Shadowed && other.Digest != found[i].Digest:
			r.masks = append(r.masks, other.Qualified)
		case other.State == roots.Untrusted:
			r.passed = append(r.passed, other.Qualified)
		}
	}
	if r.Files, err = scope.FilesOf(found[i]); err != nil {
		return nil, err
	}
	return r, r.read(rs)
}

// read loads the skill of r.
func (r *Runnable) read(rs *Runs) (err error) {
	base := filepath.Base(r.Dir)
	if name, ok := strings.CutPrefix(r.Dir, "skl:"); ok {
		base = name
	}
	if r.Skill, err = tree.Load(r.Files, base); err != nil {
		return err
	}
	r.Name = r.Skill.Name
	r.As = cmp.Or(r.As, r.Name)
	switch doc := r.Skill.Doc; {
	case doc != nil && doc.State != skill.Ready:
		return doc.Problem
	}
	return nil
}

// called is how a command names the skill of a recorded run: by its name where that means the same folder.
func (rs *Runs) called(ctx context.Context, record Record) string {
	if r, err := rs.runnableNamed(ctx, record.Skill); err == nil && r.Dir == record.Dir {
		return r.Name
	}
	short := rs.Scope.Short(record.Dir)
	if ref.IsWord(short) {
		short = "./" + short // not an installed skill of that name
	}
	return diag.Quote(short)
}

// needsModel reports whether a run of r could ask a model for anything, or whether that cannot be said.
func (r *Runnable) needsModel(args string) bool {
	return slices.ContainsFunc(r.Plan.Effects(args), func(e plan.Effect) bool { return e.Kind == "model" || e.Kind == "note" })
}

// modelStep is the place and the text of the first step of a run of r that could ask a model; "" if there is none.
func (r *Runnable) modelStep(args string) string {
	for _, e := range r.Plan.Effects(args) {
		if e.Kind == "model" {
			return e.Node + " (" + diag.Clip(e.What, 100) + r.unbound(e) + ")"
		}
	}
	return ""
}

// unbound says which names without a value keep a rule from deciding e.
func (r *Runnable) unbound(e plan.Effect) string {
	if e.Mode != "condition" && e.Mode != "choice" && e.Mode != "filter" {
		return ""
	}
	words := strings.FieldsFunc(e.What, func(c rune) bool { return c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	names := slices.DeleteFunc(r.Plan.Unbound(), func(name string) bool { return !slices.Contains(words, name) })
	if len(names) == 0 {
		return ""
	}
	return "; nothing binds " + strings.Join(names, ", ")
}

// notActive says why no copy of a skill is run.
func notActive(r roots.Record) error {
	if r.State == roots.Untrusted {
		return diag.New(diag.Refused, "untrusted", "%s lies in a project that is not trusted, so it is not run", r.Name).Hint("skl trust allow")
	}
	for _, w := range r.Warnings {
		if w.Code == "W_GATED" {
			return diag.New(diag.Unmet, "library_missing", "%s is not run: %s", r.Name, w.Message)
		}
	}
	e := diag.New(diag.Refused, "not_active", "%s is %s, so it is not run", r.Name, r.State)
	for _, warning := range r.Warnings {
		e.Message += ": " + warning.Message
		break
	}
	switch r.State {
	case roots.Disabled:
		return e.Hint("skl enable %s", r.Name)
	case roots.Invalid:
		return e.Hint("skl lint %s", diag.Quote(r.Path))
	}
	return e.Hint("skl list --shadowed")
}

// Bind plans a run of r. Other skills are found among the active copies that the lock lists. A skill that its registry blocked, or
// that a rule of a policy refuses, is refused, whether it is r or one that r needs; one that differs from what was installed is told.
func (rs *Runs) Bind(ctx context.Context, r *Runnable) error { return rs.bind(ctx, r, false) }

// bind is Bind for a run that a person starts, or a model.
func (rs *Runs) bind(ctx context.Context, r *Runnable, byModel bool) error {
	if err := rs.refuse(ctx, r); err != nil {
		return err
	}
	rs.sayDrift(ctx, r)
	said := map[string]bool{r.Dir: true}
	opt := plan.Options{NoLint: rs.NoLint, Depends: dependencies(r.Skill), Path: rs.Scope.Short(r.Dir)}
	opt.Find = func(name string) (*tree.Skill, error) {
		other, err := rs.required(ctx, r, name)
		if errors.Is(err, diag.Code("unknown_skill")) {
			return nil, nil
		}
		if err == nil {
			err = rs.refuse(ctx, other)
		}
		if err == nil {
			err = r.mayUse(other, byModel)
		}
		if err != nil {
			return nil, err
		}
		if !said[other.Dir] {
			said[other.Dir] = true
			rs.sayPassed(other)
			rs.sayDrift(ctx, other)
		}
		return other.Skill, nil
	}
	p, err := plan.New(ctx, r.Skill, opt)
	r.Plan = p
	return err
}

// required is a skill that r requires: beside the folder that a person named, as lint sees it there, else an installed one.
func (rs *Runs) required(ctx context.Context, r *Runnable, name string) (*Runnable, error) {
	if r.scope != "" || !filepath.IsAbs(r.Dir) || skill.CheckPublishName(name) != nil || rs.Scope.InstalledCopy(r.Dir) != nil {
		return rs.runnableNamed(ctx, name)
	}
	dir := filepath.Join(filepath.Dir(r.Dir), name)
	if info, err := within.Anywhere().Lstat(dir); err != nil || !info.IsDir() || !scope.Exists(filepath.Join(dir, skill.FileName)) {
		return rs.runnableNamed(ctx, name)
	}
	return rs.runnableAt(dir)
}

// mayUse says why a run of r uses nothing of another skill: a model is given what it uses, and its model_invocation says to whom it may be
// given. What only people start may be used by what a person starts.
func (r *Runnable) mayUse(other *Runnable, byModel bool) error {
	i := other.Skill.Doc.Invocation
	if byModel && !i.ByModel() || !i.ByModel() && !i.ByUser() {
		return diag.New(diag.Refused, tool.CodeInvoke, "%s uses %s, of which a model may be given nothing: its model_invocation is %s", r.Name, other.Name, i)
	}
	return nil
}

func (rs *Runs) refuse(ctx context.Context, r *Runnable) error {
	a := &apply.Applier{Scope: rs.Scope, Signatures: signature.New(rs.Scope)}
	if err := a.RefuseBlocked(ctx, apply.Glance, a.ReleaseIn(r.Dir)); err != nil {
		return err
	}
	if err := a.Signatures.RefuseForged(r.Dir); err != nil {
		return err
	}
	return a.RefuseByPolicy(ctx, r.Name, r.Dir, r.Files)
}

// dependencies are the names of the skills that a skill needs: those that it writes down. What a lock says that it
// requires comes with the project and counts for nothing.
func dependencies(s *tree.Skill) []string {
	return s.Doc.Required()
}

// driven finds the skill that an agent may run by name: the active copy of an installed one, and nothing else that the name
// could mean, such as a folder that the agent itself made.
func (rs *Runs) driven(ctx context.Context, name string) (*Runnable, error) {
	if !ref.IsWord(name) {
		return nil, diag.New(diag.Refused, "mcp_path", "%q is a path; agents run installed skills by name", name).Hint("skl list")
	}
	r, err := rs.runnableNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := rs.bind(ctx, r, true); err != nil {
		return nil, err
	}
	return r, tool.Invocable(r.Name, r.Skill.Doc.Invocation, true)
}
