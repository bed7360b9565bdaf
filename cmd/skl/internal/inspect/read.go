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
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
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
	if !ref.IsWord(name) {
		return Text{}, diag.New(diag.Refused, "mcp_path", "%q is a path or a reference; agents read installed skills by name", name).Hint("skl list")
	}
	t, s, err := in.installed(ctx, name)
	if err != nil {
		return Text{}, err
	}
	if active(s.Copies) < 0 {
		r := s.Copies[0]
		if r.State == roots.Untrusted {
			return Text{}, diag.New(diag.Refused, "untrusted", "%s lies in a project that is not trusted", r.Name).Hint("skl trust allow")
		}
		return Text{}, diag.New(diag.Refused, "not_active", "%s is %s", r.Name, r.State).Hint("skl list --all")
	}
	if doc, err := skill.ReadWith(t[skill.FileName].Data, t.Sidecar()); err == nil && !doc.Invocation.ByModel() {
		e := diag.New(diag.Refused, "invocation_deny", "%s may not be read by a model: its model_invocation is %s", s.Name, doc.Invocation)
		if !doc.Invocation.ByUser() {
			return Text{}, e.Hint("%s is disabled: neither models nor people start it", s.Name)
		}
		return Text{}, e.Hint("a person starts it: skl run %s", s.Name)
	}
	if err := apply.Blocked(s.Withdrawn); err != nil {
		return Text{}, err
	}
	return textOf(t, s, file)
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
