package form

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

// A ConvertRequest asks for a skill in another form.
type ConvertRequest struct {
	Path   string
	To     string   // one of Forms
	Write  bool     // change the file
	Output string   // a folder that is not there: the whole skill is written to it. For one file: its name, or the folder for it
	Allow  []string // codes of losses that are accepted
	DryRun bool
}

// Forms are the forms that Convert writes.
func Forms() []string {
	return slices.Concat([]string{"tree", "prose"}, skill.Targets(), skill.SingleTargets())
}

// A Converted is a skill in another form.
type Converted struct {
	OK     bool         `json:"ok"` // no error of lint came
	Path   string       `json:"path"`
	To     string       `json:"to"`
	Diff   string       `json:"diff"`
	Losses []skill.Loss `json:"losses"` // by line
	Wrote  string       `json:"wrote,omitempty"`

	Left []diag.Finding `json:"left"` // errors of lint that the skill has now and had not; none of one file
}

// Convert writes a skill in another form, and reports what got lost. A loss that would let the skill do more than before is refused
// unless it is allowed.
func (l *Linter) Convert(q ConvertRequest) (Converted, error) {
	if err := q.check(); err != nil {
		return Converted{}, err
	}
	dirs, err := l.dirs([]string{q.Path})
	if err != nil {
		return Converted{}, err
	}
	if len(dirs) != 1 {
		return Converted{}, diag.New(diag.Misuse, "usage", "convert takes one folder with a SKILL.md").Hint("skl convert ./review --to prose")
	}
	dir := dirs[0]
	if q.Write {
		if err := l.Scope.TakeBack(dir); err != nil {
			return Converted{}, err
		}
	}
	src, err := scope.ReadIn(dir, skill.FileName)
	if err != nil {
		return Converted{}, err
	}
	if slices.Contains(skill.SingleTargets(), q.To) {
		return l.convertSingle(q, dir, src)
	}
	t, files, err := convert(dir, src, q.To)
	if err == nil {
		err = q.refuse(t.Losses)
	}
	if err != nil {
		return Converted{}, err
	}
	policy, old, err := codexPolicy(dir, t.Policy)
	if err != nil {
		return Converted{}, err
	}
	out := Converted{Path: dir, To: q.To, Losses: append([]skill.Loss{}, t.Losses...)}
	if q.To != "codex" && slices.Contains(skill.Targets(), q.To) && scope.Exists(filepath.Join(dir, filepath.FromSlash(skill.PolicyFile))) {
		out.Losses = append(out.Losses, skill.Loss{Code: skill.LossField, Field: skill.PolicyFile, From: skill.PolicyFile, To: skill.PolicyFile, Severity: diag.SeverityInfo,
			Text: skill.PolicyFile + " stays, which only codex reads"})
	}
	out.Diff, _, _ = trees.Lines(string(src), string(t.Text))
	if policy != old {
		diff, _, _ := trees.Lines(old, policy)
		out.Diff += "+++ " + skill.PolicyFile + "\n" + diff
	}
	for _, f := range files {
		diff, _, _ := trees.Lines("", f.Text)
		out.Diff += "+++ " + f.Name + "\n" + diff
	}
	if policy != old {
		files = append(files, prose.File{Name: skill.PolicyFile, Text: policy})
	}
	if out.Left, err = l.left(dir, t.Text, files); err != nil {
		return Converted{}, err
	}
	out.OK = len(out.Left) == 0
	if !q.DryRun {
		out.Wrote, err = l.writeConverted(dir, t.Text, files, q.Write, q.Output)
	}
	return out, err
}

// left are the errors of lint that a conversion gives a skill.
func (l *Linter) left(dir string, text []byte, files []prose.File) ([]diag.Finding, error) {
	d := author.Over(filepath.Base(dir), scope.FilesIn(dir))
	if err := putAll(d, text, files); err != nil {
		return nil, err
	}
	lint := l.Findings(dir, skill.LintOptions{})
	gained := diag.Gained(lint(d.Before()), lint(d.FS()), func(f diag.Finding) string { return f.Rule + "\n" + f.File + "\n" + f.Message })
	return slices.DeleteFunc(append([]diag.Finding{}, gained...), func(f diag.Finding) bool { return f.Severity != diag.SeverityError }), nil
}

