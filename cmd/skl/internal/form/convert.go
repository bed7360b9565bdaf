package form

import (
	"os"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

// A ConvertRequest asks for a skill in another form.
type ConvertRequest struct {
	Path   string
	To     string // tree, prose, v1 or base
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
	text, losses, err := convert(dir, src, q.To)
	if err != nil {
		return Converted{}, err
	}
	out.Losses = append(out.Losses, losses...)
	out.Diff, _, _ = apply.LineDiff(string(src), string(text))
	if !q.DryRun {
		out.Wrote, err = l.writeConverted(dir, text, q.Write, q.Output)
	}
	return out, err
}

// convert is the text of SKILL.md in another form.
func convert(dir string, src []byte, to string) (text []byte, losses []string, err error) {
	switch to {
	case "prose":
		s, err := tree.Load(scope.FilesIn(dir), filepath.Base(dir))
		if err != nil {
			return nil, nil, err
		}
		return prose.Convert(s)
	case "tree":
		return prose.FromProse(src, filepath.Base(dir))
	case "v1":
		text, err = skill.ToTopLevel(src)
	case "base":
		text, err = skill.ToPortable(src)
	default:
		err = diag.New(diag.Misuse, "usage", "--to %q is not a form of a skill", to).Meant("tree", "prose", "v1", "base")
	}
	return text, nil, err
}

// writeConverted changes the file itself, or writes a copy of the skill with it.
func (l *Linter) writeConverted(dir string, text []byte, write bool, output string) (string, error) {
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
	return file, scope.WriteIn(filepath.Dir(file), skill.FileName, text)
}
