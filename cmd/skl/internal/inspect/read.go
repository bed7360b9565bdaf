package inspect

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A Text is a file of a skill.
type Text struct {
	Skill string
	File  string // slash path
	Data  []byte
	Files []string // all files of the skill, sorted

	dir string // of the skill, "" if it is not installed
}

// Read returns a file of the installed copy of a name, or of the release that a ref means; "" is SKILL.md.
func (in *Inspector) Read(ctx context.Context, arg, file string) (Text, error) {
	t, s, err := in.lookAt(ctx, arg)
	if err != nil {
		return Text{}, err
	}
	in.Applier.WarnBlocked(s.Withdrawn)
	text, err := textOf(t, s, file)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		err = e.Hint("skl read %s --json lists its files", arg)
	}
	return text, err
}

// ReadActive is Read for agents: it takes the name of an installed skill and refuses whatever has no active copy.
func (in *Inspector) ReadActive(ctx context.Context, name, file string) (Text, error) {
	found, err := in.copiesOf(ctx, name)
	if err != nil {
		return Text{}, err
	}
	gate, err := in.Applier.GateModels(ctx, apply.Glance, found)
	if err != nil {
		return Text{}, err
	}
	in.Applier.WarnTaken(gate.Taken)
	r, t, err := readForModel(found, gate, trees.Read)
	if err != nil {
		return Text{}, err
	}
	return textOf(t, Skill{Name: r.Name, Path: r.Path}, file)
}

func textOf(t trees.Tree, s Skill, file string) (Text, error) {
	out := Text{Skill: s.Name, File: cmp.Or(file, skill.FileName), Files: slices.Sorted(maps.Keys(t)), dir: s.Path}
	f, ok := t[out.File]
	if !ok || f.Kind == bundle.Link {
		return Text{}, diag.New(diag.Misuse, "no_such_file", "%s has no file %q", s.Name, out.File).Meant(spell.Nearest(out.File, out.Files, 5)...)
	}
	out.Data = f.Data
	return out, nil
}

// Prompt wraps the body as the client guide of agentskills recommends. Its end is marked by a boundary that was drawn
// for this output and is nowhere in the text, so that no text of a skill can end early, or say that it has.
func (t Text) Prompt() string {
	body := t.Data
	if doc, err := skill.Read(t.Data); err == nil && doc != nil {
		body = t.Data[doc.Body:]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(string(body)))
	if fs.ValidPath(strings.TrimPrefix(t.dir, "/")) && strings.HasPrefix(t.dir, "/") {
		fmt.Fprintf(&b, "\nSkill directory: %s\n", diag.Printable(t.dir))
	}
	b.WriteString("<skill_resources>\n")
	const most = 100
	for i, name := range t.Files {
		if i == most {
			fmt.Fprintf(&b, "  (%d more)\n", len(t.Files)-most)
			break
		}
		if name != skill.FileName {
			fmt.Fprintf(&b, "  <file>%s</file>\n", diag.Printable(name))
		}
	}
	b.WriteString("</skill_resources>\n")
	mark := rand.Text()
	for strings.Contains(b.String(), mark) || strings.Contains(t.Skill, mark) {
		mark = rand.Text()
	}
	return fmt.Sprintf("<skill_content name=%q bytes=\"%d\" boundary=%q>\n%s</skill_content boundary=%q>\n", t.Skill, b.Len(), mark, b.String(), mark)
}