// ConvertDraft puts a skill in another form, a tree or prose, into a draft of it, and gives the losses. Its error is no_tree, no_steps or the like
// where there is nothing to convert.
func ConvertDraft(d *author.Draft, dir, to string) ([]skill.Loss, error) {
	src, err := d.Read(skill.FileName)
	if err != nil {
		return nil, err
	}
	t, files, err := convert(dir, src, to)
	if err != nil {
		return nil, err
	}
	return t.Losses, putAll(d, t.Text, files)
}

// putAll puts the files of a conversion into a draft.
func putAll(d *author.Draft, text []byte, files []prose.File) error {
	for _, f := range files {
		if err := d.Put(f.Name, []byte(f.Text), ""); err != nil {
			return err
		}
	}
	return d.Put(skill.FileName, text, "")
}

// convertSingle writes a skill as one file, which is never one that is there.
func (l *Linter) convertSingle(q ConvertRequest, dir string, src []byte) (Converted, error) {
	if q.Write {
		return Converted{}, diag.New(diag.Misuse, "usage", "--to %s writes one file beside the skill: -w does not apply", q.To).Hint("skl convert %s --to %s -o DIR", q.Path, q.To)
	}
	files, err := otherFiles(dir)
	if err != nil {
		return Converted{}, err
	}
	one, err := skill.ToSingle(src, files, q.To, slices.Contains(q.Allow, skill.LossLoadCmd))
	if err == nil {
		err = q.refuse(one.Losses)
	}
	if err != nil {
		return Converted{}, err
	}
	out := Converted{OK: true, Path: dir, To: q.To, Losses: append([]skill.Loss{}, one.Losses...), Left: []diag.Finding{}}
	out.Diff, _, _ = trees.Lines("", string(one.Text))
	if q.Output == "" || q.DryRun {
		return out, nil
	}
	target := scope.Absolute(l.Scope.Cwd, q.Output)
	if !strings.HasSuffix(target, one.Ext) {
		target = filepath.Join(target, one.Name+one.Ext)
	}
	if scope.Exists(target) {
		return Converted{}, diag.New(diag.Misuse, "exists", "%s exists already", l.Scope.Short(target))
	}
	at, err := l.Scope.PlaceFor(filepath.Dir(target))
	if err != nil {
		return Converted{}, err
	}
	defer at.Close()
	out.Wrote = target
	return out, at.WriteFile(target, one.Text, 0o644)
}

