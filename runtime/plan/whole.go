package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// maxListed is how many files of a skill without a tree its model is told of.
const maxListed = 200

// wholeOf is the node that stands for the text of s; nil if s has a tree. Its error says why there is nothing to run.
func wholeOf(s *tree.Skill) (*tree.Node, error) {
	if s.Tree != nil {
		return nil, nil
	}
	if len(s.Ops) > 0 {
		names := make([]string, len(s.Ops))
		for i, op := range s.Ops {
			names[i] = op.Name
		}
		return nil, fmt.Errorf("the skill has no section \"## Tree\", so there is nothing to run: it has ops for other skills (%s)", diag.Brief(strings.Join(names, ", "), 200))
	}
	if s.Guard != nil {
		return nil, errors.New("the skill is written for a runtime, and has no section \"## Tree\", so there is nothing to run")
	}
	text, err := fs.ReadFile(s.FS, s.File)
	if err != nil {
		return nil, err
	}
	if len(text) > tree.MaxFileBytes {
		return nil, fmt.Errorf("the skill's text has %d bytes, and at most %d are read", len(text), tree.MaxFileBytes)
	}
	first := 1
	if s.Doc != nil {
		text, first = text[min(s.Doc.Body, len(text)):], s.Doc.BodyLine
	}
	body := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
	if body == "" {
		return nil, errors.New("nothing follows the frontmatter, so there is nothing to run")
	}
	return &tree.Node{Kind: tree.Prose, ID: s.File + "#/0", Pos: tree.Pos{File: s.File, Line: first, Column: 1}, Last: first + strings.Count(body, "\n"),
		Text: title(body), Body: body}, nil
}

// title is the first line of a text that says something, without marks of a heading.
func title(body string) string {
	for line := range strings.Lines(body) {
		if text := strings.TrimSpace(strings.TrimLeft(line, "# ")); text != "" {
			return diag.Clip(text, 200)
		}
	}
	return ""
}

// Files are the files of the skill beside its text, sorted, of which at most 200 are listed; more says that there are others.
// Names that begin with a dot, __pycache__ and node_modules are left out.
func (p *Plan) Files() (names []string, more bool) {
	fs.WalkDir(p.Skill.FS, ".", func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return fs.SkipDir
		case name == ".":
			return nil
		case base[0] == '.' || base == "__pycache__" || base == "node_modules":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case len(names) == maxListed:
			more = true
			return fs.SkipAll
		}
		if e.Type().IsRegular() && name != p.Skill.File {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, more
}
