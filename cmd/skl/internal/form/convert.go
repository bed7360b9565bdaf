package form

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

// A ConvertRequest asks for a skill in another form.
type ConvertRequest struct {
	Path   string
	To     string // tree, prose, v1, base, claude, copilot or codex
	Write  bool   // change the file
	Output string // a folder that is not there: the whole skill is written to it
	DryRun bool
}

// A Converted is a skill in another form.
type Converted struct {
	Path   string   `json:"path"`
	To     string   `json:"to"`
	Diff   string   `json:"diff"`
	Losses []string `json:"losses"` // what a person should look at
	Wrote  string   `json:"wrote,omitempty"`
}

// Convert writes a skill in another form, and reports what got lost.
func (l *Linter) Convert(q ConvertRequest) (Converted, error) {
	dirs, err := l.dirs([]string{q.Path})
	if err != nil {
		return Converted{}, err
	}
	if len(dirs) != 1 {
		return Converted{}, diag.New(diag.Misuse, "usage", "convert takes one folder with a SKILL.md").Hint("skl convert ./review --to prose")
	}
	dir := dirs[0]
	src, err := scope.ReadIn(dir, skill.FileName)
	if err != nil {
		return Converted{}, err
	}
	out := Converted{Path: dir, To: q.To, Losses: []string{}}
	text, files, losses, err := convert(dir, src, q.To)
	if err != nil {
		return Converted{}, err
	}
	policy, old, err := codexPolicy(dir, src, q.To)
	if err != nil {
		return Converted{}, err
	}
	out.Losses = append(out.Losses, losses...)
	out.Diff, _, _ = trees.Lines(string(src), string(text))
	if policy != old {
		diff, _, _ := trees.Lines(old, policy)
		out.Diff += "+++ " + skill.PolicyFile + "\n" + diff
	}
	for _, f := range files {
		diff, _, _ := trees.Lines("", f.Text)
		out.Diff += "+++ " + f.Name + "\n" + diff
	}
	if !q.DryRun {
		out.Wrote, err = l.writeConverted(dir, text, files, q.Write, q.Output)
	}
	if err == nil && out.Wrote != "" && policy != old {
		err = scope.WriteIn(filepath.Dir(out.Wrote), skill.PolicyFile, []byte(policy))
	}
	return out, err
}

// convert is the text of SKILL.md in another form, and files that it needs besides.
func convert(dir string, src []byte, to string) (text []byte, files []prose.File, losses []string, err error) {
	switch to {
	case "prose":
		s, err := tree.Load(scope.FilesIn(dir), filepath.Base(dir))
		if err != nil {
			return nil, nil, nil, err
		}
		text, losses, err = prose.Convert(s)
		return text, nil, losses, err
	case "tree":
		c, err := prose.ToTree(src, filepath.Base(dir), scope.FilesIn(dir))
		return c.Source, c.Files, c.Losses, err
	case "v1":
		text, losses, err = skill.Migrate(src, skill.SidecarIn(scope.FilesIn(dir), "."))
	case "base":
		text, err = skill.ToPortable(src)
	case "claude", "copilot", "codex":
		text, _, losses, err = skill.ToHost(src, to)
	default:
		err = diag.New(diag.Misuse, "usage", "--to %q is not a form of a skill", to).Meant("tree", "prose", "v1", "base", "claude", "copilot", "codex")
	}
	return text, nil, losses, err
}

// codexPolicy is the file that keeps a skill from the model of Codex, and what it is now; both "" where none is needed.
func codexPolicy(dir string, src []byte, to string) (text, old string, err error) {
	if to != "codex" {
		return "", "", nil
	}
	if _, needed, _, err := skill.ToHost(src, to); err != nil || !needed {
		return "", "", err
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

// writeConverted changes the file itself, or writes a copy of the skill with it. What it needs besides is written first.
func (l *Linter) writeConverted(dir string, text []byte, files []prose.File, write bool, output string) (string, error) {
	file := filepath.Join(dir, skill.FileName)
	switch {
	case output != "":
		target := scope.Absolute(l.Scope.Cwd, output)
		if scope.Exists(target) {
			return "", diag.New(diag.Misuse, "exists", "%s exists already", output)
		}
		if err := os.CopyFS(target, scope.FilesIn(dir)); err != nil {
			return "", err
		}
		file = filepath.Join(target, skill.FileName)
	case !write:
		return "", nil
	}
	for _, f := range files {
		if err := scope.WriteIn(filepath.Dir(file), f.Name, []byte(f.Text)); err != nil {
			return "", err
		}
	}
	return file, scope.WriteIn(filepath.Dir(file), skill.FileName, text)
}