// otherFiles are the files of a skill beside its SKILL.md, sorted.
func otherFiles(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(scope.FilesIn(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.IsDir() && name != skill.FileName:
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// check refuses a form, or the code of a loss, that there is not.
func (q ConvertRequest) check() error {
	switch {
	case q.To == "":
		return diag.New(diag.Misuse, "usage", "convert needs a form: --to %s", strings.Join(Forms(), ", ")).Hint("skl convert %s --to prose", diag.Quote(q.Path))
	case q.Write && q.Output != "":
		return diag.New(diag.Misuse, "usage", "-w changes the skill itself, and -o writes a copy: they do not go together").Hint("leave one of them out")
	}
	if !slices.Contains(Forms(), q.To) {
		return diag.New(diag.Misuse, "usage", "--to %q is not a form of a skill", q.To).Meant(Forms()...)
	}
	for _, code := range q.Allow {
		if !slices.Contains(skill.LossCodes(), code) {
			return diag.New(diag.Misuse, "usage", "--allow-loss %q is not the code of a loss", code).Meant(skill.LossCodes()...)
		}
	}
	return nil
}

// refuse refuses the losses that have to be allowed and are not.
func (q ConvertRequest) refuse(losses []skill.Loss) error {
	allow := slices.Clone(q.Allow)
	var first *skill.Loss
	for _, loss := range losses {
		if loss.Severity != diag.SeverityError || slices.Contains(allow, loss.Code) {
			continue
		}
		allow = append(allow, loss.Code)
		if first == nil {
			first = &loss
		}
	}
	if first == nil {
		return nil
	}
	hint := "skl convert " + diag.Quote(q.Path) + " --to " + q.To
	switch {
	case q.Output != "":
		hint += " -o " + diag.Quote(q.Output)
	case slices.Contains(skill.SingleTargets(), q.To):
		hint += " -o ."
	default:
		hint += " -w"
	}
	for _, code := range allow {
		hint += " --allow-loss " + code
	}
	return diag.New(diag.Refused, "loss_refused", "%s: %s", first.Code, *first).Hint("%s", hint)
}

// convert is a SKILL.md in another form, and files that it needs besides.
func convert(dir string, src []byte, to string) (t skill.Translation, files []prose.File, err error) {
	var losses []string
	switch to {
	case "prose":
		s, loadErr := tree.Load(scope.FilesIn(dir), filepath.Base(dir))
		if loadErr != nil {
			return t, nil, loadErr
		}
		t.Text, losses, err = prose.Convert(s)
	case "tree":
		c, convErr := prose.ToTree(src, filepath.Base(dir), scope.FilesIn(dir))
		t.Text, files, losses, err = c.Source, c.Files, c.Losses, convErr
	default:
		t, err = skill.To(src, skill.SidecarIn(scope.FilesIn(dir), "."), to)
		return t, nil, err
	}
	for _, text := range losses {
		t.Losses = append(t.Losses, treeLoss(text))
	}
	return t, files, err
}

// treeLoss is a sentence about a step, with its place, as a loss.
func treeLoss(text string) skill.Loss {
	loss := skill.Loss{Code: skill.LossTree, Field: "body", From: "body", To: "body", Severity: diag.SeverityWarning, Text: text}
	if rest, ok := strings.CutPrefix(text, skill.FileName+":"); ok {
		number, sentence, found := strings.Cut(rest, ": ")
		line, err := strconv.Atoi(number)
		switch {
		case found && err == nil:
			loss.Line, loss.Text = line, sentence
		case strings.HasPrefix(rest, " "):
			loss.Text = rest[1:]
		}
	}
	return loss
}

// codexPolicy is the file that keeps a skill from the model of Codex, and what it is now; both "" where none is needed.
func codexPolicy(dir string, needed bool) (text, old string, err error) {
	if !needed {
		return "", "", nil
	}
	now, err := scope.ReadIn(dir, skill.PolicyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return skill.PolicyText, "", nil
	case err != nil:
		return "", "", err
	case hasNoImplicit.Match(now):
		return string(now), string(now), nil
	case hasPolicy.Match(now):
		return "", "", diag.New(diag.Unmet, "cannot_convert", "%s has a policy already", skill.PolicyFile).Hint("add to it: %s: false", skill.KeyNoImplicit)
	}
	text = string(now)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + skill.PolicyText, string(now), nil
}

var (
	hasPolicy     = regexp.MustCompile(`(?m)^["']?policy["']?[ \t]*:`)
	hasNoImplicit = regexp.MustCompile(`(?m)^[ \t]+` + skill.KeyNoImplicit + `:[ \t]*false[ \t\r]*$`)
)

// writeConverted changes the skill itself, or writes a copy of it: all files or none.
func (l *Linter) writeConverted(dir string, text []byte, files []prose.File, write bool, output string) (string, error) {
	if output == "" && !write {
		return "", nil
	}
	d := author.Over(filepath.Base(dir), scope.FilesIn(dir))
	if err := putAll(d, text, files); err != nil {
		return "", err
	}
	if output != "" {
		target := scope.Absolute(l.Scope.Cwd, output)
		return filepath.Join(target, skill.FileName), l.writeCopy(dir, target, output, d)
	}
	if err := l.Scope.InstalledCopy(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, skill.FileName), l.Scope.EditFolder(dir, d.Changes())
}

// writeCopy writes a draft of the skill in dir to a folder that is not there.
func (l *Linter) writeCopy(dir, target, named string, d *author.Draft) error {
	if scope.Exists(target) {
		return diag.New(diag.Misuse, "exists", "%s exists already", named).Hint("name a folder that is not there yet: -o DIR")
	}
	if scope.Below(dir, target) {
		return diag.New(diag.Misuse, "inside_folder", "%s lies in the skill that it would be a copy of", named).Hint("name a folder beside it")
	}
	at, err := l.Scope.PlaceFor(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer at.Close()
	return at.MakeFolder(target, func(staged string) error {
		return fs.WalkDir(d.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || name == ".":
				return err
			case name == ".git" && e.IsDir(): // the history is not the copy's
				return fs.SkipDir
			case name == ".git":
				return nil
			}
			to := filepath.Join(staged, filepath.FromSlash(name))
			if e.IsDir() {
				_, err := at.MkdirAll(to, 0o755)
				return err
			}
			info, err := e.Info()
			if err == nil && !info.Mode().IsRegular() {
				err = &fs.PathError{Op: "copy", Path: name, Err: fs.ErrInvalid}
			}
			if err != nil {
				return err
			}
			data, err := fs.ReadFile(d.FS(), name)
			if err != nil {
				return err
			}
			return at.Create(to, data, 0o644|info.Mode().Perm()&0o111)
		})
	})
}
